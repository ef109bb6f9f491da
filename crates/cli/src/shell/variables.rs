//! Variables of the shell: `\set`, `:x`, and those that the shell sets itself.

use std::collections::BTreeMap;

/// See the module's head.
#[derive(Clone, Debug, Default)]
pub struct Variables(BTreeMap<String, String>);

/// Those that say yes or no.
const BOOLEANS: [&str; 2] = ["ON_ERROR_STOP", "QUIET"];

/// Whether a text says yes, by one of the words that psql knows or their beginning.
pub fn boolean(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if text == "1" || begins("true", 1) || begins("yes", 1) || begins("on", 2) {
        return Some(true);
    }
    (text == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2)).then_some(false)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Variables {
    /// What a variable has.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether one says yes.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| boolean(value).unwrap_or(false))
    }

    /// Sets one; what psql says where that cannot be.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!("invalid variable name: \"{name}\""));
        }
        if BOOLEANS.contains(&name) && boolean(value).is_none() {
            return Err(format!("unrecognized value \"{value}\" for \"{name}\": Boolean expected"));
        }
        self.0.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// Forgets one.
    pub fn unset(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// All, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What `:x`, `:'x'`, `:"x"` or `:{?x}` at the beginning of a text is, and how long it is there; none where it is no variable.
    pub fn reference(&self, text: &str) -> Option<(String, usize)> {
        let behind = text.strip_prefix(':')?;
        let name_of = |rest: &str| rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())].to_owned();
        if let Some(rest) = behind.strip_prefix("{?") {
            let name = name_of(rest);
            let there = if self.get(&name).is_some() { "TRUE" } else { "FALSE" };
            return (!name.is_empty() && rest[name.len()..].starts_with('}'))
                .then(|| (there.to_owned(), name.len() + 4));
        }
        let quote = behind.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let name = name_of(&behind[quote.map_or(0, |_| 1)..]);
        if name.is_empty() {
            return None;
        }
        let value = self.get(&name)?;
        match quote {
            None => Some((value.to_owned(), name.len() + 1)),
            Some(quote) => {
                let closed = behind[1 + name.len()..].starts_with(quote);
                closed.then(|| (quoted(value, quote), name.len() + 3))
            }
        }
    }
}

/// A text as a literal of SQL, or as a name.
pub fn quoted(text: &str, quote: char) -> String {
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    match quote {
        '\'' if text.contains('\\') => format!(" E'{}'", doubled.replace('\\', "\\\\")),
        _ => format!("{quote}{doubled}{quote}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read() {
        let mut variables = Variables::default();
        assert!(variables.set("a b", "").is_err() && variables.set("ON_ERROR_STOP", "maybe").is_err());
        variables.set("a", "b\\").expect("a name");
        let of = |text| variables.reference(text);
        assert_eq!(of(":a c"), Some(("b\\".into(), 2)));
        assert_eq!(of(":'a'"), Some((" E'b\\\\'".into(), 4)));
        assert_eq!(of(":{?a}"), Some(("TRUE".into(), 5)));
        assert_eq!(of(":{?b}"), Some(("FALSE".into(), 5)));
        assert_eq!((of(":b"), of(":'a"), of(": a"), of(":'a b'")), (None, None, None, None));
    }

    #[test]
    fn words_say_yes_or_no() {
        for (text, says) in [
            ("on", Some(true)),
            ("t", Some(true)),
            ("1", Some(true)),
            ("OFF", Some(false)),
            ("o", None),
            ("", None),
        ] {
            assert_eq!(boolean(text), says, "{text}");
        }
    }
}
