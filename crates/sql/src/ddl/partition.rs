//! Partitioned tables: PARTITION BY, PARTITION OF, ATTACH, DETACH, and what goes from a table to its partitions.
//!
//! The rows are with the root, as the catalog's `partitions` says. So a table that is attached gives its rows to the root,
//! and one that is detached takes them from there: programs of the change, whose rows the log has with it. What partitions
//! ask of rows is written anew at the end of each change ([`Change::settle_partitions`]).

use super::alter::Rewrite;
use super::constraint::Pending;
use super::lowering::{self, Made};
use super::partition_bounds::{self, KeyTypes, is_key_type};
use super::{Change, Validation, Work, names, reparse};
use crate::lower::{self, ParamTypes, qualified_expression};
use planaria_base::text_io::quote_ident;
use planaria_base::{ColumnId, Error, Result, SqlState, TableId};
use planaria_catalog::{
    Catalog, CheckTime, ColumnDefault, Index, Object, Partition, PartitionBound, PartitionKey, Partitioning,
    ReferentialAction, Rights, SUPERUSER, Strategy, Table, View,
};
use planaria_syntax::ast::{
    ConstraintKind, CreateTable, IndexItem, Like, Name, PartitionBy, PartitionOf, PartitionSpec, Statement,
    StatementKind,
};

/// `schema.name`, as SQL.
pub(super) fn relation_text(catalog: &Catalog, table: &Table) -> String {
    format!("{}.{}", quote_ident(catalog.schema_name(table.schema)), quote_ident(&table.name))
}

/// The types of a partition key.
pub(super) fn key_types<'t>(catalog: &Catalog, table: &'t Table) -> Result<Option<KeyTypes<'t>>> {
    let Some(partitioning) = table.partitioning.as_deref() else { return Ok(None) };
    let mut types = Vec::new();
    for key in &partitioning.keys {
        types.push(match &key.column {
            Some(name) => {
                let column = table.column(name).ok_or_else(|| Error::internal("a key without its column"))?;
                column.1.ty.clone()
            }
            None => {
                let home = catalog.at_home();
                lowering::key_type(&home, table, &reparse::expression(&key.text)?)?
            }
        });
    }
    Ok(Some(KeyTypes { strategy: partitioning.strategy, keys: &partitioning.keys, types }))
}

/// The types of a table's partition key.
pub fn partition_key_types(catalog: &Catalog, table: &Table) -> Option<Vec<planaria_base::Type>> {
    key_types(catalog, table).ok()?.map(|types| types.types)
}

/// A partition's bound as `pg_get_expr` shows it.
pub fn partition_bound_text(catalog: &Catalog, table: &Table) -> Option<String> {
    let partition = table.partition.as_deref()?;
    let parent = catalog.table_by_id(partition.of);
    let types = key_types(catalog, parent).ok()??.types;
    Some(partition_bounds::bound_text(&partition.bound, &types))
}

/// What the rows of a partition meet, as `pg_get_partition_constraintdef` has it.
pub fn partition_condition_text(catalog: &Catalog, table: &Table) -> Option<String> {
    let mut all = Vec::new();
    for id in catalog.partition_ancestors(table.id) {
        all.extend(catalog.table_by_id(id).partition.as_ref().map(|p| p.condition.clone()));
    }
    all.reverse();
    (!all.is_empty()).then(|| all.join(" AND "))
}

impl Change {
    // ---- definitions ----

    /// The key of CREATE TABLE .. PARTITION BY.
    pub(super) fn partition_by(&mut self, id: TableId, by: &PartitionBy) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        if by.strategy == Strategy::List && by.keys.len() > 1 {
            let message = "cannot use \"list\" partition strategy with more than one column";
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        if self.catalog.is_temporary(table.schema) {
            let message = "a temporary partitioned table is not supported";
            return Err(Error::unsupported(message, "Leave out PARTITION BY.").at(by.position));
        }
        let mut keys = Vec::new();
        for (item, position) in &by.keys {
            let (key, ty) = match item {
                IndexItem::Column(name) => {
                    let Some((_, column)) = table.column(name) else {
                        let message = format!("column \"{name}\" named in partition key does not exist");
                        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(*position));
                    };
                    if column.generated().is_some() {
                        let message = "cannot use generated column in partition key";
                        let detail = format!("Column \"{name}\" is a generated column.");
                        return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
                            .with_detail(detail)
                            .at(*position));
                    }
                    (PartitionKey { text: quote_ident(name), column: Some(name.clone()) }, column.ty.clone())
                }
                IndexItem::Expression(expr, text) => {
                    let made = Made::by(&self.actor);
                    let ty =
                        lowering::index_expression(&self.catalog, table, expr, made).map_err(|mut e| {
                            if e.sqlstate() == SqlState::INVALID_OBJECT_DEFINITION {
                                e = Error::new(
                                    SqlState::INVALID_OBJECT_DEFINITION,
                                    "functions in partition key expression must be marked IMMUTABLE",
                                );
                            }
                            e
                        })?;
                    (PartitionKey { text: qualified_expression(&self.catalog, text)?, column: None }, ty)
                }
            };
            if !is_key_type(&ty, by.strategy) {
                let message = format!("a {} partition key of type {ty} is not supported", by.strategy.name());
                return Err(Error::unsupported(message, "docs/sql.md lists the types.").at(*position));
            }
            keys.push(key);
        }
        self.table_mut(id).partitioning = Some(Box::new(Partitioning {
            strategy: by.strategy,
            keys,
            rules: Vec::new(),
            leaves: Vec::new(),
        }));
        Ok(())
    }

    /// The rows of a partition are found by an index over the key, where no other begins with it: one that nobody sees.
    /// Its name has a blank, as that of the row id's.
    pub(super) fn add_partition_index(&mut self, id: TableId) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let Some(partitioning) = table.partitioning.as_deref() else { return Ok(()) };
        let columns: Vec<ColumnId> = partitioning
            .keys
            .iter()
            .map_while(|k| k.column.as_deref().and_then(|name| table.column(name)).map(|(id, _)| id))
            .collect();
        let served = |first: &ColumnId| {
            table.indexes.iter().any(|i| i.definition.is_none() && i.columns.first() == Some(first))
        };
        let Some(first) = columns.first() else { return Ok(()) };
        if partitioning.strategy == Strategy::Hash || served(first) {
            return Ok(());
        }
        let mut index = Index::new(format!("{} partition key", table.name), columns, false, false);
        index.hidden = true;
        let place = self.push_index(id, index)?;
        self.out.work.push(Work::CreateIndex(id, place));
        Ok(())
    }

    /// CREATE TABLE .. PARTITION OF as the table it makes: the parent's columns, checks and keys.
    pub(super) fn as_partition(&self, create: &CreateTable, of: &PartitionOf) -> Result<CreateTable> {
        let parent = self.partitioned_parent(&of.parent)?;
        let own = CreateTable { partition_of: None, ..create.clone() };
        let parts = vec![self.catalog.schema_name(parent.schema).to_owned(), parent.name.clone()];
        let like = Like {
            table: Name { parts, position: of.parent.position },
            place: 0,
            comments: false,
            constraints: true,
            defaults: true,
            generated: true,
            identity: false,
            indexes: false,
            statistics: false,
            storage: true,
            compression: true,
        };
        let mut out = CreateTable { likes: vec![like], ..own };
        for (_, _, constraints) in &of.columns {
            for constraint in constraints {
                if let ConstraintKind::Identity { .. } | ConstraintKind::GeneratedStored { .. } =
                    constraint.kind
                {
                    let message = "an identity or generated column of a single partition is not supported";
                    let hint = "Say it of the partitioned table.";
                    return Err(Error::unsupported(message, hint).at(constraint.position));
                }
            }
        }
        out.partition_of = None;
        Ok(out)
    }

    /// What PARTITION OF says of single columns.
    pub(super) fn partition_columns(&self, create: &mut CreateTable, of: &PartitionOf) -> Result<()> {
        for (name, position, constraints) in &of.columns {
            let Some(column) = create.columns.iter_mut().find(|c| c.name == *name) else {
                let message = format!("column \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(*position));
            };
            for constraint in constraints {
                if matches!(constraint.kind, ConstraintKind::Default { .. }) {
                    column.constraints.retain(|c| !matches!(c.kind, ConstraintKind::Default { .. }));
                }
                let again = matches!(constraint.kind, ConstraintKind::NotNull)
                    && column.constraints.iter().any(|c| matches!(c.kind, ConstraintKind::NotNull));
                if !again {
                    column.constraints.push(constraint.clone());
                }
            }
        }
        Ok(())
    }

    /// The table that a partition is to be of.
    fn partitioned_parent(&self, name: &Name) -> Result<&Table> {
        let parent = names::table(&self.catalog, name)?;
        self.catalog.require_owner(self.actor.user, &Object::Table(parent.id))?;
        if !parent.is_partitioned() {
            let message = format!("\"{}\" is not partitioned", parent.name);
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        Ok(parent)
    }

    /// A table that was just made becomes a partition; it has no rows.
    pub(super) fn become_partition(&mut self, id: TableId, of: &PartitionOf) -> Result<()> {
        let parent = self.partitioned_parent(&of.parent)?;
        if self.catalog.is_temporary(self.catalog.table_by_id(id).schema) {
            let message = format!(
                "cannot create a temporary relation as partition of permanent relation \"{}\"",
                parent.name
            );
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let parent = parent.id;
        // An identity column of the parent's is NOT NULL, and no more.
        let identities: Vec<String> = self
            .catalog
            .table_by_id(parent)
            .visible()
            .filter(|(_, c)| matches!(c.default, ColumnDefault::Identity { .. }))
            .map(|(_, c)| c.name.clone())
            .collect();
        for column in &mut self.table_mut(id).columns {
            column.not_null |= identities.contains(&column.name);
        }
        self.mark_partition(id, parent, &of.bound)?;
        self.inherit_indexes(id, parent)?;
        Ok(())
    }

    /// Checks a bound against the others, and puts it down.
    fn mark_partition(&mut self, id: TableId, parent: TableId, spec: &PartitionSpec) -> Result<()> {
        let (table, of) = (self.catalog.table_by_id(id), self.catalog.table_by_id(parent));
        let types = key_types(&self.catalog, of)?.ok_or_else(|| Error::internal("no partition key"))?;
        let bound = types.bound(spec, &table.name, &of.name)?;
        let mut default = None;
        let mut moduli = Vec::new();
        for other in self.catalog.partitions_of(parent).filter(|t| t.id != id) {
            let Some(partition) = other.partition.as_deref() else { continue };
            if partition.bound == PartitionBound::Default {
                if bound == PartitionBound::Default {
                    let message = format!(
                        "partition \"{}\" conflicts with existing default partition \"{}\"",
                        table.name, other.name
                    );
                    return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).at(spec.position));
                }
                default = Some(other.id);
            }
            if let PartitionBound::Hash { modulus, .. } = partition.bound {
                moduli.push((modulus, other.name.clone()));
            }
        }
        if let PartitionBound::Hash { modulus, .. } = bound {
            check_modulus(modulus, moduli)?;
        }
        for other in self.catalog.partitions_of(parent).filter(|t| t.id != id) {
            let Some(partition) = other.partition.as_deref() else { continue };
            if types.overlap(&bound, &partition.bound)? {
                let message =
                    format!("partition \"{}\" would overlap partition \"{}\"", table.name, other.name);
                return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).at(spec.position));
            }
        }
        let slice =
            View::new(table.schema, table.name.clone(), Vec::new(), String::new(), Rights::of(SUPERUSER));
        if let Some(default) = default {
            let condition = types.condition(&relation_text(&self.catalog, of), &bound, &[]);
            self.spare_default(default, &condition)?;
        }
        let partition = Partition { of: parent, bound, condition: String::new(), slice };
        self.table_mut(id).partition = Some(Box::new(partition));
        self.settle_partitions()
    }

    /// Rows of the default partition must not be those of a new one.
    fn spare_default(&mut self, default: TableId, condition: &str) -> Result<()> {
        let table = self.catalog.table_by_id(default);
        let text = format!(
            "SELECT NULL::text FROM {} WHERE {condition} LIMIT 1",
            relation_text(&self.catalog, table)
        );
        let message = format!(
            "updated partition constraint for default partition \"{}\" would be violated by some row",
            table.name
        );
        let mut error = Error::new(SqlState::CHECK_VIOLATION, message);
        error.fields_mut().table = Some(table.name.clone());
        let catalog = self.catalog.at_home().into_owned();
        self.require_none(&catalog, &text, error)
    }

    /// A query that must give no row.
    fn require_none(&mut self, catalog: &Catalog, text: &str, error: Error) -> Result<()> {
        let kind = StatementKind::Query(Box::new(reparse::query(text)?));
        let statement = Statement { position: 0, end: 0, kind };
        let program = lower::lower_statement(catalog, &statement, &ParamTypes::default())?;
        self.out.work.push(Work::Validate(Box::new(Validation { program, error })));
        Ok(())
    }

    /// Indexes, keys and unique constraints of the parent, which the partition has not yet.
    pub(super) fn inherit_indexes(&mut self, id: TableId, parent: TableId) -> Result<()> {
        let of = self.catalog.table_by_id(parent).clone();
        let by_text = self.actor.indexes_by_text;
        let mut mine: Vec<_> = {
            let table = self.catalog.table_by_id(id);
            (0..table.index_count()).filter_map(|at| table.index_form_of(at, by_text)).collect()
        };
        let outer = self.indexing.replace((id, Rewrite::of(self.catalog.table_by_id(id))));
        for at in 0..of.index_count() {
            let Some(form) = of.index_form_of(at, by_text) else { continue };
            if let Some(place) = mine.iter().position(|own| *own == form) {
                mine.remove(place);
                continue;
            }
            self.inherit_index(id, &of, at)?;
        }
        if let Some((_, rewrite)) = std::mem::replace(&mut self.indexing, outer) {
            self.finish_alter(id, rewrite)?;
        }
        // One that has partitions of its own: what its parent has as keys must have its partition key, too. A log of a
        // program that did not ask has what it has.
        if self.actor.internal { Ok(()) } else { self.check_keys_of(id) }
    }

    /// Makes an index of the parent's for a partition, under a name of its own.
    fn inherit_index(&mut self, id: TableId, of: &Table, at: usize) -> Result<()> {
        let index = of.index_at(at);
        let table = self.catalog.table_by_id(id);
        let parts = vec![self.catalog.schema_name(table.schema).to_owned(), table.name.clone()];
        let name = Name { parts, position: 0 };
        if index.constraint {
            let columns = index.columns.iter().map(|c| of.columns[c.index()].name.clone()).collect();
            let primary = at == 0;
            let key = super::constraint::Key {
                name: None,
                columns,
                included: Vec::new(),
                primary,
                equal_nulls: index.equal_nulls,
                check: CheckTime::NotDeferrable,
                position: 0,
            };
            let Some((of, mut rewrite)) = self.indexing.take() else {
                return Err(Error::internal("an index that is inherited alone"));
            };
            let added = self.add_pending(id, Pending::Key(key), false, &mut rewrite);
            self.indexing = Some((of, rewrite));
            return added.map(drop);
        }
        for create in self.indexes_like(of, at, &name)? {
            self.create_index(&create)?;
        }
        Ok(())
    }

    // ---- ATTACH and DETACH ----

    pub(super) fn attach(&mut self, parent: TableId, name: &Name, spec: &PartitionSpec) -> Result<()> {
        let of = self.catalog.table_by_id(parent).clone();
        if !of.is_partitioned() {
            let message = format!("table \"{}\" is not partitioned", of.name);
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        let table = names::table(&self.catalog, name)?.clone();
        let id = table.id;
        self.catalog.require_owner(self.actor.user, &Object::Table(id))?;
        if table.partition.is_some() {
            let message = format!("\"{}\" is already a partition", table.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if self.catalog.partition_ancestors(parent).contains(&id) {
            let message = "circular inheritance not allowed";
            let detail = format!("\"{}\" is already a child of \"{}\".", of.name, table.name);
            return Err(Error::new(SqlState::DUPLICATE_TABLE, message).with_detail(detail));
        }
        self.check_attachable(&table, &of)?;
        // The tables whose rows move, as they were.
        let before = self.catalog.clone();
        self.table_mut(id).foreign_keys.clear();
        self.mark_partition(id, parent, spec)?;
        self.inherit_indexes(id, parent)?;
        self.settle_partitions()?;
        let root = self.catalog.partition_root(id).id;
        let condition = self.condition_from_root(id)?;
        let shown = relation_text(&before, &table);
        let text = format!("SELECT NULL::text FROM {shown} WHERE ({condition}) IS NOT TRUE LIMIT 1");
        let message = format!("partition constraint of relation \"{}\" is violated by some row", table.name);
        // Names of what is to be read are those of before: the table itself has the rows.
        let loose = self.without_slices(&[id]);
        let mut error = Error::new(SqlState::CHECK_VIOLATION, message);
        error.fields_mut().table = Some(table.name.clone());
        self.require_none(&loose, &text, error)?;
        self.move_rows(id, root, None)
    }

    /// What a table must have to become a partition, and must not have.
    fn check_attachable(&mut self, table: &Table, of: &Table) -> Result<()> {
        if self.catalog.is_temporary(table.schema) {
            let message = format!(
                "cannot attach a temporary relation as partition of permanent relation \"{}\"",
                of.name
            );
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        for (_, column) in table.visible() {
            if of.column(&column.name).is_none() {
                let message = format!(
                    "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
                    table.name, column.name, of.name
                );
                let detail = "The new partition may contain only the columns present in parent.";
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail));
            }
        }
        for (_, column) in of.visible() {
            let Some((_, own)) = table.column(&column.name) else {
                let message = format!("child table is missing column \"{}\"", column.name);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            };
            if own.ty != column.ty || own.domain != column.domain {
                let message = format!(
                    "child table \"{}\" has different type for column \"{}\"",
                    table.name, column.name
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            if column.not_null && !own.not_null {
                let message = format!("column \"{}\" in child table must be marked NOT NULL", column.name);
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            if column.generated().is_some() != own.generated().is_some() {
                let message = match column.generated() {
                    Some(_) => {
                        format!("column \"{}\" in child table must be a generated column", column.name)
                    }
                    None => {
                        format!("column \"{}\" in child table must not be a generated column", column.name)
                    }
                };
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
            if column.generated() != own.generated() {
                let message = format!(
                    "column \"{}\" of \"{}\" is computed otherwise than that of \"{}\"",
                    column.name, table.name, of.name
                );
                return Err(Error::unsupported(message, "Compute it by the same expression."));
            }
        }
        for check in &of.checks {
            match table.checks.iter().find(|c| c.name == check.name) {
                None => {
                    let message = format!("child table is missing constraint \"{}\"", check.name);
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
                }
                Some(own) if !same_text(&own.expression, &check.expression)? => {
                    let message = format!(
                        "child table \"{}\" has different definition for check constraint \"{}\"",
                        table.name, check.name
                    );
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
                }
                Some(_) => {}
            }
        }
        let refused = |what: &str, hint: &str| {
            Err(Error::unsupported(format!("{what} of a single partition is not supported"), hint))
        };
        if self.catalog.references_to(table.id).next().is_some() {
            return refused("a foreign key to a table", "Refer to the partitioned table.")
                .map_err(|e: Error| e.with_detail(format!("\"{}\" is referred to.", table.name)));
        }
        let root = self.catalog.partition_root(of.id);
        for key in &table.foreign_keys {
            let of_parent = root.foreign_keys.iter().any(|k| {
                let columns = |t: &Table, c: &[ColumnId]| -> Vec<String> {
                    c.iter().map(|c| t.columns[c.index()].name.clone()).collect()
                };
                k.parent == key.parent
                    && k.parent_columns == key.parent_columns
                    && columns(root, &k.columns) == columns(table, &key.columns)
            });
            if !of_parent {
                return refused("a foreign key", "Give it to the partitioned table, or drop it.");
            }
        }
        self.check_triggers_of_partition(table, of)?;
        if table.row_security || !table.policies.is_empty() {
            return refused("row-level security", "Give it to the partitioned table, or drop it.");
        }
        for at in 0..table.index_count() {
            if table.index_form(at).is_some() {
                self.check_partition_index(of, table, at)?;
            }
        }
        Ok(())
    }

    /// 0A000 for an index of a partition that would keep rows apart which the root's indexes do not.
    pub(super) fn check_partition_index(&self, of: &Table, table: &Table, at: usize) -> Result<()> {
        let index = table.index_at(at);
        if !index.unique && index.exclusion.is_none() {
            return Ok(());
        }
        let columns = |t: &Table, index: &Index| -> Vec<String> {
            let mut all: Vec<String> =
                index.columns.iter().map(|c| t.columns[c.index()].name.clone()).collect();
            all.sort_unstable();
            all
        };
        let plain = |index: &Index| index.definition.is_none() && index.exclusion.is_none();
        let own = columns(table, index);
        let root = self.catalog.partition_root(of.id);
        let covered = plain(index)
            && root.indexes.iter().any(|i| {
                i.unique && plain(i) && (i.equal_nulls || !index.equal_nulls) && {
                    columns(root, i).iter().all(|c| own.contains(c))
                }
            });
        // One over expressions or some of the rows that the root has as well is kept there.
        let form = table.index_form(at);
        let of_root = form.is_some() && (0..root.index_count()).any(|at| root.index_form(at) == form);
        if covered || of_root {
            return Ok(());
        }
        let message = format!("unique index \"{}\" of a single partition is not supported", index.name);
        Err(Error::unsupported(message, "Create it on the partitioned table."))
    }

    pub(super) fn detach(&mut self, parent: TableId, name: &Name) -> Result<()> {
        let of = self.catalog.table_by_id(parent);
        if !of.is_partitioned() {
            let message =
                format!("ALTER action DETACH PARTITION cannot be performed on relation \"{}\"", of.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                .with_detail("This operation is not supported for tables."));
        }
        let (parent_name, id) = (of.name.clone(), names::table(&self.catalog, name)?.id);
        let table = self.catalog.table_by_id(id);
        if table.partition.as_deref().is_none_or(|p| p.of != parent) {
            let message =
                format!("relation \"{}\" is not a partition of relation \"{parent_name}\"", table.name);
            return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
        }
        let condition = self.condition_from_root(id)?;
        let root = self.catalog.partition_root(id).clone();
        self.table_mut(id).partition = None;
        self.keep_foreign_keys(id, &root);
        self.settle_partitions()?;
        self.move_rows(root.id, id, Some(&condition))
    }

    /// A table that is not a partition any more has the foreign keys of the root itself.
    fn keep_foreign_keys(&mut self, id: TableId, root: &Table) {
        let table = self.catalog.table_by_id(id);
        let mut keys = Vec::new();
        for key in &root.foreign_keys {
            let mut own = key.clone();
            let place = |c: &ColumnId| table.column(&root.columns[c.index()].name).map(|(id, _)| id);
            own.columns = key.columns.iter().filter_map(place).collect();
            own.set_columns = key.set_columns.iter().filter_map(place).collect();
            keys.push(own);
        }
        self.table_mut(id).foreign_keys = keys;
    }

    /// Moves rows from one table to another: all, or those that meet a condition. No trigger sees it.
    fn move_rows(&mut self, from: TableId, to: TableId, condition: Option<&str>) -> Result<()> {
        let mut catalog = self.without_slices(&[from, to]);
        // Rows of the root have met all that it asks for; those that come to it are looked at.
        let strip = |table: &mut Table, keeps: bool| {
            table.triggers.clear();
            table.row_security = false;
            if let Some(partitioning) = &mut table.partitioning {
                partitioning.rules.clear();
                partitioning.leaves.clear();
            }
            if !keeps {
                table.checks.clear();
                table.foreign_keys.clear();
            }
        };
        for (id, keeps) in [(from, false), (to, condition.is_none())] {
            if let Some(table) = &mut catalog.tables[id.index()] {
                strip(table, keeps);
            }
        }
        self.restrict_references(&mut catalog, from);
        let (source, target) = (catalog.table_by_id(from), catalog.table_by_id(to));
        let columns: Vec<String> = target
            .visible()
            .filter(|(_, c)| c.generated().is_none())
            .map(|(_, c)| quote_ident(&c.name))
            .collect();
        let filter = condition.map_or(String::new(), |c| format!(" WHERE {c}"));
        let (from_text, to_text) = (relation_text(&catalog, source), relation_text(&catalog, target));
        let list = columns.join(", ");
        self.run_later(
            &catalog,
            to,
            &format!(
                "INSERT INTO {to_text} ({list}) OVERRIDING SYSTEM VALUE SELECT {list} FROM {from_text}{filter}"
            ),
        )?;
        self.run_later(&catalog, from, &format!("DELETE FROM {from_text}{filter}"))
    }

    /// Rows that others refer to do not go.
    fn restrict_references(&self, catalog: &mut Catalog, parent: TableId) {
        let referring: Vec<TableId> = catalog.references_to(parent).map(|(t, _)| t.id).collect();
        for id in referring {
            if let Some(table) = &mut catalog.tables[id.index()] {
                for key in table.foreign_keys.iter_mut().filter(|k| k.parent == parent) {
                    key.on_delete = ReferentialAction::Restrict;
                }
            }
        }
    }

    /// A statement that changes rows, carried out with the change.
    fn run_later(&mut self, catalog: &Catalog, table: TableId, text: &str) -> Result<()> {
        let catalog = catalog.at_home();
        let statement = planaria_syntax::parse::statements(text)?
            .pop()
            .ok_or_else(|| Error::internal("a change of rows without a statement"))?;
        let lowered = lower::lower_logged(&catalog, &statement, SUPERUSER)?;
        self.out.work.push(Work::Fill(table, Box::new(lowered.program)));
        Ok(())
    }

    /// The catalog in which tables are read and changed as their storage is.
    fn without_slices(&self, tables: &[TableId]) -> Catalog {
        let mut catalog = self.catalog.at_home().into_owned();
        for id in tables {
            if let Some(table) = &mut catalog.tables[id.index()] {
                table.partition = None;
            }
        }
        catalog
    }

    /// The rows of a partition that is dropped or emptied go.
    pub(super) fn empty_partition(&mut self, id: TableId) -> Result<()> {
        let condition = self.condition_from_root(id)?;
        let root = self.catalog.partition_root(id).id;
        self.remove_rows(root, &condition)
    }

    /// Rows of a root go; no trigger sees it.
    pub(super) fn remove_rows(&mut self, root: TableId, condition: &str) -> Result<()> {
        let mut catalog = self.without_slices(&[root]);
        let leaves: Vec<TableId> =
            self.catalog.leaves_with_triggers(self.catalog.table_by_id(root)).map(|t| t.id).collect();
        for id in leaves.into_iter().chain([root]) {
            if let Some(table) = &mut catalog.tables[id.index()] {
                table.triggers.clear();
            }
        }
        if let Some(table) = &mut catalog.tables[root.index()] {
            table.row_security = false;
        }
        self.restrict_references(&mut catalog, root);
        let text = relation_text(&catalog, catalog.table_by_id(root));
        self.run_later(&catalog, root, &format!("DELETE FROM {text} WHERE {condition}"))
    }
}

/// Whether two expressions that are kept are the same.
fn same_text(a: &str, b: &str) -> Result<bool> {
    let tree = |text: &str| reparse::expression(text).map(|e| e.shape());
    Ok(a == b || tree(a)? == tree(b)?)
}

/// Each modulus divides the next larger one.
fn check_modulus(modulus: u32, mut others: Vec<(u32, String)>) -> Result<()> {
    others.sort();
    let message = "every hash partition modulus must be a factor of the next larger modulus";
    let refused =
        |detail: String| Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).with_detail(detail));
    if let Some((smaller, name)) = others.iter().rev().find(|(m, _)| *m <= modulus)
        && !modulus.is_multiple_of(*smaller)
    {
        return refused(format!(
            "The new modulus {modulus} is not divisible by {smaller}, the modulus of existing partition \"{name}\"."
        ));
    }
    if let Some((larger, name)) = others.iter().find(|(m, _)| *m > modulus)
        && !larger.is_multiple_of(modulus)
    {
        return refused(format!(
            "The new modulus {modulus} is not a factor of {larger}, the modulus of existing partition \"{name}\"."
        ));
    }
    Ok(())
}
