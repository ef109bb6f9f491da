//! Row-level security: the policies of the tables that a program reads and writes.
//!
//! ```text
//!  read:    the rows for which  any permissive USING and all restrictive ones  hold are there
//!  stored:  the row must meet   any permissive WITH CHECK (else USING) and all restrictive ones; 42501
//! ```
//!
//! 1. *Whom they bind* is known where the program is lowered for a role: a client's statement, a routine with SECURITY
//!    DEFINER, what stands behind a view. Then the conditions are those of that role's policies, and an index serves them
//!    as it serves any condition.
//! 2. A routine that runs with its caller's rights is lowered once for all. It asks once, where it begins, whether the
//!    policies of a table bind whoever runs it ([`Draw::RowSecurity`]), and whom they are for ([`Draw::ActsAs`]); each
//!    condition is `NOT bound OR ..`. A call that asks is logged by values.
//! 3. What the engine itself reads (a new constraint looks at its rows, keys and referential actions at other tables)
//!    is bound by none.
//! 4. Conditions of policies are checked before all others that speak of the same row ([`BoundKind::Secured`]): what
//!    a user's function raises or tells must not be about rows that are not to be seen. A comparison that an access path
//!    has made needless computes nothing from the row.
//! 5. With `row_security = off` a statement that policies would bind fails, 42501.
//!
//! Which policies hold for which part of a statement is the table in PostgreSQL's documentation of CREATE POLICY.

use super::bound::{Bound, BoundKind, RelId, RelKind};
use super::constraint::Values;
use super::names::Names;
use super::rights::Runner;
use super::updatable::Target;
use super::{Lowerer, Scope};
use planaria_base::{Datum, Error, Result, RoleId, SqlState, TableId, Type};
use planaria_catalog::{Catalog, Object, Policy, PolicyCommand, Privileges, Table};
use planaria_ir::{Draw, ErrorFields, Op, OpId, OpKind, ProgramKind, Reg};
use planaria_syntax::ast::Expr;
use std::collections::HashMap;

/// What is known of policies while a program is lowered.
#[derive(Default)]
pub(super) struct Policies {
    /// Tables whose policies are being bound, outer before inner.
    binding: Vec<TableId>,
    /// What was asked where the program begins.
    asked: HashMap<Draw, Reg>,
    /// What is asked of the new rows of a relation before they are stored.
    checks: HashMap<RelId, Vec<PolicyCheck>>,
}

/// A condition that a row must meet, else 42501.
#[derive(Clone)]
pub(super) struct PolicyCheck {
    condition: Bound,
    message: String,
}

/// That the policies of a table bind who runs the program.
#[derive(Clone, Copy)]
struct Binding {
    /// Whom; `None`: whoever it is.
    role: Option<RoleId>,
    /// Whether they do, where that is known at run time only.
    active: Option<Reg>,
}

/// Which of a row's conditions a check asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clause {
    /// USING, also of rows that are to be stored: they must be there afterwards.
    Using,
    /// WITH CHECK, and USING where there is none.
    Check,
}

impl Clause {
    fn of(self, policy: &Policy) -> Option<&String> {
        match self {
            Clause::Using => policy.using.as_ref(),
            Clause::Check => policy.check.as_ref().or(policy.using.as_ref()),
        }
    }
}

/// How a violation is worded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wording {
    /// A row that is to be stored.
    New,
    /// The row that ON CONFLICT DO UPDATE has met.
    Conflict,
    /// The row that MERGE has matched.
    Matched,
}

impl Wording {
    fn message(self, policy: Option<&str>, table: &str) -> String {
        let row = if self == Wording::Matched { "target" } else { "new" };
        let name = policy.map_or(String::new(), |name| format!(" \"{name}\""));
        let using = if self == Wording::New { "" } else { " (USING expression)" };
        format!("{row} row violates row-level security policy{name}{using} for table \"{table}\"")
    }
}

/// Conditions are checked before all others that speak of the same row.
pub(super) fn secure(conditions: &mut [Bound]) {
    for e in conditions {
        let plain = std::mem::replace(e, Bound::null(Type::Bool, e.position));
        let (ty, position) = (plain.ty.clone(), plain.position);
        *e = Bound::new(BoundKind::Secured(Box::new(plain)), ty, position);
    }
}

impl<'c> Lowerer<'c> {
    /// Whether, and whom, the policies of a table bind. Fails at run time where `row_security` is off and they do.
    fn row_security(&mut self, table: &Table) -> Result<Option<Binding>> {
        if !table.row_security {
            return Ok(None);
        }
        let binding = match self.rights.runner() {
            Runner::Engine => return Ok(None),
            Runner::Role(role) if self.catalog.is_exempt(role, table.id) => return Ok(None),
            Runner::Role(role) => Binding { role: Some(role), active: None },
            Runner::AtRunTime => {
                let active = self.asked_first(Draw::RowSecurity(table.id));
                Binding { role: None, active: Some(active) }
            }
        };
        if self.policies.binding.contains(&table.id) {
            let message = format!("infinite recursion detected in policy for relation \"{}\"", table.name);
            let Some(active) = binding.active else {
                return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
            };
            // Whoever is not bound does not get there.
            self.raising(active, |l| {
                l.raise(SqlState::INVALID_OBJECT_DEFINITION, message, ErrorFields::default());
                Ok(())
            })?;
            return Ok(None);
        }
        let owner = binding.role.is_some_and(|r| self.catalog.has_privileges_of(r, table.rights.owner));
        let refuse = |l: &mut Self| {
            let off = l.temp(Type::Bool);
            l.emit(OpKind::Draw { dst: off, input: Draw::RowSecurityOff });
            l.raising(off, |l| {
                let message =
                    format!("query would be affected by row-level security policy for table \"{}\"", table.name);
                let hint = "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY.";
                let hint = owner.then(|| l.constant(Datum::Text(hint.to_owned()), Type::Text));
                let fields = ErrorFields { hint, ..ErrorFields::default() };
                l.raise(SqlState::INSUFFICIENT_PRIVILEGE, message, fields);
                Ok(())
            })
        };
        match binding.active {
            Some(active) => self.when(active, refuse)?,
            None => refuse(self)?,
        }
        Ok(Some(binding))
    }

    /// Whether errors may show rows of a table: not where its policies may bind who runs the program, nor where that role
    /// may not read all of its columns.
    pub(super) fn tells_rows(&self, table: &Table) -> bool {
        match self.rights.runner() {
            Runner::Engine => true,
            Runner::Role(role) => {
                let may = self.catalog.privileges(role, &Object::Table(table.id));
                self.catalog.is_exempt(role, table.id) && may.intersects(Privileges::SELECT)
            }
            Runner::AtRunTime => !table.row_security,
        }
    }

    /// The answer to a question that is asked once, where the program begins.
    fn asked_first(&mut self, input: Draw) -> Reg {
        if let Some(known) = self.policies.asked.get(&input) {
            return *known;
        }
        let dst = self.program.value(Type::Bool);
        let kind = OpKind::Draw { dst, input };
        self.prologue.push(Op { id: OpId(0), position: 0, kind });
        self.policies.asked.insert(input, dst);
        dst
    }

    /// What a policy's text says of the rows of a relation that has the columns of its table.
    fn bind_policy(&mut self, table: &Table, rel: RelId, text: &str) -> Result<Bound> {
        let position = self.position;
        let read = self.rights.reads();
        let collectors = std::mem::take(&mut self.collectors);
        let (given, transitions) = (std::mem::take(&mut self.given), std::mem::take(&mut self.transitions));
        let (locked, unread) = (self.rights.locked, self.rights.unread);
        (self.rights.locked, self.rights.unread) = (false, false);
        self.policies.binding.push(table.id);
        let scope = Scope::new();
        let mut names = Names::of(&scope);
        names.sources.push(match self.rel(rel).kind {
            RelKind::Table(_) => self.source_of(rel, &table.name),
            _ => self.shadow_source(table, rel, &table.name),
        });
        let bound = self.outside("policy expressions", |l| {
            let e = l.bind_text_in(&names, text, position)?;
            l.boolean(e, "POLICY")
        });
        self.policies.binding.pop();
        (self.rights.locked, self.rights.unread) = (locked, unread);
        (self.given, self.transitions) = (given, transitions);
        self.collectors = collectors;
        self.rights.forget_reads(read);
        bound
    }

    /// Whether a policy is for who runs the program: `None` where it is not, and for certain.
    fn is_for(&mut self, policy: &Policy, binding: Binding) -> Option<Option<Bound>> {
        if let Some(role) = binding.role {
            return policy.is_for(self.catalog, role).then_some(None);
        }
        let mut any: Option<Bound> = None;
        for role in &policy.roles {
            let reg = self.asked_first(Draw::ActsAs(*role));
            let acts = Bound::new(BoundKind::Reg(reg), Type::Bool, self.position);
            any = Some(match any {
                Some(any) => any.or(acts),
                None => acts,
            });
        }
        Some(any)
    }

    /// The conditions of the policies for a command: the permissive ones joined, and each restrictive one with its name.
    fn conditions_of(
        &mut self,
        table: &Table,
        rel: RelId,
        command: PolicyCommand,
        clause: Clause,
        binding: Binding,
    ) -> Result<(Bound, Vec<(String, Bound)>)> {
        let mut any: Option<Bound> = None;
        let mut all = Vec::new();
        for policy in table.policies_for(command) {
            let Some(text) = clause.of(policy) else { continue };
            let Some(is_for) = self.is_for(policy, binding) else { continue };
            let condition = self.bind_policy(table, rel, text)?;
            if policy.permissive {
                let one = match is_for {
                    Some(is_for) => is_for.and(condition),
                    None => condition,
                };
                any = Some(match any {
                    Some(any) if is_true(&any) => any,
                    Some(_) if is_true(&one) => one,
                    Some(any) => any.or(one),
                    None => one,
                });
            } else {
                let one = match is_for {
                    Some(is_for) => is_for.negated().or(condition),
                    None => condition,
                };
                all.push((policy.name.clone(), one));
            }
        }
        // Without one that lets a row pass, none does.
        let Some(any) = any else {
            return Ok((self.unless_exempt(Bound::bool(false, 0), binding), Vec::new()));
        };
        let any = self.unless_exempt(any, binding);
        let all = all.into_iter().map(|(name, e)| (name, self.unless_exempt(e, binding))).collect();
        Ok((any, all))
    }

    fn unless_exempt(&self, e: Bound, binding: Binding) -> Bound {
        let position = e.position;
        match binding.active {
            Some(active) => Bound::new(BoundKind::Reg(active), Type::Bool, position).negated().or(e),
            None => e,
        }
    }

    /// Which rows of a relation are there for these commands: conditions that are checked before others.
    fn visible(
        &mut self,
        table: &Table,
        rel: RelId,
        commands: &[PolicyCommand],
        binding: Binding,
    ) -> Result<Vec<Bound>> {
        let mut conditions: Vec<Bound> = Vec::new();
        for command in commands {
            let (any, all) = self.conditions_of(table, rel, *command, Clause::Using, binding)?;
            for e in all.into_iter().map(|(_, e)| e).chain([any]) {
                for e in e.into_conjuncts() {
                    if !conditions.contains(&e) {
                        conditions.push(e);
                    }
                }
            }
        }
        secure(&mut conditions);
        Ok(conditions)
    }

    /// The conditions under which rows of a table in FROM are there.
    pub(super) fn visible_rows(&mut self, table: &Table, rel: RelId) -> Result<Vec<Bound>> {
        let Some(binding) = self.row_security(table)? else { return Ok(Vec::new()) };
        let of = &self.rights.locked_of;
        let locked = self.rights.locked
            && (of.is_empty() || !self.expanding.is_empty() || of.contains(&self.rel(rel).name));
        let commands: &[PolicyCommand] = match locked {
            true => &[PolicyCommand::Update, PolicyCommand::Select],
            false => &[PolicyCommand::Select],
        };
        self.visible(table, rel, commands, binding)
    }

    /// The role in whose name a statement changes its table.
    fn behind_target<R>(&mut self, target: &Target<'_>, f: impl FnOnce(&mut Self) -> R) -> R {
        let role = target.role().unwrap_or(self.rights.view_owner());
        self.in_name_of(role, f)
    }

    /// The conditions under which rows of an UPDATE's or DELETE's table are there, once it is known whether its columns
    /// are read; what the new rows of an UPDATE must meet is noted.
    pub(super) fn changeable_rows(
        &mut self,
        target: &Target<'_>,
        rel: RelId,
        command: PolicyCommand,
    ) -> Result<Vec<Bound>> {
        let table = target.table;
        if !table.row_security {
            return Ok(Vec::new());
        }
        let reads = self.rights.reads_any(&[rel]);
        self.behind_target(target, |l| {
            let Some(binding) = l.row_security(table)? else { return Ok(Vec::new()) };
            if command == PolicyCommand::Update {
                let mut checks = Vec::new();
                l.stored_checks(table, rel, command, reads, binding, &mut checks)?;
                l.policies.checks.insert(rel, checks);
            }
            let commands = [command, PolicyCommand::Select];
            l.visible(table, rel, &commands[..1 + usize::from(reads)], binding)
        })
    }

    /// What the rows that a statement stores must meet.
    fn stored_checks(
        &mut self,
        table: &Table,
        rel: RelId,
        command: PolicyCommand,
        reads: bool,
        binding: Binding,
        checks: &mut Vec<PolicyCheck>,
    ) -> Result<()> {
        self.add_checks(table, rel, command, (Clause::Check, Wording::New), binding, checks)?;
        if reads {
            let select = PolicyCommand::Select;
            self.add_checks(table, rel, select, (Clause::Using, Wording::New), binding, checks)?;
        }
        Ok(())
    }

    fn add_checks(
        &mut self,
        table: &Table,
        rel: RelId,
        command: PolicyCommand,
        (clause, wording): (Clause, Wording),
        binding: Binding,
        checks: &mut Vec<PolicyCheck>,
    ) -> Result<()> {
        let (any, all) = self.conditions_of(table, rel, command, clause, binding)?;
        let all = all.into_iter().map(|(name, e)| (Some(name), e));
        for (name, mut condition) in [(None, any)].into_iter().chain(all) {
            if is_true(&condition) {
                continue;
            }
            self.count(&mut condition);
            let message = wording.message(name.as_deref(), &table.name);
            checks.push(PolicyCheck { condition, message });
        }
        Ok(())
    }

    /// What the rows of an INSERT must meet is noted. `reads`: its columns are read, by RETURNING or to find out what
    /// there is already.
    pub(super) fn secure_insert(&mut self, target: &Target<'_>, shadow: RelId, reads: bool) -> Result<()> {
        let table = target.table;
        if !table.row_security {
            return Ok(());
        }
        self.behind_target(target, |l| {
            let Some(binding) = l.row_security(table)? else { return Ok(()) };
            let mut checks = Vec::new();
            l.stored_checks(table, shadow, PolicyCommand::Insert, reads, binding, &mut checks)?;
            l.policies.checks.insert(shadow, checks);
            Ok(())
        })
    }

    /// The same of ON CONFLICT DO UPDATE: what the row that is there must meet, and, noted, what it becomes.
    pub(super) fn secure_conflict(
        &mut self,
        target: &Target<'_>,
        existing: RelId,
        reads: bool,
    ) -> Result<Vec<PolicyCheck>> {
        let table = target.table;
        if !table.row_security {
            return Ok(Vec::new());
        }
        self.behind_target(target, |l| {
            let Some(binding) = l.row_security(table)? else { return Ok(Vec::new()) };
            let mut met = Vec::new();
            let commands = [PolicyCommand::Update, PolicyCommand::Select];
            for command in &commands[..1 + usize::from(reads)] {
                let how = (Clause::Using, Wording::Conflict);
                l.add_checks(table, existing, *command, how, binding, &mut met)?;
            }
            let mut stored = Vec::new();
            l.stored_checks(table, existing, PolicyCommand::Update, reads, binding, &mut stored)?;
            l.policies.checks.insert(existing, stored);
            Ok(met)
        })
    }

    /// Of MERGE: the conditions under which rows of its table are there; what the rows must meet that it updates and
    /// deletes. What new rows must meet is noted.
    pub(super) fn secure_merge(
        &mut self,
        place: &Target<'_>,
        target: RelId,
        shadow: RelId,
    ) -> Result<(Vec<Bound>, MergeChecks)> {
        self.behind_target(place, |l| l.secure_merge_into(place.table, target, shadow))
    }

    fn secure_merge_into(
        &mut self,
        table: &Table,
        target: RelId,
        shadow: RelId,
    ) -> Result<(Vec<Bound>, MergeChecks)> {
        let mut checks = MergeChecks::default();
        let Some(binding) = self.row_security(table)? else { return Ok((Vec::new(), checks)) };
        let reads = self.rights.reads_any(&[target]);
        let visible = match reads {
            true => self.visible(table, target, &[PolicyCommand::Select], binding)?,
            false => Vec::new(),
        };
        let how = (Clause::Using, Wording::Matched);
        self.add_checks(table, target, PolicyCommand::Update, how, binding, &mut checks.update)?;
        self.add_checks(table, target, PolicyCommand::Delete, how, binding, &mut checks.delete)?;
        let mut updated = Vec::new();
        self.stored_checks(table, target, PolicyCommand::Update, reads, binding, &mut updated)?;
        self.policies.checks.insert(target, updated);
        let mut inserted = Vec::new();
        self.stored_checks(table, shadow, PolicyCommand::Insert, false, binding, &mut inserted)?;
        self.policies.checks.insert(shadow, inserted);
        Ok((visible, checks))
    }

    /// What policies ask of a row that is about to be stored: that of the relation, with these new values.
    pub(super) fn check_stored(&mut self, rel: RelId, new: &Values) -> Result<()> {
        let Some(checks) = self.policies.checks.get(&rel).cloned() else { return Ok(()) };
        let old = self.rel(rel).regs.clone();
        for (reg, new) in self.rel_mut(rel).regs.iter_mut().zip(new) {
            *reg = new.or(*reg);
        }
        let done = self.check_policies(&checks);
        self.rel_mut(rel).regs = old;
        done
    }

    /// 42501 where the present row does not meet a condition.
    pub(super) fn check_policies(&mut self, checks: &[PolicyCheck]) -> Result<()> {
        for check in checks {
            let holds = self.truth_of(&check.condition)?;
            self.unless(holds, |l| {
                l.cold(|l| {
                    let fields = ErrorFields::default();
                    l.raise(SqlState::INSUFFICIENT_PRIVILEGE, check.message.clone(), fields);
                    Ok(())
                })
            })?;
        }
        Ok(())
    }
}

/// What the rows must meet that MERGE changes.
#[derive(Default)]
pub(super) struct MergeChecks {
    pub update: Vec<PolicyCheck>,
    pub delete: Vec<PolicyCheck>,
}

fn is_true(e: &Bound) -> bool {
    e.as_const() == Some(&Datum::Bool(true))
}

/// Whether a policy's condition is one over the rows of its table. What is wrong with a query inside is found here.
pub(crate) fn check_policy_condition(catalog: &Catalog, table: &Table, e: &Expr) -> Result<()> {
    let mut l = Lowerer::new(catalog, "policy", ProgramKind::Statement).of_logged();
    l.rights.runner = Runner::Engine;
    let scope = Scope::new();
    let mut names = Names::of(&scope);
    let rel = l.shadow_rel(table, &table.name);
    names.sources.push(l.shadow_source(table, rel, &table.name));
    l.outside("policy expressions", |l| l.bind_condition(&names, e, "POLICY")).map(|_| ())
}
