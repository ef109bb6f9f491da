//! Trigger functions: lowered once for each table and event that they are called for.
//!
//! NEW and OLD are rows of the table's columns, in the registers of the routine's parameters; of an event that has no
//! such row, all of it is NULL. `TG_OP` and its like are constants, so an IF that asks for them is decided here, and the
//! branches that cannot be taken leave nothing behind for the analysis.
//!
//! What a trigger returns, by when it fires:
//!
//! - before a row, and in place of a change of a view's row: NULL leaves the row alone, as does NEW of a DELETE or OLD of an INSERT; any other row is stored;
//! - else: nothing that matters.

use super::Body;
use crate::lower::CastContext;
use crate::lower::held::{Held, NEW, OLD};
use crate::lower::{Found, Lowerer, Scope, Typed, Variable};
use planaria_base::shape::{Dimension, Shape};
use planaria_base::types::{RowType, SystemType};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::{Catalog, Procedure, Table, Trigger, TriggerEvent, TriggerTime, View};
use planaria_ir::{OpKind, Output, Param, ParamMode, Reg, RegKind};
use planaria_syntax::ast::plpgsql::{DeclarationKind, PlBlock, Stmt, StmtKind};
use planaria_syntax::ast::{BinaryOp, Expr, ExprKind, Into, QueryBody, StatementKind, UnaryOp};
use planaria_syntax::parse;

/// What is known of the trigger whose routine is lowered.
#[derive(Default)]
pub(super) struct OfTrigger {
    /// How it answers; without it, what it returns is of no interest.
    before_row: Option<BeforeRow>,
    /// The first fields of the rows that its event does not have.
    absent: Vec<Typed>,
    /// The words in `TG_OP`, `TG_WHEN` and `TG_LEVEL`.
    words: Vec<(Reg, &'static str)>,
}

/// The answer of a routine that fires before a row.
#[derive(Clone)]
struct BeforeRow {
    /// The row is to be changed.
    goes_on: Reg,
    /// The columns of NEW, of an event that has such a row.
    new: Option<Vec<Typed>>,
}

/// What a function may assign to NEW.
pub(crate) enum Assigned {
    /// Anything.
    Any,
    /// These fields.
    Fields(Vec<String>),
}

/// The fields of NEW that a trigger function may set, by its text: those that are targets of assignments. It may be any
/// where it returns another row than NEW, or assigns NEW as a whole.
pub(crate) fn assigned(function: &Procedure) -> Assigned {
    let mut found = Search { fields: Vec::new(), any: false };
    match parse::plpgsql(&function.body) {
        Ok(block) => found.block(&block),
        Err(_) => found.any = true,
    }
    if found.any { Assigned::Any } else { Assigned::Fields(found.fields) }
}

/// Whether a trigger function may change rows, by its text: it has statements that do, or calls a routine of a user's.
pub(crate) fn may_write(catalog: &Catalog, function: &Procedure) -> bool {
    const WORDS: [&str; 7] = ["insert", "update", "delete", "merge", "call", "execute", "perform"];
    // Those of comments and literals too: where a quote ends, only the parser knows.
    let mut words = function.body.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    words.any(|word| {
        let word = word.to_lowercase();
        WORDS.contains(&word.as_str()) || catalog.is_routine(&word, Some(function.id))
    })
}

struct Search {
    fields: Vec<String>,
    any: bool,
}

impl Search {
    fn block(&mut self, block: &PlBlock) {
        for declaration in &block.declarations {
            // Another variable of that name, or another name of it.
            let aliases = matches!(&declaration.kind, DeclarationKind::Alias(of) if of == "new");
            self.any |= aliases || declaration.name == "new";
        }
        self.statements(&block.body);
        block.handlers.iter().for_each(|h| self.statements(&h.body));
    }

    fn statements(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|s| self.statement(s));
    }

    fn target(&mut self, target: &Expr) {
        match &target.kind {
            // What is behind the field is within its value.
            ExprKind::Column(name) => {
                if let Some(at) = name.parts.iter().position(|part| part == "new") {
                    match name.parts.get(at + 1) {
                        Some(field) => self.fields.push(field.clone()),
                        None => self.any = true,
                    }
                }
            }
            ExprKind::Subscripts(of, _) | ExprKind::Field(of, _) => self.target(of),
            _ => {}
        }
    }

    fn into(&mut self, into: Option<&Into>) {
        into.into_iter().flat_map(|i| &i.targets).for_each(|t| self.target(t));
    }

    fn sql(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Query(query) => {
                if let QueryBody::Select(select) = &query.body {
                    self.into(select.into.as_ref());
                }
            }
            StatementKind::Insert(s) => self.into(s.into.as_ref()),
            StatementKind::Update(s) => self.into(s.into.as_ref()),
            StatementKind::Delete(s) => self.into(s.into.as_ref()),
            // Arguments in the place of OUT parameters are targets.
            StatementKind::Call { call, .. } => call.args.iter().for_each(|a| self.target(&a.value)),
            _ => {}
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Assign { target, .. } => self.target(target),
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { branches, otherwise } => {
                branches.iter().for_each(|(_, body)| self.statements(body));
                self.statements(otherwise);
            }
            StmtKind::Case { whens, otherwise, .. } => {
                whens.iter().for_each(|(_, body)| self.statements(body));
                otherwise.iter().for_each(|body| self.statements(body));
            }
            StmtKind::Loop { body, .. } | StmtKind::While { body, .. } | StmtKind::ForRange { body, .. } => {
                self.statements(body);
            }
            StmtKind::ForQuery { targets, body, .. }
            | StmtKind::ForExecute { targets, body, .. }
            | StmtKind::ForCursor { targets, body, .. }
            | StmtKind::ForEach { targets, body, .. } => {
                targets.iter().for_each(|t| self.target(t));
                self.statements(body);
            }
            StmtKind::Return(Some(value)) => match &value.kind {
                ExprKind::Null => {}
                _ if returns_new(value) => {}
                // Whatever fires it for a row with NEW comes to NEW.
                ExprKind::Coalesce(rows) if rows.first().is_some_and(returns_new) => {}
                _ => self.any = true,
            },
            StmtKind::Sql(statement) => self.sql(&statement.kind),
            StmtKind::Execute { into, .. } | StmtKind::Fetch { into, .. } => self.into(into.as_ref()),
            StmtKind::GetDiagnostics { items, .. } => items.iter().for_each(|(t, _)| self.target(t)),
            _ => {}
        }
    }
}

fn returns_new(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Column(name) if name.parts.last().is_some_and(|n| n == "new"))
}

/// Declares what a trigger's routine knows, and how it answers.
pub(super) fn declare(
    l: &mut Lowerer<'_>,
    scope: &mut Scope,
    table: &Table,
    trigger: &Trigger,
    event: TriggerEvent,
) -> Result<OfTrigger> {
    let mut of = OfTrigger::default();
    let mut new_row: Vec<(String, Typed)> = Vec::new();
    for (name, there) in [("new", event.has_new()), ("old", event.has_old())] {
        let there = there && trigger.each_row;
        let mut fields = Vec::new();
        for (_, column) in table.visible() {
            let ty = if column.ty == Type::OldInterval { Type::Interval } else { column.ty.clone() };
            let shown = format!("{name}.{}", column.name);
            let reg = l.program.reg(RegKind::Value(ty.clone()), Some(shown.clone()));
            if there {
                l.program.params.push(Param { name: shown, ty: ty.clone(), mode: ParamMode::In, reg });
            } else {
                l.emit(OpKind::Const { dst: reg, value: Datum::Null });
            }
            l.declare_domain(reg, column.domain);
            fields.push((column.name.clone(), Typed { reg, ty }));
        }
        if !there {
            let first = fields.first().map(|(_, t): &(String, Typed)| t.clone());
            of.absent.extend(first.filter(|_| !trigger.knows_absent_rows || l.rows.former));
        }
        if name == "new" {
            new_row.clone_from(&fields);
        }
        let id = if name == "new" { NEW } else { OLD };
        let held = if there || !trigger.knows_absent_rows { Held::Row } else { Held::Null };
        l.set_row_flag(id, held == Held::Row);
        scope.declare(name, Variable::Row { fields, table: Some(table.id), held, id });
    }
    l.declare_transitions(table, trigger)?;
    let text = |t: &str| (Datum::Text(t.to_owned()), Type::Text);
    let name = |t: &str| (Datum::Text(t.to_owned()), Type::NAME);
    let count = trigger.arguments.len() as i64;
    let relation = match table.id == View::ROWS {
        true => l
            .catalog
            .views
            .get(&planaria_catalog::key(table.schema, &table.name))
            .map_or(0, |v| l.catalog.view_oid(v)),
        false => l.catalog.table_oid(table.id),
    };
    let relation = i64::from(relation);
    let arguments = || trigger.arguments.iter().map(|a| Datum::Text(a.clone())).collect();
    let arguments = match count {
        0 => Datum::Null,
        _ if trigger.routes_first => {
            let from_zero = Dimension { len: count as u32, lower: 0 };
            Datum::array(Shape::new(&[from_zero])?, arguments())
        }
        _ => Datum::Array(arguments()),
    };
    let level = if trigger.each_row { "ROW" } else { "STATEMENT" };
    let words = [("tg_when", trigger.time.word()), ("tg_level", level), ("tg_op", event.word())];
    for (name, word) in words {
        let (value, ty) = text(word);
        let reg = l.program.reg(RegKind::Value(ty.clone()), Some(name.to_owned()));
        l.emit(OpKind::Const { dst: reg, value });
        of.words.push((reg, word));
        scope.declare(name, Variable::Scalar(Typed { reg, ty }));
    }
    let known = [
        ("tg_name", name(&trigger.name)),
        ("tg_relid", (Datum::Int(relation), Type::System(SystemType::Oid))),
        ("tg_relname", name(&table.name)),
        ("tg_table_name", name(&table.name)),
        ("tg_table_schema", name(l.catalog.schema_name(table.schema))),
        ("tg_nargs", (Datum::Int(count), Type::Int4)),
        ("tg_argv", (arguments, Type::Array(Box::new(Type::Text)))),
    ];
    for (name, (value, ty)) in known {
        let reg = l.program.reg(RegKind::Value(ty.clone()), Some(name.to_owned()));
        l.emit(OpKind::Const { dst: reg, value });
        if name == "tg_argv" && !trigger.routes_first {
            l.counted_from_zero = Some(reg);
        }
        scope.declare(name, Variable::Scalar(Typed { reg, ty }));
    }
    name_partition(l, scope, table, trigger, event)?;
    if !trigger.each_row || trigger.time == TriggerTime::After {
        return Ok(of);
    }
    let goes_on = l.program.value(Type::Bool);
    let output = |name: &str, ty: &Type| Output { name: name.to_owned(), ty: ty.clone() };
    l.program.outputs = vec![output("goes on", &Type::Bool)];
    l.program.outs = vec![goes_on];
    let new = event.has_new().then(|| {
        l.program.outputs.extend(new_row.iter().map(|(name, t)| output(name, &t.ty)));
        l.program.outs.extend(new_row.iter().map(|(_, t)| t.reg));
        new_row.into_iter().map(|(_, t)| t).collect()
    });
    of.before_row = Some(BeforeRow { goes_on, new });
    Ok(of)
}

/// Of a row of a partitioned table, the relation that fires the trigger is the partition.
fn name_partition(
    l: &mut Lowerer<'_>,
    scope: &Scope,
    table: &Table,
    trigger: &Trigger,
    event: TriggerEvent,
) -> Result<()> {
    let asks = l.catalog.procedure(trigger.function).body.to_ascii_lowercase();
    let asks = ["tg_table_name", "tg_relname", "tg_relid"].into_iter().filter(|name| asks.contains(name));
    let asks: Vec<&str> = asks.collect();
    if asks.is_empty() || !trigger.each_row || table.leaves().is_empty() {
        return Ok(());
    }
    let row = if event.has_old() { "old" } else { "new" };
    let Some(Found::Variable(Variable::Row { fields, .. })) = scope.lookup(&[row.to_owned()]) else {
        return Ok(());
    };
    let mut columns = Scope::new();
    columns.push(None);
    for (name, value) in fields {
        columns.declare(name.clone(), Variable::Scalar(value.clone()));
    }
    for asked in asks {
        let Some(Found::Variable(Variable::Scalar(Typed { reg, ty }))) = scope.lookup(&[asked.to_owned()])
        else {
            continue;
        };
        let (reg, ty) = (*reg, ty.clone());
        let of = |id: &planaria_base::TableId| match asked {
            "tg_relid" => format!("{}::pg_catalog.oid", l.catalog.table_oid(*id)),
            _ => format!(
                "{}::pg_catalog.name",
                planaria_base::text_io::quote_literal(&l.catalog.table_by_id(*id).name)
            ),
        };
        let whens: Vec<String> =
            table.leaves().iter().map(|(id, c)| format!("WHEN {c} THEN {}", of(id))).collect();
        let text = format!("CASE {} ELSE {} END", whens.join(" "), of(&table.id));
        let e = planaria_syntax::parse::expression(&text)?;
        let value = l.at_home(|l| l.expr(&columns, &e))?;
        let value = l.cast(value, &ty, CastContext::Assignment)?;
        l.copy(reg, value);
    }
    Ok(())
}

/// The same where no table is known yet: CREATE FUNCTION.
pub(super) fn declare_unknown(l: &mut Lowerer<'_>, scope: &mut Scope) {
    scope.declare("new", Variable::Unassigned { id: NEW });
    scope.declare("old", Variable::Unassigned { id: OLD });
    for (name, ty) in words() {
        let reg = l.program.reg(RegKind::Value(ty.clone()), Some(name.to_owned()));
        scope.declare(name, Variable::Scalar(Typed { reg, ty }));
    }
}

/// Whether a row has the columns of the table.
fn fits(new: &[Typed], row: &[Typed]) -> Result<()> {
    let wrong = |detail: String| {
        let message = "returned row structure does not match the structure of the triggering table";
        Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail))
    };
    for (i, (from, to)) in row.iter().zip(new).enumerate() {
        let is = if from.ty == Type::Unknown { Type::Text } else { from.ty.clone() };
        if is.base() != to.ty.base() {
            let (wanted, column) = (&to.ty, i + 1);
            return wrong(format!(
                "Returned type {is} does not match expected type {wanted} in column {column}."
            ));
        }
    }
    let (got, wanted) = (row.len(), new.len());
    if got != wanted {
        return wrong(format!(
            "Number of returned columns ({got}) does not match expected column count ({wanted})."
        ));
    }
    Ok(())
}

/// `TG_OP` and its like.
fn words() -> Vec<(&'static str, Type)> {
    let names = ["tg_name", "tg_relname", "tg_table_name", "tg_table_schema"];
    names
        .into_iter()
        .map(|name| (name, Type::NAME))
        .chain(["tg_when", "tg_level", "tg_op"].into_iter().map(|name| (name, Type::Text)))
        .chain([
            ("tg_relid", Type::System(SystemType::Oid)),
            ("tg_nargs", Type::Int4),
            ("tg_argv", Type::Array(Box::new(Type::Text))),
        ])
        .collect()
}

/// What a trigger function is passed where it is carried out by steps: NEW and OLD field by field, as far as its event has them,
/// the transition tables, and the words.
pub struct Fired {
    /// NEW and OLD, and whether they are passed.
    pub rows: [(&'static str, RowType, bool); 2],
    /// Transition tables, as arrays of rows.
    pub tables: Vec<(String, Type)>,
    /// `TG_OP` and its like.
    pub words: Vec<(&'static str, Type)>,
    /// It fires before a row, and answers; with the row, if that is `true`.
    pub answers: Option<bool>,
}

impl Fired {
    /// Of a trigger and an event.
    pub fn of(catalog: &Catalog, table: &Table, trigger: &Trigger, event: TriggerEvent) -> Fired {
        let row = || match table.id == View::ROWS {
            true => {
                let fields: Vec<_> = table.visible().map(|(_, c)| (c.name.clone(), c.ty.clone())).collect();
                fields.into()
            }
            false => crate::lower::row_type(catalog, table),
        };
        let there = |has: bool| has && trigger.each_row;
        let rows_type = || crate::lower::transition::rows_type(table);
        Fired {
            rows: [("new", row(), there(event.has_new())), ("old", row(), there(event.has_old()))],
            tables: trigger.transitions().map(|(_, name)| (name.to_owned(), rows_type())).collect(),
            words: words(),
            answers: (trigger.each_row && trigger.time != TriggerTime::After).then(|| event.has_new()),
        }
    }
}

/// What a trigger's routine passes to who carries it out, behind its parameters.
pub(super) fn passed_words(scope: &Scope) -> Vec<Reg> {
    let word = |(name, _): (&str, Type)| match scope.variable(name) {
        Some(Variable::Scalar(word)) => Some(word.reg),
        _ => None,
    };
    words().into_iter().filter_map(word).collect()
}

impl Body<'_, '_> {
    /// RETURN of a trigger function.
    pub(super) fn return_to_trigger(&mut self, value: &Expr) -> Result<()> {
        let returned = self.returned_row(value)?;
        let before = self.trigger.as_ref().and_then(|t| t.before_row.clone());
        let Some(BeforeRow { goes_on, new }) = before else { return Ok(()) };
        let Some((row, null)) = returned else {
            let no = self.truth(false);
            self.copy(goes_on, no);
            return Ok(());
        };
        let store = |s: &mut Self| {
            let yes = s.truth(true);
            if let Some(new) = &new {
                let same = row.iter().map(|t| t.reg).eq(new.iter().map(|t| t.reg));
                if !same {
                    s.store_returned(new, &row)?;
                }
            }
            s.copy(goes_on, yes);
            Ok(())
        };
        let Some(null) = null else { return store(self) };
        let no = self.truth(false);
        self.copy(goes_on, no);
        self.unless(null, store)
    }

    /// 42804 where a row has other columns than the table: told where the function has ended.
    fn store_returned(&mut self, new: &[Typed], row: &[Typed]) -> Result<()> {
        if let Err(error) = fits(new, row) {
            let before = self.l.at(super::EXITING);
            self.raise_found(&error);
            self.l.at(before);
            return Ok(());
        }
        let targets: Vec<super::assign::Target> =
            new.iter().cloned().map(super::assign::Target::Value).collect();
        self.store_all(&targets, row)
    }

    /// The fields of the row that is returned, with whether it is NULL where that is not known; `None`: NULL, or a row that
    /// the event does not have.
    fn returned_row(&mut self, value: &Expr) -> Result<Option<(Vec<Typed>, Option<Reg>)>> {
        match &value.kind {
            ExprKind::Null => return Ok(None),
            ExprKind::Column(name) => match self.scope.lookup(&name.parts) {
                Some(Found::Variable(Variable::Row { fields, held, id, .. })) => {
                    let row: Vec<Typed> = fields.iter().map(|(_, t)| t.clone()).collect();
                    let (held, id) = (self.l.rows.known_of(*held, *id), *id);
                    let absent = self.trigger.iter().flat_map(|t| &t.absent).any(|r| Some(r) == row.first());
                    if absent || held == Held::Null {
                        return Ok(None);
                    }
                    let flag = if held == Held::Unsure { self.l.row_flag(id) } else { None };
                    let null = flag.map(|flag| self.apply(planaria_ir::Func::Not, vec![flag], Type::Bool));
                    return Ok(Some((row, null)));
                }
                Some(Found::Variable(Variable::Unassigned { id })) => {
                    let id = *id;
                    self.l.unassigned_value(id, &name.parts.join("."), name.position)?;
                    return Ok(None);
                }
                _ => {}
            },
            // The first row that the event has.
            ExprKind::Coalesce(rows) if rows.iter().all(|e| self.is_row(e)) => {
                for e in rows {
                    if let Some(row) = self.returned_row(e)? {
                        return Ok(Some(row));
                    }
                }
                return Ok(None);
            }
            ExprKind::Case { operand, whens, otherwise } => {
                if let Some(taken) = self.decided_case(operand.as_deref(), whens) {
                    return match taken.or(otherwise.as_deref()) {
                        Some(e) => self.returned_row(e),
                        None => Ok(None),
                    };
                }
            }
            ExprKind::Row(items) => {
                let row = items.iter().map(|i| self.value(i)).collect::<Result<Vec<_>>>()?;
                return Ok(Some((row, None)));
            }
            _ => {}
        }
        // It is evaluated before it is found to be no row.
        let value = self.value(value)?;
        let null = self.is_null(value.reg);
        if let Type::Record(row) = &value.ty {
            let fields = self.l.unpacked(value.reg, row, None);
            return Ok(Some((fields.into_iter().map(|(_, t)| t).collect(), Some(null))));
        }
        self.unless(null, |s| {
            let message = "cannot return non-composite value from function returning composite type";
            s.fail(SqlState::DATATYPE_MISMATCH, message, None);
            Ok(())
        })?;
        Ok(None)
    }

    /// Whether an expression is a row variable.
    fn is_row(&self, e: &Expr) -> bool {
        let ExprKind::Column(name) = &e.kind else { return false };
        let found = self.scope.lookup(&name.parts);
        matches!(found, Some(Found::Variable(Variable::Row { held, .. })) if *held != Held::Unsure || self.l.rows.former)
    }

    /// The branch of a CASE that is taken, if that is known: `Some(None)` is none of them.
    fn decided_case<'e>(
        &self,
        operand: Option<&'e Expr>,
        whens: &'e [(Expr, Expr)],
    ) -> Option<Option<&'e Expr>> {
        for (condition, then) in whens {
            let taken = match operand {
                Some(operand) => self.known_word(operand)? == self.known_word(condition)?,
                None => self.decided(condition)?,
            };
            if taken {
                return Some(Some(then));
            }
        }
        Some(None)
    }

    /// What a condition is that asks for nothing but `TG_OP` and its like; `None` where it asks for more.
    pub(super) fn decided(&self, condition: &Expr) -> Option<bool> {
        self.trigger.as_ref()?;
        match &condition.kind {
            ExprKind::Bool(b) => Some(*b),
            ExprKind::Unary(UnaryOp::Not, e) => self.decided(e).map(|b| !b),
            ExprKind::Binary(BinaryOp::And, a, b) => match (self.decided(a), self.decided(b)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            ExprKind::Binary(BinaryOp::Or, a, b) => match (self.decided(a), self.decided(b)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            ExprKind::InList { expr, list, negated } => {
                let word = self.known_word(expr)?;
                let list: Option<Vec<&str>> = list.iter().map(|e| self.known_word(e)).collect();
                Some(list?.contains(&word) != *negated)
            }
            ExprKind::Binary(BinaryOp::Eq, a, b) => Some(self.known_word(a)? == self.known_word(b)?),
            ExprKind::Binary(BinaryOp::Ne, a, b) => Some(self.known_word(a)? != self.known_word(b)?),
            _ => None,
        }
    }

    /// A text that is known: a literal, or `TG_OP` and its like.
    fn known_word<'e>(&'e self, e: &'e Expr) -> Option<&'e str> {
        match &e.kind {
            ExprKind::String(s) => Some(s),
            ExprKind::Column(name) => match (&name.parts[..], self.scope.lookup(&name.parts)?) {
                (_, Found::Variable(Variable::Scalar(t))) => {
                    let words = &self.trigger.as_ref()?.words;
                    words.iter().find(|(reg, _)| *reg == t.reg).map(|(_, word)| *word)
                }
                _ => None,
            },
            _ => None,
        }
    }
}
