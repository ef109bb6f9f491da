//! SET CONSTRAINTS: which constraints are meant, and what a routine says that runs.
//!
//! A routine's is a text that its program runs ([`Run::Constraints`](planaria_ir::Run::Constraints)), as is that of EXECUTE. What
//! it says holds from there on; where it makes triggers immediate, the rows that wait for them are handed to their routines by a
//! program that is made for them. Keys are looked at when the client's statement ends.

use crate::engine::program::deferred::{Deferred, Event};
use crate::engine::schema_version::SchemaVersion;
use planaria_base::{Error, Result, RoleId, SchemaId, SqlState, TableId};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, CheckTime, Trigger, no_schema};
use planaria_exec::Dynamic;
use planaria_sql::lower;
use planaria_syntax::ast::{Name, StatementKind};
use planaria_syntax::parse;
use std::sync::Arc;

/// What a text says of constraints, if it is a SET CONSTRAINTS: those named, and whether they are deferred.
pub(crate) fn said(text: &str) -> Option<(Option<Vec<Name>>, bool)> {
    let mut words = behind_comments(text).split_ascii_whitespace();
    let begins = |word: Option<&str>, with: &str| word.is_some_and(|word| word.eq_ignore_ascii_case(with));
    if !begins(words.next(), "set") || !begins(words.next(), "constraints") {
        return None;
    }
    let mut statements = parse::statements(text).ok()?;
    match (statements.pop()?.kind, statements.is_empty()) {
        (StatementKind::SetConstraints { names, deferred }, true) => Some((names, deferred)),
        _ => None,
    }
}

/// A text without the blanks and comments that it begins with.
fn behind_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let behind = if rest.starts_with("--") {
            rest.find('\n').map(|end| &rest[end..])
        } else if rest.starts_with("/*") {
            end_of_comment(rest).map(|end| &rest[end..])
        } else {
            return rest;
        };
        let Some(behind) = behind else { return "" };
        rest = behind.trim_start();
    }
}

/// Where a comment ends that may have others within it.
fn end_of_comment(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    loop {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
        } else if rest.is_empty() {
            return None;
        } else {
            at += 1;
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

impl Deferred {
    /// A program says it. The answer is what the program runs next: the triggers that rows have waited for.
    pub(crate) fn said_by_program(
        &mut self,
        schema: &SchemaVersion,
        role: RoleId,
        (names, deferred): (Option<Vec<Name>>, bool),
    ) -> Result<Dynamic> {
        let catalog = &*schema.catalog;
        let named = names.map(|names| named(catalog, &names, deferred)).transpose()?;
        self.say(named, !deferred);
        if deferred {
            return Ok(Dynamic::Done(0));
        }
        let mut fires: Vec<Event> = Vec::new();
        let mut at = 0;
        while let Some((number, event)) = self.next(at, &|modes, event| {
            let made = trigger_of(catalog, event).and_then(|t| Some((&t.name, t.constraint?)));
            made.is_some_and(|(name, made)| modes.is_immediate(event.table, name, made))
        }) {
            fires.push(event.clone());
            self.fire(number);
            at = number + 1;
        }
        if fires.is_empty() {
            return Ok(Dynamic::Done(0));
        }
        let events = fires.iter().filter_map(|event| {
            let trigger = trigger_of(catalog, event)?;
            Some((event.table, trigger, event.event, &event.values[..]))
        });
        let program = lower::waiting_triggers(catalog, events)?;
        Ok(Dynamic::Code(Arc::new(schema.compile_as(role, &program)?)))
    }
}

/// The trigger of an event, unless it was dropped.
pub(crate) fn trigger_of<'c>(catalog: &'c Catalog, event: &Event) -> Option<&'c Trigger> {
    let Object::Trigger(table, name) = catalog.oids.object(event.trigger)? else { return None };
    let trigger = catalog.table_by_id(*table).trigger(name)?;
    trigger.routine(event.event).map(|_| trigger)
}

/// The constraints that SET CONSTRAINTS names: 42704 where there is none, 42809 where one cannot be deferred.
pub(crate) fn named(catalog: &Catalog, names: &[Name], deferred: bool) -> Result<Vec<(TableId, String)>> {
    let mut chosen = Vec::new();
    for name in names {
        let local = name.parts.last().map(String::as_str).unwrap_or_default();
        let found = named_constraints(catalog, name)?;
        if found.is_empty() {
            let message = format!("constraint \"{local}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
        if deferred && found.iter().any(|c| c.made == CheckTime::NotDeferrable) {
            let message = format!("constraint \"{local}\" is not deferrable");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        chosen.extend(found.into_iter().map(|c| (c.table, c.name.to_owned())));
    }
    Ok(chosen)
}

/// A constraint, as SET CONSTRAINTS finds it.
struct Constraint<'c> {
    table: TableId,
    schema: SchemaId,
    name: &'c str,
    made: CheckTime,
}

/// All constraints that are in the catalogs.
fn constraints(catalog: &Catalog) -> impl Iterator<Item = Constraint<'_>> {
    catalog.tables.iter().flatten().flat_map(|t| {
        let one = |name, made| Constraint { table: t.id, schema: t.schema, name, made };
        let keys = t.foreign_keys.iter().map(move |k| one(&*k.name, k.check));
        let triggers = t.triggers.iter().filter_map(move |t| Some(one(&*t.name, t.constraint?)));
        let checks = t.checks.iter().map(move |c| one(&*c.name, CheckTime::NotDeferrable));
        let unique = t.indexes.iter().filter(|i| i.constraint);
        let unique = unique.map(move |i| one(&*i.name, i.check()));
        keys.chain(triggers).chain(checks).chain(unique)
    })
}

/// Those that a name means: in the schema that it says, else in the first along the path that has one.
fn named_constraints<'c>(catalog: &'c Catalog, name: &Name) -> Result<Vec<Constraint<'c>>> {
    let (local, schema) = match name.parts.as_slice() {
        [.., schema, local] => {
            (local, Some(catalog.schema(schema).ok_or_else(|| no_schema(schema).at(name.position))?))
        }
        [local] => (local, None),
        [] => return Ok(Vec::new()),
    };
    let within = |schema: SchemaId| -> Vec<Constraint<'c>> {
        constraints(catalog).filter(|c| c.name == *local && c.schema == schema).collect()
    };
    Ok(match schema {
        Some(schema) => within(schema),
        None => {
            let found = catalog.path().schemas().iter().map(|schema| within(*schema));
            found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_may_stand_before_it() {
        for text in [
            "SET CONSTRAINTS ALL DEFERRED",
            "-- one\n  -- two\nset constraints all deferred",
            "/* a /* b */ c */ /**/ Set\tConstraints a, b.c IMMEDIATE;",
        ] {
            assert!(said(text).is_some(), "{text}");
        }
        for text in [
            "",
            "-- SET CONSTRAINTS ALL DEFERRED",
            "/* SET CONSTRAINTS ALL DEFERRED",
            "SET CONSTRAINTS",
            "SET x = 1",
            "SET CONSTRAINTS ALL DEFERRED; SET CONSTRAINTS a IMMEDIATE",
            "/*\u{e4}*/ SELECT 1",
        ] {
            assert!(said(text).is_none(), "{text}");
        }
    }
}
