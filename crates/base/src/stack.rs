//! How deep this thread's stack may grow.
//!
//! Whoever recurses over what users wrote asks at every level ([`check`]) and fails with 54001 while there is
//! room left to return. Where the stack began is not asked of the system: it is the highest place at which
//! anybody has asked in this thread, near enough to the thread's own start, as the entry points (parsing,
//! lowering) ask before they go deeper.

use crate::error::{Error, Result, SqlState};
use crate::limits::STACK_BYTES_MAX;
use std::cell::Cell;

thread_local! {
    /// The highest address of a local variable so far.
    static TOP: Cell<usize> = const { Cell::new(0) };
}

/// Beyond this two places are not of one stack (a sanitizer has put the variable elsewhere).
const PLAUSIBLE_BYTES_MAX: usize = 64 << 20;

/// Bytes of stack between here and the highest place that has asked.
#[inline(never)]
fn used() -> usize {
    let here = 0u8;
    let at = std::ptr::from_ref(std::hint::black_box(&here)).addr();
    TOP.with(|top| {
        let used = top.get().wrapping_sub(at);
        // Above it, or nowhere near.
        if used > PLAUSIBLE_BYTES_MAX {
            top.set(at);
            return 0;
        }
        used
    })
}

/// 54001 where the stack is so deep that nobody is to go deeper.
#[inline]
pub fn check() -> Result<()> {
    // Places have no order there.
    if cfg!(miri) || used() < STACK_BYTES_MAX { Ok(()) } else { Err(too_deep()) }
}

#[cold]
fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").with_hint(format!(
        "The limit is {}kB of stack. Nest less: views, subqueries, expressions and blocks inside each other count.",
        STACK_BYTES_MAX >> 10
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down(levels: usize) -> Result<usize> {
        check()?;
        let room = std::hint::black_box([levels as u8; 512]);
        let below = if levels == 0 { 0 } else { down(levels - 1)? };
        Ok(below + usize::from(room[0]) / 256 + 1)
    }

    #[test]
    #[cfg_attr(miri, ignore = "places have no order there")]
    fn a_recursion_without_end_is_refused_on_the_smallest_stack() {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
            assert_eq!(down(100).expect("there is room"), 101);
            let error = down(usize::MAX).expect_err("there is an end");
            assert_eq!(error.sqlstate(), SqlState::STATEMENT_TOO_COMPLEX);
            assert_eq!(down(100).expect("there is room again"), 101);
        });
        thread.expect("a thread").join().expect("it lives");
    }
}
