//! Answers and errors as psql prints them.

use planaria::{Error, Notice, Rows};
use std::fmt::Write;

/// How rows are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A table with a head and a count, as psql's default.
    Aligned,
    /// `\\x`: a line a column.
    Expanded,
    /// `-At`: a line a row, columns joined by `|`.
    Unaligned,
}

/// Rows as text.
pub fn rows(rows: &Rows, format: Format) -> String {
    match format {
        Format::Unaligned => unaligned(rows),
        Format::Aligned => aligned(rows),
        Format::Expanded => expanded(rows),
    }
}

fn unaligned(rows: &Rows) -> String {
    let mut out = String::new();
    for row in rows {
        for i in 0..rows.columns().len() {
            if i > 0 {
                out.push('|');
            }
            out.push_str(&row.text(i).unwrap_or_default());
        }
        out.push('\n');
    }
    out
}

fn expanded(rows: &Rows) -> String {
    let columns = rows.columns();
    let width = |text: &str| text.split('\n').map(|line| line.chars().count()).max().unwrap_or(0);
    let cells: Vec<Vec<String>> =
        rows.iter().map(|r| (0..columns.len()).map(|i| r.text(i).unwrap_or_default()).collect()).collect();
    let names = columns.iter().map(|c| width(&c.name)).max().unwrap_or(0);
    let values = cells.iter().flatten().map(|cell| width(cell)).max().unwrap_or(0);
    let mut out = String::new();
    for (n, row) in cells.iter().enumerate() {
        out += &format!("-[ RECORD {} ]", n + 1);
        let label = out.len() - out.rfind('\n').map_or(0, |at| at + 1);
        out.extend((label..names + 3 + values).map(|at| if at == names + 1 { '+' } else { '-' }));
        out.push('\n');
        for (column, cell) in columns.iter().zip(row) {
            let lines: Vec<&str> = cell.split('\n').collect();
            for (i, line) in lines.iter().enumerate() {
                let name = if i == 0 { &column.name } else { "" };
                let more = if i + 1 < lines.len() { "+" } else { "" };
                let pad = if more.is_empty() { 0 } else { values - line.chars().count() };
                let gap = names - name.chars().count();
                let text = format!("{name}{} | {line}{}{more}", " ".repeat(gap), " ".repeat(pad));
                out += &text;
                out.push('\n');
            }
        }
    }
    if cells.is_empty() {
        out += "(0 rows)\n";
    }
    out
}

fn aligned(rows: &Rows) -> String {
    let columns = rows.columns();
    let cells: Vec<Vec<String>> =
        rows.iter().map(|r| (0..columns.len()).map(|i| r.text(i).unwrap_or_default()).collect()).collect();
    let lines_of = |s: &str| s.split('\n').map(str::to_owned).collect::<Vec<_>>();
    let width = |s: &str| s.split('\n').map(|l| l.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len())
        .map(|i| cells.iter().map(|r| width(&r[i])).chain([width(&columns[i].name)]).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for (i, column) in columns.iter().enumerate() {
        let pad = widths[i] - column.name.chars().count();
        let _ = write!(
            out,
            "{} {}{}{} ",
            if i > 0 { "|" } else { "" },
            " ".repeat(pad / 2),
            column.name,
            " ".repeat(pad - pad / 2)
        );
    }
    out.push('\n');
    for (i, w) in widths.iter().enumerate() {
        let _ = write!(out, "{}{}", if i > 0 { "+" } else { "" }, "-".repeat(w + 2));
    }
    out.push('\n');
    for row in &cells {
        let lines: Vec<Vec<String>> = row.iter().map(|c| lines_of(c)).collect();
        let height = lines.iter().map(Vec::len).max().unwrap_or(1);
        for h in 0..height {
            let mut line = String::new();
            for (i, cell) in lines.iter().enumerate() {
                let text = cell.get(h).map_or("", String::as_str);
                let pad = " ".repeat(widths[i] - text.chars().count());
                let more = if h + 1 < cell.len() { "+" } else { " " };
                let bar = if i > 0 { "|" } else { "" };
                let _ = if columns[i].is_right_aligned() {
                    write!(line, "{bar} {pad}{text}{more}")
                } else {
                    write!(line, "{bar} {text}{pad}{more}")
                };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    let n = cells.len();
    let _ = writeln!(out, "({n} row{})", if n == 1 { "" } else { "s" });
    out
}

/// An error as psql reports it, with SQLSTATE; `text` is the SQL its position counts in.
pub fn error(error: &Error, text: Option<&str>) -> String {
    let f = error.fields();
    let mut out = format!("ERROR:  {}: {}\n", f.sqlstate, f.message);
    if let (Some(position), Some(text)) = (f.position, text) {
        out.push_str(&excerpt(text, position as usize));
    }
    for (what, field) in [("DETAIL", &f.detail), ("HINT", &f.hint), ("CONTEXT", &f.context)] {
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
