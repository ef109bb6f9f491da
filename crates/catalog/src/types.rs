//! Types that users made: enumerated types and domains.
//!
//! A column of an enumerated type carries the type with its labels ([`planaria_base::enumeration`]); what changes the
//! labels or the name puts the new one wherever the old one stands ([`Catalog::replace_enum`]). A column of a domain has
//! the type that the domain is over, or arrays of it, and the domain beside it ([`crate::Column::domain`]): rows, keys, logs and
//! replay know of the one, and what is stored is held against the conditions of the other.

use crate::definitions::{Defined, Key};
use crate::oids::Object;
use crate::{Catalog, Check, Returns, Rights, Wanted};
use planaria_base::enumeration::Enum;
use planaria_base::{SchemaId, Type, TypeId};
use serde::{Deserialize, Serialize};

/// A type that a user made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserType {
    /// Id.
    pub id: TypeId,
    /// Its schema.
    #[serde(default)]
    pub schema: SchemaId,
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: TypeKind,
    /// Owner, and what was granted.
    pub rights: Rights,
    /// COMMENT ON
    pub comment: Option<String>,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TypeKind {
    /// CREATE TYPE .. AS ENUM
    Enum(Enum),
    /// CREATE DOMAIN
    Domain(Domain),
}

/// A type with conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Domain {
    /// The type of its values, with a modifier where it has one.
    pub base: Type,
    /// The domain that it is over, if that is one.
    pub over: Option<TypeId>,
    /// NOT NULL
    pub not_null: bool,
    /// What a missing value of a column becomes, as SQL text, unless the column says otherwise.
    pub default: Option<String>,
    /// Conditions over `VALUE`, as SQL text, in the order of their names.
    pub checks: Vec<Check>,
}

impl Defined for UserType {
    fn each_key(&self, each: &mut dyn FnMut(Key)) {
        each(Key::name(&self.name));
    }
}

impl UserType {
    /// The type of its values.
    pub fn values(&self) -> Type {
        match &self.kind {
            TypeKind::Enum(of) => Type::Enum(of.clone()),
            TypeKind::Domain(domain) => domain.base.clone(),
        }
    }
    /// It, where it is a domain.
    pub fn domain(&self) -> Option<&Domain> {
        match &self.kind {
            TypeKind::Domain(domain) => Some(domain),
            TypeKind::Enum(_) => None,
        }
    }
}

/// Applies a change to an enumerated type wherever a type has it.
fn each_enum(ty: &mut Type, change: &mut dyn FnMut(&mut Enum)) {
    match ty {
        Type::Enum(of) => change(of),
        Type::Array(of) => each_enum(of, change),
        Type::Record(fields) => fields.iter_mut().for_each(|(_, ty)| each_enum(ty, change)),
        _ => {}
    }
}

/// Whether a type is that enumerated type, or made of it.
pub fn is_made_of(ty: &Type, of: &Enum) -> bool {
    match ty {
        Type::Enum(this) => this == of,
        Type::Array(element) => is_made_of(element, of),
        Type::Record(fields) => fields.iter().any(|(_, ty)| is_made_of(ty, of)),
        _ => false,
    }
}

impl Catalog {
    /// A type of the user's by name.
    pub fn user_type<'n>(&self, wanted: impl Into<Wanted<'n>>) -> Option<&UserType> {
        let Wanted { schema, local } = wanted.into();
        let named = self.types.candidates(Key::name(local)).filter(|t| t.name == local);
        self.nearest(schema, named, |t| t.schema)
    }
    /// The same by id. Panics where it was dropped: ids come from this catalog.
    pub fn type_by_id(&self, id: TypeId) -> &UserType {
        self.types[id.index()].as_ref().expect("a type id of this catalog")
    }
    /// The domain of that id. Panics where it is none.
    pub fn domain(&self, id: TypeId) -> &Domain {
        self.type_by_id(id).domain().expect("a domain's id")
    }
    /// Whether what is declared with the domain and has that type are arrays of the domain. (A domain over arrays has none.)
    pub fn is_array_of(&self, ty: &Type, domain: TypeId) -> bool {
        matches!(ty, Type::Array(_)) && !matches!(self.domain(domain).base, Type::Array(_))
    }
    /// What a missing value of a column becomes because of its domain.
    pub fn default_of_domain(&self, ty: &Type, domain: Option<TypeId>) -> Option<&str> {
        self.domain_default(domain.filter(|id| !self.is_array_of(ty, *id))?)
    }
    /// The domain and those that it is over, the innermost first: in the order in which their conditions are looked at.
    pub fn domains_of(&self, id: TypeId) -> Vec<&UserType> {
        let mut all = vec![self.type_by_id(id)];
        while let Some(over) = all.last().and_then(|t| t.domain()).and_then(|d| d.over) {
            all.push(self.type_by_id(over));
        }
        all.reverse();
        all
    }
    /// What a missing value of a column of the domain becomes, as SQL text, where the column does not say.
    pub fn domain_default(&self, id: TypeId) -> Option<&str> {
        let own = |t: &&UserType| t.domain().is_some_and(|d| d.default.is_some());
        self.domains_of(id).into_iter().rfind(own)?.domain()?.default.as_deref()
    }
    /// OID of a type of the user's.
    pub fn type_oid(&self, id: TypeId) -> planaria_base::oid::Oid {
        self.oids.of(&Object::Type(id))
    }
    /// The type of the user's that has the OID.
    pub fn type_of_oid(&self, oid: planaria_base::oid::Oid) -> Option<&UserType> {
        match self.oids.object(oid)? {
            Object::Type(id) => self.types.get(id.index())?.as_deref(),
            _ => None,
        }
    }

    /// OIDs of a new type and of its arrays, before it is there: an enumerated type has them in itself.
    pub fn give_type_oids(&mut self, id: TypeId) -> (planaria_base::oid::Oid, planaria_base::oid::Oid) {
        self.oids.give(vec![Object::Type(id), Object::TypeArray(id)]);
        (self.oids.of(&Object::Type(id)), self.oids.of(&Object::TypeArray(id)))
    }

    /// Puts an enumerated type in the place of what it was: in its definition, in columns, in routines and in domains.
    pub fn replace_enum(&mut self, id: TypeId, now: &Enum) {
        let mut change = |of: &mut Enum| {
            if of == now {
                *of = now.clone();
            }
        };
        self.tables.change_where(
            |t| t.columns.iter().any(|c| is_made_of(&c.ty, now)),
            |t| {
                for column in t.iter_mut().flat_map(|t| t.columns.iter_mut()) {
                    each_enum(&mut column.ty, &mut change);
                }
            },
        );
        let in_returns =
            |r: &Returns| matches!(r, Returns::Scalar(ty) | Returns::SetOf(ty) if is_made_of(ty, now));
        self.procedures.change_where(
            |p| p.parameters.iter().any(|p| is_made_of(&p.ty, now)) || in_returns(&p.returns),
            |p| {
                p.parameters.iter_mut().for_each(|p| each_enum(&mut p.ty, &mut change));
                if let Returns::Scalar(ty) | Returns::SetOf(ty) = &mut p.returns {
                    each_enum(ty, &mut change);
                }
            },
        );
        self.types.change_where(
            |t| t.domain().is_some_and(|d| is_made_of(&d.base, now)),
            |t| {
                if let Some(TypeKind::Domain(domain)) = t.as_mut().map(|t| &mut t.kind) {
                    each_enum(&mut domain.base, &mut change);
                }
            },
        );
        if let Some(ty) = self.types[id.index()].as_mut() {
            ty.name = now.name().to_owned();
            ty.kind = TypeKind::Enum(now.clone());
        }
    }
}
