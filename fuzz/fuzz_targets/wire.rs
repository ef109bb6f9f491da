//! What a client says: see `planaria_fuzz::wire::Subject::hear`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use planaria_fuzz::wire::Subject;
use std::sync::LazyLock;

static SUBJECT: LazyLock<Subject> = LazyLock::new(Subject::new);

fuzz_target!(|data: &[u8]| SUBJECT.hear(data));
