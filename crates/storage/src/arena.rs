//! The arena of a transaction: row images, texts and intermediate values, released all at once.
//!
//! A bump allocator over one `Vec<u64>`, so that row images can be read as words and texts as bytes
//! without a copy and without `unsafe`. Nothing is freed singly: [`Arena::reset`] at the end of a
//! transaction keeps the memory for the next one (up to [`KEEP_BYTES`]), so the steady state
//! allocates nothing. Positions are `u32`; past 4 GiB every request answers [`ArenaFull`].
//!
//! A long byte string that others are appended to ([`Arena::concat`]) gets room behind it, so that appending in
//! a loop copies it only now and then ([`growing`]).

pub mod growing;

use growing::{Growing, room_for};
use planaria_base::limits::{ARENA_BYTES_MAX, TEXT_BYTES_MAX};
use planaria_base::{Error, SqlState};

/// Memory that [`Arena::reset`] keeps; more is given back, lest one giant transaction pin it. Nobody counts what is
/// kept, and each session has some of it.
pub const KEEP_BYTES: usize = 256 << 10;
const WORDS_MAX: usize = ARENA_BYTES_MAX / 8;
const _: () = assert!(ARENA_BYTES_MAX <= 1 << 32, "positions are 32 bits");

/// A bump arena of words.
#[derive(Default)]
pub struct Arena {
    words: Vec<u64>,
    used: usize,
    /// Byte strings with room behind them; positions and lengths in bytes.
    growing: Growing,
}

/// Byte strings that are shorter get no room.
const GROWING_BYTES_MIN: usize = 256;

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
            .with_hint("Split the work into smaller transactions.")
    }
}

impl Arena {
    /// An empty arena; takes memory on first use.
    pub const fn new() -> Arena {
        Arena { words: Vec::new(), used: 0, growing: Growing::new() }
    }

    /// Forgets everything, keeps the memory.
    #[inline]
    pub fn reset(&mut self) {
        self.used = 0;
        self.growing.truncate(0);
        if self.words.len() > KEEP_BYTES / 8 {
            self.shrink();
        }
    }

    #[cold]
    fn shrink(&mut self) {
        self.words = Vec::new();
    }

    /// Bytes that it takes, in use or not.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.words.len() * 8
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
        self.growing.truncate(self.used * 8);
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

    /// Byte strings of the arena, one behind the other. To append to what was put together before takes the time
    /// of what is appended, if nobody else has appended to it.
    pub fn concat(
        &mut self,
        first: Bytes,
        others: impl Iterator<Item = Bytes> + Clone,
    ) -> Result<Bytes, ArenaFull> {
        let old = first.len as usize;
        let len = others.clone().fold(old, |len, part| len + part.len as usize);
        if len == old {
            return Ok(first);
        }
        if old >= GROWING_BYTES_MIN && self.growing.extend(first.offset, old, len) {
            self.fill(first.offset + first.len, others);
            return Ok(Bytes { offset: first.offset, len: len as u32 });
        }
        let long = len >= GROWING_BYTES_MIN;
        let place = self.alloc_growing(len, if long { room_for(len, TEXT_BYTES_MAX) } else { len })?;
        self.fill(place.offset, std::iter::once(first).chain(others));
        Ok(place)
    }

    /// Copies byte strings to an offset where there is room for them.
    fn fill(&mut self, at: u32, parts: impl Iterator<Item = Bytes>) {
        let all: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        let mut at = at as usize;
        for part in parts {
            let from = part.offset as usize;
            all.copy_within(from..from + part.len as usize, at);
            at += part.len as usize;
        }
    }

    /// [`Arena::alloc_bytes`] with room to grow behind it, if there is any.
    fn alloc_growing(&mut self, len: usize, room: usize) -> Result<Bytes, ArenaFull> {
        if room > len
            && let Ok(place) = self.alloc_bytes(room)
        {
            self.growing.remember(place.offset, len, room);
            return Ok(Bytes { offset: place.offset, len: len as u32 });
        }
        self.alloc_bytes(len)
    }

    /// Copies a byte string of another arena in, with the room to grow that it has there.
    pub fn push_from(&mut self, from: &Arena, place: Bytes) -> Result<Bytes, ArenaFull> {
        let len = place.len as usize;
        let long = len >= GROWING_BYTES_MIN;
        let room = if long { from.growing.room(place.offset, len) } else { None };
        let new = self.alloc_growing(len, room.unwrap_or(len))?;
        self.bytes_mut(new).copy_from_slice(from.bytes(place));
        Ok(new)
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
    fn long_strings_grow_in_place_and_what_was_there_stays() {
        let mut a = Arena::new();
        let x = a.push_bytes(&[b'x'; 300]).unwrap();
        let mut long = [x; 20];
        let mut expected = vec![vec![b'x'; 300]; 20];
        let mut copies = 0;
        for i in 0..20_000u32 {
            // Twenty that grow by turns.
            let turn = i as usize % 20;
            let piece = a.push_bytes(&i.to_le_bytes()).unwrap();
            let (before, text) = (long[turn], a.bytes(long[turn]).to_vec());
            long[turn] = a.concat(before, [piece].into_iter()).unwrap();
            expected[turn].extend_from_slice(&i.to_le_bytes());
            assert_eq!(a.bytes(before), text, "the shorter one");
            copies += u32::from(long[turn].offset != before.offset);
        }
        for (long, expected) in long.iter().zip(&expected) {
            assert_eq!(a.bytes(*long), *expected);
        }
        assert!(copies < 20 * 6, "{copies}");
        // Two that begin with the same one do not meet.
        let (y, z) = (a.push_bytes(b"y").unwrap(), a.push_bytes(b"z").unwrap());
        let with_y = a.concat(long[0], [y].into_iter()).unwrap();
        let with_z = a.concat(long[0], [z].into_iter()).unwrap();
        assert_eq!((a.bytes(with_y).last(), a.bytes(with_z).last()), (Some(&b'y'), Some(&b'z')));
        let twice = a.concat(with_y, [with_y].into_iter()).unwrap();
        assert_eq!(a.bytes(twice), [a.bytes(with_y), a.bytes(with_y)].concat());
        // What moves to another arena still grows there.
        let mut b = Arena::new();
        let moved = b.push_from(&a, twice).unwrap();
        let z = b.push_bytes(b"z").unwrap();
        let grown = b.concat(moved, [z, z].into_iter()).unwrap();
        assert_eq!((grown.offset, b.bytes(grown)), (moved.offset, &[a.bytes(twice), b"zz"].concat()[..]));
    }

    #[test]
    fn what_is_given_back_has_no_room_any_more() {
        let mut a = Arena::new();
        let x = a.push_bytes(&[b'x'; 300]).unwrap();
        let mark = a.mark();
        let gone = a.concat(x, [x].into_iter()).unwrap();
        a.truncate(mark);
        let same = a.alloc_bytes(gone.len as usize).unwrap();
        assert_eq!(same, gone);
        let behind = a.push_bytes(&[b'b'; 16]).unwrap();
        a.concat(same, [x].into_iter()).unwrap();
        assert_eq!(a.bytes(behind), [b'b'; 16]);
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
