//! What all procedures of a catalog together do to the tables.

use super::simplify::{is_small, remove_dead, without_raises};
use crate::committed::committed;
use planaria_base::{ColumnId, IndexId, TableId, Type};
use planaria_ir::{Block, OpKind, Program, VerifyEnv};
use std::collections::{BTreeMap, BTreeSet};

/// What the procedures of one catalog version do to its tables. A plan holds for the calls made under
/// that version; what interactive statements do beside it, replay sees in the log.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    tables: BTreeMap<TableId, TableFacts>,
}

/// The same for one table.
#[derive(Clone, Debug, Default)]
pub struct TableFacts {
    /// Columns of the primary key, in its order.
    pub key: Vec<ColumnId>,
    /// Types of the columns.
    pub columns: Vec<Type>,
    /// Some procedure inserts or deletes rows.
    pub rows_change: bool,
    /// Columns that some procedure updates.
    pub updated: BTreeSet<ColumnId>,
}

impl Facts {
    /// Adds what a program does. To be called for every procedure of the catalog version.
    ///
    /// What a [bulk load](is_bulk_load) inserts does not count as a change: it happens once, and replay
    /// lets no plan read beside it. Counting it, every column of every loaded table would have to be
    /// logged with the calls that use it.
    pub fn add(&mut self, program: &Program, env: &dyn VerifyEnv) {
        let load = is_bulk_load(program);
        program.body.visit(&mut |op| {
            let Some(table) = op.kind.table() else { return };
            let facts = self.tables.entry(table).or_insert_with(|| TableFacts {
                key: env.index(table, IndexId::PRIMARY).map(|i| i.columns).unwrap_or_default(),
                columns: env.columns(table).unwrap_or_default(),
                ..TableFacts::default()
            });
            match &op.kind {
                OpKind::Insert { .. } => facts.rows_change |= !load,
                OpKind::Delete { .. } => facts.rows_change = true,
                OpKind::Update { set, .. } => facts.updated.extend(set.iter().map(|(c, _)| *c)),
                _ => {}
            }
        });
    }

    /// A table that some added program touches.
    pub fn table(&self, table: TableId) -> Option<&TableFacts> {
        self.tables.get(&table)
    }
}

impl TableFacts {
    /// Whether it is always the same rows, and their unchanging columns stay where they are in the
    /// row while others are changed in place.
    pub fn rows_stay(&self) -> bool {
        !self.rows_change && self.updated.iter().all(|c| self.columns.get(c.index()).is_some_and(fixed_width))
    }

    /// Whether nobody changes this column.
    pub fn is_stable(&self, column: ColumnId) -> bool {
        self.rows_stay() && !self.updated.contains(&column)
    }
}

/// Whether a procedure only inserts, rows after rows, and looks at nothing for it but to refuse.
fn is_bulk_load(program: &Program) -> bool {
    fn loads(block: &Block, turns: bool) -> bool {
        block.0.iter().all(|op| {
            let turns = turns || op.kind.label().is_some_and(|_| !matches!(op.kind, OpKind::Block { .. }));
            let mut inside = true;
            op.kind.blocks(&mut |b| inside &= loads(b, turns));
            let own = match &op.kind {
                OpKind::Insert { .. } => turns,
                OpKind::Call { .. } | OpKind::CallSet { .. } | OpKind::Execute { .. } => true,
                kind => kind.table().is_none(),
            };
            inside && own
        })
    }
    // A large one counts as a change, which it may be.
    if !is_small(program) {
        return false;
    }
    let mut simple = committed(program);
    simple.body = without_raises(std::mem::take(&mut simple.body));
    remove_dead(&mut simple);
    loads(&simple.body, false)
}

/// Whether a value of the type always takes the same place in a row.
fn fixed_width(ty: &Type) -> bool {
    !matches!(
        ty,
        Type::Text
            | Type::Varchar(_)
            | Type::Char(_)
            | Type::Bytea
            | Type::Jsonb
            | Type::Citext
            | Type::Range(_)
            | Type::Packed(_)
            | &Type::JSON
            | Type::Array(_)
            | Type::Numeric(None)
    ) && !matches!(ty, Type::Numeric(Some((precision, _))) if *precision > 18)
}
