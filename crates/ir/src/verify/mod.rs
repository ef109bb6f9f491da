//! The verifier: what a well-formed program is. It runs after every lowering, in release builds too;
//! whoever reads a program (compiler, analysis, replay) may rely on all of this.
//!
//! Entities
//!
//! - Every register, collection and label is declared; operation ids are unique; tables, indexes,
//!   columns, sequences and procedures exist in the catalog the program was lowered under.
//! - Parameters stand in value registers of their type; `outs` match `outputs`; a row count is a
//!   `bigint`.
//!
//! Kinds
//!
//! - A value moves only between registers of which the target holds every value of the source with
//!   the same bits ([`holds`]): a modifier may be lost by a move, never gained without a `Cast`.
//! - A row handle belongs to one table; it is copied, tested for NULL, kept in collections, and used
//!   by `Load`, `Update`, `Delete`, `Claim` of that table, nothing else.
//! - `Apply` has as many arguments, of such classes, as its function's signature.
//! - A `Get` gives the full key of a unique index; keys and bounds are of the index columns' classes
//!   ([`comparable`]); an `Insert` gives a value for every stored column, of that column's type.
//! - A collection's operations fit its kind and columns.
//!
//! Control
//!
//! - `Exit` names an enclosing labelled region, `Continue` an enclosing loop-like one (not `Block`);
//!   a label belongs to one region.
//! - What stands for an inlined call is a `Block`.
//! - The error being handled is raised again only inside a handler.
//! - The body of a `ForEach` or `ForMatches` changes its collection by `SetEntry` alone.
//! - `Emit` stands only in programs that answer with rows.
//! - `Keep` keeps at least one value; it and `Piece` take values, no row handles.
//!
//! Flow
//!
//! - A register without a name is written before it is read on every path: only variables may rely
//!   on the NULL that registers start with.
//!
//! Limits: nothing here looks at values; that a `Load`'s handle is not NULL is the executor's check.

mod flow;
mod ops;
#[cfg(test)]
mod tests;

use crate::{OpId, OpKind, Program, ProgramKind, Reg, RegKind};
use planaria_base::packed::PackedType;
use planaria_base::types::{SystemType, TypeClass};
use planaria_base::{ColumnId, Error, IndexId, ProcedureId, Result, SequenceId, SystemId, TableId, Type};
use std::collections::HashSet;

/// An index as the verifier needs to know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexShape {
    /// Key columns in order.
    pub columns: Vec<ColumnId>,
    /// At most one row per key.
    pub unique: bool,
}

/// What a call passes and answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Types of the IN and INOUT parameters.
    pub inputs: Vec<Type>,
    /// Types of the answer's columns.
    pub outputs: Vec<Type>,
    /// Answers with any number of rows (`CallSet`).
    pub set: bool,
}

/// The definitions a program refers to.
pub trait VerifyEnv {
    /// Types of a table's stored columns, in order.
    fn columns(&self, table: TableId) -> Option<Vec<Type>>;
    /// An index of a table.
    fn index(&self, table: TableId, index: IndexId) -> Option<IndexShape>;
    /// A procedure or function version.
    fn procedure(&self, id: ProcedureId) -> Option<Signature>;
    /// Whether there is such a sequence.
    fn sequence(&self, id: SequenceId) -> bool;
    /// Types of the columns of a system relation.
    fn system(&self, id: SystemId) -> Option<Vec<Type>> {
        let _ = id;
        None
    }
}

/// Checks a program against the list at the head of this module. An error is a bug of the lowering
/// (`XX000`), never of the user.
pub fn verify(program: &Program, env: &dyn VerifyEnv) -> Result<()> {
    let fault = |what: String| Err(Error::internal(format!("verifier: {}: {what}", program.name)));
    let in_range = |r: Reg| r.index() < program.regs.len();
    for decl in &program.regs {
        if let RegKind::Row(t) = decl.kind
            && env.columns(t).is_none()
        {
            return fault(format!("a register holds rows of {t}, which does not exist"));
        }
    }
    for p in &program.params {
        if !in_range(p.reg) || program.type_of(p.reg).is_none_or(|t| t.base() != p.ty.base()) {
            return fault(format!("parameter {} does not stand in a register of its type", p.name));
        }
    }
    if let Some(r) = program.row_count
        && (!in_range(r) || program.type_of(r) != Some(&Type::Int8))
    {
        return fault("the row count is not a bigint".into());
    }
    if matches!(program.kind, ProgramKind::Procedure | ProgramKind::Function) {
        let fits = program.outs.len() == program.outputs.len()
            && program
                .outs
                .iter()
                .zip(&program.outputs)
                .all(|(r, o)| in_range(*r) && program.type_of(*r).is_some_and(|t| holds(&o.ty, t)));
        if !fits {
            return fault("outs do not match outputs".into());
        }
    } else if !program.outs.is_empty() {
        return fault("a program that emits rows has no outs".into());
    }
    let mut ids: HashSet<OpId> = HashSet::new();
    let mut twice = None;
    let mut blocks = 0;
    program.body.visit(&mut |op| {
        if let OpKind::Block { label, .. } = &op.kind {
            blocks += usize::from(program.inlined.contains_key(label));
        }
        if !ids.insert(op.id) {
            twice = Some(op.id);
        }
    });
    if let Some(id) = twice {
        return fault(format!("{id} occurs twice"));
    }
    ops::check(program, env)?;
    // Labels are unique now.
    if blocks != program.inlined.len() {
        return fault("an inlined call has no block".into());
    }
    flow::check(program)
}

/// Whether a register of type `to` holds every value of type `from` with the same bits.
pub fn holds(to: &Type, from: &Type) -> bool {
    match (to, from) {
        _ if to == from => true,
        (Type::Int4, Type::Int2) | (Type::Int8, Type::Int2 | Type::Int4) => true,
        (Type::Numeric(None), Type::Numeric(_)) => true,
        (Type::Numeric(Some((p, s))), Type::Numeric(Some((q, t)))) => s == t && p >= q,
        (Type::Text | Type::Varchar(None), Type::Text | Type::Varchar(_) | Type::Char(_) | Type::Unknown) => {
            true
        }
        (Type::Varchar(Some(n)), Type::Varchar(Some(m)) | Type::Char(m @ 1..)) => n >= m,
        // Whether it has room is asked where it is stored.
        (Type::Interval | Type::OldInterval, Type::Interval | Type::OldInterval) => true,
        (Type::Float8, Type::Float4) => true,
        (Type::Rounded(a, most), Type::Rounded(b, digits)) if a == b => most >= digits,
        (to, Type::Rounded(..)) => holds(to, from.plain()),
        // Six digits are all that there are.
        (Type::Rounded(clock, digits), from) if clock.keeps(*digits) => holds(to.plain(), from),
        (Type::Packed(PackedType::TimeTz(None | Some(6..))), Type::Packed(PackedType::TimeTz(_))) => true,
        (Type::Packed(PackedType::TimeTz(Some(n))), Type::Packed(PackedType::TimeTz(Some(m)))) => n >= m,
        (Type::Packed(PackedType::Bit(None)), Type::Packed(PackedType::Bit(_))) => true,
        (Type::Packed(PackedType::VarBit(None)), Type::Packed(PackedType::VarBit(_))) => true,
        (Type::Packed(PackedType::VarBit(Some(n))), Type::Packed(PackedType::VarBit(Some(m)))) => n >= m,
        (Type::Array(to), Type::Array(from)) => holds(to, from),
        // It is a number.
        (&Type::TID, Type::Int2 | Type::Int4 | Type::Int8) => true,
        // All of them are 32 bits without sign.
        (to, from) if from.is_oid() => to.is_oid() || *to == Type::Int8,
        (
            Type::Text,
            Type::System(SystemType::Name | SystemType::Char | SystemType::NodeTree | SystemType::RefCursor),
        ) => true,
        (Type::Record(to), Type::Record(from)) => {
            to.len() == from.len() && to.iter().zip(from.iter()).all(|((_, to), (_, from))| holds(to, from))
        }
        (Type::Array(to), Type::System(from)) => from.element().as_ref() == Some(&**to),
        _ => false,
    }
}

/// Whether values of the two types can stand in one index column: the same kind of bits.
pub fn comparable(a: &Type, b: &Type) -> bool {
    a.class() == b.class()
        && match a.class() {
            TypeClass::DateTime => (*a == Type::Date) == (*b == Type::Date),
            TypeClass::Range => a == b,
            TypeClass::Packed => match (a, b) {
                (Type::Packed(a), Type::Packed(b)) => a.kind() == b.kind(),
                _ => false,
            },
            _ => true,
        }
}

/// The same for registers: row handles are held by registers of the same table.
pub(crate) fn kind_holds(to: &RegKind, from: &RegKind) -> bool {
    match (to, from) {
        (RegKind::Value(to), RegKind::Value(from)) => holds(to, from),
        (RegKind::Row(to), RegKind::Row(from)) => to == from,
        _ => false,
    }
}
