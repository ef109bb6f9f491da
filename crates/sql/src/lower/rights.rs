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
use super::names::{Names, Source};
use super::updatable::Target;
use planaria_base::{Datum, Error, Level, ProcedureId, Result, RoleId, SequenceId, SqlState, Type};
use planaria_catalog::{Columns, DATABASE, Object, Privileges, Requirement};
use planaria_ir::{Draw, ErrorFields, OpKind, Program, ProgramKind, Reg, StateSource};
use planaria_syntax::ast::Name;
use std::collections::{BTreeSet, HashMap};

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
    /// What is done with relations on whose columns something was granted.
    accesses: Vec<Access>,
    /// What is read of the relations that statements change, if that turns out to be anything.
    of_targets: HashMap<RelId, AccessId>,
    /// FOR UPDATE is in force for the relations of FROM.
    pub locked: bool,
    /// FOR UPDATE OF these; empty: of all.
    pub locked_of: Vec<String>,
    /// The next view of a FROM is one whose rows are changed: they are read where its columns are named.
    pub unread: bool,
    /// A statement changes rows through a view: its columns are expressions.
    pub through_view: bool,
}

/// An access to a relation on whose columns something was granted: which columns it is to is known only when the
/// statement has been bound.
struct Access {
    columns: BTreeSet<String>,
    /// What it needs; `None` as long as nothing says so.
    requirement: Option<Requirement>,
    /// The questions that a guarded program asks for it, by the registers of the answers.
    guards: Vec<(Reg, Requirement)>,
}

/// One of them.
pub(super) type AccessId = usize;

/// A column that rights on columns are for.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tracked {
    access: AccessId,
    name: std::rc::Rc<str>,
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
        let requirement = Requirement { role, object, any_of, columns: Columns::Whole };
        if let Some(guard) = self.rights.guard {
            self.guard(guard(&requirement), &requirement);
        }
        self.add_requirement(requirement);
    }

    pub(super) fn add_requirement(&mut self, requirement: Requirement) {
        let all = &mut self.rights.requirements;
        if !all.contains(&requirement) {
            // Object by object, so that the first one named is the first one refused.
            let same = all.iter().rposition(|r| r.object == requirement.object && r.role == requirement.role);
            all.insert(same.map_or(all.len(), |at| at + 1), requirement);
        }
    }

    /// The same where the privilege on some of the columns may be enough: which ones is said of the access that this
    /// answers with. `None` where nothing was granted on columns.
    pub(super) fn require_columns(&mut self, object: Object, any_of: Privileges) -> Option<AccessId> {
        let Some(access) = self.new_access(&object) else {
            self.require(object, any_of);
            return None;
        };
        self.require_access(access, object, any_of);
        Some(access)
    }

    /// What is done with an object, of which nothing is required as yet; `None` where nothing was granted on its columns.
    pub(super) fn new_access(&mut self, object: &Object) -> Option<AccessId> {
        self.catalog.rights(object).filter(|rights| !rights.columns.is_empty())?;
        self.rights.accesses.push(Access { columns: BTreeSet::new(), requirement: None, guards: Vec::new() });
        Some(self.rights.accesses.len() - 1)
    }

    /// An access is one that needs a privilege.
    pub(super) fn require_access(&mut self, access: AccessId, object: Object, any_of: Privileges) {
        let columns = Columns::Named(BTreeSet::new());
        let requirement = Requirement { role: self.rights.view_owner, object, any_of, columns };
        if self.rights.guard.is_some() {
            // Its number comes when its columns are known.
            let allowed = self.guard(u32::MAX, &requirement);
            self.rights.accesses[access].guards.push((allowed, requirement.clone()));
        }
        self.add_requirement(requirement.clone());
        self.rights.accesses[access].requirement = Some(requirement);
    }

    /// An access is to a column, too.
    pub(super) fn note_accessed(&mut self, access: AccessId, column: &str) {
        self.rights.accesses[access].columns.insert(column.to_owned());
    }

    /// Gives the columns of a source the names by which the access to them is noted. What every relation has, besides, is
    /// nobody's to grant.
    pub(super) fn track<'n>(source: &mut Source, access: AccessId, names: impl IntoIterator<Item = &'n str>) {
        for (column, name) in source.columns.iter_mut().zip(names) {
            column.tracked.push(Tracked { access, name: name.into() });
        }
        for column in &mut source.system {
            column.tracked.push(Tracked { access, name: column.name.as_str().into() });
        }
    }

    /// A column of a source was named.
    pub(super) fn note_tracked(&mut self, tracked: &[Tracked]) {
        for Tracked { access, name } in tracked {
            self.rights.accesses[*access].columns.insert((**name).to_owned());
        }
    }

    /// `*` or `alias.*` names all columns.
    pub(super) fn note_star(&mut self, names: &Names<'_>, qualifier: Option<&Name>) {
        let alias = qualifier.map(|name| name.parts.last().map_or("", String::as_str));
        for source in names.sources.iter().filter(|s| alias.is_none_or(|alias| s.alias == alias)) {
            source.columns.iter().for_each(|column| self.note_tracked(&column.tracked));
        }
    }

    /// The names of a target's columns, by which reading them is noted: nothing is required before something is read.
    pub(super) fn track_target(&mut self, target: &Target<'_>, rel: RelId, source: &mut Source) {
        let object = target.outermost();
        if let Some(access) = self.new_access(&object) {
            let names = self.catalog.named_columns(&object);
            Self::track(source, access, names);
            self.rights.of_targets.insert(rel, access);
        }
    }

    /// The same of the system columns of a row that is returned.
    pub(super) fn track_system(&mut self, rel: RelId, source: &mut Source) {
        let access = self.rights.of_targets.get(&rel).copied();
        for column in &mut source.system {
            column.reads = Some(rel);
            if let (Some(access), true) = (access, column.tracked.is_empty()) {
                column.tracked.push(Tracked { access, name: column.name.as_str().into() });
            }
        }
    }

    /// A system column of a relation was named.
    pub(super) fn note_system(&mut self, of: Option<RelId>) {
        self.rights.read.extend(of);
    }

    /// The requirements with the columns that they are for, and the numbers of the questions of a guarded program.
    fn settle_accesses(&mut self) {
        let accesses = std::mem::take(&mut self.rights.accesses);
        for access in &accesses {
            let Some(wanted) = &access.requirement else { continue };
            let same = |r: &&mut Requirement| {
                (&r.object, r.role, r.any_of) == (&wanted.object, wanted.role, wanted.any_of)
            };
            for found in self.rights.requirements.iter_mut().filter(same) {
                if let Columns::Named(columns) = &mut found.columns {
                    columns.extend(access.columns.iter().cloned());
                }
            }
        }
        let Some(guard) = self.rights.guard else { return };
        let mut numbers = HashMap::new();
        for Access { columns, guards, .. } in accesses {
            for (allowed, requirement) in guards {
                let columns = Columns::Named(columns.clone());
                numbers.insert(allowed, guard(&Requirement { columns, ..requirement }));
            }
        }
        if numbers.is_empty() {
            return;
        }
        let mut number = |op: &mut planaria_ir::Op| {
            if let OpKind::Draw { dst, input: Draw::Permitted(asked) } = &mut op.kind
                && let Some(known) = numbers.get(dst)
            {
                *asked = *known;
            }
        };
        for op in self.prologue.iter_mut().chain(self.blocks.iter_mut().flatten()) {
            number(op);
            op.kind.blocks_mut(&mut |block| block.visit_mut(&mut number));
        }
    }

    /// What the program needs rights for.
    pub(super) fn take_requirements(&mut self) -> Vec<Requirement> {
        self.settle_accesses();
        std::mem::take(&mut self.rights.requirements)
    }

    /// Asks whether the requirement is met; raises 42501 where not. The register has the answer.
    fn guard(&mut self, number: u32, requirement: &Requirement) -> Reg {
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
        allowed
    }

    /// A table or view in FROM.
    pub(super) fn require_read(&mut self, object: Object) -> Option<AccessId> {
        let access = self.require_columns(object.clone(), Privileges::SELECT);
        if self.rights.locked {
            // Of any column.
            self.require_columns(object, Privileges::UPDATE);
        }
        access
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
        if let BoundKind::Column(rel, _) = column.stripped().kind {
            self.rights.read.push(rel);
        } else if self.rights.through_view {
            let rels = self.columns_of(column);
            self.rights.read.extend(rels.into_iter().map(|(rel, _)| rel));
        }
    }

    /// Changing rows whose columns are named needs SELECT too.
    pub(super) fn require_reads(&mut self, target: &Target<'_>, rel: RelId) {
        if !self.rights.read.contains(&rel) {
            return;
        }
        match self.rights.of_targets.get(&rel).copied() {
            Some(access) => {
                self.require_access(access, target.outermost(), Privileges::SELECT);
                self.require_behind(target, Privileges::SELECT);
            }
            None => drop(self.require_target(target, Privileges::SELECT)),
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

    /// `current_database()`: what the client calls it in a statement, and in views. In a routine it is the database's own name,
    /// whoever calls: logs of former versions have calls of those that ask for it. So it is in what tables keep of it.
    pub(super) fn database_name(&self, position: u32) -> Bound {
        let of_table = self.kept_text && self.expanding.is_empty();
        match self.program.kind {
            ProgramKind::Statement if !of_table => {
                Bound::new(BoundKind::Draw(Draw::CurrentDatabase), Type::Text, position)
            }
            _ => Bound::constant(Datum::Text(DATABASE.to_owned()), Type::Text, position),
        }
    }

    /// The program with what it needs rights for.
    pub(super) fn lowered(mut self) -> Result<Lowered> {
        let requirements = self.take_requirements();
        let errors = std::mem::take(&mut self.errors);
        Ok(Lowered { program: self.finish()?, requirements, errors })
    }
}
