//! Routines whose bodies nobody looked at when they were created, as a dump has them: before their tables.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme};
use planaria_sim::disk::SimDisk;

fn state(db: &Database, statement: &str) -> String {
    db.execute(statement, ()).map_or_else(|e| e.sqlstate().as_str().to_owned(), |_| "fine".to_owned())
}

#[test]
fn they_are_looked_at_when_they_run() {
    for log in [LogKind::Command, LogKind::Logical] {
        for scheme in Scheme::ALL {
            let disk = SimDisk::new(1);
            let open =
                || Options::new().log(log).recovery(*scheme).open_device(disk.device()).expect("opens");
            let db = open();
            let create = "CREATE PROCEDURE put(n int) LANGUAGE plpgsql AS $$ DECLARE r later%ROWTYPE; BEGIN r.n := n; \
                          INSERT INTO later VALUES (r.n); END $$";
            assert_eq!(state(&db, create), "42P01", "they are looked at, usually");
            let mut session = db.session().expect("a session");
            session
                .execute_script(&format!(
                    "SET check_function_bodies = off; {create};
                     CREATE FUNCTION wrong() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN nosuch(); END $$;
                     CREATE TABLE other (n int PRIMARY KEY); INSERT INTO other VALUES (1);"
                ))
                .expect("creates");
            drop(session);
            assert_eq!(state(&db, "CALL put(1)"), "42P01");
            assert_eq!(state(&db, "SELECT wrong()"), "42883");
            drop(db);
            let db = open();
            assert_eq!(state(&db, "CALL put(1)"), "42P01");
            db.execute("CREATE TABLE later (n int PRIMARY KEY)", ()).expect("its table");
            assert_eq!(state(&db, "CALL put(1)"), "fine");
            assert_eq!(state(&db, "SELECT wrong()"), "42883");
            let digests = db.digests().expect("digests");
            drop(db);
            let db = open();
            assert_eq!(db.digests().expect("digests"), digests, "{log} {scheme}");
            assert_eq!(state(&db, "CALL put(1)"), "23505");
        }
    }
}
