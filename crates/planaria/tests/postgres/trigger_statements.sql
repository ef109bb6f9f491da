-- Statement triggers, TRUNCATE, referential actions, definitions.
CREATE TABLE parent (id int PRIMARY KEY, v int);
CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, q int REFERENCES parent ON DELETE SET NULL);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE '% % % % on %: % parents, % children', tg_name, tg_when, tg_op, tg_level, tg_table_name,
        (SELECT count(*) FROM parent), (SELECT count(*) FROM child);
    IF tg_level = 'STATEMENT' THEN RETURN NULL; END IF;
    IF tg_op = 'DELETE' THEN RETURN old; END IF;
    RETURN new;
END $$;
CREATE TRIGGER sb BEFORE INSERT OR UPDATE OR DELETE ON parent FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER sa AFTER INSERT OR UPDATE OR DELETE ON parent EXECUTE FUNCTION tell();
CREATE TRIGGER rb BEFORE INSERT OR UPDATE OR DELETE ON parent FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER ra AFTER INSERT OR UPDATE OR DELETE ON parent FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO parent VALUES (1, 1);
INSERT INTO parent VALUES (2, 2), (3, 3);
INSERT INTO parent SELECT 1, 1 WHERE false;
UPDATE parent SET v = v + 1;
UPDATE parent SET v = v + 1 WHERE false;
DELETE FROM parent WHERE id = 3;
DELETE FROM parent WHERE id = 4;
INSERT INTO parent VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO parent VALUES (1, 5) ON CONFLICT DO NOTHING;
-- Which fire is known of the statement.
CREATE TRIGGER sv AFTER UPDATE OF v ON parent FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER si BEFORE UPDATE OF id ON parent FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER sw BEFORE UPDATE ON parent FOR EACH STATEMENT WHEN (1 = 2) EXECUTE FUNCTION tell();
UPDATE parent SET v = 1 WHERE id = 2;
DROP TRIGGER sv ON parent;
DROP TRIGGER si ON parent;
DROP TRIGGER sw ON parent;
DROP TRIGGER sb ON parent;
DROP TRIGGER sa ON parent;
DROP TRIGGER rb ON parent;
-- Keys change rows of the child: its triggers fire.
CREATE TRIGGER csb BEFORE INSERT OR UPDATE OR DELETE ON child FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER csa AFTER INSERT OR UPDATE OR DELETE ON child EXECUTE FUNCTION tell();
CREATE TRIGGER crb BEFORE INSERT OR UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER cra AFTER INSERT OR UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO child VALUES (10, 1, 2), (11, 1, NULL), (12, 2, 2);
UPDATE parent SET id = 5 WHERE id = 1;
DELETE FROM parent WHERE id = 2;
DELETE FROM parent WHERE id = 2;
DELETE FROM parent;
SELECT * FROM child ORDER BY id;
-- A trigger that keeps a child has its way.
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
DROP TRIGGER csb ON child;
DROP TRIGGER csa ON child;
DROP TRIGGER crb ON child;
DROP TRIGGER cra ON child;
DROP TRIGGER ra ON parent;
INSERT INTO parent VALUES (1, 1);
INSERT INTO child VALUES (1, 1, 1), (2, 1, NULL);
CREATE TRIGGER k BEFORE DELETE ON child FOR EACH ROW WHEN (old.id = 2) EXECUTE FUNCTION keep();
DELETE FROM parent;
SELECT * FROM child ORDER BY id;
-- An error of one undoes all.
CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no % on %', tg_op, tg_table_name; END $$;
CREATE TRIGGER n AFTER DELETE ON child FOR EACH STATEMENT EXECUTE FUNCTION no();
DELETE FROM child;
SELECT count(*) FROM child;
DROP TRIGGER n ON child;
DELETE FROM child;
DROP TRIGGER k ON child;
DELETE FROM child;
-- One that skips rows.
CREATE TABLE c (id int PRIMARY KEY, t text, changed int DEFAULT 0);
CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.t = 'skip' THEN RETURN NULL; END IF;
    new.changed := new.changed + 1;
    RETURN new;
END $$;
CREATE TRIGGER m BEFORE INSERT OR UPDATE ON c FOR EACH ROW EXECUTE FUNCTION mark();
CREATE TRIGGER s1 BEFORE INSERT ON c FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER s2 AFTER INSERT ON c FOR EACH STATEMENT EXECUTE FUNCTION tell();
CREATE TRIGGER r2 AFTER INSERT ON c FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO c (id, t) VALUES (1, 'one'), (2, 'skip'), (3, 'three');
SELECT * FROM c ORDER BY id;
-- TRUNCATE
CREATE FUNCTION count_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
    EXECUTE format('SELECT count(*) FROM %I', tg_table_name) INTO n;
    RAISE NOTICE '% % %: % rows, new is null: %', tg_when, tg_op, tg_table_name, n, new IS NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER t1 BEFORE TRUNCATE ON c FOR EACH STATEMENT EXECUTE FUNCTION count_truncated();
CREATE TRIGGER t2 AFTER TRUNCATE ON c EXECUTE FUNCTION count_truncated();
CREATE TRIGGER t3 BEFORE TRUNCATE ON parent EXECUTE FUNCTION count_truncated();
CREATE TRIGGER t4 AFTER TRUNCATE ON child EXECUTE FUNCTION count_truncated();
TRUNCATE c;
INSERT INTO parent VALUES (1, 1);
TRUNCATE parent, child;
TRUNCATE parent CASCADE;
BEGIN;
INSERT INTO c VALUES (7, 'seven');
TRUNCATE c;
ROLLBACK;
CREATE TRIGGER t5 BEFORE TRUNCATE ON c EXECUTE FUNCTION no();
INSERT INTO c VALUES (8, 'eight');
TRUNCATE c;
SELECT * FROM c;
-- Definitions.
SELECT tgname, tgenabled, tgtype, tgnargs, tgargs, tgattr, tgisinternal, pg_get_triggerdef(oid), pg_get_triggerdef(oid, true)
FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = 'c'::regclass ORDER BY tgname;
CREATE TABLE d (a int, "B c" text, e int);
CREATE TRIGGER "My trigger" AFTER DELETE OR UPDATE OF a, "B c" OR INSERT ON d FOR EACH ROW EXECUTE FUNCTION tell('it''s', E'back\\slash', 3);
CREATE CONSTRAINT TRIGGER co AFTER INSERT ON d DEFERRABLE INITIALLY IMMEDIATE FOR EACH ROW EXECUTE FUNCTION tell();
COMMENT ON TRIGGER co ON d IS 'a constraint';
SELECT tgname, tgtype, tgnargs, tgargs, tgattr, tgdeferrable, tginitdeferred, pg_get_triggerdef(oid), obj_description(oid, 'pg_trigger')
FROM pg_trigger WHERE tgrelid = 'd'::regclass ORDER BY tgname;
SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'd'::regclass;
SELECT trigger_name, event_manipulation, event_object_table, action_order, action_statement, action_orientation, action_timing
FROM information_schema.triggers WHERE event_object_table IN ('c', 'd') ORDER BY 1, 2;
SELECT trigger_name, event_object_column FROM information_schema.triggered_update_columns ORDER BY 1, 2;
SELECT relname, relhastriggers FROM pg_class WHERE relname IN ('c', 'd', 'v') ORDER BY 1;
ALTER TABLE d RENAME TO dd;
ALTER TABLE dd RENAME COLUMN a TO aa;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'My trigger';
ALTER TABLE dd DROP COLUMN aa;
ALTER TABLE dd DROP COLUMN e;
ALTER TABLE dd ALTER COLUMN "B c" TYPE varchar(10);
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'My trigger';
DROP TABLE dd;
SELECT count(*) FROM pg_trigger WHERE tgname = 'My trigger';
