-- (f(..)).* and (f(..)).column; rows and their fields as values.
CREATE TABLE people (id int PRIMARY KEY, first text NOT NULL, last text, born date);
CREATE TABLE orders (id int PRIMARY KEY, person int REFERENCES people, total numeric(10,2));
INSERT INTO people VALUES (1, 'Ann', 'Lee', '1990-02-03'), (2, 'Bob', NULL, NULL), (3, 'Cy', 'Ng, Jr.', '2000-12-31');
INSERT INTO orders VALUES (10, 1, 12.50), (11, 1, 7), (12, 3, 100);
CREATE FUNCTION person(n int) RETURNS people LANGUAGE sql AS $$ SELECT * FROM people WHERE id = n $$;
CREATE FUNCTION stats(n int, OUT number bigint, OUT total numeric) LANGUAGE sql AS $$ SELECT count(*), sum(total) FROM orders WHERE person = n $$;
CREATE FUNCTION split(a text, OUT head text, OUT tail text) LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'split %', a;
    head := left(a, 1);
    tail := substr(a, 2);
END $$;
CREATE FUNCTION all_orders(n int) RETURNS SETOF orders LANGUAGE sql AS $$ SELECT * FROM orders WHERE person = n ORDER BY id $$;
CREATE FUNCTION pairs(n int) RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..n LOOP
        a := i;
        b := repeat('x', i);
        RETURN NEXT;
    END LOOP;
END $$;
SELECT (person(1)).*;
SELECT (person(1)).first, (person(3)).last;
SELECT person(1);
SELECT person(3);
SELECT person(9);
SELECT person(9) IS NULL, (person(9)).id IS NULL, person(1) IS NULL, person(1) IS NOT NULL, person(2) IS NOT NULL;
SELECT (person(9)).*;
SELECT stats(1);
SELECT (stats(1)).*;
SELECT id, (stats(id)).* FROM people ORDER BY id;
SELECT id, (stats(id)).total FROM people ORDER BY total DESC NULLS LAST, id;
SELECT p.id, (person(p.id)).* FROM people p WHERE (stats(p.id)).number > 0 ORDER BY p.id;
SELECT (split('abc')).*;
SELECT (split('abc')).head || '-' || (split('def')).tail AS parts;
SELECT s.x, (split(s.x)).tail FROM (VALUES ('uv'), ('wx')) AS s(x);
SELECT (all_orders(1)).*;
SELECT (all_orders(1)).total;
SELECT all_orders(1);
SELECT p.first, (all_orders(p.id)).* FROM people p ORDER BY p.id, 2;
SELECT (pairs(3)).*;
SELECT pairs(2);
SELECT (pairs(2)).b, (pairs(2)).a;
SELECT id, person(id) FROM people ORDER BY id;
SELECT (p).first, (p).* FROM people p WHERE p.id < 3 ORDER BY p.id;
SELECT p FROM people p ORDER BY p.id;
SELECT (x.p).last FROM (SELECT p FROM people p) x ORDER BY 1;
SELECT (x.p).* FROM (SELECT p FROM people p) x ORDER BY 1;
SELECT (SELECT p FROM people p WHERE id = 2);
SELECT ((SELECT p FROM people p WHERE id = 1)).first;
SELECT ((SELECT p FROM people p WHERE id = 1)).*;
SELECT (ROW(7, 'Di', NULL, NULL)::people).first;
SELECT (ROW(7, 'Di', NULL, '2001-01-01')::people).*;
SELECT ROW(7, 'Di', NULL, '2001-01-01')::people;
SELECT (NULL::people).*;
SELECT NULL::people;
SELECT NULL::people IS NULL, ROW(NULL, NULL, NULL, NULL)::people IS NULL;
SELECT CASE WHEN p.id = 1 THEN p END FROM people p ORDER BY p.id;
SELECT (CASE WHEN p.id = 1 THEN p ELSE person(3) END).first FROM people p ORDER BY p.id;
SELECT (COALESCE(person(9), person(2))).first;
SELECT count(*), (person(count(*)::int)).first FROM people WHERE id < 3;
SELECT (person(max(id))).* FROM people;
SELECT p.id, o FROM people p LEFT JOIN orders o ON o.person = p.id ORDER BY p.id, o.id;
SELECT to_json(person(1)), row_to_json(person(2));
INSERT INTO people SELECT (ROW(4, 'Ed', 'Fox', NULL)::people).*;
INSERT INTO people (id, first) VALUES (5, 'Flo') RETURNING (person(1)).first, (people).*;
UPDATE people SET last = (person(1)).last WHERE id = 5 RETURNING people, (people).last;
SELECT * FROM people WHERE (person(id)).last = 'Lee' ORDER BY id;
CREATE TABLE copied AS SELECT (person(1)).*;
SELECT * FROM copied;
SELECT (person(1)).nothing;
SELECT (stats(1)).nothing;
SELECT (1).x;
SELECT (id).x FROM people;
SELECT ('a'::text).*;
SELECT 1 WHERE (person(1)).*;
SELECT (nobody(1)).*;
SELECT ROW(1, 'a')::people;
SELECT ROW(1, 'a', 'b', 'c', 'd')::people;
SELECT ROW(true, 'a', 'b', NULL)::people;
SELECT ROW('z', 'a', 'b', NULL)::people;
SELECT o::people FROM orders o;
SELECT pg_typeof(person(1)), pg_typeof(NULL::orders), pg_typeof(ROW(1, 2));
DO $$
DECLARE
    r people;
    s record;
BEGIN
    SELECT (person(1)).* INTO r;
    RAISE NOTICE '% %', r, (r).last;
    SELECT (stats(1)).*, (person(3)).first AS name INTO s;
    RAISE NOTICE '% % %', s.number, s.total, s.name;
    RAISE NOTICE '%', (r).born;
    RAISE NOTICE '%', r IS NULL;
    SELECT * INTO r FROM people WHERE id = 99;
    RAISE NOTICE '% %', r, r IS NULL;
END $$;
