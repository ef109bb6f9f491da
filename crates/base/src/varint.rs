//! Little-endian base-128 integers (LEB128) and the zigzag map of signed ones.

/// Bytes a `u64` takes at most.
pub const VARINT_BYTES_MAX: usize = 10;

/// Appends `value`, 7 bits a byte, least significant first; the top bit says that more follow.
#[inline]
pub fn put(buf: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        buf.push(value as u8 | 0x80);
        value >>= 7;
    }
    buf.push(value as u8);
}

/// As [`put`], for what may need more than 64 bits.
pub fn put_wide(buf: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        buf.push(value as u8 | 0x80);
        value >>= 7;
    }
    buf.push(value as u8);
}

/// Takes an integer off the front of `bytes`; `None` if it is cut short or does not fit.
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(first as u64);
    }
    take_long(bytes)
}

fn take_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (i, &b) in bytes.iter().enumerate().take(VARINT_BYTES_MAX) {
        let low = (b & 0x7f) as u64;
        if i == VARINT_BYTES_MAX - 1 && low > 1 {
            return None;
        }
        value |= low << (7 * i);
        if b < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(value);
        }
    }
    None
}

/// As [`take`], for 128 bits.
pub fn take_wide(bytes: &mut &[u8]) -> Option<u128> {
    // Nearly always it fits into a word.
    let mut word = 0u64;
    for (i, &b) in bytes.iter().enumerate().take(9) {
        word |= u64::from(b & 0x7f) << (7 * i);
        if b < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(u128::from(word));
        }
    }
    let mut value = 0u128;
    for (i, &b) in bytes.iter().enumerate().take(19) {
        let low = (b & 0x7f) as u128;
        if i == 18 && low > 3 {
            return None;
        }
        value |= low << (7 * i);
        if b < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(value);
        }
    }
    None
}

/// Small magnitudes to small codes: 0, -1, 1, -2, ... to 0, 1, 2, 3, ...
#[inline]
pub const fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// Back from [`zigzag`].
#[inline]
pub const fn unzigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// [`zigzag`] for 128 bits.
pub const fn zigzag_wide(n: i128) -> u128 {
    ((n << 1) ^ (n >> 127)) as u128
}

/// [`unzigzag`] for 128 bits.
pub const fn unzigzag_wide(n: u128) -> i128 {
    (n >> 1) as i128 ^ -((n & 1) as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_round_trip() {
        for n in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u32::MAX as u64, 1 << 63, u64::MAX] {
            let mut buf = Vec::new();
            put(&mut buf, n);
            let mut rest = &buf[..];
            assert_eq!((take(&mut rest), rest.len()), (Some(n), 0));
            for cut in 0..buf.len() {
                assert_eq!(take(&mut &buf[..cut]), None);
            }
        }
        for n in [0, 127, 128, (1 << 63) - 1, 1 << 63, u64::MAX as u128 + 1, u128::MAX] {
            let mut buf = Vec::new();
            put_wide(&mut buf, n);
            assert_eq!(take_wide(&mut &buf[..]), Some(n));
        }
        for n in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(n)), n);
            assert_eq!(unzigzag_wide(zigzag_wide(n as i128 * 3)), n as i128 * 3);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(take(&mut &[0xff; 11][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None);
        assert_eq!(take_wide(&mut &[0xff; 20][..]), None);
    }
}
