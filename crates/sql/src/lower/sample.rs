//! TABLESAMPLE: a condition that holds for a part of a table's rows.
//!
//! Each row is taken or not on its own, by SYSTEM too: there are no blocks to choose from. What is REPEATABLE is
//! drawn from the seed and the row's key, so the same rows are taken as long as they are the same.

use super::Lowerer;
use super::bound::{Bound, BoundKind, Item, RelId, RelKind};
use super::names::Names;
use super::types::CastContext;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::Func;
use planaria_syntax::ast::{BinaryOp, Expr, ExprKind, FunctionCall, Name, TableRef};

impl Lowerer<'_> {
    /// Whether a row of the table, which is all of `items`, is taken.
    pub(super) fn bind_sample(
        &mut self,
        names: &Names<'_>,
        table: &TableRef,
        items: &[Item],
        method: &Name,
        args: &[Expr],
        seed: Option<&Expr>,
    ) -> Result<Bound> {
        let position = method.position;
        let rel = match (table, items) {
            (TableRef::Relation { name, .. }, [Item::Rel(rel)]) if self.is_table(names, name)? => Some(*rel),
            _ => None,
        };
        let Some(rel) = rel else {
            let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        };
        let name = method.parts.last().map_or("", String::as_str);
        if !matches!(name, "bernoulli" | "system") {
            let message = format!("tablesample method {} does not exist", method.parts.join("."));
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(position));
        }
        let [percent] = args else {
            let message = format!("tablesample method {name} requires 1 argument, not {}", args.len());
            return Err(Error::new(SqlState::new("2202H"), message).at(position));
        };
        let percent = self.sample_number(names, percent, &Type::Float4, "TABLESAMPLE")?;
        let percent = self.coerce(percent, &Type::Float8, CastContext::Implicit)?;
        let share = Bound::apply(Func::SampleShare, with_null(percent), Type::Float8, position);
        let drawn = match seed {
            Some(seed) => {
                let seed = self.sample_number(names, seed, &Type::Float8, "REPEATABLE")?;
                let mut operands = with_null(seed);
                operands.push(self.key_text(rel, position)?);
                Bound::apply(Func::SampleDraw, operands, Type::Float8, position)
            }
            None => {
                let parts = vec!["pg_catalog".to_owned(), "random".to_owned()];
                let call = FunctionCall::plain(Name { parts, position }, Vec::new());
                self.bind(names, &Expr { position, kind: ExprKind::Call(Box::new(call)) })?
            }
        };
        let mut taken = [Bound::apply(Func::FltLt, vec![drawn, share], Type::Bool, position)];
        self.per_row(&mut taken, items);
        let [taken] = taken;
        Ok(taken)
    }

    /// Whether the name is that of a table, not of a query that has become part of the one around.
    fn is_table(&mut self, names: &Names<'_>, name: &Name) -> Result<bool> {
        if matches!(&name.parts[..], [one] if names.cte(one).is_some())
            || super::system::named(name).is_some()
        {
            return Ok(false);
        }
        let wanted = self.catalog.located(self.meant(name)?);
        Ok(self.catalog.table(wanted).is_some())
    }

    fn sample_number(&mut self, names: &Names<'_>, e: &Expr, ty: &Type, what: &str) -> Result<Bound> {
        let bound = self.outside("functions in FROM", |l| l.bind(names, e))?;
        let (from, position) = (bound.ty.clone(), bound.position);
        self.coerce(bound, ty, CastContext::Assignment).map_err(|error| match error.sqlstate() {
            SqlState::CANNOT_COERCE => {
                let message = format!(
                    "argument of {what} must be type {}, not type {}",
                    super::operators::base_name(ty),
                    super::operators::base_name(&from)
                );
                Error::new(SqlState::DATATYPE_MISMATCH, message).at(position)
            }
            _ => error,
        })
    }

    /// What tells a table's rows apart, as a text.
    fn key_text(&mut self, rel: RelId, position: u32) -> Result<Bound> {
        let RelKind::Table(table) = self.rel(rel).kind else {
            return Err(Error::internal("a sample of what is no table"));
        };
        let table = self.catalog.table_by_id(table);
        let mut key: Option<Bound> = None;
        for column in &table.indexes[0].columns {
            let ty = self.rel(rel).columns[column.index()].1.clone();
            let own = self.output_text(Bound::column(rel, column.index(), ty, position))?;
            key = Some(match key {
                None => own,
                Some(before) => {
                    let between = Bound::constant(Datum::Text("\u{1}".to_owned()), Type::Text, position);
                    let before = self.binary(BinaryOp::Concat, before, between, position)?;
                    self.binary(BinaryOp::Concat, before, own, position)?
                }
            });
        }
        key.ok_or_else(|| Error::internal("a table without a key"))
    }
}

/// A number, 0 for NULL, and whether it is NULL.
fn with_null(number: Bound) -> Vec<Bound> {
    let position = number.position;
    let zero = Bound::constant(Datum::Float(0.0), Type::Float8, position);
    let null = Bound::apply(Func::IsNull, vec![number.clone()], Type::Bool, position);
    let value = Bound::new(BoundKind::Coalesce(vec![number, zero]), Type::Float8, position);
    vec![value, null]
}
