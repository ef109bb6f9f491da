//! What a program needs rights for.
//!
//! Binding notes every table, view, sequence and routine that a statement touches, with the privilege
//! that PostgreSQL asks for. The list goes with the program; whoever runs it holds it against the
//! rights of the role, once for each catalog version.
//!
//! A routine, or DO, whose caller does not have all it may need is lowered once more, *guarded*: in
//! front of each statement stands a question to the host whether the role that runs it now may, and an
//! error 42501 where not. So it fails where PostgreSQL's does: at the statement that is not allowed, if
//! it is reached, and a handler can catch it.
//!
//! Tables behind a view are read with the rights of the view's owner; functions in it are called with
//! those of whoever reads it. Foreign keys and unique indexes look at tables in nobody's name.

use super::Lowerer;
use super::bound::{Bound, BoundKind, RelId};
use super::updatable::Target;
use planaria_base::{Datum, Error, Level, ProcedureId, Result, RoleId, SequenceId, SqlState, Type};
use planaria_catalog::{Object, Privileges, Requirement};
use planaria_ir::{Draw, ErrorFields, OpKind, Program, StateSource};

/// A program and what it needs rights for, in the order in which that stands in its text.
pub struct Lowered {
    /// The program.
    pub program: Program,
    /// Without duplicates. What the routines it calls need is theirs.
    pub requirements: Vec<Requirement>,
    /// What is wrong with statements of a routine: each is raised where it would run.
    pub errors: Vec<Error>,
}

/// Gives a requirement the number by which a guarded program asks for it ([`Draw::Permitted`]).
pub type Guard<'g> = &'g dyn Fn(&Requirement) -> u32;

/// Who runs a program, as far as that is known when it is lowered: whom policies bind ([`super::policy`]).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Runner {
    /// Whoever calls it.
    #[default]
    AtRunTime,
    /// This role.
    Role(RoleId),
    /// The engine, for itself: no policy binds it.
    Engine,
}

/// Rights while a program is lowered.
#[derive(Default)]
pub(super) struct Rights<'c> {
    /// Found so far.
    pub requirements: Vec<Requirement>,
    /// The program is to be guarded.
    pub guard: Option<Guard<'c>>,
    /// Who runs the program.
    pub runner: Runner,
    /// SECURITY DEFINER: who runs the program, whoever calls it.
    pub definer: Option<RoleId>,
    /// The view being expanded reads tables with the rights of this role.
    view_owner: Option<RoleId>,
    /// Relations whose columns were named.
    read: Vec<RelId>,
    /// FOR UPDATE is in force for the relations of FROM.
    pub locked: bool,
    /// FOR UPDATE OF these; empty: of all.
    pub locked_of: Vec<String>,
    /// The next view of a FROM is one whose rows are changed: they are read where its columns are named.
    pub unread: bool,
    /// A statement changes rows through a view: its columns are expressions.
    pub through_view: bool,
}

impl Rights<'_> {
    /// Who reads what is behind the view being expanded.
    pub fn view_owner(&self) -> Option<RoleId> {
        self.view_owner
    }
    /// Whom policies bind at what is being bound now.
    pub fn runner(&self) -> Runner {
        match (self.runner, self.view_owner.or(self.definer)) {
            (Runner::Engine, _) => Runner::Engine,
            (_, Some(role)) => Runner::Role(role),
            (runner, None) => runner,
        }
    }
    pub fn set_view_owner(&mut self, role: Option<RoleId>) {
        self.view_owner = role;
    }
    /// Whether columns of one of these were named.
    pub fn reads_any(&self, rels: &[RelId]) -> bool {
        rels.iter().any(|rel| self.read.contains(rel))
    }
    /// How many relations are known to be read.
    pub fn reads(&self) -> usize {
        self.read.len()
    }
    /// Forgets those that came to be known since.
    pub fn forget_reads(&mut self, known: usize) {
        self.read.truncate(known);
    }
}

impl<'c> Lowerer<'c> {
    /// Notes that any of these privileges is needed on an object.
    pub(super) fn require(&mut self, object: Object, any_of: Privileges) {
        let role = match object {
            Object::Table(_) | Object::View(_) => self.rights.view_owner,
            _ => None,
        };
        let requirement = Requirement { role, object, any_of };
        if let Some(guard) = self.rights.guard {
            self.guard(guard(&requirement), &requirement);
        }
        let all = &mut self.rights.requirements;
        if !all.contains(&requirement) {
            // Object by object, so that the first one named is the first one refused.
            let same = all.iter().rposition(|r| r.object == requirement.object && r.role == requirement.role);
            all.insert(same.map_or(all.len(), |at| at + 1), requirement);
        }
    }

    /// Asks whether the requirement is met; raises 42501 where not.
    fn guard(&mut self, number: u32, requirement: &Requirement) {
        let allowed = self.temp(Type::Bool);
        self.emit(OpKind::Draw { dst: allowed, input: Draw::Permitted(number) });
        let message = self.catalog.denied(&requirement.object).message().to_owned();
        let raise = self.block(|l| {
            l.cold(|l| {
                let message = l.constant(Datum::Text(message), Type::Text);
                l.emit(OpKind::Raise {
                    level: Level::Exception,
                    state: StateSource::Known(SqlState::INSUFFICIENT_PRIVILEGE),
                    message,
                    fields: ErrorFields::default(),
                });
                Ok(())
            })
        });
        let otherwise = raise.unwrap_or_default();
        self.emit(OpKind::If { cond: allowed, then: Default::default(), otherwise });
    }

    /// A table or view in FROM.
    pub(super) fn require_read(&mut self, object: Object) {
        self.require(object.clone(), Privileges::SELECT);
        if self.rights.locked {
            self.require(object, Privileges::UPDATE);
        }
    }

    /// The call of a routine.
    pub(super) fn require_call(&mut self, routine: ProcedureId) {
        self.require(Object::Routine(routine), Privileges::EXECUTE);
    }

    /// `nextval`, also of a serial column.
    pub(super) fn require_next(&mut self, sequence: SequenceId) {
        self.require(Object::Sequence(sequence), Privileges::USAGE.with(Privileges::UPDATE));
    }

    /// Within a view's query: the rights of this role count for tables, or, with none, those of whoever runs the statement.
    pub(super) fn in_name_of<R>(&mut self, role: Option<RoleId>, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.rights.view_owner, role);
        let result = f(self);
        self.rights.view_owner = before;
        result
    }

    /// A column of a relation was named.
    pub(super) fn note_read(&mut self, column: &Bound) {
        if let BoundKind::Column(rel, _) = column.kind {
            self.rights.read.push(rel);
        } else if self.rights.through_view {
            let rels = self.columns_of(column);
            self.rights.read.extend(rels.into_iter().map(|(rel, _)| rel));
        }
    }

    /// Changing rows whose columns are named needs SELECT too.
    pub(super) fn require_reads(&mut self, target: &Target<'_>, rel: RelId) {
        if self.rights.read.contains(&rel) {
            self.require_target(target, Privileges::SELECT);
        }
    }

    /// Without guards: what `f` emits is thrown away.
    pub(super) fn unguarded<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let guard = self.rights.guard.take();
        let result = f(self);
        self.rights.guard = guard;
        result
    }

    /// `current_user` and `session_user`. The former is known where a routine runs with its owner's
    /// rights.
    pub(super) fn user_name(&self, session: bool, position: u32) -> Bound {
        match self.rights.definer {
            Some(role) if !session => {
                Bound::constant(Datum::Text(self.catalog.role_name(role)), Type::Text, position)
            }
            _ => {
                let draw = if session { Draw::SessionUser } else { Draw::CurrentUser };
                Bound::new(BoundKind::Draw(draw), Type::Text, position)
            }
        }
    }

    /// The program with what it needs rights for.
    pub(super) fn lowered(mut self) -> Result<Lowered> {
        let requirements = std::mem::take(&mut self.rights.requirements);
        let errors = std::mem::take(&mut self.errors);
        Ok(Lowered { program: self.finish()?, requirements, errors })
    }
}
