//! Schema changes: from a statement to a changed catalog and the work it makes on stored rows.
//!
//! [`apply`] is a function of the catalog and the statement; it touches no data:
//!
//! 1. a copy of the catalog is changed, action by action; names, errors and SQLSTATEs are
//!    PostgreSQL's;
//! 2. what must happen to stored rows is listed as [`Work`], in the order in which it must happen,
//!    against the *final* catalog: a table that is rewritten is rewritten once, whatever the number
//!    of actions;
//! 3. conditions that the rows must meet (a new CHECK, a new FOREIGN KEY) become [`Validation`]s:
//!    programs that must give no row.
//!
//! The engine then installs catalog and storage at commit, or forgets both. An error leaves the
//! caller's catalog as it was.
//!
//! | file | statements |
//! |---|---|
//! | `table`, `constraint` | CREATE TABLE |
//! | `table_as` | CREATE TABLE AS |
//! | `alter`, `retype`, `identity`, `rename` | ALTER TABLE, RENAME |
//! | `index`, `view`, `sequence`, `routine` | CREATE of those |
//! | `user_type`, `composite` | CREATE, ALTER, DROP of types and domains |
//! | `drop`, `depend` | DROP and what depends on what |
//! | `trigger` | CREATE, ALTER, DROP TRIGGER |
//! | `policy` | CREATE, ALTER, DROP POLICY |
//! | `statistics` | CREATE, ALTER, DROP STATISTICS |
//! | `truncate` | TRUNCATE |
//! | `partition`, `partition_bounds`, `partition_changes` | partitioned tables |
//! | `comment` | COMMENT ON |
//! | `role`, `grant`, `owner`, `defaults` | CREATE ROLE, GRANT, OWNER TO, ALTER ROLE .. SET |
//!
//! Who carries a change out is its [`Actor`]: what is made belongs to it, and what it may not do is
//! refused (42501).
//!
//! Limits: inheritance gives 0A000.

mod aggregate;
mod alter;
mod alter_routine;
mod cast;
mod comment;
mod composite;
mod constraint;
mod database;
mod defaults;
mod depend;
mod drop;
mod exclusion;
mod extension;
mod grant;
mod identity;
mod index;
mod like;
pub mod lock;
mod lowering;
mod materialized;
mod names;
mod of_system;
mod owner;
mod partition;
mod partition_bounds;
mod partition_changes;
mod policy;
mod rename;
mod reparse;
mod retype;
mod role;
mod routine;
mod schema;
mod schema_texts;
mod sequence;
mod statistics;
mod table;
mod table_as;
mod told;
mod trigger;
mod truncate;
mod unmade;
mod user_type;
mod view;

pub(crate) use composite::no_serial;
pub use database::databases_named;
pub use depend::{Named, keys_of_view, named_by_expression, named_by_routine, named_by_view};
pub use partition::{partition_bound_text, partition_condition_text, partition_key_types};
pub use role::is_verifier;
pub use routine::{find as find_routine, signature};
pub use sequence::check_last;

use crate::lower;
use planaria_base::types::RowType;
use planaria_base::{
    ColumnId, Error, IndexId, Level, ProcedureId, Result, RoleId, SequenceId, SqlState, TableId, Type,
};
use planaria_catalog::oids::{self, Touched, identity};
use planaria_catalog::{Catalog, Requirement, Returns, SUPERUSER, Table, TypeKind};
use planaria_ir::Program;
use planaria_syntax::ast::{ObjectKind, Statement, StatementKind};

/// What a schema change did.
#[derive(Debug, Default)]
pub struct DdlOutcome {
    /// The command tag (`CREATE TABLE`); of CREATE TABLE AS it is `SELECT`, and the row count is the
    /// engine's to add.
    pub tag: &'static str,
    /// Messages for the client.
    pub notices: Vec<Notice>,
    /// What is to be done to stored data, in order, after the catalog was changed.
    pub work: Vec<Work>,
    /// A routine that was made: the engine says how its calls will be logged.
    pub routine: Option<ProcedureId>,
    /// Definitions that are other ones now.
    pub touched: Touched,
}

/// A message for the client.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Severity.
    pub level: Level,
    /// SQLSTATE, message, detail, hint.
    pub fields: Error,
}

/// What is to be done to stored data. Ids are those of the changed catalog, but for what was dropped.
#[derive(Debug)]
pub enum Work {
    /// Make the storage of a new table, with all its indexes.
    CreateTable(TableId),
    /// Forget a table's storage.
    DropTable(TableId),
    /// Make the table's storage anew, as the catalog now says, indexes included, and move its rows.
    Rebuild(Box<Rebuild>),
    /// Build an index from the table's rows; 23505 where a unique key occurs twice.
    CreateIndex(TableId, IndexId),
    /// Forget an index. The position is the one it had when this item's turn comes: later indexes
    /// move up by one.
    DropIndex(TableId, IndexId),
    /// Remove all rows.
    Truncate(TableId),
    /// Make the state of a new sequence: its first value is `start`.
    CreateSequence(SequenceId),
    /// Forget a sequence.
    DropSequence(SequenceId),
    /// The next value becomes this one.
    RestartSequence(SequenceId, i64),
    /// The value that a sequence gave last must be within the bounds that it has now.
    KeepSequence(SequenceId),
    /// Rows must meet a condition.
    Validate(Box<Validation>),
    /// Run the program, which inserts the rows of CREATE TABLE AS; its row count belongs to the tag.
    Fill(TableId, Box<Program>),
}

/// How the rows of a rewritten table come about. A NULL for a NOT NULL column raises
/// [`null_in_column`].
#[derive(Debug)]
pub struct Rebuild {
    /// The table.
    pub table: TableId,
    /// For each stored column of the new table.
    pub columns: Vec<NewColumn>,
    /// A program of kind `Function`: takes all stored columns of the *old* row in order, answers with
    /// the computed columns. `None` where nothing is computed.
    pub compute: Option<Program>,
}

/// A column of a rewritten table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewColumn {
    /// The old row's column, bit for bit.
    Keep(ColumnId),
    /// An output of the `compute` program.
    Computed(usize),
    /// The next value of a sequence (hidden row ids).
    Sequence(SequenceId),
}

/// A condition that all rows must meet.
#[derive(Debug)]
pub struct Validation {
    /// Emits one row, of one text column, for a violation: the DETAIL, or NULL.
    pub program: Program,
    /// The error then.
    pub error: Error,
}

/// 23502, as raised when a rewritten or validated table has NULLs where it must not.
pub fn null_in_column(table: &Table, column: ColumnId) -> Error {
    let (t, c) = (&table.name, &table.columns[column.index()].name);
    Error::new(
        SqlState::NOT_NULL_VIOLATION,
        format!("column \"{c}\" of relation \"{t}\" contains null values"),
    )
    .column(t, c)
}

/// Whether [`apply`] is the one to carry a statement out.
pub fn is_ddl(statement: &Statement) -> bool {
    matches!(
        statement.kind,
        StatementKind::CreateTable(_)
            | StatementKind::CreateTableAs { .. }
            | StatementKind::CreateIndex(_)
            | StatementKind::CreateView { .. }
            | StatementKind::AlterView { .. }
            | StatementKind::CreateMaterialized { .. }
            | StatementKind::Refresh { .. }
            | StatementKind::CreateSequence { .. }
            | StatementKind::AlterSequence { .. }
            | StatementKind::CreateEnum { .. }
            | StatementKind::CreateComposite { .. }
            | StatementKind::AlterComposite { .. }
            | StatementKind::CreateDomain { .. }
            | StatementKind::AlterEnum { .. }
            | StatementKind::AlterDomain { .. }
            | StatementKind::RenameType { .. }
            | StatementKind::DropType { .. }
            | StatementKind::Cast(_)
            | StatementKind::Statistics(_)
            | StatementKind::Aggregate(_)
            | StatementKind::Extension(_)
            | StatementKind::CreateRoutine(_)
            | StatementKind::CreateTrigger(_)
            | StatementKind::DropTrigger { .. }
            | StatementKind::RenameTrigger { .. }
            | StatementKind::CreatePolicy(_)
            | StatementKind::AlterPolicy { .. }
            | StatementKind::DropPolicy { .. }
            | StatementKind::CreateSchema { .. }
            | StatementKind::RenameSchema { .. }
            | StatementKind::SetSchema { .. }
            | StatementKind::AlterRoutine { .. }
            | StatementKind::Drop { .. }
            | StatementKind::DropRoutine { .. }
            | StatementKind::AlterTable { .. }
            | StatementKind::AttachIndex { .. }
            | StatementKind::AlterIndex { .. }
            | StatementKind::Rename { .. }
            | StatementKind::Truncate { .. }
            | StatementKind::CreateRole { .. }
            | StatementKind::AlterRole { .. }
            | StatementKind::AlterDefaults { .. }
            | StatementKind::DropRole { .. }
            | StatementKind::Grant(_)
            | StatementKind::GrantRole { .. }
            | StatementKind::AlterOwner { .. }
            | StatementKind::Comment { .. }
            | StatementKind::ReassignOwned { .. }
            | StatementKind::DropOwned { .. }
    )
}

/// Who carries a schema change out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Actor {
    /// `current_user`: whose rights count, and who owns what is made.
    pub user: RoleId,
    /// `session_user`
    pub session_user: RoleId,
    /// The change is from a log of the time before there were roles: its OWNER TO is to be ignored, as it
    /// was then.
    pub before_roles: bool,
    /// The change is from a log of the time when tables kept intervals in 8 bytes: what follows in it has them so.
    pub before_intervals: bool,
    /// The change is from a log of the time when indexes that are not made were forgotten: nobody asked for their names.
    pub forgets_indexes: bool,
    /// Bodies of routines are looked at when they are created: not by who loads a dump, whose tables come later, nor
    /// when a change that the log has is made once more.
    pub checks_bodies: bool,
    /// The change is from a log of the time when indexes of partitions were held against those of their tables by their
    /// texts, with all parentheses.
    pub indexes_by_text: bool,
    /// The change is from a log of the time when a row that a trigger's event does not have was one of NULLs: its
    /// triggers go on so.
    pub rows_of_nulls: bool,
    /// The change is from a log of the time when indexes without a name were called by less of their expressions.
    pub former_labels: bool,
    /// The change is from a log of the time when what RETURNING and ON CONFLICT ask of the table for each row saw what the
    /// statement had changed so far: routines that it makes do so.
    pub reads_after: bool,
    /// In which form routines are made that it makes ([`planaria_catalog::PROGRAM_FORM`]). Of a log of before there were forms,
    /// it makes each key of CREATE TABLE that has a name of its own, also where it is said twice.
    pub form: u8,
    /// The change is from a log of the time when the partition of a row was found behind its BEFORE triggers: triggers
    /// that it makes go on so, and routines as they did then.
    pub routes_late: bool,
    /// The change is from a log of the time when composite types were made without the default privileges of types.
    pub plain_composites: bool,
    /// The names of the database in the statement are those by which its client calls it: none of them is another's.
    pub any_database: bool,
    /// The change is the engine's own: schemas of temporary relations come and go with it. Or it is one that the log has.
    pub internal: bool,
}

impl Default for Actor {
    /// The superuser that every database has.
    fn default() -> Actor {
        Actor {
            user: SUPERUSER,
            session_user: SUPERUSER,
            before_roles: false,
            before_intervals: false,
            forgets_indexes: false,
            checks_bodies: true,
            any_database: false,
            indexes_by_text: false,
            rows_of_nulls: false,
            former_labels: false,
            reads_after: false,
            form: planaria_catalog::PROGRAM_FORM,
            routes_late: false,
            plain_composites: false,
            internal: false,
        }
    }
}

/// Carries a schema change out on the catalog, in the name of the first superuser.
pub fn apply(catalog: &mut Catalog, statement: &Statement) -> Result<DdlOutcome> {
    apply_as(catalog, statement, Actor::default())
}

/// Carries a schema change out on the catalog. 42501 where the actor may not.
pub fn apply_as(catalog: &mut Catalog, statement: &Statement, actor: Actor) -> Result<DdlOutcome> {
    let mut change = Change {
        catalog: catalog.clone(),
        actor,
        out: DdlOutcome::default(),
        leaving: Vec::new(),
        indexing: None,
    };
    change.out.tag = change.statement(statement)?;
    change.settle_partitions()?;
    change.let_rows_leave()?;
    if matches!(
        statement.kind,
        StatementKind::AlterTable { .. }
            | StatementKind::Rename { .. }
            | StatementKind::SetSchema { .. }
            | StatementKind::RenameSchema { .. }
            | StatementKind::AlterComposite { .. }
            | StatementKind::RenameType { .. }
    ) {
        change.keep_row_types();
    }
    change.catalog.version += 1;
    change.out.touched = change.catalog.settle();
    *catalog = change.catalog;
    Ok(change.out)
}

/// What a row type, or an array of one, is now, where that is something else.
fn row_type_now(catalog: &Catalog, ty: &Type) -> Option<Type> {
    match ty {
        Type::Record(RowType { of: Some(of), .. }) => {
            let table = catalog.tables[of.table.index()].as_ref()?;
            let now = Type::Record(lower::row_type(catalog, table));
            (now != *ty).then_some(now)
        }
        Type::Array(of) => row_type_now(catalog, of).map(|of| Type::Array(Box::new(of))),
        _ => None,
    }
}

/// A schema change under way.
struct Change {
    catalog: Catalog,
    actor: Actor,
    out: DdlOutcome,
    /// Rows of roots that go with partitions that were dropped, by their condition.
    leaving: Vec<(TableId, String)>,
    /// What becomes of the rows of a table that gets several indexes at once: they are written anew once.
    indexing: Option<(TableId, alter::Rewrite)>,
}

impl Change {
    /// Answers with the command tag.
    fn statement(&mut self, statement: &Statement) -> Result<&'static str> {
        match &statement.kind {
            StatementKind::CreateTable(create) => self.create_table(create),
            StatementKind::CreateTableAs {
                name,
                if_not_exists,
                unlogged,
                columns,
                query,
                with_data,
                on_commit,
            } => {
                self.say_logged(name.parts.last().filter(|_| *unlogged));
                self.create_table_as(name, *if_not_exists, columns, query, (*with_data, *on_commit))
            }
            StatementKind::CreateIndex(create) => self.create_index(create),
            StatementKind::CreateView { name, or_replace, columns, options, query, query_text } => {
                self.create_view(name, *or_replace, columns, options, (query, query_text))
            }
            StatementKind::CreateMaterialized {
                name,
                if_not_exists,
                columns,
                query,
                query_text,
                with_data,
            } => self.create_materialized(name, *if_not_exists, columns, (query, query_text), *with_data),
            StatementKind::Refresh { name, concurrently, with_data } => {
                self.refresh(name, *concurrently, *with_data)
            }
            StatementKind::AlterView { name, if_exists, action } => {
                self.alter_view(name, *if_exists, action, "ALTER VIEW")
            }
            StatementKind::CreateSequence { name, if_not_exists, options } => {
                self.create_sequence(name, *if_not_exists, options)
            }
            StatementKind::AlterSequence { name, if_exists, options } => {
                self.alter_sequence(name, *if_exists, options)
            }
            StatementKind::CreateEnum { name, labels } => self.create_enum(name, labels),
            StatementKind::CreateComposite { name, attributes } => self.create_composite(name, attributes),
            StatementKind::AlterComposite { name, actions } => self.alter_composite(name, actions),
            StatementKind::CreateDomain { name, ty, constraints } => {
                self.create_domain(name, ty, constraints)
            }
            StatementKind::AlterEnum { name, action } => self.alter_enum(name, action),
            StatementKind::AlterDomain { name, action } => self.alter_domain(name, action),
            StatementKind::RenameType { ty, to } => self.rename_type(ty, to),
            StatementKind::DropType { domain, names, if_exists, cascade } => {
                self.drop_types(*domain, names, *if_exists, *cascade)
            }
            StatementKind::Cast(change) => self.change_cast(change),
            StatementKind::Statistics(change) => self.change_statistics(change),
            StatementKind::Aggregate(change) => self.change_aggregate(change),
            StatementKind::Extension(change) => self.change_extension(change),
            StatementKind::CreateRoutine(create) => self.create_routine(create),
            StatementKind::CreateTrigger(create) => self.create_trigger(create),
            StatementKind::DropTrigger { name, table, if_exists } => {
                self.drop_trigger(name, table, *if_exists)
            }
            StatementKind::RenameTrigger { name, table, to } => self.rename_trigger(name, table, to),
            StatementKind::CreatePolicy(create) => self.create_policy(create),
            StatementKind::AlterPolicy { name, table, if_exists, change } => {
                self.alter_policy(name, table, *if_exists, change)
            }
            StatementKind::DropPolicy { name, table, if_exists } => self.drop_policy(name, table, *if_exists),
            StatementKind::CreateSchema { name, if_not_exists, owner, elements } => {
                self.create_schema(name.as_deref(), *if_not_exists, owner.as_ref(), elements)
            }
            StatementKind::RenameSchema { name, to } => self.rename_schema(name, to),
            StatementKind::AlterRoutine { routine, options } => self.alter_routine(routine, options),
            StatementKind::SetSchema { object, schema } => self.set_schema(object, schema),
            StatementKind::Drop { object: ObjectKind::Schema, names, if_exists, cascade } => {
                self.drop_schemas(names, *if_exists, *cascade)
            }
            StatementKind::Drop { object, names, if_exists, cascade } => {
                self.drop_objects(*object, names, *if_exists, *cascade)
            }
            StatementKind::DropRoutine { names, procedure, if_exists, cascade } => {
                self.drop_routines(names, *procedure, *if_exists, *cascade)
            }
            StatementKind::AlterTable { name, if_exists, only, actions } => {
                self.alter_table(name, *if_exists, *only, actions)
            }
            StatementKind::AttachIndex { name, index } => self.attach_index(name, index),
            StatementKind::AlterIndex { name, if_exists, action } => {
                self.alter_index(name, *if_exists, action)
            }
            StatementKind::Maintain(maintain) => self.cluster(maintain),
            StatementKind::Rename { object, name, to, if_exists } => {
                self.rename(*object, name, to, *if_exists)
            }
            StatementKind::Truncate { names, restart_identity, cascade, .. } => {
                self.truncate(names, *restart_identity, *cascade)
            }
            StatementKind::CreateRole { name, options } => self.create_role(name, options),
            StatementKind::AlterRole { role, change } => self.alter_role(role, change),
            StatementKind::AlterDefaults { of, change } => self.alter_defaults(of, change),
            StatementKind::DropRole { roles, if_exists } => self.drop_roles(roles, *if_exists),
            StatementKind::Grant(grant) => self.grant(grant),
            StatementKind::GrantRole { revoke: false, roles, members, admin, granted_by, .. } => {
                self.grant_role(roles, members, *admin, granted_by.as_ref())
            }
            StatementKind::GrantRole { roles, members, admin, .. } => {
                self.revoke_role(roles, members, *admin)
            }
            StatementKind::AlterOwner { object, owner } => self.alter_owner(object, owner),
            StatementKind::Comment { on, text } => self.comment(on, text.as_deref()),
            StatementKind::ReassignOwned { from, to } => self.reassign_owned(from, to),
            StatementKind::DropOwned { roles, cascade } => self.drop_owned(roles, *cascade),
            _ => Err(Error::internal("not a schema change")),
        }
    }

    /// Columns, parameters and results of row types have the columns and the name that the table has now.
    fn keep_row_types(&mut self) {
        // What is in a row that is in a row is changed before it.
        loop {
            let catalog = self.catalog.clone();
            let now = |ty: &Type| row_type_now(&catalog, ty);
            let mut again = false;
            self.catalog.tables.change_where(
                |t| t.columns.iter().any(|c| now(&c.ty).is_some()),
                |t| {
                    for column in t.iter_mut().flat_map(|t| t.columns.iter_mut()) {
                        if let Some(now) = now(&column.ty) {
                            column.ty = now;
                            again = true;
                        }
                    }
                },
            );
            if !again {
                break;
            }
        }
        let catalog = self.catalog.clone();
        let now = |ty: &Type| row_type_now(&catalog, ty);
        self.catalog.types.change_where(
            |t| t.domain().is_some_and(|d| now(&d.base).is_some()),
            |t| {
                if let Some(TypeKind::Domain(domain)) = t.as_mut().map(|t| &mut t.kind)
                    && let Some(base) = now(&domain.base)
                {
                    domain.base = base;
                }
            },
        );
        let result = |returns: &Returns| match returns {
            Returns::Scalar(ty) | Returns::SetOf(ty) => now(ty),
            _ => None,
        };
        let oids = &mut self.catalog.oids;
        self.catalog.procedures.change_where(
            |p| {
                p.parameters.iter().any(|q| now(&q.ty).is_some())
                    || result(&p.returns).is_some()
                    || p.aggregate.as_ref().is_some_and(|of| of.types().any(|ty| now(ty).is_some()))
            },
            |p| {
                for ty in p.aggregate.iter_mut().flat_map(|of| of.types_mut()) {
                    if let Some(now) = now(ty) {
                        *ty = now;
                    }
                }
                let before = identity(p);
                for q in &mut p.parameters {
                    if let Some(now) = now(&q.ty) {
                        q.ty = now;
                    }
                }
                if let Returns::Scalar(ty) | Returns::SetOf(ty) = &mut p.returns
                    && let Some(now) = now(ty)
                {
                    *ty = now;
                }
                // It is the same function, with the same OID.
                if p.current && before != identity(p) {
                    oids.rename(&oids::Object::Routine(before), oids::Object::Routine(identity(p)));
                }
            },
        );
    }

    fn table_mut(&mut self, id: TableId) -> &mut Table {
        self.catalog.tables[id.index()].as_mut().expect("a table id of this catalog")
    }

    fn notice(&mut self, state: SqlState, message: impl Into<String>) {
        let fields = Error::new(state, message);
        self.out.notices.push(Notice { level: Level::Notice, fields });
    }

    fn warning(&mut self, state: SqlState, message: impl Into<String>) {
        let fields = Error::new(state, message);
        self.out.notices.push(Notice { level: Level::Warning, fields });
    }

    /// The type of a new column.
    fn kept(&self, ty: Type) -> Type {
        if ty == Type::Interval && self.actor.before_intervals { Type::OldInterval } else { ty }
    }

    /// NOTICE for a table that is to be unlogged.
    fn say_logged(&mut self, unlogged: Option<&String>) {
        if let Some(name) = unlogged {
            let message = format!("table \"{name}\" is logged like any other");
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        }
    }

    /// 42501 where the actor does not have the privilege.
    fn require(&self, requirement: &Requirement) -> Result<()> {
        self.catalog.require(self.actor.user, requirement)
    }

    /// NOTICE '... already exists, skipping'
    fn skip_existing(&mut self, what: &Error) {
        self.notice(what.sqlstate(), format!("{}, skipping", what.message()));
    }

    /// NOTICE '... does not exist, skipping'
    fn skip_missing(&mut self, what: &Error) {
        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", what.message()));
    }
}
