//! Where statements of a text end that comes line by line: at semicolons outside of quotes, comments, parentheses and bodies. What has
//! been looked at is not looked at again, so that a statement of many lines costs no more than its length.

/// What the text is in the middle of.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Inside {
    Nothing,
    /// `'..'`; with `E` before it, a backslash takes the next character with it.
    String {
        escapes: bool,
    },
    /// `".."`
    Name,
    /// `$tag$..$tag$`
    Dollar(Vec<u8>),
    /// `/* .. */`, as deep as that.
    Comment(usize),
}

/// See the module's head.
pub struct Scanner {
    /// How far it has come.
    at: usize,
    inside: Inside,
    parentheses: usize,
    /// `BEGIN ATOMIC .. END` of a routine, and each `CASE` in it.
    bodies: usize,
    words: usize,
    creates: bool,
    begins: bool,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl Scanner {
    /// At the beginning of a text.
    pub fn new() -> Scanner {
        Scanner {
            at: 0,
            inside: Inside::Nothing,
            parentheses: 0,
            bodies: 0,
            words: 0,
            creates: false,
            begins: false,
        }
    }

    /// The position behind the semicolon that ends the first statement of a text, which begins with what it was asked about before.
    /// The next statement is another scanner's.
    pub fn end(&mut self, text: &str) -> Option<usize> {
        let text = text.as_bytes();
        while let Some(rest) = text.get(self.at..).filter(|rest| !rest.is_empty()) {
            let step = match &mut self.inside {
                Inside::Nothing => match self.outside(text, rest) {
                    Some(step) => step,
                    None => return Some(self.at + 1),
                },
                Inside::String { escapes: true } if rest[0] == b'\\' => 2,
                Inside::String { .. } | Inside::Name => {
                    let quote = if self.inside == Inside::Name { b'"' } else { b'\'' };
                    if rest[0] == quote {
                        self.inside = Inside::Nothing;
                    }
                    1
                }
                Inside::Dollar(tag) => {
                    if rest.starts_with(tag) {
                        let step = tag.len();
                        self.inside = Inside::Nothing;
                        step
                    } else {
                        1
                    }
                }
                Inside::Comment(depth) => {
                    let (opens, closes) = (rest.starts_with(b"/*"), rest.starts_with(b"*/"));
                    *depth = *depth + usize::from(opens) - usize::from(closes);
                    if *depth == 0 {
                        self.inside = Inside::Nothing;
                    }
                    if opens || closes { 2 } else { 1 }
                }
            };
            self.at += step;
        }
        None
    }

    /// How far to go on; `None` at the semicolon.
    fn outside(&mut self, text: &[u8], rest: &[u8]) -> Option<usize> {
        Some(match rest[0] {
            b';' if self.parentheses == 0 && self.bodies == 0 => return None,
            b'\'' => {
                let is_e = self.at > 0 && matches!(text[self.at - 1], b'e' | b'E');
                let escapes = is_e && (self.at < 2 || !is_word(text[self.at - 2]));
                self.inside = Inside::String { escapes };
                1
            }
            b'"' => {
                self.inside = Inside::Name;
                1
            }
            b'(' => {
                self.parentheses += 1;
                1
            }
            b')' => {
                self.parentheses = self.parentheses.saturating_sub(1);
                1
            }
            b'-' if rest.starts_with(b"--") => rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with(b"/*") => {
                self.inside = Inside::Comment(1);
                2
            }
            b'$' => {
                let tag = rest[1..].iter().take_while(|b| is_word(**b)).count();
                let is_tag = rest.get(tag + 1) == Some(&b'$') && !rest[1].is_ascii_digit();
                if is_tag {
                    self.inside = Inside::Dollar(rest[..tag + 2].to_vec());
                    tag + 2
                } else {
                    1
                }
            }
            byte if is_word(byte) => {
                // `a$b` is a name.
                let length = rest.iter().take_while(|b| is_word(**b) || **b == b'$').count();
                self.word(&rest[..length]);
                length
            }
            _ => 1,
        })
    }

    /// Whether what follows is the body of a routine.
    fn word(&mut self, word: &[u8]) {
        self.words += 1;
        if self.words == 1 {
            self.creates = word.eq_ignore_ascii_case(b"create");
        }
        if !self.creates {
            return;
        }
        match word.to_ascii_lowercase().as_slice() {
            b"atomic" if self.begins => self.bodies = 1,
            b"case" if self.bodies > 0 => self.bodies += 1,
            b"end" => self.bodies = self.bodies.saturating_sub(1),
            _ => {}
        }
        self.begins = word.eq_ignore_ascii_case(b"begin");
    }
}

/// A text without the space and the comments that it begins with.
pub fn bare(text: &str) -> &str {
    let mut text = text.trim_start();
    loop {
        let rest = if text.starts_with("--") {
            text.find('\n').map_or("", |end| &text[end..])
        } else if text.starts_with("/*") {
            match comment(text) {
                Some(end) => &text[end..],
                None => return text,
            }
        } else {
            return text;
        };
        text = rest.trim_start();
    }
}

/// Where the comment ends that a text begins with; comments nest.
fn comment(text: &str) -> Option<usize> {
    let (bytes, mut at, mut depth) = (text.as_bytes(), 0, 0usize);
    while at < bytes.len() {
        let (opens, closes) = (bytes[at..].starts_with(b"/*"), bytes[at..].starts_with(b"*/"));
        depth = depth + usize::from(opens) - usize::from(closes);
        at += if opens || closes { 2 } else { 1 };
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements of a text; the last may have no semicolon.
    fn parts(mut text: &str) -> Vec<&str> {
        let mut parts = Vec::new();
        while !text.is_empty() {
            let (part, rest) = text.split_at(Scanner::new().end(text).unwrap_or(text.len()));
            parts.push(part.trim());
            text = rest;
        }
        parts.retain(|part| !part.is_empty());
        parts
    }

    #[test]
    fn statements_end_outside_of_quotes_comments_and_bodies() {
        assert_eq!(parts("SELECT ';'; SELECT \";\""), ["SELECT ';';", "SELECT \";\""]);
        assert_eq!(parts(r"SELECT E'\';'; SELECT 'it''s;'; x"), [r"SELECT E'\';';", "SELECT 'it''s;';", "x"]);
        assert_eq!(parts(r"SELECT '\'; y"), [r"SELECT '\';", "y"]);
        assert_eq!(parts("DO $$ a; $b$ ; $$; z"), ["DO $$ a; $b$ ; $$;", "z"]);
        assert_eq!(parts("SELECT $1; SELECT a$b; /* ; /* ; */ ; */ -- ;\nv;").len(), 3);
        assert_eq!(
            parts("CREATE RULE r AS ON INSERT TO t DO (a; b); c"),
            ["CREATE RULE r AS ON INSERT TO t DO (a; b);", "c"]
        );
        let body =
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 1; END;";
        assert_eq!(parts(&format!("{body} BEGIN; END;")), [body, "BEGIN;", "END;"]);
    }

    #[test]
    fn what_was_looked_at_is_not_looked_at_again() {
        let (mut scanner, mut text, mut ends) = (Scanner::new(), String::new(), Vec::new());
        for line in ["SELECT $a$ ;\n", "' ; $a$, '\n", ";' ;\n"] {
            text.push_str(line);
            ends.push(scanner.end(&text));
        }
        assert_eq!(ends, [None, None, Some(text.len() - 1)]);
    }

    #[test]
    fn comments_are_passed_over() {
        assert_eq!(bare("\n-- a\n/* b /* c */ */ SELECT 1"), "SELECT 1");
        assert_eq!(bare("-- a"), "");
        assert_eq!(bare("/* a"), "/* a");
    }
}
