-- with contexts
-- DO blocks whose records take rows of several structures; variables of domains in bodies that are carried out statement by statement; settings in bodies.
CREATE DOMAIN few AS int CHECK (VALUE BETWEEN 1 AND 5);
CREATE DOMAIN name_of AS text NOT NULL;
CREATE TABLE u (id int PRIMARY KEY, v text, f few);
INSERT INTO u VALUES (1, 'a', 1), (2, 'b', 2);
DO $$ DECLARE r record; BEGIN LOOP IF r IS NULL THEN SELECT 1 AS a INTO r; ELSE RAISE NOTICE '%', r; SELECT 1 AS a, 2 AS b INTO r; EXIT; END IF; END LOOP; RAISE NOTICE '%', r; END $$;
DO $$ DECLARE r record; i int; BEGIN FOR i IN 1..4 LOOP IF i % 2 = 1 THEN SELECT i AS a INTO r; ELSE SELECT * FROM u WHERE id = i INTO r; END IF; RAISE NOTICE '%', r; END LOOP; RAISE NOTICE '%', r.v; END $$;
DO $$ DECLARE r record; BEGIN IF (SELECT count(*) FROM u) > 1 THEN SELECT 1 AS a INTO r; ELSE SELECT 'x' AS b INTO r; END IF; RAISE NOTICE '%', r.a; END $$;
DO $$ DECLARE d few := 1; n name_of := 'x'; r record; BEGIN EXECUTE 'SELECT 3 AS a' INTO r; d := r.a; RAISE NOTICE '% %', d, n; d := 7; EXCEPTION WHEN check_violation THEN RAISE NOTICE '% %', SQLERRM, d; n := NULL; END $$;
DO $$ DECLARE n name_of; r record; BEGIN EXECUTE 'SELECT 3 AS a' INTO r; END $$;
DO $$ DECLARE x u; r record; BEGIN EXECUTE 'SELECT 9 AS a' INTO r; x.id := r.a; x.f := 2; RAISE NOTICE '%', x; x.f := r.a; END $$;
CREATE FUNCTION step(q text) RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; g few; x u; BEGIN EXECUTE q INTO r; g := r.a; SELECT * INTO x FROM u WHERE id = g; RETURN g + x.id; END $$;
SELECT step('SELECT 2 AS a');
SELECT step('SELECT 6 AS a');
CREATE SCHEMA s4;
CREATE TABLE s4.t (id int);
DO $$ DECLARE d few := 1; BEGIN SET search_path = s4, public; INSERT INTO t VALUES (d); d := 5; INSERT INTO t VALUES (d); d := -1; END $$;
DO $$ DECLARE d few := 1; BEGIN SET LOCAL search_path = s4, public; INSERT INTO t VALUES (d); d := 5; INSERT INTO t VALUES (d); END $$;
SELECT * FROM s4.t;
-- What a query answers once is asked before functions are called.
CREATE TABLE leak (v text);
CREATE FUNCTION leaks(t text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO leak VALUES (t); RETURN true; END $$;
CREATE VIEW barred WITH (security_barrier) AS SELECT id, v FROM u WHERE id > 0;
SELECT count(*) FROM barred WHERE leaks(v) AND v = (SELECT v FROM u WHERE id = 2);
SELECT count(*) FROM u WHERE leaks(v) AND EXISTS (SELECT FROM u WHERE id = 99);
SELECT v FROM leak;
-- Numbers are drawn before a later column fails.
CREATE TABLE drawn (id serial, v varchar(2), w int);
INSERT INTO drawn (v, w) SELECT v || v || v, 1 FROM u ORDER BY id;
INSERT INTO drawn (w, v) SELECT id, v FROM u ORDER BY id;
INSERT INTO drawn (v, w) SELECT 'z', id + 0.6 FROM u ORDER BY id RETURNING *;
SELECT * FROM drawn;
-- Statements without a place for their rows fail where they are reached.
CREATE FUNCTION no_place(b boolean) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF b THEN SELECT 1; END IF; RETURN 1; END $$;
SELECT no_place(false);
SELECT no_place(true);
CREATE PROCEDURE io(a int, INOUT b int) LANGUAGE plpgsql AS $$ BEGIN b := a + b; END $$;
CREATE FUNCTION calls_io(b boolean) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF b THEN CALL io(1, 2); END IF; RETURN 1; END $$;
SELECT calls_io(false);
SELECT calls_io(true);
CREATE FUNCTION short_row() RETURNS u LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; RETURN r; END $$;
SELECT short_row();
CREATE FUNCTION long_row() RETURNS u LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(1, 'a'::text, 3::few, 4); END $$;
SELECT long_row();
-- Settings.
DO $$ BEGIN SHOW work_mem; END $$;
DO $$ BEGIN IF false THEN SHOW ALL; END IF; END $$;
DO $$ DECLARE x text; BEGIN EXECUTE 'SHOW datestyle' INTO x; RAISE NOTICE '%', x; END $$;
DO $$ DECLARE x record; n int := 0; BEGIN FOR x IN EXECUTE 'SHOW ALL' LOOP n := n + 1; END LOOP; RAISE NOTICE '% %', n > 20, x.description IS NOT NULL; END $$;
DO $$ DECLARE x record; BEGIN FOR x IN SHOW datestyle LOOP RAISE NOTICE '%', x; END LOOP; END $$;
CREATE PROCEDURE levels() LANGUAGE plpgsql AS $$ BEGIN COMMIT; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; INSERT INTO leak VALUES ('level'); COMMIT; SET TRANSACTION READ WRITE; END $$;
CALL levels();
SELECT v FROM leak;
