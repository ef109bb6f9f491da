//! `workload.toml` as tables whose keys know where they stand, so that an error can say so.

use planaria::{Error, Result, SqlState};
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file of a workload.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn read(path: &Path) -> Result<Source> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::file("read file", path, e))?;
        Ok(Source { path: path.to_owned(), text })
    }

    /// What is wrong at a byte of the file.
    pub(crate) fn error(&self, at: usize, what: impl std::fmt::Display) -> Error {
        Error::new(SqlState::INVALID_PARAMETER_VALUE, self.place(at, what))
    }

    /// The same of what the database says.
    pub(crate) fn said(&self, at: usize, of: &str, error: &Error) -> Error {
        let f = error.fields();
        let mut said = Error::new(f.sqlstate, self.place(at, format_args!("{of}: {}", f.message)));
        if let Some(detail) = &f.detail {
            said = said.with_detail(detail.clone());
        }
        match &f.hint {
            Some(hint) => said.with_hint(hint.clone()),
            None => said,
        }
    }

    fn place(&self, at: usize, what: impl std::fmt::Display) -> String {
        let upto = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = upto.iter().filter(|b| **b == b'\n').count() + 1;
        format!("{}:{line}: {what}", self.path.display())
    }
}

/// A table of the file, all of whose keys are known.
pub(crate) struct Table<'a> {
    source: &'a Source,
    table: &'a DeTable<'a>,
    /// Where it begins, and what it is to people.
    pub(crate) at: usize,
    what: String,
}

/// A value of the file.
#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) source: &'a Source,
    pub(crate) value: &'a DeValue<'a>,
    pub(crate) at: usize,
}

impl<'a> Table<'a> {
    /// Of a file; the table has to outlive it.
    pub(crate) fn root(source: &'a Source, table: &'a Spanned<DeTable<'a>>) -> Table<'a> {
        Table { source, table: table.get_ref(), at: 0, what: "a workload".to_owned() }
    }

    /// Refuses keys that are none of these.
    pub(crate) fn only(self, known: &[&str]) -> Result<Table<'a>> {
        for (key, _) in self.entries() {
            if !known.contains(&key.0) {
                let what = format!("{} has no key \"{}\"", self.what, key.0);
                return Err(hinted(self.source.error(key.1, what), key.0, known));
            }
        }
        Ok(self)
    }

    /// Keys with where they stand, and values, as written.
    pub(crate) fn entries(&self) -> Vec<((&'a str, usize), Item<'a>)> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| {
                let item = Item { source: self.source, value: value.get_ref(), at: value.span().start };
                ((key.get_ref().as_ref(), key.span().start), item)
            })
            .collect();
        entries.sort_by_key(|((_, at), _)| *at);
        entries
    }

    pub(crate) fn get(&self, key: &str) -> Option<Item<'a>> {
        self.entries().into_iter().find(|((k, _), _)| *k == key).map(|(_, item)| item)
    }

    /// The table of a key, empty where there is none.
    pub(crate) fn tables(&self, key: &str) -> Result<Vec<((&'a str, usize), Item<'a>)>> {
        match self.get(key) {
            Some(item) => Ok(item.table(&format!("\"{key}\""))?.entries()),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn required(&self, key: &str) -> Result<Item<'a>> {
        let missing = || self.source.error(self.at, format!("{} needs the key \"{key}\"", self.what));
        self.get(key).ok_or_else(missing)
    }
}

impl<'a> Item<'a> {
    pub(crate) fn error(&self, what: impl std::fmt::Display) -> Error {
        self.source.error(self.at, what)
    }

    fn wrong(&self, wanted: &str) -> Error {
        let is = match self.value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.error(format!("{wanted} is wanted here, not {is}"))
    }

    pub(crate) fn str(&self) -> Result<&'a str> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("a text")),
        }
    }

    pub(crate) fn bool(&self) -> Result<bool> {
        match self.value {
            DeValue::Boolean(b) => Ok(*b),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// The text of a scalar: what stands in the file, without quotes.
    pub(crate) fn scalar(&self) -> Result<String> {
        match self.value {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(n) => Ok(n.as_str().replace('_', "")),
            DeValue::Float(x) => Ok(x.as_str().replace('_', "")),
            DeValue::Boolean(b) => Ok(b.to_string()),
            DeValue::Datetime(d) => Ok(d.to_string()),
            _ => Err(self.wrong("a value")),
        }
    }

    pub(crate) fn table(&self, what: &str) -> Result<Table<'a>> {
        match self.value {
            DeValue::Table(table) => {
                Ok(Table { source: self.source, table, at: self.at, what: what.to_owned() })
            }
            _ => Err(self.wrong(&format!("a table for {what}"))),
        }
    }

    pub(crate) fn list(&self) -> Result<Vec<Item<'a>>> {
        match self.value {
            DeValue::Array(items) => {
                let item = |v: &'a Spanned<DeValue<'a>>| Item {
                    source: self.source,
                    value: v.get_ref(),
                    at: v.span().start,
                };
                Ok(items.iter().map(item).collect())
            }
            _ => Err(self.wrong("a list")),
        }
    }

    /// One, or all of a list.
    pub(crate) fn one_or_more(&self) -> Result<Vec<Item<'a>>> {
        if matches!(self.value, DeValue::Array(_)) { self.list() } else { Ok(vec![*self]) }
    }
}

/// With what may have been meant.
pub(crate) fn hinted(error: Error, name: &str, known: &[impl AsRef<str>]) -> Error {
    let near = known.iter().map(|k| (distance(name, k.as_ref()), k.as_ref()));
    match near.min().filter(|(far, _)| *far <= (name.chars().count() / 3).max(2)) {
        Some((_, near)) => error.with_hint(format!("Did you mean \"{near}\"?")),
        None if known.is_empty() => error,
        None => {
            let all: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
            error.with_hint(format!("There are {}.", all.join(", ")))
        }
    }
}

/// Letters to put in, take out or change between two names.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_or_far() {
        assert_eq!(distance("weight", "wieght"), 2);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
        assert_eq!(distance("theta", "thet"), 1);
    }
}
