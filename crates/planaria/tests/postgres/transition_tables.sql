-- Transition tables: what they hold, and what can be done with them.
CREATE TABLE t (id int PRIMARY KEY, v int, w text DEFAULT 'w');
CREATE TABLE log (n serial, what text);
CREATE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    RAISE NOTICE '% % %: % rows, sum %', tg_name, tg_op, tg_level, (SELECT count(*) FROM n), (SELECT sum(v) FROM n);
    FOR r IN SELECT * FROM n ORDER BY id LOOP
        RAISE NOTICE '  new %', r;
    END LOOP;
    INSERT INTO log (what) SELECT 'new ' || id || ' ' || coalesce(v::text, '-') FROM n ORDER BY id;
    RETURN NULL;
END $$;
CREATE FUNCTION olds() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    RAISE NOTICE '% % %: % rows', tg_name, tg_op, tg_level, (SELECT count(*) FROM o);
    FOR r IN SELECT * FROM o ORDER BY id LOOP
        RAISE NOTICE '  old %', r;
    END LOOP;
    RETURN NULL;
END $$;
CREATE FUNCTION both_of() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    FOR r IN SELECT o.id, o.v AS was, n.v AS is_now FROM o JOIN n ON o.id = n.id ORDER BY o.id LOOP
        RAISE NOTICE '% %: % was % is %', tg_name, tg_level, r.id, r.was, r.is_now;
    END LOOP;
    IF NOT EXISTS (SELECT 1 FROM n) THEN
        RAISE NOTICE '% %: nothing', tg_name, tg_level;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER i AFTER INSERT ON t REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION news();
CREATE TRIGGER u AFTER UPDATE ON t REFERENCING NEW TABLE n OLD TABLE AS o EXECUTE FUNCTION both_of();
CREATE TRIGGER d AFTER DELETE ON t REFERENCING OLD TABLE AS o FOR EACH STATEMENT EXECUTE FUNCTION olds();
INSERT INTO t VALUES (1, 10);
INSERT INTO t VALUES (2, 20, 'w'), (3, NULL, 'x'), (4, 40, NULL);
INSERT INTO t SELECT i, i * 10 FROM generate_series(5, 8) AS i;
INSERT INTO t SELECT 1, 1 WHERE false;
UPDATE t SET v = v + 1 WHERE id = 1;
UPDATE t SET v = v + 1 WHERE id > 5;
UPDATE t SET v = v + 1 WHERE id > 500;
UPDATE t SET id = id + 100 WHERE id = 8;
DELETE FROM t WHERE id = 108;
DELETE FROM t WHERE id > 6;
DELETE FROM t WHERE id > 600;
SELECT * FROM log ORDER BY n;
-- ON CONFLICT: what was inserted, and what was updated
INSERT INTO t VALUES (1, 100) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (1, 100), (9, 90) ON CONFLICT (id) DO NOTHING;
INSERT INTO t VALUES (1, 100) ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO t VALUES (10, 100) ON CONFLICT (id) DO UPDATE SET v = excluded.v;
INSERT INTO t VALUES (1, 101), (11, 110), (2, 102) ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE t.id <> 2;
-- MERGE
MERGE INTO t USING (VALUES (1, 5), (2, 6), (12, 120), (13, 130)) AS s (id, v) ON t.id = s.id
    WHEN MATCHED AND s.v = 6 THEN DELETE
    WHEN MATCHED THEN UPDATE SET v = s.v
    WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v);
MERGE INTO t USING (SELECT 12 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE;
-- what BEFORE triggers have made of the rows
CREATE FUNCTION doubled() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.v = 13 THEN RETURN NULL; END IF;
    new.v := new.v * 2;
    RETURN new;
END $$;
CREATE TRIGGER b BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION doubled();
INSERT INTO t VALUES (20, 1), (21, 13), (22, 3);
UPDATE t SET v = v + 10 WHERE id >= 20;
UPDATE t SET v = 13 WHERE id >= 20;
DROP TRIGGER b ON t;
-- FOR EACH ROW, WHEN, several triggers
CREATE TRIGGER ir AFTER INSERT ON t REFERENCING NEW TABLE AS n FOR EACH ROW WHEN (new.v > 1) EXECUTE FUNCTION news();
CREATE TRIGGER ur AFTER UPDATE ON t REFERENCING NEW TABLE AS n OLD TABLE AS o FOR EACH ROW EXECUTE FUNCTION both_of();
CREATE TRIGGER dr AFTER DELETE ON t REFERENCING OLD TABLE AS o FOR EACH ROW EXECUTE FUNCTION olds();
INSERT INTO t VALUES (30, 1), (31, 2);
INSERT INTO t VALUES (32, 2);
UPDATE t SET v = v + 1 WHERE id >= 31;
UPDATE t SET v = v + 1 WHERE id = 31;
DELETE FROM t WHERE id >= 31;
DELETE FROM t WHERE id = 30;
DROP TRIGGER ir ON t;
DROP TRIGGER ur ON t;
DROP TRIGGER dr ON t;
-- changes in WITH, and through a view
WITH gone AS (DELETE FROM t WHERE id = 22 RETURNING id, v) INSERT INTO t SELECT id + 1000, v FROM gone;
CREATE VIEW tv AS SELECT id AS k, v FROM t WHERE v > 0;
INSERT INTO tv VALUES (50, 1);
UPDATE tv SET v = 7 WHERE k = 50;
DELETE FROM tv WHERE k = 50;
-- in procedures, and undone with their rows
CREATE PROCEDURE p(a int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..2 LOOP
        INSERT INTO t VALUES (a + i, i), (a + 10 + i, i);
    END LOOP;
    BEGIN
        UPDATE t SET v = v + 1 WHERE id > a;
        RAISE EXCEPTION 'no';
    EXCEPTION WHEN raise_exception THEN
        DELETE FROM t WHERE id > a;
    END;
END $$;
CALL p(2000);
-- names
CREATE TABLE n (id int, v int);
INSERT INTO n VALUES (77, 77), (78, 78);
INSERT INTO t VALUES (60, 6);
CREATE OR REPLACE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE c int; a int[]; s text;
BEGIN
    WITH n AS (SELECT 1 AS id UNION ALL SELECT 2) SELECT count(*) INTO c FROM n;
    RAISE NOTICE 'WITH: %', c;
    SELECT count(*) INTO c FROM public.n;
    RAISE NOTICE 'public: %', c;
    SELECT array_agg(x.id ORDER BY x.id DESC) INTO a FROM n AS x;
    RAISE NOTICE 'alias: %', a;
    SELECT string_agg(n.id || '/' || y.id, ' ' ORDER BY n.id, y.id) INTO s FROM n LEFT JOIN n AS y ON y.id = n.id + 1;
    RAISE NOTICE 'with itself: %', s;
    SELECT count(*) INTO c FROM t WHERE id IN (SELECT id FROM n);
    RAISE NOTICE 'in: %', c;
    SELECT count(*) INTO c FROM (SELECT v FROM n GROUP BY v HAVING count(*) > 1) AS q;
    RAISE NOTICE 'groups: %', c;
    PERFORM 1 FROM n WHERE v = 1;
    RAISE NOTICE 'found: %', found;
    WITH put AS (INSERT INTO log (what) SELECT w FROM n WHERE v = 1 RETURNING what) INSERT INTO log (what) SELECT 'put ' || n.id FROM put JOIN n ON n.w = put.what;
    SELECT count(*) INTO c FROM log WHERE what LIKE 'put%';
    RAISE NOTICE 'put: %', c;
    UPDATE t SET w = 'seen ' || n.v FROM n WHERE n.id = t.id;
    DELETE FROM log USING n WHERE what = n.w;
    GET DIAGNOSTICS c = ROW_COUNT;
    RAISE NOTICE 'gone: %', c;
    RETURN NULL;
END $$;
INSERT INTO t VALUES (61, 1, 'a'), (62, 1, 'b'), (63, 2, 'c');
SELECT * FROM t WHERE id BETWEEN 61 AND 63 ORDER BY id;
CREATE OR REPLACE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO n VALUES (1); RETURN NULL; END $$;
INSERT INTO t VALUES (64, 1);
CREATE OR REPLACE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE n SET v = 1; RETURN NULL; END $$;
INSERT INTO t VALUES (64, 1);
CREATE OR REPLACE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM n; RETURN NULL; END $$;
INSERT INTO t VALUES (64, 1);
CREATE OR REPLACE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN MERGE INTO n USING t ON n.id = t.id WHEN MATCHED THEN DELETE; RETURN NULL; END $$;
INSERT INTO t VALUES (64, 1);
CREATE OR REPLACE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nope FROM n; RETURN NULL; END $$;
INSERT INTO t VALUES (64, 1);
CREATE OR REPLACE FUNCTION news() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM o; RETURN NULL; END $$;
INSERT INTO t VALUES (64, 1);
-- columns of all kinds
CREATE TABLE kinds (a bool, b smallint, c bigint, d numeric(6, 2), e real, f float8, g varchar(5), h char(4), i bytea, j date, k timestamp(3), l timestamptz,
    m interval, o uuid, p jsonb, q int[], r text[], s time, t int GENERATED ALWAYS AS (b + 1) STORED);
CREATE FUNCTION show_kinds() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    FOR r IN SELECT * FROM "New rows" LOOP
        RAISE NOTICE '%', r;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER k AFTER INSERT ON kinds REFERENCING NEW TABLE AS "New rows" EXECUTE FUNCTION show_kinds();
INSERT INTO kinds VALUES (true, 1, 2, 3.456, 4.5, 5.5, 'six', 'se', '\x08', '2026-01-02', '2026-01-02 03:04:05.678912', '2026-01-02 03:04:05+00', '1 day 2 hours',
    '00000000-0000-0000-0000-000000000001', '{"a": [1]}', '{1,2,NULL}', '{a,"b c"}', '01:02:03');
INSERT INTO kinds (a, q) SELECT i = 1, array[i, 7] FROM generate_series(1, 2) AS i;
-- keys
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, p int REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE, v int);
CREATE TABLE other (id int PRIMARY KEY, p int REFERENCES parent ON DELETE SET NULL ON UPDATE CASCADE, v int);
CREATE TRIGGER d AFTER DELETE ON child REFERENCING OLD TABLE AS o EXECUTE FUNCTION olds();
CREATE TRIGGER u AFTER UPDATE ON child REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION both_of();
CREATE FUNCTION parents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE '% %: %', tg_name, tg_table_name, (SELECT string_agg(o.id || ' ' || coalesce(o.p::text, '-') || '>' || coalesce(n.p::text, '-'), ', ' ORDER BY n.id) FROM n JOIN o USING (id));
    RETURN NULL;
END $$;
CREATE TRIGGER u AFTER UPDATE ON other REFERENCING OLD TABLE AS o NEW TABLE AS n EXECUTE FUNCTION parents();
CREATE TRIGGER p AFTER DELETE ON parent REFERENCING OLD TABLE AS o EXECUTE FUNCTION olds();
INSERT INTO parent VALUES (1), (2), (3);
INSERT INTO child VALUES (11, 1, 1), (12, 1, 1), (21, 2, 2), (31, 3, 3);
INSERT INTO other VALUES (11, 1, 1), (12, 1, 1), (21, 2, 2), (31, 3, 3);
UPDATE parent SET id = 10 WHERE id = 1;
DELETE FROM parent WHERE id = 10;
DELETE FROM parent;
-- a table that refers to itself
CREATE TABLE tree (id int PRIMARY KEY, up int REFERENCES tree ON DELETE CASCADE);
INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, 1), (5, NULL);
CREATE TRIGGER d AFTER DELETE ON tree REFERENCING OLD TABLE AS o EXECUTE FUNCTION olds();
DELETE FROM tree WHERE id = 1;
-- triggers that change the table themselves
CREATE TABLE deep (id int PRIMARY KEY, level int);
CREATE FUNCTION deeper() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'rows: %', (SELECT string_agg(id || ':' || level, ' ' ORDER BY id) FROM n);
    INSERT INTO deep SELECT id + 10, level + 1 FROM n WHERE level < 3;
    RETURN NULL;
END $$;
CREATE TRIGGER d AFTER INSERT ON deep REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION deeper();
INSERT INTO deep VALUES (1, 1);
SELECT * FROM deep ORDER BY id;
-- catalogs
SELECT pg_get_triggerdef(oid), tgoldtable, tgnewtable FROM pg_trigger WHERE tgrelid = 't'::regclass ORDER BY tgname;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'kinds'::regclass;
SELECT trigger_name, action_orientation, action_reference_old_table, action_reference_new_table FROM information_schema.triggers WHERE event_object_table = 't' ORDER BY 1;
-- what is refused
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE VIEW v AS SELECT * FROM t;
CREATE TRIGGER x AFTER INSERT ON t REFERENCING NEW ROW AS n FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER x INSTEAD OF INSERT ON v REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER INSERT ON v REFERENCING NEW TABLE AS n EXECUTE FUNCTION f();
CREATE TRIGGER x BEFORE INSERT ON t REFERENCING NEW TABLE AS n EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER TRUNCATE ON t REFERENCING OLD TABLE AS n EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER INSERT OR UPDATE ON t REFERENCING NEW TABLE AS n EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER UPDATE OF v ON t REFERENCING NEW TABLE AS n EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER DELETE ON t REFERENCING NEW TABLE AS n EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER INSERT ON t REFERENCING OLD TABLE AS n EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER INSERT ON t REFERENCING NEW TABLE AS n NEW TABLE AS m EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER UPDATE ON t REFERENCING OLD TABLE AS n OLD TABLE AS m EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER UPDATE ON t REFERENCING OLD TABLE AS n NEW TABLE AS n EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER INSERT ON t REFERENCING NEW TABLE AS n FOR EACH ROW WHEN (new.nope > 1) EXECUTE FUNCTION f();
CREATE TRIGGER x AFTER INSERT ON t REFERENCING NEW AS n EXECUTE FUNCTION f();
CREATE CONSTRAINT TRIGGER x AFTER INSERT ON t REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION f();
