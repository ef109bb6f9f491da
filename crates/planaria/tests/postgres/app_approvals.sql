-- Approvals: who stands in for whom, who signs what, chains found by recursion, rings in delegation.
SET timezone = 'UTC';
CREATE TYPE verdict AS ENUM ('pending', 'approved', 'rejected', 'skipped');
CREATE TABLE staff (id int PRIMARY KEY, name text NOT NULL, boss int REFERENCES staff DEFERRABLE INITIALLY DEFERRED, signs_to numeric(12,2) NOT NULL DEFAULT 0, left_at date);
CREATE TABLE delegation (from_id int REFERENCES staff ON DELETE CASCADE, to_id int REFERENCES staff ON DELETE CASCADE, starts date NOT NULL, ends date, PRIMARY KEY (from_id, to_id, starts), CHECK (from_id != to_id), CHECK (ends >= starts));
CREATE TABLE request (id serial PRIMARY KEY, by_id int NOT NULL REFERENCES staff, amount numeric(12,2) NOT NULL CHECK (amount > 0), what text, on_day date NOT NULL, state verdict NOT NULL DEFAULT 'pending');
CREATE TABLE step (request_id int REFERENCES request ON DELETE CASCADE, n smallint, signer int NOT NULL REFERENCES staff, stands_for int REFERENCES staff, verdict verdict NOT NULL DEFAULT 'pending', remark text, PRIMARY KEY (request_id, n), CONSTRAINT why CHECK (verdict <> 'rejected' OR length(remark) > 3));
BEGIN;
INSERT INTO staff VALUES (1, 'Ann', NULL, 1e6), (2, 'Ben', 1, 50000), (3, 'Cyd', 2, 5000), (4, 'Dee', 3), (5, 'Eli', 3, 100), (6, 'Fay', 2, 10000), (7, 'Gus', 6);
INSERT INTO staff VALUES (8, 'Hal', 99);
COMMIT;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO staff VALUES (7, 'Gus', 6), (6, 'Fay', 2, 10000), (5, 'Eli', 3, 100), (4, 'Dee', 3), (3, 'Cyd', 2, 5000), (2, 'Ben', 1, 50000), (1, 'Ann', NULL, 1e6);
SET CONSTRAINTS staff_boss_fkey IMMEDIATE;
COMMIT;
INSERT INTO delegation VALUES (2, 6, '2024-07-01', '2024-07-14'), (6, 3, '2024-07-10', NULL), (3, 2, '2024-07-12', '2024-07-12'), (1, 2, '2024-12-24', '2025-01-02');
INSERT INTO delegation VALUES (2, 2, '2024-07-01');
INSERT INTO delegation VALUES (2, 3, '2024-07-01', '2024-06-01');
-- The way up.
WITH RECURSIVE up (id, name, boss, level, path) AS (
  SELECT id, name, boss, 0, ARRAY[name] FROM staff WHERE name = 'Dee'
  UNION ALL
  SELECT s.id, s.name, s.boss, u.level + 1, u.path || s.name FROM up u JOIN staff s ON s.id = u.boss)
SELECT level, repeat('  ', level) || name AS indented, array_to_string(path, ' > ') AS path FROM up ORDER BY level;
WITH RECURSIVE down AS (SELECT id, boss, name, 1 AS n, lpad(id::text, 3, '0') AS sort FROM staff WHERE boss IS NULL UNION ALL SELECT s.id, s.boss, s.name, d.n + 1, d.sort || '.' || lpad(s.id::text, 3, '0') FROM staff s JOIN down d ON d.id = s.boss)
SELECT sort, lpad('', (n - 1) * 2, '| ') || name AS tree, (SELECT count(*) FROM down x WHERE x.sort LIKE d.sort || '.%') AS below, n = max(n) OVER () AS deepest FROM down d ORDER BY sort;
-- Who stands in on a day; rings are told.
CREATE FUNCTION stands_in(who int, day date) RETURNS TABLE (hop int, person int, ring boolean) LANGUAGE sql STABLE AS $$
  WITH RECURSIVE d AS (
    SELECT 0 AS hop, who AS person
    UNION ALL
    SELECT d.hop + 1, g.to_id FROM d JOIN delegation g ON g.from_id = d.person AND day BETWEEN g.starts AND coalesce(g.ends, 'infinity')
  ) CYCLE person SET is_cycle USING trail
  SELECT hop, person, is_cycle FROM d ORDER BY hop
$$;
SELECT * FROM stands_in(2, '2024-07-05');
SELECT * FROM stands_in(2, '2024-07-11');
SELECT * FROM stands_in(2, '2024-07-12');
SELECT day::date, (SELECT string_agg(s.name || CASE WHEN ring THEN '!' ELSE '' END, '->' ORDER BY hop) FROM stands_in(2, day::date) JOIN staff s ON s.id = person) FROM generate_series('2024-07-09'::date, '2024-07-15', '2 days') AS day;
CREATE FUNCTION effective(who int, day date) RETURNS int LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE seen int[] := '{}'; cur int := who; nxt int;
BEGIN
  LOOP
    IF cur = ANY (seen) THEN
      RAISE EXCEPTION 'delegation goes in a ring: %', array_to_string(seen || cur, ' -> ') USING ERRCODE = 'DL001', HINT = format('See delegations on %s.', day);
    END IF;
    seen := seen || cur;
    SELECT to_id INTO nxt FROM delegation WHERE from_id = cur AND daterange_has(starts, ends, day) ORDER BY starts DESC LIMIT 1;
    EXIT WHEN NOT FOUND;
    cur := nxt;
  END LOOP;
  RETURN cur;
END $$;
SELECT effective(2, '2024-07-05');
CREATE FUNCTION daterange_has(date, date, date) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT $3 >= $1 AND ($2 IS NULL OR $3 <= $2)';
SELECT effective(2, '2024-07-05'), effective(2, '2024-07-11'), effective(NULL, '2024-07-11'), effective(4, '2024-07-11');
SELECT effective(2, '2024-07-12');
CREATE PROCEDURE submit(p_by int, p_amount numeric, p_what text, p_day date, INOUT p_id int DEFAULT NULL) AS $$
DECLARE s staff%ROWTYPE; n int := 0; eff int; last int := p_by;
BEGIN
  INSERT INTO request (by_id, amount, what, on_day) VALUES (p_by, p_amount, p_what, p_day) RETURNING id INTO p_id;
  FOR s IN WITH RECURSIVE up AS (SELECT st.*, 1 AS lvl FROM staff st WHERE id = (SELECT boss FROM staff WHERE id = p_by) UNION ALL SELECT st.*, lvl + 1 FROM up JOIN staff st ON st.id = up.boss) SELECT id, name, boss, signs_to, left_at FROM up ORDER BY lvl LOOP
    eff := effective(s.id, p_day);
    IF eff <> ALL (ARRAY[last, p_by]) THEN
      n := n + 1;
      INSERT INTO step (request_id, n, signer, stands_for) VALUES (p_id, n, eff, NULLIF(s.id, eff));
      last := eff;
    END IF;
    EXIT WHEN s.signs_to >= p_amount;
  END LOOP;
  IF n = 0 THEN UPDATE request SET state = 'approved' WHERE id = p_id; END IF;
END $$ LANGUAGE plpgsql;
CALL submit(4, 80, 'Chair', '2024-07-05');
CALL submit(4, 20000, 'Car', '2024-07-05', NULL);
CALL submit(7, 9999.99, 'Desk', '2024-07-11', p_id => 0);
CALL submit(p_by => 1, p_amount => 5, p_what => 'Pen', p_day => '2024-07-01');
CALL submit(3, 10, 'Ring', '2024-07-12');
CALL submit(4, -1, 'Minus', '2024-07-05');
CALL submit(4, 1);
SELECT r.id, r.what, r.state, s.n, p.name AS signer, f.name AS for FROM request r LEFT JOIN step s ON s.request_id = r.id LEFT JOIN staff p ON p.id = s.signer LEFT JOIN staff f ON f.id = s.stands_for ORDER BY r.id, s.n;
-- Signing: in order; the last one decides.
CREATE FUNCTION sign(req int, who int, v verdict, why text DEFAULT NULL) RETURNS verdict AS $$
DECLARE st step; rest int;
BEGIN
  SELECT * INTO st FROM step WHERE request_id = req AND verdict = 'pending' ORDER BY n FETCH FIRST ROW ONLY FOR UPDATE;
  IF st IS NULL THEN RAISE EXCEPTION 'nothing to sign in request %', req; END IF;
  IF st.signer <> who THEN
    RAISE EXCEPTION '% is not the next to sign', (SELECT name FROM staff WHERE id = who) USING DETAIL = format('Step %s is for %s.', st.n, (SELECT name FROM staff WHERE id = st.signer));
  END IF;
  UPDATE step SET verdict = v, remark = why WHERE (request_id, n) = (st.request_id, st.n);
  IF v = 'rejected' THEN
    UPDATE step SET verdict = 'skipped' WHERE request_id = req AND verdict = 'pending';
  END IF;
  SELECT count(*) INTO rest FROM step WHERE request_id = req AND verdict = 'pending';
  UPDATE request SET state = CASE WHEN v = 'rejected' THEN v WHEN rest = 0 THEN 'approved' ELSE state END WHERE id = req RETURNING state INTO v;
  RETURN v;
END $$ LANGUAGE plpgsql;
SELECT sign(1, 3, 'approved');
SELECT sign(1, 3, 'approved');
SELECT sign(2, 6, 'approved');
SELECT sign(2, 3, 'approved', 'fine'), sign(2, 6, 'rejected', 'no');
SELECT sign(2, 3, 'approved', 'fine');
SELECT sign(2, 6, 'rejected', 'too dear');
SELECT sign(2, 6, 'maybe');
SELECT state, count(*), sum(amount) FROM request GROUP BY CUBE (state) ORDER BY state NULLS FIRST;
SELECT request_id, array_agg(verdict ORDER BY n), array_agg(DISTINCT signer), bool_or(remark IS NOT NULL), every(verdict <> 'pending') FROM step GROUP BY request_id ORDER BY 1;
-- Cycles of bosses are refused by a trigger that looks up the chain.
CREATE FUNCTION no_ring() RETURNS trigger AS $$
BEGIN
  IF EXISTS (WITH RECURSIVE up (id, boss) AS (SELECT NEW.id, NEW.boss UNION SELECT s.id, s.boss FROM staff s JOIN up ON up.boss = s.id) SELECT FROM up WHERE up.boss = NEW.id) THEN
    RAISE check_violation USING MESSAGE = NEW.name || ' would be above himself', CONSTRAINT = 'no_ring';
  END IF;
  RETURN NEW;
END $$ LANGUAGE plpgsql;
CREATE CONSTRAINT TRIGGER no_ring AFTER INSERT OR UPDATE OF boss ON staff DEFERRABLE INITIALLY IMMEDIATE FOR EACH ROW EXECUTE FUNCTION no_ring();
UPDATE staff SET boss = 4 WHERE id = 2;
UPDATE staff SET boss = 1 WHERE id IN (3, 6) RETURNING id, boss;
UPDATE staff SET boss = id WHERE id = 1;
WITH RECURSIVE t AS (SELECT id, boss FROM staff WHERE id = 1 UNION ALL SELECT s.id, s.boss FROM t JOIN staff s ON s.boss = t.id) SEARCH DEPTH FIRST BY id SET o SELECT id FROM t ORDER BY o;
WITH RECURSIVE t AS (SELECT id, boss FROM staff WHERE id = 1 UNION ALL SELECT s.id, s.boss FROM t JOIN staff s ON s.boss = t.id) SEARCH BREADTH FIRST BY id SET o SELECT id FROM t ORDER BY o;
WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT 'a' FROM n) SELECT * FROM n;
WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < 5 ORDER BY 1) SELECT * FROM n;
WITH RECURSIVE n (a) AS (SELECT a + 1 FROM n UNION ALL SELECT 1) SELECT * FROM n;
WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT max(a) + 1 FROM n) SELECT * FROM n;
WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a * 2 FROM n) SELECT sum(a) FROM (SELECT a FROM n LIMIT 10) x;
WITH n AS (SELECT 1), n AS (SELECT 2) SELECT * FROM n;
DELETE FROM staff WHERE id = 6;
DELETE FROM request WHERE state = 'rejected' RETURNING (SELECT count(*) FROM step WHERE request_id = id) AS steps;
WITH gone AS (DELETE FROM delegation WHERE ends < '2024-08-01' RETURNING *), n AS (SELECT from_id, count(*) AS c FROM gone GROUP BY from_id) SELECT name, c FROM n JOIN staff ON id = from_id ORDER BY name;
SELECT * FROM delegation ORDER BY 1;
CREATE OR REPLACE VIEW tree (id, level) AS WITH RECURSIVE t (id, level) AS (SELECT id, 0 FROM staff WHERE boss IS NULL UNION ALL SELECT s.id, level + 1 FROM t JOIN staff s ON s.boss = t.id) SELECT id, level FROM t;
SELECT level, array_agg(id ORDER BY id) FROM tree GROUP BY level ORDER BY level;
