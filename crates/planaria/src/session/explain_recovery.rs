//! `EXPLAIN RECOVERY`: how a crash now would be recovered from.

use crate::LogKind;
use crate::engine::graph::{Analysed, counted};
use crate::session::StatementResult;
use crate::session::answer::lines_result;
use crate::session::core::SessionCore;
use planaria_analysis::Names as _;
use planaria_analysis::paper::{GlobalGraph, LocalGraph, text};
use planaria_base::{ProcedureId, Result};

impl SessionCore {
    /// The scheme, how each procedure's calls are logged and cut, blocks, and what runs alone, a line a row.
    pub(crate) fn explain_recovery(&mut self) -> Result<StatementResult> {
        let schema = self.schema();
        let engine = &self.engine;
        let (scheme, threads) = engine.replays_with;
        let mut lines =
            vec![format!("Recovery by {scheme} on {}; log: {}", counted(threads, "thread"), engine.log_kind)];
        match engine.log_kind {
            LogKind::Off => lines.push("Nothing is logged: after a crash the database is empty.".to_owned()),
            LogKind::Command | LogKind::Adaptive => {
                let analysed = Analysed::of(&schema, &[])?;
                let locals = analysed.locals();
                lines.push("Procedures, and how their calls are logged".to_owned());
                lines.extend(indented(procedures(&analysed, &locals)));
                lines.push(
                    "Classes of tables with one key, whose pieces run separately by that key (regrow)"
                        .to_owned(),
                );
                lines.extend(indented(crate::engine::graph::pieces::lines(&analysed)));
                lines.push("Blocks of tables whose pieces run separately (PACMAN, by tables)".to_owned());
                let global = GlobalGraph::of(&locals, analysed.ad_hoc());
                lines.extend(indented(text::global(&global, &analysed.names)));
                lines.push("Barriers: everything under way finishes before these run".to_owned());
                lines.extend(indented(barriers(&analysed, &locals)));
            }
            LogKind::Logical | LogKind::Physical | LogKind::Physiological => lines.push(
                "All calls are logged by the rows they change, which are put back in place.".to_owned(),
            ),
        }
        Ok(lines_result(lines))
    }
}

/// A line for each current procedure that changes something.
fn procedures(analysed: &Analysed<'_>, locals: &[(ProcedureId, LocalGraph)]) -> Vec<String> {
    let schema = analysed.schema;
    let current = schema.catalog.procedures.definitions().filter(|p| p.current);
    let row = |procedure: &planaria_catalog::Procedure| {
        let name = analysed.names.procedure(procedure.id);
        let logging = match schema.logging(procedure.id) {
            Ok(logging) => logging,
            Err(error) => return Some([name, "cannot be called".to_owned(), error.message().to_owned()]),
        };
        let wrong = schema.lowered(procedure.id).ok().and_then(|l| l.errors.first());
        if let Some(error) = wrong {
            return Some([name, "has a statement that fails".to_owned(), error.message().to_owned()]);
        }
        if logging.is_read_only() {
            return None;
        }
        if !logging.is_command() {
            return Some([name, "rows it changes".to_owned(), logging.reason()]);
        }
        let (_, local) = locals.iter().find(|(id, _)| *id == procedure.id)?;
        let mut cut = counted(local.slices.len(), "slice");
        if let Ok(planned) = schema.planned(procedure.id) {
            cut = format!("{cut}; {}", counted(planned.plan.pieces.len(), "piece"));
        }
        Some([name, "call".to_owned(), cut])
    };
    text::table(current.filter_map(row))
}

/// What runs alone, and why.
fn barriers(analysed: &Analysed<'_>, locals: &[(ProcedureId, LocalGraph)]) -> Vec<String> {
    let mut lines = analysed.alone(locals);
    lines.push("changes of the schema: what comes behind them is compiled anew".to_owned());
    lines.push("TRUNCATE and setval: they have no key".to_owned());
    lines
}

fn indented(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|l| format!("  {l}"))
}
