//! Prints what the analysis makes of the routines that SQL files define:
//! `cargo run -p planaria-analysis --example ir -- [--plan] FILE...`: their IR, or with `--plan` the
//! program that plans and the pieces.

use planaria_analysis::{Numbers, inline, regrow};
use planaria_base::ProcedureId;
use planaria_catalog::Catalog;
use planaria_ir::{OpKind, Program, verify};
use planaria_sql::ddl;
use planaria_sql::lower::CatalogEnv;
use planaria_sql::lower::plpgsql::lower_procedure;
use planaria_syntax::parse;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut catalog = Catalog::default();
    let mut plans = false;
    for file in std::env::args().skip(1) {
        if file == "--plan" {
            plans = true;
            continue;
        }
        let text = std::fs::read_to_string(&file)?;
        for statement in parse::statements(&text).map_err(|e| format!("{file}: {e:?}"))? {
            if ddl::is_ddl(&statement) {
                ddl::apply(&mut catalog, &statement).map_err(|e| format!("{file}: {e:?}"))?;
            }
        }
    }
    let mut programs: Vec<Option<Program>> = Vec::new();
    for procedure in &catalog.procedures {
        let program = lower_procedure(&catalog, procedure);
        if let Err(e) = &program {
            println!("{}: {}", procedure.name, e.message());
        }
        programs.push(program.ok());
    }
    let env = CatalogEnv(&catalog);
    let mut facts = regrow::Facts::default();
    programs.iter().flatten().for_each(|p| facts.add(p, &env));
    for program in programs.iter().flatten() {
        if !plans {
            println!("{program}");
            continue;
        }
        let callee = |id: ProcedureId| programs[id.index()].as_ref();
        let program = match inline(program, &callee) {
            Ok(program) => program,
            Err(e) => {
                println!("{}: not inlined: {e:?}\n", program.name);
                continue;
            }
        };
        let pure = |id: ProcedureId| {
            let mut pure = true;
            if let Some(p) = callee(id) {
                p.body.visit(&mut |op| {
                    pure &= op.kind.table().is_none()
                        && !matches!(
                            op.kind,
                            OpKind::Draw { .. } | OpKind::NextValue { .. } | OpKind::CurrentValue { .. }
                        );
                });
            }
            pure
        };
        println!("==== {}", program.name);
        match regrow::plan(&program, &facts, &pure) {
            Err(e) => println!("cannot be planned: {}\n", e.0),
            Ok(plan) => {
                for note in &plan.notes {
                    println!("-- {} {}", note.position, note.text(&Numbers));
                }
                let mut all = vec![("forward", &plan.forward), ("plan", &plan.plan)];
                all.extend(plan.pieces.iter().map(|p| ("piece", &p.program)));
                for (what, program) in all {
                    if let Err(e) = verify(program, &env) {
                        println!("!!!! {what} does not verify: {}", e.message());
                    }
                }
                println!("{}", plan.plan);
                for (i, piece) in plan.pieces.iter().enumerate() {
                    println!("-- piece {i}: tables {:?}, key {}\n{}", piece.tables, piece.key, piece.program);
                }
            }
        }
    }
    Ok(())
}
