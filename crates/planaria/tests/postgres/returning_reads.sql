-- What RETURNING, SET, WHERE and ON CONFLICT ask of the table that the statement changes: as it was before the statement.
CREATE TABLE t (id int PRIMARY KEY, parent int, v int NOT NULL);
CREATE INDEX ON t (parent);
CREATE PROCEDURE again() LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE t;
    INSERT INTO t VALUES (1, NULL, 10), (2, 1, 20), (3, 1, 30), (4, 2, 40);
END $$;
CALL again();
CREATE FUNCTION total_stable() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT sum(v) FROM t';
CREATE FUNCTION total_volatile() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT sum(v) FROM t';
-- UPDATE
CALL again();
UPDATE t SET v = v + 1 RETURNING id, v, (SELECT sum(v) FROM t t2 WHERE t2.id <= t.id);
CALL again();
UPDATE t SET v = v + 1 RETURNING id, v, (SELECT v FROM t t2 WHERE t2.id = t.id);
CALL again();
UPDATE t SET v = v + 1 WHERE id = 2 RETURNING id, v, (SELECT v FROM t t2 WHERE t2.id = t.id), (SELECT sum(v) FROM t);
CALL again();
UPDATE t SET v = v + 1 WHERE id = 2 RETURNING EXISTS (SELECT 1 FROM t x WHERE x.v = t.v), v IN (SELECT x.v FROM t x WHERE x.id <= t.id);
CALL again();
UPDATE t SET v = v + 1 RETURNING id, EXISTS (SELECT 1 FROM t x WHERE x.v = t.v), v IN (SELECT x.v FROM t x), v > ALL (SELECT x.v FROM t x WHERE x.id < t.id);
CALL again();
UPDATE t SET v = v + 1 RETURNING id, ARRAY(SELECT x.v FROM t x WHERE x.id <= t.id ORDER BY x.id);
CALL again();
UPDATE t SET v = v + 1 RETURNING id, CASE WHEN id > 2 THEN (SELECT x.v FROM t x WHERE x.id = t.id) ELSE 0 END;
CALL again();
UPDATE t SET v = v + 1 WHERE id = 3 RETURNING id, CASE WHEN id > 2 THEN (SELECT x.v FROM t x WHERE x.id = t.id) ELSE 0 END, coalesce(NULL, (SELECT x.v FROM t x WHERE x.id = t.parent));
CALL again();
UPDATE t SET v = v + 1 FROM (VALUES (1, 5), (2, 6)) AS given (k, n) WHERE id = k RETURNING id, n, (SELECT sum(x.v) + n FROM t x WHERE x.id <> t.id);
CALL again();
UPDATE t SET v = v + 1 RETURNING id, (SELECT p.v FROM t p WHERE p.id = t.parent), (SELECT count(*) FROM t c LEFT JOIN t d ON d.parent = c.id AND d.v = t.v WHERE c.parent = t.id);
CALL again();
UPDATE t SET v = v + 1 RETURNING id, (WITH c AS (SELECT x.v FROM t x WHERE x.id = t.id) SELECT v FROM c), (SELECT max(q.v) FROM (SELECT x.v FROM t x WHERE x.id <= t.id UNION ALL SELECT 0) AS q);
CALL again();
UPDATE t SET v = v + 1 WHERE id = 1 RETURNING v, total_stable(), total_volatile();
CALL again();
WITH w AS (SELECT id, v FROM t) UPDATE t SET v = v + 1 RETURNING id, (SELECT w.v FROM w WHERE w.id = t.id);
-- SET and WHERE
CALL again();
UPDATE t SET v = (SELECT sum(x.v) FROM t x WHERE x.id <= t.id) RETURNING id, v;
CALL again();
UPDATE t SET v = v + 1 WHERE (SELECT count(*) FROM t x WHERE x.v > t.v) < 2 RETURNING id, v;
CALL again();
UPDATE t SET (v, parent) = (SELECT max(x.v), min(x.id) FROM t x WHERE x.id <> t.id) RETURNING *;
-- DELETE
CALL again();
BEGIN;
DELETE FROM t WHERE id > 1 RETURNING id, (SELECT count(*) FROM t x WHERE x.id <= t.id);
ROLLBACK;
BEGIN;
DELETE FROM t WHERE id = 3 RETURNING id, (SELECT count(*) FROM t x WHERE x.id <= t.id), total_stable();
ROLLBACK;
BEGIN;
DELETE FROM t USING t u WHERE t.parent = u.id RETURNING t.id, u.id, (SELECT sum(x.v) FROM t x WHERE x.id >= u.id);
ROLLBACK;
BEGIN;
DELETE FROM t WHERE v >= (SELECT max(x.v) FROM t x WHERE x.id < t.id) RETURNING id;
ROLLBACK;
-- INSERT
INSERT INTO t VALUES (5, 4, 50) RETURNING id, (SELECT count(*) FROM t x WHERE x.id <= t.id), (SELECT p.v FROM t p WHERE p.id = t.parent);
INSERT INTO t VALUES (6, 5, 60), (7, 6, 70) RETURNING id, (SELECT count(*) FROM t x WHERE x.id <= t.id), (SELECT p.v FROM t p WHERE p.id = t.parent);
INSERT INTO t SELECT g, g - 1, g * 10 FROM generate_series(8, 10) AS g RETURNING id, (SELECT max(x.id) FROM t x WHERE x.id <= t.id);
INSERT INTO t VALUES (10, 1, 1) ON CONFLICT DO NOTHING RETURNING id, (SELECT count(*) FROM t x WHERE x.id <= t.id);
INSERT INTO t VALUES (11, 1, 1) ON CONFLICT DO NOTHING RETURNING id, (SELECT count(*) FROM t x WHERE x.id <= t.id);
-- ON CONFLICT DO UPDATE
INSERT INTO t VALUES (1, NULL, 5) ON CONFLICT (id) DO UPDATE SET v = (SELECT sum(x.v) FROM t x WHERE x.id <= excluded.id + 1) RETURNING id, v, (SELECT x.v FROM t x WHERE x.id = t.id);
INSERT INTO t VALUES (1, NULL, 5), (2, 1, 6), (12, 1, 7) ON CONFLICT (id) DO UPDATE SET v = t.v + (SELECT sum(x.v) FROM t x WHERE x.id <= excluded.id) RETURNING id, v, (SELECT x.v FROM t x WHERE x.id = t.id);
INSERT INTO t VALUES (1, NULL, 5), (2, 1, 6) ON CONFLICT (id) DO UPDATE SET v = excluded.v + (SELECT max(x.v) FROM t x) RETURNING id, v;
INSERT INTO t VALUES (1, NULL, 5), (2, 1, 6) ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE t.v > (SELECT avg(x.v) FROM t x WHERE x.id < 10) RETURNING id, v;
INSERT INTO t VALUES (1, NULL, 5), (2, 1, 6) ON CONFLICT (id) DO UPDATE SET (v, parent) = (SELECT count(*), max(x.v) FROM t x WHERE x.v >= excluded.v) RETURNING id, v, parent;
-- The second row of one key, and rows of an earlier part.
INSERT INTO t VALUES (30, 1, 1), (30, 1, 2) ON CONFLICT (id) DO UPDATE SET v = 9;
WITH a AS (INSERT INTO t VALUES (20, 1, 1) RETURNING id) INSERT INTO t SELECT id, 1, 2 FROM a ON CONFLICT (id) DO UPDATE SET v = 9;
WITH a AS (UPDATE t SET id = 21 WHERE id = 12 RETURNING id) INSERT INTO t SELECT id, 1, 2 FROM a ON CONFLICT (id) DO UPDATE SET v = 9;
WITH a AS (INSERT INTO t VALUES (20, 1, 1) RETURNING id) INSERT INTO t SELECT id + 1, 1, 2 FROM a ON CONFLICT (id) DO UPDATE SET v = 9 RETURNING id, v;
WITH a AS (INSERT INTO t VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET v = 8 RETURNING id) INSERT INTO t SELECT id, 1, 2 FROM a ON CONFLICT (id) DO UPDATE SET v = 9;
SELECT id, v FROM t WHERE id IN (1, 12, 20, 21, 30) ORDER BY id;
-- Routines and triggers
CREATE TABLE seen (at serial, what text);
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seen (what) SELECT TG_WHEN || ' ' || TG_OP || ' ' || NEW.id || ': ' || sum(v) FROM t WHERE id < 4;
    RETURN NEW;
END $$;
CREATE TRIGGER b BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION look();
CREATE TRIGGER a AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION look();
CALL again();
UPDATE t SET v = v + id * 100 WHERE id < 4;
SELECT what FROM seen ORDER BY at;
CALL again();
UPDATE t SET v = v + 1 WHERE id < 4 RETURNING id, v, (SELECT sum(x.v) FROM t x WHERE x.id <= t.id);
UPDATE t SET v = v + 1 WHERE id = 2 RETURNING id, v, (SELECT sum(x.v) FROM t x WHERE x.id <= t.id);
DROP TRIGGER a ON t;
DROP TRIGGER b ON t;
CREATE FUNCTION raised(more int) RETURNS TABLE (id int, v int, was int) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY UPDATE t SET v = t.v + more WHERE t.id < 4 RETURNING t.id, t.v, (SELECT x.v FROM t x WHERE x.id = t.id);
END $$;
CALL again();
SELECT * FROM raised(5) ORDER BY id;
CALL again();
SELECT * FROM raised(6) ORDER BY id;
CALL again();
DO $$
DECLARE r record; s text := '';
BEGIN
    FOR i IN 1..2 LOOP
        CALL again();
        FOR r IN UPDATE t SET v = v + i WHERE id < 4 RETURNING id, (SELECT sum(x.v) FROM t x WHERE x.id <= t.id) AS before LOOP
            s := s || ' ' || r.id || ':' || r.before;
        END LOOP;
    END LOOP;
    RAISE NOTICE '%', s;
END $$;
-- A generated column, and views
CREATE TABLE g (id int PRIMARY KEY, v int, twice int GENERATED ALWAYS AS (v * 2) STORED);
INSERT INTO g VALUES (1, 1), (2, 2) RETURNING id, twice, (SELECT count(*) FROM g x WHERE x.twice < g.twice);
UPDATE g SET v = v + 1 WHERE id = 2 RETURNING id, twice, (SELECT x.twice FROM g x WHERE x.twice = g.twice);
UPDATE g SET v = v + 1 WHERE id = 2 RETURNING id, twice, (SELECT x.twice FROM g x WHERE x.id = g.id);
CREATE VIEW gv AS SELECT id, v FROM g;
UPDATE gv SET v = v + 1 RETURNING id, v, (SELECT x.v FROM gv x WHERE x.id = gv.id), (SELECT x.v FROM g x WHERE x.id = gv.id);
INSERT INTO gv VALUES (3, 3) RETURNING id, (SELECT count(*) FROM gv x WHERE x.id <= gv.id);
DELETE FROM gv RETURNING id, (SELECT count(*) FROM gv x WHERE x.id <= gv.id);
CREATE TABLE one_at_a_time (a int PRIMARY KEY, b int);
INSERT INTO one_at_a_time VALUES (1, 1), (2, 2), (3, 3);
CREATE FUNCTION sum_then() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT sum(b) FROM one_at_a_time $$;
CREATE FUNCTION b_then(int) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (SELECT b FROM one_at_a_time WHERE a = $1); END $$;
CREATE FUNCTION sum_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT sum(b) FROM one_at_a_time $$;
UPDATE one_at_a_time SET b = b + 10 WHERE a = 1 RETURNING b, sum_then(), b_then(a), sum_now();
INSERT INTO one_at_a_time VALUES (4, 4) RETURNING sum_then() + 0, b_then(a), sum_now();
DELETE FROM one_at_a_time WHERE a = 2 RETURNING sum_then(), b_then(a), sum_now();
