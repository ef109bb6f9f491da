//! Partitioned tables: calls that insert into them and add rows up stay calls; every scheme recovers them, with
//! checkpoints and without, and what ATTACH, DETACH and DROP did to rows.

use crate::logged::{logged, replayed_by_all};
use planaria::{Database, Options, Scheme};

const SCHEMA: &str = "
    CREATE TABLE sensor (id int PRIMARY KEY, name text NOT NULL);
    INSERT INTO sensor VALUES (1, 'a'), (2, 'b'), (3, 'c');
    CREATE TABLE m (sensor int NOT NULL REFERENCES sensor, day date NOT NULL, n bigserial, v int NOT NULL CHECK (v >= 0),
        PRIMARY KEY (sensor, day, n)) PARTITION BY RANGE (day);
    CREATE TABLE m_1 PARTITION OF m FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
    CREATE TABLE m_2 PARTITION OF m FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY LIST (sensor);
    CREATE TABLE m_2_a PARTITION OF m_2 FOR VALUES IN (1, 2);
    CREATE TABLE m_2_b PARTITION OF m_2 DEFAULT;
    CREATE INDEX ON m (v);
    CREATE TABLE h (id int PRIMARY KEY, hits int NOT NULL DEFAULT 0) PARTITION BY HASH (id);
    CREATE TABLE h_0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE h_1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    CREATE TABLE seen (n serial PRIMARY KEY, what text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO seen (what) VALUES (tg_op || ' ' || tg_table_name || ' ' || new.v); RETURN NULL; END $$;
    CREATE TRIGGER note AFTER INSERT OR UPDATE ON m FOR EACH ROW EXECUTE FUNCTION note();
    CREATE PROCEDURE measure(p_sensor int, p_day date, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO m (sensor, day, v) VALUES (p_sensor, p_day, p_v);
        INSERT INTO h VALUES (p_v, 1) ON CONFLICT (id) DO UPDATE SET hits = h.hits + 1;
    END $$;
    CREATE PROCEDURE later(p_sensor int, p_days int) LANGUAGE plpgsql AS $$
    BEGIN UPDATE m SET day = day + p_days WHERE sensor = p_sensor; END $$;
    CREATE PROCEDURE fold(p_sensor int) LANGUAGE plpgsql AS $$
    DECLARE total bigint;
    BEGIN
        SELECT sum(v) INTO total FROM m_2 WHERE sensor = p_sensor;
        DELETE FROM m_1 WHERE sensor = p_sensor;
        INSERT INTO m_1 (sensor, day, v) VALUES (p_sensor, '2026-01-31', coalesce(total, 0));
    END $$;";

fn work(db: &Database) {
    for (sensor, day, v) in [
        (1, "2026-01-05", 10),
        (2, "2026-01-20", 20),
        (3, "2026-02-03", 30),
        (1, "2026-02-10", 10),
        (2, "2026-01-02", 7),
    ] {
        db.execute(&format!("CALL measure({sensor}, '{day}', {v})"), ()).expect("measures");
    }
    // Two rows move to another partition.
    db.call("later", (2, 25)).expect("moves");
    let none = db.execute("CALL measure(1, '2027-01-01', 99)", ()).expect_err("no partition");
    assert_eq!(none.message(), "no partition of relation \"m\" found for row");
    db.call("fold", (1,)).expect("folds");
    db.execute("UPDATE m_2 SET v = v + 1 WHERE sensor = 3", ()).expect("changes");
}

fn text(db: &Database, query: &str) -> String {
    db.query(query, ()).expect("rows")[0].get::<Option<String>>(0).expect("a text").unwrap_or_default()
}

const ALL: &str = "SELECT string_agg(concat_ws(' ', sensor, day, v, tableoid::regclass), ', ' ORDER BY sensor, day, v) FROM m";
const HITS: &str = "SELECT string_agg(concat_ws(' ', id, hits), ', ' ORDER BY id) FROM h";
const SEEN: &str = "SELECT string_agg(what, ', ' ORDER BY n) FROM seen";

#[test]
fn calls_stay_calls() {
    let all = logged(&format!(
        "CREATE SEQUENCE s; CREATE TABLE t (id int PRIMARY KEY, v int); {SCHEMA} CALL measure(1, '2026-01-05', 10); CALL measure(2, '2026-01-20', 20); CALL fold(1);"
    ));
    let calls: Vec<_> = all.iter().filter(|record| !record.contains("sequence")).collect();
    assert!(calls.iter().rev().take(3).all(|record| record.ends_with("call")), "{all:?}");
}

#[test]
fn every_scheme_has_the_same_rows_in_the_same_partitions() {
    replayed_by_all(SCHEMA, &work, &|db| {
        assert_eq!(
            text(db, ALL),
            "1 2026-01-31 10 m_1, 1 2026-02-10 10 m_2_a, 2 2026-01-27 7 m_1, 2 2026-02-14 20 m_2_a, 3 2026-02-03 31 m_2_b"
        );
        assert_eq!(text(db, HITS), "7 1, 10 2, 20 1, 30 1");
        assert_eq!(
            text(db, SEEN),
            "INSERT m_1 10, INSERT m_1 20, INSERT m_2_b 30, INSERT m_2_a 10, INSERT m_1 7, UPDATE m_1 20, UPDATE m_1 7, \
             INSERT m_1 10, UPDATE m_2_b 31"
                .replace("UPDATE m_1 20, UPDATE m_1 7", &text(db, MOVED))
        );
    });
}

/// Rows of one statement are changed in the order of the key.
const MOVED: &str = "SELECT string_agg(what, ', ' ORDER BY n) FROM seen WHERE n IN (6, 7)";

#[test]
fn changes_of_partitions_are_recovered() {
    for scheme in [Scheme::Clr, Scheme::Regrow] {
        for checkpoint in [false, true] {
            let dir = tempfile::tempdir().expect("a directory");
            let open = || Options::new().recovery(scheme).open(dir.path()).expect("opens");
            let db = open();
            db.execute_script(SCHEMA).expect("the schema");
            work(&db);
            db.execute_script(
                "ALTER TABLE m DETACH PARTITION m_1;
                 INSERT INTO m_1 (sensor, day, n, v) VALUES (3, '2026-01-15', 100, 1);",
            )
            .expect("detaches");
            if checkpoint {
                db.execute("CHECKPOINT", ()).expect("a checkpoint");
            }
            db.execute_script(
                "CREATE TABLE m_0 PARTITION OF m FOR VALUES FROM (MINVALUE) TO ('2026-01-01');
                 BEGIN; ALTER TABLE m ATTACH PARTITION m_1 FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
                 UPDATE m SET v = v + 1 WHERE sensor = 3; COMMIT;
                 BEGIN; DROP TABLE m_1; ROLLBACK;
                 DROP TABLE m_2_a;
                 TRUNCATE m_0;",
            )
            .expect("attaches");
            let expected =
                "1 2026-01-31 10 m_1, 2 2026-01-27 7 m_1, 3 2026-01-15 2 m_1, 3 2026-02-03 32 m_2_b";
            assert_eq!(text(&db, ALL), expected);
            db.close().expect("closes");
            for _ in 0..2 {
                let db = open();
                assert_eq!(text(&db, ALL), expected, "{scheme:?} {checkpoint}");
                let refused =
                    db.execute("INSERT INTO m VALUES (1, '2026-03-02', 1, 1)", ()).expect_err("no partition");
                assert_eq!(refused.sqlstate().as_str(), "23514");
                db.close().expect("closes");
            }
        }
    }
}

/// Calls whose rows move, are kept where they are, or have no partition before their triggers fire.
#[test]
fn rows_that_move_before_triggers_come_back() {
    let script = "
        CREATE TABLE heard (n serial PRIMARY KEY, what text);
        CREATE TABLE p (id int, k int, v int, w int GENERATED ALWAYS AS (k + v) STORED, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
        CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
        CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2, 3);
        CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO heard (what) VALUES (concat_ws(' ', TG_WHEN, TG_OP, TG_TABLE_NAME, coalesce(NEW.id, OLD.id)));
            IF TG_WHEN = 'BEFORE' AND TG_OP = 'DELETE' AND OLD.v = 5 THEN RETURN NULL; END IF;
            IF TG_WHEN = 'BEFORE' AND TG_OP = 'INSERT' AND NEW.id = 4 AND NEW.v = 4 THEN RETURN NULL; END IF;
            IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
            IF TG_WHEN = 'BEFORE' THEN NEW.v := NEW.v + 1; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION hear();
        CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON p FOR EACH ROW EXECUTE FUNCTION hear();
        CREATE PROCEDURE put(i int, to_k int, n int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO p VALUES (i, to_k, n); END $$;
        CREATE PROCEDURE move(i int, to_k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE p SET k = to_k WHERE id = i; END $$;";
    let run = |db: &Database| {
        for (id, k, v) in [(1, 1, 10), (2, 2, 4), (3, 3, 3), (4, 2, 0)] {
            db.call("put", (id, k, v)).expect("inserts");
        }
        db.call("put", (4, 9, 4)).expect_err("no partition");
        // It moves; it stays; it is kept; it is within its partition; it is lost on the way.
        for (id, k) in [(1, 2), (1, 3), (2, 1), (3, 2), (4, 3), (4, 3), (4, 1)] {
            db.call("move", (id, k)).expect("moves");
        }
        db.call("move", (1, 9)).expect_err("no partition");
    };
    replayed_by_all(script, &run, &|db| {
        let rows =
            "SELECT string_agg(concat_ws(' ', id, k, v, w, tableoid::regclass), ', ' ORDER BY id) FROM p";
        assert_eq!(text(db, rows), "1 3 14 17 p2, 2 2 5 7 p2, 3 2 5 7 p2");
        let count = text(db, "SELECT count(*)::text FROM heard WHERE what LIKE '% 4'");
        assert_eq!(count, "10", "{}", text(db, "SELECT string_agg(what, ', ' ORDER BY n) FROM heard"));
    });
}

/// Calls that fire triggers of single partitions stay calls, and come back.
#[test]
fn triggers_of_single_partitions_come_back() {
    let script = "
        CREATE TABLE heard (n serial PRIMARY KEY, what text);
        CREATE TABLE p (id int, k int, v text, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
        CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
        CREATE TABLE p2 (v text, k int NOT NULL, id int NOT NULL);
        CREATE FUNCTION hear() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO heard (what) VALUES (concat_ws(' ', TG_NAME, TG_OP, TG_TABLE_NAME, coalesce(NEW.id, OLD.id), coalesce(NEW.v, OLD.v)));
            IF TG_WHEN = 'BEFORE' AND TG_OP <> 'DELETE' THEN NEW.v := NEW.v || '+'; END IF;
            RETURN coalesce(NEW, OLD);
        END $$;
        CREATE TRIGGER second BEFORE INSERT OR DELETE ON p2 FOR EACH ROW EXECUTE FUNCTION hear();
        ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2, 3);
        CREATE TRIGGER first BEFORE INSERT OR UPDATE ON p1 FOR EACH ROW EXECUTE FUNCTION hear();
        CREATE TRIGGER last AFTER UPDATE OR INSERT ON p2 FOR EACH ROW WHEN (new.k = 3) EXECUTE FUNCTION hear();
        CREATE TRIGGER root AFTER DELETE ON p FOR EACH ROW EXECUTE FUNCTION hear();
        CREATE PROCEDURE put(i int, to_k int, t text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO p VALUES (i, to_k, t); END $$;
        CREATE PROCEDURE move(i int, to_k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE p SET k = to_k WHERE id = i; END $$;
        CREATE PROCEDURE drop_one(i int) LANGUAGE plpgsql AS $$ BEGIN DELETE FROM p2 WHERE id = i; END $$;";
    let all = logged(&format!(
        "CREATE SEQUENCE s; CREATE TABLE t (id int PRIMARY KEY, v int); {script} CALL put(1, 1, 'x'); CALL put(2, 2, 'x'); CALL drop_one(2);"
    ));
    let calls: Vec<_> = all.iter().filter(|record| !record.contains("sequence")).collect();
    assert!(calls.iter().rev().take(3).all(|record| record.ends_with("call")), "{all:?}");
    let run = |db: &Database| {
        for (id, k) in [(1, 1), (2, 2), (3, 3), (4, 1)] {
            db.call("put", (id, k, "x")).expect("inserts");
        }
        for (id, k) in [(1, 2), (1, 3), (2, 3), (4, 1), (3, 1)] {
            db.call("move", (id, k)).expect("moves");
        }
        db.call("drop_one", (1,)).expect("deletes");
    };
    replayed_by_all(script, &run, &|db| {
        let rows = "SELECT string_agg(concat_ws(' ', id, k, v, tableoid::regclass), ', ' ORDER BY id) FROM p";
        assert_eq!(text(db, rows), "2 3 x+ p2, 3 1 x++ p1, 4 1 x++ p1");
        assert_eq!(
            text(db, "SELECT string_agg(what, ', ' ORDER BY n) FROM heard"),
            "first INSERT p1 1 x, second INSERT p2 2 x, second INSERT p2 3 x, last INSERT p2 3 x+, first INSERT p1 4 x, \
             first UPDATE p1 1 x+, second INSERT p2 1 x++, root DELETE p1 1 x+, last UPDATE p2 1 x+++, \
             last UPDATE p2 2 x+, first UPDATE p1 4 x+, second DELETE p2 3 x+, first INSERT p1 3 x+, root DELETE p2 3 x+, \
             second DELETE p2 1 x+++, root DELETE p2 1 x+++"
        );
    });
}
