//! Templates of `to_char`, `to_date` and `to_timestamp`: text, separators, and fields with their modifiers.
//!
//! A pattern counts in capitals and in small letters, names of days and months also with a capital in front; what is no
//! pattern is text. `FM` stands before a field, `TH` and `th` behind it. `TM` and `SP` are read and change nothing:
//! names are English.

use crate::error::{Error, Result, SqlState};
use crate::text_io;

/// What a field is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// AM or PM, with points or without.
    Meridiem(bool),
    /// AD or BC, with points or without.
    Era(bool),
    Century,
    /// The name of the day, in full or three letters of it.
    DayName(bool),
    DayOfYear,
    Day,
    DayOfWeek,
    /// So many digits of a fraction of a second.
    Fraction(usize),
    Milliseconds,
    Microseconds,
    /// `FX`: what follows is read as it stands.
    Exact,
    Hour,
    Hour12,
    IsoDayOfYear,
    IsoDayOfWeek,
    IsoWeek,
    /// So many digits of the year of ISO 8601's weeks.
    IsoYear(usize),
    Julian,
    Minute,
    Month,
    /// The name of the month, in full or three letters of it.
    MonthName(bool),
    Offset,
    OffsetHour,
    OffsetMinute,
    Zone,
    Quarter,
    Roman,
    SecondOfDay,
    Second,
    Week,
    WeekOfMonth,
    /// `Y,YYY`
    YearComma,
    /// So many digits of the year.
    Year(usize),
}

/// Which calendar a field belongs to; a date is read by one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Calendar {
    Any,
    Gregorian,
    Weeks,
}

/// A field of a template.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'t> {
    pub what: What,
    /// As the template has it.
    pub name: &'t str,
    /// Padded: no `FM`.
    pub fill: bool,
    /// `TH` or `th`.
    pub ordinal: Option<&'t str>,
    /// Whether it consists of digits: then what stands before it ends after a fixed number of them.
    pub digits: bool,
    pub calendar: Calendar,
}

/// A part of a template.
#[derive(Clone, Copy, Debug)]
pub(super) enum Node<'t> {
    Field(Field<'t>),
    Separator(char),
    Space(char),
    Text(char),
}

use Calendar::{Any, Gregorian, Weeks};

/// Patterns, longest first among those that begin alike.
const PATTERNS: &[(&str, What, bool, Calendar)] = &[
    ("A.D.", What::Era(true), false, Any),
    ("A.M.", What::Meridiem(true), false, Any),
    ("AD", What::Era(false), false, Any),
    ("AM", What::Meridiem(false), false, Any),
    ("B.C.", What::Era(true), false, Any),
    ("BC", What::Era(false), false, Any),
    ("CC", What::Century, true, Any),
    ("DAY", What::DayName(true), false, Any),
    ("DDD", What::DayOfYear, true, Gregorian),
    ("DD", What::Day, true, Gregorian),
    ("DY", What::DayName(false), false, Any),
    ("D", What::DayOfWeek, true, Gregorian),
    ("FF1", What::Fraction(1), false, Any),
    ("FF2", What::Fraction(2), false, Any),
    ("FF3", What::Fraction(3), false, Any),
    ("FF4", What::Fraction(4), false, Any),
    ("FF5", What::Fraction(5), false, Any),
    ("FF6", What::Fraction(6), false, Any),
    ("FX", What::Exact, false, Any),
    ("HH24", What::Hour, true, Any),
    ("HH12", What::Hour12, true, Any),
    ("HH", What::Hour12, true, Any),
    ("IDDD", What::IsoDayOfYear, true, Weeks),
    ("ID", What::IsoDayOfWeek, true, Weeks),
    ("IW", What::IsoWeek, true, Weeks),
    ("IYYY", What::IsoYear(4), true, Weeks),
    ("IYY", What::IsoYear(3), true, Weeks),
    ("IY", What::IsoYear(2), true, Weeks),
    ("I", What::IsoYear(1), true, Weeks),
    ("J", What::Julian, true, Any),
    ("MI", What::Minute, true, Any),
    ("MM", What::Month, true, Gregorian),
    ("MONTH", What::MonthName(true), false, Gregorian),
    ("MON", What::MonthName(false), false, Gregorian),
    ("MS", What::Milliseconds, true, Any),
    ("OF", What::Offset, false, Any),
    ("P.M.", What::Meridiem(true), false, Any),
    ("PM", What::Meridiem(false), false, Any),
    ("Q", What::Quarter, true, Any),
    ("RM", What::Roman, false, Gregorian),
    ("SSSSS", What::SecondOfDay, true, Any),
    ("SSSS", What::SecondOfDay, true, Any),
    ("SS", What::Second, true, Any),
    ("TZH", What::OffsetHour, false, Any),
    ("TZM", What::OffsetMinute, true, Any),
    ("TZ", What::Zone, false, Any),
    ("US", What::Microseconds, true, Any),
    ("WW", What::Week, true, Gregorian),
    ("W", What::WeekOfMonth, true, Gregorian),
    ("Y,YYY", What::YearComma, true, Gregorian),
    ("YYYY", What::Year(4), true, Gregorian),
    ("YYY", What::Year(3), true, Gregorian),
    ("YY", What::Year(2), true, Gregorian),
    ("Y", What::Year(1), true, Gregorian),
];

/// Whether `text` begins with the pattern in one of its spellings.
fn begins(text: &str, (pattern, what, ..): &(&str, What, bool, Calendar)) -> bool {
    let Some(head) = text.as_bytes().get(..pattern.len()) else { return false };
    let small = |bytes: &[u8], of: &str| bytes.iter().eq(of.to_ascii_lowercase().as_bytes());
    let capital = matches!(what, What::DayName(_) | What::MonthName(_));
    head == pattern.as_bytes()
        || small(head, pattern)
        || capital && head[0] == pattern.as_bytes()[0] && small(&head[1..], &pattern[1..])
}

/// Takes a template apart.
pub(super) fn parse(template: &str) -> Vec<Node<'_>> {
    nodes(template, &mut |_| {})
}

/// The same of one of the standard; a separator that it does not know is 22007.
pub(super) fn parse_standard(template: &str) -> Result<Vec<Node<'_>>> {
    let mut foreign = None;
    let nodes = nodes(template, &mut |c| {
        if !"-./,':; ".contains(c) {
            foreign.get_or_insert(c);
        }
    });
    match foreign {
        None => Ok(nodes),
        Some(c) => {
            let message = format!("invalid datetime format separator: \"{c}\"");
            Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message))
        }
    }
}

/// `plain` hears of each character that is neither of a field nor in quotes.
fn nodes<'t>(template: &'t str, plain: &mut dyn FnMut(char)) -> Vec<Node<'t>> {
    let mut nodes = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let mut fill = true;
        if let Some(behind) = ["FM", "fm"].into_iter().find_map(|m| rest.strip_prefix(m)) {
            (fill, rest) = (false, behind);
        } else if let Some(behind) = ["TM", "tm"].into_iter().find_map(|m| rest.strip_prefix(m)) {
            // Names in the language of the session are not padded.
            (fill, rest) = (!named(behind), behind);
        }
        if let Some((pattern, what, digits, calendar)) = PATTERNS.iter().find(|p| begins(rest, p)) {
            let (name, behind) = rest.split_at(pattern.len());
            let suffix = ["TH", "th", "SP"].into_iter().find(|s| behind.starts_with(s));
            let ordinal = suffix.filter(|s| *s != "SP");
            rest = &behind[suffix.map_or(0, str::len)..];
            let (what, digits, calendar) = (*what, *digits, *calendar);
            nodes.push(Node::Field(Field { what, name, fill, ordinal, digits, calendar }));
        } else if let Some(quoted) = rest.strip_prefix('"') {
            rest = text(&mut nodes, quoted);
        } else {
            // A backslash counts before a quote alone.
            rest = rest.strip_prefix('\\').filter(|r| r.starts_with('"')).unwrap_or(rest);
            let Some(c) = rest.chars().next() else { break };
            rest = &rest[c.len_utf8()..];
            plain(c);
            nodes.push(match c {
                _ if c.is_ascii_punctuation() => Node::Separator(c),
                _ if c.is_ascii() && text_io::is_space(c as u8) => Node::Space(c),
                _ => Node::Text(c),
            });
        }
    }
    nodes
}

impl What {
    /// Whether it is about a time of day, and whether it is about a zone; what is about neither is about a date.
    pub(super) const fn of_day(self) -> (bool, bool) {
        use What::*;
        match self {
            Meridiem(_) | Fraction(_) | Milliseconds | Microseconds | Hour | Hour12 | Minute
            | SecondOfDay | Second => (true, false),
            Offset | OffsetHour | OffsetMinute | Zone => (false, true),
            _ => (false, false),
        }
    }
}

/// Whether a name of a day or month comes next.
fn named(text: &str) -> bool {
    let found = PATTERNS.iter().find(|p| begins(text, p));
    matches!(found, Some((_, What::DayName(_) | What::MonthName(_), ..)))
}

/// Text up to the closing quote; what follows it.
fn text<'t>(nodes: &mut Vec<Node<'t>>, quoted: &'t str) -> &'t str {
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return &quoted[at + 1..],
            // A backslash at the very end stands for itself.
            '\\' => nodes.push(Node::Text(chars.next().map_or(c, |(_, escaped)| escaped))),
            plain => nodes.push(Node::Text(plain)),
        }
    }
    ""
}
