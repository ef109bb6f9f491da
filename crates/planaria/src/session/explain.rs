//! EXPLAIN, EXPLAIN PROCEDURE. EXPLAIN RECOVERY is in [`crate::session::explain_recovery`].

use crate::engine::names::Names;
use crate::engine::schema_version::SchemaVersion;
use crate::notice::Notice;
use crate::options::LogKind;
use crate::params::Params;
use crate::session::StatementResult;
use crate::session::answer::{lines_result, plan_result};
use crate::session::core::SessionCore;
use crate::session::prepared::{Compiled, PreparedStatement};
use crate::session::statement::{might_know_types, type_of};
use crate::session::user::stamp;
use planaria_analysis as analysis;
use planaria_base::sync::{Instant, Mutex};
use planaria_base::{Datum, Error, IndexId, ProcedureId, Result, SqlState, Type};
use planaria_ir::{OpId, Program};
use planaria_recovery::CompiledPiece;
use planaria_sql::ddl;
use planaria_sql::lower::{self, ParamTypes, PlanNode, Runner};
use planaria_syntax::ast::{ExplainFormat, Name, Statement, StatementKind, TypeName};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What a statement came to that EXPLAIN ANALYZE has run.
struct Ran {
    /// Of the nodes of its plan ([`PlanNode::actual`]).
    counters: Vec<u64>,
    /// Planning and execution, if they are to be told.
    times: Option<[Duration; 2]>,
}

/// Text lines of a plan; what came of it, and the times, behind it.
fn plan_text(plan: &[PlanNode], ran: Option<&Ran>) -> Vec<String> {
    let mut lines = lower::plan_lines(plan, ran.map(|ran| &ran.counters[..]));
    if let Some([planning, execution]) = ran.and_then(|ran| ran.times) {
        lines.push(format!("Planning Time: {:.3} ms", milliseconds(planning)));
        lines.push(format!("Execution Time: {:.3} ms", milliseconds(execution)));
    }
    lines
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A plan as JSON, in the form that PostgreSQL gives it: nodes with what they read, and the nodes below them.
fn plan_json(plan: &[PlanNode], ran: Option<&Ran>) -> String {
    let mut out = "[\n  {\n    \"Plan\": ".to_owned();
    match plan.is_empty() {
        true => out.push_str("{}"),
        false => write_node(plan, 0, None, ran, 4, &mut out),
    }
    let triggers = ",\n    \"Triggers\": [\n    ]";
    match ran.map(|ran| ran.times) {
        None => {}
        Some(None) => out.push_str(triggers),
        Some(Some([planning, execution])) => {
            let (planning, execution) = (milliseconds(planning), milliseconds(execution));
            out.push_str(&format!(
                ",\n    \"Planning Time\": {planning:.3}{triggers},\n    \"Execution Time\": {execution:.3}"
            ));
        }
    }
    out.push_str(END_OF_JSON);
    out
}

/// What a plan as JSON ends with.
const END_OF_JSON: &str = "\n  }\n]";

/// Writes a node and those below it, as an object that its line is indented by `indent` for.
fn write_node(
    plan: &[PlanNode],
    at: usize,
    relationship: Option<&str>,
    ran: Option<&Ran>,
    indent: usize,
    out: &mut String,
) {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (node, pad) = (&plan[at], " ".repeat(indent));
    // Some nodes have a kind in JSON, and a word for what they do with it.
    let (kind, more) = match node.kind.as_str() {
        verb @ ("Insert" | "Update" | "Delete" | "Merge") => ("ModifyTable", Some(("Operation", verb))),
        "HashAggregate" => ("Aggregate", Some(("Strategy", "Hashed"))),
        "Aggregate" => ("Aggregate", Some(("Strategy", "Plain"))),
        kind => match kind.split_once("SetOp ") {
            Some((_, command)) => ("SetOp", Some(("Command", command))),
            None => (kind, None),
        },
    };
    let mut fields = vec![("Node Type", quoted(kind))];
    fields.extend(more.map(|(name, value)| (name, quoted(value))));
    fields.extend(relationship.map(|relationship| ("Parent Relationship", quoted(relationship))));
    fields.extend(node.subplan.as_ref().map(|name| ("Subplan Name", quoted(name))));
    fields.push(("Parallel Aware", "false".to_owned()));
    fields.push(("Async Capable", "false".to_owned()));
    if kind.ends_with("Join") || kind == "Nested Loop" {
        fields.push(("Join Type", quoted(node.join.unwrap_or("Inner"))));
    }
    if kind == "Index Scan" {
        fields.push(("Scan Direction", quoted(if node.backward { "Backward" } else { "Forward" })));
    }
    fields.extend(node.index.as_ref().map(|index| ("Index Name", quoted(index))));
    if let Some(relation) = &node.relation {
        let name = match kind {
            "Function Scan" => "Function Name",
            "CTE Scan" | "WorkTable Scan" => "CTE Name",
            _ => "Relation Name",
        };
        fields.push((name, quoted(relation)));
        fields.push(("Alias", quoted(node.alias.as_ref().unwrap_or(relation))));
    }
    if let Some(actual) = ran.and_then(|ran| node.actual(&ran.counters)) {
        fields.push(("Actual Rows", actual.rows_a_loop().to_string()));
        fields.push(("Actual Loops", actual.loops.to_string()));
    }
    for (label, values) in &node.details {
        let value = match *label {
            "Sort Key" | "Group Key" => {
                format!("[{}]", values.iter().map(|value| quoted(value)).collect::<Vec<_>>().join(", "))
            }
            _ => quoted(&values.join(", ")),
        };
        fields.push((label, value));
    }
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{pad}  {}: {value}", quoted(name))).collect();
    out.push_str("{\n");
    out.push_str(&fields.join(",\n"));
    let below: Vec<usize> = (at + 1..plan.len())
        .take_while(|below| plan[*below].depth > node.depth)
        .filter(|below| plan[*below].depth == node.depth + 1)
        .collect();
    let mut inputs = 0;
    for (i, below) in below.iter().enumerate() {
        out.push_str(",\n");
        if i == 0 {
            out.push_str(&format!("{pad}  \"Plans\": [\n"));
        }
        let relationship = match &plan[*below].subplan {
            Some(name) if name.starts_with("CTE ") => "InitPlan",
            Some(_) => "SubPlan",
            None => {
                inputs += 1;
                match kind {
                    "Append" => "Member",
                    "Subquery Scan" => "Subquery",
                    _ if inputs == 1 => "Outer",
                    _ => "Inner",
                }
            }
        };
        out.push_str(&format!("{pad}    "));
        write_node(plan, *below, Some(relationship), ran, indent + 4, out);
    }
    if !below.is_empty() {
        out.push_str(&format!("\n{pad}  ]"));
    }
    out.push_str(&format!("\n{pad}}}"));
}

impl SessionCore {
    /// The plan of a statement, a line a row.
    pub(crate) fn explain(
        &mut self,
        statement: &Statement,
        format: ExplainFormat,
        summary: bool,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        let began = Instant::now();
        let plan = match self.plan_nodes(statement, ParamTypes::default()) {
            Err(error) if params.count() > 0 && might_know_types(&error) => {
                let hints = (0..params.count()).map(|i| type_of(params.param(i))).collect();
                self.plan_nodes(statement, ParamTypes(hints)).map_err(|_| error)?
            }
            plan => plan?,
        };
        let planning = milliseconds(began.elapsed());
        if format != ExplainFormat::Text {
            let mut shown = plan_json(&plan, None);
            if summary {
                shown.truncate(shown.len() - END_OF_JSON.len());
                shown.push_str(&format!(",\n    \"Planning Time\": {planning:.3}{END_OF_JSON}"));
            }
            return Ok(plan_result(shown, format));
        }
        let mut lines = plan_text(&plan, None);
        if summary {
            lines.push(format!("Planning Time: {planning:.3} ms"));
        }
        Ok(lines_result(lines))
    }

    /// The same of a statement that is run for it: what it changes is changed, and the rows of each node are counted.
    pub(crate) fn explain_analyze(
        &mut self,
        statement: &Statement,
        format: ExplainFormat,
        summary: bool,
        (text, params): (&str, &dyn Params),
    ) -> Result<StatementResult> {
        let began = Instant::now();
        let (plan, mut result, planning) = match statement.kind {
            StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_)
                if lower::current_of(statement).is_none() =>
            {
                self.check_block(Some(statement))?;
                let prepared = self.analyse(statement.clone(), text, params)?;
                let (counting, plan) = self.counting(&prepared)?;
                let planning = began.elapsed();
                (plan, self.run_program(&counting, params)?, planning)
            }
            _ => {
                let plan = self.plan_nodes(statement, ParamTypes::default())?;
                let planning = began.elapsed();
                (plan, self.run_statement(statement, text, params)?, planning)
            }
        };
        let counter = |value: &Datum| match value {
            Datum::Int(n) => u64::try_from(*n).unwrap_or_default(),
            _ => 0,
        };
        let counters = result.rows.take().filter(|rows| rows.columns.iter().all(|c| c.ty == Type::Int8));
        let counters = counters.and_then(|rows| rows.rows.into_iter().next());
        let counters = counters.map_or_else(Vec::new, |row| row.values.iter().map(counter).collect());
        let times = [planning, began.elapsed().saturating_sub(planning)];
        let ran = Ran { counters, times: Some(times).filter(|_| summary) };
        let told = match format {
            ExplainFormat::Text => lines_result(plan_text(&plan, Some(&ran))),
            format => plan_result(plan_json(&plan, Some(&ran)), format),
        };
        // What it said, and what it waits for, stay.
        Ok(StatementResult { rows: told.rows, tag: told.tag, count: told.count, ..result })
    }

    /// A statement as it counts the rows of its plan's nodes, and answers with them.
    fn counting(&mut self, prepared: &PreparedStatement) -> Result<(Arc<PreparedStatement>, Vec<PlanNode>)> {
        let (schema, role) = (self.schema(), self.user.current());
        let (compiled, columns, plan) = Compiled::counting(&schema, role, prepared)?;
        let counting = PreparedStatement {
            text: prepared.text.clone(),
            statement: prepared.statement.clone(),
            parameters: prepared.parameters.clone(),
            declared: prepared.declared.clone(),
            domains: Vec::new(),
            columns,
            detached: false,
            by_steps: false,
            copy: None,
            compiled: Mutex::new(Some((stamp(schema.version(), role), compiled))),
        };
        Ok((Arc::new(counting), plan))
    }

    /// The plan of a statement. What makes something of a query's rows has that query's plan.
    fn plan_nodes(&mut self, statement: &Statement, mut params: ParamTypes) -> Result<Vec<PlanNode>> {
        let schema = self.schema();
        let prepared;
        let planned = match &statement.kind {
            StatementKind::ExecutePrepared { name, .. } => {
                prepared = self.named_statement(name)?;
                params = ParamTypes(prepared.parameters.iter().cloned().map(Some).collect());
                &prepared.statement
            }
            StatementKind::DeclareCursor(declare) => &*declare.query,
            _ => statement,
        };
        let of_query;
        let planned = match &planned.kind {
            StatementKind::CreateTableAs { query, .. } => {
                let kind = StatementKind::Query(query.clone());
                of_query = Statement { position: planned.position, end: planned.end, kind };
                &of_query
            }
            StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_)
            | StatementKind::Call { .. } => planned,
            StatementKind::Unsupported(what) => {
                let message = format!("{what} is not supported");
                return Err(Error::unsupported(message, "docs/sql.md lists what is.").at(planned.position));
            }
            _ => return Err(no_plan(planned)),
        };
        let runner = Runner::Role(self.user.current());
        let (plan, needs) = lower::explain_statement(&schema.catalog, planned, &params, runner)?;
        needs.iter().try_for_each(|r| schema.catalog.require(self.user.current(), r))?;
        Ok(plan)
    }

    /// The plan of a statement that is analysed, as EXPLAIN has it; `None` where it has none.
    pub(crate) fn plan_of(&mut self, prepared: &PreparedStatement) -> Result<Option<String>> {
        let (StatementKind::Query(_)
        | StatementKind::Insert(_)
        | StatementKind::Update(_)
        | StatementKind::Delete(_)
        | StatementKind::Merge(_)) = prepared.statement.kind
        else {
            return Ok(None);
        };
        let params = ParamTypes(prepared.parameters.iter().cloned().map(Some).collect());
        let catalog = self.schema().catalog.clone();
        let runner = Runner::Role(self.user.current());
        let (plan, _) = lower::explain_statement(&catalog, &prepared.statement, &params, runner)?;
        Ok(Some(plan_text(&plan, None).join("\n")))
    }

    /// `SHOW recovery`: what recovery did when the database was opened; no rows if there was nothing to
    /// recover. Times in seconds; those of the phases are sums over the threads.
    pub(crate) fn recovery_rows(&self) -> Vec<Vec<String>> {
        let report = self.engine.recovery.lock();
        let Some(r) = report.as_ref() else { return Vec::new() };
        let seconds = |time: std::time::Duration| format!("{:.3}", time.as_secs_f64());
        let rows = [
            ("scheme", r.scheme.to_string()),
            ("threads", r.threads.to_string()),
            ("transactions", r.transactions.to_string()),
            ("calls", r.calls.to_string()),
            ("undone", r.undone.to_string()),
            ("barriers", r.barriers.to_string()),
            ("log_bytes", r.log_bytes.to_string()),
            ("seconds", seconds(r.replay)),
            ("load_seconds", seconds(r.phases.load)),
            ("plan_seconds", seconds(r.phases.plan)),
            ("execute_seconds", seconds(r.phases.execute)),
            ("wait_seconds", seconds(r.phases.wait)),
            ("index_seconds", seconds(r.phases.index)),
        ];
        rows.into_iter().map(|(what, value)| vec![what.to_owned(), value]).collect()
    }

    /// The operations of a procedure, what depends on what, and how its calls are logged.
    pub(crate) fn explain_procedure(
        &mut self,
        name: &Name,
        types: Option<&[TypeName]>,
    ) -> Result<StatementResult> {
        let schema = self.schema();
        let procedure = ddl::find_routine(&schema.catalog, name, types, None)?;
        let names = Names(&schema);
        let (program, mut logging) = (schema.program(procedure.id)?, schema.logging(procedure.id)?);
        let mut cost = None;
        let is_command = logging.is_command();
        if is_command && let Ok(planned) = schema.planned(procedure.id) {
            cost = Some(format!("  Adaptive: {}", planned.cost.reason()));
            if self.engine.log_kind == LogKind::Adaptive && !planned.cost.prefers_call() {
                logging = logging.by_values("Its rows cost less than the call.".to_owned());
            }
        }
        if is_command && !self.engine.traits.guarantee.replays_calls() {
            let why = format!(
                "Under protocol {}, replaying calls in commit order need not give the same result.",
                self.engine.traits.name
            );
            logging = logging.by_values(why);
        }
        let mut lines = analysis::explain(program, &logging, &names);
        // Behind how calls are logged, and why.
        let zone = (is_command && program.reads_zone())
            .then(|| "  Calls that use a session time zone other than UTC are logged by rows.".to_owned());
        lines.splice(3..3, cost.into_iter().chain(zone));
        if self.engine.look_ahead {
            lines.extend(ahead_line(program, &names));
        }
        if self.engine.traits.heals {
            lines.extend(healing_lines(program, &names));
        }
        if is_command {
            lines.extend(replay_lines(&schema, procedure.id));
        }
        // What is said above is of the rest.
        let wrong = schema.lowered(procedure.id)?.errors.iter();
        lines.extend(wrong.map(|e| format!("  A statement fails when it is reached: {}", e.message())));
        Ok(lines_result(lines))
    }

    /// What CREATE PROCEDURE has to say of how calls will be logged; nothing where it is the call.
    /// A body that cannot be lowered yet (its tables may come later) says nothing.
    pub(crate) fn how_logged(&mut self, id: ProcedureId) -> Option<Notice> {
        let schema = self.schema.clone();
        let routine = schema.routine(id).ok()?;
        if routine.logging.is_read_only() || routine.logging.is_command() {
            return None;
        }
        let name = &schema.catalog.procedure(id).name;
        Some(Notice {
            severity: "NOTICE",
            code: SqlState::SUCCESSFUL_COMPLETION,
            message: format!("calls of \"{name}\" will be logged by the rows they change"),
            detail: Some(routine.logging.reason()),
            hint: None,
        })
    }
}

/// 42601, as the grammar of PostgreSQL has it.
fn no_plan(statement: &Statement) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "this statement has no plan to be explained")
        .with_hint("EXPLAIN ANALYZE is available for queries, INSERT, UPDATE, DELETE, MERGE, CALL, CREATE TABLE AS, DECLARE and EXECUTE.")
        .at(statement.position)
}

/// Which lookups are made before the call begins.
fn ahead_line(program: &Program, names: &dyn analysis::Names) -> Option<String> {
    let numbers = analysis::explain::numbers(program, names);
    let lookups = |ahead: &analysis::LookAhead| {
        let lookup = |(id, several): &(OpId, bool)| {
            let each_turn = if *several { " (in each turn)" } else { "" };
            numbers.get(id).map(|number| format!("{number}{each_turn}"))
        };
        ahead.lookups.iter().filter_map(lookup).collect::<Vec<String>>().join(", ")
    };
    if let Some(ahead) = analysis::look_ahead(program) {
        return Some(format!("  Fetched before it begins, all at once, the rows of: {}", lookups(&ahead)));
    }
    let waves: Vec<String> = analysis::waves(program).iter().map(lookups).collect();
    let text = format!(
        "  Fetched for several calls that are submitted together, the rows of: {}",
        waves.join("; then of: ")
    );
    (!waves.is_empty()).then_some(text)
}

/// What a stale read repeats, under protocols that heal.
fn healing_lines(program: &Program, names: &dyn analysis::Names) -> Vec<String> {
    let repeats = analysis::explain::repeats(program, names);
    if repeats.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        "  If what it has read is stale, these are repeated; what others have found is known:".to_owned(),
    ];
    for (read, repeated) in repeats {
        let repeated: Vec<String> = repeated.iter().map(usize::to_string).collect();
        lines.push(format!("    read by {read}: {}", repeated.join(", ")));
    }
    lines
}

/// A piece of a plan: its tables, and the columns that are its key.
fn piece_text(piece: &CompiledPiece, names: &dyn analysis::Names) -> String {
    let tables: Vec<String> = piece.tables.iter().map(|t| names.table(*t)).collect();
    let key: Vec<String> = piece.tables.first().map_or_else(Vec::new, |table| {
        let key = names.index_columns(*table, IndexId::PRIMARY);
        key.iter().take(piece.key).map(|c| names.column(*table, *c)).collect()
    });
    format!("{} by {}", tables.join(", "), key.join(", "))
}

/// The pieces that calls are replayed in, and what the log has for that.
fn replay_lines(schema: &SchemaVersion, id: ProcedureId) -> Vec<String> {
    let Ok(planned) = schema.planned(id) else { return Vec::new() };
    let mut lines = vec!["  Replayed in pieces, each of the rows of one key:".to_owned()];
    for (i, piece) in planned.plan.pieces.iter().enumerate() {
        lines.push(format!("    {}. {}", i + 1, piece_text(piece, &Names(schema))));
    }
    if planned.plan.pieces.is_empty() {
        lines.push("    none: it changes no row".to_owned());
    }
    if !planned.notes.is_empty() {
        lines.push("  So that these can be told apart before anything is replayed, it".to_owned());
        let names = Names(schema);
        let mut told = BTreeSet::new();
        let texts = planned.notes.iter().map(|note| note.text(&names));
        lines.extend(texts.filter(|text| told.insert(text.clone())).map(|text| format!("    {text}")));
    }
    lines
}
