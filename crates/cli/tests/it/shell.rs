//! The shell: what it prints is what psql 15 prints of the same; on a database of its own, and on a server.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// The shell with a script on its standard input.
pub fn shell(args: &[&str], script: &str) -> (Option<i32>, String, String) {
    shell_with(args, script, &[])
}

/// The same with variables of the environment.
pub fn shell_with(args: &[&str], script: &str, with: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_planaria"));
    shell.arg("shell").args(args);
    run(shell, script, with)
}

/// A command with a script on its standard input.
pub fn run(mut command: Command, script: &str, with: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let mut shell = command
        .env_remove("PGPASSWORD")
        .env("PGPASSFILE", "/nowhere")
        .env("PGUSER", "postgres")
        .envs(with.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut input = shell.stdin.take().expect("its input");
    // Who leaves early closes it.
    let _ = input.write_all(script.as_bytes());
    drop(input);
    let Output { status, stdout, stderr } = shell.wait_with_output().expect("ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (status.code(), text(&stdout), text(&stderr))
}

const TABLES: &str = "CREATE TABLE a (id int PRIMARY KEY, b text NOT NULL DEFAULT 'x', n numeric(10,2),
     d int GENERATED ALWAYS AS IDENTITY, UNIQUE (b, n));
CREATE TABLE c (x int REFERENCES a(id));
CREATE VIEW v AS SELECT id FROM a;
CREATE FUNCTION f(a int, b text DEFAULT 'x') RETURNS int LANGUAGE sql AS 'SELECT 1';
";

#[test]
fn tables_are_described_as_psql_describes_them() {
    let (status, out, err) = shell(
        &[],
        &format!(
            "{TABLES}\\d a\n\\d c\n\\d\n\\dt\n\\di a*\n\\df f\n\\d a_pkey\n\\d a_d_seq\n\\du\n\\dt no*\n"
        ),
    );
    assert_eq!((status, err.as_str()), (Some(0), "Did not find any relation named \"no*\".\n"));
    let (_, out) = out.split_once("CREATE FUNCTION\n").expect("they are made");
    assert_eq!(
        out,
        r#"                               Table "public.a"
 Column |     Type      | Collation | Nullable |           Default            
--------+---------------+-----------+----------+------------------------------
 id     | integer       |           | not null | 
 b      | text          |           | not null | 'x'::text
 n      | numeric(10,2) |           |          | 
 d      | integer       |           | not null | generated always as identity
Indexes:
    "a_pkey" PRIMARY KEY, btree (id)
    "a_b_n_key" UNIQUE CONSTRAINT, btree (b, n)
Referenced by:
    TABLE "c" CONSTRAINT "c_x_fkey" FOREIGN KEY (x) REFERENCES a(id)

                 Table "public.c"
 Column |  Type   | Collation | Nullable | Default 
--------+---------+-----------+----------+---------
 x      | integer |           |          | 
Foreign-key constraints:
    "c_x_fkey" FOREIGN KEY (x) REFERENCES a(id)

           List of relations
 Schema |  Name   |   Type   |  Owner   
--------+---------+----------+----------
 public | a       | table    | postgres
 public | a_d_seq | sequence | postgres
 public | c       | table    | postgres
 public | v       | view     | postgres
(4 rows)

        List of relations
 Schema | Name | Type  |  Owner   
--------+------+-------+----------
 public | a    | table | postgres
 public | c    | table | postgres
(2 rows)

               List of relations
 Schema |   Name    | Type  |  Owner   | Table 
--------+-----------+-------+----------+-------
 public | a_b_n_key | index | postgres | a
 public | a_pkey    | index | postgres | a
(2 rows)

                               List of functions
 Schema | Name | Result data type |         Argument data types         | Type 
--------+------+------------------+-------------------------------------+------
 public | f    | integer          | a integer, b text DEFAULT 'x'::text | func
(1 row)

        Index "public.a_pkey"
 Column |  Type   | Key? | Definition 
--------+---------+------+------------
 id     | integer | yes  | id
primary key, btree, for table "public.a"

                      Sequence "public.a_d_seq"
  Type   | Start | Minimum |  Maximum   | Increment | Cycles? | Cache 
---------+-------+---------+------------+-----------+---------+-------
 integer |     1 |       1 | 2147483647 |         1 | no      |     1
Sequence for identity column: public.a.d

                                   List of roles
 Role name |                         Attributes                         | Member of 
-----------+------------------------------------------------------------+-----------
 postgres  | Superuser, Create role, Create DB, Replication, Bypass RLS | {}

"#
    );
}

#[test]
fn data_goes_in_and_out_by_copy_and_by_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(at("run.sql"), format!("\\copy u to '{}' csv header\n", at("u.csv"))).expect("writes");
    let script = format!(
        "CREATE TABLE u (n int, t text);\nCOPY u FROM STDIN;\n1\ta\n2\t\\N\n\\.\n\\i {}\n\\copy u from '{}' csv header\n\
         SELECT n, t FROM u ORDER BY n, t;\nCOPY (SELECT max(n) FROM u) TO STDOUT;\n\\copy u from 'nowhere'\n\\copy nothing to stdout\n",
        at("run.sql"),
        at("u.csv"),
    );
    let (status, out, err) = shell(&[], &script);
    assert_eq!(status, Some(0));
    assert_eq!(std::fs::read_to_string(at("u.csv")).expect("is written"), "n,t\n1,a\n2,\n");
    let rows = " n | t \n---+---\n 1 | a\n 1 | a\n 2 | \n 2 | \n(4 rows)\n\n";
    assert_eq!(out, format!("CREATE TABLE\nCOPY 2\nCOPY 2\nCOPY 2\n{rows}2\n"));
    assert!(err.contains("nowhere: ") && err.contains("42P01: relation \"nothing\" does not exist"), "{err}");
}

#[test]
fn a_statement_is_run_again_shown_otherwise_and_timed() {
    let script = "SELECT 1 AS a\n\\gx\n\\g\n\\x on\nSELECT 2 AS b;\n\\x\n\\watch c=2 0\n\\timing on\nSELECT 3 \\g\n\\p\nBEGIN;\nSELECT 1/0;\n\
                  SELECT 'open'\n\\r\nROLLBACK;\n\\h begin\n\\nonsense\n";
    let (status, out, err) = shell(&[], script);
    assert_eq!(status, Some(0));
    assert!(out.starts_with("-[ RECORD 1 ]\na | 1\n\n a \n---\n 1\n(1 row)\n\nExpanded display is on.\n-[ RECORD 1 ]\nb | 2\n\n"), "{out}");
    assert_eq!(out.matches("(every 0s)\n\n b \n---\n 2\n(1 row)\n\n").count(), 2, "{out}");
    assert!(out.contains("Timing is on.\n ?column? \n----------\n        3\n(1 row)\n\nTime: "), "{out}");
    assert!(out.contains("\nSELECT 3\nBEGIN\n") && out.contains("ROLLBACK\n"), "{out}");
    assert!(out.contains("BEGIN\n  BEGIN [ISOLATION LEVEL"), "{out}");
    assert!(
        err.contains("ERROR:  22012: division by zero") && err.contains("invalid command \\nonsense"),
        "{err}"
    );
    let (status, ..) = shell(&["-v", "ON_ERROR_STOP=1"], "\\d nothing\nSELECT 1;\n");
    assert_eq!(status, Some(3));
    let (_, _, err) = shell(&[], "SELECT 'ü',\n  nothing;\n");
    assert!(err.contains("LINE 2:   nothing\n          ^\n"), "{err}");
}

/// A server, killed when dropped.
pub struct Server(Child, pub String);

impl Server {
    pub fn start(dir: &Path) -> Server {
        Server::start_with(dir, &[])
    }

    pub fn start_with(dir: &Path, options: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_planaria"))
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(options)
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
fn a_server_is_talked_to_with_a_password() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(&dir.path().join("data"));
    let url = |user: &str| format!("postgres://{user}@{}/shop", server.1);
    let (status, out, err) = shell(&[&url("postgres")], "ALTER ROLE postgres PASSWORD 'a b';\n\\conninfo\n");
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let (host, port) = server.1.rsplit_once(':').expect("a port");
    let conninfo = format!(
        "You are connected to database \"shop\" as user \"postgres\" on host \"{host}\" at port \"{port}\".\n"
    );
    assert_eq!(out, format!("ALTER ROLE\n{conninfo}"));
    let (status, out, _) = shell(&[&url("postgres:a%20b"), "-c", "SELECT 1 AS one"], "");
    assert_eq!((status, out.as_str()), (Some(0), " one \n-----\n   1\n(1 row)\n\n"));
    let (status, _, err) = shell(&[&url("postgres:wrong"), "-c", "SELECT 1"], "");
    assert!(status == Some(1) && err.contains("28P01"), "{err}");
    // Who is sent away hears why, and that it is over.
    let terminated = "SELECT pg_terminate_backend(pg_backend_pid());\nSELECT 2 AS two;\n";
    let (status, out, err) = shell(&[&url("postgres:a%20b")], terminated);
    assert!(status == Some(2) && !out.contains("two") && err.contains("57P01"), "{status:?} {out} {err}");
    let nobody = shell(&["postgres://127.0.0.1:1/x", "-c", "SELECT 1"], "");
    assert!(nobody.0 == Some(1) && nobody.2.contains("08001"), "{}", nobody.2);
}

/// Whoever has the files is let in, whatever roles may do: with the server stopped, that is the way back in.
#[test]
fn the_owner_of_the_files_is_let_in() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("data").display().to_string();
    let (status, _, err) = shell(&[&data], "ALTER ROLE postgres NOLOGIN PASSWORD 'lost';\n");
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let (status, out, err) = shell(&[&data, "-c", "SELECT current_user"], "");
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.contains("postgres"), "{out}");
}
