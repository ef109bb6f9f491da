//! What whole applications do in their procedures (`postgres/app_*.sql`) is replayed alike by every scheme.

use crate::logged::replayed_by_all;

const SCHEMA: &str = "
    CREATE TABLE stock (id int PRIMARY KEY, n int NOT NULL, tags text[] NOT NULL);
    CREATE TABLE taken (no serial PRIMARY KEY, id int NOT NULL, n int NOT NULL, at bigint NOT NULL);
    CREATE TABLE tag (name text PRIMARY KEY, n bigint NOT NULL, hash int NOT NULL);
    CREATE DOMAIN amount AS int NOT NULL CHECK (VALUE >= 0);
    CREATE TABLE account (id int PRIMARY KEY, held amount);
    INSERT INTO stock SELECT n, 10, ARRAY['all', CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END] FROM generate_series(1, 6) n;
    CREATE PROCEDURE take(p_id int, p_n int) LANGUAGE plpgsql AS $$
    DECLARE left_over int; lines bigint;
    BEGIN
        WITH s AS (UPDATE stock SET n = n - p_n WHERE id = p_id AND n >= p_n RETURNING id, n),
             t AS (INSERT INTO taken (id, n, at) SELECT id, p_n, hashtextextended(id::text, 7) FROM s RETURNING no)
        SELECT s.n, (SELECT count(*) FROM t) INTO left_over, lines FROM s;
        IF left_over IS NULL THEN RETURN; END IF;
        INSERT INTO tag SELECT unnest(tags), sum(n), 0 FROM stock GROUP BY 1
            ON CONFLICT (name) DO UPDATE SET n = excluded.n, hash = hashtext(tag.name) # lines::int;
    END $$;
    CREATE PROCEDURE hold(p_id int, p_n int) LANGUAGE plpgsql AS $$
    DECLARE a account%ROWTYPE;
    BEGIN
        SELECT * INTO a FROM account WHERE id = p_id;
        IF a.id IS NULL THEN
            INSERT INTO account VALUES (p_id, p_n);
        ELSE
            UPDATE account SET held = a.held + p_n WHERE id = p_id;
        END IF;
    END $$;";

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for (id, n) in [(1, 3), (2, 4), (2, 7), (9, 1), (1, 7)] {
                db.call("take", (id, n)).expect("takes");
                db.call("hold", (id, n)).expect("holds");
            }
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            let taken = one("SELECT string_agg(concat_ws(' ', no, id, n, at), ', ' ORDER BY no) FROM taken");
            assert_eq!(
                taken,
                "1 1 3 2164311663635207341, 2 2 4 8805667402090807802, 3 1 7 2164311663635207341"
            );
            let tags = one("SELECT string_agg(concat_ws(' ', name, n, hash), ', ' ORDER BY name) FROM tag");
            assert_eq!(tags, "all 46 769759859, even 26 895309006, odd 20 -437362915");
            let held = one("SELECT string_agg(concat_ws(' ', id, held), ', ' ORDER BY id) FROM account");
            assert_eq!(held, "1 10, 2 11, 9 1");
        },
    );
}
