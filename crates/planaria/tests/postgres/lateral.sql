-- LATERAL: what a row that is not there gives, and what outer columns are inside.
CREATE TABLE a (x int PRIMARY KEY, t text NOT NULL);
CREATE TABLE b (y int PRIMARY KEY, x int);
INSERT INTO a VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO b VALUES (10, 1), (11, 1), (20, 2);
SELECT a.x, s.* FROM a LEFT JOIN LATERAL (SELECT a.x AS k, b.y FROM b WHERE b.x = a.x) s ON true ORDER BY 1, 3;
SELECT a.x, s.* FROM a LEFT JOIN LATERAL (SELECT a.x AS k FROM b WHERE false) s ON true ORDER BY 1;
SELECT a.x, s.* FROM a LEFT JOIN LATERAL (SELECT a.t AS k, b.y, a.x + 1 AS n FROM b WHERE b.x = a.x) s ON s.y <> 10 ORDER BY 1, 3;
SELECT a.x, s.k IS NULL FROM a LEFT JOIN LATERAL (SELECT a.x AS k FROM b WHERE b.x = a.x LIMIT 1) s ON true ORDER BY 1;
SELECT a.x, coalesce(s.k, -1) FROM a LEFT JOIN LATERAL (SELECT a.x AS k FROM b WHERE b.x = a.x) s ON s.k > 1 ORDER BY 1, 2;
SELECT a.x, s.k FROM a LEFT JOIN LATERAL (SELECT a.x AS k) s ON a.x = 2 ORDER BY 1;
SELECT a.x, s.k FROM a LEFT JOIN LATERAL (SELECT u.k FROM (SELECT a.x AS k, b.y FROM b WHERE b.x = a.x) u) s ON true ORDER BY 1;
SELECT a.x, s.k, r.m FROM a LEFT JOIN LATERAL (SELECT a.x AS k, b.y FROM b WHERE b.x = a.x AND b.y > 10) s ON true LEFT JOIN LATERAL (SELECT s.k AS m FROM b WHERE b.y = s.y) r ON true ORDER BY 1;
SELECT count(s.k), count(*) FROM a LEFT JOIN LATERAL (SELECT a.x AS k FROM b WHERE b.x = a.x) s ON true;
SELECT a.x FROM a LEFT JOIN LATERAL (SELECT a.x AS k FROM b WHERE b.x = a.x) s ON true WHERE s.k IS NULL;
SELECT a.x, u FROM a LEFT JOIN LATERAL unnest(ARRAY[a.x]) u ON u > 1 ORDER BY 1;
SELECT a.x, u FROM a LEFT JOIN LATERAL upper(a.t) u ON a.x = 1 ORDER BY 1;
SELECT a.x, o.k FROM a LEFT JOIN (b LEFT JOIN LATERAL (SELECT b.x AS k FROM a c WHERE c.x = b.x AND c.x = 2) o ON true) ON b.x = a.x ORDER BY 1, 2;
SELECT (SELECT string_agg(coalesce(s.k::text, 'null'), ',') FROM a LEFT JOIN LATERAL (SELECT o.x AS k FROM b WHERE b.x = a.x AND b.y > 10) s ON true) FROM a o ORDER BY 1;
SELECT o.x, s.k FROM a o, LATERAL (SELECT w.k FROM (SELECT 1) z (one) LEFT JOIN (SELECT o.x AS k FROM b WHERE b.x = o.x AND b.y > 10) w ON true) s ORDER BY 1;
SELECT s.k, a.x FROM (SELECT 5 AS k) z LEFT JOIN (SELECT b.x AS k FROM b) s ON s.k = z.k RIGHT JOIN a ON a.x = s.k ORDER BY 2;
SELECT f.k, g.k FROM (SELECT x AS k FROM a) f FULL JOIN (SELECT x AS k FROM b WHERE y > 10) g ON f.k = g.k ORDER BY 1, 2;
SELECT a.x, s.* FROM a, LATERAL (SELECT u.y, v.g FROM (SELECT y FROM b WHERE b.x = a.x) u FULL JOIN (SELECT g FROM generate_series(10, 9 + a.x) g) v ON u.y = v.g) s ORDER BY 1, 2, 3;
SELECT a.x, s.k FROM a, LATERAL (SELECT w.y AS k FROM (SELECT 1) z (one) LEFT JOIN b w ON w.x = a.x) s ORDER BY 1, 2;
-- CTEs that use outer columns.
SELECT a.x, s.n FROM a, LATERAL (WITH c AS (SELECT a.x AS n UNION ALL SELECT a.x * 10) SELECT n FROM c) s ORDER BY 1, 2;
SELECT a.x, s.n FROM a, LATERAL (WITH c AS (SELECT a.x AS n UNION SELECT a.x) SELECT n FROM c) s ORDER BY 1, 2;
SELECT a.x, s.n FROM a, LATERAL (WITH RECURSIVE c (n) AS (SELECT a.x UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c) s ORDER BY 1, 2;
SELECT a.x, s.n FROM a, LATERAL (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < a.x) SELECT max(n) AS n FROM c) s ORDER BY 1, 2;
SELECT a.x, s.n FROM a LEFT JOIN LATERAL (WITH c AS (SELECT a.x AS n UNION ALL SELECT NULL) SELECT n FROM c WHERE n > 1) s ON true ORDER BY 1, 2;
SELECT a.x, s.p, s.q FROM a, LATERAL (WITH c AS (SELECT a.x AS n UNION ALL SELECT a.x + 1) SELECT p.n AS p, q.n AS q FROM c p, c q) s ORDER BY 1, 2, 3;
SELECT a.x, s.p, s.q FROM a, LATERAL (WITH RECURSIVE c (n) AS (SELECT a.x UNION ALL SELECT n + 1 FROM c WHERE n < 2) SELECT p.n AS p, q.n AS q FROM c p JOIN c q ON p.n = q.n) s ORDER BY 1, 2, 3;
SELECT a.x, (WITH c AS (SELECT a.x AS n UNION ALL SELECT a.x * 10) SELECT sum(n) FROM c) FROM a ORDER BY 1;
SELECT a.x, (WITH RECURSIVE c (n) AS (SELECT a.x UNION ALL SELECT n - 1 FROM c WHERE n > 0) SELECT count(*) FROM c) FROM a ORDER BY 1;
SELECT a.x FROM a WHERE EXISTS (WITH c AS (SELECT a.x AS n UNION ALL SELECT 7) SELECT 1 FROM c, c d WHERE c.n = d.n AND c.n = 2) ORDER BY 1;
SELECT a.x, s.n FROM a, LATERAL (WITH c AS (SELECT a.x AS n INTERSECT SELECT 2) SELECT n FROM c) s;
SELECT a.x, s.n FROM a, LATERAL (WITH c AS (VALUES (a.x), (a.x + 5)), d AS (SELECT column1 AS n FROM c UNION SELECT 0) SELECT d.n FROM d JOIN c ON c.column1 = d.n) s ORDER BY 1, 2;
SELECT a.x, s.n FROM a, LATERAL (SELECT u.n FROM (SELECT a.x AS n UNION ALL SELECT a.x * 100) u) s ORDER BY 1, 2;
WITH o AS (SELECT x FROM a) SELECT o.x, s.n FROM o, LATERAL (WITH c AS (SELECT o.x AS n UNION ALL SELECT o.x * 10) SELECT n FROM c) s ORDER BY 1, 2;
SELECT b.y, s.n FROM b JOIN LATERAL (WITH c AS (SELECT b.x AS n UNION ALL SELECT a.x FROM a WHERE a.x > b.x) SELECT n FROM c) s ON s.n > 1 ORDER BY 1, 2;
-- Conditions of joins within a join that use what is outside.
SELECT o.v, s.* FROM (SELECT 1 AS v, 0 AS w FROM a HAVING true) o, LATERAL (SELECT b.y, a.x FROM (SELECT 1 AS k FROM a HAVING true) n LEFT JOIN b ON o.v = b.x RIGHT JOIN a ON n.k = a.x) s ORDER BY 1, 2, 3;
SELECT o.x, s.* FROM a o, LATERAL (SELECT b.y, a.x FROM (SELECT 1 AS k FROM a HAVING true) n LEFT JOIN b ON o.x = 2 RIGHT JOIN a ON n.k = a.x) s ORDER BY 1, 2, 3;
SELECT o.v, s.* FROM (SELECT 1 AS v FROM a HAVING true) o, LATERAL (SELECT a.x, b.y, c.x AS z FROM a LEFT JOIN (b FULL JOIN a c ON b.x = c.x AND o.v = c.x) ON b.x = a.x) s ORDER BY 1, 2, 3, 4;
SELECT o.x, s.* FROM a o, LATERAL (SELECT a.x, b.y, c.x AS z FROM a LEFT JOIN (b FULL JOIN a c ON b.x = c.x AND o.x = c.x) ON b.x = a.x) s ORDER BY 1, 2, 3, 4;
SELECT o.x, s.* FROM a o LEFT JOIN LATERAL (SELECT b.y, c.x AS z FROM b JOIN (a c LEFT JOIN b d ON d.x = o.x) ON b.x = c.x) s ON s.z = o.x ORDER BY 1, 2, 3;
-- In a function.
CREATE FUNCTION marks(lim int) RETURNS TABLE (p int, q int) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT a.x, s.k FROM a LEFT JOIN LATERAL (SELECT a.x AS k FROM b WHERE b.x = a.x AND b.y > lim) s ON true ORDER BY 1;
END $$;
SELECT * FROM marks(10);
