-- with contexts
CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v < 100));
INSERT INTO t VALUES (1, 10), (2, 0), (3, 30);
CREATE FUNCTION d1(a int, b int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a / b; END $$;
CREATE FUNCTION d2(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
  x := a / b;
  RETURN x;
END $$;
-- Values of variables at the entry of a block.
DO $$
DECLARE z int := 0; x int := d1(1, z);
BEGIN NULL; END $$;
DO $$
DECLARE z int := 0;
BEGIN
  DECLARE
    a int := 1;
    b int := a / z;
  BEGIN NULL; END;
END $$;
DO $$
DECLARE z text; x int NOT NULL := z;
BEGIN NULL; END $$;
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
DO $$
DECLARE z int := -1; p positive := z;
BEGIN NULL; END $$;
DO $$
DECLARE p positive;
BEGIN p := 1; p := -p; END $$;
-- Loops.
DO $$
DECLARE r record; z int := 3;
BEGIN
  FOR r IN SELECT 1 / (id - z) AS q FROM t ORDER BY id LOOP NULL; END LOOP;
END $$;
DO $$
DECLARE r record;
BEGIN
  FOR r IN EXECUTE 'SELECT d1(1, id - $1) AS q FROM t ORDER BY id' USING 3 LOOP NULL; END LOOP;
END $$;
DO $$
DECLARE z int := 0;
BEGIN
  FOR i IN 1 .. 1 / z LOOP NULL; END LOOP;
END $$;
DO $$
DECLARE z int;
BEGIN
  FOR i IN 1 .. z LOOP NULL; END LOOP;
END $$;
DO $$
DECLARE i int; z int := 0;
BEGIN
  FOREACH i IN ARRAY ARRAY[1, d2(1, z)] LOOP NULL; END LOOP;
END $$;
DO $$
DECLARE z int := 0;
BEGIN
  WHILE d1(1, z) > 0 LOOP NULL; END LOOP;
END $$;
-- What functions return.
CREATE FUNCTION rs(z int) RETURNS smallint LANGUAGE plpgsql AS $$ BEGIN RETURN z; END $$;
SELECT rs(100000);
SELECT rs(7) + 1;
CREATE FUNCTION ri(z text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN z; END $$;
SELECT ri('abc');
SELECT ri('12');
DO $$
DECLARE z text := 'x';
BEGIN
  PERFORM ri(z);
END $$;
CREATE FUNCTION rq(z int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT d1(1, id - z) FROM t ORDER BY id;
END $$;
SELECT * FROM rq(2);
CREATE FUNCTION rn(z int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
  RETURN NEXT d2(1, z);
END $$;
SELECT * FROM rn(0);
CREATE FUNCTION nr() RETURNS int LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;
SELECT nr();
-- Cursors.
DO $$
DECLARE n int; z int := 1;
  c CURSOR FOR SELECT 1 / (id - z) FROM t ORDER BY id;
BEGIN
  OPEN c;
  FETCH c INTO n;
END $$;
DO $$
DECLARE c CURSOR (k int) FOR SELECT d1(id, k) AS q FROM t;
BEGIN
  FOR r IN c(0) LOOP NULL; END LOOP;
END $$;
DO $$
DECLARE c refcursor; n int;
BEGIN
  FETCH c INTO n;
END $$;
DO $$
DECLARE c CURSOR FOR SELECT 1;
BEGIN
  OPEN c;
  OPEN c;
END $$;
-- Defaults, checks.
CREATE SEQUENCE zero MINVALUE 0 START 0;
CREATE TABLE d (id int, x int DEFAULT d1(1, nextval('zero')::int));
DO $$ BEGIN INSERT INTO d (id) VALUES (1); END $$;
SELECT setval('zero', 0, false);
INSERT INTO d (id) VALUES (1);
CREATE FUNCTION checked(x int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 1 / x > 0; END $$;
ALTER TABLE d ADD CHECK (checked(x));
DO $$ DECLARE z int := 0; BEGIN INSERT INTO d (id, x) VALUES (1, z); END $$;
DO $$ BEGIN UPDATE t SET v = 200; END $$;
-- Statements.
DO $$ DECLARE n int; z int := 0; BEGIN SELECT d2(1, z) INTO n; END $$;
DO $$ DECLARE z int := 0; BEGIN EXECUTE 'SELECT d1(1, $1)' USING z; END $$;
DO $$ DECLARE z int := 0; BEGIN RAISE NOTICE '%', d1(1, z); END $$;
DO $$ DECLARE z int := 0; BEGIN ASSERT 1 / z = 1; END $$;
DO $$ DECLARE a int[] := '{1}'; z int := 0; BEGIN a[1 / z] := 1; END $$;
DO $$ DECLARE r t; z int := 0; BEGIN r.id := 1 / z; END $$;
CREATE PROCEDURE p(n int) LANGUAGE plpgsql AS $$ BEGIN n := 1 / n; END $$;
DO $$ DECLARE z int := 0; BEGIN CALL p(z); END $$;
CALL p(0);
