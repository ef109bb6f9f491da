//! planaria
