-- with contexts
-- Bound cursors, and COMMIT and ROLLBACK, in bodies that change the schema or read records of any structure.
CREATE TABLE todo (name text PRIMARY KEY, cols int, done boolean NOT NULL DEFAULT false);
INSERT INTO todo VALUES ('alpha', 1), ('beta', 2), ('gamma', 3);
DO $$
DECLARE c CURSOR FOR SELECT * FROM todo ORDER BY name;
BEGIN
  FOR t IN c LOOP
    EXECUTE format('CREATE TABLE made_%s (%s)', t.name, (SELECT string_agg('c' || g || ' int', ', ') FROM generate_series(1, t.cols) g));
    UPDATE todo SET done = true WHERE name = t.name;
    EXIT WHEN t.name = 'beta';
  END LOOP;
  RAISE NOTICE 'found %', FOUND;
END $$;
SELECT * FROM todo ORDER BY name;
SELECT relname, relnatts FROM pg_class WHERE relname LIKE 'made%' ORDER BY 1;
CREATE FUNCTION drop_made(p_like text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE c CURSOR (pat text, least int) FOR SELECT relname, relnatts FROM pg_class WHERE relname LIKE pat AND relnatts >= least ORDER BY relname; r record; n int := 0;
BEGIN
  OPEN c(p_like, least := 1);
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    EXECUTE 'DROP TABLE ' || quote_ident(r.relname);
    n := n + r.relnatts;
  END LOOP;
  CLOSE c;
  RETURN n;
END $$;
SELECT drop_made('made%');
SELECT drop_made('made%');
DO $$ DECLARE c CURSOR (a int) FOR SELECT a AS v; r record; BEGIN EXECUTE 'SELECT 4 AS x' INTO r; OPEN c(r.x + 1); FETCH c INTO r; RAISE NOTICE '% %', r, c; OPEN c(2); END $$;
DO $$
DECLARE c CURSOR (a int, b int) FOR SELECT g FROM generate_series(a, b) g; r record; a int := 7; total int := 0;
BEGIN
  EXECUTE 'SELECT 9 AS top' INTO r;
  <<outer_loop>>
  FOR x IN c(a, r.top) LOOP
    FOR y IN 1..3 LOOP
      CONTINUE outer_loop WHEN x.g = 8;
      total := total + x.g;
    END LOOP;
  END LOOP;
  RAISE NOTICE '%', total;
  FOR x IN c(b := 2, a := 3) LOOP total := 0; END LOOP;
  RAISE NOTICE '% %', total, FOUND;
END $$;
-- Transactions.
CREATE TABLE steps (n int PRIMARY KEY, note text);
CREATE PROCEDURE migrate(p_from int, p_to int) LANGUAGE plpgsql AS $$
DECLARE i int; r record;
BEGIN
  FOR i IN p_from .. p_to LOOP
    EXECUTE format('CREATE TABLE step_%s (id int)', i);
    EXECUTE format('INSERT INTO steps VALUES (%s, %L) RETURNING *', i, 'step ' || i) INTO r;
    RAISE NOTICE '%', r;
    IF i % 2 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
  END LOOP;
END $$;
CALL migrate(1, 4);
SELECT n FROM steps ORDER BY n;
SELECT relname FROM pg_class WHERE relname ~ '^step_' ORDER BY 1;
CALL migrate(5, 7);
CALL migrate(3, 3);
SELECT n FROM steps ORDER BY n;
BEGIN;
CALL migrate(9, 9);
ROLLBACK;
SELECT relname FROM pg_class WHERE relname ~ '^step_' ORDER BY 1;
DO $$ BEGIN CREATE TABLE step_20 (id int); COMMIT; CREATE TABLE step_21 (id int); ROLLBACK; CREATE TABLE step_22 (id int); COMMIT AND CHAIN; INSERT INTO step_22 VALUES (1); RAISE EXCEPTION 'stop'; END $$;
SELECT relname FROM pg_class WHERE relname ~ '^step_2' ORDER BY 1;
SELECT count(*) FROM step_22;
DO $$ BEGIN CREATE TABLE step_30 (id int); BEGIN COMMIT; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END; END $$;
DO $$ BEGIN BEGIN CREATE TABLE step_31 (id int); ROLLBACK; EXCEPTION WHEN invalid_transaction_termination THEN RAISE NOTICE '%', SQLERRM; END; COMMIT; END $$;
SELECT relname FROM pg_class WHERE relname ~ '^step_3' ORDER BY 1;
CREATE FUNCTION no_commit() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE 'SELECT 1 AS a' INTO r; PERFORM 1; END $$;
SELECT no_commit();
CREATE TABLE ended (id int PRIMARY KEY);
CREATE TABLE ended_log (x int);
INSERT INTO ended SELECT generate_series(1, 4);
CREATE PROCEDURE ends_in_loop() LANGUAGE plpgsql AS $$
DECLARE c CURSOR (least int) FOR SELECT * FROM ended WHERE id >= least ORDER BY id; r record;
BEGIN
  CREATE TABLE IF NOT EXISTS made_in_loop (a int);
  FOR r IN c (2) LOOP
    INSERT INTO ended_log VALUES (r.id);
    IF r.id = 3 THEN ROLLBACK; ELSE COMMIT; END IF;
  END LOOP;
  RAISE NOTICE '%', FOUND;
  FOR r IN c (9) LOOP COMMIT; END LOOP;
  RAISE NOTICE '%', FOUND;
END $$;
CALL ends_in_loop();
SELECT * FROM ended_log;
-- A column of a composite type is fetched into a record whose structure changes.
CREATE TYPE pair_fetched AS (a int, b text);
CREATE TABLE fetched (id int, home pair_fetched, homes pair_fetched[]);
INSERT INTO fetched VALUES (1, '(1,x)', '{"(2,y)"}'), (2, NULL, NULL);
DO $$ DECLARE r record; c CURSOR (x int) FOR SELECT * FROM fetched WHERE id > x ORDER BY id; BEGIN FOR r IN SELECT id FROM fetched ORDER BY id LOOP RAISE NOTICE '%', r.id; OPEN c(0); FETCH c INTO r; RAISE NOTICE '% % %', r, (r.home).b, r.homes; FETCH c INTO r; RAISE NOTICE '% %', r, r.home IS NULL; FETCH c INTO r; RAISE NOTICE '% %', r, FOUND; CLOSE c; END LOOP; END $$;
