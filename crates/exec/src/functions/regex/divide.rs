//! Which match PostgreSQL finds, and how its parentheses divide it, for all that the automata of the `regex` crate do not tell.
//!
//! A match is divided part by part (`pattern::tree`), each part asking the programs of those that it is made of:
//!
//! 1. Of two parts the first takes as much as it can, or as little where it prefers that, so that the second matches the rest.
//! 2. Of alternatives the first that matches all of it is taken.
//! 3. What is repeated takes what it can each time.
//! 4. Where a back reference does not match what is left for it, the next possibility is tried.
//!
//! Without back references the first possibility is the last one. With them the time may grow beyond measure with the text, as in
//! PostgreSQL; the statement can be cancelled meanwhile.

use super::program::{Program, Shared, Text};
use planaria_base::pattern::Parsed;
use planaria_base::pattern::tree::{Expression, Made, SHORTER};
use planaria_base::{Result, stack};

/// Where the parentheses have matched, by their numbers; the first is the whole.
pub(in crate::functions) type Groups = Vec<Option<(usize, usize)>>;

struct Node {
    program: Program,
    shorter: bool,
    group: usize,
    kind: Kind,
}

enum Kind {
    Plain,
    Again { group: usize, min: u32, max: Option<u32> },
    Both(Box<[Node; 2]>),
    Either(Vec<Node>),
    Repeated(Box<Node>, u32, Option<u32>),
    Within(Box<Node>),
}

/// An expression that can look for what it matches.
pub(in crate::functions) struct Engine {
    shared: Shared,
    tree: Node,
    /// The whole from its end on.
    backwards: Program,
    groups: usize,
    refers: bool,
    ignore_case: bool,
}

fn node(shared: &mut Shared, part: &Expression) -> Result<Node> {
    stack::check()?;
    let kind = match &part.made {
        Made::Plain => Kind::Plain,
        Made::Again { group, min, max } => Kind::Again { group: *group as usize, min: *min, max: *max },
        Made::Both(both) => Kind::Both(Box::new([node(shared, &both[0])?, node(shared, &both[1])?])),
        Made::Either(parts) => {
            Kind::Either(parts.iter().map(|part| node(shared, part)).collect::<Result<_>>()?)
        }
        Made::Repeated(inner, min, max) => Kind::Repeated(Box::new(node(shared, inner)?), *min, *max),
        Made::Within(inner) => Kind::Within(Box::new(node(shared, inner)?)),
    };
    Ok(Node {
        program: shared.program(&part.regex, false)?,
        shorter: part.flags & SHORTER != 0,
        group: part.group as usize,
        kind,
    })
}

impl Engine {
    pub(in crate::functions) fn new(parsed: &Parsed) -> Result<Engine> {
        let mut shared = Shared::new(parsed.ignore_case)?;
        let backwards = shared.program(&parsed.tree.regex, true)?;
        let tree = node(&mut shared, &parsed.tree)?;
        Ok(Engine {
            shared,
            tree,
            backwards,
            groups: parsed.groups as usize,
            refers: parsed.refers,
            ignore_case: parsed.ignore_case,
        })
    }

    pub(in crate::functions) fn text<'t>(&self, text: &'t str) -> Result<Text<'t>> {
        Text::new(&self.shared, text)
    }

    /// Whether it matches somewhere.
    pub(in crate::functions) fn exists(&self, text: &str) -> Result<bool> {
        let mut text = self.text(text)?;
        match self.refers {
            true => Ok(self.find(&mut text, 0)?.is_some()),
            false => text.exists(&self.shared, &self.tree.program),
        }
    }

    /// The match that begins at a place, where it is known that one does.
    pub(in crate::functions) fn end(&self, text: &mut Text, begin: usize) -> Result<Option<usize>> {
        let stop = text.text.len();
        match self.tree.shorter {
            true => text.shortest(&self.shared, &self.tree.program, begin, begin, stop),
            false => text.longest(&self.shared, &self.tree.program, begin, stop),
        }
    }

    /// The first match that begins at a place or behind it.
    pub(in crate::functions) fn find(&self, text: &mut Text, from: usize) -> Result<Option<(usize, usize)>> {
        let mut from = from;
        while let Some(begin) = text.begin(&self.shared, &self.backwards, from)? {
            let found = match self.refers {
                false => self.end(text, begin)?,
                true => self.end_with_references(text, begin)?,
            };
            if let Some(end) = found {
                return Ok(Some((begin, end)));
            }
            from = begin + 1;
        }
        Ok(None)
    }

    fn end_with_references(&self, text: &mut Text, begin: usize) -> Result<Option<usize>> {
        let (mut least, mut most) = (begin, text.text.len());
        loop {
            let end = match self.tree.shorter {
                true => text.shortest(&self.shared, &self.tree.program, begin, least, most)?,
                false => text.longest(&self.shared, &self.tree.program, begin, most)?,
            };
            let Some(end) = end else { return Ok(None) };
            if self.groups(text, (begin, end))?.is_some() {
                return Ok(Some(end));
            }
            let next = if self.tree.shorter { after(text.text, end) } else { before(text.text, begin, end) };
            let Some(next) = next else { return Ok(None) };
            if self.tree.shorter { least = next } else { most = next }
        }
    }

    /// How the parentheses divide a match.
    pub(in crate::functions) fn groups(
        &self,
        text: &mut Text,
        (begin, end): (usize, usize),
    ) -> Result<Option<Groups>> {
        let mut groups = vec![None; self.groups + 1];
        groups[0] = Some((begin, end));
        Ok(self.divide(&self.tree, text, begin, end, &mut groups)?.then_some(groups))
    }

    fn divide(
        &self,
        node: &Node,
        text: &mut Text,
        begin: usize,
        end: usize,
        groups: &mut Groups,
    ) -> Result<bool> {
        stack::check()?;
        let fits = match &node.kind {
            Kind::Plain => true,
            Kind::Again { group, min, max } => {
                self.again(text.text, groups[*group], (begin, end), *min, *max)
            }
            Kind::Both(both) => self.both(both, text, begin, end, groups)?,
            Kind::Either(nodes) => {
                let mut fits = false;
                for node in nodes {
                    if text.longest(&self.shared, &node.program, begin, end)? == Some(end)
                        && self.divide(node, text, begin, end, groups)?
                    {
                        fits = true;
                        break;
                    }
                }
                fits
            }
            Kind::Repeated(inner, min, max) => {
                self.repeated(inner, text, (begin, end), (*min, *max), groups)?
            }
            Kind::Within(inner) => self.divide(inner, text, begin, end, groups)?,
        };
        if fits && node.group > 0 {
            groups[node.group] = Some((begin, end));
        }
        Ok(fits)
    }

    fn both(
        &self,
        both: &[Node; 2],
        text: &mut Text,
        begin: usize,
        end: usize,
        groups: &mut Groups,
    ) -> Result<bool> {
        let [first, second] = both;
        let mut middle = match first.shorter {
            true => text.shortest(&self.shared, &first.program, begin, begin, end)?,
            false => text.longest(&self.shared, &first.program, begin, end)?,
        };
        while let Some(at) = middle {
            if text.longest(&self.shared, &second.program, at, end)? == Some(end)
                && self.divide(first, text, begin, at, groups)?
                && self.divide(second, text, at, end, groups)?
            {
                return Ok(true);
            }
            forget(first, groups);
            forget(second, groups);
            middle = match first.shorter {
                true => match after(text.text, at).filter(|next| *next <= end) {
                    Some(next) => text.shortest(&self.shared, &first.program, begin, next, end)?,
                    None => None,
                },
                false => match before(text.text, begin, at) {
                    Some(next) => text.longest(&self.shared, &first.program, begin, next)?,
                    None => None,
                },
            };
        }
        Ok(false)
    }

    /// What a group has matched, so many times.
    fn again(
        &self,
        text: &str,
        group: Option<(usize, usize)>,
        (begin, end): (usize, usize),
        min: u32,
        max: Option<u32>,
    ) -> bool {
        let Some((from, to)) = group else { return false };
        if from == to {
            return begin == end;
        }
        if begin == end {
            return min == 0;
        }
        let same = |a: char, b: char| a == b || self.ignore_case && a.to_lowercase().eq(b.to_lowercase());
        let (mut rest, mut times) = (text[begin..end].chars(), 0);
        while !rest.as_str().is_empty() {
            if !text[from..to].chars().all(|wanted| rest.next().is_some_and(|c| same(wanted, c))) {
                return false;
            }
            times += 1;
        }
        times >= u64::from(min) && max.is_none_or(|max| times <= u64::from(max))
    }

    /// Divides what is repeated. The ends of all times but the last are tried from the longest on, or from the shortest on.
    fn repeated(
        &self,
        inner: &Node,
        text: &mut Text,
        (begin, end): (usize, usize),
        (min, max): (u32, Option<u32>),
        groups: &mut Groups,
    ) -> Result<bool> {
        // Not at all: where shorter ones are preferred at once, else where it cannot be once.
        let none = min == 0 && begin == end;
        if none && inner.shorter {
            return Ok(true);
        }
        let min = min.max(1) as usize;
        // Nothing but what is needed to be often enough may be empty.
        let most = max.map_or(usize::MAX, |max| max as usize).min(end - begin).max(min);
        let empty_allowed = |text: &str, times: usize, at: usize| {
            times < min && min - times >= text[at..end].chars().take(min + 1).count()
        };
        let mut ends = vec![begin];
        let (mut verified, mut limit) = (0, if inner.shorter { begin } else { end });
        // The time whose end is looked for.
        loop {
            let times = ends.len();
            let from = ends[times - 1];
            let found = match inner.shorter {
                true => {
                    if limit == from && limit != end && !empty_allowed(text.text, times, limit) {
                        limit = after(text.text, limit).unwrap_or(end);
                    }
                    // The last one has to reach the end.
                    let least = if times >= most { end } else { limit };
                    text.shortest(&self.shared, &inner.program, from, least, end)?
                }
                false => text.longest(&self.shared, &inner.program, from, limit)?,
            };
            verified = verified.min(times - 1);
            if let Some(at) = found {
                ends.push(at);
                let empty = !inner.shorter && at == from && !empty_allowed(text.text, times, at);
                if at != end && times < most && !empty {
                    limit = if inner.shorter { at } else { end };
                    continue;
                }
                if at != end && times >= most {
                    ends.pop();
                } else if at == end && times >= min {
                    while verified < times {
                        forget(inner, groups);
                        if !self.divide(inner, text, ends[verified], ends[verified + 1], groups)? {
                            break;
                        }
                        verified += 1;
                    }
                    if verified == times {
                        return Ok(true);
                    }
                }
            }
            // The last end that can be moved is.
            loop {
                let times = ends.len() - 1;
                if times == 0 {
                    return Ok(none);
                }
                let (from, at) = (ends[times - 1], ends[times]);
                let next = match inner.shorter {
                    true => after(text.text, at).filter(|_| at < end),
                    false => before(text.text, from, at)
                        .filter(|next| *next > from || empty_allowed(text.text, times, from)),
                };
                ends.pop();
                if let Some(next) = next {
                    limit = next;
                    break;
                }
            }
        }
    }
}

/// The place a character further on.
fn after(text: &str, at: usize) -> Option<usize> {
    text[at..].chars().next().map(|c| at + c.len_utf8())
}

/// The place a character before, not before the beginning.
fn before(text: &str, begin: usize, at: usize) -> Option<usize> {
    text[begin..at].chars().next_back().map(|c| at - c.len_utf8())
}

/// What the parentheses of a part have matched is forgotten.
fn forget(node: &Node, groups: &mut Groups) {
    if node.group > 0 {
        groups[node.group] = None;
    }
    match &node.kind {
        Kind::Plain | Kind::Again { .. } => {}
        Kind::Both(both) => both.iter().for_each(|node| forget(node, groups)),
        Kind::Either(nodes) => nodes.iter().for_each(|node| forget(node, groups)),
        Kind::Repeated(inner, ..) | Kind::Within(inner) => forget(inner, groups),
    }
}
