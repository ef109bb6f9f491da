//! Where a running program looks for names.

use crate::engine::schema_version::SchemaVersion;
use std::ops::Deref;
use std::sync::Arc;

/// Where names are looked for: along the path of the session, or along one that a routine has.
pub(crate) enum At<'a> {
    Session(&'a SchemaVersion),
    Routine(Arc<SchemaVersion>),
}

impl<'a> At<'a> {
    pub(crate) fn again(&self) -> At<'a> {
        match self {
            At::Session(schema) => At::Session(schema),
            At::Routine(schema) => At::Routine(schema.clone()),
        }
    }
}

impl Deref for At<'_> {
    type Target = SchemaVersion;
    fn deref(&self) -> &SchemaVersion {
        match self {
            At::Session(schema) => schema,
            At::Routine(schema) => schema,
        }
    }
}
