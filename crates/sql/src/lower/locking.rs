//! FOR UPDATE: the rows of a query are claimed, one after another as they are given, behind the sort and
//! before LIMIT counts them.
//!
//! A routine claims what it changes when it changes it: there a clause that waits leaves no trace, so that
//! a call is what its log says.

use super::bound::{Body, BoundKind, Lock, RelId, RelKind};
use super::emit_join::Then;
use super::names::{Names, Source};
use super::{Lowerer, Sink, Typed};
use planaria_base::{Error, Result, SqlState, Type};
use planaria_ir::{Coll, ErrorFields, IfClaimed, OpKind, ProgramKind, ReadMode, Reg, RegKind};
use planaria_syntax::ast::locking::{LockWait, Locking};
use planaria_syntax::ast::{Query, QueryBody};

/// What keeps the rows of a query from being those of its tables.
fn mixed(body: &Body, query: &Query) -> Option<&'static str> {
    let (QueryBody::Select(ast), Body::Select(select)) = (&query.body, body) else {
        return matches!(body, Body::SetOp(_)).then_some("UNION/INTERSECT/EXCEPT");
    };
    match () {
        () if ast.distinct.is_some() => Some("DISTINCT clause"),
        () if !ast.group_by.is_empty() => Some("GROUP BY clause"),
        () if ast.having.is_some() => Some("HAVING clause"),
        () if select.grouping.is_some() => Some("aggregate functions"),
        () if select.windows.is_some() => Some("window functions"),
        () => None,
    }
}

/// The relation behind a FROM item.
fn relation(source: &Source) -> Option<RelId> {
    let column = source.columns.iter().chain(&source.system).next()?;
    match column.expr.kind {
        BoundKind::Column(rel, _) => Some(rel),
        _ => None,
    }
}

/// The FROM items that locking clauses name; empty: they name none, and so all of them.
pub(super) fn locked_names(clauses: &[Locking]) -> Vec<String> {
    if clauses.iter().any(|locking| locking.of.is_empty()) {
        return Vec::new();
    }
    clauses.iter().flat_map(|locking| &locking.of).filter_map(|name| name.parts.last().cloned()).collect()
}

/// The FROM items that a locking clause names, or all of them; where they are named.
fn locked_sources<'n>(level: &'n Names<'_>, locking: &Locking) -> Result<Vec<(&'n Source, u32)>> {
    if locking.of.is_empty() {
        return Ok(level.sources.iter().map(|s| (s, locking.position)).collect());
    }
    let find = |name: &planaria_syntax::ast::Name| {
        let alias = name.parts.last().map_or("", String::as_str);
        let source = level.source_here(alias).ok_or_else(|| {
            let strength = locking.strength.name();
            let message = format!("relation \"{alias}\" in FOR {strength} clause not found in FROM clause");
            Error::new(SqlState::UNDEFINED_TABLE, message).at(name.position)
        })?;
        Ok((source, name.position))
    };
    locking.of.iter().map(find).collect()
}

impl Lowerer<'_> {
    /// The tables whose rows a query's locking clauses claim.
    pub(super) fn bind_locking(
        &mut self,
        level: &Names<'_>,
        query: &Query,
        body: &Body,
    ) -> Result<Vec<Lock>> {
        let mut locks: Vec<Lock> = Vec::new();
        for locking in &query.locking {
            let refuse = |what: String| {
                let message = format!("FOR {} {what}", locking.strength.name());
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            };
            if let Some(what) = mixed(body, query) {
                return refuse(format!("is not allowed with {what}"));
            }
            if matches!(body, Body::Values(_)) {
                return refuse("cannot be applied to VALUES".to_owned());
            }
            for (source, position) in locked_sources(level, locking)? {
                let Some(rel) = relation(source) else { continue };
                let refuse =
                    |what: &str| refuse(format!("cannot be applied to {what}")).map_err(|e| e.at(position));
                let table = match &self.rel(rel).kind {
                    RelKind::Table(_) if self.rel(rel).nullable => {
                        return refuse("the nullable side of an outer join");
                    }
                    RelKind::Table(table) => *table,
                    RelKind::Query(_) | RelKind::System(_) => continue,
                    _ if locking.of.is_empty() => continue,
                    RelKind::Cte(_) | RelKind::Work(_) => {
                        return refuse("a WITH query");
                    }
                    _ => return refuse("a function"),
                };
                let known = self.catalog.table_by_id(table);
                if known.materialized.is_some() {
                    let message = format!("cannot lock rows in materialized view \"{}\"", known.name);
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                self.lock(&mut locks, locking, rel, table);
            }
        }
        Ok(locks)
    }

    fn lock(&mut self, locks: &mut Vec<Lock>, locking: &Locking, rel: RelId, table: planaria_base::TableId) {
        let if_claimed = match locking.wait {
            LockWait::Wait if self.program.kind != ProgramKind::Statement => return,
            LockWait::Wait => IfClaimed::Wait,
            LockWait::NoWait => IfClaimed::Refuse,
            LockWait::SkipLocked => IfClaimed::Skip,
        };
        let strength = locking.strength;
        if let Some(known) = locks.iter_mut().find(|l| l.rel == rel) {
            // The strongest of several clauses, and the one that waits least.
            known.strength = known.strength.max(strength);
            if known.if_claimed == IfClaimed::Wait || if_claimed == IfClaimed::Refuse {
                known.if_claimed = if_claimed;
            }
        } else {
            locks.push(Lock { rel, table, strength, if_claimed });
        }
        let lenient = locks.iter().any(|l| l.rel == rel && l.if_claimed == IfClaimed::Skip);
        let rel = self.rel_mut(rel);
        rel.row_used = true;
        rel.mode = if lenient { ReadMode::Lenient } else { ReadMode::Plain };
    }

    /// Claims the present rows, then runs `then`; rows that are passed over do not get there.
    pub(super) fn claimed(&mut self, locks: &[Lock], then: &mut Then<'_>) -> Result<()> {
        let Some((Lock { rel, table, strength, if_claimed }, rest)) = locks.split_first() else {
            return then(self);
        };
        let row = self.row_reg(*rel);
        let granted = self.temp(Type::Bool);
        self.emit(OpKind::Claim {
            table: *table,
            row,
            strength: *strength,
            if_claimed: *if_claimed,
            granted,
        });
        match if_claimed {
            IfClaimed::Wait => self.claimed(rest, then),
            IfClaimed::Skip => self.when(granted, |l| l.claimed(rest, then)),
            IfClaimed::Refuse => {
                let name = &self.catalog.table_by_id(*table).name;
                let message = format!("could not obtain lock on row in relation \"{name}\"");
                self.unless(granted, |l| {
                    l.raise(SqlState::LOCK_NOT_AVAILABLE, message, ErrorFields::default());
                    Ok(())
                })?;
                self.claimed(rest, then)
            }
        }
    }

    /// Runs `body` for each row of a list that has the handles of the rows to be claimed at its end.
    pub(super) fn for_claimed(
        &mut self,
        list: Coll,
        types: &[Type],
        locks: &[Lock],
        body: &mut Sink<'_>,
    ) -> Result<()> {
        if locks.is_empty() {
            return self.for_list(list, types, body);
        }
        let row: Vec<Typed> =
            types.iter().map(|ty| Typed { reg: self.temp(ty.clone()), ty: ty.clone() }).collect();
        let mut columns: Vec<Reg> = row.iter().map(|t| t.reg).collect();
        for lock in locks {
            let handle = self.program.reg(RegKind::Row(lock.table), None);
            self.rel_mut(lock.rel).row = Some(handle);
            columns.push(handle);
        }
        let label = self.label();
        let body = self.block(|l| l.claimed(locks, &mut |l| body(l, &row)))?;
        self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        Ok(())
    }
}
