//! What replay leaves out of procedures, as they are cut, changes nothing: constants that pass through blocks, calls and branches,
//! branches that are never taken, variables that are read before they are written or copied in circles, lists that only lock.

use planaria::lab::LabOptions;
use planaria::{LogKind, Options, Scheme};
use planaria_sim::disk::SimDisk;

const SCRIPT: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int, n numeric(10,2), b bool, w int);
    CREATE TABLE u (id int PRIMARY KEY);
    CREATE PROCEDURE leaves_a_block(k int) LANGUAGE plpgsql AS $$
    DECLARE v int;
    BEGIN
        <<inner>> BEGIN
            v := 5;
            EXIT inner WHEN k % 2 = 0;
            INSERT INTO u VALUES (k);
        END;
        INSERT INTO t VALUES (k, k + v, v, k > 2, v);
    END $$;
    CREATE PROCEDURE five(OUT r numeric(10,2)) LANGUAGE plpgsql AS $$ BEGIN r := 5; END $$;
    CREATE PROCEDURE asks_another(k int) LANGUAGE plpgsql AS $$
    DECLARE r numeric(10,2);
    BEGIN
        CALL five(r);
        INSERT INTO t VALUES (k, 1, r, r > 4, 2);
    END $$;
    CREATE PROCEDURE chooses(k int) LANGUAGE plpgsql AS $$
    DECLARE v numeric(10,2); w int;
    BEGIN
        IF k % 2 = 0 THEN SELECT 0.5::numeric(10,2), 7 INTO v, w; END IF;
        INSERT INTO t VALUES (k, 3, v, v IS NULL, w);
    END $$;
    CREATE PROCEDURE may_count(k int) LANGUAGE plpgsql AS $$
    DECLARE counts CONSTANT bool := false; mode CONSTANT int := 2; x int;
    BEGIN
        SELECT v INTO x FROM t WHERE id = k;
        IF counts THEN UPDATE t SET w = w + 1 WHERE id = k; END IF;
        IF mode = 1 THEN UPDATE t SET w = w + 2 WHERE id = k; END IF;
        UPDATE t SET v = x + 1 WHERE id = k;
    END $$;
    CREATE PROCEDURE compares_sometimes(k int, c bool) LANGUAGE plpgsql AS $$
    DECLARE f bool;
    BEGIN
        IF c THEN f := k < 45; END IF;
        IF f THEN INSERT INTO t VALUES (k, 4, 4, true, 4); ELSE INSERT INTO t VALUES (k, 5, 5, false, 5); END IF;
    END $$;
    CREATE PROCEDURE writes_late(k int) LANGUAGE plpgsql AS $$
    DECLARE v int; w int := 1;
    BEGIN
        FOR i IN 1..3 LOOP
            INSERT INTO t VALUES (k * 10 + i, v, w, v IS NULL, w + w);
            v := 7;
            IF i = 2 THEN w := 9; END IF;
        END LOOP;
    END $$;
    CREATE PROCEDURE locks_both(one int, other int) LANGUAGE plpgsql AS $$
    DECLARE x int;
    BEGIN
        PERFORM 1 FROM t WHERE id IN (one, other) ORDER BY id FOR UPDATE;
        SELECT v INTO x FROM t WHERE id = one;
        UPDATE t SET v = v - 1, n = n - 0.25 WHERE id = one;
        UPDATE t SET v = v + x, n = n + 0.25 WHERE id = other;
    END $$;
    CREATE PROCEDURE copies_in_circles(k int) LANGUAGE plpgsql AS $$
    DECLARE a int; b int;
    BEGIN
        FOR i IN 1..2 LOOP
            a := b; b := a;
            EXIT WHEN k >= b;
            INSERT INTO t VALUES (k + i, b, a, a IS NULL, i);
        END LOOP;
    END $$;
    CREATE PROCEDURE sums_again(k int, m numeric) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE t SET n = n + (k + 1) * 0.5, w = k + 1, v = (k + 1) * (k + 1) WHERE id = k;
        UPDATE t SET n = n + (k + 1) * 0.5 WHERE id = k + 1;
    END $$;";

#[test]
fn calls_are_replayed_as_they_ran() {
    let disk = SimDisk::new(11);
    let open = |scheme: Scheme| {
        let options = Options::new().log(LogKind::Command).recovery(scheme).recovery_threads(2);
        options.open_device(disk.device()).unwrap_or_else(|e| panic!("{scheme:?}: {e:?}"))
    };
    let db = open(Scheme::Clr);
    db.execute_script(SCRIPT).expect("the schema");
    for k in 1..=8 {
        for call in [
            format!("CALL leaves_a_block({k})"),
            // What other calls leave as it is.
            format!("CALL leaves_a_block({})", 500 + k),
            format!("CALL asks_another({})", 520 + k),
            format!("CALL asks_another({})", 10 + k),
            format!("CALL chooses({})", 20 + k),
            format!("CALL compares_sometimes({}, {})", 40 + k, ["true", "false", "NULL"][k % 3]),
            format!("CALL writes_late({})", 20 + k),
            format!("CALL may_count({k})"),
            format!("CALL copies_in_circles({})", 600 + 3 * k),
            format!("CALL locks_both({}, {})", 10 + k, (k + 3) % 8 + 1),
            format!("CALL sums_again({k}, 0.5)"),
        ] {
            db.execute(&call, ()).unwrap_or_else(|e| panic!("{call}: {e:?}"));
        }
    }
    let rows = |db: &planaria::Database| {
        let all = db.query("SELECT * FROM t ORDER BY id", ()).expect("rows");
        format!("{all:?}")
    };
    let (before, digests) = (rows(&db), db.digests().expect("reads"));
    db.close().expect("closes");
    for scheme in Scheme::ALL.iter().copied() {
        let db = open(scheme);
        assert_eq!(rows(&db), before, "{scheme:?}");
        assert_eq!(db.digests().expect("reads"), digests, "{scheme:?}");
        db.close().expect("closes");
    }
}
