-- ROWS FROM, and what else FROM has of functions.
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(10, 11));
SELECT * FROM ROWS FROM (generate_series(1, 3), generate_series(10, 11)) WITH ORDINALITY;
SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['a', 'b', 'c'])) WITH ORDINALITY AS t(n, x, o);
SELECT t.n, t.x FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['a', 'b', 'c'])) AS t(n, x) ORDER BY t.x DESC;
SELECT unnest, generate_series FROM ROWS FROM (unnest(ARRAY[7, 8]), generate_series(1, 1)) AS r;
SELECT * FROM ROWS FROM (unnest(ARRAY[1, 2], ARRAY['x', 'y', 'z']), generate_series(1, 4)) AS t(a, b, c);
SELECT * FROM ROWS FROM (abs(-5), generate_series(1, 2)) AS t(a, b);
SELECT * FROM ROWS FROM (generate_series(1, 3)) AS t(a);
SELECT * FROM ROWS FROM (generate_series(4, 5)) WITH ORDINALITY AS t(a, o);
SELECT * FROM ROWS FROM (lower('ABC'), upper('def')) WITH ORDINALITY;
CREATE FUNCTION two_columns(n int) RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$
BEGIN FOR i IN 1..n LOOP a := i; b := 'b' || i; RETURN NEXT; END LOOP; END $$;
CREATE FUNCTION ones(n int) RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 FROM generate_series(1, n)';
CREATE FUNCTION none_of() RETURNS SETOF int LANGUAGE sql AS 'SELECT 1 WHERE false';
SELECT * FROM ROWS FROM (two_columns(2), ones(3));
SELECT * FROM ROWS FROM (two_columns(2), ones(3)) WITH ORDINALITY AS t(a, b, c, d);
SELECT * FROM ROWS FROM (none_of(), ones(1)) AS t(a, b);
SELECT * FROM ROWS FROM (none_of(), none_of()) AS t(a, b);
SELECT count(*), sum(t.a) FROM ROWS FROM (two_columns(3), two_columns(2)) AS t(a, b, c, d);
CREATE TABLE holders (id int PRIMARY KEY, n int, tags text[]);
INSERT INTO holders VALUES (1, 2, '{p,q}'), (2, 1, '{r,s,t}'), (3, 0, '{}');
SELECT h.id, t.* FROM holders h, ROWS FROM (generate_series(1, h.n), unnest(h.tags)) WITH ORDINALITY AS t(k, tag, o) ORDER BY h.id, t.o;
SELECT h.id, t.* FROM holders h LEFT JOIN LATERAL ROWS FROM (generate_series(1, h.n), unnest(h.tags)) AS t(k, tag) ON true ORDER BY h.id, t.tag;
SELECT h.id, (SELECT string_agg(coalesce(tag, '-'), ',') FROM ROWS FROM (unnest(h.tags), generate_series(1, 2)) AS t(tag, k)) FROM holders h ORDER BY 1;
SELECT a.*, b.* FROM ROWS FROM (generate_series(1, 2), generate_series(5, 6)) AS a(x, y) JOIN ROWS FROM (generate_series(2, 3)) AS b(x) USING (x);
CREATE VIEW sides AS SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['a', 'b', 'c'])) AS t(n, x);
SELECT * FROM sides;
CREATE PROCEDURE sides_into() LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    FOR r IN SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY['a', 'b', 'c'])) AS t(n, x) LOOP
        RAISE NOTICE '% %', r.n, r.x;
        INSERT INTO holders VALUES (10 + coalesce(r.n, 9), r.n, ARRAY[r.x]);
    END LOOP;
END $$;
CALL sides_into();
SELECT * FROM holders WHERE id > 10 ORDER BY id;
SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(1, 2)) AS t(a, b, c);
SELECT * FROM ROWS FROM (nothing_there(1), generate_series(1, 2));
SELECT * FROM ROWS FROM ();
SELECT * FROM ROWS FROM (holders);
