-- Calls of aggregates and window functions that are not there.
SELECT nosuch(x ORDER BY x) FROM (VALUES (1)) t(x);
SELECT nosuch(x) OVER () FROM (VALUES (1)) t(x);
SELECT nosuch(DISTINCT x) FROM (VALUES (1)) t(x);
SELECT nosuch(x) FILTER (WHERE true) FROM (VALUES (1)) t(x);
SELECT nosuch(*) FROM (VALUES (1)) t(x);
SELECT nosuch(x) WITHIN GROUP (ORDER BY x) FROM (VALUES (1)) t(x);
SELECT abs(x ORDER BY x) FROM (VALUES (1)) t(x);
SELECT abs('q'::text ORDER BY x) FROM (VALUES (1)) t(x);
SELECT sum('q'::text) OVER ();
SELECT sum(1,2) OVER ();
SELECT abs(*);
CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT f(x) OVER () FROM (VALUES (1)) t(x);
SELECT f('a'::text, x) OVER () FROM (VALUES (1)) t(x);
SELECT f(DISTINCT x) FROM (VALUES (1)) t(x);
SELECT lag(x, 1, 2, 3) OVER () FROM (VALUES (1)) t(x);
