//! Generated columns: computed from the row's other columns whenever one of these is stored.
//!
//! To storage, log and replay they are columns like any other. The hidden ones, keys of indexes, may read those that can be
//! seen; these read none that is generated. So those that can be seen are computed first. (Hidden ones of before see what was
//! there: [`planaria_catalog::Column::computed_anew`].)

use super::bound::RelId;
use super::constraint::Values;
use super::names::Names;
use super::{Lowerer, Scope};
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::Table;
use planaria_ir::Reg;

/// The columns that an expression over a table's rows reads.
fn read_by(table: &Table, text: &str) -> Result<Vec<usize>> {
    let names = planaria_syntax::parse::expression(text)?.column_names();
    let of = |(i, c): (usize, &planaria_catalog::Column)| (!c.hidden && names.contains(&c.name)).then_some(i);
    Ok(table.columns.iter().enumerate().filter_map(of).collect())
}

impl Lowerer<'_> {
    /// The changed columns, and those that are computed from one of them.
    pub(super) fn with_generated(&self, table: &Table, changed: &[usize]) -> Result<Vec<usize>> {
        let mut all = changed.to_vec();
        for hidden in [false, true] {
            for (i, column) in table.columns.iter().enumerate().filter(|(_, c)| c.hidden == hidden) {
                let Some(text) = column.generated().filter(|_| !all.contains(&i)) else { continue };
                // A hidden one of before does not see generated ones.
                let seen = if hidden && !column.computed_anew { changed } else { &all };
                if read_by(table, text)?.iter().any(|c| seen.contains(c)) {
                    all.push(i);
                }
            }
        }
        Ok(all)
    }

    /// The columns that those among `computed` that are generated read.
    pub(super) fn generated_reads(&self, table: &Table, computed: &[usize]) -> Result<Vec<usize>> {
        let mut all = Vec::new();
        for column in computed {
            if let Some(text) = table.columns[*column].generated() {
                all.extend(read_by(table, text)?);
            }
        }
        Ok(all)
    }

    /// Computes generated columns of a row whose other columns are in the registers of a shadow relation.
    pub(super) fn generate(
        &mut self,
        table: &Table,
        shadow: RelId,
        columns: &[usize],
    ) -> Result<Vec<(usize, Reg)>> {
        let mut computed = Vec::with_capacity(columns.len());
        let (hidden, seen): (Vec<usize>, Vec<usize>) =
            columns.iter().partition(|c| table.columns[**c].hidden);
        let (recent, former): (Vec<usize>, Vec<usize>) =
            hidden.into_iter().partition(|c| table.columns[*c].computed_anew);
        for column in former.iter().chain(&seen).chain(&recent) {
            let definition = &table.columns[*column];
            let Some(text) = definition.generated() else { continue };
            let around = std::mem::replace(&mut self.former_reals, !definition.computed_anew);
            let scope = Scope::new();
            let mut names = Names::of(&scope);
            names.sources.push(self.shadow_source(table, shadow, &table.name));
            let position = self.position;
            let e = self.bind_text_in(&names, text, position);
            let e = e.and_then(|e| self.coerce(e, &definition.ty, super::CastContext::Assignment));
            self.former_reals = around;
            let e = e?;
            let e = self.in_domain(e, definition.domain);
            let reg = self.exact(&e)?;
            let reg = self.exactly(reg, &definition.ty);
            if !former.contains(column) {
                self.rel_mut(shadow).regs[*column] = Some(reg);
            }
            computed.push((*column, reg));
        }
        Ok(computed)
    }

    /// The registers of a row's columns, with generated ones; for whoever looks at the row before it is stored.
    pub(super) fn generate_row(
        &mut self,
        table: &Table,
        values: &mut Values,
        columns: &[usize],
    ) -> Result<()> {
        if !columns.iter().any(|c| table.columns[*c].generated().is_some()) {
            return Ok(());
        }
        let shadow = self.shadow_rel(table, &table.name);
        self.rel_mut(shadow).regs = values.clone();
        self.available.push(shadow);
        let computed = self.generate(table, shadow, columns);
        self.available.pop();
        for (column, reg) in computed? {
            values[column] = Some(reg);
        }
        Ok(())
    }
}

/// Whether a key of an index is one of before, and reads a column that is generated: it is not what it says.
pub(super) fn is_blind(table: &Table, column: usize) -> Result<bool> {
    let column = &table.columns[column];
    let (Some(text), false) = (column.generated().filter(|_| column.hidden), column.computed_anew) else {
        return Ok(false);
    };
    Ok(read_by(table, text)?.iter().any(|c| table.columns[*c].generated().is_some()))
}

/// 428C9 of a value for a generated column.
pub(super) fn cannot_be_given(column: &str, insert: bool) -> Error {
    let message = match insert {
        true => format!("cannot insert a non-DEFAULT value into column \"{column}\""),
        false => format!("column \"{column}\" can only be updated to DEFAULT"),
    };
    let detail = format!("Column \"{column}\" is a generated column.");
    Error::new(SqlState::GENERATED_ALWAYS, message).with_detail(detail)
}
