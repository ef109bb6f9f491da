//! Where in a script the shell is: errors and notices begin with it, `FILE:LINE: `, so that an editor goes there.
//!
//! It is a thread's own, since notices arrive in the middle of a conversation that knows nothing of files.

use std::cell::RefCell;
use std::fmt::Display;

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

struct Place {
    file: String,
    line: u64,
}

/// The place before, which comes back when this goes.
pub struct Inside(Option<Place>);

impl Drop for Inside {
    fn drop(&mut self) {
        PLACE.set(self.0.take());
    }
}

/// A file is about to be read.
pub fn enter(file: impl Into<String>) -> Inside {
    Inside(PLACE.replace(Some(Place { file: file.into(), line: 0 })))
}

/// Its next line has been read.
pub fn next_line() {
    PLACE.with_borrow_mut(|place| {
        if let Some(place) = place {
            place.line += 1;
        }
    });
}

/// Says something of what is being done there, on standard error. The text may end with its line.
pub fn tell(text: impl Display) {
    PLACE.with_borrow(|place| {
        if let Some(Place { file, line }) = place {
            eprint!("{file}:{line}: ");
        }
    });
    let text = text.to_string();
    eprint!("{text}{}", if text.ends_with('\n') { "" } else { "\n" });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Option<(String, u64)> {
        PLACE.with_borrow(|place| place.as_ref().map(|p| (p.file.clone(), p.line)))
    }

    #[test]
    fn files_are_within_files() {
        assert_eq!(now(), None);
        let outer = enter("a.sql");
        next_line();
        {
            let _inner = enter("b.sql");
            next_line();
            next_line();
            assert_eq!(now(), Some(("b.sql".to_owned(), 2)));
        }
        assert_eq!(now(), Some(("a.sql".to_owned(), 1)));
        drop(outer);
        next_line();
        assert_eq!(now(), None);
    }
}
