//! Definitions as data: what tables, indexes, constraints, views, sequences and procedures there are.
//!
//! A [`Catalog`] is a plain value: a schema change clones it, changes the clone and installs it
//! whole (the engine keeps it behind an `Arc`). Versions share what they have in common
//! ([`definitions`]), so a change costs what it changes. A catalog holds *definitions*, in the words the user gave
//! them where they are expressions (defaults, checks, views, bodies are kept as SQL text and
//! compiled again when the catalog changes), so that it can be logged, checkpointed and read by
//! any later version.
//!
//! Identifiers are never reused: ids of tables, sequences and procedures grow monotonically, and a
//! replaced procedure is a new id under the old name, so that a log entry names the definition it
//! ran with. Replaced procedure versions stay in `procedures` with `current = false`.

mod aggregates;
mod casts;
mod column_rights;
mod columns;
mod comments;
mod default_rights;
mod defaults;
pub mod definitions;
mod extensions;
mod index;
mod instances;
mod numbers;
pub mod oids;
mod partitions;
mod policies;
pub mod reg;
mod rights;
mod role;
mod routines;
mod schemas;
mod statistics;
pub mod system;
mod triggers;
mod types;
mod views;

pub use aggregates::{
    AggregateOf, BuiltInFunction, MovingOf, SupportFunction, built_in_functions, support_expression,
};
pub use casts::{UserCast, UserCastContext};
pub use column_rights::{ALL_OF_COLUMNS, Columns};
pub use columns::{Column, ColumnDefault, ColumnTold, ReplicaIdentity, TableTold};
pub use comments::{Comment, Commented};
pub use default_rights::{DefaultKind, DefaultRights};
pub use defaults::Defaults;
pub use definitions::{Definitions, Named, Shared};
pub use extensions::{AVAILABLE_EXTENSIONS, AvailableExtension, Extension};
pub use index::{Exclusion, ExclusionOperator, Index, IndexDefinition, IndexKey, KeyOrder, UniqueKind};
pub use numbers::DroppedColumn;
pub use oids::Oids;
pub use partitions::{
    Partition, PartitionBound, PartitionKey, Partitioning, RangeLimit, RowRule, RuleKind, Strategy,
};
pub use policies::{Policy, PolicyCommand};
pub use rights::{
    Dependents, Grant, Object, ObjectKind, Privileges, Requirement, Rights, acl_name, grants_with_names,
    shown_grants,
};
pub use role::{DATABASE_OWNER, MONITOR, Membership, PREDEFINED, Role, SUPERUSER, SUPERUSER_NAME, no_role};
pub use routines::{ASKED_ONCE, ELEMENTS_FIT, Hints, PROGRAM_FORM, ROWS_TOLD, StandardBody};
pub use schemas::{
    Schema, SearchPath, TEMPORARY, Wanted, key, no_schema, of_key, path_names, temporary_schema,
};
pub use statistics::{STATISTICS_KINDS, Statistics};
pub use triggers::{Firing, Transition, Trigger, TriggerEnabled, TriggerEvent, TriggerTime};
pub use types::{Domain, TypeKind, UserType, is_made_of};
pub use views::View;

use definitions::{Defined, Key};
use instances::Instances;
pub use instances::{FIRST_INSTANCE, INSTANCES_MAX};
use planaria_base::{ColumnId, IndexId, ProcedureId, SchemaId, SequenceId, TableId, Type, TypeId};
use schemas::Scope;
use serde::{Deserialize, Serialize};

/// The schema that every database has; `pg_catalog` and `information_schema` are reserved.
pub const PUBLIC: &str = "public";

/// The name of the database, as `current_database()` says it.
pub const DATABASE: &str = "planaria";

/// All definitions of a database at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Catalog {
    /// Counts changes: compiled programs belong to one version.
    pub version: u64,
    /// Tables by id; `None` where dropped.
    pub tables: Definitions<Option<Shared<Table>>>,
    /// Sequences by id; `None` where dropped.
    pub sequences: Definitions<Option<Shared<Sequence>>>,
    /// Procedures and functions by id, all versions.
    pub procedures: Definitions<Shared<Procedure>>,
    /// Views by [`key`].
    pub views: Named<View>,
    /// Types of users by id; `None` where dropped.
    #[serde(default)]
    pub types: Definitions<Option<Shared<UserType>>>,
    /// Conversions of users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub casts: Vec<UserCast>,
    /// Extensions that were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// Schemas beside `public`; `None` where dropped.
    pub schemas: Definitions<Option<Shared<Schema>>>,
    /// Roles by id; `None` where dropped. The first is the superuser the database was made with.
    #[serde(default = "Catalog::first_roles")]
    pub roles: Definitions<Option<Shared<Role>>>,
    /// Whether some role has ever had a password. Never false again: servers that trusted everybody until then
    /// ask for passwords from then on, whatever becomes of that one.
    #[serde(default)]
    pub had_passwords: bool,
    /// Rights on the schema `public`.
    #[serde(default)]
    pub schema_rights: Rights,
    /// Rights on the database.
    #[serde(default)]
    pub database_rights: Rights,
    /// COMMENT ON SCHEMA public
    #[serde(default = "Catalog::first_schema_comment")]
    pub schema_comment: Option<String>,
    /// COMMENT ON DATABASE
    #[serde(default)]
    pub database_comment: Option<String>,
    /// What sessions begin with.
    #[serde(default)]
    pub defaults: Vec<Defaults>,
    /// ALTER DEFAULT PRIVILEGES: rights of what roles will make.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_rights: Vec<DefaultRights>,
    /// OIDs of what is above.
    #[serde(default)]
    pub oids: Oids,
    /// Polymorphic routines with the types of calls: of all versions of the catalog.
    #[serde(skip)]
    instances: Instances,
    /// Where it is looked at from.
    #[serde(skip)]
    scope: Scope,
}

impl Default for Catalog {
    /// A new database: nothing but its superuser.
    fn default() -> Catalog {
        Catalog {
            version: 0,
            tables: Definitions::default(),
            sequences: Definitions::default(),
            procedures: Definitions::default(),
            views: Named::default(),
            types: Definitions::default(),
            casts: Vec::new(),
            extensions: Vec::new(),
            schemas: Definitions::default(),
            roles: Catalog::first_roles(),
            had_passwords: false,
            schema_rights: Rights::default(),
            database_rights: Rights::default(),
            schema_comment: Catalog::first_schema_comment(),
            database_comment: None,
            defaults: Vec::new(),
            default_rights: Vec::new(),
            oids: Oids::default(),
            instances: Instances::default(),
            scope: Scope::default(),
        }
    }
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Id.
    pub id: TableId,
    /// Its schema.
    #[serde(default)]
    pub schema: SchemaId,
    /// Name, in lower case unless quoted.
    pub name: String,
    /// Stored columns in order; of dropped ones nothing but their numbers is kept (the rows were rewritten).
    pub columns: Vec<Column>,
    /// Indexes; 0 is the primary one and always unique.
    pub indexes: Vec<Index>,
    /// Indexes of methods that are not there (`gin` and its like): named, shown and dumped, and of use to no query. Their
    /// places go on behind those of `indexes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmade: Vec<Index>,
    /// Whether the user declared the primary key. If not, the last column is the hidden row id.
    pub has_primary_key: bool,
    /// CHECK constraints.
    pub checks: Vec<Check>,
    /// Foreign keys of this table.
    pub foreign_keys: Vec<ForeignKey>,
    /// Of a temporary table: what becomes of it when a transaction commits.
    #[serde(default)]
    pub on_commit: OnCommit,
    /// Of a materialized view: whether it has been filled. Its query is in the view of the same name ([`View::stored`]).
    #[serde(default)]
    pub materialized: Option<bool>,
    /// It is a composite type (`CREATE TYPE .. AS (..)`): it has columns, and never a row.
    #[serde(default)]
    pub composite: bool,
    /// PARTITION BY: it has the rows of its partitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitioning: Option<Box<Partitioning>>,
    /// PARTITION OF: its rows are with the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Box<Partition>>,
    /// Triggers, in the order of their names.
    #[serde(default)]
    pub triggers: Vec<Trigger>,
    /// ENABLE ROW LEVEL SECURITY: its policies hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub row_security: bool,
    /// FORCE ROW LEVEL SECURITY: for its owner, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force_row_security: bool,
    /// Policies, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<Policy>,
    /// Columns that were dropped, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedColumn>,
    /// Extended statistics, in the order in which they were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statistics: Vec<Statistics>,
    /// Rises with each rewrite (TRUNCATE, ALTER that rewrites): the storage is a new one.
    pub generation: u32,
    /// Owner, and what was granted.
    #[serde(default)]
    pub rights: Rights,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
    /// How it is said to be stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Box<TableTold>>,
}

/// What becomes of a temporary table when a transaction commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnCommit {
    /// Nothing.
    #[default]
    PreserveRows,
    /// It is emptied.
    DeleteRows,
    /// It is dropped.
    Drop,
}

/// A CHECK constraint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Name.
    pub name: String,
    /// Expression over the table's columns, as text.
    pub expression: String,
    /// NOT VALID: rows that were there before may violate it.
    #[serde(default)]
    pub not_valid: bool,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
}

/// What happens to referencing rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// Error 23503 (NO ACTION and RESTRICT).
    Restrict,
    /// Deletes or updates them too.
    Cascade,
    /// Sets the referencing columns to NULL.
    SetNull,
    /// Sets them to their defaults.
    SetDefault,
}

impl ReferentialAction {
    /// Whether it sets the columns of the rows that refer.
    pub fn sets(self) -> bool {
        matches!(self, ReferentialAction::SetNull | ReferentialAction::SetDefault)
    }
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Name.
    pub name: String,
    /// Referencing columns.
    pub columns: Vec<ColumnId>,
    /// Referenced table.
    pub parent: TableId,
    /// A unique index of the parent.
    pub parent_index: IndexId,
    /// Columns of the parent in the order of `columns` (the index may order them otherwise).
    pub parent_columns: Vec<ColumnId>,
    /// ON DELETE
    pub on_delete: ReferentialAction,
    /// The columns that ON DELETE sets, where it says which; empty: all.
    #[serde(default)]
    pub set_columns: Vec<ColumnId>,
    /// ON UPDATE
    pub on_update: ReferentialAction,
    /// Whether its check can wait.
    #[serde(default)]
    pub check: CheckTime,
    /// ON DELETE was said to be RESTRICT: it never waits, where NO ACTION may. Of keys made before this was kept, only where their
    /// check can wait.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restricts_delete: bool,
    /// The same of ON UPDATE.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restricts_update: bool,
    /// MATCH FULL: of several columns all are NULL or none is.
    #[serde(default)]
    pub match_full: bool,
    /// NOT VALID: rows that were there before may violate it.
    #[serde(default)]
    pub not_valid: bool,
    /// DISABLE TRIGGER ALL of its table: no parent is looked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// DISABLE TRIGGER ALL of the parent: whoever changes rows of that need not ask here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inactive: bool,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
}

/// When a constraint is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckTime {
    /// At the end of each statement.
    #[default]
    NotDeferrable,
    /// The same, unless SET CONSTRAINTS says otherwise: DEFERRABLE INITIALLY IMMEDIATE.
    Deferrable,
    /// When the transaction commits, unless SET CONSTRAINTS says otherwise: DEFERRABLE INITIALLY DEFERRED.
    Deferred,
}

impl CheckTime {
    /// Whether nothing puts the check off.
    pub fn is_never_deferred(&self) -> bool {
        *self == CheckTime::NotDeferrable
    }
}

/// A sequence. Its current value is not a definition; the engine keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Id.
    pub id: SequenceId,
    /// Its schema.
    #[serde(default)]
    pub schema: SchemaId,
    /// Name.
    pub name: String,
    /// First value.
    pub start: i64,
    /// Step.
    pub increment: i64,
    /// Smallest value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Starts over at the end.
    pub cycle: bool,
    /// CACHE, which is shown: sessions draw no values ahead of time.
    #[serde(default = "defaults::one")]
    pub cache: i64,
    /// Table and column it belongs to, dropped with them.
    pub owner: Option<(TableId, ColumnId)>,
    /// Behind row ids: not visible.
    pub hidden: bool,
    /// Owner, and what was granted.
    #[serde(default)]
    pub rights: Rights,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
    /// The integer type it was declared with, which is shown; `None` in what former versions stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ty: Option<Type>,
}

/// WITH CHECK OPTION: which conditions rows must meet that are written through a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOption {
    /// Its own, and those of views below that say so themselves.
    Local,
    /// Its own and those of all views below.
    Cascaded,
}

impl CheckOption {
    /// As options of relations have it.
    pub fn name(self) -> &'static str {
        match self {
            CheckOption::Local => "local",
            CheckOption::Cascaded => "cascaded",
        }
    }
}

/// Language of a routine's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// PL/pgSQL
    PlPgSql,
    /// SQL: statements, the last one is the answer.
    Sql,
}

/// The type of what is kept nowhere: an interval is one, however old tables keep theirs.
fn value_type<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Type, D::Error> {
    let ty = Type::deserialize(from)?;
    Ok(if ty == Type::OldInterval { Type::Interval } else { ty })
}

/// What a routine answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Returns {
    /// A procedure: its INOUT and OUT parameters.
    Procedure,
    /// One value.
    Scalar(#[serde(deserialize_with = "value_type")] Type),
    /// A set of values (`SETOF integer`).
    SetOf(#[serde(deserialize_with = "value_type")] Type),
    /// A set of rows of a table's type (`SETOF usertable`).
    SetOfTable(TableId),
    /// One row of a table's type.
    RowOf(TableId),
    /// RETURNS TABLE: the OUT parameters of mode `Table`, a set.
    Table,
    /// `RETURNS record` with OUT parameters: one row.
    OutRow,
    /// `RETURNS SETOF record` with OUT parameters.
    SetOfOutRow,
    /// `RETURNS trigger`: called by triggers alone.
    Trigger,
    /// `RETURNS record`, or `SETOF record`, without OUT parameters: each call says what columns it answers with.
    Record {
        /// It is a set.
        set: bool,
        /// Those of a call ([`Catalog::instance`]); of what is declared, none.
        #[serde(skip)]
        columns: Vec<(String, Type)>,
    },
}

/// Mode of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// IN
    In,
    /// OUT
    Out,
    /// INOUT
    InOut,
    /// VARIADIC
    Variadic,
    /// column of RETURNS TABLE
    Table,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name; empty if unnamed.
    pub name: String,
    /// Type, without modifier (PostgreSQL ignores it here).
    #[serde(deserialize_with = "value_type")]
    pub ty: Type,
    /// The domain that it was declared with.
    #[serde(default)]
    pub domain: Option<TypeId>,
    /// Mode.
    pub mode: Mode,
    /// Default, as SQL text.
    pub default: Option<String>,
}

/// Declared volatility of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Volatility {
    /// Same arguments, same answer, reads no table.
    Immutable,
    /// Changes nothing.
    Stable,
    /// Anything.
    Volatile,
}

/// One version of a procedure or function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Procedure {
    /// Id of this version.
    pub id: ProcedureId,
    /// Its schema.
    #[serde(default)]
    pub schema: SchemaId,
    /// Name.
    pub name: String,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Answer.
    pub returns: Returns,
    /// Language.
    pub language: Language,
    /// Volatility.
    pub volatility: Volatility,
    /// STRICT / RETURNS NULL ON NULL INPUT.
    pub strict: bool,
    /// The body between the quotes.
    pub body: String,
    /// Byte offset of the body in the CREATE statement, for positions of errors.
    pub body_position: u32,
    /// Found by name (the newest version, not dropped).
    pub current: bool,
    /// It is the routine of a trigger of this table ([`Catalog::trigger_of`]).
    #[serde(default)]
    pub fires: Option<TableId>,
    /// It is the routine of a trigger of this view, by its [`key`].
    #[serde(default)]
    pub fires_view: Option<String>,
    /// The domain that it was declared to answer with.
    #[serde(default)]
    pub returns_domain: Option<TypeId>,
    /// Its body is no string: what it names is known, and stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard: Option<StandardBody>,
    /// What it says of itself to planners that estimate.
    #[serde(default, skip_serializing_if = "Hints::are_none")]
    pub hints: Hints,
    /// It is an aggregate, and has no body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Box<AggregateOf>>,
    /// SECURITY DEFINER: runs with the rights of its owner, not of its caller.
    #[serde(default)]
    pub security_definer: bool,
    /// What RETURNING and ON CONFLICT ask of the table is asked of it as it was before the statement. Routines from before
    /// that was so go on as they were: logs have calls of them.
    #[serde(default)]
    pub reads_before: bool,
    /// In which form its program is made: what changed from one to the next is told at [`PROGRAM_FORM`]. Those from before
    /// forms were counted go on as they were: logs have calls of them.
    #[serde(default, skip_serializing_if = "routines::is_first_form")]
    pub form: u8,
    /// SET: what holds while it runs, by name in lower case, in the order in which that was said.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// Owner, and what was granted.
    #[serde(default)]
    pub rights: Rights,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
    /// The polymorphic routine that this is, with the types of a call ([`Catalog::instance`]).
    #[serde(skip)]
    pub instance_of: Option<ProcedureId>,
}

impl Catalog {
    /// A table by name.
    pub fn table<'n>(&self, wanted: impl Into<Wanted<'n>>) -> Option<&Table> {
        self.of_rows(wanted).filter(|t| !t.composite)
    }
    /// A composite type by name.
    pub fn composite<'n>(&self, wanted: impl Into<Wanted<'n>>) -> Option<&Table> {
        self.of_rows(wanted).filter(|t| t.composite)
    }
    /// What a row type is of, by its name: a table, or a composite type.
    pub fn of_rows<'n>(&self, wanted: impl Into<Wanted<'n>>) -> Option<&Table> {
        let Wanted { schema, local } = wanted.into();
        let named = self.tables.candidates(Key::name(local)).filter(|t| t.name == local);
        self.nearest(schema, named, |t| t.schema)
    }
    /// A table by id. Panics where it was dropped: ids come from this catalog.
    pub fn table_by_id(&self, id: TableId) -> &Table {
        self.tables[id.index()].as_ref().expect("a table id of this catalog")
    }
    /// A view by name.
    pub fn view<'n>(&self, wanted: impl Into<Wanted<'n>>) -> Option<&View> {
        let Wanted { schema, local } = wanted.into();
        match schema {
            Some(schema) => self.views.get(&key(schema, local)).filter(|v| !v.stored),
            None => {
                let mut schemas = self.path().schemas().iter();
                schemas.find_map(|s| self.views.get(&key(*s, local)).filter(|v| !v.stored))
            }
        }
    }
    /// Views that are not materialized.
    pub fn plain_views(&self) -> impl Iterator<Item = &View> {
        self.views.values().filter(|v| !v.stored)
    }
    /// The query of a materialized view.
    pub fn stored_view(&self, table: &Table) -> Option<&View> {
        self.views.get(&key(table.schema, &table.name)).filter(|v| v.stored && table.materialized.is_some())
    }
    /// A sequence by name.
    pub fn sequence<'n>(&self, wanted: impl Into<Wanted<'n>>) -> Option<&Sequence> {
        let Wanted { schema, local } = wanted.into();
        let named = self.sequences.candidates(Key::name(local)).filter(|s| s.name == local);
        self.nearest(schema, named, |s| s.schema)
    }
    /// Current procedures and functions of a name (overloads differ by input types). Of those that take the same, the
    /// first along the path.
    pub fn procedures_named<'a, 'n>(
        &'a self,
        wanted: impl Into<Wanted<'n>>,
    ) -> std::vec::IntoIter<&'a Procedure> {
        let Wanted { schema, local } = wanted.into();
        let candidates = self.procedures.candidates(Key::name(local));
        let named = candidates.filter(|p| p.current && p.name == local);
        let mut all: Vec<&Procedure> = match schema {
            Some(schema) => named.filter(|p| p.schema == schema).collect(),
            // As in PostgreSQL, a routine of the session's own is found by its whole name alone.
            None => named
                .filter(|p| self.path().rank(p.schema).is_some() && self.path().temporary() != Some(p.schema))
                .collect(),
        };
        if schema.is_none() && all.iter().any(|p| p.schema != all[0].schema) {
            let rank = |p: &Procedure| self.path().rank(p.schema);
            all.sort_by_key(|p| (rank(p), p.id));
            let hidden = |at: usize| {
                let types = |p: &'a Procedure| p.inputs().map(|q| &q.ty);
                all[..at].iter().any(|p| p.schema != all[at].schema && types(p).eq(types(all[at])))
            };
            let visible: Vec<&Procedure> =
                (0..all.len()).filter(|at| !hidden(*at)).map(|at| all[at]).collect();
            return visible.into_iter();
        }
        all.into_iter()
    }
    /// Whether a routine goes by the name in any schema, but for one.
    pub fn is_routine(&self, name: &str, but: Option<ProcedureId>) -> bool {
        let mut named = self.procedures.candidates(Key::name(name));
        named.any(|p| p.current && p.name == name && Some(p.id) != but)
    }
    /// Current routines that go by a name, in any schema.
    pub fn routines_called(&self, name: &str) -> impl Iterator<Item = &Procedure> {
        self.procedures.candidates(Key::name(name)).filter(move |p| p.current && p.name == name)
    }
    /// Tables that go by a name, in any schema.
    pub fn tables_called(&self, name: &str) -> impl Iterator<Item = &Table> {
        self.tables.candidates(Key::name(name)).filter(move |t| t.name == name)
    }
    /// A procedure version by id, or one with the types of a call.
    pub fn procedure(&self, id: ProcedureId) -> &Procedure {
        self.procedure_if(id).expect("a routine's id of this catalog")
    }
    /// The same, if there is one.
    pub fn procedure_if(&self, id: ProcedureId) -> Option<&Procedure> {
        match self.procedures.get(id.index()) {
            Some(procedure) => Some(procedure),
            None => self.instances.get(id),
        }
    }
    /// A polymorphic routine with the types of a call: one that was made before, if it is the same. 54000 where there
    /// are too many.
    pub fn instance(&self, made: Procedure) -> planaria_base::Result<ProcedureId> {
        self.instances.find_or_add(made)
    }
    /// The table and position of an index, by its name.
    pub fn index<'n>(&self, wanted: impl Into<Wanted<'n>>) -> Option<(&Table, IndexId)> {
        let Wanted { schema, local } = wanted.into();
        let place = |t: &Table| t.all_indexes().position(|i| i.name == local);
        let tables = self.tables.candidates(Key::name(local)).filter(|t| place(t).is_some());
        let table = self.nearest(schema, tables, |t| t.schema)?;
        place(table).map(|i| (table, IndexId(i as u16)))
    }
    /// Tables with a constraint of a name.
    pub fn tables_with_constraint<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Table> + use<'a> {
        let name: std::sync::Arc<str> = name.into();
        self.tables.candidates(Key::Name(name.clone())).filter(move |t| t.has_constraint(&name))
    }
    /// Whether a relation (table, composite type, index, view, sequence) has the name.
    pub fn relation_exists<'n>(&self, wanted: impl Into<Wanted<'n>>) -> bool {
        let wanted = wanted.into();
        self.of_rows(wanted).is_some()
            || self.view(wanted).is_some()
            || self.sequence(wanted).is_some()
            || self.index(wanted).is_some()
    }
    /// Tables with a foreign key to `parent`, and that key.
    pub fn references_to(&self, parent: TableId) -> impl Iterator<Item = (&Table, &ForeignKey)> {
        self.tables
            .candidates(Key::References(parent))
            .flat_map(move |t| t.foreign_keys.iter().filter(move |k| k.parent == parent).map(move |k| (t, k)))
    }
    /// Sequences that belong to columns of a table.
    pub fn sequences_of(&self, table: TableId) -> impl Iterator<Item = &Sequence> {
        let candidates = self.sequences.candidates(Key::OwnedBy(table));
        candidates.filter(move |s| s.owner.is_some_and(|(t, _)| t == table))
    }
    /// Whether some key or exclusion constraint may be checked when a transaction commits.
    pub fn has_deferred_keys(&self) -> bool {
        self.tables.candidates(Key::ChecksLast).any(Table::may_check_last)
    }
    /// Current routines that run with the rights of their owner.
    pub fn definers(&self) -> impl Iterator<Item = &Procedure> {
        self.procedures.candidates(Key::Definer).filter(|p| p.current && p.security_definer)
    }
}

impl Defined for Table {
    fn each_key(&self, each: &mut dyn FnMut(Key)) {
        each(Key::name(&self.name));
        self.all_indexes().for_each(|i| each(Key::name(&i.name)));
        self.checks.iter().for_each(|c| each(Key::name(&c.name)));
        self.partition.iter().for_each(|p| each(Key::References(p.of)));
        for key in &self.foreign_keys {
            each(Key::name(&key.name));
            each(Key::References(key.parent));
        }
        if self.may_check_last() {
            each(Key::ChecksLast);
        }
    }
}

impl Defined for Sequence {
    fn each_key(&self, each: &mut dyn FnMut(Key)) {
        each(Key::name(&self.name));
        self.owner.iter().for_each(|(table, _)| each(Key::OwnedBy(*table)));
    }
}

impl Defined for Procedure {
    fn each_key(&self, each: &mut dyn FnMut(Key)) {
        if self.current {
            each(Key::name(&self.name));
            if self.security_definer {
                each(Key::Definer);
            }
        }
    }
}

impl Defined for Role {
    fn each_key(&self, each: &mut dyn FnMut(Key)) {
        each(Key::name(&self.name));
    }
}

impl Table {
    /// Whether one of its keys or exclusion constraints is DEFERRABLE.
    pub fn may_check_last(&self) -> bool {
        self.foreign_keys.iter().any(|k| k.check != CheckTime::NotDeferrable)
            || self.indexes.iter().any(|i| i.check() != CheckTime::NotDeferrable)
    }
    /// The index of its primary key: the one that rows are kept by, or that of one which is DEFERRABLE.
    pub fn primary_key(&self) -> Option<&Index> {
        match self.has_primary_key {
            true => self.indexes.first(),
            false => self.indexes.iter().find(|i| i.unique_later() == Some(UniqueKind::Primary)),
        }
    }
    /// Whether it has a constraint of that name.
    pub fn has_constraint(&self, name: &str) -> bool {
        self.checks.iter().any(|c| c.name == name)
            || self.foreign_keys.iter().any(|k| k.name == name)
            || self.indexes.iter().any(|i| i.constraint && i.name == name)
    }
    /// A visible column by name.
    pub fn column(&self, name: &str) -> Option<(ColumnId, &Column)> {
        self.columns
            .iter()
            .enumerate()
            .find(|(_, c)| !c.hidden && c.name == name)
            .map(|(i, c)| (ColumnId::from(i), c))
    }
    /// A key of an index as it is shown: a call as it is, another expression in parentheses.
    pub fn key_text(&self, index: &Index, at: usize) -> String {
        match index.definition.as_ref().and_then(|d| d.keys.get(at)) {
            Some(IndexKey::Expression(text)) => text.clone(),
            Some(IndexKey::Column(column)) => {
                planaria_base::text_io::quote_ident(&self.columns[column.index()].name)
            }
            None => planaria_base::text_io::quote_ident(&self.columns[index.columns[at].index()].name),
        }
    }
    /// The columns of `*`.
    pub fn visible(&self) -> impl Iterator<Item = (ColumnId, &Column)> {
        self.columns.iter().enumerate().filter(|(_, c)| !c.hidden).map(|(i, c)| (ColumnId::from(i), c))
    }
}

impl Procedure {
    /// The parameters a caller passes (IN, INOUT, VARIADIC).
    pub fn inputs(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| matches!(p.mode, Mode::In | Mode::InOut | Mode::Variadic))
    }
    /// The parameters that are the answer (OUT, INOUT, TABLE).
    pub fn outputs(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| matches!(p.mode, Mode::Out | Mode::InOut | Mode::Table))
    }
    /// Whether it answers with any number of rows.
    pub fn returns_set(&self) -> bool {
        matches!(
            self.returns,
            Returns::SetOf(_)
                | Returns::SetOfTable(_)
                | Returns::Table
                | Returns::SetOfOutRow
                | Returns::Record { set: true, .. }
        )
    }
    /// What it sets a setting to, by its name in lower case.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
    }
    /// Whether calls say what types it takes.
    pub fn is_polymorphic(&self) -> bool {
        self.parameters.iter().any(|p| p.ty.is_polymorphic())
    }
    /// Whether calls say what columns it answers with.
    pub fn needs_columns(&self) -> bool {
        matches!(&self.returns, Returns::Record { columns, .. } if columns.is_empty())
    }
    /// Whether it was made by CREATE PROCEDURE.
    pub fn is_procedure(&self) -> bool {
        matches!(self.returns, Returns::Procedure)
    }
}
