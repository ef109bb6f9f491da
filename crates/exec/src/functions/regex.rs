//! `~` and `~*`: PostgreSQL's advanced regular expressions, as far as whether they match.
//!
//! A pattern is translated (`base::pattern`) to the syntax of the `regex` crate, whose engines are linear in the text
//! (PostgreSQL's may be exponential). Where a match lies is not offered: PostgreSQL prefers the
//! longest, `regex` the first alternative. Back references and lookaround are 0A000.

use planaria_base::{Result, pattern};
use regex::{Regex, RegexBuilder};
use std::cell::RefCell;

/// Compiled patterns a thread keeps, the latest used first.
const CACHED_MAX: usize = 32;

struct Cached {
    pattern: String,
    ignore_case: bool,
    regex: Regex,
}

thread_local! {
    static CACHE: RefCell<Vec<Cached>> = const { RefCell::new(Vec::new()) };
}

/// Whether the pattern matches somewhere in the text.
pub fn matches(text: &str, pattern: &str, ignore_case: bool) -> Result<bool> {
    CACHE.with_borrow_mut(|cache| {
        let known = cache.iter().position(|c| c.ignore_case == ignore_case && c.pattern == pattern);
        match known {
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let regex = compile(pattern, ignore_case)?;
                cache.truncate(CACHED_MAX - 1);
                cache.insert(0, Cached { pattern: pattern.to_owned(), ignore_case, regex });
            }
        }
        Ok(cache[0].regex.is_match(text))
    })
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex> {
    let translated = pattern::translate(pattern)?;
    // A newline is a character like others there.
    RegexBuilder::new(&translated).case_insensitive(ignore_case).dot_matches_new_line(true).build().map_err(
        |e| pattern::invalid(e.to_string().lines().last().unwrap_or("").trim_start_matches("error: ")),
    )
}
