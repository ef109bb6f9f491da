//! `~` and `~*`: PostgreSQL's regular expressions, as far as whether they match.
//!
//! A pattern is read (`base::pattern`) and, where that has all of it, translated to the syntax of the `regex` crate, whose engines
//! are linear in the text. Back references and lookaround are found by an engine of this house ([`divide`]). Where a match
//! lies is another matter ([`super::regex_find`]).
//!
//! That crate says nothing until it is done. So a long text goes through its lazy automaton byte by byte here, and the
//! statement is asked on the way whether to go on.

pub(super) mod divide;
pub(super) mod program;

use divide::Engine;
use planaria_base::pattern::{self, Flags, Parsed};
use planaria_base::watch::Pace;
use planaria_base::{Error, Result};
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
/// Bytes of an automaton's states: as many as the `regex` crate has room for.
const NFA_BYTES_MAX: usize = 10 << 20;
/// States of a pattern that take as long for a byte as other functions do.
const STATES_PER_BYTE: usize = 16;
/// Bytes times states of what is left to who cannot be interrupted.
const UNINTERRUPTED_MAX: usize = 1 << 28;

struct Cached {
    pattern: String,
    flags: Flags,
    by: By,
}

/// Who looks for it.
enum By {
    Crate {
        parsed: Parsed,
        regex: Regex,
        /// For long texts, made when the first one comes.
        automaton: Option<Box<Automaton>>,
    },
    Engine(Box<Engine>),
}

thread_local! {
    static CACHE: RefCell<Vec<Cached>> = const { RefCell::new(Vec::new()) };
}

/// Whether the pattern matches somewhere in the text.
pub fn matches(text: &str, pattern: &str, ignore_case: bool) -> Result<bool> {
    let flags = Flags::ADVANCED;
    matches_by(text, pattern, if ignore_case { flags | Flags::IGNORE_CASE } else { flags })
}

/// The same, with all that can be said of how to read it.
pub fn matches_by(text: &str, pattern: &str, flags: Flags) -> Result<bool> {
    CACHE.with_borrow_mut(|cache| {
        let known = cache.iter().position(|c| c.flags == flags && c.pattern == pattern);
        match known {
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let by = By::new(pattern, flags)?;
                cache.truncate(CACHED_MAX - 1);
                cache.insert(0, Cached { pattern: pattern.to_owned(), flags, by });
            }
        }
        cache[0].by.matches(text)
    })
}

impl By {
    fn new(pattern: &str, flags: Flags) -> Result<By> {
        let parsed = pattern::parse(pattern, flags)?;
        // What is too large for that crate may be none too large for PostgreSQL.
        let regex = parsed.translated().and_then(|it| compile(&it, parsed.ignore_case).ok());
        Ok(match regex {
            Some(regex) => By::Crate { parsed, regex, automaton: None },
            None => By::Engine(Box::new(Engine::new(&parsed)?)),
        })
    }

    fn matches(&mut self, text: &str) -> Result<bool> {
        let (parsed, regex, automaton) = match self {
            By::Engine(engine) => return engine.exists(text),
            By::Crate { parsed, regex, automaton } => (parsed, regex, automaton),
        };
        if text.len() <= SHORT {
            return Ok(regex.is_match(text));
        }
        let automaton = match automaton {
            Some(automaton) => automaton,
            empty => {
                let translated = parsed.translated().unwrap_or_default();
                empty.insert(Box::new(Automaton::new(&translated, parsed.ignore_case)?))
            }
        };
        if let Some(found) = automaton.matches(text)? {
            return Ok(found);
        }
        // That crate could not be interrupted.
        if text.len().saturating_mul(automaton.states()) > UNINTERRUPTED_MAX {
            return Engine::new(parsed)?.exists(text);
        }
        Ok(regex.is_match(text))
    }
}

/// What goes through a text step by step.
struct Automaton {
    dfa: DFA,
    cache: Cache,
}

impl Automaton {
    fn new(translated: &str, ignore_case: bool) -> Result<Automaton> {
        let dfa = longest(translated, ignore_case)?;
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

/// An automaton that goes on for as long as there is a match.
pub(super) fn longest(translated: &str, ignore_case: bool) -> Result<DFA> {
    let config =
        DFA::config().match_kind(MatchKind::All).unicode_word_boundary(true).skip_cache_capacity_check(true);
    DFA::builder()
        .configure(config)
        .syntax(syntax::Config::new().case_insensitive(ignore_case).nest_limit(NESTED_MAX))
        .thompson(
            thompson::Config::new().which_captures(WhichCaptures::None).nfa_size_limit(Some(NFA_BYTES_MAX)),
        )
        .build(translated)
        .map_err(|_| too_complex())
}

/// Levels of a translated pattern: what is deeper is left to the engine of this house, which asks for stack.
const NESTED_MAX: u32 = 500;

pub(super) fn compile(translated: &str, ignore_case: bool) -> Result<Regex> {
    let mut builder = RegexBuilder::new(translated);
    builder.case_insensitive(ignore_case).nest_limit(NESTED_MAX).build().map_err(|_| too_complex())
}

#[cold]
fn too_complex() -> Error {
    pattern::invalid("regular expression is too complex")
}

#[cfg(test)]
mod tests {
    use super::*;
    use planaria_base::SqlState;
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
                let mut parsed = pattern::parse(pattern, Flags::ADVANCED).expect("is read");
                let translated = parsed.translated().expect("has nothing else");
                let regex = compile(&translated, ignore_case).expect("compiles");
                parsed.ignore_case = ignore_case;
                let engine = Engine::new(&parsed).expect("compiles");
                for (filling, end) in fillings.iter().flat_map(|f| ends.map(|e| (f, e))) {
                    for text in [filling.repeat(3000) + end, end.to_owned() + &filling.repeat(3000)] {
                        assert!(text.len() > SHORT);
                        let found = matches(&text, pattern, ignore_case).expect("matches");
                        assert_eq!(found, regex.is_match(&text), "{pattern} {filling} {end} {ignore_case}");
                        let own = engine.exists(&text).expect("looks");
                        assert_eq!(found, own, "{pattern} {filling} {end} {ignore_case}");
                    }
                }
            }
        }
    }

    /// What is small as it is written and large when it is written out.
    #[test]
    fn what_is_too_large_is_refused_at_once() {
        let nested = |levels: usize, often: &str| {
            format!("{}a{}", "(".repeat(levels), format!("){often}").repeat(levels))
        };
        let refused = |pattern: &str| {
            let error = matches("a", pattern, false).expect_err("is too large");
            assert_eq!(error.sqlstate(), SqlState::INVALID_REGULAR_EXPRESSION, "{}", &pattern[..20]);
        };
        for often in ["+", "{2}", "{1,3}"] {
            refused(&nested(60, often));
            refused(&format!("{}\\1", nested(60, often)));
        }
        assert_eq!(matches("aaaaaaaa", &format!("^{}$", nested(3, "{2}")), false), Ok(true));
        assert_eq!(matches("aaa", &format!("^{}$", nested(8, "+")), false), Ok(true));
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
        // Word boundaries beside what is not ASCII: the automaton cannot tell.
        let (text, pattern) = ("ä ".repeat(1 << 20), "\\m((a|b){100,200}){2,5}\\M");
        assert_eq!(matches(&text, pattern, false), Ok(false));
        let flag = Arc::new(AtomicBool::new(true));
        let lent = Box::new(Watch { flag, deadline: None, room: None }).lend();
        let error = matches(&text, pattern, false).expect_err("is to end");
        assert_eq!(error.sqlstate(), SqlState::QUERY_CANCELED);
        drop(lent.back());
    }
}
