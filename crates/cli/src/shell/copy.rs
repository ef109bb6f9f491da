//! `\copy`: the server copies from this process or to it, which has the file.

use super::client::{Answer, Failure};
use super::{Next, Shell, place};
use crate::print;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Write};

impl Shell {
    /// `\copy`
    pub(super) fn copy(&mut self, argument: &str) -> Next {
        let Some(copy) = Copy::parse(argument) else {
            return self.refuse(
                "\\copy: expected \\copy TABLE [(COLUMNS)] | (QUERY) from | to 'FILE' | stdin | stdout [OPTIONS]",
            );
        };
        let way = if copy.from { "FROM STDIN" } else { "TO STDOUT" };
        let statement = format!("COPY {} {way} {}", copy.what, copy.options);
        let named = |error: io::Error| {
            place::tell(format_args!("{}: {error}", copy.file));
            Next::Failed
        };
        let (mut input, mut output): (Box<dyn Read>, Box<dyn Write>) =
            (Box::new(io::empty()), Box::new(io::stdout()));
        match (copy.from, copy.file.as_str()) {
            (_, "") => {
                if copy.from {
                    if io::stdin().is_terminal() {
                        eprintln!("Enter data to be copied; end with Ctrl-D.");
                    }
                    input = Box::new(io::stdin());
                }
            }
            (true, file) => match File::open(file) {
                Ok(file) => input = Box::new(BufReader::new(file)),
                Err(error) => return named(error),
            },
            (false, file) => match File::create(file) {
                Ok(file) => output = Box::new(io::BufWriter::new(file)),
                Err(error) => return named(error),
            },
        }
        let mut tags = Vec::new();
        let outcome = self.client.run(&statement, &mut *input, &mut *output, &mut |answer| match answer {
            Answer::Done(tag) => tags.push(tag),
            Answer::CopiedOut(tag) if !copy.file.is_empty() => tags.push(tag),
            _ => {}
        });
        if let Err(error) = output.flush() {
            return named(error);
        }
        tags.iter().for_each(|tag| println!("{tag}"));
        match outcome {
            // The statement is not what was typed: no place in it is shown.
            Err(Failure::Told(mut told)) => {
                told.position = None;
                place::tell(print::told(&told, None));
                Next::Failed
            }
            outcome => self.after(outcome, None),
        }
    }
}

/// What `\copy` says.
#[derive(Debug, PartialEq, Eq)]
struct Copy<'a> {
    what: &'a str,
    from: bool,
    /// Empty: standard input or output.
    file: String,
    options: &'a str,
}

impl<'a> Copy<'a> {
    fn parse(text: &'a str) -> Option<Copy<'a>> {
        // The first `from` or `to` outside parentheses and quotes.
        let (mut depth, mut quote, mut word) = (0usize, None, None);
        let mut found = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            let in_word = c.is_alphanumeric() || c == '_';
            match word {
                None if in_word => word = Some(at),
                Some(start) if !in_word => {
                    let said: &str = &text[start..at];
                    let is = |w: &str| said.eq_ignore_ascii_case(w);
                    if depth == 0 && quote.is_none() && (is("from") || is("to")) {
                        found = Some((start, at, is("from")));
                        break;
                    }
                    word = None;
                }
                _ => {}
            }
        }
        let (start, end, from) = found?;
        let what = text[..start].trim();
        let rest = text[end..].trim_start();
        let (file, options) = match rest.strip_prefix('\'') {
            Some(quoted) => {
                let close = quoted.replace("''", "\0\0").find('\'')?;
                (quoted[..close].replace("''", "'"), &quoted[close + 1..])
            }
            None => {
                let (file, options) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let standard =
                    ["stdin", "stdout", "pstdin", "pstdout"].iter().any(|s| file.eq_ignore_ascii_case(s));
                (if standard { String::new() } else { file.to_owned() }, options)
            }
        };
        let named = rest.starts_with('\'') || !rest.is_empty();
        (named && !what.is_empty()).then(|| Copy {
            what,
            from,
            file,
            options: options.trim().trim_end_matches(';'),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_read() {
        let copy =
            |what, from, file: &str, options| Some(Copy { what, from, file: file.to_owned(), options });
        assert_eq!(Copy::parse("t from 'a b.csv' csv header;"), copy("t", true, "a b.csv", "csv header"));
        assert_eq!(Copy::parse("t (a, \"to\") to stdout"), copy("t (a, \"to\")", false, "", ""));
        assert_eq!(
            Copy::parse("(select 'from' from x) TO 'it''s' (format csv)"),
            copy("(select 'from' from x)", false, "it's", "(format csv)")
        );
        assert_eq!(Copy::parse("t from /tmp/x"), copy("t", true, "/tmp/x", ""));
        for wrong in ["", "t", "t from", "from 'x'", "t from 'x"] {
            assert_eq!(Copy::parse(wrong), None, "{wrong}");
        }
    }
}
