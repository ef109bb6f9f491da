//! Schema changes: from a statement to a changed catalog and the work it makes on stored rows.
//!
//! Pure: [`apply`] looks at a catalog and answers with a new one and a list of [`Work`]. The engine
//! does the work while no transaction runs, then installs the catalog; the statement's text goes
//! into the log, and replay applies it again to the catalog it was applied to.
//!
//! What PostgreSQL names by itself (constraints, indexes, sequences) gets the same names here.

mod alter;
mod constraint;
mod drop;
mod index;
mod routine;
mod sequence;
mod table;
mod types;

use crate::ast::{Name, Query, Statement, StatementKind};
use planaria_base::{Error, Result, SequenceId, SqlState, TableId};
use planaria_catalog::{Catalog, PUBLIC};

/// A schema change that has been worked out.
#[derive(Clone, Debug)]
pub struct Change {
    /// The catalog afterwards; its `version` is one more.
    pub catalog: Catalog,
    /// What is to be done to stored rows, in this order.
    pub work: Vec<Work>,
    /// The command tag.
    pub tag: String,
    /// Notices (`table "x" does not exist, skipping`).
    pub notices: Vec<String>,
}

/// Work on stored rows.
#[derive(Clone, Debug)]
pub enum Work {
    /// A new, empty table.
    CreateTable(TableId),
    /// Drop its rows.
    DropTable(TableId),
    /// Same columns, other indexes: build the table anew from its row images. A duplicate key is
    /// 23505 of the index.
    Reindex(TableId),
    /// Other columns: build the table anew from the rows that this query on the *old* catalog
    /// answers, one value for each visible column. Hidden row ids are numbered anew from 1.
    Rewrite(TableId, Box<Query>),
    /// All rows go.
    Truncate(TableId),
    /// A new sequence at its start.
    CreateSequence(SequenceId),
    /// Its definition changed; it goes on where it stands, or at this value.
    ChangeSequence(SequenceId, Option<i64>),
    /// Gone.
    DropSequence(SequenceId),
    /// The query on the *old* catalog must answer no row, else this error.
    ValidateBefore(Box<Query>, Error),
    /// The query on the *new* catalog must answer no row, else this error.
    ValidateAfter(Box<Query>, Error),
    /// Insert what the query answers into the new table (CREATE TABLE AS); on the new catalog.
    Fill(TableId, Box<Query>),
}

/// Works a schema change out. `text` is what the statement was parsed from. Errors are PostgreSQL's.
pub fn apply(catalog: &Catalog, statement: &Statement, text: &str) -> Result<Change> {
    let mut ddl = Ddl {
        change: Change {
            catalog: Catalog { version: catalog.version + 1, ..catalog.clone() },
            work: Vec::new(),
            tag: String::new(),
            notices: Vec::new(),
        },
        text,
    };
    ddl.statement(statement)?;
    Ok(ddl.change)
}

/// A change being worked out.
struct Ddl<'t> {
    change: Change,
    text: &'t str,
}

impl Ddl<'_> {
    fn statement(&mut self, statement: &Statement) -> Result<()> {
        use StatementKind as K;
        let tag = match &statement.kind {
            K::CreateTable(create) => self.create_table(create)?,
            K::CreateTableAs { name, if_not_exists, columns, query, with_data } => {
                self.create_table_as(name, *if_not_exists, columns, query, *with_data)?
            }
            K::CreateIndex(create) => self.create_index(create)?,
            K::CreateView { name, or_replace, columns, query, query_text } => {
                self.create_view(name, *or_replace, columns, query, query_text)?
            }
            K::CreateSequence { name, if_not_exists, options } => {
                self.create_sequence(name, *if_not_exists, options)?
            }
            K::AlterSequence { name, if_exists, options } => self.alter_sequence(name, *if_exists, options)?,
            K::CreateRoutine(create) => self.create_routine(create)?,
            K::CreateSchema { name, if_not_exists } => self.create_schema(name, *if_not_exists)?,
            K::Drop { object, names, if_exists, cascade } => self.drop(*object, names, *if_exists, *cascade)?,
            K::DropRoutine { names, procedure, if_exists, .. } => {
                self.drop_routines(names, *procedure, *if_exists)?
            }
            K::AlterTable { name, if_exists, actions } => self.alter_table(name, *if_exists, actions)?,
            K::Rename { object, name, to, if_exists } => self.rename(*object, name, to, *if_exists)?,
            K::Truncate { names, restart_identity, cascade } => {
                self.truncate(names, *restart_identity, *cascade)?
            }
            _ => {
                return Err(Error::internal("a statement that is no schema change").at(statement.position));
            }
        };
        self.change.tag = tag.to_owned();
        Ok(())
    }

    fn catalog(&mut self) -> &mut Catalog {
        &mut self.change.catalog
    }

    fn work(&mut self, work: Work) {
        self.change.work.push(work);
    }

    fn notice(&mut self, text: String) {
        self.change.notices.push(text);
    }

    fn create_schema(&mut self, name: &str, if_not_exists: bool) -> Result<&'static str> {
        if name == PUBLIC && if_not_exists {
            self.notice(format!("schema \"{name}\" already exists, skipping"));
            return Ok("CREATE SCHEMA");
        }
        if name == PUBLIC {
            return Err(Error::new(
                SqlState::DUPLICATE_SCHEMA,
                format!("schema \"{name}\" already exists"),
            ));
        }
        Err(Error::unsupported(
            "schemas other than public are not supported",
            "Put the tables into the schema public.",
        ))
    }

    /// Refuses a name that a relation has.
    fn check_free(&mut self, name: &str) -> Result<()> {
        if self.catalog().relation_exists(name) {
            return Err(Error::new(
                SqlState::DUPLICATE_TABLE,
                format!("relation \"{name}\" already exists"),
            ));
        }
        Ok(())
    }

    /// A name for a relation made by the engine: `base`, or `base1`, `base2`... where it is taken.
    fn free_name(&mut self, base: &str) -> String {
        let catalog = &self.change.catalog;
        let constraint = |n: &str| {
            catalog.tables.iter().flatten().any(|t| {
                t.checks.iter().any(|c| c.name == n) || t.foreign_keys.iter().any(|k| k.name == n)
            })
        };
        let taken = |n: &str| catalog.relation_exists(n) || constraint(n);
        if !taken(base) {
            return base.to_owned();
        }
        (1u32..).map(|i| format!("{base}{i}")).find(|n| !taken(n)).unwrap_or_default()
    }

    /// The id of the table of that name; 42P01 where there is none, 42809 for views and sequences.
    fn table_id(&mut self, name: &Name) -> Result<TableId> {
        let local = local_name(name)?;
        let catalog = &self.change.catalog;
        match catalog.table(&local) {
            Some(table) => Ok(table.id),
            None if catalog.relation_exists(&local) => Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{local}\" is not a table"),
            )
            .at(name.position)),
            None => Err(no_relation(&local).at(name.position)),
        }
    }

    fn table_mut(&mut self, id: TableId) -> &mut planaria_catalog::Table {
        self.change.catalog.tables[id.index()].as_mut().expect("an id of this catalog")
    }
}

/// 42P01
fn no_relation(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
}

/// The name without its schema, which must be `public`.
pub(crate) fn local_name(name: &Name) -> Result<String> {
    match name.parts.as_slice() {
        [local] => Ok(local.clone()),
        [schema, local] if schema == PUBLIC => Ok(local.clone()),
        [schema, _] if schema == "pg_catalog" || schema == "information_schema" => {
            Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("schema \"{schema}\" belongs to the system"))
                .at(name.position))
        }
        [schema, _] => Err(Error::new(
            SqlState::INVALID_SCHEMA_NAME,
            format!("schema \"{schema}\" does not exist"),
        )
        .at(name.position)),
        _ => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("improper qualified name (too many dotted names): {}", name.parts.join(".")),
        )
        .at(name.position)),
    }
}
