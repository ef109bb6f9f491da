-- MERGE: which action a row takes, errors, constraints, triggers, PL/pgSQL.
CREATE TABLE target (tid int PRIMARY KEY, balance int NOT NULL DEFAULT 7, note text);
CREATE TABLE source (sid int, delta int, label text);
INSERT INTO target VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, NULL);
INSERT INTO source VALUES (2, 5, 'two'), (3, 20, 'three'), (4, 40, 'four'), (NULL, 1, 'none');
-- every action
MERGE INTO target t USING source AS s ON t.tid = s.sid
WHEN MATCHED AND t.balance > s.delta + 12 THEN UPDATE SET balance = t.balance - s.delta, note = s.label || coalesce(t.note, '-')
WHEN MATCHED THEN DELETE
WHEN NOT MATCHED AND s.sid IS NULL THEN DO NOTHING
WHEN NOT MATCHED THEN INSERT (tid, balance, note) VALUES (s.sid, s.delta, s.label);
SELECT * FROM target ORDER BY tid;
MERGE INTO target t USING source AS s ON t.tid = s.sid
WHEN MATCHED THEN DO NOTHING
WHEN NOT MATCHED AND s.sid IS NOT NULL THEN INSERT VALUES (s.sid, DEFAULT);
SELECT * FROM target ORDER BY tid;
-- the first that applies, NULL does not
MERGE INTO target USING (VALUES (1, NULL), (2, true), (4, false)) AS v(id, yes) ON tid = id
WHEN MATCHED AND yes THEN UPDATE SET note = 'yes'
WHEN MATCHED AND NOT yes THEN UPDATE SET note = 'no'
WHEN MATCHED AND yes IS NULL THEN UPDATE SET note = 'null', balance = DEFAULT;
SELECT * FROM target ORDER BY tid;
-- one source row
MERGE INTO target AS t USING (SELECT 9 AS id, 90 AS n) s ON t.tid = s.id WHEN MATCHED THEN UPDATE SET balance = balance + n WHEN NOT MATCHED THEN INSERT (balance, tid) VALUES (n, id);
MERGE INTO target AS t USING (SELECT 9 AS id, 90 AS n) s ON t.tid = s.id WHEN MATCHED THEN UPDATE SET balance = balance + n WHEN NOT MATCHED THEN INSERT (balance, tid) VALUES (n, id);
MERGE INTO target AS t USING (SELECT 9 AS id, 90 AS n WHERE false) s ON t.tid = s.id WHEN MATCHED THEN UPDATE SET balance = 0 WHEN NOT MATCHED THEN INSERT DEFAULT VALUES;
MERGE INTO target AS t USING (SELECT 5 AS id) s ON false WHEN NOT MATCHED THEN INSERT (tid) VALUES (s.id);
MERGE INTO target AS t USING (SELECT 5 AS id) s ON true WHEN MATCHED AND t.tid = s.id THEN DELETE WHEN NOT MATCHED THEN INSERT (tid) VALUES (s.id);
SELECT * FROM target ORDER BY tid;
-- a row twice
MERGE INTO target t USING (VALUES (1, 5), (1, 6)) AS v(id, n) ON t.tid = v.id WHEN MATCHED THEN UPDATE SET balance = n;
MERGE INTO target t USING (VALUES (1, 5), (1, 6)) AS v(id, n) ON t.tid = v.id WHEN MATCHED THEN DELETE;
MERGE INTO target t USING (VALUES (1, 5), (1, 6)) AS v(id, n) ON t.tid = v.id WHEN MATCHED AND n = 5 THEN UPDATE SET balance = n WHEN MATCHED THEN DO NOTHING;
MERGE INTO target t USING (VALUES (1, 5), (1, 6)) AS v(id, n) ON t.tid = v.id WHEN MATCHED AND n = 5 THEN DELETE WHEN MATCHED AND n = 6 THEN UPDATE SET balance = 1;
MERGE INTO target t USING (VALUES (77, 5), (77, 6)) AS v(id, n) ON t.tid = v.id WHEN NOT MATCHED THEN INSERT VALUES (id, n);
SELECT * FROM target ORDER BY tid;
-- it does not see its own changes
MERGE INTO target t USING (SELECT tid + 1 AS id, balance FROM target) s ON t.tid = s.id
WHEN MATCHED THEN UPDATE SET balance = s.balance
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.balance, 'new');
SELECT * FROM target ORDER BY tid;
MERGE INTO target t USING generate_series(1, 12) AS s(id) ON t.tid = s.id
WHEN MATCHED AND (SELECT max(tid) FROM target) > 10 THEN DELETE
WHEN MATCHED AND id < 4 THEN UPDATE SET balance = (SELECT sum(balance) FROM target), note = (SELECT count(*) FROM target)
WHEN NOT MATCHED THEN INSERT VALUES (id, (SELECT count(*) FROM target));
SELECT * FROM target ORDER BY tid;
-- keys that change places
MERGE INTO target t USING (SELECT 100 AS up) s ON t.tid > 5 WHEN MATCHED THEN UPDATE SET tid = t.tid + up;
MERGE INTO target t USING (VALUES (1), (2), (3)) s(id) ON t.tid = s.id WHEN MATCHED THEN UPDATE SET (balance, note) = (SELECT s.id * 10, 'm' || t.tid);
SELECT * FROM target ORDER BY tid;
-- joins and WITH in the source
WITH twice AS (SELECT sid, delta * 2 AS d FROM source WHERE sid IS NOT NULL)
MERGE INTO target t USING twice JOIN source s USING (sid) ON t.tid = sid
WHEN MATCHED THEN UPDATE SET balance = d + s.delta WHEN NOT MATCHED THEN INSERT VALUES (sid, d, label);
WITH gone AS (DELETE FROM source WHERE sid IS NULL RETURNING *)
MERGE INTO target t USING gone ON t.tid = gone.delta WHEN MATCHED THEN UPDATE SET note = gone.label;
SELECT * FROM target ORDER BY tid;
SELECT * FROM source ORDER BY sid;
-- errors
MERGE INTO nothing USING source ON true WHEN MATCHED THEN DELETE;
MERGE INTO target USING nothing ON true WHEN MATCHED THEN DELETE;
MERGE INTO target USING source ON tid = sid WHEN MATCHED AND sid THEN DELETE;
MERGE INTO target USING source ON tid = sid WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET balance = 1;
MERGE INTO target USING source ON tid = sid WHEN NOT MATCHED THEN DO NOTHING WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND true THEN INSERT DEFAULT VALUES;
MERGE INTO target USING target ON true WHEN MATCHED THEN DELETE;
MERGE INTO target t USING source t ON true WHEN MATCHED THEN DELETE;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN INSERT VALUES (t.tid, 1);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN INSERT VALUES (balance, 1);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED AND balance > 1 THEN DO NOTHING;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN DELETE;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED THEN INSERT VALUES (1);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN INSERT VALUES (1), (2);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN INSERT SELECT 1;
MERGE INTO target t USING source s ON t.tid = s.sid;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED THEN UPDATE SET nope = 1;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED THEN UPDATE SET balance = 1, balance = 2;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN INSERT (tid, tid) VALUES (1, 2);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN INSERT (tid) VALUES (1, 2);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN INSERT (tid, balance) VALUES (1);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED AND count(*) > 1 THEN DELETE;
MERGE INTO target t USING source s ON count(*) > 1 WHEN MATCHED THEN DELETE;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED THEN DELETE RETURNING *;
WITH RECURSIVE r AS (SELECT 1 AS a) MERGE INTO target t USING r ON true WHEN MATCHED THEN DELETE;
WITH m AS (MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED THEN DELETE) SELECT 1;
CREATE VIEW seen AS SELECT * FROM target;
MERGE INTO seen USING source ON tid = sid WHEN MATCHED THEN DELETE;
-- constraints, generated and identity columns
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE strict (id int GENERATED ALWAYS AS IDENTITY, k int PRIMARY KEY, parent int REFERENCES parent, n int NOT NULL CHECK (n < 100), twice int GENERATED ALWAYS AS (n * 2) STORED);
CREATE TABLE child (k int REFERENCES strict ON DELETE CASCADE ON UPDATE CASCADE, c text);
INSERT INTO parent VALUES (1), (2);
MERGE INTO strict USING (VALUES (1, 1, 10), (2, 2, 20), (3, NULL, 30)) v(a, b, c) ON k = a WHEN NOT MATCHED THEN INSERT (k, parent, n) VALUES (a, b, c);
INSERT INTO child VALUES (1, 'one'), (2, 'two'), (3, 'three');
SELECT * FROM strict ORDER BY k;
MERGE INTO strict USING (VALUES (1)) v(a) ON k = a WHEN MATCHED THEN UPDATE SET n = 100;
MERGE INTO strict USING (VALUES (1)) v(a) ON k = a WHEN MATCHED THEN UPDATE SET n = NULL;
MERGE INTO strict USING (VALUES (1)) v(a) ON k = a WHEN MATCHED THEN UPDATE SET parent = 9;
MERGE INTO strict USING (VALUES (1)) v(a) ON k = a WHEN MATCHED THEN UPDATE SET twice = 9;
MERGE INTO strict USING (VALUES (1)) v(a) ON k = a WHEN MATCHED THEN UPDATE SET id = 9;
MERGE INTO strict USING (VALUES (9)) v(a) ON k = a WHEN NOT MATCHED THEN INSERT (id, k, n) VALUES (50, a, 1);
MERGE INTO strict USING (VALUES (9)) v(a) ON k = a WHEN NOT MATCHED THEN INSERT (k, n) VALUES (a, 500);
MERGE INTO strict USING (VALUES (9)) v(a) ON k = a WHEN NOT MATCHED THEN INSERT (k, parent, n) VALUES (a, 5, 5);
MERGE INTO strict USING (VALUES (9)) v(a) ON k = a WHEN NOT MATCHED THEN INSERT (k) VALUES (a);
MERGE INTO strict USING (VALUES (9)) v(a) ON k = a WHEN NOT MATCHED THEN INSERT (id, k, n) OVERRIDING SYSTEM VALUE VALUES (50, a, 1);
MERGE INTO strict USING (VALUES (8)) v(a) ON k = a WHEN NOT MATCHED THEN INSERT (id, k, n) OVERRIDING USER VALUE VALUES (50, a, 1);
MERGE INTO strict USING (VALUES (1, 11), (2, 22), (3, 33)) v(a, b) ON k = a WHEN MATCHED AND a = 2 THEN DELETE WHEN MATCHED THEN UPDATE SET k = b, n = n + 1;
SELECT id > 0, k, parent, n, twice FROM strict ORDER BY k;
SELECT * FROM child ORDER BY k;
-- a table without a key
CREATE TABLE bag (a int, b text);
INSERT INTO bag VALUES (1, 'x'), (1, 'x'), (2, 'y');
MERGE INTO bag USING (VALUES (1, 'z'), (3, 'w')) v(i, t) ON a = i WHEN MATCHED THEN UPDATE SET b = t WHEN NOT MATCHED THEN INSERT VALUES (i, t);
SELECT * FROM bag ORDER BY a, b;
MERGE INTO bag USING (VALUES (1), (1)) v(i) ON a = i WHEN MATCHED THEN DELETE;
-- triggers
CREATE TABLE said (at serial, what text);
CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_LEVEL = 'STATEMENT' THEN
        INSERT INTO said (what) VALUES (TG_WHEN || ' ' || TG_OP || ' STATEMENT');
        RETURN NULL;
    END IF;
    IF TG_OP = 'DELETE' THEN
        INSERT INTO said (what) VALUES (TG_WHEN || ' DELETE ' || OLD.tid);
        RETURN OLD;
    END IF;
    INSERT INTO said (what) VALUES (TG_WHEN || ' ' || TG_OP || ' ' || NEW.tid || ' ' || NEW.balance);
    IF NEW.balance = 13 THEN RETURN NULL; END IF;
    RETURN NEW;
END $$;
DELETE FROM target WHERE tid > 3;
CREATE TRIGGER b_row BEFORE INSERT OR UPDATE OR DELETE ON target FOR EACH ROW EXECUTE FUNCTION say();
CREATE TRIGGER a_row AFTER INSERT OR UPDATE OR DELETE ON target FOR EACH ROW EXECUTE FUNCTION say();
CREATE TRIGGER b_all BEFORE INSERT OR UPDATE OR DELETE ON target FOR EACH STATEMENT EXECUTE FUNCTION say();
CREATE TRIGGER a_all AFTER INSERT OR UPDATE OR DELETE ON target FOR EACH STATEMENT EXECUTE FUNCTION say();
MERGE INTO target t USING (VALUES (1, 1), (2, 2), (3, 13), (4, 4), (5, 13)) v(id, n) ON t.tid = v.id
WHEN MATCHED AND n = 2 THEN DELETE
WHEN MATCHED THEN UPDATE SET balance = n
WHEN NOT MATCHED THEN INSERT (tid, balance) VALUES (id, n);
SELECT what FROM said ORDER BY at;
SELECT * FROM target ORDER BY tid;
DELETE FROM said;
MERGE INTO target t USING (SELECT 1 AS id WHERE false) v ON t.tid = v.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (id);
SELECT what FROM said ORDER BY at;
DELETE FROM said;
MERGE INTO target t USING (SELECT 1 AS id) v ON t.tid = v.id WHEN MATCHED THEN UPDATE SET balance = 55 WHEN NOT MATCHED THEN DO NOTHING;
SELECT what FROM said ORDER BY at;
DROP TRIGGER b_row ON target;
DROP TRIGGER a_row ON target;
DROP TRIGGER b_all ON target;
DROP TRIGGER a_all ON target;
DELETE FROM said;
CREATE TRIGGER of_note BEFORE UPDATE OF note ON target FOR EACH ROW EXECUTE FUNCTION say();
MERGE INTO target t USING (VALUES (1, 3), (4, 4)) v(id, n) ON t.tid = v.id
WHEN MATCHED AND n = 3 THEN UPDATE SET balance = n
WHEN MATCHED THEN UPDATE SET note = 'noted';
SELECT what FROM said ORDER BY at;
SELECT * FROM target ORDER BY tid;
-- functions that look at the table
CREATE FUNCTION total() RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT sum(balance) FROM target $$;
CREATE FUNCTION total_now() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN (SELECT sum(balance) FROM target); END $$;
MERGE INTO target t USING (VALUES (1), (4), (6)) v(id) ON t.tid = v.id WHEN MATCHED THEN UPDATE SET balance = total() WHEN NOT MATCHED THEN INSERT VALUES (id, total());
SELECT tid, balance FROM target ORDER BY tid;
MERGE INTO target t USING (VALUES (1), (4), (6)) v(id) ON t.tid = v.id WHEN MATCHED THEN UPDATE SET balance = total_now() WHEN NOT MATCHED THEN INSERT VALUES (id, total_now());
SELECT tid, balance FROM target ORDER BY tid;
-- rights
CREATE ROLE merger;
GRANT SELECT ON source TO merger;
SET ROLE merger;
MERGE INTO target t USING source s ON true WHEN NOT MATCHED THEN DO NOTHING;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN DO NOTHING;
MERGE INTO target t USING source s ON false WHEN NOT MATCHED THEN INSERT VALUES (sid + 1000);
RESET ROLE;
GRANT INSERT ON target TO merger;
SET ROLE merger;
MERGE INTO target t USING source s ON false WHEN NOT MATCHED THEN INSERT VALUES (sid + 1000);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN NOT MATCHED THEN INSERT VALUES (sid + 1000);
RESET ROLE;
GRANT SELECT ON target TO merger;
SET ROLE merger;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED THEN UPDATE SET balance = 1 WHEN NOT MATCHED THEN INSERT VALUES (sid + 1000);
MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED THEN DELETE;
RESET ROLE;
GRANT UPDATE, DELETE ON target TO merger;
SET ROLE merger;
MERGE INTO target t USING source s ON t.tid = s.sid WHEN MATCHED THEN UPDATE SET balance = 1 WHEN NOT MATCHED THEN INSERT VALUES (sid + 2000);
MERGE INTO target t USING (SELECT 1002 AS sid) s ON t.tid = s.sid WHEN MATCHED THEN DELETE;
RESET ROLE;
SELECT tid, balance FROM target ORDER BY tid;
-- PL/pgSQL
CREATE PROCEDURE put(p_id int, p_n int) LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
    MERGE INTO target t USING (SELECT p_id AS id, p_n AS n) s ON t.tid = s.id
    WHEN MATCHED AND s.n IS NULL THEN DELETE
    WHEN MATCHED THEN UPDATE SET balance = t.balance + s.n
    WHEN NOT MATCHED AND s.n IS NOT NULL THEN INSERT VALUES (s.id, s.n, 'put');
    GET DIAGNOSTICS n = ROW_COUNT;
    RAISE NOTICE 'found %, rows %', FOUND, n;
END $$;
CALL put(1, 5);
CALL put(30, 5);
CALL put(30, NULL);
CALL put(30, NULL);
DO $$
DECLARE n int;
BEGIN
    MERGE INTO target t USING (VALUES (41, 1), (42, 2), (1, 3)) s(id, n) ON t.tid = s.id
    WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (id, s.n);
    GET DIAGNOSTICS n = ROW_COUNT;
    RAISE NOTICE 'found %, rows %', FOUND, n;
    MERGE INTO target t USING (VALUES (41), (41)) s(id) ON t.tid = s.id WHEN MATCHED THEN DELETE;
EXCEPTION WHEN cardinality_violation THEN
    RAISE NOTICE '%', SQLERRM;
END $$;
SELECT tid, balance FROM target ORDER BY tid;
-- SQL functions, prepared statements
CREATE FUNCTION put_sql(int, int) RETURNS void LANGUAGE sql AS $$
    MERGE INTO target t USING (SELECT $1 AS id, $2 AS n) s ON t.tid = s.id WHEN MATCHED THEN UPDATE SET balance = s.n WHEN NOT MATCHED THEN INSERT VALUES (id, s.n) $$;
SELECT put_sql(61, 1), put_sql(4, 2);
PREPARE put_row(int, int) AS MERGE INTO target t USING (SELECT $1 AS id, $2 AS n) s ON t.tid = s.id WHEN MATCHED THEN UPDATE SET balance = s.n WHEN NOT MATCHED THEN INSERT VALUES (id, s.n);
EXECUTE put_row(62, 1);
EXECUTE put_row(61, 7);
SELECT tid, balance FROM target ORDER BY tid;
-- in a block that is rolled back
BEGIN;
MERGE INTO target t USING (VALUES (61)) s(id) ON t.tid = s.id WHEN MATCHED THEN DELETE;
ROLLBACK;
BEGIN READ ONLY;
MERGE INTO target t USING (VALUES (61)) s(id) ON t.tid = s.id WHEN MATCHED THEN DELETE;
ROLLBACK;
SELECT count(*) FROM target WHERE tid = 61;
