-- SEARCH and CYCLE of recursive queries.
CREATE TABLE graph (f int, t int, label text);
INSERT INTO graph VALUES (1, 2, 'arc 1 -> 2'), (1, 3, 'arc 1 -> 3'), (2, 3, 'arc 2 -> 3'), (1, 4, 'arc 1 -> 4'), (4, 5, 'arc 4 -> 5');
WITH RECURSIVE search_graph(f, t, label) AS (SELECT * FROM graph g UNION ALL SELECT g.* FROM graph g, search_graph sg WHERE g.f = sg.t) SEARCH DEPTH FIRST BY f, t SET seq SELECT f, t, label FROM search_graph ORDER BY seq;
WITH RECURSIVE search_graph(f, t, label) AS (SELECT * FROM graph g UNION ALL SELECT g.* FROM graph g, search_graph sg WHERE g.f = sg.t) SEARCH BREADTH FIRST BY f, t SET seq SELECT f, t, label FROM search_graph ORDER BY seq;
WITH RECURSIVE search_graph AS (SELECT f, t, label AS "the label" FROM graph g WHERE f = 1 UNION ALL SELECT g.* FROM graph g JOIN search_graph sg ON g.f = sg.t) SEARCH DEPTH FIRST BY "the label" SET "the seq" SELECT "the label" FROM search_graph ORDER BY "the seq";
WITH RECURSIVE search_graph AS (SELECT f, t, label FROM graph g WHERE f = 1 UNION ALL SELECT g.* FROM graph g JOIN search_graph AS sg (a, b) ON g.f = b) SEARCH BREADTH FIRST BY label SET seq SELECT label FROM search_graph ORDER BY seq DESC;
INSERT INTO graph VALUES (5, 1, 'arc 5 -> 1');
WITH RECURSIVE search_graph(f, t, label) AS (SELECT * FROM graph g UNION ALL SELECT g.* FROM graph g, search_graph sg WHERE g.f = sg.t) CYCLE f, t SET is_cycle USING path SELECT * FROM search_graph ORDER BY path::text;
WITH RECURSIVE search_graph(f, t, label) AS (SELECT * FROM graph g UNION DISTINCT SELECT g.* FROM graph g, search_graph sg WHERE g.f = sg.t) CYCLE f, t SET is_cycle TO 'Y' DEFAULT 'N' USING path SELECT is_cycle, path FROM search_graph ORDER BY path::text;
WITH RECURSIVE search_graph(f, t, label) AS (SELECT * FROM graph g UNION ALL SELECT g.* FROM graph g, search_graph sg WHERE g.f = sg.t) SEARCH DEPTH FIRST BY f SET seq CYCLE f, t SET is_cycle USING path SELECT f, t, is_cycle, path FROM search_graph ORDER BY seq, path::text;
WITH RECURSIVE search_graph(f, t, label) AS (SELECT * FROM graph g UNION ALL SELECT g.* FROM graph g, search_graph sg WHERE g.f = sg.t) SEARCH BREADTH FIRST BY f SET seq CYCLE f, t, label SET is_cycle TO 1 DEFAULT 0 USING path SELECT f, t, is_cycle FROM search_graph ORDER BY seq, path::text;
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT * FROM (SELECT 2) s (m), r WHERE false) SEARCH DEPTH FIRST BY n SET s SELECT n FROM r;
WITH RECURSIVE r AS (SELECT 1 AS n, 0 AS m UNION ALL SELECT * FROM r WHERE false) SEARCH DEPTH FIRST BY n SET s CYCLE n SET c USING p SELECT n, m, c, p FROM r;
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5 AND NOT c) CYCLE n SET c USING p SELECT count(*), max(n), bool_or(c) FROM r;
WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL (VALUES (2))) SEARCH DEPTH FIRST BY a SET s SELECT 1;
WITH RECURSIVE x AS (VALUES (1) UNION ALL SELECT column1 + 1 FROM x WHERE column1 < 3) SEARCH DEPTH FIRST BY column1 SET s SELECT column1 FROM x;
WITH x AS (SELECT 1 AS a) SEARCH DEPTH FIRST BY a SET s SELECT 1;
WITH RECURSIVE x AS (SELECT 1 AS a) SEARCH DEPTH FIRST BY a SET s SELECT 1;
WITH RECURSIVE x AS (SELECT 1 AS a) CYCLE a SET c USING p SELECT 1;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) SEARCH DEPTH FIRST BY b SET s SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) SEARCH DEPTH FIRST BY a, a SET s SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) SEARCH DEPTH FIRST BY a SET a SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT 2 FROM x WHERE false) SEARCH DEPTH FIRST BY a SET a SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT 2 FROM x WHERE false) CYCLE a SET a USING p SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT 2 FROM x WHERE false) CYCLE a SET c USING a SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) CYCLE b SET c USING p SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) CYCLE a, a SET c USING p SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) CYCLE a SET c USING c SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) CYCLE a SET c TO 1 DEFAULT true USING p SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) SEARCH DEPTH FIRST BY a SET s CYCLE a SET s USING p SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) SEARCH DEPTH FIRST BY a SET s CYCLE a SET c USING s SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM x WHERE a < 3) SEARCH DEPTH BY a SET s SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT 1 + a % 3 FROM x) CYCLE a SET c USING p SELECT * FROM x;
WITH RECURSIVE x(a) AS (SELECT 1 UNION SELECT * FROM (SELECT 1 + a % 3 FROM x) q) CYCLE a SET c USING p SELECT * FROM x;
CREATE VIEW cycles AS WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT 1 + a % 3 FROM x) CYCLE a SET c USING p SELECT a, c FROM x;
SELECT * FROM cycles;
DO $$
DECLARE r record;
BEGIN
    FOR r IN WITH RECURSIVE x(a) AS (SELECT 1 UNION ALL SELECT 1 + a % 3 FROM x) CYCLE a SET c USING p SELECT a, c FROM x LOOP
        RAISE NOTICE '% %', r.a, r.c;
    END LOOP;
END $$;
-- What SEARCH adds, shown; columns of several types.
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SEARCH DEPTH FIRST BY n SET o SELECT * FROM t ORDER BY o;
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SEARCH BREADTH FIRST BY n SET o SELECT * FROM t ORDER BY o DESC;
WITH RECURSIVE t(n, s) AS (SELECT 1, 'a b' UNION ALL SELECT n + 1, s || 'c' FROM t WHERE n < 3) SEARCH DEPTH FIRST BY n, s SET o SELECT * FROM t ORDER BY o;
WITH RECURSIVE t(n, s) AS (SELECT 1, 'a b' UNION ALL SELECT n + 1, s || 'c' FROM t WHERE n < 3) SEARCH BREADTH FIRST BY s, n SET o SELECT * FROM t ORDER BY o;
WITH RECURSIVE t(d) AS (SELECT date '2024-01-01' UNION ALL SELECT d + 1 FROM t WHERE d < '2024-01-03') SEARCH BREADTH FIRST BY d SET o SELECT * FROM t ORDER BY o;
WITH RECURSIVE t(n, m) AS (SELECT x, NULL::int FROM generate_series(1, 2) x UNION ALL SELECT n, coalesce(m, 0) + 1 FROM t WHERE coalesce(m, 0) < 2) SEARCH DEPTH FIRST BY n, m SET o CYCLE m SET c USING p SELECT * FROM t ORDER BY o;
DO $$
DECLARE r record;
BEGIN
    FOR r IN WITH RECURSIVE t(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || n FROM t WHERE n < 3) SEARCH DEPTH FIRST BY s, n SET o SELECT n, s, o FROM t ORDER BY o DESC LOOP
        RAISE NOTICE '% % %', r.n, r.s, r.o;
    END LOOP;
END $$;
CREATE FUNCTION last_by(lim int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found_ text;
BEGIN
    WITH RECURSIVE t(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || n FROM t WHERE n < lim) SEARCH BREADTH FIRST BY s, n SET o SELECT s INTO found_ FROM t ORDER BY o DESC LIMIT 1;
    RETURN found_;
END $$;
SELECT last_by(4);
SELECT ARRAY[ROW(1, 'a')] || ROW(2, 'b'), ROW(0, 'z') || ARRAY[ROW(1, 'a')];
-- By a column that is a row itself.
CREATE TYPE sc_place AS (street text, zip int);
CREATE TABLE sc_ways (f int, t int, place sc_place);
INSERT INTO sc_ways VALUES (1, 2, ROW('x', 3)), (2, 4, ROW('c', 9)), (2, 5, ROW('b', 1));
CREATE VIEW sc_found AS WITH RECURSIVE r AS (SELECT f, t, place FROM sc_ways WHERE f = 1 UNION ALL SELECT w.f, w.t, w.place FROM sc_ways w JOIN r ON w.f = r.t) SEARCH DEPTH FIRST BY place SET s SELECT f, t, place, row_number() OVER (ORDER BY s) AS n FROM r;
SELECT * FROM sc_found ORDER BY n;
CREATE FUNCTION sc_list() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (WITH RECURSIVE r AS (SELECT f, t, place FROM sc_ways WHERE f = 1 UNION ALL SELECT w.f, w.t, w.place FROM sc_ways w JOIN r ON w.f = r.t) SEARCH DEPTH FIRST BY place SET s SELECT string_agg(t::text, ' ' ORDER BY s) FROM r); END $$;
SELECT sc_list();
