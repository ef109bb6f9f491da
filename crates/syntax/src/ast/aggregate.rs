//! CREATE AGGREGATE.

use super::{Name, Position, RoutineParameter, RoutineRef, TypeName};

/// What CREATE AGGREGATE says of frames that move.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MovingAggregate {
    /// MSTYPE
    pub state: Option<TypeName>,
    /// MSFUNC
    pub transition: Option<Name>,
    /// MINVFUNC
    pub inverse: Option<Name>,
    /// MFINALFUNC
    pub last: Option<Name>,
    /// MFINALFUNC_EXTRA
    pub extra: bool,
    /// MFINALFUNC_MODIFY, lower case
    pub modify: Option<String>,
    /// MINITCOND
    pub initial: Option<String>,
    /// MSSPACE
    pub space: Option<i64>,
}

/// CREATE AGGREGATE
#[derive(Clone, PartialEq, Debug)]
pub struct CreateAggregate {
    /// Name.
    pub name: Name,
    /// OR REPLACE
    pub or_replace: bool,
    /// Its arguments, none for `*`; `None`: `basetype` says what they are.
    pub parameters: Option<Vec<RoutineParameter>>,
    /// How many of them stand before ORDER BY, of one that is called WITHIN GROUP.
    pub direct: Option<usize>,
    /// HYPOTHETICAL
    pub hypothetical: bool,
    /// BASETYPE; `Some(None)`: ANY
    pub basetype: Option<Option<TypeName>>,
    /// SFUNC
    pub transition: Option<Name>,
    /// STYPE
    pub state: Option<TypeName>,
    /// FINALFUNC
    pub last: Option<Name>,
    /// FINALFUNC_EXTRA
    pub extra: bool,
    /// FINALFUNC_MODIFY, lower case
    pub modify: Option<String>,
    /// COMBINEFUNC
    pub combine: Option<Name>,
    /// INITCOND
    pub initial: Option<String>,
    /// SORTOP
    pub sort: Option<String>,
    /// PARALLEL, lower case
    pub parallel: Option<String>,
    /// SSPACE
    pub space: Option<i64>,
    /// MSFUNC and its like: for frames that move.
    pub moving: MovingAggregate,
    /// Attributes that there are not.
    pub unknown: Vec<String>,
    /// What is not supported.
    pub unsupported: Option<(String, Position)>,
}

impl CreateAggregate {
    /// Without attributes.
    pub fn of(name: Name, or_replace: bool) -> CreateAggregate {
        CreateAggregate {
            name,
            or_replace,
            parameters: None,
            direct: None,
            hypothetical: false,
            basetype: None,
            transition: None,
            state: None,
            last: None,
            extra: false,
            modify: None,
            combine: None,
            initial: None,
            sort: None,
            parallel: None,
            space: None,
            moving: MovingAggregate::default(),
            unknown: Vec::new(),
            unsupported: None,
        }
    }
}

/// CREATE AGGREGATE, DROP AGGREGATE
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
#[allow(clippy::large_enum_variant, reason = "a statement has it in a box")]
pub enum AggregateChange {
    /// CREATE
    Create(CreateAggregate),
    /// DROP
    Drop { aggregates: Vec<RoutineRef>, if_exists: bool, cascade: bool },
}
