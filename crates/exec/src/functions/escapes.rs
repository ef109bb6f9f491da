//! Texts taken apart as PostgreSQL takes them: `unistr`, `parse_ident`, `pg_size_bytes`.

use super::{call, cast};
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::Func;
use planaria_storage::arena::Bytes;

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// `n` hexadecimal digits at the beginning of a text.
fn hex(text: &[u8], n: usize) -> Option<u32> {
    let digits = text.get(..n).filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// `unistr`: `\XXXX`, `\+XXXXXX`, `\uXXXX`, `\UXXXXXXXX`, `\\`.
pub fn unistr(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    let made = characters_of(heap.str(at))?;
    heap.text(&made)
}

fn characters_of(text: &str) -> Result<String> {
    let pair = || Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode surrogate pair");
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut high) = (text, None);
    while let Some(c) = rest.chars().next() {
        let escape = rest.as_bytes();
        if c != '\\' || escape.get(1) == Some(&b'\\') {
            if high.is_some() {
                return Err(pair());
            }
            out.push(c);
            rest = &rest[if c == '\\' { 2 } else { c.len_utf8() }..];
            continue;
        }
        let forms = [(1, 4), (2, 4), (2, 6), (2, 8)];
        let marks = [None, Some(b'u'), Some(b'+'), Some(b'U')];
        let found = forms.into_iter().zip(marks).find_map(|((begin, digits), mark)| {
            let marked = mark.is_none() || escape.get(1).copied() == mark;
            let code = escape.get(begin..).filter(|_| marked).and_then(|d| hex(d, digits))?;
            Some((code, begin + digits, if digits == 8 { 8 } else { 4 }))
        });
        let Some((code, length, width)) = found else {
            let hint = "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.";
            return Err(Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode escape").with_hint(hint));
        };
        if code == 0 || code > 0x10_ffff {
            return Err(invalid(format!("invalid Unicode code point: {code:0width$X}")));
        }
        match (high.take(), code) {
            (None, 0xd800..=0xdbff) => high = Some(code),
            (None, 0xdc00..=0xdfff) => return Err(pair()),
            (Some(first), 0xdc00..=0xdfff) => {
                out.extend(char::from_u32(0x10000 + ((first & 0x3ff) << 10) + (code & 0x3ff)));
            }
            (Some(_), _) => return Err(pair()),
            (None, code) => out.extend(char::from_u32(code)),
        }
        rest = &rest[length..];
    }
    if high.is_some() { Err(pair()) } else { Ok(out) }
}

/// `parse_ident`: the parts of a name in SQL.
pub fn identifier(heap: &mut Heap, at: Bytes, strict: bool) -> Result<Slot> {
    let parts = parts_of(heap.str(at), strict)?;
    let parts = parts.iter().map(|part| heap.text(part)).collect::<Result<Vec<Slot>>>()?;
    heap.array(&parts)
}

fn parts_of(text: &str, strict: bool) -> Result<Vec<String>> {
    let wrong = || invalid(format!("string is not a valid identifier: \"{text}\""));
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
    let first = |c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii();
    let (mut parts, mut rest, mut after_dot) = (Vec::new(), text.trim_start_matches(blank), false);
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (mut name, mut behind) = (String::new(), quoted);
            loop {
                let Some((part, tail)) = behind.split_once('"') else {
                    return Err(wrong().with_detail("String has unclosed double quotes."));
                };
                name.push_str(part);
                behind = tail;
                match tail.strip_prefix('"') {
                    Some(more) => behind = more,
                    None => break,
                }
                name.push('"');
            }
            if name.is_empty() {
                return Err(wrong().with_detail("Quoted identifier must not be empty."));
            }
            parts.push(name);
            rest = behind;
        } else if rest.starts_with(first) {
            let end = rest.find(|c: char| !(first(c) || c.is_ascii_digit() || c == '$'));
            let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
            parts.push(name.to_ascii_lowercase());
            rest = behind;
        } else {
            return Err(match (rest.starts_with('.'), after_dot) {
                (true, _) => wrong().with_detail("No valid identifier before \".\"."),
                (false, true) => wrong().with_detail("No valid identifier after \".\"."),
                (false, false) => wrong(),
            });
        }
        rest = rest.trim_start_matches(blank);
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start_matches(blank),
            None if rest.is_empty() || !strict => return Ok(parts),
            None => return Err(wrong()),
        }
        after_dot = true;
    }
}

/// `pg_size_bytes`
pub fn size_bytes(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    const UNITS: [(&str, u32); 6] =
        [("bytes", 0), ("kb", 10), ("mb", 20), ("gb", 30), ("tb", 40), ("pb", 50)];
    let text = heap.str(at).to_owned();
    let wrong = || invalid(format!("invalid size: \"{text}\""));
    let blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let digits = |s: &str| s.bytes().take_while(u8::is_ascii_digit).count();
    let size = text.trim_start_matches(blank);
    let mut end = usize::from(size.starts_with(['-', '+']));
    let whole = digits(&size[end..]);
    end += whole;
    let mut fraction = 0;
    if size[end..].starts_with('.') {
        fraction = digits(&size[end + 1..]);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return Err(wrong());
    }
    if size[end..].starts_with(['e', 'E']) {
        let signed = usize::from(size[end + 1..].starts_with(['-', '+']));
        let exponent = digits(&size[end + 1 + signed..]);
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    let (number, unit) = size.split_at(end);
    let unit = unit.trim_matches(blank);
    let known = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    let bits = match known {
        Some((_, bits)) => *bits,
        None if unit.is_empty() => 0,
        None => {
            let hint = "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
            let detail = format!("Invalid size unit: \"{unit}\".");
            return Err(wrong().with_detail(detail).with_hint(hint));
        }
    };
    let numeric = Type::Numeric(None);
    let number = heap.push_datum(&Datum::parse(&numeric, number)?)?;
    let each = heap.push_datum(&Datum::parse(&numeric, &(1i64 << bits).to_string())?)?;
    let size = call(Func::NumMul, &[number, each], heap)?;
    cast(size, &numeric, &Type::Int8, true, heap)
}
