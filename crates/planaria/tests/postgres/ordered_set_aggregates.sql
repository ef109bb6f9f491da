-- Ordered-set aggregates that users make.
CREATE TABLE r (g int, x int, y text);
INSERT INTO r VALUES (1, 30, 'c'), (1, 10, 'a'), (1, 20, 'b'), (2, 5, 'z'), (2, NULL, 'y'), (3, NULL, NULL);
CREATE FUNCTION keeps(s int[], x int) RETURNS int[] LANGUAGE plpgsql AS $$ BEGIN RETURN s || x; END $$;
CREATE FUNCTION nth(s int[], n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r int;
BEGIN
    SELECT v INTO r FROM unnest(s) v ORDER BY v NULLS LAST OFFSET n - 1 LIMIT 1;
    RETURN r;
END $$;
CREATE AGGREGATE nth_of(n int ORDER BY x int) (SFUNC = keeps, STYPE = int[], FINALFUNC = nth, INITCOND = '{}');
SELECT nth_of(1) WITHIN GROUP (ORDER BY x), nth_of(2) WITHIN GROUP (ORDER BY x) FROM r;
SELECT g, nth_of(1) WITHIN GROUP (ORDER BY x) FROM r GROUP BY g ORDER BY g;
SELECT g, nth_of(g) WITHIN GROUP (ORDER BY x DESC) FROM r GROUP BY g ORDER BY g;
SELECT g, nth_of(x) WITHIN GROUP (ORDER BY x DESC) FROM r GROUP BY g ORDER BY g;
SELECT nth_of(1) WITHIN GROUP (ORDER BY x) FILTER (WHERE x > 10) FROM r;
SELECT nth_of(2) WITHIN GROUP (ORDER BY x * 2 + g), count(*), sum(x) FROM r;
SELECT nth_of(1) WITHIN GROUP (ORDER BY x) FROM r WHERE false;
SELECT g FROM r GROUP BY g HAVING nth_of(1) WITHIN GROUP (ORDER BY x) > 7 ORDER BY nth_of(1) WITHIN GROUP (ORDER BY x);
SELECT nth_of(1) WITHIN GROUP (ORDER BY y) FROM r;
SELECT nth_of('1') WITHIN GROUP (ORDER BY x) FROM r;
SELECT nth_of(1.5) WITHIN GROUP (ORDER BY x) FROM r;
SELECT nth_of(1) WITHIN GROUP (ORDER BY x, g) FROM r;
SELECT nth_of(1, 2) WITHIN GROUP (ORDER BY x) FROM r;
SELECT nth_of(1, x) FROM r;
SELECT nth_of(x) FROM r;
SELECT nth_of(1) WITHIN GROUP (ORDER BY x) OVER () FROM r;
SELECT nth_of(NULL) WITHIN GROUP (ORDER BY x) FROM r;
SELECT nth_of((SELECT min(g) FROM r)) WITHIN GROUP (ORDER BY x) FROM r;
SELECT (SELECT nth_of(o.g) WITHIN GROUP (ORDER BY x) FROM r) FROM (SELECT DISTINCT g FROM r) o ORDER BY 1;
-- The rows come as they come; without a last function the state is the result.
CREATE AGGREGATE all_of(ORDER BY int) (SFUNC = keeps, STYPE = int[]);
SELECT all_of() WITHIN GROUP (ORDER BY x) FROM (VALUES (3), (1), (2)) v(x);
CREATE FUNCTION only_one(s int[], a int, b text, x int) RETURNS text LANGUAGE sql AS $$ SELECT coalesce(s::text, 'none') || a || b || coalesce(x::text, '-') $$;
CREATE AGGREGATE shown(int, text ORDER BY int) (SFUNC = keeps, STYPE = int[], FINALFUNC = only_one, FINALFUNC_EXTRA);
SELECT shown(7, 'x') WITHIN GROUP (ORDER BY x) FROM (VALUES (3), (1)) v(x);
SELECT shown(7, 'x') WITHIN GROUP (ORDER BY x) FROM (VALUES (3), (1)) v(x) WHERE x > 5;
-- Polymorphic ones; strict ones.
CREATE FUNCTION list(s anyarray, x anyelement) RETURNS anyarray LANGUAGE sql AS $$ SELECT s || x $$;
CREATE FUNCTION last_of(s anyarray, share float8, x anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT v FROM unnest(s) v ORDER BY v OFFSET floor(share * (cardinality(s) - 1))::int LIMIT 1);
END $$;
CREATE AGGREGATE share_of(float8 ORDER BY anyelement) (SFUNC = list, STYPE = anyarray, FINALFUNC = last_of, FINALFUNC_EXTRA, INITCOND = '{}');
SELECT share_of(0.5) WITHIN GROUP (ORDER BY x), share_of(1) WITHIN GROUP (ORDER BY y) FROM r;
SELECT g, share_of(0) WITHIN GROUP (ORDER BY y DESC) FROM r GROUP BY ROLLUP (g) ORDER BY g;
CREATE FUNCTION adds(s int, x int) RETURNS int LANGUAGE sql STRICT AS $$ SELECT s * 10 + x $$;
CREATE FUNCTION scaled(s int, by_ int) RETURNS int LANGUAGE sql STRICT AS $$ SELECT s * by_ $$;
CREATE AGGREGATE digits(int ORDER BY int) (SFUNC = adds, STYPE = int, FINALFUNC = scaled);
SELECT digits(2) WITHIN GROUP (ORDER BY v), digits(NULL) WITHIN GROUP (ORDER BY v) FROM (VALUES (1), (NULL), (2)) t(v);
SELECT digits(2) WITHIN GROUP (ORDER BY v) FROM (VALUES (1)) t(v) WHERE v > 1;
-- Hypothetical ones.
CREATE FUNCTION place(s int[], x int) RETURNS bigint LANGUAGE sql AS $$ SELECT 1 + count(*) FROM unnest(s) v WHERE v < x $$;
CREATE AGGREGATE place_of(int ORDER BY int) (SFUNC = keeps, STYPE = int[], FINALFUNC = place, HYPOTHETICAL);
SELECT place_of(15) WITHIN GROUP (ORDER BY x) FROM r;
CREATE AGGREGATE wrong(int) (SFUNC = keeps, STYPE = int[], HYPOTHETICAL);
CREATE AGGREGATE wrong(text ORDER BY int) (SFUNC = keeps, STYPE = int[], HYPOTHETICAL);
CREATE AGGREGATE wrong(text ORDER BY int) (SFUNC = keeps, STYPE = int[], FINALFUNC = nth);
CREATE AGGREGATE wrong(int ORDER BY text) (SFUNC = keeps, STYPE = int[], FINALFUNC = nth);
CREATE AGGREGATE plain(int) (SFUNC = keeps, STYPE = int[]);
SELECT plain() WITHIN GROUP (ORDER BY x) FROM r;
-- How they are named and shown.
SELECT p.proname, a.aggkind, a.aggnumdirectargs, pg_get_function_arguments(p.oid), pg_get_function_identity_arguments(p.oid), pg_get_function_result(p.oid) FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid WHERE p.proname IN ('nth_of', 'all_of', 'shown', 'share_of', 'place_of') ORDER BY 1;
CREATE VIEW v AS SELECT g, nth_of(1) WITHIN GROUP (ORDER BY x DESC) AS first FROM r GROUP BY g;
SELECT * FROM v ORDER BY g;
SELECT pg_get_viewdef('v');
COMMENT ON AGGREGATE nth_of(int ORDER BY int) IS 'the nth';
DROP VIEW v;
ALTER AGGREGATE nth_of(n int ORDER BY x int) RENAME TO nth_one;
SELECT nth_one(2) WITHIN GROUP (ORDER BY x) FROM r;
CREATE VIEW v AS SELECT g, nth_one(1) WITHIN GROUP (ORDER BY x DESC) AS first FROM r GROUP BY g;
CREATE FUNCTION in_body(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE a int;
BEGIN
    SELECT nth_one(n) WITHIN GROUP (ORDER BY x) INTO a FROM r;
    RETURN a;
END $$;
SELECT in_body(1), in_body(3);
DROP AGGREGATE nth_one(int ORDER BY int);
DROP AGGREGATE nth_one(int ORDER BY int) CASCADE;
DROP AGGREGATE nth_one(int ORDER BY int);
DROP AGGREGATE all_of(ORDER BY int), shown(int, text ORDER BY int);
CREATE TABLE no_rows(g int, x numeric, t text, a int[]);
INSERT INTO no_rows VALUES (1, NULL, NULL, NULL), (2, 5, 'z', '{1}'), (2, 7, NULL, '{2}');
SELECT g, percentile_cont(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY x), percentile_disc(ARRAY[[0.5, NULL], [0, 1]]) WITHIN GROUP (ORDER BY t), percentile_disc(ARRAY[0.5]) WITHIN GROUP (ORDER BY x) IS NULL FROM no_rows GROUP BY g ORDER BY g;
SELECT percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY x) FILTER (WHERE g > 5), percentile_disc(ARRAY[0.5]) WITHIN GROUP (ORDER BY t) FROM no_rows WHERE g = 9;
SELECT percentile_cont(ARRAY[2.5]) WITHIN GROUP (ORDER BY x) FROM no_rows WHERE g = 9;
SELECT percentile_cont(ARRAY[2.5]) WITHIN GROUP (ORDER BY x) FROM no_rows;
