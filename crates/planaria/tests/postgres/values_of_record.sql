-- Functions that return record, called without a column definition list: the value is a row.
CREATE TABLE item (id int PRIMARY KEY, name text, price numeric(8,2));
INSERT INTO item VALUES (1, 'nut', 0.10), (2, 'big bolt', 0.25);
CREATE FUNCTION pair(a int, b text) RETURNS record LANGUAGE plpgsql AS $$
BEGIN
    IF a < 0 THEN
        RETURN NULL;
    END IF;
    RETURN (a, b);
END $$;
SELECT pair(1, 'x');
SELECT pair(id, name), pair(id, NULL) IS NULL, pair(-1, 'x') IS NULL, pair(-1, 'x') FROM item ORDER BY id;
SELECT pair(1, 'x') = ROW(1, 'x'::text), pair(2, 'a') > pair(1, 'z');
SELECT array_agg(pair(id, name) ORDER BY id) FROM item;
SELECT pair(id, name)::text || '!' FROM item WHERE pair(id, name)::text LIKE '%nut%';
SELECT count(*) FROM (SELECT DISTINCT pair(1, 'x') FROM item) s;
CREATE FUNCTION found(n int) RETURNS record LANGUAGE sql AS $$ SELECT id, name, price FROM item WHERE id >= n ORDER BY id $$;
SELECT found(2), found(1), found(9);
SELECT row_to_json(found(2));
CREATE FUNCTION selected(n int) RETURNS record LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    SELECT * INTO r FROM item WHERE id = n;
    RETURN r;
END $$;
SELECT selected(2);
SELECT to_jsonb(selected(1));
CREATE FUNCTION one(n int) RETURNS record LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(n); END $$;
SELECT one(5);
-- In PL/pgSQL.
DO $$
DECLARE r record; t text;
BEGIN
    r := pair(1, 'x');
    RAISE NOTICE '% % %', r, r.f1, r.f2;
    r := selected(2);
    RAISE NOTICE '% % %', r, r.name, r.price;
    t := pair(4, 'z');
    RAISE NOTICE '%', t;
    PERFORM pair(5, 'p');
    IF pair(1, 'x') IS NOT NULL THEN
        RAISE NOTICE 'there';
    END IF;
END $$;
CREATE FUNCTION outer_most(n int) RETURNS record LANGUAGE plpgsql AS $$
BEGIN
    RETURN pair(n, 'of outer');
END $$;
SELECT outer_most(6);
SELECT * FROM outer_most(6) AS t(a int, b text);
CREATE TABLE kept (id int, word text);
CREATE PROCEDURE keeps(n int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    r := pair(n, 'kept');
    INSERT INTO kept VALUES (r.f1, r.f2);
    INSERT INTO kept SELECT n + 1, found(1)::text;
END $$;
CALL keeps(10);
SELECT * FROM kept ORDER BY id;
-- Sets of them.
CREATE FUNCTION several(n int) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..n LOOP
        RETURN NEXT (i, 'n' || i);
    END LOOP;
END $$;
SELECT several(2);
SELECT several(2), generate_series(1, 3);
CREATE FUNCTION rows_of() RETURNS SETOF record LANGUAGE sql AS $$ SELECT id, name FROM item ORDER BY id $$;
SELECT rows_of();
SELECT i.id, s.r FROM item i, LATERAL (SELECT rows_of() AS r) s ORDER BY i.id, s.r;
CREATE OR REPLACE FUNCTION pair(a int, b text) RETURNS record LANGUAGE sql AS $$ SELECT b, a, a + 1 $$;
SELECT pair(1, 'x');
SELECT outer_most(6);
-- Each function is looked at once, however many calls lead to it.
CREATE FUNCTION chain0() RETURNS record LANGUAGE plpgsql AS $$ BEGIN RETURN ROW(1, 2); END $$;
DO $$ BEGIN FOR i IN 1 .. 24 LOOP EXECUTE format('CREATE FUNCTION chain%s() RETURNS record LANGUAGE plpgsql AS %L', i, format('DECLARE a record; b record; BEGIN IF %s > 20 THEN a := chain%s(); b := chain%s(); END IF; RETURN ROW(%s, 2); END', i, i - 1, i - 1, i)); END LOOP; END $$;
SELECT chain24();
-- What a change returns.
CREATE TABLE changed_rows (a int, b text);
CREATE FUNCTION puts(n int) RETURNS record LANGUAGE sql AS $$ INSERT INTO changed_rows VALUES (n, 'n' || n) RETURNING a, b $$;
SELECT puts(3);
SELECT (puts(4))::text, * FROM puts(5) AS t (p int, q text);
CREATE FUNCTION takes_all() RETURNS SETOF record LANGUAGE sql AS $$ DELETE FROM changed_rows RETURNING b, a $$;
SELECT takes_all();
