//! RAISE and ASSERT.

use super::Body;
use planaria_base::{Datum, Error, Level, Result, SqlState, Type};
use planaria_ir::{Diagnostic, ErrorFields, Func, OpKind, Reg, StateSource};
use planaria_syntax::ast::plpgsql::{Raise, RaiseWhat};
use planaria_syntax::ast::{Expr, ExprKind};

impl Body<'_, '_> {
    fn text(&mut self, text: impl Into<String>) -> Reg {
        self.l.constant(Datum::Text(text.into()), Type::Text)
    }

    pub(super) fn raise(&mut self, raise: &Raise) -> Result<()> {
        let mut state = None;
        let mut message = None;
        // What names the condition is the message where none is given.
        let mut condition: Option<Reg> = None;
        match &raise.what {
            RaiseWhat::Current => {
                let Some(handled) = self.handled else {
                    return Err(Error::new(
                        SqlState::new("0Z002"),
                        "RAISE without parameters cannot be used outside an exception handler",
                    ));
                };
                let fields = ErrorFields::default();
                let (level, message) = (Level::Exception, handled.sqlerrm);
                self.l.emit(OpKind::Raise { level, state: StateSource::Current, message, fields });
                return Ok(());
            }
            RaiseWhat::Format(format, args) => message = Some(self.format(format, args)?),
            RaiseWhat::Condition(name) => {
                let known = SqlState::from_condition_name(name).ok_or_else(|| {
                    Error::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!("unrecognized exception condition \"{name}\""),
                    )
                })?;
                state = Some(StateSource::Known(known));
                condition = Some(self.text(name.clone()));
            }
            RaiseWhat::State(code) => {
                let known = SqlState::parse(code)
                    .ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code"))?;
                state = Some(StateSource::Known(known));
                condition = Some(self.text(code.clone()));
            }
            RaiseWhat::Nothing => {}
        }
        let mut fields = ErrorFields::default();
        let mut given: Vec<&str> = Vec::new();
        for (option, e) in &raise.using {
            if given.contains(&option.as_str()) {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("RAISE option already specified: {}", option.to_uppercase()),
                )
                .at(e.position));
            }
            given.push(option);
            match option.as_str() {
                "errcode" => {
                    if state.is_some() {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            "RAISE option already specified: ERRCODE",
                        )
                        .at(e.position));
                    }
                    let (source, given) = self.errcode(e)?;
                    state = Some(source);
                    condition = Some(given);
                }
                "message" => {
                    if matches!(raise.what, RaiseWhat::Format(..)) {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            "RAISE option already specified: MESSAGE",
                        )
                        .at(e.position));
                    }
                    message = Some(self.option_text(e)?);
                }
                "detail" => fields.detail = Some(self.option_text(e)?),
                "hint" => fields.hint = Some(self.option_text(e)?),
                "constraint" => match &e.kind {
                    ExprKind::String(name) => fields.constraint = Some(name.clone()),
                    _ => fields.computed.push((Diagnostic::Constraint, self.option_text(e)?)),
                },
                "table" => match &e.kind {
                    ExprKind::String(name) => fields.table = Some(name.clone()),
                    _ => fields.computed.push((Diagnostic::Table, self.option_text(e)?)),
                },
                "column" => match &e.kind {
                    ExprKind::String(name) => fields.column = Some(name.clone()),
                    _ => fields.computed.push((Diagnostic::Column, self.option_text(e)?)),
                },
                "schema" => match &e.kind {
                    ExprKind::String(name) => fields.schema = Some(name.clone()),
                    _ => fields.computed.push((Diagnostic::Schema, self.option_text(e)?)),
                },
                "datatype" => match &e.kind {
                    ExprKind::String(name) => fields.datatype = Some(name.clone()),
                    _ => fields.computed.push((Diagnostic::DataType, self.option_text(e)?)),
                },
                other => {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        format!("unrecognized RAISE statement option \"{other}\""),
                    )
                    .at(e.position));
                }
            }
        }
        let state = state.unwrap_or(StateSource::Known(match raise.level {
            Level::Exception => SqlState::RAISE_EXCEPTION,
            Level::Warning => SqlState::WARNING,
            _ => SqlState::SUCCESSFUL_COMPLETION,
        }));
        let message = match (message.or(condition), state) {
            (Some(message), _) => message,
            (None, StateSource::Known(state)) => self.text(state.to_string()),
            (None, StateSource::Computed(_) | StateSource::Current) => {
                return Err(Error::internal("a RAISE without anything to say"));
            }
        };
        self.l.emit(OpKind::Raise { level: raise.level, state, message, fields });
        Ok(())
    }

    /// The message of a format: `%` for each argument, `%%` for a percent sign.
    fn format(&mut self, format: &str, args: &[Expr]) -> Result<Reg> {
        let holes = format.replace("%%", "").matches('%').count();
        if holes != args.len() {
            let few = if holes > args.len() { "few" } else { "many" };
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("too {few} parameters specified for RAISE"),
            ));
        }
        if args.is_empty() {
            return Ok(self.text(format.replace("%%", "%")));
        }
        let mut regs = vec![self.text(format)];
        for arg in args {
            let value = self.value(arg)?;
            regs.push(self.l.output(value)?);
        }
        Ok(self.apply(Func::RaiseFormat, regs, Type::Text))
    }

    fn as_text(&mut self, e: &Expr) -> Result<Reg> {
        let value = self.value(e)?;
        self.l.output(value)
    }

    /// The text of an option, which must not be NULL.
    fn option_text(&mut self, e: &Expr) -> Result<Reg> {
        let text = self.as_text(e)?;
        if !matches!(e.kind, ExprKind::String(_)) {
            let null = self.is_null(text);
            self.when(null, |s| {
                s.fail(SqlState::NULL_VALUE_NOT_ALLOWED, "RAISE statement option cannot be null", None);
                Ok(())
            })?;
        }
        Ok(text)
    }

    /// ERRCODE: a code or a condition name, known now if it is a literal; and its text.
    fn errcode(&mut self, e: &Expr) -> Result<(StateSource, Reg)> {
        if let ExprKind::String(text) = &e.kind {
            let known = SqlState::from_condition_name(text).or_else(|| SqlState::parse(text));
            let given = self.text(text.clone());
            return known.map(|s| (StateSource::Known(s), given)).ok_or_else(|| {
                Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{text}\""))
                    .at(e.position)
            });
        }
        let text = self.option_text(e)?;
        Ok((StateSource::Computed(text), text))
    }

    pub(super) fn assert(&mut self, condition: &Expr, message: Option<&Expr>) -> Result<()> {
        let cond = self.l.condition(&self.scope, condition)?;
        self.unless(cond, |s| {
            let message = match message {
                Some(e) => {
                    // One that is NULL is none.
                    let given = s.as_text(e)?;
                    let message = s.l.program.value(Type::Text);
                    let plain = s.text("assertion failed");
                    s.copy(message, plain);
                    let null = s.is_null(given);
                    s.unless(null, |s| {
                        s.copy(message, given);
                        Ok(())
                    })?;
                    message
                }
                None => s.text("assertion failed"),
            };
            let state = StateSource::Known(SqlState::ASSERT_FAILURE);
            let fields = ErrorFields::default();
            s.l.emit(OpKind::Raise { level: Level::Exception, state, message, fields });
            Ok(())
        })
    }
}

/// The error of a RAISE with more or less parameters than its format takes, as PostgreSQL tells it: it has no place in the body but
/// a line. Others are as they are.
pub(super) fn of_compilation(mut error: Error, name: &str, body: &str) -> Error {
    if !error.message().ends_with("parameters specified for RAISE") {
        return error;
    }
    let position = error.fields_mut().position.take().unwrap_or_default();
    let before = body.as_bytes().get(..position as usize).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    error.context(format!("compilation of PL/pgSQL function \"{name}\" near line {line}"))
}
