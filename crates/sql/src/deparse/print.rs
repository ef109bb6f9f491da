//! Expressions: from what the parser understood to text, in the layout of PostgreSQL's `ruleutils.c`.

use super::analysis::Analysis;
use super::coerce::{BOOL, INT4, NUMERIC, RECORD, UNKNOWN};
use super::node::{
    CallNode, CastKind, EdgeNode, Form, FrameNode, Logic, Node, NodeKind, SortNode, Sublink, SublinkKind,
    SubscriptNode, Ty, WindowNode, Worded,
};
use planaria_base::stack;
use planaria_base::text_io::quote_ident;
use planaria_catalog::{Catalog, reg};
use planaria_syntax::ast::{FrameExclusion, FrameUnits};
use std::collections::HashMap;

pub(super) const STEP: i32 = 8;
const VARIABLE: i32 = 4;
const LIMIT: i32 = 40;

/// Text being written.
pub(super) struct Printer<'p> {
    /// Along whose path names are shown.
    pub(super) catalog: &'p Catalog,
    pub(super) relations: &'p [super::node::Relation],
    pub(super) out: String,
    /// Without the parentheses that nobody needs.
    pub(super) pretty: bool,
    pub(super) indent: i32,
    /// Columns say of which relation they are.
    pub(super) qualified: bool,
    /// What relations are called in this text, by number.
    pub(super) names: HashMap<usize, String>,
    /// Names that are taken.
    pub(super) taken: Vec<String>,
    /// Something that cannot be written.
    pub(super) failed: bool,
}

impl<'p> Printer<'p> {
    pub(super) fn new(analysis: &'p Analysis<'_>, pretty: bool) -> Printer<'p> {
        Printer {
            catalog: analysis.shown,
            relations: &analysis.relations,
            out: String::new(),
            pretty,
            indent: 0,
            qualified: false,
            names: HashMap::new(),
            taken: Vec::new(),
            failed: false,
        }
    }

    pub(super) fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    pub(super) fn trim(&mut self) {
        let len = self.out.trim_end_matches(' ').len();
        self.out.truncate(len);
    }

    /// A keyword on a line of its own.
    pub(super) fn keyword(&mut self, word: &str, before: i32, after: i32, plus: i32) {
        self.indent += before;
        self.trim();
        self.out.push('\n');
        let amount = match self.indent < LIMIT {
            true => self.indent.max(0) + plus,
            // Deeper levels are indented less, so that lines stay where they can be seen.
            false => (LIMIT + (self.indent - LIMIT) / (STEP / 2)) % LIMIT + plus,
        };
        self.out.extend(std::iter::repeat_n(' ', amount.max(0) as usize));
        self.put(word);
        self.indent = (self.indent + after).max(0);
    }

    fn open(&mut self) {
        if !self.pretty {
            self.put("(");
        }
    }

    fn close(&mut self) {
        if !self.pretty {
            self.put(")");
        }
    }

    pub(super) fn ty(&self, ty: Ty) -> String {
        reg::format_type(self.catalog, ty.oid, Some(ty.modifier)).unwrap_or_default()
    }

    fn list(&mut self, nodes: &[Node], implicit: bool) {
        for (at, node) in nodes.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            self.expr(node, implicit);
        }
    }

    /// An expression, in parentheses where that is needed within another.
    fn inner(&mut self, node: &Node, implicit: bool, around: &Node) {
        let needed = self.pretty && !is_simple(node, around);
        if needed {
            self.put("(");
        }
        self.expr(node, implicit);
        if needed {
            self.put(")");
        }
    }

    /// A constant: with its type where that is not seen (0), always (1) or never (-1).
    pub(super) fn constant(&mut self, value: Option<&str>, ty: Ty, show: i32) {
        let Some(value) = value else {
            self.put("NULL");
            if show >= 0 {
                let name = self.ty(ty);
                self.put(&format!("::{name}"));
            }
            return;
        };
        let digit = value.starts_with(|c: char| c.is_ascii_digit());
        let mut label = match ty.oid {
            INT4 if !value.starts_with('-') => {
                self.put(value);
                false
            }
            NUMERIC if digit && value.contains(['e', 'E', '.']) => {
                self.put(value);
                ty.modifier >= 0
            }
            BOOL => {
                self.put(if value.starts_with('t') { "true" } else { "false" });
                false
            }
            _ => {
                self.literal(value);
                ty.oid != UNKNOWN
            }
        };
        label &= show >= 0;
        if label || show > 0 {
            let name = self.ty(ty);
            self.put(&format!("::{name}"));
        }
    }

    fn literal(&mut self, value: &str) {
        self.put(&format!("'{}'", value.replace('\'', "''")));
    }

    /// A conversion that is shown.
    fn conversion(&mut self, arg: &Node, ty: Ty, around: &Node) {
        match &arg.kind {
            NodeKind::Const(value) if arg.ty == Ty::plain(ty.oid) => {
                self.constant(value.as_deref(), arg.ty, -1)
            }
            _ => {
                self.open();
                self.inner(arg, false, around);
                self.close();
            }
        }
        let name = self.ty(ty);
        self.put(&format!("::{name}"));
    }

    /// What a column is written as, with what qualifies it if that is needed.
    pub(super) fn column(&mut self, relation: Option<usize>, name: &str) {
        if let Some(number) = relation.filter(|_| self.qualified) {
            match self.names.get(&number) {
                Some(of) => {
                    let of = quote_ident(of);
                    self.put(&format!("{of}."));
                }
                None => self.failed = true,
            }
        }
        self.put(&quote_ident(name));
    }

    /// A row of a relation.
    fn whole(&mut self, relation: usize) {
        match self.names.get(&relation) {
            Some(of) => {
                let of = quote_ident(of);
                self.put(&format!("{of}.*"));
            }
            None => self.failed = true,
        }
    }

    pub(super) fn expr(&mut self, node: &Node, implicit: bool) {
        if stack::check().is_err() {
            self.failed = true;
            return;
        }
        match &node.kind {
            NodeKind::Column(relation, name) => self.column(*relation, name),
            NodeKind::Whole(relation) => self.whole(*relation),
            NodeKind::Value => self.put("VALUE"),
            NodeKind::CaseOperand => self.failed = true,
            NodeKind::Const(value) => self.constant(value.as_deref(), node.ty, 0),
            NodeKind::Call(call) => self.call(call),
            NodeKind::Worded(how, args) => self.worded(*how, args, node),
            NodeKind::Operator(symbol, args) => {
                self.open();
                match &args[..] {
                    [left, right] => {
                        self.inner(left, true, node);
                        self.put(&format!(" {symbol} "));
                        self.inner(right, true, node);
                    }
                    args => {
                        self.put(&format!("{symbol} "));
                        args.iter().for_each(|a| self.inner(a, true, node));
                    }
                }
                self.close();
            }
            NodeKind::Distinct(left, right) => {
                self.open();
                self.inner(left, true, node);
                self.put(" IS DISTINCT FROM ");
                self.inner(right, true, node);
                self.close();
            }
            NodeKind::NullIf(left, right) => {
                self.put("NULLIF(");
                self.expr(left, true);
                self.put(", ");
                self.expr(right, true);
                self.put(")");
            }
            NodeKind::Quantified(symbol, all, left, array) => {
                self.open();
                self.inner(left, true, node);
                self.put(&format!(" {symbol} {} (", if *all { "ALL" } else { "ANY" }));
                self.inner(array, true, node);
                // Else the query's rows would be meant, not its array.
                if matches!(&array.kind, NodeKind::Sublink(link) if link.kind == SublinkKind::Scalar) {
                    let name = self.ty(array.ty);
                    self.put(&format!("::{name}"));
                }
                self.put(")");
                self.close();
            }
            NodeKind::Logic(logic, args) => {
                self.open();
                let word = match logic {
                    Logic::And => " AND ",
                    Logic::Or => " OR ",
                    Logic::Not => {
                        self.put("NOT ");
                        ""
                    }
                };
                for (at, arg) in args.iter().enumerate() {
                    if at > 0 {
                        self.put(word);
                    }
                    self.inner(arg, false, node);
                }
                self.close();
            }
            NodeKind::Cast(_, Form::Implicit, arg) | NodeKind::Domain(Form::Implicit, arg) if !implicit => {
                self.inner(arg, false, node);
            }
            NodeKind::Cast(_, _, arg) | NodeKind::Domain(_, arg) => self.conversion(arg, node.ty, node),
            NodeKind::Case(operand, whens, otherwise) => {
                self.keyword("CASE", 0, VARIABLE, 0);
                if let Some(operand) = operand {
                    self.put(" ");
                    self.expr(operand, true);
                }
                for (when, then) in whens {
                    self.keyword("WHEN ", 0, 0, 0);
                    self.expr(when, false);
                    self.put(" THEN ");
                    self.expr(then, true);
                }
                self.keyword("ELSE ", 0, 0, 0);
                self.expr(otherwise, true);
                self.keyword("END", -VARIABLE, 0, 0);
            }
            NodeKind::Array(items) => {
                self.put("ARRAY[");
                self.list(items, true);
                self.put("]");
                if items.is_empty() {
                    let name = self.ty(node.ty);
                    self.put(&format!("::{name}"));
                }
            }
            NodeKind::Row(items) => {
                self.put("ROW(");
                self.list(items, true);
                self.put(")");
            }
            NodeKind::RowCompare(symbol, left, right) => {
                self.put("(ROW(");
                self.list(left, true);
                self.put(&format!(") {symbol} ROW("));
                self.list(right, true);
                self.put("))");
            }
            NodeKind::Coalesce(items) => {
                self.put("COALESCE(");
                self.list(items, true);
                self.put(")");
            }
            NodeKind::MinMax(word, items) => {
                self.put(&format!("{word}("));
                self.list(items, true);
                self.put(")");
            }
            NodeKind::SqlValue(text) => self.put(text),
            NodeKind::Null(arg, negated) => {
                // A row is NULL if all its fields are; whether it is one itself is said otherwise.
                if arg.ty.oid == RECORD && !matches!(arg.kind, NodeKind::Row(_) | NodeKind::Whole(_)) {
                    self.failed = true;
                }
                self.open();
                self.inner(arg, true, node);
                self.put(if *negated { " IS NOT NULL" } else { " IS NULL" });
                self.close();
            }
            NodeKind::Truth(arg, words) => {
                self.open();
                self.inner(arg, false, node);
                self.put(&format!(" {words}"));
                self.close();
            }
            NodeKind::Subscripts(value, all) => {
                let simple = matches!(value.kind, NodeKind::Column(..) | NodeKind::Field(..));
                if !simple {
                    self.put("(");
                }
                self.expr(value, implicit);
                if !simple {
                    self.put(")");
                }
                for subscript in all {
                    self.put("[");
                    match subscript {
                        SubscriptNode::Element(e) => self.expr(e, false),
                        SubscriptNode::Slice(low, high) => {
                            low.iter().for_each(|e| self.expr(e, false));
                            self.put(":");
                            high.iter().for_each(|e| self.expr(e, false));
                        }
                    }
                    self.put("]");
                }
            }
            NodeKind::Field(value, field) => {
                let bare = matches!(value.kind, NodeKind::Subscripts(..) | NodeKind::Field(..));
                if !bare {
                    self.put("(");
                }
                self.expr(value, true);
                if !bare {
                    self.put(")");
                }
                self.put(&format!(".{}", quote_ident(field)));
            }
            NodeKind::Collate(arg, name) => {
                self.open();
                self.inner(arg, implicit, node);
                self.put(&format!(" COLLATE {name}"));
                self.close();
            }
            NodeKind::Sublink(link) => self.sublink(link),
        }
    }

    fn call(&mut self, call: &CallNode) {
        self.put(&call.name);
        self.put("(");
        if call.distinct {
            self.put("DISTINCT ");
        }
        if call.star {
            self.put("*");
        }
        for (at, (name, arg)) in call.args.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            if call.variadic && at + 1 == call.args.len() {
                self.put("VARIADIC ");
            }
            if let Some(name) = name {
                self.put(&format!("{} => ", quote_ident(name)));
            }
            self.expr(arg, true);
        }
        if call.within {
            self.put(") WITHIN GROUP (ORDER BY ");
            self.order(&call.order, false);
        } else if !call.order.is_empty() {
            self.put(" ORDER BY ");
            self.order(&call.order, false);
        }
        if let Some(filter) = &call.filter {
            self.put(") FILTER (WHERE ");
            self.expr(filter, false);
        }
        self.put(")");
        if let Some(window) = &call.over {
            self.put(" OVER ");
            match &window.name {
                Some(name) if window.named => self.put(&quote_ident(name)),
                _ => self.window(window),
            }
        }
    }

    fn worded(&mut self, how: Worded, args: &[Node], node: &Node) {
        let parts: &[&str] = match how {
            Worded::AtTimeZone => {
                self.put("(");
                self.inner(&args[1], false, node);
                self.put(" AT TIME ZONE ");
                self.inner(&args[0], false, node);
                return self.put(")");
            }
            Worded::Extract => {
                let NodeKind::Const(Some(field)) = &args[0].kind else {
                    self.failed = true;
                    return;
                };
                let field = field.clone();
                self.put(&format!("EXTRACT({field} FROM "));
                self.expr(&args[1], false);
                return self.put(")");
            }
            Worded::IsNormalized | Worded::Normalize => {
                let form = match args.get(1).map(|a| &a.kind) {
                    None => None,
                    Some(NodeKind::Const(Some(form))) => Some(form.clone()),
                    Some(_) => {
                        self.failed = true;
                        return;
                    }
                };
                if how == Worded::Normalize {
                    self.put("NORMALIZE(");
                    self.expr(&args[0], false);
                    let form = form.map_or(String::new(), |f| format!(", {f}"));
                    return self.put(&format!("{form})"));
                }
                self.put("(");
                self.inner(&args[0], false, node);
                let form = form.map_or(String::new(), |f| format!(" {f}"));
                return self.put(&format!(" IS{form} NORMALIZED)"));
            }
            Worded::Overlaps => &["((", ", ", ") OVERLAPS (", ", "],
            Worded::Overlay => &["OVERLAY(", " PLACING ", " FROM ", " FOR "],
            Worded::Position => {
                self.put("POSITION((");
                self.expr(&args[1], false);
                self.put(") IN (");
                self.expr(&args[0], false);
                return self.put("))");
            }
            Worded::Substring => &["SUBSTRING(", " FROM ", " FOR "],
            Worded::Trim(side) => {
                self.put(&format!("TRIM({side}"));
                if let Some(chars) = args.get(1) {
                    self.put(" ");
                    self.expr(chars, false);
                }
                self.put(" FROM ");
                self.expr(&args[0], false);
                return self.put(")");
            }
        };
        for (part, arg) in parts.iter().zip(args) {
            self.put(part);
            self.expr(arg, false);
        }
        self.put(if how == Worded::Overlaps { "))" } else { ")" });
    }

    /// ORDER BY; the sides of a set operation are ordered by numbers.
    pub(super) fn order(&mut self, order: &[SortNode], by_number: bool) {
        for (at, item) in order.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            if by_number {
                self.put(&item.number.to_string());
            } else {
                self.sorted(&item.expr);
            }
            self.put(match (item.descending, item.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            });
        }
    }

    /// What sorts or groups: never taken for a number, or for a word that means something there.
    pub(super) fn sorted(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Const(value) => self.constant(value.as_deref(), node.ty, 1),
            NodeKind::Column(..) | NodeKind::Whole(_) => self.expr(node, true),
            kind => {
                let call = matches!(
                    kind,
                    NodeKind::Call(_) | NodeKind::Worded(..) | NodeKind::Cast(CastKind::Function, ..)
                );
                let needed = self.pretty || call;
                if needed {
                    self.put("(");
                }
                self.expr(node, true);
                if needed {
                    self.put(")");
                }
            }
        }
    }

    pub(super) fn window(&mut self, window: &WindowNode) {
        self.put("(");
        let mut space = "";
        if let Some(name) = &window.name {
            self.put(&quote_ident(name));
            space = " ";
        }
        if !window.partition.is_empty() && window.name.is_none() {
            self.put(space);
            self.put("PARTITION BY ");
            for (at, e) in window.partition.iter().enumerate() {
                if at > 0 {
                    self.put(", ");
                }
                self.sorted(e);
            }
            space = " ";
        }
        if !window.order.is_empty() {
            self.put(space);
            self.put("ORDER BY ");
            self.order(&window.order, false);
            space = " ";
        }
        if let Some(frame) = &window.frame {
            self.put(space);
            self.frame(frame);
        }
        self.put(")");
    }

    fn frame(&mut self, frame: &FrameNode) {
        self.put(match frame.units {
            FrameUnits::Rows => "ROWS ",
            FrameUnits::Range => "RANGE ",
            FrameUnits::Groups => "GROUPS ",
        });
        if frame.between {
            self.put("BETWEEN ");
        }
        self.edge(&frame.start, " PRECEDING");
        if frame.between {
            self.put(" AND ");
            self.edge(&frame.end, " FOLLOWING");
        }
        self.put(match frame.exclude {
            FrameExclusion::Nothing => "",
            FrameExclusion::Row => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
        });
    }

    fn edge(&mut self, edge: &EdgeNode, unbounded: &str) {
        match edge {
            EdgeNode::Unbounded => self.put(&format!("UNBOUNDED{unbounded}")),
            EdgeNode::Current => self.put("CURRENT ROW"),
            EdgeNode::Preceding(e) => {
                self.expr(e, false);
                self.put(" PRECEDING");
            }
            EdgeNode::Following(e) => {
                self.expr(e, false);
                self.put(" FOLLOWING");
            }
        }
    }

    fn sublink(&mut self, link: &Sublink) {
        self.put(if link.kind == SublinkKind::Array { "ARRAY(" } else { "(" });
        match &link.test[..] {
            [] => {}
            [one] => self.expr(one, true),
            several => {
                self.put("(");
                self.list(several, true);
                self.put(")");
            }
        }
        let within = match &link.kind {
            SublinkKind::Exists => {
                self.put("EXISTS (");
                true
            }
            SublinkKind::Quantified(symbol, false) if symbol == "=" => {
                self.put(" IN (");
                true
            }
            SublinkKind::Quantified(symbol, all) => {
                self.put(&format!(" {symbol} {} (", if *all { "ALL" } else { "ANY" }));
                true
            }
            SublinkKind::Scalar | SublinkKind::Array => false,
        };
        self.query(&link.query, None, false);
        self.put(if within { "))" } else { ")" });
    }
}

/// The symbol of an infix operator of one character.
fn short(node: &Node) -> Option<char> {
    match &node.kind {
        NodeKind::Operator(symbol, args) if args.len() == 2 && symbol.len() == 1 => symbol.chars().next(),
        _ => None,
    }
}

/// Whether something needs no parentheses where it stands, when only those that are needed are written.
fn is_simple(node: &Node, parent: &Node) -> bool {
    use NodeKind::{
        Array, Call, Case, CaseOperand, Cast, Coalesce, Collate, Column, Const, Distinct, Domain, Field,
        Logic, MinMax, Null, NullIf, Operator, Quantified, Row, RowCompare, SqlValue, Sublink, Subscripts,
        Truth, Value, Whole, Worded,
    };
    // What has separators of its own around each part.
    let separated = matches!(
        parent.kind,
        Call(_) | Subscripts(..) | Array(_) | Row(_) | Coalesce(_) | MinMax(..) | NullIf(..) | Case(..)
    );
    match &node.kind {
        Column(..) | Whole(_) | Const(_) | Value | CaseOperand => true,
        Subscripts(..)
        | Array(_)
        | Row(_)
        | Coalesce(_)
        | MinMax(..)
        | SqlValue(_)
        | NullIf(..)
        | Call(_)
        | Worded(..)
        | Cast(CastKind::Function, ..)
        | Case(..) => true,
        Field(..) => !matches!(parent.kind, Field(..)),
        Cast(CastKind::Other, _, arg) | Domain(_, arg) => is_simple(arg, node),
        Operator(..) if matches!(parent.kind, Operator(..)) => {
            let (Some(own), Some(of)) = (short(node), short(parent)) else { return false };
            let rank = |c: char| match c {
                '+' | '-' => Some(1),
                '*' | '/' | '%' => Some(2),
                _ => None,
            };
            let (Some(own), Some(of)) = (rank(own), rank(of)) else { return false };
            if own != of {
                return own > of;
            }
            // (a - b) - c, not a - (b - c)
            matches!(&parent.kind, Operator(_, args) if std::ptr::eq(&args[0], node))
        }
        Operator(..) | Sublink(_) | Null(..) | Truth(..) | Distinct(..) => {
            separated || matches!(parent.kind, Logic(..))
        }
        Logic(own, _) => match &parent.kind {
            Logic(of, _) => match own {
                super::node::Logic::Or => *of == super::node::Logic::Or,
                _ => *of != super::node::Logic::Not,
            },
            _ => separated,
        },
        Quantified(..) | RowCompare(..) | Collate(..) => false,
    }
}
