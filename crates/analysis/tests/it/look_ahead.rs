//! What procedures look up ahead, alone and while several calls wait their turn: of some suites, and of one procedure for each shape.
//! `UPDATE_GOLDEN=1 cargo test -p planaria-analysis --test it look_ahead` writes the answers anew; read the difference.

use crate::regrow::{body, golden, golden_suite, whole};
use planaria_analysis::{LookAhead, inline, look_ahead, waves};
use planaria_base::ProcedureId;
use planaria_catalog::Catalog;
use planaria_ir::{OpKind, Program, ReadMode};
use std::fmt::Write;

fn answer(catalog: &Catalog) -> String {
    let programs: Vec<Option<Program>> = catalog.procedures.iter().map(|p| whole(catalog, p)).collect();
    let callee = |id: ProcedureId| programs[id.index()].as_ref();
    let mut out = String::new();
    for program in programs.iter().flatten() {
        let program = inline(program, &callee).expect("it is inlined");
        let _ = writeln!(out, "==== {}", program.name);
        match look_ahead(&program) {
            Some(ahead) => {
                let _ = writeln!(out, "ahead: {}", lookups(&ahead));
            }
            None => out.push_str("ahead: nothing\n"),
        }
        for wave in waves(&program) {
            wave.program.body.visit(&mut |op| {
                assert!(!op.kind.is_write() && !matches!(op.kind, OpKind::Loop { .. }), "{}", program.name);
            });
            let _ = write!(out, "wave: {}\n{}", lookups(&wave), body(&wave.program));
        }
        out.push('\n');
    }
    out
}

/// How many, and of those in a plan that stands alone how many are asked for.
fn lookups(ahead: &LookAhead) -> String {
    let mut asked = 0;
    ahead.program.body.visit(&mut |op| {
        asked += usize::from(matches!(op.kind, OpKind::Get { mode: ReadMode::Ahead, .. }));
    });
    let several = ahead.lookups.iter().filter(|(_, several)| *several).count();
    format!("{} lookups, {several} of them in loops; {asked} places", ahead.lookups.len())
}

#[test]
fn shapes() {
    golden("look_ahead", "shapes.txt", &["tests/look_ahead/shapes.sql".to_owned()], answer);
}

#[test]
fn smallbank() {
    golden_suite("look_ahead", "smallbank", answer);
}

#[test]
fn tpcb() {
    golden_suite("look_ahead", "tpcb", answer);
}
