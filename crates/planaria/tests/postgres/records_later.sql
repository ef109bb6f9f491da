-- Records that are read before the text assigns them, and rows that are NULL as a whole.
CREATE TABLE t (k int PRIMARY KEY, v text);
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
-- The row of the turn before.
DO $$ DECLARE prev record; r record; n int := 0;
BEGIN
    FOR r IN SELECT * FROM t ORDER BY k LOOP
        IF n > 0 THEN RAISE NOTICE '% %', prev.k, r.k; END IF;
        prev := r; n := n + 1;
    END LOOP;
    RAISE NOTICE 'last %', prev;
END $$;
DO $$ DECLARE prev record; r record;
BEGIN
    FOR r IN SELECT * FROM t ORDER BY k LOOP
        IF prev IS NOT NULL THEN
            IF prev.k <> r.k THEN RAISE NOTICE 'changes from % to %', prev.v, r.v; END IF;
        END IF;
        prev := r;
    END LOOP;
END $$;
-- Its fields are looked for before anything is evaluated.
DO $$ DECLARE prev record; r record;
BEGIN
    FOR r IN SELECT * FROM t ORDER BY k LOOP
        IF prev IS NOT NULL AND prev.k <> r.k THEN RAISE NOTICE '%', prev.k; END IF;
        prev := r;
    END LOOP;
END $$;
DO $$ DECLARE prev record; r record;
BEGIN
    FOR r IN SELECT * FROM t ORDER BY k LOOP RAISE NOTICE '% %', prev.k, r.k; prev := r; END LOOP;
END $$;
DO $$ DECLARE prev record; BEGIN RAISE NOTICE '% %', prev IS NULL, prev; END $$;
DO $$ DECLARE prev record;
BEGIN
    RAISE NOTICE '%', prev IS NOT NULL;
    IF prev IS NULL THEN RAISE NOTICE 'none'; END IF;
    SELECT * INTO prev FROM t WHERE k = 99;
    RAISE NOTICE '% % %', prev IS NULL, prev.k, prev;
END $$;
DO $$ DECLARE prev record; BEGIN RAISE NOTICE '%', prev.k; END $$;
DO $$ DECLARE prev record; BEGIN prev := NULL; RAISE NOTICE '%', prev; RAISE NOTICE '%', prev.k; END $$;
DO $$ DECLARE prev record; BEGIN prev := ROW(1, 2); RAISE NOTICE '%', prev.f1; prev := NULL; RAISE NOTICE '%', prev; RAISE NOTICE '%', prev.f1; END $$;
DO $$ DECLARE prev record; BEGIN prev.k := 3; END $$;
DO $$ DECLARE a record; b record; BEGIN a := b; RAISE NOTICE '%', a; END $$;
-- Variables of a table's type.
DO $$ DECLARE r t; BEGIN RAISE NOTICE '% % %', r, r IS NULL, r.k; RAISE NOTICE '%', to_jsonb(r); END $$;
DO $$ DECLARE r t; BEGIN r.k := NULL; RAISE NOTICE '% %', r, r IS NULL; r.k := 1; RAISE NOTICE '%', r; r := NULL; RAISE NOTICE '% %', r, r.k; END $$;
DO $$ DECLARE r t; x t; BEGIN x := ROW(1, 'x'); FOR i IN 1..3 LOOP RAISE NOTICE '%', r; IF i = 1 THEN r := x; ELSE r := NULL; END IF; END LOOP; END $$;
DO $$ DECLARE r t; x t; BEGIN r := ROW(1, 'x'); r := x; RAISE NOTICE '% %', r, r IS NULL; END $$;
DO $$ BEGIN FOR i IN 1..2 LOOP DECLARE r t; BEGIN RAISE NOTICE '%', r; r.k := i; RAISE NOTICE '%', r; END; END LOOP; END $$;
-- What is found on some paths.
DO $$ DECLARE a record; BEGIN FOR i IN 1..3 LOOP IF i > 1 THEN RAISE NOTICE '%', a.x; END IF; SELECT i AS x INTO a; END LOOP; END $$;
DO $$ DECLARE a record;
BEGIN
    FOR i IN 1..3 LOOP
        BEGIN
            IF i > 1 THEN RAISE NOTICE '%', a.x; END IF;
            RAISE NOTICE '%', a.x;
        EXCEPTION WHEN OTHERS THEN
            RAISE NOTICE '% %', sqlstate, sqlerrm;
            SELECT i AS x INTO a;
        END;
    END LOOP;
END $$;
DO $$ DECLARE a record; BEGIN IF 1 = 2 THEN SELECT 1 AS k INTO a; END IF; RAISE NOTICE '%', a; RAISE NOTICE '%', a.k; END $$;
DO $$ DECLARE a record; BEGIN LOOP IF a IS NULL THEN SELECT 7 AS k INTO a; CONTINUE; END IF; RAISE NOTICE '%', a.k; EXIT; END LOOP; END $$;
DO $$ DECLARE a record; BEGIN LOOP IF a IS NULL THEN SELECT 7 AS k INTO a; EXIT; END IF; END LOOP; RAISE NOTICE '%', a.k; END $$;
DO $$ DECLARE a record; BEGIN a := ROW(1); FOR i IN 1..2 LOOP RAISE NOTICE '%', a; IF i = 1 THEN a := NULL; CONTINUE; END IF; a := ROW(2); END LOOP; RAISE NOTICE '%', a; END $$;
DO $$ DECLARE a record; BEGIN a := ROW(1); LOOP a := NULL; EXIT; END LOOP; RAISE NOTICE '%', a; RAISE NOTICE '%', a.f1; END $$;
DO $$ <<outside>> DECLARE a record; BEGIN FOR i IN 1..2 LOOP IF i = 2 THEN RAISE NOTICE '% %', outside.a.x, outside.a; END IF; SELECT i AS x INTO outside.a; END LOOP; END $$;
DO $$ DECLARE a record; BEGIN WHILE a IS NULL LOOP SELECT 1 AS k INTO a; END LOOP; RAISE NOTICE '%', a; END $$;
DO $$ DECLARE a record; x int; BEGIN FOR i IN 1..2 LOOP IF i = 2 THEN SELECT count(*) INTO x FROM t WHERE k > a.k; RAISE NOTICE '%', x; END IF; SELECT 1 AS k INTO a; END LOOP; END $$;
DO $$ DECLARE a record; BEGIN FOR i IN 1..2 LOOP IF i = 2 THEN a.k := a.k + 5; END IF; RAISE NOTICE '%', a; IF i = 1 THEN SELECT 1 AS k, 2 AS l INTO a; END IF; END LOOP; END $$;
DO $$ DECLARE a record; BEGIN FOR i IN 1..2 LOOP DECLARE b record; BEGIN IF i = 2 THEN RAISE NOTICE '% %', b, a.k; END IF; SELECT 1 AS k, 2 AS l INTO b; a := b; END; END LOOP; END $$;
DO $$ DECLARE a record; BEGIN FOR i IN 1..2 LOOP RAISE NOTICE '%', a IS NULL; RAISE NOTICE '%', coalesce(a.k, 0); SELECT 1 AS k INTO a; END LOOP; END $$;
DO $$ DECLARE a record; BEGIN FOR i IN 1..2 LOOP RAISE NOTICE '%', row_to_json(a); IF i = 2 THEN RAISE NOTICE '% %', to_jsonb(a), a IS DISTINCT FROM NULL; END IF; SELECT 1 AS k INTO a; END LOOP; END $$;
DO $$ DECLARE a record; BEGIN FOR i IN 1..2 LOOP IF i = 2 THEN INSERT INTO t SELECT a.k, a.v; INSERT INTO t VALUES (a.k + 1, a.v || '!'); END IF; SELECT 10 AS k, 'ten' AS v INTO a; END LOOP; END $$;
SELECT * FROM t ORDER BY k;
DELETE FROM t WHERE k > 3;
-- Two that depend on each other.
DO $$ DECLARE a record; b record; BEGIN FOR i IN 1..3 LOOP IF i > 2 THEN RAISE NOTICE '% %', a.x, b.x; END IF; IF i > 1 THEN b := a; END IF; SELECT i AS x INTO a; END LOOP; END $$;
-- Functions.
CREATE FUNCTION later(n int) RETURNS t LANGUAGE plpgsql AS $$ DECLARE a record; BEGIN FOR i IN 1..n LOOP IF i = 2 THEN RETURN a; END IF; SELECT * INTO a FROM t WHERE k = i; END LOOP; RETURN a; END $$;
SELECT later(0) IS NULL, later(1), later(2);
CREATE FUNCTION pairs() RETURNS SETOF t LANGUAGE plpgsql AS $$ DECLARE a record; b record; BEGIN FOR b IN SELECT * FROM t ORDER BY k LOOP IF a IS NOT NULL THEN RETURN NEXT a; END IF; a := b; END LOOP; RETURN NEXT a; END $$;
SELECT * FROM pairs();
CREATE FUNCTION nothing() RETURNS SETOF t LANGUAGE plpgsql AS $$ DECLARE a record; BEGIN RETURN NEXT a; END $$;
SELECT * FROM nothing();
CREATE FUNCTION nothing_of_t() RETURNS SETOF t LANGUAGE plpgsql AS $$ DECLARE a t; BEGIN RETURN NEXT a; END $$;
SELECT * FROM nothing_of_t();
CREATE FUNCTION shown(a t) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN format('%s %s', a, a IS NULL); END $$;
SELECT shown(NULL), shown(ROW(NULL, NULL)), shown(ROW(1, 'x'));
CREATE FUNCTION shown_sql(a t) RETURNS text LANGUAGE sql AS $$ SELECT format('%s %s', a, a IS NULL) $$;
SELECT shown_sql(NULL), shown_sql(ROW(NULL, NULL)), shown_sql(ROW(1, 'x'));
CREATE PROCEDURE gives(OUT a t) LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', a; a.k := 4; RAISE NOTICE '%', a; END $$;
CALL gives(NULL);
-- Constants.
CREATE FUNCTION c1() RETURNS int LANGUAGE plpgsql AS $$ DECLARE c CONSTANT t := ROW(1, 'a'); BEGIN c := NULL; RETURN 1; END $$;
CREATE FUNCTION c2() RETURNS int LANGUAGE plpgsql AS $$ DECLARE c CONSTANT t := ROW(1, 'a'); BEGIN c.v := 'x'; RETURN 1; END $$;
-- Two of one name.
DO $$
BEGIN
    DECLARE p record; BEGIN FOR i IN 1..2 LOOP IF i > 1 THEN RAISE NOTICE '%', p; END IF; SELECT i AS x INTO p; END LOOP; END;
    DECLARE p record; BEGIN FOR i IN 5..6 LOOP IF i > 5 THEN RAISE NOTICE '%', p; END IF; SELECT i AS x INTO p; END LOOP; END;
    DECLARE p t; BEGIN p.k := 1; RAISE NOTICE '%', p; END;
    DECLARE p record; BEGIN RAISE NOTICE '%', p; SELECT 1 AS k, 'x'::text AS v INTO p; RAISE NOTICE '%', pg_typeof(p); END;
END $$;
-- Values that may be NULL.
DO $$ DECLARE r t; s record; BEGIN r := (SELECT t FROM t WHERE k = 2); RAISE NOTICE '%', r; r := (SELECT t FROM t WHERE k = 88); RAISE NOTICE '%', r; s := (SELECT t FROM t WHERE k = 2); RAISE NOTICE '%', s.v; s := (SELECT t FROM t WHERE k = 88); RAISE NOTICE '%', s; END $$;
DO $$ DECLARE r t; BEGIN r := later(0); RAISE NOTICE '%', r; r := later(2); RAISE NOTICE '%', r; END $$;
CREATE PROCEDURE changes(INOUT r t) LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', r; r.k := coalesce(r.k, 0) + 5; END $$;
DO $$ DECLARE r t; BEGIN CALL changes(r); RAISE NOTICE '%', r; CALL changes(r); RAISE NOTICE '%', r; END $$;
DO $$ DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k; a record; b record; BEGIN OPEN c; LOOP FETCH c INTO a; EXIT WHEN NOT FOUND; IF b IS NOT NULL THEN RAISE NOTICE '%', b.v || a.v; END IF; b := a; END LOOP; CLOSE c; END $$;
DO $$ DECLARE r t; s t; BEGIN RAISE NOTICE '% %', r IS DISTINCT FROM s, coalesce(r, ROW(1, 'c')::t); RAISE NOTICE '%', array_append(NULL::t[], r); RAISE NOTICE '%', jsonb_build_object('r', r); END $$;
DO $$ DECLARE r t NOT NULL := ROW(1, 'x'); s t := NULL; q record := ROW(1, 'x'); BEGIN RAISE NOTICE '% % %', r, s, q; END $$;
-- Handlers run from anywhere in their block.
DO $$ DECLARE s t; BEGIN BEGIN s := ROW(1, 'x'); PERFORM 1 / 0; s := NULL; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', s; END; END $$;
DO $$ DECLARE s t; BEGIN s := ROW(1, 'x'); BEGIN s := NULL; PERFORM 1 / 0; s := ROW(2, 'y'); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', s; END; RAISE NOTICE '%', s; END $$;
DO $$ DECLARE s t; BEGIN s := ROW(1, 'x'); BEGIN DECLARE o ALIAS FOR s; BEGIN o := NULL; PERFORM 1 / 0; o := ROW(2, 'y'); END; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', s; END; END $$;
DO $$ DECLARE q record; BEGIN BEGIN SELECT * INTO q FROM t WHERE k = 1; PERFORM 1 / 0; q := NULL; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', q; END; END $$;
DO $$ DECLARE s t; BEGIN FOR i IN 1..3 LOOP BEGIN IF i = 2 THEN s := NULL; PERFORM 1 / 0; END IF; s := ROW(i, 'x'); EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', s; END; RAISE NOTICE '% %', i, s; END LOOP; END $$;
-- NULL in a loop, before the text gives a structure.
DO $$ DECLARE r record; BEGIN FOR i IN 1..3 LOOP IF i = 2 THEN r := NULL; ELSE SELECT * INTO r FROM t WHERE k = i; END IF; RAISE NOTICE '% %', i, r; END LOOP; END $$;
DO $$ DECLARE r record; e record; BEGIN FOR i IN 1..3 LOOP IF i = 2 THEN r := e; END IF; RAISE NOTICE '% %', i, r; IF i <> 2 THEN SELECT * INTO r FROM t WHERE k = i; END IF; END LOOP; RAISE NOTICE '%', r; END $$;
-- Read on a straight line, then of several structures.
DO $$ DECLARE r record; BEGIN RAISE NOTICE '%', r; SELECT 1 AS k INTO r; RAISE NOTICE '%', r; SELECT 'x' AS v, 2 AS n INTO r; RAISE NOTICE '%', r; END $$;
DO $$ BEGIN FOR i IN 1..2 LOOP DECLARE r record; BEGIN RAISE NOTICE '%', r; SELECT 1 AS k INTO r; SELECT 'x' AS v INTO r; RAISE NOTICE '%', r; END; END LOOP; END $$;
-- Rows within loops within loops.
DO $$ DECLARE s t; x t; n int := 0;
BEGIN
    s := ROW(0, 'x');
    FOR a IN 1..2 LOOP <<b>> FOR b IN 1..2 LOOP FOR c IN 1..2 LOOP
        n := n + 1;
        RAISE NOTICE '% %', n, s;
        IF n % 3 = 0 THEN s := x; CONTINUE b; END IF;
        s := ROW(n, 'y');
    END LOOP; END LOOP; END LOOP;
    RAISE NOTICE '%', s;
END $$;
-- Exits and turns that are left.
CREATE FUNCTION left_by(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE q record; BEGIN FOR i IN 1..2 LOOP EXIT WHEN i = n; SELECT * INTO q FROM t WHERE k = 1; END LOOP; RETURN coalesce(q::text, 'N'); END $$;
SELECT left_by(1), left_by(2), left_by(3);
-- NULL as a row of a type.
DO $$ DECLARE s t; BEGIN s := s; RAISE NOTICE '% %', s, s IS NULL; s := ROW(1, 'x'); s := s; RAISE NOTICE '%', s; END $$;
DO $$ DECLARE s t; BEGIN FOR i IN 1..2 LOOP s := s; RAISE NOTICE '%', s; s.k := 3; END LOOP; END $$;
CREATE FUNCTION no_row() RETURNS t LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
DO $$ DECLARE r record; BEGIN r := null::t; RAISE NOTICE '%', r; r := coalesce(null::t, null::t); RAISE NOTICE '%', r; END $$;
DO $$ DECLARE r record; a t[] := array[ROW(1, 'x')::t]; BEGIN r := a[1]; RAISE NOTICE '%', r; r := a[2]; RAISE NOTICE '%', r; r := coalesce(a[2], a[1]); RAISE NOTICE '% %', r, r.k; END $$;
DO $$ DECLARE r t; a t[]; BEGIN r := a[2]; RAISE NOTICE '%', r; r := null::t; RAISE NOTICE '%', r; r := ROW(NULL, NULL)::t; RAISE NOTICE '%', r; END $$;
CREATE PROCEDURE takes(INOUT r t) LANGUAGE plpgsql AS $$ BEGIN IF r.k = 1 THEN r := NULL; ELSE r := ROW(7, 'z'); END IF; END $$;
DO $$ DECLARE s t; BEGIN s := ROW(1, 'x'); CALL takes(s); RAISE NOTICE '% %', s, s IS NULL; CALL takes(s); RAISE NOTICE '%', s; END $$;
DO $$ DECLARE s t; BEGIN s := ROW(1, 'x'); FOR i IN 1..3 LOOP RAISE NOTICE '%', s; CALL takes(s); IF i = 2 THEN s.k := 1; END IF; END LOOP; RAISE NOTICE '%', s; END $$;
