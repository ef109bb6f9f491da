//! `citext`, `pgcrypto`: keys that ignore case and what is drawn come back from the log, whoever replays it.

use crate::logged::records;
use planaria::lab::LabOptions;
use planaria::{LogKind, Options, Scheme};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE EXTENSION citext;
    CREATE EXTENSION pgcrypto WITH SCHEMA public;
    CREATE TABLE people (email citext PRIMARY KEY, n int NOT NULL, hash text, token bytea, tags citext[]);
    CREATE TABLE visits (id int PRIMARY KEY, email citext REFERENCES people ON UPDATE CASCADE, at citext UNIQUE);
    CREATE PROCEDURE enroll(who citext, k int) LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO people VALUES (who, k, NULL, NULL, ARRAY[who])
            ON CONFLICT (email) DO UPDATE SET n = people.n + excluded.n; END $$;
    CREATE PROCEDURE keep(who citext, secret text) LANGUAGE plpgsql AS $$ BEGIN
        UPDATE people SET hash = crypt(secret, gen_salt('bf', 4)), token = gen_random_bytes(9) WHERE email = who; END $$;
    CREATE PROCEDURE visit(k int, who citext, place text) LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO visits VALUES (k, who, place::citext); END $$;
    CREATE PROCEDURE write(who citext) LANGUAGE plpgsql AS $$ BEGIN
        UPDATE people SET email = who WHERE email = who; END $$;
    CREATE PROCEDURE forget(who citext) LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM visits WHERE email = who; DELETE FROM people WHERE email = who; END $$;
";

const CALLS: [&str; 16] = [
    "enroll('Ann@X.org', 1)",
    "enroll('bob@x.org', 2)",
    "enroll('ANN@x.ORG', 10)",
    "keep('ann@x.org', 'secret')",
    "enroll('Carl@x.org', 3)",
    "visit(1, 'BOB@X.ORG', 'Here')",
    "visit(2, 'ann@x.org', 'There')",
    "write('ANN@X.ORG')",
    "write('bOb@x.org')",
    "forget('CARL@X.ORG')",
    "enroll('cARL@x.org', 4)",
    "visit(3, 'carl@x.org', 'Where')",
    "keep('Bob@x.org', 'other')",
    "forget('ANN@x.org')",
    "enroll('ann@X.ORG', 5)",
    "keep('CARL@x.org', 'third')",
];

const SHOWN: &str = "
    SELECT p.email || ' ' || n || ' ' || tags::text || ' ' || coalesce(v.id::text || v.at, '') || ' '
           || coalesce((crypt('other', hash) = hash)::text, '')
    FROM people p LEFT JOIN visits v ON v.email = p.email ORDER BY p.email, v.id";

#[test]
fn keys_that_ignore_case_are_replayed() {
    for scheme in Scheme::ALL {
        let disk = SimDisk::new(7);
        let options = || Options::new().log(LogKind::Command).recovery(*scheme);
        let db = options().open_device(disk.device()).expect("opens");
        db.execute_script(SCHEMA).expect("creates");
        for call in CALLS {
            db.execute_script(&format!("CALL {call}")).expect(call);
        }
        let shown = || {
            let rows = db.query(SHOWN, ()).expect("rows");
            rows.iter().map(|row| row.text(0).unwrap_or_default()).collect::<Vec<_>>()
        };
        let wanted = [
            "ann@X.ORG 5 {ann@X.ORG}  ",
            "bOb@x.org 2 {bob@x.org} 1Here true",
            "cARL@x.org 4 {cARL@x.org} 3Where false",
        ];
        assert_eq!(shown(), wanted, "{scheme}");
        let digests = db.digests().expect("digests");
        drop(db);
        let kinds = records(&disk);
        assert!(kinds.iter().filter(|kind| kind.ends_with("call")).count() >= 12, "{scheme}: {kinds:?}");
        let db = options().open_device(disk.device()).expect("opens again");
        db.check().expect("is whole");
        assert_eq!(db.digests().expect("digests"), digests, "{scheme}");
        let rows = db.query(SHOWN, ()).expect("rows");
        let rows: Vec<_> = rows.iter().map(|row| row.text(0).unwrap_or_default()).collect();
        assert_eq!(rows, wanted, "{scheme}");
        for refused in ["visit(9, 'nobody@x.org', 'x')", "visit(9, 'ANN@x.org', 'HERE')"] {
            assert!(db.execute_script(&format!("CALL {refused}")).is_err(), "{scheme}: {refused}");
        }
        // A checkpoint keeps the same.
        db.checkpoint().expect("a checkpoint");
        drop(db);
        let db = options().open_device(disk.device()).expect("opens from the checkpoint");
        assert_eq!(db.digests().expect("digests"), digests, "{scheme}");
        let found = db.query("SELECT n FROM people WHERE email = 'BOB@x.org'", ()).expect("found");
        assert_eq!(found.iter().count(), 1, "{scheme}");
    }
}
