-- INSTEAD OF triggers.
CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE phones (person int REFERENCES people ON DELETE CASCADE, number text, PRIMARY KEY (person, number));
CREATE VIEW book AS SELECT p.id, p.name, f.number, p.name || ': ' || f.number AS line FROM people AS p JOIN phones AS f ON f.person = p.id;
CREATE TABLE said (at serial, what text);
CREATE FUNCTION in_book() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO said (what) VALUES (TG_NAME || ' ' || TG_OP || ' ' || TG_WHEN || ' ' || TG_LEVEL || ' ' || TG_TABLE_NAME);
    IF NEW.number = 'none' THEN RETURN NULL; END IF;
    INSERT INTO people VALUES (NEW.id, NEW.name) ON CONFLICT DO NOTHING;
    INSERT INTO phones VALUES (NEW.id, NEW.number);
    NEW.line = NEW.name || ' -> ' || NEW.number;
    RETURN NEW;
END $$;
CREATE FUNCTION change_book() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO said (what) VALUES (TG_OP || ' ' || OLD.line || ' to ' || NEW.number);
    UPDATE people SET name = NEW.name WHERE id = OLD.id;
    UPDATE phones SET number = NEW.number WHERE person = OLD.id AND number = OLD.number;
    NEW.line = upper(NEW.name);
    RETURN NEW;
END $$;
CREATE FUNCTION out_of_book() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM phones WHERE person = OLD.id AND number = OLD.number;
    IF NOT FOUND THEN RETURN NULL; END IF;
    RETURN OLD;
END $$;
INSERT INTO book VALUES (1, 'Ann', '111');
CREATE TRIGGER adds INSTEAD OF INSERT ON book FOR EACH ROW EXECUTE FUNCTION in_book();
UPDATE book SET name = 'x';
DELETE FROM book;
CREATE TRIGGER changes INSTEAD OF UPDATE ON book FOR EACH ROW EXECUTE FUNCTION change_book();
CREATE TRIGGER removes INSTEAD OF DELETE ON book FOR EACH ROW EXECUTE FUNCTION out_of_book();
INSERT INTO book (id, name, number) VALUES (1, 'Ann', '111');
INSERT INTO book (id, name, number) VALUES (1, 'Ann', '112'), (2, 'Bob', '222'), (3, 'Cid', 'none') RETURNING *;
INSERT INTO book SELECT i + 10, 'P' || i, i::text FROM generate_series(1, 3) AS i RETURNING id, line;
INSERT INTO book (id, name, number) SELECT id, name, number || '0' FROM book WHERE id < 3;
INSERT INTO book (id, name, number) VALUES (4, 'x', 'none') ON CONFLICT DO NOTHING;
INSERT INTO book (id, name, number) VALUES (5, NULL, '5');
INSERT INTO book (id, nope) VALUES (1, 1);
INSERT INTO book (id, name) VALUES ('x', 'y');
SELECT * FROM book ORDER BY id, number;
UPDATE book SET number = '9' || number WHERE id = 2 RETURNING *;
UPDATE book SET name = 'Anna' WHERE id = 1 AND number = '111' RETURNING id, name, line;
UPDATE book AS b SET number = b.number || '!' FROM (VALUES (11, 'eleven'), (12, 'twelve')) AS v (id, word) WHERE v.id = b.id RETURNING b.id, b.number, b.line, v.word;
UPDATE book SET (name, number) = (SELECT 'Q', '77') WHERE id = 13 RETURNING *;
UPDATE book SET line = 'ignored' WHERE id = 13;
UPDATE book SET nope = 1;
UPDATE book SET number = number WHERE id = 404;
SELECT * FROM book ORDER BY id, number;
DELETE FROM book WHERE id = 13 RETURNING *;
DELETE FROM book AS b USING people AS p WHERE p.id = b.id AND p.name LIKE 'P%' RETURNING b.id, p.name;
DELETE FROM book WHERE line = 'nobody';
SELECT what FROM said ORDER BY at;
SELECT * FROM book ORDER BY id, number;
-- several, what they return, arguments
CREATE VIEW v AS SELECT 1 AS a, 'x'::text AS b;
CREATE FUNCTION step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN RAISE NOTICE '% % %', TG_NAME, OLD.a, TG_ARGV[0]; RETURN OLD; END IF;
    RAISE NOTICE '% % % %', TG_NAME, NEW.a, NEW.b, TG_ARGV[0];
    IF NEW.a > 10 THEN RETURN NULL; END IF;
    NEW.a = NEW.a * 10;
    RETURN NEW;
END $$;
CREATE TRIGGER one INSTEAD OF INSERT OR UPDATE OR DELETE ON v FOR EACH ROW EXECUTE FUNCTION step('first');
CREATE TRIGGER two INSTEAD OF INSERT OR UPDATE OR DELETE ON v FOR EACH ROW EXECUTE FUNCTION step('second');
INSERT INTO v VALUES (1, 'a') RETURNING *;
INSERT INTO v VALUES (2, 'b') RETURNING *;
UPDATE v SET b = 'c' RETURNING *;
DELETE FROM v RETURNING *;
DROP TRIGGER two ON v;
INSERT INTO v VALUES (5, 'a') RETURNING *;
INSERT INTO v DEFAULT VALUES;
ALTER VIEW v ALTER COLUMN b SET DEFAULT 'by the view';
INSERT INTO v (a) VALUES (7) RETURNING *;
ALTER TRIGGER one ON v RENAME TO uno;
ALTER TRIGGER one ON v RENAME TO due;
INSERT INTO v VALUES (8) RETURNING a;
ALTER VIEW v RENAME TO w;
INSERT INTO w VALUES (9, 'renamed') RETURNING *;
CREATE SCHEMA s;
ALTER VIEW w SET SCHEMA s;
UPDATE s.w SET b = 'moved' RETURNING *;
ALTER VIEW s.w SET SCHEMA public;
CREATE OR REPLACE FUNCTION step() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.b = 'replaced';
    RETURN NEW;
END $$;
INSERT INTO w VALUES (1) RETURNING *;
CREATE OR REPLACE VIEW w AS SELECT 1 AS a, 'x'::text AS b, true AS c;
INSERT INTO w VALUES (1, 'b', false) RETURNING *;
SELECT tgname, tgtype, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'w'::regclass;
SELECT trigger_name, event_manipulation, action_timing, action_orientation FROM information_schema.triggers WHERE event_object_table IN ('w', 'book') ORDER BY 1, 2;
SELECT table_name, is_updatable, is_insertable_into, is_trigger_updatable, is_trigger_deletable, is_trigger_insertable_into FROM information_schema.views WHERE table_schema = 'public' ORDER BY 1;
SELECT pg_relation_is_updatable('w', false), pg_relation_is_updatable('w', true), pg_relation_is_updatable('book', true);
DROP FUNCTION step();
DROP FUNCTION step() CASCADE;
INSERT INTO w VALUES (1);
-- one that could be changed without
CREATE TABLE t (id int PRIMARY KEY, n int);
CREATE VIEW tv AS SELECT id, n FROM t;
CREATE FUNCTION doubles() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO t VALUES (NEW.id, NEW.n * 2);
    RETURN NEW;
END $$;
CREATE TRIGGER doubles INSTEAD OF INSERT ON tv FOR EACH ROW EXECUTE FUNCTION doubles();
INSERT INTO tv VALUES (1, 10) RETURNING *;
UPDATE tv SET n = n + 1 RETURNING *;
SELECT * FROM t;
CREATE FUNCTION tells() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE '% % % %', TG_NAME, TG_WHEN, TG_OP, TG_LEVEL;
    RETURN NULL;
END $$;
CREATE TRIGGER before_all BEFORE INSERT OR UPDATE ON tv FOR EACH STATEMENT EXECUTE FUNCTION tells();
CREATE TRIGGER after_all AFTER INSERT OR UPDATE ON tv FOR EACH STATEMENT EXECUTE FUNCTION tells();
INSERT INTO tv VALUES (2, 20), (3, 30);
UPDATE tv SET n = 0;
-- refused
CREATE TRIGGER x BEFORE INSERT ON tv FOR EACH ROW EXECUTE FUNCTION doubles();
CREATE TRIGGER x INSTEAD OF INSERT ON t FOR EACH ROW EXECUTE FUNCTION doubles();
CREATE TRIGGER x INSTEAD OF INSERT ON tv FOR EACH STATEMENT EXECUTE FUNCTION doubles();
CREATE TRIGGER x INSTEAD OF INSERT ON tv FOR EACH ROW WHEN (NEW.n > 1) EXECUTE FUNCTION doubles();
CREATE TRIGGER x INSTEAD OF UPDATE OF n ON tv FOR EACH ROW EXECUTE FUNCTION doubles();
CREATE TRIGGER x INSTEAD OF TRUNCATE ON tv FOR EACH ROW EXECUTE FUNCTION doubles();
CREATE TRIGGER doubles INSTEAD OF INSERT ON tv FOR EACH ROW EXECUTE FUNCTION doubles();
DROP TRIGGER nope ON tv;
DROP TRIGGER IF EXISTS nope ON tv;
DROP VIEW tv;
-- rights
CREATE ROLE view_clerk;
GRANT INSERT, UPDATE ON book TO view_clerk;
SET ROLE view_clerk;
INSERT INTO book (id, name, number) VALUES (50, 'Fay', 'none');
UPDATE book SET number = '1';
UPDATE book SET number = '1' WHERE id = 1;
DELETE FROM book;
RESET ROLE;
