//! What changes of tables mean for partitions: actions of ALTER TABLE go from a partitioned table to those under it, and
//! what partitions ask of rows is written anew ([`Change::settle_partitions`]).

use super::alter::Rewrite;
use super::partition::{key_types, relation_text};
use super::table::DefaultDef;
use super::{Change, names};
use planaria_base::text_io::{quote_ident, quote_literal};
use planaria_base::{Error, Result, SqlState, TableId};
use planaria_catalog::{
    Check, CheckOption, CheckTime, ColumnDefault, IndexKey, Object, PartitionBound, Rights, RowRule,
    RuleKind, SUPERUSER, Table, View,
};
use planaria_syntax::ast::{AlterTable, ConstraintKind, Name, TriggerNames, TypeNameKind};

impl Change {
    /// What rows of the root meet that are a partition's.
    pub(super) fn condition_from_root(&self, id: TableId) -> Result<String> {
        let mut all = Vec::new();
        for table in self.catalog.partition_ancestors(id) {
            if let Some(partition) = &self.catalog.table_by_id(table).partition {
                all.push(partition.condition.clone());
            }
        }
        all.reverse();
        Ok(all.join(" AND "))
    }

    /// Writes anew what partitions say of rows: their conditions, the views that they are, and the rules of the roots.
    pub(super) fn settle_partitions(&mut self) -> Result<()> {
        let partitioned: Vec<TableId> =
            self.catalog.tables.definitions().filter(|t| t.is_partitioned()).map(|t| t.id).collect();
        for id in &partitioned {
            self.settle_conditions(*id)?;
        }
        for id in partitioned {
            if self.catalog.table_by_id(id).partition.is_none() {
                self.settle_root(id)?;
            }
        }
        Ok(())
    }

    /// The conditions of the partitions directly under a table.
    fn settle_conditions(&mut self, id: TableId) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let Some(types) = key_types(&self.catalog, table)? else { return Ok(()) };
        let shown = relation_text(&self.catalog, table);
        let mut conditions = Vec::new();
        let mut default = None;
        for partition in self.catalog.partitions_of(id) {
            let Some(of) = partition.partition.as_deref() else { continue };
            match of.bound {
                PartitionBound::Default => default = Some(partition.id),
                _ => conditions.push((partition.id, types.condition(&shown, &of.bound, &[]))),
            }
        }
        if let Some(default) = default {
            let bounds: Vec<&PartitionBound> = self
                .catalog
                .partitions_of(id)
                .filter_map(|t| t.partition.as_deref())
                .map(|p| &p.bound)
                .filter(|b| **b != PartitionBound::Default)
                .collect();
            let others: Vec<String> = match bounds.is_empty() {
                true => Vec::new(),
                false => types.any_condition(&shown, &bounds)?.into_iter().collect(),
            };
            conditions.push((default, types.condition(&shown, &PartitionBound::Default, &others)));
        }
        for (partition, condition) in conditions {
            let known = self.catalog.table_by_id(partition).partition.as_ref().map(|p| p.condition.as_str());
            if known != Some(condition.as_str())
                && let Some(partition) = &mut self.table_mut(partition).partition
            {
                partition.condition = condition;
            }
        }
        Ok(())
    }

    /// The views under a root, and its rules.
    fn settle_root(&mut self, root: TableId) -> Result<()> {
        let tree = self.catalog.partition_tree(root);
        let root_text = relation_text(&self.catalog, self.catalog.table_by_id(root));
        let mut rules = Vec::new();
        let mut leaves = Vec::new();
        for id in tree {
            let condition = self.condition_from_root(id)?;
            let table = self.catalog.table_by_id(id);
            let guarded = |expression: String| match id == root {
                true => expression,
                false => format!("CASE WHEN {condition} THEN {expression} END"),
            };
            if let Some(types) = key_types(&self.catalog, table)? {
                let bounds: Vec<&PartitionBound> = self
                    .catalog
                    .partitions_of(id)
                    .filter_map(|t| t.partition.as_deref())
                    .map(|p| &p.bound)
                    .collect();
                let shown = relation_text(&self.catalog, table);
                if let Some(found) = types.any_condition(&shown, &bounds)? {
                    let expression = guarded(found);
                    rules.push(RowRule { expression, kind: RuleKind::Route(id) });
                }
            } else if id != root {
                leaves.push((id, condition.clone()));
            }
            let Some(partition) = &table.partition else { continue };
            let parent = self.catalog.table_by_id(partition.of);
            for check in own_checks(table, parent) {
                let kind = RuleKind::Check { partition: id, name: check.name.clone() };
                rules.push(RowRule { expression: guarded(format!("({})", check.expression)), kind });
            }
            for (_, column) in table.visible() {
                let above = parent.column(&column.name).is_some_and(|(_, c)| c.not_null);
                if column.not_null && !above {
                    let kind = RuleKind::NotNull { partition: id, column: column.name.clone() };
                    let holds = format!("({} IS NOT NULL)", quote_ident(&column.name));
                    rules.push(RowRule { expression: guarded(holds), kind });
                }
            }
            let columns: Vec<String> = table.visible().map(|(_, c)| c.name.clone()).collect();
            let list: Vec<String> = columns.iter().map(|c| quote_ident(c)).collect();
            let query = format!("SELECT {} FROM {root_text} WHERE {condition}", list.join(", "));
            let mut slice =
                View::new(table.schema, table.name.clone(), columns, query, Rights::of(SUPERUSER));
            slice.check_option = Some(CheckOption::Local);
            for (_, column) in table.visible() {
                let of_root = self.catalog.table_by_id(root).column(&column.name).map(|(_, c)| &c.default);
                let text = match &column.default {
                    same if Some(same) == of_root => continue,
                    ColumnDefault::Expression(text) => text.clone(),
                    ColumnDefault::None => match of_root {
                        // A generated column is the root's to compute.
                        Some(ColumnDefault::Generated(_)) | None => continue,
                        Some(_) => "NULL".to_owned(),
                    },
                    ColumnDefault::Sequence(sequence) | ColumnDefault::Identity { sequence, .. } => {
                        let Some(sequence) = &self.catalog.sequences[sequence.index()] else { continue };
                        let name = format!(
                            "{}.{}",
                            quote_ident(self.catalog.schema_name(sequence.schema)),
                            quote_ident(&sequence.name)
                        );
                        format!("nextval({}::regclass)", quote_literal(&name))
                    }
                    ColumnDefault::Generated(_) => continue,
                };
                slice.defaults.insert(column.name.clone(), text);
            }
            if *slice_of(table) != slice
                && let Some(partition) = &mut self.table_mut(id).partition
            {
                partition.slice = slice;
            }
        }
        let table = self.catalog.table_by_id(root);
        if (table.row_rules() != rules || table.leaves() != leaves)
            && let Some(partitioning) = &mut self.table_mut(root).partitioning
        {
            partitioning.rules = rules;
            partitioning.leaves = leaves;
        }
        Ok(())
    }

    // ---- what a change of a table means for its partitions, and for what is above it ----

    /// Whether the rows of a partitioned table, or of what it is a partition of, fire no triggers, foreign keys among them.
    fn fires_nothing(&self, id: TableId) -> bool {
        let table = self.catalog.table_by_id(id);
        table.triggers.is_empty()
            && table.foreign_keys.is_empty()
            && self.catalog.references_to(id).next().is_none()
            && table.partition.as_ref().is_none_or(|p| self.fires_nothing(p.of))
    }

    /// 0A000 and the like for what cannot be done to a partition, or to a partitioned table.
    pub(super) fn check_partition_action(&self, id: TableId, action: &AlterTable) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let definition = |message: String| Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        let refused = |what: &str| {
            let message = format!("{what} of a single partition is not supported");
            Err(Error::unsupported(message, "Change the partitioned table."))
        };
        if let Some(partition) = &table.partition {
            let parent = self.catalog.table_by_id(partition.of);
            match action {
                AlterTable::AddColumn { .. } => {
                    let message = "cannot add column to a partition";
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                AlterTable::DropColumn { name, .. } if table.column(name).is_some() => {
                    return definition(format!("cannot drop inherited column \"{name}\""));
                }
                AlterTable::RenameColumn { from, .. } if table.column(from).is_some() => {
                    return definition(format!("cannot rename inherited column \"{from}\""));
                }
                AlterTable::SetType { column, .. } if table.column(column).is_some() => {
                    return definition(format!("cannot alter inherited column \"{column}\""));
                }
                AlterTable::SetNotNull { column, not_null: false }
                    if parent.column(column).is_some_and(|(_, c)| c.not_null) =>
                {
                    return definition(format!("column \"{column}\" is marked NOT NULL in parent table"));
                }
                AlterTable::DropConstraint { name, .. } => {
                    let at = table.indexes.iter().position(|i| i.constraint && i.name == *name);
                    let key = at.is_some_and(|at| self.catalog.parent_index(table, at).is_some());
                    if key || self.catalog.is_inherited_check(table, name) {
                        return definition(format!(
                            "cannot drop inherited constraint \"{name}\" of relation \"{}\"",
                            table.name
                        ));
                    }
                }
                AlterTable::RenameConstraint { from, .. } if self.catalog.is_inherited_check(table, from) => {
                    return definition(format!("cannot rename inherited constraint \"{from}\""));
                }
                AlterTable::AddConstraint(c) => match &c.kind {
                    ConstraintKind::ForeignKey { .. } => return refused("a foreign key"),
                    ConstraintKind::Exclude(_) => return refused("an exclusion constraint"),
                    _ => {}
                },
                AlterTable::AddIdentity { .. } | AlterTable::DropExpression { .. } => {
                    return refused("an identity or generated column");
                }
                AlterTable::RowSecurity(true) | AlterTable::ForceRowSecurity(true) => {
                    return refused("row-level security");
                }
                // Dumps say so of every table that they fill.
                AlterTable::EnableTrigger { names: TriggerNames::All | TriggerNames::User, .. }
                    if self.fires_nothing(partition.of) => {}
                AlterTable::EnableTrigger { names: TriggerNames::One(name), .. }
                    if self.trigger_from_above(table, name).is_none() => {}
                AlterTable::EnableTrigger { .. } => {
                    return refused("a trigger of the partitioned table, enabled or disabled");
                }
                _ => {}
            }
        }
        let Some(partitioning) = &table.partitioning else { return Ok(()) };
        let key = |name: &str| {
            partitioning.keys.iter().any(|k| match &k.column {
                Some(column) => column == name,
                None => super::depend::References::of_text(&k.text).is_ok_and(|r| r.columns.contains(name)),
            })
        };
        match action {
            AlterTable::DropColumn { name, .. } if key(name) => definition(format!(
                "cannot drop column \"{name}\" because it is part of the partition key of relation \"{}\"",
                table.name
            )),
            AlterTable::SetType { column, .. } if key(column) => definition(format!(
                "cannot alter column \"{column}\" because it is part of the partition key of relation \"{}\"",
                table.name
            )),
            AlterTable::AddConstraint(c) => match &c.kind {
                ConstraintKind::Exclude(_) => {
                    let message = "exclusion constraints are not supported on partitioned tables";
                    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(c.position))
                }
                _ if c.check != CheckTime::NotDeferrable => Err(waits().at(c.position)),
                ConstraintKind::UsingIndex { .. } => {
                    let message =
                        "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on partitioned tables";
                    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Keys of a partitioned table have its partition key in them; each is checked as it stands.
    pub(super) fn check_keys_of(&self, id: TableId) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let Some(partitioning) = &table.partitioning else { return Ok(()) };
        for (at, index) in table.indexes.iter().enumerate() {
            let own = at > 0 || table.has_primary_key;
            if index.check() != CheckTime::NotDeferrable {
                return Err(waits());
            }
            if !own || !index.unique {
                continue;
            }
            let kind = match (at, index.exclusion.is_some()) {
                (_, true) => {
                    let message = "exclusion constraints are not supported on partitioned tables";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                (0, _) => "PRIMARY KEY",
                _ => "UNIQUE",
            };
            if partitioning.keys.iter().any(|k| k.column.is_none()) {
                let message = format!("unsupported {kind} constraint with partition key definition");
                let detail =
                    format!("{kind} constraints cannot be used when partition keys include expressions.");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
            }
            for key in partitioning.keys.iter().filter_map(|k| k.column.as_deref()) {
                let has = |name: &str| match &index.definition {
                    Some(definition) => definition
                        .keys
                        .iter()
                        .any(|k| matches!(k, IndexKey::Column(c) if table.columns[c.index()].name == name)),
                    None => index.columns.iter().any(|c| table.columns[c.index()].name == name),
                };
                if !has(key) {
                    let message =
                        "unique constraint on partitioned table must include all partitioning columns";
                    let detail = format!(
                        "{kind} constraint on table \"{}\" lacks column \"{key}\" which is part of the partition key.",
                        table.name
                    );
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
                }
            }
        }
        Ok(())
    }

    /// A unique index that was made for a partition alone must be one of the root's, too.
    pub(super) fn check_indexes_of_partition(&self, id: TableId) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let Some(partition) = &table.partition else { return Ok(()) };
        let of = self.catalog.table_by_id(partition.of);
        let mut all = (0..table.index_count()).filter(|at| table.index_form(*at).is_some());
        all.try_for_each(|at| self.check_partition_index(of, table, at))
    }

    /// Carries an action of ALTER TABLE on to the partitions of the table.
    pub(super) fn pass_on(&mut self, id: TableId, action: &AlterTable, before: &Table) -> Result<()> {
        let partitions: Vec<TableId> = self.catalog.partitions_of(id).map(|t| t.id).collect();
        for partition in partitions {
            self.pass_on_to(partition, id, action, before)?;
        }
        Ok(())
    }

    fn pass_on_to(&mut self, to: TableId, of: TableId, action: &AlterTable, before: &Table) -> Result<()> {
        let table = self.catalog.table_by_id(to).clone();
        let parent = self.catalog.table_by_id(of).clone();
        let mut rewrite = Rewrite::of(&table);
        match action {
            AlterTable::AddColumn { column, if_not_exists } => {
                let mut column = column.clone();
                let Some((_, made)) = parent.column(&column.name) else { return Ok(()) };
                // It was there already, as was said.
                if *if_not_exists && before.column(&column.name).is_some() {
                    return Ok(());
                }
                let own_default = match &made.default {
                    ColumnDefault::Sequence(sequence) => Some(*sequence),
                    _ => None,
                };
                let numbered =
                    own_default.is_some() || matches!(made.default, ColumnDefault::Identity { .. });
                if numbered {
                    column.ty.kind = TypeNameKind::Known(made.ty.clone());
                    column.constraints.retain(|c| !matches!(c.kind, ConstraintKind::Identity { .. }));
                }
                // Keys and checks at the column come by themselves.
                column.constraints.retain(|c| {
                    !matches!(
                        c.kind,
                        ConstraintKind::PrimaryKey { .. }
                            | ConstraintKind::Unique { .. }
                            | ConstraintKind::Check { .. }
                            | ConstraintKind::ForeignKey { .. }
                    )
                });
                let name = column.name.clone();
                let action = AlterTable::AddColumn { column, if_not_exists: *if_not_exists };
                self.action(to, &action, &mut rewrite)?;
                let place = self.find_column(to, &name)?;
                if let Some(sequence) = own_default {
                    self.set_default(to, place, DefaultDef::Sequence(sequence))?;
                }
                if numbered {
                    self.table_mut(to).columns[place.index()].not_null = made.not_null;
                }
            }
            AlterTable::DropColumn { name, if_exists, .. } => {
                let action =
                    AlterTable::DropColumn { name: name.clone(), if_exists: *if_exists, cascade: true };
                if table.column(name).is_some() {
                    self.action(to, &action, &mut rewrite)?;
                }
            }
            AlterTable::SetDefault { column, .. } => {
                let place = self.find_column(to, column)?;
                let (_, made) =
                    parent.column(column).ok_or_else(|| Error::internal("a column of a parent"))?;
                self.table_mut(to).columns[place.index()].default = made.default.clone();
            }
            AlterTable::SetNotNull { column, not_null } => {
                let place = self.find_column(to, column)?;
                let primary = table.has_primary_key && table.indexes[0].columns.contains(&place);
                if *not_null || !primary {
                    self.action(to, action, &mut rewrite)?;
                }
            }
            AlterTable::SetType { .. }
            | AlterTable::DropExpression { .. }
            | AlterTable::RenameColumn { .. } => {
                self.action(to, action, &mut rewrite)?;
            }
            AlterTable::RenameConstraint { from, .. }
                if [&table, before].iter().all(|t| t.checks.iter().any(|c| c.name == *from)) =>
            {
                self.action(to, action, &mut rewrite)?;
            }
            AlterTable::DropConstraint { name, .. } => {
                let parent_index = before.indexes.iter().position(|i| i.constraint && i.name == *name);
                if let Some(at) = parent_index {
                    let form = before.index_form_of(at, self.actor.indexes_by_text);
                    let by_text = self.actor.indexes_by_text;
                    let own = (0..table.indexes.len()).find(|i| table.index_form_of(*i, by_text) == form);
                    if let Some(own) = own {
                        let name = table.indexes[own].name.clone();
                        let action = AlterTable::DropConstraint { name, if_exists: true, cascade: true };
                        self.action(to, &action, &mut rewrite)?;
                    }
                } else if before.checks.iter().any(|c| c.name == *name) {
                    let action =
                        AlterTable::DropConstraint { name: name.clone(), if_exists: true, cascade: true };
                    self.action(to, &action, &mut rewrite)?;
                }
            }
            AlterTable::ValidateConstraint(name) => {
                if let Some(check) = self.table_mut(to).checks.iter_mut().find(|c| c.name == *name) {
                    check.not_valid = false;
                }
            }
            _ => {}
        }
        // What the parent has now that its partition has not: keys, indexes, checks.
        for check in &parent.checks {
            if !before.checks.iter().any(|c| c.name == check.name)
                && !self.catalog.table_by_id(to).checks.iter().any(|c| c.name == check.name)
                && !matches!(action, AlterTable::RenameConstraint { .. })
            {
                self.table_mut(to).checks.push(check.clone());
            }
        }
        for name in not_null_now(before, &parent) {
            let place = self.find_column(to, &name)?;
            if !self.catalog.table_by_id(to).columns[place.index()].not_null {
                self.table_mut(to).columns[place.index()].not_null = true;
                rewrite.require();
            }
        }
        rewrite.promise_nothing();
        self.finish_alter(to, rewrite)?;
        self.inherit_indexes(to, of)?;
        self.pass_on(to, action, &table)
    }

    /// An index of a partitioned table that goes takes those of its partitions with it.
    pub(super) fn drop_partition_indexes(&mut self, id: TableId, before: &Table, name: &str) -> Result<()> {
        let Some(at) = before.all_indexes().position(|i| i.name == name) else { return Ok(()) };
        let form = before.index_form_of(at, self.actor.indexes_by_text);
        let partitions: Vec<TableId> = self.catalog.partitions_of(id).map(|t| t.id).collect();
        for partition in partitions {
            let table = self.catalog.table_by_id(partition).clone();
            let by_text = self.actor.indexes_by_text;
            if let Some(own) = (0..table.index_count()).find(|i| table.index_form_of(*i, by_text) == form) {
                let own = table.index_at(own).name.clone();
                self.drop_index(partition, &own)?;
                self.drop_partition_indexes(partition, &table, &own)?;
            }
        }
        Ok(())
    }

    /// CREATE INDEX on a partitioned table: on its partitions, too.
    pub(super) fn index_partitions(&mut self, id: TableId) -> Result<()> {
        let partitions: Vec<TableId> = self.catalog.partitions_of(id).map(|t| t.id).collect();
        for partition in partitions {
            self.inherit_indexes(partition, id)?;
            self.index_partitions(partition)?;
        }
        Ok(())
    }

    /// ALTER INDEX .. ATTACH PARTITION: an index that is defined alike is attached by that.
    pub(super) fn attach_index(&mut self, name: &Name, index: &Name) -> Result<&'static str> {
        let find = |change: &Self, name: &Name| -> Result<(TableId, usize)> {
            let wanted = names::own_relation(&change.catalog, name)?;
            let (table, at) = change.catalog.index(wanted).ok_or_else(|| names::no_relation(name))?;
            Ok((table.id, at.index()))
        };
        let (parent, own) = (find(self, name)?, find(self, index)?);
        self.catalog.require_owner(self.actor.user, &Object::Table(parent.0))?;
        let (above, table) = (self.catalog.table_by_id(parent.0), self.catalog.table_by_id(own.0));
        let (above_name, own_name) = (&above.index_at(parent.1).name, &table.index_at(own.1).name);
        let message = format!("cannot attach index \"{own_name}\" as a partition of index \"{above_name}\"");
        if table.partition.as_deref().is_none_or(|p| p.of != parent.0) {
            let detail =
                format!("Index \"{own_name}\" is not an index on any partition of table \"{}\".", above.name);
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_detail(detail));
        }
        let by_text = self.actor.indexes_by_text;
        if above.index_form_of(parent.1, by_text) != table.index_form_of(own.1, by_text) {
            let detail = "The index definitions do not match.";
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).with_detail(detail));
        }
        Ok("ALTER INDEX")
    }

    /// ONLY: what cannot be said of a partitioned table without its partitions.
    pub(super) fn check_only(&self, id: TableId, action: &AlterTable) -> Result<()> {
        if self.catalog.partitions_of(id).next().is_none() {
            return Ok(());
        }
        let definition = |message: &str| Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
        match action {
            AlterTable::AddColumn { .. } => definition("column must be added to child tables too"),
            AlterTable::DropColumn { .. } => {
                definition("cannot drop column from only the partitioned table when partitions exist")
                    .map_err(|e: Error| e.with_hint("Do not specify the ONLY keyword."))
            }
            AlterTable::RenameColumn { from, .. } => {
                definition(&format!("inherited column \"{from}\" must be renamed in child tables too"))
            }
            AlterTable::SetType { column, .. } => definition(&format!(
                "type of inherited column \"{column}\" must be changed in child tables too"
            )),
            AlterTable::SetNotNull { not_null: true, column } => {
                let all = self.catalog.partitions_of(id);
                let mut lacking = all.filter(|t| t.column(column).is_some_and(|(_, c)| !c.not_null));
                match lacking.next() {
                    Some(_) => definition("constraint must be added to child tables too")
                        .map_err(|e: Error| e.with_hint("Do not specify the ONLY keyword.")),
                    None => Ok(()),
                }
            }
            AlterTable::AddConstraint(c) if matches!(c.kind, ConstraintKind::Check { .. }) => {
                definition("constraint must be added to child tables too")
            }
            AlterTable::DropConstraint { name, .. }
                if self.catalog.table_by_id(id).checks.iter().any(|c| c.name == *name) =>
            {
                definition("cannot remove constraint from only the partitioned table when partitions exist")
                    .map_err(|e: Error| e.with_hint("Do not specify the ONLY keyword."))
            }
            _ => Ok(()),
        }
    }

    /// A table that is dropped: if it is a partition, its rows go; what is under it goes, too.
    pub(super) fn leave_root(&mut self, id: TableId) {
        let Some(table) = &self.catalog.tables[id.index()] else { return };
        let mut above = table.partition.as_ref().map(|p| p.of);
        let is_partition = above.is_some();
        let mut whole = true;
        while let Some(of) = above {
            match &self.catalog.tables[of.index()] {
                Some(table) => above = table.partition.as_ref().map(|p| p.of),
                None => (whole, above) = (false, None),
            }
        }
        if is_partition
            && whole
            && let Ok(condition) = self.condition_from_root(id)
        {
            let root = self.catalog.partition_root(id).id;
            self.leaving.push((root, condition));
        }
        let under: Vec<TableId> = self.catalog.partitions_of(id).map(|t| t.id).collect();
        for partition in under {
            self.table_mut(partition).partition = None;
            self.remove_table(partition);
        }
    }

    /// The rows of partitions that were dropped go from those roots that are still there.
    pub(super) fn let_rows_leave(&mut self) -> Result<()> {
        for (root, condition) in std::mem::take(&mut self.leaving) {
            if self.catalog.tables[root.index()].is_some() {
                self.remove_rows(root, &condition)?;
            }
        }
        Ok(())
    }
}

/// CHECKs that a partition has and the table above it has not.
fn own_checks<'t>(table: &'t Table, parent: &'t Table) -> impl Iterator<Item = &'t Check> {
    table.checks.iter().filter(|c| !parent.checks.iter().any(|p| p.name == c.name))
}

fn slice_of(table: &Table) -> &View {
    &table.partition.as_ref().expect("it is a partition").slice
}

/// Columns that have become NOT NULL.
fn not_null_now(before: &Table, now: &Table) -> Vec<String> {
    let was = |name: &str| before.column(name).is_none_or(|(_, c)| c.not_null);
    now.visible().filter(|(_, c)| c.not_null && !was(&c.name)).map(|(_, c)| c.name.clone()).collect()
}

/// 0A000 for a key of a partitioned table that is DEFERRABLE.
fn waits() -> Error {
    let message = "a deferrable key of a partitioned table is not supported";
    Error::unsupported(message, "Make it NOT DEFERRABLE.")
}
