-- to_char of numbers: a point that no digit place follows is not written.
SELECT to_char(100, 'FM999.'), to_char(100, '999.'), to_char(0.5, 'FM9.'), to_char(-1, 'FM9.'), to_char(100, 'FM999.9'), to_char(100, 'FM999D');
SELECT to_char(1234, 'FM9,999.'), to_char(1234, 'FM99.'), to_char(1234, '99.'), to_char(0.4, '9.'), to_char(0.4, 'FM9.'), to_char(0, 'FM0.'), to_char(0, '9.'), to_char(-0.4, '9.');
SELECT to_char(5, 'S9.'), to_char(12, '9.');
-- div cuts off, whatever the size of its numbers.
SELECT div(1999999999999999999, 1000000000000000000), div(7.9, 2), div(-7.9, 2), div(7, -2), div(1, 3), div(0.99, 0.33), div(99999999999999999999999, 7);
SELECT div(5.5::numeric(4,2), 1.1), div(12345678901234567890.5, 0.1), div(-1, 3), div(1e20, 3), mod(1999999999999999999, 1000000000000000000), div(2.999999999999999999999, 1);
SELECT div(1, 0);
SELECT div(9.999999999999999999, 10), div(19.999999999999999999, 10);
-- timestamptz to timestamp and on.
SET timezone = 'UTC';
SELECT timestamptz '2024-03-01 12:00:00+02'::timestamp::text;
SELECT ('2024-03-01 12:00:00.5+02'::timestamptz)::timestamp::text, ('2024-03-01 12:00:00'::timestamp)::timestamptz::text;
SELECT pg_typeof(timestamptz '2024-03-01 12:00:00+02'::timestamp), (timestamptz '2024-03-01 12:00:00+02'::timestamp)::date::text;
SELECT concat(timestamptz '2024-03-01 12:00:00+00'::timestamp, '|'), timestamptz '2024-03-01 12:00:00+00'::timestamp || '';
CREATE TABLE tt (id int PRIMARY KEY, a text, b varchar(40), ts timestamp, tz timestamptz);
INSERT INTO tt VALUES (1, timestamptz '2024-03-01 12:00:00+02'::timestamp::text, timestamptz '2024-03-01 12:00:00+02'::timestamp, timestamptz '2024-03-01 12:00:00+02', timestamp '2024-03-01 12:00:00');
INSERT INTO tt SELECT 2, tz::timestamp::text, ts::timestamptz::text, tz, ts FROM tt;
SELECT * FROM tt ORDER BY id;
SELECT tz::timestamp, ts::timestamptz, (tz::timestamp)::text, format('%s', tz::timestamp), ARRAY[tz::timestamp]::text FROM tt WHERE id = 1;
SELECT coalesce(tz::timestamp, ts)::text, CASE WHEN true THEN tz::timestamp END::text, greatest(tz::timestamp, ts)::text, (SELECT tz::timestamp)::text FROM tt WHERE id = 1;
SELECT to_char(tz::timestamp, 'YYYY-MM-DD HH24:MI'), extract(hour FROM tz::timestamp), date_trunc('hour', tz::timestamp)::text FROM tt WHERE id = 1;
SELECT string_agg(tz::timestamp::text, ',' ORDER BY id), max(tz::timestamp)::text, array_agg(tz::timestamp ORDER BY id) FROM tt;
SELECT u::text FROM tt, LATERAL (SELECT tz::timestamp AS u UNION SELECT ts) s WHERE id = 1 ORDER BY 1;
CREATE FUNCTION stamps(a timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t timestamp; z timestamptz;
BEGIN
  t := a;
  z := t;
  RETURN t || ' ' || z || ' ' || a::timestamp || ' ' || t::timestamptz;
END $$;
SELECT stamps('2024-03-01 12:00:00+02');
-- OUT parameters between IN ones.
CREATE FUNCTION between_(a int, OUT x int, b int) LANGUAGE sql AS $$ SELECT $1 * 10 + $2 $$;
SELECT between_(1, 2);
CREATE FUNCTION named_(a int, OUT x int, b int, OUT y text) LANGUAGE sql AS $$ SELECT a - b, a || '/' || b || '/' || $2 $$;
SELECT * FROM named_(7, 2);
CREATE FUNCTION inout_(INOUT a int, OUT x int, b int) LANGUAGE sql AS $$ SELECT a + $2, b + $1 $$;
SELECT * FROM inout_(1, 100);
CREATE FUNCTION pl_(a int, OUT x int, b int) LANGUAGE plpgsql AS $$ BEGIN x := $1 * 10 + $2; x := coalesce(x, -1) + b; END $$;
SELECT pl_(1, 2);
CREATE FUNCTION first_(OUT x int, a int, b int) LANGUAGE sql AS $$ SELECT $1 - $2 $$;
SELECT first_(5, 3);
CREATE FUNCTION sets_(a int, OUT x int, b int) RETURNS SETOF int LANGUAGE sql AS $$ SELECT $1 + i * $2 FROM generate_series(1, 2) i $$;
SELECT * FROM sets_(1, 10);
CREATE TABLE w (id int PRIMARY KEY, x int);
INSERT INTO w VALUES (1, 10), (2, 20);
CREATE FUNCTION rows_() RETURNS TABLE (id int, x int) LANGUAGE sql AS $$ SELECT id, x FROM w WHERE x > 10 $$;
SELECT * FROM rows_();
CREATE FUNCTION outs_(k int, OUT id int, OUT x int) LANGUAGE sql AS $$ SELECT id, x FROM w WHERE id = k $$;
SELECT * FROM outs_(1);
-- Names of columns.
CREATE TABLE names AS SELECT ts::timestamptz::date, id::text::int, between_(1, 2), CASE WHEN true THEN 'x' ELSE b END::text, CASE WHEN true THEN 1 ELSE 2 END::bigint, (SELECT tz::timestamp::date FROM tt WHERE id = 2)::text, coalesce(a, b)::varchar(3) FROM tt WHERE id = 1;
SELECT column_name FROM information_schema.columns WHERE table_name = 'names' ORDER BY ordinal_position;
CREATE TABLE more_names AS SELECT '1'::int::text, true, (SELECT 1 AS k), x AS q FROM between_(1, 2) AS x (x);
SELECT column_name FROM information_schema.columns WHERE table_name = 'more_names' ORDER BY ordinal_position;
CREATE TABLE other_names AS SELECT '2024-01-01'::timestamp::date, x.y FROM between_(3, 4) AS x (y);
SELECT column_name FROM information_schema.columns WHERE table_name = 'other_names' ORDER BY ordinal_position;
CREATE TABLE last_names AS SELECT * FROM between_(3, 4);
SELECT column_name FROM information_schema.columns WHERE table_name = 'last_names' ORDER BY ordinal_position;
-- Arrays that fill from their first element on.
CREATE FUNCTION fill(n int) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE a int[];
BEGIN
  FOR i IN 1..n LOOP a[i] := i * i; END LOOP;
  a[n + 2] := 0;
  RETURN a;
END $$;
SELECT fill(3);
