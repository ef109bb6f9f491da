//! The reference model: tables as sorted maps, one transaction at a time.

use super::{By, Op, RowState, Transaction, Violation};
use std::collections::BTreeMap;

/// Tables with their rows by primary key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Model {
    rows: BTreeMap<(u32, i64), RowState>,
}

impl Model {
    /// All rows.
    pub fn rows(&self) -> &BTreeMap<(u32, i64), RowState> {
        &self.rows
    }

    /// A row.
    pub fn get(&self, table: u32, key: i64) -> Option<&RowState> {
        self.rows.get(&(table, key))
    }

    /// Puts a row in.
    pub fn put(&mut self, table: u32, key: i64, row: RowState) {
        self.rows.insert((table, key), row);
    }

    fn table(&self, table: u32) -> impl Iterator<Item = (i64, &RowState)> {
        self.rows.range((table, i64::MIN)..=(table, i64::MAX)).map(|((_, key), row)| (*key, row))
    }

    /// The value of a row in an index.
    fn value(by: By, key: i64, row: &RowState) -> Option<i64> {
        match by {
            By::Key => Some(key),
            By::Group => Some(row.group),
            By::Tag => row.tag,
        }
    }

    fn find(&self, table: u32, by: By, value: i64) -> Option<(i64, &RowState)> {
        match by {
            By::Key => self.get(table, value).map(|row| (value, row)),
            _ => self.table(table).find(|(key, row)| Self::value(by, *key, row) == Some(value)),
        }
    }

    /// Executes a transaction; an error where the model's answer differs from the recorded one.
    pub fn execute(&mut self, transaction: &Transaction) -> Result<(), Violation> {
        // The rows as they were before each operation that wrote.
        let mut undo: Vec<(usize, (u32, i64), Option<RowState>)> = Vec::new();
        for (at, op) in transaction.ops.iter().enumerate() {
            let wrong = |expected: String| {
                Err(Violation(format!(
                    "T{} at {:?}, operation {at}: {op:?}; serial execution in commit order gives {expected}",
                    transaction.id, transaction.ts
                )))
            };
            match op {
                Op::Get { table, by, value, found } => {
                    let expected = self.find(*table, *by, *value).map(|(key, row)| (key, row.version));
                    if expected != *found {
                        return wrong(format!("{expected:?}"));
                    }
                }
                Op::Scan { table, by, low, high, descending, rows } => {
                    let mut expected: Vec<_> = self
                        .table(*table)
                        .filter_map(|(key, row)| Some((Self::value(*by, key, row)?, key, row.version)))
                        .filter(|(value, ..)| (*low..=*high).contains(value))
                        .collect();
                    expected.sort_unstable_by_key(|(value, key, _)| (*value, *key));
                    if *descending {
                        expected.reverse();
                    }
                    let expected: Vec<_> = expected.into_iter().map(|(_, key, v)| (key, v)).collect();
                    if expected != *rows {
                        return wrong(format!("{expected:?}"));
                    }
                }
                Op::Refused { table, by, value } => {
                    if self.find(*table, *by, *value).is_none() {
                        return wrong("no such row".to_owned());
                    }
                }
                Op::Put { table, key, row } => {
                    let taken = row.tag.and_then(|tag| self.find(*table, By::Tag, tag));
                    if taken.is_some_and(|(other, _)| other != *key) {
                        return wrong(format!("a duplicate of {taken:?}"));
                    }
                    let before = self.rows.insert((*table, *key), *row);
                    undo.push((at, (*table, *key), before));
                }
                Op::Remove { table, key } => {
                    let before = self.rows.remove(&(*table, *key));
                    if before.is_none() {
                        return wrong("no such row".to_owned());
                    }
                    undo.push((at, (*table, *key), before));
                }
                Op::Undone { to } => {
                    while let Some((_, key, before)) = undo.pop_if(|(at, ..)| *at >= *to) {
                        match before {
                            Some(row) => self.rows.insert(key, row),
                            None => self.rows.remove(&key),
                        };
                    }
                }
            }
        }
        Ok(())
    }
}
