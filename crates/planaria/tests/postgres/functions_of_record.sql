-- Functions that return record: each call says what columns it wants.
CREATE TABLE item (id int PRIMARY KEY, name text, price numeric(8,2));
INSERT INTO item VALUES (1, 'nut', 0.10), (2, 'bolt', 0.25), (3, 'gear', 12.50);
CREATE FUNCTION rows_of(floor_ numeric) RETURNS SETOF record LANGUAGE sql AS $$ SELECT id, name, price FROM item WHERE price >= floor_ ORDER BY id $$;
SELECT * FROM rows_of(0.2) AS t(id int, name text, price numeric);
SELECT t.name, t.price * 2 FROM rows_of(0) AS t(id int, name text, price numeric) WHERE t.id < 3;
SELECT name FROM rows_of(0) AS (id int, name text, price numeric) ORDER BY name;
SELECT i.id, r.label FROM item i, LATERAL rows_of(i.price) AS r(n bigint, label varchar, cost numeric) WHERE r.n = i.id ORDER BY 1;
SELECT * FROM rows_of(0);
SELECT * FROM rows_of(0) AS t(id int, name text);
SELECT * FROM rows_of(0) AS t(id int, name text, price numeric, more int);
SELECT * FROM rows_of(0) AS t(id text, name text, price date);
SELECT * FROM rows_of(0) AS t(id int, id text, price numeric);
CREATE FUNCTION one_of(n int) RETURNS record LANGUAGE sql AS $$ SELECT name, price FROM item WHERE id = n $$;
SELECT * FROM one_of(3) AS t(a text, b numeric);
SELECT * FROM one_of(33) AS t(a text, b numeric);
SELECT * FROM one_of(3) AS t(a text);
-- In PL/pgSQL.
CREATE FUNCTION pairs(n int) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR i IN 1..n LOOP
    SELECT i AS k, 'v' || i AS v INTO r;
    RETURN NEXT r;
  END LOOP;
  RETURN QUERY SELECT id, name FROM item ORDER BY id;
  IF NOT FOUND THEN RETURN; END IF;
END $$;
SELECT * FROM pairs(2) AS t(k int, v text);
SELECT count(*), max(k) FROM pairs(3) AS t(k int, v text);
SELECT * FROM pairs(2) AS t(k bigint, v text);
SELECT * FROM pairs(2) AS t(k int, v text, w text);
CREATE FUNCTION as_row(a int, b text) RETURNS record LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  IF a < 0 THEN RETURN NULL; END IF;
  IF a = 0 THEN RETURN (a, b); END IF;
  SELECT a, b INTO r;
  RETURN r;
END $$;
SELECT * FROM as_row(1, 'x') AS t(p int, q text);
SELECT * FROM as_row(0, 'y') AS t(p int, q text);
SELECT * FROM as_row(-1, 'z') AS t(p int, q text);
SELECT * FROM as_row(1, 'x') AS t(p int, q text, r int);
SELECT * FROM as_row(1, 'x') AS t(p int, q date);
SELECT * FROM as_row(1, 'x');
CREATE FUNCTION dynamic(query text) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE query; END $$;
SELECT * FROM dynamic('SELECT 1, 2.5, now() > ''2020-01-01''') AS t(a int, b numeric, c boolean);
SELECT * FROM dynamic('SELECT name, id FROM item ORDER BY id') AS t(a text, b int);
CREATE FUNCTION falls() RETURNS record LANGUAGE plpgsql AS $$ BEGIN END $$;
SELECT * FROM falls() AS t(a int);
CREATE FUNCTION wrong() RETURNS record LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT (1, 2); END $$;
CREATE FUNCTION wrong() RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RETURN (1, 2); END $$;
CREATE FUNCTION wrong() RETURNS record LANGUAGE plpgsql AS $$ BEGIN RETURN; END $$;
CREATE FUNCTION wrong() RETURNS SETOF record LANGUAGE sql AS $$ SELECT * FROM nowhere $$;
-- Where a list is not wanted.
CREATE FUNCTION plain() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION with_outs(OUT a int, OUT b text) RETURNS SETOF record LANGUAGE sql AS $$ SELECT 1, 'x' $$;
CREATE FUNCTION of_table() RETURNS SETOF item LANGUAGE sql AS $$ SELECT * FROM item $$;
SELECT * FROM plain() AS t(a int);
SELECT * FROM with_outs() AS t(a int, b text);
SELECT * FROM of_table() AS t(a int, b text, c numeric);
SELECT * FROM with_outs();
-- ROWS FROM, joins, ordinality, views, routines.
SELECT * FROM ROWS FROM (rows_of(0) AS (id int, name text, price numeric), generate_series(1, 4)) AS t(a, b, c, d);
SELECT * FROM ROWS FROM (pairs(1) AS (k int, v text)) WITH ORDINALITY;
SELECT * FROM nowhere_to_be_found(1) AS t(a int);
SELECT * FROM generate_series(1, 2) AS t(a int);
SELECT * FROM rows_of(0) WITH ORDINALITY AS t(id int, name text, price numeric);
SELECT i.id, t.v FROM item i LEFT JOIN pairs(1) AS t(k int, v text) ON t.k = i.id AND t.v LIKE 'v%' ORDER BY 1;
CREATE VIEW dear AS SELECT t.id, t.name FROM rows_of(1) AS t(id int, name text, price numeric);
SELECT * FROM dear;
CREATE TABLE kept (id int, name text);
CREATE PROCEDURE keep(floor_ numeric) LANGUAGE plpgsql AS $$
DECLARE r record; n int := 0;
BEGIN
  INSERT INTO kept SELECT a, b FROM rows_of(floor_) AS t(a int, b text, c numeric);
  FOR r IN SELECT * FROM pairs(1) AS t(k int, v text) WHERE k < 3 LOOP
    n := n + r.k;
  END LOOP;
  INSERT INTO kept VALUES (n, 'sum');
END $$;
CALL keep(0.2);
SELECT * FROM kept ORDER BY id, name;
-- Defined again, and shown.
CREATE OR REPLACE FUNCTION one_of(n int) RETURNS record LANGUAGE sql AS $$ SELECT name || '!', price FROM item WHERE id = n $$;
SELECT * FROM one_of(1) AS t(a text, b numeric);
CREATE OR REPLACE FUNCTION one_of(n int) RETURNS SETOF record LANGUAGE sql AS $$ SELECT 1 $$;
SELECT pg_get_function_result('rows_of'::regproc), pg_get_function_result('one_of'::regproc);
SELECT proname, prorettype::regtype, proretset FROM pg_proc WHERE proname IN ('rows_of', 'one_of') ORDER BY 1;
CREATE FUNCTION twice(x anyelement) RETURNS record LANGUAGE sql AS $$ SELECT x, x $$;
SELECT * FROM twice(5) AS t(a int, b int);
SELECT * FROM twice('a'::text) AS t(a text, b text);
CREATE FUNCTION changes() RETURNS SETOF record LANGUAGE sql AS $$ UPDATE item SET price = price + 1 RETURNING id, price $$;
SELECT * FROM changes() AS t(id int, price numeric) ORDER BY id;
DROP FUNCTION rows_of(numeric);
DROP VIEW dear;
DROP FUNCTION rows_of(numeric);
SELECT * FROM pg_get_keywords() AS t(a text);
