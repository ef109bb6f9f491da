-- What applications met that was answered otherwise.
CREATE TABLE seq_t (id serial PRIMARY KEY, n int, "Big" int GENERATED ALWAYS AS IDENTITY);
SELECT setval(pg_get_serial_sequence('seq_t', 'id'), 5);
SELECT setval(pg_get_serial_sequence('"seq_t"', 'id'), coalesce(max(id), 1), max(id) IS NOT NULL) FROM seq_t;
SELECT nextval(pg_get_serial_sequence('public.seq_t', 'id'));
INSERT INTO seq_t (n) VALUES (1) RETURNING id, currval(pg_get_serial_sequence('seq_t', 'id'));
SELECT nextval(pg_get_serial_sequence('seq_t', 'n'));
SELECT setval(pg_get_serial_sequence('seq_t', 'n'), 3);
SELECT nextval(pg_get_serial_sequence('seq_t', 'big'));
SELECT nextval(pg_get_serial_sequence('no_such', 'id'));
CREATE FUNCTION seq_next() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE n bigint; BEGIN n := nextval(pg_get_serial_sequence('seq_t', 'id')); RETURN n; END $$;
SELECT seq_next();
-- Bodies that are no strings.
CREATE FUNCTION body_one(a int) RETURNS int RETURN a + 1;
CREATE FUNCTION body_two(a int, b int DEFAULT 3) RETURNS int LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT 1; SELECT CASE WHEN a > 1 THEN a + b END; END;
CREATE PROCEDURE body_three(x int) BEGIN ATOMIC INSERT INTO seq_t (n) VALUES (x); UPDATE seq_t SET n = n + 1 WHERE n = x; END;
CREATE FUNCTION body_four() RETURNS SETOF int BEGIN ATOMIC WITH w AS (SELECT n FROM seq_t) SELECT n FROM w ORDER BY 1; END;
SELECT body_one(1), body_two(2), body_two(1, 1);
CALL body_three(40);
SELECT * FROM body_four();
CREATE FUNCTION body_bad(a int) RETURNS int LANGUAGE plpgsql RETURN a + 1;
CREATE FUNCTION body_bad(a int) RETURNS int RETURN b + 1;
CREATE FUNCTION body_bad(a int) RETURNS int AS 'SELECT 1';
CREATE FUNCTION body_bad(a int) RETURNS int BEGIN ATOMIC SELECT no_such FROM seq_t; END;
-- Of several conditions the first by name is told of.
CREATE TABLE ck (a int CHECK (a > 0), b int, CONSTRAINT a1 CHECK (b > 0), CONSTRAINT zz CHECK (a > 1));
INSERT INTO ck VALUES (0, 0);
ALTER TABLE ck ADD CONSTRAINT a0 CHECK (a > -1);
INSERT INTO ck VALUES (-2, -1);
CREATE DOMAIN dck AS int CONSTRAINT z1 CHECK (VALUE > 0) CONSTRAINT a1 CHECK (VALUE > 1);
SELECT (-1)::dck;
-- Keys that are computed, in errors.
CREATE TABLE keyed (name varchar(10), v text);
CREATE UNIQUE INDEX keyed_one ON keyed (lower(name));
CREATE UNIQUE INDEX keyed_two ON keyed ((v || '1'), upper(v));
CREATE UNIQUE INDEX keyed_three ON keyed (v) WHERE name = 'x';
INSERT INTO keyed (name) VALUES ('a'), ('A');
INSERT INTO keyed (v) VALUES ('a'), ('a');
INSERT INTO keyed VALUES ('x', 'p');
-- EXECUTE with another number of values.
PREPARE px (int) AS SELECT $1;
EXECUTE px;
EXECUTE px (1, 2);
EXECUTE px (1);
-- Arguments of cursors.
DO $$ DECLARE c CURSOR (x int) FOR SELECT x; y int; BEGIN OPEN c(x := 3); FETCH c INTO y; RAISE NOTICE '%', y; CLOSE c; END $$;
-- Names in errors that are computed.
CREATE FUNCTION named() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'no' USING TABLE = TG_TABLE_NAME, SCHEMA = TG_TABLE_SCHEMA, CONSTRAINT = 'c_' || NEW.n, COLUMN = lower('N'), DATATYPE = 'int' || 4;
END $$;
CREATE TRIGGER named BEFORE INSERT ON seq_t FOR EACH ROW EXECUTE FUNCTION named();
DO $$ DECLARE a text; b text; c text; d text; e text;
BEGIN
  INSERT INTO seq_t (n) VALUES (7);
EXCEPTION WHEN raise_exception THEN
  GET STACKED DIAGNOSTICS a = TABLE_NAME, b = SCHEMA_NAME, c = CONSTRAINT_NAME, d = COLUMN_NAME, e = PG_DATATYPE_NAME;
  RAISE NOTICE '% % % % %', a, b, c, d, e;
END $$;
DO $$ DECLARE n text; BEGIN RAISE EXCEPTION 'x' USING TABLE = n; END $$;
-- What a procedure answers has to go somewhere.
CREATE PROCEDURE answers(a int, INOUT b int DEFAULT 3) LANGUAGE plpgsql AS $$ BEGIN b := a; END $$;
CALL answers(1);
DO $$ BEGIN CALL answers(1, 4); END $$;
DO $$ DECLARE z int := 3; BEGIN CALL answers(b => z, a => 7); RAISE NOTICE '%', z; END $$;
-- Types of rows.
CREATE SCHEMA rows_of;
CREATE TABLE rows_of.w (a int);
CREATE TYPE rows_of.c AS (a int);
CREATE VIEW rows_of.v AS SELECT 1 AS a;
DROP TYPE rows_of.w;
DROP TYPE IF EXISTS rows_of.v;
DROP DOMAIN rows_of.w;
CREATE FUNCTION takes(a rows_of.w[], b rows_of.c, c rows_of.c[]) RETURNS int LANGUAGE sql AS 'SELECT 1';
DROP TYPE rows_of.c;
-- A table that becomes a partition gets all indexes that it has not, and no other.
CREATE TABLE pt (a int PRIMARY KEY, m text, j jsonb) PARTITION BY RANGE (a);
CREATE INDEX ON pt ((j ->> 'k'));
CREATE INDEX ON pt (lower(m)) WHERE m <> '';
CREATE INDEX ON pt (m);
CREATE TABLE pt_one PARTITION OF pt FOR VALUES FROM (0) TO (10);
INSERT INTO pt VALUES (1, 'A', '{"k": 1}');
ALTER TABLE pt DETACH PARTITION pt_one;
ALTER TABLE pt ATTACH PARTITION pt_one FOR VALUES FROM (0) TO (10);
CREATE TABLE pt_two (a int NOT NULL, m text, j jsonb);
INSERT INTO pt_two VALUES (11, 'B', '{"k": 2}'), (12, 'C', NULL);
ALTER TABLE pt ATTACH PARTITION pt_two FOR VALUES FROM (10) TO (20);
SELECT indexname, indexdef FROM pg_indexes WHERE tablename IN ('pt_one', 'pt_two') ORDER BY 1;
SELECT a, m FROM pt WHERE lower(m) >= 'a' AND m <> '' ORDER BY a;
SELECT a FROM pt WHERE j ->> 'k' = '2';
DELETE FROM pt WHERE m = 'C';
SELECT count(*) FROM pt_two;
