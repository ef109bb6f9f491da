//! What keys are made of where equal values may have different bytes.

use std::borrow::Cow;

/// What keys of a column of bytes are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fold {
    /// The bytes.
    No,
    /// The folded text ([`planaria_base::citext`]).
    Citext,
    /// What `jsonb` is ordered by ([`planaria_base::json::key`]).
    Jsonb,
    /// What arrays and rows are ordered by ([`planaria_base::value::key`]).
    Array,
}

impl Fold {
    /// Bytes that are ordered as values are.
    pub fn of(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Fold::No => Cow::Borrowed(bytes),
            Fold::Citext => planaria_base::citext::fold(bytes),
            Fold::Jsonb => planaria_base::json::key::key(bytes),
            Fold::Array => planaria_base::value::key::key(bytes),
        }
    }
}
