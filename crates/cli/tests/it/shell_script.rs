//! Scripts of the shell: variables, conditions, where answers go and how they look. What is expected is what psql 15 prints.

use crate::shell::{Server, run, shell, shell_with};
use std::process::Command;

/// A script without errors.
fn says(script: &str) -> String {
    let (status, out, err) = shell(&[], script);
    assert_eq!((status, err.as_str()), (Some(0), ""), "{script}\n{out}");
    out
}

#[test]
fn variables_are_set_and_put_in_place() {
    let script = "\\set n 7\n\\set t 'it''s' ' two'\n\\set c my_column\nSELECT :n + 1 AS :\"c\", :'t' AS t, ':n' AS q, 1::text AS one;\n\\echo :t :none :{?n}\n\
                  \\unset n\n\\echo :n :'c' :\"c\" 'a\\tb' -n\n\\echo -n no end\n\\echo\n";
    assert_eq!(
        says(script),
        " my_column |    t     | q  | one \n-----------+----------+----+-----\n         8 | it's two | :n | 1\n(1 row)\n\n\
         it's two :none TRUE\n:n 'my_column' \"my_column\" a\tb -n\nno end\n"
    );
    let (_, out, err) = shell(
        &[],
        "\\set a-b 1\n\\set ON_ERROR_STOP maybe\n\\unset\nSELECT 1/0;\n\\echo :ERROR :SQLSTATE :ROW_COUNT\nVALUES (1), (2);\n\\echo :ERROR :SQLSTATE :ROW_COUNT :LAST_ERROR_MESSAGE\n",
    );
    assert!(err.starts_with("invalid variable name: \"a-b\"\nunrecognized value \"maybe\" for \"ON_ERROR_STOP\": Boolean expected\n\\unset: missing required argument\n"), "{err}");
    assert!(out.starts_with("true 22012 0\n"), "{out}");
    assert!(out.ends_with("false 00000 2 division by zero\n"), "{out}");
}

#[test]
fn rows_go_into_variables_and_are_run() {
    let script = "SELECT 1 AS a, NULL AS b, 'x' AS c \\gset of_\n\\echo :of_a :of_b :of_c\n\
                  SELECT 'SELECT ' || n || ' AS n' FROM generate_series(1, 2) n \\gexec\n";
    assert_eq!(says(script), "1 :of_b x\n n \n---\n 1\n(1 row)\n\n n \n---\n 2\n(1 row)\n\n");
    let (_, _, err) = shell(&[], "SELECT 1 WHERE false \\gset\nVALUES (1), (2) \\gset\n");
    assert_eq!(err, "no rows returned for \\gset\nmore than one row returned for \\gset\n");
}

#[test]
fn lines_count_where_conditions_hold() {
    let script = "\\set yes on\n\\if :yes\n\\echo 1\n\\else\n\\echo `exit 1` 2\nSELECT nothing 'at all;\n' ;\n\\endif\n\
                  \\if off\nSELECT 1/0;\n\\if on\n\\echo 3\n\\endif\n\\elif true\n\\echo 4 \\\\ SELECT 5 AS five;\n\\else\n\\echo 6\n\\endif\n\
                  SELECT 1\n\\if 0\n + 10\n\\endif\n + 100 AS n;\n";
    assert_eq!(says(script), "1\n4\n five \n------\n    5\n(1 row)\n\n  n  \n-----\n 101\n(1 row)\n\n");
    let (status, out, err) = shell(&["-v", "ON_ERROR_STOP=1"], "\\if on\n\\echo 1\n");
    assert_eq!((status, out.as_str()), (Some(3), "1\n"));
    assert_eq!(err, "reached EOF without finding closing \\endif(s)\n");
    let (_, _, err) = shell(&[], "\\endif\n\\else\n\\if perhaps\n\\endif\n");
    assert_eq!(
        err,
        "\\endif: no matching \\if\n\\else: no matching \\if\nunrecognized value \"perhaps\" for \"\\if expression\": Boolean expected\n"
    );
}

#[test]
fn answers_go_where_they_are_sent() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    let read = |name: &str| std::fs::read_to_string(at(name)).expect("is there");
    std::fs::create_dir(at("sub")).expect("a directory");
    std::fs::write(at("sub/inner.sql"), "\\echo inner\n\\ir next.sql\n\\if on\n").expect("writes");
    std::fs::write(at("sub/next.sql"), "\\echo next\n").expect("writes");
    let script = format!(
        "\\o {}\nSELECT 1 AS a;\nCREATE TABLE t (k int);\n\\qecho to it\nCOPY (SELECT 5) TO STDOUT;\n\\echo not\n\\o\n\
         SELECT 2 AS b \\g {}\n\\g\n\\pset t\nSELECT 3 \\g |sed s/3/three/\n\\pset t\nSELECT 4\n\\w {}\n\\p\n\\r\n\\i {}\n",
        at("o"),
        at("g"),
        at("w"),
        at("sub/inner.sql"),
    );
    let (status, out, err) = shell(&[], &script);
    let open = format!("{}:3: reached EOF without finding closing \\endif(s)\n", at("sub/inner.sql"));
    assert_eq!((status, err), (Some(0), open));
    assert_eq!(read("o"), " a \n---\n 1\n(1 row)\n\nCREATE TABLE\nto it\n5\n");
    assert_eq!((read("g").as_str(), read("w").as_str()), (" b \n---\n 2\n(1 row)\n\n", "SELECT 4\n"));
    assert_eq!(
        out,
        "not\n b \n---\n 2\n(1 row)\n\nTuples only is on.\n        three\n\nTuples only is off.\nSELECT 4\n\
         Query buffer reset (cleared).\ninner\nnext\n"
    );
    let (_, _, err) = shell(&[], "\\i nowhere.sql\n\\o /nowhere/x\n\\w\n\\i\n\\q extra\n");
    assert_eq!(
        err,
        "nowhere.sql: No such file or directory\n/nowhere/x: No such file or directory\n\\w: missing required argument\n\
         \\i: missing required argument\n"
    );
}

/// Each as psql 15 prints it.
#[test]
fn tables_look_as_they_are_to() {
    let rows = "VALUES (1, NULL), (20, 'a,b');\n";
    let of = |set: &str| says(&format!("\\set QUIET on\n{set}\n\\pset null -\n{rows}"));
    assert_eq!(
        of("\\pset border 2"),
        "+---------+---------+\n| column1 | column2 |\n+---------+---------+\n|       1 | -       |\n|      20 | a,b     |\n\
         +---------+---------+\n(2 rows)\n\n"
    );
    assert_eq!(
        of("\\pset border 0"),
        "column1 column2 \n------- -------\n      1 -\n     20 a,b\n(2 rows)\n\n"
    );
    assert_eq!(of("\\a"), "column1|column2\n1|-\n20|a,b\n(2 rows)\n");
    assert_eq!(of("\\a\\t\\f ;"), "1;-\n20;a,b\n");
    assert_eq!(of("\\pset format csv"), "column1,column2\n1,-\n20,\"a,b\"\n");
    assert_eq!(
        of("\\pset footer"),
        " column1 | column2 \n---------+---------\n       1 | -\n      20 | a,b\n\n"
    );
    assert_eq!(
        of("\\x\n\\pset border 2"),
        "+-[ RECORD 1 ]--+\n| column1 | 1   |\n| column2 | -   |\n+-[ RECORD 2 ]--+\n| column1 | 20  |\n| column2 | a,b |\n\
         +---------+-----+\n\n"
    );
    assert_eq!(
        of("\\x\n\\pset border 0"),
        "* Record 1\ncolumn1 1\ncolumn2 -\n* Record 2\ncolumn1 20\ncolumn2 a,b\n\n"
    );
    assert_eq!(of("\\x\\t"), "column1 | 1\ncolumn2 | -\n--------+----\ncolumn1 | 20\ncolumn2 | a,b\n\n");
    assert_eq!(of("\\x\\a"), "column1|1\ncolumn2|-\n\ncolumn1|20\ncolumn2|a,b\n");
    assert_eq!(
        says(
            "\\pset border 2\n\\pset null x\n\\pset format u\n\\pset x on\n\\pset fieldsep ,\n\\t on\n\\pset footer off\n\\timing off\n"
        ),
        "Border style is 2.\nNull display is \"x\".\nOutput format is unaligned.\nExpanded display is on.\nField separator is \",\".\n\
         Tuples only is on.\nDefault footer is off.\nTiming is off.\n"
    );
    let (_, _, err) = shell(&[], "\\pset nothing\n\\pset format latex\n\\x maybe\n\\x on off\n");
    assert!(err.starts_with("\\pset: unknown option: nothing\n\\pset: allowed formats are "), "{err}");
    assert!(err.contains("unrecognized value \"maybe\""), "{err}");
    assert!(err.ends_with("\\x: extra argument \"off\" ignored\n"), "{err}");
}

#[test]
fn a_line_has_several_commands_and_statements() {
    assert_eq!(
        says(
            "SELECT 1 AS a; \\echo b \\echo c \\\\ SELECT 2 AS d; -- \\echo no\nSELECT '\\echo' AS \"\\q\" /* \\q */;\n\\echo `echo run` done\n"
        ),
        " a \n---\n 1\n(1 row)\n\nb\nc\n d \n---\n 2\n(1 row)\n\n  \\q   \n-------\n \\echo\n(1 row)\n\nrun done\n"
    );
    let (_, out, err) = shell(&[], "\\prompt 'what? ' x\nan answer\n\\echo :x\nSELECT 3 AS c;\n\\p\n");
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("an answer\n c \n---\n 3\n(1 row)\n\nSELECT 3 AS c;\n", "what? ")
    );
}

#[test]
fn files_and_looks_are_options() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("f.sql").display().to_string();
    std::fs::write(&file, "\\echo :x\nSELECT 1/0;\nSELECT 2, NULL;\n").expect("writes");
    let (status, out, _) = shell(&["-Atq", "-v", "x=7", "-c", "CREATE TABLE t (k int)", "-f", &file], "");
    assert_eq!((status, out.as_str()), (Some(0), "7\n2|\n"));
    let (status, out, err) = shell(&["-v", "ON_ERROR_STOP=1", "-f", &file], "");
    assert_eq!((status, out.as_str()), (Some(3), ":x\n"));
    assert_eq!(err, format!("{file}:2: ERROR:  22012: division by zero\n"));
    // A file that another one names; what is typed, or piped, is no file.
    let outer = dir.path().join("outer.sql").display().to_string();
    std::fs::write(&outer, "SELECT\n nothing;\n\\ir f.sql\n\\what\nDO 'BEGIN RAISE NOTICE ''hi''; END';\n")
        .expect("writes");
    let (status, _, err) = shell(&["-q", "-f", &outer], "");
    assert_eq!(status, Some(0));
    let lines: Vec<&str> = err.lines().filter(|line| line.contains(".sql")).collect();
    let expected = [
        format!("{outer}:2: ERROR:  42703: column \"nothing\" does not exist"),
        format!("{file}:2: ERROR:  22012: division by zero"),
        format!("{outer}:4: invalid command \\what"),
        format!("{outer}:5: NOTICE:  hi"),
    ];
    assert_eq!(lines, expected);
    assert!(shell(&["-q"], "SELECT 1/0;\n").2.starts_with("ERROR:  22012"));
    assert_eq!(shell(&["-v", "ON_ERROR_STOP=what"], "").0, Some(2));
}

#[test]
fn a_start_file_is_run_first() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("start").display().to_string();
    std::fs::write(&file, "\\pset null '-'\nSELECT 1/0;\n\\set seven 7\n").expect("writes");
    let with = [("PLANARIARC", file.as_str())];
    let ask = ["-qAt", "-c", "SELECT NULL"];
    let (status, out, err) = shell_with(&ask, "", &with);
    // An error in it keeps nobody from going on.
    assert_eq!((status, out.as_str()), (Some(0), "-\n"), "{err}");
    assert!(err.starts_with(&format!("{file}:2: ERROR:  22012: ")), "{err}");
    let (status, out, _) = shell_with(&["-qAt"], "SELECT NULL, :seven;\n", &with);
    assert_eq!((status, out.as_str()), (Some(0), "-|7\n"));
    let without = shell_with(&[&ask[..], &["-X"]].concat(), "", &with);
    assert_eq!(without, (Some(0), "\n".into(), String::new()));
    // One that is not there is no error.
    let nowhere = [("PLANARIARC", "/nowhere/start")];
    assert_eq!(shell_with(&["-At", "-c", "SELECT 1"], "", &nowhere), (Some(0), "1\n".into(), String::new()));
}

/// psql of PostgreSQL 15, as Debian has it.
const PSQL: &str = "/usr/lib/postgresql/15/bin/psql";

#[test]
fn psql_prints_the_same() {
    if !std::path::Path::new(PSQL).exists() {
        println!("skipped: psql 15 is not installed");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("data"));
    let (url, script) = (format!("postgres://postgres@{}/x", server.1), include_str!("shell_psql.sql"));
    let mut psql = Command::new(PSQL);
    psql.args(["-X", &url]);
    let (expected, ours) = (run(psql, script, &[]), shell(&[&url], script));
    assert_eq!(ours.0, expected.0);
    for (ours, expected) in [(ours.1, expected.1), (ours.2, expected.2)] {
        // Errors of the server have their states here.
        let ours = ours.replace("ERROR:  22012: ", "ERROR:  ");
        for (at, (ours, expected)) in ours.lines().zip(expected.lines()).enumerate() {
            assert_eq!(ours, expected, "line {}", at + 1);
        }
        assert_eq!(ours.lines().count(), expected.lines().count());
    }
}
