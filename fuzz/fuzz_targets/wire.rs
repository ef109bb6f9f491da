//! What a client says once it was let in.
#![no_main]

use libfuzzer_sys::fuzz_target;
use planaria_fuzz::wire::Subject;
use std::sync::LazyLock;

static SUBJECT: LazyLock<Subject> = LazyLock::new(Subject::new);

fuzz_target!(|said: &[u8]| SUBJECT.run(said));
