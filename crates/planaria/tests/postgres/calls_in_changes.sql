-- A volatile function sees what its statement has changed so far; the statement's own queries, and stable functions, do not.
CREATE TABLE t (id int PRIMARY KEY, a int, b int);
CREATE TABLE o (id int PRIMARY KEY, t int);
INSERT INTO o VALUES (1, 1), (2, 1), (3, 2), (4, 4);
CREATE FUNCTION total() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT sum(a) FROM t); END $$;
CREATE FUNCTION rows_now() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM t $$;
CREATE FUNCTION stable_total() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT sum(a) FROM t $$;
CREATE FUNCTION total_but(i int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN SELECT sum(a) INTO n FROM t WHERE id <> i; RETURN n; END $$;
CREATE PROCEDURE fresh() LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t; INSERT INTO t VALUES (1, 1, 0), (2, 2, 0), (3, 3, 0), (4, 4, 0); END $$;

CALL fresh(); UPDATE t SET a = total(); SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 10, b = total(); SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = a + 10, b = total_but(id) WHERE id > 1; SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 100 WHERE total() < 200; SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 100 WHERE total_but(id) < 110 AND id <> 2; SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 10, b = (SELECT sum(a) FROM t); SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 10, b = (SELECT sum(x.a) FROM t x WHERE x.id <= t.id); SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 10, b = stable_total(); SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = total(), b = (SELECT max(x.a) FROM t x WHERE x.id <= t.id); SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET (a, b) = (SELECT total(), 5); SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET (a, b) = (SELECT max(x.a), min(x.b) FROM t x WHERE x.id <> t.id); SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 7 WHERE id = 2 AND total() = 10; SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = total() WHERE id = 2; SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 10 RETURNING id, total();
CALL fresh(); UPDATE t SET a = 10 WHERE a > 0 RETURNING id, (SELECT sum(a) FROM t);
CALL fresh(); UPDATE t SET a = total() FROM o WHERE o.t = t.id; SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET a = 50 FROM o WHERE o.t = t.id AND total() < 60; SELECT * FROM t ORDER BY id;
CALL fresh(); UPDATE t SET id = id + 100, a = total(); SELECT * FROM t ORDER BY id;
CALL fresh(); DELETE FROM t WHERE rows_now() > 2; SELECT * FROM t ORDER BY id;
CALL fresh(); DELETE FROM t WHERE id > 1 AND rows_now() > 2 RETURNING id, rows_now();
CALL fresh(); DELETE FROM t WHERE (SELECT count(*) FROM t) > 2; SELECT * FROM t ORDER BY id;
CALL fresh(); DELETE FROM t USING o WHERE o.t = t.id AND rows_now() > 3; SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t SELECT id + 10, rows_now() FROM t ORDER BY id; SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t SELECT id + 10, rows_now(), 1 FROM t WHERE id < 4; SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t SELECT id + 10, rows_now() FROM t WHERE rows_now() < 6; SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t SELECT id + 10, rows_now() FROM o ORDER BY id LIMIT 3; SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t SELECT 10 + b, rows_now() + count(*) FROM t GROUP BY b; SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t VALUES (11, rows_now()), (12, rows_now()), (13, (SELECT count(*) FROM t)); SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t VALUES (1, rows_now()), (12, rows_now()) ON CONFLICT (id) DO UPDATE SET b = rows_now() RETURNING *;
CALL fresh(); INSERT INTO t SELECT g, rows_now() FROM generate_series(1, 6) g ON CONFLICT DO NOTHING; SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t SELECT DISTINCT 20 + id, rows_now() FROM t; SELECT count(*), max(a) FROM t;
CREATE PROCEDURE p() LANGUAGE plpgsql AS $$
DECLARE n int; BEGIN
  CALL fresh();
  FOR i IN 1..2 LOOP
    UPDATE t SET a = total() WHERE id > i; GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '% %', n, total();
    DELETE FROM t WHERE rows_now() > 3; INSERT INTO t SELECT 10 * i + id, rows_now() FROM t;
  END LOOP;
END $$;
CALL p(); SELECT * FROM t ORDER BY id;
CALL fresh(); INSERT INTO t VALUES (10, 1), (11, 1) RETURNING id, (SELECT count(*) FROM t), rows_now();
CALL fresh(); INSERT INTO t VALUES (10, 1) RETURNING EXISTS (SELECT FROM t WHERE id = 10), (SELECT count(*) FROM o);
CALL fresh(); DELETE FROM t WHERE id < 3 RETURNING (SELECT count(*) FROM t);
CALL fresh(); UPDATE t SET a = 10, b = total() + (SELECT sum(a) FROM t) WHERE total() > (SELECT min(a) FROM t); SELECT * FROM t ORDER BY id;
