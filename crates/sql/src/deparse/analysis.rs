//! Expressions: from the syntax tree to what PostgreSQL's parser makes of it.

use super::coerce::{BOOL, Context, INT4, INT8, JSONB, NUMERIC, RECORD, TEXT, UNKNOWN};
use super::node::{
    CastKind, Form, Logic, Node, NodeKind, QueryNode, Relation, RelationKind, Sublink, SublinkKind,
    SubscriptNode, Ty, Worded,
};
use super::{builtin, symbols};
use crate::lower::resolve_type;
use planaria_base::types::RowType;
use planaria_base::{Datum, SchemaId, Type, TypeId, limits, oid, stack};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, Table};
use planaria_syntax::ast::{
    BinaryOp, Expr, ExprKind, IsWhat, Name, Query, Subscript, TypeName, TypeNameKind, UnaryOp,
};
use std::collections::HashMap;

/// Columns that a name may be of.
#[derive(Default)]
pub(super) struct Level {
    /// Relations by what they are called, their numbers and columns.
    pub(super) relations: Vec<(String, usize, Vec<(String, Ty)>)>,
    /// Columns that stand alone.
    pub(super) visible: Vec<(String, Node)>,
}

/// The workbench of one text.
pub(super) struct Analysis<'c> {
    /// Along whose path the text means what it means.
    pub(super) catalog: &'c Catalog,
    /// Along whose path it is shown.
    pub(super) shown: &'c Catalog,
    /// The text.
    pub(super) text: &'c str,
    pub(super) relations: Vec<Relation>,
    /// Queries being analysed, outer before inner.
    pub(super) levels: Vec<Level>,
    /// Common table expressions in scope, inner last.
    pub(super) ctes: Vec<(String, Vec<(String, Ty)>)>,
    /// The type of VALUE.
    pub(super) value: Option<Ty>,
    /// Nesting of what is analysed.
    pub(super) depth: usize,
    /// Views being looked into.
    pub(super) views: usize,
    /// Columns of views that have been looked into, by name.
    pub(super) seen: HashMap<String, Option<Vec<(String, Ty)>>>,
    /// What is analysed is to be written more than once: how often within itself.
    copies: usize,
}

/// How deep what is written several times may be within itself: each level makes the text longer by a factor.
const COPIES_MAX: usize = 2;

/// Copies, times the length of the text, that an IN makes at most.
const COPIED_MAX: usize = 1_000_000;

/// Operands of a chain of operators.
const CHAIN_MAX: usize = 1_000;

impl<'c> Analysis<'c> {
    pub(super) fn new(catalog: &'c Catalog, shown: &'c Catalog, text: &'c str) -> Analysis<'c> {
        Analysis {
            catalog,
            shown,
            text,
            relations: Vec::new(),
            levels: Vec::new(),
            ctes: Vec::new(),
            value: None,
            depth: 0,
            views: 0,
            seen: HashMap::new(),
            copies: 0,
        }
    }
}

/// The type of something declared with a type, or with a domain.
pub(super) fn declared(catalog: &Catalog, ty: &Type, domain: Option<TypeId>) -> Ty {
    match domain {
        Some(_) => Ty::plain(catalog.declared_oid(ty, domain)),
        None => Ty { oid: oid::of(ty), modifier: oid::modifier(ty) },
    }
}

/// The columns of a table with their types.
pub(super) fn columns_of(catalog: &Catalog, table: &Table) -> Vec<(String, Ty)> {
    table.visible().map(|(_, c)| (c.name.clone(), declared(catalog, &c.ty, c.domain))).collect()
}

/// The type of a relation's rows.
pub(super) fn row_of(catalog: &Catalog, schema: SchemaId, name: &str) -> Ty {
    Ty::plain(catalog.oids.of(&Object::RowType(planaria_catalog::key(schema, name))))
}

fn node(oid: oid::Oid, kind: NodeKind) -> Node {
    Node { ty: Ty::plain(oid), kind }
}

fn truth(kind: NodeKind) -> Node {
    node(BOOL, kind)
}

pub(super) fn constant(oid: oid::Oid, value: impl Into<String>) -> Node {
    node(oid, NodeKind::Const(Some(value.into())))
}

impl Analysis<'_> {
    pub(super) fn expr(&mut self, e: &Expr) -> Option<Node> {
        if self.depth > limits::NESTING_MAX || stack::check().is_err() {
            return None;
        }
        self.depth += 1;
        let node = self.expr_kind(e);
        self.depth -= 1;
        node
    }

    pub(super) fn exprs(&mut self, all: &[Expr]) -> Option<Vec<Node>> {
        all.iter().map(|e| self.expr(e)).collect()
    }

    fn condition(&mut self, e: &Expr) -> Option<Node> {
        let node = self.expr(e)?;
        self.boolean(node)
    }

    fn expr_kind(&mut self, e: &Expr) -> Option<Node> {
        Some(match &e.kind {
            ExprKind::Null => node(UNKNOWN, NodeKind::Const(None)),
            ExprKind::Bool(b) => constant(BOOL, if *b { "true" } else { "false" }),
            ExprKind::Integer(text) | ExprKind::Decimal(text) => number(text, false)?,
            ExprKind::String(text) => constant(UNKNOWN, text),
            ExprKind::BitString(text) => {
                let ty = Type::Packed(planaria_base::types::PackedType::Bit(None));
                constant(oid::of(&ty), Datum::parse(&ty, text).ok()?.display(&ty))
            }
            ExprKind::Column(name) => self.column(name)?,
            ExprKind::Unary(op, inner) => self.unary(*op, inner)?,
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, ..) => self.logic(e)?,
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right)?,
            // It becomes as deep as it is long.
            ExprKind::Chain(_, rest) if rest.len() > CHAIN_MAX => return None,
            ExprKind::Chain(first, rest) => {
                let mut left = self.expr(first)?;
                for (op, _, right) in rest {
                    let right = self.expr(right)?;
                    left = self.operator(&symbols::binary(*op), left, right)?;
                }
                left
            }
            ExprKind::Is { expr, what: IsWhat::Null, negated } => {
                let arg = self.expr(expr)?;
                let arg = self.known(arg)?;
                truth(NodeKind::Null(Box::new(arg), *negated))
            }
            ExprKind::Is { expr, what, negated } => {
                let arg = self.condition(expr)?;
                let words = match (what, negated) {
                    (IsWhat::True, false) => "IS TRUE",
                    (IsWhat::True, true) => "IS NOT TRUE",
                    (IsWhat::False, false) => "IS FALSE",
                    (IsWhat::False, true) => "IS NOT FALSE",
                    (_, false) => "IS UNKNOWN",
                    (_, true) => "IS NOT UNKNOWN",
                };
                truth(NodeKind::Truth(Box::new(arg), words))
            }
            ExprKind::IsDistinctFrom { left, right, negated } => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                let Node { kind: NodeKind::Operator(_, mut args), .. } = self.operator("=", left, right)?
                else {
                    return None;
                };
                let (right, left) = (args.pop()?, args.pop()?);
                let distinct = truth(NodeKind::Distinct(Box::new(left), Box::new(right)));
                if *negated { not(distinct) } else { distinct }
            }
            ExprKind::Between { expr, low, high, negated, symmetric } => {
                self.between(expr, low, high, *negated, *symmetric)?
            }
            ExprKind::InList { expr, list, negated } => self.in_list(expr, list, *negated)?,
            ExprKind::InQuery { expr, query, negated } => {
                let found = self.quantified_query(expr, "=", false, query)?;
                if *negated { not(found) } else { found }
            }
            ExprKind::QuantifiedQuery { expr, op, all, query } => {
                self.quantified_query(expr, &symbols::binary(*op), *all, query)?
            }
            ExprKind::Quantified { expr, op, all, array } => {
                let (left, array) = (self.expr(expr)?, self.expr(array)?);
                self.quantified(&symbols::binary(*op), *all, left, array)?
            }
            // PostgreSQL has a function for it that is not here: what is shown is to be read again.
            ExprKind::Like { escape: Some(_), .. } => return None,
            ExprKind::Like { expr, pattern, insensitive, negated, .. } => {
                let (left, right) = (self.expr(expr)?, self.expr(pattern)?);
                let op = match (insensitive, negated) {
                    (false, false) => "~~",
                    (false, true) => "!~~",
                    (true, false) => "~~*",
                    (true, true) => "!~~*",
                };
                self.operator(op, left, right)?
            }
            ExprKind::Call(call) => self.call(call)?,
            ExprKind::SqlValue(word, precision) => sql_value(word, *precision)?,
            ExprKind::Cast(inner, ty) => self.cast(inner, ty)?,
            ExprKind::Case { operand, whens, otherwise } => {
                self.case(operand.as_deref(), whens, otherwise.as_deref())?
            }
            ExprKind::Coalesce(list) => {
                let list = self.exprs(list)?;
                let (list, ty) = self.unify(list)?;
                node(ty, NodeKind::Coalesce(list))
            }
            ExprKind::Greatest(list) | ExprKind::Least(list) => {
                let word = if matches!(e.kind, ExprKind::Greatest(_)) { "GREATEST" } else { "LEAST" };
                let list = self.exprs(list)?;
                let (list, ty) = self.unify(list)?;
                node(ty, NodeKind::MinMax(word, list))
            }
            ExprKind::NullIf(a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                let ty = a.ty;
                let Node { kind: NodeKind::Operator(_, mut args), .. } = self.operator("=", a, b)? else {
                    return None;
                };
                let (b, a) = (args.pop()?, args.pop()?);
                let ty = if ty.oid == UNKNOWN { a.ty } else { ty };
                Node { ty, kind: NodeKind::NullIf(Box::new(a), Box::new(b)) }
            }
            ExprKind::Array(items) => self.array_items(items, None)?,
            ExprKind::ArrayQuery(query) => self.sublink(SublinkKind::Array, Vec::new(), query)?,
            ExprKind::Subquery(query) => self.sublink(SublinkKind::Scalar, Vec::new(), query)?,
            ExprKind::Exists(query) => self.sublink(SublinkKind::Exists, Vec::new(), query)?,
            // There it is its columns.
            ExprKind::Row(items) if items.iter().any(|e| matches!(e.kind, ExprKind::Star(_))) => return None,
            ExprKind::Row(items) => {
                let items = self.exprs(items)?;
                let items = items.into_iter().map(|n| self.known(n)).collect::<Option<_>>()?;
                node(RECORD, NodeKind::Row(items))
            }
            ExprKind::Subscripts(value, all) => self.subscripts(value, all)?,
            ExprKind::Field(value, field) => {
                let value = self.expr(value)?;
                self.field(value, field)?
            }
            ExprKind::AtTimeZone(value, zone) => {
                let (value, zone) = (self.expr(value)?, self.expr(zone)?);
                let call = self.call_of("timezone", vec![zone, value])?;
                self.worded(Worded::AtTimeZone, call)?
            }
            ExprKind::Collate(inner, name) => {
                let inner = self.expr(inner)?;
                let inner = self.known(inner)?;
                let name = planaria_base::text_io::quote_ident(name.parts.last()?);
                Node { ty: inner.ty, kind: NodeKind::Collate(Box::new(inner), name) }
            }
            ExprKind::Star(Some(relation)) => self.whole(relation.parts.last()?)?,
            ExprKind::Star(None) | ExprKind::Fields(_) | ExprKind::Parameter(_) => return None,
        })
    }

    /// A literal that nothing gives a type is a text.
    pub(super) fn known(&mut self, node: Node) -> Option<Node> {
        if node.ty.oid == UNKNOWN { self.implicit(node, TEXT) } else { Some(node) }
    }

    fn column(&mut self, name: &Name) -> Option<Node> {
        match &name.parts[..] {
            [one] => {
                for level in self.levels.iter().rev() {
                    let mut found = level.visible.iter().filter(|(n, _)| n == one).map(|(_, node)| node);
                    if let Some(node) = found.next() {
                        return found.next().is_none().then(|| node.clone());
                    }
                }
                match self.value {
                    Some(ty) if one == "value" => Some(Node { ty, kind: NodeKind::Value }),
                    _ => self.whole(one),
                }
            }
            [.., relation, column] if name.parts.len() <= 3 => {
                for level in self.levels.iter().rev() {
                    let Some((_, number, columns)) = level.relations.iter().find(|(n, ..)| n == relation)
                    else {
                        continue;
                    };
                    let (_, ty) = columns.iter().find(|(n, _)| n == column)?;
                    return Some(Node { ty: *ty, kind: NodeKind::Column(Some(*number), column.clone()) });
                }
                None
            }
            _ => None,
        }
    }

    /// A row of the relation of that name.
    pub(super) fn whole(&self, name: &str) -> Option<Node> {
        let (_, number, columns) =
            self.levels.iter().rev().flat_map(|l| &l.relations).find(|(n, ..)| n == name)?;
        let relation = &self.relations[*number];
        if let (RelationKind::Function { .. }, [(column, ty)]) = (&relation.kind, &columns[..])
            && relation.row.oid != RECORD
            && !self.is_row(relation.row.oid)
        {
            // What a function answers is no row.
            return Some(Node { ty: *ty, kind: NodeKind::Column(Some(*number), column.clone()) });
        }
        Some(Node { ty: relation.row, kind: NodeKind::Whole(*number) })
    }

    /// A field of a row of some table's type.
    fn field(&mut self, value: Node, field: &str) -> Option<Node> {
        let Some(Object::RowType(key)) = self.catalog.oids.object(self.base(value.ty).oid) else {
            return None;
        };
        let table = self.catalog.of_rows(planaria_catalog::of_key(key))?;
        let (_, column) = table.column(field)?;
        let ty = declared(self.catalog, &column.ty, column.domain);
        if let NodeKind::Whole(relation) = value.kind {
            return Some(Node { ty, kind: NodeKind::Column(Some(relation), field.to_owned()) });
        }
        Some(Node { ty, kind: NodeKind::Field(Box::new(value), field.to_owned()) })
    }

    fn unary(&mut self, op: UnaryOp, inner: &Expr) -> Option<Node> {
        let symbol = match op {
            UnaryOp::Not => {
                let inner = self.condition(inner)?;
                return Some(not(inner));
            }
            UnaryOp::Minus => {
                if let ExprKind::Integer(text) | ExprKind::Decimal(text) = &inner.kind {
                    return number(text, true);
                }
                "-"
            }
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
            UnaryOp::Abs => "@",
            UnaryOp::SquareRoot => "|/",
            UnaryOp::CubeRoot => "||/",
            UnaryOp::NotFound => "!!",
        };
        let arg = self.expr(inner)?;
        let lines: Vec<_> = builtin::operators(symbol).iter().filter(|l| l.left == 0).collect();
        let candidates: Vec<_> = lines.iter().map(|l| vec![l.right]).collect();
        let at = self.choose(&[arg.ty.oid], &candidates)?;
        let result = lines[at].result;
        let arg = self.implicit(arg, lines[at].right)?;
        Some(node(result, NodeKind::Operator(symbol.to_owned(), vec![arg])))
    }

    /// AND and OR: what is on the left of one is part of it.
    fn logic(&mut self, e: &Expr) -> Option<Node> {
        let ExprKind::Binary(op, left, right) = &e.kind else { return None };
        let mut operands = Vec::new();
        // Long chains are balanced by the parser.
        if count(e, *op) > limits::CHAIN_NESTING_MAX {
            flatten(e, *op, &mut operands);
        } else {
            let mut rest = vec![&**right];
            let mut first = &**left;
            while let ExprKind::Binary(of, left, right) = &first.kind
                && of == op
            {
                rest.push(right);
                first = left;
            }
            operands.push(first);
            operands.extend(rest.into_iter().rev());
        }
        let operands = operands.into_iter().map(|e| self.condition(e)).collect::<Option<_>>()?;
        Some(truth(NodeKind::Logic(if *op == BinaryOp::And { Logic::And } else { Logic::Or }, operands)))
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Node> {
        let symbol = symbols::binary(op);
        if let (ExprKind::Row(left), ExprKind::Row(right)) = (&left.kind, &right.kind) {
            let (left, right) = (self.exprs(left)?, self.exprs(right)?);
            return self.compare_rows(&symbol, left, right);
        }
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        self.operator(&symbol, left, right)
    }

    fn compare_rows(&mut self, symbol: &str, left: Vec<Node>, right: Vec<Node>) -> Option<Node> {
        if left.len() != right.len() || left.len() < 2 {
            return None;
        }
        let mut pairs = Vec::new();
        for (left, right) in left.into_iter().zip(right) {
            pairs.push(self.operator(symbol, left, right)?);
        }
        match symbol {
            "=" => return Some(truth(NodeKind::Logic(Logic::And, pairs))),
            "<>" => return Some(truth(NodeKind::Logic(Logic::Or, pairs))),
            "<" | "<=" | ">" | ">=" => {}
            _ => return None,
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for pair in pairs {
            let NodeKind::Operator(_, mut args) = pair.kind else { return None };
            right.push(args.pop()?);
            left.push(args.pop()?);
        }
        Some(truth(NodeKind::RowCompare(symbol.to_owned(), left, right)))
    }

    /// The line of an infix operator for operands of those types.
    fn operator_line(
        &self,
        symbol: &str,
        left: oid::Oid,
        right: oid::Oid,
    ) -> Option<&'static builtin::OperatorLine> {
        let lines: Vec<_> = builtin::operators(symbol).iter().filter(|l| l.left != 0).collect();
        let (mut a, mut b) = (left, right);
        match (a == UNKNOWN, b == UNKNOWN) {
            (true, false) => a = b,
            (false, true) => b = a,
            _ => {}
        }
        let exact = |a, b| lines.iter().find(|l| (l.left, l.right) == (a, b));
        if let Some(line) = exact(a, b) {
            return Some(line);
        }
        // A literal beside a domain is of the type below it.
        if (left == UNKNOWN) != (right == UNKNOWN) {
            let base = self.base(Ty::plain(a)).oid;
            if let Some(line) = exact(base, base) {
                return Some(line);
            }
        }
        let candidates: Vec<_> = lines.iter().map(|l| vec![l.left, l.right]).collect();
        self.choose(&[left, right], &candidates).map(|at| lines[at])
    }

    pub(super) fn operator(&mut self, symbol: &str, left: Node, right: Node) -> Option<Node> {
        let line = self.operator_line(symbol, left.ty.oid, right.ty.oid)?;
        let declared = [line.left, line.right];
        let (types, result) = self.resolve(&[left.ty.oid, right.ty.oid], &declared, line.result)?;
        let args = vec![
            self.converted_to(left, declared[0], types[0])?,
            self.converted_to(right, declared[1], types[1])?,
        ];
        Some(node(result, NodeKind::Operator(symbol.to_owned(), args)))
    }

    /// An argument as the parameter has it: what fits a polymorphic one stays as it is.
    pub(super) fn converted_to(&mut self, arg: Node, declared: oid::Oid, ty: oid::Oid) -> Option<Node> {
        if super::coerce::is_polymorphic(declared) && arg.ty.oid != UNKNOWN && self.base(arg.ty).oid == ty {
            return Some(arg);
        }
        self.implicit(arg, ty)
    }

    fn between(&mut self, e: &Expr, low: &Expr, high: &Expr, negated: bool, symmetric: bool) -> Option<Node> {
        let (value, low, high) = (self.copied(e)?, self.expr(low)?, self.expr(high)?);
        let mut range = |low: Node, high: Node| {
            let (above, below) = if negated { ("<", ">") } else { (">=", "<=") };
            let above = self.operator(above, value.clone(), low)?;
            let below = self.operator(below, value.clone(), high)?;
            Some(truth(NodeKind::Logic(if negated { Logic::Or } else { Logic::And }, vec![above, below])))
        };
        let there = range(low.clone(), high.clone())?;
        if !symmetric {
            return Some(there);
        }
        let back = range(high, low)?;
        Some(truth(NodeKind::Logic(if negated { Logic::And } else { Logic::Or }, vec![there, back])))
    }

    /// An expression that is written more than once.
    fn copied(&mut self, e: &Expr) -> Option<Node> {
        if self.copies >= COPIES_MAX {
            return None;
        }
        self.copies += 1;
        let node = self.expr(e);
        self.copies -= 1;
        node
    }

    fn in_list(&mut self, e: &Expr, list: &[Expr], negated: bool) -> Option<Node> {
        let symbol = if negated { "<>" } else { "=" };
        if matches!(e.kind, ExprKind::Row(_)) || list.iter().any(|e| matches!(e.kind, ExprKind::Row(_))) {
            return None;
        }
        let value = self.copied(e)?;
        let (mut fixed, mut others) = (Vec::new(), Vec::new());
        for item in list {
            let has_columns = !item.column_names().is_empty();
            let item = self.expr(item)?;
            if has_columns { others.push(item) } else { fixed.push(item) }
        }
        // Each of them is compared with a copy.
        if others.len().saturating_mul(self.text.len()) > COPIED_MAX {
            return None;
        }
        let mut parts = Vec::new();
        if fixed.len() > 1 {
            let types: Vec<_> = std::iter::once(&value).chain(&fixed).map(|n| n.ty.oid).collect();
            let common = self.common(&types).filter(|ty| self.array(*ty) != 0);
            if let Some(common) = common {
                let items = std::mem::take(&mut fixed);
                let items = items.into_iter().map(|n| self.implicit(n, common)).collect::<Option<_>>()?;
                let array = node(self.array(common), NodeKind::Array(items));
                parts.push(self.quantified(symbol, negated, value.clone(), array)?);
            }
        }
        if fixed.len().saturating_mul(self.text.len()) > COPIED_MAX {
            return None;
        }
        for item in fixed.into_iter().chain(others) {
            parts.push(self.operator(symbol, value.clone(), item)?);
        }
        if parts.len() == 1 {
            return parts.pop();
        }
        Some(truth(NodeKind::Logic(if negated { Logic::And } else { Logic::Or }, parts)))
    }

    fn quantified(&mut self, symbol: &str, all: bool, left: Node, array: Node) -> Option<Node> {
        let of_array = self.base(array.ty).oid;
        let element = if of_array == UNKNOWN { UNKNOWN } else { self.element(of_array) };
        if element == 0 {
            return None;
        }
        let line = self.operator_line(symbol, left.ty.oid, element)?;
        let (types, _) = self.resolve(&[left.ty.oid, element], &[line.left, line.right], BOOL)?;
        let left = self.converted_to(left, line.left, types[0])?;
        let wanted = self.array(types[1]);
        if wanted == 0 {
            return None;
        }
        let array = match of_array == wanted {
            true => array,
            false => self.implicit(array, wanted)?,
        };
        Some(truth(NodeKind::Quantified(symbol.to_owned(), all, Box::new(left), Box::new(array))))
    }

    fn quantified_query(&mut self, e: &Expr, symbol: &str, all: bool, query: &Query) -> Option<Node> {
        let left = match &e.kind {
            ExprKind::Row(items) => self.exprs(items)?,
            _ => vec![self.expr(e)?],
        };
        let query = self.query(query)?;
        if query.columns.len() != left.len() || left.len() > 1 && symbol != "=" {
            return None;
        }
        let mut test = Vec::new();
        for (left, (name, ty)) in left.into_iter().zip(&query.columns) {
            let right = Node { ty: *ty, kind: NodeKind::Column(None, name.clone()) };
            let NodeKind::Operator(_, args) = self.operator(symbol, left, right)?.kind else { return None };
            test.extend(args.into_iter().next());
        }
        let kind = SublinkKind::Quantified(symbol.to_owned(), all);
        Some(truth(NodeKind::Sublink(Box::new(Sublink { kind, test, query }))))
    }

    fn sublink(&mut self, kind: SublinkKind, test: Vec<Node>, query: &Query) -> Option<Node> {
        let query: QueryNode = self.query(query)?;
        let ty = match kind {
            SublinkKind::Scalar | SublinkKind::Array => {
                let [(_, ty)] = &query.columns[..] else { return None };
                if kind == SublinkKind::Scalar { *ty } else { Ty::plain(self.array(ty.oid)) }
            }
            _ => Ty::plain(BOOL),
        };
        Some(Node { ty, kind: NodeKind::Sublink(Box::new(Sublink { kind, test, query })) })
    }

    /// What a type name stands for; `None` of one that cannot be written back as it is.
    pub(super) fn type_of(&self, name: &TypeName) -> Option<Ty> {
        match &name.kind {
            TypeNameKind::Known(ty) => Some(Ty { oid: oid::of(ty), modifier: oid::modifier(ty) }),
            TypeNameKind::Named(path) | TypeNameKind::NamedArray(path) => {
                let ty = match crate::lower::user_type(self.catalog, path) {
                    Some(user) if user.domain().is_some() => {
                        let ty = resolve_type(self.catalog, name).ok()?;
                        return Some(Ty::plain(self.catalog.declared_oid(&ty, Some(user.id))));
                    }
                    _ => resolve_type(self.catalog, name).ok()?,
                };
                if let Type::Record(RowType { of: None, .. }) = ty {
                    return None;
                }
                Some(Ty { oid: oid::of(&ty), modifier: oid::modifier(&ty) })
            }
            _ => None,
        }
    }

    fn cast(&mut self, inner: &Expr, name: &TypeName) -> Option<Node> {
        let ty = self.type_of(name)?;
        let inner = match &inner.kind {
            ExprKind::Array(items) if self.element(ty.oid) != 0 => self.array_items(items, Some(ty.oid))?,
            _ => self.expr(inner)?,
        };
        self.coerce(inner, ty, Context::Explicit)
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        whens: &[(Expr, Expr)],
        otherwise: Option<&Expr>,
    ) -> Option<Node> {
        let operand = match operand {
            Some(e) => {
                let e = self.expr(e)?;
                Some(self.known(e)?)
            }
            None => None,
        };
        let (mut conditions, mut results) = (Vec::new(), Vec::new());
        for (when, then) in whens {
            conditions.push(match &operand {
                None => self.condition(when)?,
                Some(operand) => {
                    let when = self.expr(when)?;
                    let left = Node { ty: operand.ty, kind: NodeKind::CaseOperand };
                    let NodeKind::Operator(_, mut args) = self.operator("=", left, when)?.kind else {
                        return None;
                    };
                    args.pop()?
                }
            });
            results.push(self.expr(then)?);
        }
        // The type of ELSE counts first.
        let otherwise = match otherwise {
            Some(e) => self.expr(e)?,
            None => node(UNKNOWN, NodeKind::Const(None)),
        };
        results.insert(0, otherwise);
        let (mut results, ty) = self.unify(results)?;
        let otherwise = Box::new(results.remove(0));
        let whens = conditions.into_iter().zip(results).collect();
        Some(node(ty, NodeKind::Case(operand.map(Box::new), whens, otherwise)))
    }

    /// `ARRAY[..]`, of an array type that it is converted to.
    fn array_items(&mut self, items: &[Expr], wanted: Option<oid::Oid>) -> Option<Node> {
        let nested = items.iter().any(|e| matches!(e.kind, ExprKind::Array(_)));
        let mut nodes = Vec::new();
        for item in items {
            nodes.push(match &item.kind {
                ExprKind::Array(items) => self.array_items(items, wanted)?,
                _ => self.expr(item)?,
            });
        }
        if let Some(array) = wanted {
            if nested {
                return Some(node(array, NodeKind::Array(nodes)));
            }
            let element = self.element(array);
            let nodes = nodes.into_iter().map(|n| self.coerce(n, Ty::plain(element), Context::Explicit));
            return Some(node(array, NodeKind::Array(nodes.collect::<Option<_>>()?)));
        }
        if nodes.is_empty() {
            return None;
        }
        let (nodes, ty) = self.unify(nodes)?;
        let array = if self.element(ty) != 0 { ty } else { self.array(ty) };
        (array != 0).then(|| node(array, NodeKind::Array(nodes)))
    }

    fn subscripts(&mut self, value: &Expr, all: &[Subscript]) -> Option<Node> {
        let value = self.expr(value)?;
        let of = self.base(value.ty).oid;
        if of == JSONB {
            let mut nodes = Vec::new();
            for subscript in all {
                let Subscript::Element(e) = subscript else { return None };
                let e = self.expr(e)?;
                let to = if matches!(e.ty.oid, INT4 | 21) { INT4 } else { TEXT };
                nodes.push(SubscriptNode::Element(self.implicit(e, to)?));
            }
            return Some(node(JSONB, NodeKind::Subscripts(Box::new(value), nodes)));
        }
        let element = self.element(of);
        if element == 0 {
            return None;
        }
        let slices = all.iter().any(|s| matches!(s, Subscript::Slice(..)));
        let mut index = |e: &Expr| {
            let e = self.expr(e)?;
            self.coerce(e, Ty::plain(INT4), Context::Assignment)
        };
        let mut nodes = Vec::new();
        for subscript in all {
            nodes.push(match subscript {
                // One index among slices is a slice from 1.
                Subscript::Element(e) if slices => {
                    SubscriptNode::Slice(Some(constant(INT4, "1")), Some(index(e)?))
                }
                Subscript::Element(e) => SubscriptNode::Element(index(e)?),
                Subscript::Slice(low, high) => {
                    let low = match low {
                        Some(e) => Some(index(e)?),
                        None => None,
                    };
                    let high = match high {
                        Some(e) => Some(index(e)?),
                        None => None,
                    };
                    SubscriptNode::Slice(low, high)
                }
            });
        }
        let ty = Ty { oid: if slices { of } else { element }, modifier: value.ty.modifier };
        // A domain's values are taken as what they are below it.
        let value = match value.ty.oid == of {
            true => value,
            false => Node {
                ty: Ty::plain(of),
                kind: NodeKind::Cast(CastKind::Other, Form::Implicit, Box::new(value)),
            },
        };
        Some(Node { ty, kind: NodeKind::Subscripts(Box::new(value), nodes) })
    }
}

pub(super) fn not(e: Node) -> Node {
    truth(NodeKind::Logic(Logic::Not, vec![e]))
}

/// A number, with a minus before it.
fn number(text: &str, negative: bool) -> Option<Node> {
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let signed = if negative { format!("-{plain}") } else { plain.clone() };
    if plain.bytes().all(|b| b.is_ascii_digit()) {
        let digits = plain.trim_start_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        let signed = if negative && digits != "0" { format!("-{digits}") } else { digits.to_owned() };
        if signed.parse::<i32>().is_ok() {
            return Some(constant(INT4, signed));
        }
        if signed.parse::<i64>().is_ok() {
            return Some(constant(INT8, signed));
        }
    }
    let ty = Type::Numeric(None);
    Some(constant(NUMERIC, Datum::parse(&ty, &signed).ok()?.display(&ty)))
}

fn sql_value(word: &str, precision: Option<u32>) -> Option<Node> {
    let ty = match word {
        "current_date" => 1082,
        "current_time" => 1266,
        "localtime" => 1083,
        "current_timestamp" => 1184,
        "localtimestamp" => 1114,
        "current_user" | "current_role" | "session_user" | "user" | "current_catalog" | "current_schema" => {
            19
        }
        _ => return None,
    };
    let word = word.to_uppercase();
    let text = match precision {
        Some(digits) => format!("{word}({digits})"),
        None => word,
    };
    let modifier = precision.map_or(-1, |p| p as i32);
    Some(Node { ty: Ty { oid: ty, modifier }, kind: NodeKind::SqlValue(text) })
}

/// How many operands a chain of one operator has.
fn count(e: &Expr, op: BinaryOp) -> usize {
    let mut all = Vec::new();
    flatten(e, op, &mut all);
    all.len()
}

fn flatten<'e>(e: &'e Expr, op: BinaryOp, all: &mut Vec<&'e Expr>) {
    match &e.kind {
        ExprKind::Binary(of, left, right) if *of == op => {
            flatten(left, op, all);
            flatten(right, op, all);
        }
        _ => all.push(e),
    }
}
