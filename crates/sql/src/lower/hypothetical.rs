//! Hypothetical-set aggregates: `rank(a) WITHIN GROUP (ORDER BY x)` and its like, the place that a row would have among others.
//!
//! ```text
//!  rank          1 + count(*) FILTER (WHERE x comes before a)
//!  dense_rank    1 + count(DISTINCT ROW(x)) FILTER (WHERE x comes before a)
//!  percent_rank  (rank - 1) / count(*), 0 of no rows
//!  cume_dist     (1 + count(*) FILTER (WHERE NOT a comes before x)) / (1 + count(*))
//! ```

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::names::Names;
use planaria_base::{Error, Result, SqlState, Type};
use planaria_syntax::ast::{
    Argument, BinaryOp, Expr, ExprKind, FunctionCall, IsWhat, Name, OrderItem, TypeName, TypeNameKind,
    UnaryOp,
};

/// Whether an aggregate is one of those.
pub(super) fn is_hypothetical(name: &str) -> bool {
    matches!(name, "rank" | "dense_rank" | "percent_rank" | "cume_dist")
}

/// Expressions at a place.
#[derive(Clone, Copy)]
struct Make(u32);

impl Make {
    fn expr(self, kind: ExprKind) -> Expr {
        Expr { position: self.0, kind }
    }

    fn integer(self, n: u32) -> Expr {
        self.expr(ExprKind::Integer(n.to_string()))
    }

    fn binary(self, op: BinaryOp, left: Expr, right: Expr) -> Expr {
        self.expr(ExprKind::Binary(op, Box::new(left), Box::new(right)))
    }

    fn is_null(self, e: &Expr, negated: bool) -> Expr {
        self.expr(ExprKind::Is { expr: Box::new(e.clone()), what: IsWhat::Null, negated })
    }

    fn float(self, e: Expr) -> Expr {
        let ty = TypeName { position: self.0, kind: TypeNameKind::Known(Type::Float8) };
        self.expr(ExprKind::Cast(Box::new(e), ty))
    }

    /// Whether a row comes before another, by the first of these columns that tells them apart. `turned`: the given row comes
    /// before those of the group.
    fn before(self, items: &[(&OrderItem, &Expr)], turned: bool) -> Expr {
        let Some(((item, given), rest)) = items.split_first() else {
            return self.expr(ExprKind::Bool(false));
        };
        let (first, second) = if turned { (*given, &item.expr) } else { (&item.expr, *given) };
        let op = if item.descending { BinaryOp::Gt } else { BinaryOp::Lt };
        let less = self.binary(op, first.clone(), second.clone());
        // Where one of the two is NULL.
        let nulls_first = item.nulls_first.unwrap_or(item.descending);
        let by_null =
            self.binary(BinaryOp::And, self.is_null(first, !nulls_first), self.is_null(second, nulls_first));
        let less = self.expr(ExprKind::Coalesce(vec![less, by_null]));
        if rest.is_empty() {
            return less;
        }
        let (left, right) = (Box::new(first.clone()), Box::new(second.clone()));
        let same = self.expr(ExprKind::IsDistinctFrom { left, right, negated: true });
        let later = self.binary(BinaryOp::And, same, self.before(rest, turned));
        self.binary(BinaryOp::Or, less, later)
    }

    /// `count(*)` or `count(DISTINCT row)` of the rows that meet the conditions.
    fn count(self, distinct: Option<Expr>, filter: Option<Expr>) -> Expr {
        let name = Name { parts: vec!["count".to_owned()], position: self.0 };
        let args = distinct.iter().map(|value| Argument { name: None, value: value.clone() }).collect();
        let call = FunctionCall {
            star: distinct.is_none(),
            distinct: distinct.is_some(),
            filter,
            ..FunctionCall::plain(name, args)
        };
        self.expr(ExprKind::Call(Box::new(call)))
    }
}

impl Lowerer<'_> {
    /// The value of such a call.
    pub(super) fn bind_hypothetical(
        &mut self,
        names: &Names<'_>,
        name: &str,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Bound> {
        if call.over.is_some() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        let given: Vec<&Expr> = call.args.iter().map(|arg| &arg.value).collect();
        if given.len() != call.order_by.len() {
            let sorted = call.order_by.iter().map(|item| &item.expr);
            let mut types = Vec::new();
            for e in given.iter().copied().chain(sorted) {
                types.push(super::type_in_message(&self.bind(names, e)?.ty));
            }
            let hint = format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {}) must match the number of ordering columns (here {}).",
                given.len(),
                call.order_by.len()
            );
            let call = format!("{name}({})", types.join(", "));
            return Err(super::functions::missing_function(&call, position).with_hint(hint));
        }
        let make = Make(position);
        for e in &given {
            let mut bound = self.bind(names, e)?;
            self.visit(&mut bound, &mut |l, e| {
                if matches!(e.kind, BoundKind::Column(..)) {
                    l.direct.push(e.position);
                }
                true
            });
            if self.is_volatile(&bound) {
                let message = format!("volatile direct arguments of {name} are not supported");
                return Err(Error::unsupported(message, "Compute it in a subquery.").at(e.position));
            }
        }
        // Outside of the aggregates as well, where columns have to be grouped ones and whatever is wrong is told without rows, too.
        let outside = given.iter().fold(make.integer(0), |sum, e| {
            let whens = vec![(make.is_null(e, false), make.integer(0))];
            let otherwise = Some(Box::new(make.integer(0)));
            make.binary(BinaryOp::Add, sum, make.expr(ExprKind::Case { operand: None, whens, otherwise }))
        });
        let items: Vec<(&OrderItem, &Expr)> = call.order_by.iter().zip(given).collect();
        let filter = |condition: Option<Expr>| match (condition, &call.filter) {
            (Some(e), Some(filter)) => Some(make.binary(BinaryOp::And, filter.clone(), e)),
            (e, filter) => e.or_else(|| filter.clone()),
        };
        let before = || filter(Some(make.before(&items, false)));
        let all = || make.count(None, filter(None));
        let one = make.integer(1);
        let e = match name {
            "rank" => make.binary(BinaryOp::Add, one, make.count(None, before())),
            "dense_rank" => {
                let row = make.expr(ExprKind::Row(items.iter().map(|(item, _)| item.expr.clone()).collect()));
                make.binary(BinaryOp::Add, one, make.count(Some(row), before()))
            }
            "percent_rank" => {
                let share = make.binary(BinaryOp::Div, make.float(make.count(None, before())), all());
                let none = (make.integer(0), make.float(make.integer(0)));
                make.expr(ExprKind::Case {
                    operand: Some(Box::new(all())),
                    whens: vec![none],
                    otherwise: Some(Box::new(share)),
                })
            }
            _ => {
                let behind = make.before(&items, true);
                let not_behind = make.expr(ExprKind::Unary(UnaryOp::Not, Box::new(behind)));
                let count = make.count(None, filter(Some(not_behind)));
                let above = make.float(make.binary(BinaryOp::Add, one.clone(), count));
                make.binary(BinaryOp::Div, above, make.binary(BinaryOp::Add, one, all()))
            }
        };
        self.bind(names, &make.binary(BinaryOp::Add, e, outside))
    }
}
