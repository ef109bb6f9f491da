//! Completion: what a word at the prompt may be.

use super::client::Client;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

/// Commands that begin with a backslash.
pub const COMMANDS: &[&str] = &[
    "\\!",
    "\\?",
    "\\a",
    "\\c",
    "\\cd",
    "\\conninfo",
    "\\copy",
    "\\d",
    "\\df",
    "\\di",
    "\\dn",
    "\\ds",
    "\\dt",
    "\\du",
    "\\dv",
    "\\e",
    "\\echo",
    "\\elif",
    "\\else",
    "\\endif",
    "\\f",
    "\\g",
    "\\gexec",
    "\\gset",
    "\\gx",
    "\\h",
    "\\i",
    "\\if",
    "\\ir",
    "\\l",
    "\\o",
    "\\p",
    "\\password",
    "\\prompt",
    "\\pset",
    "\\q",
    "\\qecho",
    "\\r",
    "\\set",
    "\\t",
    "\\timing",
    "\\unset",
    "\\w",
    "\\warn",
    "\\watch",
    "\\x",
];

/// What can be completed.
#[derive(Default)]
pub struct Names {
    /// In lower case, sorted.
    keywords: Vec<String>,
    /// Relations, columns, routines; sorted.
    names: Vec<String>,
}

impl Names {
    /// Those that there are; what cannot be had is not completed.
    pub fn of(client: &mut Client) -> Names {
        let mut column = |query: &str| {
            let table = client.query(query).unwrap_or_default();
            let mut all: Vec<String> =
                table.rows.into_iter().filter_map(|row| row.into_iter().next()?).collect();
            all.sort();
            all.dedup();
            all
        };
        let keywords = column("SELECT word FROM pg_get_keywords()");
        let names = column(
            "SELECT relname FROM pg_catalog.pg_class
             UNION SELECT a.attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
                 JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = 'public' AND a.attnum > 0 AND NOT a.attisdropped
             UNION SELECT proname FROM pg_catalog.pg_proc UNION SELECT rolname FROM pg_catalog.pg_roles",
        );
        Names { keywords, names }
    }

    /// What the word may be that ends a text, and where it begins.
    fn candidates(&self, text: &str) -> (usize, Vec<String>) {
        if text.starts_with('\\') && !text.contains(char::is_whitespace) {
            let found = COMMANDS.iter().filter(|c| c.starts_with(text)).map(|c| (*c).to_owned());
            return (0, found.collect());
        }
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = text
            .rfind(|c| !is_word(c))
            .map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
        let word = &text[start..];
        if word.is_empty() {
            return (start, Vec::new());
        }
        let lower = word.to_lowercase();
        let names = self.names.iter().filter(|n| n.starts_with(&lower)).cloned();
        // Behind a dot, and behind a command, there are only names.
        let only_names = text[..start].ends_with('.') || text.starts_with('\\');
        let capitals = word.chars().next().is_some_and(char::is_uppercase);
        let keywords = self.keywords.iter().filter(|k| !only_names && k.starts_with(&lower));
        let keywords = keywords.map(|k| if capitals { k.to_uppercase() } else { k.clone() });
        let mut found: Vec<String> =
            if capitals { keywords.chain(names).collect() } else { names.chain(keywords).collect() };
        let mut seen = std::collections::HashSet::new();
        found.retain(|word| seen.insert(word.clone()));
        (start, found)
    }
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(&line[..pos]))
    }
}

impl Hinter for Names {
    type Hint = String;
}
impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed() {
        let texts = |all: &[&str]| all.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let names = Names { keywords: texts(&["select", "set"]), names: texts(&["sent", "seller_id"]) };
        assert_eq!(names.candidates("SEL"), (0, texts(&["SELECT", "seller_id"])));
        assert_eq!(names.candidates("ü sel"), (3, texts(&["seller_id", "select"])));
        assert_eq!(names.candidates("SELECT t.se"), (9, texts(&["sent", "seller_id"])));
        assert_eq!(names.candidates("\\d se"), (3, texts(&["sent", "seller_id"])));
        assert_eq!(names.candidates("\\ti"), (0, texts(&["\\timing"])));
        assert_eq!(names.candidates("SELECT "), (7, Vec::new()));
    }
}
