//! What was deleted is free, though nobody works with the database any more.

use planaria::{Database, Options, Session};
use std::time::{Duration, Instant};

const ROWS: i64 = 20_000;

fn fill(session: &mut Session) -> planaria::Result<u64> {
    session
        .execute("insert into t select n, repeat(md5(n::text), 32) from generate_series(1, $1) as n", (ROWS,))
}

fn filled(options: Options) -> Database {
    let db = options.in_memory().expect("opens");
    let mut session = db.session().expect("has a session");
    session.execute("create table t (id bigint primary key, b text)", ()).expect("makes the table");
    fill(&mut session).expect("fits");
    db
}

#[test]
fn an_idle_database_gives_the_memory_of_deleted_rows_back() {
    let db = filled(Options::default());
    let full = db.stats().memory;
    let mut session = db.session().expect("has a session");
    session.execute("delete from t", ()).expect("deletes");
    // The session is still there, and does nothing.
    let since = Instant::now();
    loop {
        let now = db.stats().memory;
        if now.row_bytes < full.row_bytes / 20 && now.row_bytes_reserved < full.row_bytes_reserved / 4 {
            break;
        }
        // Readers of other databases in this process may keep it from being freed for a while.
        assert!(since.elapsed() < Duration::from_secs(300), "{now:?} of {full:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(session);
}

#[test]
fn an_empty_database_has_room() {
    let room = filled(Options::default()).stats().memory.bytes();
    let db = filled(Options::default().memory_budget(room * 3));
    let mut session = db.session().expect("has a session");
    for _ in 0..8 {
        session.execute("delete from t", ()).expect("deletes");
        let since = Instant::now();
        while let Err(error) = fill(&mut session) {
            assert!(since.elapsed() < Duration::from_secs(300), "what was deleted is in the way: {error}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Memory can be claimed as the database is opened (`planaria-storage`'s tests say what becomes of it); more than the budget is refused.
#[test]
fn memory_is_claimed_at_start() {
    let options = Options::new().memory_budget(64 << 20);
    let Err(refused) = options.clone().memory_reserve(65 << 20).in_memory() else { panic!("is too much") };
    assert_eq!(refused.sqlstate().as_str(), "22023");
    let db = filled(options.memory_reserve(16 << 20));
    let rows: i64 = db.query("select count(*) from t", ()).expect("counts")[0].get(0).expect("a number");
    assert_eq!(rows, ROWS);
}
