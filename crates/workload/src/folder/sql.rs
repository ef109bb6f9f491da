//! `:name` in SQL, as psql and pgbench have it: a variable becomes its number, a parameter becomes `$n`.
//!
//! Not within quotes, dollar quotes and comments, nor in `::type` and `a[1:n]`.

use super::expression::Number;
use super::read::{Source, hinted};
use planaria::Result;

/// What a name becomes.
pub(crate) enum Meaning {
    Text(String),
    /// The parameter at a place.
    Parameter(usize),
}

/// The text with its names replaced, and the places of the parameters `$1`, `$2`, ...; `at` is where the text stands in
/// `source`, and `within` whether that is all of it (a file), so that positions count.
pub(crate) fn replaced(
    source: &Source,
    at: usize,
    within: bool,
    text: &str,
    variables: &[(String, Number)],
    parameters: &[String],
) -> Result<(String, Vec<usize>)> {
    let (mut out, mut order) = (String::with_capacity(text.len()), Vec::new());
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let end = skipped(text, i);
        if end > i {
            out.push_str(&text[i..end]);
            i = end;
            continue;
        }
        let name_from = i + 1;
        let starts = bytes.get(name_from).is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
        let before = out.bytes().last();
        let slice = before.is_some_and(|b| b == b':' || b == b']' || b == b')' || b.is_ascii_alphanumeric());
        if bytes[i] != b':' || !starts || slice {
            let c = text[i..].chars().next().unwrap_or(' ');
            out.push(c);
            i += c.len_utf8();
            continue;
        }
        let len = bytes[name_from..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        let name = &text[name_from..name_from + len];
        match meaning(name, variables, parameters) {
            Some(Meaning::Text(value)) => out.push_str(&value),
            Some(Meaning::Parameter(slot)) => {
                let place = order.iter().position(|s| *s == slot).unwrap_or_else(|| {
                    order.push(slot);
                    order.len() - 1
                });
                out.push_str(&format!("${}", place + 1));
            }
            None => {
                let known: Vec<&String> = parameters.iter().chain(variables.iter().map(|(n, _)| n)).collect();
                let error =
                    source.error(if within { i } else { at }, format!("nothing is named \":{name}\""));
                return Err(hinted(error, name, &known));
            }
        }
        i = name_from + len;
    }
    Ok((out, order))
}

fn meaning(name: &str, variables: &[(String, Number)], parameters: &[String]) -> Option<Meaning> {
    if let Some(slot) = parameters.iter().position(|p| p == name) {
        return Some(Meaning::Parameter(slot));
    }
    let (_, number) = variables.iter().find(|(n, _)| n == name)?;
    Some(Meaning::Text(match number {
        Number::Int(n) => n.to_string(),
        Number::Float(x) => x.to_string(),
    }))
}

/// Where quotes or a comment that begin here end; `from` where none does.
fn skipped(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let after = |open: usize, close: &str| {
        rest[open..].find(close).map_or(text.len(), |at| from + open + at + close.len())
    };
    match rest.as_bytes() {
        [b'\'', ..] => after(1, "'"),
        [b'"', ..] => after(1, "\""),
        [b'-', b'-', ..] => after(2, "\n"),
        [b'/', b'*', ..] => after(2, "*/"),
        [b'$', ..] => {
            let tag = rest[1..].bytes().take_while(|b| b.is_ascii_alphabetic() || *b == b'_').count();
            match rest.as_bytes().get(tag + 1) {
                Some(b'$') => after(tag + 2, &rest[..tag + 2]),
                _ => from,
            }
        }
        _ => from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_where_they_are_names() {
        let source = Source { path: "w.toml".into(), text: String::new() };
        let variables = [("n".to_owned(), Number::Int(7))];
        let parameters = ["a".to_owned(), "b".to_owned()];
        let replaced = |text: &str| replaced(&source, 0, false, text, &variables, &parameters);
        let (text, order) = replaced("f(:b, :a, :n, :b)::int -- :x").expect("known");
        assert_eq!((text.as_str(), order), ("f($1, $2, 7, $1)::int -- :x", vec![1, 0]));
        let (text, _) = replaced("':a' $$ :z $$ \":q\" /* :r */ x[1:n] a::n v := 1").expect("left alone");
        assert_eq!(text, "':a' $$ :z $$ \":q\" /* :r */ x[1:n] a::n v := 1");
        let error = replaced("SELECT :nn").unwrap_err();
        assert_eq!(error.message(), "w.toml:1: nothing is named \":nn\"");
    }
}
