//! CREATE and DROP of routines.

use super::{refused, run, schema};
use planaria_base::{ProcedureId, Type};
use planaria_catalog::{Catalog, Returns};

#[test]
fn versions_have_ids_of_their_own() {
    let mut c = Catalog::default();
    let make = |body: &str| {
        format!(
            "CREATE OR REPLACE PROCEDURE p(a int, INOUT b text DEFAULT NULL) LANGUAGE plpgsql AS '{body}'"
        )
    };
    assert_eq!(run(&mut c, &make("BEGIN END")).routine, Some(ProcedureId(0)));
    assert_eq!(run(&mut c, &make("BEGIN b := a; END")).routine, Some(ProcedureId(1)));
    assert!(!c.procedures[0].current && c.procedures[1].current);
    // Another signature is another routine.
    run(&mut c, "CREATE PROCEDURE p(a text) LANGUAGE plpgsql AS 'BEGIN END'");
    assert_eq!(c.procedures_named("p").count(), 2);
    refused(
        &c,
        "DROP PROCEDURE p",
        "42725 procedure name \"p\" is not unique / \
         Specify the argument list to select the procedure unambiguously.",
    );
    run(&mut c, "DROP PROCEDURE p(int, text); DROP PROCEDURE p");
    assert_eq!(c.procedures_named("p").count(), 0);
}

#[test]
fn what_a_routine_returns() {
    let c = schema(
        "CREATE TABLE t (a int, b text);
         CREATE FUNCTION f1() RETURNS numeric(10,2) LANGUAGE sql AS 'SELECT 1.5';
         CREATE FUNCTION f2() RETURNS SETOF t LANGUAGE sql AS 'SELECT * FROM t';
         CREATE FUNCTION f3(OUT a int, OUT b text) LANGUAGE plpgsql AS 'BEGIN END';
         CREATE FUNCTION f4(OUT a int) LANGUAGE plpgsql AS 'BEGIN END';
         CREATE FUNCTION f5() RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS 'BEGIN END';
         CREATE FUNCTION f6() RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
         CREATE FUNCTION f7(INOUT a int, OUT b int) RETURNS SETOF record LANGUAGE plpgsql AS 'BEGIN END';
         CREATE FUNCTION f8() RETURNS t LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';",
    );
    let returns = |name: &str| c.procedures_named(name).next().unwrap().returns.clone();
    let t = c.table("t").unwrap().id;
    assert_eq!(returns("f1"), Returns::Scalar(Type::Numeric(None)));
    assert_eq!(returns("f2"), Returns::SetOfTable(t));
    assert_eq!(returns("f3"), Returns::OutRow);
    assert_eq!(returns("f4"), Returns::Scalar(Type::Int4));
    assert_eq!(returns("f5"), Returns::Table);
    assert_eq!(returns("f6"), Returns::Scalar(Type::Void));
    assert_eq!(returns("f7"), Returns::SetOfOutRow);
    assert_eq!(returns("f8"), Returns::RowOf(t));
}

#[test]
fn errors_of_create_routine() {
    let c = schema(
        "CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT a';
         CREATE FUNCTION d(a int, b int DEFAULT 1) RETURNS int LANGUAGE sql AS 'SELECT a';",
    );
    let body = "LANGUAGE plpgsql AS 'BEGIN END'";
    for (statement, expected) in [
        (
            "CREATE FUNCTION f(x int) RETURNS int",
            "42723 function \"f\" already exists with same argument types",
        ),
        (
            "CREATE OR REPLACE FUNCTION f(x int) RETURNS int",
            "42P13 cannot change name of input parameter \"a\" / Use DROP FUNCTION f(integer) first.",
        ),
        (
            "CREATE OR REPLACE FUNCTION f(a int) RETURNS text",
            "42P13 cannot change return type of existing function / Use DROP FUNCTION f(integer) first.",
        ),
        ("CREATE OR REPLACE PROCEDURE f(a int)", "42809 cannot change routine kind / \"f\" is a function."),
        (
            "CREATE OR REPLACE FUNCTION d(a int, b int) RETURNS int",
            "42P13 cannot remove parameter defaults from existing function / Use DROP FUNCTION d(integer,integer) first.",
        ),
        ("CREATE FUNCTION g()", "42P13 function result type must be specified"),
        (
            "CREATE FUNCTION g(OUT a int) RETURNS text",
            "42P13 function result type must be integer because of OUT parameters",
        ),
        (
            "CREATE FUNCTION g(OUT a int, OUT b int) RETURNS text",
            "42P13 function result type must be record because of OUT parameters",
        ),
        ("CREATE PROCEDURE g(a int, a text)", "42P13 parameter name \"a\" used more than once"),
        (
            "CREATE PROCEDURE g(a int DEFAULT 1, b int)",
            "42P13 input parameters after one with a default value must also have defaults",
        ),
        ("CREATE PROCEDURE g(a nosuch)", "42704 type nosuch does not exist"),
        ("CREATE FUNCTION g() RETURNS nosuch", "42704 type \"nosuch\" does not exist"),
    ] {
        refused(&c, &format!("{statement} {body}"), expected);
    }
    refused(&c, "CREATE PROCEDURE g() AS 'BEGIN END'", "42P13 no language specified");
    refused(
        &c,
        "CREATE PROCEDURE g() LANGUAGE nosuch AS 'BEGIN END'",
        "42704 language \"nosuch\" does not exist / Write the body in plpgsql or sql.",
    );
}
