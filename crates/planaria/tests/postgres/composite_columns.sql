CREATE TYPE addr AS (street text, zip int);
CREATE TYPE person AS (name text, home addr);
CREATE TABLE t (id int PRIMARY KEY, a addr, p person, many addr[], note text DEFAULT 'x');
INSERT INTO t VALUES (1, ROW('Main', 10), ROW('Ann', ROW('Elm', 20)), ARRAY[ROW('A', 1)::addr, '(B,2)']);
INSERT INTO t VALUES (2, '("Long St, 5",)', '(Bob,"(Oak,3)")', '{"(C,3)","(\"d e\",4)",NULL}');
INSERT INTO t (id) VALUES (3);
INSERT INTO t VALUES (4, ROW(NULL, NULL), NULL, '{}');
INSERT INTO t VALUES (5, ROW('x', 'y'));
INSERT INTO t VALUES (5, ROW('x'));
INSERT INTO t VALUES (5, '(x,y)');
INSERT INTO t VALUES (5, '(x');
INSERT INTO t VALUES (5, 7);
SELECT * FROM t ORDER BY id;
SELECT (a).street, (a).zip + 1, (p).home, ((p).home).zip, (t.p).name FROM t ORDER BY id;
SELECT (a).* FROM t ORDER BY id;
SELECT ((p).home).* FROM t ORDER BY id;
SELECT many[1], (many[2]).street, array_length(many, 1), (many[1]).zip FROM t ORDER BY id;
SELECT id, (u).street, u.zip, u FROM t, unnest(many) u ORDER BY id, 3;
SELECT id, n, u FROM t, unnest(many) WITH ORDINALITY AS q(a, b, n), unnest(many) u WHERE n = 1 ORDER BY 1, 3;
SELECT id, unnest(many) FROM t ORDER BY 1, 2;
SELECT (unnest(many)).zip FROM t ORDER BY 1;
SELECT id, a IS NULL, a IS NOT NULL, p IS NULL, a IS DISTINCT FROM NULL FROM t ORDER BY id;
SELECT id FROM t WHERE a = ROW('Main', 10)::addr;
SELECT id FROM t WHERE (a).zip = 10;
SELECT id FROM t WHERE a > '(Ma,5)'::addr ORDER BY id;
SELECT id FROM t WHERE p = ROW('Bob', ROW('Oak', 3)::addr)::person;
SELECT a FROM t ORDER BY a DESC, id;
SELECT DISTINCT a FROM t ORDER BY a;
SELECT a, count(*) FROM t GROUP BY a ORDER BY 1;
SELECT max((a).zip), array_agg(a ORDER BY id) FROM t;
SELECT (a).nothing FROM t;
SELECT (note).x FROM t;
SELECT (t.a).street FROM t WHERE id = 1;

-- Parts are assigned.
UPDATE t SET a.zip = 11 WHERE id = 1;
UPDATE t SET a.street = 'New', a.zip = (a).zip + 1 WHERE id IN (1, 3);
UPDATE t SET p.home.zip = 99, p.name = 'Zoe' WHERE id IN (1, 3);
UPDATE t SET p.home.zip = 98, p.home.street = 'St' WHERE id IN (2, 3);
UPDATE t SET many[1].zip = 55 WHERE id = 1;
UPDATE t SET many[2] = ROW('Q', 6) WHERE id = 1;
SELECT * FROM t ORDER BY id;
UPDATE t SET a.nothing = 1;
UPDATE t SET a.zip = 'x';
UPDATE t SET a.zip = true;
UPDATE t SET note.x = 1;
UPDATE t SET a.zip = DEFAULT;
UPDATE t SET a = ROW('whole', 1), note = 'n' WHERE id = 4 RETURNING a, (a).zip;
UPDATE t SET a = NULL WHERE id = 4 RETURNING a;
UPDATE t AS q SET a.zip = 3 WHERE q.id = 4 RETURNING q.a;

-- JSON.
SELECT to_jsonb(a), to_jsonb(p), to_json(many), row_to_json(t) FROM t WHERE id = 1;
SELECT * FROM jsonb_populate_record(NULL::t, '{"id": 9, "a": {"street": "J", "zip": 4}, "p": {"name": "K", "home": {"zip": 1}}}');
SELECT jsonb_agg(a ORDER BY id) FROM t;

-- Constraints, defaults, generated columns.
CREATE TABLE c (id int PRIMARY KEY, a addr NOT NULL DEFAULT ROW('d', 1) CHECK ((a).zip > 0), z int GENERATED ALWAYS AS ((a).zip * 2) STORED);
INSERT INTO c VALUES (1, DEFAULT), (2, ROW('e', 5));
INSERT INTO c VALUES (3, ROW('e', -5));
INSERT INTO c VALUES (3, NULL);
SELECT * FROM c ORDER BY id;
CREATE INDEX ON c (((a).street));
SELECT id FROM c WHERE (a).street = 'e';
CREATE VIEW v AS SELECT id, (a).street AS s, a FROM c;
SELECT * FROM v ORDER BY id;
SELECT (a).zip FROM v ORDER BY id;
CREATE TABLE copied AS SELECT id, a, many FROM t;
SELECT * FROM copied ORDER BY id;
CREATE TABLE pseudo AS SELECT ROW(1, 2) AS r;
ALTER TABLE t ADD COLUMN b addr DEFAULT '(dd,1)';
SELECT b FROM t WHERE id = 1;
ALTER TABLE t ALTER COLUMN b TYPE text USING (b).street;
SELECT b FROM t WHERE id = 1;
ALTER TABLE t ALTER COLUMN b TYPE addr USING ROW(b, 3)::addr;
SELECT b FROM t WHERE id = 1;
ALTER TABLE t DROP COLUMN b;

-- Row types of tables.
CREATE TABLE spot (x int, y int);
INSERT INTO spot VALUES (1, 2), (3, 4);
CREATE TABLE shape (id int PRIMARY KEY, at spot, path spot[]);
INSERT INTO shape SELECT row_number() OVER (ORDER BY x), p, ARRAY[p, ROW(0, 0)::spot] FROM spot p;
SELECT id, at, (at).x, path, (path[2]).y FROM shape ORDER BY id;
DROP TABLE spot;
ALTER TABLE spot ALTER COLUMN x TYPE bigint;

-- PL/pgSQL.
CREATE FUNCTION zip_of(x addr) RETURNS int LANGUAGE sql AS $$ SELECT x.zip $$;
CREATE FUNCTION addrs(n int) RETURNS addr[] LANGUAGE plpgsql AS $$
DECLARE
  all_of addr[] := '{}';
  one addr;
BEGIN
  FOR i IN 1..n LOOP
    one := ROW('s' || i, i);
    one.zip := one.zip * 10;
    all_of := all_of || one;
  END LOOP;
  all_of[1].street := 'first';
  all_of[2] := ROW('second', 2);
  RETURN all_of;
END
$$;
CREATE FUNCTION total(all_of addr[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  one addr;
  sum int := 0;
BEGIN
  FOREACH one IN ARRAY all_of LOOP
    sum := sum + coalesce(one.zip, 0);
  END LOOP;
  RETURN sum;
END
$$;
SELECT addrs(3), total(addrs(3)), (addrs(2))[1], zip_of((addrs(2))[2]);
SELECT id, zip_of(a), zip_of((p).home), total(coalesce(many, '{}')) FROM t ORDER BY id;
SELECT total(NULL);
DO $$
DECLARE
  q person := ROW('Ann', ROW('Elm', 1));
  r t;
  h addr;
  x record;
BEGIN
  q.home.zip := 5;
  q.name := 'Eve';
  RAISE NOTICE '% % %', q, q.home, (q.home).zip;
  h := q.home;
  RAISE NOTICE '%', h.street;
  SELECT * INTO r FROM t WHERE id = 1;
  RAISE NOTICE '% % %', r.a, (r.p).name, r.many[1];
  r.a.zip := 77;
  r.many[1].street := 'Changed';
  INSERT INTO t SELECT 6, r.a, r.p, r.many;
  FOR x IN SELECT id, a FROM t WHERE id IN (1, 6) ORDER BY id LOOP
    RAISE NOTICE '% %', x.id, (x.a).zip;
  END LOOP;
  UPDATE t SET a = h WHERE id = 6;
END
$$;
SELECT * FROM t WHERE id = 6;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.a.street := upper((NEW.a).street);
  RETURN NEW;
END
$$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION stamp();
INSERT INTO t (id, a) VALUES (7, ROW('low', 1));
SELECT a FROM t WHERE id = 7;
PREPARE by_addr(addr) AS SELECT id FROM t WHERE a = $1 ORDER BY 1;
EXECUTE by_addr(ROW('LOW', 1));
EXECUTE by_addr('(LOW,1)');

-- Catalogs, and what depends.
SELECT attname, format_type(atttypid, atttypmod), attlen, attstorage FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 't' ORDER BY ordinal_position;
SELECT pg_typeof(a), pg_typeof(many), pg_typeof((p).home) FROM t WHERE id = 1;
DROP TYPE addr;
ALTER TYPE addr ALTER ATTRIBUTE zip TYPE bigint;
CREATE TYPE self AS (a int);
ALTER TYPE self ADD ATTRIBUTE b self;
ALTER TYPE self ADD ATTRIBUTE b self[];
DROP VIEW v;
DROP TABLE c;
DROP TRIGGER stamp ON t;
ALTER TYPE addr RENAME ATTRIBUTE zip TO code;
SELECT a, (a).code, ((p).home).code FROM t WHERE id = 1;
ALTER TYPE addr RENAME TO address;
SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname IN ('a', 'many') ORDER BY attnum;
SELECT a = ROW('x', 1)::address FROM t WHERE id = 1;
ALTER TABLE t DROP COLUMN p;
DROP TYPE address CASCADE;
SELECT * FROM t WHERE id IN (1, 2) ORDER BY id;
SELECT attname FROM pg_attribute WHERE attrelid = 'person'::regclass AND attnum > 0 AND NOT attisdropped;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TYPE felt AS (m mood, d date, n numeric(5, 2), c char(4), at timestamptz, j jsonb, tags text[]);
CREATE TABLE f (id int, f felt);
INSERT INTO f VALUES (1, ROW('ok', '2024-02-03', 1.005, 'ab', '2024-01-01 00:00+00', '{"a": 1}', '{x,"y z"}')), (2, '(sad,2024-01-01,3,abcd,,"[1, 2]",{})');
INSERT INTO f VALUES (3, '(sad,2024-01-01,3,abcde,,,)');
SELECT * FROM f ORDER BY id;
SELECT (f).m, (f).n, (f).c || '|', (f).j -> 'a', (f).tags[2] FROM f ORDER BY id;
ALTER TYPE mood RENAME VALUE 'ok' TO 'fine';
SELECT (f).m FROM f ORDER BY id;
SELECT f FROM f ORDER BY (f.f).m DESC;
