//! Array literals: `{1,2,NULL,"a b"}`, `{{1,2},{3,4}}`, `[0:1]={1,2}`.

use super::{is_space, trim};
use crate::error::{Error, Result, SqlState};
use crate::limits::ARRAY_DIMENSIONS_MAX as DIMENSIONS_MAX;
use crate::shape::{Dimension, Shape, too_many_dimensions};
use crate::watch::{self, Pace};

#[cold]
fn malformed(text: &str, detail: &str) -> Error {
    watch::count(text.len());
    let error =
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{text}\""));
    if detail.is_empty() { error } else { error.with_detail(detail) }
}

/// Splits an array literal into the texts of its elements, with the shape that it has unless it is a list from 1 on;
/// `None` is an unquoted NULL.
pub fn parse_array(text: &str) -> Result<(Option<Shape>, Vec<Option<String>>)> {
    match list(trim(text).as_bytes())? {
        Some(elements) => Ok((None, elements)),
        None => general(text),
    }
}

/// The elements of a list in one dimension, nearly all of what there is; `None` of anything else.
fn list(bytes: &[u8]) -> Result<Option<Vec<Option<String>>>> {
    if bytes.first() != Some(&b'{') {
        return Ok(None);
    }
    let mut elements = Vec::new();
    let mut pace = Pace::default();
    let mut at = 1;
    skip_spaces(bytes, &mut at);
    if bytes.get(at) == Some(&b'}') {
        return Ok((at + 1 == bytes.len()).then_some(elements));
    }
    loop {
        let start = at;
        let Some(element) = element(bytes, &mut at) else { return Ok(None) };
        elements.push(element);
        pace.step(at - start + size_of::<Option<String>>())?;
        // Each takes far more than its text.
        if elements.len().is_power_of_two() {
            watch::admit(2 * elements.len() * size_of::<Option<String>>())?;
        }
        skip_spaces(bytes, &mut at);
        match bytes.get(at) {
            Some(b',') => at += 1,
            Some(b'}') => return Ok((at + 1 == bytes.len()).then_some(elements)),
            _ => return Ok(None),
        }
    }
}

fn skip_spaces(bytes: &[u8], at: &mut usize) {
    let start = *at;
    while bytes.get(*at).is_some_and(|b| is_space(*b)) {
        *at += 1;
    }
    watch::count(*at - start);
}

fn element(bytes: &[u8], at: &mut usize) -> Option<Option<String>> {
    skip_spaces(bytes, at);
    let mut value = Vec::new();
    let mut quoted = false;
    // Up to here the value is kept even if it is blanks: they are quoted or escaped.
    let mut kept = 0;
    loop {
        match bytes.get(*at)? {
            b'"' => {
                if quoted || !value.is_empty() {
                    return None;
                }
                quoted = true;
                *at += 1;
                quoted_part(bytes, at, &mut value)?;
                kept = value.len();
            }
            b'\\' => {
                value.push(*bytes.get(*at + 1)?);
                kept = value.len();
                *at += 2;
            }
            b'{' => return None,
            b',' | b'}' => break,
            b => {
                if quoted && !is_space(*b) {
                    return None;
                }
                if !quoted {
                    value.push(*b);
                    if !is_space(*b) {
                        kept = value.len();
                    }
                }
                *at += 1;
            }
        }
    }
    value.truncate(kept);
    if !quoted && value.is_empty() {
        return None;
    }
    if !quoted && value.eq_ignore_ascii_case(b"null") {
        return Some(None);
    }
    String::from_utf8(value).ok().map(Some)
}

fn quoted_part(bytes: &[u8], at: &mut usize, value: &mut Vec<u8>) -> Option<()> {
    loop {
        match bytes.get(*at)? {
            b'"' => {
                *at += 1;
                return Some(());
            }
            b'\\' => {
                value.push(*bytes.get(*at + 1)?);
                *at += 2;
            }
            b => {
                value.push(*b);
                *at += 1;
            }
        }
    }
}

/// Any array, as PostgreSQL 15 reads it: the bounds, then the braces to count what they hold ([`count`]), then the
/// elements ([`fill`]). What it takes and refuses, and how it says so, is all its own.
#[cold]
fn general(text: &str) -> Result<(Option<Shape>, Vec<Option<String>>)> {
    let bytes = text.as_bytes();
    let mut pace = Pace::default();
    let mut at = 0;
    let mut bounds = Vec::new();
    loop {
        skip_spaces(bytes, &mut at);
        if bytes.get(at) != Some(&b'[') {
            break;
        }
        at += 1;
        if bounds.len() == DIMENSIONS_MAX {
            return Err(too_many_dimensions(bounds.len() + 1));
        }
        let (first, any) = bound(bytes, &mut at);
        if !any {
            return Err(malformed(text, "\"[\" must introduce explicitly-specified array dimensions."));
        }
        let (lower, upper) = match bytes.get(at) {
            Some(b':') => {
                at += 1;
                let (upper, any) = bound(bytes, &mut at);
                if !any {
                    return Err(malformed(text, "Missing array dimension value."));
                }
                (first, upper)
            }
            _ => (1, first),
        };
        if bytes.get(at) != Some(&b']') {
            return Err(malformed(text, "Missing \"]\" after array dimensions."));
        }
        at += 1;
        if upper < lower {
            let message = "upper bound cannot be less than lower bound";
            return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
        }
        let len = i64::from(upper) - i64::from(lower) + 1;
        bounds.push(Dimension { lower, len: u32::try_from(len).unwrap_or(u32::MAX) });
    }
    if bounds.is_empty() {
        if bytes.get(at) != Some(&b'{') {
            return Err(malformed(text, "Array value must start with \"{\" or dimension information."));
        }
    } else {
        if bytes.get(at) != Some(&b'=') {
            return Err(malformed(text, "Missing \"=\" after array dimensions."));
        }
        at += 1;
        skip_spaces(bytes, &mut at);
        if bytes.get(at) != Some(&b'{') {
            return Err(malformed(text, "Array contents must start with \"{\"."));
        }
    }
    let lengths = count(text, &bytes[at..], &mut pace)?;
    if bounds.is_empty() {
        bounds = lengths.iter().map(|len| Dimension { lower: 1, len: *len }).collect();
    } else if !bounds.iter().map(|d| d.len).eq(lengths.iter().copied()) {
        return Err(malformed(text, "Specified array dimensions do not match array contents."));
    }
    let Some(shape) = Shape::new(&bounds)? else { return Ok((None, Vec::new())) };
    let elements = fill(text, &bytes[at..], &shape, &mut pace)?;
    Ok((Some(shape).filter(|s| !s.is_list()), elements))
}

/// A number as C reads it: what follows its digits is passed over. Whether there was anything.
fn bound(bytes: &[u8], at: &mut usize) -> (i32, bool) {
    let start = *at;
    while bytes.get(*at).is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+')) {
        *at += 1;
    }
    let (sign, digits) = match &bytes[start..*at] {
        [b'-', digits @ ..] => (-1i64, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let number = digits
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .fold(0i64, |number, digit| number.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    // What has more than 64 bits is their greatest, and of that there are the lower 32.
    ((sign * number) as i32, *at > start)
}

/// Where the count of dimensions stands between two characters.
#[derive(Clone, Copy, PartialEq)]
enum State {
    NoLevel,
    LevelStarted,
    ElementStarted,
    QuotedStarted,
    QuotedCompleted,
    ElementDelimited,
    LevelCompleted,
    LevelDelimited,
}

/// How many elements each dimension has, by the braces; none where the array is empty.
fn count(text: &str, bytes: &[u8], pace: &mut Pace) -> Result<Vec<u32>> {
    use State::*;
    let mut state = NoLevel;
    let (mut level, mut dimensions) = (0, 1);
    let mut lengths = [0u32; DIMENSIONS_MAX];
    let (mut elements, mut elements_before) = ([1u32; DIMENSIONS_MAX], [0u32; DIMENSIONS_MAX]);
    let (mut quoted, mut empty) = (false, true);
    let unexpected = |c: char| malformed(text, &format!("Unexpected \"{c}\" character."));
    let mut at = 0;
    loop {
        if matches!(state, ElementStarted | QuotedStarted) {
            empty = false;
        }
        pace.step(1)?;
        let Some(byte) = bytes.get(at) else { return Err(malformed(text, "Unexpected end of input.")) };
        at += 1;
        match byte {
            b'\\' => {
                if !matches!(state, LevelStarted | ElementStarted | QuotedStarted | ElementDelimited) {
                    return Err(unexpected('\\'));
                }
                if state != QuotedStarted {
                    state = ElementStarted;
                }
                if at == bytes.len() {
                    return Err(malformed(text, "Unexpected end of input."));
                }
                at += 1;
            }
            b'"' => {
                if !matches!(state, LevelStarted | QuotedStarted | ElementDelimited) {
                    return Err(malformed(text, "Unexpected array element."));
                }
                quoted = !quoted;
                state = if quoted { QuotedStarted } else { QuotedCompleted };
            }
            _ if quoted => {}
            b'{' => {
                if !matches!(state, NoLevel | LevelStarted | LevelDelimited) {
                    return Err(unexpected('{'));
                }
                state = LevelStarted;
                if level == DIMENSIONS_MAX {
                    return Err(too_many_dimensions(level + 1));
                }
                lengths[level] = 0;
                level += 1;
                dimensions = dimensions.max(level);
            }
            b'}' => {
                let ends_something = matches!(state, ElementStarted | QuotedCompleted | LevelCompleted);
                if !(ends_something || level == 1 && state == LevelStarted) {
                    return Err(unexpected('}'));
                }
                state = LevelCompleted;
                if level == 0 {
                    return Err(malformed(text, "Unmatched \"}\" character."));
                }
                level -= 1;
                if elements_before[level] != 0 && elements[level] != elements_before[level] {
                    let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
                    return Err(malformed(text, detail));
                }
                elements_before[level] = elements[level];
                elements[level] = 1;
                if level == 0 {
                    lengths[dimensions - 1] += 1;
                    break;
                }
                lengths[level - 1] += 1;
            }
            b',' => {
                state = match state {
                    ElementStarted | QuotedCompleted => ElementDelimited,
                    LevelCompleted => LevelDelimited,
                    _ => return Err(unexpected(',')),
                };
                elements[level - 1] += 1;
                lengths[dimensions - 1] += 1;
            }
            b if is_space(*b) => {}
            _ => {
                if !matches!(state, LevelStarted | ElementStarted | ElementDelimited) {
                    return Err(malformed(text, "Unexpected array element."));
                }
                state = ElementStarted;
            }
        }
    }
    if !bytes[at..].iter().all(|b| is_space(*b)) {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    Ok(if empty { Vec::new() } else { lengths[..dimensions].to_vec() })
}

/// The elements of an array of this shape.
fn fill(text: &str, bytes: &[u8], shape: &Shape, pace: &mut Pace) -> Result<Vec<Option<String>>> {
    let total = shape.elements();
    watch::admit(total * size_of::<Option<String>>())?;
    let mut elements: Vec<Option<String>> = vec![None; total];
    let sizes: Vec<usize> = (1..=shape.dimensions().len()).map(|outer| shape.part(outer)).collect();
    let mut places = [0usize; DIMENSIONS_MAX];
    let (mut level, mut at) = (0, 0);
    let offset =
        |places: &[usize]| places.iter().zip(&sizes).map(|(place, size)| place * size).sum::<usize>();
    loop {
        let mut value = Vec::new();
        let (mut kept, mut leading, mut any_quotes, mut quoted) = (0, true, false, false);
        let mut place = None;
        let start = at;
        let ended = loop {
            let Some(byte) = bytes.get(at) else { return Err(malformed(text, "")) };
            at += 1;
            match byte {
                b'\\' => {
                    let Some(escaped) = bytes.get(at) else { return Err(malformed(text, "")) };
                    value.push(*escaped);
                    at += 1;
                    (leading, any_quotes) = (false, true);
                    kept = value.len();
                }
                b'"' => {
                    quoted = !quoted;
                    (leading, any_quotes) = (false, true);
                    kept = value.len();
                }
                b if quoted => value.push(*b),
                b'{' => {
                    if level >= sizes.len() {
                        return Err(malformed(text, ""));
                    }
                    places[level] = 0;
                    level += 1;
                }
                b'}' => {
                    if level == 0 {
                        return Err(malformed(text, ""));
                    }
                    place.get_or_insert_with(|| offset(&places));
                    places[level - 1] = 0;
                    level -= 1;
                    match level {
                        0 => break true,
                        level => places[level - 1] += 1,
                    }
                }
                b',' => {
                    place.get_or_insert_with(|| offset(&places));
                    places[sizes.len() - 1] += 1;
                    break false;
                }
                b if is_space(*b) && leading => {}
                b => {
                    value.push(*b);
                    if !is_space(*b) {
                        leading = false;
                        kept = value.len();
                    }
                }
            }
        };
        pace.step(at - start + size_of::<Option<String>>())?;
        let Some(element) = place.and_then(|place| elements.get_mut(place)) else {
            return Err(malformed(text, ""));
        };
        value.truncate(kept);
        if any_quotes || !value.eq_ignore_ascii_case(b"null") {
            *element = Some(String::from_utf8(value).map_err(|_| malformed(text, ""))?);
        }
        if ended {
            return Ok(elements);
        }
    }
}

/// Appends the text of an array: its bounds, where one of them is not 1, then the elements in the braces of their
/// dimensions. `element` appends that of a place, NULL too.
pub fn write_array(
    out: &mut Vec<u8>,
    shape: Option<&Shape>,
    count: usize,
    element: impl FnMut(&mut Vec<u8>, usize),
) {
    if let Some(shape) = shape.filter(|s| s.dimensions().iter().any(|d| d.lower != 1)) {
        shape.write(out);
        out.push(b'=');
    }
    write_nested(out, shape, count, [b'{', b'}'], element);
}

/// The elements in brackets of a kind, one pair for each dimension.
pub fn write_nested(
    out: &mut Vec<u8>,
    shape: Option<&Shape>,
    count: usize,
    [open, close]: [u8; 2],
    mut element: impl FnMut(&mut Vec<u8>, usize),
) {
    // How many elements are in each pair but the outermost.
    let inner: Vec<usize> = match shape {
        Some(shape) => (1..shape.dimensions().len()).map(|outer| shape.part(outer)).collect(),
        None => Vec::new(),
    };
    out.extend(std::iter::repeat_n(open, inner.len() + 1));
    for at in 0..count {
        if at > 0 {
            let ended = inner.iter().filter(|size| at % **size == 0).count();
            out.extend(std::iter::repeat_n(close, ended));
            out.push(b',');
            out.extend(std::iter::repeat_n(open, ended));
        }
        element(out, at);
    }
    out.extend(std::iter::repeat_n(close, inner.len() + 1));
}

/// Appends the text of an element that is not NULL, quoted where it must be.
pub fn write_array_element(out: &mut Vec<u8>, text: &[u8]) {
    watch::count(text.len());
    let special = |b: &u8| matches!(b, b'{' | b'}' | b',' | b'"' | b'\\') || is_space(*b);
    let quote = text.is_empty() || text.eq_ignore_ascii_case(b"null") || text.iter().any(special);
    if !quote {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for b in text {
        if matches!(b, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*b);
    }
    out.push(b'"');
}
