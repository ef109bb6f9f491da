//! Columns of `bit(n)` and `bit varying(n)` go to triggers, routines and parts of statements that know no length.

use crate::logged::{logged, replayed_by_all};

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, b bit(4), v bit varying(8));
    CREATE TABLE seen (id int PRIMARY KEY, b bit varying, v bit varying);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO seen VALUES (NEW.id, OLD.b || NEW.b, NEW.v) ON CONFLICT (id) DO UPDATE SET b = excluded.b, v = seen.v || excluded.v;
        RETURN NULL;
    END $$;
    CREATE TRIGGER note AFTER INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION note();
    CREATE PROCEDURE put(p_id int, p_b bit(4), p_v bit varying) LANGUAGE plpgsql AS $$
    BEGIN
        MERGE INTO t USING (VALUES (p_id, p_b)) s (id, b) ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET b = t.b # s.b, v = t.v || p_v
        WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.b, p_v);
    END $$;";

#[test]
fn calls_stay_calls() {
    let all = logged(&format!("{SCHEMA} CALL put(1, B'0101', B'1'); CALL put(1, B'1100', B'01');"));
    let calls: Vec<_> = all.iter().filter(|record| !record.contains("sequence")).collect();
    assert!(calls.iter().rev().take(2).all(|record| record.ends_with("call")), "{all:?}");
}

#[test]
fn every_scheme_sees_the_same_bits() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for call in
                ["CALL put(1, B'0101', B'1')", "CALL put(2, B'1111', B'')", "CALL put(1, B'1100', B'01')"]
            {
                db.execute(call, ()).expect("puts");
            }
            db.execute("UPDATE t SET v = B'11' WHERE id = 2", ()).expect("changes");
        },
        &|db| {
            let text = "SELECT string_agg(concat_ws(' ', id, t.b, t.v, s.b, s.v), ', ' ORDER BY id) FROM t JOIN seen s USING (id)";
            let rows = db.query(text, ()).expect("rows");
            assert_eq!(
                rows[0].get::<String>(0).expect("a text"),
                "1 1001 101 01011001 1101, 2 1111 11 11111111 11"
            );
        },
    );
}
