//! COPY reads lines in work that is proportional to their length, in every type that a column can have, however long they are and in whatever portions they
//! come: counted, not timed ([`planaria_base::watch::worked`]).

use super::*;
use planaria::serving::{ServedSession, parse};
use planaria::{Database, Session};
use planaria_base::watch::worked;

/// Data of one line, or of many.
fn shapes(n: usize) -> Vec<(&'static str, &'static str, String)> {
    let x = |s: &str| s.repeat(n / s.len());
    const TEXT: &str = "";
    const CSV: &str = "(FORMAT csv)";
    let mut all = Vec::new();
    for options in [TEXT, CSV] {
        all.extend([
            ("text", options, x("x")),
            ("text", options, x("ä")),
            ("text", options, x("a\n")),
            ("varchar(100000)", options, x("x ")),
            ("char(100000)", options, x(" x")),
            ("int", options, x("1\n")),
            ("int", options, format!("{}1", x("0"))),
            ("bigint", options, x("7")),
            ("numeric", options, x("9")),
            ("numeric", options, format!("0.{}1", x("0"))),
            ("float8", options, x("123456789.")),
            ("float8", options, format!("1.{}", x("7"))),
            ("bool", options, format!("{}t", x(" "))),
            ("date", options, x("2020-01-01 ")),
            ("timestamp", options, format!("2020-01-01 00:00:00.{}", x("1"))),
            ("timestamptz", options, x("2020-01-01 00:00+01\n")),
            ("interval", options, x("1 day ")),
            ("uuid", options, x("0")),
        ]);
    }
    all.extend([
        ("text", TEXT, x("\\\\")),
        ("text", TEXT, x("\\x41")),
        ("text", TEXT, x("\\101")),
        ("text", TEXT, x("\\\n")),
        ("bytea", TEXT, format!("\\\\x{}", x("0f"))),
        ("bytea", TEXT, x("\\\\001")),
        ("text", CSV, format!("\"{}\"", x("\"\""))),
        ("text", CSV, format!("\"{}\"", x("a\n"))),
        ("text", CSV, format!("\"{}", x("a\n"))),
        ("text", CSV, x("\"a\"b")),
        ("bytea", CSV, format!("\\x{}", x("0f"))),
        ("text", "(FORMAT csv, ESCAPE '\\')", format!("\"{}\"", x("\\\""))),
    ]);
    all
}

/// What the thread works through while data comes in messages of so many bytes.
fn work(session: &mut Session, ty: &str, options: &str, data: &str, message: usize) -> u64 {
    session.execute_script(&format!("DROP TABLE IF EXISTS t; CREATE TABLE t (v {ty})")).expect("a table");
    let parsed = parse(&format!("COPY t FROM STDIN {options}")).expect("a text");
    let statement = session.prepare_parsed(&parsed[0], &[]).expect("a statement");
    let form = statement.copy().expect("COPY");
    let mut copy = CopyIn::new(&statement, &form).expect("it begins");
    let before = worked().expect("debug assertions are on");
    let mut insert = |statement: &Statement, fields: &Fields| {
        session.start(statement, fields, &mut Nothing).map(|done| done.count)
    };
    let outcome = data
        .as_bytes()
        .chunks(message)
        .try_for_each(|bytes| {
            copy.data.extend_from_slice(bytes);
            if copy.data.len() < copy.enough { Ok(()) } else { copy.work(false, &mut insert) }
        })
        .and_then(|()| copy.work(true, &mut insert));
    if let Err(error) = outcome {
        assert!(!error.sqlstate().as_str().starts_with("XX"), "{ty} {options}: {error}");
    }
    worked().expect("as before") - before
}

#[test]
fn lines_are_read_in_linear_work() {
    let db = Database::in_memory().expect("opens");
    let mut session = db.session().expect("a session");
    // More than a portion, both: it is looked at again when more of a line comes.
    let (small, large) = (PORTION_BYTES * 3 / 2, PORTION_BYTES * 12);
    for ((ty, options, short), (_, _, long)) in shapes(small).iter().zip(&shapes(large)) {
        let what = &short.chars().take(12).collect::<String>();
        let few = work(&mut session, ty, options, short, 1000);
        let many = work(&mut session, ty, options, long, 1000);
        assert!(many <= 20 * few, "{ty} {options} {what:?}: {few} for {small}, {many} for {large}");
        assert!(many <= 64 * large as u64, "{ty} {options} {what:?}: {many} for {large}");
        // The first line that is no value ends it.
        assert!(many >= small as u64 / 8, "nobody counts {ty} {options} {what:?}: {many} for {large}");
    }
}
