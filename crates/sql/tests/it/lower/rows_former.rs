//! Row variables: routines of former versions have no flags for them, and deep nesting costs no more than its text. Aggregates
//! without an order of their own: those of former versions get the rows sorted where another one beside them wants that.

use super::suites::define;
use planaria_catalog::Catalog;
use planaria_sql::lower::CatalogEnv;
use planaria_sql::lower::plpgsql::lower_procedure;

const SCHEMA: &str =
    "CREATE TABLE src (id int PRIMARY KEY, n int); CREATE TABLE log (id int PRIMARY KEY, v text);";

/// How many flags of rows the routine has.
fn flags(body: &str, former: bool) -> usize {
    let mut catalog = Catalog::default();
    define(&mut catalog, &format!("{SCHEMA} CREATE PROCEDURE p(k int) LANGUAGE plpgsql AS $$ {body} $$;"));
    let mut procedure = catalog.procedures.iter().find(|p| p.name == "p").expect("p").clone();
    procedure.reads_before = !former;
    let program = lower_procedure(&catalog, &procedure).expect(body);
    planaria_ir::verify(&program, &CatalogEnv(&catalog)).unwrap_or_else(|e| panic!("{program}\n{e}"));
    program.regs.iter().filter(|r| r.name.as_ref().is_some_and(|n| n.starts_with("(row "))).count()
}

#[test]
fn aggregates_without_an_order_walk_apart_since_forms() {
    let walks = |form: u8| {
        let mut catalog = Catalog::default();
        let body = "INSERT INTO log SELECT 1, array_agg(n)::text || array_agg(n ORDER BY n)::text FROM src;";
        define(
            &mut catalog,
            &format!("{SCHEMA} CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN {body} END $$;"),
        );
        let mut procedure = catalog.procedures.iter().find(|p| p.name == "p").expect("p").clone();
        assert_eq!(procedure.form, planaria_catalog::PROGRAM_FORM);
        procedure.form = form;
        let program = lower_procedure(&catalog, &procedure).expect(body);
        program.to_string().matches("array.append").count()
            + 10 * program.to_string().matches("foreach").count()
    };
    let (before, now) = (walks(0), walks(1));
    assert_eq!(now - before, 10, "{before} {now}");
}

#[test]
fn conditions_with_a_query_that_is_asked_once_come_first_since_the_fifth_form() {
    let lowered = |form: u8, first: &str, then: &str| {
        let mut catalog = Catalog::default();
        let function = "CREATE FUNCTION f(a int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN \
            RAISE NOTICE '%', a; RETURN true; END $$;";
        let body = format!("PERFORM 1 FROM src WHERE {first} AND {then};");
        let procedure = format!("CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN {body} END $$;");
        define(&mut catalog, &format!("{SCHEMA} {function} {procedure}"));
        let mut procedure = catalog.procedures.iter().find(|p| p.name == "p").expect("p").clone();
        procedure.form = form;
        lower_procedure(&catalog, &procedure).expect("lowered").to_string()
    };
    let (call, query) = ("f(n)", "n = (SELECT count(*) FROM log WHERE v = 'x')");
    assert_ne!(lowered(4, call, query), lowered(5, call, query));
    assert_eq!(lowered(4, query, call), lowered(5, query, call));
}

#[test]
fn routines_of_former_versions_have_no_flags() {
    let last = "INSERT INTO log VALUES (k, coalesce(q::text, 'N'));";
    for (declared, body) in [
        ("record", "FOR i IN 1..2 LOOP EXIT WHEN i = k; SELECT * INTO q FROM src WHERE id = 1; END LOOP;"),
        (
            "record",
            "FOR i IN 1..2 LOOP CONTINUE WHEN i = k; SELECT * INTO q FROM src WHERE id = 1; END LOOP;",
        ),
        (
            "record",
            "<<b>> BEGIN SELECT * INTO q FROM src WHERE id = 1; IF k = 1 THEN EXIT b; END IF; q := NULL; END;",
        ),
        ("record", "IF k = 1 THEN SELECT * INTO q FROM src WHERE id = 1; END IF;"),
        (
            "record",
            "BEGIN SELECT * INTO q FROM src WHERE id = 1; q := NULL; EXCEPTION WHEN OTHERS THEN NULL; END;",
        ),
        (
            "src",
            "FOR i IN 1..2 LOOP EXIT WHEN i = k; q := ROW(1, 2); IF k = 3 THEN q := NULL; END IF; END LOOP;",
        ),
    ] {
        let text = format!("DECLARE q {declared}; BEGIN {body} {last} END");
        assert_eq!((flags(&text, true), flags(&text, false)), (0, 1), "{text}");
    }
}

#[test]
fn routines_with_records_of_several_structures_where_any_may_be_the_one_go_by_steps() {
    let by_steps = |declared: &str, body: &str| {
        let mut catalog = Catalog::default();
        let text = format!("DECLARE q record; {declared} BEGIN {body} END");
        define(
            &mut catalog,
            &format!("{SCHEMA} CREATE PROCEDURE p(k int) LANGUAGE plpgsql AS $$ {text} $$;"),
        );
        let procedure = catalog.procedures.iter().find(|p| p.name == "p").expect("p");
        let program = lower_procedure(&catalog, procedure).expect(body);
        // Those of earlier forms are refused when they run.
        let mut former = procedure.clone();
        former.form = 1;
        let before = lower_procedure(&catalog, &former).expect(body).to_string();
        let steps = program.to_string().contains(" steps ");
        assert_eq!(before.contains("may have different structures here"), steps, "{body}");
        steps
    };
    let other = "SELECT 'z' AS other INTO q; RAISE NOTICE '%', q;";
    let turns = "FOR r IN SELECT * FROM src LOOP RAISE NOTICE '%', q; q := r; END LOOP;";
    assert!(by_steps("r record;", &format!("{turns} {other}")));
    assert!(!by_steps("r record;", turns));
    let left = "<<b>> BEGIN IF k = 1 THEN SELECT 1 AS n INTO q; EXIT b; END IF; END; RAISE NOTICE '%', q;";
    assert!(by_steps("", &format!("{left} {other}")));
    assert!(!by_steps("", left));
    let line = "RAISE NOTICE '%', q; SELECT 1 AS n INTO q; RAISE NOTICE '%', q;";
    assert!(!by_steps("", &format!("{line} {other}")));
}

#[test]
fn loops_within_loops_are_lowered_once() {
    let (begin, end) = ("FOR i IN 1..2 LOOP ".repeat(20), " END LOOP;".repeat(20));
    let body = "IF k = 1 THEN s := NULL; CONTINUE; END IF; s := ROW(1, 2);";
    let text = format!("DECLARE s src; BEGIN s := ROW(0, 0); {begin} {body} {end} RAISE NOTICE '%', s; END");
    assert_eq!(flags(&text, false), 1);
}
