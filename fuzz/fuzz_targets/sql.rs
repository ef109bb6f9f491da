//! SQL text as it comes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use planaria_fuzz::sql::Subject;
use std::cell::RefCell;

/// Texts for one database: what they leave behind is part of the game, but not without end.
const TEXTS: u32 = 500;

thread_local!(static SUBJECT: RefCell<(u32, Subject)> = RefCell::new((0, Subject::new())));

fuzz_target!(|text: &str| {
    SUBJECT.with_borrow_mut(|(texts, subject)| {
        *texts += 1;
        if *texts % TEXTS == 0 {
            *subject = Subject::new();
        }
        subject.run(text);
    });
});
