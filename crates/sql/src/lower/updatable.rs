//! Views as targets of INSERT, UPDATE and DELETE.
//!
//! A view whose query takes rows of one table as they are, or of another such view, is *automatically updatable*: who
//! changes its rows changes those of the table. Its columns are expressions over the table's, of which those can be given
//! values that are nothing but a column; its conditions say which rows an UPDATE or DELETE sees; and with CHECK
//! OPTION they are asked once more of the row that is stored.
//!
//! ```text
//!  UPDATE v SET b = 1 WHERE c    ->    UPDATE t SET y = 1 WHERE (v's condition) AND c
//!                                      [stored: v's condition? else 44000]
//! ```
//!
//! Whoever runs the statement needs rights on the view; its owner needs them on what is behind it.

use super::bound::{Body, Bound, Item, RelId, RelKind};
use super::constraint::Values;
use super::names::{Names, Source, SourceColumn};
use super::proposed::Proposed;
use super::rights::AccessId;
use super::types::CastContext;
use super::{Lowerer, Scope};
use planaria_base::{Error, Result, RoleId, SqlState, TableId, Type};
use planaria_catalog::{Catalog, CheckOption, Object, Privileges, Table, TriggerEvent, View};
use planaria_ir::{ErrorFields, ProgramKind};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{ExprKind, Name, Query, QueryBody, Select, TableAlias, TableRef};

/// What a statement changes: a table, as it is or through views.
pub(super) struct Target<'c> {
    pub table: &'c Table,
    verb: Verb,
    /// The views, from the one that the statement names.
    layers: Vec<Layer<'c>>,
    /// A view whose triggers do what is to be done: its rows are the table.
    instead: Option<&'c View>,
    /// That its columns are given values, on the view and on what is behind it.
    pub writes: Vec<Option<AccessId>>,
}

/// A view between a statement and its table.
struct Layer<'c> {
    view: &'c View,
    /// The view is what this partition is.
    partition: Option<TableId>,
    query: Query,
    columns: Vec<ViewColumn>,
}

/// A column of a view.
#[derive(Clone)]
struct ViewColumn {
    name: String,
    /// The column of the table that it is; or the view, and its column there, that is no plain one.
    column: std::result::Result<usize, (String, String)>,
}

/// What is done to a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    Insert,
    Update,
    Delete,
}

impl Verb {
    pub fn named(verb: &str) -> Verb {
        match verb {
            "insert" => Verb::Insert,
            "delete" => Verb::Delete,
            _ => Verb::Update,
        }
    }
    fn privilege(self) -> Privileges {
        match self {
            Verb::Insert => Privileges::INSERT,
            Verb::Update => Privileges::UPDATE,
            Verb::Delete => Privileges::DELETE,
        }
    }
    fn event(self) -> TriggerEvent {
        match self {
            Verb::Insert => TriggerEvent::Insert,
            Verb::Update => TriggerEvent::Update,
            Verb::Delete => TriggerEvent::Delete,
        }
    }
    fn phrase(self) -> &'static str {
        match self {
            Verb::Insert => "insert into",
            Verb::Update => "update",
            Verb::Delete => "delete from",
        }
    }
    /// 55000: no statement changes the view.
    fn refused(self, view: &View, reason: &str) -> Error {
        let (doing, event) = match self {
            Verb::Insert => ("inserting into", "INSERT"),
            Verb::Update => ("updating", "UPDATE"),
            Verb::Delete => ("deleting from", "DELETE"),
        };
        let message = format!("cannot {} view \"{}\"", self.phrase(), view.name);
        Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_detail(reason).with_hint(format!(
            "To enable {doing} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO INSTEAD rule."
        ))
    }
}

const NO_PLAIN_COLUMN: &str = "View columns that are not columns of their base relation are not updatable.";
const NO_COLUMNS: &str = "Views that have no updatable columns are not automatically updatable.";
const NO_SINGLE: &str =
    "Views that do not select from a single table or view are not automatically updatable.";

/// The one relation of a view's FROM; else why it is not updatable.
fn single(query: &Query) -> std::result::Result<(&Select, &Name, Option<&TableAlias>), &'static str> {
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::SetOp { .. } => {
            return Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
        }
        QueryBody::Values(_) => return Err(NO_SINGLE),
    };
    let because = |is: bool, reason: &'static str| if is { Err(reason) } else { Ok(()) };
    because(select.distinct.is_some(), "Views containing DISTINCT are not automatically updatable.")?;
    let grouped = !select.group_by.is_empty() || !select.grouping_sets.is_empty();
    because(grouped, "Views containing GROUP BY are not automatically updatable.")?;
    because(select.having.is_some(), "Views containing HAVING are not automatically updatable.")?;
    because(!query.with.is_empty(), "Views containing WITH are not automatically updatable.")?;
    let limited = query.limit.is_some() || query.offset.is_some();
    because(limited, "Views containing LIMIT or OFFSET are not automatically updatable.")?;
    match &select.from[..] {
        [TableRef::Relation { name, alias, .. }] => Ok((select, name, alias.as_ref())),
        _ => Err(NO_SINGLE),
    }
}

/// Why what a view's select list computes is not one of a row.
fn computed(catalog: &Catalog, query: &Query) -> Result<Option<&'static str>> {
    let mut l = Lowerer::new(catalog.home(), "view", ProgramKind::Statement).of_kept_text();
    let scope = Scope::new();
    let bound = l.bind_level(Names::of(&scope), query, false)?;
    let (Body::Select(select), QueryBody::Select(said)) = (&bound.body, &query.body) else { return Ok(None) };
    if select.grouping.is_some() {
        return Ok(Some("Views that return aggregate functions are not automatically updatable."));
    }
    if select.windows.is_some() {
        return Ok(Some("Views that return window functions are not automatically updatable."));
    }
    let mut calls = false;
    for item in &said.items {
        visit::expr(&item.expr, &mut |node| {
            calls |= matches!(node, Node::Expr(e) if matches!(e.kind, ExprKind::Call(_)));
        });
    }
    let is_set = |rel: RelId| {
        matches!(l.rel(rel).kind, RelKind::Series { .. } | RelKind::Unnest { .. } | RelKind::CallSet { .. })
    };
    let sets = select.from.iter().any(|item| matches!(item, Item::Rel(rel) if is_set(*rel)));
    let sets = calls && sets;
    Ok(sets.then_some("Views that return set-returning functions are not automatically updatable."))
}

/// The views from one down to a table, and the table; 55000 where the verb is not for one of them.
fn layers<'c>(catalog: &'c Catalog, view: &'c View, verb: Verb) -> Result<(Vec<Layer<'c>>, &'c Table)> {
    let mut all: Vec<Layer<'c>> = Vec::new();
    let mut view = view;
    let home = catalog.home();
    let table = loop {
        if all.iter().any(|layer| layer.view.key() == view.key()) {
            let message = format!("infinite recursion detected in rules for relation \"{}\"", view.name);
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        let query = planaria_syntax::parse::query(&view.query)?;
        // What is said of the query comes before what it selects from.
        let from = match single(&query) {
            Err(reason) if reason != NO_SINGLE => return Err(verb.refused(view, reason)),
            from => from.map(|(_, name, _)| name.clone()),
        };
        if let Some(reason) = computed(catalog, &query)? {
            return Err(verb.refused(view, reason));
        }
        let name = from.map_err(|reason| verb.refused(view, reason))?;
        if super::system::named(&name).is_some() {
            return Err(verb.refused(view, NO_SINGLE));
        }
        let wanted = home.located(super::bind_call::named(home, &name)?);
        all.push(Layer { view, partition: None, query, columns: Vec::new() });
        if let Some(table) = home.table(wanted) {
            if let Some(slice) = table.slice() {
                all.push(Layer::of_partition(table, slice)?);
                break home.partition_root(table.id);
            }
            break table;
        }
        view = home.view(wanted).ok_or_else(|| verb.refused(all[all.len() - 1].view, NO_SINGLE))?;
        if view.rows.as_deref().is_some_and(|rows| rows.fires_before(verb.event(), false)) {
            let what = format!(
                "view \"{}\" has INSTEAD OF triggers, and is changed through another view",
                view.name
            );
            return Err(Error::unsupported(
                what,
                "Change that view itself, or give this one triggers of its own.",
            ));
        }
    };
    through_all(catalog, &mut all, table)?;
    let changeable = |layer: &Layer<'_>| layer.columns.iter().any(|c| c.column.is_ok());
    if let Some(layer) = all.iter().find(|layer| verb != Verb::Delete && !changeable(layer)) {
        return Err(verb.refused(layer.view, NO_COLUMNS));
    }
    Ok((all, table))
}

/// The table, or the partition, that an updatable view is one of, at whatever depth.
pub(super) fn table_behind<'c>(catalog: &'c Catalog, view: &'c View) -> Option<&'c Table> {
    let home = catalog.home();
    let (mut view, mut depth) = (view, 0);
    loop {
        let query = planaria_syntax::parse::query(&view.query).ok()?;
        let (_, name, _) = single(&query).ok()?;
        let wanted = home.located(super::bind_call::named(home, name).ok()?);
        if let Some(table) = home.table(wanted) {
            return Some(table);
        }
        view = home.view(wanted)?;
        // Views may lead to each other.
        depth += 1;
        if depth > planaria_base::limits::CALL_DEPTH_SURE {
            return None;
        }
    }
}

/// Finds the columns of views over a table.
fn through_all(catalog: &Catalog, all: &mut [Layer<'_>], table: &Table) -> Result<()> {
    let mut l = Lowerer::new(catalog, "view", ProgramKind::Statement).of_kept_text();
    let rel = l.table_rel(table.id, &table.name);
    l.through(all, table, rel).map(|_| ())
}

/// Which columns of a view take values; 55000 for a view that nobody writes through.
pub fn updatable(catalog: &Catalog, view: &View) -> Result<Vec<bool>> {
    let (layers, _) = layers(catalog, view, Verb::Delete)?;
    Ok(layers[0].columns.iter().map(|c| c.column.is_ok()).collect())
}

/// 55000 for a view that rows cannot be stored through.
pub(crate) fn writable(catalog: &Catalog, view: &View) -> Result<()> {
    layers(catalog, view, Verb::Insert).map(|_| ())
}

/// Conditions that a stored row must meet: a view's.
pub(super) struct ViewCheck {
    view: String,
    /// It is a partition.
    partition: bool,
    conditions: Vec<Bound>,
}

impl<'c> Target<'c> {
    /// A table that is named itself.
    pub fn table(table: &'c Table) -> Target<'c> {
        Target { table, verb: Verb::Update, layers: Vec::new(), instead: None, writes: Vec::new() }
    }

    /// What the statement names.
    pub fn outermost(&self) -> Object {
        self.objects(None).swap_remove(0).0
    }

    /// The views and the table, from the one that the statement names; with the roles in whose names they are reached, of
    /// which this one is the first.
    fn objects(&self, first: Option<RoleId>) -> Vec<(Object, Option<RoleId>)> {
        if let Some(view) = self.instead {
            return vec![(Object::View(view.key()), first)];
        }
        let (mut all, mut role) = (Vec::new(), first);
        for layer in &self.layers {
            let object = match layer.partition {
                Some(partition) => Object::Table(partition),
                None => Object::View(layer.view.key()),
            };
            all.push((object, role));
            role = role_behind(layer.view);
        }
        all.push((Object::Table(self.table.id), role));
        all
    }

    /// What one of those calls a column of the table.
    fn named(&self, at: usize, column: usize) -> Option<&str> {
        match self.layers.get(at) {
            Some(layer) => layer.columns.iter().find(|c| c.column == Ok(column)).map(|c| c.name.as_str()),
            None => self.table.columns.get(column).map(|c| c.name.as_str()),
        }
    }

    /// What the statement calls it.
    pub fn name(&self) -> &'c str {
        self.layers.first().map_or(&self.table.name, |layer| &layer.view.name)
    }

    /// In whose name its views reach the table: `Some(None)`: of whoever runs the statement; `None`: there is no view.
    pub fn role(&self) -> Option<Option<RoleId>> {
        self.layers.last().map(|layer| role_behind(layer.view))
    }

    /// The view whose triggers do what is to be done.
    pub fn instead(&self) -> Option<&'c View> {
        self.instead
    }

    /// Whether it is a table by its own name, and no view of one.
    pub(super) fn is_table(&self) -> bool {
        self.layers.is_empty() && self.instead.is_none()
    }
    /// The partition that its rows are of.
    pub fn partition(&self) -> Option<TableId> {
        self.layers.iter().find_map(|layer| layer.partition)
    }

    /// Whether it is reached through views.
    pub fn is_view(&self) -> bool {
        !self.layers.is_empty()
    }

    /// The columns that `*` is, by name: those of the table that they are.
    pub fn columns(&self) -> Vec<(&str, Option<usize>)> {
        match self.layers.first() {
            None => self.table.visible().map(|(id, c)| (c.name.as_str(), Some(id.index()))).collect(),
            Some(layer) => layer.columns.iter().map(|c| (c.name.as_str(), c.column.clone().ok())).collect(),
        }
    }

    /// A column by name: the table's; `None` where it cannot be given values.
    pub fn found(&self, name: &str, position: u32) -> Result<Option<usize>> {
        let found = self.columns().into_iter().find(|(n, _)| *n == name);
        found.map(|(_, column)| column).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{}\" does not exist", self.name());
            Error::new(SqlState::UNDEFINED_COLUMN, message).at(position)
        })
    }

    /// A column that is given a value.
    pub fn column(&self, name: &str, position: u32) -> Result<usize> {
        self.found(name, position)?.ok_or_else(|| self.read_only(name))
    }

    /// 0A000 for a column that cannot be given values.
    pub fn read_only(&self, name: &str) -> Error {
        let column = self.layers.iter().flat_map(|l| &l.columns).find(|c| c.name == name);
        let (view, column) = match column.map(|c| &c.column) {
            Some(Err((view, column))) => (view.as_str(), column.as_str()),
            _ => (self.name(), name),
        };
        let verb = match self.verb {
            Verb::Insert => "insert into",
            _ => "update",
        };
        let message = format!("cannot {verb} column \"{column}\" of view \"{view}\"");
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(NO_PLAIN_COLUMN)
    }

    /// What the statement calls a column of the table.
    pub fn shown(&self, column: usize) -> &str {
        let layer = self.layers.first();
        let known = layer.and_then(|l| l.columns.iter().find(|c| c.column == Ok(column)));
        known.map_or(&self.table.columns[column].name, |c| &c.name)
    }

    /// The default that a view has for a column of the table.
    fn default_text(&self, column: usize) -> Option<&str> {
        self.layers
            .iter()
            .find_map(|layer| {
                let of = |c: &&ViewColumn| c.column == Ok(column);
                layer.columns.iter().filter(of).find_map(|c| layer.view.defaults.get(&c.name))
            })
            .map(String::as_str)
    }
}

impl<'c> Lowerer<'c> {
    /// A view that a statement is to change: what it changes.
    pub(super) fn view_target(&mut self, view: &'c View, verb: &str, position: u32) -> Result<Target<'c>> {
        let verb = Verb::named(verb);
        // Under the role of a replica they do not fire, and nothing is changed in their stead.
        if let Some(rows) = view.rows.as_deref().filter(|rows| rows.fires_before(verb.event(), false)) {
            let mut target = Target { verb, instead: Some(view), ..Target::table(rows) };
            target.writes = self.require_target(&target, verb.privilege());
            return Ok(target);
        }
        let foreign = |mut e: Error| {
            e.fields_mut().position = Some(position);
            e
        };
        let (layers, table) = layers(self.catalog, view, verb).map_err(foreign)?;
        let mut target = Target { verb, layers, ..Target::table(table) };
        target.writes = self.require_target(&target, verb.privilege());
        Ok(target)
    }

    /// A partition that a statement is to change: its rows of the root.
    pub(super) fn slice_target(&mut self, table: &'c Table, verb: &str) -> Result<Target<'c>> {
        let slice = table.slice().ok_or_else(|| Error::internal("a table that is no partition"))?;
        let root = self.catalog.partition_root(table.id);
        let mut layers = vec![Layer::of_partition(table, slice)?];
        through_all(self.catalog, &mut layers, root)?;
        let mut target = Target { verb: Verb::named(verb), layers, ..Target::table(root) };
        // What MERGE needs depends on what it does.
        if verb != "merge" {
            target.writes = self.require_target(&target, target.verb.privilege());
        }
        Ok(target)
    }

    /// Any of these privileges is needed on a target: on the view, and for its owner on what is behind it.
    /// Answers with the accesses whose columns are to be said.
    pub(super) fn require_target(
        &mut self,
        target: &Target<'_>,
        any_of: Privileges,
    ) -> Vec<Option<AccessId>> {
        let before = self.rights.view_owner();
        let mut accesses = Vec::new();
        for (object, role) in target.objects(before) {
            self.rights.set_view_owner(role);
            if any_of == Privileges::DELETE {
                self.require(object, any_of);
            } else {
                accesses.push(self.require_columns(object, any_of));
            }
        }
        self.rights.set_view_owner(before);
        accesses
    }

    /// A privilege is needed on what is behind the view that a statement names: for the columns that the views are made of.
    pub(super) fn require_behind(&mut self, target: &Target<'_>, any_of: Privileges) {
        let before = self.rights.view_owner();
        for (at, (object, role)) in target.objects(before).into_iter().enumerate().skip(1) {
            self.rights.set_view_owner(role);
            let Some(access) = self.require_columns(object, any_of) else { continue };
            for column in target.layers[at - 1].columns.iter().filter_map(|c| c.column.clone().ok()) {
                if let Some(name) = target.named(at, column) {
                    self.note_accessed(access, name);
                }
            }
        }
        self.rights.set_view_owner(before);
    }

    /// Columns of a target's table are what accesses to it are for.
    pub(super) fn note_columns(
        &mut self,
        target: &Target<'_>,
        accesses: &[Option<AccessId>],
        columns: impl IntoIterator<Item = usize>,
    ) {
        if accesses.iter().all(Option::is_none) {
            return;
        }
        for column in columns {
            for (at, access) in accesses.iter().enumerate() {
                if let (Some(access), Some(name)) = (access, target.named(at, column)) {
                    self.note_accessed(*access, name);
                }
            }
        }
    }

    /// The columns of a target over a relation that has those of its table; the conditions of its views, without
    /// those where it is a table.
    pub(super) fn target_source(
        &mut self,
        target: &Target<'_>,
        rel: RelId,
        alias: &str,
    ) -> Result<(Source, Vec<Bound>)> {
        if target.layers.is_empty() {
            let table = matches!(self.rel(rel).kind, RelKind::Table(_));
            let mut source =
                if table { self.source_of(rel, alias) } else { self.shadow_source(target.table, rel, alias) };
            self.track_target(target, rel, &mut source);
            self.track_system(rel, &mut source);
            return Ok((source, Vec::new()));
        }
        let mut layers: Vec<Layer<'_>> = target.layers.iter().map(Layer::again).collect();
        let (columns, conditions) = self.through(&mut layers, target.table, rel)?;
        let conditions = conditions.into_iter().flatten().collect();
        self.rights.through_view = true;
        let mut source = Source::computed(alias, columns);
        // Of a partition that the statement names.
        let named = target.layers[0].partition.map(|id| self.catalog.table_by_id(id));
        if named.is_some() {
            source.system.extend(self.place_of(rel, target.table));
        }
        if let Some(leaf) = named.filter(|named| !named.is_partitioned()) {
            let oid = i64::from(self.catalog.table_oid(leaf.id));
            let expr = Bound::constant(planaria_base::Datum::Int(oid), Type::OID, 0);
            source.system.push(SourceColumn::new("tableoid".to_owned(), expr));
        }
        self.track_target(target, rel, &mut source);
        self.track_system(rel, &mut source);
        Ok((source, conditions))
    }

    /// What the CHECK OPTIONs of a target's views ask of a stored row in that relation.
    pub(super) fn target_checks(&mut self, target: &Target<'_>, rel: RelId) -> Result<Vec<ViewCheck>> {
        let mut cascaded = false;
        let mut asked = Vec::new();
        for layer in &target.layers {
            cascaded |= layer.view.check_option == Some(CheckOption::Cascaded);
            asked.push(cascaded || layer.view.check_option.is_some());
        }
        if !asked.contains(&true) {
            return Ok(Vec::new());
        }
        let mut layers: Vec<Layer<'_>> = target.layers.iter().map(Layer::again).collect();
        let (_, conditions) = self.through(&mut layers, target.table, rel)?;
        // Those of inner views first.
        let mut checks: Vec<ViewCheck> = Vec::new();
        for ((layer, mut conditions), _) in
            target.layers.iter().zip(conditions).zip(asked).rev().filter(|(_, asked)| *asked)
        {
            conditions.iter_mut().for_each(|e| self.count(e));
            if !conditions.is_empty() {
                let (view, partition) = (layer.view.name.clone(), layer.partition.is_some());
                checks.push(ViewCheck { view, partition, conditions });
            }
        }
        Ok(checks)
    }

    /// Asks them: 44000 where a condition does not hold. `row` gives the row for the error's detail.
    pub(super) fn check_views(
        &mut self,
        table: &Table,
        checks: &[ViewCheck],
        row: &mut dyn FnMut(&mut Self) -> Values,
    ) -> Result<()> {
        for check in checks {
            let holds = self.temp(Type::Bool);
            let (no, yes) = (self.truth(false), self.truth(true));
            self.copy(holds, no);
            self.filtered(&check.conditions, &mut |l| {
                l.copy(holds, yes);
                Ok(())
            })?;
            self.unless(holds, |l| {
                l.cold(|l| {
                    let values = row(l);
                    let detail = l.failing_row(table, &values)?;
                    let fields = ErrorFields { detail, ..ErrorFields::default() };
                    if check.partition {
                        let message =
                            format!("new row for relation \"{}\" violates partition constraint", check.view);
                        let fields = ErrorFields { table: Some(check.view.clone()), ..fields };
                        l.raise(SqlState::CHECK_VIOLATION, message, fields);
                        return Ok(());
                    }
                    let message = format!("new row violates check option for view \"{}\"", check.view);
                    l.raise(SqlState::WITH_CHECK_OPTION_VIOLATION, message, fields);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }

    /// A proposed row of a partition that is partitioned itself is within its bounds before anything fires at it; else 23514.
    pub(super) fn check_partition_named(&mut self, row: &Proposed<'_>, values: &Values) -> Result<()> {
        let named = row.target.partition().map(|id| self.catalog.table_by_id(id));
        if !named.is_some_and(Table::is_partitioned) || row.checks.iter().any(|check| !check.partition) {
            return Ok(());
        }
        self.rel_mut(row.shadow).regs = values.clone();
        self.available.push(row.shadow);
        let done = self.check_views(row.target.table, row.checks, &mut |_| values.clone());
        self.available.pop();
        done
    }

    /// What a column of a target becomes when no value is given.
    pub(super) fn target_default(
        &mut self,
        target: &Target<'_>,
        column: usize,
        position: u32,
    ) -> Result<Bound> {
        match target.default_text(column) {
            Some(text) => {
                let e = self.bind_text(text, position)?;
                self.coerce(e, &target.table.columns[column].ty, CastContext::Assignment)
            }
            None => self.default_value(target.table, column, position),
        }
    }

    /// What SET .. = DEFAULT says: of a view without a default, NULL.
    pub(super) fn update_default(
        &mut self,
        target: &Target<'_>,
        column: usize,
        position: u32,
    ) -> Result<Bound> {
        let of_view = target
            .layers
            .first()
            .filter(|layer| layer.partition.is_none())
            .map(|layer| layer.view.defaults.get(target.shown(column)));
        match of_view {
            Some(None) => Ok(Bound::null(target.table.columns[column].ty.clone(), position)),
            _ => self.target_default(target, column, position),
        }
    }

    /// The conditions of a partition's rows over its root; none of a root.
    pub(super) fn slice_conditions(&mut self, table: &Table, root: &Table, rel: RelId) -> Result<Vec<Bound>> {
        let Some(slice) = table.slice() else { return Ok(Vec::new()) };
        let mut layers = [Layer::of_partition(table, slice)?];
        let (_, conditions) = self.through(&mut layers, root, rel)?;
        Ok(conditions.into_iter().flatten().collect())
    }

    /// Binds views over a relation with the columns of their table: the columns of the first, the conditions of each.
    #[allow(clippy::type_complexity)]
    fn through(
        &mut self,
        layers: &mut [Layer<'_>],
        table: &Table,
        rel: RelId,
    ) -> Result<(Vec<SourceColumn>, Vec<Vec<Bound>>)> {
        let position = self.position;
        let read = self.rights.reads();
        let collectors = std::mem::take(&mut self.collectors);
        let known = self.expanding.len();
        self.expanding.extend(layers.iter().map(|layer| layer.view.key()));
        let done = self.through_layers(layers, table, rel);
        self.expanding.truncate(known);
        self.collectors = collectors;
        self.rights.forget_reads(read);
        let (mut columns, mut conditions) = done.map_err(|mut e| {
            e.fields_mut().position = Some(position);
            e
        })?;
        let all = columns.iter_mut().map(|c| &mut c.expr).chain(conditions.iter_mut().flatten());
        all.for_each(|e| self.reposition(e, position));
        Ok((columns, conditions))
    }

    #[allow(clippy::type_complexity)]
    fn through_layers(
        &mut self,
        layers: &mut [Layer<'_>],
        table: &Table,
        rel: RelId,
    ) -> Result<(Vec<SourceColumn>, Vec<Vec<Bound>>)> {
        let mut source = match self.rel(rel).kind {
            RelKind::Table(_) => self.source_of(rel, &table.name),
            _ => self.shadow_source(table, rel, &table.name),
        };
        let plain = |c: &SourceColumn| ViewColumn {
            name: c.name.clone(),
            column: c
                .expr
                .as_column()
                .filter(|(r, _)| *r == rel && c.expr.ty != Type::TID)
                .map(|(_, i)| i)
                .ok_or_else(Default::default),
        };
        let mut known: Vec<ViewColumn> = source.columns.iter().map(plain).collect();
        let mut conditions = Vec::new();
        let scope = Scope::new();
        let before = self.rights.view_owner();
        for layer in layers.iter_mut().rev() {
            let (select, name, alias) = single(&layer.query).map_err(Error::internal)?;
            let local = name.parts.last().map_or("", String::as_str);
            source.alias = alias.map_or(local, |a| &a.name).to_owned();
            for (column, name) in source.columns.iter_mut().zip(alias.map_or(&[][..], |a| &a.columns)) {
                column.name.clone_from(name);
            }
            let mut level = Names::of(&scope);
            level.sources.push(source);
            self.rights.set_view_owner(role_behind(layer.view));
            let bound = self.at_home(|l| l.view_level(&level, select));
            self.rights.set_view_owner(before);
            let (mut columns, own) = bound?;
            for (column, name) in columns.iter_mut().zip(&layer.view.columns) {
                column.0.name.clone_from(name);
            }
            layer.columns.clear();
            for (column, of) in &columns {
                let mut said = plain(column);
                if said.column.is_err() {
                    let below = of.and_then(|of| known.get(of)).map(|c| c.column.clone());
                    said.column = match below {
                        Some(Err(below)) if below != Default::default() => Err(below),
                        _ => Err((layer.view.name.clone(), column.name.clone())),
                    };
                }
                layer.columns.push(said);
            }
            known.clone_from(&layer.columns);
            let mut own = own;
            if layer.view.security_barrier {
                super::policy::secure(&mut own);
            }
            conditions.push(own);
            let columns = columns.into_iter().map(|(column, _)| column).collect();
            source = Source::computed(&layer.view.name, columns);
        }
        conditions.reverse();
        Ok((source.columns, conditions))
    }

    /// The columns of a view over its source, each with the column there that it is by its name, and its conditions.
    #[allow(clippy::type_complexity)]
    fn view_level(
        &mut self,
        level: &Names<'_>,
        select: &Select,
    ) -> Result<(Vec<(SourceColumn, Option<usize>)>, Vec<Bound>)> {
        let mut columns = Vec::new();
        let below = &level.sources[0].columns;
        for item in &select.items {
            if let ExprKind::Star(_) = item.expr.kind {
                let all = below.iter().enumerate().map(|(i, c)| (c.clone(), Some(i)));
                columns.extend(all.filter(|(c, _)| !c.merged));
                continue;
            }
            let e = self.outside("SELECT", |l| l.bind(level, &item.expr))?;
            let expr = self.settle(e)?;
            let name = item.alias.clone().unwrap_or_else(|| super::bind_query::output_name(&item.expr));
            let of = match &item.expr.kind {
                ExprKind::Column(said) => below.iter().position(|c| said.parts.last() == Some(&c.name)),
                _ => None,
            };
            columns.push((SourceColumn::new(name, expr), of));
        }
        let mut conditions = Vec::new();
        if let Some(e) = &select.filter {
            self.outside("WHERE", |l| l.bind_condition(level, e, "WHERE"))?.conjuncts(&mut conditions);
        }
        Ok((columns, conditions))
    }
}

impl<'c> Layer<'c> {
    fn of_partition(table: &Table, slice: &'c View) -> Result<Layer<'c>> {
        let query = planaria_syntax::parse::query(&slice.query)?;
        Ok(Layer { view: slice, partition: Some(table.id), query, columns: Vec::new() })
    }
    fn again(&self) -> Layer<'c> {
        Layer { view: self.view, partition: self.partition, query: self.query.clone(), columns: Vec::new() }
    }
}

/// In whose name a view reaches what is behind it.
pub(super) fn role_behind(view: &View) -> Option<RoleId> {
    (!view.security_invoker).then_some(view.rights.owner)
}
