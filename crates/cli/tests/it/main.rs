//! The integration tests of the room in one binary, so that the engine is linked once.

mod cli;
mod directories;
mod dump;
mod operations;
mod shell;
mod shell_script;
mod shell_server;
