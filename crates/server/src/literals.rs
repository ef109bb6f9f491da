//! Constants of simple queries, taken out of them.
//!
//! Many clients write their values into the text: each text is another one, and each would be analysed and compiled
//! anew, which takes many times as long as a lookup runs. What differs is constants that stand where a parameter could
//! stand, and mean the same there. So a text goes without them, with `$1`, `$2`, .. in their place; what is analysed is that
//! text, once, and what runs is that statement with the constants as its parameters.
//!
//! Which constants go is seen from the tokens beside them, and is no more than what is known to change nothing:
//!
//! 1. What is compared: between `=`, `<`, `<>`, .. behind a name or a `)`, and the end of the condition; and the two of BETWEEN.
//! 2. What is stored: in the only row of `INSERT .. VALUES`, after `SET a =`, and in `SET a = a + 1`.
//! 3. What `CALL f(..)` and `SELECT f(..)` pass on, if the session finds that the statement is a call of a routine and no more.
//!
//! All others stay: they are part of the text that is kept (`LIMIT 10`, `interval '1 day'`, `LIKE 'a%'`, `x::numeric(8, 2)`).
//! A whole number is an `integer` or a `bigint`, one with a point a `numeric`; a string is whatever its place wants, as it
//! is in the text. Where the statement cannot be analysed so, or where a better plan may hang on a constant, it is done as it
//! stands ([`planaria::serving::ServedSession::prepare_general`]); that is remembered as well.

use crate::statements::end_of_string;
use planaria::{Numeric, ParamRef, Params, Type};

/// Longer texts are analysed as they stand.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// And those from which more constants would go.
const CONSTANTS_MAX: usize = 64;

/// A text without its constants.
pub(crate) struct Lifted {
    /// With parameters in their place.
    pub(crate) text: String,
    /// What the parameters are declared to be.
    pub(crate) types: Vec<Option<Type>>,
    /// They are what a routine is called with: it has to be one.
    pub(crate) is_call: bool,
    constants: Vec<Constant>,
}

enum Constant {
    Int(i64),
    Numeric(Numeric),
    Text(String),
}

impl Params for Lifted {
    fn count(&self) -> usize {
        self.constants.len()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        match &self.constants[i] {
            Constant::Int(n) => ParamRef::Int(*n),
            Constant::Numeric(n) => ParamRef::Numeric(*n),
            Constant::Text(text) => ParamRef::Text(text),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Word,
    /// In double quotes.
    Name,
    Number,
    String,
    /// A sign, or an operator of several.
    Sign,
}

#[derive(Clone, Copy)]
struct Token<'t> {
    kind: Kind,
    text: &'t str,
    at: usize,
}

impl Token<'_> {
    fn is(&self, word: &str) -> bool {
        matches!(self.kind, Kind::Word | Kind::Sign) && self.text.eq_ignore_ascii_case(word)
    }
    fn is_one_of(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }
    fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Name)
    }
}

const COMPARISONS: &[&str] = &["=", "<", ">", "<=", ">=", "<>", "!="];
/// What may follow a value that is compared or stored: nothing that would take it as its operand.
const ENDS: &[&str] = &[
    ")",
    ",",
    "and",
    "or",
    "where",
    "from",
    "order",
    "group",
    "having",
    "limit",
    "offset",
    "returning",
    "for",
    "union",
    "then",
    "join",
    "left",
    "inner",
    "cross",
];
/// Strings that are another value each time they are read.
const MOMENTS: &[&str] = &["now", "today", "tomorrow", "yesterday"];

/// The text without the constants that may go; `None` where none may, or where something in it is beyond this.
pub(crate) fn lift(text: &str) -> Option<Lifted> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let part = Statement::of(text)?;
    let tokens = tokens(text)?;
    let call = arguments_of_call(&tokens);
    let mut places = Vec::new();
    let mut state = Walk { part, depth: 0, values: None, sets: false };
    for (i, token) in tokens.iter().enumerate() {
        state.pass(token)?;
        if !matches!(token.kind, Kind::Number | Kind::String) {
            continue;
        }
        let goes = match &call {
            Some(arguments) => arguments.contains(&i) && state.is_element(&tokens, i),
            None => state.goes(&tokens, i),
        };
        if goes {
            places.push(i);
        }
    }
    if places.is_empty() || places.len() > CONSTANTS_MAX {
        return None;
    }
    let mut lifted = Lifted {
        text: String::with_capacity(text.len() + 8),
        types: Vec::with_capacity(places.len()),
        constants: Vec::with_capacity(places.len()),
        is_call: call.is_some(),
    };
    let mut done = 0;
    for i in places {
        let token = tokens[i];
        let Some((ty, constant)) = constant(&token) else { continue };
        lifted.types.push(ty);
        lifted.constants.push(constant);
        lifted.text.push_str(&text[done..token.at]);
        lifted.text.push('$');
        lifted.text.push_str(&lifted.constants.len().to_string());
        done = token.at + token.text.len();
    }
    lifted.text.push_str(&text[done..]);
    (!lifted.constants.is_empty()).then_some(lifted)
}

/// What a statement is by its first word, if constants may go from it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Statement {
    Select,
    Insert,
    Update,
    Delete,
    Call,
}

impl Statement {
    fn of(text: &str) -> Option<Statement> {
        let text = text.trim_start();
        let first = text.split(|c: char| !c.is_ascii_alphabetic()).next()?;
        let all = [
            ("select", Statement::Select),
            ("insert", Statement::Insert),
            ("update", Statement::Update),
            ("delete", Statement::Delete),
            ("call", Statement::Call),
        ];
        all.into_iter().find(|(word, _)| first.eq_ignore_ascii_case(word)).map(|(_, statement)| statement)
    }
}

/// Where in a statement a token stands.
struct Walk {
    part: Statement,
    depth: usize,
    /// Behind VALUES of an INSERT: how many rows have begun; `None` before it, and after the rows.
    values: Option<usize>,
    /// Between SET and what follows it.
    sets: bool,
}

impl Walk {
    /// Goes past a token. `None` where constants are to stay.
    fn pass(&mut self, token: &Token<'_>) -> Option<()> {
        if token.is("(") {
            if let (Some(rows), 0) = (&mut self.values, self.depth) {
                *rows += 1;
                // Several rows: the columns take their types from all of them.
                if *rows > 1 {
                    return None;
                }
            }
            self.depth += 1;
        } else if token.is(")") {
            self.depth = self.depth.checked_sub(1)?;
        } else if self.depth == 0 && token.kind == Kind::Word {
            if token.is("values") && self.part == Statement::Insert {
                self.values = Some(0);
            } else {
                self.values = None;
            }
            let stops = ["where", "from", "returning"];
            self.sets =
                token.is("set") && self.part == Statement::Update || self.sets && !token.is_one_of(&stops);
        }
        Some(())
    }

    /// Whether the constant is an element of a list, or the negative of one is.
    fn is_element(&self, tokens: &[Token<'_>], i: usize) -> bool {
        let begins = |i: usize| tokens[i].is_one_of(&["(", ","]);
        let before = begins(i - 1) || is_negated(tokens, i) && begins(i - 2);
        self.depth == 1 && before && tokens.get(i + 1).is_some_and(|next| next.is_one_of(&[")", ","]))
    }

    fn goes(&self, tokens: &[Token<'_>], i: usize) -> bool {
        if self.part == Statement::Insert && self.values == Some(1) && self.depth == 1 {
            return self.is_element(tokens, i);
        }
        let ends = tokens.get(i + 1).is_none_or(|next| next.is_one_of(ENDS));
        let behind = |i: usize| if is_negated(tokens, i) { i - 1 } else { i };
        let at = behind(i);
        if at < 2 {
            return false;
        }
        let (operator, left) = (&tokens[at - 1], &tokens[at - 2]);
        let of_value = left.is_name() || left.is(")");
        if operator.is_one_of(COMPARISONS) {
            return ends && of_value;
        }
        if self.sets && operator.is_one_of(&["+", "-"]) {
            return ends && left.is_name() && tokens[i].kind == Kind::Number;
        }
        // BETWEEN a AND b
        let is_bound = |i: usize| matches!(tokens[i].kind, Kind::Number | Kind::String);
        if operator.is("between") {
            return of_value && tokens.get(i + 1).is_some_and(|next| next.is("and"));
        }
        let first = behind(at - 2);
        operator.is("and") && is_bound(at - 2) && first > 0 && tokens[first - 1].is("between") && ends
    }
}

/// Whether a sign of a number stands before a number: `= -5`, `+ -5`, `(-5`.
fn is_negated(tokens: &[Token<'_>], i: usize) -> bool {
    let signs = ["(", ",", "+", "-", "between", "and"];
    i >= 2
        && tokens[i].kind == Kind::Number
        && tokens[i - 1].is("-")
        && (tokens[i - 2].is_one_of(COMPARISONS) || tokens[i - 2].is_one_of(&signs))
}

/// For `CALL f(..)` and `SELECT f(..)`, and nothing else: where the arguments stand.
fn arguments_of_call(tokens: &[Token<'_>]) -> Option<std::ops::Range<usize>> {
    if !tokens[0].is_one_of(&["call", "select"]) {
        return None;
    }
    let open = tokens.iter().position(|t| t.is("("))?;
    let name = &tokens[1..open];
    let is_name = matches!(name, [f] if f.is_name())
        || matches!(name, [schema, dot, f] if schema.is_name() && dot.is(".") && f.is_name());
    (is_name && tokens.last()?.is(")")).then_some(open + 1..tokens.len() - 1)
}

/// The type that a constant is declared to be, and its value; `None` for numbers that are written in another way.
fn constant(token: &Token<'_>) -> Option<(Option<Type>, Constant)> {
    if token.kind == Kind::String {
        let text = &token.text[1..token.text.len() - 1];
        let is_moment = |m: &&str| text.trim().get(..m.len()).is_some_and(|t| t.eq_ignore_ascii_case(m));
        if MOMENTS.iter().any(is_moment) {
            return None;
        }
        return Some((None, Constant::Text(text.replace("''", "'"))));
    }
    if token.text.bytes().all(|b| b.is_ascii_digit()) {
        let n: i64 = token.text.parse().ok()?;
        let ty = if i32::try_from(n).is_ok() { Type::Int4 } else { Type::Int8 };
        return Some((Some(ty), Constant::Int(n)));
    }
    let (whole, fraction) = token.text.split_once('.')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || token.text.len() > 30 {
        return None;
    }
    Some((Some(Type::Numeric(None)), Constant::Numeric(Numeric::parse(token.text).ok()?)))
}

/// The tokens of a text that is one statement; `None` where it is not, or where something is in it that this does
/// not look into: comments, parameters, dollar quotes, strings with escapes, and what asks for the catalogs.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let bytes = text.as_bytes();
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
    let mut tokens = Vec::with_capacity(32);
    let mut at = 0;
    while at < bytes.len() {
        let begin = at;
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        let kind = match bytes[at] {
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b';' => {
                let ended = text[at + 1..].bytes().all(|b| b.is_ascii_whitespace());
                return ended.then_some(tokens);
            }
            b'\'' => {
                at = end_of_string(bytes, at, false);
                let whole = at - begin >= 2 && bytes[at - 1] == b'\'';
                // Two strings with a line between them are one.
                let goes_on = text[at..].trim_start().starts_with('\'');
                if !whole || goes_on {
                    return None;
                }
                Kind::String
            }
            b'"' => {
                at += 1 + text[at + 1..].find('"')? + 1;
                Kind::Name
            }
            b'$' => return None,
            b'-' if next == b'-' => return None,
            b'/' if next == b'*' => return None,
            b if b.is_ascii_digit() || b == b'.' && next.is_ascii_digit() => {
                while at < bytes.len() && (is_word(bytes[at]) || bytes[at] == b'.') {
                    at += 1;
                }
                Kind::Number
            }
            b if is_word(b) => {
                while at < bytes.len() && (is_word(bytes[at]) || bytes[at] == b'$') {
                    at += 1;
                }
                // e'..', x'..', and `U&".."`
                if matches!(bytes.get(at), Some(b'\'')) && at - begin == 1 {
                    return None;
                }
                let word = &text[begin..at];
                let system = |of: &str| word.get(..of.len()).is_some_and(|p| p.eq_ignore_ascii_case(of));
                if system("pg_")
                    || system("information_schema")
                    || word.eq_ignore_ascii_case("u") && bytes.get(at) == Some(&b'&')
                {
                    return None;
                }
                Kind::Word
            }
            b => {
                let operator = |b: &u8| b"+-*/<>=~!@#%^&|`?:".contains(b);
                at += 1;
                if operator(&b) {
                    // A sign of a number behind an operator is no part of it.
                    while bytes.get(at).is_some_and(|b| operator(b) && !(b"+-".contains(b))) {
                        at += 1;
                    }
                }
                Kind::Sign
            }
        };
        tokens.push(Token { kind, text: &text[begin..at], at: begin });
    }
    Some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let Some(lifted) = lift(text) else { return String::new() };
        let constants = lifted.constants.iter().map(|c| match c {
            Constant::Int(n) => n.to_string(),
            Constant::Numeric(n) => n.to_string(),
            Constant::Text(text) => format!("'{text}'"),
        });
        let types = lifted.types.iter().map(|t| t.as_ref().map_or(String::new(), |t| format!(" {t}")));
        let all: Vec<String> = constants.zip(types).map(|(c, t)| c + &t).collect();
        format!("{} <- {}", lifted.text, all.join(", "))
    }

    #[test]
    fn constants_go_where_a_parameter_is_the_same() {
        for (text, lifted) in [
            ("SELECT a FROM t WHERE b = 5", "SELECT a FROM t WHERE b = $1 <- 5 integer"),
            (
                "select a from t where b = 'it''s' and c>=3000000000 limit 10;",
                "select a from t where b = $1 and c>=$2 limit 10; <- 'it's', 3000000000 bigint",
            ),
            (
                "SELECT 1 WHERE x.y <> -7 OR z < 1.50",
                "SELECT 1 WHERE x.y <> -$1 OR z < $2 <- 7 integer, 1.50 numeric",
            ),
            (
                "SELECT * FROM t WHERE a BETWEEN 1 AND -2 AND b = 3",
                "SELECT * FROM t WHERE a BETWEEN $1 AND -$2 AND b = $3 <- 1 integer, 2 integer, 3 integer",
            ),
            (
                "UPDATE t SET a = a + -5, b = 'x' WHERE id = 1 RETURNING a + 1",
                "UPDATE t SET a = a + -$1, b = $2 WHERE id = $3 RETURNING a + 1 <- 5 integer, 'x', 1 integer",
            ),
            (
                "INSERT INTO t(a, b) VALUES (1, f('x', 2), -3, NULL, 'y') ON CONFLICT (a) DO UPDATE SET b = 4",
                "INSERT INTO t(a, b) VALUES ($1, f('x', 2), -$2, NULL, $3) ON CONFLICT (a) DO UPDATE SET b = $4 \
                 <- 1 integer, 3 integer, 'y', 4 integer",
            ),
            ("CALL s.f(1, 'a', g(2), -3)", "CALL s.f($1, $2, g(2), -$3) <- 1 integer, 'a', 3 integer"),
            ("SELECT f(1, 2 + 3)", "SELECT f($1, 2 + 3) <- 1 integer"),
            ("DELETE FROM t WHERE lower(a) = 'x'", "DELETE FROM t WHERE lower(a) = $1 <- 'x'"),
        ] {
            assert_eq!(shown(text), lifted);
        }
    }

    #[test]
    fn others_stay() {
        for text in [
            "SELECT 1",
            "SELECT a FROM t LIMIT 5",
            "SELECT a FROM t ORDER BY 1",
            "SELECT a FROM t WHERE a LIKE 'x%'",
            "SELECT a FROM t WHERE a = 5::bigint",
            "SELECT a FROM t WHERE a = 5 + b",
            "SELECT a FROM t WHERE a > interval '1 day'",
            "SELECT a FROM t WHERE a ->> 'k' = lower('V')",
            "SELECT a FROM t WHERE 1 = 1",
            "SELECT a + 1 FROM t GROUP BY a + 1",
            "SELECT a FROM t WHERE b = $1 AND c = 5",
            "SELECT a FROM t WHERE b = 5 -- c",
            "SELECT a FROM t WHERE b = E'\\n'",
            "SELECT a FROM t WHERE b = 'a'\n'b'",
            "SELECT a FROM t WHERE b = 'now'",
            "SELECT oid FROM pg_class WHERE relname = 't'",
            "SELECT a FROM t WHERE b = 5; SELECT 6",
            "INSERT INTO t VALUES (1), (2)",
            "INSERT INTO t SELECT 1",
            "CREATE TABLE t(a int DEFAULT 5)",
            "SELECT a FROM t WHERE b = 1e5",
            "SELECT 'open",
            "",
            "SELECT",
            "CALL f()",
            ") = 5",
        ] {
            assert_eq!(shown(text), "");
        }
    }
}
