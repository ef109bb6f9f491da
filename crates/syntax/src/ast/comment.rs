//! COMMENT ON.

use super::{CastTypes, Name, ObjectKind, Position, RoleSpec, RoutineRef, TypeRef};

/// What a comment is to stand on.
#[derive(Clone, PartialEq, Debug)]
pub enum CommentTarget {
    /// TABLE, INDEX, VIEW, SEQUENCE
    Relation(ObjectKind, Name),
    /// COLUMN relation.column
    Column(Name),
    /// CONSTRAINT name ON table
    Constraint(String, Name),
    /// CONSTRAINT name ON DOMAIN domain
    DomainConstraint(String, Name),
    /// TRIGGER name ON table
    Trigger(String, Name),
    /// POLICY name ON table
    Policy(String, Name),
    /// TYPE, DOMAIN
    Type(TypeRef),
    /// FUNCTION, PROCEDURE, ROUTINE
    Routine(RoutineRef),
    /// CAST (source AS target)
    Cast(Box<CastTypes>),
    /// STATISTICS
    Statistics(Name),
    /// EXTENSION
    Extension(String),
    /// ROLE
    Role(RoleSpec),
    /// SCHEMA
    Schema(String, Position),
    /// DATABASE
    Database(String),
}
