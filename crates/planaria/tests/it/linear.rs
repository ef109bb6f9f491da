//! Reading text values takes work in proportion to their length, in every type, as a literal, as a parameter and
//! cast: counted, not timed ([`planaria_base::watch::worked`]).

use planaria::Database;
use planaria_base::watch::worked;

/// Long texts of a type, by a size in bytes. Those that no type takes are read as far as their mistake.
fn shapes(n: usize) -> Vec<(&'static str, String)> {
    let x = |s: &str| s.repeat(n / s.len());
    vec![
        ("text", x("x")),
        ("varchar", x("ä")),
        ("varchar(10)", x("ab ")),
        ("char(10)", x("x")),
        ("name", x("n")),
        ("bytea", format!("\\x{}", x("0f"))),
        ("bytea", format!("\\x{}", x("0f a0 "))),
        ("bytea", format!("\\x{}ä", x("0f"))),
        ("bytea", x("\\001")),
        ("bytea", x("\\\\")),
        ("bytea", x("abc")),
        ("bool", x(" ")),
        ("bool", x("true")),
        ("smallint", x("0")),
        ("int", x("0")),
        ("int", x("9")),
        ("bigint", format!("{}1", x(" "))),
        ("oid", x("0")),
        ("numeric", x("0")),
        ("numeric", x("9")),
        ("numeric", format!("0.{}", x("0"))),
        ("numeric", format!("1e{}", x("0"))),
        ("float8", x("9")),
        ("float8", format!("0.{}1", x("0"))),
        ("date", x("2020-01-01 ")),
        ("date", x("1")),
        ("timestamp", x("2020-01-01 00:00:00 ")),
        ("timestamptz", x("January ")),
        ("interval", x("1 day ")),
        ("interval", x("1")),
        ("uuid", x("00000000-")),
        ("json", format!("[{}1]", x("1,"))),
        ("json", format!("\"{}\"", x("\\u0041"))),
        ("json", x("[")),
        ("int[]", format!("{{{}1}}", x("1,"))),
        ("text[]", format!("{{{}a}}", x("\"a b\","))),
        ("text[]", format!("{{\"{}\"}}", x("\\\\"))),
        ("text[]", format!("{{{}", x(" a"))),
        ("bytea[]", format!("{{\"\\\\x{}\"}}", x("0f"))),
        ("regclass", x("r")),
    ]
}

/// What the thread works through while it reads one.
fn work(db: &Database, how: usize, ty: &str, text: &str) -> u64 {
    let before = worked().expect("debug assertions are on");
    let outcome = match how {
        0 => db.query(&format!("SELECT ('{text}'::{ty}) IS NULL"), ()),
        1 => db.query(&format!("SELECT ($1::{ty}) IS NULL"), (text,)),
        2 => db.query(&format!("SELECT (x.t::{ty}) IS NULL FROM (SELECT $1::text AS t) AS x"), (text,)),
        _ => db.query(&format!("SELECT (E'{}'::{ty}) IS NULL", text.replace('\\', "\\\\")), ()),
    };
    if let Err(error) = outcome {
        assert!(!error.sqlstate().as_str().starts_with("XX"), "{ty}: {error}");
    }
    worked().expect("as before") - before
}

#[test]
fn values_are_read_in_linear_work() {
    let db = Database::in_memory().expect("opens");
    let (small, large) = (1 << 13, 1 << 16);
    for ((ty, short), (_, long)) in shapes(small).iter().zip(&shapes(large)) {
        for how in 0..4 {
            let (few, many) = (work(&db, how, ty, short), work(&db, how, ty, long));
            let what = &short[..short.len().min(12)];
            // Eight times the text: eight times the work, or twice that, as long constants are read once more at run
            // time. In quadratic work it would be 64 times.
            assert!(many <= 20 * few + 4096, "{ty} {what}: {few} for {small}, {many} for {large}, way {how}");
            assert!(many <= 64 * large as u64, "{ty} {what}: {many} for {large}, way {how}");
            if *ty == "bytea" {
                assert!(many >= large as u64 / 8, "somebody counts: {ty} {what}: {many}");
            }
        }
    }
}
