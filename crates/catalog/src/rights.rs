//! Rights: who owns what, and what the owner granted to whom.
//!
//! As in PostgreSQL, an object has an owner and a list of [`Grant`]s, one for each pair of grantee and
//! grantor. No list means the defaults of the object's kind: everything for the owner, and for PUBLIC
//! (everybody) the right to execute routines, to use the schema, and to connect. The owner's own
//! privileges stand in the list too and can be revoked; its right to grant cannot.
//!
//! What a statement needs is a list of [`Requirement`]s, found when it is lowered; [`Catalog::permits`]
//! answers for a role, [`Catalog::require`] with PostgreSQL's error (42501).

use crate::{Catalog, Columns, Definitions, Role, Shared};
use planaria_base::{
    Error, ProcedureId, Result, RoleId, SchemaId, SequenceId, SqlState, TableId, Type, TypeId,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A set of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Privileges(pub u16);

/// Privileges with their words and the letters of PostgreSQL's `aclitem`, in the order in which it
/// prints them.
const WORDS: &[(Privileges, &str, char)] = &[
    (Privileges::INSERT, "INSERT", 'a'),
    (Privileges::SELECT, "SELECT", 'r'),
    (Privileges::UPDATE, "UPDATE", 'w'),
    (Privileges::DELETE, "DELETE", 'd'),
    (Privileges::TRUNCATE, "TRUNCATE", 'D'),
    (Privileges::REFERENCES, "REFERENCES", 'x'),
    (Privileges::TRIGGER, "TRIGGER", 't'),
    (Privileges::EXECUTE, "EXECUTE", 'X'),
    (Privileges::USAGE, "USAGE", 'U'),
    (Privileges::CREATE, "CREATE", 'C'),
    (Privileges::TEMPORARY, "TEMPORARY", 'T'),
    (Privileges::CONNECT, "CONNECT", 'c'),
];

impl Privileges {
    /// The empty set.
    pub const NONE: Privileges = Privileges(0);
    /// INSERT
    pub const INSERT: Privileges = Privileges(1);
    /// SELECT
    pub const SELECT: Privileges = Privileges(1 << 1);
    /// UPDATE
    pub const UPDATE: Privileges = Privileges(1 << 2);
    /// DELETE
    pub const DELETE: Privileges = Privileges(1 << 3);
    /// TRUNCATE
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    /// REFERENCES: foreign keys to the table.
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    /// TRIGGER: kept for clients.
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    /// EXECUTE
    pub const EXECUTE: Privileges = Privileges(1 << 7);
    /// USAGE
    pub const USAGE: Privileges = Privileges(1 << 8);
    /// CREATE
    pub const CREATE: Privileges = Privileges(1 << 9);
    /// TEMPORARY: kept for clients.
    pub const TEMPORARY: Privileges = Privileges(1 << 10);
    /// CONNECT
    pub const CONNECT: Privileges = Privileges(1 << 11);

    /// The privilege of that word, in upper case (`TEMP` is `TEMPORARY`).
    pub fn of_word(word: &str) -> Option<Privileges> {
        let word = if word == "TEMP" { "TEMPORARY" } else { word };
        WORDS.iter().find(|(_, w, _)| *w == word).map(|(p, _, _)| *p)
    }
    /// Whether all of `other` are in it.
    pub fn contains(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether any of `other` is in it.
    pub fn intersects(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }
    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Both.
    pub fn with(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
    /// What is in both.
    pub fn and(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
    /// Without `other`.
    pub fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }
    /// Its words, in the order of `aclitem`.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        WORDS.iter().filter(move |(p, _, _)| self.contains(*p)).map(|(_, w, _)| *w)
    }
}

/// What kind of object rights are on: which privileges there are, and the defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// A sequence.
    Sequence,
    /// A function.
    Function,
    /// A procedure.
    Procedure,
    /// A type.
    Type,
    /// The schema `public`, which is everybody's to use.
    Public,
    /// Another schema.
    Schema,
    /// The database.
    Database,
}

impl ObjectKind {
    /// The word for it in messages.
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::Table => "table",
            ObjectKind::View => "view",
            ObjectKind::Sequence => "sequence",
            ObjectKind::Function => "function",
            ObjectKind::Procedure => "procedure",
            ObjectKind::Type => "type",
            ObjectKind::Public | ObjectKind::Schema => "schema",
            ObjectKind::Database => "database",
        }
    }

    /// All privileges there are on it.
    pub fn all(self) -> Privileges {
        use Privileges as P;
        match self {
            ObjectKind::Table | ObjectKind::View => P::SELECT
                .with(P::INSERT)
                .with(P::UPDATE)
                .with(P::DELETE)
                .with(P::TRUNCATE)
                .with(P::REFERENCES)
                .with(P::TRIGGER),
            ObjectKind::Sequence => P::USAGE.with(P::SELECT).with(P::UPDATE),
            ObjectKind::Function | ObjectKind::Procedure => P::EXECUTE,
            ObjectKind::Type => P::USAGE,
            ObjectKind::Public | ObjectKind::Schema => P::USAGE.with(P::CREATE),
            ObjectKind::Database => P::CREATE.with(P::TEMPORARY).with(P::CONNECT),
        }
    }

    /// What everybody has where nothing was granted or revoked.
    pub fn of_public(self) -> Privileges {
        use Privileges as P;
        match self {
            ObjectKind::Table | ObjectKind::View | ObjectKind::Sequence | ObjectKind::Schema => P::NONE,
            ObjectKind::Function | ObjectKind::Procedure => P::EXECUTE,
            ObjectKind::Public | ObjectKind::Type => P::USAGE,
            ObjectKind::Database => P::TEMPORARY.with(P::CONNECT),
        }
    }
}

/// An object that rights are on.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Object {
    /// A table.
    Table(TableId),
    /// A view, by its [`key`](crate::key).
    View(String),
    /// A sequence.
    Sequence(SequenceId),
    /// A routine.
    Routine(ProcedureId),
    /// A type.
    Type(TypeId),
    /// A schema of users.
    Schema(SchemaId),
    /// The database.
    Database,
}

/// Privileges that `grantor` gave to `grantee`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Grant {
    /// Who has them; `None` is PUBLIC.
    pub grantee: Option<RoleId>,
    /// Who gave them.
    pub grantor: RoleId,
    /// Privileges.
    pub privileges: Privileges,
    /// Those given WITH GRANT OPTION.
    pub options: Privileges,
}

impl Grant {
    /// Whether a role has it or gave it.
    pub fn mentions(&self, role: RoleId) -> bool {
        self.grantee == Some(role) || self.grantor == role
    }
}

/// Owner of an object, and what was granted on it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Rights {
    /// Owner.
    pub owner: RoleId,
    /// What was granted; `None`: the defaults of the object's kind.
    pub grants: Option<Vec<Grant>>,
    /// What was granted on columns of a table or view, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<(String, Vec<Grant>)>,
}

impl Default for Rights {
    /// Of objects of the first superuser: all there were before there were roles.
    fn default() -> Rights {
        Rights::of(crate::SUPERUSER)
    }
}

/// How a REVOKE treats privileges that were granted on with what it takes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dependents {
    /// RESTRICT: 2BP01.
    Restrict,
    /// CASCADE: revoked too.
    Cascade,
}

impl Rights {
    /// Of a new object.
    pub fn of(owner: RoleId) -> Rights {
        Rights { owner, grants: None, columns: Vec::new() }
    }

    /// The grants, defaults made explicit.
    pub fn grants(&self, kind: ObjectKind) -> Cow<'_, [Grant]> {
        match &self.grants {
            Some(grants) => Cow::Borrowed(grants),
            None => {
                let owner = Grant {
                    grantee: Some(self.owner),
                    grantor: self.owner,
                    privileges: kind.all(),
                    options: Privileges::NONE,
                };
                let public = Grant { grantee: None, privileges: kind.of_public(), ..owner };
                let all = [public, owner].into_iter().filter(|g| !g.privileges.is_empty());
                Cow::Owned(all.collect())
            }
        }
    }

    /// Adds privileges. 0LP01 where the right to grant would go round in a circle.
    pub fn grant(&mut self, kind: ObjectKind, new: Grant) -> Result<()> {
        let mut grants = self.grants(kind).into_owned();
        self.add(&mut grants, new)?;
        self.grants = Some(grants);
        Ok(())
    }

    pub(crate) fn add(&self, grants: &mut Vec<Grant>, new: Grant) -> Result<()> {
        if !new.options.is_empty() && new.grantor != self.owner {
            self.check_circle(grants, new)?;
        }
        match grants.iter_mut().find(|g| g.grantee == new.grantee && g.grantor == new.grantor) {
            Some(grant) => {
                grant.privileges = grant.privileges.with(new.privileges);
                grant.options = grant.options.with(new.options);
            }
            None if new.privileges.is_empty() && new.options.is_empty() => {}
            None => grants.push(new),
        }
        Ok(())
    }

    /// Takes away `old.privileges` and the right to grant `old.options`, as far as `old.grantor` gave
    /// them. 2BP01 where others have privileges from that right and are not to lose them.
    pub fn revoke(&mut self, kind: ObjectKind, old: Grant, dependents: Dependents) -> Result<()> {
        let mut grants = self.grants(kind).into_owned();
        self.take(&mut grants, old, dependents)?;
        self.grants = Some(grants);
        Ok(())
    }

    pub(crate) fn take(&self, grants: &mut Vec<Grant>, old: Grant, dependents: Dependents) -> Result<()> {
        let Some(at) = grants.iter().position(|g| g.grantee == old.grantee && g.grantor == old.grantor)
        else {
            return Ok(());
        };
        let lost = grants[at].options.and(old.options);
        grants[at].privileges = grants[at].privileges.without(old.privileges);
        grants[at].options = grants[at].options.without(old.options);
        if grants[at].privileges.is_empty() && grants[at].options.is_empty() {
            grants.remove(at);
        }
        // What was granted on with an option that is gone falls with it.
        let Some(grantee) = old.grantee.filter(|g| *g != self.owner) else { return Ok(()) };
        let still = grants.iter().filter(|g| g.grantee == old.grantee);
        let lost = lost.without(still.fold(Privileges::NONE, |all, g| all.with(g.options)));
        if lost.is_empty() {
            return Ok(());
        }
        let dependent = |g: &Grant| g.grantor == grantee && g.privileges.intersects(lost);
        while let Some(grant) = grants.iter().copied().find(dependent) {
            if dependents == Dependents::Restrict {
                let state = SqlState::DEPENDENT_OBJECTS_STILL_EXIST;
                return Err(Error::new(state, "dependent privileges exist")
                    .with_hint("Use CASCADE to revoke them too."));
            }
            let (privileges, options) = (lost, lost);
            self.take(grants, Grant { privileges, options, ..grant }, dependents)?;
        }
        Ok(())
    }

    /// 0LP01 where the grantor would not have its right to grant without what the grantee gave.
    fn check_circle(&self, grants: &[Grant], new: Grant) -> Result<()> {
        let mut without = grants.to_vec();
        while let Some(grant) = without.iter().copied().find(|g| g.grantee == new.grantee) {
            self.take(&mut without, grant, Dependents::Cascade)?;
        }
        let own = without.iter().filter(|g| g.grantee == Some(new.grantor));
        let own = own.fold(Privileges::NONE, |all, g| all.with(g.options));
        if own.contains(new.options) {
            return Ok(());
        }
        let message = "grant options cannot be granted back to your own grantor";
        Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message))
    }

    /// The new owner takes the place of the old one wherever that stands.
    pub fn change_owner(&mut self, to: RoleId) {
        let from = std::mem::replace(&mut self.owner, to);
        let on_columns = self.columns.iter_mut().map(|(_, grants)| grants);
        for grants in self.grants.iter_mut().chain(on_columns) {
            let mut merged: Vec<Grant> = Vec::new();
            for mut grant in grants.drain(..) {
                if grant.grantee == Some(from) {
                    grant.grantee = Some(to);
                }
                if grant.grantor == from {
                    grant.grantor = to;
                }
                match merged.iter_mut().find(|g| g.grantee == grant.grantee && g.grantor == grant.grantor) {
                    Some(same) => {
                        same.privileges = same.privileges.with(grant.privileges);
                        same.options = same.options.with(grant.options);
                    }
                    None => merged.push(grant),
                }
            }
            *grants = merged;
        }
    }

    /// Whether a role stands in the grants.
    pub fn mentions(&self, role: RoleId) -> bool {
        self.grants.as_ref().is_some_and(|all| all.iter().any(|g| g.mentions(role)))
    }

    /// As PostgreSQL's `aclitem[]` prints the grants: `postgres=arwdDxt/postgres`; `None` for the
    /// defaults.
    pub fn display(&self, catalog: &Catalog) -> Option<Vec<String>> {
        self.grants.as_ref().map(|all| shown_grants(all, catalog))
    }
}

/// Grants as `aclitem[]` prints them.
pub fn shown_grants(grants: &[Grant], catalog: &Catalog) -> Vec<String> {
    grants_with_names(grants, &|role| acl_name(&catalog.role_name(role)))
}

/// The same with roles by these names.
pub fn grants_with_names(grants: &[Grant], name: &dyn Fn(RoleId) -> String) -> Vec<String> {
    let item = |g: &Grant| {
        let grantee = g.grantee.map_or(String::new(), name);
        let mut text = format!("{grantee}=");
        for (p, _, letter) in WORDS.iter().filter(|(p, _, _)| g.privileges.with(g.options).contains(*p)) {
            text.push(*letter);
            if g.options.contains(*p) {
                text.push('*');
            }
        }
        text + "/" + &name(g.grantor)
    };
    grants.iter().map(item).collect()
}

/// A name as `aclitem` prints it.
pub fn acl_name(name: &str) -> String {
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// Privileges on an object that a statement needs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Requirement {
    /// Who needs them: `None` is the role that runs the statement; tables behind a view are read with
    /// the rights of the view's owner.
    pub role: Option<RoleId>,
    /// On what.
    pub object: Object,
    /// Any of these will do.
    pub any_of: Privileges,
    /// The columns that it is needed for.
    pub columns: Columns,
}

impl Requirement {
    /// Of the role that runs the statement.
    pub fn new(object: Object, any_of: Privileges) -> Requirement {
        Requirement { role: None, object, any_of, columns: Columns::Whole }
    }
}

impl Catalog {
    /// The rights on an object; `None` where it is gone.
    pub fn rights(&self, object: &Object) -> Option<&Rights> {
        Some(match object {
            Object::Table(id) => &self.tables.get(id.index())?.as_ref()?.rights,
            Object::View(name) => &self.views.get(name)?.rights,
            Object::Sequence(id) => &self.sequences.get(id.index())?.as_ref()?.rights,
            Object::Routine(id) => &self.procedures.get(id.index())?.rights,
            Object::Type(id) => &self.types.get(id.index())?.as_ref()?.rights,
            Object::Schema(SchemaId::PUBLIC) => &self.schema_rights,
            Object::Schema(id) => &self.schema_by_id(*id)?.rights,
            Object::Database => &self.database_rights,
        })
    }

    /// The same, to be changed.
    pub fn rights_mut(&mut self, object: &Object) -> Option<&mut Rights> {
        Some(match object {
            Object::Table(id) => &mut self.tables.get_mut(id.index())?.as_mut()?.rights,
            Object::View(name) => &mut self.views.get_mut(name)?.rights,
            Object::Sequence(id) => &mut self.sequences.get_mut(id.index())?.as_mut()?.rights,
            Object::Routine(id) => &mut self.procedures.get_mut(id.index())?.rights,
            Object::Type(id) => &mut self.types.get_mut(id.index())?.as_mut()?.rights,
            Object::Schema(SchemaId::PUBLIC) => &mut self.schema_rights,
            Object::Schema(id) => &mut self.schema_mut(*id)?.rights,
            Object::Database => &mut self.database_rights,
        })
    }

    /// All objects that rights are on, about in the order of their making, as PostgreSQL lists them where a
    /// role cannot be dropped. Sequences behind columns stand before their tables.
    pub fn objects(&self) -> Vec<Object> {
        let mut all: Vec<Object> = self.schema_ids().map(Object::Schema).collect();
        all.push(Object::Database);
        let sequences = || self.sequences.iter().flatten().filter(|s| !s.hidden);
        for table in self.tables.iter().flatten() {
            let owned = sequences().filter(|s| s.owner.is_some_and(|(t, _)| t == table.id));
            all.extend(owned.map(|s| Object::Sequence(s.id)));
            all.push(Object::Table(table.id));
        }
        all.extend(sequences().filter(|s| s.owner.is_none()).map(|s| Object::Sequence(s.id)));
        let routines = self.procedures.iter().filter(|p| p.current).map(|p| Object::Routine(p.id));
        all.extend(routines);
        all.extend(self.plain_views().map(|v| Object::View(v.key())));
        all.extend(self.types.iter().flatten().map(|t| Object::Type(t.id)));
        all
    }

    /// Kind of an object.
    pub fn object_kind(&self, object: &Object) -> ObjectKind {
        match object {
            Object::Table(id) if self.is_composite(*id) => ObjectKind::Type,
            Object::Table(_) => ObjectKind::Table,
            Object::View(_) => ObjectKind::View,
            Object::Sequence(_) => ObjectKind::Sequence,
            Object::Routine(id) if self.procedure(*id).is_procedure() => ObjectKind::Procedure,
            Object::Routine(_) => ObjectKind::Function,
            Object::Type(_) => ObjectKind::Type,
            Object::Schema(SchemaId::PUBLIC) => ObjectKind::Public,
            Object::Schema(_) => ObjectKind::Schema,
            Object::Database => ObjectKind::Database,
        }
    }

    /// Whether it is a composite type, which has the rights of a type.
    fn is_composite(&self, id: TableId) -> bool {
        self.tables.get(id.index()).and_then(|t| t.as_ref()).is_some_and(|t| t.composite)
    }

    /// What the rights on a type are on; `None` for a built-in one, and for the row type of a relation.
    pub fn type_with_rights(&self, ty: &Type, domain: Option<TypeId>) -> Option<Object> {
        match ty {
            _ if domain.is_some() => domain.map(Object::Type),
            Type::Enum(of) => self.type_of_oid(of.oid()).map(|ty| Object::Type(ty.id)),
            Type::Record(row) => {
                row.of.as_ref().map(|of| of.table).filter(|id| self.is_composite(*id)).map(Object::Table)
            }
            Type::Array(element) => self.type_with_rights(element, None),
            _ => None,
        }
    }

    /// Name of an object.
    pub fn object_name(&self, object: &Object) -> String {
        match object {
            Object::Table(id) => self.tables[id.index()].as_ref().map_or(String::new(), |t| t.name.clone()),
            Object::View(key) => crate::of_key(key).1.to_owned(),
            Object::Sequence(id) => {
                self.sequences[id.index()].as_ref().map_or(String::new(), |s| s.name.clone())
            }
            Object::Routine(id) => self.procedure(*id).name.clone(),
            Object::Type(id) => self.types[id.index()].as_ref().map_or(String::new(), |t| t.name.clone()),
            Object::Schema(id) => self.schema_name(*id).to_owned(),
            Object::Database => crate::DATABASE.to_owned(),
        }
    }

    /// OID of an object.
    pub fn object_oid(&self, object: &Object) -> planaria_base::oid::Oid {
        match object {
            Object::Table(id) => self.table_oid(*id),
            Object::View(key) => self.views.get(key).map_or(0, |view| self.view_oid(view)),
            Object::Sequence(id) => self.sequence_oid(*id),
            Object::Routine(id) => self.routine_oid(self.procedure(*id)),
            Object::Type(id) => self.type_oid(*id),
            Object::Schema(id) => self.schema_oid(*id),
            Object::Database => crate::oids::DATABASE_OID,
        }
    }

    /// The schema that an object is in.
    pub fn schema_of(&self, object: &Object) -> Option<SchemaId> {
        match object {
            Object::Table(id) => self.tables[id.index()].as_ref().map(|t| t.schema),
            Object::View(key) => Some(crate::of_key(key).0),
            Object::Sequence(id) => self.sequences[id.index()].as_ref().map(|s| s.schema),
            Object::Routine(id) => Some(self.procedure(*id).schema),
            Object::Type(id) => self.types[id.index()].as_ref().map(|t| t.schema),
            Object::Schema(_) | Object::Database => None,
        }
    }

    /// Whether a role may do what the owner may: it is the owner, has its privileges, or is a superuser.
    pub fn owns(&self, role: RoleId, object: &Object) -> bool {
        self.rights(object).is_some_and(|r| self.has_privileges_of(role, r.owner))
    }

    /// 42501 `must be owner of table t`.
    pub fn require_owner(&self, role: RoleId, object: &Object) -> Result<()> {
        if self.owns(role, object) {
            return Ok(());
        }
        let (kind, name) = (self.kind_word(object), self.object_name(object));
        Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("must be owner of {kind} {name}")))
    }

    /// The privileges that a role has on an object.
    pub fn privileges(&self, role: RoleId, object: &Object) -> Privileges {
        let kind = self.object_kind(object);
        let Some(rights) = self.rights(object) else { return Privileges::NONE };
        if self.is_superuser(role) {
            return kind.all();
        }
        let mut all = self.predefined_privileges(role, kind);
        for grant in rights.grants(kind).iter() {
            if grant.grantee.is_none_or(|g| self.has_privileges_of(role, g)) {
                all = all.with(grant.privileges);
            }
        }
        all
    }

    /// The privileges on an object that a role may grant.
    pub fn grant_options(&self, role: RoleId, object: &Object) -> Privileges {
        let kind = self.object_kind(object);
        let Some(rights) = self.rights(object) else { return Privileges::NONE };
        if self.has_privileges_of(role, rights.owner) {
            return kind.all();
        }
        let mut all = Privileges::NONE;
        for grant in rights.grants(kind).iter() {
            if grant.grantee.is_some_and(|g| self.has_privileges_of(role, g)) {
                all = all.with(grant.options);
            }
        }
        all
    }

    /// The role in whose name `role` grants privileges on an object, and those it may grant: the owner
    /// where it can act as that, else the role of its own that may grant most of them.
    pub fn grantor(&self, role: RoleId, object: &Object, wanted: Privileges) -> (RoleId, Privileges) {
        self.grantor_with(role, object, &[], wanted)
    }

    /// The same where grants on a column count, too.
    pub fn grantor_with(
        &self,
        role: RoleId,
        object: &Object,
        more: &[Grant],
        wanted: Privileges,
    ) -> (RoleId, Privileges) {
        let kind = self.object_kind(object);
        let Some(rights) = self.rights(object) else { return (role, Privileges::NONE) };
        if self.has_privileges_of(role, rights.owner) {
            return (rights.owner, kind.all());
        }
        let grants = [&rights.grants(kind), more].concat();
        let direct = |r: RoleId| {
            let own = grants.iter().filter(|g| g.grantee == Some(r));
            own.fold(Privileges::NONE, |all, g| all.with(g.options)).and(wanted)
        };
        let mut best = (role, direct(role));
        for other in self.roles.iter().flatten() {
            let options = direct(other.id);
            if options.0.count_ones() > best.1.0.count_ones() && self.has_privileges_of(role, other.id) {
                best = (other.id, options);
            }
        }
        best
    }

    /// Whether a role (that of the requirement, if it names one) has what is required.
    pub fn permits(&self, role: RoleId, requirement: &Requirement) -> bool {
        let role = requirement.role.unwrap_or(role);
        self.privileges(role, &requirement.object).intersects(requirement.any_of)
            || self.permits_columns(role, requirement)
    }

    /// 42501 `permission denied for table t` where it has not.
    pub fn require(&self, role: RoleId, requirement: &Requirement) -> Result<()> {
        if self.permits(role, requirement) { Ok(()) } else { Err(self.denied(&requirement.object)) }
    }

    /// 42501
    pub fn denied(&self, object: &Object) -> Error {
        let kind = self.kind_word(object);
        let name = match (object, self.object_kind(object)) {
            (Object::Type(id), _) => self.shown_user_type(*id),
            (Object::Table(id), ObjectKind::Type) => {
                let table = self.table_by_id(*id);
                self.shown_type(table.schema, &table.name)
            }
            _ => self.object_name(object),
        };
        Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied for {kind} {name}"))
    }

    fn kind_word(&self, object: &Object) -> &'static str {
        match object {
            Object::Table(id) if self.table_by_id(*id).materialized.is_some() => "materialized view",
            Object::Routine(id) if self.procedure(*id).aggregate.is_some() => "aggregate",
            _ => self.object_kind(object).word(),
        }
    }

    /// The roles a catalog begins with.
    pub(crate) fn first_roles() -> Definitions<Option<Shared<Role>>> {
        [Some(Role::bootstrap().into())].into_iter().collect()
    }
}
