//! CREATE, ALTER and DROP TRIGGER.
//!
//! A new trigger gets a routine for each event that fires it (`planaria_catalog::Trigger`); what a routine does is
//! lowered when a program that writes the table calls it. What is not there yet is refused here, never when it fires.

use super::{Change, lowering, names};
use crate::lower::check_trigger_condition;
use planaria_base::{ColumnId, Error, ProcedureId, Result, SqlState, TableId};
use planaria_catalog::oids::Object as Oid;
use planaria_catalog::{
    Column, ColumnDefault, Firing, Object, Privileges, Procedure, Requirement, Returns, Rights, Table,
    Trigger, TriggerEnabled, TriggerEvent, TriggerTime, View, Volatility,
};
use planaria_syntax::ast::{CreateTrigger, Name, TriggerNames, TriggerTiming};

fn undefined(name: &str, table: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("trigger \"{name}\" for table \"{table}\" does not exist"))
}

/// PostgreSQL's own functions of triggers.
const TRIGGER_FUNCTIONS: [&str; 3] =
    ["tsvector_update_trigger", "tsvector_update_trigger_column", "suppress_redundant_updates_trigger"];

impl Change {
    pub(super) fn create_trigger(&mut self, create: &CreateTrigger) -> Result<&'static str> {
        let table = self.trigger_table(create)?;
        let on = TriggersOf::of(&table);
        self.require(&Requirement::new(on.object(), Privileges::TRIGGER))?;
        refuse_missing(create)?;
        let transitions = transitions(create)?;
        if table.partition.is_some() {
            let what = match create {
                _ if table.is_partitioned() => "a trigger of a partitioned partition",
                _ if create.events.contains(&TriggerEvent::Truncate) => {
                    "a TRUNCATE trigger of a single partition"
                }
                _ if create.each_row || create.transitions.is_empty() => "",
                _ => "a transition table of a single partition",
            };
            if !what.is_empty() {
                let message = format!("{what} is not supported");
                return Err(Error::unsupported(message, "Define it on the partitioned table."));
            }
            if create.each_row && !create.transitions.is_empty() {
                let message = "ROW triggers with transition tables are not supported on partitions";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
        if create.each_row
            && table.is_partitioned()
            && !self.actor.internal
            && (transitions.0.is_some() || transitions.1.is_some())
        {
            let message = format!("\"{}\" is a partitioned table", table.name);
            let detail = "ROW triggers with transition tables are not supported on partitioned tables.";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_detail(detail)
                .at(create.table.position));
        }
        if let Some((expr, _)) = &create.condition {
            lowering::restrict(expr, lowering::Place::TriggerCondition)?;
            check_trigger_condition(&self.catalog.ready(), &table, create)?;
        }
        let function = self.trigger_function(&create.function)?;
        self.require(&Requirement::new(Object::Routine(function), Privileges::EXECUTE))?;
        let (name, function_name) = (&create.function.parts.join("."), self.catalog.procedure(function));
        if function_name.returns != Returns::Trigger {
            let message = format!("function {name} must return type trigger");
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        if self.trigger_from_above(&table, &create.name).is_some() {
            let what = match create.or_replace {
                true => "is an internal or a child trigger",
                false => "already exists",
            };
            let message = format!("trigger \"{}\" for relation \"{}\" {what}", create.name, table.name);
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        if create.each_row && table.is_partitioned() {
            self.free_in_partitions(&table, &create.name, create.or_replace)?;
        }
        let old = table.trigger(&create.name);
        if let Some(old) = old {
            let relation = &table.name;
            if !create.or_replace {
                let message =
                    format!("trigger \"{}\" for relation \"{relation}\" already exists", create.name);
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            if old.constraint.is_some() {
                let message = format!(
                    "trigger \"{}\" for relation \"{relation}\" is a constraint trigger",
                    create.name
                );
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
        }
        let mut columns: Vec<ColumnId> = Vec::new();
        for (column, position) in &create.columns {
            let Some((id, _)) = table.column(column) else {
                let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(*position));
            };
            if columns.contains(&id) {
                let message = format!("column \"{column}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(*position));
            }
            columns.push(id);
        }
        let events = TriggerEvent::ALL.into_iter().filter(|e| create.events.contains(e));
        let firings =
            events.map(|event| Firing { event, routine: self.trigger_routine(&on, function) }).collect();
        let condition = create
            .condition
            .as_ref()
            .map(|(_, text)| crate::lower::qualified_expression(&self.catalog, text));
        let trigger = Trigger {
            name: create.name.clone(),
            function,
            time: match create.timing {
                TriggerTiming::Before => TriggerTime::Before,
                TriggerTiming::After => TriggerTime::After,
                TriggerTiming::InsteadOf => TriggerTime::InsteadOf,
            },
            each_row: create.each_row,
            firings,
            columns,
            condition: condition.transpose()?,
            arguments: create.arguments.clone(),
            constraint: create.constraint,
            new_table: transitions.0,
            old_table: transitions.1,
            enabled: TriggerEnabled::default(),
            comment: old.and_then(|old| old.comment.clone()),
            knows_absent_rows: !self.actor.rows_of_nulls,
            routes_first: !self.actor.routes_late,
        };
        if let TriggersOf::View(view) = &on
            && let Some(view) = self.catalog.views.get_mut(view)
            && view.rows.is_none()
        {
            view.rows = Some(Box::new(table));
        }
        self.change_triggers(&on, |all| {
            all.retain(|t| t.name != trigger.name);
            all.push(trigger);
        });
        Ok("CREATE TRIGGER")
    }

    /// The partitioned table above a partition that has a row trigger of that name: the partition has it, too.
    pub(super) fn trigger_from_above(&self, table: &Table, name: &str) -> Option<&Table> {
        table.partition.as_ref()?;
        let above = self.catalog.partition_ancestors(table.id).into_iter().skip(1);
        let mut above = above.map(|id| self.catalog.table_by_id(id));
        above.find(|above| above.trigger(name).is_some_and(|t| t.each_row))
    }

    /// 42710 where a partition has a trigger of its own with a name that one of the table above it is to have; it goes where it
    /// is to be replaced.
    fn free_in_partitions(&mut self, table: &Table, name: &str, replaced: bool) -> Result<()> {
        for id in self.catalog.partition_tree(table.id).into_iter().skip(1) {
            let partition = self.catalog.table_by_id(id);
            if partition.trigger(name).is_none() {
                continue;
            }
            if !replaced {
                let message =
                    format!("trigger \"{name}\" for relation \"{}\" already exists", partition.name);
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            self.remove_trigger(&TriggersOf::Table(id), name);
        }
        Ok(())
    }

    /// What keeps the triggers of a table from being those of a partition.
    pub(super) fn check_triggers_of_partition(&self, table: &Table, of: &Table) -> Result<()> {
        let mut own = table.triggers.iter();
        if let Some(trigger) = own.clone().find(|t| t.each_row && t.transitions().next().is_some()) {
            let message = format!(
                "trigger \"{}\" prevents table \"{}\" from becoming a partition",
                trigger.name, table.name
            );
            let detail = "ROW triggers with transition tables are not supported on partitions.";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
        }
        let refused = |t: &Trigger| {
            table.is_partitioned()
                || t.transitions().next().is_some()
                || t.routine(TriggerEvent::Truncate).is_some()
        };
        if let Some(trigger) = own.find(|t| refused(t)) {
            let message =
                format!("a trigger of a single partition like \"{}\" is not supported", trigger.name);
            let hint = "Give it to the partitioned table, or drop it.";
            return Err(Error::unsupported(message, hint));
        }
        for id in self.catalog.partition_tree(table.id) {
            let partition = self.catalog.table_by_id(id);
            for above in self.catalog.partition_ancestors(of.id) {
                let above = self.catalog.table_by_id(above);
                let again = |t: &&Trigger| above.trigger(&t.name).is_some_and(|t| t.each_row);
                if let Some(trigger) = partition.triggers.iter().find(again) {
                    let (name, relation) = (&trigger.name, &partition.name);
                    let message = format!("trigger \"{name}\" for relation \"{relation}\" already exists");
                    return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
                }
            }
        }
        Ok(())
    }

    /// The table that a trigger is made for.
    fn trigger_table(&self, create: &CreateTrigger) -> Result<Table> {
        let local = names::own_relation(&self.catalog, &create.table)?;
        let wrong = |message: String, detail: &str| {
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                .with_detail(detail)
                .at(create.table.position))
        };
        if let Some(table) = self.catalog.table(local) {
            if table.materialized.is_some() {
                let message = format!("relation \"{}\" cannot have triggers", table.name);
                return wrong(message, "This operation is not supported for materialized views.");
            }
            if create.timing == TriggerTiming::InsteadOf {
                let message = format!("\"{}\" is a table", table.name);
                return wrong(message, "Tables cannot have INSTEAD OF triggers.");
            }
            return Ok(table.clone());
        }
        if let Some(view) = self.catalog.view(local) {
            let message = format!("\"{}\" is a view", view.name);
            if create.transitions.iter().all(|t| t.table) && !create.transitions.is_empty() {
                return wrong(message, "Triggers on views cannot have transition tables.");
            }
            if create.timing != TriggerTiming::InsteadOf && create.each_row {
                return wrong(message, "Views cannot have row-level BEFORE or AFTER triggers.");
            }
            if create.events.contains(&TriggerEvent::Truncate) {
                return wrong(message, "Views cannot have TRUNCATE triggers.");
            }
            return self.rows_of_view(view);
        }
        if self.catalog.relation_exists(local) {
            let message = format!("relation \"{local}\" cannot have triggers");
            return wrong(message, "This operation is not supported for sequences and indexes.");
        }
        Err(names::no_relation(&create.table))
    }

    /// A view as its triggers see it.
    pub(super) fn rows_of_view(&self, view: &View) -> Result<Table> {
        let outputs = self.describe_kept(&super::reparse::query(&view.query)?)?;
        let column = |(name, output): (&String, &planaria_ir::Output)| Column {
            name: name.clone(),
            ty: output.ty.clone(),
            not_null: false,
            default: match view.defaults.get(name) {
                Some(text) => ColumnDefault::Expression(text.clone()),
                None => ColumnDefault::None,
            },
            domain: None,
            hidden: false,
            comment: None,
            computed_anew: false,
            told: None,
        };
        Ok(Table {
            id: View::ROWS,
            schema: view.schema,
            name: view.name.clone(),
            columns: view.columns.iter().zip(&outputs).map(column).collect(),
            indexes: Vec::new(),
            unmade: Vec::new(),
            has_primary_key: false,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            on_commit: planaria_catalog::OnCommit::PreserveRows,
            materialized: None,
            composite: false,
            partitioning: None,
            partition: None,
            triggers: view.triggers().to_vec(),
            row_security: false,
            force_row_security: false,
            policies: Vec::new(),
            dropped: Vec::new(),
            statistics: Vec::new(),
            generation: 0,
            rights: Rights::default(),
            comment: None,
            told: None,
        })
    }

    /// A view got another name: the routines of its triggers know it.
    pub(super) fn view_moved(&mut self, from: &str, to: &str) {
        let of = |p: &Procedure| p.fires_view.as_deref() == Some(from);
        for id in 0..self.catalog.procedures.len() {
            if of(&self.catalog.procedures[id]) {
                self.catalog.procedures[id].fires_view = Some(to.to_owned());
            }
        }
    }

    /// The function of that name without parameters.
    fn trigger_function(&self, name: &Name) -> Result<ProcedureId> {
        let local = names::wanted(&self.catalog, name)?;
        let mut all = self.catalog.procedures_named(local);
        let found = all.find(|p| p.inputs().next().is_none() && !p.is_procedure());
        found.map(|p| p.id).ok_or_else(|| {
            let local = match &name.parts[..] {
                [schema, local] if schema == "pg_catalog" => Some(local),
                [local] => Some(local),
                _ => None,
            };
            if local.is_some_and(|local| TRIGGER_FUNCTIONS.contains(&local.as_str())) {
                let message = format!("trigger function {}() is not supported", name.parts.join("."));
                return Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("Write a trigger function, or use a generated column.");
            }
            let message = format!("function {}() does not exist", name.parts.join("."));
            Error::new(SqlState::UNDEFINED_FUNCTION, message)
        })
    }

    /// A routine for an event of a trigger: see `planaria_catalog::Catalog::behind`.
    fn trigger_routine(&mut self, on: &TriggersOf, function: ProcedureId) -> ProcedureId {
        let id = ProcedureId::from(self.catalog.procedures.len());
        let function = self.catalog.procedure(function);
        let routine = Procedure {
            id,
            schema: function.schema,
            name: function.name.clone(),
            parameters: Vec::new(),
            returns: Returns::Trigger,
            language: function.language,
            volatility: Volatility::Volatile,
            strict: false,
            body: String::new(),
            body_position: 0,
            current: false,
            fires: match on {
                TriggersOf::Table(id) => Some(*id),
                TriggersOf::View(_) => None,
            },
            fires_view: match on {
                TriggersOf::Table(_) => None,
                TriggersOf::View(key) => Some(key.clone()),
            },
            returns_domain: None,
            standard: None,
            aggregate: None,
            instance_of: None,
            security_definer: false,
            reads_before: !self.actor.reads_after,
            form: self.actor.form,
            hints: planaria_catalog::Hints::default(),
            settings: Vec::new(),
            rights: Rights::of(function.rights.owner),
            comment: None,
        };
        self.catalog.procedures.push(routine.into());
        id
    }

    /// Changes the triggers of a relation, which stay in the order of their names.
    fn change_triggers(&mut self, on: &TriggersOf, change: impl FnOnce(&mut Vec<Trigger>)) {
        let triggers = match on {
            TriggersOf::Table(id) => &mut self.table_mut(*id).triggers,
            TriggersOf::View(key) => {
                let rows = self.catalog.views.get_mut(key).and_then(|v| v.rows.as_mut());
                let Some(rows) = rows else { return };
                &mut rows.triggers
            }
        };
        change(triggers);
        triggers.sort_by(|a, b| a.name.cmp(&b.name));
    }

    /// A new version of a function: triggers call that one.
    pub(super) fn replace_trigger_function(&mut self, old: ProcedureId, new: ProcedureId) {
        let mut tables: Vec<TableId> = self.catalog.tables_firing(old).map(|(table, _)| table).collect();
        tables.dedup();
        for table in tables {
            for trigger in self.table_mut(table).triggers.iter_mut().filter(|t| t.function == old) {
                trigger.function = new;
            }
        }
        let views: Vec<String> = self.catalog.views_firing(old).map(|(view, _)| view).collect();
        for view in views {
            self.change_triggers(&TriggersOf::View(view), |all| {
                all.iter_mut().filter(|t| t.function == old).for_each(|t| t.function = new);
            });
        }
    }

    pub(super) fn remove_trigger(&mut self, on: &TriggersOf, name: &str) {
        self.change_triggers(on, |all| all.retain(|t| t.name != name));
    }

    /// The relation of that name that has triggers, and those.
    fn triggers_of(&self, name: &Name) -> Result<(TriggersOf, String, &[Trigger])> {
        let local = names::own_relation(&self.catalog, name)?;
        if let Some(view) = self.catalog.view(local) {
            return Ok((TriggersOf::View(view.key()), view.name.clone(), view.triggers()));
        }
        let table = self.catalog.table(local).ok_or_else(|| names::no_relation(name))?;
        Ok((TriggersOf::Table(table.id), table.name.clone(), &table.triggers))
    }

    pub(super) fn drop_trigger(&mut self, name: &str, table: &Name, if_exists: bool) -> Result<&'static str> {
        const TAG: &str = "DROP TRIGGER";
        let found = self
            .triggers_of(table)
            .map(|(on, relation, all)| (on, relation, all.iter().any(|t| t.name == name)));
        let (on, relation, exists) = match found {
            Ok(found) => found,
            Err(error) if if_exists => {
                self.skip_missing(&error);
                return Ok(TAG);
            }
            Err(mut error) => {
                error.fields_mut().position = None;
                return Err(error);
            }
        };
        if let TriggersOf::Table(id) = &on
            && !exists
            && let Some(above) = self.trigger_from_above(self.catalog.table_by_id(*id), name)
        {
            let of = format!("trigger {name} on table {}", above.name);
            let message = format!("cannot drop trigger {name} on table {relation} because {of} requires it");
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_hint(format!("You can drop {of} instead.")));
        }
        if !exists {
            if !if_exists {
                return Err(undefined(name, &relation));
            }
            let message = format!("trigger \"{name}\" for relation \"{relation}\" does not exist");
            self.skip_missing(&Error::new(SqlState::UNDEFINED_OBJECT, message));
            return Ok(TAG);
        }
        if !self.catalog.owns(self.actor.user, &on.object()) {
            let message = format!("must be owner of relation {relation}");
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        self.remove_trigger(&on, name);
        Ok(TAG)
    }

    pub(super) fn rename_trigger(&mut self, name: &str, table: &Name, to: &str) -> Result<&'static str> {
        let (on, relation, all) = match self.triggers_of(table) {
            Ok(found) => found,
            Err(_) => {
                return Err(names::table(&self.catalog, table)
                    .err()
                    .unwrap_or_else(|| names::no_relation(table)));
            }
        };
        self.catalog.require_owner(self.actor.user, &on.object())?;
        if !all.iter().any(|t| t.name == name) {
            return Err(undefined(name, &relation));
        }
        if name == to {
            return Ok("ALTER TRIGGER");
        }
        let again = |relation: &str| {
            let message = format!("trigger \"{to}\" for relation \"{relation}\" already exists");
            Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
        };
        if all.iter().any(|t| t.name == to) {
            return again(&relation);
        }
        let each_row = all.iter().any(|t| t.name == name && t.each_row);
        if let TriggersOf::Table(id) = &on {
            let table = self.catalog.table_by_id(*id).clone();
            if self.trigger_from_above(&table, to).is_some() {
                return again(&relation);
            }
            if each_row && table.is_partitioned() {
                self.free_in_partitions(&table, to, false)?;
            }
        }
        match &on {
            TriggersOf::Table(id) => {
                for object in [Oid::Trigger, Oid::Constraint] {
                    self.catalog.oids.rename(&object(*id, name.to_owned()), object(*id, to.to_owned()));
                }
            }
            TriggersOf::View(key) => {
                let object = |name: &str| Oid::ViewTrigger(key.clone(), name.to_owned());
                self.catalog.oids.rename(&object(name), object(to));
            }
        }
        self.change_triggers(&on, |all| {
            for trigger in all.iter_mut().filter(|t| t.name == name) {
                trigger.name = to.to_owned();
            }
        });
        Ok("ALTER TRIGGER")
    }

    /// ENABLE TRIGGER, DISABLE TRIGGER.
    pub(super) fn enable_triggers(
        &mut self,
        id: TableId,
        names: &TriggerNames,
        enabled: TriggerEnabled,
    ) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        match names {
            TriggerNames::One(name) if table.trigger(name).is_none() => {
                return Err(undefined(name, &table.name));
            }
            // Foreign keys are triggers in PostgreSQL.
            TriggerNames::All => self.enable_keys(id, enabled == TriggerEnabled::Disabled)?,
            _ => {}
        }
        for trigger in &mut self.table_mut(id).triggers {
            if !matches!(names, TriggerNames::One(name) if *name != trigger.name) {
                trigger.enabled = enabled;
            }
        }
        Ok(())
    }

    /// The same of the triggers that foreign keys are: those of a table look for parents, those of its parents ask whether rows
    /// refer to them.
    fn enable_keys(&mut self, id: TableId, disabled: bool) -> Result<()> {
        let children: Vec<TableId> = self.catalog.references_to(id).map(|(child, _)| child.id).collect();
        let first = self.catalog.table_by_id(id).foreign_keys.first().map(|key| &key.name);
        if first.is_none() && children.is_empty() {
            return Ok(());
        }
        if disabled && !self.actor.internal && !self.catalog.is_superuser(self.actor.user) {
            let message = match first {
                Some(name) => {
                    format!("permission denied: \"RI_ConstraintTrigger_{name}\" is a system trigger")
                }
                None => "permission denied: the triggers of foreign keys are system triggers".to_owned(),
            };
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        for key in &mut self.table_mut(id).foreign_keys {
            key.unchecked = disabled;
        }
        for child in children {
            for key in self.table_mut(child).foreign_keys.iter_mut().filter(|key| key.parent == id) {
                key.inactive = disabled;
            }
        }
        Ok(())
    }

    /// The triggers of a table that name a column: in UPDATE OF, or WHEN.
    pub(super) fn triggers_on(table: &Table, column: ColumnId) -> Result<Vec<&Trigger>> {
        let name = &table.columns[column.index()].name;
        let mut all = Vec::new();
        for trigger in &table.triggers {
            let named = match &trigger.condition {
                Some(text) => super::depend::References::of_text(text)?.columns.contains(name),
                None => false,
            };
            if named || trigger.columns.contains(&column) {
                all.push(trigger);
            }
        }
        Ok(all)
    }
}

/// What has triggers.
pub(super) enum TriggersOf {
    Table(TableId),
    /// By its key.
    View(String),
}

impl TriggersOf {
    fn of(table: &Table) -> TriggersOf {
        match table.id == View::ROWS {
            true => TriggersOf::View(planaria_catalog::key(table.schema, &table.name)),
            false => TriggersOf::Table(table.id),
        }
    }
    fn object(&self) -> Object {
        match self {
            TriggersOf::Table(id) => Object::Table(*id),
            TriggersOf::View(key) => Object::View(key.clone()),
        }
    }
}

/// The names of the transition tables: NEW TABLE, OLD TABLE.
fn transitions(create: &CreateTrigger) -> Result<(Option<String>, Option<String>)> {
    let (mut new, mut old) = (None, None);
    let invalid = |message: &str| Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
    let unsupported = |message: &str| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    let fired = |events: [TriggerEvent; 2]| events.iter().any(|e| create.events.contains(e));
    for transition in &create.transitions {
        if !transition.table {
            return unsupported("ROW variable naming in the REFERENCING clause is not supported")
                .map_err(|e| e.with_hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
        }
        if create.timing != TriggerTiming::After {
            return invalid("transition table name can only be specified for an AFTER trigger");
        }
        if create.events.contains(&TriggerEvent::Truncate) {
            return unsupported("TRUNCATE triggers with transition tables are not supported");
        }
        if create.events.len() != 1 {
            return unsupported(
                "transition tables cannot be specified for triggers with more than one event",
            );
        }
        if !create.columns.is_empty() {
            return unsupported("transition tables cannot be specified for triggers with column lists");
        }
        let (name, word, may, other) = match transition.new {
            true => (&mut new, "NEW", fired([TriggerEvent::Insert, TriggerEvent::Update]), "an INSERT"),
            false => (&mut old, "OLD", fired([TriggerEvent::Delete, TriggerEvent::Update]), "a DELETE"),
        };
        if !may {
            return invalid(&format!("{word} TABLE can only be specified for {other} or UPDATE trigger"));
        }
        if name.replace(transition.name.clone()).is_some() {
            return invalid(&format!("{word} TABLE cannot be specified multiple times"));
        }
    }
    if new.is_some() && new == old {
        return invalid("OLD TABLE name and NEW TABLE name cannot be the same");
    }
    Ok((new, old))
}

/// What is wrong with a trigger whatever its table is, or is not there yet.
fn refuse_missing(create: &CreateTrigger) -> Result<()> {
    let unsupported = |message: &str| Error::new(SqlState::FEATURE_NOT_SUPPORTED, message);
    if create.each_row && create.events.contains(&TriggerEvent::Truncate) {
        return Err(unsupported("TRUNCATE FOR EACH ROW triggers are not supported"));
    }
    if create.timing == TriggerTiming::InsteadOf {
        let refused = if !create.each_row {
            "INSTEAD OF triggers must be FOR EACH ROW"
        } else if create.condition.is_some() {
            "INSTEAD OF triggers cannot have WHEN conditions"
        } else if !create.columns.is_empty() {
            "INSTEAD OF triggers cannot have column lists"
        } else {
            ""
        };
        if !refused.is_empty() {
            return Err(unsupported(refused));
        }
    }
    Ok(())
}
