//! Queries: from what the parser understood to text, in the layout of PostgreSQL's `ruleutils.c`.

use super::node::{BodyNode, FromNode, Node, NodeKind, QueryNode, RelationKind, SelectNode};
use super::print::{Printer, STEP};
use planaria_base::text_io::quote_ident;
use planaria_syntax::ast::{JoinKind, SetOp};

/// Names that relations of a view have besides those of its query.
pub(super) const OF_VIEWS: [&str; 2] = ["old", "new"];

impl Printer<'_> {
    /// A query. `names`: what its outputs are called; `visible`: whether anybody sees that.
    pub(super) fn query(&mut self, query: &QueryNode, names: Option<&[String]>, visible: bool) {
        let (taken, qualified, indent) = (self.taken.len(), self.qualified, self.indent);
        self.qualified = true;
        self.name_relations(&query.relations);
        self.with(query);
        match &query.body {
            BodyNode::Select(select) => self.select(select, names, visible),
            BodyNode::Values(rows) => {
                self.indent += STEP;
                self.put(" ");
                self.values(rows);
            }
            BodyNode::SetOp(..) => self.set_operation(query, names, visible),
        }
        if !query.order.is_empty() {
            self.keyword(" ORDER BY ", -STEP, STEP, 1);
            self.order(&query.order, matches!(query.body, BodyNode::SetOp(..)));
        }
        if let Some(offset) = &query.offset {
            self.keyword(" OFFSET ", -STEP, STEP, 0);
            self.expr(offset, false);
        }
        if let Some(limit) = &query.limit {
            if query.ties {
                self.keyword(" FETCH FIRST ", -STEP, STEP, 0);
                // What is no simple expression needs them when it is read.
                self.put("(");
                self.expr(limit, false);
                self.put(") ROWS WITH TIES");
            } else {
                self.keyword(" LIMIT ", -STEP, STEP, 0);
                match limit.kind {
                    NodeKind::Const(None) => self.put("ALL"),
                    _ => self.expr(limit, false),
                }
            }
        }
        self.taken.truncate(taken);
        self.qualified = qualified;
        self.indent = indent;
    }

    /// Gives relations the names by which they are told apart from all around them.
    fn name_relations(&mut self, relations: &[usize]) {
        for number in relations {
            let wanted = &self.relations[*number].name;
            let mut name = wanted.clone();
            let mut n = 0;
            while self.taken.contains(&name) {
                n += 1;
                name = format!("{wanted}_{n}");
            }
            self.taken.push(name.clone());
            self.names.insert(*number, name);
        }
    }

    fn with(&mut self, query: &QueryNode) {
        if query.with.is_empty() {
            return;
        }
        self.indent += STEP;
        self.put(" ");
        for (at, cte) in query.with.iter().enumerate() {
            self.put(match (at, query.recursive) {
                (0, true) => "WITH RECURSIVE ",
                (0, false) => "WITH ",
                _ => ", ",
            });
            self.put(&quote_ident(&cte.name));
            if !cte.columns.is_empty() {
                let columns: Vec<String> = cte.columns.iter().map(|c| quote_ident(c)).collect();
                self.put(&format!("({})", columns.join(", ")));
            }
            self.put(" AS (");
            self.keyword("", 0, 0, 0);
            self.query(&cte.query, None, true);
            self.keyword("", 0, 0, 0);
            self.put(")");
        }
        self.indent -= STEP;
        self.keyword("", 0, 0, 0);
    }

    fn values(&mut self, rows: &[Vec<Node>]) {
        self.put("VALUES ");
        for (at, row) in rows.iter().enumerate() {
            self.put(if at > 0 { ", (" } else { "(" });
            for (at, node) in row.iter().enumerate() {
                if at > 0 {
                    self.put(",");
                }
                self.expr(node, false);
            }
            self.put(")");
        }
    }

    fn select(&mut self, select: &SelectNode, names: Option<&[String]>, visible: bool) {
        self.indent += STEP;
        self.put(" SELECT");
        match &select.distinct {
            None => {}
            Some(on) if on.is_empty() => self.put(" DISTINCT"),
            Some(on) => {
                self.put(" DISTINCT ON (");
                self.sorted_list(on);
                self.put(")");
            }
        }
        self.items(&select.items, names, visible);
        for (at, item) in select.from.iter().enumerate() {
            if at == 0 {
                self.keyword(" FROM ", -STEP, STEP, 2);
                self.from(item);
                continue;
            }
            self.put(", ");
            let before = std::mem::take(&mut self.out);
            self.from(item);
            let text = std::mem::replace(&mut self.out, before);
            match text.starts_with('\n') {
                true => self.trim(),
                false => self.keyword("", -STEP, STEP, 4),
            }
            self.put(&text);
        }
        if let Some(filter) = &select.filter {
            self.keyword(" WHERE ", -STEP, STEP, 1);
            self.expr(filter, false);
        }
        if !select.group.is_empty() {
            self.keyword(" GROUP BY ", -STEP, STEP, 1);
            self.sorted_list(&select.group);
        }
        if let Some(having) = &select.having {
            self.keyword(" HAVING ", -STEP, STEP, 0);
            self.expr(having, false);
        }
        for (at, (name, window)) in select.windows.iter().enumerate() {
            match at {
                0 => self.keyword(" WINDOW ", -STEP, STEP, 1),
                _ => self.put(", "),
            }
            self.put(&format!("{} AS ", quote_ident(name)));
            self.window(window);
        }
    }

    fn sorted_list(&mut self, nodes: &[Node]) {
        for (at, node) in nodes.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            self.sorted(node);
        }
    }

    fn items(&mut self, items: &[(Node, String)], names: Option<&[String]>, visible: bool) {
        for (at, (node, name)) in items.iter().enumerate() {
            self.put(if at == 0 { " " } else { ", " });
            let before = std::mem::take(&mut self.out);
            self.expr_of_item(node, names.and_then(|n| n.get(at)).unwrap_or(name), visible);
            let text = std::mem::replace(&mut self.out, before);
            let begins = text.starts_with('\n');
            if begins {
                self.trim();
            } else if at > 0 {
                self.keyword("", -STEP, STEP, 4);
            }
            self.put(&text);
        }
    }

    fn expr_of_item(&mut self, node: &Node, name: &str, visible: bool) {
        self.expr(node, true);
        if let NodeKind::Whole(_) = node.kind {
            // Else it would be all the columns.
            let ty = self.ty(node.ty);
            self.put(&format!("::{ty}"));
        }
        let own = match &node.kind {
            NodeKind::Column(_, own) => Some(own.as_str()),
            _ if visible => None,
            _ => Some("?column?"),
        };
        if own != Some(name) {
            self.put(&format!(" AS {}", quote_ident(name)));
        }
    }

    fn from(&mut self, item: &FromNode) {
        match item {
            FromNode::Relation(number) => self.relation(*number),
            FromNode::Join { kind, left, right, using, on } => {
                let parens = self.pretty && matches!(**right, FromNode::Join { .. });
                if !self.pretty {
                    self.put("(");
                }
                self.from(left);
                let word = match kind {
                    JoinKind::Inner | JoinKind::Cross if on.is_some() || !using.is_empty() => " JOIN ",
                    JoinKind::Inner | JoinKind::Cross => " CROSS JOIN ",
                    JoinKind::Left => " LEFT JOIN ",
                    JoinKind::Right => " RIGHT JOIN ",
                    JoinKind::Full => " FULL JOIN ",
                };
                self.keyword(word, -STEP, STEP, 4);
                if parens {
                    self.put("(");
                }
                self.from(right);
                if parens {
                    self.put(")");
                }
                if !using.is_empty() {
                    let using: Vec<String> = using.iter().map(|c| quote_ident(c)).collect();
                    self.put(&format!(" USING ({})", using.join(", ")));
                } else if let Some(on) = on {
                    self.put(if self.pretty { " ON " } else { " ON (" });
                    self.expr(on, false);
                    if !self.pretty {
                        self.put(")");
                    }
                } else if !matches!(kind, JoinKind::Inner | JoinKind::Cross) {
                    self.put(" ON TRUE");
                }
                if !self.pretty {
                    self.put(")");
                }
            }
        }
    }

    fn relation(&mut self, number: usize) {
        let relations = self.relations;
        let relation = &relations[number];
        let name = self.names.get(&number).cloned().unwrap_or_default();
        if relation.lateral {
            self.put("LATERAL ");
        }
        let mut alias = relation.aliased;
        match &relation.kind {
            RelationKind::Stored { shown, only } => {
                self.put(if *only { "ONLY " } else { "" });
                self.put(shown);
                alias |= name != relation.name;
            }
            RelationKind::Cte(of) => {
                self.put(&quote_ident(of));
                alias = name != *of;
            }
            RelationKind::Query(query) => {
                self.put("(");
                self.query(query, None, true);
                self.put(")");
                alias = true;
            }
            RelationKind::Function { call, ordinality } => {
                self.expr(call, true);
                self.put(if *ordinality { " WITH ORDINALITY" } else { "" });
                alias = true;
            }
        }
        if alias {
            self.put(&format!(" {}", quote_ident(&name)));
        }
        if relation.shows_columns {
            let columns: Vec<String> = relation.columns.iter().map(|c| quote_ident(c)).collect();
            self.put(&format!("({})", columns.join(", ")));
        }
    }

    fn set_operation(&mut self, query: &QueryNode, names: Option<&[String]>, visible: bool) {
        let BodyNode::SetOp(op, all, left, right) = &query.body else { return };
        // Operations within each other without a word between are one tree.
        let nested = |side: &QueryNode| matches!(side.body, BodyNode::SetOp(..)) && side.is_bare();
        let same = matches!(&left.body, BodyNode::SetOp(of, of_all, ..) if (of, of_all) == (op, all));
        let parens = nested(left) && !same;
        if parens {
            self.put("(");
            self.keyword("", STEP, 0, 0);
        }
        self.side(left, nested(left), names, visible);
        match parens {
            true => self.keyword(") ", -STEP, 0, 0),
            false => self.keyword("", 0, 0, 0),
        }
        self.put(match op {
            SetOp::Union => "UNION ",
            SetOp::Except => "EXCEPT ",
            SetOp::Intersect => "INTERSECT ",
        });
        if *all {
            self.put("ALL ");
        }
        let parens = nested(right);
        let step = if parens { STEP } else { 0 };
        if parens {
            self.put("(");
        }
        self.keyword("", step, 0, 0);
        self.side(right, parens, names, false);
        self.indent -= step;
        if parens {
            self.keyword(")", 0, 0, 0);
        }
    }

    fn side(&mut self, side: &QueryNode, nested: bool, names: Option<&[String]>, visible: bool) {
        if nested {
            return self.set_operation(side, names, visible);
        }
        // The outputs are called as those of the whole.
        let parens = !side.is_bare();
        if parens {
            self.put("(");
        }
        self.query(side, names, visible);
        if parens {
            self.put(")");
        }
    }
}
