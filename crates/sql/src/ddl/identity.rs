//! ALTER TABLE of identity columns.

use super::Change;
use super::table::{DefaultDef, check_identity_type};
use planaria_base::{ColumnId, Error, Result, SequenceId, SqlState, TableId};
use planaria_catalog::ColumnDefault;
use planaria_syntax::ast::SequenceOptions;

impl Change {
    pub(super) fn add_identity(
        &mut self,
        id: TableId,
        name: &str,
        always: bool,
        options: &SequenceOptions,
    ) -> Result<()> {
        let place = self.find_column(id, name)?;
        let table = self.catalog.table_by_id(id);
        let column = &table.columns[place.index()];
        check_identity_type(&column.ty)?;
        let state = |what: &str| {
            let message = format!("column \"{name}\" of relation \"{}\" {what}", table.name);
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        };
        if !column.not_null {
            return Err(state("must be declared NOT NULL before identity can be added"));
        }
        match column.default {
            ColumnDefault::None => {}
            ColumnDefault::Identity { .. } => return Err(state("is already an identity column")),
            _ => return Err(state("already has a default value")),
        }
        self.set_default(id, place, DefaultDef::Identity { always, options: options.clone() })
    }

    /// The sequence of an identity column; 55000 where the column is none.
    fn identity(&self, id: TableId, name: &str) -> Result<(ColumnId, SequenceId)> {
        let place = self.find_column(id, name)?;
        let table = self.catalog.table_by_id(id);
        match table.columns[place.index()].default {
            ColumnDefault::Identity { sequence, .. } => Ok((place, sequence)),
            _ => {
                let message =
                    format!("column \"{name}\" of relation \"{}\" is not an identity column", table.name);
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
            }
        }
    }

    pub(super) fn set_identity(
        &mut self,
        id: TableId,
        name: &str,
        always: Option<bool>,
        options: &SequenceOptions,
    ) -> Result<()> {
        let (place, sequence) = self.identity(id, name)?;
        if let Some(always) = always {
            self.table_mut(id).columns[place.index()].default = ColumnDefault::Identity { sequence, always };
        }
        if *options == SequenceOptions::default() {
            return Ok(());
        }
        self.configure_sequence(sequence, options)
    }

    pub(super) fn drop_identity(&mut self, id: TableId, name: &str, if_exists: bool) -> Result<()> {
        match self.identity(id, name) {
            Ok((place, sequence)) => {
                self.table_mut(id).columns[place.index()].default = ColumnDefault::None;
                self.remove_sequence(sequence);
                Ok(())
            }
            Err(e) if if_exists && e.sqlstate() == SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
                self.skip_missing(&e);
                Ok(())
            }
            Err(e) => Err(e),
        }
    }
}
