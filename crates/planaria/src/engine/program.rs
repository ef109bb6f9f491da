//! What a running program may ask: inputs, sequences, messages, rows of dynamic SQL ([`host`], [`inputs`], [`dynamic`], [`handed`]), settings,
//! cursors, advisory locks ([`keys`]), what is deferred ([`deferred`]); and what ends it before its time ([`cancel`], [`refusal`],
//! [`under_locks`]).

pub(crate) mod at;
pub(crate) mod cancel;
pub(crate) mod constraints;
pub(crate) mod cursor;
pub(crate) mod deferred;
pub(crate) mod dynamic;
pub(crate) mod handed;
pub(crate) mod host;
pub(crate) mod inputs;
pub(crate) mod keys;
pub(crate) mod kind;
pub(crate) mod random;
pub(crate) mod refusal;
mod same;
pub(crate) mod under_locks;
