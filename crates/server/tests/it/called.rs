//! There is one database, and each client calls it by the name that it connected to.

use crate::common::Running;
use planaria::Database;
use planaria_server::Config;
use std::path::Path;
use tokio_postgres::NoTls;

fn open(dir: &Path) -> Running {
    Running::with(Database::open(dir).expect("opens"), Config::default())
}

/// Runs statements as a client of the database of this name; each answers with texts, or with its SQLSTATE.
fn ask(running: &Running, database: &str, statements: &[&str]) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut config = tokio_postgres::Config::new();
        config.host("127.0.0.1").port(running.address.port()).user("postgres").dbname(database);
        let (client, connection) = config.connect(NoTls).await.expect("connects");
        tokio::spawn(connection);
        let mut answers = Vec::new();
        for statement in statements {
            let answer = client.simple_query(statement).await;
            answers.push(match answer {
                Ok(messages) => {
                    let texts = messages.iter().filter_map(|m| match m {
                        tokio_postgres::SimpleQueryMessage::Row(row) => {
                            Some(row.get(0).unwrap_or("NULL").to_owned())
                        }
                        _ => None,
                    });
                    texts.collect::<Vec<_>>().join(",")
                }
                Err(error) => error.code().expect("a code").code().to_owned(),
            });
        }
        answers
    })
}

#[test]
fn by_the_name_that_a_client_connected_to() {
    let dir = tempfile::tempdir().expect("a directory");
    let running = open(dir.path());
    let asked = [
        "SELECT current_database()",
        "SELECT current_catalog",
        "SELECT string_agg(datname, ',') FROM pg_database",
        "CREATE TABLE IF NOT EXISTS t (a int PRIMARY KEY, b text DEFAULT current_database())",
        "SELECT table_catalog FROM information_schema.tables WHERE table_name = 't'",
        "SELECT has_database_privilege(current_database(), 'connect')",
        "SELECT has_database_privilege('planaria', 'connect')",
        "SELECT has_database_privilege('elsewhere', 'connect')",
        "SET SESSION AUTHORIZATION DEFAULT; RESET ALL; SELECT current_database()",
        "DISCARD ALL",
        "SELECT current_database()",
    ];
    let long = "x".repeat(80);
    assert_eq!(ask(&running, &long, &["SELECT length(current_database())"]), ["63"]);
    for name in ["shop", "planaria", "Kontor 7"] {
        let quoted = [name, name, name, "", name, "t", "t", "3D000", name, "", name];
        assert_eq!(ask(&running, name, &asked), quoted);
    }
    drop(running);
}

#[test]
fn names_and_what_calls_wrote_of_them_are_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let running = open(dir.path());
    let changes = [
        "CREATE TABLE t (a int PRIMARY KEY, b text DEFAULT current_database(), c text)",
        "CREATE PROCEDURE note(a int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (a, DEFAULT, current_catalog); END $$",
        "CALL note(1)",
        "INSERT INTO t (a, c) VALUES (9, current_database())",
        "CREATE VIEW called AS SELECT current_database() AS name",
        "COMMENT ON DATABASE shop IS 'of the shop'",
        "COMMENT ON DATABASE elsewhere IS 'of others'",
        "CREATE ROLE app",
        "GRANT CREATE ON DATABASE shop TO app",
        "ALTER DATABASE shop SET statement_timeout = '7s'",
        "ALTER ROLE app IN DATABASE shop SET lock_timeout = '3s'",
        "REVOKE TEMPORARY ON DATABASE planaria FROM PUBLIC",
        "GRANT CREATE ON DATABASE elsewhere TO app",
        "ALTER DATABASE elsewhere SET statement_timeout = '8s'",
        "ALTER DATABASE elsewhere OWNER TO app",
        "BEGIN; ALTER DATABASE shop OWNER TO app; CALL note(2); COMMIT",
    ];
    let refused = ["3D000"; 3];
    let answers = ask(&running, "shop", &changes);
    assert_eq!(answers[..12], [""; 12]);
    assert_eq!(answers[12..15], refused);
    assert_eq!(answers[15], "");
    assert_eq!(ask(&running, "office", &["CALL note(3)"]), [""]);
    let seen = [
        "SELECT string_agg(a || b || c, ',' ORDER BY a) FROM t",
        "SELECT shobj_description(oid, 'pg_database') FROM pg_database",
        "SELECT array_to_string(datacl, ';') FROM pg_database",
        "SELECT string_agg(array_to_string(setconfig, ';'), ',' ORDER BY setrole) FROM pg_db_role_setting WHERE setdatabase > 0",
        "SHOW statement_timeout",
    ];
    let before = ask(&running, "office", &seen);
    assert_eq!(before[0], "1planariaplanaria,2planariaplanaria,3planariaplanaria,9planariashop");
    assert_eq!(before[1], "of the shop");
    assert_eq!(before[3..], ["statement_timeout=7s,lock_timeout=3s", "7s"]);
    drop(running);
    let running = open(dir.path());
    assert_eq!(ask(&running, "elsewhere", &seen), before);
    assert_eq!(ask(&running, "elsewhere", &["SELECT name FROM called"]), ["elsewhere"]);
}
