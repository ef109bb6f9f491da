-- Stock valued first in, first out: lots, issues that eat lots, returns, counts, transfers, by loops and cursors.
SET timezone TO 'UTC';
CREATE TABLE warehouse (wh char(2) PRIMARY KEY, name text);
CREATE TABLE item (item_no text PRIMARY KEY CHECK (item_no ~ '^[A-Z]{2}-\d{3}$'), unit varchar(4) NOT NULL DEFAULT 'pc', min_qty numeric DEFAULT 0);
CREATE TABLE lot (lot_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item_no text NOT NULL REFERENCES item, wh char(2) NOT NULL REFERENCES warehouse, received date NOT NULL, qty numeric(12,3) NOT NULL CHECK (qty > 0), remaining numeric(12,3) NOT NULL CHECK (remaining >= 0), unit_cost numeric(12,4) NOT NULL, source int REFERENCES lot, CONSTRAINT not_more CHECK (remaining <= qty));
CREATE INDEX lot_open ON lot (item_no, wh, received, lot_id) WHERE remaining > 0;
CREATE TABLE move (move_id bigserial PRIMARY KEY, kind text NOT NULL CHECK (kind IN ('in', 'out', 'xfer', 'adj')), item_no text NOT NULL REFERENCES item, wh char(2) NOT NULL, qty numeric(12,3) NOT NULL, value numeric(14,2) NOT NULL, on_day date NOT NULL);
CREATE TABLE move_lot (move_id bigint REFERENCES move ON DELETE CASCADE, lot_id int REFERENCES lot, qty numeric(12,3) NOT NULL, PRIMARY KEY (move_id, lot_id));
INSERT INTO warehouse VALUES ('N', 'North'), ('S', 'South');
INSERT INTO item VALUES ('AB-001'), ('AB-002', 'kg', 10.5), ('CD-010', DEFAULT, NULL);
INSERT INTO item VALUES ('ab-1');
CREATE FUNCTION receive(p_item text, p_wh char, p_qty numeric, p_cost numeric, p_day date) RETURNS int LANGUAGE plpgsql AS $$
DECLARE l int; m bigint;
BEGIN
  INSERT INTO lot (item_no, wh, received, qty, remaining, unit_cost) VALUES (p_item, p_wh, p_day, p_qty, p_qty, p_cost) RETURNING lot_id INTO STRICT l;
  INSERT INTO move (kind, item_no, wh, qty, value, on_day) VALUES ('in', p_item, p_wh, p_qty, p_qty * p_cost, p_day) RETURNING move_id INTO m;
  INSERT INTO move_lot VALUES (m, l, p_qty);
  RETURN l;
END $$;
SELECT receive('AB-001', 'N', 10, 2.5, '2024-01-02'), receive('AB-001', 'N', 5, 3.3333, '2024-01-10'), receive('AB-001', 'S', 7, 2, '2024-01-11');
SELECT receive('AB-002', 'N', 12.3456, 0.99995, '2024-01-05');
SELECT receive('ZZ-999', 'N', 1, 1, '2024-01-05');
SELECT receive('AB-001', 'N', 0, 1, '2024-01-05');
SELECT receive('AB-001', 'N', 1e10, 1, '2024-01-05');
CREATE FUNCTION issue(p_item text, p_wh char(2), p_qty numeric, p_day date, p_kind text DEFAULT 'out') RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  lots CURSOR (i text, w text) FOR SELECT * FROM lot WHERE item_no = i AND wh = w AND remaining > 0 ORDER BY received, lot_id FOR UPDATE;
  l lot%ROWTYPE; need numeric := p_qty; take numeric; cost numeric(14,2) := 0; m bigint; had numeric;
BEGIN
  IF p_qty <= 0 THEN RAISE EXCEPTION 'quantity must be positive, not %', p_qty USING ERRCODE = '22003'; END IF;
  INSERT INTO move (kind, item_no, wh, qty, value, on_day) VALUES (p_kind, p_item, p_wh, -p_qty, 0, p_day) RETURNING move_id INTO m;
  OPEN lots (p_item, w := p_wh);
  <<eat>>
  LOOP
    FETCH NEXT FROM lots INTO l;
    EXIT eat WHEN NOT FOUND OR need = 0;
    take := least(need, l.remaining);
    UPDATE lot SET remaining = remaining - take WHERE CURRENT OF lots;
    INSERT INTO move_lot (move_id, lot_id, qty) VALUES (m, l.lot_id, -take);
    cost := cost + take * l.unit_cost;
    need := need - take;
  END LOOP eat;
  CLOSE lots;
  IF need > 0 THEN
    had := p_qty - need;
    RAISE EXCEPTION 'not enough of % in %', p_item, p_wh USING ERRCODE = 'ST001', DETAIL = 'Wanted ' || p_qty || ', had ' || had || '.', HINT = coalesce((SELECT 'There are ' || sum(remaining) || ' in ' || string_agg(DISTINCT trim(wh), ', ') || '.' FROM lot WHERE item_no = p_item AND wh <> p_wh AND remaining > 0), 'There are none elsewhere.');
  END IF;
  UPDATE move SET value = -cost WHERE move_id = m;
  RETURN cost;
END $$;
SELECT issue('AB-001', 'N', 12, '2024-01-15');
SELECT issue('AB-001', 'N', 4, '2024-01-16');
SELECT issue('AB-002', 'N', 13, '2024-01-16');
SELECT issue('AB-002', 'N', 0.0004, '2024-01-16');
SELECT issue('AB-002', 'N', -1, '2024-01-16');
SELECT issue('AB-001', 'N', 1, '2024-01-17', 'lost');
SELECT lot_id, item_no, trim(wh) AS wh, qty, remaining, unit_cost, remaining * unit_cost AS value FROM lot ORDER BY lot_id;
SELECT m.move_id, kind, m.qty, value, string_agg(format('%s@%s', ml.qty, l.unit_cost), ' ' ORDER BY l.lot_id) FROM move m JOIN move_lot ml USING (move_id) JOIN lot l USING (lot_id) GROUP BY m.move_id ORDER BY 1;
CREATE PROCEDURE transfer(p_item text, p_from char(2), p_to char(2), INOUT p_qty numeric, p_day date) LANGUAGE plpgsql AS $$
DECLARE r record; m bigint; n int := 0;
BEGIN
  ASSERT p_from <> p_to, format('cannot move %s to itself', p_from);
  PERFORM issue(p_item, p_from, p_qty, p_day, 'xfer');
  SELECT max(move_id) INTO m FROM move;
  FOR r IN SELECT l.lot_id, -ml.qty AS q, l.unit_cost, l.received FROM move_lot ml JOIN lot l ON l.lot_id = ml.lot_id WHERE ml.move_id = m ORDER BY 1 LOOP
    n := n + 1;
    INSERT INTO lot (item_no, wh, received, qty, remaining, unit_cost, source) VALUES (p_item, p_to, r.received, r.q, r.q, r.unit_cost, r.lot_id);
  END LOOP;
  p_qty := n;
END $$;
CALL transfer('AB-001', 'N', 'S', 2.5, '2024-02-01');
CALL transfer('AB-001', 'N', 'N', 1, '2024-02-01');
CALL transfer('AB-001', 'N', 'S', 1, '2024-02-01');
SELECT lot_id, wh, received, remaining, unit_cost, source FROM lot WHERE item_no = 'AB-001' ORDER BY wh, received, lot_id;
-- First in, first out by windows alone: which lots a withdrawal of eight would take.
SELECT lot_id, remaining, upto, CASE WHEN upto <= 8 THEN remaining WHEN upto - remaining < 8 THEN 8 - (upto - remaining) ELSE 0 END AS takes FROM (SELECT lot_id, remaining, sum(remaining) OVER (ORDER BY received, lot_id) AS upto FROM lot WHERE item_no = 'AB-001' AND wh = 'S') x ORDER BY lot_id;
-- Counting: what differs is booked.
CREATE TEMP TABLE counted (item_no text, wh char(2), qty numeric) ON COMMIT PRESERVE ROWS;
INSERT INTO counted VALUES ('AB-001', 'S', 9), ('AB-002', 'N', 15), ('CD-010', 'N', 1);
DO $$
DECLARE c counted%ROWTYPE; have numeric; diff numeric; n int; msgs text[] := ARRAY[]::text[]; m text;
BEGIN
  FOR c IN TABLE counted ORDER BY 1 LOOP
    SELECT coalesce(sum(remaining), 0) INTO have FROM lot WHERE item_no = c.item_no AND wh = c.wh;
    diff := c.qty - have;
    IF diff < 0 THEN
      PERFORM issue(c.item_no, c.wh, -diff, '2024-03-01', 'adj');
    ELSIF diff > 0 THEN
      INSERT INTO lot (item_no, wh, received, qty, remaining, unit_cost) SELECT c.item_no, c.wh, '2024-03-01', diff, diff, coalesce((SELECT unit_cost FROM lot WHERE item_no = c.item_no ORDER BY received DESC, lot_id DESC LIMIT 1), 0);
      GET DIAGNOSTICS n = ROW_COUNT;
      ASSERT n = 1;
    END IF;
    msgs := array_append(msgs, format('%s %s: %s', c.item_no, c.wh, to_char(diff, 'SFM990.099')));
  END LOOP;
  FOREACH m IN ARRAY msgs LOOP RAISE NOTICE USING MESSAGE = m; END LOOP;
  FOR i IN REVERSE array_upper(msgs, 1)..array_lower(msgs, 1) BY 2 LOOP RAISE NOTICE '% of %: %', i, cardinality(msgs), msgs[i]; END LOOP;
END $$;
SELECT item_no, wh, sum(remaining) AS qty, round(sum(remaining * unit_cost), 2) AS value, sum(remaining * unit_cost) / nullif(sum(remaining), 0) AS mean FROM lot GROUP BY item_no, ROLLUP (wh) HAVING sum(remaining) > 0 ORDER BY item_no, wh;
SELECT i.item_no, coalesce(l.q, 0) AS q, min_qty, CASE WHEN coalesce(q, 0) < min_qty THEN 'order' WHEN min_qty IS NULL THEN '?' ELSE 'ok' END FROM item i LEFT JOIN (SELECT item_no, sum(remaining) q FROM lot GROUP BY 1) l USING (item_no) ORDER BY 1;
-- A cursor that is handed out.
CREATE FUNCTION moves_of(p text, c refcursor DEFAULT 'moves') RETURNS refcursor LANGUAGE plpgsql AS $$ BEGIN OPEN c SCROLL FOR SELECT move_id, kind, qty FROM move WHERE item_no = p ORDER BY move_id; RETURN c; END $$;
BEGIN;
SELECT moves_of('AB-001');
FETCH 2 FROM moves;
FETCH BACKWARD 1 FROM moves;
MOVE LAST IN moves;
FETCH PRIOR FROM moves;
FETCH ABSOLUTE 1 FROM moves;
FETCH FORWARD ALL FROM moves;
FETCH NEXT FROM moves;
CLOSE moves;
FETCH moves;
ROLLBACK;
CREATE FUNCTION ages(day date) RETURNS TABLE (bucket text, lots bigint, value numeric) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT CASE WHEN day - received < 30 THEN '0-29' WHEN day - received < 60 THEN '30-59' ELSE '60+' END, count(*), sum(remaining * unit_cost) FROM lot WHERE remaining > 0 GROUP BY 1;
  IF NOT FOUND THEN RETURN; END IF;
  bucket := 'all'; SELECT count(*), sum(l.remaining * unit_cost) INTO lots, value FROM lot l WHERE remaining > 0;
  RETURN NEXT;
END $$;
SELECT * FROM ages('2024-03-05') ORDER BY bucket;
SELECT bucket, lots FROM ages('2024-03-05') WHERE value > 10 ORDER BY value DESC LIMIT 2;
CREATE FUNCTION bad_ages() RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 'x'::text, 1; END $$;
SELECT * FROM bad_ages();
CREATE OR REPLACE FUNCTION bad_ages() RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 1; END $$;
SELECT * FROM bad_ages();
UPDATE lot SET remaining = remaining + 1 WHERE lot_id = 1 RETURNING *;
UPDATE lot SET qty = qty + 1, remaining = remaining + 1 WHERE lot_id = 1 RETURNING *;
DELETE FROM move WHERE kind = 'adj' RETURNING item_no, qty, value;
SELECT tableoid::regclass, count(*) FROM move_lot GROUP BY 1;
DELETE FROM lot WHERE lot_id = 2;
