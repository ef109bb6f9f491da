-- What RETURNING asks of tables: they are as they were before the statement, also those that foreign keys and triggers change with it.
CREATE TABLE t (k int PRIMARY KEY, v int);
CREATE TABLE c (id int PRIMARY KEY, k int REFERENCES t ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE g (id int PRIMARY KEY, c int REFERENCES c ON DELETE CASCADE);
CREATE TABLE s (id int PRIMARY KEY, k int REFERENCES t ON DELETE SET NULL ON UPDATE SET NULL);
INSERT INTO t SELECT i, i FROM generate_series(1, 6) i;
INSERT INTO c SELECT i, (i - 1) % 6 + 1 FROM generate_series(1, 12) i;
INSERT INTO g SELECT i, i FROM generate_series(1, 12) i;
INSERT INTO s SELECT i, i FROM generate_series(1, 6) i;
CREATE FUNCTION nt() RETURNS bigint STABLE LANGUAGE sql AS $$ SELECT count(*) FROM t $$;
CREATE FUNCTION sv() RETURNS bigint STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT sum(v) FROM t); END $$;
CREATE FUNCTION more(n int) RETURNS bigint STABLE LANGUAGE sql AS $$ SELECT count(*) + n FROM t $$;
CREATE FUNCTION nc(x int) RETURNS bigint STABLE LANGUAGE sql AS $$ SELECT count(*) FROM c WHERE c.k = x $$;
CREATE FUNCTION vv() RETURNS bigint VOLATILE LANGUAGE sql AS $$ SELECT count(*) FROM t $$;
-- STABLE functions, of one row and of several; one that is VOLATILE sees what has been changed.
INSERT INTO t VALUES (10, 1), (11, 1) RETURNING k, nt(), sv(), more(5), vv();
INSERT INTO t SELECT i, 1 FROM generate_series(12, 13) i RETURNING k, nt(), more(1) + nt();
UPDATE t SET v = v + 1 WHERE k >= 10 RETURNING k, v, nt(), sv(), vv();
UPDATE t SET v = v + 1 WHERE k = 10 RETURNING k, v, sv();
DELETE FROM t WHERE k >= 12 RETURNING k, nt(), sv(), (SELECT count(*) FROM t);
INSERT INTO t VALUES (10, 5), (20, 6) ON CONFLICT (k) DO UPDATE SET v = excluded.v RETURNING k, v, sv(), nt();
-- Rows that go with the row.
DELETE FROM t WHERE k = 1 RETURNING k, (SELECT count(*) FROM c), (SELECT count(*) FROM g), nc(1);
DELETE FROM t WHERE k IN (2, 3) RETURNING k, (SELECT count(*) FROM c), (SELECT count(*) FROM g), (SELECT count(k) FROM s);
DELETE FROM t WHERE k IN (4) RETURNING k, (SELECT array_agg(c.id ORDER BY c.id) FROM c WHERE c.k = t.k), (SELECT count(k) FROM s);
UPDATE t SET k = k + 40 WHERE k IN (5, 6) RETURNING k, (SELECT count(*) FROM c WHERE c.k IN (5, 6)), (SELECT count(k) FROM s), (SELECT count(*) FROM c WHERE c.k = t.k);
SELECT * FROM c ORDER BY id;
SELECT * FROM s ORDER BY id;
-- Triggers in front of a row.
CREATE TABLE seen (n int);
CREATE FUNCTION notes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (new.k); RETURN new; END $$;
CREATE TRIGGER notes BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION notes();
INSERT INTO t VALUES (60, 1), (61, 1) RETURNING k, (SELECT count(*) FROM seen);
INSERT INTO t VALUES (62, 1) RETURNING k, (SELECT count(*) FROM seen);
UPDATE t SET v = 0 WHERE k >= 60 RETURNING k, (SELECT count(*) FROM seen), (SELECT sum(v) FROM t);
DROP TRIGGER notes ON t;
-- Views with INSTEAD OF triggers.
CREATE VIEW w AS SELECT k, v FROM t;
CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF tg_op = 'INSERT' THEN INSERT INTO t VALUES (new.k, new.v); RETURN new;
    ELSIF tg_op = 'UPDATE' THEN UPDATE t SET v = new.v WHERE k = old.k; RETURN new;
    ELSE DELETE FROM t WHERE k = old.k; RETURN old; END IF;
END $$;
CREATE TRIGGER instead INSTEAD OF INSERT OR UPDATE OR DELETE ON w FOR EACH ROW EXECUTE FUNCTION instead();
INSERT INTO w VALUES (30, 1), (31, 1) RETURNING k, (SELECT count(*) FROM t), nt(), vv();
UPDATE w SET v = 7 WHERE k IN (30, 31) RETURNING k, (SELECT sum(v) FROM t), sv();
DELETE FROM w WHERE k IN (30, 31) RETURNING k, (SELECT count(*) FROM t), nt(), vv();
INSERT INTO w VALUES (33, 1) RETURNING k, (SELECT count(*) FROM w), nt(), (SELECT max(x.k) FROM t x WHERE x.k < w.k);
-- Within routines and WITH.
DO $$ DECLARE n bigint; m bigint; BEGIN INSERT INTO t VALUES (70, 1) RETURNING nt(), vv() INTO n, m; RAISE NOTICE '% %', m - n, (SELECT count(*) FROM t) - m; END $$;
WITH a AS (INSERT INTO t VALUES (71, 1), (72, 1) RETURNING k, nt()) SELECT k, (SELECT count(*) FROM t) - nt FROM a ORDER BY k;
-- Where no row is changed nothing is called.
CREATE FUNCTION bs(i int) RETURNS int STABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM count(*) FROM t; RETURN 1 / i; END $$;
DELETE FROM t WHERE k > 900 RETURNING bs(0);
UPDATE t SET v = 1 WHERE k > 900 RETURNING bs(0);
INSERT INTO t SELECT 1000, 1 WHERE false RETURNING bs(0);
UPDATE t SET v = v WHERE k >= 70 RETURNING bs(0);
UPDATE t SET v = v WHERE k >= 70 RETURNING bs(1);
