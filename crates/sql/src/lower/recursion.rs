//! WITH RECURSIVE: the order in which its CTEs are bound, which of them refer to themselves, and whether they do so
//! where the rows of the last turn can be read (42P19).

use planaria_base::{Error, Result, SqlState};
use planaria_syntax::ast::visit::{self, Node, Place};
use planaria_syntax::ast::{Cte, Query, QueryBody, SetOp, StatementKind};

/// The two terms of a CTE that refers to itself.
pub(super) struct Terms<'q> {
    pub first: Query,
    pub turn: &'q Query,
    /// UNION ALL
    pub all: bool,
}

/// The CTEs of a WITH RECURSIVE, each behind those it reads.
pub(super) fn after_what_they_read(with: &[Cte]) -> Result<Vec<&Cte>> {
    let mut order: Vec<&Cte> = Vec::with_capacity(with.len());
    let mut left: Vec<&Cte> = with.iter().collect();
    let reads = |cte: &Cte, other: &Cte| {
        let mut found = false;
        visit::statement(&cte.statement, &mut |node| {
            found |= matches!(node, Node::Relation(name) if name.parts == [other.name.as_str()]);
        });
        found
    };
    while !left.is_empty() {
        let free = left.iter().position(|cte| !left.iter().any(|o| o.name != cte.name && reads(cte, o)));
        let Some(at) = free else {
            let message = "mutual recursion between WITH items is not implemented";
            let at = left[0].statement.position;
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
        };
        order.push(left.remove(at));
    }
    Ok(order)
}

/// The terms of a CTE that refers to itself; `None` for one that does not.
pub(super) fn terms<'q>(cte: &'q Cte, q: &'q Query) -> Result<Option<Terms<'q>>> {
    let name = &cte.name;
    if !q.mentions(name) {
        return Ok(None);
    }
    let QueryBody::SetOp { op: SetOp::Union, all, left, right, more } = &q.body else {
        let form = "does not have the form non-recursive-term UNION [ALL] recursive-term";
        return Err(invalid(format!("recursive query \"{name}\" {form}"), q.position));
    };
    let (first, turn) = match more.split_last() {
        None => ((**left).clone(), &**right),
        Some((last, rest)) => {
            let (left, right, more) = (left.clone(), right.clone(), rest.to_vec());
            let body = QueryBody::SetOp { op: SetOp::Union, all: *all, left, right, more };
            (Query::new(body, q.position), last)
        }
    };
    let misplaced = |what: &str, position| {
        Err(invalid(format!("recursive reference to query \"{name}\" must not appear {what}"), position))
    };
    if let Some((_, position)) = references(&first, name).first() {
        return misplaced("within its non-recursive term", *position);
    }
    let found = references(turn, name);
    for (i, (place, position)) in found.iter().enumerate() {
        match place {
            None if i == 0 => {}
            None => return misplaced("more than once", *position),
            Some(Place::Subquery) => return misplaced("within a subquery", *position),
            Some(Place::OuterJoin) => return misplaced("within an outer join", *position),
            Some(Place::Intersect) => return misplaced("within INTERSECT", *position),
            Some(Place::Except) => return misplaced("within EXCEPT", *position),
        }
    }
    for with in &q.with {
        if let StatementKind::Query(inner) = &with.statement.kind
            && let Some((_, position)) = references(inner, name).first()
        {
            return misplaced("within a subquery", *position);
        }
    }
    let position = |e: &Option<planaria_syntax::ast::Expr>| e.as_ref().map(|e| e.position);
    let clauses = [
        ("ORDER BY", q.order_by.first().map(|o| o.expr.position)),
        ("OFFSET", position(&q.offset)),
        ("LIMIT", position(&q.limit)),
        ("FOR UPDATE/SHARE", q.locking.first().map(|_| q.position)),
    ];
    if let Some((clause, at)) = clauses.into_iter().find_map(|(clause, at)| Some((clause, at?))) {
        let message = format!("{clause} in a recursive query is not implemented");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
    }
    Ok(Some(Terms { first, turn, all: *all }))
}

fn invalid(message: String, position: u32) -> Error {
    Error::new(SqlState::INVALID_RECURSION, message).at(position)
}

/// Where a query reads a relation of that name: the place that makes it unfit, if one does, and the position.
fn references(q: &Query, name: &str) -> Vec<(Option<Place>, u32)> {
    let mut places: Vec<Place> = Vec::new();
    let mut found = Vec::new();
    visit::query(q, &mut |node| match node {
        Node::Enter(place) => places.push(place),
        Node::Leave => {
            places.pop();
        }
        Node::Relation(relation) if relation.parts == [name] => {
            // A subquery is on its own, whatever is around it.
            let subquery = places.iter().find(|p| **p == Place::Subquery);
            found.push((subquery.or(places.first()).copied(), relation.position));
        }
        _ => {}
    });
    found
}
