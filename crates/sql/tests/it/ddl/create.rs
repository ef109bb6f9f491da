//! CREATE TABLE, INDEX, VIEW, SEQUENCE, SCHEMA, TABLE AS.

use super::{fails, notices, refused, run, schema, shape, work};
use planaria_catalog::{Catalog, ColumnDefault};
use planaria_sql::ddl;
use planaria_syntax::parse;

#[test]
fn constraints_get_postgres_names() {
    let c = schema(
        "CREATE TABLE p (a int, b int, PRIMARY KEY (a, b), UNIQUE (b));
         CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x int UNIQUE CHECK (x > 0),
                         y int CHECK (y > x), z int REFERENCES p (b), CHECK (z > 0), CHECK (x + y > z),
                         CONSTRAINT mine CHECK (z <> 7), FOREIGN KEY (x, y) REFERENCES p,
                         UNIQUE (y, z), CHECK (x < 100));",
    );
    assert_eq!(
        shape(&c, "t"),
        "id bigint not null; x integer; y integer; z integer; \
         t_pkey(id) unique; t_x_key(x) unique; t_y_z_key(y,z) unique; \
         t_x_check check x > 0; t_check check y > x; t_z_check check z > 0; t_check1 check x + y > z; \
         mine check z <> 7; t_x_check1 check x < 100; \
         t_z_fkey(z) -> p(b) by p_b_key; t_x_y_fkey(x,y) -> p(a,b) by p_pkey"
    );
    assert!(c.sequence("t_id_seq").is_some());
}

#[test]
fn a_table_without_primary_key_has_a_hidden_row_id() {
    let mut c = Catalog::default();
    assert_eq!(
        work(&mut c, "CREATE TABLE h (a int, b serial)"),
        ["CreateSequence(s0)", "CreateSequence(s1)", "CreateTable(t0)"]
    );
    assert_eq!(
        shape(&c, "h"),
        "a integer; b integer not null; row id bigint not null hidden; h row id key(row id) unique"
    );
    let table = c.table("h").unwrap();
    assert!(table.column("row id").is_none() && !table.has_primary_key);
    assert!(matches!(table.columns[1].default, ColumnDefault::Sequence(_)));
    assert_eq!(c.sequence("h_b_seq").unwrap().max, i32::MAX.into());
    // A second table in one schema does not meet the first one's names.
    run(&mut c, "CREATE TABLE h2 (a int); DROP TABLE h; CREATE TABLE h (a int)");
}

#[test]
fn errors_of_create_table() {
    let c = schema(
        "CREATE TABLE p (a int PRIMARY KEY, b int, t text UNIQUE); CREATE TABLE n (a int); CREATE VIEW v AS SELECT 1 AS one",
    );
    for (statement, expected) in [
        ("CREATE TABLE p (a int)", "42P07 relation \"p\" already exists"),
        ("CREATE TABLE v (a int)", "42P07 relation \"v\" already exists"),
        ("CREATE TABLE t (a int, a int)", "42701 column \"a\" specified more than once"),
        ("CREATE TABLE t (a nosuch)", "42704 type \"nosuch\" does not exist"),
        (
            "CREATE TABLE t (a int PRIMARY KEY, b int PRIMARY KEY)",
            "42P16 multiple primary keys for table \"t\" are not allowed",
        ),
        (
            "CREATE TABLE t (a int PRIMARY KEY, PRIMARY KEY (a))",
            "42P16 multiple primary keys for table \"t\" are not allowed",
        ),
        (
            "CREATE TABLE t (a int NULL NOT NULL)",
            "42601 conflicting NULL/NOT NULL declarations for column \"a\" of table \"t\"",
        ),
        (
            "CREATE TABLE t (a int DEFAULT 1 DEFAULT 2)",
            "42601 multiple default values specified for column \"a\" of table \"t\"",
        ),
        (
            "CREATE TABLE t (a serial DEFAULT 2)",
            "42601 multiple default values specified for column \"a\" of table \"t\"",
        ),
        (
            "CREATE TABLE t (a int DEFAULT 1 GENERATED ALWAYS AS IDENTITY)",
            "42601 both default and identity specified for column \"a\" of table \"t\"",
        ),
        (
            "CREATE TABLE t (a text GENERATED ALWAYS AS IDENTITY)",
            "22023 identity column type must be smallint, integer, or bigint",
        ),
        (
            "CREATE TABLE t (a int DEFAULT b, b int)",
            "0A000 cannot use column reference in DEFAULT expression",
        ),
        ("CREATE TABLE t (a int DEFAULT (SELECT 1))", "0A000 cannot use subquery in DEFAULT expression"),
        (
            "CREATE TABLE t (a int DEFAULT true)",
            "42804 column \"a\" is of type integer but default expression is of type boolean / You will need to rewrite or cast the expression.",
        ),
        ("CREATE TABLE t (a int, PRIMARY KEY (b))", "42703 column \"b\" named in key does not exist"),
        ("CREATE TABLE t (a int, UNIQUE (a, a))", "42701 column \"a\" appears twice in unique constraint"),
        (
            "CREATE TABLE t (a int CHECK (a))",
            "42804 argument of CHECK must be type boolean, not type integer",
        ),
        ("CREATE TABLE t (a int CHECK (b > 1))", "42703 column \"b\" does not exist"),
        ("CREATE TABLE t (a int CHECK (a > (SELECT 1)))", "0A000 cannot use subquery in check constraint"),
        (
            "CREATE TABLE t (a int CHECK (count(*) > 1))",
            "42803 aggregate functions are not allowed in check constraints",
        ),
        ("CREATE TABLE t (a int REFERENCES nosuch)", "42P01 relation \"nosuch\" does not exist"),
        ("CREATE TABLE t (a int REFERENCES n)", "42704 there is no primary key for referenced table \"n\""),
        (
            "CREATE TABLE t (a int REFERENCES p (b))",
            "42830 there is no unique constraint matching given keys for referenced table \"p\"",
        ),
        (
            "CREATE TABLE t (a int REFERENCES p (c))",
            "42703 column \"c\" referenced in foreign key constraint does not exist",
        ),
        (
            "CREATE TABLE t (a int, b int, FOREIGN KEY (a, b) REFERENCES p (a))",
            "42830 number of referencing and referenced columns for foreign key disagree",
        ),
        (
            "CREATE TABLE t (a int REFERENCES p (t))",
            "42804 foreign key constraint \"t_a_fkey\" cannot be implemented / Key columns \"a\" and \"t\" are of incompatible types: integer and text.",
        ),
        ("CREATE TABLE t (a int REFERENCES v)", "42809 referenced relation \"v\" is not a table"),
        (
            "CREATE TABLE t (a int, CONSTRAINT c CHECK (a > 1), CONSTRAINT c CHECK (a > 2))",
            "42710 check constraint \"c\" already exists",
        ),
        ("CREATE TABLE nosuch.t (a int)", "3F000 schema \"nosuch\" does not exist"),
        (
            "CREATE TABLE pg_catalog.t (a int)",
            "42501 permission denied to create \"pg_catalog.t\" / System catalog modifications are currently disallowed.",
        ),
    ] {
        refused(&c, statement, expected);
    }
    let crosses = "0A000 cross-database references are not implemented: \"a.b.c\"";
    refused(&c, "CREATE TABLE a.b.c (a int)", crosses);
}

#[test]
fn positions_point_at_the_fault() {
    let statement = "CREATE TABLE t (a int, b nosuch)";
    let e = fails(&Catalog::default(), statement);
    assert_eq!(e.fields().position, Some(statement.find("nosuch").unwrap() as u32));
}

#[test]
fn if_not_exists_says_so() {
    let mut c = schema("CREATE TABLE t (a int); CREATE INDEX i ON t (a); CREATE SEQUENCE s");
    assert_eq!(
        notices(&mut c, "CREATE TABLE IF NOT EXISTS t (b int)"),
        ["relation \"t\" already exists, skipping"]
    );
    assert_eq!(
        notices(&mut c, "CREATE INDEX IF NOT EXISTS i ON t (a)"),
        ["relation \"i\" already exists, skipping"]
    );
    assert_eq!(
        notices(&mut c, "CREATE SEQUENCE IF NOT EXISTS s"),
        ["relation \"s\" already exists, skipping"]
    );
    assert_eq!(
        notices(&mut c, "CREATE SCHEMA IF NOT EXISTS public"),
        ["schema \"public\" already exists, skipping"]
    );
}

#[test]
fn a_table_may_refer_to_itself() {
    let c = schema("CREATE TABLE n (id int PRIMARY KEY, up int REFERENCES n ON DELETE CASCADE)");
    assert_eq!(
        shape(&c, "n"),
        "id integer not null; up integer; n_pkey(id) unique; n_up_fkey(up) -> n(id) by n_pkey"
    );
}

#[test]
fn a_unique_constraint_like_the_key_is_the_key() {
    let c = schema("CREATE TABLE t (a int PRIMARY KEY UNIQUE, UNIQUE (a), CONSTRAINT other UNIQUE (a))");
    assert_eq!(shape(&c, "t"), "a integer not null; other(a) unique");
}

#[test]
fn names_are_cut_to_63_bytes() {
    let long = "a".repeat(60);
    let c = schema(
        &format!("CREATE TABLE {long} (b int UNIQUE, c text REFERENCES p); ")
            .replace("text REFERENCES p", "text"),
    );
    let index = &c.table(&long).unwrap().indexes[1].name;
    assert_eq!(*index, format!("{}_b_key", "a".repeat(57)));
    assert_eq!(index.len(), 63);
}

#[test]
fn indexes() {
    let mut c = schema("CREATE TABLE t (a int PRIMARY KEY, b text, c int)");
    assert_eq!(work(&mut c, "CREATE INDEX ON t (b, c DESC)"), ["CreateIndex(t0, IndexId(1))"]);
    assert_eq!(work(&mut c, "CREATE UNIQUE INDEX u ON t (c)"), ["CreateIndex(t0, IndexId(2))"]);
    run(&mut c, "CREATE INDEX ON t (b, c)");
    assert_eq!(
        shape(&c, "t"),
        "a integer not null; b text; c integer; t_pkey(a) unique; t_b_c_idx(b,c); u(c) unique; t_b_c_idx1(b,c)"
    );
    refused(&c, "CREATE INDEX i ON t (nosuch)", "42703 column \"nosuch\" does not exist");
    refused(&c, "CREATE INDEX u ON t (a)", "42P07 relation \"u\" already exists");
    refused(&c, "CREATE INDEX i ON nosuch (a)", "42P01 relation \"nosuch\" does not exist");
}

#[test]
fn sequences() {
    let mut c = Catalog::default();
    run(
        &mut c,
        "CREATE SEQUENCE s; CREATE SEQUENCE down INCREMENT -1; CREATE SEQUENCE sm AS smallint START 5 CYCLE",
    );
    let s = c.sequence("s").unwrap();
    assert_eq!((s.start, s.min, s.max, s.increment), (1, 1, i64::MAX, 1));
    let s = c.sequence("down").unwrap();
    assert_eq!((s.start, s.min, s.max, s.increment), (-1, i64::MIN, -1, -1));
    let s = c.sequence("sm").unwrap();
    assert_eq!((s.start, s.max, s.cycle), (5, 32767, true));
    assert_eq!(work(&mut c, "ALTER SEQUENCE s RESTART WITH 10"), ["RestartSequence(s0, 10)"]);
    assert_eq!(work(&mut c, "ALTER SEQUENCE sm RESTART"), ["RestartSequence(s2, 5)"]);
    for (statement, expected) in [
        ("CREATE SEQUENCE x INCREMENT 0", "22023 INCREMENT must not be zero"),
        ("CREATE SEQUENCE x MINVALUE 10 MAXVALUE 5", "22023 MINVALUE (10) must be less than MAXVALUE (5)"),
        ("CREATE SEQUENCE x START 0", "22023 START value (0) cannot be less than MINVALUE (1)"),
        ("CREATE SEQUENCE x MAXVALUE 5 START 6", "22023 START value (6) cannot be greater than MAXVALUE (5)"),
        (
            "CREATE SEQUENCE x AS smallint MAXVALUE 40000",
            "22023 MAXVALUE (40000) is out of range for sequence data type smallint",
        ),
        ("ALTER SEQUENCE s RESTART WITH 0", "22023 RESTART value (0) cannot be less than MINVALUE (1)"),
        ("ALTER SEQUENCE nosuch RESTART", "42P01 relation \"nosuch\" does not exist"),
    ] {
        refused(&c, statement, expected);
    }
}

#[test]
fn views_are_described() {
    let mut c = schema("CREATE TABLE t (a int, b text)");
    run(&mut c, "CREATE VIEW v (x) AS SELECT a, b FROM t; CREATE VIEW w AS SELECT * FROM v");
    assert_eq!(c.views["v"].columns, ["x", "b"]);
    assert_eq!(c.views["w"].columns, ["x", "b"]);
    run(&mut c, "CREATE OR REPLACE VIEW v AS SELECT a AS x, b, 1 AS more FROM t");
    for (statement, expected) in [
        ("CREATE VIEW v AS SELECT 1 AS one", "42P07 relation \"v\" already exists"),
        ("CREATE VIEW z AS SELECT nosuch FROM t", "42703 column \"nosuch\" does not exist"),
        ("CREATE VIEW z AS SELECT 1 FROM nosuch", "42P01 relation \"nosuch\" does not exist"),
        ("CREATE VIEW z AS SELECT a, a FROM t", "42701 column \"a\" specified more than once"),
        (
            "CREATE VIEW z (a, b, c) AS SELECT a, b FROM t",
            "42601 CREATE VIEW specifies more column names than columns",
        ),
        ("CREATE OR REPLACE VIEW v AS SELECT a AS x FROM t", "42P16 cannot drop columns from view"),
        ("CREATE OR REPLACE VIEW t AS SELECT 1 AS a", "42809 \"t\" is not a view"),
        ("CREATE VIEW z AS SELECT $1", "42P02 there is no parameter $1"),
    ] {
        refused(&c, statement, expected);
    }
    refused(
        &c,
        "CREATE OR REPLACE VIEW v AS SELECT a AS y, b, 1 AS more FROM t",
        "42P16 cannot change name of view column \"x\" to \"y\" / \
         Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.",
    );
    refused(
        &c,
        "CREATE OR REPLACE VIEW v AS SELECT a::text AS x, b, 1 AS more FROM t",
        "42P16 cannot change data type of view column \"x\" from integer to text",
    );
}

#[test]
fn create_table_as() {
    let mut c = schema("CREATE TABLE t (a int PRIMARY KEY, b varchar(5))");
    assert_eq!(
        work(&mut c, "CREATE TABLE u (x) AS SELECT a, b, 'lit' AS l FROM t"),
        ["CreateSequence(s0)", "CreateTable(t1)", "Fill(t1)"]
    );
    assert_eq!(
        shape(&c, "u"),
        "x integer; b character varying(5); l text; row id bigint not null hidden; u row id key(row id) unique"
    );
    assert_eq!(run(&mut c, "CREATE TABLE e AS SELECT 1 AS a WITH NO DATA").tag, "CREATE TABLE AS");
    refused(&c, "CREATE TABLE z (a, b) AS SELECT 1", "42601 too many column names were specified");
}

#[test]
fn indexes_that_are_not_made_are_remembered() {
    let mut c = schema("CREATE TABLE t (a int, b text[], c text, d jsonb)");
    let notice = |name: &str, method: &str, operators: &str| {
        format!(
            "index \"{name}\" of method {method} is remembered, but not made: conditions with {operators} read the rows"
        )
    };
    assert_eq!(notices(&mut c, "CREATE INDEX ON t USING gin (b)"), [notice("t_b_idx", "gin", "@> and &&")]);
    assert_eq!(notices(&mut c, "CREATE INDEX ON t USING gin (d)"), [notice("t_d_idx", "gin", "@> and ?")]);
    let trigrams = "CREATE INDEX ON t USING gin (c gin_trgm_ops)";
    assert_eq!(notices(&mut c, trigrams), [notice("t_c_idx", "gin", "LIKE, ~ and %")]);
    assert_eq!(
        notices(&mut c, "CREATE INDEX ON t USING hash (d)"),
        [notice("t_d_idx1", "hash", "its operators")]
    );
    assert!(work(&mut c, "CREATE INDEX i ON t USING gin (d jsonb_path_ops)").is_empty());
    assert!(work(&mut c, "DROP INDEX i, t_b_idx").is_empty());
    refused(&c, "CREATE TABLE t_c_idx (a int)", "42P07 relation \"t_c_idx\" already exists");
    let hint = "You must specify an operator class for the index or define a default operator class for the data type.";
    refused(
        &c,
        "CREATE INDEX ON t USING spgist (a)",
        &format!(
            "42704 data type integer has no default operator class for access method \"spgist\" / {hint}"
        ),
    );
}

#[test]
fn methods_of_other_indexes_are_taken_as_ordered() {
    let mut c = schema("CREATE TABLE t (a int, b timestamptz)");
    assert_eq!(
        notices(&mut c, "CREATE INDEX i ON t USING hash (a)"),
        ["index \"i\" of method hash was made as an ordered one (btree)"]
    );
    assert_eq!(
        notices(&mut c, "CREATE INDEX ON t USING brin (b, a) WITH (pages_per_range = 32)"),
        ["index \"t_b_a_idx\" of method brin was made as an ordered one (btree)"]
    );
    refused(
        &c,
        "CREATE UNIQUE INDEX ON t USING hash (a)",
        "0A000 access method \"hash\" does not support unique indexes",
    );
    refused(
        &c,
        "CREATE INDEX ON t USING hash (a, b)",
        "0A000 access method \"hash\" does not support multicolumn indexes",
    );
    refused(
        &c,
        "CREATE INDEX ON t USING brin (a) INCLUDE (b)",
        "0A000 access method \"brin\" does not support included columns",
    );
    refused(&c, "CREATE INDEX ON t USING nosuch (a)", "42704 access method \"nosuch\" does not exist");
}

/// Logs have calls that fire triggers of former versions, and drop indexes by the names that these gave them.
#[test]
fn changes_of_former_logs_make_what_they_made() {
    let script = "CREATE TABLE t (a int);
        CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
        CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f();
        CREATE INDEX ON t (a, a, (CASE WHEN a > 1 THEN a END))";
    for former in [false, true] {
        let mut catalog = Catalog::default();
        let actor = ddl::Actor {
            rows_of_nulls: former,
            former_labels: former,
            routes_late: former,
            ..ddl::Actor::default()
        };
        for statement in parse::statements(script).expect("parses") {
            ddl::apply_as(&mut catalog, &statement, actor).expect("applies");
        }
        let table = catalog.tables.iter().flatten().find(|t| t.name == "t").expect("there");
        assert_eq!(table.triggers[0].knows_absent_rows, !former);
        assert_eq!(table.triggers[0].routes_first, !former);
        let name = if former { "t_a_a_expr_idx" } else { "t_a_a1_case_idx" };
        assert!(table.all_indexes().any(|i| i.name == name), "{name}");
    }
}

/// Logs drop keys that were made twice.
#[test]
fn a_key_that_is_said_twice_is_one_but_in_logs_of_before() {
    let script = "CREATE TABLE t (a int UNIQUE, b int, CONSTRAINT k UNIQUE (a), UNIQUE (b), UNIQUE (b))";
    for (form, names) in [(0, &["t_a_key", "k", "t_b_key"][..]), (1, &["k", "t_b_key"])] {
        let mut catalog = Catalog::default();
        let actor = ddl::Actor { form, ..ddl::Actor::default() };
        for statement in parse::statements(script).expect("parses") {
            ddl::apply_as(&mut catalog, &statement, actor).expect("applies");
        }
        let table = catalog.tables.iter().flatten().find(|t| t.name == "t").expect("there");
        let keys: Vec<&str> = table.all_indexes().filter(|i| i.constraint).map(|i| i.name.as_str()).collect();
        assert_eq!(keys, names);
    }
}
