//! What holds on to the engine: sessions and the database, for those who embed it.
//!
//! * *Processes.* In a process that was forked from the one that opened the database everything is refused (55000),
//!   and nothing is dropped: threads to wait for are not there, and files to give back are the other's.
//! * *Panics* become errors (XX000). The session that had one has undone what it was at, and can only be dropped.

use planaria_base::{Error, Result};
use planaria_storage::Process;
use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A box that is not dropped in a copy of its process.
pub(crate) struct Owned<T: ?Sized> {
    /// There until it is dropped.
    value: Option<Box<T>>,
    process: Process,
}

impl<T: ?Sized> Owned<T> {
    pub(crate) fn new(value: Box<T>) -> Owned<T> {
        Owned { value: Some(value), process: Process::this() }
    }
}

impl<T: ?Sized> Deref for Owned<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.value.as_deref().expect("it is there until it is dropped")
    }
}

impl<T: ?Sized> DerefMut for Owned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("it is there until it is dropped")
    }
}

impl<T: ?Sized> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.process.is_copy() {
            std::mem::forget(self.value.take());
        }
    }
}

/// Runs `f`; a panic in it is an error.
pub(crate) fn caught<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(internal(&*panic)))
}

#[cold]
fn internal(panic: &(dyn Any + Send)) -> Error {
    let what = panic.downcast_ref::<String>().map(String::as_str);
    let what = what.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it does not say why");
    Error::internal(format!("the database panicked: {what}"))
        .with_detail("Its work has been rolled back, and the session can no longer be used.")
        .with_hint("Please report this. Continue in another session.")
}

/// XX000, of a session that has panicked.
#[cold]
pub(crate) fn has_panicked() -> Error {
    Error::internal("the session has ended with an internal error").with_hint("Continue in another session.")
}
