//! Whole-number expressions over variables, rows of tables and parameters: `"10 * branches"`.
//!
//! ```text
//!  sum     = product (("+" | "-") product)*
//!  product = factor (("*" | "/" | "%") factor)*
//!  factor  = number | name | rows(table) | min(sum, sum) | max(sum, sum) | "(" sum ")" | "-" factor
//! ```
//!
//! Names are bound when a driver is made; what is constant then is computed then. Of parameters, those before.

use super::read::{Item, Source, hinted};
use super::slot::Slot;
use planaria::{Error, Result, SqlState};
use toml::de::DeValue;

/// An expression of the file.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    tree: Tree,
    /// Where it stands.
    pub(crate) at: usize,
}

#[derive(Clone, Debug)]
enum Tree {
    Int(i64),
    Float(f64),
    Name(String),
    Rows(String),
    Two(Op, Box<[Tree; 2]>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Min,
    Max,
}

/// A number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

/// What names mean.
pub(crate) struct Scope<'a> {
    pub(crate) source: &'a Source,
    pub(crate) variables: &'a [(String, Number)],
    /// Parameters that are drawn before, by their places.
    pub(crate) slots: &'a [String],
    /// Rows of a table.
    pub(crate) rows: &'a dyn Fn(&str) -> Result<i64>,
}

/// An expression whose names are bound.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Int(i64),
    Float(f64),
    Slot(usize),
    Two(Op2, Box<[Bound; 2]>),
}

/// An operation of a [`Bound`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op2(Op);

impl Expression {
    /// A number, or a text that is one.
    pub(crate) fn of(item: Item<'_>) -> Result<Expression> {
        let tree = match item.value {
            DeValue::Integer(n) => {
                let digits = n.as_str().replace('_', "");
                let number = i64::from_str_radix(&digits, n.radix());
                Tree::Int(number.map_err(|_| item.error("the number is too large"))?)
            }
            DeValue::Float(_) => {
                Tree::Float(item.scalar()?.parse().map_err(|_| item.error("this is no number"))?)
            }
            _ => {
                let text = item
                    .str()
                    .map_err(|e| e.with_hint("Numbers and expressions such as \"10 * rows(t)\" are."))?;
                let mut parser = Parser { rest: text.trim_start() };
                let tree = parser.sum().and_then(|tree| match parser.rest {
                    "" => Ok(tree),
                    rest => Err(format!("\"{rest}\" is not understood")),
                });
                tree.map_err(|what| {
                    item.error(format!("the expression \"{text}\": {what}"))
                        .with_hint("A text as it stands is written { text = \"...\" }.")
                })?
            }
        };
        Ok(Expression { tree, at: item.at })
    }

    /// A number as it stands.
    pub(crate) fn int(n: i64, at: usize) -> Expression {
        Expression { tree: Tree::Int(n), at }
    }

    pub(crate) fn bind(&self, scope: &Scope<'_>) -> Result<Bound> {
        self.bound(&self.tree, scope)
    }

    fn bound(&self, tree: &Tree, scope: &Scope<'_>) -> Result<Bound> {
        let found = |number: Number| match number {
            Number::Int(n) => Bound::Int(n),
            Number::Float(x) => Bound::Float(x),
        };
        Ok(match tree {
            Tree::Int(n) => Bound::Int(*n),
            Tree::Float(x) => Bound::Float(*x),
            Tree::Rows(table) => {
                Bound::Int((scope.rows)(table).map_err(|e| scope.source.said(self.at, "rows", &e))?)
            }
            Tree::Name(name) => {
                if let Some(slot) = scope.slots.iter().position(|s| s == name) {
                    Bound::Slot(slot)
                } else if let Some((_, n)) = scope.variables.iter().find(|(n, _)| n == name) {
                    found(*n)
                } else {
                    let known: Vec<&String> =
                        scope.slots.iter().chain(scope.variables.iter().map(|(n, _)| n)).collect();
                    let what = format!("there is no variable and no parameter before this \"{name}\"");
                    return Err(hinted(scope.source.error(self.at, what), name, &known));
                }
            }
            Tree::Two(op, sides) => {
                let [a, b] = [self.bound(&sides[0], scope)?, self.bound(&sides[1], scope)?];
                let two = Bound::Two(Op2(*op), Box::new([a, b]));
                match two.constant() {
                    Some(number) => found(number.map_err(|e| scope.source.said(self.at, "expression", &e))?),
                    None => two,
                }
            }
        })
    }

    /// What must be a number before anything is drawn.
    pub(crate) fn number(&self, scope: &Scope<'_>) -> Result<Number> {
        match self.bind(scope)? {
            Bound::Int(n) => Ok(Number::Int(n)),
            Bound::Float(x) => Ok(Number::Float(x)),
            _ => Err(scope.source.error(self.at, "this may depend on variables alone, not on parameters")),
        }
    }

    /// The same, whole.
    pub(crate) fn whole(&self, scope: &Scope<'_>) -> Result<i64> {
        match self.number(scope)? {
            Number::Int(n) => Ok(n),
            Number::Float(_) => Err(scope.source.error(self.at, "a whole number is wanted here")),
        }
    }

    /// The same, as a double.
    pub(crate) fn double(&self, scope: &Scope<'_>) -> Result<f64> {
        self.number(scope).map(|n| match n {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        })
    }

    /// What is to be whole, whenever it is computed.
    pub(crate) fn bind_whole(&self, scope: &Scope<'_>) -> Result<Bound> {
        let bound = self.bind(scope)?;
        if bound.has_float() {
            return Err(scope.source.error(self.at, "a whole number is wanted here"));
        }
        Ok(bound)
    }
}

impl Bound {
    fn has_float(&self) -> bool {
        match self {
            Bound::Float(_) => true,
            Bound::Two(_, sides) => sides.iter().any(Bound::has_float),
            _ => false,
        }
    }

    fn constant(&self) -> Option<Result<Number>> {
        let Bound::Two(Op2(op), sides) = self else { return None };
        let float = |side: &Bound| match side {
            Bound::Int(n) => Some(*n as f64),
            Bound::Float(x) => Some(*x),
            _ => None,
        };
        if let [Bound::Int(a), Bound::Int(b)] = **sides {
            return Some(op.whole(a, b).map(Number::Int));
        }
        let (a, b) = (float(&sides[0])?, float(&sides[1])?);
        Some(Ok(Number::Float(match op {
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            Op::Div => a / b,
            Op::Rem => a % b,
            Op::Min => a.min(b),
            Op::Max => a.max(b),
        })))
    }

    /// Its value for what was drawn before. 22012 and 22003 as SQL has them.
    #[inline]
    pub(crate) fn value(&self, slots: &[Slot]) -> Result<i64> {
        match self {
            Bound::Int(n) => Ok(*n),
            Bound::Float(x) => Ok(*x as i64),
            Bound::Slot(slot) => Ok(slots[*slot].whole()),
            Bound::Two(Op2(op), sides) => op.whole(sides[0].value(slots)?, sides[1].value(slots)?),
        }
    }
}

impl Op {
    fn whole(self, a: i64, b: i64) -> Result<i64> {
        let value = match self {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::Mul => a.checked_mul(b),
            Op::Div | Op::Rem if b == 0 => {
                return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
            }
            Op::Div => a.checked_div(b),
            Op::Rem => a.checked_rem(b),
            Op::Min => Some(a.min(b)),
            Op::Max => Some(a.max(b)),
        };
        value.ok_or_else(|| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range"))
    }
}

/// What is left to read.
struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn skip(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest.trim_start();
        taken
    }

    fn takes(&mut self, sign: char) -> bool {
        let takes = self.rest.starts_with(sign);
        if takes {
            self.skip(sign.len_utf8());
        }
        takes
    }

    fn wants(&mut self, sign: char) -> std::result::Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(format!("\"{sign}\" is missing")) }
    }

    fn sum(&mut self) -> std::result::Result<Tree, String> {
        let mut tree = self.product()?;
        loop {
            let op = match () {
                () if self.takes('+') => Op::Add,
                () if self.takes('-') => Op::Sub,
                () => return Ok(tree),
            };
            tree = Tree::Two(op, Box::new([tree, self.product()?]));
        }
    }

    fn product(&mut self) -> std::result::Result<Tree, String> {
        let mut tree = self.factor()?;
        loop {
            let op = match () {
                () if self.takes('*') => Op::Mul,
                () if self.takes('/') => Op::Div,
                () if self.takes('%') => Op::Rem,
                () => return Ok(tree),
            };
            tree = Tree::Two(op, Box::new([tree, self.factor()?]));
        }
    }

    fn factor(&mut self) -> std::result::Result<Tree, String> {
        if self.takes('(') {
            let tree = self.sum()?;
            self.wants(')')?;
            return Ok(tree);
        }
        if self.takes('-') {
            return Ok(Tree::Two(Op::Sub, Box::new([Tree::Int(0), self.factor()?])));
        }
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
        let word = self.skip(end.unwrap_or(self.rest.len()));
        if word.is_empty() {
            return Err("a number or a name is missing".to_owned());
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = word.replace('_', "");
            let whole = digits.parse().map(Tree::Int);
            return whole.or_else(|_| {
                digits.parse().map(Tree::Float).map_err(|_| format!("\"{word}\" is no number"))
            });
        }
        if !self.takes('(') {
            return Ok(Tree::Name(word.to_owned()));
        }
        if word == "rows" {
            let end = self.rest.find(')').ok_or("\")\" is missing")?;
            let table = self.skip(end).trim().to_owned();
            self.wants(')')?;
            return Ok(Tree::Rows(table));
        }
        let op = match word {
            "min" => Op::Min,
            "max" => Op::Max,
            _ => return Err(format!("there is no function \"{word}\"; there are rows, min and max")),
        };
        let first = self.sum()?;
        self.wants(',')?;
        let second = self.sum()?;
        self.wants(')')?;
        Ok(Tree::Two(op, Box::new([first, second])))
    }
}
