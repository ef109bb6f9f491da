//! Polymorphic routines with the types of calls.
//!
//! A routine with parameters such as `anyelement` has no program: each call says what types they are. For each list of types
//! that calls have had there is a routine of its own here, an *instance*, which programs call by its id, and which is lowered,
//! analysed and inlined as any other.
//!
//! 1. An instance is a function of its routine's definition and the types. It is made where a call is bound, and found again
//!    by what it is: so whoever lowers a program anew, at replay say, comes to the same instances.
//! 2. Ids are given as instances come, and mean something within a process alone. No record of the log names one: what is
//!    itself the call of an instance is logged by rows.
//! 3. The list is shared by all versions of a catalog, and only grows. After a change of the routine its old instances are
//!    found by nobody.

use crate::Procedure;
use planaria_base::sync::OnceLock;
use planaria_base::{Error, ProcedureId, Result, SqlState};
use std::fmt;
use std::sync::Arc;

/// The id of the first; those of definitions are below it.
pub const FIRST_INSTANCE: ProcedureId = ProcedureId(1 << 31);

/// How many there can be.
pub const INSTANCES_MAX: usize = 1 << 14;

/// Places are made so many at a time.
const CHUNK: usize = 64;

type Chunk = OnceLock<Box<[OnceLock<Procedure>]>>;

/// See the module's head.
#[derive(Clone, Default)]
pub(crate) struct Instances(Arc<OnceLock<Box<[Chunk]>>>);

impl Instances {
    fn place(&self, at: usize) -> &OnceLock<Procedure> {
        let chunks = self.0.get_or_init(|| (0..INSTANCES_MAX / CHUNK).map(|_| OnceLock::new()).collect());
        let chunk = chunks[at / CHUNK].get_or_init(|| (0..CHUNK).map(|_| OnceLock::new()).collect());
        &chunk[at % CHUNK]
    }

    pub(crate) fn get(&self, id: ProcedureId) -> Option<&Procedure> {
        let at = id.index().checked_sub(FIRST_INSTANCE.index())?;
        if at < INSTANCES_MAX { self.place(at).get() } else { None }
    }

    pub(crate) fn find_or_add(&self, mut made: Procedure) -> Result<ProcedureId> {
        for at in 0..INSTANCES_MAX {
            made.id = ProcedureId::from(FIRST_INSTANCE.index() + at);
            // Another thread may be the first here: then this one goes on behind.
            if *self.place(at).get_or_init(|| made.clone()) == made {
                return Ok(made.id);
            }
        }
        let message =
            format!("polymorphic routines have been called with more than {INSTANCES_MAX} lists of types");
        Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
            .with_hint("Restart the server, or declare routines for the types that are used."))
    }
}

/// It is no part of what a catalog says.
impl PartialEq for Instances {
    fn eq(&self, _: &Instances) -> bool {
        true
    }
}

impl fmt::Debug for Instances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Instances")
    }
}
