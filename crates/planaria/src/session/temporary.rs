//! Temporary tables, views and sequences, and routines and types in `pg_temp`: what a session makes for itself.
//!
//! They are relations like any other, logged like any other, in a schema of the session's own, `pg_temp_N`, which
//! stands before all others of its path. It is made with the first of them, and dropped with all of them when the
//! session ends; what a crash has left of others goes when the database is opened.
//!
//! `ON COMMIT` is carried out at the COMMIT of a block, as its last statements; outside of blocks before the session's
//! next statement, which is the first that could see the difference.

use crate::engine::Engine;
use crate::session::core::{Block, SessionCore};
use crate::session::schema::Change;
use crate::session::user::Identity;
use planaria_base::text_io::quote_ident;
use planaria_base::{Result, RoleId, SchemaId};
use planaria_catalog::{Catalog, OnCommit, Table, temporary_schema};
use planaria_syntax::ast::{Name, Statement, StatementKind};
use planaria_syntax::parse;
use std::sync::Arc;

/// What a session knows of its temporary relations.
#[derive(Default)]
pub(crate) struct Temporary {
    /// It has made some: the schema of its name is its own.
    pub(crate) made: bool,
    /// A statement outside of blocks may have put rows in tables that are to be emptied.
    pub(crate) to_be_emptied: bool,
}

/// The name of what a statement makes.
fn made(kind: &StatementKind) -> Option<&Name> {
    match kind {
        StatementKind::CreateTable(create) => Some(&create.name),
        StatementKind::CreateTableAs { name, .. }
        | StatementKind::CreateView { name, .. }
        | StatementKind::CreateEnum { name, .. }
        | StatementKind::CreateComposite { name, .. }
        | StatementKind::CreateDomain { name, .. }
        | StatementKind::CreateSequence { name, .. } => Some(name),
        StatementKind::CreateRoutine(create) => Some(&create.name),
        _ => None,
    }
}

/// `schema.table`, as it is written.
fn written(catalog: &Catalog, table: &Table) -> String {
    format!("{}.{}", quote_ident(catalog.schema_name(table.schema)), quote_ident(&table.name))
}

impl SessionCore {
    fn temporary_name(&self) -> String {
        temporary_schema(u32::from(self.worker.0) + 1)
    }

    /// The schema of the session's temporary relations, if it has some.
    pub(crate) fn temporary(&self, catalog: &Catalog) -> Option<SchemaId> {
        if self.temporary.made { catalog.schema(&self.temporary_name()) } else { None }
    }

    /// Makes that schema, where a statement is about to make the first of them.
    pub(crate) fn prepare_temporary(&mut self, statement: &Statement) -> Result<()> {
        let temporary = |name: &Name| name.parts.len() == 2 && name.parts[0] == planaria_catalog::TEMPORARY;
        if !made(&statement.kind).is_some_and(temporary) || self.temporary(&self.newest_catalog()).is_some() {
            return Ok(());
        }
        let name = quote_ident(&self.temporary_name());
        // Somebody who sat here before may not have come to drop his.
        if self.newest_catalog().schema(&self.temporary_name()).is_some() {
            self.change_internally(&format!("DROP SCHEMA {name} CASCADE"))?;
        }
        self.change_internally(&format!("CREATE SCHEMA {name}"))?;
        self.temporary.made = true;
        // It is on the path from now on.
        self.scoped = None;
        Ok(())
    }

    fn change_internally(&mut self, text: &str) -> Result<()> {
        self.internal = true;
        let outcome = match self.block {
            Block::None => self.apply_change(Change::New(text)).map(|_| ()),
            _ => self.change_in_block(text).map(|_| ()),
        };
        self.internal = false;
        outcome
    }

    /// Drops all temporary relations.
    pub(crate) fn drop_temporary(&mut self) -> Result<()> {
        if self.temporary(&self.newest_catalog()).is_some() {
            let name = quote_ident(&self.temporary_name());
            self.change_internally(&format!("DROP SCHEMA {name} CASCADE"))?;
        }
        self.scoped = None;
        if matches!(self.block, Block::None) {
            self.temporary = Temporary::default();
        }
        Ok(())
    }

    /// Temporary tables of which ON COMMIT says something: with their names as they are written.
    fn of_commits(&mut self) -> Vec<(OnCommit, String, RoleId)> {
        if !self.temporary.made {
            return Vec::new();
        }
        let catalog = self.schema().catalog.clone();
        let Some(schema) = self.temporary(&catalog) else { return Vec::new() };
        let tables = catalog.tables.iter().flatten().filter(|t| t.schema == schema);
        let tables = tables.filter(|t| t.on_commit != OnCommit::PreserveRows);
        tables.map(|t| (t.on_commit, written(&catalog, t), t.rights.owner)).collect()
    }

    /// The last statements of a block: what ON COMMIT asks for.
    pub(crate) fn end_temporary(&mut self) -> Result<()> {
        for (on_commit, table, owner) in self.of_commits() {
            self.end_table(on_commit, &table, owner)?;
        }
        Ok(())
    }

    fn end_table(&mut self, on_commit: OnCommit, table: &str, owner: RoleId) -> Result<()> {
        let text = match on_commit {
            OnCommit::PreserveRows => return Ok(()),
            OnCommit::Drop if matches!(self.block, Block::None) => {
                return self.change_internally(&format!("DROP TABLE {table}"));
            }
            OnCommit::Drop => return self.change_in_block(&format!("DROP TABLE {table}")).map(|_| ()),
            OnCommit::DeleteRows => format!("DELETE FROM {table}"),
        };
        let Some(statement) = parse::statements(&text)?.pop() else { return Ok(()) };
        // Whatever role the session has at the time, but with no more rights than the table's owner: triggers fire.
        let before = self.user.act(Identity { session: owner, role: None });
        let emptied = self
            .analyse_declared(statement, &text, Default::default())
            .and_then(|prepared| self.start_program(&prepared, &(), None));
        self.user.act(before);
        emptied.map(|_| ())
    }

    /// Before a statement outside of blocks: what ON COMMIT asks for of the one before.
    pub(crate) fn settle_temporary(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.temporary.to_be_emptied) || !matches!(self.block, Block::None) {
            return Ok(());
        }
        for (on_commit, table, owner) in self.of_commits() {
            self.end_table(on_commit, &table, owner)?;
            // Which was a statement, too.
            self.temporary.to_be_emptied = false;
        }
        Ok(())
    }

    /// A statement outside of blocks has come to its end.
    #[inline]
    pub(crate) fn note_commit(&mut self) {
        self.temporary.to_be_emptied = self.temporary.made;
    }
}

/// Drops temporary relations of sessions that a crash has ended.
pub(crate) fn drop_left(engine: &Arc<Engine>) -> Result<()> {
    let catalog = engine.schema.load().catalog.clone();
    let left = catalog.schemas.iter().flatten().filter(|schema| schema.is_temporary());
    let left: Vec<String> = left.map(|schema| quote_ident(&schema.name)).collect();
    if left.is_empty() {
        return Ok(());
    }
    let mut session = SessionCore::new(engine.clone())?;
    session.change_internally(&format!("DROP SCHEMA {} CASCADE", left.join(", ")))
}
