//! Text functions. Positions and lengths count characters; texts are UTF-8, nearly always ASCII.
//!
//! A part of a text (`substr`, `left`, `trim`, `split_part`) shares the bytes of the whole: nothing
//! is copied.

use super::like::char_len;
use crate::heap::{Heap, check_length};
use crate::slot::Slot;
use memchr::memmem;
use planaria_base::text_io::count_chars;
use planaria_base::watch::{Pace, STEP};
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;
use std::collections::{HashMap, HashSet};

/// The part of a text between two byte positions.
#[inline]
fn part(of: Bytes, start: usize, end: usize) -> Slot {
    debug_assert!(start <= end && end <= of.len as usize);
    Slot::Text(Bytes { offset: of.offset + start as u32, len: (end - start) as u32 })
}

/// Byte position of the character number `n` (from 0), or the end.
#[inline]
fn offset_of_char(text: &[u8], n: usize) -> usize {
    if n >= text.len() {
        return text.len();
    }
    if text[..n].is_ascii() {
        return n;
    }
    let mut starts = text.iter().enumerate().filter(|(_, b)| (**b as i8) >= -0x40);
    starts.nth(n).map_or(text.len(), |(at, _)| at)
}

pub fn length(text: &[u8]) -> i64 {
    count_chars(text) as i64
}

/// `substr(text, start [, count])`: a start before 1 uses up the count.
pub fn substr(heap: &Heap, at: Bytes, start: i64, count: Option<i64>) -> Result<Slot> {
    let end = match count {
        Some(count) if count < 0 => {
            return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(count) => start.saturating_add(count),
        None => i64::MAX,
    };
    let (start, end) = (start.max(1), end.max(1));
    if start >= end {
        return Ok(part(at, 0, 0));
    }
    let text = heap.bytes(at);
    let from = offset_of_char(text, (start - 1) as usize);
    let to = match end {
        i64::MAX => text.len(),
        _ => from + offset_of_char(&text[from..], (end - start) as usize),
    };
    Ok(part(at, from, to))
}

pub fn left(heap: &Heap, at: Bytes, n: i64) -> Slot {
    let text = heap.bytes(at);
    part(at, 0, offset_of_char(text, from_either_end(text, n)))
}

pub fn right(heap: &Heap, at: Bytes, n: i64) -> Slot {
    let text = heap.bytes(at);
    let skipped =
        if n >= 0 { length(text).saturating_sub(n).max(0) as usize } else { clamp(n.unsigned_abs()) };
    part(at, offset_of_char(text, skipped), text.len())
}

fn clamp(n: u64) -> usize {
    n.min(u64::from(u32::MAX)) as usize
}

fn from_either_end(text: &[u8], n: i64) -> usize {
    if n >= 0 { clamp(n as u64) } else { length(text).saturating_add(n).max(0) as usize }
}

pub fn pad(heap: &mut Heap, at: Bytes, length: i64, fill: Bytes, on_left: bool) -> Result<Slot> {
    let text = heap.bytes(at);
    let wanted = clamp(length.max(0) as u64);
    let have = count_chars(text);
    if have >= wanted {
        return Ok(part(at, 0, offset_of_char(text, wanted)));
    }
    if fill.len == 0 {
        return Ok(Slot::Text(at));
    }
    let missing = wanted - have;
    check_length(missing.saturating_mul(4).saturating_add(text.len()))?;
    let longest = if heap.bytes(fill).is_ascii() { missing } else { missing * 4 };
    let built = heap.build_within(longest + text.len(), |heap, out| {
        let (text, fill) = (heap.bytes(at), heap.bytes(fill));
        if !on_left {
            out.extend_from_slice(text);
        }
        let fill_chars = count_chars(fill);
        extend_repeated(out, fill, missing / fill_chars)?;
        out.extend_from_slice(&fill[..offset_of_char(fill, missing % fill_chars)]);
        if on_left {
            out.extend_from_slice(text);
        }
        Ok(())
    });
    built.map(Slot::Text)
}

/// Appends some bytes so many times.
pub(super) fn extend_repeated(out: &mut Vec<u8>, part: &[u8], times: usize) -> Result<()> {
    if part.is_empty() {
        return Ok(());
    }
    let mut pace = Pace::default();
    let start = out.len();
    let end = start + part.len() * times;
    out.reserve(end - start);
    while out.len() < end {
        // What is there already is copied, a step at most at a time.
        let whole = out.len() - start;
        let known = if whole == 0 { part.len() } else { whole.min((STEP / part.len()).max(1) * part.len()) };
        let next = known.min(end - out.len());
        match whole {
            0 => out.extend_from_slice(&part[..next]),
            _ => out.extend_from_within(start..start + next),
        }
        pace.step(next)?;
    }
    Ok(())
}

pub fn repeat(heap: &mut Heap, at: Bytes, times: i64) -> Result<Slot> {
    let times = clamp(times.max(0) as u64);
    let len = times.saturating_mul(at.len as usize);
    check_length(len)?;
    heap.build_within(len, |heap, out| extend_repeated(out, heap.bytes(at), times)).map(Slot::Text)
}

/// Which ends a trim works on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Left,
    Right,
    Both,
}

pub fn trim(heap: &Heap, at: Bytes, set: Bytes, ends: Ends) -> Slot {
    let (text, set) = (heap.bytes(at), heap.bytes(set));
    let (mut start, mut end) = (0, text.len());
    if set.is_ascii() {
        // An ASCII byte never stands inside another character.
        let inside = |b: u8| set.contains(&b);
        while ends != Ends::Right && start < end && inside(text[start]) {
            start += 1;
        }
        while ends != Ends::Left && start < end && inside(text[end - 1]) {
            end -= 1;
        }
        return part(at, start, end);
    }
    let members: HashSet<&[u8]> = chars(set).collect();
    let contains = |c: &[u8]| members.contains(c);
    while ends != Ends::Right && start < end && contains(&text[start..start + char_len(text[start])]) {
        start += char_len(text[start]);
    }
    while ends != Ends::Left && start < end {
        let mut last = end - 1;
        while last > start && (text[last] as i8) < -0x40 {
            last -= 1;
        }
        if !contains(&text[last..end]) {
            break;
        }
        end = last;
    }
    part(at, start, end)
}

/// The characters of a text, as byte strings.
fn chars(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let len = char_len(*rest.first()?).min(rest.len());
        let (first, tail) = rest.split_at(len);
        rest = tail;
        Some(first)
    })
}

pub fn replace(heap: &mut Heap, at: Bytes, from: Bytes, to: Bytes) -> Result<Slot> {
    let (text, needle) = (heap.bytes(at), heap.bytes(from));
    let found = if needle.is_empty() { 0 } else { memmem::find_iter(text, needle).count() };
    if found == 0 {
        return Ok(Slot::Text(at));
    }
    let len = (text.len() - found * needle.len()).saturating_add(found.saturating_mul(to.len as usize));
    check_length(len)?;
    let built = heap.build_within(len, |heap, out| {
        let (text, needle, to) = (heap.bytes(at), heap.bytes(from), heap.bytes(to));
        let mut pace = Pace::default();
        let mut copied = 0;
        for found in memmem::find_iter(text, needle) {
            out.extend_from_slice(&text[copied..found]);
            out.extend_from_slice(to);
            pace.step(found - copied + to.len() + 1)?;
            copied = found + needle.len();
        }
        out.extend_from_slice(&text[copied..]);
        Ok(())
    });
    built.map(Slot::Text)
}

pub fn translate(heap: &mut Heap, at: Bytes, from: Bytes, to: Bytes) -> Result<Slot> {
    let built = heap.build(|heap, out| {
        // The first of several equal characters counts; one without a counterpart goes.
        let (mut pairs, mut counterparts) = (Vec::new(), chars(heap.bytes(to)));
        for c in chars(heap.bytes(from)) {
            pairs.push((c, counterparts.next().unwrap_or(b"")));
        }
        let few = pairs.len() <= 16;
        let map: HashMap<&[u8], &[u8]> =
            if few { HashMap::new() } else { pairs.iter().rev().copied().collect() };
        let mut pace = Pace::default();
        for c in chars(heap.bytes(at)) {
            let counterpart = match few {
                true => pairs.iter().find(|(from, _)| *from == c).map(|(_, to)| *to),
                false => map.get(c).copied(),
            };
            out.extend_from_slice(counterpart.unwrap_or(c));
            pace.step(c.len())?;
        }
        Ok(())
    });
    built.map(Slot::Text)
}

pub fn reverse(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    let built = heap.build_within(at.len as usize, |heap, out| {
        let text = heap.bytes(at);
        let mut pace = Pace::default();
        let mut end = text.len();
        for start in (0..text.len()).rev() {
            if (text[start] as i8) >= -0x40 {
                out.extend_from_slice(&text[start..end]);
                pace.step(end - start)?;
                end = start;
            }
        }
        Ok(())
    });
    built.map(Slot::Text)
}

/// `overlay(text placing replacement from start for count)`.
pub fn overlay(heap: &mut Heap, at: Bytes, replacement: Bytes, start: i64, count: i64) -> Result<Slot> {
    if start <= 0 {
        return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let resume = start.checked_add(count).filter(|n| i32::try_from(*n).is_ok());
    let resume = resume.ok_or_else(|| super::fast::out_of_range("integer"))?;
    let head = substr(heap, at, 1, Some(start - 1))?;
    let tail = substr(heap, at, resume, None)?;
    heap.build_text(|heap, out| {
        for bytes in [head.bytes(), replacement, tail.bytes()] {
            out.extend_from_slice(heap.bytes(bytes));
        }
    })
}

/// `strpos(text, part)`: in characters from 1, 0 if it does not occur.
pub fn position(text: &[u8], needle: &[u8]) -> i64 {
    memmem::find(text, needle).map_or(0, |at| length(&text[..at]) + 1)
}

pub fn split_part(heap: &Heap, at: Bytes, delimiter: Bytes, field: i64) -> Result<Slot> {
    if field == 0 {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "field position must not be zero"));
    }
    let (text, delimiter) = (heap.bytes(at), heap.bytes(delimiter));
    if delimiter.is_empty() {
        return Ok(if matches!(field, 1 | -1) { Slot::Text(at) } else { part(at, 0, 0) });
    }
    let wanted = if field > 0 {
        (field - 1) as u64
    } else {
        let fields = memmem::find_iter(text, delimiter).count() as u64 + 1;
        match fields.checked_sub(field.unsigned_abs()) {
            Some(n) => n,
            None => return Ok(part(at, 0, 0)),
        }
    };
    let mut start = 0;
    let mut ends = memmem::find_iter(text, delimiter);
    for _ in 0..wanted {
        match ends.next() {
            Some(end) => start = end + delimiter.len(),
            None => return Ok(part(at, 0, 0)),
        }
    }
    Ok(part(at, start, ends.next().unwrap_or(text.len())))
}

/// How `upper`, `lower` and `initcap` change a character.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Upper,
    Lower,
    /// Upper for the first of each run of letters and digits.
    Title,
}

pub fn change_case(heap: &mut Heap, at: Bytes, case: Case) -> Result<Slot> {
    let mut in_word = false;
    let mut upper = move |alphanumeric: bool| {
        let first = !in_word;
        in_word = alphanumeric;
        case == Case::Upper || case == Case::Title && first
    };
    let built = heap.build_within(at.len as usize, |heap, out| {
        let text = heap.bytes(at);
        let mut pace = Pace::default();
        if text.is_ascii() {
            for some in text.chunks(STEP) {
                out.extend(some.iter().map(|b| {
                    if upper(b.is_ascii_alphanumeric()) {
                        b.to_ascii_uppercase()
                    } else {
                        b.to_ascii_lowercase()
                    }
                }));
                pace.step(some.len())?;
            }
            return Ok(());
        }
        let mut buffer = [0; 4];
        for c in heap.str(at).chars() {
            let mapped = if upper(c.is_alphanumeric()) {
                single(c, c.to_uppercase())
            } else {
                single(c, c.to_lowercase())
            };
            out.extend_from_slice(mapped.encode_utf8(&mut buffer).as_bytes());
            pace.step(c.len_utf8())?;
        }
        Ok(())
    });
    built.map(Slot::Text)
}

pub(super) use planaria_base::citext::single;

/// Lower case for ILIKE.
pub(super) fn fold_case(text: &str) -> String {
    text.chars().map(|c| single(c, c.to_lowercase())).collect()
}

pub fn ascii(text: &str) -> i64 {
    text.chars().next().map_or(0, |c| i64::from(u32::from(c)))
}

pub fn chr(heap: &mut Heap, code: i64) -> Result<Slot> {
    let wrong = |message: String| Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    if code < 0 {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "character number must be positive"));
    }
    if code == 0 {
        return wrong("null character not permitted".to_owned());
    }
    if code > 0x10ffff {
        return wrong(format!("requested character too large for encoding: {code}"));
    }
    match char::from_u32(code as u32) {
        Some(c) => heap.text(c.encode_utf8(&mut [0; 4])),
        None => wrong(format!("requested character not valid for encoding: {code}")),
    }
}

/// `concat` and `concat_ws`: NULLs are left out.
pub fn concat_all(heap: &mut Heap, separator: Option<Bytes>, args: &[Slot]) -> Result<Slot> {
    let there = args.iter().filter(|a| !a.is_null()).map(|a| a.bytes());
    let Some(first) = there.clone().next() else { return Ok(Slot::Text(Bytes::default())) };
    let others = there.skip(1).flat_map(|part| separator.into_iter().chain([part]));
    Ok(Slot::Text(heap.concat(first, others)?))
}

/// `char(n)` as it prints.
pub fn char_pad(heap: &mut Heap, at: Bytes, n: i64) -> Result<Slot> {
    let n = clamp(n.max(0) as u64);
    if count_chars(heap.bytes(at)) >= n {
        return Ok(Slot::Text(at));
    }
    let built = heap.build_within(n.saturating_add(at.len as usize), |heap, out| {
        planaria_base::text_io::write_char(out, heap.bytes(at), n);
        Ok(())
    });
    built.map(Slot::Text)
}

/// Bytes of a value in the detail of an error.
const DETAIL_BYTES: usize = 64;

/// At most so many bytes of a text that stand in the detail of an error, with dots behind what was cut.
pub fn in_detail(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    if at.len as usize <= DETAIL_BYTES {
        return Ok(Slot::Text(at));
    }
    let kept = planaria_base::text_io::first_bytes(heap.str(at), DETAIL_BYTES).to_owned();
    heap.text(&format!("{kept}..."))
}
