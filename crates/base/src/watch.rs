//! Whether what runs in this thread may go on, and whether there is memory for what it is about to make.
//!
//! A session lends its watch to the thread for as long as a statement runs ([`Watch::lend`]). Whatever takes
//! long without coming back to the machine asks it: planning and parsing at every step, functions at every
//! [`STEP`] bytes ([`Pace`]), and whoever is about to make much asks for room first ([`room`]). Threads that
//! nobody has lent a watch (recovery, replay) are never told to stop.

use crate::error::{Error, Result, SqlState};
use crate::sync::Instant;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of work between two questions, and the size below which nobody asks for room.
pub const STEP: usize = 1 << 20;

/// Who knows how much memory there is.
pub trait Room: Send + Sync {
    /// 53200 where there is none for this many bytes that a statement would compute with.
    fn room(&self, bytes: usize) -> Result<()>;
}

/// See the module's head.
pub struct Watch {
    /// Raised where the statement is to end.
    pub flag: Arc<AtomicBool>,
    /// When its time is over.
    pub deadline: Option<Instant>,
    /// Of the memory.
    pub room: Option<Arc<dyn Room>>,
}

thread_local! {
    static LENT: RefCell<Option<Box<Watch>>> = const { RefCell::new(None) };
}

/// A watch while it is lent; what was lent before it comes back behind it.
pub struct Lent {
    before: Option<Box<Watch>>,
}

impl Watch {
    /// Lends the watch to this thread.
    #[inline]
    pub fn lend(self: Box<Watch>) -> Lent {
        Lent { before: LENT.replace(Some(self)) }
    }
}

impl Lent {
    /// Takes the watch back.
    #[inline]
    pub fn back(mut self) -> Option<Box<Watch>> {
        LENT.replace(self.before.take())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Behind a panic: the watch is lost, not left to whoever comes next.
        if std::thread::panicking() {
            let _ = LENT.try_with(|lent| lent.replace(self.before.take()));
        }
    }
}

/// Does what is not of this thread's statement alone, and stays behind it: nobody tells it to stop.
pub fn unwatched<T>(work: impl FnOnce() -> T) -> T {
    struct Back(Option<Box<Watch>>);
    impl Drop for Back {
        fn drop(&mut self) {
            let _ = LENT.try_with(|lent| lent.replace(self.0.take()));
        }
    }
    let _back = Back(LENT.take());
    work()
}

/// 57014
#[cold]
pub fn canceled(why: &str) -> Error {
    Error::new(SqlState::QUERY_CANCELED, format!("canceling statement due to {why}"))
}

/// 57014 where the statement that runs in this thread is to end.
pub fn check() -> Result<()> {
    LENT.with_borrow(|lent| {
        let Some(watch) = lent else { return Ok(()) };
        if watch.flag.load(Ordering::Relaxed) {
            return Err(canceled("user request"));
        }
        match watch.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(canceled("statement timeout")),
            _ => Ok(()),
        }
    })
}

/// 53200 where there is no memory for what a statement would hold, 57014 where it is to end. To be asked before
/// anything of [`STEP`] bytes or more is made.
pub fn room(bytes: usize) -> Result<()> {
    check()?;
    LENT.with_borrow(|lent| match lent.as_ref().and_then(|watch| watch.room.as_ref()) {
        Some(room) => room.room(bytes),
        None => Ok(()),
    })
}

/// [`room`], where it is much.
#[inline]
pub fn admit(bytes: usize) -> Result<()> {
    if bytes < STEP { Ok(()) } else { room(bytes) }
}

/// Counts work, and asks at every [`STEP`] whether to go on.
#[derive(Default)]
pub struct Pace(usize);

#[cfg(debug_assertions)]
thread_local! {
    static WORKED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// So many bytes were worked through, by who is done so soon that he need not ask whether to go on. Whoever reads or
/// writes values as text says each of his passes over it, so that tests see how they grow ([`worked`]).
#[inline]
pub fn count(bytes: usize) {
    #[cfg(debug_assertions)]
    WORKED.set(WORKED.get() + bytes as u64);
    #[cfg(not(debug_assertions))]
    let _ = bytes;
}

/// The bytes that this thread has worked through so far: tests count how work grows. Without debug assertions
/// nobody counts.
pub fn worked() -> Option<u64> {
    #[cfg(debug_assertions)]
    return Some(WORKED.get());
    #[cfg(not(debug_assertions))]
    None
}

impl Pace {
    /// So many bytes were worked through.
    #[inline]
    pub fn step(&mut self, bytes: usize) -> Result<()> {
        count(bytes);
        self.0 += bytes;
        if self.0 < STEP {
            return Ok(());
        }
        self.0 = 0;
        check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Little;
    impl Room for Little {
        fn room(&self, bytes: usize) -> Result<()> {
            if bytes > 100 { Err(Error::new(SqlState::OUT_OF_MEMORY, "out of memory")) } else { Ok(()) }
        }
    }

    #[test]
    fn a_watch_is_asked_while_it_is_lent() {
        assert!(check().is_ok() && room(1 << 40).is_ok());
        let flag = Arc::new(AtomicBool::new(false));
        let watch = Box::new(Watch { flag: flag.clone(), deadline: None, room: Some(Arc::new(Little)) });
        let lent = watch.lend();
        assert!(check().is_ok() && room(100).is_ok());
        assert_eq!(room(101).expect_err("too much").sqlstate(), SqlState::OUT_OF_MEMORY);
        flag.store(true, Ordering::Relaxed);
        assert_eq!(check().expect_err("cancelled").sqlstate(), SqlState::QUERY_CANCELED);
        let mut pace = Pace::default();
        assert!(pace.step(STEP - 1).is_ok() && pace.step(1).is_err() && pace.step(1).is_ok());
        assert!(lent.back().is_some());
        assert!(check().is_ok());
    }
}
