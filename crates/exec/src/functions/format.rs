//! `format`, RAISE's placeholders, and quoting.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::text_io::count_chars;
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;

/// PostgreSQL's keywords that an identifier cannot be without quotes, sorted.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization",
    "between", "bigint", "binary", "bit", "boolean", "both", "case", "cast", "char", "character", "check",
    "coalesce", "collate", "collation", "column", "concurrently", "constraint", "create", "cross",
    "current_catalog", "current_date", "current_role", "current_schema", "current_time",
    "current_timestamp", "current_user", "dec", "decimal", "default", "deferrable", "desc", "distinct",
    "do", "else", "end", "except", "exists", "extract", "false", "fetch", "float", "for", "foreign",
    "freeze", "from", "full", "grant", "greatest", "group", "grouping", "having", "ilike", "in",
    "initially", "inner", "inout", "int", "integer", "intersect", "interval", "into", "is", "isnull",
    "join", "lateral", "leading", "least", "left", "like", "limit", "localtime", "localtimestamp",
    "national", "natural", "nchar", "none", "normalize", "not", "notnull", "null", "nullif", "numeric",
    "offset", "on", "only", "or", "order", "out", "outer", "overlaps", "overlay", "placing", "position",
    "precision", "primary", "real", "references", "returning", "right", "row", "select", "session_user",
    "setof", "similar", "smallint", "some", "substring", "symmetric", "table", "tablesample", "then",
    "time", "timestamp", "to", "trailing", "treat", "trim", "true", "union", "unique", "user", "using",
    "values", "varchar", "variadic", "verbose", "when", "where", "window", "with", "xmlattributes",
    "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlnamespaces", "xmlparse", "xmlpi", "xmlroot",
    "xmlserialize", "xmltable",
];

/// Appends an identifier, quoted if it must be.
fn write_ident(out: &mut Vec<u8>, ident: &[u8]) {
    let plain = match ident {
        [first, rest @ ..] => {
            (first.is_ascii_lowercase() || *first == b'_')
                && rest.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_')
        }
        [] => false,
    };
    let keyword = |ident: &[u8]| KEYWORDS.binary_search_by(|k| k.as_bytes().cmp(ident)).is_ok();
    if plain && !keyword(ident) {
        out.extend_from_slice(ident);
    } else {
        write_doubled(out, ident, b"\"");
    }
}

/// Appends a literal; with backslashes in it, as an `E''` string.
fn write_literal(out: &mut Vec<u8>, text: &[u8]) {
    if text.contains(&b'\\') {
        out.push(b'E');
        write_doubled(out, text, b"'\\");
    } else {
        write_doubled(out, text, b"'");
    }
}

/// Appends a text within the first of `special`, each of which is doubled inside.
fn write_doubled(out: &mut Vec<u8>, text: &[u8], special: &[u8]) {
    out.push(special[0]);
    for b in text {
        if special.contains(b) {
            out.push(*b);
        }
        out.push(*b);
    }
    out.push(special[0]);
}

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
        invalid("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
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
                    .hint("For a single \"%\" use \"%%\"."));
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
            if !left {
                out.resize(out.len() + blanks, b' ');
            }
            out.extend_from_slice(&value);
            if left {
                out.resize(out.len() + blanks, b' ');
            }
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
