//! Columns of arrays and of rows. Rows hold bytes there: a program makes them of an array before it writes, and an array of them
//! after it has read. That is put into the finished program, so that lowering knows of arrays alone, and who analyses,
//! runs or replays it of bytes alone.

use planaria_base::types::TypeClass;
use planaria_base::{ColumnId, IndexId, TableId, Type};
use planaria_catalog::Catalog;
use planaria_ir::{Block, Func, Op, OpId, OpKind, Program, Reg, RegKind};

/// The type as which a row holds values of a type.
pub fn stored(ty: &Type) -> &Type {
    if is_array(ty) { &Type::Bytea } else { ty }
}

/// Whether values are arrays in a register: those of a row are its fields.
fn is_array(ty: &Type) -> bool {
    matches!(ty, Type::Array(_) | Type::Record(_))
}

/// Puts the conversions into a program.
pub(super) fn convert(program: &mut Program, catalog: &Catalog) {
    let mut body = std::mem::take(&mut program.body);
    Conversion { program, catalog }.block(&mut body);
    program.body = body;
}

struct Conversion<'a> {
    program: &'a mut Program,
    catalog: &'a Catalog,
}

impl Conversion<'_> {
    fn block(&mut self, block: &mut Block) {
        let mut at = 0;
        while at < block.0.len() {
            let op = &mut block.0[at];
            let position = op.position;
            let (mut before, mut after) = (Vec::new(), Vec::new());
            match &mut op.kind {
                OpKind::Get { table, index, key, columns, .. } => {
                    for (i, value) in key.iter_mut().enumerate() {
                        self.key(*table, *index, i, value, &mut before);
                    }
                    after = self.reads(*table, columns);
                }
                OpKind::Load { table, columns, .. } => after = self.reads(*table, columns),
                OpKind::Scan { table, index, range, columns, body, .. } => {
                    let next = range.prefix.len();
                    for (i, value) in range.prefix.iter_mut().enumerate() {
                        self.key(*table, *index, i, value, &mut before);
                    }
                    for bound in [&mut range.lower, &mut range.upper].into_iter().flatten() {
                        self.key(*table, *index, next, &mut bound.reg, &mut before);
                    }
                    let loads = self.reads(*table, columns);
                    self.block(body);
                    body.0.splice(0..0, ops(loads, position));
                }
                OpKind::Insert { table, values, .. } => {
                    for (i, value) in values.iter_mut().enumerate() {
                        self.write(*table, ColumnId::from(i), value, &mut before);
                    }
                }
                OpKind::Update { table, set, .. } => {
                    for (column, value) in set {
                        self.write(*table, *column, value, &mut before);
                    }
                }
                other => other.blocks_mut(&mut |block| self.block(block)),
            }
            let (n, m) = (before.len(), after.len());
            block.0.splice(at + 1..at + 1, ops(after, position));
            block.0.splice(at..at, ops(before, position));
            at += n + 1 + m;
        }
    }

    fn is_array(&self, table: TableId, column: ColumnId) -> bool {
        is_array(&self.catalog.table_by_id(table).columns[column.index()].ty)
    }

    /// Reads bytes instead; what makes arrays of them.
    fn reads(&mut self, table: TableId, columns: &mut [(ColumnId, Reg)]) -> Vec<OpKind> {
        let mut loads = Vec::new();
        for (column, reg) in columns {
            if self.is_array(table, *column) {
                let bytes = self.program.value(Type::Bytea);
                let dst = std::mem::replace(reg, bytes);
                loads.push(OpKind::Apply { dst, func: Func::ArrayLoad, args: vec![bytes] });
            }
        }
        loads
    }

    /// Looks for bytes instead.
    fn key(&mut self, table: TableId, index: IndexId, at: usize, value: &mut Reg, stores: &mut Vec<OpKind>) {
        let columns = &self.catalog.table_by_id(table).index_at(index.index()).columns;
        if let Some(column) = columns.get(at).copied() {
            self.write(table, column, value, stores);
        }
    }

    /// Writes bytes instead.
    fn write(&mut self, table: TableId, column: ColumnId, value: &mut Reg, stores: &mut Vec<OpKind>) {
        if !self.is_array(table, column) {
            return;
        }
        let RegKind::Value(ty) = &self.program.regs[value.index()].kind else { return };
        // A bare NULL is one of bytes, too.
        if ty.class() == TypeClass::Array {
            let dst = self.program.value(Type::Bytea);
            let array = std::mem::replace(value, dst);
            stores.push(OpKind::Apply { dst, func: Func::ArrayStore, args: vec![array] });
        }
    }
}

fn ops(kinds: Vec<OpKind>, position: u32) -> impl Iterator<Item = Op> {
    kinds.into_iter().map(move |kind| Op { id: OpId(0), position, kind })
}
