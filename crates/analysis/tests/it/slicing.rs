//! Slice programs of the suites' procedures: all that can be cut are well-formed, and the ones that the
//! drivers call come out as they should. `UPDATE_GOLDEN=1 cargo test -p planaria-analysis --test it slicing`
//! writes the answers anew; read the difference.

use planaria_analysis::committed_whole;
use planaria_analysis::paper::LocalGraph;
use planaria_analysis::paper::slicing::{self, KeyColumns, SliceProgram};
use planaria_base::{ColumnId, IndexId, ProcedureId, TableId, Type};
use planaria_catalog::Catalog;
use planaria_ir::{Program, verify};
use planaria_sql::ddl;
use planaria_sql::lower::CatalogEnv;
use planaria_sql::lower::plpgsql::lower_procedure;
use planaria_syntax::parse;
use std::fmt::Write;
use std::path::Path;

struct Keys<'c>(&'c Catalog);

impl KeyColumns for Keys<'_> {
    fn leading(&self, table: TableId) -> (ColumnId, Type) {
        let table = self.0.table_by_id(table);
        let column = table.indexes[0].columns[0];
        (column, table.columns[column.index()].ty.clone())
    }
    fn index(&self, table: TableId, index: IndexId) -> Vec<ColumnId> {
        self.0.table_by_id(table).indexes[index.index()].columns.clone()
    }
    fn changes(&self, _: TableId) -> bool {
        true
    }
}

fn catalog(suite: &str) -> Catalog {
    let mut catalog = Catalog::default();
    for file in ["schema", "load", "procedures"] {
        let file = format!("../workload/sql/{suite}/{file}.sql");
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).expect(&file);
        for statement in parse::statements(&text).expect(&file) {
            if ddl::is_ddl(&statement) {
                ddl::apply(&mut catalog, &statement).unwrap_or_else(|e| panic!("{file}: {e:?}"));
            }
        }
    }
    catalog
}

fn golden(name: &str, got: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/paper").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, got).expect("written");
    }
    assert_eq!(got, std::fs::read_to_string(&file).unwrap_or_default(), "{name}");
}

#[test]
fn the_suites() {
    for suite in ["tpcc", "smallbank", "tpcb", "voter", "ycsb"] {
        let catalog = catalog(suite);
        let (env, key_columns) = (CatalogEnv(&catalog), Keys(&catalog));
        let programs: Vec<Program> =
            catalog.procedures.iter().map(|p| lower_procedure(&catalog, p).expect("lowers")).collect();
        let callee = |id: ProcedureId| programs.get(id.index());
        let mut out = String::new();
        for program in &programs {
            let flat = committed_whole(program, &callee);
            let graph = LocalGraph::of(&flat, &callee);
            if graph.is_read_only() || graph.barrier.is_some() {
                continue;
            }
            let _ = writeln!(out, "== {}: {} slices", program.name, graph.slices.len());
            let cut = match slicing::cut(&flat, &graph, &key_columns) {
                Ok(cut) => cut,
                Err(why) => {
                    let _ = writeln!(out, "whole: {why}");
                    slicing::cut(&flat, &slicing::whole(&graph), &key_columns).expect("one slice can be cut")
                }
            };
            let mut one = |what: &str, slice: &SliceProgram| {
                verify(&slice.program, &env).unwrap_or_else(|e| panic!("{e:?}\n{}", slice.program));
                let inputs: Vec<String> = slice.inputs.iter().map(|i| format!("{i:?}")).collect();
                let _ = writeln!(out, "{what}: {} -> {:?}", inputs.join(", "), slice.outputs);
                if std::env::var_os("SLICES").is_some() {
                    println!("{}", slice.program);
                }
            };
            cut.prologue.iter().for_each(|p| one("prologue", p));
            for (i, (slice, keys)) in cut.slices.iter().zip(&cut.keys).enumerate() {
                one(&format!("slice {i}"), slice);
                match keys {
                    Some(keys) => one(&format!("keys {i}"), keys),
                    None => println!("keys {i}: unknown"),
                }
            }
        }
        golden(&format!("slices_{suite}.txt"), &out);
    }
}
