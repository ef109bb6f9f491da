//! Tables as psql prints them.

use planaria::Rows;
use std::fmt::Write;

/// How rows are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A table with a head and a count, as psql's default.
    Aligned,
    /// `\x`: a line a column.
    Expanded,
    /// `-At`: a line a row, columns joined by `|`.
    Unaligned,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// Its values stand at the right: they are numbers.
    pub right: bool,
}

/// Rows as texts; NULL is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Option<String>>>,
}

impl From<&Rows> for Table {
    fn from(rows: &Rows) -> Table {
        let columns = rows.columns();
        Table {
            columns: columns
                .iter()
                .map(|c| Column { name: c.name.clone(), right: c.is_right_aligned() })
                .collect(),
            rows: rows.iter().map(|row| (0..columns.len()).map(|i| row.text(i)).collect()).collect(),
        }
    }
}

/// Places that a text takes on a terminal, at its widest line.
fn width(text: &str) -> usize {
    text.split('\n').map(console_width).max().unwrap_or(0)
}

fn console_width(line: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(line)
}

fn pad(out: &mut String, places: usize) {
    out.extend(std::iter::repeat_n(' ', places));
}

impl Table {
    fn cell(&self, row: usize, column: usize) -> &str {
        self.rows[row][column].as_deref().unwrap_or("")
    }

    /// All of it. A title stands above an aligned table, footers below it; without footers it is the count of rows.
    pub fn print(&self, format: Format, title: Option<&str>, footers: Option<&[String]>) -> String {
        match format {
            Format::Unaligned => self.unaligned(),
            Format::Aligned => self.aligned(title, footers),
            Format::Expanded => self.expanded(),
        }
    }

    fn unaligned(&self) -> String {
        let mut out = String::new();
        for row in 0..self.rows.len() {
            for column in 0..self.columns.len() {
                if column > 0 {
                    out.push('|');
                }
                out.push_str(self.cell(row, column));
            }
            out.push('\n');
        }
        out
    }

    fn aligned(&self, title: Option<&str>, footers: Option<&[String]>) -> String {
        let columns = &self.columns;
        let widths: Vec<usize> = (0..columns.len())
            .map(|c| {
                (0..self.rows.len()).map(|r| width(self.cell(r, c))).fold(width(&columns[c].name), usize::max)
            })
            .collect();
        let total = widths.iter().map(|w| w + 3).sum::<usize>().saturating_sub(1);
        let mut out = String::new();
        if let Some(title) = title {
            pad(&mut out, total.saturating_sub(width(title)) / 2);
            out += title;
            out.push('\n');
        }
        for (c, column) in columns.iter().enumerate() {
            let gap = widths[c] - width(&column.name);
            out.push_str(if c > 0 { "| " } else { " " });
            pad(&mut out, gap / 2);
            out += &column.name;
            pad(&mut out, gap - gap / 2 + 1);
        }
        out.push('\n');
        for (c, w) in widths.iter().enumerate() {
            out.push_str(if c > 0 { "+" } else { "" });
            out.extend(std::iter::repeat_n('-', w + 2));
        }
        out.push('\n');
        for r in 0..self.rows.len() {
            self.aligned_row(&mut out, r, &widths);
        }
        match footers {
            Some(footers) => footers.iter().for_each(|line| {
                let _ = writeln!(out, "{line}");
            }),
            None => {
                let n = self.rows.len();
                let _ = writeln!(out, "({n} row{})", if n == 1 { "" } else { "s" });
            }
        }
        out
    }

    /// A row: as many lines as its highest cell has; a `+` says that a cell goes on in the next.
    fn aligned_row(&self, out: &mut String, row: usize, widths: &[usize]) {
        let cells: Vec<Vec<&str>> =
            (0..widths.len()).map(|c| self.cell(row, c).split('\n').collect()).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            for (c, cell) in cells.iter().enumerate() {
                let text = cell.get(line).copied().unwrap_or("");
                let (gap, more, last) =
                    (widths[c] - console_width(text), line + 1 < cell.len(), c + 1 == cells.len());
                out.push_str(if c > 0 { "| " } else { " " });
                if self.columns[c].right {
                    if line < cell.len() || !last {
                        pad(out, gap);
                    }
                    out.push_str(text);
                } else {
                    out.push_str(text);
                    if more || !last {
                        pad(out, gap);
                    }
                }
                match (more, last) {
                    (true, _) => out.push('+'),
                    (false, false) => out.push(' '),
                    (false, true) => {}
                }
            }
            out.push('\n');
        }
    }

    fn expanded(&self) -> String {
        let names = self.columns.iter().map(|c| width(&c.name)).max().unwrap_or(0);
        let cells = self.rows.iter().flatten();
        let values = cells.map(|cell| width(cell.as_deref().unwrap_or(""))).max().unwrap_or(0);
        let mut out = String::new();
        for row in 0..self.rows.len() {
            let label = format!("-[ RECORD {} ]", row + 1);
            out += &label;
            out.extend((label.len()..names + 3 + values).map(|at| if at == names + 1 { '+' } else { '-' }));
            out.push('\n');
            for (c, column) in self.columns.iter().enumerate() {
                let lines: Vec<&str> = self.cell(row, c).split('\n').collect();
                for (i, line) in lines.iter().enumerate() {
                    let name = if i == 0 { &column.name } else { "" };
                    out += name;
                    pad(&mut out, names - width(name));
                    out += " | ";
                    out += line;
                    if i + 1 < lines.len() {
                        pad(&mut out, values - console_width(line));
                        out.push('+');
                    }
                    out.push('\n');
                }
            }
        }
        if self.rows.is_empty() {
            out += "(0 rows)\n";
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |name: &str, right| Column { name: name.to_owned(), right };
        let text = |text: &str| Some(text.to_owned());
        Table {
            columns: vec![column("n", true), column("text", false)],
            rows: vec![vec![text("1"), text("a\nbé")], vec![text("20"), None]],
        }
    }

    /// What psql 15 prints of the same.
    #[test]
    fn tables_look_as_psqls_do() {
        assert_eq!(
            table().print(Format::Aligned, Some("T"), None),
            "     T\n n  | text \n----+------\n  1 | a   +\n    | bé\n 20 | \n(2 rows)\n"
        );
        assert_eq!(
            table().print(Format::Expanded, None, None),
            "-[ RECORD 1 ]\nn    | 1\ntext | a +\n     | bé\n-[ RECORD 2 ]\nn    | 20\ntext | \n"
        );
        assert_eq!(table().print(Format::Unaligned, None, None), "1|a\nbé\n20|\n");
        let one = Table { rows: table().rows.split_off(1), ..table() };
        assert!(one.print(Format::Aligned, None, None).ends_with("(1 row)\n"));
        assert!(one.print(Format::Aligned, None, Some(&["Indexes:".into()])).ends_with("\nIndexes:\n"));
    }
}
