//! Schemas, and where a name that says none is looked for.
//!
//! A catalog is looked at *from somewhere*: along a [`SearchPath`], the one of a session
//! ([`Catalog::along`]). What is kept as text (views, defaults, checks) was written down with names that mean the
//! same from [home](Catalog::home), where the path is `public` alone: it means what it meant, whoever reads it.

use crate::definitions::{Defined, Key};
use crate::{Catalog, Object, PUBLIC, Privileges, Procedure, Rights};
use planaria_base::oid::Oid;
use planaria_base::{Error, Result, SchemaId, SqlState};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// A schema beside `public`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Id, from 1.
    pub id: SchemaId,
    /// Name.
    pub name: String,
    /// Owner, and what was granted.
    pub rights: Rights,
    /// COMMENT ON
    pub comment: Option<String>,
}

impl Defined for Schema {
    fn each_key(&self, each: &mut dyn FnMut(Key)) {
        each(Key::name(&self.name));
    }
}

/// What a statement calls a thing: a name, in a schema or wherever the path leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wanted<'n> {
    /// Where it is; `None`: in the first schema of the path that has it.
    pub schema: Option<SchemaId>,
    /// Its name there.
    pub local: &'n str,
}

impl std::fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.local)
    }
}
impl<'n> From<&'n str> for Wanted<'n> {
    fn from(local: &'n str) -> Self {
        Wanted { schema: None, local }
    }
}
impl<'n> From<&'n String> for Wanted<'n> {
    fn from(local: &'n String) -> Self {
        Wanted { schema: None, local }
    }
}
impl<'n> From<(SchemaId, &'n str)> for Wanted<'n> {
    fn from((schema, local): (SchemaId, &'n str)) -> Self {
        Wanted { schema: Some(schema), local }
    }
}

/// Schemas in the order in which names are looked for in them. `pg_catalog` stands before them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SearchPath {
    schemas: Arc<[SchemaId]>,
    /// Where new things are made that name no schema.
    creates_in: Option<SchemaId>,
    /// That of the session's temporary relations, where it has some. It stands first.
    temporary: Option<SchemaId>,
    /// Changes of another server are applied there: `session_replication_role`.
    replica: bool,
}

impl SearchPath {
    /// A path; new things are made in its first schema.
    pub fn new(schemas: impl IntoIterator<Item = SchemaId>) -> SearchPath {
        let schemas: Arc<[SchemaId]> = schemas.into_iter().collect();
        SearchPath { creates_in: schemas.first().copied(), schemas, temporary: None, replica: false }
    }
    /// The same with a schema of temporary relations before all others.
    pub fn with_temporary(self, temporary: SchemaId) -> SearchPath {
        let others = self.schemas.iter().copied().filter(|id| *id != temporary);
        SearchPath {
            schemas: std::iter::once(temporary).chain(others).collect(),
            creates_in: self.creates_in,
            temporary: Some(temporary),
            replica: self.replica,
        }
    }
    /// The same where changes of another server are applied, or not.
    pub fn as_replica(self, replica: bool) -> SearchPath {
        SearchPath { replica, ..self }
    }
    /// Whether they are.
    pub fn is_replica(&self) -> bool {
        self.replica
    }
    /// The same with it behind so many others.
    fn with_temporary_at(self, temporary: SchemaId, at: usize) -> SearchPath {
        let mut schemas: Vec<SchemaId> = self.schemas.iter().copied().filter(|id| *id != temporary).collect();
        schemas.insert(at.min(schemas.len()), temporary);
        SearchPath {
            schemas: schemas.into(),
            creates_in: self.creates_in,
            temporary: Some(temporary),
            replica: self.replica,
        }
    }
    /// The schema of the session's temporary relations.
    pub fn temporary(&self) -> Option<SchemaId> {
        self.temporary
    }
    /// Its schemas.
    pub fn schemas(&self) -> &[SchemaId] {
        &self.schemas
    }
    /// Whether it is `public` alone.
    pub fn is_home(&self) -> bool {
        *self.schemas == [SchemaId::PUBLIC] && !self.replica
    }
    /// Where a schema stands in it.
    pub fn rank(&self, schema: SchemaId) -> Option<usize> {
        self.schemas.iter().position(|s| *s == schema)
    }
}

impl Default for SearchPath {
    fn default() -> SearchPath {
        SearchPath::new([SchemaId::PUBLIC])
    }
}

/// What sessions call the schema of their temporary relations.
pub const TEMPORARY: &str = "pg_temp";

/// The name of a session's schema of temporary relations.
pub fn temporary_schema(session: u32) -> String {
    format!("{TEMPORARY}_{session}")
}

impl Schema {
    /// Whether it is one of a session's temporary relations.
    pub fn is_temporary(&self) -> bool {
        self.name.strip_prefix(TEMPORARY).is_some_and(|rest| rest.starts_with('_'))
    }
}

/// Where a catalog is looked at from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    path: SearchPath,
    /// The same catalog from home, where this is not.
    home: Option<Arc<Catalog>>,
}

/// It is no part of what there is.
impl PartialEq for Scope {
    fn eq(&self, _: &Scope) -> bool {
        true
    }
}

/// What tells relations, and routines with their types, apart: the name, for those of `public`; for others with the
/// schema's number and a zero byte before it, which no name has.
pub fn key(schema: SchemaId, name: &str) -> String {
    if schema == SchemaId::PUBLIC { name.to_owned() } else { format!("{}\0{name}", schema.0) }
}

/// Schema and name of a [`key`].
pub fn of_key(key: &str) -> (SchemaId, &str) {
    match key.split_once('\0') {
        Some((schema, name)) => (schema.parse().map_or(SchemaId::PUBLIC, SchemaId), name),
        None => (SchemaId::PUBLIC, key),
    }
}

/// A table, view, sequence or index, or one's parts, as one that is there: with its schema.
impl<'n> From<&'n crate::Table> for Wanted<'n> {
    fn from(table: &'n crate::Table) -> Self {
        Wanted { schema: Some(table.schema), local: &table.name }
    }
}

/// 3F000
pub fn no_schema(name: &str) -> Error {
    Error::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{name}\" does not exist"))
}

/// The names of a path's text: folded unless quoted.
pub fn path_names(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let name = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut name = String::new();
                let mut end = quoted.len();
                let mut chars = quoted.char_indices().peekable();
                while let Some((at, c)) = chars.next() {
                    match c {
                        '"' if chars.next_if(|(_, c)| *c == '"').is_some() => name.push('"'),
                        '"' => {
                            end = at + 1;
                            break;
                        }
                        c => name.push(c),
                    }
                }
                rest = &quoted[end..];
                name
            }
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let name = rest[..end].trim().to_lowercase();
                rest = &rest[end..];
                name
            }
        };
        all.push(name);
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    all
}

impl Catalog {
    /// The path that a routine has of its own, for a session whose schema of temporary relations the path here has. In it
    /// are the schemas that are there; of one with SECURITY DEFINER those that its owner may use.
    pub fn own_path(&self, routine: &Procedure) -> Option<SearchPath> {
        let routine = match self.trigger_of(routine) {
            Some((_, trigger, _)) => self.procedure(trigger.function),
            None => routine,
        };
        let text = routine.setting("search_path")?;
        let (mut schemas, mut temporary_at): (Vec<SchemaId>, Option<usize>) = (Vec::new(), None);
        for name in path_names(text) {
            if name == TEMPORARY {
                temporary_at.get_or_insert(schemas.len());
                continue;
            }
            let owner = routine.rights.owner;
            let name = if name == "$user" { self.role_name(owner).to_string() } else { name };
            let Some(id) = self.schema(&name) else { continue };
            let usable = !routine.security_definer
                || self.privileges(owner, &Object::Schema(id)).intersects(Privileges::USAGE);
            if usable && !schemas.contains(&id) {
                schemas.push(id);
            }
        }
        let path = SearchPath::new(schemas).as_replica(self.path().is_replica());
        Some(match self.path().temporary() {
            Some(temporary) => path.with_temporary_at(temporary, temporary_at.unwrap_or(0)),
            None => path,
        })
    }
    /// The same definitions, looked at along a path.
    pub fn along(&self, path: &SearchPath) -> Catalog {
        let mut catalog = self.clone();
        let home = (!path.is_home()).then(|| {
            let mut home = self.clone();
            home.scope = Scope::default();
            Arc::new(home)
        });
        catalog.scope = Scope { path: path.clone(), home };
        catalog
    }
    /// The same definitions from home, whether or not they are about to change.
    pub fn at_home(&self) -> Cow<'_, Catalog> {
        match self.path().is_home() {
            true => Cow::Borrowed(self),
            false => Cow::Owned(self.along(&SearchPath::default())),
        }
    }
    /// The same along the path that it has, as it is needed where texts are bound that it keeps.
    pub fn ready(&self) -> Cow<'_, Catalog> {
        match self.path().is_home() || self.scope.home.is_some() {
            true => Cow::Borrowed(self),
            false => Cow::Owned(self.along(self.path())),
        }
    }
    /// Sets the path alone, where definitions are about to change.
    pub fn set_path(&mut self, path: &SearchPath) {
        self.scope = Scope { path: path.clone(), home: None };
    }
    /// The path.
    pub fn path(&self) -> &SearchPath {
        &self.scope.path
    }
    /// The same definitions as those see them that are kept as text.
    pub fn home(&self) -> &Catalog {
        self.scope.home.as_deref().unwrap_or(self)
    }

    /// A schema of users by name; `public` among them.
    pub fn schema(&self, name: &str) -> Option<SchemaId> {
        if name == PUBLIC {
            return Some(SchemaId::PUBLIC);
        }
        if name == TEMPORARY {
            return self.path().temporary();
        }
        self.schemas.candidates(Key::name(name)).find(|s| s.name == name).map(|s| s.id)
    }
    /// A schema beside `public` by its id.
    pub fn schema_by_id(&self, id: SchemaId) -> Option<&Schema> {
        self.schemas.get(id.index().checked_sub(1)?)?.as_deref()
    }
    /// The same, to be changed.
    pub fn schema_mut(&mut self, id: SchemaId) -> Option<&mut Schema> {
        self.schemas.get_mut(id.index().checked_sub(1)?)?.as_deref_mut()
    }
    /// The id of the next schema that is made.
    pub fn next_schema(&self) -> SchemaId {
        SchemaId::from(self.schemas.len() + 1)
    }
    /// The name of a schema.
    pub fn schema_name(&self, id: SchemaId) -> &str {
        self.schema_by_id(id).map_or(PUBLIC, |s| &s.name)
    }
    /// All schemas of users.
    pub fn schema_ids(&self) -> impl Iterator<Item = SchemaId> {
        std::iter::once(SchemaId::PUBLIC).chain(self.schemas.definitions().map(|s| s.id))
    }
    /// Whether a schema is one of a session's temporary relations.
    pub fn is_temporary(&self, id: SchemaId) -> bool {
        self.schema_by_id(id).is_some_and(Schema::is_temporary)
    }
    /// OID of a schema.
    pub fn schema_oid(&self, id: SchemaId) -> Oid {
        match id {
            SchemaId::PUBLIC => planaria_base::oid::PUBLIC,
            id => self.oids.of(&crate::oids::Object::Schema(id)),
        }
    }

    /// Of things of one name, the one that is meant.
    pub(crate) fn nearest<'c, T>(
        &self,
        schema: Option<SchemaId>,
        found: impl Iterator<Item = &'c T>,
        of: impl Fn(&T) -> SchemaId,
    ) -> Option<&'c T> {
        let ranked = found.filter_map(|t| {
            let rank = match schema {
                Some(schema) => (of(t) == schema).then_some(0),
                None => self.path().rank(of(t)),
            };
            rank.map(|rank| (rank, t))
        });
        ranked.min_by_key(|(rank, _)| *rank).map(|(_, t)| t)
    }

    /// A relation's name where it is: with the first schema of the path that has a relation of that name, whatever kind.
    pub fn located<'n>(&self, wanted: Wanted<'n>) -> Wanted<'n> {
        if wanted.schema.is_some() || self.path().schemas().len() < 2 {
            return wanted;
        }
        let mut schemas = self.path().schemas().iter();
        let found = schemas.find(|s| self.relation_exists((**s, wanted.local)));
        Wanted { schema: found.copied(), ..wanted }
    }

    /// A name as it is shown: with its schema, unless it is found without.
    pub fn shown(&self, schema: SchemaId, name: &str, found: Option<SchemaId>) -> String {
        use planaria_base::text_io::quote_ident;
        if found == Some(schema) {
            return quote_ident(name);
        }
        format!("{}.{}", quote_ident(self.schema_name(schema)), quote_ident(name))
    }
    /// Of a relation.
    pub fn shown_relation(&self, schema: SchemaId, name: &str) -> String {
        let hidden = crate::system::unqualified(name).is_some();
        let mut path = self.path().schemas().iter().copied();
        let found = path.find(|s| self.relation_exists((*s, name))).filter(|_| !hidden);
        self.shown(schema, name, found)
    }
    /// Of a type, or of the row type of a relation.
    pub fn shown_type(&self, schema: SchemaId, name: &str) -> String {
        let mut path = self.path().schemas().iter().copied();
        let has = |s: &SchemaId| {
            let wanted = (*s, name);
            self.user_type(wanted).is_some() || self.of_rows(wanted).is_some() || self.view(wanted).is_some()
        };
        let found = path.find(has).filter(|_| planaria_base::types::SystemType::by_name(name).is_none());
        self.shown(schema, name, found)
    }
    /// Of a type of the user's.
    pub fn shown_user_type(&self, id: planaria_base::TypeId) -> String {
        let ty = self.type_by_id(id);
        self.shown_type(ty.schema, &ty.name)
    }
    /// Of the type of a value.
    pub fn shown_value_type(&self, ty: &planaria_base::Type) -> String {
        use planaria_base::Type;
        match ty {
            Type::Enum(of) => match self.type_of_oid(of.oid()) {
                Some(ty) => self.shown_user_type(ty.id),
                None => ty.to_string(),
            },
            Type::Citext => self.shown_citext(),
            Type::Record(row) => {
                match row.of.as_ref().and_then(|of| self.tables.get(of.table.index())?.as_ref()) {
                    Some(table) => self.shown_type(table.schema, &table.name),
                    None => ty.to_string(),
                }
            }
            Type::Array(of) if matches!(**of, Type::Enum(_) | Type::Citext | Type::Record(_)) => {
                format!("{}[]", self.shown_value_type(of))
            }
            ty => ty.to_string(),
        }
    }
    /// The same type, called in messages as it is found along the path.
    pub fn as_shown(&self, ty: &planaria_base::Type) -> planaria_base::Type {
        use planaria_base::Type;
        match ty {
            Type::Enum(of) if !self.path().is_home() => match self.type_of_oid(of.oid()) {
                Some(is) => {
                    let alone = self.shown_user_type(is.id) == planaria_base::text_io::quote_ident(&is.name);
                    Type::Enum(of.within((!alone).then(|| self.schema_name(is.schema))))
                }
                None => ty.clone(),
            },
            Type::Array(of) => Type::Array(Box::new(self.as_shown(of))),
            ty => ty.clone(),
        }
    }
    /// Of a routine, with the types that it takes.
    pub fn shown_signature(&self, routine: &crate::Procedure) -> String {
        let shown = |p: &crate::Parameter| match p.domain {
            Some(id) if self.is_array_of(&p.ty, id) => format!("{}[]", self.shown_user_type(id)),
            Some(id) => self.shown_user_type(id),
            None => self.shown_value_type(&p.ty),
        };
        let types: Vec<String> = routine.inputs().map(shown).collect();
        format!("{}({})", self.shown_routine(routine), types.join(","))
    }
    /// Of a routine.
    pub fn shown_routine(&self, routine: &crate::Procedure) -> String {
        // A version that was replaced is called as the one that took its place.
        let types = |p: &crate::Procedure| p.inputs().map(|p| p.ty.clone()).collect::<Vec<_>>();
        let is = |p: &crate::Procedure| {
            p.id == routine.id || p.schema == routine.schema && types(p) == types(routine)
        };
        let found = self.procedures_named(&routine.name).any(is);
        self.shown(routine.schema, &routine.name, found.then_some(routine.schema))
    }

    /// 3F000 where a new thing names no schema, and the path leads nowhere.
    pub fn creation_schema(&self) -> Result<SchemaId> {
        self.path().creates_in.ok_or_else(|| {
            Error::new(SqlState::INVALID_SCHEMA_NAME, "no schema has been selected to create in")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_apart() {
        for (schema, name) in [(SchemaId::PUBLIC, "a.b"), (SchemaId(12), "a"), (SchemaId(1), "")] {
            assert_eq!(of_key(&key(schema, name)), (schema, name));
        }
        assert_eq!(key(SchemaId::PUBLIC, "t"), "t");
    }

    #[test]
    fn names_of_paths() {
        use super::path_names as names;
        assert_eq!(names("\"$user\", public"), ["$user", "public"]);
        assert_eq!(names("A, \"B\"\"c\" , \"d,e\""), ["a", "B\"c", "d,e"]);
        assert_eq!(names("\"\""), [""]);
        assert!(names("").is_empty());
        assert_eq!(names("a,"), ["a"]);
        assert_eq!(names("\"a"), ["a"]);
    }
}
