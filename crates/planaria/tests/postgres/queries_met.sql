-- Queries that applications were found to ask.
CREATE TABLE t (a int, b text);
INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'x');
-- CREATE TABLE AS with changes in WITH
CREATE TABLE made AS WITH n AS (INSERT INTO t VALUES (4, 'z'), (5, 'y') RETURNING a, b) SELECT a * 10 AS a, b FROM n;
SELECT * FROM made ORDER BY a;
CREATE TABLE gone AS WITH d AS (DELETE FROM t WHERE a > 3 RETURNING *), s AS (SELECT count(*) AS n FROM d) SELECT d.*, n FROM d, s;
SELECT * FROM gone ORDER BY a;
SELECT count(*) FROM t;
CREATE TABLE none AS WITH u AS (UPDATE t SET b = b || '!' RETURNING *) SELECT * FROM u WITH NO DATA;
SELECT * FROM t ORDER BY a;
-- Set-returning functions beside aggregates
SELECT unnest(array_agg(a ORDER BY a)), count(*) FROM t;
SELECT b, unnest(array_agg(a ORDER BY a)) AS e, count(*) FROM t GROUP BY b ORDER BY b, e;
SELECT generate_series(1, count(*)::int) FROM t;
SELECT b, generate_series(1, max(a)) FROM t GROUP BY b HAVING count(*) > 1 ORDER BY 2;
SELECT unnest(array_agg(a ORDER BY a)), unnest(array_agg(b ORDER BY a)) FROM t;
SELECT jsonb_array_elements(jsonb_agg(a ORDER BY a)) FROM t;
SELECT unnest(array_agg(a)) FROM t WHERE false;
SELECT unnest(array_agg(a ORDER BY a)) + 1 AS n FROM t ORDER BY n DESC LIMIT 2;
SELECT DISTINCT unnest(array_agg(b)) AS u FROM t ORDER BY u;
SELECT unnest(array_agg(a)), b FROM t;
SELECT x.n FROM (SELECT unnest(array_agg(a ORDER BY a)) AS n FROM t) AS x WHERE x.n > 1;
-- Rows out of JSON, outside of FROM
CREATE TABLE r (id int, name text, tags text[]);
SELECT jsonb_populate_record(NULL::r, '{"id": 1, "name": "a", "tags": ["x", "y"]}');
SELECT (jsonb_populate_record(NULL::r, '{"id": 1, "name": "a"}')).*;
SELECT (jsonb_populate_record(NULL::r, '{"id": 1, "name": "a"}')).name;
SELECT jsonb_populate_record(NULL::r, NULL);
SELECT json_populate_record(NULL::r, '{"id": 7}');
SELECT jsonb_populate_recordset(NULL::r, '[{"id": 1}, {"id": 2, "name": "b"}]');
SELECT (jsonb_populate_recordset(NULL::r, '[{"id": 1}, {"id": 2, "name": "b"}]')).*;
INSERT INTO r SELECT (jsonb_populate_record(NULL::r, j)).* FROM (VALUES ('{"id": 3}'::jsonb), ('{"id": 4, "name": "d"}')) AS q (j);
SELECT * FROM r ORDER BY id;
SELECT (jsonb_populate_record(NULL::r, to_jsonb(r) || '{"name": "new"}')).* FROM r ORDER BY 1;
-- OR REPLACE with other names of what is given
CREATE FUNCTION two(x int, OUT a int, OUT b int) LANGUAGE sql AS 'SELECT x, x';
CREATE OR REPLACE FUNCTION two(x int, OUT a int, OUT c int) LANGUAGE sql AS 'SELECT x, x';
CREATE OR REPLACE FUNCTION two(y int, OUT a int, OUT b int) LANGUAGE sql AS 'SELECT 1, 1';
CREATE FUNCTION one(x int, OUT a int) LANGUAGE sql AS 'SELECT x';
CREATE OR REPLACE FUNCTION one(x int, OUT b int) LANGUAGE sql AS 'SELECT x + 1';
SELECT * FROM one(1);
CREATE FUNCTION tab(x int) RETURNS TABLE (a int, b int) LANGUAGE sql AS 'SELECT x, x';
CREATE OR REPLACE FUNCTION tab(x int) RETURNS TABLE (a int, c int) LANGUAGE sql AS 'SELECT x, x';
