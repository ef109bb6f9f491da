//! JSON taken apart: a tree, and the texts it is written as.
//!
//! `jsonb` is kept as text, in one form ([`canonical`]): a blank behind every colon and comma, keys once, ordered by
//! length and then by bytes, numbers as `numeric` prints them. So it prints as it stands, and a part of it is a part of
//! its text. Two that are equal may differ in trailing zeros of numbers, as in PostgreSQL.

use super::{Lexer, quote};
use crate::limits::{JSON_NESTING_MAX, TEXT_BYTES_MAX};
use crate::watch::{self, Pace};
use crate::{Error, Result, SqlState};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A JSON value. Keys of objects are ordered and each is there once, unless it was read by [`Json::parse_as_written`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// As `numeric` prints it.
    Number(Cow<'a, str>),
    /// Without quotes and escapes.
    String(Cow<'a, str>),
    /// The elements.
    Array(Vec<Json<'a>>),
    /// Keys and values.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

#[cold]
fn too_deep() -> Error {
    let hint = format!("A jsonb nests {JSON_NESTING_MAX} levels deep at most.");
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").with_hint(hint)
}

#[cold]
fn too_long() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a jsonb would be too long")
        .with_detail(format!("It may have {TEXT_BYTES_MAX} bytes."))
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    ordered: bool,
    /// Bytes of what was made of the text: numbers may be far longer than they were written.
    made: usize,
    /// For how many of them there was room.
    asked: usize,
    /// Of numbers alone.
    digits: usize,
}

impl<'a> Reader<'a> {
    fn made(&mut self, bytes: usize) -> Result<()> {
        self.made += bytes;
        if self.made - self.asked >= watch::STEP {
            self.asked = self.made;
            watch::room(self.made)?;
        }
        Ok(())
    }

    fn value(&mut self, token: &'a str, level: usize) -> Result<Json<'a>> {
        self.made(size_of::<Json<'_>>())?;
        Ok(match token.as_bytes().first() {
            Some(b'{') => {
                if level == JSON_NESTING_MAX {
                    return Err(too_deep());
                }
                let mut pairs = Vec::new();
                let mut token = self.lexer.next()?;
                while token != "}" {
                    if token == "," {
                        token = self.lexer.next()?;
                    }
                    let key = unquoted(token)?;
                    self.made(size_of::<Cow<'_, str>>())?;
                    self.lexer.next()?;
                    let first = self.lexer.next()?;
                    pairs.push((key, self.value(first, level + 1)?));
                    token = self.lexer.next()?;
                    if token.is_empty() {
                        return Err(self.lexer.cut_short());
                    }
                }
                if self.ordered {
                    order_keys(&mut pairs);
                }
                Json::Object(pairs)
            }
            Some(b'[') => {
                if level == JSON_NESTING_MAX {
                    return Err(too_deep());
                }
                let mut elements = Vec::new();
                let mut token = self.lexer.next()?;
                while token != "]" {
                    if token == "," {
                        token = self.lexer.next()?;
                    }
                    elements.push(self.value(token, level + 1)?);
                    token = self.lexer.next()?;
                    if token.is_empty() {
                        return Err(self.lexer.cut_short());
                    }
                }
                Json::Array(elements)
            }
            Some(b'"') => Json::String(unquoted(token)?),
            Some(b't') => Json::Bool(true),
            Some(b'f') => Json::Bool(false),
            Some(b'n') => Json::Null,
            Some(_) if !self.ordered => Json::Number(Cow::Borrowed(token)),
            Some(_) => {
                let number = number(token)?;
                self.made(number.len())?;
                self.digits += number.len();
                if self.digits > TEXT_BYTES_MAX {
                    return Err(too_long());
                }
                Json::Number(number)
            }
            None => return Err(self.lexer.cut_short()),
        })
    }
}

/// A text in the form in which `jsonb` is kept. 22P02 where it is no JSON, 22P05 of `\u0000`, 54001 where it nests too
/// deeply, 22003 of numbers that `numeric` has no room for.
pub fn canonical(text: &str) -> Result<String> {
    super::check(text)?;
    let mut out = Vec::with_capacity(text.len());
    Json::parse(text)?.write(&mut out);
    Ok(into_text(out))
}

pub(super) fn into_text(bytes: Vec<u8>) -> String {
    // Every writer appends UTF-8.
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// How keys of objects are ordered.
pub(super) fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl<'a> Json<'a> {
    /// Reads a text that is JSON.
    pub fn parse(text: &'a str) -> Result<Json<'a>> {
        Self::read(text, true)
    }

    /// The same, with keys in the order in which they stand, and as often.
    pub fn parse_as_written(text: &'a str) -> Result<Json<'a>> {
        Self::read(text, false)
    }

    fn read(text: &'a str, ordered: bool) -> Result<Json<'a>> {
        watch::count(text.len());
        let mut reader = Reader { lexer: Lexer::new(text), ordered, made: 0, asked: 0, digits: 0 };
        let token = reader.lexer.next()?;
        reader.value(token, 0)
    }

    /// 54001 where it nests more deeply than a `jsonb` may.
    pub(super) fn check_depth(&self) -> Result<()> {
        fn fits(json: &Json<'_>, levels: usize) -> bool {
            match json {
                Json::Array(elements) => levels > 0 && elements.iter().all(|e| fits(e, levels - 1)),
                Json::Object(pairs) => levels > 0 && pairs.iter().all(|(_, e)| fits(e, levels - 1)),
                _ => true,
            }
        }
        if fits(self, JSON_NESTING_MAX) { Ok(()) } else { Err(too_deep()) }
    }

    /// Appends it in the form of `jsonb`.
    pub fn write(&self, out: &mut Vec<u8>) {
        self.write_with([", ", ": "], out);
    }

    /// Appends it without any blank: what `json_strip_nulls` prints.
    pub fn write_tight(&self, out: &mut Vec<u8>) {
        self.write_with([",", ":"], out);
    }

    fn write_with(&self, marks: [&str; 2], out: &mut Vec<u8>) {
        // Without lines nothing is longer than what it was made of, but for blanks.
        let done = self.write_parts(marks, None, out);
        debug_assert!(done.is_ok(), "only lines are counted");
    }

    /// Appends it as `jsonb_pretty` does. 54000 where it would be too long.
    pub fn write_pretty(&self, out: &mut Vec<u8>) -> Result<()> {
        self.write_parts([",", ": "], Some(0), out)
    }

    /// With these marks behind elements and keys; with `level` each part on a line of its own, so many levels to the
    /// right.
    fn write_parts(&self, marks: [&str; 2], level: Option<usize>, out: &mut Vec<u8>) -> Result<()> {
        let (ends, parts) = match self {
            Json::Array(elements) => ([b'[', b']'], elements.len()),
            Json::Object(pairs) => ([b'{', b'}'], pairs.len()),
            scalar => {
                match scalar {
                    Json::Bool(true) => out.extend_from_slice(b"true"),
                    Json::Bool(false) => out.extend_from_slice(b"false"),
                    Json::Number(n) => out.extend_from_slice(n.as_bytes()),
                    Json::String(s) => quote(out, s),
                    _ => out.extend_from_slice(b"null"),
                }
                return Ok(());
            }
        };
        let inner = level.map(|level| level + 1);
        out.push(ends[0]);
        for i in 0..parts {
            if i > 0 {
                out.extend_from_slice(marks[0].as_bytes());
            }
            begin_line(inner, out)?;
            match self {
                Json::Object(pairs) => {
                    quote(out, &pairs[i].0);
                    out.extend_from_slice(marks[1].as_bytes());
                    pairs[i].1.write_parts(marks, inner, out)?;
                }
                Json::Array(elements) => elements[i].write_parts(marks, inner, out)?,
                _ => {}
            }
        }
        begin_line(level, out)?;
        out.push(ends[1]);
        Ok(())
    }

    /// In the form of `jsonb`.
    pub fn into_text(self) -> String {
        let mut out = Vec::new();
        self.write(&mut out);
        into_text(out)
    }

    /// Whether it is neither an object nor an array.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// An array or object with nothing in it.
    pub fn is_empty(&self) -> bool {
        match self {
            Json::Array(elements) => elements.is_empty(),
            Json::Object(pairs) => pairs.is_empty(),
            _ => false,
        }
    }

    /// As `jsonb_typeof` has it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// The value of a key of an object.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        let Json::Object(pairs) = self else { return None };
        let at = pairs.binary_search_by(|(k, _)| key_order(k, key)).ok()?;
        Some(&pairs[at].1)
    }

    /// How `jsonb` is ordered: objects, arrays, booleans, numbers, strings, null, from the greatest to the least; of two
    /// arrays or objects the one with more is greater. A quirk of PostgreSQL: alone, a scalar is less than an array,
    /// unless that is empty.
    pub fn compare(&self, other: &Json<'_>) -> Ordering {
        match (self, other) {
            (Json::Array(elements), scalar) if scalar.is_scalar() => match elements.len() {
                0 => Ordering::Less,
                _ => Ordering::Greater,
            },
            (scalar, Json::Array(elements)) if scalar.is_scalar() => match elements.len() {
                0 => Ordering::Greater,
                _ => Ordering::Less,
            },
            _ => self.compare_inner(other),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::String(_) => 1,
            Json::Number(_) => 2,
            Json::Bool(_) => 3,
            Json::Array(_) => 4,
            Json::Object(_) => 5,
        }
    }

    fn compare_inner(&self, other: &Json<'_>) -> Ordering {
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Number(a), Json::Number(b)) => compare_numbers(a, b),
            (Json::String(a), Json::String(b)) => a.cmp(b),
            (Json::Array(a), Json::Array(b)) => a.len().cmp(&b.len()).then_with(|| {
                let orders = a.iter().zip(b).map(|(a, b)| a.compare_inner(b));
                orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                let orders = a.iter().zip(b).map(|((key, value), (other_key, other))| {
                    key.cmp(other_key).then_with(|| value.compare_inner(other))
                });
                orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }

    /// Whether it contains another: `@>`. An array contains a scalar that is one of its elements.
    pub fn contains(&self, other: &Json<'_>) -> Result<bool> {
        let mut pace = Pace::default();
        if let (Json::Array(elements), true) = (self, other.is_scalar()) {
            return any(elements, &mut pace, |e, _| Ok(e.compare_inner(other).is_eq()));
        }
        self.contains_inner(other, &mut pace)
    }

    fn contains_inner(&self, other: &Json<'_>, pace: &mut Pace) -> Result<bool> {
        match (self, other) {
            (Json::Object(_), Json::Object(pairs)) => {
                for (key, value) in pairs {
                    match self.get(key) {
                        Some(own) if own.contains_inner(value, pace)? => {}
                        _ => return Ok(false),
                    }
                }
                Ok(true)
            }
            (Json::Array(own), Json::Array(elements)) => {
                for element in elements {
                    if !any(own, pace, |o, pace| o.contains_inner(element, pace))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (a, b) => {
                pace.step(size_of::<Json<'_>>())?;
                Ok(a.is_scalar() && b.is_scalar() && a.compare_inner(b).is_eq())
            }
        }
    }

    /// Whether a text is one of its keys, or of its elements: `?`.
    pub fn has(&self, key: &str) -> bool {
        match self {
            Json::Object(_) => self.get(key).is_some(),
            Json::Array(elements) => elements.iter().any(|e| matches!(e, Json::String(s) if s == key)),
            Json::String(s) => s == key,
            _ => false,
        }
    }
}

/// Begins a line so many levels to the right, if there are lines.
fn begin_line(level: Option<usize>, out: &mut Vec<u8>) -> Result<()> {
    let Some(level) = level else { return Ok(()) };
    out.push(b'\n');
    out.resize(out.len() + 4 * level, b' ');
    if out.len() > TEXT_BYTES_MAX { Err(too_long()) } else { Ok(()) }
}

/// Whether any of some values passes a test.
fn any(
    values: &[Json<'_>],
    pace: &mut Pace,
    mut test: impl FnMut(&Json<'_>, &mut Pace) -> Result<bool>,
) -> Result<bool> {
    for value in values {
        pace.step(size_of::<Json<'_>>())?;
        if test(value, pace)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Orders keys; of equal ones the last stays.
pub(super) fn order_keys(pairs: &mut Vec<(Cow<'_, str>, Json<'_>)>) {
    if pairs.is_sorted_by(|(a, _), (b, _)| key_order(a, b).is_lt()) {
        return;
    }
    // Stable, and the last of equal ones is the first that stays.
    pairs.reverse();
    pairs.sort_by(|(a, _), (b, _)| key_order(a, b));
    pairs.dedup_by(|(a, _), (b, _)| a == b);
}

/// How two texts in the form of `jsonb` are ordered.
pub fn compare(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    match (Json::parse(a), Json::parse(b)) {
        (Ok(a), Ok(b)) => a.compare(&b),
        // They were read before, with no more stack.
        _ => a.cmp(b),
    }
}

/// What two texts in the form of `jsonb` have in common if they are equal: the text itself, unless a number in it has
/// trailing zeros.
pub fn comparable(text: &str) -> Cow<'_, str> {
    fn trim(json: &mut Json<'_>) -> bool {
        match json {
            Json::Number(n) if n.contains('.') && n.ends_with('0') => {
                *n = Cow::Owned(n.trim_end_matches('0').trim_end_matches('.').to_owned());
                true
            }
            Json::Array(elements) => elements.iter_mut().fold(false, |any, e| trim(e) | any),
            Json::Object(pairs) => pairs.iter_mut().fold(false, |any, (_, e)| trim(e) | any),
            _ => false,
        }
    }
    if !text.contains('.') {
        return Cow::Borrowed(text);
    }
    let Ok(mut json) = Json::parse(text) else { return Cow::Borrowed(text) };
    if trim(&mut json) { Cow::Owned(json.into_text()) } else { Cow::Borrowed(text) }
}

/// How two numbers are ordered, both as `numeric` prints them.
fn compare_numbers(a: &str, b: &str) -> Ordering {
    let parts = |n: &'_ str| -> (bool, usize, usize) {
        let negative = n.starts_with('-');
        let point = n.find('.').unwrap_or(n.len());
        (negative, usize::from(negative), point)
    };
    let ((minus_a, from_a, point_a), (minus_b, from_b, point_b)) = (parts(a), parts(b));
    let fraction = |n: &'_ str, point: usize| n.get(point + 1..).unwrap_or("").trim_end_matches('0').len();
    let (more_a, more_b) = (fraction(a, point_a), fraction(b, point_b));
    let size = (point_a - from_a)
        .cmp(&(point_b - from_b))
        .then_with(|| a[from_a..point_a].cmp(&b[from_b..point_b]))
        .then_with(|| digits(a, point_a, more_a).cmp(digits(b, point_b, more_b)));
    match (minus_a, minus_b) {
        (false, false) => size,
        (true, true) => size.reverse(),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

/// So many digits behind the point at that place.
fn digits(n: &str, point: usize, count: usize) -> &str {
    n.get(point + 1..point + 1 + count).unwrap_or("")
}

/// A JSON number as `numeric` prints it.
pub(super) fn number(token: &str) -> Result<Cow<'_, str>> {
    let plain = !token.contains(['e', 'E']) && !token.starts_with('-');
    if plain && token.len() < 1000 {
        return Ok(Cow::Borrowed(token));
    }
    let overflow = || Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format");
    let (negative, rest) = match token.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, token),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], rest[at + 1..].parse::<i32>().map_err(|_| overflow())?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // PostgreSQL's limits of numeric: digits before and behind the point.
    const WHOLE_MAX: i64 = 131_072;
    const FRACTION_MAX: i64 = 16_383;
    let digits: String = [whole, fraction].concat();
    let point = whole.len() as i64 + i64::from(exponent);
    let scale = (fraction.len() as i64 - i64::from(exponent)).max(0);
    let is_zero = digits.bytes().all(|b| b == b'0');
    if scale > FRACTION_MAX || (!is_zero && point > WHOLE_MAX + whole.len() as i64) {
        return Err(overflow());
    }
    let mut out = String::with_capacity(digits.len() + 2);
    if negative && !is_zero {
        out.push('-');
    }
    let digit = |i: i64| -> char {
        let at = usize::try_from(i).ok().and_then(|i| digits.as_bytes().get(i));
        at.map_or('0', |b| char::from(*b))
    };
    let before = out.len();
    if !is_zero {
        for i in 0..point.max(0) {
            let d = digit(i);
            if out.len() > before || d != '0' {
                out.push(d);
            }
        }
    }
    if (out.len() - before) as i64 > WHOLE_MAX {
        return Err(overflow());
    }
    if out.len() == before {
        out.push('0');
    }
    if scale > 0 {
        out.push('.');
        out.extend((point..point + scale).map(digit));
    }
    Ok(Cow::Owned(out))
}

/// A JSON string without its quotes and escapes.
pub(super) fn unquoted(token: &str) -> Result<Cow<'_, str>> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or("");
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let invalid = |detail: &str| {
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
            .with_detail(detail.to_owned())
    };
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    let mut high: Option<u32> = None;
    let lone = "Unicode low surrogate must follow a high surrogate.";
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            if high.is_some() {
                return Err(invalid(lone));
            }
            out.push(c);
            continue;
        }
        let escaped = rest.chars().next().unwrap_or('\\');
        rest = &rest[escaped.len_utf8().min(rest.len())..];
        if escaped != 'u' {
            if high.is_some() {
                return Err(invalid(lone));
            }
            out.push(match escaped {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            });
            continue;
        }
        let code = rest.get(..4).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or(0);
        rest = rest.get(4..).unwrap_or("");
        let code = match (high.take(), code) {
            (Some(_), 0xD800..=0xDBFF) => {
                return Err(invalid("Unicode high surrogate must not follow a high surrogate."));
            }
            (None, 0xD800..=0xDBFF) => {
                high = Some(code);
                continue;
            }
            (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00),
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(invalid(lone)),
            (None, 0) => {
                let message = "unsupported Unicode escape sequence";
                let detail = "\\u0000 cannot be converted to text.";
                return Err(Error::new(SqlState::UNTRANSLATABLE_CHARACTER, message).with_detail(detail));
            }
            (None, code) => code,
        };
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    if high.is_some() {
        return Err(invalid(lone));
    }
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_form() {
        for (text, expected) in [
            (r#" {"b":1,"aa":[1 ,2.50, {}],"a":null,"b":2} "#, r#"{"a": null, "b": 2, "aa": [1, 2.50, {}]}"#),
            (r#""\u00e4\ud83d\ude00\/\u0007\u007f""#, "\"ä😀/\\u0007\u{7f}\""),
            (
                "[1e2, 1.5e1, 1.50E-3, -0, -0.0, 0e5, 120e-1, -1E+3]",
                "[100, 15, 0.00150, 0, 0.0, 0, 12.0, -1000]",
            ),
            ("[[], {}, true, false, null, \"\"]", "[[], {}, true, false, null, \"\"]"),
        ] {
            let form = canonical(text).expect(text);
            assert_eq!(form, expected);
            assert_eq!(canonical(&form).expect("again"), form);
        }
        for (text, state) in [
            ("{", "22P02"),
            ("\"\\u0000\"", "22P05"),
            ("\"\\ud800\"", "22P02"),
            ("1e200000", "22003"),
            ("1e-20000", "22003"),
        ] {
            assert_eq!(canonical(text).expect_err(text).sqlstate().as_str(), state, "{text}");
        }
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        assert_eq!(canonical(&deep).expect_err("deep").sqlstate().as_str(), "54001");
    }

    #[test]
    fn values_are_ordered() {
        let ascending = [
            "[]",
            "null",
            "\"a\"",
            "\"b\"",
            "-10.5",
            "-2",
            "0",
            "0.05",
            "0.5",
            "1.5",
            "2",
            "10",
            "false",
            "true",
            "[1]",
            "[[]]",
            "[null, 1]",
            "{}",
            "{\"b\": 1}",
            "{\"b\": [2]}",
            "{\"a\": 1, \"b\": 1}",
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} {b}");
            }
        }
        assert!(compare("[1.0, 2]", "[1.00, 2]").is_eq());
        assert_eq!(comparable("[1.0, \"1.0\", 2.50]"), "[1, \"1.0\", 2.5]");
    }
}
