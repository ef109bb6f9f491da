-- with contexts
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE people(id int PRIMARY KEY, name text, age numeric(5, 1));
INSERT INTO people VALUES (1, 'ann', 30), (2, 'bob', 20), (3, NULL, 10.5);
CREATE FUNCTION same(v anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$
BEGIN
  RETURN v;
END $$;
SELECT same(1), same('a'::text), same(1.5), same(true), same(ARRAY[1, 2]), same('ok'::mood), same('2020-01-31'::date);
SELECT same(NULL::int) IS NULL, pg_typeof(same(NULL::int)), pg_typeof(same(7::smallint)), pg_typeof(same('x'::char(4)));
SELECT same('a');
SELECT same(NULL);
SELECT same(p) FROM people p ORDER BY id;
SELECT (same(p)).name, same(p.age) FROM people p ORDER BY id;
CREATE FUNCTION pair(a anyelement, b anyelement) RETURNS anyarray LANGUAGE sql AS $$ SELECT ARRAY[a, b] $$;
SELECT pair(1, 2), pair('a'::text, 'b'), pair(NULL, 'c'::varchar), pg_typeof(pair(NULL, 'c'::varchar));
SELECT pair(1, 2.5);
SELECT pair(1, 'x'::text);
SELECT pair('a', 'b');
SELECT pair(ARRAY[1], ARRAY[2]);
CREATE FUNCTION first_of(l anyarray) RETURNS anyelement LANGUAGE sql IMMUTABLE AS $$ SELECT l[1] $$;
SELECT first_of(ARRAY[3, 4]), first_of(ARRAY['x', 'y']), first_of('{}'::date[]);
SELECT first_of(3);
SELECT first_of('{1,2}');
CREATE FUNCTION position_of(wanted anyelement, l anyarray) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  i int := 0;
  e wanted%TYPE;
BEGIN
  FOREACH e IN ARRAY l LOOP
    i := i + 1;
    IF e = wanted THEN
      RETURN i;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
SELECT position_of(3, ARRAY[1, 2, 3]), position_of('b', ARRAY['a', 'b']), position_of('happy', ARRAY['sad', 'happy']::mood[]);
SELECT position_of(3, ARRAY['a']);
SELECT position_of(3::bigint, ARRAY[1, 2, 3]);
CREATE FUNCTION larger(a anycompatible, b anycompatible) RETURNS anycompatible LANGUAGE sql AS $$
  SELECT CASE WHEN a > b THEN a ELSE b END
$$;
SELECT larger(1, 2.5), pg_typeof(larger(1, 2.5)), larger('b', 'a'), pg_typeof(larger('b', 'a')), larger(3, 2::bigint), pg_typeof(larger(3, 2::bigint));
SELECT larger(1, true);
CREATE FUNCTION appended(l anycompatiblearray, e anycompatible) RETURNS anycompatiblearray LANGUAGE sql AS $$
  SELECT array_append(l, e)
$$;
SELECT appended(ARRAY[1, 2], 3.5), appended(ARRAY[1.5], 2), appended(ARRAY['a'], 'b');
CREATE FUNCTION flat(v anynonarray) RETURNS text LANGUAGE sql AS $$ SELECT v::text || '!' $$;
SELECT flat(1), flat('a'::text);
SELECT flat(ARRAY[1]);
CREATE FUNCTION ranked(v anyenum) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN array_position(enum_range(v), v);
END $$;
SELECT ranked('happy'::mood);
SELECT ranked(1);
CREATE FUNCTION within(v anyelement, r anyrange) RETURNS boolean LANGUAGE sql AS $$ SELECT v <@ r $$;
SELECT within(3, int4range(1, 5)), within('2020-01-01'::date, daterange('2020-02-01', NULL)), within(7, '[1,8)'::int4range);
SELECT within(1.5, int4range(1, 5));
CREATE FUNCTION lowest(r anyrange) RETURNS anyelement LANGUAGE sql AS $$ SELECT lower(r) $$;
SELECT lowest(int4range(4, 9)), lowest(daterange('2021-05-06', NULL)), pg_typeof(lowest(numrange(1, 2)));
CREATE FUNCTION least_of(VARIADIC l anyarray) RETURNS anyelement LANGUAGE sql AS $$ SELECT min(e) FROM unnest(l) AS u(e) $$;
SELECT least_of(3, 1, 2), least_of('b'::text, 'a'), least_of(VARIADIC ARRAY[5, 4]), least_of(1.5);
SELECT least_of(1, 2.5);
SELECT least_of();
CREATE FUNCTION most_of(VARIADIC l anycompatiblearray) RETURNS anycompatible LANGUAGE sql AS $$ SELECT max(e) FROM unnest(l) AS u(e) $$;
SELECT most_of(1, 2.5, 2), most_of('x', 'y');
CREATE FUNCTION glued(sep text, VARIADIC parts text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN array_to_string(parts, sep);
END $$;
SELECT glued('-', 'a', 'b', 'c'), glued('+', VARIADIC ARRAY['x', 'y']), glued(',', VARIADIC '{}');
SELECT glued('-');
CREATE FUNCTION numbered(l anyarray, OUT n int, OUT e anyelement) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1 .. cardinality(l) LOOP
    n := i;
    e := l[i];
    RETURN NEXT;
  END LOOP;
END $$;
SELECT * FROM numbered(ARRAY['x', 'y']);
SELECT sum(e), max(n) FROM numbered(ARRAY[10, 20, 30]);
CREATE FUNCTION twice(v anyelement) RETURNS TABLE(one anyelement, two anyarray) LANGUAGE sql AS $$ SELECT v, ARRAY[v, v] $$;
SELECT * FROM twice(5);
SELECT * FROM twice('t'::text);
CREATE FUNCTION elements(l anyarray) RETURNS SETOF anyelement LANGUAGE sql AS $$ SELECT unnest(l) $$;
SELECT * FROM elements(ARRAY[3, 2, 1]);
SELECT e || '.' FROM elements(ARRAY['p', 'q']) AS e;
CREATE FUNCTION dup(INOUT f anyelement, OUT l anyarray) LANGUAGE sql AS $$ SELECT f, ARRAY[f, f] $$;
SELECT * FROM dup(22);
SELECT dup('xyz'::text);
CREATE FUNCTION or_else(v anyelement, other anyelement DEFAULT 0) RETURNS anyelement LANGUAGE sql AS $$ SELECT coalesce(v, other) $$;
SELECT or_else(NULL::int), or_else(5, 6), or_else(NULL, 7), or_else(other => 1, v => NULL);
SELECT or_else(NULL::text);
SELECT or_else(NULL::text, 'a');
-- Overloading
CREATE FUNCTION kind_of(v anyelement) RETURNS text LANGUAGE sql AS $$ SELECT 'any ' || pg_typeof(v) $$;
CREATE FUNCTION kind_of(v int) RETURNS text LANGUAGE sql AS $$ SELECT 'int' $$;
CREATE FUNCTION kind_of(v anyarray) RETURNS text LANGUAGE sql AS $$ SELECT 'array' $$;
SELECT kind_of(1), kind_of(true), kind_of('a'::text), kind_of('2020-01-01'::date);
SELECT kind_of(ARRAY[1]);
SELECT kind_of(1::bigint), kind_of(1::smallint);
SELECT kind_of(NULL);
CREATE FUNCTION kind_of(w anyelement) RETURNS text LANGUAGE sql AS $$ SELECT 'again' $$;
-- In routines
CREATE FUNCTION calls(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  r text;
BEGIN
  r := kind_of(n) || ' ' || kind_of(n::text) || ' ' || same(n) || ' ' || first_of(pair(n, n + 1));
  RETURN r;
END $$;
SELECT calls(4);
CREATE FUNCTION depth(v anyelement, n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF n = 0 THEN
    RETURN pg_typeof(v)::text;
  END IF;
  RETURN depth(v, n - 1);
END $$;
SELECT depth(1, 3), depth('x'::text, 2);
CREATE PROCEDURE put(v anyelement, INOUT was anyelement) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO people VALUES (10, v::text, NULL) ON CONFLICT (id) DO UPDATE SET name = excluded.name;
  was := v;
END $$;
CALL put(5, NULL);
CALL put('a'::text, 'b');
CALL put(1, 'x'::text);
SELECT * FROM people WHERE id = 10;
CREATE FUNCTION fails(v anyelement) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN 1 / (length(v::text) - 1);
END $$;
SELECT fails(15);
SELECT fails('x'::text);
CREATE FUNCTION shift(v anyelement) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN v::text::int + 1;
END $$;
SELECT shift(1);
SELECT shift(true);
CREATE FUNCTION wrong_type(v anyelement) RETURNS anyelement LANGUAGE sql AS $$ SELECT 1 $$;
SELECT wrong_type(5);
SELECT wrong_type('a'::text);
CREATE VIEW shown AS SELECT id, same(name) AS name, pair(id, id) AS ids FROM people;
SELECT * FROM shown ORDER BY id;
-- Definitions
CREATE FUNCTION no_input() RETURNS anyelement LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION no_array(n int) RETURNS anyarray LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION no_range(v anyelement) RETURNS anyrange LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION no_out(n int, OUT v anyelement) LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION no_common(v anyelement) RETURNS anycompatible LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION no_table(n int) RETURNS TABLE(v anyelement) LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION no_variadic(VARIADIC v anyelement) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
CREATE TABLE no_column(v anyelement);
SELECT pg_get_functiondef('position_of'::regproc);
SELECT pg_get_functiondef('least_of(anyarray)'::regprocedure);
SELECT oid::regprocedure, pg_get_function_arguments(oid), pg_get_function_result(oid), provariadic::regtype, proargtypes[0]::regtype, prorettype::regtype FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY proname, oid::regprocedure::text COLLATE "C";
COMMENT ON FUNCTION kind_of(anyelement) IS 'says what it is';
SELECT obj_description('kind_of(anyelement)'::regprocedure);
DROP FUNCTION kind_of;
DROP FUNCTION kind_of(anyarray);
DROP FUNCTION kind_of(anynonarray);
SELECT kind_of(ARRAY[1]);
ALTER FUNCTION kind_of(anyelement) RENAME TO sort_of;
SELECT sort_of(ARRAY[1]), kind_of(2);
CREATE OR REPLACE FUNCTION sort_of(v anyelement) RETURNS text LANGUAGE sql AS $$ SELECT 'new ' || pg_typeof(v) $$;
SELECT sort_of(1), sort_of('x'::text);
CREATE OR REPLACE FUNCTION sort_of(v anyelement) RETURNS anyelement LANGUAGE sql AS $$ SELECT v $$;
DROP FUNCTION same(anyelement);
DROP FUNCTION same(anyelement) CASCADE;
SELECT same(1);
CREATE ROLE any_caller;
REVOKE EXECUTE ON FUNCTION sort_of(anyelement) FROM public;
SET ROLE any_caller;
SELECT sort_of(1);
RESET ROLE;
GRANT EXECUTE ON FUNCTION sort_of(anyelement) TO any_caller;
SET ROLE any_caller;
SELECT sort_of(1);
RESET ROLE;
DROP FUNCTION sort_of(anyelement);
DROP ROLE any_caller;
