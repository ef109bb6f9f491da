//! Columns of tables, and what is said of how tables and columns are stored: that has no effect here, and is kept to be shown and dumped.

use crate::Table;
use planaria_base::{SequenceId, Type, TypeId};
use serde::{Deserialize, Serialize};

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type with modifier.
    pub ty: Type,
    /// NOT NULL.
    pub not_null: bool,
    /// What a missing value becomes.
    pub default: ColumnDefault,
    /// The domain that it was declared with: what is stored is held against its conditions.
    #[serde(default)]
    pub domain: Option<TypeId>,
    /// The hidden row id: not part of `*`, cannot be named.
    pub hidden: bool,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
    /// Of a generated one: it is computed as since keys of indexes see generated columns, and a real is another double precision
    /// than its text says. One of before is computed as it was when its rows were stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub computed_anew: bool,
    /// How it is said to be ordered and stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<Box<ColumnTold>>,
}

/// What a missing value becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnDefault {
    /// NULL
    None,
    /// A SQL expression, as text.
    Expression(String),
    /// The next value of a sequence (serial, row ids).
    Sequence(SequenceId),
    /// Computed from the row's other columns by an expression, as text, whenever the row is stored.
    Generated(String),
    /// Identity column; `always` refuses explicit values (428C9) unless OVERRIDING SYSTEM VALUE.
    Identity {
        /// Its sequence.
        sequence: SequenceId,
        /// GENERATED ALWAYS
        always: bool,
    },
}

impl Column {
    /// Whether clients are told of a default (an identity column has none).
    pub fn has_default(&self) -> bool {
        let shown = |d: &ColumnDefault| {
            matches!(
                d,
                ColumnDefault::Expression(_) | ColumnDefault::Sequence(_) | ColumnDefault::Generated(_)
            )
        };
        shown(&self.default) && !self.hidden
    }
    /// Whether it is the hidden row id of a table without a primary key.
    pub fn is_row_id(&self) -> bool {
        self.hidden && self.generated().is_none()
    }
    /// The expression that computes it.
    pub fn generated(&self) -> Option<&str> {
        match &self.default {
            ColumnDefault::Generated(text) => Some(text),
            _ => None,
        }
    }
}

/// What is said of how a column is ordered and stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ColumnTold {
    /// COLLATE, by the name of a collation that orders by bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collation: Option<String>,
    /// SET STATISTICS
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<i16>,
    /// SET STORAGE, as `pg_attribute` has it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<char>,
    /// SET COMPRESSION, as `pg_attribute` has it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<char>,
    /// SET (n_distinct = ..): `name=value`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// What is said of how a table is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableTold {
    /// Storage parameters: `name=value`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// REPLICA IDENTITY
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<ReplicaIdentity>,
}

/// REPLICA IDENTITY, but for the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicaIdentity {
    /// FULL
    Full,
    /// NOTHING
    Nothing,
    /// USING INDEX, by its name
    Index(String),
}

impl Column {
    /// What is said of how it is stored, to be changed.
    pub fn told_mut(&mut self) -> &mut ColumnTold {
        self.told.get_or_insert_default()
    }
}

impl ColumnTold {
    /// As `pg_attribute` has STORAGE; `None` where it is none that there is.
    pub fn storage_letter(word: &str) -> Option<char> {
        Some(match word {
            "plain" => 'p',
            "external" => 'e',
            "extended" => 'x',
            "main" => 'm',
            _ => return None,
        })
    }

    /// As `pg_attribute` has COMPRESSION; `None` where it is the default, or none that there is.
    pub fn compression_letter(word: &str) -> Option<char> {
        Some(match word {
            "pglz" => 'p',
            "lz4" => 'l',
            _ => return None,
        })
    }
}

impl Table {
    /// What is said of an index by its name follows the name.
    pub fn follow_index(&mut self, from: &str, to: &str) {
        if let Some(TableTold { identity: Some(ReplicaIdentity::Index(name)), .. }) = self.told.as_deref_mut()
            && *name == from
        {
            to.clone_into(name);
        }
    }
}
