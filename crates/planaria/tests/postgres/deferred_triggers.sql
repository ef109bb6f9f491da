-- Constraint triggers that are deferred: when they fire, in which order, with what, and what undoes them.
CREATE TABLE log (n serial, line text);
CREATE TABLE t (id int PRIMARY KEY, a int, b text);
CREATE TABLE u (id serial, t int);
CREATE FUNCTION show() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO log (line) VALUES (format('%s %s %s %s new=%s,%s,%s old=%s,%s,%s args=%s depth=%s rows=%s', tg_name, tg_when, tg_op, tg_level,
        new.id, new.a, new.b, old.id, old.a, old.b, tg_argv[0], pg_trigger_depth(), (SELECT count(*) FROM t)));
    RAISE NOTICE '% % %', tg_name, tg_op, coalesce(new.id, old.id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION show('x');
CREATE CONSTRAINT TRIGGER early AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION show();
CREATE CONSTRAINT TRIGGER once AFTER UPDATE OF a ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.a > old.a) EXECUTE FUNCTION show();
-- Statements outside of blocks.
INSERT INTO t VALUES (1, 10, 'one');
INSERT INTO t VALUES (2, 20, 'two'), (3, 30, NULL) RETURNING id, a;
UPDATE t SET a = a + 1 WHERE id = 1;
UPDATE t SET a = a - 1, b = 'less' WHERE id > 1;
INSERT INTO t VALUES (1, 0, 'again') ON CONFLICT (id) DO UPDATE SET a = t.a + 1, b = excluded.b;
DELETE FROM t WHERE id = 3;
SELECT line FROM log ORDER BY n;
DELETE FROM log;
-- Blocks: COMMIT fires, for each change of a row, with the row as it was then.
BEGIN;
INSERT INTO t VALUES (4, 40, 'four');
UPDATE t SET a = 41 WHERE id = 4;
UPDATE t SET a = 5 WHERE id = 4;
DELETE FROM t WHERE id = 4;
SELECT line FROM log ORDER BY n;
COMMIT;
SELECT line FROM log ORDER BY n;
DELETE FROM log;
-- SET CONSTRAINTS.
BEGIN;
SET CONSTRAINTS early DEFERRED;
INSERT INTO t VALUES (5, 50, 'five');
SET CONSTRAINTS late IMMEDIATE;
INSERT INTO t VALUES (6, 60, 'six');
SELECT line FROM log ORDER BY n;
SET CONSTRAINTS ALL IMMEDIATE;
UPDATE t SET a = a + 1 WHERE id >= 5;
SET CONSTRAINTS ALL DEFERRED;
UPDATE t SET b = 'more' WHERE id >= 5;
DELETE FROM log;
COMMIT;
SELECT line FROM log ORDER BY n;
DELETE FROM log;
SET CONSTRAINTS ALL DEFERRED;
BEGIN;
SET CONSTRAINTS nowhere DEFERRED;
ROLLBACK;
CREATE TRIGGER plain AFTER INSERT ON u FOR EACH ROW EXECUTE FUNCTION show();
CREATE CONSTRAINT TRIGGER fixed AFTER DELETE ON u FOR EACH ROW EXECUTE FUNCTION show();
BEGIN;
SET CONSTRAINTS plain DEFERRED;
ROLLBACK;
BEGIN;
SET CONSTRAINTS early, fixed DEFERRED;
ROLLBACK;
BEGIN;
SET CONSTRAINTS t_pkey DEFERRED;
ROLLBACK;
DROP TRIGGER plain ON u;
DROP TRIGGER fixed ON u;
-- Savepoints take events with them, and what SET CONSTRAINTS has said; what was fired since waits again.
BEGIN;
UPDATE t SET a = 100 WHERE id = 1;
SAVEPOINT s;
UPDATE t SET a = 200 WHERE id = 2;
SET CONSTRAINTS late IMMEDIATE;
UPDATE t SET a = 300 WHERE id = 5;
SELECT line FROM log ORDER BY n;
ROLLBACK TO s;
UPDATE t SET a = 400 WHERE id = 5;
SAVEPOINT s2;
UPDATE t SET b = 'kept' WHERE id = 6;
RELEASE s2;
SELECT line FROM log ORDER BY n;
DELETE FROM log;
COMMIT;
SELECT line FROM log ORDER BY n;
DELETE FROM log;
BEGIN;
UPDATE t SET a = 7 WHERE id = 1;
ROLLBACK;
SELECT count(*) FROM log;
-- So do blocks that catch errors.
BEGIN;
DO $$
BEGIN
    UPDATE t SET b = 'before' WHERE id = 1;
    BEGIN
        UPDATE t SET b = 'within' WHERE id = 2;
        RAISE EXCEPTION 'no';
    EXCEPTION WHEN raise_exception THEN
        UPDATE t SET b = 'handled' WHERE id = 5;
    END;
END $$;
DELETE FROM log;
COMMIT;
SELECT line FROM log ORDER BY n;
DELETE FROM log;
DO $$
BEGIN
    BEGIN
        UPDATE t SET b = 'within' WHERE id = 2;
        RAISE EXCEPTION 'no';
    EXCEPTION WHEN raise_exception THEN
        NULL;
    END;
END $$;
SELECT line FROM log ORDER BY n;
-- Events of deferred triggers: what they change is seen, and fires others behind what waits already.
DROP TRIGGER early ON t;
DROP TRIGGER once ON t;
CREATE FUNCTION chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'chain % of %', new.id, new.t;
    IF new.t > 0 THEN
        INSERT INTO u (t) VALUES (new.t - 1);
    END IF;
    UPDATE t SET a = a + 1 WHERE id = new.t;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER chain AFTER INSERT ON u DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION chain();
INSERT INTO u (t) VALUES (2), (1);
BEGIN;
INSERT INTO u (t) VALUES (1);
UPDATE t SET a = 0 WHERE id = 1;
INSERT INTO u (t) VALUES (0);
COMMIT;
SELECT line FROM log ORDER BY n;
DELETE FROM log;
SELECT * FROM u ORDER BY id;
-- Immediate triggers that put rows in fire behind what their statement has put off.
CREATE FUNCTION also() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'also %', new.id;
    INSERT INTO u (t) VALUES (-new.id);
    RETURN NULL;
END $$;
CREATE TRIGGER also AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION also();
INSERT INTO t VALUES (11, 1, 'x'), (12, 2, 'y');
INSERT INTO t VALUES (13, 1, 'z');
DROP TRIGGER also ON t;
DELETE FROM log;
-- Errors at COMMIT roll the transaction back.
CREATE FUNCTION balanced() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT sum(amount) FROM entry WHERE booking = new.booking) <> 0 THEN
        RAISE EXCEPTION 'booking % is not balanced', new.booking USING ERRCODE = 'check_violation', HINT = 'Add the other side.';
    END IF;
    RETURN NULL;
END $$;
CREATE TABLE entry (booking int, account text, amount numeric(10, 2));
CREATE CONSTRAINT TRIGGER balanced AFTER INSERT OR UPDATE ON entry DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION balanced();
BEGIN;
INSERT INTO entry VALUES (1, 'cash', 10);
INSERT INTO entry VALUES (1, 'sales', -10);
COMMIT;
BEGIN;
INSERT INTO entry VALUES (2, 'cash', 10);
INSERT INTO entry VALUES (2, 'sales', -9);
COMMIT;
SELECT * FROM entry ORDER BY 1, 2;
INSERT INTO entry VALUES (3, 'cash', 1);
INSERT INTO entry VALUES (3, 'cash', 1), (3, 'sales', -1);
BEGIN;
INSERT INTO entry VALUES (4, 'cash', 10);
SET CONSTRAINTS balanced IMMEDIATE;
SELECT 1;
COMMIT;
BEGIN;
INSERT INTO entry VALUES (4, 'cash', 10);
SAVEPOINT s;
SET CONSTRAINTS balanced IMMEDIATE;
ROLLBACK TO s;
INSERT INTO entry VALUES (4, 'sales', -10);
COMMIT;
SELECT * FROM entry ORDER BY 1, 2;
CREATE PROCEDURE book(n int, v numeric) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO entry VALUES (n, 'cash', v);
    INSERT INTO entry VALUES (n, 'sales', -round(v));
END $$;
CALL book(5, 5);
CALL book(6, 5.5);
SELECT count(*) FROM entry;
-- What is deferred is not caught where the row is changed.
DO $$
BEGIN
    INSERT INTO entry VALUES (7, 'cash', 1);
EXCEPTION WHEN check_violation THEN
    RAISE NOTICE 'caught';
END $$;
SELECT count(*) FROM entry;
-- Types of columns, columns that are not there any more, computed ones, and what foreign keys do.
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE w (gone int, id int PRIMARY KEY, x bytea, y timestamptz, z interval, m mood, ar text[], j jsonb, r real, f float8, n numeric, u uuid, c char(3), bi bigint, g int GENERATED ALWAYS AS (id * 2) STORED);
ALTER TABLE w DROP COLUMN gone;
CREATE TABLE v (w int REFERENCES w ON DELETE CASCADE ON UPDATE CASCADE, line text);
CREATE FUNCTION whole() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF tg_op = 'INSERT' THEN
        RAISE NOTICE '% % new=%', tg_table_name, tg_op, new;
    ELSIF tg_op = 'DELETE' THEN
        RAISE NOTICE '% % old=%', tg_table_name, tg_op, old;
    ELSE
        RAISE NOTICE '% % old=% new=%', tg_table_name, tg_op, old, new;
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER whole AFTER INSERT OR UPDATE OR DELETE ON w DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION whole();
CREATE CONSTRAINT TRIGGER whole AFTER INSERT OR UPDATE OR DELETE ON v DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION whole();
BEGIN;
INSERT INTO w VALUES (1, '\x0102', '2020-01-02 03:04:05+00', '1 mon 2 days', 'ok', '{a,NULL,"b c"}', '{"k": [1, null]}', 1.5, 0.1, 12345678901234567890.5, '00000000-0000-0000-0000-000000000001', 'ab', 9223372036854775807);
INSERT INTO w (id) VALUES (2);
INSERT INTO v VALUES (1, 'first'), (1, 'second');
COMMIT;
UPDATE w SET id = 3 WHERE id = 1;
BEGIN;
DELETE FROM w;
SELECT count(*) FROM v;
COMMIT;
-- With keys that are deferred: those are looked at, too.
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
CREATE FUNCTION adopt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO parent VALUES (new.p) ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER "Adopt" AFTER INSERT ON child DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION adopt();
INSERT INTO child VALUES (1, 10), (2, 20);
SELECT * FROM parent ORDER BY id;
BEGIN;
INSERT INTO child VALUES (3, 30);
UPDATE child SET p = 31 WHERE id = 3;
COMMIT;
SELECT * FROM child ORDER BY id;
-- What rows wait for cannot be changed.
BEGIN;
INSERT INTO u (t) VALUES (0);
ALTER TABLE u ADD COLUMN more int;
ROLLBACK;
BEGIN;
INSERT INTO u (t) VALUES (0);
DROP TABLE u;
ROLLBACK;
BEGIN;
INSERT INTO u (t) VALUES (0);
TRUNCATE u;
ROLLBACK;
BEGIN;
INSERT INTO u (t) VALUES (0);
DROP TRIGGER chain ON u;
ROLLBACK;
BEGIN;
INSERT INTO u (t) VALUES (0);
ALTER TABLE u ALTER COLUMN t TYPE bigint;
ROLLBACK;
BEGIN;
INSERT INTO u (t) VALUES (0);
CREATE INDEX ON u (t);
ROLLBACK;
-- Names can be, and a trigger that is gone does not fire.
BEGIN;
INSERT INTO u (t) VALUES (-5);
ALTER TABLE u RENAME TO u2;
ALTER TABLE u2 RENAME COLUMN t TO tt;
ALTER TRIGGER chain ON u2 RENAME TO chained;
ALTER TRIGGER chained ON u2 RENAME TO chain;
ALTER TABLE u2 RENAME COLUMN tt TO t;
ALTER TABLE u2 RENAME TO u;
COMMIT;
BEGIN;
INSERT INTO u (t) VALUES (-6);
DROP TRIGGER chain ON u;
CREATE CONSTRAINT TRIGGER chain AFTER INSERT ON u DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION chain();
INSERT INTO u (t) VALUES (-7);
COMMIT;
BEGIN;
CREATE TABLE fresh (id int PRIMARY KEY, a int, b text);
CREATE CONSTRAINT TRIGGER f AFTER INSERT ON fresh DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION show('fresh');
INSERT INTO fresh VALUES (1, 1, 'x');
SAVEPOINT s;
INSERT INTO fresh VALUES (2, 2, 'y');
ROLLBACK TO s;
INSERT INTO u (t) VALUES (-1);
CREATE OR REPLACE FUNCTION chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'new chain % of %', new.id, new.t;
    RETURN NULL;
END $$;
CREATE TABLE other (id int);
COMMIT;
SELECT line FROM log ORDER BY n;
-- Statements with several parts.
WITH a AS (INSERT INTO u (t) VALUES (1) RETURNING id), b AS (INSERT INTO fresh VALUES (5, 5, 'five') RETURNING id) SELECT count(*) FROM a, b;
-- How it is shown.
SELECT tgname, tgdeferrable, tginitdeferred, tgtype, tgconstraint <> 0, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname, tgrelid::regclass::text;
SELECT conname, contype, condeferrable, condeferred, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 't' ORDER BY conname, conrelid::regclass::text;
SELECT trigger_name, event_manipulation, action_timing, action_orientation, action_condition FROM information_schema.triggers WHERE event_object_table = 't' ORDER BY 1, 2;
SELECT constraint_name, table_name, constraint_type, is_deferrable, initially_deferred FROM information_schema.table_constraints WHERE table_name IN ('t', 'child') AND constraint_name NOT LIKE '%not_null' ORDER BY 1;
-- What cannot be.
CREATE CONSTRAINT TRIGGER x AFTER INSERT ON t INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION show();
CREATE CONSTRAINT TRIGGER y AFTER INSERT ON t NOT DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION show();
CREATE TRIGGER z AFTER INSERT ON t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION show();
