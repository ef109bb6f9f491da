//! GROUP BY: keys, grouping sets, and `GROUPING`.

use super::Lowerer;
use super::bind_call::Clause;
use super::bind_query::{Selected, ambiguous_output, not_in_list};
use super::bound::{
    Body, Bound, BoundKind, BoundQuery, BoundSelect, Distinct, Grouping, Item, RelId, RelKind,
};
use super::finish::rel_exprs;
use super::names::Names;
use super::types::{has_order, told_apart};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::{Func, Output};
use planaria_syntax::ast::visit;
use planaria_syntax::ast::{Expr, ExprKind, FunctionCall, OrderItem, Select};

/// The key that is the number of a grouping set: no expression that anybody writes.
fn set_number() -> Bound {
    Bound::new(BoundKind::Const(Datum::Text("number of the grouping set".to_owned())), Type::Int8, 0)
}

/// Whether there is a query in an expression.
fn has_query(e: &Expr) -> bool {
    let mut found = false;
    visit::expr(e, &mut |node| found |= matches!(node, visit::Node::Enter(visit::Place::Subquery)));
    found
}

/// Whether two expressions are the same but for where they stand.
fn written_alike(a: &Expr, b: &Expr) -> bool {
    without_places(&format!("{a:?}")) == without_places(&format!("{b:?}"))
}

/// The text of a tree without the places of its nodes; what is in quotes stays.
fn without_places(text: &str) -> String {
    const PLACE: &str = "position: ";
    let (mut out, mut rest, mut quoted) = (String::with_capacity(text.len()), text, false);
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '\\' if quoted => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
            '"' => quoted = !quoted,
            'p' if !quoted && rest.starts_with(PLACE) => {
                rest = rest[PLACE.len()..].trim_start_matches(|c: char| c.is_ascii_digit());
                continue;
            }
            _ => {}
        }
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

impl Lowerer<'_> {
    /// The keys, each once; the items of the list that keys are, by number or name: where there are subqueries in
    /// them, binding one again would make another expression; and which of the keys each grouping set has. Where there
    /// are sets, their number becomes the first key.
    #[allow(clippy::type_complexity)]
    pub(super) fn bind_group_keys(
        &mut self,
        level: &Names<'_>,
        select: &Select,
        order_by: &[OrderItem],
        items: &[Selected<'_>],
    ) -> Result<(Vec<Bound>, Vec<(usize, Bound)>, Vec<Vec<bool>>)> {
        let mut keys: Vec<Bound> = Vec::new();
        let mut chosen: Vec<(usize, Bound)> = Vec::new();
        let mut numbers = Vec::with_capacity(select.group_by.len());
        let mut untold = Ok(());
        for (at, e) in select.group_by.iter().enumerate() {
            // ROLLUP and CUBE have an expression in several sets.
            if let Some(same) = select.group_by[..at].iter().position(|other| other == e) {
                numbers.push(numbers[same]);
                continue;
            }
            let (item, key) = self.in_clause(Clause::GroupBy, |l| l.bind_group_key(level, e, items))?;
            let key = self.settle(key)?;
            untold = untold.and_then(|()| told_apart(&key.ty, e.position));
            // An item that is a key already was bound anew: with a subquery, as another expression.
            let known = item.and_then(|item| chosen.iter().find(|(chosen, _)| *chosen == item));
            let known = known.map_or(&key, |(_, key)| key);
            let number = keys.iter().position(|k| k == known);
            numbers.push(number.unwrap_or(keys.len()));
            if number.is_none() {
                chosen.extend(item.map(|item| (item, key.clone())));
                keys.push(key);
            } else {
                let key = known.clone();
                chosen.extend(item.map(|item| (item, key)));
            }
        }
        // PostgreSQL looks at ORDER BY first.
        let unordered = |item: &OrderItem| match &item.expr.kind {
            ExprKind::Integer(n) => {
                let at = n.parse::<usize>().ok()?.checked_sub(1)?;
                let (_, key) = chosen.iter().find(|(item, _)| *item == at)?;
                has_order(&key.ty, item.expr.position).err()
            }
            _ => None,
        };
        let unordered = untold.is_err().then(|| order_by.iter().find_map(unordered)).flatten();
        match unordered {
            Some(error) => return Err(error),
            None => untold?,
        }
        let in_set = |set: &Vec<Expr>| {
            let of = |e| select.group_by.iter().position(|key| key == e).map(|at| numbers[at]);
            let has: Vec<usize> = set.iter().filter_map(of).collect();
            (0..keys.len()).map(|key| has.contains(&key)).collect()
        };
        let sets: Vec<Vec<bool>> = select.grouping_sets.iter().map(in_set).collect();
        if !sets.is_empty() {
            keys.insert(0, set_number());
        }
        Ok((keys, chosen, sets))
    }

    /// A GROUP BY item: a column, else an output's name or position (then with which output that is), else an expression.
    pub(super) fn bind_group_key(
        &mut self,
        level: &Names<'_>,
        e: &Expr,
        items: &[Selected<'_>],
    ) -> Result<(Option<usize>, Bound)> {
        let chosen = match &e.kind {
            ExprKind::Integer(text) => {
                let at = text.parse::<usize>().ok().filter(|n| (1..=items.len()).contains(n));
                Some(at.ok_or_else(|| not_in_list("GROUP BY", text, e.position))? - 1)
            }
            ExprKind::Column(name) if name.parts.len() == 1 => {
                let is_column = level
                    .sources
                    .iter()
                    .flat_map(|s| &s.columns)
                    .any(|c| !c.merged && c.name == name.parts[0]);
                let alias = |i: &Selected<'_>| i.name() == name.parts[0];
                let mut named = (0..items.len()).filter(|i| !is_column && alias(&items[*i]));
                match named.next() {
                    None => None,
                    Some(first) => {
                        for other in named {
                            let of = self.bind_selected(level, &items[first])?;
                            if of != self.bind_selected(level, &items[other])? {
                                return Err(ambiguous_output("GROUP BY", &name.parts[0], e.position));
                            }
                        }
                        Some(first)
                    }
                }
            }
            // A subquery of the list that is repeated here: bound again it would be another one.
            _ if has_query(e) => items.iter().position(|item| match item {
                Selected::Item(item) => written_alike(&item.expr, e),
                Selected::Bound(..) => false,
            }),
            _ => None,
        };
        let bound = match chosen {
            Some(i) => self.bind_selected(level, &items[i]),
            None => self.bind(level, e),
        };
        Ok((chosen, bound?))
    }

    fn bind_selected(&mut self, level: &Names<'_>, item: &Selected<'_>) -> Result<Bound> {
        match item {
            Selected::Item(item) => self.bind(level, &item.expr),
            Selected::Bound(_, bound) => Ok(bound.clone()),
        }
    }

    /// `GROUPING(a, b)`: a bit for each that is 1 where the row's grouping set has it not.
    pub(super) fn bind_grouping(
        &mut self,
        names: &Names<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Bound> {
        let Some(collector) = self.collectors.last() else {
            let message = format!("grouping operations are not allowed in {}", self.clause().name());
            return Err(Error::new(SqlState::GROUPING_ERROR, message).at(position));
        };
        let ((keys, sets), group_rel) = (collector.grouped_by.clone(), collector.group_rel);
        let mut places = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            let e = self.bind(names, &arg.value)?;
            let e = self.settle(e)?;
            let Some(at) = keys.iter().position(|key| *key == e) else {
                let message =
                    "arguments to GROUPING must be grouping expressions of the associated query level";
                return Err(Error::new(SqlState::GROUPING_ERROR, message).at(arg.value.position));
            };
            places.push(at);
        }
        let int = |n: i64, ty: Type| Bound::constant(Datum::Int(n), ty, position);
        let bits = |set: &Vec<bool>| places.iter().fold(0, |bits, at| bits << 1 | i64::from(!set[at - 1]));
        let number = Bound::column(group_rel, 0, Type::Int8, position);
        let is = |n: usize| {
            let args = vec![number.clone(), int(n as i64, Type::Int8)];
            Bound::apply(Func::IntEq, args, Type::Bool, position)
        };
        let whens: Vec<(Bound, Bound)> =
            sets.iter().enumerate().map(|(n, set)| (is(n), int(bits(set), Type::Int4))).collect();
        let none = int(0, Type::Int4);
        Ok(match whens.is_empty() {
            true => none,
            false => Bound::new(BoundKind::Case(whens, Box::new(none)), Type::Int4, position),
        })
    }
}

impl Lowerer<'_> {
    /// What set-returning functions are given, one after the other.
    pub(super) fn given_to_sets(&mut self, sets: &[RelId]) -> Vec<Bound> {
        let mut given = Vec::new();
        for rel in sets {
            match self.rel(*rel).kind.clone() {
                RelKind::Query(query) => given.push(Bound::new(BoundKind::Exists(query), Type::Bool, 0)),
                mut kind => rel_exprs(&mut kind, &mut |e| given.push(e.clone())),
            }
        }
        given
    }

    /// Gives them something else.
    pub(super) fn give_to_sets(&mut self, sets: &[RelId], given: Vec<Bound>) {
        let mut given = given.into_iter();
        for rel in sets {
            match &mut self.rel_mut(*rel).kind {
                RelKind::Query(query) => {
                    if let Some(Bound { kind: BoundKind::Exists(new), .. }) = given.next() {
                        *query = new;
                    }
                }
                kind => rel_exprs(kind, &mut |e| {
                    if let Some(new) = given.next() {
                        *e = new;
                    }
                }),
            }
        }
    }

    /// Groups in a query of its own: each of its rows, which are what the groups are, joins what set-returning functions of
    /// the list give for it.
    pub(super) fn group_before_sets(
        &mut self,
        from: &mut Vec<Item>,
        filter: &mut Vec<Bound>,
        mut grouping: Grouping,
    ) {
        let outer = grouping.rel;
        let columns = self.rel(outer).columns.clone();
        let inner = self.new_rel("group", columns.clone(), RelKind::Pseudo);
        grouping.rel = inner;
        for e in &mut grouping.having {
            self.visit(e, &mut |_, e| {
                if let BoundKind::Column(rel, _) = &mut e.kind
                    && *rel == outer
                {
                    *rel = inner;
                }
                true
            });
        }
        let outputs: Vec<Bound> =
            columns.iter().enumerate().map(|(i, (_, ty))| Bound::column(inner, i, ty.clone(), 0)).collect();
        let visible = outputs.len();
        let body = BoundSelect {
            from: std::mem::take(from),
            filter: std::mem::take(filter),
            grouping: Some(grouping),
            windows: None,
            outputs,
            visible,
            distinct: Distinct::No,
            apart: None,
        };
        let columns = columns.into_iter().map(|(name, ty)| Output { name, ty }).collect();
        let query = BoundQuery::plain(Body::Select(Box::new(body)), columns);
        self.rel_mut(outer).kind = RelKind::Query(Box::new(query));
        from.push(Item::Rel(outer));
    }
}
