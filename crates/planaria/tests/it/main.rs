//! The integration tests of the room in one binary, so that the engine is linked once.

mod adaptive;
mod aries_undo;
mod catalogs;
mod checkpoint;
mod claims;
mod comments;
mod copy;
mod deferred;
mod explain_recovery;
mod forged_logs;
mod growth;
mod limits;
mod log_kinds;
mod log_view;
mod logged;
mod postgres;
mod procedure_versions;
mod progress;
mod rights;
mod schema_blocks;
mod sequences;
mod session_state;
mod simulated_disk;
mod snapshots;
mod system;
mod time_limits;
