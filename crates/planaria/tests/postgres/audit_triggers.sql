-- with contexts
-- What the audit of triggers and views found: SET CONSTRAINTS within routines, views that are barriers.
CREATE TABLE acc (id int PRIMARY KEY, bal int NOT NULL);
CREATE TABLE jr (id serial PRIMARY KEY, acc int REFERENCES acc DEFERRABLE, d int);
CREATE FUNCTION chk() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    s int;
    b int;
BEGIN
    SELECT coalesce(sum(d), 0) INTO s FROM jr WHERE acc = NEW.acc;
    SELECT bal INTO b FROM acc WHERE id = NEW.acc;
    RAISE NOTICE 'look at %: % %', NEW.id, s, b;
    IF s <> b THEN
        RAISE EXCEPTION 'account % is not balanced', NEW.acc USING ERRCODE = '23514', CONSTRAINT = 'jr_sum';
    END IF;
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER jr_sum AFTER INSERT OR UPDATE ON jr DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION chk();
INSERT INTO acc VALUES (1, 0), (2, 0);
CREATE PROCEDURE post(a int, x int) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO jr (acc, d) VALUES (a, x);
    UPDATE acc SET bal = bal + x WHERE id = a;
    SET CONSTRAINTS jr_sum IMMEDIATE;
    RAISE NOTICE 'balanced';
    INSERT INTO jr (acc, d) VALUES (a, x);
END
$$;
CALL post(1, 5);
SELECT * FROM acc ORDER BY id;
SELECT acc, d FROM jr ORDER BY id;
CREATE FUNCTION caught(a int, x int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    name text;
BEGIN
    INSERT INTO jr (acc, d) VALUES (a, x);
    BEGIN
        SET CONSTRAINTS ALL IMMEDIATE;
    EXCEPTION WHEN check_violation THEN
        GET STACKED DIAGNOSTICS name = CONSTRAINT_NAME;
        RAISE NOTICE 'caught % %', name, SQLERRM;
    END;
    -- It waits again.
    UPDATE acc SET bal = bal + x WHERE id = a;
    SET CONSTRAINTS jr_sum IMMEDIATE;
    SET CONSTRAINTS public.jr_sum DEFERRED;
    INSERT INTO jr (acc, d) VALUES (a, x);
    UPDATE acc SET bal = bal + x WHERE id = a;
    RETURN 'done';
END
$$;
SELECT caught(1, 3);
SELECT * FROM acc ORDER BY id;
BEGIN;
SELECT caught(2, 1);
INSERT INTO jr (acc, d) VALUES (2, 1);
UPDATE acc SET bal = bal + 1 WHERE id = 2;
COMMIT;
SELECT * FROM acc ORDER BY id;
-- What is said in a block lasts to its end, but not beyond what is rolled back.
BEGIN;
SAVEPOINT s;
DO $$ BEGIN SET CONSTRAINTS ALL IMMEDIATE; END $$;
INSERT INTO jr (acc, d) VALUES (2, 1);
ROLLBACK TO s;
INSERT INTO jr (acc, d) VALUES (2, 1);
DO $$ BEGIN SET CONSTRAINTS ALL IMMEDIATE; END $$;
ROLLBACK;
INSERT INTO jr (acc, d) VALUES (2, 0);
-- Foreign keys.
CREATE TABLE kid (id serial, acc int REFERENCES acc DEFERRABLE);
CREATE FUNCTION child_first(a int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    SET CONSTRAINTS kid_acc_fkey DEFERRED;
    INSERT INTO kid (acc) VALUES (a);
    IF a < 100 THEN
        INSERT INTO acc VALUES (a, 0);
    END IF;
END
$$;
SELECT child_first(3);
SELECT child_first(100);
INSERT INTO kid (acc) VALUES (101);
SELECT id FROM acc ORDER BY id;
-- Keys that change places.
CREATE TABLE place (name text PRIMARY KEY, pos int, CONSTRAINT pos_key UNIQUE (pos) DEFERRABLE);
INSERT INTO place VALUES ('a', 1), ('b', 2), ('c', 3);
CREATE PROCEDURE swap(x text, y text) LANGUAGE plpgsql AS $$
DECLARE
    px int := (SELECT pos FROM place WHERE name = x);
    py int := (SELECT pos FROM place WHERE name = y);
BEGIN
    EXECUTE 'SET CONSTRAINTS pos_key DEFERRED';
    UPDATE place SET pos = py WHERE name = x;
    UPDATE place SET pos = px WHERE name = y;
    COMMIT;
    UPDATE place SET pos = py WHERE name = y;
END
$$;
CALL swap('a', 'c');
SELECT * FROM place ORDER BY name;
DO $$ BEGIN SET CONSTRAINTS nothing DEFERRED; END $$;
DO $$ BEGIN SET CONSTRAINTS acc_pkey DEFERRED; END $$;
-- Views that are barriers.
CREATE FUNCTION tells(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE 'told %', $1; RETURN true; END $$;
CREATE TABLE secret (id int PRIMARY KEY, owner text, what text);
INSERT INTO secret VALUES (1, 'me', 'mine'), (2, 'you', 'yours'), (3, 'me', 'mine too');
CREATE VIEW mine WITH (security_barrier) AS SELECT id, what FROM secret WHERE owner = 'me';
SELECT * FROM mine WHERE tells(what) ORDER BY id;
UPDATE mine SET what = what || '!' WHERE tells(what) AND id = 3;
DELETE FROM mine WHERE tells(what) AND id = 2;
SELECT * FROM secret ORDER BY id;
SELECT reloptions FROM pg_class WHERE relname = 'mine';
ALTER VIEW mine RESET (security_barrier);
SELECT reloptions FROM pg_class WHERE relname = 'mine';
CREATE OR REPLACE VIEW mine WITH (security_invoker, security_barrier = true) AS SELECT id, what FROM secret WHERE owner = 'me';
SELECT reloptions FROM pg_class WHERE relname = 'mine';
CREATE VIEW wrong WITH (security_barrier = maybe) AS SELECT 1;
CREATE VIEW wrong WITH (security_barrier, security_barrier) AS SELECT 1;
