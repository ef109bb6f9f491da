CREATE TABLE people (id int PRIMARY KEY, name text UNIQUE, born date);
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TYPE amount AS (units positive, of text);
INSERT INTO people VALUES (1, 'Ann', '1990-01-02'), (2, 'Ben', NULL);
-- several parameters, one of them a row
CREATE FUNCTION find(wanted int, OUT who people, OUT problem text) LANGUAGE plpgsql AS $$
BEGIN
  SELECT * INTO who FROM people WHERE id = wanted;
  IF NOT FOUND THEN problem := 'nobody'; END IF;
END $$;
SELECT * FROM find(1);
SELECT find(1);
SELECT (find(2)).problem, ((find(2)).who).name;
SELECT (f.who).id, (f.who).name, f.problem FROM find(3) f;
SELECT who IS NULL, problem FROM find(3);
SELECT p.id, (f.who).born, f.problem FROM people p, find(p.id + 1) f ORDER BY 1;
SELECT (f.who).* FROM find(1) f;
-- one that is a row: it is the answer
CREATE FUNCTION one(wanted int, OUT who people) LANGUAGE plpgsql AS $$
BEGIN
  SELECT * INTO who FROM people WHERE id = wanted;
  IF wanted = 7 THEN who.id := 7; who.name := 'Seven'; RETURN; END IF;
END $$;
SELECT * FROM one(1);
SELECT one(2);
SELECT (one(7)).name, (one(8)) IS NULL;
SELECT * FROM one(9);
CREATE FUNCTION again(OUT of people) RETURNS people LANGUAGE plpgsql AS $$
BEGIN
  of.id := 5;
END $$;
SELECT * FROM again();
-- in and out
CREATE FUNCTION older(INOUT who people, years int, OUT was date) LANGUAGE plpgsql AS $$
BEGIN
  was := who.born;
  who.born := who.born - years;
END $$;
SELECT (older(p, 10)).* FROM people p ORDER BY p.id;
CREATE FUNCTION upper_name(INOUT who people) LANGUAGE plpgsql AS $$
BEGIN
  who.name := upper(who.name);
END $$;
SELECT upper_name(p) FROM people p ORDER BY p.id;
SELECT u.* FROM people p, upper_name(p) u ORDER BY u.id;
CREATE FUNCTION strictly(INOUT who people, OUT n int) LANGUAGE plpgsql STRICT AS $$
BEGIN
  n := length(who.name);
END $$;
SELECT strictly(NULL), (strictly(p)).n FROM people p ORDER BY p.id;
-- sets
CREATE FUNCTION everybody(OUT who people, OUT n int) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
  n := 0;
  FOR who IN SELECT * FROM people ORDER BY id LOOP
    n := n + 1;
    RETURN NEXT;
  END LOOP;
  who := NULL;
  n := NULL;
  RETURN NEXT;
END $$;
SELECT * FROM everybody();
SELECT n, (who).name FROM everybody() WHERE n IS NOT NULL;
CREATE FUNCTION all_rows(OUT who people) RETURNS SETOF people LANGUAGE plpgsql AS $$
BEGIN
  FOR who IN SELECT * FROM people ORDER BY id DESC LOOP
    RETURN NEXT;
  END LOOP;
  RETURN QUERY SELECT 8, 'Eve'::text, NULL::date;
END $$;
SELECT * FROM all_rows();
SELECT all_rows();
CREATE FUNCTION tabled(lowest int) RETURNS TABLE (who people, n bigint) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT p, count(*) OVER () FROM people p WHERE p.id >= lowest ORDER BY p.id;
  who := ROW(9, 'Nina', '2000-02-03')::people;
  n := 0;
  RETURN NEXT;
END $$;
SELECT * FROM tabled(1);
SELECT (who).name, n FROM tabled(2);
CREATE FUNCTION only_rows() RETURNS TABLE (who people) LANGUAGE plpgsql AS $$
BEGIN
  who.id := 3;
  RETURN NEXT;
  RETURN QUERY SELECT * FROM people ORDER BY id;
END $$;
SELECT * FROM only_rows();
SELECT only_rows();
-- in SQL
CREATE FUNCTION sql_find(wanted int, OUT who people, OUT n bigint) LANGUAGE sql AS $$
  SELECT p, count(*) OVER () FROM people p WHERE id = wanted
$$;
SELECT * FROM sql_find(1);
SELECT (sql_find(2)).n;
CREATE FUNCTION sql_one(wanted int, OUT who people) LANGUAGE sql AS $$
  SELECT * FROM people WHERE id = wanted
$$;
SELECT * FROM sql_one(2);
SELECT sql_one(3);
CREATE FUNCTION sql_table() RETURNS TABLE (p pair, n int) LANGUAGE sql AS $$
  SELECT ROW(1, 'x')::pair, 2 UNION ALL SELECT NULL, 3
$$;
SELECT * FROM sql_table();
-- composite types, domains among their fields, arrays
CREATE FUNCTION paired(n int, OUT p pair, OUT q pair) LANGUAGE plpgsql AS $$
BEGIN
  p := ROW(n, 'first');
  q.a := n + 1;
END $$;
SELECT * FROM paired(1);
SELECT (p).b, (q).a, (q).b FROM paired(5);
CREATE FUNCTION measured(n int, OUT m amount, OUT ok boolean) LANGUAGE plpgsql AS $$
BEGIN
  m.units := n;
  m.of := 'metres';
  ok := true;
END $$;
SELECT * FROM measured(3);
SELECT * FROM measured(-3);
CREATE FUNCTION many(OUT ps pair[], OUT p pair) LANGUAGE plpgsql AS $$
BEGIN
  p := ROW(1, 'a');
  ps := ARRAY[p, ROW(2, 'b')::pair];
END $$;
SELECT * FROM many();
-- procedures
CREATE PROCEDURE take(wanted int, OUT who people, INOUT p pair) LANGUAGE plpgsql AS $$
BEGIN
  SELECT * INTO who FROM people WHERE id = wanted;
  p.a := p.a + 1;
END $$;
CALL take(1, NULL, ROW(4, 'four'));
DO $$
DECLARE who people; p pair := ROW(1, 'one');
BEGIN
  CALL take(2, who, p);
  RAISE NOTICE '% % %', who.name, p.a, p.b;
END $$;
CREATE PROCEDURE take_one(OUT who people) LANGUAGE plpgsql AS $$
BEGIN
  who.id := 1;
END $$;
CALL take_one(NULL);
-- errors of handlers, as tools write them
CREATE FUNCTION add(the_id int, the_name text, OUT response people, OUT caught text) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO people VALUES (the_id, the_name, '2001-02-03') RETURNING * INTO response;
EXCEPTION WHEN unique_violation THEN
  GET STACKED DIAGNOSTICS caught = PG_EXCEPTION_DETAIL;
END $$;
SELECT (a.response).id, (a.response).name, a.caught FROM add(11, 'Kim') a;
SELECT (a.response).id, (a.response).name, a.caught FROM add(12, 'Kim') a;
CREATE OR REPLACE FUNCTION pg_temp.testfunc(OUT response people, OUT sequelize_caught_exception text) RETURNS RECORD AS $$
BEGIN
  INSERT INTO people VALUES (13, 'Lou', NULL) RETURNING * INTO response;
EXCEPTION WHEN unique_violation THEN GET STACKED DIAGNOSTICS sequelize_caught_exception = PG_EXCEPTION_DETAIL;
END $$ LANGUAGE plpgsql;
SELECT (testfunc.response)."id", (testfunc.response)."name", testfunc.sequelize_caught_exception FROM pg_temp.testfunc();
DROP FUNCTION IF EXISTS pg_temp.testfunc();
-- as any other type
CREATE FUNCTION pick(a anyelement, b anyelement, OUT best anyelement, OUT why text) LANGUAGE plpgsql AS $$
BEGIN
  best := CASE WHEN a > b THEN a ELSE b END;
  why := 'it is more';
END $$;
SELECT * FROM pick(1, 2);
SELECT * FROM pick(ROW(1, 'x')::pair, ROW(1, 'y')::pair);
SELECT * FROM pick(NULL::people, NULL::people);
CREATE FUNCTION strict_two(INOUT a int, INOUT p pair) LANGUAGE plpgsql STRICT AS $$
BEGIN
  p.a := a;
END $$;
SELECT * FROM strict_two(NULL, ROW(1, 'q')::pair);
SELECT * FROM strict_two(7, ROW(1, 'q')::pair);
DROP FUNCTION strict_two(int, pair);
-- what is said of them
SELECT p.proname, pg_get_function_arguments(p.oid), pg_get_function_identity_arguments(p.oid), pg_get_function_result(p.oid),
       p.prorettype::regtype, p.proretset, ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proallargtypes) WITH ORDINALITY u(t, n) ORDER BY n), p.proargmodes, p.proargnames
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace ORDER BY 1;
SELECT pg_get_functiondef('find(int)'::regprocedure);
SELECT pg_get_functiondef('only_rows()'::regprocedure);
-- refused
CREATE FUNCTION wrong(OUT who people) RETURNS text LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE FUNCTION wrong(OUT who people) RETURNS record LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE FUNCTION wrong(OUT who people, OUT n int) RETURNS people LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE FUNCTION wrong(OUT who people) LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(1, 'x', NULL); END $$;
CREATE FUNCTION wrong(VARIADIC who people) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
CREATE FUNCTION wrong(OUT who people, OUT n int) LANGUAGE sql AS $$ SELECT 1, 2 $$;
CREATE FUNCTION wrong(OUT who nobody) LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE OR REPLACE FUNCTION one(wanted int, OUT who people, OUT n int) LANGUAGE plpgsql AS $$ BEGIN END $$;
-- they follow their tables
ALTER TABLE people ADD COLUMN mail text DEFAULT 'none';
SELECT (who).mail, problem FROM find(1);
SELECT * FROM one(2);
DROP FUNCTION many();
DROP TYPE pair;
DROP TABLE people;
