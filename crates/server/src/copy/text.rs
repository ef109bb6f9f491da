//! The text form: a line a row, values between delimiters, backslashes before what is special.

use super::Front;
use super::fields::Fields;
use crate::encode;
use crate::read::CHARACTER_NOT_IN_REPERTOIRE;
use planaria::serving::{CopyOptions, RowRef, ValueRef};
use planaria::{Column, Error, Result, SqlState};

/// The line in front.
pub(super) fn front(data: &[u8], last: bool) -> Front {
    let mut at = 0;
    loop {
        let Some(found) = data[at..].iter().position(|b| matches!(b, b'\n' | b'\\')) else {
            return if last { whole(data, data.len()) } else { Front::Incomplete };
        };
        at += found;
        if data[at] == b'\\' {
            // A newline behind it is data.
            at += 2;
            if at > data.len() {
                return if last { whole(data, data.len()) } else { Front::Incomplete };
            }
            continue;
        }
        return whole(data, at + 1);
    }
}

fn whole(data: &[u8], len: usize) -> Front {
    match super::without_ending(&data[..len]) {
        b"\\." => Front::End(len),
        _ => Front::Line(len),
    }
}

/// The values of a line without its ending.
pub(super) fn split(line: &[u8], options: &CopyOptions, fields: &mut Fields) -> Result<()> {
    let null = options.null.as_bytes();
    let mut escaped = false;
    for raw in split_raw(line, options.delimiter) {
        if raw == null {
            fields.end(true);
            continue;
        }
        escaped |= unescape(raw, fields)?;
        fields.end(false);
    }
    if escaped && !fields.are_utf8() {
        return Err(Error::new(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\""));
    }
    Ok(())
}

/// The values as they stand, between delimiters without a backslash before them.
fn split_raw(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let mut at = 0;
        while at < line.len() && line[at] != delimiter {
            at += if line[at] == b'\\' { 2 } else { 1 };
        }
        if at < line.len() {
            rest = Some(&line[at + 1..]);
            Some(&line[..at])
        } else {
            rest = None;
            Some(line)
        }
    })
}

/// Appends a value without its backslashes; whether it had any that make bytes from numbers.
fn unescape(raw: &[u8], fields: &mut Fields) -> Result<bool> {
    let mut numbers = false;
    let mut rest = raw;
    while let Some(at) = rest.iter().position(|b| *b == b'\\') {
        fields.push(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((&byte, behind)) = rest.split_first() else {
            // A backslash at the end of the data stands for itself.
            fields.push(b"\\");
            return Ok(numbers);
        };
        rest = behind;
        let plain = match byte {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => {
                numbers = true;
                let mut value = u32::from(byte - b'0');
                let more = rest.iter().take(2).take_while(|b| (b'0'..=b'7').contains(*b)).count();
                for digit in &rest[..more] {
                    value = value * 8 + u32::from(digit - b'0');
                }
                rest = &rest[more..];
                value as u8
            }
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
                numbers = true;
                let more = rest.iter().take(2).take_while(|b| b.is_ascii_hexdigit()).count();
                let digits = std::str::from_utf8(&rest[..more]).unwrap_or("0");
                rest = &rest[more..];
                u8::from_str_radix(digits, 16).unwrap_or(0)
            }
            other => other,
        };
        if plain == 0 {
            return Err(Error::new(
                SqlState::new("22021"),
                "invalid byte sequence for encoding \"UTF8\": 0x00",
            ));
        }
        fields.push(&[plain]);
    }
    fields.push(rest);
    Ok(numbers)
}

/// Appends a row as a line.
pub(super) fn write(
    out: &mut Vec<u8>,
    row: RowRef<'_>,
    columns: &[Column],
    options: &CopyOptions,
    scratch: &mut Vec<u8>,
) {
    for (i, (value, column)) in row.values().zip(columns).enumerate() {
        if i > 0 {
            out.push(options.delimiter);
        }
        if matches!(value, ValueRef::Null) {
            out.extend_from_slice(options.null.as_bytes());
            continue;
        }
        scratch.clear();
        encode::text(scratch, &value, &column.ty, row.forms());
        escape(out, scratch, options.delimiter);
    }
    out.push(b'\n');
}

/// Appends the names of the columns as a line.
pub(super) fn write_header(out: &mut Vec<u8>, names: &[String], options: &CopyOptions) {
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push(options.delimiter);
        }
        escape(out, name.as_bytes(), options.delimiter);
    }
    out.push(b'\n');
}

fn escape(out: &mut Vec<u8>, text: &[u8], delimiter: u8) {
    for &byte in text {
        let letter = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            byte if byte == delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planaria::serving::{CopyColumns, CopyFormat, CopyHeader};

    fn options() -> CopyOptions {
        CopyOptions {
            format: CopyFormat::Text,
            delimiter: b'\t',
            null: "\\N".to_owned(),
            header: CopyHeader::None,
            quote: b'"',
            escape: b'"',
            force_quote: CopyColumns::None,
            force_not_null: CopyColumns::None,
            force_null: CopyColumns::None,
        }
    }

    fn values(line: &str) -> Vec<Option<String>> {
        let mut fields = Fields::default();
        split(line.as_bytes(), &options(), &mut fields).expect("a line");
        (0..fields.len()).map(|i| fields.text(i).map(str::to_owned)).collect()
    }

    #[test]
    fn values_are_between_tabs() {
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(values("1\ta b\t\\N\t"), [some("1"), some("a b"), None, some("")]);
        assert_eq!(values("a\\tb\\\\c\\x41\\101\\q"), [some("a\tb\\cAAq")]);
        assert_eq!(values("x\\\ty"), [some("x\ty")]);
        assert_eq!(values(""), [some("")]);
    }

    #[test]
    fn escapes_make_characters_within_a_value_alone() {
        assert_eq!(values("\\xc3\\xa4\tb"), [Some("ä".to_owned()), Some("b".to_owned())]);
        for line in ["\\xc3", "\\xc3\t\\xa4", "\\xc3\\0", "a\\400"] {
            let error = split(line.as_bytes(), &options(), &mut Fields::default()).expect_err(line);
            assert_eq!(error.sqlstate(), CHARACTER_NOT_IN_REPERTOIRE, "{line}");
        }
    }

    #[test]
    fn a_line_ends_at_a_newline_without_backslash() {
        assert!(matches!(front(b"a\nb", false), Front::Line(2)));
        assert!(matches!(front(b"a\\\nb\n", false), Front::Line(5)));
        assert!(matches!(front(b"a\r\n", false), Front::Line(3)));
        assert!(matches!(front(b"a", false), Front::Incomplete));
        assert!(matches!(front(b"a", true), Front::Line(1)));
        assert!(matches!(front(b"\\.\n", false), Front::End(3)));
        assert!(matches!(front(b"\\.", true), Front::End(2)));
    }
}
