//! RAISE and ASSERT.

use super::Body;
use crate::ast::plpgsql::{Raise, RaiseWhat};
use crate::ast::{Expr, ExprKind};
use crate::lower::{CastContext, Typed};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::{ErrorFields, Func, Level, OpKind, Reg, StateSource};

impl Body<'_, '_> {
    fn text(&mut self, text: impl Into<String>) -> Reg {
        self.l.constant(Datum::Text(text.into()), Type::Text)
    }

    pub(super) fn raise(&mut self, raise: &Raise) -> Result<()> {
        let mut state = None;
        let mut message = None;
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
                message = Some(self.text(name.clone()));
            }
            RaiseWhat::State(code) => {
                let known = SqlState::parse(code)
                    .ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "invalid SQLSTATE code"))?;
                state = Some(StateSource::Known(known));
                message = Some(self.text(code.clone()));
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
                    state = Some(self.errcode(e)?);
                }
                "message" => {
                    if matches!(raise.what, RaiseWhat::Format(..)) {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            "RAISE option already specified: MESSAGE",
                        )
                        .at(e.position));
                    }
                    message = Some(self.as_text(e)?);
                }
                "detail" => fields.detail = Some(self.as_text(e)?),
                "hint" => fields.hint = Some(self.as_text(e)?),
                "constraint" => fields.constraint = Some(literal(e, option)?),
                "table" => fields.table = Some(literal(e, option)?),
                "column" => fields.column = Some(literal(e, option)?),
                "schema" | "datatype" => {
                    literal(e, option)?;
                }
                other => {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        format!("unrecognized RAISE statement option \"{other}\""),
                    )
                    .at(e.position));
                }
            }
        }
        let state = state.unwrap_or(StateSource::Known(if raise.level == Level::Exception {
            SqlState::RAISE_EXCEPTION
        } else {
            SqlState::SUCCESSFUL_COMPLETION
        }));
        let message = match (message, state) {
            (Some(message), _) => message,
            (None, StateSource::Known(state)) => {
                self.text(state.condition_name().map_or_else(|| state.to_string(), str::to_owned))
            }
            (None, StateSource::Computed(reg)) => reg,
            (None, StateSource::Current) => return Err(Error::internal("RAISE of the current error")),
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
            regs.push(self.output(value)?);
        }
        Ok(self.apply(Func::RaiseFormat, regs, Type::Text))
    }

    /// A value as it prints.
    fn output(&mut self, value: Typed) -> Result<Reg> {
        match value.ty {
            Type::Bool => Ok(self.apply(Func::BoolOut, vec![value.reg], Type::Text)),
            Type::Char(n) => {
                let width = self.l.constant(Datum::Int(i64::from(n)), Type::Int4);
                Ok(self.apply(Func::CharPad, vec![value.reg, width], Type::Text))
            }
            _ => self.l.cast(value, &Type::Text, CastContext::Explicit),
        }
    }

    fn as_text(&mut self, e: &Expr) -> Result<Reg> {
        let value = self.value(e)?;
        self.output(value)
    }

    /// ERRCODE: a code or a condition name; known now if it is a literal.
    fn errcode(&mut self, e: &Expr) -> Result<StateSource> {
        if let ExprKind::String(text) = &e.kind {
            let known = SqlState::from_condition_name(text).or_else(|| SqlState::parse(text));
            return known.map(StateSource::Known).ok_or_else(|| {
                Error::new(SqlState::UNDEFINED_OBJECT, format!("unrecognized exception condition \"{text}\""))
                    .at(e.position)
            });
        }
        Ok(StateSource::Computed(self.as_text(e)?))
    }

    pub(super) fn assert(&mut self, condition: &Expr, message: Option<&Expr>) -> Result<()> {
        let cond = self.l.condition(&self.scope, condition)?;
        self.unless(cond, |s| {
            let message = match message {
                Some(e) => s.as_text(e)?,
                None => s.text("assertion failed"),
            };
            let state = StateSource::Known(SqlState::ASSERT_FAILURE);
            let fields = ErrorFields::default();
            s.l.emit(OpKind::Raise { level: Level::Exception, state, message, fields });
            Ok(())
        })
    }
}

/// A name that must be known when the routine is compiled.
fn literal(e: &Expr, option: &str) -> Result<String> {
    match &e.kind {
        ExprKind::String(text) => Ok(text.clone()),
        _ => Err(Error::unsupported(
            format!("RAISE ... USING {} with a computed value is not supported", option.to_uppercase()),
            "Give the name as a literal.",
        )
        .at(e.position)),
    }
}
