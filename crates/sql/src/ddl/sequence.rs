//! CREATE and ALTER SEQUENCE.

use super::{Ddl, Work, local_name, no_relation};
use crate::ast::{Name, SequenceOptions};
use planaria_base::{Error, Result, SequenceId, SqlState, Type};
use planaria_catalog::Sequence;

/// An ascending sequence over the positive numbers of an integer type.
pub(super) fn full_range(id: SequenceId, name: String, ty: &Type) -> Sequence {
    Sequence {
        id,
        name,
        start: 1,
        increment: 1,
        min: 1,
        max: type_range(ty).1,
        cycle: false,
        owner: None,
        hidden: false,
    }
}

fn type_range(ty: &Type) -> (i64, i64) {
    match ty {
        Type::Int2 => (i16::MIN.into(), i16::MAX.into()),
        Type::Int4 => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl Ddl<'_> {
    pub(super) fn create_sequence(
        &mut self,
        name: &Name,
        if_not_exists: bool,
        options: &SequenceOptions,
    ) -> Result<&'static str> {
        let local = local_name(name)?;
        if if_not_exists && self.catalog().relation_exists(&local) {
            self.notice(format!("relation \"{local}\" already exists, skipping"));
            return Ok("CREATE SEQUENCE");
        }
        self.check_free(&local).map_err(|e| e.at(name.position))?;
        let id = SequenceId::from(self.catalog().sequences.len());
        let ty = options.ty.clone().unwrap_or(Type::Int8);
        self.catalog().sequences.push(Some(full_range(id, local, &ty)));
        self.apply_options(id, options)?;
        self.work(Work::CreateSequence(id));
        Ok("CREATE SEQUENCE")
    }

    pub(super) fn alter_sequence(
        &mut self,
        name: &Name,
        if_exists: bool,
        options: &SequenceOptions,
    ) -> Result<&'static str> {
        let local = local_name(name)?;
        let Some(id) = self.catalog().sequence(&local).map(|s| s.id) else {
            if if_exists {
                self.notice(format!("relation \"{local}\" does not exist, skipping"));
                return Ok("ALTER SEQUENCE");
            }
            return Err(no_relation(&local).at(name.position));
        };
        self.apply_options(id, options)?;
        let start = self.sequence_mut(id).start;
        let restart = options.restart.map(|at| at.unwrap_or(start));
        self.work(Work::ChangeSequence(id, restart));
        Ok("ALTER SEQUENCE")
    }

    pub(super) fn sequence_mut(&mut self, id: SequenceId) -> &mut Sequence {
        self.change.catalog.sequences[id.index()].as_mut().expect("an id of this catalog")
    }

    /// Options over what the sequence is; checked as PostgreSQL does.
    pub(super) fn apply_options(&mut self, id: SequenceId, options: &SequenceOptions) -> Result<()> {
        if let Some(Some(owner)) = &options.owned_by {
            let [.., table, column] = owner.parts.as_slice() else {
                return Err(invalid("invalid OWNED BY option".into())
                    .hint("Specify OWNED BY table.column or OWNED BY NONE.")
                    .at(owner.position));
            };
            let found = self
                .change
                .catalog
                .table(table)
                .and_then(|t| t.column(column).map(|(c, _)| (t.id, c)))
                .ok_or_else(|| {
                    Error::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{column}\" of relation \"{table}\" does not exist"),
                    )
                    .at(owner.position)
                })?;
            self.sequence_mut(id).owner = Some(found);
        } else if options.owned_by.is_some() {
            self.sequence_mut(id).owner = None;
        }
        let s = self.sequence_mut(id);
        let was_ascending = s.increment > 0;
        if let Some(increment) = options.increment {
            if increment == 0 {
                return Err(invalid("INCREMENT must not be zero".into()));
            }
            s.increment = increment;
        }
        let ascending = s.increment > 0;
        let (low, high) = type_range(options.ty.as_ref().unwrap_or(&Type::Int8));
        let default_min = if ascending { 1 } else { low };
        let default_max = if ascending { high } else { -1 };
        let turned = ascending != was_ascending;
        if turned || matches!(options.min, Some(None)) {
            s.min = default_min;
        }
        if turned || matches!(options.max, Some(None)) {
            s.max = default_max;
        }
        if let Some(Some(min)) = options.min {
            s.min = min;
        }
        if let Some(Some(max)) = options.max {
            s.max = max;
        }
        if s.min >= s.max {
            return Err(invalid(format!("MINVALUE ({}) must be less than MAXVALUE ({})", s.min, s.max)));
        }
        if let Some(cycle) = options.cycle {
            s.cycle = cycle;
        }
        match options.start {
            Some(start) => s.start = start,
            None if turned || s.start < s.min || s.start > s.max => {
                s.start = if ascending { s.min } else { s.max };
            }
            None => {}
        }
        if s.start < s.min {
            return Err(invalid(format!("START value ({}) cannot be less than MINVALUE ({})", s.start, s.min)));
        }
        if s.start > s.max {
            return Err(invalid(format!("START value ({}) cannot be greater than MAXVALUE ({})", s.start, s.max)));
        }
        Ok(())
    }
}
