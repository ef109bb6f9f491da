//! Whether a role may run a program, decided once for each catalog version.
//!
//! 1. A routine needs what its own statements need, and what the routines it calls need, as the role that
//!    runs them: the caller, or the owner of one with SECURITY DEFINER. If the role has all of it, the
//!    routine runs as compiled for everybody, and nothing is asked any more.
//! 2. Where something is missing, the *guarded* code runs: the same with a question in front of each
//!    statement, which raises 42501 where PostgreSQL would ([`planaria_sql::lower::Lowered`]). Calls that
//!    run guarded are logged by the rows they change.
//!
//! So rights are data that belongs to a catalog version: a GRANT makes a new one, and what was compiled and
//! checked under the old one is not looked at again.

use super::{Cells, Env, Routine, SchemaVersion, no_procedure};
use planaria_base::sync::Mutex;
use planaria_base::{ProcedureId, Result, RoleId};
use planaria_catalog::{Object, Privileges, Requirement};
use planaria_exec::{Code, Source};
use planaria_ir::{OpKind, Program};
use planaria_sql::lower::{self, Guard, Lowered, ParamTypes, Runner};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What was found out about rights in one catalog version.
pub(crate) struct Permits {
    /// Requirements that guarded programs ask for, by number.
    numbers: Mutex<Vec<Requirement>>,
    routines: Mutex<HashMap<(RoleId, ProcedureId), bool>>,
    guarded: Cells<Result<Routine>>,
    /// Whether some routine runs with the rights of a role that is no superuser.
    has_definers: bool,
}

impl Permits {
    pub(crate) fn new(catalog: &planaria_catalog::Catalog) -> Permits {
        Permits {
            numbers: Mutex::new(Vec::new()),
            routines: Mutex::new(HashMap::new()),
            guarded: Cells::new(catalog.procedures.len()),
            has_definers: catalog.definers().any(|p| !catalog.is_superuser(p.rights.owner)),
        }
    }
}

/// Routines that a program calls.
fn callees(program: &Program) -> BTreeSet<ProcedureId> {
    let mut all = BTreeSet::new();
    program.body.visit(&mut |op| {
        if let OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } = &op.kind {
            all.insert(*procedure);
        }
    });
    all
}

impl SchemaVersion {
    /// Whether a role may run everything in a routine, wherever it leads.
    pub(crate) fn permits_routine(&self, role: RoleId, id: ProcedureId) -> bool {
        if self.is_free(role) {
            return true;
        }
        if let Some(known) = self.permits.routines.lock().get(&(role, id)) {
            return *known;
        }
        let found = self.find_permits(role, id);
        self.permits.routines.lock().insert((role, id), found);
        found
    }

    /// A superuser calls nothing that it may not, unless that is run by somebody else.
    fn is_free(&self, role: RoleId) -> bool {
        !self.permits.has_definers && self.catalog.is_superuser(role)
    }

    fn find_permits(&self, role: RoleId, id: ProcedureId) -> bool {
        type At = Option<Arc<SchemaVersion>>;
        let mut all: Vec<(At, RoleId, ProcedureId)> = vec![(None, role, id)];
        let mut next = 0;
        while let Some((at, caller, id)) = all.get(next).cloned() {
            next += 1;
            let here = at.as_deref().unwrap_or(self);
            let procedure = self.catalog.behind(id);
            let role = if procedure.security_definer { procedure.rights.owner } else { caller };
            // One that cannot be lowered fails when it is called.
            let Ok(lowered) = here.lowered(id) else { continue };
            let within = here.within(id).or(at.clone());
            if !lowered.requirements.iter().all(|r| self.catalog.permits(role, r)) {
                return false;
            }
            for callee in callees(&lowered.program) {
                let is_there = all.iter().any(|(at, known_role, known)| {
                    let same = match (at, &within) {
                        (Some(at), Some(within)) => Arc::ptr_eq(at, within),
                        (at, within) => at.is_none() && within.is_none(),
                    };
                    same && (*known_role, *known) == (role, callee)
                });
                if !is_there {
                    all.push((within.clone(), role, callee));
                }
            }
        }
        true
    }

    /// Whether a role may run everything in the routines that a program calls.
    pub(crate) fn permits_callees(&self, role: RoleId, program: &Program) -> bool {
        self.is_free(role) || callees(program).into_iter().all(|id| self.permits_routine(role, id))
    }

    /// 42501 where a role may not call a routine.
    pub(crate) fn require_call(&self, role: RoleId, id: ProcedureId) -> Result<()> {
        self.catalog.require(role, &Requirement::new(Object::Routine(id), Privileges::EXECUTE))
    }

    /// Lowers and compiles a statement for a role; `true` if its code is guarded. 42501 where the role may
    /// not run it (but for DO, which fails at the statement in it that may not be run).
    pub(crate) fn compile_for(
        &self,
        role: RoleId,
        statement: &planaria_syntax::ast::Statement,
        types: &ParamTypes,
    ) -> Result<(Program, Code, bool)> {
        self.compile_lowered(role, statement, &mut |guard| {
            lower::lower_statement_rights(&self.catalog, statement, types, Runner::Role(role), guard)
        })
    }

    /// The same of what a statement is lowered to, by rights that a guard asks for, or without.
    pub(crate) fn compile_lowered(
        &self,
        role: RoleId,
        statement: &planaria_syntax::ast::Statement,
        lower: &mut dyn FnMut(Option<Guard<'_>>) -> Result<Lowered>,
    ) -> Result<(Program, Code, bool)> {
        let lowered = lower(None)?;
        let missing = lowered.requirements.iter().find(|r| !self.catalog.permits(role, r));
        let is_do = matches!(statement.kind, planaria_syntax::ast::StatementKind::Do { .. });
        if let Some(missing) = missing.filter(|_| !is_do) {
            return Err(self.catalog.denied(&missing.object));
        }
        if missing.is_none() && self.permits_callees(role, &lowered.program) {
            let code = self.compile(&lowered.program, Self::source_of_statement(statement))?;
            return Ok((lowered.program, code, false));
        }
        let number = |r: &Requirement| self.number(r);
        let guarded = lower(Some(&number))?;
        let code = self.compile_guarded(&guarded.program, Self::source_of_statement(statement))?;
        Ok((guarded.program, code, true))
    }

    /// A routine that asks for its rights, compiled when first asked for.
    pub(crate) fn guarded_routine(&self, id: ProcedureId) -> Result<&Routine> {
        let cell = self.permits.guarded.get(id.index());
        let cell = cell.ok_or_else(|| no_procedure(id))?;
        let make = || {
            let plain = self.routine(id)?;
            // It asks where its own path leads.
            let within = self.within(id);
            let number = |r: &Requirement| within.as_deref().unwrap_or(self).number(r);
            let procedure = self.catalog.procedure(id);
            let Lowered { program, .. } =
                lower::plpgsql::lower_procedure_rights(&self.catalog, procedure, Some(&number))?;
            planaria_ir::verify::verify(&program, &self.env())?;
            let source = Some(self.source(id));
            let env = Env { schema: self, source, routine: Some(id), guarded: true, owner: None };
            let code = self.build(&program, &env)?;
            Ok(Routine {
                code,
                columns: plain.columns.clone(),
                logging: plain.logging.clone(),
                claims: plain.claims,
                touches: plain.touches.clone(),
            })
        };
        cell.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// Compiles what a change of the schema has to run for a role, which has the rights that the change itself
    /// needs: the routines in it run with the role's rights, as anywhere.
    pub(crate) fn compile_as(&self, role: RoleId, program: &Program) -> Result<Code> {
        if self.permits_callees(role, program) {
            self.compile(program, None)
        } else {
            self.compile_guarded(program, None)
        }
    }

    /// The same of what fills a table with the rows of its query: it runs as the table's owner, whoever asks for it.
    pub(crate) fn compile_fill(&self, owner: RoleId, program: &Program) -> Result<Code> {
        planaria_ir::verify::verify(program, &self.env())?;
        let guarded = !self.permits_callees(owner, program);
        self.build(program, &Env { schema: self, source: None, routine: None, guarded, owner: Some(owner) })
    }

    fn compile_guarded(&self, program: &Program, source: Option<Source>) -> Result<Code> {
        planaria_ir::verify::verify(program, &self.env())?;
        self.build(program, &Env { schema: self, source, routine: None, guarded: true, owner: None })
    }

    fn number(&self, requirement: &Requirement) -> u32 {
        let mut numbers = self.permits.numbers.lock();
        let at = numbers.iter().position(|r| r == requirement).unwrap_or_else(|| {
            numbers.push(requirement.clone());
            numbers.len() - 1
        });
        at as u32
    }

    /// Whether a role has what a guarded program asks for.
    pub(crate) fn is_permitted(&self, role: RoleId, number: u32) -> bool {
        let numbers = self.permits.numbers.lock();
        numbers.get(number as usize).is_some_and(|r| self.catalog.permits(role, r))
    }
}
