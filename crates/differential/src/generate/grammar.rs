//! Scripts from a text that says what statements look like.
//!
//! A grammar (`grammars/NAME.txt`) has rules: a name and a colon, below it the rule's alternatives, a line for each, with two spaces
//! before them. A line that ends in `\` goes on in the next one, `5x ` before an alternative makes it five times as likely, and
//! `(nothing)` is the empty one. What stands in backquotes is a hole:
//!
//! | hole | what fills it |
//! |---|---|
//! | `rule` | an alternative of the rule |
//! | `?rule` | the same, or nothing |
//! | `rule*3` | one to three of them, with commas between them |
//! | `1..9` | a number of the range |
//! | `fresh` | the next number of the script |
//! | `n=rule`, `n=fresh` | what fills it has the name `n` from here on |
//! | `=n` | what has that name, again |
//!
//! ` ;; ` stands between several statements. Alternatives that lead further are left out below a depth, where a rule has others.
//! Made smaller, what fills a hole becomes the first alternative of its rule that has no holes, or what fills a hole of the same
//! rule within it.

use crate::rng::Rng;
use crate::tree::{Node, opt, text};
use std::collections::HashMap;

/// What a hole asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Hole {
    Rule { rule: &'static str, many: usize, optional: bool, name: Option<&'static str> },
    Range(i64, i64),
    Fresh(Option<&'static str>),
    Again(&'static str),
}

/// A part of an alternative.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Symbol {
    Text(&'static str),
    Hole(Hole),
}

/// One way to write a rule: its statements.
#[derive(Clone, Debug)]
struct Alternative {
    weight: usize,
    statements: Vec<Vec<Symbol>>,
}

impl Alternative {
    /// It leads to no other rule.
    fn is_leaf(&self) -> bool {
        !self.statements.iter().flatten().any(|p| matches!(p, Symbol::Hole(Hole::Rule { .. })))
    }
}

/// A rule.
#[derive(Clone, Debug, Default)]
struct Rule {
    alternatives: Vec<Alternative>,
    /// The first alternative without holes.
    simple: Option<&'static str>,
}

/// The rules of a kind of scripts.
pub(super) struct Grammar {
    rules: HashMap<&'static str, Rule>,
    /// As they are written, to go through all.
    texts: HashMap<&'static str, Vec<String>>,
}

/// A script that is being made.
pub(super) struct Writer<'g> {
    grammar: &'g Grammar,
    pub rng: Rng,
    fresh: usize,
}

type Names = HashMap<&'static str, String>;

fn hole(inside: &'static str) -> Hole {
    if let Some(name) = inside.strip_prefix('=') {
        return Hole::Again(name);
    }
    if let Some((low, high)) = inside.split_once("..")
        && let (Ok(low), Ok(high)) = (low.parse(), high.parse())
    {
        return Hole::Range(low, high);
    }
    let (name, rule) = match inside.split_once('=') {
        Some((name, rule)) => (Some(name), rule),
        None => (None, inside),
    };
    if rule == "fresh" {
        return Hole::Fresh(name);
    }
    let (optional, rule) = rule.strip_prefix('?').map_or((false, rule), |rule| (true, rule));
    let (rule, many) = match rule.split_once('*') {
        Some((rule, many)) => (rule, many.parse().unwrap_or(1)),
        None => (rule, 1),
    };
    Hole::Rule { rule, many, optional, name }
}

/// The parts of a statement: what stands between backquotes are holes.
fn parts(statement: &'static str) -> Vec<Symbol> {
    let pieces = statement.split('`').enumerate();
    let part = |(n, piece)| if n % 2 == 0 { Symbol::Text(piece) } else { Symbol::Hole(hole(piece)) };
    pieces.map(part).filter(|p| *p != Symbol::Text("")).collect()
}

impl Grammar {
    /// Reads texts one after the other. They are part of the program, so what is wrong in them is so for all.
    pub(super) fn read(all: &[&'static str]) -> Grammar {
        let mut grammar = Grammar { rules: HashMap::new(), texts: HashMap::new() };
        let mut rule = "";
        let mut begun = String::new();
        for line in all.iter().flat_map(|text| text.lines()) {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            if !line.starts_with(' ') {
                rule = line.trim_end().trim_end_matches(':');
                let before = grammar.rules.insert(rule, Rule::default());
                assert!(before.is_none(), "{rule} is there twice");
                continue;
            }
            match line.trim().strip_suffix('\\') {
                Some(more) => {
                    begun.push_str(more.trim_end());
                    begun.push(' ');
                }
                None => {
                    begun.push_str(line.trim());
                    grammar.add(rule, std::mem::take(&mut begun));
                }
            }
        }
        grammar
    }

    fn add(&mut self, rule: &'static str, line: String) {
        // Grammars are read once, and kept.
        let line: &'static str = Box::leak(line.into_boxed_str());
        let (weight, line) = match line.split_once("x ") {
            Some((weight, rest)) if weight.parse::<usize>().is_ok() => (weight.parse().unwrap_or(1), rest),
            _ => (1, line),
        };
        let line = if line == "(nothing)" { "" } else { line };
        let statements: Vec<Vec<Symbol>> = line.split(" ;; ").map(|s| parts(s.trim())).collect();
        let alternative = Alternative { weight, statements };
        let Some(of) = self.rules.get_mut(rule) else { return };
        if of.simple.is_none() && !line.contains('`') {
            of.simple = Some(line);
        }
        of.alternatives.push(alternative);
        self.texts.entry(rule).or_default().push(line.to_owned());
    }

    /// The alternatives of a rule, in order; none of them has holes.
    pub(super) fn all(&self, rule: &str) -> &[String] {
        self.texts.get(rule).map_or(&[], Vec::as_slice)
    }

    /// One script from here on.
    pub(super) fn writer(&self, rng: Rng) -> Writer<'_> {
        Writer { grammar: self, rng, fresh: 0 }
    }
}

impl Writer<'_> {
    /// The statements of a rule: nothing leads further than so deep.
    pub(super) fn statements(&mut self, rule: &'static str, depth: usize) -> Vec<Node> {
        self.expand(rule, depth, &Names::new())
    }

    fn draw(&mut self, rule: &str, depth: usize) -> &Alternative {
        let grammar = self.grammar;
        let Some(rule) = grammar.rules.get(rule) else { unreachable!("no rule {rule}") };
        let leaves: Vec<&Alternative> = rule.alternatives.iter().filter(|a| a.is_leaf()).collect();
        let all: Vec<&Alternative> = match (depth, leaves.is_empty()) {
            (0, true) => rule.alternatives.iter().take(1).collect(),
            (0, false) => leaves,
            _ => rule.alternatives.iter().collect(),
        };
        let mut at = self.rng.below(all.iter().map(|a| a.weight).sum());
        for alternative in &all {
            if at < alternative.weight {
                return alternative;
            }
            at -= alternative.weight;
        }
        unreachable!("weights do not add up")
    }

    fn expand(&mut self, rule: &'static str, depth: usize, names: &Names) -> Vec<Node> {
        let statements = self.draw(rule, depth).statements.clone();
        let depth = depth.saturating_sub(1);
        // A rule that is but another one: its statements.
        if let [statement] = &statements[..]
            && let [Symbol::Hole(Hole::Rule { rule, many: 1, optional: false, name: None })] = statement[..]
        {
            return self.expand(rule, depth, names);
        }
        let mut names = names.clone();
        statements.iter().map(|parts| self.fill(parts, depth, &mut names)).collect()
    }

    fn fill(&mut self, parts: &[Symbol], depth: usize, names: &mut Names) -> Node {
        let mut nodes = Vec::new();
        for part in parts {
            let node = match part {
                Symbol::Text(s) => text(*s),
                Symbol::Hole(Hole::Again(name)) => text(names.get(name).cloned().unwrap_or_default()),
                Symbol::Hole(Hole::Range(low, high)) => text(self.rng.between(*low, *high).to_string()),
                Symbol::Hole(Hole::Fresh(name)) => {
                    self.fresh += 1;
                    let number = self.fresh.to_string();
                    if let Some(name) = name {
                        names.insert(name, number.clone());
                    }
                    text(number)
                }
                Symbol::Hole(Hole::Rule { rule, many, optional, name }) => {
                    if *optional && self.rng.chance(50) {
                        continue;
                    }
                    let count = if *many > 1 { 1 + self.rng.below(*many) } else { 1 };
                    let mut items: Vec<Node> = (0..count).map(|_| self.term(rule, depth, names)).collect();
                    let node = match count {
                        1 => items.remove(0),
                        _ => crate::tree::list(items, 1),
                    };
                    if let Some(name) = name {
                        // It is said again elsewhere, so it stays as it is.
                        let said = node.render();
                        names.insert(name, said.clone());
                        text(said)
                    } else if *optional {
                        opt(node)
                    } else {
                        node
                    }
                }
            };
            nodes.push(node);
        }
        Node::Seq(nodes)
    }

    fn term(&mut self, rule: &'static str, depth: usize, names: &Names) -> Node {
        let node = Node::Seq(self.expand(rule, depth, names));
        let simple = self.grammar.rules.get(rule).and_then(|r| r.simple);
        Node::Term { rule, node: Box::new(node), simple: simple.unwrap_or_default() }
    }
}

#[cfg(test)]
impl Grammar {
    /// Rules that holes name and that are not there, and rules that no hole names but those of `begun`.
    pub(super) fn loose_ends(&self, begun: &[&str]) -> Vec<String> {
        let mut named: Vec<&str> = begun.to_vec();
        let mut wrong = Vec::new();
        for (rule, of) in &self.rules {
            for part in of.alternatives.iter().flat_map(|a| &a.statements).flatten() {
                if let Symbol::Hole(Hole::Rule { rule: of, .. }) = part {
                    named.push(of);
                    if !self.rules.contains_key(of) {
                        wrong.push(format!("{rule} names {of}"));
                    }
                }
            }
        }
        wrong.extend(self.rules.keys().filter(|r| !named.contains(r)).map(|r| format!("{r} is not used")));
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled() {
        let grammar = Grammar::read(&[
            "# A comment.\nall:\n  SELECT `t=table`.`n`, `=t` \\\n    WHERE `?cond` ;; DROP `fresh`\ntable:\n  t0\nn:\n  5x `1..1`\n\
             cond:\n  (nothing)\n",
        ]);
        assert_eq!(grammar.loose_ends(&["all"]), Vec::<String>::new());
        let made = grammar.writer(Rng::new(1, 1)).statements("all", 9);
        let made: Vec<String> = made.iter().map(Node::render).collect();
        assert_eq!(made, ["SELECT t0.1, t0 WHERE ", "DROP 1"]);
    }

    #[test]
    fn a_depth_ends_what_leads_further() {
        let grammar = Grammar::read(&["e:\n  (`e` + `e`)\n  7\n  (`e` - 1)\n"]);
        for case in 0..50 {
            let made = grammar.writer(Rng::new(3, case)).statements("e", 3);
            let mut node = made[0].clone();
            assert!(node.render().len() < 70, "{}", node.render());
            while let Some(next) = node.smaller().into_iter().next() {
                node = next;
            }
            // The statement stays; what its holes were filled with is as simple as it can be.
            assert!(["7", "(7 + 7)", "(7 - 1)"].contains(&node.render().as_str()), "{}", node.render());
        }
    }
}
