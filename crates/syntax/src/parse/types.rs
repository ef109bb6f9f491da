//! Type names.

use planaria_base::datetime::IntervalFields;
use planaria_base::types::{Clock, PackedType, RangeType, SystemType};
use planaria_base::{Error, Result, SqlState, Type};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{Argument, Expr, ExprKind, FunctionCall, Name, Position, TypeName, TypeNameKind};

/// Longest declared length of `varchar(n)` and `char(n)`, as in PostgreSQL.
const CHARACTERS_MAX: u32 = 10_485_760;
/// The longest `bit(n)`.
const BITS_MAX: i64 = 83_886_080;

/// Names that stand for any type in declarations of built-in functions.
const PSEUDO: &[&str] = &[
    "trigger",
    "event_trigger",
    "anyelement",
    "anyarray",
    "anynonarray",
    "anyenum",
    "anyrange",
    "anycompatible",
    "anycompatiblearray",
    "anycompatiblenonarray",
    "anycompatiblerange",
    "anymultirange",
    "anycompatiblemultirange",
    "internal",
    "cstring",
    "language_handler",
];

/// Fields of an interval.
const INTERVAL_FIELDS: &[&str] = &["year", "month", "day", "hour", "minute", "second"];

impl Parser<'_> {
    /// A type, array bounds included. `%TYPE` and `%ROWTYPE` are taken too; who does not want
    /// them refuses them.
    pub(crate) fn type_name(&mut self) -> Result<TypeName> {
        let position = self.position();
        if self.at_word("setof") {
            return self.unsupported("SETOF here", position);
        }
        let kind = self.simple_type()?;
        let mut kind = match kind {
            TypeNameKind::Named(name) if self.percent_follows_here() => self.percent_type(name),
            kind => kind,
        };
        let interval = kind == TypeNameKind::Known(Type::Interval);
        if interval && self.at_any(INTERVAL_FIELDS) {
            let position = self.position();
            let (fields, digits) = self.interval_fields()?;
            let Some(fields) = IntervalFields::of(&fields) else {
                return self.unsupported("an interval of these fields", position);
            };
            let digits = match digits {
                Some(Type::Rounded(_, digits)) => digits,
                _ => Clock::WHOLE,
            };
            kind = TypeNameKind::Known(Type::Rounded(Clock::Fields(fields), digits));
        }
        let dimensions = self.array_bounds()?;
        let kind = match (dimensions, kind) {
            (0, kind) => kind,
            (_, TypeNameKind::Known(Type::Void)) => return self.unsupported("an array of void", position),
            // However many dimensions and elements are declared, it is the same type.
            (_, TypeNameKind::Known(of)) => TypeNameKind::Known(Type::Array(Box::new(of))),
            (_, TypeNameKind::Named(of)) => TypeNameKind::NamedArray(of),
            _ => return self.unsupported("an array of this type", position),
        };
        Ok(TypeName { position, kind })
    }

    /// Whether a word that only begins types comes next, such as `integer`.
    pub(crate) fn at_type_keyword(&self) -> bool {
        match self.word().as_str() {
            "bigint" | "bit" | "boolean" | "char" | "character" | "dec" | "decimal" | "float" | "int"
            | "integer" | "interval" | "national" | "nchar" | "numeric" | "real" | "smallint" | "time"
            | "timestamp" | "varchar" => true,
            "double" => self.at_word_ahead(1, "precision"),
            _ => false,
        }
    }

    fn array_bounds(&mut self) -> Result<u32> {
        if self.eat_word("array") {
            if self.eat(Kind::LeftBracket) {
                self.small_integer()?;
                self.expect(Kind::RightBracket)?;
            }
            return Ok(1);
        }
        let mut dimensions = 0;
        while self.eat(Kind::LeftBracket) {
            if !self.at_kind(Kind::RightBracket) {
                self.small_integer()?;
            }
            self.expect(Kind::RightBracket)?;
            dimensions += 1;
        }
        Ok(dimensions)
    }

    fn percent_type(&mut self, name: Name) -> TypeNameKind {
        self.bump();
        if self.eat_word("type") {
            TypeNameKind::OfColumn(name)
        } else {
            self.bump();
            TypeNameKind::RowOf(name)
        }
    }

    /// A type without array bounds.
    pub(crate) fn simple_type(&mut self) -> Result<TypeNameKind> {
        let position = self.position();
        if self.at_kind(Kind::Word)
            && self.peek_at(1).kind != Kind::Dot
            && !self.percent_follows()
            && let Some(known) = self.keyword_type(position)?
        {
            return Ok(known);
        }
        // Of a parameter by its number: `$1%TYPE`.
        let numbered = self.at_kind(Kind::Parameter) && self.percent_follows();
        let name = if numbered {
            let token = self.bump();
            Name { parts: vec![token.text(self.text).to_owned()], position }
        } else if self.peek_at(1).kind == Kind::Dot {
            self.qualified_name()?
        } else {
            Name { parts: vec![self.type_word()?], position }
        };
        if self.percent_follows_here() {
            return Ok(TypeNameKind::Named(name));
        }
        let modifiers = self.modifiers()?;
        let built_in = match name.parts.as_slice() {
            [word] => self.built_in(word, &modifiers, position)?,
            [schema, word] if schema == "pg_catalog" => self.built_in(word, &modifiers, position)?,
            _ => None,
        };
        match built_in {
            Some(kind) => Ok(kind),
            None if modifiers.is_empty() => Ok(TypeNameKind::Named(name)),
            None => {
                let message = format!("type modifier is not allowed for type \"{}\"", name.parts.join("."));
                Err(self.syntax_error(message, position))
            }
        }
    }

    /// In PL/pgSQL a variable may be called like a type: `date%TYPE`.
    fn percent_follows(&self) -> bool {
        self.peek_at(1).kind == Kind::Operator
            && self.peek_at(1).text(self.text) == "%"
            && (self.at_word_ahead(2, "type") || self.at_word_ahead(2, "rowtype"))
    }

    fn percent_follows_here(&self) -> bool {
        self.at_operator("%") && (self.at_word_ahead(1, "type") || self.at_word_ahead(1, "rowtype"))
    }

    fn type_word(&mut self) -> Result<String> {
        if self.at_function_name_ahead(0) || self.percent_follows() { self.label() } else { self.fail() }
    }

    /// `(n)` behind a keyword of dates and times, which has no sign.
    fn digits(&mut self) -> Result<Vec<i64>> {
        if !self.eat(Kind::LeftParen) {
            return Ok(Vec::new());
        }
        let digits = self.small_integer()?;
        self.expect(Kind::RightParen)?;
        Ok(vec![digits.into()])
    }

    /// `(n, ...)` behind a type's name.
    fn modifiers(&mut self) -> Result<Vec<i64>> {
        if self.at_kind(Kind::LeftParen) { self.paren_list(Self::signed_integer) } else { Ok(Vec::new()) }
    }

    /// Types whose names are keywords, or several words.
    fn keyword_type(&mut self, position: Position) -> Result<Option<TypeNameKind>> {
        let word = self.word();
        let known = match word.as_str() {
            "int" | "integer" => self.plain(Type::Int4),
            "smallint" => self.plain(Type::Int2),
            "bigint" => self.plain(Type::Int8),
            "boolean" => self.plain(Type::Bool),
            "double" if self.at_word_ahead(1, "precision") => {
                self.bump();
                self.plain(Type::Float8)
            }
            "real" => self.plain(Type::Float4),
            "float" => {
                self.bump();
                match self.modifiers()?.as_slice() {
                    [] | [25..=53] => Type::Float8,
                    [1..=24] => Type::Float4,
                    _ => {
                        let message = "precision for type float must be between 1 and 53 bits";
                        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(position));
                    }
                }
            }
            "numeric" | "decimal" | "dec" => {
                self.bump();
                let modifiers = self.modifiers()?;
                self.numeric(&modifiers, position)?
            }
            "varchar" => {
                self.bump();
                let modifiers = self.modifiers()?;
                self.varchar(&modifiers, position)?
            }
            "character" | "char" => {
                self.bump();
                let varying = self.eat_word("varying");
                let modifiers = self.modifiers()?;
                if varying { self.varchar(&modifiers, position)? } else { self.char(&modifiers, position)? }
            }
            "national" | "nchar" => return self.unsupported("a national character type", position),
            "bit" => {
                self.bump();
                let varying = self.eat_word("varying");
                let modifiers = self.modifiers()?;
                match varying {
                    true => Type::Packed(self.bits("varbit", &modifiers, position)?),
                    // Where nothing is said it is one bit.
                    false if modifiers.is_empty() => Type::Packed(PackedType::Bit(Some(1))),
                    false => Type::Packed(self.bits("bit", &modifiers, position)?),
                }
            }
            "time" | "timestamp" => {
                self.bump();
                let modifiers = self.digits()?;
                let zoned = self.eat_words(&["with", "time", "zone"]);
                if !zoned {
                    self.eat_words(&["without", "time", "zone"]);
                }
                let clock = match (word.as_str(), zoned) {
                    ("time", true) => {
                        return Ok(Some(TypeNameKind::Known(self.time_with_zone(&modifiers, position)?)));
                    }
                    ("time", false) => Clock::Time,
                    (_, true) => Clock::TimestampTz,
                    (_, false) => Clock::Timestamp,
                };
                self.seconds(clock, &modifiers, position)?
            }
            "interval" => {
                self.bump();
                let modifiers = self.digits()?;
                self.seconds(Clock::Interval, &modifiers, position)?
            }
            _ => return Ok(None),
        };
        Ok(Some(TypeNameKind::Known(known)))
    }

    /// `timetz(p)`
    fn time_with_zone(&self, modifiers: &[i64], position: Position) -> Result<Type> {
        let limit = match *modifiers {
            [] => None,
            [digits] if digits >= 0 => Some(digits.min(6) as u32),
            [digits] => {
                let message = format!("TIME({digits}) WITH TIME ZONE precision must not be negative");
                return Err(self.invalid_modifier(message, position));
            }
            _ => return Err(self.invalid_modifier("invalid type modifier", position)),
        };
        Ok(Type::Packed(PackedType::TimeTz(limit)))
    }

    fn plain(&mut self, ty: Type) -> Type {
        self.bump();
        ty
    }

    /// `timestamp(p)` and its like; there are no more digits than six.
    fn seconds(&self, clock: Clock, modifiers: &[i64], position: Position) -> Result<Type> {
        let name = match clock {
            Clock::Time => "TIME",
            Clock::Timestamp | Clock::TimestampTz => "TIMESTAMP",
            Clock::Interval | Clock::Fields(_) => "INTERVAL",
        };
        let zone = if clock == Clock::TimestampTz { " WITH TIME ZONE" } else { "" };
        match *modifiers {
            [] => Ok(clock.ty().clone()),
            [digits] if digits >= 0 => Ok(Type::Rounded(clock, digits.min(6) as u8)),
            [digits] => {
                let message = format!("{name}({digits}){zone} precision must not be negative");
                Err(self.invalid_modifier(message, position))
            }
            _ => Err(self.invalid_modifier("invalid type modifier", position)),
        }
    }

    /// Types whose names are ordinary words. `Ok(None)`: not one of ours.
    fn built_in(
        &mut self,
        word: &str,
        modifiers: &[i64],
        position: Position,
    ) -> Result<Option<TypeNameKind>> {
        let known = match word {
            "numeric" => self.numeric(modifiers, position)?,
            "varchar" => self.varchar(modifiers, position)?,
            "bpchar" if !modifiers.is_empty() => self.char(modifiers, position)?,
            "bpchar" => Type::Char(0),
            "bit" | "varbit" => Type::Packed(self.bits(word, modifiers, position)?),
            "time" => self.seconds(Clock::Time, modifiers, position)?,
            "timestamp" => self.seconds(Clock::Timestamp, modifiers, position)?,
            "timestamptz" => self.seconds(Clock::TimestampTz, modifiers, position)?,
            "interval" => self.seconds(Clock::Interval, modifiers, position)?,
            "timetz" => self.time_with_zone(modifiers, position)?,
            _ if !modifiers.is_empty() => return Ok(None),
            "bool" => Type::Bool,
            "int2" => Type::Int2,
            "int4" => Type::Int4,
            "int8" => Type::Int8,
            "float8" => Type::Float8,
            "float4" => Type::Float4,
            "text" => Type::Text,
            "bytea" => Type::Bytea,
            "date" => Type::Date,
            "uuid" => Type::Uuid,
            "jsonb" => Type::Jsonb,
            _ if RangeType::by_name(word).is_some() => {
                Type::Range(RangeType::by_name(word).expect("just seen"))
            }
            _ if let Some(of) = PackedType::by_name(word) => Type::Packed(of),
            "void" => Type::Void,
            "unknown" => Type::Unknown,
            "serial" | "serial4" => return Ok(Some(TypeNameKind::Serial(Type::Int4))),
            "bigserial" | "serial8" => return Ok(Some(TypeNameKind::Serial(Type::Int8))),
            "smallserial" | "serial2" => return Ok(Some(TypeNameKind::Serial(Type::Int2))),
            "record" => return Ok(Some(TypeNameKind::Record)),
            _ if SystemType::by_name(word).is_some() => {
                Type::System(SystemType::by_name(word).expect("just seen"))
            }
            // Arrays by the names of their catalog entries.
            _ if word.starts_with('_') => {
                return match self.built_in(&word[1..], &[], position) {
                    Ok(Some(TypeNameKind::Known(of))) => {
                        Ok(Some(TypeNameKind::Known(Type::Array(Box::new(of)))))
                    }
                    _ => Ok(None),
                };
            }
            _ if PSEUDO.contains(&word) => return Ok(Some(TypeNameKind::Pseudo(word.to_owned()))),
            _ => return Ok(None),
        };
        Ok(Some(TypeNameKind::Known(known)))
    }

    fn numeric(&self, modifiers: &[i64], position: Position) -> Result<Type> {
        let (precision, scale) = match *modifiers {
            [] => return Ok(Type::Numeric(None)),
            [precision] => (precision, 0),
            [precision, scale] => (precision, scale),
            _ => return Err(self.invalid_modifier("invalid NUMERIC type modifier", position)),
        };
        if !(1..=1000).contains(&precision) {
            let message = format!("NUMERIC precision {precision} must be between 1 and 1000");
            return Err(self.invalid_modifier(message, position));
        }
        if !(-1000..=1000).contains(&scale) {
            let message = format!("NUMERIC scale {scale} must be between -1000 and 1000");
            return Err(self.invalid_modifier(message, position));
        }
        Ok(Type::Numeric(Some((precision as u16, scale as i16))))
    }

    fn varchar(&self, modifiers: &[i64], position: Position) -> Result<Type> {
        match modifiers {
            [] => Ok(Type::Varchar(None)),
            _ => Ok(Type::Varchar(Some(self.characters(modifiers, "varchar", position)?))),
        }
    }

    fn char(&self, modifiers: &[i64], position: Position) -> Result<Type> {
        match modifiers {
            [] => Ok(Type::Char(1)),
            _ => Ok(Type::Char(self.characters(modifiers, "char", position)?)),
        }
    }

    fn characters(&self, modifiers: &[i64], name: &str, position: Position) -> Result<u32> {
        match *modifiers {
            [n] if n < 1 => {
                Err(self.invalid_modifier(format!("length for type {name} must be at least 1"), position))
            }
            [n] if n > i64::from(CHARACTERS_MAX) => Err(self.invalid_modifier(
                format!("length for type {name} cannot exceed {CHARACTERS_MAX}"),
                position,
            )),
            [n] => Ok(n as u32),
            _ => Err(self.invalid_modifier("invalid type modifier", position)),
        }
    }

    /// `bit(n)` or `varbit(n)`, or without a length.
    fn bits(&self, name: &str, modifiers: &[i64], position: Position) -> Result<PackedType> {
        let plain = if name == "bit" { PackedType::Bit(None) } else { PackedType::VarBit(None) };
        match *modifiers {
            [] => Ok(plain),
            [n] if n < 1 => {
                Err(self.invalid_modifier(format!("length for type {name} must be at least 1"), position))
            }
            [n] if n > BITS_MAX => {
                let message = format!("length for type {name} cannot exceed {BITS_MAX}");
                Err(self.invalid_modifier(message, position))
            }
            [n] => Ok(plain.with_limit(n as u32)),
            _ => Err(self.invalid_modifier("invalid type modifier", position)),
        }
    }

    fn invalid_modifier(&self, message: impl std::convert::Into<String>, position: Position) -> Error {
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(position)
    }

    /// `type 'literal'`, with the type at the cursor.
    pub(crate) fn typed_literal(&mut self) -> Result<Expr> {
        let position = self.position();
        let bits = self.at_word("bit")
            && !self.at_word_ahead(1, "varying")
            && self.peek_at(1).kind != Kind::LeftParen;
        let mut kind = self.simple_type()?;
        if bits {
            // Before a literal it is as long as that.
            kind = TypeNameKind::Known(Type::Packed(PackedType::Bit(None)));
        }
        let interval = kind == TypeNameKind::Known(Type::Interval);
        let literal_position = self.position();
        let mut text = self.string()?;
        let (fields, digits) = if interval { self.interval_fields()? } else { Default::default() };
        kind = digits.map_or(kind, TypeNameKind::Known);
        // A number without a unit is one of the last field; of a whole one nothing is cut.
        let whole_number = text.trim().parse::<i64>().is_ok();
        if let Some(field) = fields.last() {
            let is_number = |word: &str| word.parse::<f64>().is_ok();
            let words: Vec<&str> = text.split_whitespace().collect();
            let with_units = match words[..] {
                [number] if is_number(number) => Some(format!("{number} {field}")),
                // Days in front of hours.
                [days, hours] if *field == "hour" && is_number(days) && is_number(hours) => {
                    Some(format!("{days} day {hours} hour"))
                }
                _ => None,
            };
            text = with_units.unwrap_or(text);
        }
        if fields == ["minute", "second"] && text.matches(':').count() == 1 {
            text = with_hours(&text);
        }
        let value = Expr { position: literal_position, kind: ExprKind::String(text) };
        let whole = Expr { position, kind: ExprKind::Cast(Box::new(value), TypeName { position, kind }) };
        Ok(match fields.last() {
            None | Some(&"second") => whole,
            Some(_) if whole_number => whole,
            Some(field) => truncated(field, whole),
        })
    }

    /// The fields behind `interval`: one, or from one to another. None where there are none. With the type that the digits of
    /// the seconds make, if they are said.
    fn interval_fields(&mut self) -> Result<(Vec<&'static str>, Option<Type>)> {
        let (mut fields, mut digits) = (Vec::new(), None);
        while let Some(at) = INTERVAL_FIELDS.iter().position(|field| self.at_word(field)) {
            let position = self.position();
            self.bump();
            fields.push(INTERVAL_FIELDS[at]);
            if self.at_kind(Kind::LeftParen) {
                let modifiers = self.modifiers()?;
                match INTERVAL_FIELDS[at] {
                    "second" => digits = Some(self.seconds(Clock::Interval, &modifiers, position)?),
                    // Texts that former versions kept have it behind other fields, where it says nothing.
                    _ if modifiers == [6] => {}
                    _ => return self.unsupported("a precision behind this field", position),
                }
            }
            // From a year to a month, from what is shorter to what is shorter still.
            let next = &INTERVAL_FIELDS[at + 1..];
            let follows =
                |field: &&str| self.at_word_ahead(1, field) && (at != 0 || **field == *"month") && at != 1;
            if fields.len() == 2 || !self.at_word("to") || !next.iter().any(follows) {
                break;
            }
            self.bump();
        }
        Ok((fields, digits))
    }
}

/// A clock of minutes and seconds, which without hours would be one of hours and minutes.
fn with_hours(text: &str) -> String {
    let colon = text.find(':').unwrap_or(0);
    let begins = |c: char| !(c.is_ascii_digit() || c == '.');
    let at = text[..colon].rfind(begins).map_or(0, |at| at + 1);
    format!("{}0:{}", &text[..at], &text[at..])
}

/// An interval without what is shorter than a field.
fn truncated(field: &str, interval: Expr) -> Expr {
    let position = interval.position;
    let parts = vec!["pg_catalog".to_owned(), "date_trunc".to_owned()];
    let field = Expr { position, kind: ExprKind::String(field.to_owned()) };
    let args = [field, interval].map(|value| Argument { name: None, value }).into();
    let call = FunctionCall::plain(Name { parts, position }, args);
    Expr { position, kind: ExprKind::Call(Box::new(call)) }
}
