-- Records that take rows of EXECUTE and of others' cursors, in routines that anything calls.
CREATE TABLE things (id int PRIMARY KEY, a int, b text);
INSERT INTO things VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z');
CREATE TABLE others (id int PRIMARY KEY, made date, ok boolean);
INSERT INTO others VALUES (7, '2024-05-01', true);
-- Rows of a table's type.
CREATE FUNCTION all_of(tab text) RETURNS SETOF things LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN EXECUTE format('SELECT * FROM %I ORDER BY id', tab) LOOP
    IF r.a < 30 THEN RETURN NEXT r; END IF;
  END LOOP;
END $$;
SELECT * FROM all_of('things');
SELECT all_of('things');
SELECT b, count(*) FROM all_of('things') GROUP BY b ORDER BY b;
SELECT t.id, f.b FROM things t LEFT JOIN all_of('things') f USING (id) ORDER BY 1;
SELECT * FROM all_of('others');
-- Columns of RETURNS TABLE.
CREATE FUNCTION listed(tab text) RETURNS TABLE (k int, v text) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN EXECUTE 'SELECT * FROM ' || quote_ident(tab) || ' ORDER BY 1' LOOP
    k := r.id * 10;
    v := to_jsonb(r)::text;
    RETURN NEXT;
  END LOOP;
  RETURN QUERY SELECT -1, 'end of ' || tab;
  RETURN QUERY EXECUTE 'SELECT -2, $1' USING tab;
  GET DIAGNOSTICS k = ROW_COUNT;
  v := FOUND::text;
  RETURN NEXT;
END $$;
SELECT * FROM listed('things');
SELECT * FROM listed('others');
SELECT t.tab, l.* FROM (VALUES ('things'), ('others')) t (tab), LATERAL listed(t.tab) l WHERE k > 0 ORDER BY 1, 2;
SELECT * FROM listed('nowhere');
-- A value, without a name for the parameter; in expressions, for each row.
CREATE FUNCTION first_of(text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  EXECUTE 'SELECT * FROM ' || quote_ident($1) || ' ORDER BY 1 LIMIT 1' INTO r;
  RETURN r::text;
END $$;
SELECT first_of('things') || '!', length(first_of('others'));
SELECT id, first_of('others') FROM things WHERE first_of('things') <> '' ORDER BY id;
-- One routine, several structures, by turns.
CREATE FUNCTION by_turns() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE r record; tab text; n int := 0;
BEGIN
  FOREACH tab IN ARRAY ARRAY['things', 'others', 'things'] LOOP
    FOR r IN EXECUTE format('SELECT * FROM %I ORDER BY 1', tab) LOOP
      n := n + 1;
      RETURN NEXT n || ' ' || r::text;
    END LOOP;
  END LOOP;
  SELECT 'x' AS only INTO r;
  RETURN NEXT r.only;
END $$;
SELECT * FROM by_turns();
-- OUT parameters.
CREATE FUNCTION outs(tab text, OUT n bigint, OUT lowest int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  EXECUTE 'SELECT count(*) AS c, min(id) AS m FROM ' || quote_ident(tab) INTO STRICT r;
  n := r.c; lowest := r.m;
END $$;
SELECT * FROM outs('things');
SELECT outs('others'), (outs('things')).n;
-- A single row.
CREATE FUNCTION one_of(tab text, which int) RETURNS things LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  EXECUTE format('SELECT * FROM %I WHERE id = $1', tab) INTO r USING which;
  IF r IS NULL THEN RETURN NULL; END IF;
  RETURN r;
END $$;
SELECT * FROM one_of('things', 2);
SELECT (one_of('things', 3)).b, one_of('things', 99) IS NULL;
-- Rows of any columns.
CREATE FUNCTION anything(q text) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN EXECUTE q LOOP RETURN NEXT r; END LOOP;
END $$;
SELECT * FROM anything('SELECT id, b FROM things ORDER BY id') AS t (p int, q text) WHERE p > 1;
SELECT sum(ok::int), min(made) FROM anything('SELECT made, ok FROM others') AS t (made date, ok boolean);
SELECT * FROM anything('SELECT id, b FROM things') AS t (p int, q int);
-- Blocks that catch errors, and changes.
CREATE TABLE kept (id serial PRIMARY KEY, what text UNIQUE);
CREATE FUNCTION keeps(q text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE r record; n int := 0;
BEGIN
  FOR r IN EXECUTE q LOOP
    BEGIN
      INSERT INTO kept (what) VALUES (r.b);
      IF r.a = 20 THEN PERFORM 1 / (r.a - 20); END IF;
      n := n + 1;
    EXCEPTION
      WHEN unique_violation THEN RAISE NOTICE 'again: % (%)', r.b, SQLERRM;
      WHEN division_by_zero THEN RAISE NOTICE 'taken back: %, of %', r.b, SQLSTATE;
    END;
  END LOOP;
  RETURN n;
END $$;
SELECT keeps('SELECT a, b FROM things ORDER BY id') + 100;
SELECT keeps('SELECT 1 AS a, b FROM things ORDER BY id') AS n, (SELECT count(*) FROM kept);
SELECT what FROM kept ORDER BY what;
-- Called by others, and by itself.
CREATE PROCEDURE copies(tab text, INOUT n int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN EXECUTE format('SELECT * FROM %I', tab) LOOP
    n := n + length(first_of(tab));
  END LOOP;
  SELECT count(*) AS c INTO r FROM all_of(tab);
  n := n * 100 + r.c;
END $$;
CALL copies('things', 0);
CREATE FUNCTION down(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  IF n = 0 THEN RETURN '.'; END IF;
  EXECUTE 'SELECT down($1) AS d' INTO r USING n - 1;
  RETURN n || r.d;
END $$;
SELECT down(5) AS d, upper(down(2));
-- Cursors of others.
CREATE FUNCTION opens(q text) RETURNS refcursor LANGUAGE plpgsql AS $$ DECLARE c refcursor; BEGIN OPEN c FOR EXECUTE q; RETURN c; END $$;
CREATE FUNCTION reads(c refcursor) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r record; s text := '';
BEGIN
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    s := s || r::text;
  END LOOP;
  CLOSE c;
  RETURN s;
END $$;
SELECT reads(opens('SELECT id, b FROM things ORDER BY id')) AS s;
SELECT reads(opens('SELECT made FROM others')) || '?' AS s;
CREATE FUNCTION opens_and_reads(q text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE c refcursor; r record;
BEGIN
  OPEN c FOR EXECUTE q;
  FETCH c INTO r;
  WHILE FOUND LOOP
    RETURN NEXT r.b;
    FETCH c INTO r;
  END LOOP;
  CLOSE c;
END $$;
SELECT * FROM opens_and_reads('SELECT b FROM things ORDER BY id DESC');
-- STRICT, SECURITY DEFINER, settings.
CREATE FUNCTION careful(tab text) RETURNS SETOF int LANGUAGE plpgsql STRICT SECURITY DEFINER SET search_path TO public AS $$
DECLARE r record;
BEGIN
  FOR r IN EXECUTE format('SELECT id FROM %I ORDER BY id', tab) LOOP RETURN NEXT r.id; END LOOP;
  RETURN;
END $$;
SELECT careful('things');
SELECT count(*) FROM careful(NULL);
CREATE FUNCTION without_return(tab text) RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE 'SELECT 1 AS n' INTO r; END $$;
SELECT without_return('x') + 1;
CREATE FUNCTION unset() RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF r.n = 1 THEN EXECUTE 'SELECT 1 AS n' INTO r; END IF; RETURN 1; END $$;
SELECT unset() + 1;
CREATE FUNCTION nothing_there() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE 'SELECT 1 AS n' INTO r; RETURN r.m; END $$;
SELECT nothing_there() || '';
-- The same in blocks, and rows of changes.
DO $$
DECLARE r record; c refcursor;
BEGIN
  OPEN c FOR EXECUTE 'SELECT * FROM things ORDER BY id';
  LOOP
    FETCH c INTO r;
    EXIT WHEN NOT FOUND;
    RAISE NOTICE '% %', r.b, r;
  END LOOP;
  CLOSE c;
  FOR r IN EXECUTE 'SELECT 1 AS n' LOOP RAISE NOTICE '%', r; END LOOP;
  FOR r IN UPDATE things SET a = a + 1 RETURNING id, a LOOP RAISE NOTICE '%', r; END LOOP;
END $$;
CREATE FUNCTION raised(tab text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE r record; s record;
BEGIN
  FOR r IN EXECUTE format('SELECT max(id) AS m FROM %I', tab) LOOP
    FOR s IN UPDATE things SET a = a + 1 WHERE id = r.m RETURNING id, a, b LOOP
      RETURN NEXT s.b || s.a;
    END LOOP;
    RETURN QUERY UPDATE things SET a = 0 WHERE id < r.m RETURNING id::text;
  END LOOP;
END $$;
SELECT x FROM raised('things') x ORDER BY x;
SELECT * FROM things ORDER BY id;
