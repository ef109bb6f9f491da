SELECT pg_temp.f();
CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
SELECT pg_temp.f();
SELECT f();
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 2 $$;
SELECT f(), pg_temp.f();
CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS $$ SELECT 3 $$;
CREATE OR REPLACE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS $$ SELECT 3 $$;
SELECT f(), pg_temp.f();
CREATE TABLE users (id int PRIMARY KEY, name text UNIQUE);
INSERT INTO users VALUES (1, 'ann');
CREATE OR REPLACE FUNCTION pg_temp.testfunc(OUT made int, OUT caught text) RETURNS RECORD AS $$
BEGIN
  INSERT INTO users (id, name) VALUES (2, 'ann') RETURNING id INTO made;
EXCEPTION WHEN unique_violation THEN
  GET STACKED DIAGNOSTICS caught = PG_EXCEPTION_DETAIL;
END $$ LANGUAGE plpgsql;
SELECT testfunc.made, testfunc.caught FROM pg_temp.testfunc();
CREATE OR REPLACE FUNCTION pg_temp.testfunc(OUT made int, OUT caught text) RETURNS RECORD AS $$
BEGIN
  INSERT INTO users (id, name) VALUES (2, 'bob') RETURNING id INTO made;
EXCEPTION WHEN unique_violation THEN
  GET STACKED DIAGNOSTICS caught = PG_EXCEPTION_DETAIL;
END $$ LANGUAGE plpgsql;
SELECT testfunc.made, testfunc.caught FROM pg_temp.testfunc();
DROP FUNCTION IF EXISTS pg_temp.testfunc();
SELECT pg_temp.testfunc();
SELECT * FROM users ORDER BY id;
CREATE PROCEDURE pg_temp.put(i int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO users VALUES (i, 'u' || i); END $$;
CALL pg_temp.put(5);
CALL put(6);
BEGIN;
CALL pg_temp.put(7);
COMMIT;
BEGIN;
CREATE FUNCTION pg_temp.g(a int) RETURNS int LANGUAGE sql AS $$ SELECT a + 1 $$;
SELECT pg_temp.g(1);
ROLLBACK;
SELECT pg_temp.g(1);
SELECT * FROM users ORDER BY id;
DO $$ BEGIN PERFORM pg_temp.f(); END $$;
CREATE FUNCTION calls() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN pg_temp.f(); END $$;
SELECT calls();
SELECT proname FROM pg_proc WHERE pronamespace = pg_my_temp_schema() ORDER BY 1;
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok');
SELECT 'ok'::pg_temp.mood;
DROP FUNCTION pg_temp.f();
DISCARD TEMP;
SELECT f();
