CREATE TABLE t (id int PRIMARY KEY, v int, s text);
CREATE TABLE other (id int PRIMARY KEY, v int);
INSERT INTO t SELECT i, i * 10, 's' || i FROM generate_series(1, 6) i;
-- A record that takes rows of EXECUTE makes the whole go by steps.
DO $$
DECLARE r record; q record; c CURSOR FOR SELECT id, v FROM t WHERE id <= 3 ORDER BY id;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  OPEN c;
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    IF r.id = 2 THEN
      DELETE FROM t WHERE CURRENT OF c;
    ELSE
      UPDATE t SET v = v + q.one, s = s || '!' WHERE CURRENT OF c;
    END IF;
  END LOOP;
  CLOSE c;
END $$;
SELECT * FROM t ORDER BY id;
DO $$
DECLARE r record; q record;
BEGIN
  EXECUTE 'SELECT 5 AS five' INTO q;
  FOR r IN EXECUTE 'SELECT 1 AS a UNION ALL SELECT 2' LOOP
    DECLARE k int; c refcursor; x record;
    BEGIN
      OPEN c FOR SELECT * FROM t z WHERE id > 3 ORDER BY id DESC;
      FETCH c INTO x;
      UPDATE t AS y SET v = x.v + q.five WHERE CURRENT OF c RETURNING y.v INTO k;
      RAISE NOTICE '% % %', x.id, x.v, k;
      MOVE c;
      UPDATE t SET s = 'moved ' || r.a WHERE CURRENT OF c;
      CLOSE c;
    END;
  END LOOP;
END $$;
SELECT * FROM t ORDER BY id;
-- A loop over a bound cursor, with arguments.
DO $$
DECLARE q record; c CURSOR (low int) FOR SELECT s FROM t WHERE id >= low ORDER BY id;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  FOR r IN c(5) LOOP
    UPDATE t SET s = upper(r.s) || q.one WHERE CURRENT OF c;
  END LOOP;
END $$;
SELECT * FROM t ORDER BY id;
-- A procedure that commits.
CREATE PROCEDURE p(INOUT n int) LANGUAGE plpgsql AS $$
DECLARE r record; q record; c CURSOR FOR SELECT * FROM t ORDER BY id;
BEGIN
  EXECUTE 'SELECT 100 AS h' INTO q;
  COMMIT;
  OPEN c;
  FETCH c INTO r;
  UPDATE t SET v = v + q.h WHERE CURRENT OF c;
  CLOSE c;
  COMMIT;
  n := 0;
  FOR r IN c LOOP
    n := n + 1;
    UPDATE t SET v = v + 1000 WHERE CURRENT OF c;
  END LOOP;
  COMMIT;
END $$;
CALL p(0);
SELECT * FROM t ORDER BY id;
DO $$
DECLARE q record; c CURSOR FOR SELECT * FROM t ORDER BY id;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  FOR r IN c LOOP
    UPDATE t SET v = -1 WHERE CURRENT OF c;
    COMMIT;
  END LOOP;
END $$;
SELECT * FROM t ORDER BY id;
-- A function with such a record.
CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$
DECLARE q record; r record; c CURSOR FOR SELECT * FROM t ORDER BY id; n int := 0;
BEGIN
  EXECUTE 'SELECT 7 AS seven' INTO q;
  FOR r IN c LOOP
    n := n + 1;
    UPDATE t SET v = q.seven WHERE CURRENT OF c;
  END LOOP;
  RETURN n;
END $$;
SELECT f() + 1;
SELECT id, v FROM t ORDER BY id;
-- What is wrong.
DO $$
DECLARE q record; c CURSOR FOR SELECT * FROM t ORDER BY id;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  OPEN c;
  UPDATE t SET v = 0 WHERE CURRENT OF c;
END $$;
DO $$
DECLARE q record; c CURSOR FOR SELECT * FROM t ORDER BY id;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  OPEN c;
  FETCH c INTO q;
  UPDATE other SET v = 0 WHERE CURRENT OF c;
END $$;
DO $$
DECLARE q record; c CURSOR FOR SELECT count(*) AS n FROM t;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  OPEN c;
  FETCH c INTO q;
  DELETE FROM t WHERE CURRENT OF c;
END $$;
DO $$
DECLARE q record; c CURSOR FOR SELECT * FROM t ORDER BY id;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  DELETE FROM t WHERE CURRENT OF c;
END $$;
DO $$
DECLARE q record; c refcursor;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  DELETE FROM t WHERE CURRENT OF nowhere;
END $$;
-- A row that has gone since.
DO $$
DECLARE q record; c CURSOR FOR SELECT * FROM t ORDER BY id; n int;
BEGIN
  EXECUTE 'SELECT 1 AS one' INTO q;
  OPEN c;
  FETCH c INTO q;
  DELETE FROM t WHERE id = q.id;
  UPDATE t SET v = 0 WHERE CURRENT OF c;
  GET DIAGNOSTICS n = ROW_COUNT;
  RAISE NOTICE 'changed %, found %', n, found;
END $$;
SELECT id, v FROM t ORDER BY id;
