//! CREATE, ALTER and DROP of enumerated types and domains.

use super::alter::Rewrite;
use super::depend::{Object as Target, References};
use super::schema::mention;
use super::{Change, Validation, Work, lowering, names, reparse};
use crate::lower::qualified_expression;
use crate::lower::{self, Declared, Lowerer, ParamTypes};
use planaria_base::enumeration::{Enum, Place};
use planaria_base::text_io::quote_ident;
use planaria_base::{Error, Result, SchemaId, SqlState, Type, TypeId};
use planaria_catalog::{Catalog, Check, Domain, Object, Privileges, Requirement, TypeKind, UserType};
use planaria_ir::ProgramKind;
use planaria_syntax::ast::{
    AlterDomain, AlterEnum, AlterTable, Constraint, ConstraintKind, Expr, LabelPlace, Name, Statement,
    StatementKind, TypeName, TypeRef,
};
use std::collections::BTreeMap;

/// 42710
pub(super) fn type_exists(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("type \"{name}\" already exists"))
}

/// 42704
fn no_type(name: &Name) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{}\" does not exist", name.parts.join(".")))
}

fn constraint_exists(constraint: &str, domain: &str) -> Error {
    let message = format!("constraint \"{constraint}\" for domain \"{domain}\" already exists");
    Error::new(SqlState::DUPLICATE_OBJECT, message)
}

/// Whether rows of a type, or those in arrays of it, have fields of a domain, or of one over it.
fn has_domain(catalog: &Catalog, ty: &Type, id: TypeId) -> bool {
    match ty {
        Type::Array(of) => has_domain(catalog, of, id),
        Type::Record(row) => row.of.as_ref().is_some_and(|of| {
            catalog.table_by_id(of.table).visible().any(|(_, column)| match column.domain {
                Some(domain) => catalog.domains_of(domain).iter().any(|t| t.id == id),
                None => has_domain(catalog, &column.ty, id),
            })
        }),
        _ => false,
    }
}

impl Change {
    /// 42501 where the actor may not use a type for what it defines. A log has changes of the time when nobody asked.
    pub(super) fn require_types(&self, ty: &Type, domain: Option<TypeId>) -> Result<()> {
        match self.catalog.type_with_rights(ty, domain).filter(|_| !self.actor.internal) {
            Some(object) => self.require(&Requirement::new(object, Privileges::USAGE)),
            None => Ok(()),
        }
    }

    /// The user's type that a statement names.
    pub(super) fn user_type(&self, name: &Name) -> Result<&UserType> {
        let local = names::wanted(&self.catalog, name)?;
        match self.catalog.user_type(local) {
            Some(ty) => Ok(ty),
            None if self.catalog.table(local).is_some() || self.catalog.view(local).is_some() => {
                let hint = "ALTER, DROP and GRANT name the relation itself.";
                Err(Error::unsupported(format!("\"{local}\" is the row type of a relation"), hint))
            }
            None => match crate::lower::unknown_type(&name.parts.join("."), 0) {
                e if e.sqlstate() == SqlState::UNDEFINED_OBJECT => Err(no_type(name)),
                built_in => Err(built_in),
            },
        }
    }

    /// The same where it is to be a domain, and is the actor's.
    fn owned_domain(&self, name: &Name) -> Result<TypeId> {
        let ty = self.user_type(name)?;
        if ty.domain().is_none() {
            let message = format!("\"{}\" is not a domain", name.parts.join("."));
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        self.catalog.require_owner(self.actor.user, &Object::Type(ty.id))?;
        Ok(ty.id)
    }

    /// A free name for a type: relations have row types of their names.
    fn new_type_name<'n>(&self, name: &'n Name) -> Result<(SchemaId, &'n str)> {
        let new = names::new(&self.catalog, name)?;
        self.require_create_of(name, new.0)?;
        self.check_type_name(new)?;
        Ok(new)
    }

    pub(super) fn check_type_name(&self, new: (SchemaId, &str)) -> Result<()> {
        let relation = self.catalog.of_rows(new).is_some() || self.catalog.view(new).is_some();
        if relation || self.catalog.user_type(new).is_some() { Err(type_exists(new.1)) } else { Ok(()) }
    }

    fn add_type(&mut self, (schema, name): (SchemaId, &str), kind: TypeKind) -> TypeId {
        let id = TypeId::from(self.catalog.types.len());
        let rights = self.new_rights(planaria_catalog::ObjectKind::Type, schema);
        let ty = UserType { id, schema, name: name.to_owned(), kind, rights, comment: None };
        self.catalog.types.push(Some(ty.into()));
        id
    }

    pub(super) fn create_enum(&mut self, name: &Name, labels: &[String]) -> Result<&'static str> {
        let local = self.new_type_name(name)?;
        let id = TypeId::from(self.catalog.types.len());
        let (oid, array) = self.catalog.give_type_oids(id);
        let schema = (local.0 != SchemaId::PUBLIC).then(|| self.catalog.schema_name(local.0));
        let made = Enum::new(oid, array, local.1, labels)?.within(schema);
        self.add_type(local, TypeKind::Enum(made));
        Ok("CREATE TYPE")
    }

    pub(super) fn alter_enum(&mut self, name: &Name, action: &AlterEnum) -> Result<&'static str> {
        if self.owned_composite(name)?.is_some() {
            let message = format!("{} is not an enum", name.parts.last().map_or("", String::as_str));
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let ty = self.user_type(name)?;
        let (id, TypeKind::Enum(of)) = (ty.id, &ty.kind) else {
            let message = format!("{} is not an enum", quote_ident(&ty.name));
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        self.catalog.require_owner(self.actor.user, &Object::Type(id))?;
        let now = match action {
            AlterEnum::AddValue { label, if_not_exists, place } => {
                if *if_not_exists && of.rank(label).is_some() {
                    let exists = planaria_base::enumeration::label_exists(label);
                    self.skip_existing(&exists);
                    return Ok("ALTER TYPE");
                }
                let place = match place {
                    LabelPlace::Last => Place::Last,
                    LabelPlace::Before(label) => Place::Before(label),
                    LabelPlace::After(label) => Place::After(label),
                };
                of.with_label(label, place)?
            }
            AlterEnum::RenameValue { from, to } => {
                self.refuse_texts(
                    &Target::Type(id),
                    &format!("label \"{from}\" cannot be renamed"),
                    Some(from),
                )?;
                of.with_renamed_label(from, to)?
            }
        };
        self.catalog.replace_enum(id, &now);
        Ok("ALTER TYPE")
    }

    pub(super) fn rename_type(&mut self, ty: &TypeRef, to: &str) -> Result<&'static str> {
        let tag = if ty.domain { "ALTER DOMAIN" } else { "ALTER TYPE" };
        if let Some(id) = self.owned_composite(&ty.name)?.filter(|_| !ty.domain) {
            let message = format!("type \"{}\" cannot be renamed", self.catalog.table_by_id(id).name);
            if !self.actor.internal {
                self.refuse_texts(&Target::Table(id), &message, None)?;
            }
            self.rename_composite(id, to)?;
            return Ok(tag);
        }
        let id = match ty.domain {
            true => self.owned_domain(&ty.name)?,
            false => self.user_type(&ty.name)?.id,
        };
        self.catalog.require_owner(self.actor.user, &Object::Type(id))?;
        self.check_type_name((self.catalog.type_by_id(id).schema, to))?;
        let name = self.catalog.type_by_id(id).name.clone();
        self.refuse_texts(&Target::Type(id), &format!("type \"{name}\" cannot be renamed"), None)?;
        match self.catalog.type_by_id(id).kind.clone() {
            TypeKind::Enum(of) => self.catalog.replace_enum(id, &of.renamed(to)),
            TypeKind::Domain(_) => {
                if let Some(ty) = self.catalog.types[id.index()].as_mut() {
                    ty.name = to.to_owned();
                }
            }
        }
        Ok(tag)
    }

    /// 0A000 where a definition that is kept as text names the type (with the label, if one is given).
    fn refuse_texts(&self, of: &Target, message: &str, label: Option<&str>) -> Result<()> {
        for (object, _) in of.dependents(&self.catalog)? {
            let named = match (&object, label) {
                (Target::Column(..) | Target::Routine(_) | Target::Type(_), _) => false,
                (_, None) => true,
                // A label stands in a text of its own.
                (Target::View(name), Some(label)) => {
                    let view = self.catalog.views.get(name);
                    view.is_some_and(|v| v.query.contains(label))
                }
                (_, Some(_)) => true,
            };
            if named {
                let detail =
                    format!("{} depends on it, and is kept as text.", object.describe(&self.catalog));
                let hint = "Drop it, make the change, create it again.";
                return Err(Error::unsupported(message, hint).with_detail(detail));
            }
        }
        let (schema, name) = match of {
            Target::Type(id) => (self.catalog.type_by_id(*id).schema, &self.catalog.type_by_id(*id).name),
            Target::Table(id) => (self.catalog.table_by_id(*id).schema, &self.catalog.table_by_id(*id).name),
            _ => return Ok(()),
        };
        let mentioned = mention(&self.catalog, schema, name);
        for (_, statistics) in self.catalog.all_statistics() {
            for text in &statistics.expressions {
                if label.is_none_or(|label| text.contains(label))
                    && References::of_text(text)?.types.contains(&mentioned)
                {
                    let detail =
                        format!("statistics object {} depends on it, and is kept as text.", statistics.name);
                    let hint = "Drop it, make the change, create it again.";
                    return Err(Error::unsupported(message, hint).with_detail(detail));
                }
            }
        }
        Ok(())
    }

    pub(super) fn create_domain(
        &mut self,
        name: &Name,
        ty: &TypeName,
        constraints: &[Constraint],
    ) -> Result<&'static str> {
        let local = self.new_type_name(name)?;
        let Declared { ty: base, domain: over } =
            Lowerer::new(&self.catalog.ready(), "type", ProgramKind::Statement).declared(ty)?;
        self.require_types(&base, over)?;
        if over.is_some_and(|over| self.catalog.is_array_of(&base, over)) {
            let hint = "Use an array of the type that the domain is over.";
            return Err(Error::unsupported("a domain over an array of a domain is not supported", hint)
                .at(ty.position));
        }
        if base.row_of().is_none() && matches!(base, Type::Void | Type::Record(_) | Type::Unknown) {
            let message = format!("\"{base}\" is not a valid base type for a domain");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(ty.position));
        }
        let base = self.kept(base);
        let id = self.add_type(
            local,
            TypeKind::Domain(Domain { base, over, not_null: false, default: None, checks: Vec::new() }),
        );
        let mut null: Option<bool> = None;
        for c in constraints {
            match &c.kind {
                ConstraintKind::NotNull | ConstraintKind::Null => {
                    let is_null = matches!(c.kind, ConstraintKind::Null);
                    if null.is_some_and(|n| n != is_null) {
                        let message = "conflicting NULL/NOT NULL constraints";
                        return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                    }
                    null = Some(is_null);
                    self.domain_mut(id).not_null = !is_null;
                }
                ConstraintKind::Default { expr, text } => {
                    if self.domain_mut(id).default.is_some() {
                        return Err(Error::new(SqlState::SYNTAX_ERROR, "multiple default expressions"));
                    }
                    self.set_domain_default(id, Some((expr, text)))?;
                }
                ConstraintKind::Check { expr, text } => {
                    self.add_domain_check(id, c.name.as_deref(), expr, text)?;
                }
                _ => return Err(not_of_domains(c)),
            }
        }
        Ok("CREATE DOMAIN")
    }

    fn domain_mut(&mut self, id: TypeId) -> &mut Domain {
        match self.catalog.types[id.index()].as_mut().map(|t| &mut t.kind) {
            Some(TypeKind::Domain(domain)) => domain,
            _ => unreachable!("the id of a domain"),
        }
    }

    fn set_domain_default(&mut self, id: TypeId, default: Option<(&Expr, &String)>) -> Result<()> {
        let of_domain = self.catalog.domain(id).over.is_some();
        let text = match default {
            Some((expr, _)) if super::table::says_nothing(expr, &self.catalog.domain(id).base, of_domain) => {
                None
            }
            Some((expr, text)) => {
                let (name, base) =
                    (self.catalog.type_by_id(id).name.clone(), self.catalog.domain(id).base.clone());
                lowering::check_default(&self.catalog, &name, &base, expr)?;
                Some(qualified_expression(&self.catalog, text)?)
            }
            None => None,
        };
        self.domain_mut(id).default = text;
        Ok(())
    }

    /// Adds a condition, and answers with its name.
    fn add_domain_check(
        &mut self,
        id: TypeId,
        name: Option<&str>,
        expr: &Expr,
        text: &str,
    ) -> Result<String> {
        let (domain, base) = (self.catalog.type_by_id(id).name.clone(), self.catalog.domain(id).base.clone());
        lowering::check_domain_condition(&self.catalog, &base, expr)?;
        let has = |name: &str| self.catalog.domain(id).checks.iter().any(|c| c.name == name);
        let name = match name {
            Some(name) if has(name) => return Err(constraint_exists(name, &domain)),
            Some(name) => name.to_owned(),
            None => names::domain_constraint(&domain, has),
        };
        let (expression, not_valid, comment) = (qualified_expression(&self.catalog, text)?, false, None);
        let check = Check { name: name.clone(), expression, not_valid, comment };
        let checks = &mut self.domain_mut(id).checks;
        // They are looked at in the order of their names.
        let at = checks.partition_point(|c| c.name < check.name);
        checks.insert(at, check);
        Ok(name)
    }

    pub(super) fn alter_domain(&mut self, name: &Name, action: &AlterDomain) -> Result<&'static str> {
        let id = self.owned_domain(name)?;
        let domain = self.catalog.type_by_id(id).name.clone();
        let missing = |constraint: &str| {
            let message = format!("constraint \"{constraint}\" of domain \"{domain}\" does not exist");
            Error::new(SqlState::UNDEFINED_OBJECT, message)
        };
        let find =
            |change: &Self, name: &str| change.catalog.domain(id).checks.iter().position(|c| c.name == name);
        match action {
            AlterDomain::SetDefault(default) => {
                self.set_domain_default(id, default.as_ref().map(|(e, t)| (e, t)))?;
            }
            AlterDomain::SetNotNull(not_null) => {
                self.domain_mut(id).not_null = *not_null;
                if *not_null {
                    self.hold_against(id, None)?;
                }
            }
            AlterDomain::AddConstraint(c) => match &c.kind {
                ConstraintKind::Check { expr, text } => {
                    let name = self.add_domain_check(id, c.name.as_deref(), expr, text)?;
                    match self.domain_mut(id).checks.iter_mut().find(|check| check.name == name) {
                        Some(check) if c.not_valid => check.not_valid = true,
                        _ => self.hold_against(id, Some(&name))?,
                    }
                }
                _ => return Err(not_of_domains(c)),
            },
            AlterDomain::DropConstraint { name, if_exists, .. } => match find(self, name) {
                Some(at) => drop(self.domain_mut(id).checks.remove(at)),
                None if *if_exists => self.skip_missing(&missing(name)),
                None => return Err(missing(name)),
            },
            AlterDomain::RenameConstraint { from, to } => {
                let at = find(self, from).ok_or_else(|| missing(from))?;
                if find(self, to).is_some() {
                    return Err(constraint_exists(to, &domain));
                }
                let checks = &mut self.domain_mut(id).checks;
                checks[at].name.clone_from(to);
                checks.sort_by(|a, b| a.name.cmp(&b.name));
            }
            AlterDomain::ValidateConstraint(name) => {
                let at = find(self, name).ok_or_else(|| missing(name))?;
                if std::mem::take(&mut self.domain_mut(id).checks[at].not_valid) {
                    self.hold_against(id, Some(name))?;
                }
            }
        }
        Ok("ALTER DOMAIN")
    }

    /// Every column of the domain, and of those over it, must meet a condition, or have no NULL.
    fn hold_against(&mut self, id: TypeId, check: Option<&str>) -> Result<()> {
        let check =
            check.and_then(|name| self.catalog.domain(id).checks.iter().find(|c| c.name == name)).cloned();
        let mut validations = Vec::new();
        // Rows of composite types are those of the columns that have them.
        for table in self.catalog.tables.iter().flatten().filter(|t| !t.composite) {
            for (_, column) in table.visible() {
                let within = column.domain.is_none() && has_domain(&self.catalog, &column.ty, id);
                let of = column.domain.map_or(Vec::new(), |d| self.catalog.domains_of(d));
                if !within && !of.iter().any(|t| t.id == id) {
                    continue;
                }
                if within || column.domain.is_some_and(|d| self.catalog.is_array_of(&column.ty, d)) {
                    let (name, table) = (self.catalog.shown_user_type(id), &table.name);
                    let message = format!(
                        "cannot alter type \"{name}\" because column \"{table}.{}\" uses it",
                        column.name
                    );
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                let wrong = match &check {
                    Some(check) => format!("NOT ({})", check.expression),
                    None => "value IS NULL".to_owned(),
                };
                let text = format!(
                    "SELECT NULL::text FROM (SELECT {} AS value FROM {}.{}) AS stored WHERE {wrong} LIMIT 1",
                    quote_ident(&column.name),
                    quote_ident(self.catalog.schema_name(table.schema)),
                    quote_ident(&table.name)
                );
                let query = reparse::query(&text)?;
                let kind = StatementKind::Query(Box::new(query));
                let statement = Statement { position: 0, end: 0, kind };
                let home = self.catalog.at_home();
                let program = lower::lower_statement(&home, &statement, &ParamTypes::default())?;
                let (state, what) = match &check {
                    Some(_) => (SqlState::CHECK_VIOLATION, "values that violate the new constraint"),
                    None => (SqlState::NOT_NULL_VIOLATION, "null values"),
                };
                let message =
                    format!("column \"{}\" of table \"{}\" contains {what}", column.name, table.name);
                validations.push(Validation { program, error: Error::new(state, message) });
            }
        }
        self.out.work.extend(validations.into_iter().map(|v| Work::Validate(Box::new(v))));
        Ok(())
    }

    pub(super) fn drop_types(
        &mut self,
        domain: bool,
        names: &[Name],
        if_exists: bool,
        cascade: bool,
    ) -> Result<&'static str> {
        let mut targets = Vec::new();
        for name in names {
            let composite = self.owned_composite(name)?.map(Target::Table);
            if let Some(target) = composite.filter(|_| !domain) {
                if !targets.contains(&target) {
                    targets.push(target);
                }
                continue;
            }
            self.refuse_row_type(name, domain)?;
            match self.user_type(name) {
                Ok(ty) if domain && ty.domain().is_none() => {
                    let message = format!("\"{}\" is not a domain", name.parts.join("."));
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                Ok(ty) => {
                    self.catalog.require_owner(self.actor.user, &Object::Type(ty.id))?;
                    if !targets.contains(&Target::Type(ty.id)) {
                        targets.push(Target::Type(ty.id));
                    }
                }
                Err(error) if if_exists && error.sqlstate() == SqlState::UNDEFINED_OBJECT => {
                    self.skip_missing(&error);
                }
                Err(error) => return Err(error),
            }
        }
        self.drop_targets(targets, cascade)?;
        Ok(if domain { "DROP DOMAIN" } else { "DROP TYPE" })
    }

    /// The type of a relation's rows goes with it alone.
    fn refuse_row_type(&self, name: &Name, domain: bool) -> Result<()> {
        let local = names::wanted(&self.catalog, name)?;
        if self.catalog.user_type(local).is_some() {
            return Ok(());
        }
        let (kind, schema, relation) = match (self.catalog.table(local), self.catalog.view(local)) {
            (Some(table), _) if table.materialized.is_some() => {
                ("materialized view", table.schema, &table.name)
            }
            (Some(table), _) => ("table", table.schema, &table.name),
            (None, Some(view)) => ("view", view.schema, &view.name),
            (None, None) => return Ok(()),
        };
        if domain {
            let message = format!("\"{}\" is not a domain", name.parts.join("."));
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let (ty, shown) =
            (self.catalog.shown_type(schema, relation), self.catalog.shown_relation(schema, relation));
        let message = format!("cannot drop type {ty} because {kind} {shown} requires it");
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
            .with_hint(format!("You can drop {kind} {shown} instead.")))
    }

    /// Columns of a type that goes go with it.
    pub(super) fn drop_columns(
        &mut self,
        columns: &[(planaria_base::TableId, planaria_base::ColumnId)],
    ) -> Result<()> {
        let mut by_table: BTreeMap<planaria_base::TableId, Vec<AlterTable>> = BTreeMap::new();
        for (table, column) in columns {
            let Some(of) = &self.catalog.tables[table.index()] else { continue };
            let name = of.columns[column.index()].name.clone();
            by_table.entry(*table).or_default().push(AlterTable::DropColumn {
                name,
                if_exists: true,
                cascade: true,
            });
        }
        for (table, actions) in by_table {
            let of = self.catalog.table_by_id(table);
            if of.composite {
                let mut rewrite = Rewrite::of(of);
                actions.iter().try_for_each(|action| self.action(table, action, &mut rewrite))?;
                self.finish_alter(table, rewrite)?;
                continue;
            }
            let parts = vec![self.catalog.schema_name(of.schema).to_owned(), of.name.clone()];
            self.alter_table(&Name { parts, position: 0 }, false, false, &actions)?;
        }
        Ok(())
    }
}

/// A constraint that no domain has.
fn not_of_domains(c: &Constraint) -> Error {
    let what = match &c.kind {
        ConstraintKind::PrimaryKey { .. } => "primary key constraints",
        ConstraintKind::Unique { .. } => "unique constraints",
        ConstraintKind::ForeignKey { .. } => "foreign key constraints",
        ConstraintKind::Exclude(_) => "exclusion constraints",
        ConstraintKind::Identity { .. } | ConstraintKind::GeneratedStored { .. } => "specifying GENERATED",
        _ => "this constraint",
    };
    let message = match what {
        "specifying GENERATED" => format!("{what} not supported for domains"),
        _ => format!("{what} not possible for domains"),
    };
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// 42710 of a relation that would be called like a type.
pub(super) fn in_the_way(name: &str) -> Error {
    type_exists(name).with_hint(
        "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any \
         existing type.",
    )
}
