-- Parameters, results and variables of the row types of tables.
CREATE TABLE people (id int PRIMARY KEY, first text NOT NULL, last text, born date);
CREATE TABLE orders (id int PRIMARY KEY, person int REFERENCES people, total numeric(10,2));
CREATE TABLE log (at serial, what text);
INSERT INTO people VALUES (1, 'Ann', 'Lee', '1990-02-03'), (2, 'Bob', NULL, NULL), (3, 'Cy', 'Ng', '2000-12-31');
INSERT INTO orders VALUES (10, 1, 12.50), (11, 1, 7), (12, 3, 100);
CREATE FUNCTION full_name(p people) RETURNS text LANGUAGE sql AS $$ SELECT p.first || COALESCE(' ' || p.last, '') $$;
CREATE FUNCTION age_at(p people, d date) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF p IS NULL THEN
        RETURN -1;
    END IF;
    RETURN extract(year FROM d) - extract(year FROM p.born);
END $$;
CREATE FUNCTION spent(people) RETURNS numeric LANGUAGE sql AS $$ SELECT COALESCE(sum(o.total), 0) FROM orders o WHERE o.person = $1.id $$;
CREATE FUNCTION owner(o orders) RETURNS people LANGUAGE sql AS $$ SELECT * FROM people p WHERE p.id = o.person $$;
CREATE FUNCTION owner_too(o orders) RETURNS people LANGUAGE sql AS $$ SELECT p FROM people p WHERE p.id = o.person $$;
CREATE FUNCTION renamed(p people, name text) RETURNS people LANGUAGE plpgsql AS $$
BEGIN
    p.first := name;
    RETURN p;
END $$;
CREATE FUNCTION older(a people, b people) RETURNS people LANGUAGE plpgsql AS $$
DECLARE
    r people;
BEGIN
    IF a.born < b.born THEN
        r := a;
    ELSE
        r := b;
    END IF;
    RETURN r;
END $$;
CREATE FUNCTION orders_of(p people) RETURNS SETOF orders LANGUAGE plpgsql AS $$
DECLARE
    o orders;
BEGIN
    FOR o IN SELECT * FROM orders WHERE person = p.id ORDER BY id LOOP
        RETURN NEXT o;
    END LOOP;
END $$;
CREATE FUNCTION strictly(p people) RETURNS text STRICT LANGUAGE sql AS $$ SELECT p.first $$;
CREATE FUNCTION what(p people) RETURNS text LANGUAGE sql AS $$ SELECT 'a person' $$;
CREATE FUNCTION what(o orders) RETURNS text LANGUAGE sql AS $$ SELECT 'an order' $$;
CREATE FUNCTION what(i int) RETURNS text LANGUAGE sql AS $$ SELECT 'a number' $$;
SELECT full_name(p) FROM people p ORDER BY id;
SELECT full_name(people) FROM people ORDER BY id;
SELECT full_name(people.*) FROM people ORDER BY id;
SELECT p.full_name FROM people p ORDER BY id;
SELECT (p).full_name, p.spent FROM people p ORDER BY id;
SELECT id FROM people p WHERE p.full_name LIKE '% %' ORDER BY spent(p);
SELECT age_at(p, '2020-01-01') FROM people p ORDER BY id;
SELECT age_at(NULL, '2020-01-01'), full_name(NULL), spent(NULL);
SELECT p.first, spent(p) FROM people p ORDER BY id;
SELECT (owner(o)).first, full_name(owner(o)), (owner_too(o)).* FROM orders o ORDER BY id;
SELECT renamed(p, 'X') FROM people p ORDER BY id;
SELECT (renamed(renamed(p, 'X'), p.first || '!')).* FROM people p ORDER BY id;
SELECT older(a, b) FROM people a, people b WHERE a.id = 1 AND b.id = 3;
SELECT full_name(older(a, b)) FROM people a JOIN people b ON a.id < b.id ORDER BY a.id, b.id;
SELECT p.first, o.* FROM people p, orders_of(p) o ORDER BY o.id;
SELECT p.first, (orders_of(p)).total FROM people p ORDER BY 1, 2;
SELECT o.id, owner(o) FROM people p, orders_of(p) o ORDER BY o.id;
SELECT p.first, what(p), what(o), what(p.id) FROM people p LEFT JOIN orders o ON o.person = p.id ORDER BY p.id, o.id;
SELECT o.id, full_name(p), strictly(p) IS NULL FROM orders o LEFT JOIN people p ON p.id = o.person AND o.id > 10 ORDER BY o.id;
SELECT full_name(ROW(9, 'Zed', 'Z', NULL)), full_name(ROW(9, 'Zed', 'Z', NULL)::people);
SELECT full_name((SELECT p FROM people p WHERE id = 3));
SELECT full_name(x) FROM (SELECT * FROM people) x ORDER BY x.id;
SELECT full_name(o) FROM orders o;
SELECT full_name(1);
SELECT full_name('x');
SELECT full_name(ROW(1, 'a'));
SELECT full_name(ROW('q', 'a', 'b', NULL));
SELECT p.no_such_function FROM people p;
SELECT p.what FROM people p LIMIT 1;
CREATE FUNCTION log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO log (what) VALUES (full_name(OLD) || ' -> ' || full_name(NEW));
    ELSE
        INSERT INTO log (what) VALUES (full_name(NEW));
    END IF;
    NEW := renamed(NEW, upper(NEW.first));
    RETURN NEW;
END $$;
CREATE TRIGGER changes BEFORE INSERT OR UPDATE ON people FOR EACH ROW EXECUTE FUNCTION log_change();
INSERT INTO people VALUES (4, 'Di', 'Poe', NULL);
UPDATE people SET last = 'Roe' WHERE id = 4;
SELECT what FROM log ORDER BY at;
SELECT * FROM people WHERE id = 4;
CREATE PROCEDURE put(p people, INOUT n int) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO people SELECT (p).*;
    INSERT INTO people VALUES (p.id + 100, full_name(p), p.last, p.born);
    n := n + 1;
END $$;
CALL put(ROW(5, 'Ed', 'Fox', '1970-01-01'), 1);
SELECT * FROM people WHERE id IN (5, 105) ORDER BY id;
DO $$
DECLARE
    a people;
    b people%ROWTYPE := ROW(20, 'T', 'U', NULL);
    r record;
    n int := 0;
BEGIN
    RAISE NOTICE '% %', full_name(a), full_name(b);
    SELECT * INTO a FROM people WHERE id = 1;
    RAISE NOTICE '%', full_name(a);
    a := renamed(a, 'Anna');
    RAISE NOTICE '% %', a, a.first;
    b := a;
    b.last := NULL;
    RAISE NOTICE '%', b;
    r := owner(ROW(1, 3, 5)::orders);
    RAISE NOTICE '% %', r.id, r;
    r := older(a, r);
    RAISE NOTICE '%', r.first;
    FOR r IN SELECT * FROM people ORDER BY id LIMIT 2 LOOP
        RAISE NOTICE '%', r;
    END LOOP;
    FOR a IN SELECT * FROM people ORDER BY id LIMIT 2 LOOP
        RAISE NOTICE '%', full_name(a);
    END LOOP;
    CALL put(b, n);
END $$;
DO $$
DECLARE
    a people;
    n int := 0;
BEGIN
    SELECT * INTO a FROM people WHERE id = 1;
    a.id := 30;
    CALL put(a, n);
    RAISE NOTICE '%', n;
END $$;
DO $$
DECLARE
    a people;
BEGIN
    a := 5;
END $$;
SELECT count(*) FROM people;
CREATE FUNCTION by_id(n int) RETURNS people LANGUAGE plpgsql AS $$
DECLARE
    r people;
BEGIN
    SELECT * INTO r FROM people WHERE id = n;
    RETURN r;
END $$;
CREATE FUNCTION through(n int) RETURNS people LANGUAGE plpgsql AS $$
BEGIN
    RETURN by_id(n);
END $$;
CREATE FUNCTION made(n int) RETURNS people LANGUAGE plpgsql AS $$
BEGIN
    RETURN ROW(n, 'made'::text, NULL::text, NULL::date);
END $$;
CREATE FUNCTION nothing() RETURNS people LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END $$;
CREATE FUNCTION bad() RETURNS people LANGUAGE plpgsql AS $$
BEGIN
    RETURN 5;
END $$;
SELECT by_id(1), through(2), made(3), nothing();
SELECT (through(1)).first, (made(8)).id;
SELECT nothing() IS NULL;
SELECT * FROM through(3);
SELECT * FROM nothing();
SELECT bad();
CREATE FUNCTION each_renamed() RETURNS SETOF people LANGUAGE plpgsql AS $$
DECLARE
    p people;
BEGIN
    FOR p IN SELECT * FROM people ORDER BY id LIMIT 2 LOOP
        RETURN NEXT renamed(p, 'R');
        RETURN NEXT older(p, p);
    END LOOP;
END $$;
SELECT * FROM each_renamed();
SELECT full_name(e) FROM each_renamed() e;
SELECT array_agg(full_name(p) ORDER BY id), max(p.first) FROM people p WHERE id < 3;
PREPARE name_of(int) AS SELECT full_name(p) FROM people p WHERE id = $1;
EXECUTE name_of(1);
CREATE VIEW names AS SELECT id, full_name(p) AS name FROM people p;
SELECT * FROM names ORDER BY id LIMIT 1;
ALTER TABLE people ADD COLUMN note text DEFAULT 'n';
SELECT full_name(p), (renamed(p, 'Z')).note FROM people p WHERE id = 1;
ALTER TABLE people RENAME TO persons;
SELECT full_name(p) FROM persons p WHERE id = 1;
SELECT pg_get_function_identity_arguments('full_name'::regproc), pg_get_function_result('renamed'::regproc);
ALTER TABLE persons RENAME TO people;
DROP VIEW names;
ALTER TABLE orders DROP CONSTRAINT orders_person_fkey;
DROP TABLE people;
DROP FUNCTION full_name(people);
DROP FUNCTION full_name(people);
CREATE FUNCTION full_name(people) RETURNS text LANGUAGE sql AS $$ SELECT 'again' $$;
SELECT full_name(p) FROM people p WHERE id = 1;
CREATE FUNCTION full_name(people) RETURNS text LANGUAGE sql AS $$ SELECT 'twice' $$;
