//! ALTER DEFAULT PRIVILEGES: the rights that objects are made with.
//!
//! What a role said for all schemas takes the place of the defaults of the kind of object; what it said for one schema
//! is added to that. The rights are given where an object is made; who changes them later changes no object.

use crate::{Catalog, Dependents, Grant, ObjectKind, Privileges, Rights};
use planaria_base::oid::Oid;
use planaria_base::{Result, RoleId, SchemaId};
use serde::{Deserialize, Serialize};

/// Kinds of objects that have defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DefaultKind {
    /// TABLES: views, too.
    Tables,
    /// SEQUENCES
    Sequences,
    /// FUNCTIONS, ROUTINES: procedures, too.
    Functions,
    /// TYPES
    Types,
    /// SCHEMAS
    Schemas,
}

impl DefaultKind {
    /// That of an object's kind; a database has none.
    pub fn of(kind: ObjectKind) -> Option<DefaultKind> {
        Some(match kind {
            ObjectKind::Table | ObjectKind::View => DefaultKind::Tables,
            ObjectKind::Sequence => DefaultKind::Sequences,
            ObjectKind::Function | ObjectKind::Procedure => DefaultKind::Functions,
            ObjectKind::Type => DefaultKind::Types,
            ObjectKind::Schema | ObjectKind::Public => DefaultKind::Schemas,
            ObjectKind::Database => return None,
        })
    }
    /// A kind of object that it is of.
    pub fn object(self) -> ObjectKind {
        match self {
            DefaultKind::Tables => ObjectKind::Table,
            DefaultKind::Sequences => ObjectKind::Sequence,
            DefaultKind::Functions => ObjectKind::Function,
            DefaultKind::Types => ObjectKind::Type,
            DefaultKind::Schemas => ObjectKind::Schema,
        }
    }
    /// Its letter in `pg_default_acl`.
    pub fn letter(self) -> char {
        match self {
            DefaultKind::Tables => 'r',
            DefaultKind::Sequences => 'S',
            DefaultKind::Functions => 'f',
            DefaultKind::Types => 'T',
            DefaultKind::Schemas => 'n',
        }
    }
    /// What they are called in messages.
    pub fn word(self) -> &'static str {
        match self {
            DefaultKind::Tables => "relations",
            DefaultKind::Sequences => "sequences",
            DefaultKind::Functions => "functions",
            DefaultKind::Types => "types",
            DefaultKind::Schemas => "schemas",
        }
    }
}

/// Rights of what a role will make.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DefaultRights {
    /// Its OID.
    pub oid: Oid,
    /// Who makes it.
    pub role: RoleId,
    /// In which schema; `None`: in any.
    pub schema: Option<SchemaId>,
    /// Which kind.
    pub kind: DefaultKind,
    /// In a schema: what is granted besides.
    pub grants: Vec<Grant>,
}

impl DefaultRights {
    /// Whether a role stands in its grants.
    pub fn mentions(&self, role: RoleId) -> bool {
        self.grants.iter().any(|g| g.mentions(role))
    }
}

impl Catalog {
    fn default_rights_of(
        &self,
        role: RoleId,
        schema: Option<SchemaId>,
        kind: DefaultKind,
    ) -> Option<&DefaultRights> {
        self.default_rights.iter().find(|d| (d.role, d.schema, d.kind) == (role, schema, kind))
    }

    /// The rights of a new object.
    pub fn rights_of_new(&self, owner: RoleId, kind: ObjectKind, schema: Option<SchemaId>) -> Rights {
        let plain = Rights::of(owner);
        let Some(of) = DefaultKind::of(kind).filter(|_| !self.default_rights.is_empty()) else {
            return plain;
        };
        let anywhere = self.default_rights_of(owner, None, of);
        let here = schema.and_then(|schema| self.default_rights_of(owner, Some(schema), of));
        if anywhere.is_none() && here.is_none() {
            return plain;
        }
        let usual = plain.grants(kind).into_owned();
        let mut grants = anywhere.map_or_else(|| usual.clone(), |d| d.grants.clone());
        for grant in here.iter().flat_map(|d| &d.grants) {
            // Nothing goes in a circle: all of it is the owner's to give.
            match grants.iter_mut().find(|g| g.grantee == grant.grantee && g.grantor == grant.grantor) {
                Some(same) => {
                    same.privileges = same.privileges.with(grant.privileges);
                    same.options = same.options.with(grant.options);
                }
                None => grants.push(*grant),
            }
        }
        grants.sort_by_key(|g| (g.grantee, g.grantor));
        // With nothing in it, PostgreSQL takes it for what is usual.
        let grants = (!grants.is_empty() && !same(&grants, &usual)).then_some(grants);
        Rights { grants, ..plain }
    }

    /// ALTER DEFAULT PRIVILEGES: grants, or takes away, for what a role will make.
    pub fn change_default_rights(
        &mut self,
        (role, schema, kind): (RoleId, Option<SchemaId>, DefaultKind),
        grant: Grant,
        revoke: Option<Dependents>,
    ) -> Result<()> {
        let owner = Rights::of(role);
        let usual = match schema {
            Some(_) => Vec::new(),
            None => owner.grants(kind.object()).into_owned(),
        };
        let known = self.default_rights_of(role, schema, kind);
        let oid = known.map(|d| d.oid);
        let mut grants = known.map_or_else(|| usual.clone(), |d| d.grants.clone());
        match revoke {
            None => owner.add(&mut grants, grant)?,
            Some(dependents) => owner.take(&mut grants, grant, dependents)?,
        }
        self.default_rights.retain(|d| Some(d.oid) != oid);
        if !same(&grants, &usual) {
            let oid = oid.unwrap_or_else(|| self.oids.fresh());
            self.default_rights.push(DefaultRights { oid, role, schema, kind, grants });
            self.default_rights.sort_by_key(|d| d.oid);
        }
        Ok(())
    }

    /// A role is gone from all defaults: what it makes, and what it was to be granted.
    pub fn forget_default_rights(&mut self, role: RoleId) {
        self.default_rights.retain(|d| d.role != role);
        for defaults in &mut self.default_rights {
            defaults.grants.retain(|g| !g.mentions(role));
        }
        let usual = |d: &DefaultRights| match d.schema {
            Some(_) => Vec::new(),
            None => Rights::of(d.role).grants(d.kind.object()).into_owned(),
        };
        self.default_rights.retain(|d| !same(&d.grants, &usual(d)));
    }
}

/// Whether two lists grant the same, in whatever order.
fn same(a: &[Grant], b: &[Grant]) -> bool {
    let none = |g: &&Grant| g.privileges == Privileges::NONE && g.options == Privileges::NONE;
    let within = |a: &[Grant], b: &[Grant]| a.iter().filter(|g| !none(g)).all(|g| b.contains(g));
    within(a, b) && within(b, a)
}
