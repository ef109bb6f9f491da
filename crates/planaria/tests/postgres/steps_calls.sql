CREATE PROCEDURE io(INOUT x int) LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE IF NOT EXISTS made(q int); x := x + 1; END $$;
CREATE PROCEDURE io2(INOUT y int) LANGUAGE plpgsql AS $$ BEGIN CALL io(y); y := y * 2; END $$;
CALL io2(3);
DO $$ DECLARE z int := 1; BEGIN CALL io(z); RAISE NOTICE '%', z; CALL io(x => z); RAISE NOTICE '%', z; END $$;
CREATE PROCEDURE read_any(INOUT y int, OUT t text) LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE 'SELECT 5 AS k, now() > now() AS l' INTO r; y := r.k; t := 'got ' || r.l; END $$;
CREATE PROCEDURE calls_any(INOUT y int) LANGUAGE plpgsql AS $$ DECLARE t text; BEGIN CALL read_any(y, t); y := y * 2; RAISE NOTICE '%', t; END $$;
CALL calls_any(3);
DO $$ DECLARE a int[] := '{1,2}'; t text; BEGIN CALL read_any(a[2], t); RAISE NOTICE '% %', a, t; END $$;
DO $$ DECLARE t text; BEGIN CALL read_any(1 + 1, t); END $$;
DO $$ DECLARE z int := 7; BEGIN CALL io(z); CALL io(z); EXECUTE 'CREATE TABLE other(a int)'; RAISE NOTICE '%', z; END $$;
CREATE TABLE t(a int, b text);
INSERT INTO t VALUES (1, 'x'), (2, 'y');
DO $$
DECLARE n int; r record;
BEGIN
  FOR r IN EXECUTE 'SELECT * FROM t' LOOP NULL; END LOOP;
  GET DIAGNOSTICS n = ROW_COUNT;
  RAISE NOTICE '% %', n, found;
  UPDATE t SET b = b;
  FOR r IN EXECUTE 'SELECT * FROM t WHERE a = 1' LOOP NULL; END LOOP;
  GET DIAGNOSTICS n = ROW_COUNT;
  RAISE NOTICE '%', n;
END $$;
CREATE FUNCTION of_its_type(p anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$ DECLARE res ALIAS FOR $0; BEGIN res := p; RETURN res; END $$;
SELECT of_its_type(3), of_its_type('x'::text), of_its_type(NULL::date);
CREATE FUNCTION sum_of(p anyarray) RETURNS anyelement LANGUAGE plpgsql AS $$ DECLARE res ALIAS FOR $0; BEGIN RAISE NOTICE '%', res IS NULL; SELECT sum(x) INTO res FROM unnest(p) x; RETURN res; END $$;
SELECT sum_of(ARRAY[1, 2, 3]), sum_of(ARRAY[1.5, 2]);
CREATE FUNCTION no_zero(p int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE res ALIAS FOR $0; BEGIN RETURN 1; END $$;
