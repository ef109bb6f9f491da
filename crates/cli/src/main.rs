//! The binary `planaria`.
fn main() {}
