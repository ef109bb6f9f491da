//! The arena of a transaction: row images, texts and intermediate values, released all at once.
//!
//! A bump allocator over one `Vec<u64>`, so that row images can be read as words and texts as bytes
//! without a copy and without `unsafe`. Nothing is freed singly: [`Arena::reset`] at the end of a
//! transaction keeps the memory for the next one (up to [`KEEP_BYTES`]), so the steady state
//! allocates nothing. Positions are `u32`; past 4 GiB every request answers [`ArenaFull`].

use planaria_base::limits::ARENA_BYTES_MAX;
use planaria_base::{Error, SqlState};

/// Memory that [`Arena::reset`] keeps; more is given back, lest one giant transaction pin it.
pub const KEEP_BYTES: usize = 16 << 20;
const WORDS_MAX: usize = ARENA_BYTES_MAX / 8;
const _: () = assert!(ARENA_BYTES_MAX <= 1 << 32, "positions are 32 bits");

/// A bump arena of words.
#[derive(Default)]
pub struct Arena {
    words: Vec<u64>,
    used: usize,
}

/// A byte string within an arena. Offset and length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bytes {
    /// Byte offset from the start of the arena.
    pub offset: u32,
    /// Length in bytes.
    pub len: u32,
}

/// A position to which [`Arena::truncate`] can return.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Mark(u32);

/// The transaction asked for more than [`ARENA_BYTES_MAX`] bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArenaFull;

impl From<ArenaFull> for Error {
    #[cold]
    fn from(_: ArenaFull) -> Error {
        Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "transaction exceeds its memory of 4 GiB")
            .hint("Split the work into smaller transactions.")
    }
}

impl Arena {
    /// An empty arena; takes memory on first use.
    pub const fn new() -> Arena {
        Arena { words: Vec::new(), used: 0 }
    }

    /// Forgets everything, keeps the memory.
    #[inline]
    pub fn reset(&mut self) {
        self.used = 0;
        if self.words.len() > KEEP_BYTES / 8 {
            self.shrink();
        }
    }

    #[cold]
    fn shrink(&mut self) {
        self.words = Vec::new();
    }

    /// Words in use.
    #[inline]
    pub fn used_words(&self) -> usize {
        self.used
    }

    /// The present end, for [`Arena::truncate`].
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark(self.used as u32)
    }

    /// Forgets everything allocated after `mark`.
    #[inline]
    pub fn truncate(&mut self, mark: Mark) {
        debug_assert!(mark.0 as usize <= self.used);
        self.used = mark.0 as usize;
    }

    /// Reserves `n` words and returns the word offset of the first. Their content is arbitrary.
    #[inline]
    pub fn alloc_words(&mut self, n: usize) -> Result<u32, ArenaFull> {
        let offset = self.used;
        // `n` is at most a row or a text, far from overflowing; `grow` checks the limit.
        let end = offset + n;
        if end > self.words.len() {
            self.grow(end)?;
        }
        self.used = end;
        Ok(offset as u32)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, end: usize) -> Result<(), ArenaFull> {
        if end >= WORDS_MAX {
            return Err(ArenaFull);
        }
        let target = end.max(self.words.len() * 2).clamp(1 << 10, WORDS_MAX);
        self.words.resize(target, 0);
        Ok(())
    }

    /// `len` words from word offset `offset`.
    #[inline]
    pub fn words(&self, offset: u32, len: u32) -> &[u64] {
        &self.words[offset as usize..offset as usize + len as usize]
    }

    /// The same, to write.
    #[inline]
    pub fn words_mut(&mut self, offset: u32, len: u32) -> &mut [u64] {
        &mut self.words[offset as usize..offset as usize + len as usize]
    }

    /// Copies words in; returns their word offset.
    #[inline]
    pub fn push_words(&mut self, words: &[u64]) -> Result<u32, ArenaFull> {
        let offset = self.alloc_words(words.len())?;
        self.words[offset as usize..offset as usize + words.len()].copy_from_slice(words);
        Ok(offset)
    }

    /// Reserves `len` bytes (at a word boundary) and returns their place. Their content is arbitrary.
    #[inline]
    pub fn alloc_bytes(&mut self, len: usize) -> Result<Bytes, ArenaFull> {
        let word = self.alloc_words(len.div_ceil(8))?;
        Ok(Bytes { offset: word * 8, len: len as u32 })
    }

    /// Copies a byte string in.
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<Bytes, ArenaFull> {
        let place = self.alloc_bytes(bytes.len())?;
        self.bytes_mut(place).copy_from_slice(bytes);
        Ok(place)
    }

    /// A byte string.
    #[inline]
    pub fn bytes(&self, place: Bytes) -> &[u8] {
        let all: &[u8] = bytemuck::cast_slice(&self.words);
        &all[place.offset as usize..place.offset as usize + place.len as usize]
    }

    /// A byte string, to write.
    #[inline]
    pub fn bytes_mut(&mut self, place: Bytes) -> &mut [u8] {
        let all: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        &mut all[place.offset as usize..place.offset as usize + place.len as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bytes_share_the_memory() {
        let mut a = Arena::new();
        let w = a.push_words(&[1, 2]).unwrap();
        let b = a.push_bytes(b"planaria!").unwrap();
        assert_eq!(a.words(w, 2), &[1, 2]);
        assert_eq!(a.bytes(b), b"planaria!");
        let mark = a.mark();
        a.push_bytes(&[7; 100]).unwrap();
        a.truncate(mark);
        assert_eq!(a.used_words(), 4);
        a.reset();
        assert_eq!(a.alloc_words(1).unwrap(), 0);
    }

    #[test]
    fn past_the_limit_is_an_error() {
        let mut a = Arena::new();
        assert_eq!(a.alloc_words(WORDS_MAX), Err(ArenaFull));
        assert_eq!(Error::from(ArenaFull).sqlstate(), SqlState::PROGRAM_LIMIT_EXCEEDED);
    }
}
