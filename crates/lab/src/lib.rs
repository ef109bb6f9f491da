//! The laboratory: experiments of the papers, as one would want to repeat them.
//!
//!
//! Every experiment checks its own results: a recovery that does not end in the rows that were
//! there before the crash is no result.
