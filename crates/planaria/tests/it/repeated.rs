//! Calls that meet others and are tried again, under each protocol and each way to wait between attempts.

use planaria::{BackoffKind, Database, Options, ProtocolKind};
use std::thread;

const SCHEMA: &str = "
    CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL);
    INSERT INTO counter SELECT i, 0 FROM generate_series(1, 3) i;
    CREATE PROCEDURE count_up(a int, b int) LANGUAGE plpgsql AS $$
    DECLARE seen bigint;
    BEGIN
        SELECT n INTO seen FROM counter WHERE id = a;
        UPDATE counter SET n = seen + 1 WHERE id = a;
        UPDATE counter SET n = n + 1 WHERE id = b;
    END $$;";

fn database(protocol: ProtocolKind, backoff: BackoffKind) -> Database {
    let db = Options::new().protocol(protocol).backoff(backoff).in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("a schema");
    db
}

#[test]
fn no_call_is_lost_whatever_attempts_wait() {
    const CLIENTS: i32 = 3;
    const CALLS: i32 = 200;
    for &protocol in ProtocolKind::ALL {
        for backoff in BackoffKind::ALL {
            let db = database(protocol, backoff);
            thread::scope(|scope| {
                for client in 0..CLIENTS {
                    let db = &db;
                    scope.spawn(move || {
                        let mut session = db.session().expect("a session");
                        for call in 0..CALLS {
                            // In either order: who waits for locks must not do so in a ring.
                            let (a, b) = if (call + client) % 2 == 0 { (1, 2) } else { (2, 1) };
                            session.call("count_up", (a, b)).expect("is tried again until it gets through");
                        }
                    });
                }
            });
            let rows = db.query("SELECT n FROM counter ORDER BY id", ()).expect("reads");
            let counts: Vec<i64> = rows.iter().map(|row| row.get(0).expect("a number")).collect();
            let calls = i64::from(CLIENTS * CALLS);
            assert_eq!(counts, [calls, calls, 0], "{protocol}, {backoff}");
            db.check().expect("sound");
        }
    }
}
