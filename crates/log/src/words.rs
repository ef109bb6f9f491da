//! Row images in a record: 64-bit words without their leading zero bytes.
//!
//! Two words share a control byte: its low half counts the bytes of the first word, its high half
//! those of the second (absent, hence 0, in an image of odd length). Keys, counts and amounts are
//! small numbers in large words; texts take half a byte more for each eight.

/// Appends the words.
pub(crate) fn put(buf: &mut Vec<u8>, words: &[u64]) {
    buf.reserve(words.len() * 9 + 8);
    for pair in words.chunks(2) {
        let control = buf.len();
        buf.push(0);
        let first = put_word(buf, pair[0]);
        let second = pair.get(1).map_or(0, |&w| put_word(buf, w));
        buf[control] = first | second << 4;
    }
}

#[inline]
fn put_word(buf: &mut Vec<u8>, word: u64) -> u8 {
    let bytes = (71 - word.leading_zeros() as usize) / 8;
    let end = buf.len() + bytes;
    // All eight bytes, then back: a copy of known length is one store.
    buf.extend_from_slice(&word.to_le_bytes());
    buf.truncate(end);
    bytes as u8
}

/// Takes `n` words off the front of `bytes`.
pub(crate) fn take(bytes: &mut &[u8], n: usize) -> Option<Vec<u64>> {
    let mut words = Vec::new();
    take_into(bytes, n, &mut words)?;
    Some(words)
}

/// The same into a vector, which it replaces.
pub(crate) fn take_into(bytes: &mut &[u8], n: usize, words: &mut Vec<u64>) -> Option<()> {
    words.clear();
    words.reserve(n.min(bytes.len() * 2));
    while words.len() < n {
        let (&control, rest) = bytes.split_first()?;
        *bytes = rest;
        words.push(take_word(bytes, control & 0xf)?);
        if words.len() < n {
            words.push(take_word(bytes, control >> 4)?);
        } else if control >> 4 != 0 {
            return None;
        }
    }
    Some(())
}

/// Passes over `n` words.
pub(crate) fn skip(bytes: &mut &[u8], n: usize) -> Option<()> {
    for _ in 0..n.div_ceil(2) {
        let (&control, rest) = bytes.split_first()?;
        *bytes = rest.get(usize::from(control & 0xf) + usize::from(control >> 4)..)?;
    }
    Some(())
}

#[inline]
fn take_word(bytes: &mut &[u8], len: u8) -> Option<u64> {
    let (head, rest) = bytes.split_at_checked(len as usize).filter(|_| len <= 8)?;
    *bytes = rest;
    let mut word = [0; 8];
    word[..len as usize].copy_from_slice(head);
    Some(u64::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_round_trip_and_small_words_are_small() {
        for words in
            [vec![], vec![0], vec![1, 2, 3], vec![u64::MAX; 5], vec![0xff, 0x100, 1 << 56, 1 << 55, 0]]
        {
            let mut buf = Vec::new();
            put(&mut buf, &words);
            let mut rest = &buf[..];
            assert_eq!(take(&mut rest, words.len()), Some(words.clone()));
            assert!(rest.is_empty());
        }
        let mut buf = Vec::new();
        put(&mut buf, &[7, 0]);
        assert_eq!(buf, [1, 7]);
    }
}
