-- A warehouse: lots taken first in first out, bins in a grid, waves of picks, stock never negative, an average cost that moves.
SET timezone = 'UTC';
CREATE TABLE items (sku text PRIMARY KEY CHECK (sku ~ '^[A-Z]{2}-\d{3}$'), name text NOT NULL, pack int[] NOT NULL DEFAULT '{1}', weight numeric(7,3), on_hand int NOT NULL DEFAULT 0, avg_cost numeric(12,4) NOT NULL DEFAULT 0);
CREATE TABLE bins (aisle "char" NOT NULL, shelf int2 NOT NULL, level int2 NOT NULL DEFAULT 1, code text GENERATED ALWAYS AS (aisle::text || '-' || lpad(shelf::text, 2, '0') || '-' || level::text) STORED UNIQUE, max_weight numeric, PRIMARY KEY (aisle, shelf, level));
CREATE TABLE lots (id serial PRIMARY KEY, sku text NOT NULL REFERENCES items ON UPDATE CASCADE, bin text REFERENCES bins (code), arrived date NOT NULL, expires date, quantity int NOT NULL CHECK (quantity > 0), left_over int NOT NULL, cost numeric(10,2) NOT NULL,
  CONSTRAINT left_in_range CHECK (left_over BETWEEN 0 AND quantity), CONSTRAINT fresh CHECK (expires > arrived));
CREATE INDEX lots_fifo ON lots (sku, arrived, id) WHERE left_over > 0;
CREATE TABLE orders (id int PRIMARY KEY, customer text, priority int NOT NULL DEFAULT 5, wanted date NOT NULL, state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'picked', 'short', 'gone')));
CREATE TABLE order_lines (order_id int REFERENCES orders ON DELETE CASCADE, n int, sku text NOT NULL REFERENCES items ON UPDATE CASCADE, quantity int NOT NULL CHECK (quantity > 0), PRIMARY KEY (order_id, n));
CREATE TABLE picks (order_id int, n int, lot int REFERENCES lots, quantity int NOT NULL, PRIMARY KEY (order_id, n, lot), FOREIGN KEY (order_id, n) REFERENCES order_lines ON DELETE CASCADE);
INSERT INTO bins (aisle, shelf, level, max_weight) SELECT a::"char", s, l, 100 / l FROM unnest(ARRAY['A', 'B']) a, generate_series(1, 3) s, generate_series(1, 2) l;
INSERT INTO bins (aisle, shelf) VALUES ('A', 1);
INSERT INTO items (sku, name, pack, weight) VALUES ('AA-001', 'Bolt', '{1,10,100}', 0.012), ('AA-002', 'Nut', DEFAULT, 0.005), ('BB-010', 'Milk', '{6}', 1.03), ('CC-100', 'Anvil', '{1}', 70);
INSERT INTO items VALUES ('A-1', 'wrong');
-- What statements change, by transition tables.
CREATE FUNCTION lots_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE items i SET avg_cost = (i.avg_cost * i.on_hand + t.value) / (i.on_hand + t.n), on_hand = i.on_hand + t.n
      FROM (SELECT sku, sum(left_over) AS n, sum(left_over * cost) AS value FROM fresh_lots GROUP BY sku) t WHERE t.sku = i.sku;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE items i SET on_hand = i.on_hand + t.n FROM (SELECT n.sku, sum(n.left_over - o.left_over) AS n FROM fresh_lots n JOIN old_lots o USING (id) GROUP BY n.sku) t WHERE t.sku = i.sku AND t.n <> 0;
  ELSE
    UPDATE items i SET on_hand = i.on_hand - t.n FROM (SELECT sku, sum(left_over) AS n FROM old_lots GROUP BY sku) t WHERE t.sku = i.sku;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER lots_in AFTER INSERT ON lots REFERENCING NEW TABLE AS fresh_lots FOR EACH STATEMENT EXECUTE FUNCTION lots_moved();
CREATE TRIGGER lots_change AFTER UPDATE ON lots REFERENCING NEW TABLE AS fresh_lots OLD TABLE AS old_lots FOR EACH STATEMENT EXECUTE FUNCTION lots_moved();
CREATE TRIGGER lots_out AFTER DELETE ON lots REFERENCING OLD TABLE AS old_lots FOR EACH STATEMENT EXECUTE FUNCTION lots_moved();
CREATE TRIGGER lots_cols AFTER UPDATE OF sku ON lots REFERENCING OLD TABLE AS old_lots FOR EACH STATEMENT EXECUTE FUNCTION lots_moved();
INSERT INTO lots (sku, bin, arrived, expires, quantity, left_over, cost) VALUES ('AA-001', 'A-01-1', '2024-01-05', NULL, 100, 100, 0.10), ('AA-001', 'A-02-1', '2024-01-20', NULL, 50, 50, 0.16), ('AA-001', 'B-01-1', '2024-01-10', NULL, 30, 30, 0.12),
  ('AA-002', 'A-01-2', '2024-01-05', NULL, 500, 500, 0.02), ('BB-010', 'B-02-1', '2024-02-01', '2024-02-20', 60, 60, 0.80), ('BB-010', 'B-02-1', '2024-02-10', '2024-02-15', 12, 12, 0.95), ('CC-100', 'B-03-1', '2023-01-01', NULL, 1, 1, 250);
INSERT INTO lots (sku, arrived, expires, quantity, left_over, cost) VALUES ('BB-010', '2024-02-01', '2024-02-01', 1, 1, 1);
INSERT INTO lots (sku, arrived, quantity, left_over, cost) VALUES ('BB-010', '2024-02-01', 1, 2, 1);
INSERT INTO lots (sku, bin, arrived, quantity, left_over, cost) VALUES ('BB-010', 'Z-01-1', '2024-02-01', 1, 1, 1);
SELECT sku, on_hand, avg_cost FROM items ORDER BY sku;
INSERT INTO orders VALUES (1, 'ann', 5, '2024-02-12'), (2, 'bob', 1, '2024-02-14'), (3, NULL, 5, '2024-02-11'), (4, 'dee', 9, '2024-02-16');
INSERT INTO order_lines VALUES (1, 1, 'AA-001', 120), (1, 2, 'BB-010', 20), (2, 1, 'AA-001', 40), (2, 2, 'CC-100', 1), (3, 1, 'AA-001', 30), (3, 2, 'AA-002', 499), (4, 1, 'CC-100', 1), (4, 2, 'BB-010', 50);
-- What a wave would take: running sums of demand against running sums of supply.
CREATE VIEW plan AS
  WITH supply AS (SELECT id, sku, sum(left_over) OVER w - left_over AS from_n, sum(left_over) OVER w AS to_n FROM lots WHERE left_over > 0 WINDOW w AS (PARTITION BY sku ORDER BY arrived, id)),
    demand AS (SELECT l.order_id, l.n, l.sku, sum(l.quantity) OVER w - l.quantity AS from_n, sum(l.quantity) OVER w AS to_n FROM order_lines l JOIN orders o ON o.id = l.order_id WHERE o.state = 'open' WINDOW w AS (PARTITION BY l.sku ORDER BY o.priority, o.wanted, o.id, l.n))
  SELECT d.order_id, d.n, d.sku, s.id AS lot, least(d.to_n, s.to_n) - greatest(d.from_n, s.from_n) AS quantity FROM demand d JOIN supply s ON s.sku = d.sku AND s.from_n < d.to_n AND d.from_n < s.to_n;
SELECT * FROM plan ORDER BY order_id, n, lot;
CREATE PROCEDURE pick(p_order int, INOUT lines int DEFAULT 0, INOUT missing jsonb DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE l record; lot record; need int; took int;
BEGIN
  PERFORM FROM orders WHERE id = p_order AND state = 'open' FOR UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'order % is not open', p_order USING ERRCODE = 'object_not_in_prerequisite_state'; END IF;
  FOR l IN SELECT ol.*, o.wanted FROM order_lines ol JOIN orders o ON o.id = ol.order_id WHERE order_id = p_order ORDER BY n LOOP
    need := l.quantity;
    FOR lot IN SELECT * FROM lots WHERE sku = l.sku AND left_over > 0 AND (expires IS NULL OR expires > l.wanted) ORDER BY arrived, id FOR UPDATE LOOP
      took := least(need, lot.left_over);
      UPDATE lots SET left_over = left_over - took WHERE id = lot.id;
      INSERT INTO picks VALUES (p_order, l.n, lot.id, took);
      need := need - took;
      lines := lines + 1;
      EXIT WHEN need = 0;
    END LOOP;
    IF need > 0 THEN missing := coalesce(missing, '{}') || jsonb_build_object(l.sku, need); END IF;
  END LOOP;
  UPDATE orders SET state = CASE WHEN missing IS NULL THEN 'picked' ELSE 'short' END WHERE id = p_order;
END $$;
CALL pick(3);
CALL pick(3);
CALL pick(1, 0);
CALL pick(2, missing => '{"before": true}', lines => 10);
DO $$
DECLARE o int; n int; m jsonb;
BEGIN
  FOR o IN SELECT id FROM orders WHERE state = 'open' ORDER BY id LOOP
    BEGIN
      CALL pick(o, n, m);
      RAISE NOTICE 'order %: %, %', o, n, m;
      IF m ?| ARRAY['CC-100'] THEN RAISE EXCEPTION SQLSTATE 'PK001' USING MESSAGE = 'no anvil'; END IF;
    EXCEPTION WHEN SQLSTATE 'PK001' THEN
      RAISE NOTICE '% undone: %', o, SQLERRM;
    END;
  END LOOP;
END $$;
SELECT id, state FROM orders ORDER BY id;
SELECT order_id, n, array_agg(lot || 'x' || quantity ORDER BY lot) FROM picks GROUP BY CUBE (order_id), n HAVING order_id IS NOT NULL ORDER BY 1, 2;
SELECT sku, on_hand, on_hand = (SELECT coalesce(sum(left_over), 0) FROM lots l WHERE l.sku = i.sku) AS agrees FROM items i ORDER BY sku;
UPDATE lots SET left_over = left_over - 1000 WHERE sku = 'AA-001';
UPDATE lots SET left_over = 0 WHERE expires < '2024-02-16' RETURNING id, sku;
DELETE FROM lots WHERE left_over = 0;
DELETE FROM lots l WHERE left_over = 0 AND NOT EXISTS (SELECT FROM picks p WHERE p.lot = l.id) RETURNING id;
SELECT on_hand FROM items WHERE sku = 'BB-010';
CREATE FUNCTION packs(n int, sizes int[], OUT size int, OUT count int) RETURNS SETOF record LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  FOR size IN SELECT s FROM unnest(sizes) s ORDER BY s DESC LOOP
    count := n / size;
    n := n % size;
    IF count > 0 THEN RETURN NEXT; END IF;
  END LOOP;
  IF n > 0 THEN size := NULL; count := n; RETURN NEXT; END IF;
END $$;
SELECT l.order_id, l.sku, l.quantity, string_agg(coalesce(p.size::text, 'loose') || '*' || p.count, ' + ' ORDER BY p.size DESC NULLS LAST) FROM order_lines l JOIN items i USING (sku) CROSS JOIN packs(l.quantity, i.pack) p GROUP BY l.order_id, l.n ORDER BY l.order_id, l.n;
UPDATE items SET sku = 'AA-011' WHERE sku = 'AA-001';
SELECT sku, count(*) FROM order_lines GROUP BY sku ORDER BY sku;
SELECT DISTINCT ON (l.sku) l.sku, l.id, l.cost, l.cost - avg(l.cost) OVER (PARTITION BY l.sku) AS off FROM lots l ORDER BY l.sku, l.cost DESC, l.id;
SELECT b.code, coalesce(sum(l.left_over * i.weight), 0) AS weight, b.max_weight - coalesce(sum(l.left_over * i.weight), 0) AS room FROM bins b LEFT JOIN lots l ON l.bin = b.code LEFT JOIN items i USING (sku) GROUP BY b.code, b.max_weight HAVING coalesce(sum(l.left_over * i.weight), 0) > 0 ORDER BY room, b.code;
SELECT sku, arrived, sum(quantity) OVER (PARTITION BY sku ORDER BY arrived RANGE BETWEEN INTERVAL '7 days' PRECEDING AND INTERVAL '1 week' FOLLOWING) AS near, count(*) OVER (PARTITION BY sku ORDER BY arrived GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING), nth_value(id, 2) OVER (PARTITION BY sku ORDER BY arrived ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM lots ORDER BY sku, arrived;
MERGE INTO lots t USING (VALUES ('CC-100', date '2024-03-01', 2, 240.00), ('AA-002', '2024-03-01', 10, 0.03)) AS s (sku, arrived, n, cost) ON t.sku = s.sku AND t.left_over > 0
  WHEN NOT MATCHED THEN INSERT (sku, arrived, quantity, left_over, cost) VALUES (s.sku, s.arrived, s.n, s.n, s.cost)
  WHEN MATCHED THEN UPDATE SET quantity = t.quantity + s.n, left_over = t.left_over + s.n;
SELECT sku, on_hand, round(avg_cost, 2) FROM items ORDER BY sku;
SELECT aisle, shelf, bool_and(level < 3), bit_or(level), every(max_weight >= 50) FROM bins GROUP BY aisle, shelf ORDER BY aisle, shelf LIMIT 3 OFFSET 2;
TRUNCATE orders;
TRUNCATE orders CASCADE;
SELECT (SELECT count(*) FROM picks), (SELECT count(*) FROM lots);
