//! Sequences by name: which one a literal means, and functions of those whose name is computed.
//!
//! Programs know sequences by their ids. So `nextval(tg_table_name || '_id_seq')` is a text that is made when it is reached, and run as EXECUTE
//! would: where that stands nothing can be said beforehand of what the call does, and it is logged by the rows that it changes.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::questions::serial_column;
use super::types::CastContext;
use planaria_base::types::SystemType;
use planaria_base::{Datum, Error, Result, SequenceId, SqlState, Type};
use planaria_catalog::oids::Object;
use planaria_catalog::reg;
use planaria_ir::{CollDecl, CollKind, Func, OpKind, Reg, RegKind, Run};
use planaria_syntax::ast::Name;

/// Whether a sequence's name is known only when it is reached.
pub(super) fn is_computed(sequence: &Bound) -> bool {
    let known = match sequence.stripped().as_const() {
        Some(Datum::Text(_) | Datum::Null) => true,
        Some(_) => sequence.ty.is_oid(),
        None => false,
    };
    !known && serial_column(sequence).is_none()
}

impl Lowerer<'_> {
    /// The sequence a literal names, or that of a column that literals name; `None` where that column has none.
    pub(super) fn sequence_argument(&mut self, arg: &Bound) -> Result<Option<SequenceId>> {
        if let Some((table, column)) = serial_column(arg) {
            return self.serial_sequence(table, column, arg.position);
        }
        if arg.stripped().as_const() == Some(&Datum::Null) {
            return Ok(None);
        }
        self.sequence_named(arg).map(Some)
    }

    /// Of `pg_get_serial_sequence`: the table's name as it is written, the column's as it is.
    fn serial_sequence(&mut self, table: &str, column: &str, position: u32) -> Result<Option<SequenceId>> {
        let parts = reg::split_name(table).map_err(|e| e.at(position))?;
        let name = Name { parts, position };
        let wanted = self.catalog.located(self.meant(&name)?);
        let table = self.catalog.table(wanted).ok_or_else(|| {
            let message = format!("relation \"{}\" does not exist", name.parts.join("."));
            Error::new(SqlState::UNDEFINED_TABLE, message)
        })?;
        let (column, _) = table.column(column).ok_or_else(|| {
            let message = format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        })?;
        let mut all = self.catalog.sequences.iter().flatten();
        Ok(all.find(|s| !s.hidden && s.owner == Some((table.id, column))).map(|s| s.id))
    }

    fn sequence_named(&mut self, arg: &Bound) -> Result<SequenceId> {
        if let (true, Some(Datum::Int(oid))) = (arg.ty.is_oid(), arg.stripped().as_const()) {
            let object = u32::try_from(*oid).ok().and_then(|oid| self.catalog.oids.object(oid));
            return match object {
                Some(Object::Sequence(id)) => Ok(*id),
                _ => {
                    let name = reg::show(self.catalog, SystemType::RegClass, *oid as u32);
                    let message = format!("\"{name}\" is not a sequence");
                    Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(arg.position))
                }
            };
        }
        let Some(Datum::Text(text)) = arg.stripped().as_const() else {
            return Err(Error::internal("a sequence whose name is computed is none by a literal"));
        };
        let parts = reg::split_name(text).map_err(|e| e.at(arg.position))?;
        let name = Name { parts, position: arg.position };
        let wanted = self.catalog.located(self.meant(&name)?);
        self.catalog.sequence(wanted).filter(|s| !s.hidden).map(|s| s.id).ok_or_else(|| {
            if let Some(table) = self.catalog.table(wanted) {
                let message = format!("\"{}\" is not a sequence", table.name);
                return Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(arg.position);
            }
            let message = format!("relation \"{}\" does not exist", name.parts.join("."));
            Error::new(SqlState::UNDEFINED_TABLE, message).at(arg.position)
        })
    }

    /// `nextval`, `currval` or `setval` of a sequence whose name is computed.
    pub(super) fn by_computed_name(&mut self, function: &str, args: &[Bound]) -> Result<Bound> {
        let [sequence, rest @ ..] = args else { return Err(Error::internal("a sequence has a name")) };
        let position = sequence.position;
        // As PostgreSQL does it: what is no relation fails here.
        let regclass = Type::System(SystemType::RegClass);
        let found = self.coerce(sequence.clone(), &regclass, CastContext::Implicit)?;
        let begin = Datum::Text(format!("SELECT pg_catalog.{function}("));
        let name = self.coerce(found, &Type::Text, CastContext::Explicit)?;
        let mut parts = vec![Bound::constant(begin, Type::Text, position), name];
        for (value, ty) in rest.iter().zip([Type::Int8, Type::Bool]) {
            parts.push(self.coerce(value.clone(), &ty, CastContext::Implicit)?);
        }
        Ok(Bound::new(BoundKind::ByText(parts), Type::Int8, position))
    }

    /// What [`BoundKind::ByText`] comes to: NULL if the name is.
    pub(super) fn eval_by_text(&mut self, parts: &[Bound], dst: Reg) -> Result<()> {
        let [begin, name, rest @ ..] = parts else { return Err(Error::internal("a sequence has a name")) };
        let (begin, name) = (self.value(begin)?, self.value(name)?);
        let args = rest.iter().map(|value| self.exact(value)).collect::<Result<Vec<Reg>>>()?;
        self.emit(OpKind::Const { dst, value: Datum::Null });
        let is_there = self.apply(Func::IsNotNull, vec![name], Type::Bool);
        self.when(is_there, |l| {
            let places: String = (1..=args.len()).map(|i| format!(", ${i}")).collect();
            let end = l.constant(Datum::Text(format!("{places})")), Type::Text);
            let quoted = l.apply(Func::QuoteLiteral, vec![name], Type::Text);
            let begun = l.apply(Func::Concat, vec![begin, quoted], Type::Text);
            let text = l.apply(Func::Concat, vec![begun, end], Type::Text);
            let values = vec![RegKind::Value(Type::Int8)];
            let coll = l.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values });
            let row_count = l.temp(Type::Int8);
            l.emit(OpKind::Clear { coll });
            l.emit(OpKind::Execute { text, args, rows: Some(coll), row_count, run: Run::Statement });
            let (value, label) = (l.temp(Type::Int8), l.label());
            let body = l.block(|l| {
                l.copy(dst, value);
                l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            l.emit(OpKind::ForEach { coll, columns: vec![value], entry: None, label, body });
            Ok(())
        })
    }
}
