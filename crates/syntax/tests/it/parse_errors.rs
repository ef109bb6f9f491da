//! Errors: SQLSTATE, message and byte position, as PostgreSQL gives them.

use planaria_base::Error;
use planaria_syntax::parse;

#[track_caller]
fn check(error: Error, text: &str, state: &str, message: &str, position: usize) {
    assert_eq!(error.sqlstate().as_str(), state, "{text}: {error}");
    assert_eq!(error.message(), message, "{text}");
    assert_eq!(error.fields().position.map(|p| p as usize), Some(position), "{text}: {message}");
}

/// The place of the error is marked by `^` in the text, which is taken out.
#[track_caller]
fn statement(marked: &str, state: &str, message: &str) {
    let position = marked.find('^').expect("a mark");
    let text = marked.replacen('^', "", 1);
    match parse::statements(&text) {
        Ok(tree) => panic!("{text}: {tree:?}"),
        Err(error) => check(error, &text, state, message, position),
    }
}

#[track_caller]
fn body(marked: &str, state: &str, message: &str) {
    let position = marked.find('^').expect("a mark");
    let text = marked.replacen('^', "", 1);
    match parse::plpgsql(&text) {
        Ok(tree) => panic!("{text}: {tree:?}"),
        Err(error) => check(error, &text, state, message, position),
    }
}

#[test]
fn syntax_errors() {
    for (text, message) in [
        ("^SELEC 1", "syntax error at or near \"SELEC\""),
        ("SELECT 1 FROM^", "syntax error at end of input"),
        ("SELECT 1 FROM ^;", "syntax error at or near \";\""),
        ("SELECT a, ^FROM t", "syntax error at or near \"FROM\""),
        ("SELECT (1, 2^", "syntax error at end of input"),
        ("SELECT (1 ^; SELECT 2", "syntax error at or near \";\""),
        ("SELECT 1 +^", "syntax error at end of input"),
        ("SELECT 'x' ^'y'", "syntax error at or near \"'y'\""),
        ("SELECT a < b ^< c", "syntax error at or near \"<\""),
        ("SELECT a = b ^= c", "syntax error at or near \"=\""),
        ("SELECT a LIKE b ^LIKE c", "syntax error at or near \"LIKE\""),
        ("SELECT ^'abc", "unterminated quoted string at or near \"'abc\""),
        ("SELECT ^$x$abc$y$", "unterminated dollar-quoted string at or near \"$x$abc$y$\""),
        ("SELECT ^\"abc", "unterminated quoted identifier at or near \"\"abc\""),
        ("SELECT ^\"\"", "zero-length delimited identifier at or near \"\"\"\""),
        ("SELECT 1 ^/* x", "unterminated /* comment at or near \"/* x\""),
        ("SELECT ^1a", "trailing junk after numeric literal at or near \"1a\""),
        ("SELECT ^$1a", "trailing junk after parameter at or near \"$1a\""),
        ("SELECT a ^{", "syntax error at or near \"{\""),
        ("SELECT ^E'\\u12'", "invalid Unicode escape"),
        ("SELECT 1 ^LIMIT 2, 3", "LIMIT #,# syntax is not supported"),
        ("(SELECT 1 ORDER BY 1) ^ORDER BY 2", "multiple ORDER BY clauses not allowed"),
        ("SELECT 1 LIMIT 2 ^LIMIT 3", "multiple LIMIT clauses not allowed"),
        ("SELECT ^DEFAULT", "DEFAULT is not allowed in this context"),
        ("INSERT INTO t VALUES (^DEFAULT) LIMIT 1", "DEFAULT is not allowed in this context"),
        (
            "INSERT INTO t VALUES (1) ^ON CONFLICT DO UPDATE SET a = 1",
            "ON CONFLICT DO UPDATE requires inference specification or constraint name",
        ),
        ("UPDATE t SET ^(a, b) = (1, 2, 3)", "number of columns does not match number of values"),
        ("CREATE TABLE t (a)^", "syntax error at end of input"),
        ("CREATE TABLE t (a ^NOT NULL)", "syntax error at or near \"NOT\""),
        ("CREATE TABLE t (a int^", "syntax error at end of input"),
        ("CREATE TABLE ^select (a int)", "syntax error at or near \"select\""),
        ("CREATE SEQUENCE s START 1 ^START 2", "conflicting or redundant options"),
        ("SELECT 1 AS^", "syntax error at end of input"),
        ("SELECT * FROM (t^)", "syntax error at or near \")\""),
        ("DROP TABLE^", "syntax error at end of input"),
        ("EXPLAIN (^fast) SELECT 1", "unrecognized EXPLAIN option \"fast\""),
    ] {
        statement(text, "42601", message);
    }
}

#[test]
fn other_states() {
    statement("SELECT 'a'::^varchar(0)", "22023", "length for type varchar must be at least 1");
    statement("SELECT 1::^numeric(0)", "22023", "NUMERIC precision 0 must be between 1 and 1000");
    statement("SELECT ^E'\\xff'", "22021", "invalid byte sequence for encoding \"UTF8\": 0xff");
    statement("SELECT ^E'\\0'", "22021", "invalid byte sequence for encoding \"UTF8\": 0x00");
    statement(
        "CREATE SEQUENCE s START ^99999999999999999999",
        "22003",
        "value \"99999999999999999999\" is out of range for type bigint",
    );
    statement("CREATE ^FUNCTION f() RETURNS int LANGUAGE sql", "42P13", "no function body specified");
}

#[test]
fn unsupported_constructs() {
    for (text, what) in [
        ("SELECT ^XMLFOREST(a)", "XMLFOREST()"),
        ("SELECT 1 FROM (a JOIN b ON c) ^AS d", "an alias of a join"),
        (
            "CREATE TABLE t (a int UNIQUE NULLS NOT DISTINCT ^DEFERRABLE)",
            "a deferrable constraint with NULLS NOT DISTINCT",
        ),
        ("CREATE TABLE t (a text COLLATE ^\"de_DE\")", "collation \"de_DE\""),
        ("CREATE TYPE t AS ^RANGE (subtype = int)", "a range type"),
    ] {
        statement(text, "0A000", &format!("{what} is not supported"));
    }
}

#[test]
fn errors_in_bodies() {
    for (text, message) in [
        ("BEGIN x := ^; END", "syntax error at or near \";\""),
        ("BEGIN x := 1 ^y; END", "syntax error at or near \"y\""),
        ("BEGIN IF a THEN b := 1; END ^LOOP; END", "syntax error at or near \"LOOP\""),
        ("BEGIN IF a^; END", "syntax error at or near \";\""),
        ("BEGIN NULL;^", "syntax error at end of input"),
        ("BEGIN NULL ^END", "syntax error at or near \"END\""),
        ("DECLARE a ^:= 1; BEGIN END", "syntax error at or near \":=\""),
        ("BEGIN SELECT 1 INTO a ^INTO b; END", "INTO specified more than once"),
        ("BEGIN DELETE FROM t ^INTO a; END", "INTO used with a command that cannot return data"),
        ("BEGIN RAISE NOTICE ^'% %', 1; END", "too few parameters specified for RAISE"),
        ("BEGIN RAISE NOTICE ^'100%%', 1; END", "too many parameters specified for RAISE"),
        ("BEGIN RAISE division_by_zero USING ^foo = 1; END", "unrecognized RAISE statement option"),
        ("BEGIN GET DIAGNOSTICS a = ^rows; END", "unrecognized GET DIAGNOSTICS item at or near \"rows\""),
        (
            "BEGIN GET STACKED DIAGNOSTICS a = ^row_count; END",
            "diagnostics item ROW_COUNT is not allowed in GET STACKED DIAGNOSTICS",
        ),
        ("<<a>> BEGIN END ^b", "end label \"b\" differs from block's label \"a\""),
        ("BEGIN LOOP EXIT; END LOOP ^l; END", "end label \"l\" specified for unlabeled block"),
        ("BEGIN NULL; EXCEPTION WHEN SQLSTATE ^'abc' THEN NULL; END", "invalid SQLSTATE code"),
        ("BEGIN ^FOR a, b IN 1..2 LOOP END LOOP; END", "integer FOR loop must have only one target variable"),
        ("BEGIN SELECT a FROM^; END", "syntax error at or near \";\""),
        ("BEGIN END; ^BEGIN END", "syntax error at or near \"BEGIN\""),
        ("BEGIN ^FROB; END", "syntax error at or near \"FROB\""),
        (
            "BEGIN PERFORM 1 FROM t GROUP BY ROLLUP (^GROUPING SETS (a)); END",
            "syntax error at or near \"GROUPING\"",
        ),
        ("BEGIN PERFORM 1 FROM t GROUP BY CUBE (a, ^ROLLUP (b)); END", "syntax error at or near \"ROLLUP\""),
        ("BEGIN x := ^'a; END", "unterminated quoted string at or near \"'a; END\""),
    ] {
        body(text, "42601", message);
    }
    body("#variable_conflict ^other BEGIN END", "42601", "syntax error at or near \"other\"");
}

#[test]
fn the_text_has_a_limit() {
    let text = " ".repeat(planaria_base::limits::SQL_TEXT_BYTES_MAX + 1);
    let error = parse::statements(&text).expect_err("too long");
    assert_eq!(error.sqlstate().as_str(), "54000");
}
