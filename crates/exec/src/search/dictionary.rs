//! Dictionaries: what a token is in an index. That of a language leaves stop words out and cuts endings off; `simple` takes
//! words as they are, in lower case.

use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Longer words are of no language, and are taken as they are.
const WORD_BYTES_STEMMED: usize = 1000;

/// A dictionary.
pub struct Dictionary {
    stop: HashSet<&'static str>,
    stemmer: Option<Stemmer>,
}

fn language(algorithm: Algorithm, stop: &'static str) -> Dictionary {
    let stop = stop.lines().map(str::trim).filter(|word| !word.is_empty()).collect();
    Dictionary { stop, stemmer: Some(Stemmer::create(algorithm)) }
}

/// `simple`
static SIMPLE: LazyLock<Dictionary> = LazyLock::new(|| Dictionary { stop: HashSet::new(), stemmer: None });

/// By the language. The stop words are those of the Snowball project, as PostgreSQL 15 has them.
static LANGUAGES: LazyLock<HashMap<&'static str, Dictionary>> = LazyLock::new(|| {
    use Algorithm::*;
    HashMap::from([
        ("arabic", language(Arabic, "")),
        ("danish", language(Danish, include_str!("stop/danish.stop"))),
        ("dutch", language(Dutch, include_str!("stop/dutch.stop"))),
        ("english", language(English, include_str!("stop/english.stop"))),
        ("finnish", language(Finnish, include_str!("stop/finnish.stop"))),
        ("french", language(French, include_str!("stop/french.stop"))),
        ("german", language(German, include_str!("stop/german.stop"))),
        ("greek", language(Greek, "")),
        ("hungarian", language(Hungarian, include_str!("stop/hungarian.stop"))),
        ("italian", language(Italian, include_str!("stop/italian.stop"))),
        ("norwegian", language(Norwegian, include_str!("stop/norwegian.stop"))),
        ("portuguese", language(Portuguese, include_str!("stop/portuguese.stop"))),
        ("romanian", language(Romanian, "")),
        ("russian", language(Russian, include_str!("stop/russian.stop"))),
        ("spanish", language(Spanish, include_str!("stop/spanish.stop"))),
        ("swedish", language(Swedish, include_str!("stop/swedish.stop"))),
        ("tamil", language(Tamil, "")),
        ("turkish", language(Turkish, include_str!("stop/turkish.stop"))),
    ])
});

/// That of a configuration for words of its language; that for ASCII words may be another one.
pub fn of_words(configuration: &str) -> &'static Dictionary {
    LANGUAGES.get(configuration).unwrap_or(&SIMPLE)
}

/// That for words of ASCII letters: where a language is written otherwise, they are English.
pub fn of_ascii_words(configuration: &str) -> &'static Dictionary {
    of_words(if configuration == "russian" { "english" } else { configuration })
}

/// That for everything else.
pub fn simple() -> &'static Dictionary {
    &SIMPLE
}

/// In lower case, character by character.
fn lower(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        return word.into();
    }
    let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
    word.chars().map(lower).collect::<String>().into()
}

impl Dictionary {
    /// The lexeme of a word; `None` of a stop word.
    pub fn lexeme(&self, word: &str) -> Option<String> {
        let word = lower(word);
        let Some(stemmer) = &self.stemmer else { return Some(word.into_owned()) };
        if word.len() > WORD_BYTES_STEMMED {
            return Some(word.into_owned());
        }
        if word.is_empty() || self.stop.contains(&*word) {
            return None;
        }
        // The Russian stemmer, where it is newer, takes one for the other.
        let word: Cow<'_, str> = if word.contains('ё') { word.replace('ё', "е").into() } else { word };
        let stem = stemmer.stem(&word);
        Some(if stem.is_empty() { word.into_owned() } else { stem.into_owned() })
    }
}
