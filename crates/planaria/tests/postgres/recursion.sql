-- A nested WITH inside the recursive term is computed anew in each turn, however often it is read.
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL (WITH u AS (SELECT n + 1 AS m FROM t WHERE n < 5) SELECT a.m FROM u a JOIN u b ON a.m = b.m)) SELECT * FROM t;
WITH RECURSIVE t (n) AS (SELECT 1 UNION (WITH u AS (SELECT n + 1 AS m FROM t WHERE n < 5) SELECT m FROM u UNION SELECT m + 10 FROM u WHERE m < 3)) SELECT * FROM t ORDER BY n;
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL (WITH u AS (SELECT n + 1 AS m FROM t WHERE n < 5), v AS (SELECT m FROM u UNION ALL SELECT m FROM u) SELECT DISTINCT m FROM v)) SELECT * FROM t;
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL (WITH RECURSIVE u (m) AS (SELECT n + 1 FROM t WHERE n < 4 UNION ALL SELECT m + 100 FROM u WHERE m < 100) SELECT min(a.m)::int FROM u a, u b HAVING count(*) > 0)) SELECT * FROM t;
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT s.m FROM (WITH u AS (SELECT n + 1 AS m FROM t WHERE n < 5) SELECT a.m FROM u a, u b) s) SELECT * FROM t;
WITH RECURSIVE t (n, k) AS (SELECT 1, 1 UNION ALL SELECT n + 1, (WITH c AS (SELECT t.n AS x UNION ALL SELECT t.k) SELECT sum(p.x + q.x)::int FROM c p, c q) FROM t WHERE n < 4) SELECT * FROM t;
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4 AND EXISTS (SELECT 1 FROM generate_series(1, 3) g WHERE g = t.n)) SELECT * FROM t;
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT a.m FROM (SELECT n + 1 AS m FROM t OFFSET 0) a JOIN generate_series(1, 5) g ON g = a.m) SELECT * FROM t;
-- Functions that call themselves are limited by the stack.
CREATE FUNCTION deep(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + deep(n - 1); END $$;
SELECT deep(500);
CREATE TABLE deep_rows (n int);
CREATE PROCEDURE deep_down(n int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO deep_rows VALUES (n); IF n > 0 THEN CALL deep_down(n - 1); END IF; END $$;
CALL deep_down(300);
SELECT count(*), max(n) FROM deep_rows;
DO $$ BEGIN PERFORM deep(1000000); EXCEPTION WHEN statement_too_complex THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;
SELECT deep(50);
