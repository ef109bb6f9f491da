//! Indexes: their keys, what they are over, and the constraints that rest on them.
//!
//! Column types and rows are the tables' business; an index names columns by their places.

use crate::{CheckTime, Table};
use planaria_base::{ColumnId, Type};
use serde::{Deserialize, Serialize};

/// An index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Name, unique in the database.
    pub name: String,
    /// Key columns in order.
    pub columns: Vec<ColumnId>,
    /// At most one row per key (NULLs are distinct).
    pub unique: bool,
    /// NULLS NOT DISTINCT: also of NULLs.
    #[serde(default)]
    pub equal_nulls: bool,
    /// Made by a UNIQUE or PRIMARY KEY constraint of the same name.
    pub constraint: bool,
    /// How the columns were said to be ordered; empty where nothing was said. Shown, and of no other
    /// consequence: an index is read in both directions.
    #[serde(default)]
    pub orders: Vec<KeyOrder>,
    /// What it is, where that is more than its columns.
    #[serde(default)]
    pub definition: Option<IndexDefinition>,
    /// Made by an EXCLUDE constraint of the same name, which rests on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusion: Option<Exclusion>,
    /// Of the engine's own: over the partition key of a partitioned table. Nobody sees it or names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// The method that it was said to be of, if not `btree`: shown, and of no other consequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Of one that is only remembered ([`Table::unmade`](crate::Table::unmade)): the types of its keys as they were when it was
    /// made. It has no [`Index::columns`], its keys are those of its definition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmade_types: Vec<Type>,
    /// ALTER TABLE .. CLUSTER ON: shown, and of no other consequence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clustered: bool,
    /// Storage parameters, `name=value`: shown, and of no other consequence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// SET STATISTICS of keys that are expressions, by the number of the key: shown, and of no other consequence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statistics: Vec<(u16, i16)>,
    /// COMMENT ON INDEX
    #[serde(default)]
    pub comment: Option<String>,
    /// COMMENT ON CONSTRAINT
    #[serde(default)]
    pub constraint_comment: Option<String>,
}

/// An EXCLUDE constraint: no two rows for whose keys all of its operators are true. The keys are those of its index, the ones
/// that must be equal first; a condition is that of the index, too, so that a row that does not meet it has a NULL key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Whether it was said to be of method `gist`: shown, and of no other consequence.
    pub gist: bool,
    /// For each key of the index its operator.
    pub operators: Vec<ExclusionOperator>,
    /// The keys in the order in which they were said: their places in the index.
    pub order: Vec<u16>,
    /// It is a UNIQUE or PRIMARY KEY constraint that is DEFERRABLE: rows with the same key may be there until it is checked,
    /// which no unique index allows. All its operators are `=`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique: Option<UniqueKind>,
    /// When it is checked.
    #[serde(default, skip_serializing_if = "CheckTime::is_never_deferred")]
    pub check: CheckTime,
}

/// What a deferrable key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UniqueKind {
    /// UNIQUE
    Unique,
    /// PRIMARY KEY: the rows are kept by a hidden row id.
    Primary,
}

/// What an EXCLUDE constraint compares keys by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExclusionOperator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `&&`
    Overlaps,
}

impl ExclusionOperator {
    /// All of them.
    pub const ALL: [ExclusionOperator; 3] =
        [ExclusionOperator::Equal, ExclusionOperator::NotEqual, ExclusionOperator::Overlaps];

    /// As it is written.
    pub const fn symbol(self) -> &'static str {
        match self {
            ExclusionOperator::Equal => "=",
            ExclusionOperator::NotEqual => "<>",
            ExclusionOperator::Overlaps => "&&",
        }
    }
}

/// What an index is that is over more than columns.
///
/// Each expression is kept in a hidden [generated](crate::ColumnDefault::Generated) column, which is among [`Index::columns`] in its
/// place. With a condition the first key is in such a column too, NULL where a row does not meet it: so such rows are in
/// nobody's way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexDefinition {
    /// As they were said.
    pub keys: Vec<IndexKey>,
    /// WHERE, as SQL text.
    pub predicate: Option<String>,
    /// INCLUDE: shown, and of no other consequence, since an index leads to whole rows.
    pub included: Vec<ColumnId>,
}

/// A key of an index as it was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexKey {
    /// A column.
    Column(ColumnId),
    /// An expression, as SQL text.
    Expression(String),
}

/// How a column of an index was said to be ordered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyOrder {
    /// The operator class, if it is not the type's own.
    pub class: Option<String>,
    /// COLLATE, where it is not that of the database: shown, as all text is ordered by its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST
    pub nulls_first: bool,
}

impl Index {
    /// How many keys it has.
    pub fn key_count(&self) -> usize {
        self.definition.as_ref().map_or(self.columns.len(), |d| d.keys.len())
    }
    /// Its method as it was said.
    pub fn shown_method(&self) -> &str {
        match &self.method {
            Some(method) => method,
            None if self.exclusion.as_ref().is_some_and(|e| e.gist) => "gist",
            None => "btree",
        }
    }
    /// Whether it is an EXCLUDE constraint's.
    pub fn excludes(&self) -> bool {
        self.exclusion.as_ref().is_some_and(|e| e.unique.is_none())
    }
    /// Whether it is the index of a PRIMARY KEY or UNIQUE constraint that is DEFERRABLE, and of which.
    pub fn unique_later(&self) -> Option<UniqueKind> {
        self.exclusion.as_ref()?.unique
    }
    /// Whether it keeps keys apart: at once, or when its constraint is checked.
    pub fn is_unique(&self) -> bool {
        self.unique || self.unique_later().is_some()
    }
    /// When its constraint is checked.
    pub fn check(&self) -> CheckTime {
        self.exclusion.as_ref().map_or(CheckTime::NotDeferrable, |e| e.check)
    }
    /// An index without a comment, its columns in ascending order.
    pub fn new(name: String, columns: Vec<ColumnId>, unique: bool, constraint: bool) -> Index {
        let (comment, constraint_comment) = (None, None);
        let (orders, definition) = (Vec::new(), None);
        let equal_nulls = false;
        Index {
            name,
            columns,
            unique,
            equal_nulls,
            constraint,
            orders,
            definition,
            exclusion: None,
            hidden: false,
            method: None,
            unmade_types: Vec::new(),
            clustered: false,
            options: Vec::new(),
            statistics: Vec::new(),
            comment,
            constraint_comment,
        }
    }
}

impl Table {
    /// The collation that the column has that is a key of an index, where it was said.
    pub fn key_collation(&self, index: &Index, at: usize) -> Option<&str> {
        let column = match index.definition.as_ref().and_then(|d| d.keys.get(at)) {
            Some(IndexKey::Expression(_)) => return None,
            Some(IndexKey::Column(column)) => column,
            None => index.columns.get(at)?,
        };
        self.columns[column.index()].told.as_ref()?.collation.as_deref()
    }
    /// The keys of an index in the order in which they were said, as places among its columns.
    pub fn said_keys<'i>(&self, index: &'i Index) -> impl Iterator<Item = usize> + use<'i> {
        let order = index.exclusion.as_ref().map(|e| e.order.as_slice());
        (0..index.key_count()).map(move |at| order.and_then(|o| o.get(at)).map_or(at, |at| usize::from(*at)))
    }
}
