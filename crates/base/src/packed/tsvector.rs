//! `tsvector`: the lexemes of a document, each once, in the order of their bytes, with their places.
//!
//! PostgreSQL compares by size first: by the bytes that a value has there, then by the number of lexemes, then lexeme by
//! lexeme. As kept: these two numbers (4 bytes each, the highest first); then for each lexeme a byte that is 0 where it has
//! places and 1 where not, the lexeme, a zero byte, and where it has places 255 less their number and each of them, all bits
//! turned (2 bytes): more of them, and greater ones, are less. No lexeme has a zero byte.

use super::words::{POSITION_MAX, POSITIONS_MAX, Place, Text, WORD_BYTES_MAX, Words, write_quoted};
use crate::error::{Error, Result, SqlState};
use crate::watch;

/// A vector has no more bytes of lexemes and places.
const BYTES_MAX: usize = (1 << 20) - 1;

/// A lexeme and its places, which rise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lexeme {
    /// The lexeme.
    pub word: String,
    /// None, or at most 255.
    pub places: Vec<Place>,
}

/// A vector.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TsVector {
    /// In the order of their bytes, each once.
    pub lexemes: Vec<Lexeme>,
}

/// 54000 for a word.
pub fn word_too_long(bytes: usize) -> Error {
    let message = format!("word is too long ({bytes} bytes, max {} bytes)", WORD_BYTES_MAX - 1);
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// Sorts places, each position once, with its highest weight; those that there is no room for go.
fn sorted(places: &mut Vec<Place>) {
    places.sort_by(|a, b| a.position().cmp(&b.position()).then(b.weight().cmp(&a.weight())));
    places.dedup_by_key(|place| place.position());
    places.truncate(POSITIONS_MAX - 1);
}

impl TsVector {
    /// Of words in any order: those that are alike become one.
    pub fn of_words(mut words: Vec<(String, Vec<Place>)>) -> Result<TsVector> {
        watch::count(words.iter().map(|(word, _)| word.len() + 32).sum());
        words.sort_by(|a, b| a.0.cmp(&b.0));
        let mut lexemes: Vec<Lexeme> = Vec::new();
        for (word, places) in words {
            match lexemes.last_mut() {
                Some(last) if last.word == word => last.places.extend(places),
                _ => lexemes.push(Lexeme { word, places }),
            }
        }
        for lexeme in &mut lexemes {
            sorted(&mut lexeme.places);
        }
        TsVector { lexemes }.within()
    }

    /// 54000 where it is too long.
    fn within(self) -> Result<TsVector> {
        let bytes = self.data_bytes();
        if bytes > BYTES_MAX {
            let message = format!("string is too long for tsvector ({bytes} bytes, max {BYTES_MAX} bytes)");
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        Ok(self)
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<TsVector> {
        watch::count(text.len());
        let mut reader = Words::new(Text::Vector, text);
        let mut words = Vec::new();
        while let Some((word, places)) = reader.word()? {
            if word.len() >= WORD_BYTES_MAX {
                return Err(word_too_long(word.len()));
            }
            words.push((word, places));
        }
        TsVector::of_words(words)
    }

    /// Appends the text form.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (i, lexeme) in self.lexemes.iter().enumerate() {
            if i > 0 {
                out.push(b' ');
            }
            write_quoted(&lexeme.word, out);
            for (j, place) in lexeme.places.iter().enumerate() {
                out.push(if j == 0 { b':' } else { b',' });
                out.extend_from_slice(place.position().to_string().as_bytes());
                if place.weight() != 0 {
                    out.push(place.letter() as u8);
                }
            }
        }
    }

    /// What lexemes and places take in PostgreSQL.
    fn data_bytes(&self) -> usize {
        self.lexemes.iter().fold(0, |bytes, lexeme| {
            let bytes = bytes + lexeme.word.len();
            match lexeme.places.len() {
                0 => bytes,
                n => bytes.next_multiple_of(2) + 2 + 2 * n,
            }
        })
    }

    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        let data = self.data_bytes();
        let size = 8 + 4 * self.lexemes.len() + data;
        watch::count(size);
        let mut out = Vec::with_capacity(8 + data + 4 * self.lexemes.len());
        out.extend_from_slice(&(size as u32).to_be_bytes());
        out.extend_from_slice(&(self.lexemes.len() as u32).to_be_bytes());
        for lexeme in &self.lexemes {
            out.push(u8::from(lexeme.places.is_empty()));
            out.extend_from_slice(lexeme.word.as_bytes());
            out.push(0);
            if !lexeme.places.is_empty() {
                out.push(255 - lexeme.places.len() as u8);
                for place in &lexeme.places {
                    out.extend_from_slice(&(!place.word()).to_be_bytes());
                }
            }
        }
        out
    }

    /// From bytes of [`TsVector::encode`]; `None` of others.
    pub fn decode(kept: &[u8]) -> Option<TsVector> {
        watch::count(kept.len());
        let (head, mut rest) = kept.split_at_checked(8)?;
        let count = u32::from_be_bytes(head[4..].try_into().ok()?) as usize;
        let mut lexemes = Vec::with_capacity(count.min(rest.len()));
        for _ in 0..count {
            let bare = *rest.first()?;
            let end = 1 + rest[1..].iter().position(|b| *b == 0)?;
            let word = std::str::from_utf8(&rest[1..end]).ok()?.to_owned();
            rest = &rest[end + 1..];
            let mut places = Vec::new();
            match bare {
                1 => {}
                0 => {
                    let n = 255 - usize::from(*rest.first()?);
                    let (words, behind) = rest[1..].split_at_checked(2 * n)?;
                    places.extend(
                        words.chunks_exact(2).map(|w| Place::of_word(!u16::from_be_bytes([w[0], w[1]]))),
                    );
                    if places.is_empty() {
                        return None;
                    }
                    rest = behind;
                }
                _ => return None,
            }
            lexemes.push(Lexeme { word, places });
        }
        let vector = TsVector { lexemes };
        let size = 8 + 4 * count + vector.data_bytes();
        (rest.is_empty() && head[..4] == (size as u32).to_be_bytes()).then_some(vector)
    }

    /// Appends the binary form of the wire.
    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.lexemes.len() as u32).to_be_bytes());
        for lexeme in &self.lexemes {
            out.extend_from_slice(lexeme.word.as_bytes());
            out.push(0);
            out.extend_from_slice(&(lexeme.places.len() as u16).to_be_bytes());
            for place in &lexeme.places {
                out.extend_from_slice(&(place.weight() << 14 | place.position()).to_be_bytes());
            }
        }
    }

    /// Reads the binary form of the wire.
    pub fn receive(bytes: &[u8]) -> Result<TsVector> {
        let wrong = |what: &str| Error::new(SqlState::INVALID_BINARY_REPRESENTATION, what);
        let read = |bytes: &[u8]| -> Option<(usize, Vec<(String, Vec<Place>)>)> {
            let (count, mut rest) = bytes.split_first_chunk::<4>()?;
            let count = u32::from_be_bytes(*count) as usize;
            let mut words = Vec::new();
            for _ in 0..count {
                let end = rest.iter().position(|b| *b == 0)?;
                let word = std::str::from_utf8(&rest[..end]).ok()?.to_owned();
                let (n, behind) = rest[end + 1..].split_first_chunk::<2>()?;
                let n = usize::from(u16::from_be_bytes(*n));
                let (places, behind) = behind.split_at_checked(2 * n)?;
                let place = |w: &[u8]| {
                    let word = u16::from_be_bytes([w[0], w[1]]);
                    Place::new(u64::from(word & (POSITION_MAX - 1)), word >> 14)
                };
                words.push((word, places.chunks_exact(2).map(place).collect()));
                rest = behind;
            }
            rest.is_empty().then_some((count, words))
        };
        let (count, words) = read(bytes).ok_or_else(|| wrong("invalid tsvector"))?;
        if words.iter().any(|(word, _)| word.len() >= WORD_BYTES_MAX) {
            return Err(wrong("invalid tsvector: lexeme too long"));
        }
        if words.iter().any(|(_, places)| places.len() >= POSITIONS_MAX) {
            return Err(wrong("unexpected number of tsvector positions"));
        }
        let misplaced = |(_, places): &(String, Vec<Place>)| {
            places.iter().any(|p| p.position() == 0)
                || !places.is_sorted_by(|a, b| a.position() < b.position())
        };
        if words.iter().any(misplaced) {
            return Err(wrong("position information is misordered"));
        }
        let vector = TsVector::of_words(words)?;
        if vector.lexemes.len() != count {
            return Err(wrong("lexemes are misordered"));
        }
        Ok(vector)
    }

    /// Where a word is, or would be.
    pub fn find(&self, word: &str) -> std::result::Result<usize, usize> {
        self.lexemes.binary_search_by(|lexeme| lexeme.word.as_str().cmp(word))
    }

    /// The lexemes that are a word, or begin with it.
    pub fn matching(&self, word: &str, prefix: bool) -> &[Lexeme] {
        let first = match self.find(word) {
            Ok(at) if !prefix => return &self.lexemes[at..=at],
            Err(_) if !prefix => return &[],
            Ok(at) | Err(at) => at,
        };
        let count = self.lexemes[first..].iter().take_while(|l| l.word.starts_with(word)).count();
        &self.lexemes[first..first + count]
    }

    /// The places of all lexemes, those without any counting as one.
    pub fn occurrences(&self) -> usize {
        self.lexemes.iter().map(|lexeme| lexeme.places.len().max(1)).sum()
    }

    /// Without places.
    pub fn strip(mut self) -> TsVector {
        for lexeme in &mut self.lexemes {
            lexeme.places.clear();
        }
        self
    }

    /// With the places of another behind the last of its own.
    pub fn concat(self, other: TsVector) -> Result<TsVector> {
        let last = self.lexemes.iter().flat_map(|l| &l.places).map(|p| u64::from(p.position())).max();
        let behind =
            |place: &Place| Place::new(u64::from(place.position()) + last.unwrap_or(0), place.weight());
        let mut all: Vec<Lexeme> = Vec::with_capacity(self.lexemes.len() + other.lexemes.len());
        let (mut left, mut right) =
            (self.lexemes.into_iter().peekable(), other.lexemes.into_iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(a), Some(b)) => a.word.cmp(&b.word),
            };
            let mut lexeme = match order {
                std::cmp::Ordering::Greater => Lexeme { word: String::new(), places: Vec::new() },
                _ => left.next().expect("just seen"),
            };
            if order.is_ge() {
                let from = right.next().expect("just seen");
                lexeme.word = from.word;
                for place in &from.places {
                    let full = lexeme.places.len() >= POSITIONS_MAX - 1;
                    if full || lexeme.places.last().is_some_and(|p| p.position() == POSITION_MAX - 1) {
                        break;
                    }
                    lexeme.places.push(behind(place));
                }
            }
            all.push(lexeme);
        }
        TsVector { lexemes: all }.within()
    }

    /// With another weight at all places, or at those of some lexemes.
    pub fn set_weight(mut self, weight: u16, of: Option<&[String]>) -> TsVector {
        for lexeme in &mut self.lexemes {
            if of.is_none_or(|words| words.contains(&lexeme.word)) {
                for place in &mut lexeme.places {
                    *place = place.with_weight(weight);
                }
            }
        }
        self
    }

    /// Without some lexemes.
    pub fn without(mut self, words: &[String]) -> TsVector {
        let gone: std::collections::HashSet<&str> = words.iter().map(String::as_str).collect();
        self.lexemes.retain(|lexeme| !gone.contains(lexeme.word.as_str()));
        self
    }

    /// With places of some weights alone (a bit for each), and the lexemes that have such.
    pub fn filter(mut self, weights: u16) -> TsVector {
        for lexeme in &mut self.lexemes {
            lexeme.places.retain(|place| weights & 1 << place.weight() != 0);
        }
        self.lexemes.retain(|lexeme| !lexeme.places.is_empty());
        self
    }
}
