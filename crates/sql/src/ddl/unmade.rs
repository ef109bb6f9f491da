//! Indexes of methods that are not there: they are kept as they were said, and help no query.
//!
//! What PostgreSQL refuses of them is refused: `gin` and its like know few types, by the operator classes that
//! `pg_opclass` has.

use super::Change;
use planaria_base::types::{PackedType, RangeType};
use planaria_base::{ColumnId, Error, Result, SqlState, TableId, Type, oid};
use planaria_catalog::{Index, IndexDefinition, IndexKey, KeyOrder, system};
use planaria_syntax::ast::{CreateIndex, Position};

/// The methods that there are in PostgreSQL.
const METHODS: [&str; 6] = ["btree", "hash", "gin", "gist", "spgist", "brin"];

/// Whether no index of that method is made.
pub(super) fn is_unmade(method: &str) -> bool {
    matches!(method, "gin" | "gist" | "spgist")
}

/// 42704 for a method that there is not, 0A000 for what one cannot do: PostgreSQL's words.
pub(super) fn check_method(create: &CreateIndex) -> Result<()> {
    let Some((method, _)) = &create.method else { return Ok(()) };
    if !METHODS.contains(&method.as_str()) {
        let message = format!("access method \"{method}\" does not exist");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    let ordered = method == "btree";
    let cannot = match method.as_str() {
        _ if create.unique && !ordered => "unique indexes",
        "hash" | "brin" | "gin" if !create.included.is_empty() => "included columns",
        "hash" | "spgist" if create.columns.len() > 1 => "multicolumn indexes",
        _ if ordered => return Ok(()),
        _ if create.orders.iter().any(|o| o.descending) => "ASC/DESC options",
        _ if create.orders.iter().any(|o| o.nulls_first) => "NULLS FIRST/LAST options",
        _ => return Ok(()),
    };
    let message = format!("access method \"{method}\" does not support {cannot}");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// The type that the operator classes of a type are of.
fn of_operators(ty: &Type) -> oid::Oid {
    match oid::of(ty) {
        1043 => 25,
        650 => 869,
        _ if matches!(ty, Type::Array(_)) => 2277,
        _ if matches!(ty, Type::Enum(_)) => 3500,
        of if RangeType::ALL.into_iter().any(|r| oid::of(&Type::Range(r)) == of) => 3831,
        of => of,
    }
}

/// An operator class.
struct Class {
    name: String,
    method: i64,
    takes: i64,
    default: bool,
}

fn classes() -> impl Iterator<Item = Class> {
    let int = |value: &planaria_base::Datum| match value {
        planaria_base::Datum::Int(n) => *n,
        _ => 0,
    };
    let relation = system::unqualified("pg_opclass").expect("a system relation");
    let at = |name: &str| relation.column(name).expect("a column of pg_opclass");
    let places = [at("opcname"), at("opcmethod"), at("opcintype"), at("opcdefault")];
    system::fixed_rows(relation.id).iter().map(move |row| Class {
        name: match &row[places[0]] {
            planaria_base::Datum::Text(name) => name.clone(),
            _ => String::new(),
        },
        method: int(&row[places[1]]),
        takes: int(&row[places[2]]),
        default: row[places[3]] == planaria_base::Datum::Bool(true),
    })
}

/// The OID of a method.
fn method_oid(method: &str) -> i64 {
    match method {
        "hash" => 405,
        "gist" => 783,
        "gin" => 2742,
        "spgist" => 4000,
        "brin" => 3580,
        _ => 403,
    }
}

/// The operator class of a key, if it is not the type's own; 42704 or 42804 where there is none. `loose`: beside keys
/// of other types `gist` has those of `btree_gist`.
pub(super) fn class_of(method: &str, ty: &Type, said: Option<&str>, loose: bool) -> Result<Option<String>> {
    let of_method = || classes().filter(|c| c.method == method_oid(method));
    let takes = i64::from(of_operators(ty));
    let Some(said) = said else {
        if loose || of_method().any(|c| c.default && c.takes == takes) {
            return Ok(None);
        }
        let ty = crate::lower::type_in_message(ty);
        let message = format!("data type {ty} has no default operator class for access method \"{method}\"");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(
            "You must specify an operator class for the index or define a default operator class for the data type.",
        ));
    };
    let name = said.split(' ').next().unwrap_or(said);
    // Those of btree_gist are called by their types.
    if method == "gist" && name.starts_with("gist_") && name != "gist_trgm_ops" {
        return Ok(Some(said.to_owned()));
    }
    let mut named = of_method().filter(|c| c.name == name).peekable();
    if named.peek().is_none() {
        let message = format!("operator class \"{name}\" does not exist for access method \"{method}\"");
        return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
    }
    match named.find(|c| c.takes == takes) {
        Some(class) if class.default && name == said => Ok(None),
        Some(_) => Ok(Some(said.to_owned())),
        None => {
            let message = format!("operator class \"{name}\" does not accept data type {ty}");
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
        }
    }
}

/// Types that `gist` has operators of without `btree_gist`.
fn of_gist(ty: &Type) -> bool {
    use PackedType::{Cidr, Inet, TsQuery, TsVector};
    matches!(ty, Type::Range(_) | Type::Packed(Inet | Cidr | TsVector | TsQuery))
}

/// What conditions such an index is meant for.
fn operators(method: &str, types: &[Type], orders: &[KeyOrder]) -> &'static str {
    let trigrams = orders.iter().any(|o| o.class.as_deref().is_some_and(|c| c.contains("_trgm_ops")));
    let searches =
        types.iter().any(|t| matches!(t, Type::Packed(PackedType::TsVector | PackedType::TsQuery)));
    match method {
        _ if trigrams => "LIKE, ~ and %",
        _ if searches => "@@",
        "gin" if types.contains(&Type::Jsonb) => "@> and ?",
        "gin" => "@> and &&",
        "gist" => "&& and @>",
        _ => "its operators",
    }
}

/// An index to be remembered.
pub(super) struct Remembered<'c> {
    /// The statement.
    pub create: &'c CreateIndex,
    /// Its name.
    pub name: String,
    /// What it is over.
    pub definition: IndexDefinition,
    /// The types of its keys.
    pub types: Vec<Type>,
}

impl Change {
    /// The operator classes of an index that is not made, held against the types of its keys.
    pub(super) fn check_classes(
        &self,
        method: &str,
        orders: &[KeyOrder],
        types: &[(Type, Position)],
    ) -> Result<Vec<KeyOrder>> {
        let loose = method == "gist" && types.iter().any(|(ty, _)| of_gist(ty));
        let mut all = orders.to_vec();
        for (order, (ty, _)) in all.iter_mut().zip(types) {
            match class_of(method, ty, order.class.as_deref(), loose && !of_gist(ty)) {
                Ok(class) => order.class = class,
                // An ordered one took whatever class it was given.
                Err(_) if self.actor.forgets_indexes => order.class = None,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Keeps an index that is not made.
    pub(super) fn remember_index(
        &mut self,
        id: TableId,
        method: &str,
        orders: Vec<KeyOrder>,
        kept: Remembered<'_>,
    ) -> Result<()> {
        let Remembered { create, name, definition, types } = kept;
        // Those of partitions, which nobody has written, are told of with that of their table.
        if create.table.position != 0 {
            let operators = operators(method, &types, &orders);
            let message = format!(
                "index \"{name}\" of method {method} is remembered, but not made: conditions with {operators} read the rows"
            );
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        }
        let mut index = Index::new(name, Vec::new(), false, false);
        index.method = Some(method.to_owned());
        index.options = self.index_parameters(method, &create.parameters)?;
        index.definition = Some(definition);
        index.unmade_types = types;
        if orders.iter().any(|o| *o != KeyOrder::default()) {
            index.orders = orders;
        }
        self.table_mut(id).unmade.push(index);
        if !create.only {
            self.index_partitions(id)?;
        }
        Ok(())
    }

    /// A column gets another type: what is remembered over it must go with that, as what is made has to.
    pub(super) fn retype_unmade(&mut self, id: TableId, place: ColumnId, ty: &Type) -> Result<()> {
        for index in &mut self.table_mut(id).unmade {
            let method = index.shown_method().to_owned();
            let keys = index.definition.iter().flat_map(|d| &d.keys).enumerate();
            let over: Vec<usize> = keys
                .filter(|(_, key)| matches!(key, IndexKey::Column(c) if *c == place))
                .map(|(at, _)| at)
                .collect();
            for at in over {
                let said = index.orders.get(at).and_then(|o| o.class.as_deref());
                let loose = method == "gist" && index.key_count() > 1;
                class_of(&method, ty, said, loose)?;
                index.unmade_types[at] = ty.clone();
            }
        }
        Ok(())
    }
}
