//! A file of the log or a checkpoint: the first byte says which and of what kind of log, the rest is laid over it,
//! three bytes a change: where, and what.
#![no_main]

use libfuzzer_sys::fuzz_target;
use planaria::{LogKind, Scheme};
use planaria_fuzz::files::{self, File};
use std::sync::LazyLock;

static TEMPLATES: LazyLock<Vec<Vec<File>>> = LazyLock::new(|| {
    let of = |kind| files::template(kind).into_iter().map(|(name, file)| (name, files::unpacked(&file))).collect();
    [LogKind::Command, LogKind::Logical, LogKind::Physical].map(of).into()
});

fuzz_target!(|data: &[u8]| {
    let [which, changes @ ..] = data else { return };
    let mut files = TEMPLATES[usize::from(which >> 6) % 3].clone();
    let at = usize::from(which & 0x3f) % files.len();
    let file = &mut files[at].1;
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % file.len();
        file[place] = change[2];
    }
    files::seal(file);
    files::open(&files, Scheme::Clr);
});
