//! Schema changes: what they make of a catalog, what they leave to the engine, and PostgreSQL's
//! errors, word for word.

mod alter;
mod create;
mod drop;
mod policy;
mod routine;

use planaria_base::Error;
use planaria_catalog::Catalog;
use planaria_sql::ddl::{self, DdlOutcome, Work};
use planaria_syntax::parse;

/// Runs a script; answers with what its last statement did.
#[track_caller]
fn run(catalog: &mut Catalog, script: &str) -> DdlOutcome {
    let mut last = DdlOutcome::default();
    for statement in parse::statements(script).unwrap_or_else(|e| panic!("{script}: {e:?}")) {
        last = ddl::apply(catalog, &statement).unwrap_or_else(|e| panic!("{script}: {e:?}"));
    }
    last
}

#[track_caller]
pub(crate) fn schema(script: &str) -> Catalog {
    let mut catalog = Catalog::default();
    run(&mut catalog, script);
    catalog
}

/// The error of a statement, which must leave the catalog as it was.
#[track_caller]
fn fails(catalog: &Catalog, statement: &str) -> Error {
    let mut changed = catalog.clone();
    for s in parse::statements(statement).unwrap_or_else(|e| panic!("{statement}: {e:?}")) {
        if let Err(e) = ddl::apply(&mut changed, &s) {
            assert_eq!(changed, *catalog, "{statement}");
            return e;
        }
    }
    panic!("{statement} went through")
}

/// `SQLSTATE message / detail / hint`.
#[track_caller]
fn refused(catalog: &Catalog, statement: &str, expected: &str) {
    let e = fails(catalog, statement);
    let f = e.fields();
    let mut shown = format!("{} {}", f.sqlstate, f.message);
    for part in [&f.detail, &f.hint].into_iter().flatten() {
        shown.push_str(" / ");
        shown.push_str(part);
    }
    assert_eq!(shown, expected, "{statement}");
}

/// The notices of a statement.
#[track_caller]
fn notices(catalog: &mut Catalog, statement: &str) -> Vec<String> {
    let outcome = run(catalog, statement);
    outcome
        .notices
        .iter()
        .map(|n| {
            let f = n.fields.fields();
            f.detail.iter().fold(f.message.clone(), |all, d| format!("{all} / {d}"))
        })
        .collect()
}

/// The work of a statement, in short.
#[track_caller]
fn work(catalog: &mut Catalog, statement: &str) -> Vec<String> {
    run(catalog, statement)
        .work
        .iter()
        .map(|w| match w {
            Work::Rebuild(r) => format!("Rebuild({}, {:?}, {})", r.table, r.columns, r.compute.is_some()),
            Work::Validate(v) => format!("Validate({})", v.error.message()),
            Work::Fill(t, _) => format!("Fill({t})"),
            plain => format!("{plain:?}"),
        })
        .collect()
}

/// A table in short: columns, then indexes, checks and foreign keys by name.
fn shape(catalog: &Catalog, table: &str) -> String {
    let t = catalog.table(table).unwrap_or_else(|| panic!("table {table}"));
    let mut all: Vec<String> = Vec::new();
    for c in &t.columns {
        let null = if c.not_null { " not null" } else { "" };
        let hidden = if c.hidden { " hidden" } else { "" };
        all.push(format!("{} {}{null}{hidden}", c.name, c.ty));
    }
    for i in &t.indexes {
        let columns: Vec<&str> = i.columns.iter().map(|c| t.columns[c.index()].name.as_str()).collect();
        let unique = if i.unique { " unique" } else { "" };
        all.push(format!("{}({}){unique}", i.name, columns.join(",")));
    }
    all.extend(t.checks.iter().map(|c| format!("{} check {}", c.name, c.expression)));
    for k in &t.foreign_keys {
        let parent = catalog.table_by_id(k.parent);
        let own: Vec<&str> = k.columns.iter().map(|c| t.columns[c.index()].name.as_str()).collect();
        let to: Vec<&str> =
            k.parent_columns.iter().map(|c| parent.columns[c.index()].name.as_str()).collect();
        let index = &parent.indexes[k.parent_index.index()].name;
        all.push(format!("{}({}) -> {}({}) by {index}", k.name, own.join(","), parent.name, to.join(",")));
    }
    all.join("; ")
}
