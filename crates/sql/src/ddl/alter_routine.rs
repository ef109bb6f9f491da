//! ALTER FUNCTION, PROCEDURE and ROUTINE: names and properties.
//!
//! Other properties make another version of the routine, as CREATE OR REPLACE does: calls that were logged before run with
//! what it was.

use super::Change;
use super::depend::Object as Target;
use super::routine::{check_path, set_all};
use planaria_base::{Error, ProcedureId, Result, SqlState};
use planaria_catalog::{Object, oids};
use planaria_syntax::ast::{RoutineOptions, RoutineRef};

impl Change {
    /// The routine to be altered, and the tag of the statement.
    fn altered(&self, routine: &RoutineRef) -> Result<(ProcedureId, &'static str)> {
        let Object::Routine(id) = self.routine(routine)? else {
            return Err(Error::internal("a routine of another kind"));
        };
        self.catalog.require_owner(self.actor.user, &Object::Routine(id))?;
        let tag = match routine.procedure {
            _ if routine.aggregate => "ALTER AGGREGATE",
            Some(true) => "ALTER PROCEDURE",
            Some(false) => "ALTER FUNCTION",
            None => "ALTER ROUTINE",
        };
        Ok((id, tag))
    }

    /// `.. RENAME TO`
    fn rename_routine(&mut self, routine: &RoutineRef, to: &str) -> Result<&'static str> {
        let (id, tag) = self.altered(routine)?;
        let old = self.catalog.procedure(id);
        let types = |p: &planaria_catalog::Procedure| -> Vec<planaria_base::Type> {
            p.inputs().map(|q| q.ty.base()).collect()
        };
        let taken = self.catalog.procedures_named((old.schema, to)).any(|p| types(p) == types(old));
        if taken {
            let mut there = old.clone();
            to.clone_into(&mut there.name);
            let message = format!(
                "function {} already exists in schema \"{}\"",
                oids::signature(&there),
                self.catalog.schema_name(old.schema)
            );
            return Err(Error::new(SqlState::DUPLICATE_FUNCTION, message));
        }
        self.refuse_named(&Target::Routine(id), "renamed")?;
        to.clone_into(&mut self.catalog.procedures[id.index()].name);
        Ok(tag)
    }

    /// `.. IMMUTABLE | STRICT | SECURITY DEFINER ..`
    pub(super) fn alter_routine(
        &mut self,
        routine: &RoutineRef,
        options: &RoutineOptions,
    ) -> Result<&'static str> {
        if let Some(to) = &options.name {
            return self.rename_routine(routine, to);
        }
        let (id, tag) = self.altered(routine)?;
        let old = self.catalog.procedure(id);
        if old.aggregate.is_some() {
            let message = format!("\"{}\" is an aggregate function", old.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if old.is_procedure() && (options.strict.is_some() || options.volatility.is_some()) {
            let message = "invalid attribute in procedure definition";
            return Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message));
        }
        let mut new = old.clone();
        new.id = ProcedureId::from(self.catalog.procedures.len());
        new.volatility = options.volatility.unwrap_or(old.volatility);
        new.strict = options.strict.unwrap_or(old.strict);
        new.security_definer = options.security_definer.unwrap_or(old.security_definer);
        new.hints = self.hints(old, &options.hints)?;
        set_all(&mut new, &options.settings);
        check_path(&new)?;
        self.catalog.procedures[id.index()].current = false;
        self.replace_trigger_function(id, new.id);
        self.catalog.procedures.push(new.into());
        Ok(tag)
    }
}
