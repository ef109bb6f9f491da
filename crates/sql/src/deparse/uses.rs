//! The columns of relations that a view uses, as its query means them: what `information_schema.view_column_usage` lists.

use super::analysis::Analysis;
use super::node::{
    BodyNode, EdgeNode, FromNode, Node, NodeKind, QueryNode, Relation, RelationKind, SelectNode, SortNode,
    SubscriptNode, WindowNode,
};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, View, of_key};
use std::collections::BTreeSet;

/// A relation, by its [`key`](planaria_catalog::key), and a column of it.
type Use = (String, String);

/// What a view uses; nothing where its query is not understood.
pub fn columns_used(catalog: &Catalog, view: &View) -> BTreeSet<(planaria_base::SchemaId, String, String)> {
    let mut analysis = Analysis::new(catalog.home(), catalog, &view.query);
    let query = planaria_syntax::parse::query(&view.query).ok().and_then(|query| analysis.query(&query));
    let mut walk = Walk { catalog, relations: &analysis.relations, found: BTreeSet::new() };
    if let Some(query) = &query {
        walk.query(query);
    }
    let named = |(key, column): Use| {
        let (schema, name) = of_key(&key);
        (schema, name.to_owned(), column)
    };
    walk.found.into_iter().map(named).collect()
}

struct Walk<'a> {
    catalog: &'a Catalog,
    relations: &'a [Relation],
    found: BTreeSet<Use>,
}

impl Walk<'_> {
    fn uses(&mut self, relation: usize, column: &str) {
        let of = &self.relations[relation];
        let RelationKind::Stored { .. } = of.kind else { return };
        let Some(Object::RowType(key)) = self.catalog.oids.object(of.row.oid) else { return };
        // It may have another name in the query.
        let at = of.columns.iter().position(|name| name == column);
        let wanted = of_key(key);
        let own = match (self.catalog.table(wanted), self.catalog.view(wanted)) {
            (Some(table), _) => table.visible().map(|(_, c)| &c.name).nth(at.unwrap_or(usize::MAX)),
            (None, Some(view)) => view.columns.get(at.unwrap_or(usize::MAX)),
            (None, None) => None,
        };
        if let Some(own) = own {
            self.found.insert((key.clone(), own.clone()));
        }
    }

    fn query(&mut self, query: &QueryNode) {
        query.with.iter().for_each(|cte| self.query(&cte.query));
        match &query.body {
            BodyNode::Select(select) => self.select(select),
            BodyNode::Values(rows) => rows.iter().flatten().for_each(|node| self.node(node)),
            BodyNode::SetOp(_, _, left, right) => {
                self.query(left);
                self.query(right);
            }
        }
        self.sorts(&query.order);
        query.limit.iter().chain(&query.offset).for_each(|node| self.node(node));
    }

    fn select(&mut self, select: &SelectNode) {
        select.from.iter().for_each(|item| self.from(item));
        select.items.iter().for_each(|(node, _)| self.node(node));
        select.distinct.iter().flatten().for_each(|node| self.node(node));
        select.filter.iter().chain(&select.group).chain(&select.having).for_each(|node| self.node(node));
        select.windows.iter().for_each(|(_, window)| self.window(window));
    }

    fn from(&mut self, item: &FromNode) {
        match item {
            FromNode::Relation(number) => match &self.relations[*number].kind {
                RelationKind::Query(query) => self.query(query),
                RelationKind::Function { call, .. } => self.node(call),
                RelationKind::Stored { .. } | RelationKind::Cte(_) => {}
            },
            FromNode::Join { left, right, using, on, .. } => {
                self.from(left);
                self.from(right);
                on.iter().for_each(|node| self.node(node));
                for side in [left, right] {
                    let mut numbers = Vec::new();
                    relations_of(side, &mut numbers);
                    for (number, column) in numbers.iter().flat_map(|n| using.iter().map(move |c| (*n, c))) {
                        self.uses(number, column);
                    }
                }
            }
        }
    }

    fn sorts(&mut self, order: &[SortNode]) {
        order.iter().for_each(|sort| self.node(&sort.expr));
    }

    fn window(&mut self, window: &WindowNode) {
        window.partition.iter().for_each(|node| self.node(node));
        self.sorts(&window.order);
        if let Some(frame) = &window.frame {
            for edge in [&frame.start, &frame.end] {
                if let EdgeNode::Preceding(node) | EdgeNode::Following(node) = edge {
                    self.node(node);
                }
            }
        }
    }

    fn node(&mut self, node: &Node) {
        if planaria_base::stack::check().is_err() {
            return;
        }
        match &node.kind {
            NodeKind::Column(Some(relation), column) => self.uses(*relation, column),
            NodeKind::Column(None, _)
            | NodeKind::Whole(_)
            | NodeKind::Value
            | NodeKind::CaseOperand
            | NodeKind::Const(_)
            | NodeKind::SqlValue(_) => {}
            NodeKind::Call(call) => {
                call.args.iter().for_each(|(_, arg)| self.node(arg));
                self.sorts(&call.order);
                call.filter.iter().for_each(|node| self.node(node));
                call.over.iter().for_each(|window| self.window(window));
            }
            NodeKind::Worded(_, all)
            | NodeKind::Operator(_, all)
            | NodeKind::Logic(_, all)
            | NodeKind::Array(all)
            | NodeKind::Row(all)
            | NodeKind::Coalesce(all)
            | NodeKind::MinMax(_, all) => all.iter().for_each(|node| self.node(node)),
            NodeKind::RowCompare(_, left, right) => {
                left.iter().chain(right).for_each(|node| self.node(node));
            }
            NodeKind::Distinct(a, b) | NodeKind::NullIf(a, b) | NodeKind::Quantified(_, _, a, b) => {
                self.node(a);
                self.node(b);
            }
            NodeKind::Cast(_, _, of)
            | NodeKind::Domain(_, of)
            | NodeKind::Null(of, _)
            | NodeKind::Truth(of, _)
            | NodeKind::Field(of, _)
            | NodeKind::Collate(of, _) => self.node(of),
            NodeKind::Case(operand, whens, otherwise) => {
                operand.iter().for_each(|node| self.node(node));
                for (when, then) in whens {
                    self.node(when);
                    self.node(then);
                }
                self.node(otherwise);
            }
            NodeKind::Subscripts(of, all) => {
                self.node(of);
                for subscript in all {
                    match subscript {
                        SubscriptNode::Element(node) => self.node(node),
                        SubscriptNode::Slice(low, high) => {
                            low.iter().chain(high).for_each(|node| self.node(node));
                        }
                    }
                }
            }
            NodeKind::Sublink(link) => {
                link.test.iter().for_each(|node| self.node(node));
                self.query(&link.query);
            }
        }
    }
}

/// The relations of a part of FROM.
fn relations_of(item: &FromNode, all: &mut Vec<usize>) {
    match item {
        FromNode::Relation(number) => all.push(*number),
        FromNode::Join { left, right, .. } => {
            relations_of(left, all);
            relations_of(right, all);
        }
    }
}
