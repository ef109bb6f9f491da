CREATE SCHEMA a;
CREATE SCHEMA b;
CREATE TABLE a.t(x int);
CREATE TABLE b.t(x int, y text);
INSERT INTO a.t VALUES (1);
INSERT INTO b.t VALUES (2, 'two');
CREATE FUNCTION local_a() RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SET LOCAL search_path = a;
  SELECT x INTO n FROM t;
  RETURN n;
END $$;
SELECT local_a();
SHOW search_path;
BEGIN;
SELECT local_a();
SHOW search_path;
COMMIT;
SHOW search_path;
SELECT local_a() + 10;
SELECT g, local_a() FROM generate_series(1, 2) g;
CREATE FUNCTION of_tenant(s text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  PERFORM set_config('search_path', s, true);
  SELECT x INTO n FROM t;
  RETURN n;
END $$;
SELECT of_tenant('a');
SELECT of_tenant('b');
SELECT of_tenant('a'), of_tenant('b'), of_tenant('a');
CREATE FUNCTION by_text(s text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  EXECUTE format('SET LOCAL search_path TO %I, public', s);
  EXECUTE 'SELECT x FROM t' INTO n;
  RETURN n;
END $$;
SELECT by_text('a'), by_text('b');
SELECT by_text('b');
SHOW search_path;
DO $$ BEGIN SET search_path = b; RAISE NOTICE '%', (SELECT y FROM t); END $$;
SHOW search_path;
RESET search_path;
DO $$
DECLARE s text;
BEGIN
  FOREACH s IN ARRAY ARRAY['a', 'b'] LOOP
    PERFORM set_config('search_path', s, true);
    RAISE NOTICE '% % %', s, current_schema(), (SELECT count(*) FROM t);
    INSERT INTO t(x) VALUES (99);
  END LOOP;
END $$;
SELECT count(*) FROM a.t;
SELECT count(*) FROM b.t;
CREATE PROCEDURE into_tenant(s text) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SET search_path TO ' || s;
  INSERT INTO t(x) VALUES (7);
END $$;
CALL into_tenant('a');
SHOW search_path;
SELECT * FROM a.t ORDER BY x;
RESET search_path;
CREATE FUNCTION undone() RETURNS text LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  SET LOCAL search_path = a;
  BEGIN
    SET LOCAL search_path = b;
    RAISE EXCEPTION 'no';
  EXCEPTION WHEN OTHERS THEN NULL;
  END;
  SELECT count(*) INTO n FROM t;
  RETURN n || ' ' || current_setting('search_path');
END $$;
SELECT undone();
SELECT undone() || '.';
CREATE FUNCTION a.whoami() RETURNS text LANGUAGE sql AS $$ SELECT 'a'::text $$;
CREATE FUNCTION b.whoami() RETURNS text LANGUAGE sql AS $$ SELECT 'b'::text $$;
CREATE FUNCTION callee(s text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('search_path', s, true);
  RETURN whoami();
END $$;
SELECT callee('a') || callee('b') || callee('a');
CREATE FUNCTION rows_of(s text) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('search_path', s || ', public', true);
  RETURN QUERY SELECT x FROM t ORDER BY x;
END $$;
SELECT * FROM rows_of('a');
SELECT sum(r) FROM rows_of('b') r;
DO $$ BEGIN SET LOCAL search_path = a; CREATE TABLE made(q int); INSERT INTO made VALUES (1); END $$;
SELECT relnamespace::regnamespace FROM pg_class WHERE relname = 'made';
CREATE FUNCTION missing() RETURNS int LANGUAGE plpgsql AS $$ BEGIN SET LOCAL search_path = nowhere; RETURN (SELECT x FROM t LIMIT 1); END $$;
SELECT missing();
SELECT missing() + 1;
CREATE ROLE path_reader;
GRANT USAGE ON SCHEMA a TO path_reader;
CREATE FUNCTION as_reader() RETURNS text LANGUAGE plpgsql AS $$ BEGIN SET LOCAL ROLE path_reader; RETURN current_user; END $$;
SELECT as_reader();
SELECT current_user;
BEGIN;
SELECT as_reader();
SELECT current_user;
COMMIT;
CREATE FUNCTION reads_as() RETURNS int LANGUAGE plpgsql AS $$ BEGIN SET LOCAL ROLE path_reader; RETURN (SELECT x FROM a.t LIMIT 1); END $$;
SELECT reads_as();
SELECT current_user;
DO $$ BEGIN SET LOCAL ROLE path_reader; RAISE NOTICE '%', current_user; RESET ROLE; RAISE NOTICE '%', current_user; END $$;
DO $$ BEGIN PERFORM set_config('role', 'path_reader', true); RAISE NOTICE '%', current_user; END $$;
SELECT current_user;
DO $$
BEGIN
  BEGIN
    SET LOCAL ROLE path_reader;
    PERFORM x FROM a.t;
  EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE '% %', sqlerrm, current_user;
  END;
END $$;
DO $$ BEGIN EXECUTE 'SET LOCAL ROLE path_reader'; RAISE NOTICE '%', current_user; END $$;
DROP OWNED BY path_reader;
DROP ROLE path_reader;
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE FUNCTION along_b() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('search_path', 'b, public', true); END $$;
DO $$ BEGIN PERFORM along_b(); COMMIT; END $$;
DO $$ DECLARE n int := 1; q ALIAS FOR n; BEGIN PERFORM along_b(); RAISE NOTICE '%', q; END $$;
DO $$ DECLARE c CURSOR FOR SELECT 1; n int; BEGIN PERFORM along_b(); OPEN c; FETCH c INTO n; CLOSE c; RAISE NOTICE '%', n; END $$;
DO $$ DECLARE d positive := 1; BEGIN PERFORM along_b(); d := 5; RAISE NOTICE '%', d; END $$;
CREATE PROCEDURE with_domain() LANGUAGE plpgsql AS $$ DECLARE d positive := 1; BEGIN PERFORM along_b(); d := 2; RAISE NOTICE '%', d; END $$;
CALL with_domain();
CREATE PROCEDURE with_own_domain() LANGUAGE plpgsql AS $$ DECLARE d positive := 1; BEGIN PERFORM set_config('search_path', 'b, public', true); d := 2; RAISE NOTICE '%', d; END $$;
CALL with_own_domain();
CREATE FUNCTION with_stack() RETURNS text LANGUAGE plpgsql AS $$ DECLARE st text; BEGIN PERFORM set_config('role', 'postgres', true); GET DIAGNOSTICS st = PG_CONTEXT; RETURN st; END $$;
SELECT length(with_stack()) > 0;
CREATE PROCEDURE with_stack_of() LANGUAGE plpgsql AS $$ DECLARE st text; BEGIN PERFORM along_b(); GET DIAGNOSTICS st = PG_CONTEXT; RAISE NOTICE '%', st; END $$;
CALL with_stack_of();
