//! Records that are read before the text assigns them, rows that are NULL as a whole, and what RETURNING asks of tables that go
//! with a row: calls are logged as calls, and every scheme replays them.

use crate::logged::{replayed_by_all, stay_calls};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, k int, v text);
    CREATE TABLE child (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE);
    CREATE TABLE runs (id int PRIMARY KEY, first int, n int, of text);
    CREATE SEQUENCE s;
    CREATE FUNCTION keeps() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE kept record;
    BEGIN
        IF new.n > 0 THEN kept := new; END IF;
        kept.of := coalesce(kept.of, '-') || coalesce(old.of, '.');
        RETURN kept;
    EXCEPTION WHEN object_not_in_prerequisite_state THEN RETURN NULL;
    END $$;
    CREATE TRIGGER keeps BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION keeps();
    CREATE PROCEDURE put(p_id int, p_k int) LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO t VALUES (p_id, p_k, 'v' || p_k); INSERT INTO child VALUES (p_id, p_id); END $$;
    CREATE PROCEDURE cut(p_id int, p_from int, p_to int) LANGUAGE plpgsql AS $$
    DECLARE prev record; r record; n int := 0;
    BEGIN
        FOR r IN SELECT id, k, v FROM t WHERE id BETWEEN p_from AND p_to ORDER BY id LOOP
            IF prev IS NOT NULL THEN
                IF prev.k <> r.k THEN
                    INSERT INTO runs VALUES (p_id + n, prev.id, n, prev.v);
                    n := n + 1;
                END IF;
            END IF;
            prev := r;
        END LOOP;
        IF prev IS NULL THEN INSERT INTO runs VALUES (p_id, 0, 1, 'none'); END IF;
    END $$;
    CREATE PROCEDURE leaves(p_id int, p_at int) LANGUAGE plpgsql AS $$
    DECLARE q record; z t; s t;
    BEGIN
        FOR i IN 1..3 LOOP
            EXIT WHEN i = p_at;
            SELECT id, k INTO q FROM t WHERE id = i;
        END LOOP;
        FOR i IN 1..3 LOOP
            CONTINUE WHEN i <> p_at;
            s := z;
            SELECT * INTO z FROM t WHERE id = i;
        END LOOP;
        BEGIN
            s := ROW(p_id, 1, 'x');
            IF p_at = 2 THEN PERFORM 1 / 0; END IF;
            s := NULL;
        EXCEPTION WHEN division_by_zero THEN NULL;
        END;
        INSERT INTO runs VALUES (p_id, p_at, 1, format('%s %s %s', q, z, s));
    END $$;
    CREATE PROCEDURE drops(p_from int, p_to int) LANGUAGE plpgsql AS $$
    DECLARE had bigint;
    BEGIN
        FOR had IN DELETE FROM t WHERE id BETWEEN p_from AND p_to RETURNING (SELECT count(*) FROM child) LOOP
            INSERT INTO runs VALUES (5000 + (SELECT count(*) FROM runs), had, 1, 'gone');
        END LOOP;
    END $$;";

#[test]
fn calls_are_logged_as_calls() {
    stay_calls(SCHEMA, &["CALL put(1, 5)", "CALL cut(1, 0, 9)", "CALL leaves(1, 3)"]);
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in 0..20 {
                db.call("put", (id, id / 3)).expect("put");
            }
            for id in 0..4 {
                db.call("cut", (100 * (id + 1), id * 4, id * 4 + 8)).expect("cut");
            }
            db.call("cut", (900, 50, 60)).expect("cut");
            for at in 1..5 {
                db.call("leaves", (2000 + at, at)).expect("leaves");
            }
            db.call("drops", (3, 6)).expect("drops");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(one("SELECT of FROM runs WHERE id = 900"), "none.");
            assert_eq!(
                one("SELECT string_agg(first::text, ' ' ORDER BY id) FROM runs WHERE id >= 5000"),
                "20 20 20 20"
            );
            assert_eq!(
                one("SELECT string_agg(of, ' ' ORDER BY id) FROM runs WHERE id BETWEEN 2001 AND 2004"),
                " (1,0,v0) . (1,0) (2,0,v0) (2002,1,x). (2,0) (3,1,v1) . (3,1)  ."
            );
            assert_eq!(one("SELECT count(*)::text FROM runs WHERE id % 100 = 0 AND id < 500"), "0");
        },
    );
}
