//! Domains: a value becomes one of a domain when it meets the domain's conditions.
//!
//! Registers and columns have the type that the domain is over; the conditions are code where a value is converted,
//! assigned to a variable, passed, answered or stored. Those of a domain that this one is over come first.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::names::Names;
use super::scope::{Scope, Typed, Variable};
use planaria_base::{Error, Result, SqlState, Type, TypeId};
use planaria_catalog::{Catalog, Table, TypeKind, UserType};
use planaria_ir::{ErrorFields, Func, OpKind, Reg};
use planaria_syntax::ast::{Name, TypeName, TypeNameKind};

/// What a type name stands for.
#[derive(Clone, PartialEq, Debug)]
pub struct Declared {
    /// The type of the values.
    pub ty: Type,
    /// Where the name is a domain's: values must meet its conditions, or, where they are arrays of it, their elements.
    pub domain: Option<TypeId>,
}

impl Declared {
    /// 0A000 of a domain over rows, whose fields a routine changes one by one.
    pub(crate) fn refuse_row(&self, what: &str, position: u32) -> Result<()> {
        if self.domain.is_none() || self.ty.row_of().is_none() {
            return Ok(());
        }
        let message = format!("a domain over a composite type as {what} is not supported");
        Err(Error::unsupported(message, "Use the type that the domain is over.").at(position))
    }
}

impl From<Type> for Declared {
    fn from(ty: Type) -> Declared {
        Declared { ty, domain: None }
    }
}

/// The user's type of that name.
pub(crate) fn user_type<'c>(catalog: &'c Catalog, name: &Name) -> Option<&'c UserType> {
    let wanted = super::bind_call::named(catalog, name).ok()?;
    // A type of the system's is none of them.
    let system = name.parts.len() > 1 && wanted.schema.is_none();
    catalog.user_type(wanted).filter(|_| !system)
}

/// The domain that a type name is, or that of the column whose type it is.
fn domain_named(catalog: &Catalog, name: &TypeName) -> Option<TypeId> {
    match &name.kind {
        TypeNameKind::Named(path) | TypeNameKind::NamedArray(path) => {
            user_type(catalog, path).filter(|t| matches!(t.kind, TypeKind::Domain(_))).map(|t| t.id)
        }
        TypeNameKind::OfColumn(path) => match &path.parts[..] {
            [.., _, column] => {
                let table = super::types::table_of_column(catalog, path);
                table.and_then(|t| t.column(column)).and_then(|(_, c)| c.domain)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a type is a domain, or that of a table's rows that has one.
pub(crate) fn is_or_has_one(catalog: &Catalog, name: &TypeName) -> bool {
    let table = match &name.kind {
        TypeNameKind::Named(path) | TypeNameKind::RowOf(path) => super::types::table_of_type(catalog, path),
        _ => None,
    };
    domain_named(catalog, name).is_some()
        || table.is_some_and(|table| table.visible().any(|(_, column)| column.domain.is_some()))
}

/// Whether rows of the type, or those in arrays of it, have fields of domains.
pub(crate) fn has_domains(catalog: &Catalog, ty: &Type) -> bool {
    match ty {
        Type::Array(of) => has_domains(catalog, of),
        Type::Record(row) => row.of.as_ref().is_some_and(|of| {
            let mut columns = catalog.table_by_id(of.table).visible();
            columns.any(|(_, column)| column.domain.is_some() || has_domains(catalog, &column.ty))
        }),
        _ => false,
    }
}

impl Lowerer<'_> {
    /// The type a name stands for, with its domain: built-in, the user's, or 42704. `%TYPE` of columns is resolved too.
    pub fn declared(&self, name: &TypeName) -> Result<Declared> {
        Ok(Declared { ty: self.resolve_type(name)?, domain: domain_named(self.catalog, name) })
    }

    /// A value that must meet a domain's conditions.
    pub(super) fn in_domain(&mut self, value: Bound, domain: Option<TypeId>) -> Bound {
        let Some(id) = domain else { return value };
        let (ty, position) = (value.ty.clone(), value.position);
        Bound::new(BoundKind::InDomain(Box::new(value), Some(id)), ty, position)
    }

    /// Raises 23502 or 23514 where the value, or an element of an array, does not meet a domain's conditions.
    pub fn check_domain(&mut self, value: Reg, id: TypeId) -> Result<()> {
        let ty = self.program.type_of(value).cloned();
        if let Some(Type::Array(of)) = ty.filter(|ty| self.catalog.is_array_of(ty, id)) {
            let there = self.apply(Func::IsNotNull, vec![value], Type::Bool);
            return self.when(there, |l| {
                l.for_elements(value, &of, &mut |l, element, _| l.check_value(element, id))
            });
        }
        self.check_value(value, id)
    }

    fn check_value(&mut self, value: Reg, id: TypeId) -> Result<()> {
        let catalog = self.catalog;
        // The one that the value is to be of is named, whichever has the condition.
        let name = catalog.shown_user_type(id);
        let named = catalog.type_by_id(id);
        for domain in catalog.domains_of(id) {
            let Some(definition) = domain.domain() else { continue };
            let fields = |constraint: Option<&str>| ErrorFields {
                constraint: constraint.map(str::to_owned),
                schema: Some(catalog.schema_name(named.schema).to_owned()),
                datatype: Some(named.name.clone()),
                ..ErrorFields::default()
            };
            if definition.not_null {
                let null = self.apply(Func::IsNull, vec![value], Type::Bool);
                self.raising(null, |l| {
                    let message = format!("domain {name} does not allow null values");
                    l.raise(SqlState::NOT_NULL_VIOLATION, message, fields(None));
                    Ok(())
                })?;
            }
            let mut checks: Vec<_> = definition.checks.iter().collect();
            checks.sort_by(|a, b| a.name.cmp(&b.name));
            for check in checks {
                let mut scope = Scope::new();
                let typed = Typed { reg: value, ty: definition.base.clone() };
                scope.declare("value", Variable::Scalar(typed));
                let bound = self.bind_text_in(&Names::of(&scope), &check.expression, self.position)?;
                let bound = self.boolean(bound, "CHECK")?;
                let holds = self.value(&bound)?;
                let fails = self.apply(Func::IsFalse, vec![holds], Type::Bool);
                self.raising(fails, |l| {
                    let message =
                        format!("value for domain {name} violates check constraint \"{}\"", check.name);
                    l.raise(SqlState::CHECK_VIOLATION, message, fields(Some(&check.name)));
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// The same for the fields of rows: of a row, or of those that an array has.
    pub(super) fn check_fields(&mut self, value: Reg, ty: &Type) -> Result<()> {
        if !has_domains(self.catalog, ty) {
            return Ok(());
        }
        let there = self.apply(Func::IsNotNull, vec![value], Type::Bool);
        match ty {
            Type::Record(row) => self.when(there, |l| {
                let catalog = l.catalog;
                let table = row.of.as_ref().map(|of| catalog.table_by_id(of.table));
                let columns = table.into_iter().flat_map(|table| table.visible());
                let fields = l.unpacked(value, row, None);
                for ((_, field), (_, column)) in fields.into_iter().zip(columns) {
                    l.check_within(field.reg, &field.ty, column.domain)?;
                }
                Ok(())
            }),
            Type::Array(of) => self
                .when(there, |l| l.for_elements(value, of, &mut |l, element, _| l.check_fields(element, of))),
            _ => Ok(()),
        }
    }

    /// The same for values that are about to be stored, by column.
    pub(super) fn check_domains(&mut self, table: &Table, values: &[(usize, Reg)]) -> Result<()> {
        for (column, reg) in values {
            let column = &table.columns[*column];
            self.check_within(*reg, &column.ty, column.domain)?;
        }
        Ok(())
    }

    /// The same for a value and what is in it: first for its fields.
    fn check_within(&mut self, value: Reg, ty: &Type, domain: Option<TypeId>) -> Result<()> {
        self.check_fields(value, ty)?;
        domain.map_or(Ok(()), |id| self.check_domain(value, id))
    }

    /// From now on whoever assigns to the variable asks [`check_assigned`](Self::check_assigned).
    pub fn declare_domain(&mut self, variable: Reg, domain: Option<TypeId>) {
        self.domains.extend(domain.map(|id| (variable, id)));
    }

    /// The domain of a variable.
    pub fn domain_of(&self, variable: Reg) -> Option<TypeId> {
        self.domains.iter().find(|(reg, _)| *reg == variable).map(|(_, id)| *id)
    }

    /// Emits a row of a set function, whose values meet the conditions of their domains.
    pub fn emit_row(&mut self, values: Vec<Reg>) -> Result<()> {
        for (value, domain) in values.iter().zip(self.emitted_domains.clone()) {
            domain.map_or(Ok(()), |id| self.check_domain(*value, id))?;
        }
        self.emit(OpKind::Emit { values });
        Ok(())
    }

    /// What was assigned to a variable meets the conditions of its domain, if it has one.
    pub fn check_assigned(&mut self, variable: Reg) -> Result<()> {
        match self.domain_of(variable) {
            Some(id) => self.check_domain(variable, id),
            None => Ok(()),
        }
    }
}
