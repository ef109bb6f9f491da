//! `txid_current()` is an input of a call, and `xmax` of an upsert is computed within its program: the calls stay calls, and
//! every scheme replays them.

use crate::logged::{logged, replayed_by_all};
use planaria::lab::LabOptions;
use planaria::{Database, Options};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE audit (id int, what text, tx bigint NOT NULL DEFAULT txid_current());
    CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO audit (id, what) VALUES (NEW.id, TG_OP);
        RETURN NULL;
    END $$;
    CREATE TRIGGER noted AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION noted();
    CREATE PROCEDURE put(p_id int, p_v int) LANGUAGE plpgsql AS $$
    DECLARE fresh boolean;
    BEGIN
        INSERT INTO t VALUES (p_id, p_v) ON CONFLICT (id) DO UPDATE SET v = t.v + excluded.v
        RETURNING xmax = 0 INTO fresh;
        IF NOT fresh THEN
            INSERT INTO audit (id, what) VALUES (p_id, 'was there');
        END IF;
    END $$;";

#[test]
fn calls_stay_calls() {
    let all = logged(&format!("{SCHEMA} CALL put(1, 5); CALL put(1, 4); CALL put(2, 1);"));
    let calls: Vec<_> = all.iter().filter(|record| !record.contains("sequence")).collect();
    assert!(calls.len() == 3 && calls.iter().all(|record| record.ends_with("call")), "{all:?}");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for (id, v) in [(1, 1), (2, 2), (1, 3), (3, 3), (2, 1)] {
                db.call("put", (id, v)).expect("puts");
            }
        },
        &|db| {
            let sql =
                "SELECT string_agg(id || ' ' || what, ', ' ORDER BY what) FROM audit GROUP BY tx ORDER BY tx";
            let rows = db.query(sql, ()).expect("reads");
            let all: Vec<String> = rows.iter().map(|row| row.get(0).unwrap()).collect();
            let (one, two, three) = ("1 INSERT", "2 INSERT", "3 INSERT");
            assert_eq!(all, [one, two, "1 UPDATE, 1 was there", three, "2 UPDATE, 2 was there"]);
        },
    );
}

#[test]
fn numbers_rise_over_restarts() {
    let disk = SimDisk::new(1);
    let number = |db: &Database| db.query("SELECT txid_current()", ()).unwrap()[0].get::<i64>(0).unwrap();
    let mut last = 0;
    for restart in 0..4 {
        let db = Options::new().open_device(disk.device()).expect("opens");
        if restart == 0 {
            db.execute_script("CREATE TABLE t (id int PRIMARY KEY, tx bigint)").expect("creates");
        }
        for n in 0..3 {
            db.execute("INSERT INTO t VALUES ($1, txid_current())", (restart * 3 + n,)).expect("inserts");
            let now = number(&db);
            assert!(now > last, "{now} after {last}");
            last = now;
        }
    }
}
