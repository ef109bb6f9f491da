//! What statements have taken, and settings that SQL sees and changes.

use crate::common;

use common::Running;
use planaria::serving::{HostChange, HostSetting};
use planaria::{Database, Error, Options, Result, SqlState};
use planaria_server::{Config, Read, Server, Source};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const STATISTICS: &str =
    "SELECT query, calls, rows, min_exec_time <= mean_exec_time AND mean_exec_time <= max_exec_time
     AND abs(total_exec_time / calls - mean_exec_time) < 0.001
     FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat%' ORDER BY query";

#[test]
fn statements_are_counted_without_their_constants() {
    let db = Database::in_memory().expect("a database");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, v text); CREATE ROLE other LOGIN")
        .expect("a table");
    let running = Running::with(db, Config::default());
    let mut me = running.client();
    me.query("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    for n in 1..=3 {
        me.query(&format!("SELECT v FROM t WHERE id = {n}; SELECT v FROM t WHERE v = 'x{n}'"));
    }
    me.query("SELECT no FROM t");
    running.drive_as("other", "x", async |client| {
        client.query("SELECT 1 + $1::int", &[&1i32]).await.expect("three");
        client.query("SELECT 1 + $1::int", &[&2i32]).await.expect("four");
    });
    assert_eq!(
        me.query(STATISTICS)[1..5],
        [
            "D:INSERT INTO t VALUES ($1, $2), ($3, $4),1,2,t",
            "D:SELECT $2 + $1::int,2,2,t",
            "D:SELECT v FROM t WHERE id = $1,3,2,t",
            "D:SELECT v FROM t WHERE v = $1,3,0,t",
        ]
    );
    // What others have run is for superusers.
    running.drive_as("other", "x", async |client| {
        let count = "SELECT count(*) FILTER (WHERE query LIKE 'SELECT $2%'),
                     count(*) FILTER (WHERE query = '<insufficient privilege>' AND queryid IS NULL) > 2
                     FROM pg_stat_statements";
        let row = client.query_one(count, &[]).await.expect("counts");
        assert_eq!((row.get::<_, i64>(0), row.get::<_, bool>(1)), (1, true));
        let refused = client.query("SELECT pg_stat_statements_reset()", &[]).await.expect_err("refused");
        assert_eq!(refused.code().map(|c| c.code()), Some("42501"));
    });
    me.query("SELECT pg_stat_statements_reset()");
    assert_eq!(me.query(STATISTICS), ["T", "C:SELECT 0", "Z:I"]);
}

/// Settings in memory.
struct InMemory(Mutex<(usize, Option<usize>)>);

impl Source for InMemory {
    fn list(&self) -> Vec<HostSetting> {
        let setting = |name: &str, value: String, reloadable| HostSetting {
            name: name.to_owned(),
            value,
            default: "1000".to_owned(),
            description: "Connections at a time".to_owned(),
            kind: "integer",
            reloadable,
            source: "default",
            pending_restart: false,
        };
        let max = self.0.lock().expect("no panics").0;
        vec![setting("max_connections", max.to_string(), true), setting("threads", "2".to_owned(), false)]
    }

    fn alter(&self, change: &HostChange<'_>) -> Result<()> {
        let mut state = self.0.lock().expect("no panics");
        match *change {
            HostChange::Set("max_connections", value) => state.1 = value.parse().ok(),
            HostChange::Reset("max_connections") | HostChange::ResetAll => state.1 = Some(1000),
            _ => return Err(Error::new(SqlState::UNDEFINED_OBJECT, "unknown")),
        }
        Ok(())
    }

    fn read(&self) -> Result<Read> {
        let max_connections = self.0.lock().expect("no panics").1.unwrap_or(1000);
        let database = Options::new().set("statement_timeout", "7s");
        Ok(Read { config: Config { max_connections, ..Config::default() }, database })
    }

    fn taken_over(&self) {
        let mut state = self.0.lock().expect("no panics");
        state.0 = state.1.unwrap_or(1000);
    }
}

#[test]
fn settings_of_the_server_are_seen_and_changed() {
    let db = Arc::new(Database::in_memory().expect("a database"));
    db.execute_script("CREATE ROLE other LOGIN").expect("a role");
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server = Server::bind(db, Config { listen, drain_timeout: Duration::ZERO, ..Config::default() });
    let server = server.expect("a free port");
    server.settings_from(Arc::new(InMemory(Mutex::new((1000, None)))));
    let (address, stopper) = (server.addresses()[0], server.stopper());
    let thread = std::thread::spawn(move || server.run());
    let mut me = common::Client::enter(address);
    assert_eq!(me.query("SHOW max_connections")[1], "D:1000");
    assert_eq!(me.query("SELECT current_setting('threads')")[1], "D:2");
    let settings = "SELECT name, setting, context, vartype FROM pg_settings
                    WHERE name IN ('max_connections', 'threads', 'jit') ORDER BY name";
    assert_eq!(
        me.query(settings)[1..4],
        ["D:jit,off,user,bool", "D:max_connections,1000,sighup,integer", "D:threads,2,postmaster,integer"]
    );
    for statement in ["SET max_connections = 5", "SELECT set_config('threads', '3', false)", "RESET threads"]
    {
        assert!(me.query(statement).contains(&"E:55P02".to_owned()), "{statement}");
    }
    assert_eq!(me.query("ALTER SYSTEM SET max_connections = 5"), ["C:ALTER SYSTEM", "Z:I"]);
    assert_eq!(me.query("SHOW max_connections")[1], "D:1000");
    assert_eq!(me.query("SELECT pg_reload_conf()")[1], "D:t");
    assert_eq!(me.query("SHOW max_connections")[1], "D:5");
    assert_eq!(me.query("ALTER SYSTEM SET nonsense = 5"), ["E:42704", "Z:I"]);
    assert_eq!(me.query("BEGIN; ALTER SYSTEM RESET ALL"), ["C:BEGIN", "E:25001", "Z:E"]);
    me.query("ROLLBACK");
    // What sessions begin with is read again, too; those that have begun stay as they are.
    assert_eq!(me.query("SHOW statement_timeout")[1], "D:0");
    let mut other = common::Client::enter(address);
    assert_eq!(other.query("SHOW statement_timeout")[1], "D:7s");
    assert_eq!(other.query("SET ROLE other")[0], "C:SET");
    assert_eq!(other.query("ALTER SYSTEM RESET ALL"), ["E:42501", "Z:I"]);
    assert_eq!(other.query("SELECT pg_reload_conf()"), ["E:42501", "Z:I"]);
    drop((me, other));
    stopper.stop();
    thread.join().expect("joins").expect("well");
}

#[test]
fn without_a_source_there_is_nothing_to_change() {
    let running = Running::start();
    let mut me = running.client();
    assert_eq!(me.query("ALTER SYSTEM SET max_connections = 5"), ["E:0A000", "Z:I"]);
    assert_eq!(me.query("SELECT pg_reload_conf()")[1], "D:t");
    let embedded = Database::in_memory().expect("a database");
    let error = embedded.execute("ALTER SYSTEM RESET ALL", ()).expect_err("no server");
    assert_eq!(error.sqlstate().as_str(), "0A000");
    assert!(
        !embedded.query("SELECT pg_reload_conf()", ()).expect("an answer")[0]
            .get::<bool>(0)
            .expect("a truth")
    );
}
