//! Text in, verified IR out.

mod known;
mod rows_former;
mod suites;

use crate::ddl::schema as catalog;
use planaria_base::{Error, SqlState, Type};
use planaria_catalog::Catalog;
use planaria_sql::lower::{CatalogEnv, ParamTypes, lower_statement};
use planaria_syntax::ast;

const SCHEMA: &str = "
CREATE TABLE t (a integer PRIMARY KEY, b integer, c text NOT NULL, n numeric(12,2), d date);
CREATE INDEX t_b ON t (b, c);
CREATE TABLE u (x bigint NOT NULL, y integer NOT NULL, z varchar(10), PRIMARY KEY (x, y));
CREATE TABLE h (k integer, v integer);
CREATE TABLE child (id integer PRIMARY KEY, t_a integer REFERENCES t (a), note text CHECK (length(note) < 5));
CREATE VIEW v AS SELECT a, b + 1 AS b1, c FROM t WHERE b > 0;
CREATE VIEW g AS SELECT b, count(*) AS n FROM t GROUP BY b;
";

fn schema() -> Catalog {
    catalog(SCHEMA)
}

fn statement(text: &str) -> ast::Statement {
    planaria_syntax::parse::statements(text).expect(text).remove(0)
}

/// The text form of a statement's program, verified.
fn lowered(catalog: &Catalog, text: &str) -> String {
    let program = lower_statement(catalog, &statement(text), &ParamTypes::default()).expect(text);
    let shown = program.to_string();
    planaria_ir::verify(&program, &CatalogEnv(catalog)).unwrap_or_else(|e| panic!("{text}\n{shown}\n{e}"));
    shown
}

fn fails(catalog: &Catalog, text: &str) -> Error {
    match lower_statement(catalog, &statement(text), &ParamTypes::default()) {
        Ok(program) => panic!("{text} was lowered:\n{program}"),
        Err(e) => e,
    }
}

/// Queries of every shape lower to programs that verify.
#[test]
fn shapes_verify() {
    let c = schema();
    for text in include_str!("shapes.sql").split(";\n").map(str::trim).filter(|t| !t.is_empty()) {
        lowered(&c, text);
    }
}

#[test]
fn a_unique_key_is_a_get() {
    let text = lowered(&schema(), "SELECT c FROM t WHERE a = $1");
    assert!(text.contains("get") && !text.contains("scan"), "{text}");
}

#[test]
fn errors_are_postgres() {
    let c = schema();
    let cases: &[(&str, SqlState, &str)] = &[
        ("SELECT q FROM t", SqlState::UNDEFINED_COLUMN, "column \"q\" does not exist"),
        ("SELECT t.q FROM t", SqlState::UNDEFINED_COLUMN, "column t.q does not exist"),
        ("SELECT w.q FROM t", SqlState::UNDEFINED_TABLE, "missing FROM-clause entry for table \"w\""),
        ("SELECT 1 FROM nope", SqlState::UNDEFINED_TABLE, "relation \"nope\" does not exist"),
        ("SELECT a FROM t, t AS s", SqlState::AMBIGUOUS_COLUMN, "column reference \"a\" is ambiguous"),
        (
            "SELECT b, count(*) FROM t",
            SqlState::GROUPING_ERROR,
            "column \"t.b\" must appear in the GROUP BY clause or be used in an aggregate function",
        ),
        ("SELECT a + c FROM t", SqlState::UNDEFINED_FUNCTION, "operator does not exist: integer + text"),
        ("SELECT f(a) FROM t", SqlState::UNDEFINED_FUNCTION, "function f(integer) does not exist"),
        (
            "SELECT 1 WHERE count(*) = 1",
            SqlState::GROUPING_ERROR,
            "aggregate functions are not allowed in WHERE",
        ),
        (
            "INSERT INTO t (a, q) VALUES (1, 2)",
            SqlState::UNDEFINED_COLUMN,
            "column \"q\" of relation \"t\" does not exist",
        ),
        (
            "INSERT INTO t (a) VALUES (1, 2)",
            SqlState::SYNTAX_ERROR,
            "INSERT has more expressions than target columns",
        ),
        (
            "INSERT INTO t (a, c) VALUES (true, 'x')",
            SqlState::DATATYPE_MISMATCH,
            "column \"a\" is of type integer but expression is of type boolean",
        ),
        (
            "SELECT a FROM t UNION SELECT c FROM t",
            SqlState::DATATYPE_MISMATCH,
            "UNION types integer and text cannot be matched",
        ),
        (
            "SELECT 'x'::integer",
            SqlState::INVALID_TEXT_REPRESENTATION,
            "invalid input syntax for type integer: \"x\"",
        ),
        (
            "SELECT DISTINCT a FROM t ORDER BY b",
            SqlState::INVALID_COLUMN_REFERENCE,
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        ),
        (
            "SELECT a FROM t ORDER BY 2",
            SqlState::INVALID_COLUMN_REFERENCE,
            "ORDER BY position 2 is not in select list",
        ),
        (
            "INSERT INTO t (a, c) VALUES (1, 'x') ON CONFLICT (b) DO NOTHING",
            SqlState::INVALID_COLUMN_REFERENCE,
            "there is no unique or exclusion constraint matching the ON CONFLICT specification",
        ),
    ];
    for (text, state, message) in cases {
        let error = fails(&c, text);
        assert_eq!(error.sqlstate(), *state, "{text}: {error}");
        if !message.is_empty() {
            assert_eq!(error.message(), *message, "{text}");
        }
    }
}

#[test]
fn a_parameter_takes_its_type_from_its_context() {
    let c = schema();
    let program =
        lower_statement(&c, &statement("SELECT a FROM t WHERE n > $1 AND c = $2"), &ParamTypes::default())
            .expect("lowers");
    let types: Vec<Type> = program.params.iter().map(|p| p.ty.clone()).collect();
    assert_eq!(types, [Type::Numeric(None), Type::Text]);
}
