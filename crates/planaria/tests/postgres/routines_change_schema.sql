-- with contexts
CREATE TABLE readings(id int, at date NOT NULL, v int) PARTITION BY RANGE (at);
CREATE FUNCTION create_partition_for(day date) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  first date := date_trunc('month', day);
  name text := 'readings_' || to_char(first, 'YYYY_MM');
BEGIN
  EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF readings FOR VALUES FROM (%L) TO (%L)', name, first, (first + interval '1 month')::date);
  RETURN name;
END $$;
SELECT create_partition_for('2024-02-10');
SELECT create_partition_for('2024-03-01') AS made;
SELECT create_partition_for(day => '2024-03-31'::date);
INSERT INTO readings VALUES (1, '2024-02-11', 5), (2, '2024-03-05', 6);
SELECT tableoid::regclass, id FROM readings ORDER BY id;
CREATE PROCEDURE drop_before(day date, INOUT dropped int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
  r record;
BEGIN
  dropped := 0;
  FOR r IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'readings'::regclass ORDER BY 1 LOOP
    IF r.relname < 'readings_' || to_char(day, 'YYYY_MM') THEN
      EXECUTE format('DROP TABLE %I', r.relname);
      dropped := dropped + 1;
      RAISE NOTICE 'dropped %', r.relname;
    END IF;
  END LOOP;
END $$;
CALL drop_before('2024-03-15');
CALL drop_before('2024-03-15', 7);
SELECT id FROM readings;
CREATE PROCEDURE make(what text, n int) LANGUAGE plpgsql AS $$
BEGIN
  CREATE TABLE made(id int PRIMARY KEY, name text);
  INSERT INTO made SELECT i, what || i FROM generate_series(1, n) AS i;
  COMMENT ON TABLE made IS 'made by a procedure';
END $$;
CALL make('x', 3);
SELECT * FROM made ORDER BY id;
CALL make('x', 3);
SELECT obj_description('made'::regclass);
CREATE FUNCTION remake() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DROP TABLE IF EXISTS made;
  CALL make('y', 2);
  PERFORM create_partition_for('2024-05-05');
END $$;
SELECT remake();
SELECT * FROM made ORDER BY id;
SELECT to_regclass('readings_2024_05');
BEGIN;
SELECT remake();
INSERT INTO made VALUES (9, 'in a block');
ROLLBACK;
SELECT * FROM made ORDER BY id;
BEGIN;
CALL drop_before('2024-06-01');
SELECT count(*) FROM readings;
COMMIT;
SELECT count(*) FROM pg_inherits WHERE inhparent = 'readings'::regclass;
CREATE FUNCTION caught(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    EXECUTE 'CREATE TABLE caught_' || n || '(a int CHECK (a > 0))';
    EXECUTE 'INSERT INTO caught_' || n || ' VALUES ($1)' USING n;
  EXCEPTION
    WHEN check_violation THEN
      RETURN 'no: ' || sqlerrm;
    WHEN duplicate_table THEN
      RETURN 'there already';
  END;
  RETURN 'made';
END $$;
SELECT caught(1);
SELECT caught(1);
SELECT caught(0);
SELECT to_regclass('caught_0'), to_regclass('caught_1');
CREATE FUNCTION fails(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  CREATE TABLE fails_made(a int);
  RETURN 10 / n;
END $$;
SELECT fails(0);
SELECT to_regclass('fails_made');
SELECT fails(5);
SELECT fails(5);
CREATE FUNCTION first_row(t text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  r record;
  all_of text := '';
BEGIN
  EXECUTE format('SELECT * FROM %I ORDER BY 1 LIMIT 1', t) INTO r;
  FOR r IN EXECUTE format('SELECT * FROM %I ORDER BY 1', t) LOOP
    all_of := all_of || r::text;
  END LOOP;
  RETURN all_of;
END $$;
SELECT first_row('made');
SELECT first_row('readings');
SELECT first_row('nothing');
CREATE FUNCTION only_when(n int) RETURNS int STRICT LANGUAGE plpgsql AS $$
BEGIN
  CREATE TABLE IF NOT EXISTS only_table(a int);
  IF n > 1 THEN
    RETURN n;
  END IF;
END $$;
SELECT only_when(NULL) IS NULL;
SELECT only_when(NULL);
SELECT to_regclass('only_table');
SELECT only_when(2);
SELECT only_when(1);
DO $$
BEGIN
  DROP TABLE only_table;
  PERFORM only_when(3);
  RAISE NOTICE '%', to_regclass('only_table');
  PERFORM fails(0);
END $$;
CREATE FUNCTION overloaded(a int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN 'int';
END $$;
CREATE FUNCTION overloaded(a text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  CREATE TABLE overloaded_made(a text);
  RETURN 'text';
END $$;
SELECT overloaded(1);
SELECT overloaded('a'::text);
SELECT overloaded('a');
PREPARE part(date) AS SELECT create_partition_for($1);
EXECUTE part('2025-01-02');
EXECUTE part('2025-02-02');
SELECT count(*) FROM pg_inherits WHERE inhparent = 'readings'::regclass;
DO $$
BEGIN
  FOR i IN 1 .. 3 LOOP
    PERFORM create_partition_for(make_date(2026, i, 1));
  END LOOP;
END $$;
SELECT count(*) FROM pg_inherits WHERE inhparent = 'readings'::regclass;
CREATE PROCEDURE maintain(since date, n int) LANGUAGE plpgsql AS $$
DECLARE
  day date := since;
BEGIN
  WHILE day < since + n * interval '1 month' LOOP
    PERFORM create_partition_for(day);
    day := day + interval '1 month';
  END LOOP;
  DELETE FROM made;
END $$;
CALL maintain('2027-01-15', 2);
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'readings'::regclass ORDER BY 1;
SELECT count(*) FROM made;
-- Results of rows, several columns, parameters without names, cursors, loops over changed rows.
CREATE FUNCTION fills(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
  DROP TABLE IF EXISTS filled;
  CREATE TEMP TABLE filled (x int);
  INSERT INTO filled SELECT generate_series(1, n);
  RETURN QUERY SELECT x FROM filled ORDER BY x DESC;
  RETURN NEXT -1;
END $$;
SELECT * FROM fills(3);
SELECT fills(2);
SELECT * FROM fills(0) AS f (y);
CREATE FUNCTION made(text) RETURNS TABLE (tab text, n bigint) LANGUAGE plpgsql AS $$
DECLARE r record; c refcursor; what text;
BEGIN
  EXECUTE format('CREATE TABLE %I (id int, v text)', $1);
  EXECUTE format('INSERT INTO %I VALUES (1, ''a''), (2, ''b'')', $1);
  OPEN c FOR EXECUTE format('SELECT * FROM %I ORDER BY id', $1);
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    tab := r.v; n := r.id;
    RETURN NEXT;
  END LOOP;
  CLOSE c;
  FOR r IN UPDATE filled SET x = x + 10 RETURNING x LOOP
    tab := 'changed'; n := r.x;
    RETURN NEXT;
  END LOOP;
  FOR what IN SELECT relname FROM pg_class WHERE relname = $1 LOOP
    RETURN QUERY EXECUTE format('SELECT %L::text, count(*) FROM %I', what, what);
  END LOOP;
END $$;
SELECT * FROM fills(1);
SELECT * FROM made('zebra1');
SELECT tab, n FROM made('zebra2');
CREATE FUNCTION drops(t text, OUT gone text, OUT n int) LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SELECT count(*) FROM ' || quote_ident(t) INTO n;
  EXECUTE 'DROP TABLE ' || quote_ident(t);
  gone := t;
END $$;
SELECT * FROM drops('zebra1');
SELECT * FROM zebra1;
BEGIN;
SELECT * FROM made('zebra3');
ROLLBACK;
SELECT * FROM zebra3;
