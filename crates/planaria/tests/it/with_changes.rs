//! Changes in WITH within procedures: how their calls are logged, and what every scheme makes of that.

use crate::logged::logged;
use planaria::lab::LabOptions;
use planaria::{LogKind, Options, Scheme};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE TABLE archive (id int PRIMARY KEY, n int NOT NULL);
    CREATE TABLE moved (at serial PRIMARY KEY, id int, n int);
    CREATE PROCEDURE move(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        WITH gone AS (DELETE FROM t WHERE id = p_id RETURNING id, v),
             kept AS (INSERT INTO archive SELECT id, v FROM gone RETURNING id, n)
        INSERT INTO moved (id, n) SELECT id, n + 1 FROM kept;
    END $$;
    INSERT INTO t SELECT i, i * 10 FROM generate_series(1, 20) AS i;";

#[test]
fn a_call_is_logged_as_a_call() {
    assert!(logged(&format!("{SCHEMA} CALL move(3);")).iter().any(|record| record.ends_with("call")));
}

#[test]
fn every_scheme_moves_the_same_rows() {
    for kind in [LogKind::Command, LogKind::Logical] {
        let disk = SimDisk::new(7);
        let open = |scheme: Scheme| {
            let options = Options::new().log(kind).recovery(scheme).recovery_threads(2);
            options.open_device(disk.device()).unwrap_or_else(|e| panic!("{kind:?}, {scheme:?}: {e:?}"))
        };
        let db = open(Scheme::Clr);
        db.execute_script(SCHEMA).expect("runs");
        for id in [3, 5, 3, 20, 77] {
            db.call("move", (id,)).expect("moves");
        }
        let digests = db.digests().expect("reads");
        let moved =
            db.query("SELECT string_agg(id || ' ' || n, ', ' ORDER BY at) FROM moved", ()).expect("rows");
        assert_eq!(moved[0].get::<String>(0).expect("a text"), "3 31, 5 51, 20 201");
        db.close().expect("closes");
        for scheme in Scheme::ALL.iter().copied() {
            let db = open(scheme);
            assert_eq!(db.digests().expect("reads"), digests, "{kind:?}, {scheme:?}");
            db.check().expect("rows and indexes agree");
        }
    }
}
