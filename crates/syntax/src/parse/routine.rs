//! CREATE FUNCTION and PROCEDURE, DROP of them.

use planaria_base::{Error, Result, SqlState};
use planaria_catalog::{Mode, StandardBody, Volatility};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    CreateRoutine, Name, Position, RoutineHints, RoutineParameter, RoutineReturns, RoutineSetting,
    SettingValue, StatementKind, TypeName,
};

/// Words that continue a type's name, so that the word before them is no parameter name.
const TYPE_CONTINUATIONS: &[&str] = &["precision", "varying", "with", "without", "array", "default"];

/// What begins the body of an expression.
const RETURN: &str = "RETURN";

impl Parser<'_> {
    /// `CREATE [OR REPLACE] FUNCTION | PROCEDURE ..`, the words before that taken.
    pub(crate) fn create_routine(&mut self, or_replace: bool, procedure: bool) -> Result<StatementKind> {
        let start = self.bump().start;
        let name = self.qualified_function()?;
        let parameters = self.parameters()?;
        let mut routine = CreateRoutine {
            name,
            or_replace,
            procedure,
            parameters,
            returns: None,
            language: None,
            volatility: None,
            strict: false,
            security_definer: false,
            hints: RoutineHints::default(),
            body: String::new(),
            standard: None,
            body_position: 0,
            settings: Vec::new(),
            unsupported: None,
        };
        if !procedure && self.eat_word("returns") {
            routine.returns = Some(self.returns(&mut routine.parameters)?);
        }
        let mut body = false;
        while !self.at_end() {
            self.routine_option(&mut routine, &mut body)?;
        }
        if !body && routine.unsupported.is_none() {
            let message = "no function body specified";
            return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).at(start));
        }
        Ok(StatementKind::CreateRoutine(Box::new(routine)))
    }

    fn parameters(&mut self) -> Result<Vec<RoutineParameter>> {
        self.expect(Kind::LeftParen)?;
        if self.eat(Kind::RightParen) {
            return Ok(Vec::new());
        }
        let parameters = self.list(Self::parameter)?;
        self.expect(Kind::RightParen)?;
        Ok(parameters)
    }

    fn mode(&mut self) -> Option<Mode> {
        if self.eat_words(&["in", "out"]) || self.eat_word("inout") {
            Some(Mode::InOut)
        } else if self.eat_word("in") {
            Some(Mode::In)
        } else if self.at_word("out") {
            self.bump();
            Some(Mode::Out)
        } else if self.eat_word("variadic") {
            Some(Mode::Variadic)
        } else {
            None
        }
    }

    /// `[mode] [name] type [DEFAULT e]`; the mode may stand behind the name.
    pub(crate) fn parameter(&mut self) -> Result<RoutineParameter> {
        let position = self.position();
        let mode = self.mode();
        let name = match self.parameter_name_follows() {
            true => self.function_name()?,
            false => String::new(),
        };
        let mode = mode.or_else(|| self.mode()).unwrap_or(Mode::In);
        let ty = self.routine_type()?;
        let default = match self.eat_word("default") || self.eat_operator("=") {
            true => Some(self.expr_with_text(false)?),
            false => None,
        };
        Ok(RoutineParameter { name, mode, ty, default, position })
    }

    /// Whether a name comes next that is not itself the type.
    fn parameter_name_follows(&self) -> bool {
        if !self.at_function_name_ahead(0) || !(self.peek_at(1).kind == Kind::Word || self.quoted_ahead()) {
            return false;
        }
        if TYPE_CONTINUATIONS.iter().any(|word| self.at_word_ahead(1, word)) {
            // `double precision` is a type; `"double" precision` is not.
            return false;
        }
        // Behind the type: those of an aggregate of ordered sets.
        if self.at_word_ahead(1, "order") && self.at_word_ahead(2, "by") {
            return false;
        }
        true
    }

    fn quoted_ahead(&self) -> bool {
        matches!(self.peek_at(1).kind, Kind::Quoted | Kind::UnicodeQuoted)
    }

    /// A type that is not SETOF.
    fn routine_type(&mut self) -> Result<TypeName> {
        if self.at_word("setof") {
            return self.fail();
        }
        self.type_name()
    }

    fn returns(&mut self, parameters: &mut Vec<RoutineParameter>) -> Result<RoutineReturns> {
        if self.at_word("table") && self.peek_at(1).kind == Kind::LeftParen {
            self.bump();
            let columns = self.paren_list(|p| {
                let position = p.position();
                let name = p.function_name()?;
                let ty = p.routine_type()?;
                Ok(RoutineParameter { name, mode: Mode::Table, ty, default: None, position })
            })?;
            parameters.extend(columns);
            return Ok(RoutineReturns::Table);
        }
        let setof = self.eat_word("setof");
        Ok(RoutineReturns::Type { ty: self.type_name()?, setof })
    }

    fn routine_option(&mut self, routine: &mut CreateRoutine, body: &mut bool) -> Result<()> {
        let position = self.position();
        let word = self.word();
        self.bump();
        match word.as_str() {
            "language" => {
                let language = self.language_name()?;
                if routine.language.replace(language).is_some() {
                    return Err(self.syntax_error("conflicting or redundant options", position));
                }
            }
            "immutable" => routine.volatility = Some(Volatility::Immutable),
            "stable" => routine.volatility = Some(Volatility::Stable),
            "volatile" => routine.volatility = Some(Volatility::Volatile),
            "strict" => routine.strict = true,
            "called" => self.expect_words(&["on", "null", "input"])?,
            "returns" => {
                self.expect_words(&["null", "on", "null", "input"])?;
                routine.strict = true;
            }
            "leakproof" | "not" | "parallel" | "cost" | "rows" => {
                self.routine_hint(word.as_str(), &mut routine.hints, position)?;
            }
            "external" | "security" => {
                if word.as_str() == "external" {
                    self.expect_word("security")?;
                }
                routine.security_definer = !self.eat_word("invoker");
                if routine.security_definer {
                    self.expect_word("definer")?;
                }
            }
            "as" => {
                if *body {
                    return Err(self.syntax_error("conflicting or redundant options", position));
                }
                routine.body_position = self.body_position();
                routine.body = self.string()?;
                *body = true;
                if self.at_kind(Kind::Comma) {
                    return self.unsupported("a function in an object file", position);
                }
            }
            "set" => routine.settings.push(self.routine_setting(position)?),
            "reset" => routine.settings.push(self.routine_reset(position)?),
            "window" => self.routine_unsupported(routine, "WINDOW functions", position)?,
            "transform" => self.routine_unsupported(routine, "TRANSFORM", position)?,
            "support" => self.routine_unsupported(routine, "SUPPORT", position)?,
            "return" => {
                self.expr()?;
                self.expect_end()?;
                self.standard_body(routine, StandardBody::Return, position, body)?;
            }
            "begin" if self.at_word("atomic") => {
                self.bump();
                let start = self.last_end();
                self.skip_to_end()?;
                self.seek(self.index() - 1);
                if !self.at_word("end") {
                    self.bump();
                    return self.fail();
                }
                self.standard_body(routine, StandardBody::Atomic, start, body)?;
                self.bump();
            }
            _ => {
                self.seek(self.index() - 1);
                return self.fail();
            }
        }
        Ok(())
    }

    /// `name = value` or `name FROM CURRENT`, behind SET.
    pub(crate) fn routine_setting(&mut self, position: Position) -> Result<RoutineSetting> {
        if self.at_word("role") && !self.setting_follows(1) || self.at_words(&["session", "authorization"]) {
            return self.unsupported("a role that a routine sets", position);
        }
        let (name, value) = self.setting_value_or_current()?;
        Ok(RoutineSetting { name, value, position })
    }

    /// `name | ALL`, behind RESET.
    pub(crate) fn routine_reset(&mut self, position: Position) -> Result<RoutineSetting> {
        Ok(RoutineSetting { name: self.shown_name()?, value: SettingValue::Default, position })
    }

    /// The body that is written here from a place on: as the same statements in a string would be.
    fn standard_body(
        &mut self,
        routine: &mut CreateRoutine,
        kind: StandardBody,
        start: Position,
        body: &mut bool,
    ) -> Result<()> {
        if std::mem::replace(body, true) {
            let message = "duplicate function body specified";
            return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).at(start));
        }
        let text = self.text_since(start);
        routine.body = text.to_owned();
        // RETURN e is SELECT e, and as long.
        for statement in super::split(text)? {
            let word = statement.start..(statement.start + RETURN.len()).min(statement.end);
            if text.get(word.clone()).is_some_and(|word| word.eq_ignore_ascii_case(RETURN)) {
                routine.body.replace_range(word, "SELECT");
            }
        }
        let placed = |mut e: Error| {
            if let Some(at) = &mut e.fields_mut().position {
                *at += start;
            }
            e
        };
        for statement in super::statements(&routine.body).map_err(placed)? {
            use StatementKind::{Delete, Insert, Merge, Query, Update};
            if !matches!(statement.kind, Query(_) | Insert(_) | Update(_) | Delete(_) | Merge(_)) {
                let at = statement.position as usize..statement.end as usize;
                let words = routine.body[at].split_whitespace();
                let words: Vec<String> = words.take(2).map(str::to_ascii_uppercase).collect();
                let what = format!("{} is not yet supported in unquoted SQL function body", words.join(" "));
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, what));
            }
        }
        routine.body_position = start;
        routine.standard = Some(kind);
        Ok(())
    }

    /// Notes an option that is not supported; takes the rest of the statement, body included.
    fn routine_unsupported(&mut self, routine: &mut CreateRoutine, what: &str, at: Position) -> Result<()> {
        routine.unsupported.get_or_insert((what.to_owned(), at));
        self.skip_to_end()
    }

    /// `[NOT] LEAKPROOF | PARALLEL name | COST n | ROWS n`, the first word taken.
    pub(crate) fn routine_hint(
        &mut self,
        word: &str,
        hints: &mut RoutineHints,
        position: Position,
    ) -> Result<()> {
        let twice = match word {
            "leakproof" => hints.leakproof.replace(true).is_some(),
            "not" => {
                self.expect_word("leakproof")?;
                hints.leakproof.replace(false).is_some()
            }
            "parallel" => hints.parallel.replace(self.name()?).is_some(),
            "cost" => hints.cost.replace(self.hint_number()?).is_some(),
            _ => hints.rows.replace(self.hint_number()?).is_some(),
        };
        if twice {
            hints.twice.get_or_insert(position);
        }
        Ok(())
    }

    /// A number as COST and ROWS have it.
    fn hint_number(&mut self) -> Result<String> {
        let minus = self.eat_operator("-");
        if !minus {
            self.eat_operator("+");
        }
        match self.peek().kind {
            Kind::Integer | Kind::Decimal => {
                let number = self.bump().text(self.text);
                Ok(if minus { format!("-{number}") } else { number.to_owned() })
            }
            _ => self.fail(),
        }
    }

    /// The name of a language, in lower case.
    pub(crate) fn language_name(&mut self) -> Result<String> {
        if self.at_string() { Ok(self.string()?.to_ascii_lowercase()) } else { self.unreserved() }
    }

    /// Where the text of the string at the cursor begins.
    pub(crate) fn body_position(&self) -> Position {
        let token = self.peek();
        let raw = token.text(self.text);
        let prefix = match token.kind {
            Kind::DollarString => raw[1..].find('$').map_or(0, |at| at + 2),
            _ => raw.find('\'').map_or(0, |at| at + 1),
        };
        token.start + prefix as u32
    }

    /// `(type, ...)`, possibly empty; names and modes of parameters may stand there.
    pub(crate) fn type_list(&mut self) -> Result<Vec<TypeName>> {
        let parameters = self.parameters()?;
        Ok(parameters.into_iter().filter(|p| p.mode != Mode::Out).map(|p| p.ty).collect())
    }

    /// `DROP FUNCTION | PROCEDURE | ROUTINE ..`, DROP taken.
    pub(crate) fn drop_routine(&mut self, procedure: Option<bool>) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let names = self.list(|p| -> Result<(Name, Option<Vec<TypeName>>)> {
            let name = p.qualified_function()?;
            let types = match p.at_kind(Kind::LeftParen) {
                true => Some(p.type_list()?),
                false => None,
            };
            Ok((name, types))
        })?;
        let cascade = self.cascade();
        Ok(StatementKind::DropRoutine { names, procedure, if_exists, cascade })
    }
}
