//! `tsquery`: lexemes with operators between them.
//!
//! PostgreSQL compares by size first: the number of nodes, the bytes that a query has there, then node by node from the root,
//! the right side before the left. As kept: these two numbers (4 bytes each, the highest first), then the nodes, each with
//! its kind first:
//!
//! | node | bytes |
//! |---|---|
//! | operator | `FD`; 255 less its number; right side, left side; of a phrase all bits of its distance turned (2 bytes) |
//! | lexeme | `FE`; all bits of its checksum turned, but for the sign (4 bytes); the lexeme, a zero byte; its weights and whether it is a prefix |
//!
//! So the order is PostgreSQL's, but that queries which differ in weights and prefixes alone are different ones; there they
//! are equal.

use super::words::{POSITION_MAX, Text, WORD_BYTES_MAX, Words, is_operator, is_space, write_quoted};
use crate::error::{Error, Result, SqlState};
use crate::watch;

/// A query has fewer bytes of lexemes.
const BYTES_MAX: usize = 1 << 20;
/// Deeper queries are refused: whoever goes through one recurses.
const DEPTH_MAX: usize = 2000;

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A lexeme.
    Word(Operand),
    /// `!`
    Not(Box<Node>),
    /// `&`
    And(Box<Node>, Box<Node>),
    /// `|`
    Or(Box<Node>, Box<Node>),
    /// `<n>`
    Phrase(Box<Node>, Box<Node>, u16),
    /// Where a word was that is in no index; in no query that is done.
    Stop,
}

/// A lexeme that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The lexeme.
    pub word: String,
    /// The weights that its places may have, a bit for each; 0: any.
    pub weights: u8,
    /// Whether it is the beginning of a lexeme.
    pub prefix: bool,
}

/// A query; `None` is the empty one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TsQuery {
    /// The root.
    pub root: Option<Node>,
}

/// An operator while a text is read, those that bind stronger greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Op {
    /// `|`
    Or,
    /// `&`
    And,
    /// `<n>`
    Phrase(u16),
    /// `!`
    Not,
}

impl Op {
    fn priority(self) -> u8 {
        match self {
            Op::Or => 1,
            Op::And => 2,
            Op::Phrase(_) => 3,
            Op::Not => 4,
        }
    }

    /// Its number in PostgreSQL.
    fn number(self) -> u8 {
        match self {
            Op::Not => 1,
            Op::And => 2,
            Op::Or => 3,
            Op::Phrase(_) => 4,
        }
    }

    fn of_number(number: u8, distance: u16) -> Option<Op> {
        Some(match number {
            1 => Op::Not,
            2 => Op::And,
            3 => Op::Or,
            4 => Op::Phrase(distance),
            _ => return None,
        })
    }

    fn node(self, left: Node, right: Node) -> Node {
        match self {
            Op::Or => Node::Or(Box::new(left), Box::new(right)),
            Op::And => Node::And(Box::new(left), Box::new(right)),
            Op::Phrase(distance) => Node::Phrase(Box::new(left), Box::new(right), distance),
            Op::Not => Node::Not(Box::new(right)),
        }
    }
}

/// The checksum that PostgreSQL compares lexemes of queries by.
fn checksum(word: &str) -> u32 {
    !word.bytes().fold(u32::MAX, |crc, byte| {
        let mut entry = crc >> 24 ^ u32::from(byte);
        for _ in 0..8 {
            entry = if entry & 1 == 1 { entry >> 1 ^ 0xEDB8_8320 } else { entry >> 1 };
        }
        entry ^ crc << 8
    })
}

impl Node {
    /// The operator and its sides, the left one first; that of `!` is the right one.
    fn parts(&self) -> Option<(Op, Option<&Node>, &Node)> {
        match self {
            Node::Word(_) | Node::Stop => None,
            Node::Not(of) => Some((Op::Not, None, of)),
            Node::And(left, right) => Some((Op::And, Some(left), right)),
            Node::Or(left, right) => Some((Op::Or, Some(left), right)),
            Node::Phrase(left, right, distance) => Some((Op::Phrase(*distance), Some(left), right)),
        }
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        match self.parts() {
            None => 1,
            Some((_, left, right)) => 1 + left.map_or(0, Node::count) + right.count(),
        }
    }

    /// Calls for each lexeme, in the order in which PostgreSQL keeps them: right sides first.
    pub fn for_each_word<'n>(&'n self, visit: &mut dyn FnMut(&'n Operand)) {
        match self.parts() {
            None => {
                if let Node::Word(operand) = self {
                    visit(operand);
                }
            }
            Some((_, left, right)) => {
                right.for_each_word(visit);
                if let Some(left) = left {
                    left.for_each_word(visit);
                }
            }
        }
    }

    fn depth(&self) -> usize {
        match self.parts() {
            None => 1,
            Some((_, left, right)) => 1 + left.map_or(0, Node::depth).max(right.depth()),
        }
    }

    fn write(&self, around: u8, right_of_phrase: bool, out: &mut Vec<u8>) {
        let Some((op, left, right)) = self.parts() else {
            if let Node::Word(operand) = self {
                operand.write(out);
            }
            return;
        };
        let priority = op.priority();
        let brackets = priority < around || matches!(op, Op::Phrase(_)) && right_of_phrase;
        if brackets {
            out.extend_from_slice(b"( ");
        }
        if let Some(left) = left {
            left.write(priority, false, out);
        }
        match op {
            Op::Not => out.push(b'!'),
            Op::And => out.extend_from_slice(b" & "),
            Op::Or => out.extend_from_slice(b" | "),
            Op::Phrase(1) => out.extend_from_slice(b" <-> "),
            Op::Phrase(distance) => out.extend_from_slice(format!(" <{distance}> ").as_bytes()),
        }
        right.write(priority, matches!(op, Op::Phrase(_)), out);
        if brackets {
            out.extend_from_slice(b" )");
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self.parts() {
            None => {
                if let Node::Word(operand) = self {
                    out.push(0xFE);
                    out.extend_from_slice(&(!(checksum(&operand.word) ^ 1 << 31)).to_be_bytes());
                    out.extend_from_slice(operand.word.as_bytes());
                    out.extend_from_slice(&[0, operand.weights << 1 | u8::from(operand.prefix)]);
                }
            }
            Some((op, left, right)) => {
                out.extend_from_slice(&[0xFD, 255 - op.number()]);
                right.encode(out);
                if let Some(left) = left {
                    left.encode(out);
                }
                if let Op::Phrase(distance) = op {
                    out.extend_from_slice(&(!distance).to_be_bytes());
                }
            }
        }
    }

    fn decode(rest: &mut &[u8], depth: usize) -> Option<Node> {
        let (kind, behind) = rest.split_first()?;
        *rest = behind;
        match kind {
            0xFE => {
                let (sum, behind) = rest.split_first_chunk::<4>()?;
                let end = behind.iter().position(|b| *b == 0)?;
                let word = std::str::from_utf8(&behind[..end]).ok()?.to_owned();
                if !(checksum(&word) ^ 1 << 31) != u32::from_be_bytes(*sum) {
                    return None;
                }
                let flags = *behind.get(end + 1)?;
                *rest = &behind[end + 2..];
                (flags < 32).then_some(Node::Word(Operand {
                    word,
                    weights: flags >> 1,
                    prefix: flags & 1 == 1,
                }))
            }
            0xFD if depth < DEPTH_MAX => {
                let (number, behind) = rest.split_first()?;
                *rest = behind;
                let number = 255 - *number;
                let op = Op::of_number(number, 0)?;
                let right = Node::decode(rest, depth + 1)?;
                if op == Op::Not {
                    return Some(Node::Not(Box::new(right)));
                }
                let left = Node::decode(rest, depth + 1)?;
                let op = match op {
                    Op::Phrase(_) => {
                        let (distance, behind) = rest.split_first_chunk::<2>()?;
                        *rest = behind;
                        Op::Phrase(!u16::from_be_bytes(*distance))
                    }
                    other => other,
                };
                Some(op.node(left, right))
            }
            _ => None,
        }
    }

    fn send(&self, out: &mut Vec<u8>) {
        match self.parts() {
            None => {
                if let Node::Word(operand) = self {
                    out.extend_from_slice(&[1, operand.weights, u8::from(operand.prefix)]);
                    out.extend_from_slice(operand.word.as_bytes());
                    out.push(0);
                }
            }
            Some((op, left, right)) => {
                out.extend_from_slice(&[2, op.number()]);
                if let Op::Phrase(distance) = op {
                    out.extend_from_slice(&distance.to_be_bytes());
                }
                right.send(out);
                if let Some(left) = left {
                    left.send(out);
                }
            }
        }
    }

    fn receive(rest: &mut &[u8], depth: usize) -> Option<Node> {
        let (kind, behind) = rest.split_first()?;
        *rest = behind;
        match kind {
            1 => {
                let (&[weights, prefix], behind) = rest.split_first_chunk::<2>()?;
                let end = behind.iter().position(|b| *b == 0)?;
                let word = std::str::from_utf8(&behind[..end]).ok()?.to_owned();
                *rest = &behind[end + 1..];
                (weights < 16 && word.len() < WORD_BYTES_MAX).then_some(Node::Word(Operand {
                    word,
                    weights,
                    prefix: prefix != 0,
                }))
            }
            2 if depth < DEPTH_MAX => {
                let (number, behind) = rest.split_first()?;
                *rest = behind;
                let mut distance = 0;
                if *number == 4 {
                    let (word, behind) = rest.split_first_chunk::<2>()?;
                    distance = u16::from_be_bytes(*word);
                    *rest = behind;
                }
                let op = Op::of_number(*number, distance).filter(|_| distance <= POSITION_MAX)?;
                let right = Node::receive(rest, depth + 1)?;
                let left = match op {
                    Op::Not => return Some(Node::Not(Box::new(right))),
                    _ => Node::receive(rest, depth + 1)?,
                };
                Some(op.node(left, right))
            }
            _ => None,
        }
    }

    /// Without what is behind `!`: what an index could answer. `None`: anything.
    fn without_not(self) -> Option<Node> {
        match self {
            Node::Not(_) => None,
            Node::Or(left, right) => Some(Op::Or.node(left.without_not()?, right.without_not()?)),
            Node::And(left, right) => both(Op::And, left.without_not(), right.without_not()),
            Node::Phrase(left, right, distance) => {
                both(Op::Phrase(distance), left.without_not(), right.without_not())
            }
            word => Some(word),
        }
    }

    /// Without [`Node::Stop`], and by how much more a phrase around it is apart on the left and on the right.
    ///
    /// `the <-> cat` is `cat`, and a phrase with it is further apart by what is gone.
    fn without_stops(self) -> (Option<Node>, u32, u32) {
        let (op, left, right) = match self {
            Node::Stop => return (None, 0, 0),
            Node::Word(_) => return (Some(self), 0, 0),
            Node::Not(of) => {
                let (of, l, r) = of.without_stops();
                return (of.map(|of| Node::Not(Box::new(of))), l, r);
            }
            Node::And(left, right) => (Op::And, left, right),
            Node::Or(left, right) => (Op::Or, left, right),
            Node::Phrase(left, right, distance) => (Op::Phrase(distance), left, right),
        };
        let (left, ll, lr) = left.without_stops();
        let (right, rl, rr) = right.without_stops();
        let apart = match op {
            Op::Phrase(distance) => Some(u32::from(distance)),
            _ => None,
        };
        match (left, right, apart) {
            (None, None, Some(apart)) => (None, ll + apart + rl, ll + apart + rl),
            (None, None, None) => (None, ll.max(rl), ll.max(rl)),
            (None, right, Some(apart)) => (right, ll + apart + rl, rr),
            (None, right, None) => (right, rl, rr),
            (left, None, Some(apart)) => (left, ll, lr + apart + rr),
            (left, None, None) => (left, ll, lr),
            (Some(left), Some(right), Some(apart)) => {
                let apart = (apart + lr + rl).min(u32::from(POSITION_MAX)) as u16;
                (Some(Op::Phrase(apart).node(left, right)), ll, rr)
            }
            (Some(left), Some(right), None) => (Some(op.node(left, right)), 0, 0),
        }
    }
}

/// Two sides, of which one may be missing.
fn both(op: Op, left: Option<Node>, right: Option<Node>) -> Option<Node> {
    match (left, right) {
        (Some(left), Some(right)) => Some(op.node(left, right)),
        (left, right) => left.or(right),
    }
}

impl Operand {
    fn write(&self, out: &mut Vec<u8>) {
        write_quoted(&self.word, out);
        if self.weights != 0 || self.prefix {
            out.push(b':');
        }
        if self.prefix {
            out.push(b'*');
        }
        for (bit, letter) in [(8, b'A'), (4, b'B'), (2, b'C'), (1, b'D')] {
            if self.weights & bit != 0 {
                out.push(letter);
            }
        }
    }
}

/// What makes nodes of the words of a text: a word, its weights, whether it is a prefix.
pub type Push<'p> = dyn FnMut(&mut Stack, &str, u8, bool) -> Result<()> + 'p;

/// Nodes that wait for an operator, as a text is read.
#[derive(Default)]
pub struct Stack {
    /// Each with its depth.
    nodes: Vec<(Node, usize)>,
}

impl Stack {
    /// A lexeme.
    pub fn word(&mut self, word: &str, weights: u8, prefix: bool) -> Result<()> {
        if word.len() >= WORD_BYTES_MAX {
            let message = format!("word is too long in tsquery: \"{word}\"");
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        self.nodes.push((Node::Word(Operand { word: word.to_owned(), weights, prefix }), 1));
        Ok(())
    }

    /// Where a word is missing.
    pub fn stop(&mut self) {
        self.nodes.push((Node::Stop, 1));
    }

    /// An operator of the last nodes.
    pub fn operator(&mut self, op: Op) -> Result<()> {
        let missing = || Error::internal("a query without its operands");
        let (right, mut depth) = self.nodes.pop().ok_or_else(missing)?;
        let node = match op {
            Op::Not => Node::Not(Box::new(right)),
            op => {
                let (left, of_left) = self.nodes.pop().ok_or_else(missing)?;
                depth = depth.max(of_left);
                op.node(left, right)
            }
        };
        self.nodes.push((node, depth + 1));
        if depth >= DEPTH_MAX { Err(too_large()) } else { Ok(()) }
    }
}

enum Token {
    Word(String, u8, bool),
    Op(Op),
    Open,
    Close,
    End,
}

/// How a text is read as a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// With operators.
    Standard,
    /// As one operand.
    Plain,
    /// As what people write into search boxes.
    Web,
}

struct Reader<'t> {
    form: Form,
    words: Words<'t>,
    whole: &'t str,
    /// Whether an operand comes next, and whether it is the first.
    operand: bool,
    first: bool,
    open: usize,
}

impl Reader<'_> {
    fn error(&self) -> Error {
        Error::new(SqlState::SYNTAX_ERROR, format!("syntax error in tsquery: \"{}\"", self.whole))
    }

    fn next(&mut self) -> Result<Token> {
        match self.form {
            Form::Plain => {
                if self.words.rest.is_empty() {
                    return Ok(Token::End);
                }
                let all = std::mem::take(&mut self.words.rest);
                Ok(Token::Word(all.to_owned(), 0, false))
            }
            Form::Standard => self.standard(),
            Form::Web => self.web(),
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.words.rest = &self.words.rest[bytes..];
    }

    fn op(&mut self, bytes: usize, op: Op) -> Result<Token> {
        self.skip(bytes);
        self.operand = true;
        self.first = false;
        Ok(Token::Op(op))
    }

    fn standard(&mut self) -> Result<Token> {
        self.words.rest = self.words.rest.trim_start_matches(is_space);
        let next = self.words.rest.chars().next();
        if self.operand {
            return match next {
                Some('!') => self.op(1, Op::Not),
                Some('(') => {
                    self.skip(1);
                    self.first = false;
                    self.open += 1;
                    Ok(Token::Open)
                }
                Some(':') => Err(self.error()),
                _ => match self.words.word()? {
                    Some((word, _)) => {
                        let (weights, prefix) = self.modifiers();
                        self.operand = false;
                        Ok(Token::Word(word, weights, prefix))
                    }
                    None if self.first => Ok(Token::End),
                    None => {
                        let message = format!("no operand in tsquery: \"{}\"", self.whole);
                        Err(Error::new(SqlState::SYNTAX_ERROR, message))
                    }
                },
            };
        }
        match next {
            Some('&') => self.op(1, Op::And),
            Some('|') => self.op(1, Op::Or),
            Some(')') if self.open > 0 => {
                self.skip(1);
                self.open -= 1;
                Ok(Token::Close)
            }
            None if self.open == 0 => Ok(Token::End),
            Some('<') => match self.distance()? {
                Some((bytes, distance)) => self.op(bytes, Op::Phrase(distance)),
                None => Err(self.error()),
            },
            _ => Err(self.error()),
        }
    }

    /// `<->` or `<n>`: how long it is, and how far apart.
    fn distance(&self) -> Result<Option<(usize, u16)>> {
        let inner = &self.words.rest[1..];
        let Some(end) = inner.find('>') else { return Ok(None) };
        let inner = &inner[..end];
        if inner == "-" {
            return Ok(Some((end + 2, 1)));
        }
        if inner.is_empty() || !inner.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(None);
        }
        match inner.parse::<u16>() {
            Ok(distance) if distance <= POSITION_MAX => Ok(Some((end + 2, distance))),
            _ => Err(wrong_distance()),
        }
    }

    /// `:*AB`
    fn modifiers(&mut self) -> (u8, bool) {
        let (mut weights, mut prefix) = (0, false);
        let Some(behind) = self.words.rest.strip_prefix(':') else { return (0, false) };
        let mut used = 1;
        for c in behind.chars() {
            match super::words::weight(c) {
                Some(weight) => weights |= 1 << weight,
                None if c == '*' => prefix = true,
                None => break,
            }
            used += 1;
        }
        self.skip(used);
        (weights, prefix)
    }

    fn web(&mut self) -> Result<Token> {
        loop {
            self.words.rest = self.words.rest.trim_start_matches(is_space);
            let next = self.words.rest.chars().next();
            if !self.operand {
                let or = self.or();
                return match next {
                    None => Ok(Token::End),
                    Some(_) if or => self.op(2, Op::Or),
                    Some(_) => self.op(0, Op::And),
                };
            }
            match next {
                Some('-') => return self.op(1, Op::Not),
                Some('"') => {
                    let inner = &self.words.rest[1..];
                    let (quoted, behind) = match inner.find('"') {
                        Some(end) => (&inner[..end], &inner[end + 1..]),
                        None => (inner, ""),
                    };
                    let quoted = quoted.to_owned();
                    self.words.rest = behind;
                    self.operand = false;
                    return Ok(Token::Word(quoted, 0, false));
                }
                Some(c) if is_operator(c) => {
                    self.skip(1);
                    self.first = false;
                }
                Some(_) => {
                    let word = self.words.word()?;
                    self.operand = false;
                    return Ok(word.map_or(Token::End, |(word, _)| Token::Word(word, 0, false)));
                }
                None if self.first => return Ok(Token::End),
                None => {
                    // The operand that an operator waits for.
                    self.operand = false;
                    return Ok(Token::Word(String::new(), 0, false));
                }
            }
        }
    }

    /// Whether here is the word OR, with something behind it.
    fn or(&self) -> bool {
        let rest = self.words.rest;
        let is_or = rest.get(..2).is_some_and(|word| word.eq_ignore_ascii_case("or"));
        let Some(next) = is_or.then(|| rest[2..].chars().next()).flatten() else { return false };
        if matches!(next, '-' | '_') || next.is_alphanumeric() {
            return false;
        }
        rest[2 + next.len_utf8()..].chars().any(|c| !is_space(c))
    }
}

fn too_large() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "tsquery is too large")
}

fn wrong_distance() -> Error {
    let message = format!(
        "distance in phrase operator must be an integer value between zero and {POSITION_MAX} inclusive"
    );
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn reduce(stack: &mut Stack, waiting: &mut Vec<Op>, from: usize, next: Op) -> Result<()> {
    while waiting.len() > from {
        let last = waiting[waiting.len() - 1];
        // Only `!` has its operand on the right alone.
        let stays = match next {
            Op::Not => next.priority() >= last.priority(),
            _ => next.priority() > last.priority(),
        };
        if stays {
            break;
        }
        waiting.pop();
        stack.operator(last)?;
    }
    Ok(())
}

impl TsQuery {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<TsQuery> {
        TsQuery::read(text, Form::Standard, &mut |stack, word, weights, prefix| {
            stack.word(word, weights, prefix)
        })
    }

    /// Reads a text; `push` makes lexemes of its words.
    pub fn read(text: &str, form: Form, push: &mut Push<'_>) -> Result<TsQuery> {
        watch::count(text.len());
        let of = if form == Form::Web { Text::Web } else { Text::Query };
        let mut reader =
            Reader { form, words: Words::new(of, text), whole: text, operand: true, first: true, open: 0 };
        let mut stack = Stack::default();
        // Operators that wait for their right side; and where those of each bracket begin.
        let mut waiting: Vec<Op> = Vec::new();
        let mut brackets: Vec<usize> = Vec::new();
        loop {
            watch::check()?;
            let from = brackets.last().copied().unwrap_or(0);
            match reader.next()? {
                Token::Word(word, weights, prefix) => push(&mut stack, &word, weights, prefix)?,
                Token::Op(op) => {
                    reduce(&mut stack, &mut waiting, from, op)?;
                    waiting.push(op);
                }
                Token::Open => brackets.push(waiting.len()),
                Token::Close => {
                    reduce(&mut stack, &mut waiting, from, Op::Or)?;
                    brackets.pop();
                }
                Token::End => {
                    reduce(&mut stack, &mut waiting, from, Op::Or)?;
                    break;
                }
            }
        }
        let query = TsQuery { root: stack.nodes.pop().map(|(root, _)| root) };
        let query = query.within()?;
        Ok(TsQuery { root: query.root.and_then(|root| root.without_stops().0) })
    }

    /// 54000 where it is too long, or too deep.
    fn within(self) -> Result<TsQuery> {
        if let Some(root) = &self.root {
            let mut bytes = 0;
            if root.depth() > DEPTH_MAX {
                return Err(too_large());
            }
            root.for_each_word(&mut |operand| bytes += operand.word.len() + 1);
            if bytes > BYTES_MAX {
                return Err(too_large());
            }
        }
        Ok(self)
    }

    /// How many nodes it has.
    pub fn count(&self) -> usize {
        self.root.as_ref().map_or(0, Node::count)
    }

    /// Its lexemes, in the order in which PostgreSQL keeps them.
    pub fn operands(&self) -> Vec<&Operand> {
        let mut all = Vec::new();
        if let Some(root) = &self.root {
            root.for_each_word(&mut |operand| all.push(operand));
        }
        all
    }

    /// Appends the text form.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(root) = &self.root {
            root.write(0, false, out);
        }
    }

    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        let count = self.count();
        let words: usize = self.operands().iter().map(|operand| operand.word.len() + 1).sum();
        watch::count(words + 12 * count);
        let mut out = Vec::with_capacity(8 + words + 8 * count);
        out.extend_from_slice(&(count as u32).to_be_bytes());
        out.extend_from_slice(&((8 + 12 * count + words) as u32).to_be_bytes());
        if let Some(root) = &self.root {
            root.encode(&mut out);
        }
        out
    }

    /// From bytes of [`TsQuery::encode`]; `None` of others.
    pub fn decode(kept: &[u8]) -> Option<TsQuery> {
        watch::count(kept.len());
        let (head, mut rest) = kept.split_at_checked(8)?;
        let query = match rest.is_empty() {
            true => TsQuery::default(),
            false => TsQuery { root: Some(Node::decode(&mut rest, 0)?) },
        };
        (rest.is_empty() && query.encode().get(..8) == Some(head)).then_some(query)
    }

    /// Appends the binary form of the wire.
    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.count() as u32).to_be_bytes());
        if let Some(root) = &self.root {
            root.send(out);
        }
    }

    /// Reads the binary form of the wire.
    pub fn receive(bytes: &[u8]) -> Result<TsQuery> {
        let wrong = || Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "malformed tsquery");
        let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
        let count = u32::from_be_bytes(*count) as usize;
        let root = match count {
            0 => None,
            _ => Some(Node::receive(&mut rest, 0).ok_or_else(wrong)?),
        };
        let query = TsQuery { root }.within()?;
        if !rest.is_empty() || query.count() != count {
            return Err(wrong());
        }
        Ok(query)
    }

    /// With an operator between this query and another; an empty one adds nothing.
    pub fn join(self, op: Op, other: TsQuery) -> Result<TsQuery> {
        TsQuery { root: both(op, self.root, other.root) }.within()
    }

    /// `<n>` between two: 22023 where it is no distance.
    pub fn phrase(self, other: TsQuery, distance: i64) -> Result<TsQuery> {
        match u16::try_from(distance) {
            Ok(distance) if distance <= POSITION_MAX => self.join(Op::Phrase(distance), other),
            _ => Err(wrong_distance()),
        }
    }

    /// `!!`
    pub fn negated(self) -> Result<TsQuery> {
        TsQuery { root: self.root.map(|root| Node::Not(Box::new(root))) }.within()
    }

    /// What an index could answer, as `querytree` has it.
    pub fn tree(self) -> String {
        let Some(root) = self.root else { return String::new() };
        match root.without_not() {
            None => "T".to_owned(),
            root => {
                let mut out = Vec::new();
                TsQuery { root }.write(&mut out);
                String::from_utf8_lossy(&out).into_owned()
            }
        }
    }

    /// Whether it has all lexemes of another.
    pub fn contains(&self, other: &TsQuery) -> bool {
        let own: std::collections::HashSet<&str> =
            self.operands().into_iter().map(|operand| operand.word.as_str()).collect();
        other.operands().into_iter().all(|operand| own.contains(operand.word.as_str()))
    }
}
