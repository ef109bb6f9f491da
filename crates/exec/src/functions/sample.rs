//! TABLESAMPLE: which rows are taken.

use planaria_base::{Error, Result, SqlState};

/// The share of a percentage.
pub fn share(percent: f64, null: bool) -> Result<f64> {
    let wrong = |message: &str| Err(Error::new(SqlState::new("2202H"), message));
    match percent {
        _ if null => wrong("TABLESAMPLE parameter cannot be null"),
        0.0..=100.0 => Ok(percent / 100.0),
        _ => wrong("sample percentage must be between 0 and 100"),
    }
}

/// A number from 0 to 1 that is the same for a seed and a key. Every bit of them has a say in it.
pub fn draw(seed: f64, null: bool, key: &str) -> Result<f64> {
    if null {
        return Err(Error::new(SqlState::new("2202G"), "TABLESAMPLE REPEATABLE parameter cannot be null"));
    }
    // FNV-1a over both, then the finalizer of SplitMix64: keys in a row differ in few bits.
    let bytes = seed.to_bits().to_le_bytes().into_iter().chain(key.bytes());
    let mut hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    Ok((hash >> 11) as f64 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::{draw, share};

    #[test]
    fn shares_are_of_percentages() {
        assert_eq!(share(50.0, false), Ok(0.5));
        for wrong in [-0.1, 100.1, f64::NAN] {
            assert_eq!(share(wrong, false).unwrap_err().sqlstate().as_str(), "2202H");
        }
        assert!(share(0.0, true).is_err());
    }

    #[test]
    fn draws_are_even_and_the_same_again() {
        for seed in [0.0, 1.0, -7.5] {
            let drawn: Vec<f64> =
                (0..10_000).map(|i| draw(seed, false, &i.to_string()).expect("drawn")).collect();
            let below = drawn.iter().filter(|d| **d < 0.25).count();
            assert!((2_300..2_700).contains(&below), "{below} of 10000 for seed {seed}");
            assert_eq!(draw(seed, false, "77"), Ok(drawn[77]));
        }
        assert!(draw(0.0, true, "").is_err());
    }
}
