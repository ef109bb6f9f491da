//! EXPLAIN, EXPLAIN PROCEDURE. EXPLAIN RECOVERY is in [`crate::session::explain_recovery`].

use crate::engine::names::Names;
use crate::engine::schema_version::SchemaVersion;
use crate::notice::Notice;
use crate::options::LogKind;
use crate::params::Params;
use crate::session::StatementResult;
use crate::session::answer::{json_result, lines_result};
use crate::session::core::SessionCore;
use crate::session::prepared::PreparedStatement;
use planaria_analysis as analysis;
use planaria_base::sync::Instant;
use planaria_base::{Error, IndexId, ProcedureId, Result, SqlState};
use planaria_ir::{OpId, Program};
use planaria_recovery::CompiledPiece;
use planaria_sql::ddl;
use planaria_sql::lower::{self, ParamTypes, Runner};
use planaria_syntax::ast::{Name, Statement, StatementKind, TypeName};
use std::collections::BTreeSet;
use std::time::Duration;

/// What a statement came to that EXPLAIN ANALYZE has run.
struct Actual {
    rows: u64,
    planning: Duration,
    execution: Duration,
}

impl Actual {
    /// A plan with it: rows of its first node, and the times, in milliseconds.
    fn lines(&self, mut lines: Vec<String>) -> Vec<String> {
        if let Some(first) = lines.first_mut() {
            first.push_str(&format!(" (actual rows={} loops=1)", self.rows));
        }
        lines.push(format!("Planning Time: {:.3} ms", milliseconds(self.planning)));
        lines.push(format!("Execution Time: {:.3} ms", milliseconds(self.execution)));
        lines
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A plan as JSON, in the form that PostgreSQL gives it: nodes with what they read, and the nodes below them.
fn plan_json(lines: &[String], actual: Option<&Actual>) -> String {
    struct Node {
        depth: usize,
        /// Names, and values as JSON.
        fields: Vec<(String, String)>,
        below: Vec<usize>,
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut nodes: Vec<Node> = Vec::new();
    // From the outermost to the one that lines belong to.
    let mut open: Vec<usize> = Vec::new();
    for line in lines {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let (depth, text) = match text.strip_prefix("->") {
            Some(text) => (indent + 1, text.trim_start()),
            // One above the other, all at the edge.
            None if indent == 0 => (0, text),
            None => {
                if let (Some((name, value)), Some(at)) = (text.split_once(": "), open.last()) {
                    nodes[*at].fields.push((name.to_owned(), quoted(value)));
                }
                continue;
            }
        };
        while depth > 0 && open.last().is_some_and(|at| nodes[*at].depth >= depth) {
            open.pop();
        }
        let (kind, on) = text.split_once(" on ").unwrap_or((text, ""));
        let (kind, index) = kind.split_once(" using ").unwrap_or((kind, ""));
        let (relation, alias) = on.split_once(' ').unwrap_or((on, on));
        let mut fields = vec![("Node Type".to_owned(), quoted(kind))];
        if !open.is_empty() {
            let siblings = open.last().map_or(0, |at| nodes[*at].below.len());
            let relationship = if siblings == 0 { "Outer" } else { "Inner" };
            fields.push(("Parent Relationship".to_owned(), quoted(relationship)));
        }
        for (name, value) in [("Index Name", index), ("Relation Name", relation), ("Alias", alias)] {
            if !value.is_empty() {
                fields.push((name.to_owned(), quoted(value)));
            }
        }
        if let Some(actual) = actual.filter(|_| nodes.is_empty()) {
            fields.push(("Actual Rows".to_owned(), actual.rows.to_string()));
            fields.push(("Actual Loops".to_owned(), "1".to_owned()));
        }
        let at = nodes.len();
        nodes.push(Node { depth, fields, below: Vec::new() });
        if let Some(above) = open.last() {
            nodes[*above].below.push(at);
        }
        open.push(at);
    }
    fn write(nodes: &[Node], at: usize, indent: usize, out: &mut String) {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let pad = " ".repeat(indent);
        out.push_str("{\n");
        let node = &nodes[at];
        let last = node.fields.len() + usize::from(!node.below.is_empty()) - 1;
        for (i, (name, value)) in node.fields.iter().enumerate() {
            let comma = if i < last { "," } else { "" };
            out.push_str(&format!("{pad}  {}: {value}{comma}\n", quoted(name)));
        }
        if !node.below.is_empty() {
            out.push_str(&format!("{pad}  \"Plans\": [\n"));
            for (i, below) in node.below.iter().enumerate() {
                out.push_str(&format!("{pad}    "));
                write(nodes, *below, indent + 4, out);
                out.push_str(if i + 1 < node.below.len() { ",\n" } else { "\n" });
            }
            out.push_str(&format!("{pad}  ]\n"));
        }
        out.push_str(&format!("{pad}}}"));
    }
    let mut out = "[\n  {\n    \"Plan\": ".to_owned();
    match nodes.is_empty() {
        true => out.push_str("{}"),
        false => write(&nodes, 0, 4, &mut out),
    }
    if let Some(actual) = actual {
        let (planning, execution) = (milliseconds(actual.planning), milliseconds(actual.execution));
        out.push_str(&format!(
            ",\n    \"Planning Time\": {planning:.3},\n    \"Execution Time\": {execution:.3}"
        ));
    }
    out.push_str("\n  }\n]");
    out
}

impl SessionCore {
    /// The plan of a statement, a line a row.
    pub(crate) fn explain(&mut self, statement: &Statement, json: bool) -> Result<StatementResult> {
        let lines = self.plan_lines(statement)?;
        Ok(if json { json_result(plan_json(&lines, None)) } else { lines_result(lines) })
    }

    /// The same of a statement that is run for it: what it changes is changed, and its rows are counted.
    pub(crate) fn explain_analyze(
        &mut self,
        statement: &Statement,
        json: bool,
        text: &str,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        let began = Instant::now();
        let lines = self.plan_lines(statement)?;
        let planning = began.elapsed();
        let mut result = self.run_statement(statement, text, params)?;
        let rows = result.rows.take().map_or(0, |rows| rows.len() as u64);
        let actual = Actual { rows, planning, execution: began.elapsed().saturating_sub(planning) };
        let told = match json {
            true => json_result(plan_json(&lines, Some(&actual))),
            false => lines_result(actual.lines(lines)),
        };
        // What it said, and what it waits for, stay.
        Ok(StatementResult { rows: told.rows, tag: told.tag, count: told.count, ..result })
    }

    /// The plan of a statement. What makes something of a query's rows has that query's plan.
    fn plan_lines(&mut self, statement: &Statement) -> Result<Vec<String>> {
        let schema = self.schema();
        let mut params = ParamTypes::default();
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
        let (lines, needs) = lower::explain_statement(&schema.catalog, planned, &params, runner)?;
        needs.iter().try_for_each(|r| schema.catalog.require(self.user.current(), r))?;
        Ok(lines)
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
        let (lines, _) = lower::explain_statement(&catalog, &prepared.statement, &params, runner)?;
        Ok(Some(lines.join("\n")))
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
                "Under protocol {} calls need not repeat in the order of commits.",
                self.engine.traits.name
            );
            logging = logging.by_values(why);
        }
        let mut lines = analysis::explain(program, &logging, &names);
        // Behind how calls are logged, and why.
        let zone = (is_command && program.reads_zone()).then(|| {
            "  One that looks at the time zone of a session that is not in UTC is logged by rows.".to_owned()
        });
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
            message: format!("calls of \"{name}\" will be logged by the rows they change"),
            detail: Some(routine.logging.reason()),
            hint: None,
        })
    }
}

/// 42601, as the grammar of PostgreSQL has it.
fn no_plan(statement: &Statement) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "this statement has no plan to be explained")
        .with_hint("Queries, INSERT, UPDATE, DELETE, MERGE, CALL, CREATE TABLE AS, DECLARE and EXECUTE have.")
        .at(statement.position)
}

/// Which lookups are made before the call begins.
fn ahead_line(program: &Program, names: &dyn analysis::Names) -> Option<String> {
    let ahead = analysis::look_ahead(program)?;
    let numbers = analysis::explain::numbers(program, names);
    let lookup = |(id, several): &(OpId, bool)| {
        let each_turn = if *several { " (in each turn)" } else { "" };
        numbers.get(id).map(|number| format!("{number}{each_turn}"))
    };
    let lookups: Vec<String> = ahead.lookups.iter().filter_map(lookup).collect();
    Some(format!("  Fetched before it begins, all at once, the rows of: {}", lookups.join(", ")))
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
