use super::*;
use crate::committed;
use planaria_base::ProcedureId;
use planaria_ir::{Program, text};

fn program(text: &str) -> Program {
    let mut program = text::parse(text).unwrap();
    program.renumber();
    program
}

fn local(program: &Program) -> LocalGraph {
    LocalGraph::of(program, &|_| None)
}

const TRANSFER: &str = include_str!("../../tests/paper/transfer.ir");
const DEPOSIT: &str = include_str!("../../tests/paper/deposit.ir");

fn slices(graph: &LocalGraph) -> Vec<Vec<u32>> {
    graph.slices.iter().map(|s| s.ops.iter().map(|o| o.0).collect()).collect()
}

fn edges(graph: &LocalGraph) -> Vec<(u32, u32)> {
    graph.edges.iter().map(|(a, b)| (a.0, b.0)).collect()
}

/// Figures 3, 4, 5: the slices T1 to T3 and D1 to D3, the blocks alpha to delta.
#[test]
fn the_bank_comes_out_as_printed() {
    let (transfer, deposit) = (local(&program(TRANSFER)), local(&program(DEPOSIT)));
    assert_eq!(slices(&transfer), [vec![1], vec![4, 6, 7, 9], vec![10, 12]]);
    assert_eq!(edges(&transfer), [(0, 1), (0, 2)]);
    assert_eq!(slices(&deposit), [vec![3, 5], vec![8, 11], vec![13, 15]]);
    assert_eq!(edges(&deposit), [(0, 1), (0, 2)]);
    let (t, d) = (ProcedureId(0), ProcedureId(1));
    let global = GlobalGraph::of(&[(t, transfer), (d, deposit)], []);
    let blocks: Vec<_> = global.blocks.iter().map(|b| b.slices.clone()).collect();
    let slice = |p, s| (p, SliceId(s));
    assert_eq!(
        blocks,
        [
            vec![slice(t, 0)],
            vec![slice(t, 1), slice(d, 0)],
            vec![slice(t, 2), slice(d, 1)],
            vec![slice(d, 2)]
        ]
    );
    // The dependency of gamma on alpha follows from those over beta; the figure leaves it out.
    let of = |edges: std::collections::BTreeSet<(BlockId, BlockId)>| {
        edges.iter().map(|(a, b)| (a.0, b.0)).collect::<Vec<_>>()
    };
    assert_eq!(of(global.edges.clone()), [(0, 1), (0, 2), (1, 2), (1, 3)]);
    assert_eq!(of(global.reduced()), [(0, 1), (1, 2), (1, 3)]);
}

/// A procedure of operations in one line: `g0` reads t0, `w1` inserts into t1.
fn lines(body: &str) -> Program {
    program(&format!(
        "procedure p\n  reg a: int8\n  reg b: int8\n  reg c: bool\n  reg r: row t0\n  reg s: row t1\n  \
         reg q: text\n  reg m: text\n  reg f: bool\n  reg n: bool\n  param in a: int8 = a\n  labels 4\nbegin\n{body}\nend\n"
    ))
}

#[test]
fn guards_are_known_and_handlers_did_not_run() {
    let text = "q = const 'no'
        try {
          get t0.i0 (a) -> r, c1 = b
          c = is.null(r)
          if c {
            raise exception 'TC001' q
          }
          insert t1 (a, a)
        } handle 'TC001' -> (q, m) {
          get t2.i0 (a) -> r7
          delete t2 r7
        }
        insert t3 (a, a)";
    let source = lines("")
        .to_string()
        .replace("begin\n", &format!("begin\n{text}\n"))
        .replace("  reg m: text\n", "  reg m: text\n  reg r7: row t2\n");
    let any = program(&source);
    let of_committed = committed(&any);
    assert_eq!(
        of_committed.to_string().lines().skip_while(|l| *l != "begin").map(str::trim).collect::<Vec<_>>(),
        [
            "begin",
            "q = const 'no'",
            "get t0.i0 (a) -> r, c1 = b",
            "c = is.null(r)",
            "insert t1 (a, a)",
            "insert t3 (a, a)",
            "end"
        ]
    );
    let graph = local(&of_committed);
    assert_eq!(slices(&graph).len(), 3);
    assert_eq!(edges(&graph), [], "what the read found decides nothing that is replayed");
    // In general the read decides about all behind it, and the handler undoes.
    assert!(edges(&local(&any)).contains(&(0, 1)));
    // Operations are the same ones in both.
    let ids = |p: &Program, f: fn(&planaria_ir::OpKind) -> bool| {
        let mut ids = Vec::new();
        p.body.visit(&mut |o| {
            if f(&o.kind) {
                ids.push(o.id)
            }
        });
        ids
    };
    let inserts = |k: &planaria_ir::OpKind| matches!(k, planaria_ir::OpKind::Insert { .. });
    assert_eq!(ids(&any, inserts), ids(&of_committed, inserts));
}

/// A branch that may be left before it raises is one that may have been taken.
#[test]
fn a_branch_that_need_not_raise_stays() {
    let p = lines(
        "q = const 'no'
         get t0.i0 (a) -> r, c1 = b
         c = is.null(r)
         if c {
           block l0 {
             if c {
               return
             }
             raise exception 'TC001' q
           }
         }
         insert t1 (a, a)",
    );
    let graph = local(&committed(&p));
    assert_eq!(edges(&graph), [(0, 1)]);
    let p = lines(
        "q = const 'no'
         get t0.i0 (a) -> r, c1 = b
         c = is.null(r)
         if c {
           loop l0 {
             exit l0
           }
           if c {
             raise exception 'TC001' q
           } else {
             raise exception 'TC002' q
           }
         }
         insert t1 (a, a)",
    );
    assert_eq!(edges(&local(&committed(&p))), []);
}

/// What a turn of a loop reads decides about the next: the two are one slice.
#[test]
fn dependencies_carried_by_a_loop_merge() {
    let p = lines(
        "b = copy a
         loop l0 {
           get t0.i0 (b) -> r, c1 = b
           c = is.null(r)
           if c {
             exit l0
           }
           get t1.i0 (b) -> s, c1 = b
         }
         insert t2 (b, b)",
    );
    let graph = local(&p);
    assert_eq!(slices(&graph).len(), 2);
    assert_eq!(graph.slices[0].accesses.reads.len(), 2);
    assert_eq!(edges(&graph), [(0, 1)]);
}

/// A row's handle does not leave its slice, not even of a table that nobody changes here.
#[test]
fn a_row_read_again_is_one_operation() {
    let p = lines("get t0.i0 (a) -> r, c1 = b\nload t0 r -> c1 = b\ninsert t1 (b, b)");
    assert_eq!(slices(&local(&p)), [vec![0, 1], vec![2]]);
}

#[test]
fn calls_touch_what_the_called_touch() {
    let caller = lines("get t0.i0 (a) -> r, c1 = b\ncall p1 (b) -> (b)\ninsert t2 (b, b)\ninsert t3 (a, a)");
    let changes = lines("insert t1 (a, a)\ncall p2 (a) -> (b)");
    let recursive =
        lines("get t2.i0 (a) -> q2\ncall p2 (a) -> (b)".replace("q2", "r").replace("t2", "t0").as_str());
    let pure = lines("b = copy a");
    let of = |p1: &Program| {
        let all = [None, Some(p1.clone()), Some(recursive.clone())];
        LocalGraph::of(&caller, &|id| all[id.index()].as_ref())
    };
    let graph = of(&changes);
    assert_eq!(slices(&graph), [[0], [1], [2], [3]]);
    assert_eq!(edges(&graph), [(0, 1), (1, 2)]);
    assert_eq!(graph.slices[1].accesses.tables().len(), 2);
    // A routine that touches nothing is part of the arithmetic: what it was given flows through it.
    let graph = of(&pure);
    assert_eq!(slices(&graph), [vec![0], vec![2], vec![3]]);
    assert_eq!(edges(&graph), [(0, 1)]);
    // One that nobody knows may touch anything.
    let graph = LocalGraph::of(&caller, &|_| None);
    assert!(graph.barrier.is_some() && graph.slices.len() == 1);
    assert_eq!(GlobalGraph::of(&[(ProcedureId(0), graph)], []).blocks, []);
}

/// A generator of small numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
    fn procedures(&mut self) -> Vec<(ProcedureId, OperationGraph)> {
        let procedures = 1 + self.below(4);
        (0..procedures as usize).map(|p| (ProcedureId::from(p), self.operations())).collect()
    }
    fn operations(&mut self) -> OperationGraph {
        use planaria_base::TableId;
        use planaria_ir::OpId;
        let n = 1 + self.below(6) as u32;
        let mut graph = OperationGraph::default();
        for i in 0..n {
            let mut accesses = Accesses::default();
            let table = TableId(self.below(7) as u32);
            if self.below(3) == 0 { &mut accesses.writes } else { &mut accesses.reads }.insert(table);
            graph.operations.push(Operation { id: OpId(i), accesses });
            for from in 0..n {
                // Now and then backwards, as loops have it.
                if from != i && self.below(if from < i { 4 } else { 20 }) == 0 {
                    graph.flow.insert((OpId(from), OpId(i)));
                }
            }
        }
        graph
    }
}

/// Properties (1) to (4) of PACMAN §4.1, over many small sets of procedures.
#[test]
fn graphs_are_what_the_paper_says() {
    let mut numbers = Numbers(1);
    for _ in 0..2000 {
        let procedures = numbers.procedures();
        let slices: Vec<_> = procedures.iter().map(|(p, g)| (*p, LocalGraph::of_operations(g))).collect();
        for locals in [slices, chop(&procedures)] {
            for ((_, operations), (_, local)) in procedures.iter().zip(&locals) {
                let mut all: Vec<_> = local.slices.iter().flat_map(|s| s.ops.clone()).collect();
                all.sort();
                assert!(all.iter().eq(operations.operations.iter().map(|o| &o.id)), "each in one slice");
                let of = |op| local.slice_of(op).unwrap();
                assert!(operations.data().all(|(a, b)| of(a) == of(b)), "{operations:?}\n{local:?}");
                for (a, b) in &operations.flow {
                    assert!(of(*a) == of(*b) || local.edges.contains(&(of(*a), of(*b))));
                }
                assert!(local.edges.iter().all(|(a, b)| a < b));
            }
            let global = GlobalGraph::of(&locals, []);
            assert!(global.edges.iter().all(|(a, b)| a < b));
            for (procedure, local) in &global.locals {
                for i in 0..local.slices.len() {
                    let slice = SliceId::from(i);
                    let block = global.block_of(*procedure, slice).expect("each in a block");
                    for need in local.needs(slice) {
                        let needed = global.block_of(*procedure, need).unwrap();
                        assert!(needed != block && global.edges.contains(&(needed, block)));
                    }
                }
            }
            for (i, block) in global.blocks.iter().enumerate() {
                let of: std::collections::BTreeSet<_> = block.slices.iter().map(|(p, _)| p).collect();
                assert_eq!(of.len(), block.slices.len(), "one slice a procedure");
                for other in &global.blocks[i + 1..] {
                    assert!(!block.accesses.conflicts(&other.accesses));
                }
            }
        }
    }
}

/// No cycle of the SC-graph has both S and C edges, with every procedure under way twice; and PACMAN's
/// slices are never coarser than the pieces.
#[test]
fn choppings_have_no_sc_cycle() {
    let mut numbers = Numbers(2);
    for _ in 0..2000 {
        let procedures = numbers.procedures();
        let logged: Vec<_> = procedures.iter().filter(|(_, g)| !g.is_read_only()).cloned().collect();
        let chopped = chop(&logged);
        // Pieces (transaction, accesses) of two transactions a procedure.
        let mut pieces: Vec<(usize, &Accesses)> = Vec::new();
        for (t, (_, local)) in chopped.iter().chain(&chopped).enumerate() {
            pieces.extend(local.slices.iter().map(|s| (t, &s.accesses)));
        }
        for t in 0..2 * chopped.len() {
            // An SC-cycle through S edges of `t`: two of its pieces meet by way of others.
            let mut meets = classes::Classes::new(pieces.len());
            for (i, (a, left)) in pieces.iter().enumerate() {
                for (j, (b, right)) in pieces.iter().enumerate().skip(i + 1) {
                    let s = a == b && *a != t;
                    let c = a != b && left.conflicts(right);
                    if s || c {
                        meets.merge(i, j);
                    }
                }
            }
            let own: Vec<usize> = (0..pieces.len()).filter(|i| pieces[*i].0 == t).collect();
            for (i, a) in own.iter().enumerate() {
                assert!(own[i + 1..].iter().all(|b| meets.of(*a) != meets.of(*b)), "{procedures:?}");
            }
        }
        for ((_, graph), (_, chopped)) in logged.iter().zip(&chopped) {
            assert!(LocalGraph::of_operations(graph).slices.len() >= chopped.slices.len());
        }
    }
}

/// Ad hoc transactions change tables in one block each, even tables that procedures only read.
#[test]
fn ad_hoc_tables_have_one_block() {
    use planaria_base::TableId;
    let locals: Vec<_> = ["get t0.i0 (a) -> r\ninsert t1 (a, a)", "get t0.i0 (a) -> r\ninsert t2 (a, a)"]
        .iter()
        .enumerate()
        .map(|(i, text)| (ProcedureId::from(i), local(&lines(text))))
        .collect();
    let global = GlobalGraph::of(&locals, []);
    assert_eq!((global.blocks.len(), global.block_of_table(TableId(0))), (4, None));
    let global = GlobalGraph::of(&locals, [TableId(0), TableId(9)]);
    assert_eq!(global.blocks.len(), 4);
    let block = global.block_of_table(TableId(0)).unwrap();
    assert_eq!(global.blocks[block.index()].slices.len(), 2);
    assert_eq!(global.blocks[global.block_of_table(TableId(9)).unwrap().index()].slices, []);
}

/// Figure 6: two calls of Transfer, one of Deposit; Figure 10: the shares of the blocks.
#[test]
fn a_schedule_has_its_critical_path() {
    use schedule::{Load, Manner, Schedule};
    let (t, d) = (ProcedureId(0), ProcedureId(1));
    let global = GlobalGraph::of(&[(t, local(&program(TRANSFER))), (d, local(&program(DEPOSIT)))], []);
    let load = schedule::load(&global, &[(t, 2), (d, 1)].into());
    let of = |pieces, cost| Load { pieces, cost };
    assert_eq!(load, [of(2, 2.0), of(3, 10.0), of(3, 6.0), of(1, 2.0)]);
    let one = Schedule::of(&global, &load, Manner { batches: 1, pipelined: false, workers: 4 });
    let times: Vec<_> = one.piece_sets.iter().map(|p| (p.start, p.finish, p.critical)).collect();
    assert_eq!(times, [(0.0, 2.0, true), (2.0, 12.0, true), (12.0, 18.0, true), (12.0, 14.0, false)]);
    assert_eq!((one.work, one.span, one.makespan), (20.0, 18.0, 18.0));
    // Figure 9: three batches, one after the other or in a pipeline whose slowest stage sets the pace.
    let three = |pipelined, workers| {
        let s = Schedule::of(&global, &load, Manner { batches: 3, pipelined, workers });
        (s.work, s.span, s.makespan)
    };
    assert_eq!(three(false, 4), (60.0, 54.0, 54.0));
    assert_eq!(three(true, 4), (60.0, 38.0, 38.0));
    assert_eq!(three(true, 1), (60.0, 38.0, 60.0));
    let shares = |pieces: [u64; 4], n| schedule::cores(&pieces.map(|p| of(p, 0.0)), n);
    assert_eq!(shares([2, 4, 2, 2], 5), [1, 2, 1, 1]);
    assert_eq!(shares([1, 97, 1, 1], 8), [1, 7, 0, 0], "the largest shares first, then whoever has none");
    assert_eq!(shares([0, 1, 0, 0], 2), [0, 2, 0, 0]);
    assert_eq!(shares([0; 4], 2), [0; 4]);
}

/// `IF NOT FOUND THEN RAISE`, with code behind the raise: the row was there, so nothing hangs on it.
#[test]
fn what_a_guard_refuses_was_not_so_before_it() {
    let source = lines(
        "f = const true
         get t0.i0 (a) -> r, c1 = b
         c = is.null(r)
         if c {
           f = const false
           insert t2 (a, a)
         } else {
           f = const true
         }
         n = not(f)
         if n {
           raise exception 'TC001' q
           return
         }
         raise notice '00000' q
         insert t1 (a, a)",
    );
    let whole = committed(&source).to_string();
    let body: Vec<&str> = whole.lines().skip_while(|l| *l != "begin").map(str::trim).collect();
    assert_eq!(
        body,
        [
            "begin",
            "f = const true",
            "get t0.i0 (a) -> r, c1 = b",
            "c = is.null(r)",
            "f = const true",
            "n = not(f)",
            "insert t1 (a, a)",
            "end"
        ]
    );
    assert_eq!(edges(&local(&committed(&source))), []);
}

/// What only blocks can defer was not deferred in a call that was logged.
#[test]
fn questions_with_one_answer_in_all_calls_are_answered() {
    let source = lines(
        "c = ask 'trigger.defer_in_block' (a, a, q)
         if c {
           insert t2 (a, a)
         } else {
           insert t1 (a, a)
         }",
    );
    let whole = committed(&source).to_string();
    let body: Vec<&str> = whole.lines().skip_while(|l| *l != "begin").map(str::trim).collect();
    assert_eq!(body, ["begin", "c = const false", "insert t1 (a, a)", "end"]);
}
