-- What random scripts found (crates/differential), each as small as it goes.
-- OLD of an INSERT and NEW of a DELETE are NULL as a whole.
CREATE TYPE pair AS (a integer, b text);
CREATE TABLE acc (id integer PRIMARY KEY, o text, home pair);
CREATE TABLE aud (n serial, op text, o jsonb, w jsonb, t text, r text, isn boolean);
CREATE FUNCTION aud() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO aud (op, o, w, t, r, isn) VALUES (TG_OP, to_jsonb(OLD), to_jsonb(NEW), coalesce(OLD::text, '-'), row_to_json(NEW)::text, OLD IS NULL);
    RETURN NULL;
END $$;
CREATE TRIGGER aud AFTER INSERT OR UPDATE OR DELETE ON acc FOR EACH ROW EXECUTE FUNCTION aud();
INSERT INTO acc VALUES (1, 'a', NULL), (2, 'b', ROW(1, 'x'));
UPDATE acc SET o = 'c' WHERE id = 1;
DELETE FROM acc WHERE id = 2;
SELECT op, o, w, t, r, isn FROM aud ORDER BY n;
CREATE OR REPLACE FUNCTION aud() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was acc;
BEGIN
    IF TG_OP = 'DELETE' THEN
        NEW := OLD;
    END IF;
    was := OLD;
    RAISE NOTICE '% % % %', TG_OP, OLD, NEW, to_jsonb(NEW) - to_jsonb(OLD)::text;
    INSERT INTO aud (op, o, w) VALUES (format('%s %s', TG_OP, OLD), jsonb_build_object('old', OLD, 'new', NEW), to_jsonb(NEW) - 'home');
    RETURN NULL;
END $$;
TRUNCATE aud;
INSERT INTO acc VALUES (3, 'd', NULL);
DELETE FROM acc WHERE id = 3;
SELECT op, o, w FROM aud ORDER BY n;
CREATE FUNCTION before_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(OLD) IS NULL THEN
        NEW.o := NEW.o || '!';
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OR DELETE ON acc FOR EACH ROW EXECUTE FUNCTION before_row();
INSERT INTO acc VALUES (4, 'e', NULL);
UPDATE acc SET o = 'f' WHERE id = 1;
DELETE FROM acc WHERE id = 1;
SELECT * FROM acc ORDER BY id;
CREATE FUNCTION all_rows() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % %', TG_LEVEL, to_jsonb(NEW), OLD::text; RETURN NULL; END $$;
CREATE TRIGGER all_rows AFTER UPDATE ON acc FOR EACH STATEMENT EXECUTE FUNCTION all_rows();
UPDATE acc SET o = 'g';
ALTER TRIGGER all_rows ON acc RENAME TO all_rows;
-- Values.
SELECT cbrt(0.1::float8), cbrt(123456789.123456789::float8), cbrt(-27::float8), ||/ 2::float8;
SELECT acosh(pi()), acosh(1.7976931348623157e308::float8), asinh(-1.7976931348623157e308::float8), asinh(1e-30::float8), atanh(0.3::float8), atanh(0.7::float8);
SELECT pg_size_pretty(12.345), pg_size_pretty(-10240.5), pg_size_pretty(10239.5), pg_size_pretty(20000000.7), pg_size_pretty(123456789012345678901234567890);
SELECT pg_size_pretty('NaN'::numeric), pg_size_pretty('-Infinity'::numeric), pg_size_pretty(10240::bigint), pg_size_pretty(-1048576::bigint), pg_size_pretty(9223372036854775807);
SELECT make_timestamptz(2024, 2, 29, 1, 2, 3, '-03:30') AT TIME ZONE 'UTC', make_timestamptz(2024, 2, 29, 1, 2, 3, '+5') AT TIME ZONE 'UTC', make_timestamptz(2024, 2, 29, 1, 2, 3, 'Europe/Berlin') AT TIME ZONE 'UTC';
SELECT '2001:db8::ff00:42:8329/64'::inet - (-9223372036854775808), '10.0.0.5'::inet - 6;
SELECT 1::name, '{1,2}'::integer[]::name, '2024-01-02'::date::name, 1.50::name;
SELECT 'J2451187'::date, 'j0'::date, 'J2451187'::timestamp;
SELECT regexp_substr('xabc', '[a-c]+', 1, 1, 'i', 1), regexp_substr('xabc', '[a-c]+', 1, 1, 'i', 2), regexp_instr('xabc', '[a-c]+', 1, 1, 0, 'i', 1), regexp_substr('xabc', '(a)(b)', 1, 1, 'i', 2);
SELECT 1 BETWEEN SYMMETRIC NULL AND 1, 1 BETWEEN SYMMETRIC 1 AND NULL, 2 NOT BETWEEN SYMMETRIC NULL AND 1, 2 BETWEEN SYMMETRIC 3 AND 1, 5 BETWEEN SYMMETRIC NULL AND 1, '2024-02-01'::date BETWEEN SYMMETRIC '2024-03-01' AND '2024-01-01';
SELECT x, x BETWEEN SYMMETRIC y AND z, x NOT BETWEEN SYMMETRIC z AND y FROM (VALUES (1, 0, 2), (1, 2, 0), (1, NULL, 2), (1, 0, NULL), (NULL, 1, 2), (3, 0, 2)) t (x, y, z);
SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY x), percentile_cont(0) WITHIN GROUP (ORDER BY x) FROM (VALUES ('-Infinity'::float8), ('Infinity'), (1), (2), (3)) t (x);
SELECT to_timestamp(1e300::float8);
SELECT to_timestamp(1.7976931348623157e308::float8);
DO $$ BEGIN ASSERT false, NULL::text || 'x'; END $$;
DO $$ BEGIN ASSERT 1 > 2, 'said'; END $$;
-- Definitions.
CREATE TABLE d (id integer, a integer DEFAULT NULL, b varchar(9) DEFAULT NULL, c text DEFAULT NULL, g text[], s char(3) DEFAULT NULL, n numeric(5,1) DEFAULT NULL);
ALTER TABLE d ALTER COLUMN id SET DEFAULT 3;
ALTER TABLE d ALTER COLUMN id SET DEFAULT NULL;
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'd' ORDER BY ordinal_position;
CREATE INDEX ON d (a, a DESC);
CREATE INDEX ON d ((g[1]), lower(c), (a + 1), (id - 1));
CREATE INDEX ON d ((c::varchar), coalesce(c, b)) INCLUDE (b, c);
CREATE INDEX ON d ((CASE WHEN a > 1 THEN a END), greatest(a, id));
SELECT indexname FROM pg_indexes WHERE tablename = 'd' ORDER BY 1;
CREATE VIEW w AS SELECT substring(c FROM '[a-z]+') AS p, substring(c FROM 2) AS q FROM d ORDER BY a FETCH FIRST 2 ROWS WITH TIES;
SELECT pg_get_viewdef('w');
CREATE FUNCTION plus(integer, integer) RETURNS integer LANGUAGE sql AS 'SELECT $1 + $2';
CREATE PROCEDURE proc() LANGUAGE sql AS '';
CREATE AGGREGATE total(integer) (SFUNC = plus, STYPE = integer);
DROP FUNCTION total;
DROP FUNCTION proc;
DROP PROCEDURE plus;
DROP ROUTINE nothing;
ALTER ROUTINE nothing RENAME TO more;
ALTER FUNCTION proc OWNER TO current_user;
SELECT procost FROM pg_proc WHERE proname IN ('total', 'plus') ORDER BY proname;
CREATE TYPE mood AS ENUM ('ok');
ALTER TYPE mood ADD ATTRIBUTE x integer;
ALTER TYPE nothing DROP ATTRIBUTE x;
ALTER TYPE d ADD ATTRIBUTE x integer;
CREATE TABLE reals (id int PRIMARY KEY, f real);
INSERT INTO reals VALUES (1, 1.1), (2, 0.25), (3, 'NaN'), (4, NULL), (5, 16777217);
SELECT f, f::float8, f::float8::text, to_jsonb(f::float8), f::float8::numeric, f = 1.1, f = 1.1::float8, f = 1.1::real, sqrt(f) FROM reals ORDER BY id;
SELECT f::float8 + 0, f + 0.1::float8, f * 2::real, avg(f) OVER (), sum(f) OVER () FROM reals WHERE f < 2 ORDER BY 1;
SELECT CASE WHEN id = 1 THEN f ELSE 2.5::float8 END, coalesce(f, 0::float8) FROM reals ORDER BY id;
SELECT id FROM reals WHERE f IN (1.1::float8, 0.25) ORDER BY id;
SELECT id FROM reals WHERE f IN (1.1::real, 0.25) ORDER BY id;
CREATE INDEX ON reals (f);
SELECT id FROM reals WHERE f = 0.25::float8;
SELECT id FROM reals WHERE f = 1.1::real;
SELECT id FROM reals WHERE f > 1::float8 ORDER BY f;
SELECT array_agg(f::float8 ORDER BY id), ARRAY[f]::float8[] FROM reals WHERE id = 1 GROUP BY f;
CREATE TABLE r2 (k int PRIMARY KEY, x real, y float8);
INSERT INTO r2 VALUES (1, 0.1, 0.1), (2, 0.5, 0.5), (3, 1e30, 1e30);
SELECT k FROM r2 WHERE y IN (SELECT x FROM r2) ORDER BY k;
SELECT k FROM r2 WHERE y NOT IN (SELECT x FROM r2) ORDER BY k;
SELECT k FROM r2 WHERE x IN (SELECT y FROM r2) ORDER BY k;
SELECT k FROM r2 WHERE (y, k) IN (SELECT x, k FROM r2) ORDER BY k;
SELECT 0.1::float8 IN (SELECT 0.1::real), 0.1::float8 = ANY (SELECT 0.1::real), 0.1::float8 < ANY (SELECT 0.1::real), 1e300::float8 IN (SELECT 1::real);
CREATE TABLE tg (k int PRIMARY KEY, v int);
CREATE VIEW tv AS SELECT * FROM tg;
CREATE FUNCTION through() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% % %', to_jsonb(new), to_jsonb(old), coalesce(old::text, 'none'); IF TG_OP = 'INSERT' THEN INSERT INTO tg VALUES (new.*); END IF; RETURN new; END $$;
CREATE TRIGGER instead INSTEAD OF INSERT OR UPDATE ON tv FOR EACH ROW EXECUTE FUNCTION through();
INSERT INTO tv VALUES (1, 1);
UPDATE tv SET v = 2;
CREATE TABLE bs (x int, lo int, hi int);
INSERT INTO bs VALUES (5, NULL, 3), (5, 3, 7), (5, 7, 3), (9, NULL, 3), (1, 3, NULL);
CREATE FUNCTION within(x int, a int, b int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce((x BETWEEN SYMMETRIC a AND b)::text, 'unknown'); END $$;
SELECT within(x, lo, hi) FROM bs ORDER BY x, lo, hi;
