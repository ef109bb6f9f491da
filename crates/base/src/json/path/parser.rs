//! From tokens to a path.
//!
//! Expressions and predicates begin alike (`(`), so both are read by one function, by precedence, and each operator asks of
//! which kind its operands are. An operand of the wrong kind is an error at the token behind it: there PostgreSQL's grammar
//! has no way to go on.

use super::lexer::{Lexeme, Lexer, Token, syntax};
use super::{Arithmetic, Comparison, FLAGS, Item, Method, Path, Pattern, Step};
use crate::{Error, Result, SqlState, stack, watch};

pub(super) fn parse(text: &str) -> Result<Path> {
    watch::count(text.len());
    let mut lexer = Lexer::new(text);
    let now = lexer.next()?;
    if now.token == Token::End {
        let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
        return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
    }
    let mut parser = Parser { lexer, now };
    let lax = !parser.skip_word("strict")?;
    if lax {
        parser.skip_word("lax")?;
    }
    let root = parser.any(0)?.item;
    if parser.now.token != Token::End {
        return Err(parser.wrong());
    }
    check(&root, 0, false, false)?;
    Ok(Path { lax, root })
}

/// Operands within operands, up to which paths are taken: whoever goes over one recurses.
const NESTING_MAX: usize = 500;

/// `@` stands in filters alone, `last` in subscripts. 54001 where it nests too deeply.
fn check(item: &Item, nesting: usize, in_filter: bool, in_subscript: bool) -> Result<()> {
    if nesting > NESTING_MAX {
        let hint = format!("A jsonpath nests {NESTING_MAX} levels deep at most.");
        return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").with_hint(hint));
    }
    let mut at = Some(item);
    while let Some(item) = at {
        let message = match item.step {
            Step::Current if !in_filter => Some("@ is not allowed in root expressions"),
            Step::Last if !in_subscript => Some("LAST is allowed only in array subscripts"),
            _ => None,
        };
        if let Some(message) = message {
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let in_filter = in_filter || matches!(item.step, Step::Filter(_));
        let in_subscript = in_subscript || matches!(item.step, Step::Elements(_));
        for part in item.parts() {
            check(part, nesting + 1, in_filter, in_subscript)?;
        }
        at = item.next.as_deref();
    }
    Ok(())
}

/// What was read.
struct Read {
    item: Item,
    predicate: bool,
    /// Stands in parentheses of its own.
    enclosed: bool,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    now: Lexeme,
}

fn value(item: Item) -> Read {
    Read { item, predicate: false, enclosed: false }
}

fn truth(step: Step) -> Read {
    Read { item: Item::alone(step), predicate: true, enclosed: false }
}

fn boxed(item: Item) -> Box<Item> {
    Box::new(item)
}

/// How tightly the operators bind.
const OR: u8 = 1;
const AND: u8 = 2;
const COMPARE: u8 = 3;
const ADD: u8 = 4;
const MUL: u8 = 5;
const SIGN: u8 = 6;

impl Parser<'_> {
    #[cold]
    fn wrong(&self) -> Error {
        syntax("syntax error", &self.now.shown)
    }

    fn advance(&mut self) -> Result<Token> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.now, next).token)
    }

    fn at(&self, symbol: &str) -> bool {
        matches!(self.now.token, Token::Symbol(s) if s == symbol)
    }

    fn skip(&mut self, symbol: &str) -> Result<bool> {
        let there = self.at(symbol);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.skip(symbol)? { Ok(()) } else { Err(self.wrong()) }
    }

    fn at_word(&self, word: &str) -> bool {
        // These count in small letters alone.
        let exact = matches!(word, "null" | "true" | "false");
        matches!(&self.now.token, Token::Name(name)
            if if exact { name == word } else { name.eq_ignore_ascii_case(word) })
    }

    fn skip_word(&mut self, word: &str) -> Result<bool> {
        let there = self.at_word(word);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.skip_word(word)? { Ok(()) } else { Err(self.wrong()) }
    }

    /// An expression; an error at the token behind a predicate.
    fn expression(&mut self, least: u8) -> Result<Item> {
        let read = self.any(least)?;
        if read.predicate { Err(self.wrong()) } else { Ok(read.item) }
    }

    fn predicate(&mut self, least: u8) -> Result<Item> {
        let read = self.any(least)?;
        if read.predicate { Ok(read.item) } else { Err(self.wrong()) }
    }

    /// An expression or a predicate of operators that bind at least so tightly.
    fn any(&mut self, least: u8) -> Result<Read> {
        stack::check()?;
        let mut left = self.operand()?;
        loop {
            let symbol = match self.now.token {
                Token::Symbol(symbol) => symbol,
                _ => "",
            };
            let arithmetic = Arithmetic::ALL.iter().copied().find(|op| op.symbol() == symbol);
            let symbol = if symbol == "<>" { "!=" } else { symbol };
            let comparison = Comparison::ALL.iter().copied().find(|op| op.symbol() == symbol);
            let starts = self.at_word("starts");
            let like = self.at_word("like_regex");
            left = match symbol {
                "||" if least <= OR && left.predicate => {
                    self.advance()?;
                    let right = self.predicate(AND)?;
                    truth(Step::Or(boxed(left.item), boxed(right)))
                }
                "&&" if least <= AND && left.predicate => {
                    self.advance()?;
                    let right = self.predicate(COMPARE)?;
                    truth(Step::And(boxed(left.item), boxed(right)))
                }
                _ if least <= COMPARE && !left.predicate && (comparison.is_some() || starts || like) => {
                    self.compare(left.item, comparison, starts)?
                }
                _ if let Some(op) = arithmetic
                    && !left.predicate =>
                {
                    let binds = if matches!(op, Arithmetic::Add | Arithmetic::Sub) { ADD } else { MUL };
                    if least > binds {
                        return Ok(left);
                    }
                    self.advance()?;
                    let right = self.expression(binds + 1)?;
                    value(Item::alone(Step::Arithmetic(op, boxed(left.item), boxed(right))))
                }
                _ => return Ok(left),
            };
        }
    }

    /// What follows the left side of a comparison.
    fn compare(&mut self, left: Item, comparison: Option<Comparison>, starts: bool) -> Result<Read> {
        self.advance()?;
        if let Some(op) = comparison {
            let right = self.expression(ADD)?;
            return Ok(truth(Step::Compare(op, boxed(left), boxed(right))));
        }
        if starts {
            self.expect_word("with")?;
            let step = match &self.now.token {
                Token::Quoted(text) => Step::String(text.clone()),
                Token::Variable(name) => Step::Variable(name.clone()),
                _ => return Err(self.wrong()),
            };
            self.advance()?;
            return Ok(truth(Step::StartsWith(boxed(left), boxed(Item::alone(step)))));
        }
        let text = self.string()?;
        let mut flags = [false; FLAGS.len()];
        if self.skip_word("flag")? {
            for c in self.string()?.chars() {
                let Some(which) = FLAGS.into_iter().position(|flag| flag == c) else {
                    let detail = format!("Unrecognized flag character \"{c}\" in LIKE_REGEX predicate.");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, "invalid input syntax for type jsonpath")
                        .with_detail(detail));
                };
                flags[which] = true;
            }
        }
        let pattern = Pattern { text, flags };
        crate::pattern::parse(&pattern.text, pattern.regular_expression()?)?;
        Ok(truth(Step::LikeRegex(boxed(left), pattern)))
    }

    fn string(&mut self) -> Result<String> {
        let Token::Quoted(text) = &self.now.token else { return Err(self.wrong()) };
        let text = text.clone();
        self.advance()?;
        Ok(text)
    }

    /// An operand with the steps behind it.
    fn operand(&mut self) -> Result<Read> {
        for (symbol, minus) in [("+", false), ("-", true)] {
            if !self.skip(symbol)? {
                continue;
            }
            let of = self.expression(SIGN)?;
            return Ok(value(match &of {
                Item { step: Step::Number(number), next: None } if minus => {
                    Item::alone(Step::Number(negated(number)))
                }
                Item { step: Step::Number(_), next: None } => of,
                _ => Item::alone(Step::Sign(minus, boxed(of))),
            }));
        }
        if self.skip("!")? {
            let of = if self.at_word("exists") {
                self.primary()?.item
            } else {
                self.expect("(")?;
                let of = self.predicate(0)?;
                self.expect(")")?;
                of
            };
            return Ok(truth(Step::Not(boxed(of))));
        }
        let mut read = self.primary()?;
        if read.predicate && read.enclosed && self.skip_word("is")? {
            self.expect_word("unknown")?;
            return Ok(truth(Step::IsUnknown(boxed(read.item))));
        }
        if read.predicate && !read.enclosed {
            return Ok(read);
        }
        if let Some(steps) = self.steps()? {
            let mut end = &mut read.item.next;
            while let Some(item) = end {
                end = &mut item.next;
            }
            *end = Some(boxed(steps));
            read.predicate = false;
        }
        Ok(read)
    }

    fn primary(&mut self) -> Result<Read> {
        stack::check()?;
        if self.skip("(")? {
            let mut read = self.any(0)?;
            self.expect(")")?;
            read.enclosed = true;
            return Ok(read);
        }
        let step = match &self.now.token {
            Token::Quoted(text) => Step::String(text.clone()),
            Token::Variable(name) => Step::Variable(name.clone()),
            Token::Integer(number) | Token::Number(number) => Step::Number(canonical(number)?),
            Token::Symbol("$") => Step::Root,
            Token::Symbol("@") => Step::Current,
            _ if self.at_word("null") => Step::Null,
            _ if self.at_word("true") => Step::Bool(true),
            _ if self.at_word("false") => Step::Bool(false),
            _ if self.at_word("last") => Step::Last,
            _ if self.at_word("exists") => {
                self.advance()?;
                self.expect("(")?;
                let of = self.expression(0)?;
                self.expect(")")?;
                return Ok(truth(Step::Exists(boxed(of))));
            }
            _ => return Err(self.wrong()),
        };
        self.advance()?;
        Ok(value(Item::alone(step)))
    }

    /// The steps that come next, the first with the others behind it.
    fn steps(&mut self) -> Result<Option<Item>> {
        let mut steps = Vec::new();
        loop {
            if self.skip(".")? {
                steps.push(self.dotted()?);
            } else if self.skip("[")? {
                steps.push(self.subscripts()?);
            } else if self.skip("?")? {
                self.expect("(")?;
                let of = self.predicate(0)?;
                self.expect(")")?;
                steps.push(Step::Filter(boxed(of)));
            } else {
                break;
            }
        }
        let chain = |next: Option<Item>, step| Some(Item { step, next: next.map(Box::new) });
        Ok(steps.into_iter().rev().fold(None, chain))
    }

    fn subscripts(&mut self) -> Result<Step> {
        if self.skip("*")? {
            self.expect("]")?;
            return Ok(Step::AnyElement);
        }
        let mut ranges = Vec::new();
        loop {
            let from = self.expression(0)?;
            let to = if self.skip_word("to")? { Some(self.expression(0)?) } else { None };
            ranges.push((from, to));
            if !self.skip(",")? {
                break;
            }
        }
        self.expect("]")?;
        Ok(Step::Elements(ranges))
    }

    /// What follows a dot.
    fn dotted(&mut self) -> Result<Step> {
        if self.skip("*")? {
            return Ok(Step::AnyKey);
        }
        if self.skip("**")? {
            if !self.skip("{")? {
                return Ok(Step::Any(0, Step::LEAVES));
            }
            let first = self.level()?;
            let last = if self.skip_word("to")? { self.level()? } else { first };
            self.expect("}")?;
            return Ok(Step::Any(first, last));
        }
        let name = match self.advance_name()? {
            Ok(key) => return Ok(Step::Key(key)),
            Err(name) => name,
        };
        if !self.at("(") {
            return Ok(Step::Key(name));
        }
        let method = Method::ALL.iter().copied().find(|m| m.symbol().eq_ignore_ascii_case(&name));
        let step = match method {
            Some(method) => {
                self.advance()?;
                Step::Method(method)
            }
            None if name.eq_ignore_ascii_case("datetime") => {
                self.advance()?;
                let template =
                    if let Token::Quoted(_) = self.now.token { Some(self.string()?) } else { None };
                Step::DateTime(template)
            }
            None => return Err(self.wrong()),
        };
        self.expect(")")?;
        Ok(step)
    }

    /// A key in quotes, or a name that may be a method's.
    fn advance_name(&mut self) -> Result<std::result::Result<String, String>> {
        match &self.now.token {
            Token::Quoted(_) | Token::Name(_) => {}
            _ => return Err(self.wrong()),
        }
        Ok(match self.advance()? {
            Token::Quoted(key) => Ok(key),
            Token::Name(name) => Err(name),
            _ => Ok(String::new()),
        })
    }

    /// A bound of `.**`.
    fn level(&mut self) -> Result<u32> {
        if self.skip_word("last")? {
            return Ok(Step::LEAVES);
        }
        let Token::Integer(number) = &self.now.token else { return Err(self.wrong()) };
        let level = number.parse::<i32>().map_err(|_| {
            let message = format!("value \"{number}\" is out of range for type integer");
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })?;
        self.advance()?;
        Ok(level as u32)
    }
}

/// A number as `numeric` prints it.
fn canonical(number: &str) -> Result<String> {
    let whole = if number.starts_with('.') { format!("0{number}") } else { number.to_owned() };
    let (mantissa, exponent) = match whole.find(['e', 'E']) {
        Some(at) => whole.split_at(at),
        None => (whole.as_str(), ""),
    };
    let text = [mantissa.strip_suffix('.').unwrap_or(mantissa), exponent].concat();
    Ok(crate::json::value::number(&text)?.into_owned())
}

/// The number with the other sign.
pub(super) fn negated(number: &str) -> String {
    match number.strip_prefix('-') {
        Some(rest) => rest.to_owned(),
        None if number.bytes().all(|b| matches!(b, b'0' | b'.')) => number.to_owned(),
        None => format!("-{number}"),
    }
}
