//! Programs whose calls were inlined against the same programs with calls: nothing must show.

use crate::common;
use crate::generator;

use common::{Db, Schema};
use generator::{Generator, op};
use planaria_analysis::{NotInlined, inline};
use planaria_base::{Error, ProcedureId};
use planaria_ir::{Block, Catch, Handler, OpKind, Param, ParamMode, Program, ProgramKind};
use planaria_protocol::Serial;

/// A routine that calls those before it.
fn routine(seed: u64, name: &str, kind: ProgramKind, callees: &[(ProcedureId, bool)]) -> Program {
    let mut g = Generator::new(seed);
    g.callees = callees.to_vec();
    let mut body = Block::default();
    for _ in 0..3 {
        let ops = g.block(3);
        if g.choice.below(3) == 0 {
            body.0.extend(ops.0);
            continue;
        }
        // An error ends the part, not the program.
        let (sqlstate, sqlerrm) = (g.texts[0], g.texts[1]);
        let handler = Handler {
            catches: vec![Catch::Others],
            sqlstate,
            sqlerrm,
            diagnostics: Vec::new(),
            body: Block::default(),
        };
        body.0.push(op(OpKind::Try { body: ops, handlers: vec![handler] }));
    }
    let values = vec![g.ints[0], g.texts[0], g.arrays[0]];
    body.0.push(op(OpKind::Emit { values: values.clone() }));
    let mut program = g.program;
    program.name = name.to_owned();
    program.kind = kind;
    program.body = body;
    if kind != ProgramKind::Statement {
        let regs = [g.ints[1], g.texts[1], g.arrays[1]];
        for (reg, mode) in regs.into_iter().zip([ParamMode::In, ParamMode::In, ParamMode::In]) {
            let ty = program.type_of(reg).unwrap().clone();
            program.params.push(Param { name: reg.to_string(), ty, mode, reg });
        }
    }
    if kind == ProgramKind::Procedure {
        // It answers with what it would have emitted last.
        without_emit(&mut program.body);
        program.outs = values;
    }
    let mut position = seed as u32 % 5;
    program.body.visit_mut(&mut |op| {
        position = (position * 5 + 1) % 7;
        op.position = position;
    });
    program.renumber();
    program
}

fn without_emit(block: &mut Block) {
    block.0.retain(|op| !matches!(op.kind, OpKind::Emit { .. }));
    block.0.iter_mut().for_each(|op| op.kind.blocks_mut(&mut without_emit));
}

/// All of an error that the caller sees.
fn seen(error: Error) -> String {
    format!("{:?}", error.fields())
}

#[test]
fn inlined_calls_do_what_calls_do() {
    let (mut rows, mut errors, mut calls) = (0, 0, 0);
    for seed in 1..700u64 {
        let kinds = [
            ProgramKind::Procedure,
            ProgramKind::SetFunction,
            ProgramKind::Procedure,
            ProgramKind::SetFunction,
        ];
        let mut schema = Schema::default();
        let mut callees = Vec::new();
        for (at, kind) in kinds.into_iter().enumerate() {
            let id = ProcedureId(at as u32);
            schema.programs.push(routine(seed * 7 + at as u64, &format!("p{at}"), kind, &callees));
            callees.push((id, kind == ProgramKind::SetFunction));
        }
        let mut db = Db::<Serial>::new(schema);
        let plain = routine(seed * 7 + 5, "whole", ProgramKind::Statement, &callees);
        let whole = match inline(&plain, &|p| db.schema.programs.get(p.index())) {
            Ok(whole) => whole,
            Err(NotInlined::TooLarge) => continue,
            Err(e) => panic!("{e}"),
        };
        whole.body.visit(&mut |op| {
            assert!(!matches!(op.kind, OpKind::Call { .. } | OpKind::CallSet { .. }));
        });
        calls += whole.inlined.len();
        let codes = [&plain, &whole].map(|p| db.compile_program(p));
        let [wanted, got] = codes.map(|code| {
            db.host.rows.clear();
            let error = db.run(&code, &[]).err().map(seen);
            (std::mem::take(&mut db.host.rows), error)
        });
        rows += wanted.0.len();
        errors += usize::from(wanted.1.is_some());
        assert_eq!(got, wanted, "seed {seed}\n{plain}\n{whole}");
    }
    // The programs are worth running.
    assert!(rows > 2_000 && errors > 100 && calls > 10_000, "{rows} rows, {errors} errors, {calls} calls");
}

#[test]
fn what_cannot_be_inlined_is_refused() {
    let program = |text: &str| planaria_ir::text::parse(text).unwrap();
    let leaf = program("procedure leaf\nbegin\nend\n");
    let mutual = program("procedure mutual\nbegin\n  call p2 () -> ()\nend\n");
    let back = program("procedure back\nbegin\n  call p0 () -> ()\n  call p1 () -> ()\nend\n");
    let doubling = |p: u32| {
        let call = format!("  call p{p} () -> ()\n");
        program(&format!("procedure doubling\nbegin\n{}end\n", call.repeat(8)))
    };
    let mut programs = vec![leaf, mutual, back, doubling(0)];
    (3..9).for_each(|p| programs.push(doubling(p)));
    let find = |p: ProcedureId| programs.get(p.index());
    assert_eq!(inline(&programs[1], &find), Err(NotInlined::Recursive(ProcedureId(2))));
    assert_eq!(inline(&doubling(77), &find), Err(NotInlined::Unknown(ProcedureId(77))));
    assert_eq!(inline(&programs[9], &find), Err(NotInlined::TooLarge));
    let flat = inline(&programs[4], &find).unwrap();
    assert_eq!(flat.inlined.len(), 8 + 64);
}
