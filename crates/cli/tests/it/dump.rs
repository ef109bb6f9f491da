//! A database as SQL, and back: what is loaded from a dump has the same dump again.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

fn planaria(args: &[&str]) -> Output {
    planaria_with(args, b"")
}

fn planaria_with(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_planaria"))
        .args(args)
        .env("PGUSER", "postgres")
        .env_remove("PGPASSWORD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("its input");
    // Who leaves early closes it.
    let _ = stdin.write_all(input);
    drop(stdin);
    child.wait_with_output().expect("ends")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command prints that succeeds.
fn fine(args: &[&str]) -> String {
    let output = planaria(args);
    assert!(output.status.success(), "{args:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A database of some files, whose errors are part of them.
fn database(dir: &Path, files: &[PathBuf]) -> String {
    let data = dir.join("data").display().to_string();
    for file in files {
        let loaded = planaria(&["load", &data, &file.display().to_string(), "--go-on"]);
        assert!(text(&loaded.stdout).starts_with("loaded "), "{}", text(&loaded.stderr));
    }
    data
}

/// Dumps, loads and dumps: both dumps are the same.
fn comes_back(dir: &Path, data: &str) -> String {
    let (file, copy) = (dir.join("dump.sql").display().to_string(), dir.join("copy").display().to_string());
    fine(&["dump", data, "--roles", "-o", &file]);
    fine(&["load", &copy, &file]);
    let dumped = std::fs::read_to_string(&file).expect("a dump");
    let again = fine(&["dump", &copy, "--roles"]);
    for (line, (one, other)) in dumped.lines().zip(again.lines()).enumerate() {
        assert_eq!(one, other, "{data}, line {}", line + 1);
    }
    assert_eq!(dumped, again, "{data}");
    dumped
}

fn scripts_come_back(names: &[&str]) {
    for name in names {
        let dir = tempfile::tempdir().expect("a directory");
        let file = repository().join(format!("crates/planaria/tests/postgres/{name}.sql"));
        let data = database(dir.path(), &[file]);
        let dump = comes_back(dir.path(), &data);
        assert!(dump.contains("CREATE TABLE ") || dump.contains("CREATE UNLOGGED TABLE "), "{name}:\n{dump}");
    }
}

#[test]
fn applications_come_back() {
    scripts_come_back(&[
        "app_shop",
        "app_ledger",
        "app_inventory",
        "app_crm",
        "app_hotel",
        "app_metering",
        "app_tracker",
        "app_wiki",
    ]);
}

#[test]
fn what_schemas_are_made_of_comes_back() {
    scripts_come_back(&[
        "alter_under_views",
        "answers_of_domains",
        "array_columns",
        "computed_indexes",
        "constraints_later",
        "ddl",
        "domains",
        "enums",
        "generated_columns",
        "intervals",
        "jsonb",
        "like_tables",
        "plpgsql",
        "referential",
        "rights",
        "schema_paths",
        "schemas",
        "partitioning",
        "partitioning_more",
        "composite_types",
        "row_parameters",
        "exclusion",
        "addresses",
        "transition_tables",
        "deferred_triggers",
        "view_changes",
        "triggers",
        "values",
        "view_texts",
    ]);
}

/// Partitions of partitions, keys, triggers, policies, views, all types.
#[test]
fn everything_comes_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = repository().join("crates/cli/tests/it/everything.sql");
    let data = dir.path().join("data").display().to_string();
    fine(&["load", &data, &file.display().to_string()]);
    let dump = comes_back(dir.path(), &data);
    for part in [
        "CREATE TYPE public.pair AS (\n    a integer,\n    b text\n);",
        "ALTER TABLE ONLY public.orders_24 ATTACH PARTITION public.orders_24_rest DEFAULT;",
        "EXCLUDE USING gist (during WITH &&) WHERE ((who <> 'x'::text));",
        "COMMENT ON COLUMN public.pair.b IS",
        "COMMENT ON TYPE public.pair IS",
    ] {
        assert!(dump.contains(part), "{part}\n{dump}");
    }
}

#[test]
fn workloads_come_back() {
    for name in ["smallbank", "tpcb", "tpcc", "voter", "ycsb"] {
        let dir = tempfile::tempdir().expect("a directory");
        let files = ["schema", "procedures", "load", "golden"];
        let folder = repository().join("crates/workload/sql").join(name);
        let files: Vec<PathBuf> = files.iter().map(|f| folder.join(format!("{f}.sql"))).collect();
        let data = database(dir.path(), &files);
        let dump = comes_back(dir.path(), &data);
        assert!(dump.contains("LANGUAGE plpgsql"), "{name}:\n{dump}");
    }
}

const ODD: &str = r#"CREATE ROLE "Ann x" LOGIN PASSWORD 'secret' VALID UNTIL '2030-01-01';
CREATE ROLE bob; GRANT bob TO "Ann x" WITH ADMIN OPTION;
CREATE SCHEMA "Odd one" AUTHORIZATION "Ann x";
CREATE TABLE "Odd one"."T;x" ("a""b" int PRIMARY KEY, "select" text DEFAULT 'it''s; -- \');
INSERT INTO "Odd one"."T;x" VALUES (1, E'tab\tnew\nline\\'), (2, NULL), (3, '\.'), (4, '');
COMMENT ON COLUMN "Odd one"."T;x"."select" IS 'it''s
two lines; really';
GRANT SELECT, UPDATE ON "Odd one"."T;x" TO "Ann x" WITH GRANT OPTION;
CREATE FUNCTION "Odd one".twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * n';
REVOKE ALL ON FUNCTION "Odd one".twice FROM PUBLIC;
CREATE TABLE late (a int, twice int GENERATED ALWAYS AS ("Odd one".twice(a)) STORED, yes bool DEFAULT 't', code char(4) DEFAULT 'new');
CREATE VIEW aaa AS SELECT * FROM zzz_missing;
CREATE VIEW zzz AS SELECT "a""b" AS x FROM "Odd one"."T;x";
CREATE VIEW aaa AS SELECT x FROM zzz WHERE x > 1;
CREATE FUNCTION of_view() RETURNS SETOF aaa LANGUAGE sql AS 'SELECT * FROM aaa';
GRANT SELECT ("select") ON "Odd one"."T;x" TO bob WITH GRANT OPTION;
GRANT UPDATE (a, code), INSERT (a) ON late TO "Ann x";
ALTER DEFAULT PRIVILEGES FOR ROLE "Ann x" IN SCHEMA "Odd one" GRANT INSERT ON TABLES TO bob;
ALTER DEFAULT PRIVILEGES FOR ROLE "Ann x" REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
CREATE SEQUENCE count INCREMENT -2 START 50 MINVALUE 10 MAXVALUE 60 CYCLE;
SELECT nextval('count');
"#;

#[test]
fn odd_names_rights_and_orders_come_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("odd.sql");
    std::fs::write(&file, ODD).expect("writes");
    let data = database(dir.path(), &[file]);
    let dump = comes_back(dir.path(), &data);
    for part in [
        "CREATE ROLE \"Ann x\" WITH",
        "PASSWORD 'SCRAM-SHA-256$4096:",
        "GRANT bob TO \"Ann x\" WITH ADMIN OPTION;",
        "COPY \"Odd one\".\"T;x\" (\"a\"\"b\", \"select\") FROM stdin;\n1\ttab\\tnew\\nline\\\\\n2\t\\N\n3\t\\\\.\n4\t\n\\.\n",
        "SELECT pg_catalog.setval('public.count', 50, true);",
        "GRANT SELECT, UPDATE ON TABLE \"Odd one\".\"T;x\" TO \"Ann x\" WITH GRANT OPTION;",
        "REVOKE ALL ON FUNCTION \"Odd one\".twice(n integer) FROM PUBLIC;",
        "GRANT SELECT (\"select\") ON TABLE \"Odd one\".\"T;x\" TO bob WITH GRANT OPTION;",
        "GRANT INSERT (a), UPDATE (a) ON TABLE public.late TO \"Ann x\";",
        "ALTER DEFAULT PRIVILEGES FOR ROLE \"Ann x\" IN SCHEMA \"Odd one\" GRANT INSERT ON TABLES TO bob;",
        "ALTER DEFAULT PRIVILEGES FOR ROLE \"Ann x\" REVOKE ALL ON FUNCTIONS FROM PUBLIC;",
        "yes boolean DEFAULT true,\n    code character(4) DEFAULT 'new'::bpchar\n",
    ] {
        assert!(dump.contains(part), "{part}\n{dump}");
    }
    assert!(dump.find("VIEW public.zzz") < dump.find("VIEW public.aaa"), "{dump}");

    // Parts of it.
    let roles = |args: &[&str]| fine(&[&["dump", &data], args].concat());
    assert!(!roles(&[]).contains("CREATE ROLE"));
    let plain = roles(&["--no-owner", "--no-privileges"]);
    assert!(!plain.contains("OWNER TO") && !plain.contains("GRANT"), "{plain}");
    let one = roles(&["-t", "\"Odd one\".\"T;x\"", "--schema-only"]);
    assert!(
        one.contains("CREATE TABLE \"Odd one\"") && !one.contains("CREATE SCHEMA") && !one.contains("COPY")
    );
    let schema = roles(&["-n", "Odd one"]);
    assert!(schema.contains("CREATE SCHEMA") && !schema.contains("public.late"), "{schema}");
    let data_only = roles(&["--data-only"]);
    assert!(data_only.contains("COPY") && !data_only.contains("CREATE"), "{data_only}");
    let missing = planaria(&["dump", &data, "-t", "nope"]);
    assert_eq!(text(&missing.stderr), "ERROR:  42P01: relation \"nope\" does not exist\n");
    let missing = planaria(&["dump", &data, "-n", "nope"]);
    assert_eq!(text(&missing.stderr), "ERROR:  3F000: schema \"nope\" does not exist\n");
}

#[test]
fn nothing_is_made_by_reading() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data");
    let missing = planaria(&["dump", &data.display().to_string()]);
    assert_eq!(missing.status.code(), Some(1));
    let said = text(&missing.stderr);
    assert!(said.contains(&format!("directory \"{}\" does not exist", data.display())), "{said}");
    assert!(!data.exists());
    std::fs::create_dir(&data).expect("makes it");
    let empty = planaria(&["dump", &data.display().to_string()]);
    assert!(text(&empty.stderr).contains("holds no database"), "{}", text(&empty.stderr));
    assert_eq!(std::fs::read_dir(&data).expect("lists").count(), 0);
}

#[test]
fn errors_say_their_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let load = |name: &str, sql: &str, args: &[&str]| {
        let file = dir.path().join("bad.sql");
        std::fs::write(&file, sql).expect("writes");
        let data = dir.path().join(name).display().to_string();
        let output = planaria(&[&["load", &data, &file.display().to_string()], args].concat());
        let said = text(&output.stderr).replace(&format!("{}", file.display()), "bad.sql");
        (output.status.code(), text(&output.stdout), said)
    };
    let (status, out, err) = load("a", "\\restrict x\n-- one\nSELECT 1;\n\nSELECT\n  nope;\n", &[]);
    assert_eq!((status, out.as_str()), (Some(1), ""));
    assert_eq!(
        err,
        "bad.sql:6: ERROR:  42703: column \"nope\" does not exist\nLINE 2:   nope;\n          ^\n"
    );
    let rows = "CREATE TABLE t (a int);\nCOPY t FROM stdin;\n1\nx\n3\n\\.\nINSERT INTO t VALUES (4);\n";
    let (status, _, err) = load("b", rows, &[]);
    assert!(status == Some(1) && err.starts_with("bad.sql:4: ERROR:  22P02: "), "{err}");
    let (status, out, err) = load("c", rows, &["--go-on"]);
    assert!(status == Some(1) && out.starts_with("loaded 1 table, 1 row in "), "{out}{err}");
    assert!(err.ends_with("1 statement left out\n"), "{err}");
    // Data of a table that is not there is no statement.
    let (_, out, err) = load("d", "COPY t FROM stdin;\nSELECT 1;\n\\.\nSELECT 2;\n", &["--go-on"]);
    assert!(out.starts_with("loaded 0 tables") && err.matches("ERROR").count() == 1, "{err}");
    let (status, _, err) = load("e", "CREATE TABLE t (a int);\n\\connect other\n", &[]);
    assert!(status == Some(1) && err.starts_with("bad.sql:2: ERROR:  0A000: \\connect other"), "{err}");
    let (status, _, err) = load("f", "\\connect planaria\n\\! ls\n", &[]);
    assert!(status == Some(1) && err.starts_with("bad.sql:2: ERROR:  0A000: \\!"), "{err}");
    let (status, _, err) = load("g", "CREATE TABLE t (a int);\nCOPY t FROM stdin;\n1\n", &[]);
    assert!(status == Some(1) && err.contains("the file ends in the middle of its data"), "{err}");
    let (status, _, err) = load("h", "SELECT 1;\nSELECT $$ a;\n", &[]);
    assert!(status == Some(1) && err.starts_with("bad.sql:2: ERROR:  42601: "), "{err}");
    // All or nothing.
    let (status, _, _) = load("i", "CREATE TABLE t (a int);\nSELECT nope;\n", &["--single-transaction"]);
    assert_eq!(status, Some(1));
    let (status, out, err) = load("i", "CREATE TABLE t (a int);\nINSERT INTO t VALUES (1), (2);\n", &["-1"]);
    assert!(status == Some(0) && out.starts_with("loaded 1 table, 2 rows in "), "{out}{err}");
    let missing = planaria(&["load", &dir.path().join("j").display().to_string(), "nope.sql"]);
    assert!(missing.status.code() == Some(1) && !dir.path().join("j").exists());
}

/// A server, killed when dropped.
struct Server(Child, String);

impl Server {
    fn start(dir: &Path) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_planaria"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .arg(dir)
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
        let address = loop {
            let line = lines.next().expect("a line").expect("a text");
            if let Some((_, at)) = line.split_once("listens at ") {
                break at.trim().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Server(child, address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn servers_are_dumped_and_loaded_as_directories_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("served"));
    let url = format!("postgres://postgres@{}/shop", server.1);
    // What pg_dump wrote, from standard input.
    let file = repository().join("tests/clients/dump/app.postgres.sql");
    let dump = std::fs::read(&file).expect("a dump");
    let loaded = planaria_with(&["load", &url], &dump);
    assert!(text(&loaded.stdout).starts_with("loaded 5 tables, 10 rows in "), "{}", text(&loaded.stderr));
    let dumped = comes_back(dir.path(), &url);
    let other = Server::start(&dir.path().join("other"));
    let url = format!("postgres://postgres@{}/shop", other.1);
    let loaded = planaria_with(&["load", &url, "-", "--single-transaction"], dumped.as_bytes());
    assert!(loaded.status.success(), "{}", text(&loaded.stderr));
    assert_eq!(fine(&["dump", &url, "--roles"]), dumped);
}

#[test]
fn bodies_of_several_lines_are_taken_by_the_shell() {
    let script =
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$\nBEGIN\n  RETURN 1;\nEND $$;\nSELECT f();\n";
    let output = planaria_with(&["shell"], script.as_bytes());
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).starts_with("CREATE FUNCTION\n f \n"), "{}", text(&output.stdout));
}
