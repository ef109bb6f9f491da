//! A statement as a tree of text that knows how it can be made smaller.

use crate::schema::Ty;

/// A part of a statement.
#[derive(Clone, Debug)]
pub enum Node {
    /// As it is.
    Text(String),
    /// One after the other.
    Seq(Vec<Node>),
    /// A clause that can be left out.
    Opt(Box<Node>),
    /// Items of which at least `min` stay.
    List {
        /// Items.
        items: Vec<Node>,
        /// What stands between them.
        separator: &'static str,
        /// How many must stay.
        min: usize,
    },
    /// An expression: a smaller one of its type, or `simple`, can take its place.
    Expr {
        /// Its type.
        ty: Ty,
        /// What it is.
        node: Box<Node>,
        /// A literal of that type.
        simple: &'static str,
    },
    /// What a rule of a grammar was written as: what the same rule was written as within it, or `simple`, can take its place.
    Term {
        /// The rule.
        rule: &'static str,
        /// What it is.
        node: Box<Node>,
        /// The simplest way to write the rule.
        simple: &'static str,
    },
    /// A query: one in it that has the same columns, or one of constants, can take its place.
    Query {
        /// Types of its columns.
        types: Vec<Ty>,
        /// What it is.
        node: Box<Node>,
    },
}

/// Text.
pub fn text(s: impl Into<String>) -> Node {
    Node::Text(s.into())
}

/// One after the other.
pub fn seq(parts: impl IntoIterator<Item = Node>) -> Node {
    Node::Seq(parts.into_iter().collect())
}

/// A clause that can be left out.
pub fn opt(node: Node) -> Node {
    Node::Opt(Box::new(node))
}

/// A list separated by commas.
pub fn list(items: Vec<Node>, min: usize) -> Node {
    Node::List { items, separator: ", ", min }
}

/// An expression.
pub fn expr(ty: Ty, parts: impl IntoIterator<Item = Node>) -> Node {
    Node::Expr { ty, node: Box::new(seq(parts)), simple: ty.simple() }
}

/// A query.
pub fn query(types: &[Ty], node: Node) -> Node {
    Node::Query { types: types.to_vec(), node: Box::new(node) }
}

/// What a part may be replaced by.
#[derive(Clone, Copy)]
enum Wanted<'a> {
    Value(Ty),
    Rule(&'static str),
    Rows(&'a [Ty]),
}

impl Node {
    /// Its text.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Node::Text(s) => out.push_str(s),
            Node::Seq(parts) => parts.iter().for_each(|p| p.write(out)),
            Node::Opt(node)
            | Node::Expr { node, .. }
            | Node::Term { node, .. }
            | Node::Query { node, .. } => {
                node.write(out);
            }
            Node::List { items, separator, .. } => {
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push_str(separator);
                    }
                    item.write(out);
                }
            }
        }
    }

    /// The tree with one part made smaller, in all ways, large steps first.
    pub fn smaller(&self) -> Vec<Node> {
        match self {
            Node::Text(_) => Vec::new(),
            Node::Seq(parts) => within(parts, &Node::Seq),
            Node::Opt(node) => {
                let mut all = vec![text("")];
                all.extend(node.smaller().into_iter().map(opt));
                all
            }
            Node::List { items, separator, min } => {
                let (separator, min) = (*separator, *min);
                let mut all = Vec::new();
                if items.len() > min {
                    for i in 0..items.len() {
                        let mut items = items.clone();
                        items.remove(i);
                        all.push(Node::List { items, separator, min });
                    }
                }
                all.extend(within(items, &|items| Node::List { items, separator, min }));
                all
            }
            Node::Expr { ty, node, simple } => {
                let mut all = Vec::new();
                if node.render() != *simple {
                    all.push(text(*simple));
                }
                node.inner(Wanted::Value(*ty), &mut all);
                let again = |n| Node::Expr { ty: *ty, node: Box::new(n), simple };
                all.extend(node.smaller().into_iter().map(again));
                all
            }
            Node::Term { rule, node, simple } => {
                let mut all = Vec::new();
                let is = node.render();
                if is != *simple {
                    all.push(text(*simple));
                }
                node.inner(Wanted::Rule(rule), &mut all);
                all.retain(|n| n.render() != is);
                let again = |n| Node::Term { rule, node: Box::new(n), simple };
                all.extend(node.smaller().into_iter().map(again));
                all
            }
            Node::Query { types, node } => {
                let simple: Vec<&str> = types.iter().map(|ty| ty.simple()).collect();
                let simple = format!("SELECT {}", simple.join(", "));
                let mut all = Vec::new();
                if node.render() != simple {
                    all.push(text(simple));
                }
                node.inner(Wanted::Rows(types), &mut all);
                all.extend(node.smaller().into_iter().map(|n| query(types, n)));
                all
            }
        }
    }

    /// The outermost parts in it that are wanted.
    fn inner(&self, wanted: Wanted<'_>, all: &mut Vec<Node>) {
        match self {
            Node::Text(_) => {}
            Node::Seq(parts) | Node::List { items: parts, .. } => {
                parts.iter().for_each(|p| p.inner(wanted, all));
            }
            Node::Opt(node) => node.inner(wanted, all),
            Node::Expr { ty, .. } if matches!(wanted, Wanted::Value(w) if w == *ty) => all.push(self.clone()),
            Node::Term { rule, .. } if matches!(wanted, Wanted::Rule(w) if w == *rule) => {
                all.push(self.clone())
            }
            Node::Query { types, .. } if matches!(wanted, Wanted::Rows(w) if w == types) => {
                all.push(self.clone())
            }
            Node::Expr { node, .. } | Node::Term { node, .. } | Node::Query { node, .. } => {
                node.inner(wanted, all);
            }
        }
    }
}

fn within(parts: &[Node], make: &dyn Fn(Vec<Node>) -> Node) -> Vec<Node> {
    let mut all = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        for smaller in part.smaller() {
            let mut parts = parts.to_vec();
            parts[i] = smaller;
            all.push(make(parts));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_gets_smaller_until_nothing_can_go() {
        let one = expr(Ty::Int4, [text("1")]);
        let sum =
            expr(Ty::Int4, [text("("), one.clone(), text(" + "), expr(Ty::Int4, [text("x")]), text(")")]);
        let mut node = seq([text("SELECT "), list(vec![sum, one], 1), opt(text(" WHERE true"))]);
        let mut seen = vec![node.render()];
        while let Some(next) = node.smaller().into_iter().next() {
            node = next;
            seen.push(node.render());
            assert!(seen.len() < 50, "{seen:?}");
        }
        assert_eq!(seen[0], "SELECT (1 + x), 1 WHERE true");
        assert_eq!(node.render(), "SELECT 0");
    }
}
