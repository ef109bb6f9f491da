//! The text of a path, as PostgreSQL prints it, or as it is kept.

use super::{Arithmetic, FLAGS, Item, Path, Step};
use crate::json::quote;

/// `exact`: with all parentheses that matter, also those that PostgreSQL leaves out.
pub(super) fn write(path: &Path, exact: bool, out: &mut Vec<u8>) {
    if !path.lax {
        out.extend_from_slice(b"strict ");
    }
    Printer { exact, out }.chain(&path.root, false, true);
}

struct Printer<'a> {
    exact: bool,
    out: &'a mut Vec<u8>,
}

/// How tightly an operator binds; what is none binds most.
const fn priority(step: &Step) -> u8 {
    match step {
        Step::Or(..) => 0,
        Step::And(..) => 1,
        Step::Compare(..) | Step::StartsWith(..) => 2,
        Step::Arithmetic(Arithmetic::Add | Arithmetic::Sub, ..) => 3,
        Step::Arithmetic(..) => 4,
        Step::Sign(..) => 5,
        _ => 6,
    }
}

impl Printer<'_> {
    fn text(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// An item and what follows it. `follows`: whether it follows another; `enclosed`: whether an operator is to have
    /// parentheses.
    fn chain(&mut self, item: &Item, follows: bool, enclosed: bool) {
        let (mut at, mut follows, mut enclosed) = (Some(item), follows, enclosed);
        while let Some(item) = at {
            self.item(item, follows, enclosed);
            (at, follows, enclosed) = (item.next.as_deref(), true, true);
        }
    }

    /// Operands of an operator.
    fn operand(&mut self, of: &Item, step: &Step) {
        self.chain(of, false, priority(&of.step) <= priority(step));
    }

    fn item(&mut self, item: &Item, follows: bool, enclosed: bool) {
        let more = item.next.is_some();
        let enclosed = enclosed || self.exact && more;
        let dot = if follows { "." } else { "" };
        let step = &item.step;
        let alone = self.exact && more && matches!(step, Step::Not(_) | Step::Exists(_) | Step::IsUnknown(_));
        self.text(if alone { "(" } else { "" });
        match step {
            Step::Null => self.text("null"),
            Step::Bool(b) => self.text(if *b { "true" } else { "false" }),
            Step::Number(n) if more => self.text(&format!("({n})")),
            Step::Number(n) => self.text(n),
            Step::String(text) => quote(self.out, text),
            Step::Variable(name) => {
                self.text("$");
                quote(self.out, name);
            }
            Step::Root => self.text("$"),
            Step::Current => self.text("@"),
            Step::Last => self.text("last"),
            Step::Key(key) => {
                self.text(dot);
                quote(self.out, key);
            }
            Step::AnyKey => self.text(&format!("{dot}*")),
            Step::AnyElement => self.text("[*]"),
            Step::Elements(ranges) => {
                for (i, (from, to)) in ranges.iter().enumerate() {
                    self.text(if i == 0 { "[" } else { "," });
                    self.chain(from, false, false);
                    if let Some(to) = to {
                        self.text(" to ");
                        self.chain(to, false, false);
                    }
                }
                self.text("]");
            }
            Step::Any(first, last) => {
                self.text(&format!("{dot}**"));
                self.levels(*first, *last);
            }
            Step::Method(method) => self.text(&format!(".{}()", method.symbol())),
            Step::DateTime(template) => {
                self.text(".datetime(");
                if let Some(template) = template {
                    quote(self.out, template);
                }
                self.text(")");
            }
            Step::Filter(of) => self.around("?(", of),
            Step::Not(of) => self.around("!(", of),
            Step::Exists(of) => self.around("exists (", of),
            Step::IsUnknown(of) => {
                self.around("(", of);
                self.text(" is unknown");
            }
            Step::Arithmetic(op, a, b) => self.between(op.symbol(), [a, b], step, enclosed),
            Step::Compare(op, a, b) => self.between(op.symbol(), [a, b], step, enclosed),
            Step::And(a, b) => self.between("&&", [a, b], step, enclosed),
            Step::Or(a, b) => self.between("||", [a, b], step, enclosed),
            Step::StartsWith(a, b) => self.between("starts with", [a, b], step, enclosed),
            Step::Sign(minus, of) => {
                self.text(if enclosed { "(" } else { "" });
                self.text(if *minus { "-" } else { "+" });
                self.operand(of, step);
                self.text(if enclosed { ")" } else { "" });
            }
            Step::LikeRegex(of, pattern) => {
                self.text(if enclosed { "(" } else { "" });
                self.operand(of, step);
                self.text(" like_regex ");
                quote(self.out, &pattern.text);
                if pattern.flags.contains(&true) {
                    let set = FLAGS.into_iter().zip(pattern.flags).filter(|(_, set)| *set);
                    let letters: String = set.map(|(letter, _)| letter).collect();
                    self.text(&format!(" flag \"{letters}\""));
                }
                self.text(if enclosed { ")" } else { "" });
            }
        }
        self.text(if alone { ")" } else { "" });
    }

    fn around(&mut self, open: &str, of: &Item) {
        self.text(open);
        self.chain(of, false, false);
        self.text(")");
    }

    fn between(&mut self, symbol: &str, operands: [&Item; 2], step: &Step, enclosed: bool) {
        self.text(if enclosed { "(" } else { "" });
        self.operand(operands[0], step);
        self.text(&format!(" {symbol} "));
        self.operand(operands[1], step);
        self.text(if enclosed { ")" } else { "" });
    }

    fn levels(&mut self, first: u32, last: u32) {
        let bound = |level: u32| if level == Step::LEAVES { "last".to_owned() } else { level.to_string() };
        if (first, last) == (0, Step::LEAVES) {
            return;
        }
        let text = match first == last {
            true => format!("{{{}}}", bound(first)),
            false => format!("{{{} to {}}}", bound(first), bound(last)),
        };
        self.text(&text);
    }
}
