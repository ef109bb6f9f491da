//! CREATE CAST and DROP CAST.

use super::{Change, reparse};
use crate::lower::{Declared, Lowerer};
use planaria_base::oid::{FIRST_NORMAL, Oid};
use planaria_base::{Error, Result, SqlState, Type, TypeId};
use planaria_catalog::oids::Object as Named;
use planaria_catalog::{Catalog, Commented, Object, UserCast, UserCastContext, reg, system};
use planaria_ir::ProgramKind;
use planaria_syntax::ast::{CastChange, CastMethod, CastTypes, TypeName, TypeNameKind};

/// A type of a conversion.
struct End {
    oid: Oid,
    ty: Type,
    domain: Option<TypeId>,
}

/// `cast from character varying to state`
pub(super) fn described(catalog: &Catalog, source: Oid, target: Oid) -> String {
    format!("cast from {} to {}", shown(catalog, source), shown(catalog, target))
}

fn shown(catalog: &Catalog, oid: Oid) -> String {
    reg::type_name(catalog, oid).unwrap_or_else(|| oid.to_string())
}

/// Whether the system has the conversion.
fn is_of_system(source: Oid, target: Oid) -> bool {
    let relation = system::unqualified("pg_cast").expect("a system relation");
    let at = |name: &str| relation.column(name).expect("a column of pg_cast");
    let (from, to) = (at("castsource"), at("casttarget"));
    let is = |value: &planaria_base::Datum, oid: Oid| *value == planaria_base::Datum::Int(i64::from(oid));
    system::fixed_rows(relation.id).iter().any(|row| is(&row[from], source) && is(&row[to], target))
}

/// 42704
fn no_cast(catalog: &Catalog, source: Oid, target: Oid) -> Error {
    let [from, to] = [source, target].map(|oid| shown(catalog, oid));
    Error::new(SqlState::UNDEFINED_OBJECT, format!("cast from type {from} to type {to} does not exist"))
}

impl Change {
    fn end(&self, name: &TypeName, what: &str) -> Result<End> {
        if let TypeNameKind::Pseudo(pseudo) = &name.kind {
            let message = format!("{what} data type {pseudo} is a pseudo-type");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let lowerer = Lowerer::new(&self.catalog, "cast", ProgramKind::Statement);
        let Declared { ty, domain } = lowerer.declared(name).map_err(|mut error| {
            error.fields_mut().position = None;
            error
        })?;
        Ok(End { oid: self.catalog.declared_oid(&ty, domain), ty, domain })
    }

    fn ends(&self, types: &CastTypes) -> Result<(End, End)> {
        Ok((self.end(&types.source, "source")?, self.end(&types.target, "target")?))
    }

    /// 42501 for who owns neither type.
    fn require_end(&self, source: Oid, target: Oid) -> Result<()> {
        let owns = |oid: Oid| match self.catalog.oids.object(oid) {
            Some(Named::Type(id)) => self.catalog.owns(self.actor.user, &Object::Type(*id)),
            Some(Named::RowType(key)) => {
                let relation = self.catalog.of_rows(planaria_catalog::of_key(key));
                relation.is_some_and(|t| self.catalog.owns(self.actor.user, &Object::Table(t.id)))
            }
            _ => self.is_superuser(),
        };
        if owns(source) || owns(target) {
            return Ok(());
        }
        let [from, to] = [source, target].map(|oid| shown(&self.catalog, oid));
        let message = format!("must be owner of type {from} or type {to}");
        Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
    }

    pub(super) fn change_cast(&mut self, change: &CastChange) -> Result<&'static str> {
        match change {
            CastChange::Create { types, method, context } => self.create_cast(types, *method, *context),
            CastChange::Drop { types, if_exists } => self.drop_cast(types, *if_exists),
        }
    }

    fn create_cast(
        &mut self,
        types: &CastTypes,
        method: CastMethod,
        context: UserCastContext,
    ) -> Result<&'static str> {
        let (source, target) = self.ends(types)?;
        self.require_end(source.oid, target.oid)?;
        [&source, &target].into_iter().try_for_each(|end| self.require_types(&end.ty, end.domain))?;
        for (end, what) in [(&source, "source"), (&target, "target")] {
            if self.catalog.is_domain_oid(end.oid) {
                let message = format!("cast will be ignored because the {what} data type is a domain");
                self.warning(SqlState::WRONG_OBJECT_TYPE, message);
                break;
            }
        }
        let invalid = |message: &str| Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        if method == CastMethod::Binary {
            let length = |ty: &Type| planaria_base::oid::length(ty);
            if source.oid == target.oid {
                return invalid("source data type and target data type are the same");
            }
            if length(&source.ty) != length(&target.ty) {
                return invalid("source and target data types are not physically compatible");
            }
            for end in [&source.ty, &target.ty] {
                match end {
                    Type::Record(_) => return invalid("composite data types are not binary-compatible"),
                    Type::Enum(_) => return invalid("enum data types are not binary-compatible"),
                    Type::Array(_) => return invalid("array data types are not binary-compatible"),
                    _ => {}
                }
            }
            return Err(Error::unsupported(
                "CREATE CAST WITHOUT FUNCTION is not supported",
                "Say WITH INOUT.",
            ));
        }
        if source.oid == target.oid {
            return invalid("source data type and target data type are the same");
        }
        if is_of_system(source.oid, target.oid) || self.catalog.cast(source.oid, target.oid).is_some() {
            let [from, to] = [source.oid, target.oid].map(|oid| shown(&self.catalog, oid));
            let message = format!("cast from type {from} to type {to} already exists");
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        if source.oid < FIRST_NORMAL && target.oid < FIRST_NORMAL {
            let hint = "One of the types must be an enumerated or composite type, or a domain.";
            return Err(Error::unsupported("a cast between types of the system is not supported", hint));
        }
        self.catalog.add_cast(UserCast { source: source.oid, target: target.oid, context, comment: None });
        Ok("CREATE CAST")
    }

    fn drop_cast(&mut self, types: &CastTypes, if_exists: bool) -> Result<&'static str> {
        let (source, target) = match self.ends(types) {
            Ok((source, target)) => (source.oid, target.oid),
            Err(error) if if_exists && error.sqlstate() == SqlState::UNDEFINED_OBJECT => {
                self.skip_missing(&error);
                return Ok("DROP CAST");
            }
            Err(error) => return Err(error),
        };
        if is_of_system(source, target) {
            let message = format!(
                "cannot drop {} because it is required by the database system",
                described(&self.catalog, source, target)
            );
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message));
        }
        if self.catalog.cast(source, target).is_none() {
            let missing = no_cast(&self.catalog, source, target);
            if !if_exists {
                return Err(missing);
            }
            self.skip_missing(&missing);
            return Ok("DROP CAST");
        }
        self.require_end(source, target)?;
        self.refuse_casting_views(source, target)?;
        self.catalog.remove_cast(source, target);
        Ok("DROP CAST")
    }

    /// 2BP01 where a view would not bind any more.
    fn refuse_casting_views(&mut self, source: Oid, target: Oid) -> Result<()> {
        let what = described(&self.catalog, source, target);
        let mut without = self.catalog.clone();
        without.remove_cast(source, target);
        let binds = |catalog: &Catalog, text: &str| {
            let Ok(query) = reparse::query(text) else { return false };
            let home = catalog.at_home();
            let mut lowerer = Lowerer::new(&home, "view", ProgramKind::Statement);
            lowerer.describe(&crate::lower::Scope::new(), &query).is_ok()
        };
        for view in self.catalog.views.values() {
            if binds(&self.catalog, &view.query) && !binds(&without, &view.query) {
                let name = self.catalog.shown_relation(view.schema, &view.name);
                let message = format!("cannot drop {what} because other objects depend on it");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .with_detail(format!("view {name} depends on {what}"))
                    .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
        }
        Ok(())
    }

    /// What COMMENT ON CAST is about.
    pub(super) fn commented_cast(&self, types: &CastTypes) -> Result<Commented> {
        let (source, target) = self.ends(types)?;
        let (source, target) = (source.oid, target.oid);
        if self.catalog.cast(source, target).is_none() {
            return Err(no_cast(&self.catalog, source, target));
        }
        self.require_end(source, target)?;
        Ok(Commented::Cast(source, target))
    }

    /// Conversions of a type, which go with it.
    pub(super) fn casts_of(catalog: &Catalog, ty: Oid) -> Vec<super::depend::Object> {
        let of = catalog.casts.iter().filter(|c| c.source == ty || c.target == ty);
        of.map(|c| super::depend::Object::Cast(c.source, c.target)).collect()
    }
}
