//! The buffer a key is built in.

/// Words held without the heap: 64 bytes cover almost every key.
const INLINE: usize = 8;

/// A key under construction or to search with; reusable. Short keys need no heap.
#[derive(Clone, Default)]
pub struct KeyBuf {
    inline: [u64; INLINE],
    /// All words, once there are more than [`INLINE`].
    spill: Vec<u64>,
    len: u32,
    spilled: bool,
}

impl KeyBuf {
    /// An empty key.
    pub const fn new() -> KeyBuf {
        KeyBuf { inline: [0; INLINE], spill: Vec::new(), len: 0, spilled: false }
    }

    /// From the words of a key.
    pub fn from_words(words: &[u64]) -> KeyBuf {
        let mut key = KeyBuf::new();
        key.set_words(words);
        key
    }

    /// Becomes the key of these words.
    #[inline]
    pub fn set_words(&mut self, words: &[u64]) {
        self.clear();
        words.iter().for_each(|w| self.push(*w, 8));
    }

    /// Becomes the key of these bytes.
    pub fn set_bytes(&mut self, bytes: &[u8]) {
        self.clear();
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.push(chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 8);
        }
        chunks.remainder().iter().for_each(|byte| self.push(u64::from(*byte), 1));
    }

    /// Its bytes, without the padding.
    pub fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.words().iter().flat_map(|word| word.to_be_bytes()).take(self.len_bytes())
    }

    /// Empties it.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.spilled = false;
    }

    /// Length in bytes, without the padding.
    #[inline]
    pub fn len_bytes(&self) -> usize {
        self.len as usize
    }

    /// The words.
    #[inline]
    pub fn words(&self) -> &[u64] {
        let n = (self.len as usize).div_ceil(8);
        if self.spilled { &self.spill[..n] } else { &self.inline[..n.min(INLINE)] }
    }

    /// Appends the low `width` bytes of `value` (1 to 8; the others are zero), most significant first.
    #[inline]
    pub fn push(&mut self, value: u64, width: u32) {
        debug_assert!((1..=8).contains(&width) && (width == 8 || value >> (8 * width) == 0));
        let end = self.len + width;
        if end as usize > INLINE * 8 {
            return self.push_spilled(value, width);
        }
        let (word, fill) = (self.len as usize / 8, self.len % 8);
        let aligned = value << (64 - 8 * width);
        let words = &mut self.inline;
        if fill == 0 {
            words[word % INLINE] = aligned;
        } else {
            words[word % INLINE] |= aligned >> (8 * fill);
            if fill + width > 8 {
                words[(word + 1) % INLINE] = aligned << (64 - 8 * fill);
            }
        }
        self.len = end;
    }

    #[cold]
    #[inline(never)]
    fn push_spilled(&mut self, value: u64, width: u32) {
        if !self.spilled {
            self.spill.clear();
            self.spill.extend_from_slice(&self.inline[..(self.len as usize).div_ceil(8)]);
            self.spilled = true;
        }
        let (word, fill) = (self.len as usize / 8, self.len % 8);
        self.len += width;
        self.spill.resize((self.len as usize).div_ceil(8), 0);
        let aligned = value << (64 - 8 * width);
        if fill == 0 {
            self.spill[word] = aligned;
        } else {
            self.spill[word] |= aligned >> (8 * fill);
            if fill + width > 8 {
                self.spill[word + 1] = aligned << (64 - 8 * fill);
            }
        }
    }

    /// Whether these are the same words, but for zeros at the end (indexes pad their keys).
    #[inline]
    pub fn equals_words(&self, words: &[u64]) -> bool {
        let own = self.words();
        let common = own.len().min(words.len());
        own[..common] == words[..common]
            && own[common..].iter().chain(&words[common..]).all(|word| *word == 0)
    }

    /// Becomes a copy of `other`.
    #[inline]
    pub fn copy_from(&mut self, other: &KeyBuf) {
        self.len = other.len;
        self.spilled = other.spilled;
        if other.spilled {
            self.spill.clone_from(&other.spill);
        } else {
            self.inline = other.inline;
        }
    }

    /// Cuts it to at most `len` bytes.
    pub fn truncate_bytes(&mut self, len: usize) {
        if len >= self.len as usize {
            return;
        }
        self.len = len as u32;
        if !len.is_multiple_of(8) {
            let words = if self.spilled { &mut self.spill[..] } else { &mut self.inline[..] };
            words[len / 8] &= !(u64::MAX >> (8 * (len % 8)));
        }
    }

    /// Turns the byte string into the least one above all that begin with it; `false` if there is
    /// none (it is empty or all `ff`).
    pub fn successor(&mut self) -> bool {
        let (len, spilled) = (self.len as usize, self.spilled);
        let words = if spilled { &mut self.spill[..] } else { &mut self.inline[..] };
        for at in (0..len).rev() {
            let shift = 56 - 8 * (at % 8);
            let word = &mut words[at / 8];
            if (*word >> shift) & 0xff != 0xff {
                *word += 1 << shift;
                return true;
            }
            *word &= !(0xff << shift);
        }
        false
    }
}

impl PartialEq for KeyBuf {
    fn eq(&self, other: &KeyBuf) -> bool {
        self.words() == other.words()
    }
}
impl Eq for KeyBuf {}

impl std::fmt::Debug for KeyBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.words().iter().try_for_each(|w| write!(f, "{w:016x} "))
    }
}
