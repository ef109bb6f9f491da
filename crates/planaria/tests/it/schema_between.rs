//! Schema changes between calls, in a schema that has many tables: replay looks at the whole schema only now and
//! then, and replays in between what comes, one by one.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme, Session};
use planaria_sim::disk::SimDisk;

const TABLES: usize = 36;

/// Tables with a row each; procedures over one of them, or over one and the next.
fn grow(session: &mut Session, from: usize, to: usize) {
    let mut run = |sql: String| {
        session.execute(&sql, ()).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    };
    for n in from..to {
        run(format!("CREATE TABLE t{n} (k bigint, s text, a bigint, PRIMARY KEY (k, s))"));
        run(format!("INSERT INTO t{n} SELECT g, 'row ' || g, g FROM generate_series(1, 5) g"));
        let other = n.saturating_sub(1);
        run(format!(
            "CREATE PROCEDURE p{n}(x bigint) LANGUAGE plpgsql AS $$ BEGIN \
             UPDATE t{n} SET a = a + x WHERE k = x % 5 + 1 AND s = 'row ' || x % 5 + 1; \
             UPDATE t{other} SET a = a * 2 WHERE k = x % 3 + 1 AND s = 'row ' || x % 3 + 1; \
             INSERT INTO t{n} VALUES (x + 10, 'new', (SELECT count(*) FROM t{other})) ON CONFLICT DO NOTHING; END $$"
        ));
        // Some are called at once, some after the next change, and some of those that are older, too.
        for x in 0..n % 4 {
            run(format!("CALL p{n}({x})"));
        }
        run(format!("CALL p{}({n})", n * 7 % (n + 1)));
        if n % 9 == 8 {
            run(format!("CREATE UNIQUE INDEX ON t{n} (s, k)"));
            run(format!("ALTER TABLE t{other} ADD COLUMN b bigint DEFAULT {n}"));
            run(format!("CALL p{other}({n})"));
        }
        if n % 20 == 19 {
            run(format!("DROP TABLE t{}", n - 10));
        }
    }
}

fn calls(session: &mut Session) {
    for round in 0..6 {
        for n in 0..TABLES {
            // Of a table that was dropped: an error, and nothing is changed.
            let _ = session.execute(&format!("CALL p{n}({})", round * 3 + n), ());
        }
    }
}

#[test]
fn each_scheme_restores_them() {
    let disk = SimDisk::new(3);
    let open = |scheme: Scheme| -> Database {
        let options = Options::new().log(LogKind::Command).recovery(scheme).recovery_threads(3);
        options.open_device(disk.device()).unwrap_or_else(|e| panic!("{scheme}: {e:?}"))
    };
    let db = open(Scheme::Clr);
    let mut session = db.session().expect("a session");
    grow(&mut session, 0, TABLES / 2);
    calls(&mut session);
    grow(&mut session, TABLES / 2, TABLES);
    calls(&mut session);
    drop(session);
    let digests = db.digests().expect("reads");
    db.close().expect("closes");
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(scheme);
        assert_eq!(db.digests().expect("reads"), digests, "{scheme:?}");
        db.check().expect("rows and indexes agree");
    }
}

/// More tables than there are classes for those that no procedure touches: tables with keys of other types share one.
#[test]
fn tables_that_nobody_calls_for_share_their_classes() {
    let disk = SimDisk::new(5);
    let open = || Options::new().recovery(Scheme::Regrow).recovery_threads(3).open_device(disk.device());
    let db = open().expect("opens");
    let mut session = db.session().expect("a session");
    let keys = ["k bigint PRIMARY KEY", "k text PRIMARY KEY", "k int, PRIMARY KEY (k, a)", "k bigint"];
    let tables = 2100;
    for n in 0..tables {
        let key = keys[n / 1050 + n % 2 * 2];
        session.execute(&format!("CREATE TABLE t{n} (a bigint UNIQUE, {key})"), ()).expect("a table");
    }
    let script = "CREATE PROCEDURE add(x bigint) LANGUAGE plpgsql AS $$ BEGIN UPDATE t7 SET a = a + x WHERE k = 7; END $$;
                  INSERT INTO t7 VALUES (1, 7)";
    session.execute_script(script).expect("a row");
    for round in 0..4 {
        for n in (0..tables).step_by(3) {
            session.execute(&format!("INSERT INTO t{n} VALUES ({round}, {round})"), ()).expect("a row");
            if round == 3 {
                // Unique keys wander from row to row.
                session.execute(&format!("DELETE FROM t{n} WHERE a = 0"), ()).expect("deletes");
                session.execute(&format!("UPDATE t{n} SET a = 0 WHERE a = 1"), ()).expect("takes its key");
            }
            if n % 100 == 0 {
                session.execute("CALL add(1)", ()).expect("adds");
            }
        }
    }
    drop(session);
    let digests = db.digests().expect("reads");
    db.close().expect("closes");
    let db = open().expect("recovers");
    assert_eq!(db.digests().expect("reads"), digests);
    db.check().expect("rows and indexes agree");
}
