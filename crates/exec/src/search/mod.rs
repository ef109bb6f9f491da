//! Full-text search: from texts to vectors and queries, whether they match, how well, and where.
//!
//! | file | holds |
//! |---|---|
//! | `tokens.rs` | the parser: words, numbers, addresses, tags |
//! | `dictionary.rs` | lexemes of words: stemmers, stop words |
//! | `matching.rs` | `@@` |
//! | `rank.rs` | `ts_rank`, `ts_rank_cd` |
//! | `headline.rs` | `ts_headline` |
//!
//! What vectors and queries are is [`planaria_base::packed`]'s business. A configuration says which dictionary looks a token
//! up ([`planaria_base::search`]); there are those that PostgreSQL has, and no others, so what they make of a text is the same
//! wherever it is computed.

pub mod dictionary;
pub mod headline;
pub mod matching;
pub mod rank;
pub mod tokens;

use dictionary::Dictionary;
use planaria_base::packed::tsquery::{Form, Op, Stack, TsQuery};
use planaria_base::packed::tsvector::TsVector;
use planaria_base::packed::words::{Place, WORD_BYTES_MAX};
use planaria_base::search::{self, Configuration};
use planaria_base::{Error, Result};
use tokens::{Kind, Tokens};

/// The configuration of an OID.
pub fn configuration(oid: i64) -> Result<&'static Configuration> {
    u32::try_from(oid)
        .ok()
        .and_then(search::configuration)
        .ok_or_else(|| Error::internal(format!("cache lookup failed for text search configuration {oid}")))
}

/// The dictionary that looks tokens of a kind up; `None` of those that are not looked up.
fn dictionary(configuration: &Configuration, kind: Kind) -> Option<&'static Dictionary> {
    Some(match kind {
        _ if kind.is_ignored() => return None,
        Kind::AsciiWord | Kind::AsciiHWord | Kind::HWordAsciiPart => {
            dictionary::of_ascii_words(configuration.name)
        }
        Kind::Word | Kind::HWord | Kind::HWordPart => dictionary::of_words(configuration.name),
        _ => dictionary::simple(),
    })
}

/// What a token is to a configuration.
pub struct Looked<'t> {
    /// What it is.
    pub kind: Kind,
    /// As it is written.
    pub text: &'t str,
    /// Its place among those that were looked up, from 1; 0: it was not.
    pub position: u64,
    /// Its lexeme.
    pub lexeme: Option<String>,
}

/// Calls for each token of a text. Words that are too long are left out, as if they were not there.
pub fn look_up<'t>(
    configuration: &Configuration,
    text: &'t str,
    position: &mut u64,
    mut visit: impl FnMut(Looked<'t>),
) -> Result<()> {
    let mut tokens = Tokens::new(text);
    while let Some((kind, text)) = tokens.next_token()? {
        if text.len() >= WORD_BYTES_MAX {
            continue;
        }
        visit(match dictionary(configuration, kind) {
            None => Looked { kind, text, position: 0, lexeme: None },
            Some(dictionary) => {
                *position += 1;
                Looked { kind, text, position: *position, lexeme: dictionary.lexeme(text) }
            }
        });
    }
    Ok(())
}

/// `to_tsvector` of texts one behind the other, with a gap between those that have words.
pub fn vector<'t>(configuration: i64, texts: impl Iterator<Item = &'t str>) -> Result<TsVector> {
    let configuration = self::configuration(configuration)?;
    let mut words = Vec::new();
    let mut position = 0;
    for text in texts {
        let before = words.len();
        look_up(configuration, text, &mut position, |looked| {
            if let Some(lexeme) = looked.lexeme {
                words.push((lexeme, vec![Place::new(looked.position, 0)]));
            }
        })?;
        if words.len() > before {
            position += 1;
        }
    }
    TsVector::of_words(words)
}

/// How a query is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    /// `to_tsquery`
    Query,
    /// `plainto_tsquery`
    Plain,
    /// `phraseto_tsquery`
    Phrase,
    /// `websearch_to_tsquery`
    Web,
}

impl Written {
    /// By its place.
    pub fn nth(n: i64) -> Written {
        match n {
            0 => Written::Query,
            1 => Written::Plain,
            2 => Written::Phrase,
            _ => Written::Web,
        }
    }
}

/// `to_tsquery` and its like.
pub fn query(configuration: i64, text: &str, written: Written) -> Result<TsQuery> {
    let configuration = self::configuration(configuration)?;
    let (form, between) = match written {
        Written::Query => (Form::Standard, Op::Phrase(1)),
        Written::Plain => (Form::Plain, Op::And),
        Written::Phrase => (Form::Plain, Op::Phrase(1)),
        Written::Web => (Form::Web, Op::Phrase(1)),
    };
    TsQuery::read(text, form, &mut |stack: &mut Stack, text, weights, prefix| {
        let mut words = Vec::new();
        let mut position = 0;
        look_up(configuration, text, &mut position, |looked| {
            if let Some(lexeme) = looked.lexeme {
                words.push((lexeme, looked.position));
            }
        })?;
        if words.is_empty() {
            stack.stop();
            return Ok(());
        }
        // A stop word between two others leaves a gap; those in front of the first do not count.
        let mut last = None;
        for (lexeme, position) in words {
            let missing = last.map_or(0, |last| position - last - 1);
            for _ in 0..missing {
                stack.stop();
                stack.operator(between)?;
            }
            stack.word(&lexeme, weights, prefix)?;
            if last.is_some() {
                stack.operator(between)?;
            }
            last = Some(position);
        }
        Ok(())
    })
}
