//! Parameters by name: `:name` becomes `$1`, `$2`, ..., in the order in which the names first appear.
//!
//! A parameter is a colon with a word right behind it. It is none in quotes, comments and bodies, which are tokens of
//! their own, as are `::` and `:=`; and inside brackets it is none after an operand, where a colon is that of a slice:
//! `a[1:n]` is one, `a[:n]` and `ARRAY[:m, :n]` have parameters.

use super::lex::{Kind, Lexer, Token};
use planaria_base::{Error, Result, SqlState};

/// A text with numbers in place of names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Numbered {
    /// The text that has the numbers.
    pub text: String,
    /// The names: the first is that of `$1`.
    pub names: Vec<String>,
    /// Where texts are alike: ends of names here and there, in bytes.
    ends: Vec<(usize, usize)>,
}

impl Numbered {
    /// A text without names.
    pub fn of(text: &str) -> Numbered {
        Numbered { text: text.to_owned(), names: Vec::new(), ends: Vec::new() }
    }

    /// Where in the text with names something stands that stands at `position` of the one with numbers.
    pub fn origin(&self, position: usize) -> usize {
        match self.ends.iter().rev().find(|(_, end)| *end <= position) {
            Some((before, after)) => before + (position - after),
            None => position,
        }
        .min(self.next_name(position))
    }

    /// Within a number that is longer than its name was: not beyond the name.
    fn next_name(&self, position: usize) -> usize {
        self.ends.iter().find(|(_, end)| *end > position).map_or(usize::MAX, |(before, _)| *before)
    }
}

/// Whether a slice's colon may follow.
fn ends_operand(token: Token) -> bool {
    use Kind::{
        BitString, Decimal, DollarString, EscapeString, Integer, Parameter, Quoted, RightBracket, RightParen,
        String, UnicodeQuoted, UnicodeString, Word,
    };
    matches!(
        token.kind,
        Word | Quoted
            | UnicodeQuoted
            | Integer
            | Decimal
            | String
            | EscapeString
            | UnicodeString
            | DollarString
            | BitString
            | Parameter
            | RightParen
            | RightBracket
    )
}

/// The text with numbers in place of names; `None` where it has no names. 42601 where it has numbers as well.
pub fn numbered(text: &str) -> Result<Option<Numbered>> {
    let mut lexer = Lexer::new(text, 0, text.len());
    let mut out = Numbered { text: String::new(), names: Vec::new(), ends: Vec::new() };
    let (mut copied, mut number) = (0, None);
    // Of each bracket and parenthesis that is open: whether it is a bracket.
    let mut open: Vec<bool> = Vec::new();
    let mut before: Option<Token> = None;
    let mut token = lexer.next_token();
    while token.kind != Kind::End {
        let next = lexer.next_token();
        match token.kind {
            Kind::LeftBracket => open.push(true),
            Kind::LeftParen => open.push(false),
            Kind::RightBracket | Kind::RightParen => drop(open.pop()),
            Kind::Parameter => number = number.or(Some(token.start)),
            Kind::Colon if next.kind == Kind::Word && next.start == token.end => {
                let in_slice = open.last() == Some(&true) && before.is_some_and(ends_operand);
                if !in_slice {
                    let name = next.text(text);
                    let at = out.names.iter().position(|known| known == name).unwrap_or_else(|| {
                        out.names.push(name.to_owned());
                        out.names.len() - 1
                    });
                    out.text.push_str(&text[copied..token.start as usize]);
                    // A word before it, as in `LIMIT:n`, stays a word of its own.
                    if out.text.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
                        out.text.push(' ');
                    }
                    out.text.push_str(&format!("${}", at + 1));
                    copied = next.end as usize;
                    out.ends.push((copied, out.text.len()));
                }
            }
            _ => {}
        }
        before = Some(token);
        token = next;
    }
    if out.names.is_empty() {
        return Ok(None);
    }
    if let Some(position) = number {
        return Err(
            Error::new(SqlState::SYNTAX_ERROR, "parameters are by name or by number, not both").at(position)
        );
    }
    out.text.push_str(&text[copied..]);
    Ok(Some(out))
}

#[cfg(test)]
mod tests {
    use super::numbered;

    fn of(text: &str) -> (String, Vec<String>) {
        let numbered = numbered(text).unwrap().expect("it has names");
        (numbered.text, numbered.names)
    }

    #[test]
    fn names_become_numbers() {
        let (text, names) = of("SELECT :a, :b + :a WHERE x=:c_1 LIMIT:b");
        assert_eq!(text, "SELECT $1, $2 + $1 WHERE x=$3 LIMIT $2");
        assert_eq!(names, ["a", "b", "c_1"]);
        assert_eq!(of("SELECT :Größe::text").0, "SELECT $1::text");
        assert_eq!(
            of("SELECT a[:n], a[1:n], a[:m + 1 : :n], a[f(:n)], ARRAY[:m, :n]").0,
            "SELECT a[$1], a[1:n], a[$2 + 1 : $1], a[f($1)], ARRAY[$2, $1]"
        );
    }

    #[test]
    fn what_is_no_name_stays() {
        for text in [
            "SELECT x::int, '12:30', ':a', E'\\':a', \":a\", $$ :a $$, $t$ :a $t$ -- :a\n /* :a /* :b */ :c */",
            "SELECT f(a := 1), a[1:n], a[b:c], a[(1):n], x : y, :1, : a",
            "DO $$ BEGIN x := :y; END $$",
            "SELECT ':a",
        ] {
            assert_eq!(numbered(text), Ok(None), "{text}");
        }
        assert!(numbered("SELECT :a, $1").is_err());
    }

    #[test]
    fn places_are_found_again() {
        let before = "SELECT :long_name, :b oops :b";
        let after = numbered(before).unwrap().unwrap();
        for word in ["SELECT", ",", "oops"] {
            assert_eq!(Some(after.origin(after.text.find(word).unwrap())), before.find(word), "{word}");
        }
        assert_eq!(after.origin(after.text.len()), before.len());
        assert_eq!(after.origin(7), 7);
    }
}
