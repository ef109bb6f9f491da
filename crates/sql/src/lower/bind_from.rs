//! FROM: relations, views, derived tables, functions, joins.
//!
//! Inner joins become one flat group of items with their conditions; a LEFT JOIN becomes an `Outer` item
//! of that group, to be done any time after the relations of its left side (outer joins commute
//! with inner joins and filters over their preserved side). A derived table or view that only
//! projects and filters dissolves into the group.

use super::Lowerer;
use super::bind_call::{Clause, is_own, named};
use super::bind_query::rename;
use super::bound::{Body, Bound, BoundKind, BoundQuery, Distinct, Item, RelId, RelKind};
use super::closest::relation_hinted;
use super::names::{Names, Source, SourceColumn};
use super::policy::secure;
use super::rights::AccessId;
use planaria_base::{Error, Result, SqlState, Type, limits, stack};
use planaria_catalog::{Object, Returns};
use planaria_syntax::ast::{
    Argument, BinaryOp, Expr, ExprKind, FunctionCall, JoinCondition, JoinKind, Name, Query, QueryBody,
    Select, SelectItem, TableAlias, TableRef, TypeName, Window,
};

/// The columns of `*`.
pub(super) type Star = Vec<(String, Bound)>;

/// A part of a FROM clause.
pub(super) struct FromClause {
    pub items: Vec<Item>,
    pub filter: Vec<Bound>,
    pub star: Star,
}

/// 42P01
pub(super) fn missing_relation(name: &Name) -> Error {
    let message = format!("relation \"{}\" does not exist", name.parts.join("."));
    Error::new(SqlState::UNDEFINED_TABLE, message).at(name.position)
}

/// 42809 for a composite type where a relation is to be opened.
pub(super) fn refuse_composite(
    catalog: &planaria_catalog::Catalog,
    wanted: planaria_catalog::Wanted<'_>,
    name: &Name,
) -> Result<()> {
    if catalog.composite(wanted).is_none() {
        return Ok(());
    }
    let message = format!("\"{}\" is a composite type", wanted.local);
    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position))
}

pub(super) fn is_unnest(catalog: &planaria_catalog::Catalog, name: &Name) -> Result<bool> {
    named(catalog, name).map(|wanted| wanted.local == "unnest" && !is_own(wanted))
}

impl Lowerer<'_> {
    /// Binds a FROM clause into `level`: its items, conditions of inner joins, the columns of `*`.
    pub(super) fn bind_from(
        &mut self,
        level: &mut Names<'_>,
        from: &[TableRef],
    ) -> Result<(Vec<Item>, Vec<Bound>, Star)> {
        let mut whole = FromClause { items: Vec::new(), filter: Vec::new(), star: Vec::new() };
        for table in from {
            let part = self.bind_table(level, table, false)?;
            whole.items.extend(part.items);
            whole.filter.extend(part.filter);
            whole.star.extend(part.star);
        }
        Ok((whole.items, whole.filter, whole.star))
    }

    /// One FROM item; `nullable` if it stands on the nullable side of an outer join.
    fn bind_table(&mut self, level: &mut Names<'_>, table: &TableRef, nullable: bool) -> Result<FromClause> {
        stack::check()?;
        match table {
            TableRef::Relation { name, alias, only } => {
                if *only {
                    self.refuse_only(name)?;
                }
                self.bind_relation(level, name, alias.as_ref(), nullable)
            }
            TableRef::Derived { query, alias, lateral } => {
                let bound = if *lateral {
                    self.bind_level(level.inner(), query, false)?
                } else {
                    let beside = level.beside();
                    self.bind_level(beside, query, false)?
                };
                let (name, columns) = match alias {
                    Some(a) => (a.name.as_str(), &a.columns[..]),
                    None => ("", &[][..]),
                };
                self.add_query(level, bound, name, columns, nullable, query.position)
            }
            TableRef::Function { call, alias, ordinality, position, .. }
                if call.args.len() > 1 && is_unnest(self.catalog, &call.name)? =>
            {
                let query = Box::new(unnest_side_by_side(call, *ordinality, *position));
                let unnamed = || TableAlias { name: "unnest".to_owned(), columns: Vec::new() };
                let alias = Some(alias.clone().unwrap_or_else(unnamed));
                let derived = TableRef::Derived { query, alias, lateral: true };
                self.bind_table(level, &derived, nullable)
            }
            TableRef::Function { call, alias, definitions, lateral: _, ordinality, position } => {
                let call = &*self.ordered(call, *position);
                let base = self.populated(level, call)?;
                let base = base.as_ref();
                if let Some(query) =
                    super::json_records::query(self.catalog, call, definitions, base, *position)?
                {
                    let query = Box::new(query);
                    let function = call.name.parts.last().cloned().unwrap_or_default();
                    let unnamed = || TableAlias { name: function, columns: Vec::new() };
                    let alias = Some(alias.clone().unwrap_or_else(unnamed));
                    let derived = TableRef::Derived { query, alias, lateral: true };
                    return self.bind_table(level, &derived, nullable);
                }
                self.bind_function(level, call, alias.as_ref(), definitions, *ordinality, *position)
            }
            TableRef::RowsFrom { calls, alias, ordinality, position } => {
                self.bind_rows_from(level, calls, alias.as_ref(), *ordinality, nullable, *position)
            }
            TableRef::Sample { table, method, args, seed } => {
                let mut part = self.bind_table(level, table, nullable)?;
                let taken = self.bind_sample(level, table, &part.items, method, args, seed.as_deref())?;
                part.filter.push(taken);
                Ok(part)
            }
            TableRef::Join { kind, left, right, condition, position } => {
                self.bind_join(level, *kind, left, right, condition, nullable, *position)
            }
        }
    }

    fn bind_relation(
        &mut self,
        level: &mut Names<'_>,
        name: &Name,
        alias: Option<&TableAlias>,
        nullable: bool,
    ) -> Result<FromClause> {
        let table = name.parts.last().cloned().unwrap_or_default();
        let shown = alias.map_or(table.as_str(), |a| a.name.as_str());
        let renamed = alias.map_or(&[][..], |a| &a.columns[..]);
        let position = name.position;
        if name.parts.len() == 1
            && let Some(index) = level.cte(&table).or_else(|| self.transition(&table))
        {
            let cte = &self.ctes[index];
            if cte.query.is_none() && cte.columns.is_empty() {
                let message = format!("WITH query \"{}\" does not have a RETURNING clause", cte.name);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(name.position));
            }
            let rel = self.cte_rel(index, shown);
            level.turn |= matches!(self.rel(rel).kind, RelKind::Work(_));
            let tracked = self.ctes[index].tracked;
            if tracked > 0 && matches!(self.rel(rel).kind, RelKind::Work(_)) {
                // What SEARCH and CYCLE add can be named, but is no part of `*`.
                let mut source = self.source_of(rel, shown);
                let added = source.columns.split_off(source.columns.len() - tracked);
                let star = self.add_source(level, source, renamed, position)?;
                level.sources.push(Source::computed(super::tracks::ADDED, added));
                return Ok(FromClause { items: vec![Item::Rel(rel)], filter: Vec::new(), star });
            }
            return self.add_rel(level, rel, shown, renamed, position);
        }
        if let Some(system) = super::system::named(name) {
            return self.bind_system(level, system, shown, renamed, nullable, position);
        }
        let catalog = self.catalog;
        let no_schema = |e: Error| super::bind_call::relation_error(name, e);
        let wanted = catalog.located(self.meant(name).map_err(no_schema)?);
        refuse_composite(catalog, wanted, name)?;
        if let Some(table) = catalog.table(wanted) {
            let access = self.require_read(Object::Table(table.id));
            self.note_relation(position, &name.parts, (table.schema, &table.name), alias.is_some());
            if let Some(slice) = table.slice() {
                let part = self.bind_slice(level, table, slice, (shown, renamed, position), nullable)?;
                self.track_last(level, access, &Object::Table(table.id));
                return Ok(part);
            }
            if table.materialized == Some(false) {
                self.not_populated(&table.name)?;
            }
            let rel = self.table_rel(table.id, shown);
            let mut part = self.add_rel(level, rel, shown, renamed, position)?;
            self.track_last(level, access, &Object::Table(table.id));
            let before = self.at(position);
            part.filter = self.visible_rows(table, rel)?;
            self.at(before);
            if shown != table.name
                && let Some(source) = level.sources.last_mut()
            {
                source.relation = Some(table.name.clone());
            }
            return Ok(part);
        }
        if let Some(sequence) = catalog.sequence(wanted).filter(|s| !s.hidden) {
            self.require_read(Object::Sequence(sequence.id));
            let schema = catalog.schema_name(sequence.schema);
            let query = super::system::sequence_query(schema, &table, position)?;
            let bound = self.bind_level(Names::of(&super::Scope::new()), &query, false)?;
            return self.add_query(level, bound, shown, renamed, nullable, position);
        }
        if let Some(view) = catalog.view(wanted) {
            let key = view.key();
            let foreign = |mut e: Error| {
                e.fields_mut().position = Some(position);
                e.context(format!("view \"{}\"", view.name))
            };
            let access = match std::mem::take(&mut self.rights.unread) {
                true => None,
                false => self.require_read(Object::View(key.clone())),
            };
            self.note_relation(position, &name.parts, (view.schema, &view.name), alias.is_some());
            if self.expanding.contains(&key) {
                let message = format!("infinite recursion detected in rules for relation \"{}\"", view.name);
                return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).at(position));
            }
            let shared = !self.rights.locked && self.is_shared(&key, position)?;
            if shared && let Some((_, Some(place))) = self.views.as_ref().and_then(|v| v.get(&key)).copied() {
                let rel = self.cte_rel(place, shown);
                let part = self.add_rel(level, rel, shown, renamed, position)?;
                self.track_last(level, access, &Object::View(key));
                return Ok(part);
            }
            let query: Query = planaria_syntax::parse::query(&view.query).map_err(foreign)?;
            let scope = super::Scope::new();
            let collectors = std::mem::take(&mut self.collectors);
            let around = std::mem::take(&mut self.cte_reads);
            let role = super::updatable::role_behind(view);
            self.expanding.push(key.clone());
            let bound =
                self.in_name_of(role, |l| l.at_home(|l| l.bind_level(Names::of(&scope), &query, false)));
            self.expanding.pop();
            self.collectors = collectors;
            let mut bound = match bound {
                // Which views are in the circle says the message.
                Err(e) if e.sqlstate() == SqlState::INVALID_OBJECT_DEFINITION => return Err(e.at(position)),
                other => other.map_err(foreign)?,
            };
            self.reposition_query(&mut bound, position);
            rename(&mut bound.columns, &view.columns, &view.name, position)?;
            let fenced = view.security_barrier && !self.secured(&mut bound);
            if fenced && self.rights.locked {
                let hint = "Lock the rows of its tables.";
                let what = "row locks through a view with security_barrier that is not over one table";
                return Err(Error::unsupported(format!("{what} are not supported"), hint).at(position));
            }
            let shared = shared && !self.draws(&bound);
            if shared || fenced {
                let place = self.add_cte(&view.name, bound);
                self.read_by(place, around);
                if shared && let Some((_, known)) = self.views.as_mut().and_then(|v| v.get_mut(&key)) {
                    *known = Some(place);
                }
                let rel = self.cte_rel(place, shown);
                let part = self.add_rel(level, rel, shown, renamed, position)?;
                self.track_last(level, access, &Object::View(key));
                return Ok(part);
            }
            self.cte_reads.splice(..0, around);
            let part = self.add_query(level, bound, shown, renamed, nullable, position)?;
            self.track_last(level, access, &Object::View(key));
            return Ok(part);
        }
        let error = missing_relation(name);
        if !(name.parts.len() == 1 && level.comes_later(&table)) {
            return Err(relation_hinted(error, self.catalog, &table));
        }
        Err(error
            .with_detail(format!(
                "There is a WITH item named \"{table}\", but it cannot be referenced from this part of the query."
            ))
            .with_hint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references."))
    }

    /// Makes the conditions of a view with `security_barrier` be checked before all others, if it is over one table: else
    /// what is asked of one table could be checked before another has been read.
    fn secured(&mut self, bound: &mut BoundQuery) -> bool {
        let Body::Select(select) = &mut bound.body else { return false };
        let [Item::Rel(rel)] = &select.from[..] else { return false };
        let one = matches!(self.rel(*rel).kind, RelKind::Table(_));
        if one {
            secure(&mut select.filter);
        }
        one
    }

    /// Reading columns of the last source is noted.
    fn track_last(&self, level: &mut Names<'_>, access: Option<AccessId>, object: &Object) {
        if let Some(access) = access
            && let Some(source) = level.sources.last_mut()
        {
            Self::track(source, access, self.catalog.named_columns(object));
        }
    }

    /// A partition: its rows of the root.
    fn bind_slice(
        &mut self,
        level: &mut Names<'_>,
        table: &planaria_catalog::Table,
        slice: &planaria_catalog::View,
        (shown, renamed, position): (&str, &[String], u32),
        nullable: bool,
    ) -> Result<FromClause> {
        let query: Query = planaria_syntax::parse::query(&slice.query)?;
        let scope = super::Scope::new();
        let collectors = std::mem::take(&mut self.collectors);
        let around = std::mem::take(&mut self.cte_reads);
        let read = self.rights.reads();
        let unread = std::mem::take(&mut self.rights.unread);
        let role = super::updatable::role_behind(slice);
        let bound = self.in_name_of(role, |l| l.at_home(|l| l.bind_level(Names::of(&scope), &query, false)));
        self.rights.unread = unread;
        self.rights.forget_reads(read);
        self.collectors = collectors;
        self.cte_reads.splice(..0, around);
        let mut bound = bound.map_err(|e| e.at(position))?;
        self.reposition_query(&mut bound, position);
        let part = self.add_query(level, bound, shown, renamed, nullable, position)?;
        // Where its rows are joined as those of the partitioned table, they have their number.
        let place = match part.items[..] {
            [Item::Rel(rel)] if let RelKind::Table(root) = self.rel(rel).kind => {
                self.place_of(rel, self.catalog.table_by_id(root))
            }
            _ => None,
        };
        if let Some(source) = level.sources.last_mut() {
            source.system.extend(place);
            if !table.is_partitioned() {
                let oid = i64::from(self.catalog.table_oid(table.id));
                let expr = Bound::constant(planaria_base::Datum::Int(oid), Type::OID, 0);
                source.system.push(SourceColumn::new("tableoid".to_owned(), expr));
            }
            if shown != table.name {
                source.relation = Some(table.name.clone());
            }
        }
        Ok(part)
    }

    /// 55000 where a materialized view is read that has not been filled.
    fn not_populated(&mut self, name: &str) -> Result<()> {
        let is = self.truth(true);
        self.raising(is, |l| {
            let message = format!("materialized view \"{name}\" has not been populated");
            let hint = "Use the REFRESH MATERIALIZED VIEW command.";
            let hint = l.constant(planaria_base::Datum::Text(hint.to_owned()), Type::Text);
            let fields = planaria_ir::ErrorFields { hint: Some(hint), ..Default::default() };
            l.raise(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, fields);
            Ok(())
        })
    }

    /// Counts a reference to a view. Whether it has so many in the query being bound that the further ones are to
    /// share its rows: views that read each other twice would double the work with each. Views that draw are not
    /// shared: 54001 where there are too many places.
    fn is_shared(&mut self, view: &str, position: u32) -> Result<bool> {
        let Some(views) = &mut self.views else { return Ok(false) };
        let (references, _) = views.entry(view.to_owned()).or_default();
        *references += 1;
        let shared = *references > limits::VIEW_REFERENCES_MAX;
        if shared && views.values().map(|(references, _)| references).sum::<u32>() > limits::VIEW_PLACES_MAX {
            let message = "the statement reads views in too many places";
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message)
                .with_detail(format!(
                    "They are {} at most, those within other views included.",
                    limits::VIEW_PLACES_MAX
                ))
                .at(position));
        }
        Ok(shared)
    }

    /// A relation for a table. Its columns are all stored ones; the hidden row id is the last.
    pub(super) fn table_rel(&mut self, table: planaria_base::TableId, alias: &str) -> RelId {
        let table = self.catalog.table_by_id(table);
        // However an interval is kept, it is one when it is read.
        let read = |ty: &Type| if *ty == Type::OldInterval { Type::Interval } else { ty.clone() };
        let columns = table.columns.iter().map(|c| (c.name.clone(), read(&c.ty))).collect();
        self.new_rel(alias, columns, RelKind::Table(table.id))
    }

    /// The source of a relation: hidden columns cannot be named.
    pub(super) fn source_of(&self, rel: RelId, alias: &str) -> Source {
        let relation = self.rel(rel);
        let mut source = Source::of(alias, rel, &relation.columns);
        if let RelKind::Table(table) = relation.kind {
            let table = self.catalog.table_by_id(table);
            if let Some(at) = table.columns.iter().position(planaria_catalog::Column::is_row_id) {
                source.row = source.columns.get(at).cloned();
                source.row.iter_mut().for_each(|c| c.name = super::names::ROW_ID.to_owned());
            }
            let mut hidden = table.columns.iter().map(|c| c.hidden);
            source.columns.retain(|_| !hidden.next().unwrap_or(false));
        }
        if let RelKind::Table(table) = relation.kind {
            source.system.extend(self.place_of(rel, self.catalog.table_by_id(table)));
        }
        let oid = match relation.kind {
            RelKind::Table(table) => self.catalog.table_oid(table),
            RelKind::System(id) => planaria_catalog::system::by_id(id).oid,
            _ => return source,
        };
        let expr = Bound::constant(planaria_base::Datum::Int(i64::from(oid)), Type::OID, 0);
        source.system.push(SourceColumn::new("tableoid".to_owned(), expr));
        source
    }

    /// Makes a relation a source.
    pub(super) fn add_rel(
        &mut self,
        level: &mut Names<'_>,
        rel: RelId,
        alias: &str,
        renamed: &[String],
        position: u32,
    ) -> Result<FromClause> {
        let source = self.source_of(rel, alias);
        let star = self.add_source(level, source, renamed, position)?;
        Ok(FromClause { items: vec![Item::Rel(rel)], filter: Vec::new(), star })
    }

    pub(super) fn add_source(
        &mut self,
        level: &mut Names<'_>,
        mut source: Source,
        renamed: &[String],
        position: u32,
    ) -> Result<Star> {
        level.check_alias(&source.alias, position)?;
        if renamed.len() > source.columns.len() {
            let (has, said) = (source.columns.len(), renamed.len());
            let message = format!(
                "table \"{}\" has {has} columns available but {said} columns specified",
                source.alias
            );
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(position));
        }
        for (column, name) in source.columns.iter_mut().zip(renamed) {
            column.name.clone_from(name);
        }
        source.renamed = renamed.len();
        let star = source.columns.iter().map(|c| (c.name.clone(), c.expr.clone())).collect();
        level.sources.push(source);
        Ok(star)
    }

    /// A query in FROM: dissolved into the group if it only projects and filters.
    pub(super) fn add_query(
        &mut self,
        level: &mut Names<'_>,
        query: BoundQuery,
        alias: &str,
        renamed: &[String],
        nullable: bool,
        position: u32,
    ) -> Result<FromClause> {
        if self.dissolves(&query, nullable) {
            let Body::Select(select) = query.body else { unreachable!("only a SELECT dissolves") };
            let columns = query
                .columns
                .iter()
                .zip(select.outputs)
                .map(|(c, expr)| SourceColumn::new(c.name.clone(), expr))
                .collect();
            let source = Source::computed(alias, columns);
            let star = self.add_source(level, source, renamed, position)?;
            return Ok(FromClause { items: select.from, filter: select.filter, star });
        }
        let columns = query.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
        let rel = self.new_rel(alias, columns, RelKind::Query(Box::new(query)));
        self.add_rel(level, rel, alias, renamed, position)
    }

    /// Whether a query in FROM may dissolve into the query around it: only joins, filters and cheap
    /// projections. On the nullable side of an outer join its columns must be nothing but columns of its own,
    /// which are NULL together with their row.
    fn dissolves(&mut self, query: &BoundQuery, nullable: bool) -> bool {
        let Body::Select(select) = &query.body else { return false };
        let plain = query.order.is_empty()
            && query.locks.is_empty()
            && query.limit.is_none()
            && query.offset.is_none()
            && select.grouping.is_none()
            && select.windows.is_none()
            && select.distinct == Distinct::No
            && select.visible == select.outputs.len()
            && !select.from.is_empty()
            // The sides of a FULL JOIN are collected where its query begins.
            && !has_full_join(&select.from);
        let own = self.rels_of(&select.from);
        plain
            && select.outputs.iter().all(|e| match nullable {
                true => e.as_column().is_some_and(|(rel, _)| own.contains(&rel)),
                false => e.is_cheap(),
            })
            && !own.into_iter().any(|rel| self.needs_a_frame(rel))
    }

    /// Whether a relation's rows must be collected for each row of the queries around: it is a CTE that uses their
    /// columns.
    fn needs_a_frame(&mut self, rel: RelId) -> bool {
        let RelKind::Cte(index) = self.rel(rel).kind else { return false };
        let cte = &self.ctes[index];
        let turn = cte.turn.as_ref().map(|turn| turn.query.clone());
        cte.query.clone().into_iter().chain(turn).any(|query| !self.free_rels(&query).is_empty())
    }

    pub(super) fn bind_function(
        &mut self,
        level: &mut Names<'_>,
        call: &FunctionCall,
        alias: Option<&TableAlias>,
        definitions: &[(String, TypeName)],
        ordinality: bool,
        position: u32,
    ) -> Result<FromClause> {
        let wanted = self.meant(&call.name)?;
        let name = wanted.local.to_owned();
        let shown = alias.map_or(name.as_str(), |a| a.name.as_str());
        let mut renamed: Vec<String> = alias.map_or(Vec::new(), |a| a.columns.clone());
        if let ([], Some(system)) = (&call.args[..], super::system::answering(&name))
            && !is_own(wanted)
        {
            if !definitions.is_empty() {
                return Err(super::record_calls::redundant().at(position));
            }
            return self.bind_system(level, system, shown, &renamed, false, position);
        }
        let rel = self
            .in_clause(Clause::From, |l| {
                let set = match is_own(wanted) {
                    true => l.bind_own_set(level, wanted, call, ordinality, position)?,
                    false => l.bind_set_function(level, wanted, call, ordinality, position)?,
                };
                if let Some(rel) = set {
                    l.spread_elements(rel, ordinality);
                    return Ok(rel);
                }
                if ordinality {
                    return Err(Error::unsupported(
                        "WITH ORDINALITY of this function is not supported",
                        "generate_series, unnest and set-returning functions have it",
                    )
                    .at(position));
                }
                // A function of the user's may answer with one row of several columns.
                let rows = |p: &planaria_catalog::Procedure| {
                    matches!(
                        p.returns,
                        Returns::RowOf(_) | Returns::OutRow | Returns::Record { set: false, .. }
                    )
                };
                if l.catalog.procedures_named(wanted).any(rows) {
                    let args: Vec<Bound> =
                        call.args.iter().map(|a| l.bind(level, &a.value)).collect::<Result<_>>()?;
                    if let Some((id, given)) = l.find_routine(wanted, call, &args, false, position)?
                        && rows(l.catalog.procedure(id))
                    {
                        let columns = l.result_columns(l.catalog.procedure(id));
                        let args = l.routine_args(id, given, args, position)?;
                        l.meets_routine(id);
                        return Ok(l.new_rel(&name, columns, RelKind::CallRow { procedure: id, args }));
                    }
                }
                let value = l.bind_call(level, call, position)?;
                let value = l.settle(value)?;
                let columns = vec![(name.clone(), value.ty.clone())];
                Ok(l.new_rel(&name, columns, RelKind::Row(vec![value])))
            })
            .and_then(|rel| {
                self.columns_of_call(rel, definitions, ordinality)?;
                Ok(rel)
            })
            .map_err(|e| e.at(position))?;
        // The alias of a function with one column names the column as well.
        let width = self.rel(rel).columns.len() - ordinality as usize;
        let composite = match &self.rel(rel).kind {
            RelKind::CallSet { procedure, .. } | RelKind::CallRow { procedure, .. } => {
                !matches!(self.catalog.procedure(*procedure).returns, Returns::SetOf(_) | Returns::Scalar(_))
            }
            RelKind::Unnest { array, .. } => matches!(array.ty.element(), Some(Type::Record(_))),
            _ => false,
        };
        if renamed.is_empty() && width == 1 && !composite {
            renamed.push(self.result_name(rel).unwrap_or(shown).to_owned());
        }
        self.rel_mut(rel).name = shown.to_owned();
        self.add_rel(level, rel, shown, &renamed, position)
    }

    /// `unnest` of an array of rows has a column for each of their fields.
    fn spread_elements(&mut self, rel: RelId, ordinality: bool) {
        let of = self.rel_mut(rel);
        if !matches!(of.kind, RelKind::Unnest { .. }) {
            return;
        }
        let Type::Record(row) = of.columns[0].1.clone() else { return };
        let behind = of.columns.split_off(of.columns.len() - ordinality as usize);
        of.columns = row.fields.into_iter().chain(behind).collect();
        of.uses = vec![0; of.columns.len()];
        of.regs = vec![None; of.columns.len()];
    }

    /// The name of a function's only result, if it has one: that of its column whatever the alias.
    fn result_name(&self, rel: RelId) -> Option<&str> {
        let id = match &self.rel(rel).kind {
            RelKind::CallSet { procedure, .. } | RelKind::CallRow { procedure, .. } => *procedure,
            RelKind::Row(values) => match values[..] {
                [Bound { kind: BoundKind::Call(id, _), .. }] => id,
                _ => return None,
            },
            // A result with a name of its own.
            RelKind::Unnest { .. } => {
                let column = &self.rel(rel).columns[0].0;
                return (*column != self.rel(rel).name).then_some(column);
            }
            _ => return None,
        };
        let mut outputs = self.catalog.procedure(id).outputs();
        let only = outputs.next().filter(|_| outputs.next().is_none())?;
        (!only.name.is_empty()).then_some(only.name.as_str())
    }

    #[allow(clippy::too_many_arguments)]
    fn bind_join(
        &mut self,
        level: &mut Names<'_>,
        kind: JoinKind,
        left: &TableRef,
        right: &TableRef,
        condition: &JoinCondition,
        nullable: bool,
        position: u32,
    ) -> Result<FromClause> {
        let left_nullable = nullable || matches!(kind, JoinKind::Right | JoinKind::Full);
        let right_nullable = nullable || matches!(kind, JoinKind::Left | JoinKind::Full);
        let start = level.sources.len();
        let mut l = self.bind_table(level, left, left_nullable)?;
        let mut r = self.bind_table(level, right, right_nullable)?;
        let common: Vec<String> = match condition {
            JoinCondition::Using(columns) => columns.clone(),
            JoinCondition::Natural(end) => {
                let in_right = |n: &String| r.star.iter().any(|(name, _)| name == n);
                let common: Vec<String> = l.star.iter().map(|(n, _)| n.clone()).filter(in_right).collect();
                self.note_natural(position, *end, &common);
                common
            }
            _ => Vec::new(),
        };
        let mut on = Vec::new();
        let mut star: Star = Vec::new();
        let mut merged = Source::computed("", Vec::new());
        for name in &common {
            let a = take_column(&mut l.star, name, "left", position)?;
            let b = take_column(&mut r.star, name, "right", position)?;
            let equal = self.binary(BinaryOp::Eq, a.clone(), b.clone(), position)?;
            equal.conjuncts(&mut on);
            let (mut both, ty) = self.unify("JOIN/USING", vec![a, b])?;
            let expr = match kind {
                JoinKind::Inner | JoinKind::Left | JoinKind::Cross => both.swap_remove(0),
                JoinKind::Right => both.swap_remove(1),
                JoinKind::Full => Bound::new(BoundKind::Coalesce(both), ty, position),
            };
            for source in &mut level.sources[start..] {
                for column in source.columns.iter_mut().filter(|c| c.name == *name) {
                    column.merged = true;
                    self.note_tracked(&column.tracked);
                }
            }
            star.push((name.clone(), expr.clone()));
            merged.columns.push(SourceColumn::new(name.clone(), expr));
        }
        star.append(&mut l.star);
        star.append(&mut r.star);
        if !merged.columns.is_empty() {
            level.sources.push(merged);
        }
        if let JoinCondition::On(e) = condition {
            // ON sees the two sides only, besides outer queries.
            let outside: Vec<Source> = level.sources.drain(..start).collect();
            let bound = self.in_clause(Clause::On, |l| l.bind_condition(level, e, "JOIN/ON"));
            level.sources.splice(0..0, outside);
            bound?.conjuncts(&mut on);
            let both: Vec<Item> = l.items.iter().chain(&r.items).cloned().collect();
            self.per_row(&mut on, &both);
        }
        let (items, filter) = match kind {
            JoinKind::Inner | JoinKind::Cross => {
                l.items.extend(r.items);
                l.filter.extend(r.filter);
                l.filter.extend(on);
                (l.items, l.filter)
            }
            JoinKind::Left | JoinKind::Right => {
                let (mut kept, mut other) = if kind == JoinKind::Left { (l, r) } else { (r, l) };
                let inner = self.rels_of(&other.items);
                for rel in &inner {
                    self.rel_mut(*rel).nullable = true;
                }
                // What joins the two sides stays outside of a derived table: pushed into it, it would
                // make the table depend on the other side, and be computed for each of its rows.
                let (alone, joining): (Vec<Bound>, Vec<Bound>) =
                    on.into_iter().partition(|c| self.rels_in(c).iter().all(|r| inner.contains(r)));
                other.filter.extend(alone);
                self.push_down(&other.items, &mut other.filter)?;
                other.filter.extend(joining);
                let requires = self.rels_of(&kept.items);
                kept.items.push(Item::Outer { right: other.items, on: other.filter, requires });
                (kept.items, kept.filter)
            }
            JoinKind::Full => {
                for rel in self.rels_of(&l.items).into_iter().chain(self.rels_of(&r.items)) {
                    self.rel_mut(rel).nullable = true;
                }
                let item = Item::Full {
                    left: l.items,
                    left_filter: l.filter,
                    right: r.items,
                    right_filter: r.filter,
                    on,
                };
                (vec![item], Vec::new())
            }
        };
        Ok(FromClause { items, filter, star })
    }

    /// All relations of a group, those inside its outer joins included.
    pub(super) fn rels_of(&self, items: &[Item]) -> Vec<RelId> {
        let mut rels = Vec::new();
        for item in items {
            match item {
                Item::Rel(rel) => {
                    rels.push(*rel);
                    if let RelKind::Zip(parts) = &self.rel(*rel).kind {
                        rels.extend(parts);
                    }
                }
                Item::Outer { right, .. } => rels.extend(self.rels_of(right)),
                Item::Full { left, right, .. } => {
                    rels.extend(self.rels_of(left));
                    rels.extend(self.rels_of(right));
                }
            }
        }
        rels
    }

    /// `(left, ..) IN (query)`
    pub(super) fn in_query(&mut self, left: Vec<Bound>, query: BoundQuery, position: u32) -> Result<Bound> {
        if left.len() != query.columns.len() {
            let message = if query.columns.len() > left.len() {
                "subquery has too many columns"
            } else {
                "subquery has too few columns"
            };
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let mut query = query;
        let mut values = Vec::with_capacity(left.len());
        for (i, value) in left.into_iter().enumerate() {
            let (value, matched, func) = self.match_column(BinaryOp::Eq, value, query, i, position)?;
            let _ = func;
            query = matched;
            values.push(value);
        }
        Ok(Bound::new(BoundKind::InQuery(values, Box::new(query)), Type::Bool, position))
    }

    /// A value and a one-column query made comparable.
    pub(super) fn match_query(
        &mut self,
        op: BinaryOp,
        value: Bound,
        query: BoundQuery,
        position: u32,
    ) -> Result<(Bound, BoundQuery, planaria_ir::Func)> {
        self.match_column(op, value, query, 0, position)
    }

    fn match_column(
        &mut self,
        op: BinaryOp,
        value: Bound,
        mut query: BoundQuery,
        column: usize,
        position: u32,
    ) -> Result<(Bound, BoundQuery, planaria_ir::Func)> {
        let id = self.new_let();
        let ty = query.columns[column].ty.clone();
        let reference = Bound::new(BoundKind::LetRef(id), ty, position);
        let compared = self.binary(op, value, reference, position)?;
        let BoundKind::Apply(func, mut args) = compared.kind else {
            return Err(Error::internal("a comparison that is no function"));
        };
        let (mut right, mut left) = (args.pop().expect("two"), args.pop().expect("two"));
        // The operator may compare another type than the query's: its column is converted. Where the
        // classes agree, map keys still must be of one type.
        if right.ty != left.ty && (right.ty.is_oid() || left.ty.is_oid()) {
            left = self.coerce(left, &Type::OID, super::CastContext::Assignment)?;
            right.ty = Type::OID;
        } else if right.ty != left.ty && func.args()[0] == planaria_ir::func::Sig::I {
            let wide = [&left.ty, &right.ty].into_iter().any(|t| *t == Type::Int8);
            if right.ty.class() == planaria_base::types::TypeClass::Integer {
                let ty = if wide { Type::Int8 } else { Type::Int4 };
                left = self.coerce(left, &ty, super::CastContext::Implicit)?;
                right.ty = ty;
            }
        } else if right.ty != left.ty
            && !self.reads_after
            && [&left.ty, &right.ty].into_iter().all(|ty| matches!(ty, Type::Float4 | Type::Float8))
        {
            left = self.coerce(left, &Type::Float8, super::CastContext::Implicit)?;
            right.ty = Type::Float8;
        } else if right.ty != left.ty {
            let ty = super::types::unmodified(&right.ty);
            left = self.coerce(left, &ty, super::CastContext::Assignment)?;
            right.ty = ty;
        }
        self.coerce_output(&mut query, column, &right.ty)?;
        Ok((left, query, func))
    }
}

/// Takes a column of USING out of one side's star.
fn take_column(star: &mut Star, name: &str, side: &str, position: u32) -> Result<Bound> {
    let at: Vec<usize> = star.iter().enumerate().filter(|(_, (n, _))| n == name).map(|(i, _)| i).collect();
    match at[..] {
        [one] => Ok(star.remove(one).1),
        [] => {
            let message =
                format!("column \"{name}\" specified in USING clause does not exist in {side} table");
            Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(position))
        }
        _ => {
            let message = format!("common column name \"{name}\" appears more than once in {side} table");
            Err(Error::new(SqlState::AMBIGUOUS_COLUMN, message).at(position))
        }
    }
}

/// `unnest(a, b, ..) [WITH ORDINALITY]` as the query that it stands for:
/// `SELECT unnest(a), unnest(b)`, and around it `SELECT *, row_number() OVER ()`.
fn unnest_side_by_side(call: &FunctionCall, ordinality: bool, position: u32) -> Query {
    let named = |e: Expr, name: &str| SelectItem { expr: e, alias: Some(name.to_owned()) };
    let expr = |kind| Expr { position, kind };
    let query = |items, from| {
        let select = Select { items, from, ..Select::default() };
        Query::new(QueryBody::Select(Box::new(select)), position)
    };
    let one = |argument: &Argument| {
        let call = FunctionCall { args: vec![argument.clone()], ..call.clone() };
        named(expr(ExprKind::Call(Box::new(call))), "unnest")
    };
    let inner = query(call.args.iter().map(one).collect(), Vec::new());
    if !ordinality {
        return inner;
    }
    let alias = Some(TableAlias { name: "arrays".to_owned(), columns: Vec::new() });
    let number = FunctionCall {
        name: Name { parts: vec!["row_number".to_owned()], position },
        args: Vec::new(),
        over: Some(Window::default()),
        ..call.clone()
    };
    let all = SelectItem { expr: expr(ExprKind::Star(None)), alias: None };
    let number = named(expr(ExprKind::Call(Box::new(number))), "ordinality");
    query(vec![all, number], vec![TableRef::Derived { query: Box::new(inner), alias, lateral: true }])
}

/// Whether there is a FULL JOIN among them, however deep.
fn has_full_join(items: &[Item]) -> bool {
    items.iter().any(|item| match item {
        Item::Rel(_) => false,
        Item::Outer { right, .. } => has_full_join(right),
        Item::Full { .. } => true,
    })
}
