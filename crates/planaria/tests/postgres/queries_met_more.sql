-- Hypothetical-set aggregates, SELECT INTO behind WITH, functions that find no row.
CREATE TABLE t (k int PRIMARY KEY, v text, x int);
INSERT INTO t VALUES (1, 'a', 10), (2, 'b', NULL), (3, 'c', 10), (4, 'd', 20), (5, 'e', NULL);
SELECT rank(3) WITHIN GROUP (ORDER BY k), dense_rank(3) WITHIN GROUP (ORDER BY k), percent_rank(3) WITHIN GROUP (ORDER BY k), cume_dist(3) WITHIN GROUP (ORDER BY k) FROM t;
SELECT rank(10) WITHIN GROUP (ORDER BY x), rank(15) WITHIN GROUP (ORDER BY x), rank(15) WITHIN GROUP (ORDER BY x DESC), rank(15) WITHIN GROUP (ORDER BY x NULLS FIRST), rank(15) WITHIN GROUP (ORDER BY x DESC NULLS LAST) FROM t;
SELECT dense_rank(20) WITHIN GROUP (ORDER BY x), dense_rank(20) WITHIN GROUP (ORDER BY x NULLS FIRST), dense_rank(15) WITHIN GROUP (ORDER BY x DESC), dense_rank(NULL) WITHIN GROUP (ORDER BY x) FROM t;
SELECT rank(NULL) WITHIN GROUP (ORDER BY x), rank(NULL) WITHIN GROUP (ORDER BY x NULLS FIRST), cume_dist(NULL) WITHIN GROUP (ORDER BY x), cume_dist(10) WITHIN GROUP (ORDER BY x), percent_rank(20) WITHIN GROUP (ORDER BY x) FROM t;
SELECT rank(10, 2) WITHIN GROUP (ORDER BY x, k), rank(10, 2) WITHIN GROUP (ORDER BY x, k DESC), cume_dist(10, 3) WITHIN GROUP (ORDER BY x, k), dense_rank(10, 'b') WITHIN GROUP (ORDER BY x, v DESC) FROM t;
SELECT rank('bb') WITHIN GROUP (ORDER BY v), rank(2.5) WITHIN GROUP (ORDER BY k), rank('2') WITHIN GROUP (ORDER BY k) FROM t;
SELECT rank(1) WITHIN GROUP (ORDER BY k), percent_rank(1) WITHIN GROUP (ORDER BY k), cume_dist(1) WITHIN GROUP (ORDER BY k), dense_rank(1) WITHIN GROUP (ORDER BY k) FROM t WHERE false;
SELECT k % 2 AS odd, rank(3) WITHIN GROUP (ORDER BY k) FILTER (WHERE k > 1), cume_dist(3) WITHIN GROUP (ORDER BY k) FILTER (WHERE k > 1) FROM t GROUP BY k % 2 ORDER BY 1;
SELECT k % 2 AS odd, rank(k % 2 + 2) WITHIN GROUP (ORDER BY k) FROM t GROUP BY k % 2 HAVING rank(9) WITHIN GROUP (ORDER BY k) > 2 ORDER BY rank(9) WITHIN GROUP (ORDER BY k), 1;
SELECT pg_typeof(rank(1) WITHIN GROUP (ORDER BY k)), pg_typeof(percent_rank(1) WITHIN GROUP (ORDER BY k)) FROM t;
SELECT rank(1, 2) WITHIN GROUP (ORDER BY k) FROM t;
SELECT rank() WITHIN GROUP (ORDER BY k) FROM t;
SELECT rank(1) WITHIN GROUP (ORDER BY k) OVER () FROM t;
SELECT rank() FROM t;
CREATE VIEW r AS SELECT rank(3) WITHIN GROUP (ORDER BY k) AS place FROM t;
SELECT * FROM r;
-- SELECT INTO behind WITH.
WITH x AS (SELECT 1 AS a) SELECT a INTO i1 FROM x;
SELECT * FROM i1;
WITH x AS (INSERT INTO t VALUES (6, 'f', 1) RETURNING k, v) SELECT * INTO i2 FROM x;
SELECT * FROM i2;
WITH RECURSIVE x(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM x WHERE n < 4) SELECT n INTO TEMP i3 FROM x;
SELECT * FROM i3 ORDER BY n;
WITH x AS (SELECT 1 AS a INTO i4) SELECT * FROM x;
CREATE TABLE i5 AS WITH RECURSIVE x(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM x WHERE n < 3) SELECT * FROM x;
SELECT * FROM i5 ORDER BY n;
CREATE TABLE i6 AS WITH x AS (INSERT INTO t VALUES (7, 'g', 1) RETURNING k), y AS (UPDATE i2 SET v = 'u' WHERE k = 6 RETURNING k, v) SELECT x.k, y.v FROM x, y;
SELECT * FROM i6;
DO $$ DECLARE n int; BEGIN WITH x AS (SELECT 5 AS a) SELECT a INTO n FROM x; RAISE NOTICE '%', n; END $$;
-- Rows that a statement has made are not changed by ON CONFLICT.
WITH i AS (INSERT INTO t VALUES (20, 'x', 1) RETURNING k, v) INSERT INTO t SELECT k, 'y', 2 FROM i ON CONFLICT (k) DO UPDATE SET v = excluded.v;
WITH i AS (UPDATE t SET v = 'up' WHERE k = 2 RETURNING k) INSERT INTO t SELECT k, 'y', 2 FROM i ON CONFLICT (k) DO UPDATE SET v = excluded.v;
WITH i AS (INSERT INTO t VALUES (21, 'x', 1) RETURNING k, v) INSERT INTO t SELECT k, 'y', 2 FROM i;
-- A function in SQL that finds no row.
CREATE FUNCTION found(n int, OUT a int, OUT b text) LANGUAGE sql AS $$ SELECT k, v FROM t WHERE k = n $$;
SELECT found(99), found(3), found(99) IS NULL;
SELECT * FROM found(99);
SELECT (found(99)).a;
CREATE FUNCTION found_row(n int) RETURNS t LANGUAGE sql AS $$ SELECT * FROM t WHERE k = n $$;
SELECT found_row(99), found_row(3);
CREATE FUNCTION assigned(n int, OUT a int, OUT b text) LANGUAGE plpgsql AS $$ BEGIN SELECT k, v INTO a, b FROM t WHERE k = n; END $$;
SELECT assigned(99), assigned(3);
-- Types that are not known.
CREATE TYPE mood AS ENUM ('low', 'high');
SELECT enum_first('low');
SELECT enum_first(NULL);
SELECT enum_first('low'::mood), enum_range(NULL::mood);
SELECT enum_first(1);
SELECT DISTINCT v, v FROM t WHERE k < 3 ORDER BY 1;
-- Direct arguments are of grouped columns.
SELECT rank(k) WITHIN GROUP (ORDER BY k) FROM t;
SELECT k, rank(k) WITHIN GROUP (ORDER BY k) FROM t GROUP BY k ORDER BY 1 LIMIT 2;
SELECT dense_rank(1 / 0) WITHIN GROUP (ORDER BY k) FROM t WHERE false;
SELECT cume_dist(2 + 1) WITHIN GROUP (ORDER BY k) FROM t;
CREATE TYPE named AS (a int);
ALTER TYPE named ADD ATTRIBUTE xmin int;
ALTER TYPE named RENAME ATTRIBUTE a TO ctid;
SELECT ROW(1, 2)::named;
