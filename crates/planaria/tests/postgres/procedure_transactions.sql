-- with contexts
CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL DEFAULT 0, CHECK (v < 1000));
CREATE TABLE log (n serial, what text);

-- Each part is committed where it ends.
CREATE PROCEDURE fill(n int, every int) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..n LOOP
    INSERT INTO t VALUES (i, i);
    IF i % every = 0 THEN
      COMMIT;
    END IF;
  END LOOP;
END
$$;
CALL fill(10, 3);
SELECT count(*), sum(v) FROM t;

-- What was rolled back is gone, and variables keep their values.
CREATE PROCEDURE odd(n int, INOUT kept int DEFAULT 0, INOUT names text DEFAULT '', INOUT seen int[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE
  r t;
BEGIN
  FOR i IN 101..100 + n LOOP
    INSERT INTO t VALUES (i, i) RETURNING * INTO r;
    names := names || r.id || ',';
    seen := seen || i;
    IF i % 2 = 0 THEN
      COMMIT;
      kept := kept + 1;
    ELSE
      ROLLBACK;
    END IF;
  END LOOP;
  RAISE NOTICE 'last %', r;
END
$$;
CALL odd(5);
SELECT id, v FROM t WHERE id > 100 ORDER BY id;

-- An error leaves what was committed.
CREATE PROCEDURE half() LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t VALUES (200, 1);
  RAISE NOTICE 'before';
  COMMIT;
  RAISE NOTICE 'between';
  INSERT INTO t VALUES (201, 1);
  INSERT INTO t VALUES (200, 1);
END
$$;
CALL half();
SELECT id FROM t WHERE id >= 200 ORDER BY id;

-- Loops over rows go on; they see the rows as they were.
CREATE PROCEDURE sweep(INOUT n int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT id, v FROM t WHERE id <= 10 ORDER BY id LOOP
    UPDATE t SET v = v + 100 WHERE id = r.id;
    DELETE FROM t WHERE id = r.id + 1 AND r.id % 4 = 0;
    n := n + 1;
    COMMIT;
  END LOOP;
END
$$;
CALL sweep();
CALL sweep(100);
SELECT id, v FROM t WHERE id <= 10 ORDER BY id;
CREATE PROCEDURE sweep_dynamic() LANGUAGE plpgsql AS $$
DECLARE
  i int;
  w int;
BEGIN
  FOR i, w IN EXECUTE 'SELECT id, v FROM t WHERE id < $1 ORDER BY id' USING 4 LOOP
    UPDATE t SET v = w - 100 WHERE id = i;
    IF i = 2 THEN ROLLBACK; ELSE COMMIT; END IF;
  END LOOP;
END
$$;
CALL sweep_dynamic();
SELECT id, v FROM t WHERE id < 4 ORDER BY id;
CREATE PROCEDURE sweep_cursor() LANGUAGE plpgsql AS $$
DECLARE
  c CURSOR (least int) FOR SELECT * FROM t WHERE id >= least ORDER BY id;
BEGIN
  FOR r IN c (100) LOOP
    UPDATE t SET v = -r.id WHERE id = r.id;
    COMMIT AND CHAIN;
  END LOOP;
END
$$;
CALL sweep_cursor();
SELECT id, v FROM t WHERE id >= 100 ORDER BY id;
CREATE PROCEDURE changing_loop() LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 1..1 LOOP
    FOR r IN UPDATE t SET v = 0 WHERE id < 3 RETURNING id LOOP
      COMMIT;
    END LOOP;
  END LOOP;
END
$$;
CREATE PROCEDURE changing_loop_2() LANGUAGE plpgsql AS $$
DECLARE
  r record;
BEGIN
  FOR r IN UPDATE t SET v = 0 WHERE id < 3 RETURNING id LOOP
    ROLLBACK;
  END LOOP;
END
$$;
CALL changing_loop_2();
CREATE PROCEDURE open_cursor() LANGUAGE plpgsql AS $$
DECLARE
  c CURSOR FOR SELECT id FROM t ORDER BY id;
  n int;
BEGIN
  OPEN c;
  FETCH c INTO n;
  RAISE NOTICE 'first %', n;
  COMMIT;
  FETCH c INTO n;
  RAISE NOTICE 'second %', n;
END
$$;
CALL open_cursor();

-- Procedures that call procedures.
CREATE PROCEDURE inner_part(i int, INOUT sum int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (what) VALUES ('inner ' || i);
  COMMIT;
  sum := sum + i;
  INSERT INTO log (what) VALUES ('after ' || i);
  IF i = 2 THEN ROLLBACK; END IF;
END
$$;
CREATE PROCEDURE outer_part(n int, INOUT sum int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
  texts text[] := '{}';
BEGIN
  FOR i IN 1..n LOOP
    texts := texts || repeat('x', i);
    CALL inner_part(i, sum);
    RAISE NOTICE '% %', sum, texts;
  END LOOP;
  COMMIT;
  CALL inner_part(7, sum);
END
$$;
CALL outer_part(3);
SELECT what FROM log ORDER BY n;
DO $$
BEGIN
  INSERT INTO log (what) VALUES ('do 1');
  ROLLBACK;
  INSERT INTO log (what) VALUES ('do 2');
  COMMIT;
  CALL inner_part(9, NULL);
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'never';
END
$$;
DO $$
DECLARE
  s int := 1;
BEGIN
  INSERT INTO log (what) VALUES ('do 3');
  ROLLBACK;
  INSERT INTO log (what) VALUES ('do 4');
  COMMIT;
  CALL inner_part(9, s);
  RAISE NOTICE 'sum %', s;
END
$$;
SELECT what FROM log WHERE what LIKE 'do%' OR what LIKE '%9' ORDER BY n;

-- Where the transaction is not its own to end.
BEGIN;
CALL half();
ROLLBACK;
BEGIN;
DO $$ BEGIN COMMIT; END $$;
ROLLBACK;
CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t VALUES (300, 3);
  COMMIT;
  RETURN 1;
END
$$;
SELECT f();
CREATE FUNCTION g() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  CALL half();
  RETURN 1;
END
$$;
SELECT g();
CREATE PROCEDURE by_function() LANGUAGE plpgsql AS $$
BEGIN
  PERFORM g();
END
$$;
CALL by_function();
CREATE PROCEDURE by_text() LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'CALL half()';
END
$$;
CALL by_text();
CREATE PROCEDURE caught() LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO t VALUES (400, 4);
  COMMIT;
  BEGIN
    INSERT INTO t VALUES (401, 4);
    COMMIT;
  EXCEPTION WHEN invalid_transaction_termination THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
    INSERT INTO t VALUES (402, 4);
  END;
  BEGIN
    INSERT INTO t VALUES (403, 4);
    ROLLBACK;
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
    COMMIT;
  END;
  INSERT INTO t VALUES (404, 4);
  ROLLBACK;
END
$$;
CALL caught();
SELECT id FROM t WHERE id >= 300 ORDER BY id;
CREATE PROCEDURE with_handler() LANGUAGE plpgsql AS $$
BEGIN
  COMMIT;
EXCEPTION WHEN division_by_zero THEN
  NULL;
END
$$;
CALL with_handler();
CREATE PROCEDURE definer() LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN COMMIT; END $$;
CALL definer();
CREATE PROCEDURE setting() LANGUAGE plpgsql SET work_mem = '8MB' AS $$ BEGIN COMMIT; END $$;
CALL setting();
CREATE PROCEDURE calls_setting() LANGUAGE plpgsql AS $$ BEGIN CALL setting(); END $$;
CALL calls_setting();
CREATE FUNCTION fire() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN COMMIT; RETURN NEW; END $$;
CREATE TRIGGER fires BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION fire();
CALL inner_part(1, 1);
DROP TRIGGER fires ON log;

-- SET LOCAL, locks and messages end with the transaction.
CREATE PROCEDURE scopes() LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('app.x', 'local', true);
  PERFORM pg_advisory_xact_lock(5);
  RAISE NOTICE '%, % locks', current_setting('app.x', true), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory');
  COMMIT;
  RAISE NOTICE '%, % locks', current_setting('app.x', true), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory');
  PERFORM set_config('app.y', 'session', false);
  ROLLBACK;
  RAISE NOTICE '%', current_setting('app.y', true);
  PERFORM set_config('app.y', 'session', false);
  COMMIT;
  RAISE NOTICE '%', current_setting('app.y', true);
END
$$;
CALL scopes();
CREATE PROCEDURE moves() LANGUAGE plpgsql AS $$
DECLARE
  a timestamptz := now();
BEGIN
  PERFORM pg_sleep(0.01);
  RAISE NOTICE '%', now() = a;
  COMMIT;
  RAISE NOTICE '%', now() > a;
END
$$;
CALL moves();

-- Constraints that wait for the end of the transaction are looked at there.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
CREATE PROCEDURE family(INOUT n int DEFAULT 0) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO child VALUES (1, 1);
  INSERT INTO parent VALUES (1);
  COMMIT;
  n := 1;
  INSERT INTO child VALUES (2, 2);
  ROLLBACK;
  n := 2;
  INSERT INTO child VALUES (3, 3);
  RAISE NOTICE '%', n;
END
$$;
CALL family();
SELECT * FROM child;

-- What is not understood.
CREATE PROCEDURE wrong() LANGUAGE plpgsql AS $$ BEGIN COMMIT WORK; END $$;
CREATE PROCEDURE wrong() LANGUAGE plpgsql AS $$ BEGIN ROLLBACK TO x; END $$;
CREATE PROCEDURE right_() LANGUAGE plpgsql AS $$ BEGIN COMMIT AND NO CHAIN; ROLLBACK AND CHAIN; END $$;
CALL right_();
