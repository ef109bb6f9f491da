//! Roles and rights: CREATE ROLE, GRANT, OWNER TO.

use super::{Name, ObjectKind, Position, TypeName, TypeRef};

/// A role as statements name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleSpec {
    /// Which one.
    pub name: RoleName,
    /// Where it stands.
    pub position: Position,
}

/// Ways to name a role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoleName {
    /// By its name.
    Name(String),
    /// CURRENT_USER, CURRENT_ROLE
    CurrentUser,
    /// SESSION_USER
    SessionUser,
    /// PUBLIC: everybody
    Public,
}

/// An option of CREATE ROLE and ALTER ROLE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoleOption {
    /// SUPERUSER
    Superuser(bool),
    /// INHERIT
    Inherit(bool),
    /// CREATEROLE
    CreateRole(bool),
    /// CREATEDB
    CreateDb(bool),
    /// LOGIN
    Login(bool),
    /// REPLICATION
    Replication(bool),
    /// BYPASSRLS
    BypassRls(bool),
    /// CONNECTION LIMIT
    ConnectionLimit(i32),
    /// VALID UNTIL
    ValidUntil(String, Position),
    /// PASSWORD 'text' (or a verifier), PASSWORD NULL; the range of the literal in the text, so that a
    /// password can be taken out of it
    Password(Option<String>, std::ops::Range<Position>),
    /// IN ROLE: becomes a member of these
    InRole(Vec<RoleSpec>),
    /// ROLE, USER: these become members
    Members(Vec<RoleSpec>),
    /// ADMIN: the same, WITH ADMIN OPTION
    Admins(Vec<RoleSpec>),
}

/// Whose sessions begin with a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DefaultsOf {
    /// ALTER ROLE role | ALL [IN DATABASE name]; `None`: of all roles
    Role(Option<RoleSpec>, Option<(String, Position)>),
    /// ALTER DATABASE name
    Database((String, Position)),
}

/// What they begin with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DefaultsChange {
    /// SET name = value
    Set(String, Vec<String>),
    /// SET name TO DEFAULT, RESET name
    Reset(String),
    /// RESET ALL
    ResetAll,
}

/// What ALTER ROLE changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RoleChange {
    /// Options
    Options(Vec<RoleOption>),
    /// RENAME TO
    Rename(String, Position),
    /// ALTER GROUP .. ADD USER (`true`), DROP USER
    Members(bool, Vec<RoleSpec>),
}

/// A routine by name and, if given, types of its arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct RoutineRef {
    /// Name.
    pub name: Name,
    /// Types of the arguments.
    pub types: Option<Vec<TypeName>>,
    /// PROCEDURE, FUNCTION, or ROUTINE (either).
    pub procedure: Option<bool>,
    /// AGGREGATE; then the types are given.
    pub aggregate: bool,
}

/// What privileges are granted on.
#[derive(Clone, PartialEq, Debug)]
pub enum GrantTarget {
    /// [TABLE] names: tables, views, and sequences for those who say it so
    Relations(Vec<Name>),
    /// SEQUENCE names
    Sequences(Vec<Name>),
    /// FUNCTION | PROCEDURE | ROUTINE
    Routines(Vec<RoutineRef>),
    /// SCHEMA names
    Schemas(Vec<(String, Position)>),
    /// DATABASE names
    Databases(Vec<(String, Position)>),
    /// LANGUAGE names
    Languages(Vec<(String, Position)>),
    /// TYPE names; `true`: DOMAIN names
    Types(Vec<Name>, bool),
    /// ALL TABLES IN SCHEMA
    AllTables(Vec<(String, Position)>),
    /// ALL SEQUENCES IN SCHEMA
    AllSequences(Vec<(String, Position)>),
    /// ALL FUNCTIONS | PROCEDURES | ROUTINES IN SCHEMA
    AllRoutines(Option<bool>, Vec<(String, Position)>),
    /// ALTER DEFAULT PRIVILEGES: what roles will make
    Defaults(DefaultsFor),
}

/// Kinds of objects that ALTER DEFAULT PRIVILEGES knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultsKind {
    /// TABLES
    Tables,
    /// SEQUENCES
    Sequences,
    /// FUNCTIONS, ROUTINES
    Functions,
    /// TYPES
    Types,
    /// SCHEMAS
    Schemas,
}

/// For which objects ALTER DEFAULT PRIVILEGES holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefaultsFor {
    /// ON
    pub kind: DefaultsKind,
    /// FOR ROLE; empty: the current one
    pub roles: Vec<RoleSpec>,
    /// IN SCHEMA; empty: all
    pub schemas: Vec<(String, Position)>,
}

/// A privilege on columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnPrivilege {
    /// The word in upper case; `None` is ALL.
    pub word: Option<String>,
    /// The columns.
    pub columns: Vec<(String, Position)>,
}

/// GRANT and REVOKE of privileges on objects.
#[derive(Clone, PartialEq, Debug)]
pub struct GrantStatement {
    /// REVOKE
    pub revoke: bool,
    /// Words in upper case; `None` is ALL.
    pub privileges: Option<Vec<(String, Position)>>,
    /// Privileges on columns.
    pub on_columns: Vec<ColumnPrivilege>,
    /// On what.
    pub target: GrantTarget,
    /// To or from whom.
    pub grantees: Vec<RoleSpec>,
    /// WITH GRANT OPTION, GRANT OPTION FOR
    pub option: bool,
    /// GRANTED BY
    pub granted_by: Option<RoleSpec>,
    /// CASCADE
    pub cascade: bool,
}

/// An object whose owner is changed.
#[derive(Clone, PartialEq, Debug)]
pub enum OwnedObject {
    /// VIEW, SEQUENCE, INDEX; `bool`: IF EXISTS
    Relation(ObjectKind, Name, bool),
    /// FUNCTION, PROCEDURE, ROUTINE
    Routine(RoutineRef),
    /// TYPE, DOMAIN
    Type(TypeRef),
    /// SCHEMA
    Schema(String, Position),
    /// DATABASE
    Database(String, Position),
}
