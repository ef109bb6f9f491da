//! Checks of the house: `cargo xtask tidy`.
fn main() {}
