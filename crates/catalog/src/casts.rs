//! Conversions between types that users allow: CREATE CAST.
//!
//! Types are named by their OIDs, which stay whatever becomes of their names and labels.

use crate::{Catalog, TypeKind, oids::Object};
use planaria_base::oid::{self, Oid};
use planaria_base::types::CastContext;
use planaria_base::{Type, TypeId};
use serde::{Deserialize, Serialize};

/// A conversion by way of the text of a value: WITH INOUT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserCast {
    /// The OID of the type that is converted.
    pub source: Oid,
    /// The OID of the type that it becomes.
    pub target: Oid,
    /// Where it is done.
    pub context: UserCastContext,
    /// COMMENT ON
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// Where a conversion is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserCastContext {
    /// Where it is asked for.
    Explicit,
    /// Also into a column: AS ASSIGNMENT.
    Assignment,
    /// Wherever it is of use: AS IMPLICIT.
    Implicit,
}

impl UserCastContext {
    /// As `pg_cast` has it.
    pub const fn letter(self) -> char {
        match self {
            UserCastContext::Explicit => 'e',
            UserCastContext::Assignment => 'a',
            UserCastContext::Implicit => 'i',
        }
    }
}

impl Catalog {
    /// The conversion between two types by their OIDs.
    pub fn cast(&self, source: Oid, target: Oid) -> Option<&UserCast> {
        self.casts.iter().find(|c| c.source == source && c.target == target)
    }
    /// Where users allow a value of one type to become one of another.
    pub fn cast_context(&self, source: &Type, target: &Type) -> CastContext {
        if self.casts.is_empty() {
            return CastContext::None;
        }
        match self.cast(oid::of(source), oid::of(target)).map(|c| c.context) {
            None => CastContext::None,
            Some(UserCastContext::Explicit) => CastContext::Explicit,
            Some(UserCastContext::Assignment) => CastContext::Assignment,
            Some(UserCastContext::Implicit) => CastContext::Implicit,
        }
    }
    /// Adds a conversion, which gets an OID.
    pub fn add_cast(&mut self, cast: UserCast) {
        self.oids.give(vec![Object::Cast(cast.source, cast.target)]);
        self.casts.push(cast);
    }
    /// Takes one out.
    pub fn remove_cast(&mut self, source: Oid, target: Oid) {
        self.casts.retain(|c| (c.source, c.target) != (source, target));
        self.oids.take_back(&[Object::Cast(source, target)].into());
    }
    /// The OID of a conversion.
    pub fn cast_oid(&self, cast: &UserCast) -> Oid {
        self.oids.of(&Object::Cast(cast.source, cast.target))
    }
    /// The OID of a domain, or of a type of values.
    pub fn declared_oid(&self, ty: &Type, domain: Option<TypeId>) -> Oid {
        match domain {
            Some(id) if self.is_array_of(ty, id) => self.oids.of(&Object::TypeArray(id)),
            Some(id) => self.type_oid(id),
            None => oid::of(ty),
        }
    }
    /// Whether an OID is a domain's.
    pub fn is_domain_oid(&self, oid: Oid) -> bool {
        self.type_of_oid(oid).is_some_and(|ty| matches!(ty.kind, TypeKind::Domain(_)))
    }
}
