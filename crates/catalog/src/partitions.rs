//! Partitioned tables.
//!
//! A partitioned table has the rows of all its partitions, at whatever depth: they lie in the storage of the topmost table,
//! the *root*, which has the indexes, the constraints and the triggers, as any other table. A partition is a table of the
//! catalog whose own storage is empty while it is attached; who names it means the rows of the root that are within its
//! bounds ([`Partition::slice`]: a view that is never named). Rows change places only where a partition is attached,
//! detached or dropped.
//!
//! What programs ask of a row that the root is to store, beside the root's own constraints, are [`RowRule`]s: that some
//! partition takes it, and what single partitions ask of their rows.

use crate::definitions::Key;
use crate::{Catalog, Table, View};
use planaria_base::TableId;
use planaria_base::text_io::quote_ident;
use serde::{Deserialize, Serialize};

/// How rows are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// By ranges of the key, in lexicographic order.
    Range,
    /// By values of the key, which is one column or expression.
    List,
    /// By what is left of the key's hash divided by a modulus.
    Hash,
}

impl Strategy {
    /// As statements have it.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::Range => "RANGE",
            Strategy::List => "LIST",
            Strategy::Hash => "HASH",
        }
    }
    /// As messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Range => "range",
            Strategy::List => "list",
            Strategy::Hash => "hash",
        }
    }
}

/// A part of a partition key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionKey {
    /// The expression, or the column's name as SQL has it, over the columns of the table.
    pub text: String,
    /// The name of the column, if it is nothing but one.
    pub column: Option<String>,
}

impl PartitionKey {
    /// As it stands in a definition.
    pub fn shown(&self) -> &str {
        &self.text
    }
}

/// What makes a table a partitioned one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partitioning {
    /// How rows are told apart.
    pub strategy: Strategy,
    /// By what.
    pub keys: Vec<PartitionKey>,
    /// Of a root: what rows must meet, beside its constraints. Made from the definitions of all its partitions.
    #[serde(default)]
    pub rules: Vec<RowRule>,
    /// Of a root: its leaves with the conditions of their rows, so that each row is told whose it is.
    #[serde(default)]
    pub leaves: Vec<(TableId, String)>,
}

/// One end of a range, of one part of the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RangeLimit {
    /// Before everything.
    MinValue,
    /// A value, as text of the key's type.
    Value(String),
    /// Behind everything.
    MaxValue,
}

/// Which rows a partition has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionBound {
    /// Those that no other has.
    Default,
    /// Those of these values, as text of the key's type; `None` is NULL.
    List(Vec<Option<String>>),
    /// From one end on, up to the other, which is not in it.
    Range {
        /// The first.
        from: Vec<RangeLimit>,
        /// Behind the last.
        to: Vec<RangeLimit>,
    },
    /// Those whose hash leaves this remainder.
    Hash {
        /// What it is divided by.
        modulus: u32,
        /// What is left.
        remainder: u32,
    },
}

/// What makes a table a partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Partition {
    /// The partitioned table that it is directly under.
    pub of: TableId,
    /// Its rows.
    pub bound: PartitionBound,
    /// What its rows meet, as SQL text over the columns: those of its own bound.
    pub condition: String,
    /// Its rows as a query of the root.
    pub slice: View,
}

/// What a row of a root must meet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRule {
    /// A boolean over the root's columns, as SQL text: false is a violation.
    pub expression: String,
    /// What it is.
    pub kind: RuleKind,
}

/// What a rule of rows is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuleKind {
    /// Some partition takes the row: of this partitioned table.
    Route(TableId),
    /// A CHECK of one partition.
    Check {
        /// The partition.
        partition: TableId,
        /// The constraint.
        name: String,
    },
    /// NOT NULL of a column of one partition.
    NotNull {
        /// The partition.
        partition: TableId,
        /// The column.
        column: String,
    },
}

impl Table {
    /// Whether it has partitions, or may have.
    pub fn is_partitioned(&self) -> bool {
        self.partitioning.is_some()
    }
    /// The view that it is, while it is a partition.
    pub fn slice(&self) -> Option<&View> {
        self.partition.as_deref().map(|p| &p.slice)
    }
    /// What rows must meet beside its constraints.
    pub fn row_rules(&self) -> &[RowRule] {
        match &self.partitioning {
            Some(partitioning) if self.partition.is_none() => &partitioning.rules,
            _ => &[],
        }
    }
    /// The leaves of a root, with the conditions of their rows.
    pub fn leaves(&self) -> &[(TableId, String)] {
        match &self.partitioning {
            Some(partitioning) if self.partition.is_none() => &partitioning.leaves,
            _ => &[],
        }
    }
}

impl Catalog {
    /// The partitions directly under a table, in the order in which they were made.
    pub fn partitions_of(&self, parent: TableId) -> impl Iterator<Item = &Table> {
        let candidates = self.tables.candidates(Key::References(parent));
        candidates.filter(move |t| t.partition.as_deref().is_some_and(|p| p.of == parent))
    }
    /// A table with all that is under it: each before what is under it.
    pub fn partition_tree(&self, root: TableId) -> Vec<TableId> {
        let mut all = vec![root];
        let mut next = 0;
        while next < all.len() {
            let under: Vec<TableId> = self.partitions_of(all[next]).map(|t| t.id).collect();
            all.extend(under);
            next += 1;
        }
        all
    }
    /// A table and those that it is under, up to the root.
    pub fn partition_ancestors(&self, table: TableId) -> Vec<TableId> {
        let mut all = vec![table];
        while let Some(partition) = &self.table_by_id(all[all.len() - 1]).partition {
            all.push(partition.of);
        }
        all
    }
    /// The leaves of a root that have triggers of their own.
    pub fn leaves_with_triggers<'a>(&'a self, root: &'a Table) -> impl Iterator<Item = &'a Table> + Clone {
        let leaves = root.leaves().iter().filter_map(|(id, _)| self.tables.get(id.index())?.as_deref());
        leaves.filter(|leaf| !leaf.triggers.is_empty())
    }
    /// The topmost table: where the rows are.
    pub fn partition_root(&self, table: TableId) -> &Table {
        let all = self.partition_ancestors(table);
        self.table_by_id(all[all.len() - 1])
    }
    /// The index of the table above that an index is a part of: the one that is defined like it. Of several that are, each
    /// has its own.
    pub fn parent_index(&self, table: &Table, at: usize) -> Option<(&Table, usize)> {
        let parent = self.table_by_id(table.partition.as_ref()?.of);
        let form = table.index_form(at)?;
        let before = (0..at).filter(|i| table.index_form(*i).as_ref() == Some(&form)).count();
        let same = (0..parent.index_count()).filter(|i| parent.index_form(*i).as_ref() == Some(&form));
        let mut same = same;
        same.nth(before).map(|i| (parent, i))
    }
    /// Whether a CHECK of a partition is one of the table above.
    pub fn is_inherited_check(&self, table: &Table, name: &str) -> bool {
        let parent = table.partition.as_ref().map(|p| self.table_by_id(p.of));
        parent.is_some_and(|parent| parent.checks.iter().any(|c| c.name == name))
    }
}

/// What makes two indexes the same but for their names and tables.
#[derive(PartialEq, Eq, Debug)]
pub struct IndexForm(String);

/// An expression without parentheses around all of it.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) else { return text };
    let (mut depth, mut quote) = (0usize, None);
    for c in inner.chars() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            ('(', None) => depth += 1,
            (')', None) if depth == 0 => return text,
            (')', None) => depth -= 1,
            _ => {}
        }
    }
    bare(inner)
}

impl Table {
    /// The form of an index that users know of.
    pub fn index_form(&self, at: usize) -> Option<IndexForm> {
        self.index_form_of(at, false)
    }

    /// The same; `by_text`: with the parentheses that are around its expressions.
    pub fn index_form_of(&self, at: usize, by_text: bool) -> Option<IndexForm> {
        let bare = |text: &str| if by_text { text.to_owned() } else { bare(text).to_owned() };
        let index = self.all_indexes().nth(at)?;
        if at == 0 && !self.has_primary_key || index.hidden {
            return None;
        }
        // One that was made like another may have other parentheses around its expressions.
        let keys: Vec<String> = (0..index.key_count()).map(|key| bare(&self.key_text(index, key))).collect();
        let predicate = index.definition.as_ref().and_then(|d| d.predicate.as_deref()).unwrap_or("");
        let included = index.definition.as_ref().map_or(Vec::new(), |d| {
            d.included.iter().map(|c| quote_ident(&self.columns[c.index()].name)).collect()
        });
        let primary = at == 0;
        Some(IndexForm(format!(
            "{} {} {} {primary} {} {:?} {} {} {}",
            index.shown_method(),
            index.unique,
            index.constraint,
            index.equal_nulls,
            index.orders,
            keys.join(","),
            included.join(","),
            bare(predicate)
        )))
    }
}
