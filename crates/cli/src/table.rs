//! Tables as psql prints them.

use planaria::Rows;
use std::fmt::Write;

/// How rows are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// A table with a head and a count, as psql's default.
    Aligned,
    /// `-A`: a line a row, columns joined by `|`.
    Unaligned,
    /// `--csv`: as COPY has it.
    Csv,
}

/// All that `\pset` says of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Style {
    pub format: Format,
    /// `\x`: a line a column.
    pub expanded: bool,
    /// Lines between columns and around the table: 0 none, 1 between, 2 around too.
    pub border: u8,
    /// What stands for NULL.
    pub null: String,
    /// Without head and count.
    pub tuples_only: bool,
    /// With the count.
    pub footer: bool,
    /// What joins columns that are not aligned.
    pub separator: String,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            format: Format::Aligned,
            expanded: false,
            border: 1,
            null: String::new(),
            tuples_only: false,
            footer: true,
            separator: "|".to_owned(),
        }
    }
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
    /// All of it. A title stands above a table, footers below it; without footers it is the count of rows.
    pub fn print(&self, style: &Style, title: Option<&str>, footers: Option<&[String]>) -> String {
        Printed { table: self, style, out: String::new() }.all(title, footers)
    }
}

/// A table on its way.
struct Printed<'a> {
    table: &'a Table,
    style: &'a Style,
    out: String,
}

impl Printed<'_> {
    fn all(mut self, title: Option<&str>, footers: Option<&[String]>) -> String {
        let title = title.filter(|_| !self.style.tuples_only);
        let footers = match footers {
            _ if self.style.tuples_only || !self.style.footer => Vec::new(),
            Some(footers) => footers.to_vec(),
            None => {
                let n = self.table.rows.len();
                vec![format!("({n} row{})", if n == 1 { "" } else { "s" })]
            }
        };
        match (self.style.format, self.style.expanded) {
            (Format::Csv, expanded) => self.csv(expanded),
            (Format::Unaligned, expanded) => self.unaligned(expanded, title, &footers),
            (Format::Aligned, false) => {
                self.aligned(title);
                self.lines(&footers);
                self.out.push('\n');
            }
            (Format::Aligned, true) => self.expanded(title, &footers),
        }
        self.out
    }

    fn cell(&self, row: usize, column: usize) -> &str {
        self.table.rows[row][column].as_deref().unwrap_or(&self.style.null)
    }

    fn lines(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| {
            let _ = writeln!(self.out, "{line}");
        });
    }

    fn csv(&mut self, expanded: bool) {
        let quoted = |text: &str| match text.contains(['"', ',', '\n', '\r']) || text == "\\." {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        let names: Vec<String> = self.table.columns.iter().map(|c| quoted(&c.name)).collect();
        if !self.style.tuples_only && !expanded {
            let _ = writeln!(self.out, "{}", names.join(","));
        }
        for row in 0..self.table.rows.len() {
            let cells: Vec<String> = (0..names.len()).map(|c| quoted(self.cell(row, c))).collect();
            if expanded {
                names.iter().zip(&cells).for_each(|(name, cell)| {
                    let _ = writeln!(self.out, "{name},{cell}");
                });
            } else {
                let _ = writeln!(self.out, "{}", cells.join(","));
            }
        }
    }

    fn unaligned(&mut self, expanded: bool, title: Option<&str>, footers: &[String]) {
        let names: Vec<String> = self.table.columns.iter().map(|c| c.name.clone()).collect();
        let join = &self.style.separator;
        if let Some(title) = title {
            let _ = writeln!(self.out, "{title}");
        }
        if !expanded && !self.style.tuples_only {
            let _ = writeln!(self.out, "{}", names.join(join));
        }
        for row in 0..self.table.rows.len() {
            if expanded {
                if row > 0 {
                    self.out.push('\n');
                }
                for (c, name) in names.iter().enumerate() {
                    let line = format!("{name}{join}{}\n", self.cell(row, c));
                    self.out += &line;
                }
            } else {
                let cells: Vec<&str> = (0..names.len()).map(|c| self.cell(row, c)).collect();
                let line = cells.join(join) + "\n";
                self.out += &line;
            }
        }
        if !expanded {
            self.lines(footers);
        }
    }

    /// The line of a border between rows.
    fn rule(&mut self, widths: &[usize]) {
        let border = self.style.border;
        if border == 2 {
            self.out.push('+');
        }
        for (c, w) in widths.iter().enumerate() {
            if c > 0 {
                self.out.push(if border == 0 { ' ' } else { '+' });
            }
            self.out.extend(std::iter::repeat_n('-', if border == 0 { *w } else { w + 2 }));
        }
        self.out.push_str(if border == 2 { "+\n" } else { "\n" });
    }

    fn aligned(&mut self, title: Option<&str>) {
        let columns = &self.table.columns;
        let border = self.style.border;
        let widths: Vec<usize> = (0..columns.len())
            .map(|c| {
                (0..self.table.rows.len())
                    .map(|r| width(self.cell(r, c)))
                    .fold(width(&columns[c].name), usize::max)
            })
            .collect();
        let apart = if border == 0 { 1 } else { 3 };
        let total = widths.iter().map(|w| w + apart).sum::<usize>().saturating_sub(1)
            + if border == 2 { 2 } else { 0 };
        if let Some(title) = title {
            pad(&mut self.out, total.saturating_sub(width(title)) / 2);
            self.out += title;
            self.out.push('\n');
        }
        if !self.style.tuples_only {
            if border == 2 {
                self.rule(&widths);
            }
            for (c, column) in columns.iter().enumerate() {
                let gap = widths[c] - width(&column.name);
                self.out.push_str(match (border, c) {
                    (0, _) => "",
                    (2, 0) => "| ",
                    (_, 0) => " ",
                    _ => "| ",
                });
                pad(&mut self.out, gap / 2);
                self.out += &column.name;
                pad(&mut self.out, gap - gap / 2 + 1);
            }
            if border == 2 {
                self.out.push('|');
            }
            self.out.push('\n');
            self.rule(&widths);
        }
        for r in 0..self.table.rows.len() {
            self.aligned_row(r, &widths);
        }
        if border == 2 {
            self.rule(&widths);
        }
    }

    /// A row: as many lines as its highest cell has; a `+` says that a cell goes on in the next.
    fn aligned_row(&mut self, row: usize, widths: &[usize]) {
        let border = self.style.border;
        let cells: Vec<Vec<String>> =
            (0..widths.len()).map(|c| self.cell(row, c).split('\n').map(str::to_owned).collect()).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let out = &mut self.out;
        for line in 0..height {
            for (c, cell) in cells.iter().enumerate() {
                let text = cell.get(line).map_or("", String::as_str);
                let (gap, more) = (widths[c] - console_width(text), line + 1 < cell.len());
                // Behind the last column nothing stands that nobody sees.
                let last = c + 1 == cells.len() && border < 2;
                out.push_str(match (border, c) {
                    (0, _) => "",
                    (2, 0) => "| ",
                    (_, 0) => " ",
                    _ => "| ",
                });
                if self.table.columns[c].right {
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
            out.push_str(if border == 2 { "|\n" } else { "\n" });
        }
    }

    fn expanded(&mut self, title: Option<&str>, footers: &[String]) {
        let border = self.style.border;
        let columns = &self.table.columns;
        if self.table.rows.is_empty() {
            if !self.style.tuples_only {
                if let Some(title) = title {
                    let _ = writeln!(self.out, "{title}");
                }
                self.lines(footers);
            }
            self.out.push('\n');
            return;
        }
        if let Some(title) = title {
            let _ = writeln!(self.out, "{title}");
        }
        let names = columns.iter().map(|c| width(&c.name)).max().unwrap_or(0);
        let cells = (0..self.table.rows.len()).flat_map(|r| (0..columns.len()).map(move |c| (r, c)));
        let values = cells.map(|(r, c)| width(self.cell(r, c))).max().unwrap_or(0);
        let many = columns.iter().any(|c| c.name.contains('\n'));
        let names = names + usize::from(many && border == 0);
        for row in 0..self.table.rows.len() {
            if !self.style.tuples_only {
                self.record(Some(row + 1), names, values);
            } else if border == 2 || row > 0 {
                self.record(None, names, values);
            }
            for (c, column) in columns.iter().enumerate() {
                let lines: Vec<String> = self.cell(row, c).split('\n').map(str::to_owned).collect();
                for (i, line) in lines.iter().enumerate() {
                    let (name, more) = (if i == 0 { column.name.as_str() } else { "" }, i + 1 < lines.len());
                    let out = &mut self.out;
                    out.push_str(if border == 2 { "| " } else { "" });
                    *out += name;
                    pad(out, names - width(name));
                    out.push_str(if border == 0 { " " } else { " | " });
                    *out += line;
                    if more || border == 2 {
                        pad(out, values - console_width(line));
                    }
                    if more {
                        out.push('+');
                    }
                    if border == 2 {
                        out.push_str(if more { "|" } else { " |" });
                    }
                    out.push('\n');
                }
            }
        }
        if border == 2 {
            self.record(None, names, values);
        }
        self.out.push('\n');
    }

    /// The line above a record, or below the last.
    fn record(&mut self, number: Option<usize>, names: usize, values: usize) {
        let border = self.style.border;
        let label = match (number, border) {
            (None, _) => String::new(),
            (Some(n), 0) => format!("* Record {n}"),
            (Some(n), _) => format!("[ RECORD {n} ]"),
        };
        let (start, cross, end) = match border {
            0 => ("", usize::MAX, names + values),
            1 => ("-", names + 1, names + 3 + values),
            _ => ("+-", names + 3, names + 6 + values),
        };
        let mut line = format!("{start}{label}");
        let rule = if border == 0 { ' ' } else { '-' };
        line.extend((line.len()..end).map(|at| if at == cross { '+' } else { rule }));
        if border == 2 {
            line.push('+');
        }
        let _ = writeln!(self.out, "{line}");
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
        let style = |format, expanded, border| Style { format, expanded, border, ..Style::default() };
        let normal = Style::default();
        assert_eq!(
            table().print(&normal, Some("T"), None),
            "     T\n n  | text \n----+------\n  1 | a   +\n    | bé\n 20 | \n(2 rows)\n\n"
        );
        assert_eq!(
            table().print(&style(Format::Aligned, true, 1), None, None),
            "-[ RECORD 1 ]\nn    | 1\ntext | a +\n     | bé\n-[ RECORD 2 ]\nn    | 20\ntext | \n\n"
        );
        assert_eq!(
            table().print(&style(Format::Unaligned, false, 1), None, None),
            "n|text\n1|a\nbé\n20|\n(2 rows)\n"
        );
        assert_eq!(table().print(&style(Format::Csv, false, 1), None, None), "n,text\n1,\"a\nbé\"\n20,\n");
        assert_eq!(
            table().print(&style(Format::Aligned, false, 2), None, None),
            "+----+------+\n| n  | text |\n+----+------+\n|  1 | a   +|\n|    | bé   |\n| 20 |      |\n+----+------+\n(2 rows)\n\n"
        );
        let one = Table { rows: table().rows.split_off(1), ..table() };
        assert!(one.print(&normal, None, None).ends_with("(1 row)\n\n"));
        assert!(one.print(&normal, None, Some(&["Indexes:".into()])).ends_with("\nIndexes:\n\n"));
        let rows_only = Style { tuples_only: true, format: Format::Unaligned, null: "-".into(), ..normal };
        assert_eq!(table().print(&rows_only, None, None), "1|a\nbé\n20|-\n");
    }
}
