//! Reading and writing values as text takes work in proportion to their length, in every type, as a literal, as a
//! parameter, cast and printed: counted, not timed ([`planaria_base::watch::worked`]). COPY is counted beside its
//! code, in the room `server`.

use planaria::Database;
use planaria_base::watch::worked;

/// Bytes of the short ones and of the long ones.
const SMALL: usize = 1 << 13;
const LARGE: usize = 1 << 16;

/// Long texts of a type, by a size in bytes. Those that no type takes are read as far as their mistake.
fn shapes(n: usize) -> Vec<(&'static str, String)> {
    let x = |s: &str| s.repeat(n / s.len());
    vec![
        ("text", x("x")),
        ("varchar", x("ä")),
        ("varchar(10)", x("ab ")),
        ("varchar(100000)", x("ab ")),
        ("char(10)", x("x")),
        ("char(10)", format!("x{}", x(" "))),
        ("char(100000)", x(" ä")),
        ("name", x("n")),
        ("refcursor", x("c")),
        ("\"char\"", x("n")),
        ("bytea", format!("\\x{}", x("0f"))),
        ("bytea", format!("\\x{}", x("0f a0 "))),
        ("bytea", format!("\\x{}ä", x("0f"))),
        ("bytea", x("\\001")),
        ("bytea", x("\\\\")),
        ("bytea", x("abc")),
        ("bool", x(" ")),
        ("bool", format!("{}t{}", x(" "), x(" "))),
        ("bool", x("true")),
        ("smallint", x("0")),
        ("int", x("0")),
        ("int", x("9")),
        ("int", format!("-{}7", x("0"))),
        ("bigint", format!("{}1", x(" "))),
        ("oid", x("0")),
        ("oid", format!("{}1", x("0"))),
        ("tid", x("(")),
        ("tid", format!("({}1,{}1)", x("0"), x("0"))),
        ("numeric", x("0")),
        ("numeric", x("9")),
        ("numeric", format!("{}1", x("0"))),
        ("numeric", format!("0.{}", x("0"))),
        ("numeric", format!("0.{}1", x("0"))),
        ("numeric", x("10")),
        ("numeric", format!("1e{}", x("0"))),
        ("numeric", format!("1{}e-{n}", x("0"))),
        ("numeric(10,2)", x("1")),
        ("float8", x("9")),
        ("float8", format!("0.{}1", x("0"))),
        ("float8", format!("1{}e-{n}", x("0"))),
        ("float8", format!("1.{}", x("12345678901234567890"))),
        ("int4range", format!("[{}1,2)", x(" "))),
        ("int8range", format!("[{}1,2)", x("0"))),
        ("numrange", format!("[1,{}", x("\\\\"))),
        ("daterange", format!("[\"{}", x("\"\""))),
        ("tsrange", x("[")),
        ("tstzrange", format!("empty{}", x(" "))),
        ("inet", x("10.")),
        ("inet", format!("10.1.2.3/{}", x("8"))),
        ("inet", format!("::{}", x("0:"))),
        ("inet", format!("1:{}", x("1"))),
        ("cidr", format!("0x{}", x("0a"))),
        ("cidr", x("1")),
        ("macaddr", format!("{}8:0:2b:1:2:3", x(" "))),
        ("macaddr", x("08")),
        ("macaddr", format!("08002b010203{}", x(" "))),
        ("macaddr8", x("08:")),
        ("macaddr8", format!("{}08002b010203{}", x(" "), x(" "))),
        ("bit", x("10")),
        ("bit(9)", x("x0")),
        ("bit varying", format!("x{}", x("0f"))),
        ("bit varying", format!("{}2", x("0"))),
        ("money", format!("{}$1", x(" "))),
        ("money", x("0")),
        ("money", format!("1.{}", x("9"))),
        ("money", format!("1{}", x("-"))),
        ("money", x(",")),
        ("time with time zone", format!("04:05:06.{}+1", x("9"))),
        ("time with time zone", x("04 ")),
        ("time with time zone", format!("04:05{}+1", x(" "))),
        ("jsonpath", x(" ")),
        ("jsonpath", format!("${}", x(".a"))),
        ("jsonpath", format!("$ ? (@ == {})", x("1"))),
        ("jsonpath", format!("\"{}\"", x("\\u00e4"))),
        ("jsonpath", format!("1{}", x(" + 1"))),
        ("jsonpath", x("/*")),
        ("tsvector", x("a:1,2A 'b' ")),
        ("tsvector", x("ab")),
        ("tsvector", format!("a:{}", x("1,"))),
        ("tsvector", x("''")),
        ("tsquery", x("!")),
        ("tsquery", x("a & ")),
        ("tsquery", x("(")),
        ("tsquery", x("(a | b) <-> ")),
        ("date", x("2020-01-01 ")),
        ("date", x("1")),
        ("date", x("1T2")),
        ("date", x("1-")),
        ("date", format!("{}2020-01-01{}", x(" "), x(" "))),
        ("timestamp", x("2020-01-01 00:00:00 ")),
        ("timestamp", x("1:")),
        ("timestamp", format!("2020-01-01 00:00:00.{}", x("1"))),
        ("timestamp", format!("2020-01-01{}00:00:00", x(" "))),
        ("timestamp", x("monday ")),
        ("jsonb", format!("[{}]", x("1, ").trim_end_matches(", "))),
        ("jsonb", format!("\"{}\"", x("\\u00e4"))),
        ("jsonb", format!("1{}", x("0"))),
        ("jsonb", x("{\"a\":")),
        ("real", x("9")),
        ("real", format!("1.{}", x("12345678901234567890"))),
        ("time", format!("04:05:06.{}", x("9"))),
        ("time", x("04 ")),
        ("timestamptz", x("January ")),
        ("timestamptz", format!("2020-01-01 00:00:00+{}", x("0"))),
        ("timestamptz", format!("2020-01-01 00:00:00 {}", x("a/"))),
        ("interval", x("1 day ")),
        ("interval", x("1")),
        ("interval", format!("1 {}day", x(" "))),
        ("interval", format!("1.{} s", x("3"))),
        ("interval", x("@ ")),
        ("interval", x("- ")),
        ("interval", format!("P{}", x("1D"))),
        ("interval", format!("PT{}", x("1S"))),
        ("uuid", x("00000000-")),
        ("uuid", x("{")),
        ("json", format!("[{}1]", x("1,"))),
        ("json", format!("\"{}\"", x("\\u0041"))),
        ("json", x("[")),
        ("json", format!("{{{}\"a\":1}}", x("\"a\":1,"))),
        ("json", x(" ")),
        ("oidvector", x("1 ")),
        ("int2vector", x(" ")),
        ("int[]", format!("{{{}1}}", x("1,"))),
        ("int[]", format!("{{1{}}}", x(" "))),
        ("bool[]", format!("{{{}t}}", x("t,"))),
        ("numeric[]", format!("{{{}1}}", x("1.50,"))),
        ("float8[]", format!("{{{}1}}", x("1.5e3,"))),
        ("date[]", format!("{{{}2020-01-01}}", x("2020-01-01,"))),
        ("timestamp[]", format!("{{{}2020-01-01}}", x("\"2020-01-01 10:00\","))),
        ("interval[]", format!("{{{}1s}}", x("\"1 day\","))),
        ("uuid[]", format!("{{{}NULL}}", x("00000000-0000-0000-0000-000000000000,"))),
        ("varchar(3)[]", format!("{{{}a}}", x("abcd,"))),
        ("text[]", format!("{{{}a}}", x("\"a b\","))),
        ("text[]", format!("{{\"{}\"}}", x("\\\\"))),
        ("text[]", format!("{{{}", x(" a"))),
        ("text[]", format!("{{{}}}", x("NULL,"))),
        ("text[]", x("{")),
        ("bytea[]", format!("{{\"\\\\x{}\"}}", x("0f"))),
        ("regclass", x("r")),
        ("regclass", x("r.")),
        ("regclass", format!("\"{}\"", x("\"\""))),
        ("regprocedure", format!("f({})", x("int,"))),
        ("regtype", x("int ")),
    ]
}

/// What the thread works through meanwhile.
fn work(db: &Database, sql: &str, text: Option<&str>) -> u64 {
    let before = worked().expect("debug assertions are on");
    let outcome = match text {
        Some(text) => db.query(sql, (text,)),
        None => db.query(sql, ()),
    };
    if let Err(error) = outcome {
        assert!(!error.sqlstate().as_str().starts_with("XX"), "{}: {error}", &sql[..sql.len().min(60)]);
    }
    worked().expect("as before") - before
}

/// Eight times the text: eight times the work, or twice that, as long constants are read once more at run time. In
/// quadratic work it would be 64 times. And somebody counts: all of the text was looked through, if `whole`.
#[track_caller]
fn is_linear(what: &str, few: u64, many: u64, whole: bool) {
    assert!(many <= 20 * few + 4096, "{what}: {few} for {SMALL}, {many} for {LARGE}");
    assert!(many <= 64 * LARGE as u64, "{what}: {many} for {LARGE}");
    assert!(!whole || many >= LARGE as u64 / 8, "nobody counts {what}: {many} for {LARGE}");
}

/// A literal, a parameter of the type, a text that is cast at run time, literals with escapes of both kinds, and one
/// between dollars.
const WAYS: usize = 6;

fn read(db: &Database, way: usize, ty: &str, text: &str) -> u64 {
    let literal = |prefix: &str, text: &str| format!("SELECT ({prefix}'{text}'::{ty}) IS NULL");
    match way {
        0 => work(db, &literal("", &text.replace('\'', "''")), None),
        1 => work(db, &format!("SELECT ($1::{ty}) IS NULL"), Some(text)),
        2 => work(db, &format!("SELECT (x.t::{ty}) IS NULL FROM (SELECT $1::text AS t) AS x"), Some(text)),
        3 => work(db, &literal("E", &text.replace('\\', "\\\\")), None),
        4 => work(db, &literal("U&", &text.replace('\\', "\\\\")), None),
        _ => work(db, &format!("SELECT ($tag${text}$tag$::{ty}) IS NULL"), None),
    }
}

#[test]
fn values_are_read_in_linear_work() {
    let db = Database::in_memory().expect("opens");
    for ((ty, short), (_, long)) in shapes(SMALL).iter().zip(&shapes(LARGE)) {
        for way in 0..WAYS {
            let (few, many) = (read(&db, way, ty, short), read(&db, way, ty, long));
            let what = format!("{ty} {:?}, way {way}", &short.chars().take(12).collect::<String>());
            // A text that is taken as it is, or whose mistake stands in front, is not looked through.
            let taken = matches!(
                *ty,
                "text" | "name" | "refcursor" | "\"char\"" | "char(100000)" | "int2vector" | "json"
            ) || ty.starts_with("varchar")
                || ty.starts_with("reg");
            is_linear(&what, few, many, !(taken && matches!(way, 1 | 2)));
        }
    }
}

/// Every type is among them.
#[test]
fn no_type_is_forgotten() {
    let read: Vec<&str> = shapes(64).into_iter().map(|(ty, _)| ty).collect();
    let db = Database::in_memory().expect("opens");
    // Aliases of oid that are read alike are there by one of them; what has no input is not there.
    let alike = "'regproc', 'regrole', 'regnamespace', 'regoper', 'regoperator', 'regconfig', 'regdictionary', \
                 'regcollation', 'pg_node_tree', 'aclitem', 'void', 'record', 'unknown', 'trigger', 'event_trigger', 'xid', \
                 'cstring', 'internal', 'language_handler', 'table_am_handler', 'index_am_handler'";
    let types = format!(
        "SELECT format_type(oid, NULL) FROM pg_type
         WHERE typtype IN ('b', 'p') AND typname NOT LIKE 'any%' AND typelem = 0 AND typname NOT IN ({alike})"
    );
    let rows = db.query(&types, ()).expect("types");
    let known = |ty: &str| {
        let short = match ty {
            "boolean" => "bool",
            "integer" => "int",
            "double precision" => "float8",
            "character varying" => "varchar",
            "character" => "char(10)",
            "timestamp without time zone" => "timestamp",
            "timestamp with time zone" => "timestamptz",
            "time without time zone" => "time",
            other => other,
        };
        read.contains(&short)
    };
    let missing: Vec<String> =
        (0..rows.len()).filter_map(|i| rows[i].text(0)).filter(|ty| !known(ty)).collect();
    assert!(rows.len() > 15 && missing.is_empty(), "{missing:?} of {}", rows.len());
}

/// Values that are long as texts, printed, quoted, encoded and put into others.
fn printed(n: usize) -> Vec<(&'static str, String)> {
    let x = |s: &str| s.repeat(n / s.len());
    vec![
        ("$1::text::bytea::text", x("a")),
        ("ARRAY[$1, $1]::text", x("a \"")),
        ("string_to_array($1, ',')::text", x("a b,")),
        ("string_to_array($1, ',')::int[]::text", format!("{}1", x("1,"))),
        ("string_to_array($1, ',')::numeric[]::text", format!("{}1", x("1.5,"))),
        ("string_to_array($1, ',')::float8[]::text", format!("{}1", x("1.5,"))),
        ("string_to_array($1, ',')::date[]::text", format!("{}2020-01-01", x("2020-01-01,"))),
        ("string_to_array($1, ',')::timestamp[]::text", format!("{}2020-01-01", x("2020-01-01,"))),
        ("string_to_array($1, ',')::interval[]::text", format!("{}1s", x("1 day 2 h,"))),
        ("array_to_string(string_to_array($1, ','), ';')", x("a b,")),
        ("ROW($1, $1)::text", x("a \"")),
        ("quote_ident($1)", x("a\"")),
        ("quote_literal($1)", x("a'\\")),
        ("quote_nullable($1)", x("'")),
        ("format('%s %I %L', $1, $1, $1)", x("a'\"\\")),
        ("encode($1::bytea, 'hex')", x("abc")),
        ("encode($1::bytea, 'base64')", x("abc")),
        ("encode($1::bytea, 'escape')", x("\\001a")),
        ("decode($1, 'hex')::text", x("0f")),
        ("decode($1, 'base64')::text", x("QUJD")),
        ("decode($1, 'escape')::text", x("\\\\a")),
        ("$1::char(100000)::text", x("ä ")),
    ]
}

#[test]
fn values_are_written_in_linear_work() {
    let db = Database::in_memory().expect("opens");
    for ((expression, short), (_, long)) in printed(SMALL).iter().zip(&printed(LARGE)) {
        let sql = format!("SELECT length({expression})");
        db.query(&sql, (&short[..],)).unwrap_or_else(|e| panic!("{expression}: {e}"));
        is_linear(expression, work(&db, &sql, Some(short)), work(&db, &sql, Some(long)), true);
    }
}

/// What stands in a statement beside values.
fn statements(n: usize) -> Vec<String> {
    let x = |s: &str| s.repeat(n / s.len());
    let few = |s: &str| s.repeat(n / 512 / s.len() + 1);
    vec![
        format!("SELECT 1{}", x(" \n")),
        format!("SELECT 1 --{}", x("- ")),
        format!("SELECT 1 {}", x("-- x\n")),
        format!("SELECT 1 /*{}*/", x("* /")),
        format!("SELECT 1 {}{}", x("/*"), x("*/")),
        format!("SELECT 1 {}", x("/*")),
        format!("SELECT 1 AS {}", x("name")),
        format!("SELECT 1 AS \"{}\"", x("\"\"")),
        format!("SELECT 1 AS U&\"{}\"", x("\\0041")),
        format!("SELECT {}", x("9")),
        format!("SELECT 0.{}1", x("0")),
        format!("SELECT 1e{}", x("0")),
        format!("SELECT {}", x("$a")),
        format!("SELECT {}", x("$a$")),
        format!("SELECT ${}", x("a")),
        format!("SELECT ${}$", x("a")),
        format!("SELECT $1{}", x("a")),
        format!("SELECT 1 {}", x("+-")),
        format!("SELECT 1 {}", x("=-")),
        format!("SELECT 1 @{}", x("+-")),
        format!("SELECT 'a'{}", x("\n'b'")),
        format!("SELECT 'a'{}", x("\n --\n")),
        format!("SELECT E'a'{}", x("\n'\\x41'")),
        format!("SELECT '{}", x("''")),
        format!("SELECT E'{}", x("\\'")),
        format!("SELECT X'{}'", x("f")),
        format!("SELECT U&'{}' UESCAPE '!'", x("!0041")),
        format!("SELECT 1{}", few(" + 1")),
        format!("SELECT 1{}", few(", 1")),
        format!("SELECT 1 IN (1{})", few(", 1")),
        format!("VALUES (1){}", few(", (1)")),
        format!("SELECT '{{}}'::int[{}]", x("1")),
    ]
}

#[test]
fn statements_are_read_in_linear_work() {
    let db = Database::in_memory().expect("opens");
    for (short, long) in statements(SMALL).iter().zip(&statements(LARGE)) {
        let few = work(&db, short, None);
        let many = work(&db, long, None);
        is_linear(&short[..short.len().min(24)], few, many, long.len() > LARGE / 2);
    }
    // Scripts: each of the statements is found once.
    for statement in ["SELECT 1;", ";", "BEGIN;", "SELECT ';' /* ; */;\n"] {
        let read = |n: usize| {
            let before = worked().expect("debug assertions are on");
            let _ = planaria::serving::parse(&statement.repeat(n / statement.len()));
            worked().expect("as before") - before
        };
        is_linear(statement, read(SMALL), read(LARGE), true);
    }
    // Bodies of routines are texts within texts.
    let body = |n: usize| {
        let statements = "PERFORM 1;\n".repeat(n / 11);
        let sql = format!("CREATE OR REPLACE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN {statements} END $$");
        work(&db, &sql, None)
    };
    is_linear("a body", body(SMALL / 8), body(LARGE / 8), false);
}
