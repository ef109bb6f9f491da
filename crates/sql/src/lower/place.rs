//! `ctid`: which row of its table a row is.
//!
//! Rows have no place that could be named: a record is reached by a key, and what it stands beside is nobody's business. So the
//! number of a row is that of its key: the hidden row id of a table without a primary key, the primary key where it is an
//! integer, or two of 64 bits together. It is the same for all who see the row, stays until its key is changed, and orders rows as
//! the key does. Calls that read it are replayed as they were: row ids are logged with the call. A condition `ctid = ..` finds the row by
//! its key. Rows of other tables have none (0A000).

use super::Lowerer;
use super::bound::{Bound, BoundKind, RelId};
use super::names::SourceColumn;
use planaria_base::{ColumnId, Datum, Type};
use planaria_catalog::Table;
use planaria_ir::Func;

impl Lowerer<'_> {
    /// `ctid` of a relation that has a table's columns. Routines from before there was one may have variables of that name; so may
    /// old tables have columns.
    pub(super) fn place_of(&self, rel: RelId, table: &Table) -> Option<SourceColumn> {
        if self.reads_after || table.column("ctid").is_some() {
            return None;
        }
        place(rel, table).map(|place| SourceColumn::new("ctid".to_owned(), place))
    }
}

/// The number of the rows of a relation that has a table's columns, if they have one.
fn place(rel: RelId, table: &Table) -> Option<Bound> {
    let column = |c: &ColumnId| {
        let ty = &table.columns[c.index()].ty;
        let bits = match ty {
            Type::Int2 => 16,
            Type::Int4 => 32,
            Type::Int8 => 64,
            _ => return None,
        };
        Some((Bound::column(rel, c.index(), ty.clone(), 0), bits))
    };
    let number = match &table.indexes[0].columns[..] {
        [only] => column(only)?.0,
        [first, second] => {
            let ((first, _), (second, bits)) = (
                column(first).filter(|(_, bits)| *bits < 64)?,
                column(second).filter(|(_, bits)| *bits < 64)?,
            );
            let number = |n: i64| Bound::constant(Datum::Int(n), Type::Int8, 0);
            let apply = |func: Func, args: Vec<Bound>| Bound::apply(func, args, Type::Int8, 0);
            let high = apply(Func::Int8Shl, vec![first, number(bits)]);
            let low = apply(Func::IntAnd, vec![second, number((1 << bits) - 1)]);
            apply(Func::IntOr, vec![high, low])
        }
        _ => return None,
    };
    Some(Bound::new(BoundKind::Relabel(Box::new(number)), Type::TID, 0))
}
