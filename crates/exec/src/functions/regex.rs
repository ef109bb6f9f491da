//! `~` and `~*`: PostgreSQL's advanced regular expressions, as far as whether they match.
//!
//! A pattern is translated (`base::pattern`) to the syntax of the `regex` crate, whose engines are linear in the text
//! (PostgreSQL's may be exponential). Where a match lies is another matter ([`super::regex_find`]). Back references and lookaround are 0A000.
//!
//! That crate says nothing until it is done. So a long text goes through its lazy automaton byte by byte here, and the
//! statement is asked on the way whether to go on.

use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState, pattern};
use regex::{Regex, RegexBuilder};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};
use std::cell::RefCell;

/// Compiled patterns a thread keeps, the latest used first.
pub(super) const CACHED_MAX: usize = 32;
/// Bytes of a text that is done at once.
const SHORT: usize = 4096;
/// Bytes of a longer one that are done between two questions.
const CHUNK: usize = 1024;
/// States of a pattern that take as long for a byte as other functions do.
const STATES_PER_BYTE: usize = 16;
/// Bytes times states of what cannot be interrupted: some seconds at worst.
const UNINTERRUPTED_MAX: usize = 1 << 31;

struct Cached {
    pattern: String,
    ignore_case: bool,
    regex: Regex,
    /// For long texts, made when the first one comes.
    automaton: Option<Box<Automaton>>,
}

thread_local! {
    static CACHE: RefCell<Vec<Cached>> = const { RefCell::new(Vec::new()) };
}

/// Whether the pattern matches somewhere in the text.
pub fn matches(text: &str, pattern: &str, ignore_case: bool) -> Result<bool> {
    CACHE.with_borrow_mut(|cache| {
        let known = cache.iter().position(|c| c.ignore_case == ignore_case && c.pattern == pattern);
        match known {
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let regex = compile(pattern, ignore_case)?;
                cache.truncate(CACHED_MAX - 1);
                let pattern = pattern.to_owned();
                cache.insert(0, Cached { pattern, ignore_case, regex, automaton: None });
            }
        }
        cache[0].matches(text)
    })
}

impl Cached {
    fn matches(&mut self, text: &str) -> Result<bool> {
        if text.len() <= SHORT {
            return Ok(self.regex.is_match(text));
        }
        let automaton = match &mut self.automaton {
            Some(automaton) => automaton,
            empty => empty.insert(Box::new(Automaton::new(&self.pattern, self.ignore_case)?)),
        };
        if let Some(found) = automaton.matches(text)? {
            return Ok(found);
        }
        if text.len().saturating_mul(automaton.states()) > UNINTERRUPTED_MAX {
            let what = "regular expression is too complex for a text of this length";
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, what)
                .with_hint("Word boundaries are costly where the text is not all ASCII."));
        }
        Ok(self.regex.is_match(text))
    }
}

/// What goes through a text step by step.
struct Automaton {
    dfa: DFA,
    cache: Cache,
}

impl Automaton {
    fn new(pattern: &str, ignore_case: bool) -> Result<Automaton> {
        let translated = pattern::translate(pattern)?;
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .unicode_word_boundary(true)
            .skip_cache_capacity_check(true);
        let dfa = DFA::builder()
            .configure(config)
            .syntax(syntax::Config::new().case_insensitive(ignore_case).dot_matches_new_line(true))
            .thompson(thompson::Config::new().which_captures(WhichCaptures::None))
            .build(&translated)
            .map_err(|e| pattern::invalid(&e.to_string()))?;
        let cache = dfa.create_cache();
        Ok(Automaton { dfa, cache })
    }

    fn states(&self) -> usize {
        self.dfa.get_nfa().states().len()
    }

    /// `None` where it cannot tell: at a word boundary beside what is not ASCII.
    fn matches(&mut self, text: &str) -> Result<Option<bool>> {
        let weight = 1 + self.states() / STATES_PER_BYTE;
        let Automaton { dfa, cache } = self;
        let Ok(mut state) = dfa.start_state_forward(cache, &Input::new(text)) else { return Ok(None) };
        let mut pace = Pace::default();
        for chunk in text.as_bytes().chunks(CHUNK) {
            pace.step(chunk.len().saturating_mul(weight))?;
            for byte in chunk {
                let Ok(next) = dfa.next_state(cache, state, *byte) else { return Ok(None) };
                state = next;
                if state.is_match() {
                    return Ok(Some(true));
                }
                if state.is_dead() {
                    return Ok(Some(false));
                }
                if state.is_quit() {
                    return Ok(None);
                }
            }
        }
        Ok(dfa.next_eoi_state(cache, state).ok().map(|state| state.is_match()))
    }
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex> {
    let translated = pattern::translate(pattern)?;
    // A newline is a character like others there.
    RegexBuilder::new(&translated).case_insensitive(ignore_case).dot_matches_new_line(true).build().map_err(
        |e| pattern::invalid(e.to_string().lines().last().unwrap_or("").trim_start_matches("error: ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use planaria_base::watch::Watch;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    const PATTERNS: [&str; 16] = [
        "x",
        "^x",
        "x$",
        "^$",
        "",
        "(ab|ba)+c$",
        "a{3,5}b",
        "\\mwort\\M",
        "wort\\y",
        "[[:alpha:]]+9",
        "^(a|b|\\n)*$",
        "z.*y",
        "Ä+ö",
        "[^ab \\n]",
        "\\Aab",
        "ba\\Z",
    ];

    /// What is found step by step is what is found at once.
    #[test]
    fn long_texts_match_like_short_ones() {
        let fillings = ["ab", "ba \n", "aaab", "wo rt", "ä"];
        let ends =
            ["", "x", "x\n", "c", "wort", " wort", " wort ä", "9", "zzy", "ÄÄö", "aaaab", "ä wort", "ba"];
        for pattern in PATTERNS {
            for ignore_case in [false, true] {
                let regex = compile(pattern, ignore_case).expect("compiles");
                for (filling, end) in fillings.iter().flat_map(|f| ends.map(|e| (f, e))) {
                    for text in [filling.repeat(3000) + end, end.to_owned() + &filling.repeat(3000)] {
                        assert!(text.len() > SHORT);
                        let found = matches(&text, pattern, ignore_case).expect("matches");
                        assert_eq!(found, regex.is_match(&text), "{pattern} {filling} {end} {ignore_case}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_long_match_is_interrupted_and_bounded() {
        let text = "ab".repeat(1 << 20);
        let flag = Arc::new(AtomicBool::new(true));
        let lent = Box::new(Watch { flag, deadline: None, room: None }).lend();
        let error = matches(&text, "a{40,60}c", false).expect_err("is to end");
        assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED);
        drop(lent.back());
        assert_eq!(matches(&text, "a{40,60}c", false), Ok(false));
        let text = "ä ".repeat(1 << 20);
        let error = matches(&text, "\\m(a|b){500,900}\\M", false).expect_err("is bounded");
        assert_eq!(error.sqlstate(), SqlState::PROGRAM_LIMIT_EXCEEDED);
    }
}
