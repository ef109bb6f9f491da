//! Stand-in, filled in next.
