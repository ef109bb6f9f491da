-- A warehouse: items with units, bins, lots with expiry, movements, stock takes, reorder levels.
CREATE TYPE movement_kind AS ENUM ('receipt', 'issue', 'transfer', 'adjustment');
CREATE DOMAIN quantity AS numeric(12,3) CHECK (VALUE >= 0);
CREATE DOMAIN sku AS text CHECK (VALUE ~ '^[A-Z]{3}-[0-9]{4}$') CHECK (length(VALUE) = 8);
CREATE TABLE units (code varchar(5) PRIMARY KEY, name text NOT NULL, factor numeric NOT NULL DEFAULT 1, base varchar(5) REFERENCES units);
CREATE TABLE items (sku sku PRIMARY KEY, name text NOT NULL, unit varchar(5) NOT NULL REFERENCES units, reorder_at quantity NOT NULL DEFAULT 0, price money_amount);
CREATE TABLE items (sku sku PRIMARY KEY, name text NOT NULL, unit varchar(5) NOT NULL REFERENCES units, reorder_at quantity NOT NULL DEFAULT 0, price numeric(10,4), dims real[], active bool DEFAULT 't');
CREATE TABLE warehouses (id smallserial PRIMARY KEY, code char(3) NOT NULL UNIQUE, address jsonb);
CREATE TABLE bins (warehouse_id smallint NOT NULL REFERENCES warehouses ON DELETE CASCADE, aisle char(1), rack smallint, label text GENERATED ALWAYS AS (aisle || '-' || rack::text) STORED, max_weight double precision, PRIMARY KEY (warehouse_id, aisle, rack), CHECK (rack BETWEEN 1 AND 99));
CREATE TABLE lots (id serial PRIMARY KEY, sku sku NOT NULL REFERENCES items ON UPDATE CASCADE, lot_no text NOT NULL, expires date, UNIQUE (sku, lot_no));
CREATE TABLE stock (lot_id int NOT NULL REFERENCES lots, warehouse_id smallint NOT NULL, aisle char(1) NOT NULL, rack smallint NOT NULL, qty quantity NOT NULL, PRIMARY KEY (lot_id, warehouse_id, aisle, rack), FOREIGN KEY (warehouse_id, aisle, rack) REFERENCES bins);
CREATE TABLE movements (id bigserial PRIMARY KEY, kind movement_kind NOT NULL, lot_id int NOT NULL REFERENCES lots, qty numeric(12,3) NOT NULL CHECK (qty <> 0), at timestamp NOT NULL, ref varchar(12), data bytea);
CREATE INDEX movements_recent ON movements (at DESC, id DESC) INCLUDE (qty);
INSERT INTO units VALUES ('pc', 'piece', DEFAULT, NULL), ('box', 'box of 12', 12, 'pc'), ('kg', 'kilogram', 1, NULL), ('g', 'gram', 0.001, 'kg');
INSERT INTO units VALUES ('dozen2', 'too long', 12, 'pc');
INSERT INTO units VALUES ('lb', 'pound', 0.45359237, 'kilo');
INSERT INTO items VALUES ('BLT-0001', 'Bolt M8', 'pc', 100, 0.125, '{8,40.5}'), ('NUT-0001', 'Nut M8', 'pc', 200, 0.08, '{8}'), ('GLU-0001', 'Glue', 'kg', 2.5, 14.9, NULL), ('TAP-0001', 'Tape', 'box', DEFAULT, NULL, '{}');
INSERT INTO items VALUES ('blt-0002', 'lower', 'pc');
INSERT INTO items VALUES ('BLT-00021', 'long', 'pc');
INSERT INTO items VALUES ('BLT-0002', 'negative', 'pc', -1);
INSERT INTO warehouses (code, address) VALUES ('HAM', '{"city": "Hamburg", "geo": {"lat": 53.55, "lon": 9.99}}'), ('N', NULL);
SELECT id, code, length(code), code || '|', address #>> '{geo,lat}' FROM warehouses ORDER BY id;
INSERT INTO bins (warehouse_id, aisle, rack, max_weight) SELECT w.id, a, r, 100 * r + 0.1 FROM warehouses w, unnest(ARRAY['A', 'B']) a, generate_series(1, 2) r ORDER BY 1, 2, 3;
INSERT INTO bins VALUES (1, 'A', 100);
INSERT INTO bins (warehouse_id, aisle, rack, label) VALUES (1, 'C', 1, 'C-1');
SELECT warehouse_id, string_agg(label, ' ' ORDER BY label), sum(max_weight) FROM bins GROUP BY 1 ORDER BY 1;
CREATE FUNCTION to_base(q numeric, u varchar) RETURNS numeric LANGUAGE sql STABLE AS $$ SELECT q * factor FROM units WHERE code = u $$;
CREATE FUNCTION receive(s text, l text, exp date, w text, a text, r int, q numeric, at timestamp) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE lot int; wid smallint; mid bigint;
BEGIN
  SELECT id INTO STRICT wid FROM warehouses WHERE code = w;
  INSERT INTO lots (sku, lot_no, expires) VALUES (s, l, exp) ON CONFLICT (sku, lot_no) DO UPDATE SET expires = coalesce(EXCLUDED.expires, lots.expires) RETURNING id INTO lot;
  INSERT INTO stock AS st VALUES (lot, wid, a, r, q) ON CONFLICT ON CONSTRAINT stock_pkey DO UPDATE SET qty = st.qty + EXCLUDED.qty;
  INSERT INTO movements (kind, lot_id, qty, at) VALUES ('receipt', lot, q, at) RETURNING id INTO mid;
  RETURN mid;
END $$;
-- Takes what expires first.
CREATE FUNCTION issue(s text, wanted numeric, at timestamp, reference text DEFAULT NULL) RETURNS TABLE (lot_no text, taken numeric) LANGUAGE plpgsql AS $$
DECLARE rest numeric := wanted; x record; n int := 0;
BEGIN
  <<lots>>
  FOR x IN SELECT st.lot_id, st.warehouse_id, st.aisle, st.rack, st.qty, l.lot_no AS no FROM stock st JOIN lots l ON l.id = st.lot_id WHERE l.sku = s AND st.qty > 0 ORDER BY l.expires NULLS LAST, l.id, st.warehouse_id, st.aisle, st.rack LOOP
    taken := least(rest, x.qty);
    UPDATE stock SET qty = qty - taken WHERE (stock.lot_id, stock.warehouse_id, stock.aisle, stock.rack) = (x.lot_id, x.warehouse_id, x.aisle, x.rack);
    INSERT INTO movements (kind, lot_id, qty, at, ref) VALUES ('issue', x.lot_id, -taken, at, reference);
    rest := rest - taken; lot_no := x.no; n := n + 1;
    RETURN NEXT;
    EXIT lots WHEN rest <= 0;
  END LOOP lots;
  IF rest > 0 THEN
    RAISE EXCEPTION 'only % of % % there', wanted - rest, wanted, s USING ERRCODE = 'INV01', DETAIL = format('%s lots were looked at', n), HINT = 'Order more.';
  END IF;
END $$;
SELECT receive('BLT-0001', 'L1', NULL, 'HAM', 'A', 1, 500, '2024-01-02 08:00'), receive('GLU-0001', 'G1', '2024-06-30', 'HAM', 'B', 1, 1.5, '2024-01-02 08:30');
SELECT receive('GLU-0001', 'G2', '2024-05-31', 'HAM', 'B', 2, 2.25, '2024-01-03 09:00');
SELECT receive('GLU-0001', 'G2', NULL, 'N', 'B', 2, 1, '2024-01-04 09:00');
SELECT receive('GLU-0001', 'G3', NULL, 'BER', 'B', 2, 1, '2024-01-04 09:00');
SELECT receive('GLU-0001', 'G3', NULL, 'HAM', 'Z', 9, 1, '2024-01-04 09:00');
SELECT receive('XXX-0001', 'G3', NULL, 'HAM', 'A', 1, 1, '2024-01-04 09:00');
SELECT receive('NUT-0001', 'N1', NULL, 'HAM', 'A', 1, -1, '2024-01-04 09:00');
SELECT receive('NUT-0001', 'N1', '2024-13-01', 'HAM', 'A', 1, 1, '2024-01-04 09:00');
SELECT * FROM issue('GLU-0001', 3.5, '2024-02-01 10:00', 'ORD-1');
SELECT * FROM issue('GLU-0001', 35, '2024-02-01 10:00', 'ORD-2');
SELECT * FROM issue('BLT-0001', 120, '2024-02-02 10:00', 'a reference too long');
SELECT t.taken * 2 AS twice FROM issue('BLT-0001', 120, '2024-02-02 10:00') AS t;
SELECT l.sku, l.lot_no, st.warehouse_id || '/' || b.label AS bin, st.qty, trim_scale(st.qty) FROM stock st JOIN lots l ON l.id = st.lot_id JOIN bins b USING (warehouse_id, aisle, rack) ORDER BY 1, 2, 3;
CREATE OR REPLACE VIEW on_hand AS SELECT i.sku, i.name, i.unit, i.reorder_at, coalesce(sum(st.qty), 0) AS qty, min(l.expires) FILTER (WHERE st.qty > 0) AS next_expiry FROM items i LEFT JOIN lots l ON l.sku = i.sku LEFT JOIN stock st ON st.lot_id = l.id GROUP BY i.sku, i.name, i.unit, i.reorder_at;
SELECT * FROM on_hand ORDER BY sku;
SELECT sku, qty, CASE WHEN qty = 0 THEN 'out' WHEN qty < reorder_at THEN 'low' ELSE 'ok' END AS state, round(qty / NULLIF(reorder_at, 0), 2) AS cover FROM on_hand ORDER BY cover NULLS FIRST, sku;
SELECT sku, qty / reorder_at FROM on_hand WHERE sku = 'TAP-0001';
SELECT code, to_base(2, code), coalesce(base, code) AS base FROM units ORDER BY code;
SELECT m.id, kind, qty, sum(qty) OVER (PARTITION BY sku ORDER BY m.id) AS balance, lag(at) OVER (PARTITION BY sku ORDER BY m.id) AS before FROM movements m JOIN lots l ON l.id = m.lot_id ORDER BY sku, m.id;
SELECT date_trunc('month', at) AS month, kind, sum(abs(qty)), count(DISTINCT lot_id) FROM movements GROUP BY 1, 2 ORDER BY 1, 2;
SELECT DISTINCT ON (l.sku) l.sku, m.id, m.kind, m.at FROM movements m JOIN lots l ON l.id = m.lot_id ORDER BY l.sku, m.at DESC, m.id DESC;
UPDATE movements SET data = '\xdeadbeef' WHERE id = 1 RETURNING data, length(data), encode(data, 'base64'), md5(data), substring(data FROM 2 FOR 2), get_byte(data, 0);
UPDATE movements SET data = 'tab\011end\\' WHERE id = 2 RETURNING data, encode(data, 'escape');
UPDATE movements SET data = '\xabc' WHERE id = 3;
SELECT name, dims[1], dims[2], array_length(dims, 1), cardinality(dims), dims || 1.5::real FROM items ORDER BY sku;
-- A stock take writes one adjustment per difference.
DO $$
DECLARE counted CONSTANT jsonb := '[{"lot": "L1", "n": 375}, {"lot": "G1", "n": 1.25}, {"lot": "G9", "n": 1}]'; c record; d numeric; done int := 0;
BEGIN
  FOR c IN SELECT * FROM jsonb_to_recordset(counted) AS x (lot text, n numeric) LOOP
    SELECT c.n - sum(st.qty) INTO d FROM stock st JOIN lots l ON l.id = st.lot_id WHERE l.lot_no = c.lot;
    CONTINUE WHEN d = 0;
    IF d IS NULL THEN RAISE WARNING 'no lot %', c.lot; CONTINUE; END IF;
    INSERT INTO movements (kind, lot_id, qty, at) SELECT 'adjustment', id, d, '2024-03-01' FROM lots WHERE lot_no = c.lot;
    UPDATE stock SET qty = qty + d FROM lots l WHERE l.id = lot_id AND l.lot_no = c.lot;
    GET DIAGNOSTICS done = ROW_COUNT;
    RAISE NOTICE 'lot %: % in % bins', c.lot, to_char(d, 'SFM990.000'), done;
  END LOOP;
END $$;
SELECT lot_id, qty FROM movements WHERE kind = 'adjustment' ORDER BY id;
UPDATE items SET sku = 'GLU-0100' WHERE sku = 'GLU-0001';
UPDATE items SET sku = 'glu' WHERE sku = 'GLU-0100';
SELECT sku, count(*) FROM lots GROUP BY sku ORDER BY sku;
DELETE FROM warehouses WHERE code = 'HAM';
DELETE FROM warehouses WHERE code = 'N';
DELETE FROM stock WHERE qty = 0 RETURNING lot_id;
ALTER TABLE items ALTER COLUMN price TYPE numeric(6,2), ALTER COLUMN price SET DEFAULT 1, ALTER COLUMN name TYPE varchar(3);
ALTER TABLE items ALTER COLUMN price TYPE numeric(6,2), ALTER COLUMN price SET DEFAULT 1, ALTER COLUMN name TYPE varchar(10);
ALTER TABLE items ADD CONSTRAINT priced CHECK (price > 0.1);
ALTER TABLE items ADD CONSTRAINT priced CHECK (price IS NULL OR price > 0.01), ADD UNIQUE (name);
INSERT INTO items (sku, name, unit) VALUES ('BLT-0009', 'Glue', 'pc');
SELECT sku, price FROM items ORDER BY price NULLS LAST, sku;
ALTER TABLE movements RENAME TO stock_movements;
ALTER TABLE stock_movements RENAME CONSTRAINT movements_qty_check TO nonzero;
INSERT INTO stock_movements (kind, lot_id, qty, at) VALUES ('issue', 1, 0, '2024-01-01');
ALTER TYPE movement_kind RENAME VALUE 'issue' TO 'delivery';
ALTER TYPE movement_kind ADD VALUE IF NOT EXISTS 'scrap' AFTER 'delivery';
SELECT kind, count(*) FROM stock_movements GROUP BY kind ORDER BY kind;
SELECT enum_range(NULL::movement_kind);
