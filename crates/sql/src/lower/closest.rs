//! What was meant by the name of a column that there is not: the column whose name is closest, as PostgreSQL finds it.

use super::names::Names;
use planaria_base::{Error, SchemaId};
use planaria_catalog::Catalog;

/// Names that differ more are not meant.
const DISTANCE_MAX: usize = 3;
/// The same for names of relations.
const RELATION_DISTANCE_MAX: usize = 2;

/// The closest columns so far.
struct Closest<'n> {
    distance: usize,
    /// The table's alias, and the column; none: the very name, where it cannot be used.
    found: Vec<(&'n str, Option<&'n str>)>,
}

/// The error with a hint at the one or two columns that are closest to the name, if there are no more.
pub(super) fn hinted(error: Error, names: &Names<'_>, table: Option<&str>, column: &str) -> Error {
    let mut closest = Closest { distance: DISTANCE_MAX + 1, found: Vec::new() };
    let mut level = Some(names);
    while let Some(names) = level {
        for source in names.sources.iter().filter(|s| !s.alias.is_empty() && !s.alias.contains(' ')) {
            let penalty = table.map_or(0, |table| distance(table, &source.alias));
            for name in source.columns.iter().map(|c| c.name.as_str()) {
                closest.note(&source.alias, name, column, penalty);
            }
        }
        level = names.outer;
    }
    let shown = |(table, column): &(&str, Option<&str>)| {
        format!("the column \"{table}.{}\"", column.unwrap_or_default())
    };
    match &closest.found[..] {
        [(table, None)] => error.with_hint(format!(
            "There is a column named \"{column}\" in table \"{table}\", but it cannot be referenced from this part of the query."
        )),
        [one] => error.with_hint(format!("Perhaps you meant to reference {}.", shown(one))),
        [one, other] => {
            error.with_hint(format!("Perhaps you meant to reference {} or {}.", shown(one), shown(other)))
        }
        _ => error,
    }
}

/// The error with a hint at the relation of `public` that is closest to the name, if there is one and it is close. PostgreSQL has no
/// such hint.
pub(super) fn relation_hinted(error: Error, catalog: &Catalog, wanted: &str) -> Error {
    let tables = catalog.tables.iter().flatten().filter(|t| t.schema == SchemaId::PUBLIC);
    let views = catalog.views.values().filter(|v| v.schema == SchemaId::PUBLIC);
    let names = tables.map(|t| t.name.as_str()).chain(views.map(|v| v.name.as_str()));
    let close = names.filter(|name| name.len().abs_diff(wanted.len()) <= RELATION_DISTANCE_MAX);
    let apart = close.map(|name| (distance(wanted, name), name));
    let mut near: Vec<_> = apart
        .filter(|(apart, name)| (1..=RELATION_DISTANCE_MAX).contains(apart) && *apart * 3 <= name.len())
        .collect();
    near.sort_unstable();
    match near.as_slice() {
        [(_, name)] => error.with_hint(format!("Perhaps you meant the relation \"{name}\".")),
        [(first, name), (second, _), ..] if first < second => {
            error.with_hint(format!("Perhaps you meant the relation \"{name}\"."))
        }
        _ => error,
    }
}

impl<'n> Closest<'n> {
    fn note(&mut self, table: &'n str, column: &'n str, wanted: &str, penalty: usize) {
        if penalty > self.distance {
            return;
        }
        let apart = distance(wanted, column);
        // Where more than half of it is another name.
        if apart > wanted.len() / 2 {
            return;
        }
        let apart = apart + penalty;
        if apart < self.distance {
            self.distance = apart;
            self.found = vec![(table, (apart > 0).then_some(column))];
        } else if apart == self.distance {
            match self.found.len() {
                2 => {
                    self.found.clear();
                    self.distance = apart.saturating_sub(1);
                }
                1 => self.found.push((table, Some(column))),
                _ if self.distance <= DISTANCE_MAX => self.found.push((table, Some(column))),
                _ => {}
            }
        }
    }
}

/// How many characters must be put in, taken out or changed (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}
