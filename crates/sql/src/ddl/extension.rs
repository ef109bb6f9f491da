//! CREATE EXTENSION, DROP EXTENSION.

use super::Change;
use super::depend::Object as Target;
use planaria_base::{Error, Result, SqlState, Type};
use planaria_catalog::{
    AVAILABLE_EXTENSIONS, Catalog, Commented, Extension, Object, Privileges, Requirement, Returns, TypeKind,
    no_schema,
};
use planaria_syntax::ast::ExtensionChange;

const PLPGSQL: &str = "plpgsql";

fn no_extension(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("extension \"{name}\" does not exist"))
}

fn is_citext(ty: &Type) -> bool {
    match ty {
        Type::Citext => true,
        Type::Array(of) => is_citext(of),
        _ => false,
    }
}

/// What depends on an extension: of `citext` all that is of its type, in PostgreSQL's order.
pub(super) fn dependents(catalog: &Catalog, name: &str) -> Vec<(Target, String)> {
    let mut all = Vec::new();
    if name != "citext" {
        return all;
    }
    let shown = catalog.shown_citext();
    let on = |ty: &Type| match ty {
        Type::Array(_) => format!("type {shown}[]"),
        _ => format!("type {shown}"),
    };
    for table in catalog.tables.iter().flatten() {
        for (id, column) in table.visible() {
            if column.domain.is_none() && is_citext(&column.ty) {
                all.push((Target::Column(table.id, id), on(&column.ty)));
            }
        }
    }
    for ty in catalog.types.iter().flatten() {
        if let TypeKind::Domain(domain) = &ty.kind
            && domain.over.is_none()
            && is_citext(&domain.base)
        {
            all.push((Target::Type(ty.id), on(&domain.base)));
        }
    }
    for p in catalog.procedures.iter().filter(|p| p.current) {
        let result = match &p.returns {
            Returns::Scalar(ty) | Returns::SetOf(ty) => Some(ty),
            _ => None,
        };
        if let Some(ty) = p.parameters.iter().map(|q| &q.ty).chain(result).find(|ty| is_citext(ty)) {
            all.push((Target::Routine(p.id), on(ty)));
        }
    }
    all
}

impl Change {
    pub(super) fn change_extension(&mut self, change: &ExtensionChange) -> Result<&'static str> {
        match change {
            ExtensionChange::Create { name, if_not_exists, schema, version } => {
                self.create_extension(name, *if_not_exists, schema.as_deref(), version.as_deref())
            }
            ExtensionChange::Drop { names, if_exists, cascade } => {
                self.drop_extensions(names, *if_exists, *cascade)
            }
        }
    }

    fn create_extension(
        &mut self,
        name: &str,
        if_not_exists: bool,
        schema: Option<&str>,
        version: Option<&str>,
    ) -> Result<&'static str> {
        const TAG: &str = "CREATE EXTENSION";
        if name == PLPGSQL || self.catalog.extension(name).is_some() {
            let exists =
                Error::new(SqlState::DUPLICATE_OBJECT, format!("extension \"{name}\" already exists"));
            if !if_not_exists {
                return Err(exists);
            }
            self.skip_existing(&exists);
            return Ok(TAG);
        }
        let available = AVAILABLE_EXTENSIONS.iter().find(|e| e.name == name);
        let available = available.ok_or_else(|| no_extension(name))?;
        let version = version.unwrap_or(available.default_version());
        if !available.versions.contains(&version) {
            let message = format!(
                "extension \"{name}\" has no installation script nor update path for version \"{version}\""
            );
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let may = Requirement::new(Object::Database, Privileges::CREATE);
        self.require(&may).map_err(|_| {
            let message = format!("permission denied to create extension \"{name}\"");
            Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .with_hint("Must have CREATE privilege on current database to create this extension.")
        })?;
        let schema = match schema {
            Some(schema) => self.catalog.schema(schema).ok_or_else(|| no_schema(schema))?,
            None => self.catalog.creation_schema()?,
        };
        self.catalog.add_extension(Extension {
            name: name.to_owned(),
            schema,
            version: version.to_owned(),
            owner: self.actor.user,
            comment: Some(available.comment.to_owned()),
        });
        Ok(TAG)
    }

    fn drop_extensions(&mut self, names: &[String], if_exists: bool, cascade: bool) -> Result<&'static str> {
        let mut targets = Vec::new();
        for name in names {
            if name == PLPGSQL {
                let hint = "Routines are written in it.";
                return Err(Error::unsupported("extension \"plpgsql\" cannot be dropped", hint));
            }
            if self.catalog.extension(name).is_none() {
                let missing = no_extension(name);
                if !if_exists {
                    return Err(missing);
                }
                self.skip_missing(&missing);
                continue;
            }
            self.require_extension(name)?;
            let target = Target::Extension(name.clone());
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        self.drop_targets(targets, cascade)?;
        Ok("DROP EXTENSION")
    }

    /// 42501 for who has not made it.
    pub(super) fn require_extension(&self, name: &str) -> Result<()> {
        let owner = self.catalog.extension(name).map(|e| e.owner);
        if owner.is_none_or(|owner| self.is_superuser() || self.catalog.is_member_of(self.actor.user, owner))
        {
            return Ok(());
        }
        Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("must be owner of extension {name}")))
    }

    /// What COMMENT ON EXTENSION is about.
    pub(super) fn commented_extension(&self, name: &str) -> Result<Option<Commented>> {
        if name == PLPGSQL {
            return Ok(None);
        }
        if self.catalog.extension(name).is_none() {
            return Err(no_extension(name));
        }
        self.require_extension(name)?;
        Ok(Some(Commented::Extension(name.to_owned())))
    }
}
