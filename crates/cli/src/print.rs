//! Answers and errors as psql prints them.

use crate::shell::Told;
use planaria::{Error, Notice};
use std::fmt::Write;

/// An error as psql reports it, with SQLSTATE; `text` is the SQL its position counts in.
pub fn error(error: &Error, text: Option<&str>) -> String {
    let f = error.fields();
    let mut out = format!("ERROR:  {}: {}\n", f.sqlstate, f.message);
    if let (Some(position), Some(text)) = (f.position, f.query.as_deref().or(text)) {
        out.push_str(&excerpt(text, position as usize));
    }
    let lines = [("DETAIL", &f.detail), ("HINT", &f.hint), ("QUERY", &f.query), ("CONTEXT", &f.context)];
    for (what, field) in lines {
        if let Some(field) = field {
            let _ = writeln!(out, "{what}:  {field}");
        }
    }
    out
}

/// The same of an error at a byte position of a script, with the script's name and the line.
pub fn error_in(name: &str, text: &str, (found, position): &(Error, usize)) -> String {
    format!("{name}:{}: {}", line_of(text, *position), error(found, Some(text)))
}

/// The same of an error, or less, that a server tells of.
pub fn told(told: &Told, text: Option<&str>) -> String {
    let mut out = match told.severity.as_str() {
        "ERROR" | "FATAL" | "PANIC" => format!("{}:  {}: {}\n", told.severity, told.sqlstate, told.message),
        severity => format!("{severity}:  {}\n", told.message),
    };
    if let (Some(position), Some(text)) = (told.position, told.query.as_deref().or(text)) {
        let at = text.char_indices().nth(position.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
        out.push_str(&excerpt(text, at));
    }
    let lines =
        [("DETAIL", &told.detail), ("HINT", &told.hint), ("QUERY", &told.query), ("CONTEXT", &told.context)];
    for (what, field) in lines {
        if let Some(field) = field {
            let _ = writeln!(out, "{what}:  {field}");
        }
    }
    out
}

/// The line of a position, and a caret under it.
fn excerpt(text: &str, position: usize) -> String {
    let mut position = position.min(text.len());
    while !text.is_char_boundary(position) {
        position -= 1;
    }
    let start = text[..position].rfind('\n').map_or(0, |i| i + 1);
    let end = text[position..].find('\n').map_or(text.len(), |i| position + i);
    let number = text[..position].matches('\n').count() + 1;
    let label = format!("LINE {number}: ");
    let indent = label.len() + text[start..position].chars().count();
    format!("{label}{}\n{}^\n", &text[start..end], " ".repeat(indent))
}

/// The 1-based line of a byte position.
pub fn line_of(text: &str, position: usize) -> usize {
    text.as_bytes()[..position.min(text.len())].iter().filter(|b| **b == b'\n').count() + 1
}

/// A notice as psql reports it.
pub fn notice(notice: &Notice) -> String {
    let mut out = format!("{}:  {}\n", notice.severity, notice.message);
    for (what, field) in [("DETAIL", &notice.detail), ("HINT", &notice.hint)] {
        if let Some(field) = field {
            let _ = writeln!(out, "{what}:  {field}");
        }
    }
    out
}

/// A count with thin groups: 1,234,567.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Bytes for people.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn an_excerpt_points_at_its_place() {
        let text = "SELECT 1;\nSELECT x;";
        assert_eq!(excerpt(text, 17), "LINE 2: SELECT x;\n               ^\n");
        assert_eq!(line_of(text, 17), 2);
    }
}
