//! Queries: FROM, what its columns are called, and the rest of a SELECT.

use super::analysis::{Analysis, Level, columns_of, declared, row_of};
use super::coerce::{INT8, UNKNOWN};
use super::node::{
    BodyNode, CteNode, FromNode, Node, NodeKind, QueryNode, Relation, RelationKind, SelectNode, SortNode, Ty,
};
use planaria_base::text_io::quote_ident;
use planaria_base::{SchemaId, oid, stack};
use planaria_catalog::{Returns, View, Wanted, system};
use planaria_syntax::ast::{
    Expr, ExprKind, FunctionCall, JoinCondition, JoinKind, Name, OrderItem, Query, QueryBody, Select,
    SelectItem, SetOp, StatementKind, TableAlias, TableRef,
};

/// How deep views over views are looked into.
const VIEWS_MAX: usize = 32;

type Columns = Vec<(String, Node)>;

/// A row that no relation has a type for.
const ROW: Ty = Ty::plain(super::coerce::RECORD);

impl Analysis<'_> {
    pub(super) fn query(&mut self, query: &Query) -> Option<QueryNode> {
        let mut node = self.side(query)?;
        self.settle(&mut node)?;
        Some(node)
    }

    /// The same of one whose literals what is around it may give a type.
    fn side(&mut self, query: &Query) -> Option<QueryNode> {
        if !query.locking.is_empty() || stack::check().is_err() {
            return None;
        }
        let known = self.ctes.len();
        let result = self.query_within(query);
        self.ctes.truncate(known);
        result
    }

    fn query_within(&mut self, query: &Query) -> Option<QueryNode> {
        let mut with = Vec::new();
        for cte in &query.with {
            if cte.search.is_some() || cte.cycle.is_some() {
                return None;
            }
            let StatementKind::Query(of) = &cte.statement.kind else { return None };
            with.push(self.cte(&cte.name, &cte.columns, of, query.recursive)?);
        }
        let mut node = match &query.body {
            QueryBody::Select(select) => self.select(select, &query.order_by)?,
            QueryBody::Values(rows) => {
                let node = self.values(rows)?;
                if !query.order_by.is_empty() {
                    return None;
                }
                node
            }
            QueryBody::SetOp { op, all, left, right, more } => {
                let mut node = self.set_operation(*op, *all, left, right)?;
                for right in more {
                    let right = self.side(right)?;
                    node = self.combined(*op, *all, node, right)?;
                }
                for item in &query.order_by {
                    let sort = self.order_of_outputs(item, &node.columns)?;
                    node.order.push(sort);
                }
                node
            }
        };
        node.with = with;
        node.recursive = query.recursive;
        node.ties = query.ties;
        for (from, to) in [(&query.limit, &mut node.limit), (&query.offset, &mut node.offset)] {
            if let Some(e) = from {
                let e = self.expr(e)?;
                *to = Some(self.coerce(e, Ty::plain(INT8), super::coerce::Context::Assignment)?);
            }
        }
        Some(node)
    }

    fn cte(&mut self, name: &str, names: &[String], of: &Query, recursive: bool) -> Option<CteNode> {
        let renamed = |columns: &[(String, Ty)]| -> Vec<(String, Ty)> {
            let names = names.iter().map(Some).chain(std::iter::repeat(None));
            columns.iter().zip(names).map(|((n, ty), name)| (name.unwrap_or(n).clone(), *ty)).collect()
        };
        let own = recursive && of.mentions(name);
        if own {
            // The first side says what the columns are.
            let QueryBody::SetOp { left, .. } = &of.body else { return None };
            let first = self.query(left)?;
            self.ctes.push((name.to_owned(), renamed(&first.columns)));
        }
        let query = self.query(of)?;
        if own {
            self.ctes.pop();
        }
        self.ctes.push((name.to_owned(), renamed(&query.columns)));
        Some(CteNode { name: name.to_owned(), columns: names.to_vec(), query })
    }

    fn set_operation(&mut self, op: SetOp, all: bool, left: &Query, right: &Query) -> Option<QueryNode> {
        let (left, right) = (self.side(left)?, self.side(right)?);
        self.combined(op, all, left, right)
    }

    fn combined(
        &mut self,
        op: SetOp,
        all: bool,
        mut left: QueryNode,
        mut right: QueryNode,
    ) -> Option<QueryNode> {
        if left.columns.len() != right.columns.len() {
            return None;
        }
        let mut columns = Vec::new();
        for at in 0..left.columns.len() {
            let types = [left.columns[at].1, right.columns[at].1];
            let common = self.common(&[types[0].oid, types[1].oid])?;
            let ty = if types[0] == types[1] { types[0] } else { Ty::plain(common) };
            for side in [&mut left, &mut right] {
                self.settle_output(side, at, ty.oid)?;
            }
            columns.push((left.columns[at].0.clone(), ty));
        }
        Some(QueryNode {
            with: Vec::new(),
            recursive: false,
            body: BodyNode::SetOp(op, all, Box::new(left), Box::new(right)),
            order: Vec::new(),
            limit: None,
            ties: false,
            offset: None,
            columns,
            relations: Vec::new(),
        })
    }

    /// A literal among the outputs of a side becomes what the other side has.
    fn settle_output(&mut self, side: &mut QueryNode, at: usize, ty: oid::Oid) -> Option<()> {
        if side.columns[at].1.oid == UNKNOWN {
            side.columns[at].1 = Ty::plain(ty);
            match &mut side.body {
                BodyNode::Select(select) => {
                    let item = &mut select.items[at].0;
                    *item = self.implicit(item.clone(), ty)?;
                }
                BodyNode::SetOp(_, _, left, right) => {
                    self.settle_output(left, at, ty)?;
                    self.settle_output(right, at, ty)?;
                }
                BodyNode::Values(_) => return None,
            }
        }
        Some(())
    }

    /// What is still of no type is text.
    fn settle(&mut self, query: &mut QueryNode) -> Option<()> {
        for at in 0..query.columns.len() {
            self.settle_output(query, at, super::coerce::TEXT)?;
        }
        Some(())
    }

    fn values(&mut self, rows: &[Vec<Expr>]) -> Option<QueryNode> {
        if rows.iter().flatten().any(|e| matches!(e.kind, ExprKind::Star(_))) {
            return None;
        }
        let mut all: Vec<Vec<Node>> = rows.iter().map(|row| self.exprs(row)).collect::<Option<_>>()?;
        let width = all.first()?.len();
        if all.iter().any(|row| row.len() != width) {
            return None;
        }
        let mut columns = Vec::new();
        for at in 0..width {
            let nodes = all.iter().map(|row| row[at].clone()).collect();
            let (nodes, ty) = self.unify(nodes)?;
            let modifier = nodes[0].ty.modifier;
            let modifier = if nodes.iter().all(|n| n.ty.modifier == modifier) { modifier } else { -1 };
            for (row, node) in all.iter_mut().zip(nodes) {
                row[at] = node;
            }
            columns.push((format!("column{}", at + 1), Ty { oid: ty, modifier }));
        }
        Some(QueryNode {
            with: Vec::new(),
            recursive: false,
            body: BodyNode::Values(all),
            order: Vec::new(),
            limit: None,
            ties: false,
            offset: None,
            columns,
            relations: Vec::new(),
        })
    }

    fn select(&mut self, select: &Select, order_by: &[OrderItem]) -> Option<QueryNode> {
        if !select.grouping_sets.is_empty() || select.into.is_some() {
            return None;
        }
        self.levels.push(Level::default());
        let result = self.select_within(select, order_by);
        self.levels.pop();
        result
    }

    fn select_within(&mut self, select: &Select, order_by: &[OrderItem]) -> Option<QueryNode> {
        let mut relations = Vec::new();
        let mut from = Vec::new();
        for table in &select.from {
            let (node, columns) = self.table(table, &mut relations)?;
            from.push(node);
            self.levels.last_mut()?.visible.extend(columns);
        }
        let mut windows = Vec::new();
        for (name, window) in &select.windows {
            windows.push((name.clone(), self.window(window, false)?));
        }
        let items = self.items(&select.items)?;
        let filter = match &select.filter {
            Some(e) => {
                let e = self.expr(e)?;
                Some(self.boolean(e)?)
            }
            None => None,
        };
        let mut group = Vec::new();
        for e in &select.group_by {
            group.push(self.grouped(e, &items)?);
        }
        let having = match &select.having {
            Some(e) => {
                let e = self.expr(e)?;
                Some(self.boolean(e)?)
            }
            None => None,
        };
        let distinct = match &select.distinct {
            Some(on) => {
                Some(on.iter().map(|e| self.output(e, &items).map(|(_, n)| n)).collect::<Option<Vec<_>>>()?)
            }
            None => None,
        };
        let mut order = Vec::new();
        for item in order_by {
            let (number, expr) = self.output(&item.expr, &items)?;
            let nulls_first = item.nulls_first.unwrap_or(item.descending);
            order.push(SortNode { expr, number, descending: item.descending, nulls_first });
        }
        let columns = items.iter().map(|(n, name)| (name.clone(), n.ty)).collect();
        let select = SelectNode { distinct, items, from, filter, group, having, windows };
        Some(QueryNode {
            with: Vec::new(),
            recursive: false,
            body: BodyNode::Select(Box::new(select)),
            order,
            limit: None,
            ties: false,
            offset: None,
            columns,
            relations,
        })
    }

    fn items(&mut self, items: &[SelectItem]) -> Option<Vec<(Node, String)>> {
        let mut all = Vec::new();
        for item in items {
            match &item.expr.kind {
                ExprKind::Star(None) => {
                    let visible = &self.levels.last()?.visible;
                    all.extend(visible.iter().map(|(name, node)| (node.clone(), name.clone())));
                }
                ExprKind::Star(Some(name)) => {
                    let wanted = name.parts.last()?;
                    let (_, number, columns) =
                        self.levels.iter().rev().flat_map(|l| &l.relations).find(|(n, ..)| n == wanted)?;
                    let column = |(name, ty): &(String, Ty)| {
                        let kind = NodeKind::Column(Some(*number), name.clone());
                        (Node { ty: *ty, kind }, name.clone())
                    };
                    all.extend(columns.iter().map(column));
                }
                _ => {
                    let node = self.expr(&item.expr)?;
                    let name = match &item.alias {
                        Some(alias) => alias.clone(),
                        None => crate::lower::output_name(&item.expr),
                    };
                    all.push((node, name));
                }
            }
        }
        Some(all)
    }

    /// An output by number or name, or an expression, of ORDER BY or DISTINCT ON.
    fn output(&mut self, e: &Expr, items: &[(Node, String)]) -> Option<(usize, Node)> {
        match &e.kind {
            ExprKind::Integer(text) => {
                let number: usize = text.parse().ok()?;
                return Some((number, items.get(number.checked_sub(1)?)?.0.clone()));
            }
            ExprKind::Column(Name { parts, .. }) if parts.len() == 1 => {
                if let Some(at) = items.iter().position(|(_, name)| *name == parts[0]) {
                    return Some((at + 1, items[at].0.clone()));
                }
            }
            _ => {}
        }
        let e = self.expr(e)?;
        Some((0, self.known(e)?))
    }

    /// What GROUP BY names: a column of FROM before an output.
    fn grouped(&mut self, e: &Expr, items: &[(Node, String)]) -> Option<Node> {
        if let ExprKind::Column(Name { parts, .. }) = &e.kind
            && parts.len() == 1
            && let Some(column) =
                self.levels.last().and_then(|l| l.visible.iter().find(|(n, _)| *n == parts[0]))
        {
            return Some(column.1.clone());
        }
        self.output(e, items).map(|(_, node)| node)
    }

    fn order_of_outputs(&mut self, item: &OrderItem, columns: &[(String, Ty)]) -> Option<SortNode> {
        let number = match &item.expr.kind {
            ExprKind::Integer(text) => text.parse().ok()?,
            ExprKind::Column(Name { parts, .. }) if parts.len() == 1 => {
                columns.iter().position(|(n, _)| *n == parts[0])? + 1
            }
            _ => return None,
        };
        let (name, ty) = columns.get(number - 1)?;
        let expr = Node { ty: *ty, kind: NodeKind::Column(None, name.clone()) };
        let nulls_first = item.nulls_first.unwrap_or(item.descending);
        Some(SortNode { expr, number, descending: item.descending, nulls_first })
    }

    /// A relation of FROM: its node, and the columns that stand alone there.
    fn table(&mut self, table: &TableRef, relations: &mut Vec<usize>) -> Option<(FromNode, Columns)> {
        match table {
            TableRef::Relation { name, only, alias } => {
                let (local, kind, row, columns) = self.stored(name, *only)?;
                Some(self.add(&local, alias.as_ref(), (kind, row), columns, false, relations))
            }
            TableRef::Derived { query, alias, lateral } => {
                let alias = alias.as_ref()?;
                let outside = if *lateral { None } else { self.levels.pop() };
                let query = self.query(query);
                self.levels.extend(outside);
                let query = query?;
                let columns = query.columns.clone();
                let kind = RelationKind::Query(Box::new(query));
                Some(self.add(&alias.name, Some(alias), (kind, ROW), columns, *lateral, relations))
            }
            TableRef::Function { call, alias, definitions, lateral, ordinality, .. } => {
                if !definitions.is_empty() {
                    return None;
                }
                let node = self.call(call)?;
                let name = call.name.parts.last()?.clone();
                let mut columns = self.function_columns(call, &node, alias.as_ref(), &name)?;
                if *ordinality {
                    columns.push(("ordinality".to_owned(), Ty::plain(INT8)));
                }
                let lateral = *lateral || has_columns(call);
                let row = if *ordinality { ROW } else { node.ty };
                let kind = RelationKind::Function { call: Box::new(node), ordinality: *ordinality };
                Some(self.add(&name, alias.as_ref(), (kind, row), columns, lateral, relations))
            }
            TableRef::Sample { .. } | TableRef::RowsFrom { .. } => None,
            TableRef::Join { kind, left, right, condition, .. } => {
                self.join(*kind, left, right, condition, relations)
            }
        }
    }

    /// A table, view, relation of the system or CTE: what it is called, and its columns.
    fn stored(&mut self, name: &Name, only: bool) -> Option<(String, RelationKind, Ty, Vec<(String, Ty)>)> {
        let (schema, local) = match &name.parts[..] {
            [local] => (None, local.clone()),
            [schema, local] => (Some(schema.as_str()), local.clone()),
            _ => return None,
        };
        if schema.is_none()
            && let Some((_, columns)) = self.ctes.iter().rev().find(|(n, _)| *n == local)
        {
            return Some((local.clone(), RelationKind::Cte(local), ROW, columns.clone()));
        }
        let of_system = match schema {
            None => system::unqualified(&local),
            Some(schema) => system::relation(schema, &local),
        };
        if of_system.is_some() {
            return None;
        }
        let wanted: Wanted<'_> = match schema {
            None => self.catalog.located(local.as_str().into()),
            Some(schema) => (self.catalog.schema(schema)?, local.as_str()).into(),
        };
        if let Some(view) = self.catalog.view(wanted) {
            let shown = self.shown_stored(view.schema, &view.name);
            let row = row_of(self.catalog, view.schema, &view.name);
            let columns = self.view_columns(view)?;
            return Some((local.clone(), RelationKind::Stored { shown, only }, row, columns));
        }
        let table = self.catalog.table(wanted)?;
        let shown = self.shown_stored(table.schema, &table.name);
        let row = row_of(self.catalog, table.schema, &table.name);
        Some((local.clone(), RelationKind::Stored { shown, only }, row, columns_of(self.catalog, table)))
    }

    /// A relation as FROM names it: with its schema where a name of WITH would be meant otherwise.
    fn shown_stored(&self, schema: SchemaId, name: &str) -> String {
        if self.ctes.iter().any(|(cte, _)| cte == name) {
            return format!("{}.{}", quote_ident(self.catalog.schema_name(schema)), quote_ident(name));
        }
        self.shown.shown_relation(schema, name)
    }

    /// The columns of a view, from its query.
    fn view_columns(&mut self, view: &View) -> Option<Vec<(String, Ty)>> {
        let key = view.key();
        if let Some(columns) = self.seen.get(&key) {
            return columns.clone();
        }
        let columns = self.look_into(view);
        self.seen.insert(key, columns.clone());
        columns
    }

    fn look_into(&mut self, view: &View) -> Option<Vec<(String, Ty)>> {
        if self.views >= VIEWS_MAX {
            return None;
        }
        let query = planaria_syntax::parse::query(&view.query).ok()?;
        let mut inner = Analysis::new(self.catalog, self.shown, &view.query);
        inner.views = self.views + 1;
        inner.seen = std::mem::take(&mut self.seen);
        let node = inner.query(&query);
        self.seen = inner.seen;
        let node = node?;
        let names = view.columns.iter().map(Some).chain(std::iter::repeat(None));
        Some(
            node.columns
                .into_iter()
                .zip(names)
                .map(|((n, ty), name)| (name.cloned().unwrap_or(n), ty))
                .collect(),
        )
    }

    /// Adds a relation to the innermost level.
    fn add(
        &mut self,
        name: &str,
        alias: Option<&TableAlias>,
        (kind, row): (RelationKind, Ty),
        columns: Vec<(String, Ty)>,
        lateral: bool,
        relations: &mut Vec<usize>,
    ) -> (FromNode, Columns) {
        let number = self.relations.len();
        let given = alias.map_or(&[][..], |a| &a.columns);
        let mut changed = false;
        let mut columns: Vec<(String, Ty)> = columns
            .into_iter()
            .enumerate()
            .map(|(at, (n, ty))| match given.get(at) {
                Some(name) => {
                    changed |= *name != n;
                    (name.clone(), ty)
                }
                None => (n, ty),
            })
            .collect();
        let called_apart = tell_apart(&mut columns);
        let shows_columns = match kind {
            RelationKind::Stored { .. } => changed,
            RelationKind::Function { .. } => true,
            RelationKind::Cte(_) | RelationKind::Query(_) => !given.is_empty() || called_apart,
        };
        let name = alias.map_or(name, |a| &a.name).to_owned();
        self.relations.push(Relation {
            name: name.clone(),
            aliased: alias.is_some() || called_apart,
            columns: columns.iter().map(|(n, _)| n.clone()).collect(),
            shows_columns,
            lateral,
            row,
            kind,
        });
        relations.push(number);
        let column = |(n, ty): &(String, Ty)| {
            (n.clone(), Node { ty: *ty, kind: NodeKind::Column(Some(number), n.clone()) })
        };
        let visible = columns.iter().map(column).collect();
        if let Some(level) = self.levels.last_mut() {
            level.relations.push((name, number, columns));
        }
        (FromNode::Relation(number), visible)
    }

    fn join(
        &mut self,
        kind: JoinKind,
        left: &TableRef,
        right: &TableRef,
        condition: &JoinCondition,
        relations: &mut Vec<usize>,
    ) -> Option<(FromNode, Columns)> {
        let (left, of_left) = self.table(left, relations)?;
        let before = self.levels.last()?.visible.len();
        // The right side may refer to the left one.
        self.levels.last_mut()?.visible.extend(of_left.iter().cloned());
        let right = self.table(right, relations);
        let (right, of_right) = right?;
        self.levels.last_mut()?.visible.extend(of_right.iter().cloned());
        let on = match condition {
            JoinCondition::On(e) => {
                // Only the columns of the two sides are there.
                let hidden: Vec<_> = self.levels.last_mut()?.visible.drain(..before).collect();
                let e = self.expr(e);
                self.levels.last_mut()?.visible.splice(..0, hidden);
                Some(self.boolean(e?)?)
            }
            _ => None,
        };
        self.levels.last_mut()?.visible.truncate(before);
        let using: Vec<String> = match condition {
            JoinCondition::Using(columns) => columns.clone(),
            JoinCondition::Natural(_) => of_left
                .iter()
                .map(|(n, _)| n)
                .filter(|n| of_right.iter().any(|(m, _)| m == *n))
                .cloned()
                .collect(),
            _ => Vec::new(),
        };
        let mut columns = Vec::new();
        for name in &using {
            let of = |side: &Columns| side.iter().find(|(n, _)| n == name).map(|(_, node)| node.clone());
            let (a, b) = (of(&of_left)?, of(&of_right)?);
            let ty = self.common(&[a.ty.oid, b.ty.oid])?;
            let alone = Node { ty: Ty::plain(ty), kind: NodeKind::Column(None, name.clone()) };
            columns.push((
                name.clone(),
                match kind {
                    JoinKind::Right if b.ty.oid == ty => b,
                    JoinKind::Inner | JoinKind::Left if a.ty.oid == ty => a,
                    _ => alone,
                },
            ));
        }
        let rest = of_left.into_iter().chain(of_right).filter(|(n, _)| !using.contains(n));
        columns.extend(rest);
        Some((FromNode::Join { kind, left: Box::new(left), right: Box::new(right), using, on }, columns))
    }

    /// The columns of a function in FROM.
    fn function_columns(
        &mut self,
        call: &FunctionCall,
        node: &Node,
        alias: Option<&TableAlias>,
        name: &str,
    ) -> Option<Vec<(String, Ty)>> {
        let one = |name: &str| {
            let name = alias.map_or(name, |a| &a.name);
            Some(vec![(name.to_owned(), node.ty)])
        };
        let text = Ty::plain(super::coerce::TEXT);
        let (json, jsonb) = (Ty::plain(114), Ty::plain(super::coerce::JSONB));
        let builtin = call.name.parts.len() == 1 || call.name.parts[0] == system::PG_CATALOG;
        if builtin && !super::builtin::functions(name).is_empty() {
            let pair = |of: Ty| Some(vec![("key".to_owned(), text), ("value".to_owned(), of)]);
            return match name {
                "json_each" => pair(json),
                "jsonb_each" => pair(jsonb),
                "json_each_text" | "jsonb_each_text" => pair(text),
                "json_array_elements"
                | "jsonb_array_elements"
                | "json_array_elements_text"
                | "jsonb_array_elements_text" => Some(vec![("value".to_owned(), node.ty)]),
                _ if node.ty.oid == super::coerce::RECORD => None,
                _ => one(name),
            };
        }
        let wanted: Wanted<'_> = match &call.name.parts[..] {
            [name] => name.into(),
            [schema, name] => (self.catalog.schema(schema)?, name.as_str()).into(),
            _ => return None,
        };
        let mut routines = self.catalog.procedures_named(wanted);
        let routine = routines.next()?;
        if routines.next().is_some() {
            return None;
        }
        match &routine.returns {
            Returns::Scalar(_) | Returns::SetOf(_) => one(name),
            Returns::RowOf(id) | Returns::SetOfTable(id) => {
                Some(columns_of(self.catalog, self.catalog.table_by_id(*id)))
            }
            Returns::Table | Returns::OutRow | Returns::SetOfOutRow => {
                let outputs = routine.outputs();
                Some(outputs.map(|p| (p.name.clone(), declared(self.catalog, &p.ty, p.domain))).collect())
            }
            _ => None,
        }
    }
}

/// Whether a call mentions columns.
fn has_columns(call: &FunctionCall) -> bool {
    call.args.iter().any(|a| !a.value.column_names().is_empty())
}

/// Gives columns that are called as one before them a name of their own; whether there are any.
fn tell_apart(columns: &mut [(String, Ty)]) -> bool {
    let mut changed = false;
    for at in 1..columns.len() {
        let known = |name: &str| columns.iter().enumerate().any(|(i, (n, _))| i != at && n == name);
        let before = columns[..at].iter().any(|(n, _)| *n == columns[at].0);
        if !before {
            continue;
        }
        let wanted = &columns[at].0;
        if let Some(name) = (1..).map(|n| format!("{wanted}_{n}")).find(|name| !known(name)) {
            columns[at].0 = name;
            changed = true;
        }
    }
    changed
}
