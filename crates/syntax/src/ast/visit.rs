//! A walk over expressions and queries: what a definition refers to.

use super::Frame;
use super::{
    Delete, Expr, ExprKind, FunctionCall, Insert, InsertSource, JoinCondition, JoinKind, Merge, MergeAction,
    Name, OrderItem, Query, QueryBody, Select, SelectItem, SetOp, Statement, StatementKind, Step, Subscript,
    TableRef, TypeName, Update, Window,
};

/// What the walk meets.
pub enum Node<'a> {
    /// An expression, before its parts.
    Expr(&'a Expr),
    /// A relation in FROM, or the target of a statement. CTE names are left out.
    Relation(&'a Name),
    /// A type that a value is converted to.
    Type(&'a TypeName),
    /// A call, in an expression or in FROM.
    Call(&'a FunctionCall),
    /// What follows, up to its `Leave`, stands in such a place.
    Enter(Place),
    /// The end of that.
    Leave,
}

/// Places within a query that matter to what stands there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A query inside an expression.
    Subquery,
    /// The nullable side of an outer join.
    OuterJoin,
    /// A side of INTERSECT ALL.
    Intersect,
    /// The right side of EXCEPT, or either of EXCEPT ALL.
    Except,
}

type Visit<'v> = dyn FnMut(Node<'_>) + 'v;

/// Walks an expression.
pub fn expr(e: &Expr, f: &mut Visit<'_>) {
    Walk { ctes: Vec::new(), f }.expr(e);
}

/// Walks a query.
pub fn query(q: &Query, f: &mut Visit<'_>) {
    Walk { ctes: Vec::new(), f }.query(q);
}

/// Walks a query or a change of rows.
pub fn statement(s: &Statement, f: &mut Visit<'_>) {
    Walk { ctes: Vec::new(), f }.statement(s);
}

struct Walk<'v, 'f> {
    /// Names of CTEs in scope: they hide relations.
    ctes: Vec<String>,
    f: &'v mut Visit<'f>,
}

impl Walk<'_, '_> {
    fn exprs<'a>(&mut self, all: impl IntoIterator<Item = &'a Expr>) {
        all.into_iter().for_each(|e| self.expr(e));
    }
    fn items(&mut self, items: &[SelectItem]) {
        self.exprs(items.iter().map(|i| &i.expr));
    }
    fn order(&mut self, items: &[OrderItem]) {
        self.exprs(items.iter().map(|i| &i.expr));
    }
    fn window(&mut self, w: &Window) {
        self.exprs(&w.partition_by);
        self.order(&w.order_by);
        self.exprs(w.frame.iter().flat_map(Frame::exprs));
    }
    fn call(&mut self, call: &FunctionCall) {
        (self.f)(Node::Call(call));
        self.exprs(call.args.iter().map(|a| &a.value));
        self.order(&call.order_by);
        self.exprs(&call.filter);
        call.over.iter().for_each(|w| self.window(w));
    }
    fn subquery(&mut self, q: &Query) {
        self.within(Some(Place::Subquery), |w| w.query(q));
    }
    fn within(&mut self, place: Option<Place>, f: impl FnOnce(&mut Self)) {
        let Some(place) = place else { return f(self) };
        (self.f)(Node::Enter(place));
        f(self);
        (self.f)(Node::Leave);
    }

    fn expr(&mut self, e: &Expr) {
        (self.f)(Node::Expr(e));
        match &e.kind {
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Integer(_)
            | ExprKind::Decimal(_)
            | ExprKind::String(_)
            | ExprKind::BitString(_)
            | ExprKind::Column(_)
            | ExprKind::Star(_)
            | ExprKind::Parameter(_)
            | ExprKind::SqlValue(..) => {}
            ExprKind::Cast(a, ty) => {
                (self.f)(Node::Type(ty));
                self.expr(a);
            }
            ExprKind::Unary(_, a)
            | ExprKind::Is { expr: a, .. }
            | ExprKind::Field(a, _)
            | ExprKind::Fields(a)
            | ExprKind::Collate(a, _) => self.expr(a),
            ExprKind::Binary(_, a, b)
            | ExprKind::IsDistinctFrom { left: a, right: b, .. }
            | ExprKind::Quantified { expr: a, array: b, .. }
            | ExprKind::NullIf(a, b)
            | ExprKind::AtTimeZone(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Chain(first, rest) => {
                self.expr(first);
                rest.iter().for_each(|(.., e)| self.expr(e));
            }
            ExprKind::Between { expr, low, high, .. } => {
                self.expr(expr);
                self.expr(low);
                self.expr(high);
            }
            ExprKind::InList { expr, list, .. } => {
                self.expr(expr);
                self.exprs(list);
            }
            ExprKind::InQuery { expr, query, .. } | ExprKind::QuantifiedQuery { expr, query, .. } => {
                self.expr(expr);
                self.subquery(query);
            }
            ExprKind::Like { expr, pattern, escape, .. } => {
                self.expr(expr);
                self.expr(pattern);
                self.exprs(escape.as_deref());
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Case { operand, whens, otherwise } => {
                self.exprs(operand.as_deref());
                for (when, then) in whens {
                    self.expr(when);
                    self.expr(then);
                }
                self.exprs(otherwise.as_deref());
            }
            ExprKind::Coalesce(all)
            | ExprKind::Greatest(all)
            | ExprKind::Least(all)
            | ExprKind::Array(all)
            | ExprKind::Row(all) => self.exprs(all),
            ExprKind::ArrayQuery(q) | ExprKind::Subquery(q) | ExprKind::Exists(q) => self.subquery(q),
            ExprKind::Subscripts(a, all) => {
                self.expr(a);
                all.iter().flat_map(super::Subscript::exprs).for_each(|e| self.expr(e));
            }
        }
    }

    fn query(&mut self, q: &Query) {
        let known = self.ctes.len();
        if q.recursive {
            self.ctes.extend(q.with.iter().map(|cte| cte.name.clone()));
        }
        for cte in &q.with {
            self.statement(&cte.statement);
            if !q.recursive {
                self.ctes.push(cte.name.clone());
            }
        }
        match &q.body {
            QueryBody::Select(s) => self.select(s),
            QueryBody::Values(rows) => rows.iter().for_each(|r| self.exprs(r)),
            QueryBody::SetOp { op, all, left, right, more } => {
                let (of_left, of_right) = match op {
                    SetOp::Union => (None, None),
                    SetOp::Intersect => (all.then_some(Place::Intersect), all.then_some(Place::Intersect)),
                    SetOp::Except => (all.then_some(Place::Except), Some(Place::Except)),
                };
                self.within(of_left, |w| w.query(left));
                self.within(of_right, |w| w.query(right));
                more.iter().for_each(|q| self.query(q));
            }
        }
        self.order(&q.order_by);
        self.exprs(&q.limit);
        self.exprs(&q.offset);
        self.ctes.truncate(known);
    }

    fn select(&mut self, s: &Select) {
        s.distinct.iter().for_each(|d| self.exprs(d));
        self.items(&s.items);
        s.from.iter().for_each(|t| self.table(t));
        self.exprs(&s.filter);
        self.exprs(&s.group_by);
        self.exprs(&s.having);
        s.windows.iter().for_each(|(_, w)| self.window(w));
    }

    fn relation(&mut self, name: &Name) {
        let is_cte = matches!(&name.parts[..], [one] if self.ctes.contains(one));
        if !is_cte {
            (self.f)(Node::Relation(name));
        }
    }

    fn table(&mut self, t: &TableRef) {
        match t {
            TableRef::Relation { name, .. } => self.relation(name),
            TableRef::Derived { query, .. } => self.query(query),
            TableRef::Function { call, .. } => self.call(call),
            TableRef::RowsFrom { calls, .. } => calls.iter().for_each(|(call, _)| self.call(call)),
            TableRef::Sample { table, args, seed, .. } => {
                self.table(table);
                self.exprs(args);
                self.exprs(seed.as_deref());
            }
            TableRef::Join { kind, left, right, condition, .. } => {
                let nullable = |yes: bool| yes.then_some(Place::OuterJoin);
                let (of_left, of_right) = match kind {
                    JoinKind::Inner | JoinKind::Cross => (false, false),
                    JoinKind::Left => (false, true),
                    JoinKind::Right => (true, false),
                    JoinKind::Full => (true, true),
                };
                self.within(nullable(of_left), |w| w.table(left));
                self.within(nullable(of_right), |w| w.table(right));
                if let JoinCondition::On(e) = condition {
                    self.expr(e);
                }
            }
        }
    }

    fn statement(&mut self, s: &Statement) {
        match &s.kind {
            StatementKind::Query(q) => self.query(q),
            StatementKind::Insert(i) => self.insert(i),
            StatementKind::Update(u) => self.update(u),
            StatementKind::Delete(d) => self.delete(d),
            StatementKind::Merge(m) => self.merge(m),
            StatementKind::Call { call, .. } => self.call(call),
            _ => {}
        }
    }
    fn insert(&mut self, i: &Insert) {
        self.relation(&i.table);
        let subscripts = i.parts.iter().flatten().flat_map(|step| match step {
            Step::Subscripts(all) => all.as_slice(),
            Step::Field(_) => &[],
        });
        self.exprs(subscripts.flat_map(Subscript::exprs));
        match &i.source {
            InsertSource::Values(rows) => rows.iter().for_each(|r| self.exprs(r.iter().flatten())),
            InsertSource::Query(q) => self.query(q),
            InsertSource::Default(_) => {}
        }
        self.items(&i.returning);
    }
    fn update(&mut self, u: &Update) {
        self.relation(&u.table);
        self.exprs(u.set.iter().flat_map(|a| &a.value));
        u.from.iter().for_each(|t| self.table(t));
        self.exprs(&u.filter);
        self.items(&u.returning);
    }
    fn delete(&mut self, d: &Delete) {
        self.relation(&d.table);
        d.using.iter().for_each(|t| self.table(t));
        self.exprs(&d.filter);
        self.items(&d.returning);
    }
    fn merge(&mut self, m: &Merge) {
        self.relation(&m.table);
        self.table(&m.source);
        self.expr(&m.on);
        for when in &m.whens {
            self.exprs(&when.condition);
            match &when.action {
                MergeAction::Update(set) => self.exprs(set.iter().flat_map(|a| &a.value)),
                MergeAction::Insert(insert) => self.insert(insert),
                MergeAction::Delete | MergeAction::Nothing => {}
            }
        }
    }
}
