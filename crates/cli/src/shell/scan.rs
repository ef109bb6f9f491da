//! Lines as psql reads them: SQL up to a backslash that stands in no quotes and no comment, with variables put in place; then a
//! command and its arguments.

use super::place;
use super::variables::Variables;

/// Where a statement stands at the end of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    /// In `'`; whether a backslash takes the next character with it.
    Single(bool),
    Double,
    /// In `$tag$`.
    Dollar(String),
    /// In so many `/*`.
    Comment(usize),
}

/// Reads the lines of statements, one after the other.
#[derive(Debug, Default)]
pub struct Scanner {
    state: State,
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Scanner {
    /// Begins with a new statement.
    pub fn reset(&mut self) {
        self.state = State::Plain;
    }

    /// What it waits for, as psql's prompt says it: the end of a quotation or of a comment, or just more.
    pub fn waits(&self) -> char {
        match self.state {
            State::Plain => '-',
            State::Single(_) => '\'',
            State::Double => '"',
            State::Dollar(_) => '$',
            State::Comment(_) => '*',
        }
    }

    /// The SQL at the beginning of a line, and what stands behind it: a backslash and a command.
    pub fn sql<'l>(&mut self, line: &'l str, variables: &Variables) -> (String, Option<&'l str>) {
        let (mut out, mut at) = (String::new(), 0);
        let mut before = ' ';
        while let Some(c) = line[at..].chars().next() {
            let rest = &line[at..];
            let mut taken = c.len_utf8();
            match &mut self.state {
                State::Plain => match c {
                    '\'' => self.state = State::Single(matches!(before, 'e' | 'E') && is_prefix(&line[..at])),
                    '"' => self.state = State::Double,
                    '-' if rest.starts_with("--") => {
                        out.push_str(rest);
                        return (out, None);
                    }
                    '/' if rest.starts_with("/*") => {
                        self.state = State::Comment(1);
                        taken = 2;
                    }
                    '$' if !is_name(before) => {
                        if let Some(end) = rest[1..].find('$').map(|end| end + 2)
                            && rest[1..end - 1].chars().all(is_name)
                            && !rest[1..].starts_with(|c: char| c.is_ascii_digit())
                        {
                            self.state = State::Dollar(rest[..end].to_owned());
                            taken = end;
                        }
                    }
                    '\\' => return (out, Some(rest)),
                    ':' if rest.starts_with("::") || rest.starts_with(":=") => taken = 2,
                    ':' => {
                        if let Some((value, length)) = variables.reference(rest) {
                            out += &value;
                            at += length;
                            before = ' ';
                            continue;
                        }
                    }
                    _ => {}
                },
                State::Single(escapes) => match c {
                    '\'' => self.state = State::Plain,
                    '\\' if *escapes => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
                    _ => {}
                },
                State::Double => {
                    if c == '"' {
                        self.state = State::Plain;
                    }
                }
                State::Dollar(tag) => {
                    if rest.starts_with(tag.as_str()) {
                        taken = tag.len();
                        self.state = State::Plain;
                    }
                }
                State::Comment(depth) => {
                    if rest.starts_with("*/") {
                        taken = 2;
                        *depth -= 1;
                        if *depth == 0 {
                            self.state = State::Plain;
                        }
                    } else if rest.starts_with("/*") {
                        taken = 2;
                        *depth += 1;
                    }
                }
            }
            out.push_str(&rest[..taken]);
            before = c;
            at += taken;
        }
        (out, None)
    }
}

/// Whether a text ends with a lone `E`.
fn is_prefix(text: &str) -> bool {
    let mut from_end = text.chars().rev();
    from_end.next();
    from_end.next().is_none_or(|c| !is_name(c))
}

/// A command behind its backslash, and what stands behind its name.
pub fn command(text: &str) -> (&str, &str) {
    let text = text.strip_prefix('\\').unwrap_or(text);
    let first = text.chars().next().map_or(0, char::len_utf8);
    let behind = text.get(first..).unwrap_or("");
    let end = behind.find(|c: char| c.is_whitespace() || c == '\\').map_or(text.len(), |end| first + end);
    (&text[..end], &text[end..])
}

/// The next argument of a command, and what stands behind it; none at the end of the line and at another backslash. Of several
/// pieces without room between them each is what it is: `'quoted'`, `"quoted"`, `:variable`, `` `run by the shell` ``.
pub fn argument<'l>(text: &'l str, variables: &Variables) -> (Option<String>, &'l str) {
    let mut rest = text.trim_start();
    let (mut found, mut any) = (String::new(), false);
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        if let Some((value, length)) = variables.reference(rest) {
            found += &value;
            (any, rest) = (true, &rest[length..]);
            continue;
        }
        match c {
            c if c.is_whitespace() || c == '\\' => break,
            '\'' => (any, rest) = (true, single(behind, &mut found)),
            '`' => {
                let end = behind.find('`').unwrap_or(behind.len());
                found += &run_by_shell(&behind[..end]);
                (any, rest) = (true, behind.get(end + 1..).unwrap_or(""));
            }
            '"' => {
                let end = behind.find('"').map_or(rest.len(), |end| end + 2);
                found += &rest[..end];
                (any, rest) = (true, &rest[end..]);
            }
            c => {
                found.push(c);
                (any, rest) = (true, behind);
            }
        }
    }
    (any.then_some(found), rest)
}

/// What stands in `'`, with the escapes that psql knows; and what stands behind it.
fn single<'l>(text: &'l str, out: &mut String) -> &'l str {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.peek().is_some_and(|(_, c)| *c == '\'') => {
                chars.next();
                out.push('\'');
            }
            '\'' => return &text[at + 1..],
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    place::tell("unterminated quoted string");
    ""
}

/// What a command of the system's shell prints, without the last end of a line.
fn run_by_shell(command: &str) -> String {
    match std::process::Command::new("sh").args(["-c", command]).output() {
        Ok(done) => {
            let text = String::from_utf8_lossy(&done.stdout).into_owned();
            text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
        }
        Err(error) => {
            place::tell(format_args!("{command}: {error}"));
            String::new()
        }
    }
}

/// All arguments, and what stands behind them: another command, or behind `\\` SQL.
pub fn arguments<'l>(text: &'l str, variables: &Variables) -> (Vec<String>, &'l str) {
    let (mut all, mut rest) = (Vec::new(), text);
    loop {
        let (found, behind) = argument(rest, variables);
        match found {
            Some(found) => all.push(found),
            None => return (all, behind.strip_prefix("\\\\").unwrap_or(behind)),
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> Variables {
        let mut variables = Variables::default();
        variables.set("x", "it's").expect("a name");
        variables.set("n", "7").expect("a name");
        variables
    }

    fn sql(lines: &[&str]) -> Vec<(String, Option<String>)> {
        let mut scanner = Scanner::default();
        lines
            .iter()
            .map(|line| scanner.sql(line, &variables()))
            .map(|(s, r)| (s, r.map(str::to_owned)))
            .collect()
    }

    #[test]
    fn variables_are_put_in_place_outside_quotes() {
        let of = |line| sql(&[line]).remove(0);
        assert_eq!(
            of("SELECT :n, :'x', :\"x\", :none, 1::int").0,
            "SELECT 7, 'it''s', \"it's\", :none, 1::int"
        );
        assert_eq!(of("SELECT ':n', \":n\", $$:n$$, $a$ :n $$ $a$, a[1:n] -- :n").0.matches(":n").count(), 5);
        assert_eq!(
            of("SELECT 1 /* :n \\g */ \\g x"),
            ("SELECT 1 /* :n \\g */ ".into(), Some("\\g x".into()))
        );
        assert_eq!(of("SELECT 'a\\' \\gx").1.as_deref(), Some("\\gx"));
        assert_eq!(of("SELECT E'a\\' \\gx'").1, None);
        assert_eq!(of("x := :n; SELECT $1").0, "x := 7; SELECT $1");
    }

    #[test]
    fn statements_go_on_in_the_next_line() {
        let lines = sql(&["SELECT 'a", ":n \\q' /* ", " \\q */ :n", "DO $f$", "\\q $f", "$f$ \\g"]);
        assert!(lines[..5].iter().all(|(_, command)| command.is_none()), "{lines:?}");
        assert_eq!((lines[1].0.as_str(), lines[2].0.as_str()), (":n \\q' /* ", " \\q */ 7"));
        assert_eq!(lines[5].1.as_deref(), Some("\\g"));
    }

    #[test]
    fn commands_have_arguments() {
        let of = |text| {
            let (name, rest) = command(text);
            let (all, behind) = arguments(rest, &variables());
            (name.to_owned(), all, behind.to_owned())
        };
        let texts = |all: &[&str]| all.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            of("\\set a 'b\\n''c'd :x"),
            ("set".into(), texts(&["a", "b\n'cd", "it's"]), String::new())
        );
        assert_eq!(of("\\x\\d \"A b\""), ("x".into(), vec![], "\\d \"A b\"".into()));
        assert_eq!(of("\\echo `echo hi` \\\\ SELECT 1"), ("echo".into(), texts(&["hi"]), " SELECT 1".into()));
        assert_eq!(of("\\?").0, "?");
    }
}
