//! Changes in WITH: `WITH gone AS (DELETE .. RETURNING ..) INSERT .. SELECT .. FROM gone`.
//!
//! PostgreSQL runs all parts of such a statement over one snapshot: none sees what another has changed, but by
//! RETURNING. Here the parts of WITH run one after the other, in the order in which they are written: a change gives
//! its rows to a list, and so does a query, which is computed whether or not somebody asks for it. Then the
//! statement itself runs, and reads the lists.
//!
//! What parts read of a table that one before them has changed is read in front of all ([`super::as_before`]). A part that
//! changes rows of such a table itself leaves those alone that one before it has stored or changed: the others are as they
//! were. Where neither can be, since rows are locked, or were changed by foreign keys, triggers or functions, the statement is refused
//! ([`Lowerer::apart`]). Keys of the changed rows are looked at when a part ends, where PostgreSQL looks when the statement
//! does.

use super::apart::Changed;
use super::bind_query::BoundCte;
use super::names::Names;
use super::{Lowerer, Scope, Typed};
use planaria_base::{Error, Result, SqlState, Type};
use planaria_catalog::{TriggerEvent, Volatility};
use planaria_ir::{Block, Coll, CollDecl, CollKind, OpKind, Output, RegKind};
use planaria_syntax::ast::{self, Cte, Statement, StatementKind};

/// Whether a WITH clause has changes in it.
pub(super) fn changes(with: &[Cte]) -> bool {
    with.iter().any(|cte| !matches!(cte.statement.kind, StatementKind::Query(_)))
}

/// [`HasWith::events`] of a part.
fn events_of(part: &Cte) -> (Option<&ast::Name>, Vec<TriggerEvent>) {
    match &part.statement.kind {
        StatementKind::Insert(insert) => insert.events(),
        StatementKind::Update(update) => update.events(),
        StatementKind::Delete(delete) => delete.events(),
        _ => (None, Vec::new()),
    }
}

/// [`HasWith::target`] of a part.
fn target_of(part: &Cte) -> Option<(&ast::Name, bool)> {
    match &part.statement.kind {
        StatementKind::Insert(insert) => insert.target(),
        StatementKind::Update(update) => update.target(),
        StatementKind::Delete(delete) => delete.target(),
        _ => None,
    }
}

/// Whether a query changes something in its WITH clause.
pub fn changes_in_with(query: &ast::Query) -> bool {
    changes(&query.with)
}

/// A statement that can have a WITH clause.
pub(super) trait HasWith: Clone {
    fn with(&self) -> &[Cte];
    fn with_mut(&mut self) -> &mut Vec<Cte>;
    fn is_recursive(&self) -> bool {
        false
    }
    /// The table whose rows it may change by ON CONFLICT.
    fn upserts(&self) -> Option<&ast::Name> {
        None
    }
    /// What it does to a table, as statement triggers know it.
    fn events(&self) -> (Option<&ast::Name>, Vec<TriggerEvent>) {
        (None, Vec::new())
    }
    /// The table that it stores rows in, and whether it changes or deletes such as are there.
    fn target(&self) -> Option<(&ast::Name, bool)> {
        None
    }
}

impl HasWith for ast::Insert {
    fn with(&self) -> &[Cte] {
        &self.with
    }
    fn with_mut(&mut self) -> &mut Vec<Cte> {
        &mut self.with
    }
    fn is_recursive(&self) -> bool {
        self.recursive
    }
    fn upserts(&self) -> Option<&ast::Name> {
        self.on_conflict.as_ref().filter(|on| on.update.is_some()).map(|_| &self.table)
    }
    fn target(&self) -> Option<(&ast::Name, bool)> {
        Some((&self.table, false))
    }
    fn events(&self) -> (Option<&ast::Name>, Vec<TriggerEvent>) {
        let updated = self.upserts().map(|_| TriggerEvent::Update);
        (Some(&self.table), updated.into_iter().chain([TriggerEvent::Insert]).collect())
    }
}

impl HasWith for ast::Query {
    fn with(&self) -> &[Cte] {
        &self.with
    }
    fn with_mut(&mut self) -> &mut Vec<Cte> {
        &mut self.with
    }
    fn is_recursive(&self) -> bool {
        self.recursive
    }
}

macro_rules! has_with {
    ($($ty:ty: $recursive:expr, $target:expr, $events:expr;)*) => { $(impl HasWith for $ty {
        fn with(&self) -> &[Cte] {
            &self.with
        }
        fn with_mut(&mut self) -> &mut Vec<Cte> {
            &mut self.with
        }
        fn is_recursive(&self) -> bool {
            let of: fn(&$ty) -> bool = $recursive;
            of(self)
        }
        fn target(&self) -> Option<(&ast::Name, bool)> {
            let of: fn(&$ty) -> Option<&ast::Name> = $target;
            of(self).map(|name| (name, true))
        }
        fn events(&self) -> (Option<&ast::Name>, Vec<TriggerEvent>) {
            let of: fn(&$ty) -> Vec<TriggerEvent> = $events;
            (Some(&self.table), of(self))
        }
    })* };
}

has_with! {
    ast::Update: |s| s.recursive, |s| Some(&s.table), |_| vec![TriggerEvent::Update];
    ast::Delete: |s| s.recursive, |s| Some(&s.table), |_| vec![TriggerEvent::Delete];
    // 42601 for RECURSIVE.
    ast::Merge: |_| false, |_| None, |s| s.whens.iter().filter_map(event_of).collect();
}

fn event_of(when: &ast::MergeWhen) -> Option<TriggerEvent> {
    match when.action {
        ast::MergeAction::Nothing => None,
        ast::MergeAction::Update(_) => Some(TriggerEvent::Update),
        ast::MergeAction::Delete => Some(TriggerEvent::Delete),
        ast::MergeAction::Insert(_) => Some(TriggerEvent::Insert),
    }
}

impl BoundCte {
    /// Rows that are in a list already, under a name.
    pub fn listed(name: String, columns: Vec<(String, Type)>, list: Option<Coll>) -> BoundCte {
        BoundCte {
            name,
            query: None,
            columns,
            uses: 0,
            reads: Vec::new(),
            height: 1,
            counted: true,
            list,
            turn: None,
            tracked: 0,
            before: false,
        }
    }
}

impl Lowerer<'_> {
    /// Runs `f` over a statement; if its WITH clause changes something, behind the parts of that, over the rest.
    pub(super) fn behind_changes<S: HasWith, R>(
        &mut self,
        scope: &Scope,
        statement: &S,
        f: impl FnOnce(&mut Self, &S) -> Result<R>,
    ) -> Result<R> {
        self.behind(scope, statement, true, |l, rest, changed| {
            if changed.is_nothing() {
                return f(l, rest);
            }
            let mut result = None;
            let block = l.block(|l| {
                result = Some(f(l, rest)?);
                Ok(())
            })?;
            l.apart(&block, changed)?;
            l.append(block);
            result.ok_or_else(|| Error::internal("a statement that came to nothing"))
        })
    }

    /// The same for one that is only described: its parts have columns and no rows.
    pub(super) fn behind_described<S: HasWith, R>(
        &mut self,
        scope: &Scope,
        statement: &S,
        f: impl FnOnce(&mut Self, &S) -> Result<R>,
    ) -> Result<R> {
        self.behind(scope, statement, false, |l, rest, _| f(l, rest))
    }

    /// Runs `f` over a statement, or, where its WITH clause changes something, over the rest, behind the parts and with the tables that
    /// they change.
    fn behind<S: HasWith, R>(
        &mut self,
        scope: &Scope,
        statement: &S,
        emit: bool,
        f: impl FnOnce(&mut Self, &S, &Changed) -> Result<R>,
    ) -> Result<R> {
        if !changes(statement.with()) {
            return f(self, statement, &Changed::default());
        }
        let mut rest = statement.clone();
        let with = std::mem::take(rest.with_mut());
        let given = std::mem::take(&mut self.given);
        let around = std::mem::take(&mut self.kept);
        let before = emit.then(|| self.before_parts());
        let before = std::mem::replace(&mut self.before, before);
        if emit {
            let part = |cte: &'_ Cte| match &cte.statement.kind {
                StatementKind::Insert(insert) => insert.upserts().cloned(),
                _ => None,
            };
            let upserts: Vec<ast::Name> =
                with.iter().filter_map(part).chain(rest.upserts().cloned()).collect();
            let targets = with.iter().map(target_of).chain([rest.target()]).flatten();
            self.keeps_stored(upserts.iter(), targets);
            self.fires_once(with.iter().map(events_of).chain([rest.events()]));
        }
        let parts = self.with_parts(scope, &with, statement.is_recursive(), emit);
        let done = parts.and_then(|changed| {
            self.part_begins();
            f(self, &rest, &changed)
        });
        let late = std::mem::replace(&mut self.before, before).map(|parts| parts.late).unwrap_or_default();
        self.given = given;
        let kept = std::mem::replace(&mut self.kept, around);
        let done = done?;
        self.made_once(&kept)?;
        self.fire_late(late)?;
        Ok(done)
    }

    /// The parts of WITH, emitted or only described, known to what comes behind them. Answers with the tables that they change.
    fn with_parts(&mut self, scope: &Scope, with: &[Cte], recursive: bool, emit: bool) -> Result<Changed> {
        let mut changed = Changed::default();
        for (i, cte) in with.iter().enumerate() {
            self.part_begins();
            if with[..i].iter().any(|other| other.name == cte.name) {
                let message = format!("WITH query name \"{}\" specified more than once", cte.name);
                return Err(Error::new(SqlState::DUPLICATE_ALIAS, message).at(cte.statement.position));
            }
            if let StatementKind::Query(_) = cte.statement.kind {
                let mut level = Names::of(scope);
                self.bind_with(&mut level, std::slice::from_ref(cte), recursive)?;
                let Some((name, place)) = level.ctes.pop() else { continue };
                if emit {
                    let block = self.block(|l| l.make_list(place))?;
                    self.apart(&block, &changed)?;
                    self.changed_in(&block, &mut changed);
                    self.append(block);
                    self.done_before(&changed);
                }
                self.given.push((name, place));
                continue;
            }
            let outputs = self.part_outputs(scope, &cte.statement)?;
            let mut columns: Vec<(String, Type)> = outputs.into_iter().map(|o| (o.name, o.ty)).collect();
            if cte.columns.len() > columns.len() {
                let message = format!(
                    "WITH query \"{}\" has {} columns available but {} columns specified",
                    cte.name,
                    columns.len(),
                    cte.columns.len()
                );
                return Err(
                    Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(cte.statement.position)
                );
            }
            for (column, name) in columns.iter_mut().zip(&cte.columns) {
                column.0.clone_from(name);
            }
            let mut list = None;
            if emit {
                let values = columns.iter().map(|(_, ty)| RegKind::Value(ty.clone())).collect();
                let rows = self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values });
                list = Some(rows);
                let name = format!("CTE {}", cte.name);
                let block =
                    self.named_below(&name, |l| l.block(|l| l.emit_part(scope, &cte.statement, rows)))?;
                self.apart(&block, &changed)?;
                block.visit(&mut |op| {
                    if let Some(table) = op.kind.table().filter(|_| op.kind.is_write()) {
                        changed.add(table);
                    }
                });
                self.changed_in(&block, &mut changed);
                self.changed_besides(&block, cte);
                self.append(block);
                self.done_before(&changed);
            }
            self.ctes.push(BoundCte::listed(cte.name.clone(), columns, list));
            self.given.push((cte.name.clone(), self.ctes.len() - 1));
        }
        Ok(changed)
    }

    /// Puts down what a part changes that is not the table which it names, or not row by row.
    fn changed_besides(&mut self, block: &Block, part: &Cte) {
        let own = target_of(part).and_then(|(name, _)| self.stored_in(name));
        let own = own.filter(|table| !self.acts_on_itself(*table));
        let mut besides = Changed::default();
        block.visit(&mut |op| {
            if let Some(table) = op.kind.table().filter(|table| op.kind.is_write() && Some(*table) != own) {
                besides.add(table);
            }
        });
        self.changed_in(block, &mut besides);
        if let Some(before) = &mut self.before {
            before.besides.join(&besides);
        }
    }

    fn done_before(&mut self, changed: &Changed) {
        if let Some(before) = &mut self.before {
            before.changed = changed.clone();
        }
    }

    fn part_outputs(&mut self, scope: &Scope, statement: &Statement) -> Result<Vec<Output>> {
        self.unguarded(|l| match &statement.kind {
            StatementKind::Insert(insert) => l.describe_insert(scope, insert),
            StatementKind::Update(update) => l.describe_update(scope, update),
            StatementKind::Delete(delete) => l.describe_delete(scope, delete),
            StatementKind::Merge(_) => {
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "MERGE not supported in WITH query")
                    .at(statement.position))
            }
            _ => Err(Error::unsupported(
                "this statement in WITH is not supported",
                "Use a query, INSERT, UPDATE or DELETE.",
            )
            .at(statement.position)),
        })
    }

    fn emit_part(&mut self, scope: &Scope, statement: &Statement, list: Coll) -> Result<()> {
        self.emit(OpKind::Clear { coll: list });
        let mut push = |l: &mut Lowerer<'_>, row: &[Typed]| {
            let values = row.iter().map(|t| l.exactly(t.reg, &t.ty)).collect();
            l.emit(OpKind::Push { coll: list, values });
            Ok(())
        };
        match &statement.kind {
            StatementKind::Insert(insert) => self.emit_insert(scope, insert, &mut push),
            StatementKind::Update(update) => self.emit_update(scope, update, &mut push),
            StatementKind::Delete(delete) => self.emit_delete(scope, delete, &mut push),
            _ => return Err(Error::internal("a part of WITH that is no change")),
        }
        .map(drop)
    }

    fn append(&mut self, block: Block) {
        self.blocks.last_mut().expect("there is always a block").extend(block.0);
    }

    /// 0A000 where operations read, other than for constraints, what parts before them have changed: they would see it.
    fn apart(&self, block: &Block, changed: &Changed) -> Result<()> {
        let mut met = None;
        let mut called = std::collections::BTreeSet::new();
        block.visit(&mut |op| {
            if let OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } = &op.kind {
                called.insert(*procedure);
            }
            let (OpKind::Get { table, mode, row, .. } | OpKind::Scan { table, mode, row, .. }) = &op.kind
            else {
                return;
            };
            if changed.has(*table) && !mode.is_for_constraint() && !self.is_left_alone(*row) {
                met.get_or_insert(*table);
            }
        });
        // One that is volatile sees the changes, in PostgreSQL as well.
        for id in called {
            let procedure = self.catalog.procedure(id);
            if procedure.volatility == Volatility::Stable
                && let Some(table) = changed.met_by(self.catalog, id)
            {
                let (name, table) = (&procedure.name, &self.catalog.table_by_id(table).name);
                let message = format!(
                    "a call of stable function \"{name}\", which reads table \"{table}\", in a statement that changes it in WITH \
                     is not supported"
                );
                let hint = "Use two statements.";
                return Err(Error::unsupported(message, hint).at(self.position));
            }
        }
        let Some(table) = met else { return Ok(()) };
        let name = &self.catalog.table_by_id(table).name;
        let message = format!(
            "a statement that changes rows of table \"{name}\" which it changes in WITH, or locks them, is not supported"
        );
        Err(Error::unsupported(message, "Use two statements.").at(self.position))
    }
}
