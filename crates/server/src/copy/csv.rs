//! Comma-separated values, as PostgreSQL reads and writes them.

use super::fields::Fields;
use super::{Forced, Front};
use crate::encode;
use planaria::serving::{CopyOptions, RowRef, ValueRef};
use planaria::{Column, Error, Result, SqlState};

/// The line in front: newlines between quotes belong to a value.
pub(super) fn front(data: &[u8], last: bool, options: &CopyOptions) -> Result<Front> {
    let mut quoted = false;
    let mut at = 0;
    while at < data.len() {
        let byte = data[at];
        if quoted && byte == options.escape && options.escape != options.quote {
            at += 2;
            continue;
        }
        if byte == options.quote {
            quoted = !quoted;
        } else if byte == b'\n' && !quoted {
            return Ok(whole(data, at + 1));
        }
        at += 1;
    }
    if !last || quoted {
        return Ok(Front::Incomplete);
    }
    Ok(whole(data, data.len()))
}

fn whole(data: &[u8], len: usize) -> Front {
    match super::without_ending(&data[..len]) {
        b"\\." => Front::End(len),
        _ => Front::Line(len),
    }
}

/// The values of a line without its ending.
pub(super) fn split(
    line: &[u8],
    options: &CopyOptions,
    forced: &[Forced],
    fields: &mut Fields,
) -> Result<()> {
    let mut at = 0;
    loop {
        let start = at;
        let mut saw_quote = false;
        let mut raw_len = 0;
        // Outside of quotes up to the delimiter; quotes may stand anywhere in a value.
        while at < line.len() && line[at] != options.delimiter {
            if line[at] != options.quote {
                fields.push(&line[at..=at]);
                raw_len += 1;
                at += 1;
                continue;
            }
            saw_quote = true;
            at += 1;
            loop {
                match line.get(at) {
                    None => {
                        let message = "unterminated CSV quoted field";
                        return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
                    }
                    Some(b)
                        if *b == options.escape
                            && line
                                .get(at + 1)
                                .is_some_and(|n| *n == options.quote || *n == options.escape) =>
                    {
                        fields.push(&line[at + 1..at + 2]);
                        at += 2;
                    }
                    Some(b) if *b == options.quote => {
                        at += 1;
                        break;
                    }
                    Some(_) => {
                        fields.push(&line[at..=at]);
                        at += 1;
                    }
                }
            }
        }
        let column = forced.get(fields.len()).copied().unwrap_or_default();
        let looks_null = if saw_quote {
            column.null && fields.current() == options.null.as_bytes()
        } else {
            raw_len == at - start && &line[start..at] == options.null.as_bytes() && !column.not_null
        };
        if looks_null {
            fields.drop_current();
        }
        fields.end(looks_null);
        if at >= line.len() {
            return Ok(());
        }
        at += 1;
    }
}

/// Appends a row as a line.
pub(super) fn write(
    out: &mut Vec<u8>,
    row: RowRef<'_>,
    columns: &[Column],
    options: &CopyOptions,
    force_quote: &[bool],
    scratch: &mut Vec<u8>,
) {
    let single = columns.len() == 1;
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
        value_out(out, scratch, options, force_quote.get(i).copied().unwrap_or(false), single);
    }
    out.push(b'\n');
}

/// Appends the names of the columns as a line.
pub(super) fn write_header(out: &mut Vec<u8>, names: &[String], options: &CopyOptions) {
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push(options.delimiter);
        }
        value_out(out, name.as_bytes(), options, false, names.len() == 1);
    }
    out.push(b'\n');
}

fn value_out(out: &mut Vec<u8>, text: &[u8], options: &CopyOptions, forced: bool, single: bool) {
    let special = |b: &u8| [options.delimiter, options.quote, b'\n', b'\r'].contains(b);
    let quotes =
        forced || text == options.null.as_bytes() || single && text == b"\\." || text.iter().any(special);
    if !quotes {
        out.extend_from_slice(text);
        return;
    }
    out.push(options.quote);
    for byte in text {
        if *byte == options.quote || *byte == options.escape {
            out.push(options.escape);
        }
        out.push(*byte);
    }
    out.push(options.quote);
}

#[cfg(test)]
mod tests {
    use super::*;
    use planaria::serving::{CopyColumns, CopyFormat, CopyHeader};

    fn options() -> CopyOptions {
        CopyOptions {
            format: CopyFormat::Csv,
            delimiter: b',',
            null: String::new(),
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
        split(line.as_bytes(), &options(), &[], &mut fields).expect("a line");
        (0..fields.len()).map(|i| fields.text(i).map(str::to_owned)).collect()
    }

    #[test]
    fn values_are_between_commas_and_perhaps_quotes() {
        let some = |s: &str| Some(s.to_owned());
        assert_eq!(values("1,a b,,\"\""), [some("1"), some("a b"), None, some("")]);
        assert_eq!(values("\"a,\"\"b\"\"\nc\",x\"y,z\"w"), [some("a,\"b\"\nc"), some("xy,zw")]);
        assert_eq!(values(""), [None]);
        let mut fields = Fields::default();
        assert!(split(b"\"a", &options(), &[], &mut fields).is_err());
    }

    #[test]
    fn a_newline_between_quotes_is_data() {
        let front = |data: &[u8], last| front(data, last, &options()).expect("whole");
        assert!(matches!(front(b"\"a\nb\",c\nd", false), Front::Line(8)));
        assert!(matches!(front(b"\"a\nb", false), Front::Incomplete));
        assert!(matches!(front(b"\\.\n", false), Front::End(3)));
    }

    #[test]
    fn what_is_special_is_quoted() {
        let mut out = Vec::new();
        for text in ["plain", "a,b", "say \"hi\"", "", "two\nlines"] {
            value_out(&mut out, text.as_bytes(), &options(), false, false);
            out.push(b'|');
        }
        assert_eq!(
            String::from_utf8(out).expect("UTF-8"),
            "plain|\"a,b\"|\"say \"\"hi\"\"\"|\"\"|\"two\nlines\"|"
        );
    }
}
