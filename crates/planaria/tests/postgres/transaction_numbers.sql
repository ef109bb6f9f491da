-- xmax of rows that INSERT returns, txid_current()
CREATE TABLE stock (sku text PRIMARY KEY, qty int NOT NULL DEFAULT 0, note text);
INSERT INTO stock VALUES ('a', 1) RETURNING sku, xmax = 0 AS inserted, pg_typeof(xmax);
INSERT INTO stock VALUES ('a', 5) ON CONFLICT (sku) DO UPDATE SET qty = stock.qty + excluded.qty RETURNING sku, qty, (xmax = 0) AS inserted;
INSERT INTO stock VALUES ('b', 5) ON CONFLICT (sku) DO UPDATE SET qty = stock.qty + excluded.qty RETURNING sku, qty, (xmax = 0) AS inserted;
INSERT INTO stock AS s VALUES ('a', 1), ('c', 2), ('b', 3), ('d', 4) ON CONFLICT (sku) DO UPDATE SET qty = s.qty + excluded.qty RETURNING s.sku, s.qty, CASE WHEN s.xmax = 0 THEN 'new' ELSE 'old' END;
INSERT INTO stock SELECT 'k' || i, i FROM generate_series(1, 3) AS g(i) ON CONFLICT DO NOTHING RETURNING sku, xmax <> 0, xmax::text;
INSERT INTO stock VALUES ('a', 100), ('z', 1) ON CONFLICT (sku) DO UPDATE SET qty = 0 WHERE stock.qty > 1000 RETURNING sku, xmax::text::bigint > 0;
WITH up AS (INSERT INTO stock VALUES ('a', 1), ('y', 1) ON CONFLICT (sku) DO UPDATE SET qty = excluded.qty RETURNING xmax = 0 AS inserted) SELECT count(*) FILTER (WHERE inserted), count(*) FILTER (WHERE NOT inserted) FROM up;
INSERT INTO stock VALUES ('a', 1) RETURNING *;
CREATE FUNCTION put(p_sku text, p_qty int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE fresh boolean;
BEGIN
    INSERT INTO stock (sku, qty) VALUES (p_sku, p_qty)
    ON CONFLICT (sku) DO UPDATE SET qty = stock.qty + excluded.qty
    RETURNING (xmax = 0) INTO fresh;
    RETURN CASE WHEN fresh THEN 'created' ELSE 'changed' END;
END $$;
SELECT put('n', 1), put('n', 2), put('a', 3);
SELECT nosuch FROM stock;
SELECT stock.nosuch FROM stock;
SELECT xmax;
INSERT INTO stock VALUES ('o', 1) RETURNING tableoid = 'stock'::regclass, stock.tableoid::regclass;
-- the number of a transaction
SELECT txid_current() = txid_current(), pg_typeof(txid_current()), txid_current() > 0;
CREATE TABLE audit (id int PRIMARY KEY, tx bigint NOT NULL DEFAULT txid_current());
INSERT INTO audit VALUES (1);
INSERT INTO audit VALUES (2), (3);
BEGIN;
INSERT INTO audit VALUES (4);
SAVEPOINT s;
INSERT INTO audit VALUES (5);
SELECT count(*) FROM audit WHERE tx = txid_current();
COMMIT;
SELECT count(*) FROM audit WHERE tx = txid_current();
SELECT array_agg(id ORDER BY id) FROM audit GROUP BY tx ORDER BY tx;
CREATE TABLE changes (op text, tx bigint);
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO changes VALUES (TG_OP, txid_current());
    RETURN NULL;
END $$;
CREATE TRIGGER noted AFTER INSERT OR UPDATE ON stock FOR EACH ROW EXECUTE FUNCTION noted();
INSERT INTO stock VALUES ('q', 1), ('r', 2);
SELECT put('q', 1), put('t', 1);
SELECT array_agg(op ORDER BY op) FROM changes GROUP BY tx ORDER BY tx;
