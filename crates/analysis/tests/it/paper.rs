//! The paper's figures, and the suites' own procedures: local graphs, global graph, chopping. `UPDATE_GOLDEN=1
//! cargo test -p planaria-analysis --test it paper` writes the answers anew; read the difference.

use planaria_analysis::Names;
use planaria_analysis::paper::{GlobalGraph, LocalGraph, OperationGraph, chop, text};
use planaria_analysis::{committed, committed_whole};
use planaria_base::{ColumnId, IndexId, ProcedureId, SequenceId, TableId};
use planaria_catalog::Catalog;
use planaria_ir::Program;
use planaria_sql::ddl;
use planaria_sql::lower::plpgsql::lower_procedure;
use planaria_syntax::parse;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Names of a catalog's objects.
struct Named<'c>(&'c Catalog);

impl Names for Named<'_> {
    fn table(&self, id: TableId) -> String {
        self.0.table_by_id(id).name.clone()
    }
    fn column(&self, table: TableId, column: ColumnId) -> String {
        self.0.table_by_id(table).columns[column.index()].name.clone()
    }
    fn index(&self, table: TableId, index: IndexId) -> String {
        self.0.table_by_id(table).indexes[index.index()].name.clone()
    }
    fn index_columns(&self, table: TableId, index: IndexId) -> Vec<ColumnId> {
        self.0.table_by_id(table).indexes[index.index()].columns.clone()
    }
    fn procedure(&self, id: ProcedureId) -> String {
        self.0.procedure(id).name.clone()
    }
    fn sequence(&self, id: SequenceId) -> String {
        format!("{id}")
    }
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn catalog(files: &[&str]) -> Catalog {
    let mut catalog = Catalog::default();
    for file in files {
        let text = std::fs::read_to_string(root(file)).expect(file);
        for statement in parse::statements(&text).expect(file) {
            if ddl::is_ddl(&statement) {
                ddl::apply(&mut catalog, &statement).unwrap_or_else(|e| panic!("{file}: {e:?}"));
            }
        }
    }
    catalog
}

fn golden(name: &str, got: &str) {
    let file = root("tests/paper").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, got).expect("written");
    }
    assert_eq!(got, std::fs::read_to_string(&file).unwrap_or_default(), "{name}");
}

/// Everything the analysis says of a catalog's procedures; blocks are those of the ones named.
fn answer(catalog: &Catalog, together: &[&str]) -> String {
    let names = Named(catalog);
    let programs: Vec<Program> =
        catalog.procedures.iter().map(|p| lower_procedure(catalog, p).expect("lowers")).collect();
    let callee = |id: ProcedureId| programs.get(id.index());
    let mut out = String::new();
    let mut section = |title: String, lines: Vec<String>| {
        let _ = writeln!(out, "{title}");
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
        out.push('\n');
    };
    let (mut locals, mut operations) = (Vec::new(), Vec::new());
    for procedure in &catalog.procedures {
        let general = LocalGraph::of(&programs[procedure.id.index()], &callee);
        let graph = OperationGraph::of(&committed_whole(&programs[procedure.id.index()], &callee), &callee);
        let local = LocalGraph::of_operations(&graph);
        if local.is_read_only() {
            continue;
        }
        let name = &procedure.name;
        section(format!("{name}, as replayed"), text::local(&local, &names));
        let lines = text::local(&general, &names);
        if lines != text::local(&local, &names) {
            section(format!("{name}, any call"), lines);
        }
        if !together.contains(&name.as_str()) {
            continue;
        }
        locals.push((procedure.id, local));
        operations.push((procedure.id, graph));
    }
    section("blocks".into(), text::global(&GlobalGraph::of(&locals, []), &names));
    section("blocks by chopping".into(), text::global(&GlobalGraph::of(&chop(&operations), []), &names));
    out
}

#[test]
fn figure_21() {
    let answer = answer(&catalog(&["tests/paper/tpcc.sql"]), &["neworder", "payment", "delivery"]);
    golden("tpcc.txt", &answer);
}

/// The suites' own procedures: what their drivers call.
#[test]
fn the_suites() {
    let suites: [(&str, &[&str]); 5] = [
        ("tpcc", &["tpcc_new_order", "tpcc_payment", "tpcc_delivery"]),
        (
            "smallbank",
            &[
                "sb_deposit_checking",
                "sb_transact_savings",
                "sb_amalgamate",
                "sb_write_check",
                "sb_send_payment",
            ],
        ),
        ("tpcb", &["tpcb"]),
        ("voter", &["vote"]),
        ("ycsb", &["ycsb_update", "ycsb_insert", "ycsb_delete", "ycsb_read_modify_write", "ycsb_txn"]),
    ];
    for (suite, together) in suites {
        let file = |f: &str| format!("../workload/sql/{suite}/{f}.sql");
        let catalog = catalog(&[&file("schema"), &file("load"), &file("procedures")]);
        golden(&format!("suite_{suite}.txt"), &answer(&catalog, together));
    }
}

/// IR text with the slice of each operation, as replayed, behind it: the paper's procedures.
#[test]
fn slices_in_ir_text() {
    for name in ["transfer", "deposit", "neworder", "payment", "delivery"] {
        let file = format!("tests/paper/{name}.ir");
        let source = std::fs::read_to_string(root(&file)).expect(&file);
        let program = planaria_ir::text::parse(&source).unwrap_or_else(|e| panic!("{file}: {e:?}"));
        let head = source.lines().take_while(|l| l.starts_with(';')).map(|l| format!("{l}\n"));
        golden(&format!("{name}.ir"), &(head.collect::<String>() + &with_slices(&program)));
    }
}

fn with_slices(program: &Program) -> String {
    let graph = LocalGraph::of(&committed(program), &|_| None);
    let mut slices = Vec::new();
    program.body.visit(&mut |op| {
        if op.kind.table().is_some() {
            slices.push(graph.slice_of(op.id));
        }
    });
    let mut slices = slices.into_iter();
    let mut out = String::new();
    for line in program.to_string().lines() {
        let word = line.trim_start().split(' ').next().unwrap_or_default();
        let slice = match word {
            "get" | "scan" | "load" | "insert" | "update" | "delete" => slices.next().flatten(),
            _ => None,
        };
        let _ = match slice {
            Some(slice) => writeln!(out, "{line} ; {slice}"),
            None => writeln!(out, "{line}"),
        };
    }
    out
}
