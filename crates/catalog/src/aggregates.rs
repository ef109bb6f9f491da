//! Aggregates that users make: CREATE AGGREGATE.
//!
//! An aggregate is a routine whose body is nothing: it says which functions carry its state from one row to the next, and
//! what becomes of it in the end. They are named as they are in texts that are kept, so a new version of one takes its place.

use crate::{Catalog, Procedure, system};
use planaria_base::oid::Oid;
use planaria_base::{Datum, SchemaId, Type};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// What an aggregate does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregateOf {
    /// The type of its state.
    pub state: Type,
    /// Takes the state and the arguments of a row, answers with the new state.
    pub transition: SupportFunction,
    /// Takes the state, answers with the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<SupportFunction>,
    /// It also takes a NULL for each argument.
    #[serde(default)]
    pub extra: bool,
    /// FINALFUNC_MODIFY, as `pg_aggregate` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modify: Option<char>,
    /// Takes two states: nothing here is computed in parts, so it is only kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub combine: Option<SupportFunction>,
    /// The state at the beginning, as text of its type; `None`: NULL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
    /// SORTOP, only kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// PARALLEL, as `pg_proc` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<char>,
    /// It is called WITHIN GROUP: so many of its arguments stand before that, and its last function takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<u16>,
    /// HYPOTHETICAL, only kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hypothetical: bool,
    /// SSPACE, only kept.
    #[serde(default)]
    pub space: i32,
    /// How it is carried along with a frame that moves. A window computes the same without it, so it is only kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<Box<MovingOf>>,
}

/// MSFUNC and its like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovingOf {
    /// MSTYPE
    pub state: Type,
    /// MSFUNC
    pub transition: SupportFunction,
    /// MINVFUNC
    pub inverse: SupportFunction,
    /// MFINALFUNC
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<SupportFunction>,
    /// MFINALFUNC_EXTRA
    #[serde(default)]
    pub extra: bool,
    /// MFINALFUNC_MODIFY, as `pg_aggregate` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modify: Option<char>,
    /// MINITCOND
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<String>,
    /// MSSPACE
    #[serde(default)]
    pub space: i32,
}

/// A function that an aggregate calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupportFunction {
    /// Its schema; `None`: it is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaId>,
    /// Name.
    pub name: String,
    /// The types that it takes, without modifiers.
    pub types: Vec<Type>,
    /// Of one that is built in: whether it is not called where an argument is NULL.
    #[serde(default)]
    pub strict: bool,
    /// Of one that is built in: its OID.
    #[serde(default)]
    pub oid: Oid,
}

impl SupportFunction {
    /// The routine, of one that is not built in.
    pub fn routine<'c>(&self, catalog: &'c Catalog) -> Option<&'c Procedure> {
        let wanted = (self.schema?, self.name.as_str());
        let mut all = catalog.procedures_named(wanted);
        all.find(|p| p.aggregate.is_none() && p.inputs().map(|q| q.ty.base()).eq(self.types.iter().cloned()))
    }
    /// Whether it is not called where an argument is NULL.
    pub fn is_strict(&self, catalog: &Catalog) -> bool {
        self.routine(catalog).map_or(self.strict, |p| p.strict)
    }
    /// Its OID.
    pub fn oid(&self, catalog: &Catalog) -> Oid {
        self.routine(catalog).map_or(self.oid, |p| catalog.routine_oid(p))
    }
}

impl AggregateOf {
    /// The functions that it calls.
    pub fn functions(&self) -> impl Iterator<Item = &SupportFunction> {
        let moving = self.moving.as_deref();
        let of_moving = moving.map(|m| [Some(&m.transition), Some(&m.inverse), m.last.as_ref()]);
        let own = [Some(&self.transition), self.last.as_ref(), self.combine.as_ref()];
        own.into_iter().chain(of_moving.into_iter().flatten()).flatten()
    }
    /// The types that it is made of: of its state, and those that its functions take.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        let states = std::iter::once(&self.state).chain(self.moving.as_deref().map(|m| &m.state));
        states.chain(self.functions().flat_map(|f| &f.types))
    }
    /// The same, to be changed.
    pub fn types_mut(&mut self) -> impl Iterator<Item = &mut Type> {
        let mut functions = vec![&mut self.transition];
        functions.extend(self.last.as_mut());
        functions.extend(self.combine.as_mut());
        let mut states = vec![&mut self.state];
        if let Some(moving) = self.moving.as_deref_mut() {
            functions.extend([&mut moving.transition, &mut moving.inverse]);
            functions.extend(moving.last.as_mut());
            states.push(&mut moving.state);
        }
        states.into_iter().chain(functions.into_iter().flat_map(|f| &mut f.types))
    }
}

impl AggregateOf {
    /// `aggkind`
    pub fn kind(&self) -> char {
        match self.direct {
            None => 'n',
            Some(_) if self.hypothetical => 'h',
            Some(_) => 'o',
        }
    }
}

impl Procedure {
    /// The word for it where functions, procedures and aggregates are told apart.
    pub fn kind_name(&self) -> &'static str {
        match (&self.aggregate, self.is_procedure()) {
            (Some(_), _) => "aggregate function",
            (None, true) => "procedure",
            (None, false) => "function",
        }
    }
}

/// A function that the system has.
#[derive(Clone, Debug)]
pub struct BuiltInFunction {
    /// Its OID.
    pub oid: Oid,
    /// Name.
    pub name: String,
    /// The types that it takes.
    pub takes: Vec<Oid>,
    /// The type that it answers with.
    pub result: Oid,
    /// Whether it is not called where an argument is NULL.
    pub strict: bool,
    /// The expression of its arguments that it is, where calls do not know it by its name.
    pub expression: Option<&'static str>,
}

/// Functions that calls do not know by their names.
static SUPPORT: LazyLock<Vec<BuiltInFunction>> = LazyLock::new(|| {
    let lines = include_str!("aggregates/support.txt").lines().filter(|line| !line.starts_with('#'));
    let line = |line: &'static str| {
        let mut fields = line.split('\t');
        let oid = fields.next()?.parse().ok()?;
        let name = fields.next()?.to_owned();
        let strict = fields.next()? == "t";
        let result = fields.next()?.parse().ok()?;
        let takes = fields.next()?.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        Some(BuiltInFunction { oid, name, takes, result, strict, expression: fields.next() })
    };
    lines.filter_map(line).collect()
});

/// The name of a function that calls do not know.
pub(crate) fn support_name(oid: Oid) -> Option<&'static str> {
    SUPPORT.iter().find(|f| f.oid == oid).map(|f| f.name.as_str())
}

/// Functions of the system by that name that take as many arguments.
pub fn built_in_functions(name: &str, arguments: usize) -> Vec<BuiltInFunction> {
    let of_support = SUPPORT.iter().filter(|f| f.name == name && f.takes.len() == arguments);
    let mut found: Vec<BuiltInFunction> = of_support.cloned().collect();
    let Some(relation) = system::unqualified("pg_proc") else { return found };
    let column = |name: &str| relation.column(name).expect("a column of pg_proc");
    let [oid, proname, args, result, strict, kind] =
        ["oid", "proname", "proargtypes", "prorettype", "proisstrict", "prokind"].map(column);
    let number = |value: &Datum| if let Datum::Int(n) = value { *n as Oid } else { 0 };
    let is = |value: &Datum, text: &str| matches!(value, Datum::Text(is) if is == text);
    for row in system::fixed_rows(relation.id).iter().filter(|row| is(&row[proname], name)) {
        let takes: Vec<Oid> = match &row[args] {
            Datum::Array(types) => types.iter().map(number).collect(),
            _ => Vec::new(),
        };
        if takes.len() == arguments && is(&row[kind], "f") {
            let strict = row[strict] == Datum::Bool(true);
            let (oid, result) = (number(&row[oid]), number(&row[result]));
            found.push(BuiltInFunction {
                oid,
                name: name.to_owned(),
                takes,
                result,
                strict,
                expression: None,
            });
        }
    }
    found
}

/// The expression of a function that calls do not know by its name.
pub fn support_expression(oid: Oid) -> Option<&'static str> {
    SUPPORT.iter().find(|f| f.oid == oid).and_then(|f| f.expression)
}
