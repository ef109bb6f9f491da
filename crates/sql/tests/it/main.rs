//! The integration tests of the room in one binary, so that the engine is linked once.

mod ddl;
mod lower;
