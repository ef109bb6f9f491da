//! How calls of a procedure are logged and replayed, in one catalog version.
//!
//! 1. The procedure's program, with the calls of what touches tables [inlined](planaria_analysis::inline),
//!    is cut by [`planaria_analysis::regrow`] under the facts of all current procedures.
//! 2. What is cut runs forward as a program that hands key-determining values to the log, and is replayed
//!    in pieces or, whole, as that same program, which then compares them.
//! 3. What cannot be cut runs as it is and is logged by the rows it changes.
//!
//! All of it depends on nothing but the catalog version, so that replay has the plan the call was
//! logged with.

use super::{Env, Routine, SchemaVersion, is_passing};
use planaria_analysis::logging::Logging;
use planaria_analysis::{Cost, inline_except, regrow};
use planaria_base::sync::OnceLock;
use planaria_base::{Error, ProcedureId, Result, SqlState, watch};
use planaria_exec::Code;
use planaria_ir::{Determinism, OpKind, Program};
use planaria_log::Keeping;
use planaria_recovery::{CompiledPiece, CompiledPlan};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a transaction that is one program is logged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogAs {
    /// As a call of this procedure with the arguments it ran with; `keeping`: it ran as the program that
    /// keeps values.
    Call { procedure: ProcedureId, keeping: bool },
    /// By the rows it changed.
    Values,
}

/// See the module's head.
pub(crate) struct Planned {
    /// What a call that is logged runs, if not the procedure's own code: the same with the values it keeps.
    forward: Option<(Code, Program)>,
    /// What the log is replayed by.
    pub(crate) plan: CompiledPlan,
    /// What the analysis decided, for people.
    pub(crate) notes: Vec<regrow::Note>,
    /// What logging the call costs, and what logging the rows.
    pub(crate) cost: Cost,
    /// See [`SchemaVersion::keeps_as_formerly`].
    as_formerly: OnceLock<bool>,
}

/// Why there is no plan.
enum Unplanned {
    /// Because of what the procedure does.
    Ever(String),
    /// Because of who has asked: there was no memory for it, or no stack.
    Now,
}

impl From<String> for Unplanned {
    fn from(why: String) -> Unplanned {
        Unplanned::Ever(why)
    }
}

impl From<Error> for Unplanned {
    fn from(error: Error) -> Unplanned {
        match is_passing(&error) {
            true => Unplanned::Now,
            false => Unplanned::Ever(format!("It cannot be planned: {}.", error.message())),
        }
    }
}

impl SchemaVersion {
    /// What a call that is a whole transaction runs, and how it is logged.
    #[inline]
    pub(crate) fn logged_call<'s>(
        &'s self,
        id: ProcedureId,
        routine: &'s Routine,
    ) -> Result<(&'s Code, LogAs)> {
        // The ids of polymorphic routines with the types of a call mean nothing in another process.
        let named = self.catalog.procedure(id).instance_of.is_none();
        if !routine.logging.is_command() || !self.means_the_same(id) || !named {
            return Ok((&routine.code, LogAs::Values));
        }
        Ok(match self.planned(id) {
            Ok(Planned { forward: Some((code, _)), .. }) => {
                (code, LogAs::Call { procedure: id, keeping: true })
            }
            Ok(_) => (&routine.code, LogAs::Call { procedure: id, keeping: false }),
            Err(_) => (&routine.code, LogAs::Values),
        })
    }

    /// What a logged call runs again when it is replayed whole. 0A000 if that takes inputs which cannot be
    /// told from what another planner kept.
    pub(crate) fn replayed_call(&self, id: ProcedureId, keeping: Keeping) -> Result<&Code> {
        let routine = self.routine(id)?;
        match keeping {
            Keeping::No => return Ok(&routine.code),
            Keeping::ByAnother if self.draws(id, &mut BTreeSet::new()) => {
                let name = &self.catalog.procedure(id).name;
                return Err(Error::unsupported(
                    format!("the call of procedure {name} kept values that another planner chose"),
                    "Open the database with the version of Planaria that wrote the log.",
                )
                .with_detail(
                    "It draws inputs (times, sequences, row ids) that cannot be determined from those values.",
                ));
            }
            Keeping::ByFormer | Keeping::ByAnother => return Ok(&routine.code),
            Keeping::Yes => {}
        }
        match self.planned(id) {
            Ok(Planned { forward: Some((code, _)), .. }) => Ok(code),
            _ => Err(Error::new(
                SqlState::DATA_CORRUPTED,
                format!(
                    "the log has values that procedure {} does not keep",
                    self.catalog.procedure(id).name
                ),
            )),
        }
    }

    /// Whether calls of a procedure keep what they kept under the former planner.
    pub(crate) fn keeps_as_formerly(&self, id: ProcedureId) -> bool {
        let Ok(planned) = self.planned(id) else { return false };
        *planned.as_formerly.get_or_init(|| {
            let pure = |id: ProcedureId| self.is_pure(id, &mut BTreeSet::new());
            let (Ok(program), Ok(facts)) = (self.program(id), self.facts()) else { return false };
            let Ok(whole) = inline_except(program, &|id| self.program(id).ok(), &pure) else { return false };
            let former = regrow::plan_formerly(&whole, &facts, &pure);
            matches!((former, &planned.forward), (Ok(former), Some((_, now))) if former.forward == *now)
        })
    }

    /// The program that keeps values, if there is one.
    pub(crate) fn keeping_program(&self, id: ProcedureId) -> Option<&Program> {
        self.planned(id).ok()?.forward.as_ref().map(|(_, program)| program)
    }

    /// How calls are logged, with the reason.
    pub(crate) fn logging(&self, id: ProcedureId) -> Result<Logging> {
        let logging = &self.routine(id)?.logging;
        Ok(match self.planned(id) {
            Err(why) if logging.is_command() => logging.by_values(why.to_owned()),
            _ => logging.clone(),
        })
    }

    /// A procedure's plan, made when first asked for; or one sentence on why it has none. Of what an older
    /// version logged as calls there is one, too.
    #[inline]
    pub(crate) fn planned(&self, id: ProcedureId) -> Result<&Planned, &str> {
        let cell = self.plans.get(id.index()).ok_or("There is no such procedure.")?;
        let made = match cell.get() {
            Some(made) => made,
            None => match watch::unwatched(|| self.make_plan(id)) {
                Err(Unplanned::Now) => return Err("It could not be planned just now."),
                Err(Unplanned::Ever(why)) => cell.get_or_init(|| Err(why)),
                Ok(planned) => cell.get_or_init(|| Ok(planned)),
            },
        };
        made.as_ref().map_err(String::as_str)
    }

    #[cold]
    fn make_plan(&self, id: ProcedureId) -> Result<Planned, Unplanned> {
        self.lower_all_called(id)?;
        let broken = Unplanned::from;
        if !self.routine(id).map_err(broken)?.logging.was_command() {
            return Err("Its calls are not logged as calls.".to_owned().into());
        }
        let program = self.program(id).map_err(broken)?;
        let callee = |id: ProcedureId| self.program(id).ok();
        let pure = |id: ProcedureId| self.is_pure(id, &mut BTreeSet::new());
        let whole =
            inline_except(program, &callee, &pure).map_err(|e| format!("It cannot be planned: {e}."))?;
        let cut = regrow::plan(&whole, &*self.facts()?, &pure).map_err(|e| e.0)?;

        let compile = |program: &Program| self.compile(program, None).map_err(broken);
        let pieces = cut.pieces.into_iter().map(|piece| {
            let code = compile(&piece.program)?;
            let (tables, hands_over) = (piece.tables, piece.hands_over);
            Ok(CompiledPiece { code, program: piece.program, tables, key: piece.key, hands_over })
        });
        let pieces = pieces.collect::<Result<Vec<_>, Unplanned>>()?;
        let plan = CompiledPlan::new(compile(&cut.plan)?, cut.plan, pieces);
        let cost = self.cost(&cut.forward, &mut BTreeSet::from([id]));
        let mut keeps = false;
        cut.forward.body.visit(&mut |op| keeps |= matches!(op.kind, OpKind::Keep { .. }));
        if keeps != plan.keeps {
            return Err("It cannot be planned: what it keeps is not what its plan takes.".to_owned().into());
        }
        let forward = if keeps {
            let code = self.compile_forward(&cut.forward, id).map_err(broken)?;
            Some((code, cut.forward))
        } else {
            None
        };
        Ok(Planned { forward, plan, notes: cut.notes, cost, as_formerly: OnceLock::new() })
    }

    /// The program that keeps values, which runs instead of the procedure.
    fn compile_forward(&self, program: &Program, id: ProcedureId) -> Result<Code> {
        planaria_ir::verify::verify(program, &self.env())?;
        self.build(
            program,
            &Env {
                schema: self,
                source: Some(self.source(id)),
                routine: Some(id),
                guarded: false,
                owner: None,
            },
        )
    }

    /// What a call of a program costs. A procedure that calls itself is counted once.
    fn cost(&self, program: &Program, seen: &mut BTreeSet<ProcedureId>) -> Cost {
        Cost::of(program, &self.env(), &mut |callee| {
            let cost = seen.insert(callee).then(|| Some(self.cost(self.program(callee).ok()?, seen)))?;
            seen.remove(&callee);
            cost
        })
    }

    /// Lowers a routine and all that it leads to, so that what is asked of them later has one answer. Fails where one could not be
    /// lowered for reasons that are not its own.
    fn lower_all_called(&self, id: ProcedureId) -> Result<()> {
        let (mut seen, mut left) = (BTreeSet::from([id]), vec![id]);
        while let Some(id) = left.pop() {
            let Some(program) = self.program_now(id)? else { continue };
            program.body.visit(&mut |op| {
                if let OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } = &op.kind
                    && seen.insert(*procedure)
                {
                    left.push(*procedure);
                }
            });
        }
        Ok(())
    }

    /// A routine's program. One that cannot be lowered fails when it is called: it has none. An error is of this moment.
    fn program_now(&self, id: ProcedureId) -> Result<Option<&Program>> {
        match self.program(id) {
            Ok(program) => Ok(Some(program)),
            Err(error) if is_passing(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// What the current procedures do to the tables, as they are from home: whoever replays knows no other path, and no temporary
    /// table.
    fn facts(&self) -> Result<Arc<regrow::Facts>> {
        if let Some(home) = self.along.home() {
            return home?.facts();
        }
        let _one = self.making_facts.lock();
        if let Some(facts) = self.facts.get() {
            return Ok(facts.clone());
        }
        let mut facts = regrow::Facts::default();
        let called = |p: &&_| self.catalog.is_called(p);
        let current = self.catalog.procedures.definitions().filter(called);
        let mut left: Vec<ProcedureId> = current.map(|p| p.id).collect();
        self.lower_many(&left);
        let (mut instances, mut next) = (BTreeSet::new(), 0);
        while let Some(id) = left.get(next).copied() {
            next += 1;
            let Some(program) = self.program_now(id)? else { continue };
            facts.add(program, &self.env());
            // Those with the types of calls are no definitions: they are what these calls lead to.
            program.body.visit(&mut |op| {
                if let OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } = &op.kind
                    && self.catalog.procedure(*procedure).instance_of.is_some()
                    && instances.insert(*procedure)
                {
                    left.push(*procedure);
                }
            });
        }
        Ok(self.facts.get_or_init(|| Arc::new(facts)).clone())
    }

    /// Whether a routine, or what it calls, takes inputs that the log has.
    fn draws(&self, id: ProcedureId, seen: &mut BTreeSet<ProcedureId>) -> bool {
        if !seen.insert(id) {
            return false;
        }
        let Ok(program) = self.program(id) else { return true };
        let mut draws = false;
        program.body.visit(&mut |op| {
            draws = draws
                || match &op.kind {
                    OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                        self.draws(*procedure, seen)
                    }
                    kind => matches!(
                        kind.level(),
                        Determinism::Draws | Determinism::Constraints | Determinism::Text
                    ),
                };
        });
        draws
    }

    /// Whether a routine, with what it calls, touches no table and no sequence and draws nothing.
    fn is_pure(&self, id: ProcedureId, seen: &mut BTreeSet<ProcedureId>) -> bool {
        if !seen.insert(id) {
            return true;
        }
        let Ok(program) = self.program(id) else { return false };
        let mut pure = true;
        program.body.visit(&mut |op| {
            pure = pure
                && match &op.kind {
                    OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                        self.is_pure(*procedure, seen)
                    }
                    OpKind::SetValue { .. } => false,
                    // The machine is the same for all that this process replays.
                    kind => {
                        kind.table().is_none()
                            && matches!(kind.level(), Determinism::Deterministic | Determinism::Machine)
                    }
                };
        });
        pure
    }
}
