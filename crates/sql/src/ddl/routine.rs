//! CREATE and DROP of functions and procedures.

use super::types::{RoutineType, routine_type};
use super::{Ddl, local_name};
use crate::ast::{CreateRoutine, Name, RoutineReturns, TypeName};
use crate::parse;
use planaria_base::limits::ARGUMENTS_MAX;
use planaria_base::{Error, ProcedureId, Result, SqlState, Type};
use planaria_catalog::{Language, Mode, Parameter, Procedure, Returns, Volatility};

impl Ddl<'_> {
    pub(super) fn create_routine(&mut self, create: &CreateRoutine) -> Result<&'static str> {
        let tag = if create.procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" };
        let name = local_name(&create.name)?;
        if let Some((what, position)) = &create.unsupported {
            return Err(Error::unsupported(format!("{what} is not supported"), "docs/sql.md lists what is.")
                .at(*position));
        }
        let language = match create.language.as_deref() {
            Some("plpgsql") => Language::PlPgSql,
            Some("sql") => Language::Sql,
            Some(other) => {
                return Err(Error::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("language \"{other}\" does not exist"),
                )
                .hint("Languages are plpgsql and sql."));
            }
            None => {
                return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, "no language specified"));
            }
        };
        let parameters = self.parameters(create)?;
        let returns = self.returns(create, &parameters)?;
        // As PostgreSQL: the body's syntax is checked now, what it names when it is first called.
        let in_text = |e: Error| {
            let inside = e.fields().position.unwrap_or(0);
            let mut e = e;
            e.fields_mut().position = Some(inside + create.body_position);
            e
        };
        match language {
            Language::PlPgSql => drop(parse::plpgsql(&create.body).map_err(in_text)?),
            Language::Sql => drop(parse::statements(&create.body).map_err(in_text)?),
        }
        let types = |ps: &[Parameter]| -> Vec<Type> {
            ps.iter()
                .filter(|p| matches!(p.mode, Mode::In | Mode::InOut | Mode::Variadic))
                .map(|p| p.ty.clone())
                .collect()
        };
        let inputs = types(&parameters);
        let old = self
            .change
            .catalog
            .procedures
            .iter()
            .position(|p| p.current && p.name == name && types(&p.parameters) == inputs);
        if let Some(old) = old {
            let existing = &self.change.catalog.procedures[old];
            if !create.or_replace {
                return Err(Error::new(
                    SqlState::DUPLICATE_FUNCTION,
                    format!("function \"{name}\" already exists with same argument types"),
                )
                .at(create.name.position));
            }
            if existing.is_procedure() != create.procedure {
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, "cannot change routine kind").detail(
                    format!("\"{name}\" is a {}.", if existing.is_procedure() { "procedure" } else { "function" }),
                ));
            }
            if existing.returns != returns {
                return Err(Error::new(
                    SqlState::INVALID_FUNCTION_DEFINITION,
                    "cannot change return type of existing function",
                )
                .hint(format!("Use DROP FUNCTION {name} first.")));
            }
            self.change.catalog.procedures[old].current = false;
        }
        let id = ProcedureId::from(self.change.catalog.procedures.len());
        self.change.catalog.procedures.push(Procedure {
            id,
            name,
            parameters,
            returns,
            language,
            volatility: create.volatility.unwrap_or(Volatility::Volatile),
            strict: create.strict,
            body: create.body.clone(),
            body_position: create.body_position,
            current: true,
        });
        Ok(tag)
    }

    fn parameters(&mut self, create: &CreateRoutine) -> Result<Vec<Parameter>> {
        if create.parameters.len() > ARGUMENTS_MAX {
            return Err(Error::new(
                SqlState::TOO_MANY_ARGUMENTS,
                format!("functions cannot have more than {ARGUMENTS_MAX} arguments"),
            ));
        }
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut defaults = false;
        for p in &create.parameters {
            let is_input = matches!(p.mode, Mode::In | Mode::InOut | Mode::Variadic);
            if !p.name.is_empty() && parameters.iter().any(|q| q.name == p.name) {
                return Err(Error::new(
                    SqlState::INVALID_FUNCTION_DEFINITION,
                    format!("parameter name \"{}\" used more than once", p.name),
                )
                .at(p.position));
            }
            if p.mode == Mode::Variadic {
                return Err(Error::unsupported("VARIADIC parameters are not supported", "Pass an array.")
                    .at(p.position));
            }
            if p.default.is_none() && defaults && is_input {
                return Err(Error::new(
                    SqlState::INVALID_FUNCTION_DEFINITION,
                    "input parameters after one with a default value must also have defaults",
                )
                .at(p.position));
            }
            if p.default.is_some() && !is_input {
                return Err(Error::new(
                    SqlState::INVALID_FUNCTION_DEFINITION,
                    "only input parameters can have default values",
                )
                .at(p.position));
            }
            defaults |= p.default.is_some();
            let ty = match routine_type(&self.change.catalog, &p.ty)? {
                RoutineType::Value(ty) => ty,
                RoutineType::RowOf(_) | RoutineType::Record => {
                    return Err(Error::unsupported(
                        "parameters of a row type are not supported",
                        "Pass the columns one by one.",
                    )
                    .at(p.position));
                }
            };
            if let Some((expr, _)) = &p.default {
                self.check_default(expr, &ty, &p.name)?;
            }
            let default = p.default.as_ref().map(|(_, text)| text.clone());
            parameters.push(Parameter { name: p.name.clone(), ty, mode: p.mode, default });
        }
        Ok(parameters)
    }

    fn returns(&mut self, create: &CreateRoutine, parameters: &[Parameter]) -> Result<Returns> {
        let outs: Vec<&Parameter> =
            parameters.iter().filter(|p| matches!(p.mode, Mode::Out | Mode::InOut)).collect();
        let wrong = |message: &str| Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message.to_owned()));
        match &create.returns {
            Some(_) if create.procedure => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "a procedure has no RETURNS").hint("Use INOUT parameters."))
            }
            None if create.procedure => Ok(Returns::Procedure),
            None => match outs.as_slice() {
                [] => wrong("function result type must be specified"),
                [one] => Ok(Returns::Scalar(one.ty.clone())),
                _ => Ok(Returns::OutRow),
            },
            Some(RoutineReturns::Table) => {
                if !outs.is_empty() {
                    return wrong("OUT and INOUT arguments aren't allowed in TABLE functions");
                }
                Ok(Returns::Table)
            }
            Some(RoutineReturns::Type { ty, setof }) => {
                match (routine_type(&self.change.catalog, ty)?, outs.as_slice()) {
                    (RoutineType::Record, []) => Err(Error::unsupported(
                        "a function that returns record without OUT parameters is not supported",
                        "Use RETURNS TABLE or OUT parameters.",
                    )
                    .at(ty.position)),
                    (RoutineType::Record, _) => {
                        Ok(if *setof { Returns::SetOfOutRow } else { Returns::OutRow })
                    }
                    (RoutineType::RowOf(table), []) => {
                        Ok(if *setof { Returns::SetOfTable(table) } else { Returns::RowOf(table) })
                    }
                    (RoutineType::Value(ty), [] | [_]) => {
                        if let [out] = outs.as_slice()
                            && out.ty != ty
                        {
                            return wrong(&format!(
                                "function result type must be {} because of OUT parameters",
                                out.ty
                            ));
                        }
                        Ok(if *setof { Returns::SetOf(ty) } else { Returns::Scalar(ty) })
                    }
                    _ => wrong("function result type must be record because of OUT parameters"),
                }
            }
        }
    }

    pub(super) fn drop_routines(
        &mut self,
        names: &[(Name, Option<Vec<TypeName>>)],
        procedure: Option<bool>,
        if_exists: bool,
    ) -> Result<&'static str> {
        let (what, tag) = match procedure {
            Some(true) => ("procedure", "DROP PROCEDURE"),
            Some(false) => ("function", "DROP FUNCTION"),
            None => ("routine", "DROP ROUTINE"),
        };
        for (name, types) in names {
            let local = local_name(name)?;
            let wanted: Option<Vec<Type>> = match types {
                None => None,
                Some(types) => {
                    let mut wanted = Vec::new();
                    for ty in types {
                        match routine_type(&self.change.catalog, ty)? {
                            RoutineType::Value(ty) => wanted.push(ty),
                            _ => return Err(Error::new(SqlState::UNDEFINED_FUNCTION, "no such routine")),
                        }
                    }
                    Some(wanted)
                }
            };
            let found: Vec<usize> = self
                .change
                .catalog
                .procedures
                .iter()
                .enumerate()
                .filter(|(_, p)| p.current && p.name == local)
                .filter(|(_, p)| procedure.is_none_or(|only| p.is_procedure() == only))
                .filter(|(_, p)| wanted.as_ref().is_none_or(|w| p.inputs().map(|q| &q.ty).eq(w.iter())))
                .map(|(i, _)| i)
                .collect();
            let shown = match &wanted {
                None => format!("{local}()"),
                Some(w) => {
                    format!("{local}({})", w.iter().map(Type::to_string).collect::<Vec<_>>().join(", "))
                }
            };
            match found.as_slice() {
                [one] => self.change.catalog.procedures[*one].current = false,
                [] if if_exists => self.notice(format!("{what} {shown} does not exist, skipping")),
                [] => {
                    return Err(Error::new(SqlState::UNDEFINED_FUNCTION, format!("{what} {shown} does not exist"))
                        .at(name.position));
                }
                _ => {
                    return Err(Error::new(
                        SqlState::AMBIGUOUS_FUNCTION,
                        format!("{what} name \"{local}\" is not unique"),
                    )
                    .hint("Specify the argument list to select the routine unambiguously.")
                    .at(name.position));
                }
            }
        }
        Ok(tag)
    }
}
