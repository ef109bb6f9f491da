//! CREATE TABLE: columns, their defaults, and the primary index every table has.

use super::alter::Rewrite;
use super::constraint::{Key, Pending};
use super::lowering::{self, Promise};
use super::{Change, Work, names};
use crate::lower::qualified_expression;
use crate::lower::{Declared, Lowerer};
use planaria_base::types::Clock;
use planaria_base::{ColumnId, Error, Result, SchemaId, SequenceId, SqlState, TableId, Type, limits};
use planaria_catalog::{Catalog, CheckTime, Column, ColumnDefault, Index, ObjectKind, OnCommit, Table};
use planaria_ir::ProgramKind;
use planaria_syntax::ast::{
    ColumnDef, Constraint, ConstraintKind, CreateTable, Expr, Position, SequenceOptions, TypeName,
    TypeNameKind,
};
use std::borrow::Cow;

/// What the constraints at a column say about the column itself.
#[derive(Default)]
pub(super) struct ColumnFacts {
    pub not_null: bool,
    pub default: DefaultDef,
    /// Its constraints that are the table's: keys, checks.
    pub pending: Vec<Pending>,
}

/// A default before its sequence was made.
#[derive(Default)]
pub(super) enum DefaultDef {
    #[default]
    None,
    Expression(String),
    Serial,
    /// An expression over the row.
    Generated(Expr, String),
    /// The column's own, which is there.
    Sequence(SequenceId),
    Identity {
        always: bool,
        options: SequenceOptions,
    },
}

fn syntax(message: String, position: Position) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message).at(position)
}

/// The type of a column, and whether it is a serial.
pub(super) fn column_type(catalog: &Catalog, name: &str, ty: &TypeName) -> Result<(Declared, bool)> {
    let pseudo = |what: &str| {
        let message = format!("column \"{name}\" has pseudo-type {what}");
        Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(ty.position))
    };
    match &ty.kind {
        TypeNameKind::Known(Type::Void) => pseudo("void"),
        TypeNameKind::Known(Type::Unknown) => pseudo("unknown"),
        TypeNameKind::Known(known) => Ok((known.clone().into(), false)),
        TypeNameKind::Serial(known) => Ok((known.clone().into(), true)),
        TypeNameKind::Record => pseudo("record"),
        TypeNameKind::Pseudo(p) => pseudo(p),
        TypeNameKind::Named(path) | TypeNameKind::NamedArray(path)
            if crate::lower::user_type(catalog, path).is_some() =>
        {
            let lowerer = Lowerer::new(catalog, "type", ProgramKind::Statement);
            Ok((lowerer.declared(ty)?, false))
        }
        TypeNameKind::Named(path) | TypeNameKind::NamedArray(path)
            if let Some(table) = crate::lower::table_of_type(catalog, path) =>
        {
            check_row_column(catalog, table, ty.position)?;
            let lowerer = Lowerer::new(catalog, "type", ProgramKind::Statement);
            Ok((lowerer.declared(ty)?, false))
        }
        TypeNameKind::Named(path) | TypeNameKind::NamedArray(path)
            if crate::lower::extension_type(catalog, path).is_some() =>
        {
            Ok((crate::lower::resolve_type(catalog, ty)?.into(), false))
        }
        TypeNameKind::NamedArray(path) => {
            Err(crate::lower::unknown_type(&format!("{}[]", path.parts.join(".")), ty.position))
        }
        TypeNameKind::Named(path) | TypeNameKind::RowOf(path) | TypeNameKind::OfColumn(path) => {
            Err(crate::lower::unknown_type(&path.parts.join("."), ty.position))
        }
    }
}

/// 0A000 of a row type that no column has: one that goes with its session, or whose rows lie elsewhere.
fn check_row_column(catalog: &Catalog, table: &Table, position: Position) -> Result<()> {
    let refused = |what: &str, hint| Err(Error::unsupported(what, hint).at(position));
    if catalog.path().temporary() == Some(table.schema) {
        let hint = "Make a type of it with CREATE TYPE.";
        return refused("a column of the row type of a temporary table is not supported", hint);
    }
    if table.partitioning.is_some() || table.partition.is_some() {
        let hint = "Make a type of it with CREATE TYPE.";
        return refused("a column of the row type of a partitioned table is not supported", hint);
    }
    Ok(())
}

/// 22023 of a type that no sequence has.
pub(super) fn check_identity_type(ty: &Type) -> Result<()> {
    if matches!(ty, Type::Int2 | Type::Int4 | Type::Int8) {
        return Ok(());
    }
    let message = "identity column type must be smallint, integer, or bigint";
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// 54011 where a table would have too many columns.
pub(super) fn check_columns(n: usize) -> Result<()> {
    if n <= limits::TABLE_COLUMNS_MAX {
        return Ok(());
    }
    let message = format!("tables can have at most {} columns", limits::TABLE_COLUMNS_MAX);
    Err(Error::new(SqlState::TOO_MANY_COLUMNS, message))
}

impl Change {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Result<&'static str> {
        if let Some((what, position)) = &create.unsupported {
            let hint = match what.as_str() {
                "PARTITION BY" => {
                    "One table is as fast: leave the clause out, and index the columns that it names."
                }
                "PARTITION OF" => "Insert into the table that it would be a part of.",
                "INHERITS" => {
                    "Write the columns and constraints of the table out, or use CREATE TABLE (LIKE ..)."
                }
                _ => "Write the columns and constraints of the table out.",
            };
            return Err(Error::unsupported(format!("{what} is not supported"), hint).at(*position));
        }
        let (schema, name) = self.new_name(&create.name)?;
        if self.catalog.relation_exists((schema, name)) {
            let exists = names::relation_exists(name);
            if !create.if_not_exists {
                // What is wrong with LIKE comes first.
                return self.written_out(create).and(Err(exists));
            }
            self.skip_existing(&exists);
            return Ok("CREATE TABLE");
        }
        self.say_logged(create.name.parts.last().filter(|_| create.unlogged));
        let as_partition;
        let (create, of) = match &create.partition_of {
            Some(of) => {
                as_partition = self.as_partition(create, of)?;
                (&as_partition, Some(of))
            }
            None => (create, None),
        };
        let mut written;
        let (create, like) = match create.likes.is_empty() {
            true => (create, None),
            false => {
                written = self.written_out(create)?;
                if let Some(of) = of {
                    self.partition_columns(&mut written.create, of)?;
                }
                (&written.create, Some(&written))
            }
        };
        let id = self.new_table(schema, name);
        self.table_mut(id).on_commit = create.on_commit;
        let mut pending = Vec::new();
        let mut defaults = Vec::new();
        for def in &create.columns {
            let (column, facts) = self.column(id, def)?;
            if self.table_mut(id).column(&def.name).is_some() {
                let message = format!("column \"{}\" specified more than once", def.name);
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(def.position));
            }
            let place = ColumnId::from(self.table_mut(id).columns.len());
            self.table_mut(id).columns.push(column);
            pending.extend(facts.pending);
            defaults.push((place, facts.default));
        }
        create.columns.iter().try_for_each(|def| self.free_name(&def.name))?;
        check_columns(create.columns.len()).map_err(|e| e.at(create.name.position))?;
        for constraint in &create.constraints {
            pending.push(table_constraint(constraint)?);
        }
        for (place, default) in defaults {
            self.set_default(id, place, default)?;
        }
        for (place, sequence) in like.iter().flat_map(|like| &like.shared) {
            self.set_default(id, ColumnId::from(*place), DefaultDef::Sequence(*sequence))?;
        }
        for (place, comment) in like.iter().flat_map(|like| &like.comments) {
            self.table_mut(id).columns[*place].comment = Some(comment.clone());
        }
        if let Some(by) = &create.partition_by {
            self.partition_by(id, by)?;
        }
        self.set_parameters(id, &create.parameters, false)?;
        self.finish_table(id, pending)?;
        self.add_partition_index(id)?;
        for index in like.iter().flat_map(|like| &like.indexes) {
            self.create_index(index)?;
        }
        for source in like.iter().flat_map(|like| &like.statistics) {
            self.copy_statistics(*source, id);
        }
        self.check_keys_of(id).map_err(|e| e.at(create.name.position))?;
        if let Some(of) = of {
            self.become_partition(id, of)?;
            self.check_indexes_of_partition(id)?;
        }
        Ok("CREATE TABLE")
    }

    /// An empty table in the catalog; [`Change::finish_table`] gives it its indexes.
    pub(super) fn new_table(&mut self, schema: SchemaId, name: &str) -> TableId {
        let id = TableId::from(self.catalog.tables.len());
        let table = Table {
            id,
            schema,
            name: name.to_owned(),
            columns: Vec::new(),
            indexes: Vec::new(),
            unmade: Vec::new(),
            has_primary_key: false,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            on_commit: OnCommit::PreserveRows,
            materialized: None,
            composite: false,
            partitioning: None,
            partition: None,
            triggers: Vec::new(),
            row_security: false,
            force_row_security: false,
            policies: Vec::new(),
            dropped: Vec::new(),
            statistics: Vec::new(),
            generation: 0,
            rights: self.new_rights(ObjectKind::Table, schema),
            comment: None,
            told: None,
        };
        self.catalog.tables.push(Some(table.into()));
        id
    }

    /// The primary index, then the constraints in PostgreSQL's order: checks, keys, foreign keys.
    pub(super) fn finish_table(&mut self, id: TableId, pending: Vec<Pending>) -> Result<()> {
        let keys: Vec<&Key> = pending
            .iter()
            .filter_map(|p| match p {
                Pending::Key(key) => Some(key),
                _ => None,
            })
            .collect();
        let keys = self.distinct_keys(&keys);
        let primary: Vec<&Cow<'_, Key>> = keys.iter().filter(|k| k.primary).collect();
        if let [_, second, ..] = primary[..] {
            return Err(self.second_primary_key(id, second.position));
        }
        for p in &pending {
            if let Pending::Check { name, expr, text, .. } = p {
                self.add_check(id, name.as_deref(), expr, text).map_err(|e| same_name(e, name.as_deref()))?;
            }
        }
        let later = |key: &&&Cow<'_, Key>| key.check != CheckTime::NotDeferrable;
        match primary.first().filter(|key| !later(key)) {
            Some(key) => self.add_primary_key(id, key)?,
            None => self.add_row_id(id).map(|_| ())?,
        }
        self.out.work.push(Work::CreateTable(id));
        for key in primary.iter().filter(later) {
            self.add_key(id, key)?;
        }
        for key in keys.iter().filter(|k| !k.primary) {
            self.add_key(id, key)?;
        }
        for p in &pending {
            if let Pending::ForeignKey(key) = p {
                self.add_foreign_key(id, key)?;
            }
        }
        for p in &pending {
            if let Pending::Exclude(def) = p {
                let mut rewrite = Rewrite::of(self.catalog.table_by_id(id));
                if let (_, None) = self.add_exclusion(id, def, &mut rewrite)? {
                    self.finish_alter(id, rewrite)?;
                }
            }
        }
        Ok(())
    }

    /// 42P16
    pub(super) fn second_primary_key(&mut self, id: TableId, position: Position) -> Error {
        let message =
            format!("multiple primary keys for table \"{}\" are not allowed", self.table_mut(id).name);
        Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(position)
    }

    /// Gives a table without primary key its hidden last column, filled from a hidden sequence, and
    /// the index on it. Their names have a blank, so that no ordinary name meets them.
    pub(super) fn add_row_id(&mut self, id: TableId) -> Result<planaria_base::SequenceId> {
        let table = self.table_mut(id);
        let (schema, name, place) = (table.schema, table.name.clone(), ColumnId::from(table.columns.len()));
        let sequence = self.add_sequence(
            schema,
            format!("{name} row id"),
            &SequenceOptions::default(),
            &Type::Int8,
            Some((id, place)),
            true,
        )?;
        let table = self.table_mut(id);
        table.columns.push(Column {
            name: "row id".into(),
            ty: Type::Int8,
            not_null: true,
            default: ColumnDefault::Sequence(sequence),
            domain: None,
            hidden: true,
            comment: None,
            computed_anew: false,
            told: None,
        });
        table.indexes.insert(0, Index::new(format!("{name} row id key"), vec![place], true, false));
        Ok(sequence)
    }

    /// A column as defined; its default is still to be made ([`Change::set_default`]).
    pub(super) fn column(&mut self, id: TableId, def: &ColumnDef) -> Result<(Column, ColumnFacts)> {
        let (Declared { ty, domain }, serial) = column_type(&self.catalog, &def.name, &def.ty)?;
        let ty = self.kept(ty);
        self.require_types(&ty, domain)?;
        self.check_not_in_itself(id, &ty).map_err(|e| e.at(def.ty.position))?;
        self.check_told(&ty, def.told.as_deref()).map_err(|e| e.at(def.ty.position))?;
        self.check_compression(&ty, def.unknown_compression.as_deref())?;
        let table = self.table_mut(id).name.clone();
        let mut facts = self.column_facts(&table, def, &ty, serial)?;
        let is_null = def.constraints.iter().any(
            |c| matches!(&c.kind, ConstraintKind::Default { expr, .. } if says_nothing(expr, &ty, domain.is_some())),
        );
        if is_null {
            facts.default = DefaultDef::None;
        }
        let column = Column {
            name: def.name.clone(),
            ty,
            not_null: facts.not_null,
            default: ColumnDefault::None,
            domain,
            hidden: false,
            comment: None,
            computed_anew: false,
            told: def.told.clone(),
        };
        Ok((column, facts))
    }

    fn column_facts(&mut self, table: &str, def: &ColumnDef, ty: &Type, serial: bool) -> Result<ColumnFacts> {
        let column = &def.name;
        let mut facts = ColumnFacts::default();
        let mut null: Option<bool> = None;
        if serial {
            facts.default = DefaultDef::Serial;
            facts.not_null = true;
        }
        for c in &def.constraints {
            let several = |what: &str| {
                syntax(format!("{what} specified for column \"{column}\" of table \"{table}\""), c.position)
            };
            match &c.kind {
                ConstraintKind::NotNull | ConstraintKind::Null => {
                    let is_null = matches!(c.kind, ConstraintKind::Null);
                    if null.is_some_and(|n| n != is_null) || (is_null && facts.not_null) {
                        let message = format!(
                            "conflicting NULL/NOT NULL declarations for column \"{column}\" of table \"{table}\""
                        );
                        return Err(syntax(message, c.position));
                    }
                    null = Some(is_null);
                    facts.not_null |= !is_null;
                }
                ConstraintKind::Default { expr, text } => {
                    match facts.default {
                        DefaultDef::None => {}
                        DefaultDef::Identity { .. } => return Err(several("both default and identity")),
                        DefaultDef::Generated(..) => {
                            return Err(several("both default and generation expression"));
                        }
                        _ => return Err(several("multiple default values")),
                    }
                    lowering::check_default(&self.catalog, column, ty, expr)?;
                    lowering::check_json_default(lowering::Made::by(&self.actor), ty, expr)?;
                    facts.default = DefaultDef::Expression(qualified_expression(&self.catalog, text)?);
                }
                ConstraintKind::Identity { always, options } => {
                    match facts.default {
                        DefaultDef::None => {}
                        DefaultDef::Identity { .. } => {
                            return Err(several("multiple identity specifications"));
                        }
                        DefaultDef::Generated(..) => {
                            return Err(several("both identity and generation expression"));
                        }
                        _ => return Err(several("both default and identity")),
                    }
                    check_identity_type(ty).map_err(|e| e.at(def.position))?;
                    if null == Some(true) {
                        let message = format!(
                            "conflicting NULL/NOT NULL declarations for column \"{column}\" of table \"{table}\""
                        );
                        return Err(syntax(message, c.position));
                    }
                    facts.not_null = true;
                    facts.default = DefaultDef::Identity { always: *always, options: options.clone() };
                }
                ConstraintKind::GeneratedStored { expr, text } => {
                    match facts.default {
                        DefaultDef::None => {}
                        DefaultDef::Identity { .. } => {
                            return Err(several("both identity and generation expression"));
                        }
                        DefaultDef::Generated(..) => return Err(several("multiple generation clauses")),
                        _ => return Err(several("both default and generation expression")),
                    }
                    facts.default = DefaultDef::Generated(expr.clone(), text.clone());
                }
                _ => facts.pending.push(column_constraint(c, column)?),
            }
        }
        Ok(facts)
    }

    /// Stores a column's default, making the sequence it may need.
    pub(super) fn set_default(&mut self, id: TableId, place: ColumnId, default: DefaultDef) -> Result<()> {
        let table = self.table_mut(id);
        let (schema, name) = (table.schema, table.name.clone());
        let column = table.columns[place.index()].clone();
        let owner = Some((id, place));
        let label =
            |change: &Self| names::relation_in(&change.catalog, schema, &name, &[&column.name], "seq");
        let default = match default {
            DefaultDef::None => ColumnDefault::None,
            DefaultDef::Expression(text) => ColumnDefault::Expression(text),
            DefaultDef::Generated(expr, text) => {
                lowering::check_generated(
                    &self.catalog,
                    self.catalog.table_by_id(id),
                    &column,
                    &expr,
                    lowering::Made::by(&self.actor),
                )?;
                ColumnDefault::Generated(qualified_expression(&self.catalog, &text)?)
            }
            DefaultDef::Serial => {
                let options = SequenceOptions::default();
                let sequence = self.add_sequence(schema, label(self), &options, &column.ty, owner, false)?;
                ColumnDefault::Sequence(sequence)
            }
            DefaultDef::Sequence(sequence) => ColumnDefault::Sequence(sequence),
            DefaultDef::Identity { always, options } => {
                let (schema, name) = match &options.name {
                    Some(name) => {
                        let (schema, local) = names::new(&self.catalog, name)?;
                        if self.catalog.relation_exists((schema, local)) {
                            return Err(names::relation_exists(local));
                        }
                        (schema, local.to_owned())
                    }
                    None => (schema, label(self)),
                };
                let sequence = self.add_sequence(schema, name, &options, &column.ty, owner, false)?;
                ColumnDefault::Identity { sequence, always }
            }
        };
        let computed_anew = matches!(default, ColumnDefault::Generated(_)) && !self.actor.reads_after;
        let column = &mut self.table_mut(id).columns[place.index()];
        (column.default, column.computed_anew) = (default, computed_anew);
        Ok(())
    }

    /// Adds a CHECK whose expression is known to be right.
    pub(super) fn add_check(
        &mut self,
        id: TableId,
        name: Option<&str>,
        expr: &planaria_syntax::ast::Expr,
        text: &str,
    ) -> Result<Promise> {
        let table = self.catalog.table_by_id(id);
        lowering::check_condition(&self.catalog, table, expr)?;
        let name = match name {
            Some(name) if table.has_constraint(name) => {
                return Err(names::constraint_exists(name, &table.name));
            }
            Some(name) => name.to_owned(),
            None => {
                let columns = super::depend::columns_of(table, expr);
                let column: Vec<&str> = match columns[..] {
                    [one] => vec![&table.columns[one.index()].name],
                    _ => Vec::new(),
                };
                names::constraint(&self.catalog, table, &column, "check")
            }
        };
        let check = planaria_catalog::Check {
            name: name.clone(),
            expression: qualified_expression(&self.catalog, text)?,
            not_valid: false,
            comment: None,
        };
        self.table_mut(id).checks.push(check);
        Ok(Promise::Check { table: id, name })
    }
}

/// Two CHECKs of one name within CREATE TABLE.
fn same_name(error: Error, name: Option<&str>) -> Error {
    match name {
        Some(name) if error.sqlstate() == SqlState::DUPLICATE_OBJECT => {
            let message = format!("check constraint \"{name}\" already exists");
            Error::new(SqlState::DUPLICATE_OBJECT, message)
        }
        _ => error,
    }
}

/// A constraint that stands at a column, on that column.
pub(super) fn column_constraint(c: &Constraint, column: &str) -> Result<Pending> {
    Pending::from_ast(c, Some(column))
}

/// A constraint that stands among the columns.
pub(super) fn table_constraint(c: &Constraint) -> Result<Pending> {
    Pending::from_ast(c, None)
}

/// A default that is NULL is none, as in PostgreSQL: but of a domain, which may have one itself, and of a type with a length, to
/// which NULL is converted.
pub(super) fn says_nothing(default: &Expr, ty: &Type, of_domain: bool) -> bool {
    matches!(default.kind, planaria_syntax::ast::ExprKind::Null)
        && !of_domain
        && match innermost(ty) {
            Type::Char(_) => false,
            // The digits of its seconds are given to what reads the constant.
            Type::Rounded(Clock::Interval | Clock::Fields(_), _) if !matches!(ty, Type::Array(_)) => true,
            ty => ty.base() == *ty,
        }
}

fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::Array(of) => innermost(of),
        _ => ty,
    }
}
