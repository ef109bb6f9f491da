//! CREATE FUNCTION, CREATE PROCEDURE: a new version under the name.
//!
//! What PostgreSQL finds at creation is found here: syntax of the body, declarations, labels, number
//! of RAISE arguments. What it leaves to the first call (tables and columns that do not exist yet)
//! is left; so a routine may be made before its tables.

use super::{Change, lowering, names};
use crate::lower::{
    self, CastContext, Declared, Lowerer, Scope, qualified_expression, row_type, table_of_type,
};
use planaria_base::types::{RowType, SystemType};
use planaria_base::{Error, ProcedureId, Result, SqlState, TableId, Type, TypeId, limits, text_io};
use planaria_catalog::{
    Catalog, Hints, Language, Mode, Object, Parameter, Procedure, Returns, Volatility, path_names,
};
use planaria_ir::ProgramKind;
use planaria_syntax::ast::{
    CreateRoutine, Name, RoutineHints, RoutineParameter, RoutineReturns, RoutineSetting, SettingValue,
    TypeName, TypeNameKind,
};

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message)
}

/// `name(integer, text)`: as messages and `EXPLAIN` call a routine.
pub fn signature(procedure: &Procedure) -> String {
    let types: Vec<String> = procedure.inputs().map(|p| p.ty.to_string()).collect();
    format!("{}({})", procedure.name, types.join(", "))
}

/// The same as `DROP` takes it and dependencies are told in: without blanks.
pub(super) fn reference(procedure: &Procedure) -> String {
    let types: Vec<String> = procedure.inputs().map(|p| p.ty.to_string()).collect();
    format!("{}({})", procedure.name, types.join(","))
}

/// The word for it in messages.
pub(super) fn kind_word(procedure: Option<bool>) -> &'static str {
    match procedure {
        Some(true) => "procedure",
        Some(false) => "function",
        None => "routine",
    }
}

/// The types of an argument list, as messages show them.
pub(super) fn shown_types(catalog: &Catalog, types: &[TypeName]) -> Result<String> {
    let types: Result<Vec<String>> =
        types.iter().map(|t| value_type(catalog, t).map(|t| t.ty.base().to_string())).collect();
    types.map(|t| t.join(", "))
}

/// A routine by name and, if given, types of its arguments.
pub fn find<'c>(
    catalog: &'c Catalog,
    name: &Name,
    types: Option<&[TypeName]>,
    procedure: Option<bool>,
) -> Result<&'c Procedure> {
    let local = names::wanted(catalog, name)?;
    let kind = kind_word(procedure);
    let undefined = |message| Error::new(SqlState::UNDEFINED_FUNCTION, message).at(name.position);
    let Some(types) = types else {
        let of_kind = |p: &&Procedure| procedure.is_none_or(|k| k == p.is_procedure());
        let mut all = catalog.procedures_named(local).filter(of_kind);
        return match (all.next(), all.next()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => {
                let message = format!("{kind} name \"{local}\" is not unique");
                let hint = format!("Specify the argument list to select the {kind} unambiguously.");
                Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, message).with_hint(hint).at(name.position))
            }
            (None, _) => {
                // Of any kind is called a function.
                let kind = if procedure.is_none() { "function" } else { kind };
                Err(undefined(format!("could not find a {kind} named \"{local}\"")))
            }
        };
    };
    let mut wanted = Vec::new();
    for ty in types {
        wanted.push(value_type(catalog, ty)?.ty.base());
    }
    let matches = |p: &&Procedure| {
        let inputs = p.inputs().map(|a| a.ty.base());
        inputs.eq(wanted.iter().cloned())
            || (p.is_procedure() && p.parameters.iter().map(|a| a.ty.base()).eq(wanted.iter().cloned()))
    };
    catalog.procedures_named(local).find(matches).ok_or_else(|| {
        let types: Vec<String> = wanted.iter().map(Type::to_string).collect();
        undefined(format!("{kind} {local}({}) does not exist", types.join(", ")))
    })
}

/// The type of a parameter or result that is one value.
pub(super) fn value_type(catalog: &Catalog, ty: &TypeName) -> Result<Declared> {
    match &ty.kind {
        TypeNameKind::Known(known) => Ok(known.clone().into()),
        TypeNameKind::Serial(_) => {
            Err(Error::new(SqlState::UNDEFINED_OBJECT, "type \"serial\" does not exist").at(ty.position))
        }
        TypeNameKind::Pseudo(p) if p == "void" => Ok(Type::Void.into()),
        TypeNameKind::Pseudo(p) if let Some(system) = SystemType::polymorphic(p) => {
            Ok(Type::System(system).into())
        }
        TypeNameKind::Pseudo(p) => {
            let hint = "Declare one routine for each type it is to take.";
            Err(Error::unsupported(format!("pseudo-type {p} is not supported"), hint).at(ty.position))
        }
        TypeNameKind::Record => {
            let hint = "Declare OUT parameters or RETURNS TABLE.";
            Err(Error::unsupported("record as a parameter or result is not supported", hint).at(ty.position))
        }
        TypeNameKind::Named(path) if let Some(table) = table_of_type(catalog, path) => {
            Ok(Type::Record(row_type(catalog, table)).into())
        }
        TypeNameKind::Named(_)
        | TypeNameKind::NamedArray(_)
        | TypeNameKind::RowOf(_)
        | TypeNameKind::OfColumn(_) => {
            let declared = Lowerer::new(&catalog.ready(), "type", ProgramKind::Statement).declared(ty)?;
            declared.refuse_row("a parameter or result", ty.position)?;
            Ok(declared)
        }
    }
}

/// SET and RESET of a routine. Whether there is a setting and may have the value is known above.
pub(super) fn set_all(procedure: &mut Procedure, settings: &[RoutineSetting]) {
    let all = &mut procedure.settings;
    for setting in settings {
        let name = setting.name.to_ascii_lowercase();
        match &setting.value {
            SettingValue::Values(values) => {
                let value = values.join(", ");
                match all.iter_mut().find(|(is, _)| *is == name) {
                    Some(there) => there.1 = value,
                    None => all.push((name, value)),
                }
            }
            // What the session has was written out before the statement came here.
            SettingValue::Current(..) => {}
            SettingValue::Default if name == "all" => all.clear(),
            SettingValue::Default => all.retain(|(is, _)| *is != name),
        }
    }
}

/// 0A000 where a path of a routine's own leads elsewhere for each of its callers.
pub(super) fn check_path(procedure: &Procedure) -> Result<()> {
    let path = procedure.setting("search_path").unwrap_or_default();
    if !procedure.security_definer && path_names(path).iter().any(|name| name == "$user") {
        let what = "\"$user\" in the search_path of a routine that runs with the rights of its caller";
        return Err(Error::unsupported(what, "Name the schema, or use SECURITY DEFINER."));
    }
    Ok(())
}

impl Change {
    pub(super) fn create_routine(&mut self, create: &CreateRoutine) -> Result<&'static str> {
        let tag = if create.procedure { "CREATE PROCEDURE" } else { "CREATE FUNCTION" };
        if let Some((what, position)) = &create.unsupported {
            let hint = "Leave the clause out.";
            return Err(Error::unsupported(format!("{what} is not supported"), hint).at(*position));
        }
        let (schema, name) = names::new(&self.catalog, &create.name)?;
        self.require_create_of(&create.name, schema)?;
        let parameters = self.parameters(&create.parameters, create.name.position)?;
        let (returns, returns_domain) = self.returns(create, &parameters)?;
        if let Some(RoutineReturns::Type { ty, .. }) = &create.returns
            && let Ok(Declared { ty, domain }) = value_type(&self.catalog, ty)
        {
            self.require_types(&ty, domain)?;
        }
        let input = |p: &&Parameter| matches!(p.mode, Mode::In | Mode::InOut | Mode::Variadic);
        let inputs: Vec<Type> = parameters.iter().filter(input).map(|p| p.ty.clone()).collect();
        for parameter in parameters.iter().filter(|p| !input(p)) {
            lower::check_polymorphic_result(&parameter.ty, &inputs)?;
        }
        if let Returns::Scalar(ty) | Returns::SetOf(ty) = &returns {
            lower::check_polymorphic_result(ty, &inputs)?;
        }
        self.tell_references(create)?;
        let standard = create.standard.is_some();
        if standard && inputs.iter().any(Type::is_polymorphic) {
            let message = "SQL function with unquoted function body cannot have polymorphic arguments";
            return Err(invalid(message));
        }
        let mut procedure = Procedure {
            id: ProcedureId::from(self.catalog.procedures.len()),
            schema,
            name: name.to_owned(),
            parameters,
            returns,
            returns_domain,
            fires: None,
            fires_view: None,
            language: language(create)?,
            volatility: create.volatility.unwrap_or(Volatility::Volatile),
            strict: create.strict,
            body: match create.standard {
                Some(_) => lower::qualified_statements(&self.catalog, &create.body)?,
                None => create.body.clone(),
            },
            standard: create.standard,
            aggregate: None,
            body_position: create.body_position,
            current: true,
            security_definer: create.security_definer,
            reads_before: !self.actor.reads_after,
            form: self.actor.form,
            hints: Hints::default(),
            settings: Vec::new(),
            rights: self.new_rights(planaria_catalog::ObjectKind::Function, schema),
            comment: None,
            instance_of: None,
        };
        procedure.hints = self.hints(&procedure, &create.hints)?;
        if procedure.is_procedure() && (create.strict || create.volatility.is_some()) && !self.actor.internal
        {
            return Err(invalid("invalid attribute in procedure definition"));
        }
        set_all(&mut procedure, &create.settings);
        check_path(&procedure)?;
        self.take_place(&mut procedure, create.or_replace, create.name.position)?;
        self.out.routine = Some(procedure.id);
        let id = procedure.id;
        self.catalog.procedures.push(procedure.into());
        if self.actor.checks_bodies || standard {
            let made = self.catalog.procedure(id);
            if lower::plpgsql::routine_goes_by_steps(made) {
                lower::plpgsql::check_carried_out(made)?;
            }
            lower::plpgsql::check_routine(&self.catalog.ready(), made)
                .map_err(|e| in_statement(e, create.body_position))?;
        }
        Ok(tag)
    }

    /// What a routine says to planners, with what it said before. What logs have is taken as it is.
    pub(super) fn hints(&self, routine: &Procedure, said: &RoutineHints) -> Result<Hints> {
        let mut hints = routine.hints.clone();
        let wrong = |message: &str| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
        let checks = !self.actor.internal;
        if let Some(position) = said.twice.filter(|_| checks) {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "conflicting or redundant options").at(position));
        }
        if routine.is_procedure() {
            return match checks && *said != RoutineHints::default() {
                true => Err(invalid("invalid attribute in procedure definition")),
                false => Ok(hints),
            };
        }
        if let Some(parallel) = &said.parallel {
            hints.parallel = match parallel.as_str() {
                "safe" => Some('s'),
                "restricted" => Some('r'),
                "unsafe" => None,
                _ if checks => {
                    let message = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
                _ => hints.parallel,
            };
        }
        let number = |what: &str, text: &str, usual: &str| {
            let number = text.parse::<f32>().unwrap_or(0.0);
            if number <= 0.0 && checks {
                return Err(wrong(&format!("{what} must be positive")));
            }
            let mut shown = Vec::new();
            text_io::write_real(&mut shown, f64::from(number));
            let shown = String::from_utf8_lossy(&shown).into_owned();
            Ok(Some(shown).filter(|shown| shown != usual))
        };
        if let Some(cost) = &said.cost {
            hints.cost = number("COST", cost, Hints::COST)?;
        }
        if let Some(rows) = &said.rows {
            hints.rows = number("ROWS", rows, Hints::ROWS)?;
            if checks && !routine.returns_set() {
                return Err(wrong("ROWS is not applicable when function does not return a set"));
            }
        }
        if let Some(leakproof) = said.leakproof {
            if leakproof && checks && !self.catalog.is_superuser(self.actor.user) {
                let message = "only superuser can define a leakproof function";
                return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
            hints.leakproof = leakproof;
        }
        Ok(hints)
    }

    /// A routine takes the place of the one that it replaces, if there is one.
    pub(super) fn take_place(&mut self, new: &mut Procedure, or_replace: bool, position: u32) -> Result<()> {
        let Some(old) = self.same_inputs(new) else { return Ok(()) };
        if !or_replace {
            let message = format!("function \"{}\" already exists with same argument types", new.name);
            return Err(Error::new(SqlState::DUPLICATE_FUNCTION, message).at(position));
        }
        self.catalog.require_owner(self.actor.user, &Object::Routine(old.id))?;
        replaceable(old, new)?;
        let old = old.id;
        new.rights = self.catalog.procedure(old).rights.clone();
        new.comment.clone_from(&self.catalog.procedure(old).comment);
        self.catalog.procedures[old.index()].current = false;
        self.replace_trigger_function(old, new.id);
        Ok(())
    }

    /// The version that has the same name and input types: replaced, or in the way.
    fn same_inputs(&self, new: &Procedure) -> Option<&Procedure> {
        let inputs: Vec<Type> = new.inputs().map(|p| p.ty.base()).collect();
        self.catalog
            .procedures_named((new.schema, new.name.as_str()))
            .find(|p| p.inputs().map(|p| p.ty.base()).eq(inputs.iter().cloned()))
    }

    /// `table.column%TYPE` is looked at now, and not again: it is said of what type that is.
    fn tell_references(&mut self, create: &CreateRoutine) -> Result<()> {
        let parameters = create.parameters.iter().map(|p| &p.ty);
        let returned = match &create.returns {
            Some(RoutineReturns::Type { ty, .. }) => Some(ty),
            _ => None,
        };
        for ty in parameters.chain(returned) {
            if let TypeNameKind::OfColumn(name) = &ty.kind {
                let of = value_type(&self.catalog, ty)?.ty.base();
                let message = format!("type reference {}%TYPE converted to {of}", name.parts.join("."));
                self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
            }
        }
        Ok(())
    }

    pub(super) fn parameters(&self, given: &[RoutineParameter], position: u32) -> Result<Vec<Parameter>> {
        let mut all: Vec<Parameter> = Vec::new();
        let mut defaults = false;
        for p in given {
            let Declared { ty, domain } = value_type(&self.catalog, &p.ty).map_err(unquoted)?;
            if ty == Type::Void {
                return Err(invalid("SQL function cannot accept type void").at(p.ty.position));
            }
            self.require_types(&ty, domain)?;
            if let Type::Record(row) = &ty {
                self.check_row_parameter(row, p)?;
            }
            let clash = |other: &&Parameter| {
                // An input and a result column share a name only by mistake.
                !p.name.is_empty() && other.name == p.name
            };
            if all.iter().find(clash).is_some() {
                return Err(
                    invalid(format!("parameter name \"{}\" used more than once", p.name)).at(p.position)
                );
            }
            let is_array = match &ty {
                Type::Array(_) => true,
                ty => ty.is_polymorphic() && ty.element().is_some(),
            };
            if p.mode == Mode::Variadic && !is_array {
                return Err(invalid("VARIADIC parameter must be an array").at(p.position));
            }
            let input = matches!(p.mode, Mode::In | Mode::InOut | Mode::Variadic);
            if p.default.is_some() && !input {
                return Err(invalid("only input parameters can have default values").at(p.position));
            }
            if input && defaults && p.default.is_none() {
                let message = "input parameters after one with a default value must also have defaults";
                return Err(invalid(message).at(p.position));
            }
            defaults |= p.default.is_some();
            let default = self.parameter_default(p, &ty)?;
            let ty = unmodified_unless(ty, domain);
            all.push(Parameter { name: p.name.clone(), ty, domain, mode: p.mode, default });
        }
        let inputs = all.iter().filter(|p| p.mode != Mode::Table).count();
        if inputs > limits::ARGUMENTS_MAX {
            let message = format!("functions cannot have more than {} arguments", limits::ARGUMENTS_MAX);
            return Err(Error::new(SqlState::TOO_MANY_ARGUMENTS, message).at(position));
        }
        Ok(all)
    }

    /// 0A000 for what a parameter of a row type cannot be.
    fn check_row_parameter(&self, row: &RowType, p: &RoutineParameter) -> Result<()> {
        let refused = |what: &str, hint| Err(Error::unsupported(what, hint).at(p.ty.position));
        let table = row.of.as_ref().map(|of| self.catalog.table_by_id(of.table));
        if table.is_some_and(|t| self.catalog.path().temporary() == Some(t.schema)) {
            let hint = "Pass the columns one by one.";
            return refused("the row type of a temporary table as a parameter is not supported", hint);
        }
        Ok(())
    }

    fn parameter_default(&self, p: &RoutineParameter, ty: &Type) -> Result<Option<String>> {
        let Some((expr, text)) = &p.default else { return Ok(None) };
        lowering::restrict(expr, lowering::Place::Default).map_err(|e| {
            let column = e.message().starts_with("cannot use column reference");
            let message = "cannot use table references in parameter default value";
            if column { Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(expr.position) } else { e }
        })?;
        let catalog = self.catalog.ready();
        let mut lowerer = Lowerer::new(&catalog, "default", ProgramKind::Function).of_kept_text();
        let value = lowerer.expr(&Scope::new(), expr)?;
        if !ty.is_polymorphic() {
            lowerer.cast(value, ty, CastContext::Assignment)?;
        }
        Ok(Some(qualified_expression(&self.catalog, text)?))
    }

    /// What it answers, and the domain that that is of.
    fn returns(&self, create: &CreateRoutine, parameters: &[Parameter]) -> Result<(Returns, Option<TypeId>)> {
        if let Some(RoutineReturns::Type { ty, setof }) = &create.returns
            && let TypeNameKind::Named(_) | TypeNameKind::NamedArray(_) | TypeNameKind::OfColumn(_) = &ty.kind
            && let Ok(Declared { ty: value, domain: Some(domain) }) = value_type(&self.catalog, ty)
            && !parameters.iter().any(|p| matches!(p.mode, Mode::Out | Mode::InOut))
            && !create.procedure
        {
            let returns = if *setof { Returns::SetOf(value) } else { Returns::Scalar(value) };
            return Ok((returns, Some(domain)));
        }
        self.returned(create, parameters).map(|returns| (returns, None))
    }

    fn returned(&self, create: &CreateRoutine, parameters: &[Parameter]) -> Result<Returns> {
        if create.procedure {
            return match create.returns {
                Some(_) => Err(invalid("procedures cannot have RETURNS").at(create.name.position)),
                None => Ok(Returns::Procedure),
            };
        }
        let outs: Vec<&Parameter> =
            parameters.iter().filter(|p| matches!(p.mode, Mode::Out | Mode::InOut)).collect();
        let (ty, setof) = match &create.returns {
            Some(RoutineReturns::Table) if outs.is_empty() => {
                let mut columns = parameters.iter().filter(|p| p.mode == Mode::Table);
                return Ok(match (columns.next().and_then(|p| row_of(&p.ty)), columns.next()) {
                    (Some(table), None) => Returns::SetOfTable(table),
                    _ => Returns::Table,
                });
            }
            Some(RoutineReturns::Table) => {
                let message = "OUT and INOUT arguments aren't allowed in TABLE functions";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(create.name.position));
            }
            Some(RoutineReturns::Type { ty, setof }) => (ty, *setof),
            None => {
                return match &outs[..] {
                    [] => Err(invalid("function result type must be specified").at(create.name.position)),
                    [one] => Ok(row_of(&one.ty).map_or(Returns::Scalar(one.ty.clone()), Returns::RowOf)),
                    _ => Ok(Returns::OutRow),
                };
            }
        };
        if matches!(&ty.kind, TypeNameKind::Record)
            || matches!(&ty.kind, TypeNameKind::Pseudo(p) if p == "record")
        {
            return match &outs[..] {
                [] => Ok(Returns::Record { set: setof, columns: Vec::new() }),
                [one] => {
                    let message =
                        format!("function result type must be {} because of OUT parameters", one.ty);
                    Err(invalid(message).at(ty.position))
                }
                _ if setof => Ok(Returns::SetOfOutRow),
                _ => Ok(Returns::OutRow),
            };
        }
        if let TypeNameKind::Named(path) | TypeNameKind::RowOf(path) = &ty.kind
            && let Some(table) = table_of_type(&self.catalog, path)
            && outs.is_empty()
        {
            return Ok(if setof { Returns::SetOfTable(table.id) } else { Returns::RowOf(table.id) });
        }
        if matches!(&ty.kind, TypeNameKind::Pseudo(p) if p == "trigger") && !setof && outs.is_empty() {
            if create.language.as_deref() == Some("sql") {
                return Err(invalid("SQL functions cannot return type trigger"));
            }
            if !parameters.is_empty() {
                let hint =
                    "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV instead.";
                return Err(invalid("trigger functions cannot have declared arguments").with_hint(hint));
            }
            return Ok(Returns::Trigger);
        }
        let value = unmodified(value_type(&self.catalog, ty)?.ty);
        match &outs[..] {
            [] => {}
            [one] if one.ty.base() == value.base() => {}
            [one] => {
                let message = format!("function result type must be {} because of OUT parameters", one.ty);
                return Err(invalid(message).at(ty.position));
            }
            _ => {
                let message = "function result type must be record because of OUT parameters";
                return Err(invalid(message).at(ty.position));
            }
        }
        Ok(match (row_of(&value), setof) {
            (Some(table), true) => Returns::SetOfTable(table),
            (Some(table), false) => Returns::RowOf(table),
            (None, true) => Returns::SetOf(value),
            (None, false) => Returns::Scalar(value),
        })
    }
}

/// The table of a row type. One parameter of it is the answer, not a column of that.
fn row_of(ty: &Type) -> Option<TableId> {
    match ty {
        Type::Record(row) => row.of.as_ref().map(|of| of.table),
        _ => None,
    }
}

/// Of a parameter's type PostgreSQL says so without the quotes.
fn unquoted(mut error: Error) -> Error {
    if error.sqlstate() == SqlState::UNDEFINED_OBJECT {
        let message = error.message().replace('"', "");
        error.fields_mut().message = message;
    }
    error
}

/// A domain keeps the modifier that it has.
fn unmodified_unless(ty: Type, domain: Option<TypeId>) -> Type {
    if domain.is_some() { ty } else { unmodified(ty) }
}

/// PostgreSQL ignores modifiers of parameters and results.
fn unmodified(ty: Type) -> Type {
    match ty {
        // `char(n)` without its length would be blank-padded to nothing: it is text to a routine.
        Type::Char(_) => Type::Text,
        Type::Array(of) => Type::Array(Box::new(unmodified(*of))),
        other => other.base(),
    }
}

fn language(create: &CreateRoutine) -> Result<Language> {
    match create.language.as_deref() {
        Some(other) if create.standard.is_some() && other != "sql" => {
            Err(invalid("inline SQL function body only valid for language SQL"))
        }
        None if create.standard.is_some() => Ok(Language::Sql),
        Some("plpgsql") => Ok(Language::PlPgSql),
        Some("sql") => Ok(Language::Sql),
        None => Err(invalid("no language specified").at(create.name.position)),
        Some(other @ ("c" | "internal")) => {
            let message = format!("language {other} is not supported");
            Err(Error::unsupported(message, "Write the body in plpgsql or sql.").at(create.name.position))
        }
        Some(other) => {
            let message = format!("language \"{other}\" does not exist");
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message)
                .with_hint("Write the body in plpgsql or sql.")
                .at(create.name.position))
        }
    }
}

/// OR REPLACE keeps kind, result and names of the inputs.
fn replaceable(old: &Procedure, new: &Procedure) -> Result<()> {
    let drop_first = |error: Error| {
        let kind = if old.aggregate.is_some() { "AGGREGATE" } else { kind_word(Some(old.is_procedure())) };
        let kind = kind.to_uppercase();
        error.with_hint(format!("Use DROP {kind} {} first.", reference(old)))
    };
    if old.kind_name() != new.kind_name() {
        let message = "cannot change routine kind";
        let article = if old.aggregate.is_some() { "an" } else { "a" };
        let detail = format!("\"{}\" is {article} {}.", old.name, old.kind_name());
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_detail(detail));
    }
    // The name of the only one is nobody's: it is no row.
    let result = |p: &Procedure| -> Vec<(Type, Option<String>)> {
        let named = p.outputs().nth(1).is_some();
        p.outputs().map(|o| (o.ty.clone(), named.then(|| o.name.clone()))).collect()
    };
    if old.returns != new.returns {
        return Err(drop_first(invalid("cannot change return type of existing function")));
    }
    if !old.is_procedure() && result(old) != result(new) {
        let error = invalid("cannot change return type of existing function");
        return Err(drop_first(error.with_detail("Row type defined by OUT parameters is different.")));
    }
    if old.is_procedure() && result(old).len() != result(new).len() {
        let error = invalid("cannot change whether a procedure has output parameters");
        return Err(drop_first(error));
    }
    for (a, b) in old.inputs().zip(new.inputs()) {
        if !a.name.is_empty() && a.name != b.name {
            return Err(drop_first(invalid(format!("cannot change name of input parameter \"{}\"", a.name))));
        }
        if a.default.is_some() && b.default.is_none() {
            return Err(drop_first(invalid("cannot remove parameter defaults from existing function")));
        }
    }
    Ok(())
}

/// A position in the body, in the text of the statement. Escapes inside the body's quotes, if it has
/// any, shift it; dollar quotes have none.
fn in_statement(mut error: Error, body_position: u32) -> Error {
    if let Some(position) = &mut error.fields_mut().position {
        *position += body_position;
    }
    error
}
