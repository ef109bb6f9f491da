//! Enumerated types: their labels, and the numbers that order them.
//!
//! A value is kept as its label's *rank*, an `int4`, so keys, comparisons, logs and replay know of integers alone. Ranks
//! leave [`GAP`] between them: a label that comes later finds a place between two others, and what is stored stays as
//! it is. A type carries its labels, so that whoever has the type can read and show its values.

use crate::error::{Error, Result, SqlState};
use crate::limits::NAME_BYTES_MAX;
use crate::oid::Oid;
use crate::text_io::quote_ident;
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What lies between the ranks of the labels that a type is made with.
const GAP: i32 = 1 << 16;

/// An enumerated type, as values have it. Two are the same type if they have the same OID, whatever labels were added
/// between them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Definition", into = "Definition")]
pub struct Enum(Arc<Definition>);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Definition {
    oid: Oid,
    array: Oid,
    /// The name of its schema, unless that is `public`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    name: String,
    /// In the order of their ranks.
    labels: Vec<Label>,
}

/// A label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// What values are kept as.
    pub rank: i32,
    /// How they are written.
    pub text: String,
}

/// Where a new label goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<'a> {
    /// Behind all others.
    Last,
    /// Before one.
    Before(&'a str),
    /// Behind one.
    After(&'a str),
}

impl From<Definition> for Enum {
    fn from(definition: Definition) -> Enum {
        Enum(Arc::new(definition))
    }
}
impl From<Enum> for Definition {
    fn from(of: Enum) -> Definition {
        Arc::unwrap_or_clone(of.0)
    }
}

impl PartialEq for Enum {
    fn eq(&self, other: &Enum) -> bool {
        self.0.oid == other.0.oid
    }
}
impl Eq for Enum {}
impl Hash for Enum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.oid.hash(state);
    }
}

impl Enum {
    /// A type with the labels in that order. Errors: 42602 of a label that is too long, 23505 of one that is there twice (as
    /// PostgreSQL's index of labels says it), 54000 of too many.
    pub fn new(oid: Oid, array: Oid, name: &str, labels: &[String]) -> Result<Enum> {
        let mut all = Vec::with_capacity(labels.len());
        for (at, text) in labels.iter().enumerate() {
            check_label(text)?;
            if labels[..at].contains(text) {
                let message = "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"";
                let detail = format!("Key (enumtypid, enumlabel)=({oid}, {text}) already exists.");
                return Err(Error::new(SqlState::UNIQUE_VIOLATION, message).with_detail(detail));
            }
            let rank = i32::try_from(at + 1).ok().and_then(|n| n.checked_mul(GAP)).ok_or_else(no_room)?;
            all.push(Label { rank, text: text.clone() });
        }
        Ok(Enum(Arc::new(Definition { oid, array, schema: None, name: name.to_owned(), labels: all })))
    }

    /// A type with ranks that are known. They must rise.
    pub fn from_parts(oid: Oid, array: Oid, name: &str, labels: Vec<Label>) -> Enum {
        Enum(Arc::new(Definition { oid, array, schema: None, name: name.to_owned(), labels }))
    }

    /// The type's OID.
    pub fn oid(&self) -> Oid {
        self.0.oid
    }
    /// The OID of its arrays.
    pub fn array_oid(&self) -> Oid {
        self.0.array
    }
    /// Its name, without quotes.
    pub fn name(&self) -> &str {
        &self.0.name
    }
    /// Its name as messages have it: quoted, and with its schema unless that is `public`.
    pub fn shown(&self) -> String {
        let name = quote_ident(self.name());
        match &self.0.schema {
            Some(schema) => format!("{}.{name}", quote_ident(schema)),
            None => name,
        }
    }
    /// All labels in their order.
    pub fn labels(&self) -> &[Label] {
        &self.0.labels
    }

    /// The label of a rank.
    pub fn label(&self, rank: i64) -> Option<&str> {
        let rank = i32::try_from(rank).ok()?;
        let at = self.0.labels.binary_search_by_key(&rank, |l| l.rank).ok()?;
        Some(&self.0.labels[at].text)
    }
    /// The rank of a label.
    pub fn rank(&self, text: &str) -> Option<i64> {
        self.0.labels.iter().find(|l| l.text == text).map(|l| l.rank.into())
    }
    /// Reads a value. 22P02 of what is no label.
    pub fn parse(&self, text: &str) -> Result<i64> {
        self.rank(text).ok_or_else(|| {
            let message = format!("invalid input value for enum {}: \"{text}\"", self.shown());
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        })
    }
    /// Appends a value's label.
    pub fn write(&self, out: &mut Vec<u8>, rank: i64) {
        out.extend_from_slice(self.label(rank).unwrap_or("").as_bytes());
    }

    /// The same type in a schema; `None`: in `public`.
    pub fn within(&self, schema: Option<&str>) -> Enum {
        Enum(Arc::new(Definition { schema: schema.map(str::to_owned), ..(*self.0).clone() }))
    }
    /// The same type under another name.
    pub fn renamed(&self, name: &str) -> Enum {
        Enum(Arc::new(Definition { name: name.to_owned(), ..(*self.0).clone() }))
    }

    /// The same with a label more. 42710 where it has it, 22023 where the neighbour is none, 54000 where no number is left
    /// between its neighbours.
    pub fn with_label(&self, text: &str, place: Place<'_>) -> Result<Enum> {
        check_label(text)?;
        let labels = &self.0.labels;
        if self.rank(text).is_some() {
            return Err(label_exists(text));
        }
        let find = |of: &str| {
            labels.iter().position(|l| l.text == of).ok_or_else(|| {
                Error::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("\"{of}\" is not an existing enum label"),
                )
            })
        };
        let at = match place {
            Place::Last => labels.len(),
            Place::Before(of) => find(of)?,
            Place::After(of) => find(of)? + 1,
        };
        let before = at.checked_sub(1).map(|i| labels[i].rank);
        let after = labels.get(at).map(|l| l.rank);
        let rank = match (before, after) {
            (None, None) => Some(GAP),
            (Some(before), None) => before.checked_add(GAP),
            (None, Some(after)) => after.checked_sub(GAP),
            (Some(before), Some(after)) => {
                let between = i32::midpoint(before, after);
                (between > before && between < after).then_some(between)
            }
        };
        let mut new = (*self.0).clone();
        new.labels.insert(at, Label { rank: rank.ok_or_else(no_room)?, text: text.to_owned() });
        Ok(Enum(Arc::new(new)))
    }

    /// The same with another text for a label. 22023 where it has no such label, 42710 where it has the new one.
    pub fn with_renamed_label(&self, from: &str, to: &str) -> Result<Enum> {
        check_label(to)?;
        let mut new = (*self.0).clone();
        let exists = self.rank(to).is_some();
        let Some(label) = new.labels.iter_mut().find(|l| l.text == from) else {
            let message = format!("\"{from}\" is not an existing enum label");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        };
        if exists {
            return Err(label_exists(to));
        }
        label.text = to.to_owned();
        Ok(Enum(Arc::new(new)))
    }
}

/// 42710
pub fn label_exists(text: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("enum label \"{text}\" already exists"))
}

fn no_room() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "there is no room for another label there")
        .with_detail(
            "Labels are kept as numbers that have their order, and 16 in a row can be put in at one place.",
        )
        .with_hint(
            "Make a new type with all labels, and ALTER the columns to it with USING column::text::type.",
        )
}

fn check_label(text: &str) -> Result<()> {
    if text.len() <= NAME_BYTES_MAX {
        return Ok(());
    }
    let message = format!("invalid enum label \"{text}\"");
    let detail = format!("Labels must be {NAME_BYTES_MAX} bytes or less.");
    Err(Error::new(SqlState::INVALID_NAME, message).with_detail(detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mood() -> Enum {
        let labels = ["sad", "ok", "happy"].map(str::to_owned);
        Enum::new(16_384, 16_385, "mood", &labels).expect("is right")
    }

    #[test]
    fn a_label_in_between_keeps_what_is_stored() {
        let before = mood();
        let mut now = before.clone();
        for (text, place) in
            [("fine", Place::After("ok")), ("awful", Place::Before("sad")), ("great", Place::Last)]
        {
            now = now.with_label(text, place).expect("has room");
        }
        let texts: Vec<&str> = now.labels().iter().map(|l| l.text.as_str()).collect();
        assert_eq!(texts, ["awful", "sad", "ok", "fine", "happy", "great"]);
        assert!(now.labels().is_sorted_by(|a, b| a.rank < b.rank));
        for label in before.labels() {
            assert_eq!(now.label(label.rank.into()), Some(label.text.as_str()));
        }
        assert_eq!(now, before, "one type");
    }

    #[test]
    fn a_place_that_is_full_says_so() {
        let mut of = mood();
        let mut n = 0;
        let full = loop {
            match of.with_label(&format!("l{n}"), Place::After("sad")) {
                Ok(next) => of = next,
                Err(error) => break error,
            }
            n += 1;
        };
        assert_eq!((n, full.sqlstate()), (16, SqlState::PROGRAM_LIMIT_EXCEEDED));
        assert!(of.with_label("z", Place::Last).is_ok());
    }
}
