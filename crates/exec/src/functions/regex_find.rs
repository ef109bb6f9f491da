//! Where a regular expression matches: `regexp_replace` and its like.
//!
//! PostgreSQL finds the leftmost match, and of those that begin there the longest, or the shortest where the expression
//! prefers that; the `regex` crate the one that a backtracking engine would. So the beginning is
//! its, and the end is that of an automaton which goes on as far as there is a match. What the parentheses have matched is
//! asked of that crate where the expression is so simple that it must be the same (`Parsed::with_groups`), of the part in between alone.
//! Everything else is done by the engine of this house ([`super::regex::divide`]).

use super::regex::divide::{Engine, Groups};
use super::regex::program::Text;
use super::regex::{CACHED_MAX, compile, longest};
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::pattern::{self, Flags, Parsed};
use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;
use regex::Regex;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input};
use std::cell::RefCell;

struct Finder {
    pattern: String,
    flags: Flags,
    parsed: Parsed,
    /// `None` where that crate has nothing of the kind, or no room for it.
    fast: Option<Fast>,
    /// The whole of a match, with its parentheses.
    whole: Option<Regex>,
    /// Made when it is needed.
    engine: Option<Box<Engine>>,
}

struct Fast {
    begins: Regex,
    ends: DFA,
    cache: Cache,
}

thread_local! {
    static CACHE: RefCell<Vec<Finder>> = const { RefCell::new(Vec::new()) };
}

/// What the options of a function say.
#[derive(Clone, Copy, Default)]
struct Options {
    global: bool,
    flags: Flags,
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
            _ if options.flags.option(option) => {}
            _ => {
                let message = format!("invalid regular expression option: \"{option}\"");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        }
    }
    Ok(options)
}

fn with<R>(pattern: &str, flags: Flags, f: impl FnOnce(&mut Finder) -> Result<R>) -> Result<R> {
    CACHE.with_borrow_mut(|cache| {
        let known = cache.iter().position(|c| c.flags == flags && c.pattern == pattern);
        match known {
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let finder = Finder::new(pattern, flags)?;
                cache.truncate(CACHED_MAX - 1);
                cache.insert(0, finder);
            }
        }
        f(&mut cache[0])
    })
}

/// A text, and what the engine of this house knows of it when it has been asked.
struct Searched<'t> {
    text: &'t str,
    known: Option<Text<'t>>,
}

impl<'t> Searched<'t> {
    fn new(text: &'t str) -> Searched<'t> {
        Searched { text, known: None }
    }

    fn of(&mut self, engine: &Engine) -> Result<&mut Text<'t>> {
        Ok(match &mut self.known {
            Some(known) => known,
            empty => empty.insert(engine.text(self.text)?),
        })
    }
}

impl Finder {
    fn new(pattern: &str, flags: Flags) -> Result<Finder> {
        let parsed = pattern::parse(pattern, flags)?;
        // What is too large for that crate may be none too large for PostgreSQL.
        let fast = parsed.translated().and_then(|translated| {
            let begins = compile(&translated, parsed.ignore_case).ok()?;
            let ends = longest(&translated, parsed.ignore_case).ok()?;
            Some(Fast { begins, cache: ends.create_cache(), ends })
        });
        let written = parsed.with_groups().filter(|_| fast.is_some());
        let whole =
            written.and_then(|written| compile(&format!("\\A(?:{written})\\z"), parsed.ignore_case).ok());
        Ok(Finder { pattern: pattern.to_owned(), flags, parsed, fast, whole, engine: None })
    }

    fn engine<'a>(parsed: &Parsed, engine: &'a mut Option<Box<Engine>>) -> Result<&'a Engine> {
        Ok(match engine {
            Some(engine) => engine,
            empty => empty.insert(Box::new(Engine::new(parsed)?)),
        })
    }

    /// The first match that begins at a place or behind it.
    fn find(&mut self, searched: &mut Searched, from: usize) -> Result<Option<(usize, usize)>> {
        let Some(fast) = &mut self.fast else {
            let engine = Finder::engine(&self.parsed, &mut self.engine)?;
            return engine.find(searched.of(engine)?, from);
        };
        let Some(found) = fast.begins.find_at(searched.text, from) else { return Ok(None) };
        let shortest = self.parsed.prefers_shortest();
        let input =
            Input::new(searched.text).range(found.start()..).anchored(Anchored::Yes).earliest(shortest);
        let end = match fast.ends.try_search_fwd(&mut fast.cache, &input) {
            Ok(Some(end)) => Some(end.offset()),
            // It cannot tell at a word boundary beside what is not ASCII.
            _ => {
                let engine = Finder::engine(&self.parsed, &mut self.engine)?;
                engine.end(searched.of(engine)?, found.start())?
            }
        };
        Ok(Some((found.start(), end.unwrap_or(found.end()))))
    }

    /// What the parentheses have matched of a match.
    fn groups(&mut self, searched: &mut Searched, found: (usize, usize)) -> Result<Groups> {
        if self.parsed.groups == 0 {
            return Ok(vec![Some(found)]);
        }
        if let Some(whole) = &self.whole
            && let Some(captures) = whole.captures(&searched.text[found.0..found.1])
        {
            let place = |part: regex::Match| (found.0 + part.start(), found.0 + part.end());
            return Ok(captures.iter().map(|part| part.map(place)).collect());
        }
        let engine = Finder::engine(&self.parsed, &mut self.engine)?;
        let groups = engine.groups(searched.of(engine)?, found)?;
        Ok(groups.unwrap_or_else(|| vec![None; self.parsed.groups as usize + 1]))
    }

    /// Calls `f` with each match, until it says that it is enough.
    fn each(
        &mut self,
        text: &str,
        from: usize,
        mut f: impl FnMut(&mut Finder, &mut Searched, (usize, usize)) -> Result<bool>,
    ) -> Result<()> {
        let (mut at, mut pace) = (from, Pace::default());
        let mut searched = Searched::new(text);
        while at <= text.len() {
            let Some(found) = self.find(&mut searched, at)? else { break };
            // The end may have been looked for up to the end of the text.
            pace.step(text.len() - found.0 + 1)?;
            if !f(self, &mut searched, found)? {
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
        with(heap.str(pattern), options.flags, |finder| {
            let (mut written, mut count) = (0, 0);
            finder.each(text, start, |finder, searched, found| {
                count += 1;
                if !all && count < nth {
                    return Ok(true);
                }
                out.extend_from_slice(&text.as_bytes()[written..found.0]);
                write_replacement(out, by, finder, searched, found)?;
                written = found.1;
                Ok(all)
            })?;
            out.extend_from_slice(&text.as_bytes()[written..]);
            Ok(())
        })
    })?;
    Ok(Slot::Text(built))
}

fn write_replacement(
    out: &mut Vec<u8>,
    by: &str,
    finder: &mut Finder,
    searched: &mut Searched,
    found: (usize, usize),
) -> Result<()> {
    let mut groups = None;
    let mut rest = by;
    let text = searched.text.as_bytes();
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let mut behind = rest[at + 1..].chars();
        match behind.next() {
            Some(digit @ '1'..='9') => {
                let groups = match &mut groups {
                    Some(groups) => groups,
                    empty => empty.insert(finder.groups(searched, found)?),
                };
                if let Some(Some((start, end))) = groups.get(digit as usize - '0' as usize) {
                    out.extend_from_slice(&text[*start..*end]);
                }
            }
            Some('&') => out.extend_from_slice(&text[found.0..found.1]),
            Some('\\') | None => out.push(b'\\'),
            Some(other) => {
                out.push(b'\\');
                out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        rest = behind.as_str();
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(())
}

/// What the parentheses have matched, or all of it where there are none.
fn parts_of(
    finder: &mut Finder,
    searched: &mut Searched,
    found: (usize, usize),
) -> Result<Vec<Option<String>>> {
    let groups = finder.groups(searched, found)?;
    let parts = if groups.len() > 1 { &groups[1..] } else { &groups[..] };
    Ok(parts.iter().map(|part| part.map(|(start, end)| searched.text[start..end].to_owned())).collect())
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
    let parts = with(heap.str(pattern), options.flags, |finder| {
        let mut searched = Searched::new(heap.str(text));
        match finder.find(&mut searched, 0)? {
            Some(found) => parts_of(finder, &mut searched, found).map(Some),
            None => Ok(None),
        }
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
    with(heap.str(pattern), options.flags, |finder| {
        let text = heap.str(text);
        finder.each(text, 0, |finder, searched, found| {
            parts.extend(parts_of(finder, searched, found)?);
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
    with(heap.str(pattern), options.flags, |finder| {
        finder.each(heap.str(text), 0, |_, _, _| {
            count += 1;
            Ok(options.global)
        })
    })?;
    Ok(count)
}

/// A part of a text, by where it begins and ends.
fn part_of(text: Bytes, (start, end): (usize, usize)) -> Slot {
    Slot::Text(Bytes { offset: text.offset + start as u32, len: (end - start) as u32 })
}

/// `substring(text from pattern)`: the first part of [`first`].
pub fn part(heap: &mut Heap, text: Bytes, pattern: Bytes) -> Result<Slot> {
    let part = with(heap.str(pattern), Flags::ADVANCED, |finder| {
        let mut searched = Searched::new(heap.str(text));
        let Some(found) = finder.find(&mut searched, 0)? else { return Ok(None) };
        let groups = finder.groups(&mut searched, found)?;
        Ok(groups[usize::from(groups.len() > 1)])
    })?;
    Ok(part.map_or(Slot::Null, |part| part_of(text, part)))
}

/// Where the `nth` match from a place on lies, or a part of it: of the parentheses with a number, which is not 0.
fn place_of(
    heap: &Heap,
    [text, pattern, flags]: [Bytes; 3],
    [start, nth, group]: [i64; 3],
    function: &str,
) -> Result<Option<(usize, usize)>> {
    for (name, value, least) in [("n", nth, 1), ("subexpr", group, 0)] {
        if value < least {
            let message = format!("invalid value for parameter \"{name}\": {value}");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    }
    let options = options(heap.str(flags), Some(function))?;
    let text = heap.str(text);
    let start = place(text, start)?;
    let (mut count, mut part) = (0, None);
    with(heap.str(pattern), options.flags, |finder| {
        finder.each(text, start, |finder, searched, found| {
            count += 1;
            if count < nth {
                return Ok(true);
            }
            part = match usize::try_from(group) {
                Ok(0) => Some(found),
                Ok(group) => {
                    // An expression without parentheses is its own first part.
                    let groups = finder.groups(searched, found)?;
                    let group = if groups.len() == 1 && group == 1 { 0 } else { group };
                    groups.get(group).copied().flatten()
                }
                Err(_) => None,
            };
            Ok(false)
        })
    })?;
    Ok(part)
}

/// `regexp_substr`: the place to begin at, which match, and the number of parentheses, or 0.
pub fn matched(heap: &Heap, texts: [Bytes; 3], numbers: [i64; 3]) -> Result<Slot> {
    place(heap.str(texts[0]), numbers[0])?;
    let found = place_of(heap, texts, numbers, "regexp_substr")?;
    Ok(found.map_or(Slot::Null, |found| part_of(texts[0], found)))
}

/// `regexp_instr`: the same, and whether its end is asked for (1) or its beginning (0); counted from 1, 0 where there is none.
pub fn instr(heap: &Heap, texts: [Bytes; 3], [start, nth, end, group]: [i64; 4]) -> Result<i64> {
    let text = heap.str(texts[0]);
    place(text, start)?;
    if nth >= 1 && !(0..=1).contains(&end) {
        let message = format!("invalid value for parameter \"endoption\": {end}");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let found = place_of(heap, texts, [start, nth, group], "regexp_instr")?;
    Ok(found.map_or(0, |(from, to)| text[..if end == 1 { to } else { from }].chars().count() as i64 + 1))
}

/// `regexp_split_to_array`: what stands between the matches. Those of nothing at either end, or behind another, do not count.
pub fn split(heap: &mut Heap, [text, pattern, flags]: [Bytes; 3]) -> Result<Slot> {
    let options = options(heap.str(flags), Some("regexp_split_to_array"))?;
    let mut parts = Vec::new();
    let mut last = 0;
    with(heap.str(pattern), options.flags, |finder| {
        let whole = heap.str(text);
        finder.each(whole, 0, |_, _, (start, end)| {
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
    with(heap.str(pattern), options.flags, |finder| {
        finder.each(text, start, |_, _, _| {
            count += 1;
            Ok(true)
        })
    })?;
    Ok(count)
}

/// `regexp_like`
pub fn like(heap: &Heap, [text, pattern, flags]: [Bytes; 3]) -> Result<bool> {
    let options = options(heap.str(flags), Some("regexp_like"))?;
    super::regex::matches_by(heap.str(text), heap.str(pattern), options.flags)
}
