//! The binary `planaria`: one command for each thing a person does with a database.
//!
//! ```text
//!  planaria demo                      load, run, kill for real, recover, verify
//!  planaria serve [DIR]               the server: PostgreSQL's protocol
//!  planaria status ADDR:PORT          how a server is doing
//!  planaria shell [DIR|URL]           a SQL prompt
//!  planaria run FILE.sql ...          SQL files, as psql runs them
//!  planaria bench tpcc ...            workloads through the embedding API, of one's own too (./DIR)
//!  planaria lab recovery ...          recovery schemes compared
//!  planaria graph FILE.sql ...        slices, blocks and schedules of procedures
//!  planaria log inspect DIR           what a log says; log verify: whether it can be trusted
//!  planaria checkpoint inspect DIR    what a checkpoint or a backup holds; checkpoint verify
//!  planaria dump DIR|URL             a database as SQL; load: the other way
//!  planaria backup DIR --to DIR       a copy of a database; of one that is served: BACKUP TO in SQL
//!  planaria restore DIR --to DIR      a database from a backup, and from the log since
//! ```
//!
//! Nothing here does the work: every command is a caller of the library.

mod arguments;
mod bench;
mod bench_output;
mod beside;
mod campaign;
mod checkpoint;
mod demo;
mod dump;
mod generate;
mod graph;
mod inputs;
mod lab;
mod load;
mod log;
mod log_bytes;
mod print;
mod progress;
mod protocol;
mod recovery;
mod run;
mod serve;
mod settings;
mod shell;
mod source;
mod statements;
mod table;
mod workload;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A main-memory SQL database: stored procedures, serializable, command-logged, recovered in parallel.
#[derive(Parser)]
#[command(name = "planaria", version = env!("PLANARIA_VERSION"), about, long_about = None)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Loads TPC-C, runs it, kills the database, recovers it and checks that nothing is lost.
    Demo(demo::Options),
    /// Serves a database to PostgreSQL clients.
    Serve(Box<serve::Options>),
    /// Shows the status of a server.
    Status(serve::StatusOptions),
    /// A SQL prompt on a database in a directory, in memory, or on a server.
    Shell(shell::Options),
    /// Runs SQL files; stops at the first error.
    Run(run::Options),
    /// Dumps a database as SQL for psql or `planaria load`.
    Dump(dump::Options),
    /// Loads SQL written by `planaria dump` or `pg_dump`.
    Load(load::Options),
    /// Measures a workload.
    Bench(Box<bench::Options>),
    /// Experiments: recovery schemes compared, replay on simulated workers.
    #[command(subcommand)]
    Lab(lab::Experiments),
    /// Draws dependency graphs of procedures, and replay schedules.
    Graph(graph::Options),
    /// Inspects the log of a database.
    #[command(subcommand)]
    Log(log::Command),
    /// Inspects checkpoints and backups.
    #[command(subcommand)]
    Checkpoint(checkpoint::Command),
    /// Backs up a database that is not in use.
    Backup(checkpoint::BackupOptions),
    /// Restores a database from a backup and the log written since.
    Restore(checkpoint::RestoreOptions),
    /// The part of `demo` that gets killed.
    #[command(hide = true)]
    DemoVictim(demo::VictimOptions),
    /// Writes manual pages and completions.
    #[command(hide = true)]
    Generate(generate::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Demo(o) => demo::demo(&o),
        Command::DemoVictim(o) => demo::victim(&o),
        Command::Generate(o) => generate::generate(&o, Arguments::command()),
        Command::Serve(o) => serve::serve(*o),
        Command::Status(o) => serve::status(&o),
        Command::Shell(o) => match shell::shell(&o) {
            Ok(status) => return status,
            Err(error) => Err(error),
        },
        Command::Run(o) => return run::run(&o),
        Command::Dump(o) => dump::dump(&o),
        Command::Load(o) => match load::load(&o) {
            Ok(status) => return status,
            Err(error) => Err(error),
        },
        Command::Bench(o) => bench::bench(&o),
        Command::Lab(o) => lab::lab(&o),
        Command::Graph(o) => match graph::graph(&o) {
            Ok(status) => return status,
            Err(error) => Err(error),
        },
        Command::Log(o) => return log::log(&o),
        Command::Checkpoint(o) => checkpoint::checkpoint(&o),
        Command::Backup(o) => checkpoint::back_up(&o),
        Command::Restore(o) => checkpoint::restore(&o),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("{}", print::error(&error, None));
            ExitCode::FAILURE
        }
    }
}
