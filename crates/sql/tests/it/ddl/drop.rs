//! DROP, its dependencies, and TRUNCATE.

use super::{notices, refused, run, schema, work};

const SCHEMA: &str = "
    CREATE TABLE p (a int PRIMARY KEY, b int);
    CREATE TABLE c (a int REFERENCES p, s serial);
    CREATE VIEW v AS SELECT a FROM p;
    CREATE VIEW w AS SELECT a FROM v;
    CREATE TABLE lone (a int);
    CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2';
    CREATE TABLE f (a int DEFAULT twice(1), CHECK (twice(a) > 0));
    CREATE FUNCTION rows() RETURNS SETOF lone LANGUAGE plpgsql AS 'BEGIN END';
    CREATE SEQUENCE q; CREATE TABLE uses (a int DEFAULT nextval('q'));";

#[test]
fn what_others_depend_on_stays() {
    let c = schema(SCHEMA);
    const HINT: &str = "Use DROP ... CASCADE to drop the dependent objects too.";
    for (statement, message, detail) in [
        (
            "DROP TABLE p",
            "cannot drop table p because other objects depend on it",
            "constraint c_a_fkey on table c depends on table p\nview v depends on table p\nview w depends on view v",
        ),
        ("DROP VIEW v", "cannot drop view v because other objects depend on it", "view w depends on view v"),
        (
            "DROP TABLE p, lone",
            "cannot drop desired object(s) because other objects depend on them",
            "function rows() depends on type lone\nconstraint c_a_fkey on table c depends on table p\n\
             view v depends on table p\nview w depends on view v",
        ),
        (
            "ALTER TABLE p DROP COLUMN a",
            "cannot drop column a of table p because other objects depend on it",
            "constraint c_a_fkey on table c depends on column a of table p\n\
             view v depends on column a of table p\nview w depends on view v",
        ),
        (
            "ALTER TABLE p DROP CONSTRAINT p_pkey",
            "cannot drop constraint p_pkey on table p because other objects depend on it",
            "constraint c_a_fkey on table c depends on index p_pkey",
        ),
        (
            "DROP FUNCTION twice(int)",
            "cannot drop function twice(integer) because other objects depend on it",
            "default value for column a of table f depends on function twice(integer)\n\
             constraint f_a_check on table f depends on function twice(integer)",
        ),
        (
            "DROP SEQUENCE q",
            "cannot drop sequence q because other objects depend on it",
            "default value for column a of table uses depends on sequence q",
        ),
        (
            "DROP SEQUENCE c_s_seq",
            "cannot drop sequence c_s_seq because other objects depend on it",
            "default value for column s of table c depends on sequence c_s_seq",
        ),
    ] {
        refused(&c, statement, &format!("2BP01 {message} / {detail} / {HINT}"));
    }
}

#[test]
fn cascade_takes_them_along() {
    let mut c = schema(SCHEMA);
    assert_eq!(
        notices(&mut c, "DROP TABLE p CASCADE"),
        ["drop cascades to 3 other objects / drop cascades to constraint c_a_fkey on table c\n\
          drop cascades to view v\ndrop cascades to view w"]
    );
    assert!(c.views.is_empty() && c.table("c").unwrap().foreign_keys.is_empty());
    assert_eq!(notices(&mut c, "DROP TABLE lone CASCADE"), ["drop cascades to function rows()"]);
    assert_eq!(c.procedures_named("rows").count(), 0);
    run(&mut c, "DROP FUNCTION twice CASCADE; DROP SEQUENCE q CASCADE");
    assert!(c.table("f").unwrap().checks.is_empty());
}

#[test]
fn tables_that_refer_to_each_other_go_together() {
    let mut c = schema(SCHEMA);
    run(&mut c, "DROP VIEW w, v");
    assert_eq!(
        work(&mut c, "DROP TABLE p, c"),
        ["DropTable(t0)", "DropSequence(s0)", "DropSequence(s1)", "DropTable(t1)"]
    );
    assert!(c.sequence("c_s_seq").is_none());
}

#[test]
fn what_is_not_there() {
    let mut c = schema(
        "CREATE TABLE t (a int PRIMARY KEY, i int GENERATED ALWAYS AS IDENTITY); CREATE VIEW v AS SELECT 1 AS a; CREATE SEQUENCE s; CREATE INDEX i ON t (i)",
    );
    for (statement, expected) in [
        ("DROP TABLE x", "42P01 table \"x\" does not exist"),
        ("DROP VIEW x", "42P01 view \"x\" does not exist"),
        ("DROP SEQUENCE x", "42P01 sequence \"x\" does not exist"),
        ("DROP INDEX x", "42704 index \"x\" does not exist"),
        ("DROP SCHEMA x", "3F000 schema \"x\" does not exist"),
        ("DROP TABLE v", "42809 \"v\" is not a table / Use DROP VIEW to remove a view."),
        ("DROP VIEW t", "42809 \"t\" is not a view / Use DROP TABLE to remove a table."),
        ("DROP INDEX t", "42809 \"t\" is not an index / Use DROP TABLE to remove a table."),
        ("DROP TABLE i", "42809 \"i\" is not a table / Use DROP INDEX to remove an index."),
        (
            "DROP INDEX t_pkey",
            "2BP01 cannot drop index t_pkey because constraint t_pkey on table t requires it / You can drop constraint t_pkey on table t instead.",
        ),
        (
            "DROP SEQUENCE t_i_seq",
            "2BP01 cannot drop sequence t_i_seq because column i of table t requires it / You can drop column i of table t instead.",
        ),
        ("DROP FUNCTION x", "42883 could not find a function named \"x\""),
        ("DROP FUNCTION x(int, text)", "42883 function x(integer, text) does not exist"),
        ("DROP PROCEDURE x(int)", "42883 procedure x(integer) does not exist"),
    ] {
        refused(&c, statement, expected);
    }
    assert_eq!(
        notices(&mut c, "DROP TABLE IF EXISTS x, other.y"),
        ["table \"x\" does not exist, skipping", "schema \"other\" does not exist, skipping"]
    );
    assert_eq!(
        notices(&mut c, "DROP FUNCTION IF EXISTS x(int)"),
        ["function x(integer) does not exist, skipping"]
    );
    assert_eq!(work(&mut c, "DROP INDEX i"), ["DropIndex(t0, IndexId(1))"]);
}

#[test]
fn dropping_an_index_moves_the_later_ones() {
    let mut c = schema(
        "CREATE TABLE p (a int PRIMARY KEY, b int, k int UNIQUE); CREATE INDEX i ON p (b);
         ALTER TABLE p ADD CONSTRAINT late UNIQUE (b); CREATE TABLE c (x int REFERENCES p (b));",
    );
    run(&mut c, "DROP INDEX i; ALTER TABLE p DROP CONSTRAINT p_k_key");
    let key = &c.table("c").unwrap().foreign_keys[0];
    assert_eq!(c.table("p").unwrap().indexes[key.parent_index.index()].name, "late");
}

#[test]
fn truncate() {
    let mut c = schema(SCHEMA);
    refused(
        &c,
        "TRUNCATE p",
        "0A000 cannot truncate a table referenced in a foreign key constraint / Table \"c\" references \"p\". / \
         Truncate table \"c\" at the same time, or use TRUNCATE ... CASCADE.",
    );
    assert_eq!(
        work(&mut c, "TRUNCATE p, c RESTART IDENTITY"),
        ["Truncate(t0)", "Truncate(t1)", "RestartSequence(s0, 1)"]
    );
    assert_eq!(notices(&mut c, "TRUNCATE p CASCADE"), ["truncate cascades to table \"c\""]);
    assert_eq!(c.table("p").unwrap().generation, 2);
    refused(&c, "TRUNCATE v", "42809 \"v\" is not a table");
}
