//! Text in, verified IR out.
