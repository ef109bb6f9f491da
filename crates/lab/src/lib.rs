//! The laboratory: experiments of the papers, as one would want to repeat them.
//!
//! * [`breadth`]: what many tables and procedures cost a recovery.
//! * [`calls`]: what a call of each procedure takes, one kind after the other.
//! * [`checkpoint`]: what a checkpoint costs those who work meanwhile, the disk, and a restart from it.
//! * [`contention`]: concurrency control compared, as named figures and tables of a paper.
//! * [`costs`]: what the operations of a procedure cost, for the log kind `adaptive`.
//! * [`load`]: sessions that submit transactions, paced and measured.
//! * [`recovery`]: a workload is run, crashes, and is recovered by each scheme of the shelf (PACMAN §6.2).
//! * [`restart`]: what a database says a restart would take, and what it takes.
//! * [`schema`]: what a schema of thousands of tables costs.
//! * [`simulate`]: a recorded replay on more workers than the machine has.
//!
//! Every experiment checks its own results: a recovery that does not end in the rows that were
//! there before the crash is no result.

pub mod breadth;
pub mod calls;
pub mod checkpoint;
pub mod contention;
pub mod costs;
pub mod load;
pub mod recovery;
pub mod restart;
pub mod schema;
pub mod simulate;

mod forward;
mod machine;

pub use machine::Machine;
