//! A file of the log or a checkpoint, changed as the bytes say: see `planaria_fuzz::files::forged`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use planaria_fuzz::files::{self, File};
use std::sync::LazyLock;

static TEMPLATES: LazyLock<Vec<Vec<File>>> = LazyLock::new(files::templates);

fuzz_target!(|data: &[u8]| {
    if let Some((files, scheme)) = files::forged(&TEMPLATES, data) {
        files::open(&files, scheme);
    }
});
