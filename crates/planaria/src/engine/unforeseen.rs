//! Bytes that nobody can foresee.

use planaria_base::sync::entropy;
use planaria_base::{Error, Result, SqlState};

/// So many of them, a multiple of 8: the system's, or what the seed of a simulation says. 58000 where the system gives none.
pub(crate) fn unforeseen<const N: usize>() -> Result<[u8; N]> {
    const { assert!(N.is_multiple_of(8), "they are drawn in words") };
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| {
        Error::new(SqlState::SYSTEM_ERROR, format!("the system gives no random numbers: {e}"))
    })?;
    for word in bytes.as_chunks_mut::<8>().0 {
        let drawn = u64::from_le_bytes(*word);
        *word = entropy(|| drawn).to_le_bytes();
    }
    Ok(bytes)
}
