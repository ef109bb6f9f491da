//! Where a regular expression matches: `regexp_replace` and its like.
//!
//! PostgreSQL finds the leftmost match, and of those that begin there the longest, or the shortest where the expression
//! prefers that ([`pattern::prefers_shortest`]); the `regex` crate the one that a backtracking engine would. So the beginning is
//! its, the end is that of an automaton which goes on as far as there is a match, and what the parentheses have matched is
//! asked of the part in between alone.

use super::regex::CACHED_MAX;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState, pattern};
use planaria_storage::arena::Bytes;
use regex::{Captures, Regex, RegexBuilder};
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};
use std::cell::RefCell;

struct Finder {
    pattern: String,
    ignore_case: bool,
    begins: Regex,
    /// The whole of a text.
    whole: Regex,
    ends: DFA,
    cache: Cache,
    shortest: bool,
}

thread_local! {
    static CACHE: RefCell<Vec<Finder>> = const { RefCell::new(Vec::new()) };
}

/// What the options of a function say.
#[derive(Clone, Default)]
struct Options {
    global: bool,
    ignore_case: bool,
    /// What the pattern then says of itself.
    embedded: String,
}

fn options(text: &str, global: Option<&str>) -> Result<Options> {
    let mut options = Options::default();
    for option in text.chars() {
        match (option, global) {
            ('g', None) => options.global = true,
            ('g', Some(function)) => {
                let message = format!("{function}() does not support the \"global\" option");
                let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
                return Err(match function {
                    "regexp_match" => error.with_hint("Use the regexp_matches function instead."),
                    _ => error,
                });
            }
            ('i', _) => options.ignore_case = true,
            ('c', _) => options.ignore_case = false,
            ('t', _) => {}
            ('n' | 'm' | 'p' | 'w' | 's' | 'q', _) => options.embedded.push(option),
            ('x' | 'e' | 'b', _) => {
                return Err(Error::unsupported(
                    format!("regular expression option \"{option}\" is not supported"),
                    "g, i, c, s, n, m, p, w, q and t are.",
                ));
            }
            _ => {
                let message = format!("invalid regular expression option: \"{option}\"");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        }
    }
    Ok(options)
}

fn with<R>(pattern: &str, ignore_case: bool, f: impl FnOnce(&mut Finder) -> Result<R>) -> Result<R> {
    CACHE.with_borrow_mut(|cache| {
        let known = cache.iter().position(|c| c.ignore_case == ignore_case && c.pattern == pattern);
        match known {
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let finder = Finder::new(pattern, ignore_case)?;
                cache.truncate(CACHED_MAX - 1);
                cache.insert(0, finder);
            }
        }
        f(&mut cache[0])
    })
}

fn with_options<R>(pattern: &str, options: &Options, f: impl FnOnce(&mut Finder) -> Result<R>) -> Result<R> {
    // `s` alone is how it is.
    match options.embedded.trim_start_matches('s') {
        "" => with(pattern, options.ignore_case, f),
        letters => with(&format!("(?{letters}){pattern}"), options.ignore_case, f),
    }
}

impl Finder {
    fn new(pattern: &str, ignore_case: bool) -> Result<Finder> {
        let translated = pattern::translate(pattern)?;
        let build = |pattern: &str| {
            let mut builder = RegexBuilder::new(pattern);
            builder.case_insensitive(ignore_case).dot_matches_new_line(true).build().map_err(|e| {
                let shown = e.to_string();
                pattern::invalid(shown.lines().last().unwrap_or("").trim_start_matches("error: "))
            })
        };
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .unicode_word_boundary(true)
            .skip_cache_capacity_check(true);
        let ends = DFA::builder()
            .configure(config)
            .syntax(syntax::Config::new().case_insensitive(ignore_case).dot_matches_new_line(true))
            .thompson(thompson::Config::new().which_captures(WhichCaptures::None))
            .build(&translated)
            .map_err(|e| pattern::invalid(&e.to_string()))?;
        Ok(Finder {
            begins: build(&translated)?,
            whole: build(&format!("^(?:{translated})$"))?,
            cache: ends.create_cache(),
            ends,
            shortest: pattern::prefers_shortest(pattern),
            pattern: pattern.to_owned(),
            ignore_case,
        })
    }

    /// The first match that begins at a place or behind it.
    fn find(&mut self, text: &str, from: usize) -> Option<(usize, usize)> {
        let found = self.begins.find_at(text, from)?;
        let input = Input::new(text).range(found.start()..).anchored(Anchored::Yes).earliest(self.shortest);
        // It cannot tell at a word boundary beside what is not ASCII.
        let end = match self.ends.try_search_fwd(&mut self.cache, &input) {
            Ok(Some(end)) => end.offset(),
            _ => found.end(),
        };
        Some((found.start(), end))
    }

    /// What the parentheses have matched of a match.
    fn captures<'t>(&self, text: &'t str, (start, end): (usize, usize)) -> Option<Captures<'t>> {
        self.whole.captures(&text[start..end])
    }

    /// Calls `f` with each match, until it says that it is enough.
    fn each(
        &mut self,
        text: &str,
        from: usize,
        mut f: impl FnMut(&mut Finder, (usize, usize)) -> Result<bool>,
    ) -> Result<()> {
        let (mut at, mut pace) = (from, Pace::default());
        while at <= text.len() {
            let Some(found) = self.find(text, at) else { break };
            // The end may have been looked for up to the end of the text.
            pace.step(text.len() - found.0 + 1)?;
            if !f(self, found)? {
                break;
            }
            at = found.1;
            if found.0 == found.1 {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        Ok(())
    }
}

/// The place of a character, counted from 1.
fn place(text: &str, character: i64) -> Result<usize> {
    if character < 1 {
        let message = format!("invalid value for parameter \"start\": {character}");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let behind = usize::try_from(character - 1).unwrap_or(usize::MAX);
    Ok(text
        .char_indices()
        .nth(behind)
        .map_or(text.len() + usize::from(behind > text.chars().count()), |(at, _)| at))
}

/// `regexp_replace`: the `nth` match from a place on; 0 all of them; negative the first, or all with option `g`.
pub fn replace(
    heap: &mut Heap,
    [text, pattern, by, flags]: [Bytes; 4],
    start: i64,
    nth: i64,
) -> Result<Slot> {
    let options = options(heap.str(flags), None)?;
    let all = nth == 0 || nth < 0 && options.global;
    let built = heap.build(|heap, out| {
        let (text, by) = (heap.str(text), heap.str(by));
        let start = place(text, start)?;
        with_options(heap.str(pattern), &options, |finder| {
            let (mut written, mut count) = (0, 0);
            finder.each(text, start, |finder, found| {
                count += 1;
                if !all && count < nth {
                    return Ok(true);
                }
                out.extend_from_slice(&text.as_bytes()[written..found.0]);
                write_replacement(out, by, finder, text, found);
                written = found.1;
                Ok(all)
            })?;
            out.extend_from_slice(&text.as_bytes()[written..]);
            Ok(())
        })
    })?;
    Ok(Slot::Text(built))
}

fn write_replacement(out: &mut Vec<u8>, by: &str, finder: &Finder, text: &str, found: (usize, usize)) {
    let mut captures = None;
    let mut rest = by;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let mut behind = rest[at + 1..].chars();
        match behind.next() {
            Some(digit @ '1'..='9') => {
                let captures = captures.get_or_insert_with(|| finder.captures(text, found));
                let group = captures.as_ref().and_then(|all| all.get(digit as usize - '0' as usize));
                out.extend_from_slice(group.map_or(&b""[..], |group| group.as_str().as_bytes()));
            }
            Some('&') => out.extend_from_slice(&text.as_bytes()[found.0..found.1]),
            Some('\\') | None => out.push(b'\\'),
            Some(other) => {
                out.push(b'\\');
                out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        rest = behind.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
}

/// What the parentheses have matched, or all of it where there are none.
fn parts_of(finder: &Finder, text: &str, found: (usize, usize)) -> Vec<Option<String>> {
    match finder.captures(text, found).filter(|all| all.len() > 1) {
        Some(all) => all.iter().skip(1).map(|part| part.map(|p| p.as_str().to_owned())).collect(),
        None => vec![Some(text[found.0..found.1].to_owned())],
    }
}

fn array_of(heap: &mut Heap, parts: Vec<Option<String>>) -> Result<Slot> {
    let mut elements = Vec::with_capacity(parts.len());
    for part in parts {
        elements.push(match part {
            Some(part) => heap.text(&part)?,
            None => Slot::Null,
        });
    }
    heap.array(&elements)
}

/// `regexp_match`: of the first match; NULL without one.
pub fn first(heap: &mut Heap, [text, pattern, flags]: [Bytes; 3]) -> Result<Slot> {
    let options = options(heap.str(flags), Some("regexp_match"))?;
    let parts = with_options(heap.str(pattern), &options, |finder| {
        let text = heap.str(text);
        let found = finder.find(text, 0);
        Ok(found.map(|found| parts_of(finder, text, found)))
    })?;
    match parts {
        Some(parts) => array_of(heap, parts),
        None => Ok(Slot::Null),
    }
}

/// `regexp_matches`: the same of all matches, one behind the other, or of the first without option `g`.
pub fn all(heap: &mut Heap, [text, pattern, flags]: [Bytes; 3]) -> Result<Slot> {
    let options = options(heap.str(flags), None)?;
    let mut parts = Vec::new();
    with_options(heap.str(pattern), &options, |finder| {
        let text = heap.str(text);
        finder.each(text, 0, |finder, found| {
            parts.extend(parts_of(finder, text, found));
            heap.admit(parts.len() * size_of::<Option<String>>())?;
            Ok(options.global)
        })
    })?;
    array_of(heap, parts)
}

/// How many those are.
pub fn all_count(heap: &Heap, [text, pattern, flags]: [Bytes; 3]) -> Result<i64> {
    let options = options(heap.str(flags), None)?;
    let mut count = 0;
    with_options(heap.str(pattern), &options, |finder| {
        finder.each(heap.str(text), 0, |_, _| {
            count += 1;
            Ok(options.global)
        })
    })?;
    Ok(count)
}

/// `substring(text from pattern)`: the first part of [`first`].
pub fn part(heap: &mut Heap, text: Bytes, pattern: Bytes) -> Result<Slot> {
    let part = with(heap.str(pattern), false, |finder| {
        let whole = heap.str(text);
        let Some(found) = finder.find(whole, 0) else { return Ok(None) };
        let of_found = |start: usize, len: usize| Bytes {
            offset: text.offset + (found.0 + start) as u32,
            len: len as u32,
        };
        Ok(match finder.captures(whole, found).filter(|all| all.len() > 1) {
            Some(all) => all.get(1).map(|part| of_found(part.start(), part.len())),
            None => Some(of_found(0, found.1 - found.0)),
        })
    })?;
    Ok(part.map_or(Slot::Null, Slot::Text))
}

/// `regexp_substr` without further arguments: the first match.
pub fn matched(heap: &mut Heap, text: Bytes, pattern: Bytes) -> Result<Slot> {
    let found = with(heap.str(pattern), false, |finder| Ok(finder.find(heap.str(text), 0)))?;
    Ok(found.map_or(Slot::Null, |(start, end)| {
        Slot::Text(Bytes { offset: text.offset + start as u32, len: (end - start) as u32 })
    }))
}

/// `regexp_split_to_array`: what stands between the matches. Those of nothing at either end, or behind another, do not count.
pub fn split(heap: &mut Heap, [text, pattern, flags]: [Bytes; 3]) -> Result<Slot> {
    let options = options(heap.str(flags), Some("regexp_split_to_array"))?;
    let mut parts = Vec::new();
    let mut last = 0;
    with_options(heap.str(pattern), &options, |finder| {
        let whole = heap.str(text);
        finder.each(whole, 0, |_, (start, end)| {
            if start < whole.len() && end > last {
                parts.push((last, start));
                last = end;
            }
            Ok(true)
        })
    })?;
    parts.push((last, text.len as usize));
    let part = |(start, end): (usize, usize)| {
        Slot::Text(Bytes { offset: text.offset + start as u32, len: (end - start) as u32 })
    };
    let parts: Vec<Slot> = parts.into_iter().map(part).collect();
    heap.array(&parts)
}

/// `regexp_count`: matches from a place on.
pub fn count(heap: &Heap, [text, pattern, flags]: [Bytes; 3], start: i64) -> Result<i64> {
    let options = options(heap.str(flags), Some("regexp_count"))?;
    let text = heap.str(text);
    let start = place(text, start)?;
    let mut count = 0;
    with_options(heap.str(pattern), &options, |finder| {
        finder.each(text, start, |_, _| {
            count += 1;
            Ok(true)
        })
    })?;
    Ok(count)
}

/// `regexp_like`
pub fn like(heap: &Heap, [text, pattern, flags]: [Bytes; 3]) -> Result<bool> {
    let options = options(heap.str(flags), Some("regexp_like"))?;
    super::regex::matches(heap.str(text), heap.str(pattern), options.ignore_case)
}
