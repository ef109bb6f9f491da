//! TRUNCATE in a routine deletes rows within the routine's program: the calls stay calls, and every scheme replays them.

use crate::logged::{logged, replayed_by_all};

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE part (id int PRIMARY KEY, t int REFERENCES t);
    CREATE TABLE told (n bigint PRIMARY KEY, what text);
    CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO told SELECT (SELECT count(*) FROM told), tg_when || ' ' || count(*) FROM part;
        RETURN NULL;
    END $$;
    CREATE TRIGGER b BEFORE TRUNCATE ON part EXECUTE FUNCTION tell();
    CREATE TRIGGER a AFTER TRUNCATE ON part EXECUTE FUNCTION tell();
    CREATE PROCEDURE fill(p_from int, p_n int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t SELECT i, i FROM generate_series(p_from, p_from + p_n) i;
        INSERT INTO part SELECT id, id FROM t WHERE id >= p_from;
    END $$;
    CREATE PROCEDURE anew(p_from int) LANGUAGE plpgsql AS $$
    BEGIN
        TRUNCATE t CASCADE;
        CALL fill(p_from, 3);
    END $$;
    CREATE PROCEDURE swap(p_from int) LANGUAGE plpgsql AS $$
    BEGIN
        CALL anew(p_from);
        BEGIN
            TRUNCATE part;
            RAISE EXCEPTION 'no';
        EXCEPTION WHEN raise_exception THEN
            UPDATE t SET v = v + (SELECT count(*) FROM part);
        END;
    END $$;
    CREATE PROCEDURE by_text(p_what text) LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE 'TRUNCATE ' || p_what;
    END $$;";

#[test]
fn calls_stay_calls() {
    let all = logged(&format!("{SCHEMA} CALL fill(1, 5); CALL anew(4);"));
    let calls: Vec<_> = all.iter().filter(|record| !record.contains("sequence")).collect();
    assert!(calls.iter().rev().take(2).all(|record| record.ends_with("call")), "{all:?}");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            db.call("fill", (1, 5)).expect("fills");
            db.call("anew", (3,)).expect("empties and fills");
            db.call("swap", (5,)).expect("empties and fills");
            db.call("by_text", ("part",)).expect("empties");
            db.call("fill", (20, 2)).expect("fills");
        },
        &|db| {
            let rows = db.query("SELECT count(*), sum(v) FROM t", ()).expect("reads");
            assert_eq!((rows[0].get::<i64>(0).unwrap(), rows[0].get::<i64>(1).unwrap()), (7, 105));
            let rows = db.query("SELECT count(*) FROM part", ()).expect("reads");
            assert_eq!(rows[0].get::<i64>(0).unwrap(), 3);
        },
    );
}
