//! WHEN of triggers, over the rows that they may fire for.

use super::bound::{Bound, BoundKind};
use super::constraint::Values;
use super::names::Names;
use super::trigger::{ChangedRow, told_apart};
use super::{Lowerer, Scope};
use planaria_base::{Datum, Error, ProcedureId, Result, SqlState};
use planaria_catalog::{Catalog, Table, Trigger, TriggerEvent};
use planaria_ir::{ProgramKind, Reg};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{CreateTrigger, Expr, ExprKind};

impl Lowerer<'_> {
    /// A trigger's WHEN over a row; `None` where it has none.
    pub(super) fn when_holds(
        &mut self,
        table: &Table,
        trigger: &Trigger,
        event: TriggerEvent,
        old: &Values,
        new: &Values,
    ) -> Result<Option<Reg>> {
        let Some(text) = &trigger.condition else { return Ok(None) };
        let scope = Scope::new();
        let mut names = Names::of(&scope);
        let mut rels = Vec::new();
        for (there, alias, row) in [(event.has_old(), "old", old), (event.has_new(), "new", new)] {
            if !there || !trigger.each_row {
                continue;
            }
            let rel = self.shadow_rel(table, alias);
            names.sources.push(self.shadow_source(table, rel, alias));
            let mut regs = row.clone();
            for (id, column) in table.visible() {
                if regs[id.index()].is_none() {
                    regs[id.index()] = Some(self.constant(Datum::Null, column.ty.clone()));
                }
            }
            self.rel_mut(rel).regs = regs;
            rels.push(rel);
        }
        let position = self.position;
        let e = self.outside("WHEN", |l| l.bind_text_in(&names, text, position))?;
        let mut e = self.boolean(e, "WHEN")?;
        self.count(&mut e);
        let mut truth = None;
        self.with_rels(&rels, &mut |l| {
            truth = Some(l.truth_of(&e)?);
            Ok(())
        })?;
        Ok(truth)
    }

    /// What the conditions of triggers say of a row.
    pub(super) fn trigger_conditions(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        triggers: &[Trigger],
    ) -> Result<Vec<(ProcedureId, Reg)>> {
        let mut conditions = Vec::new();
        for trigger in triggers {
            let condition = self.trigger_condition(table, trigger, row.event, (row.old, row.new), None)?;
            conditions.extend(condition.map(|reg| (told_apart(trigger), reg)));
        }
        Ok(conditions)
    }
}

/// What CREATE TRIGGER finds wrong with a WHEN condition.
pub(crate) fn check_trigger_condition(
    catalog: &Catalog,
    table: &Table,
    create: &CreateTrigger,
) -> Result<()> {
    let Some((expr, _)) = &create.condition else { return Ok(()) };
    let mut l = Lowerer::new(catalog, "trigger", ProgramKind::Statement);
    let scope = Scope::new();
    let mut names = Names::of(&scope);
    for alias in ["old", "new"] {
        let rel = l.shadow_rel(table, alias);
        names.sources.push(l.shadow_source(table, rel, alias));
    }
    let bound = l.outside("WHEN", |l| l.bind(&names, expr));
    // PostgreSQL compares rows without looking at their columns first, so what follows is said before that.
    let (bound, uncompared) = match bound {
        Err(error) if error.sqlstate() == SqlState::UNDEFINED_FUNCTION => (None, Err(error)),
        other => (Some(l.boolean(other?, "WHEN")?), Ok(())),
    };
    debug_assert!(!matches!(bound, Some(Bound { kind: BoundKind::Subquery(_), .. })));
    let refuse = |message: String, e: &Expr| {
        Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).at(e.position))
    };
    let mut done = Ok(());
    visit::expr(expr, &mut |node| {
        let Node::Expr(e) = node else { return };
        let (ExprKind::Column(name) | ExprKind::Star(Some(name))) = &e.kind else { return };
        let Some(row) = name.parts.first().filter(|n| *n == "old" || *n == "new") else { return };
        if done.is_err() {
            return;
        }
        if !create.each_row {
            let message = "statement trigger's WHEN condition cannot reference column values".to_owned();
            done = refuse(message, e);
            return;
        }
        let lacks = match row.as_str() {
            "old" => (TriggerEvent::Insert, "INSERT", "OLD"),
            _ => (TriggerEvent::Delete, "DELETE", "NEW"),
        };
        if create.events.contains(&lacks.0) {
            let (event, row) = (lacks.1, lacks.2);
            done = refuse(format!("{event} trigger's WHEN condition cannot reference {row} values"), e);
            return;
        }
        let before = create.timing == planaria_syntax::ast::TriggerTiming::Before && row == "new";
        let field = name.parts.get(1).filter(|_| !matches!(e.kind, ExprKind::Star(_)));
        let computed = |c: &&planaria_catalog::Column| {
            !c.hidden && c.generated().is_some() && field.is_none_or(|f| *f == c.name)
        };
        if let Some(column) = table.columns.iter().find(computed).filter(|_| before) {
            let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
            let detail = match field {
                Some(_) => format!("Column \"{}\" is a generated column.", column.name),
                None => "A whole-row reference is used and the table contains generated columns.".to_owned(),
            };
            done = refuse(message.to_owned(), e).map_err(|error: Error| error.with_detail(detail));
        }
    });
    done.and(uncompared)
}
