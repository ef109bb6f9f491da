//! `format`, RAISE's placeholders, and quoting.

use super::text::extend_repeated;
use crate::heap::{Heap, check_length};
use crate::slot::Slot;
use planaria_base::text_io::{count_chars, write_ident, write_literal};
use planaria_base::watch::{Pace, STEP};
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;

pub fn quote_ident(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    heap.build_text(|heap, out| write_ident(out, heap.bytes(at)))
}
pub fn quote_literal(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    heap.build_text(|heap, out| write_literal(out, heap.bytes(at)))
}
pub fn quote_nullable(heap: &mut Heap, arg: Slot) -> Result<Slot> {
    match arg {
        Slot::Null => heap.text("NULL"),
        text => quote_literal(heap, text.bytes()),
    }
}

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// One `%` of a format: `%[position$][-][width]type`.
struct Specifier {
    position: Option<usize>,
    left: bool,
    width: Width,
    kind: u8,
}

enum Width {
    None,
    Fixed(usize),
    /// `*`, or `*n$`.
    Argument(Option<usize>),
}

fn number(format: &[u8], at: &mut usize) -> Result<Option<usize>> {
    let start = *at;
    let mut n = 0usize;
    while let Some(digit) = format.get(*at).filter(|b| b.is_ascii_digit()) {
        n = n * 10 + usize::from(digit - b'0');
        if n > i32::MAX as usize {
            return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"));
        }
        *at += 1;
    }
    Ok((*at > start).then_some(n))
}

fn position(n: usize) -> Result<usize> {
    if n == 0 {
        return Err(invalid("format specifies argument 0, but arguments are numbered from 1"));
    }
    Ok(n)
}

/// Reads a specifier behind its `%`.
fn specifier(format: &[u8], at: &mut usize) -> Result<Specifier> {
    let mut found = Specifier { position: None, left: false, width: Width::None, kind: 0 };
    let start = *at;
    if let Some(n) = number(format, at)? {
        if format.get(*at) == Some(&b'$') {
            found.position = Some(position(n)?);
            *at += 1;
        } else {
            *at = start;
        }
    }
    while format.get(*at) == Some(&b'-') {
        found.left = true;
        *at += 1;
    }
    if format.get(*at) == Some(&b'*') {
        *at += 1;
        let start = *at;
        found.width = Width::Argument(None);
        if let Some(n) = number(format, at)? {
            if format.get(*at) == Some(&b'$') {
                found.width = Width::Argument(Some(position(n)?));
                *at += 1;
            } else {
                *at = start;
                return Err(invalid("width argument position must be ended by \"$\""));
            }
        }
    } else if let Some(n) = number(format, at)? {
        found.width = Width::Fixed(n);
    }
    found.kind = *format.get(*at).ok_or_else(|| {
        invalid("unterminated format() type specifier").with_hint("For a single \"%\" use \"%%\".")
    })?;
    *at += 1;
    Ok(found)
}

/// `format(text, args...)`.
pub fn format(heap: &mut Heap, format: Bytes, args: &[Slot]) -> Result<Slot> {
    let built = heap.build(|heap, out| {
        let format = heap.bytes(format);
        let (mut at, mut next) = (0, 0);
        let mut value = Vec::new();
        let mut pace = Pace::default();
        while let Some(b) = format.get(at) {
            at += 1;
            if *b != b'%' {
                out.push(*b);
                continue;
            }
            if format.get(at) == Some(&b'%') {
                at += 1;
                out.push(b'%');
                continue;
            }
            let specifier = specifier(format, &mut at)?;
            if !matches!(specifier.kind, b's' | b'I' | b'L') {
                let text = String::from_utf8_lossy(&format[at - 1..]);
                let c = text.chars().next().unwrap_or_default();
                return Err(invalid(format!("unrecognized format() type specifier \"{c}\""))
                    .with_hint("For a single \"%\" use \"%%\"."));
            }
            let mut argument = |position: Option<usize>| -> Result<Slot> {
                let index = position.unwrap_or(next + 1);
                next = index;
                args.get(index - 1).copied().ok_or_else(|| invalid("too few arguments for format()"))
            };
            let (mut left, width) = match specifier.width {
                Width::None => (specifier.left, 0),
                Width::Fixed(n) => (specifier.left, n),
                Width::Argument(position) => width_of(heap, argument(position)?, specifier.left)?,
            };
            left |= specifier.left;
            value.clear();
            match (specifier.kind, argument(specifier.position)?) {
                (b's', Slot::Null) => {}
                (b'L', Slot::Null) => value.extend_from_slice(b"NULL"),
                (_, Slot::Null) => {
                    return Err(Error::new(
                        SqlState::NULL_VALUE_NOT_ALLOWED,
                        "null values cannot be formatted as an SQL identifier",
                    ));
                }
                (b's', arg) => value.extend_from_slice(heap.bytes(arg.bytes())),
                (b'I', arg) => write_ident(&mut value, heap.bytes(arg.bytes())),
                (_, arg) => write_literal(&mut value, heap.bytes(arg.bytes())),
            }
            let blanks = width.saturating_sub(count_chars(&value));
            let len = out.len() + blanks + value.len();
            check_length(len)?;
            if blanks + value.len() >= STEP {
                heap.admit(2 * len)?;
            }
            if !left {
                extend_repeated(out, b" ", blanks)?;
            }
            out.extend_from_slice(&value);
            if left {
                extend_repeated(out, b" ", blanks)?;
            }
            pace.step(value.len() + 1)?;
        }
        Ok(())
    });
    built.map(Slot::Text)
}

/// A width given as an argument; negative means left.
fn width_of(heap: &Heap, arg: Slot, left: bool) -> Result<(bool, usize)> {
    let width = match arg {
        Slot::Null => 0,
        Slot::Int(n) => n,
        other => planaria_base::text_io::parse_int(heap.str(other.bytes()), &planaria_base::Type::Int4)?,
    };
    let magnitude = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
    if magnitude > (1 << 30) - 1 {
        return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range"));
    }
    Ok((left || width < 0, magnitude))
}

/// RAISE: each `%` is the next argument, `%%` a percent sign.
pub fn raise_format(heap: &mut Heap, format: Bytes, args: &[Slot]) -> Result<Slot> {
    let built = heap.build(|heap, out| {
        let mut args = args.iter();
        let mut bytes = heap.bytes(format).iter().peekable();
        while let Some(b) = bytes.next() {
            match b {
                b'%' if bytes.next_if(|b| **b == b'%').is_some() => out.push(b'%'),
                b'%' => match args.next() {
                    Some(Slot::Null) => out.extend_from_slice(b"<NULL>"),
                    Some(arg) => out.extend_from_slice(heap.bytes(arg.bytes())),
                    None => {
                        let message = "too few parameters specified for RAISE";
                        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                    }
                },
                plain => out.push(*plain),
            }
        }
        match args.next() {
            Some(_) => Err(Error::new(SqlState::SYNTAX_ERROR, "too many parameters specified for RAISE")),
            None => Ok(()),
        }
    });
    built.map(Slot::Text)
}

/// A JSON string: quoted, with the escapes that JSON demands.
pub fn json_quote(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    let text = heap.build(|heap, out| {
        planaria_base::json::quote(out, heap.str(at));
        Ok(())
    })?;
    Ok(Slot::Text(text))
}

/// A key of a JSON object: `argument` counts from 1 among those of a call, 0 for an aggregate's, and is negative for a `jsonb`.
/// The largest is no key but a list that has one too many.
pub fn json_key(heap: &mut Heap, key: Slot, argument: i64) -> Result<Slot> {
    if !key.is_null() {
        return json_quote(heap, key.bytes());
    }
    const ODD_OF_JSONB: i64 = -i64::MAX;
    let error = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
    Err(match argument {
        0 => error("field name must not be null".to_owned()),
        i64::MAX | ODD_OF_JSONB => {
            let name = if argument < 0 { "jsonb_build_object" } else { "json_build_object" };
            let hint = format!("The arguments of {name}() must consist of alternating keys and values.");
            error("argument list must have even number of elements".to_owned()).with_hint(hint)
        }
        n if n < 0 => error(format!("argument {}: key must not be null", -n)),
        n => error(format!("argument {n} cannot be null")).with_hint("Object keys should be text."),
    })
}
