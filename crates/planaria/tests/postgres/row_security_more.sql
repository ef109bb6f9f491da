-- Row-level security: plans, rows that must not be told, what stands around.
CREATE ROLE rls_u;
CREATE ROLE rls_v;
CREATE ROLE rls_w NOINHERIT;
CREATE ROLE rls_group;
GRANT rls_group TO rls_v, rls_w;
CREATE TABLE a (id int PRIMARY KEY, k int, who text, secret int);
CREATE INDEX a_k ON a (k);
CREATE INDEX a_who ON a (who, id);
CREATE TABLE b (id int PRIMARY KEY, a int, n int);
INSERT INTO a SELECT i, i % 5, CASE WHEN i % 2 = 0 THEN 'rls_u' ELSE 'rls_v' END, i % 3 FROM generate_series(1, 20) i;
INSERT INTO b SELECT i, i, i * 10 FROM generate_series(1, 20) i;
GRANT ALL ON a, b TO rls_u, rls_v, rls_w, rls_group;
ALTER TABLE a ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON a USING (who = current_user);
CREATE FUNCTION tell(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    IF i % 2 = 1 THEN RAISE EXCEPTION 'told %', i; END IF;
    RETURN i;
END $$;
CREATE FUNCTION stable_tell(i int) RETURNS int LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF i % 2 = 1 THEN RAISE EXCEPTION 'told %', i; END IF;
    RETURN i;
END $$;
SET ROLE rls_u;
SELECT count(*) FROM a WHERE tell(id) > 0;
SELECT count(*) FROM a WHERE stable_tell(id) > 0;
SELECT count(*) FROM a WHERE k = 1 AND tell(id) > 0;
SELECT count(*) FROM a WHERE id BETWEEN 3 AND 7 AND 1 / (id - 5) <> 9;
SELECT count(*) FROM a WHERE id = 5 AND tell(id) > 0;
SELECT count(*) FROM a WHERE id IN (1, 2, 3) AND tell(id) > 0;
SELECT b.id FROM b JOIN a ON a.id = b.a AND tell(a.id) > 0 WHERE b.id < 5 ORDER BY 1;
SELECT b.id, a.id FROM b LEFT JOIN a ON a.id = b.a AND tell(a.id) > 0 WHERE b.id < 5 ORDER BY 1;
SELECT b.id, a.id FROM b LEFT JOIN a ON a.k = b.a AND tell(a.id) > 0 WHERE b.id < 3 ORDER BY 1, 2;
SELECT b.id, a.id FROM b LEFT JOIN a ON a.k + 0 = b.a + 0 AND stable_tell(a.id) > 0 WHERE b.id < 3 ORDER BY 1, 2;
SELECT a.id, b.id FROM a RIGHT JOIN b ON a.id = b.id WHERE b.id < 4 ORDER BY 2;
SELECT a.id, x.i FROM a FULL JOIN (VALUES (1), (2)) x (i) ON a.id = x.i WHERE a.id IS NULL OR a.id < 5 ORDER BY 1, 2;
SELECT count(*) FROM a x JOIN a y ON x.k = y.k;
SELECT max(id), min(id), count(*), sum(id) FROM a;
SELECT id FROM a ORDER BY id LIMIT 2;
SELECT id FROM a ORDER BY id DESC LIMIT 2;
SELECT who, count(*) FROM a GROUP BY who;
SELECT EXISTS (SELECT 1 FROM a WHERE who = 'rls_v'), (SELECT count(*) FROM a WHERE a.id > b.id) FROM b WHERE id = 10;
SELECT id FROM b WHERE id IN (SELECT id FROM a) AND id < 6 ORDER BY id;
SELECT id FROM b WHERE id NOT IN (SELECT id FROM a) AND id < 6 ORDER BY id;
SELECT id FROM a UNION ALL SELECT id FROM a EXCEPT SELECT 2 ORDER BY 1 LIMIT 3;
SELECT b.id, l.id FROM b, LATERAL (SELECT id FROM a WHERE a.id <= b.id ORDER BY id DESC LIMIT 1) l WHERE b.id < 5 ORDER BY 1;
WITH RECURSIVE r (id) AS (SELECT min(id) FROM a UNION ALL SELECT a.id FROM r JOIN a ON a.id = r.id + 2) SELECT count(*) FROM r;
SELECT id, row_number() OVER (ORDER BY id) FROM a ORDER BY id LIMIT 2;
SELECT count(*) FROM a TABLESAMPLE BERNOULLI (100) WHERE tell(id) > 0;
SELECT id FROM a WHERE id < 5 AND tell(id) > 0 ORDER BY id FOR UPDATE;
TABLE a ORDER BY id LIMIT 1;
-- Changes.
UPDATE a SET secret = 7 WHERE tell(id) < 5 RETURNING id;
UPDATE a SET secret = b.n FROM b WHERE b.a = a.id AND b.id < 4 RETURNING a.id, secret;
DELETE FROM a USING b WHERE b.id = a.id AND tell(a.id) = 20 RETURNING a.id;
UPDATE a SET id = id + 100 WHERE id = 18 RETURNING id;
UPDATE a SET (who, k) = (SELECT 'rls_v', 1) WHERE id = 16;
WITH gone AS (DELETE FROM a WHERE id > 100 RETURNING id) SELECT * FROM gone;
INSERT INTO a VALUES (1, 1, 'rls_u') ON CONFLICT DO NOTHING;
INSERT INTO a VALUES (2, 1, 'rls_u') ON CONFLICT (id) DO UPDATE SET k = 9 WHERE a.k = 2 RETURNING k;
INSERT INTO a VALUES (1, 1, 'rls_u') ON CONFLICT (id) DO UPDATE SET k = 9 WHERE a.k = 2 RETURNING k;
INSERT INTO a VALUES (30, 1, 'rls_u'), (31, 1, 'rls_v');
INSERT INTO a SELECT 40 + id, k, who FROM a WHERE id < 5 ORDER BY id RETURNING id;
MERGE INTO a USING b ON a.id = b.a AND b.id < 5 WHEN MATCHED THEN UPDATE SET secret = b.n WHEN NOT MATCHED AND b.id < 3 THEN INSERT VALUES (b.id + 60, 0, 'rls_u');
SELECT id, secret FROM a WHERE id < 5 OR id > 60 ORDER BY id;
-- A role that does not inherit is no member, as far as policies go.
RESET ROLE;
CREATE POLICY of_group ON a FOR SELECT TO rls_group USING (k = 0);
SET ROLE rls_v;
SELECT count(*) FROM a WHERE who = 'rls_u';
SET ROLE rls_w;
SELECT count(*) FROM a;
SET ROLE rls_group;
SELECT count(*) FROM a;
-- Several restrictive policies, each by its name; no permissive one, no rows.
RESET ROLE;
CREATE TABLE r (id int, x int);
ALTER TABLE r ENABLE ROW LEVEL SECURITY;
GRANT ALL ON r TO rls_u;
CREATE POLICY z ON r AS RESTRICTIVE USING (x < 10);
CREATE POLICY b ON r AS RESTRICTIVE FOR INSERT WITH CHECK (x > 0);
SET ROLE rls_u;
INSERT INTO r VALUES (1, 5);
RESET ROLE;
CREATE POLICY any_row ON r USING (id > 0) WITH CHECK (id > 1);
SET ROLE rls_u;
INSERT INTO r VALUES (1, 5);
INSERT INTO r VALUES (2, 15);
INSERT INTO r VALUES (2, -5);
INSERT INTO r VALUES (2, 5), (3, NULL);
INSERT INTO r VALUES (2, 5), (3, 6);
UPDATE r SET id = 1;
UPDATE r SET x = 10;
UPDATE r SET x = x + 1;
SELECT * FROM r ORDER BY id;
-- Triggers see the row first; generated columns are computed.
RESET ROLE;
CREATE TABLE g (id int PRIMARY KEY, x int, twice int GENERATED ALWAYS AS (x * 2) STORED, by text);
GRANT ALL ON g TO rls_u;
CREATE FUNCTION sign() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.by := current_user; RETURN NEW; END $$;
CREATE TRIGGER sign BEFORE INSERT OR UPDATE ON g FOR EACH ROW EXECUTE FUNCTION sign();
ALTER TABLE g ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON g USING (by = current_user AND twice < 10);
INSERT INTO g VALUES (1, 1);
SET ROLE rls_u;
INSERT INTO g VALUES (2, 2, DEFAULT, 'nobody') RETURNING *;
INSERT INTO g VALUES (3, 5);
UPDATE g SET x = 5;
UPDATE g SET x = 4 RETURNING id, twice;
SELECT id FROM g;
-- CREATE TABLE AS, materialized views and cursors have the rows of who makes them.
RESET ROLE;
GRANT CREATE ON SCHEMA public TO rls_u;
SET ROLE rls_u;
CREATE TABLE copied AS SELECT id FROM a;
SELECT count(*) = (SELECT count(*) FROM a) FROM copied;
CREATE MATERIALIZED VIEW kept AS SELECT id FROM a;
RESET ROLE;
SELECT count(*) FROM kept;
REFRESH MATERIALIZED VIEW kept;
SELECT count(*) FROM kept;
SET ROLE rls_u;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM a ORDER BY id;
FETCH 2 FROM c;
COMMIT;
-- PL/pgSQL: cursors, EXECUTE, loops.
CREATE FUNCTION sums() RETURNS text LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT id FROM a ORDER BY id; i int; n int := 0; m int; t int := 0;
BEGIN
    OPEN c;
    LOOP
        FETCH c INTO i;
        EXIT WHEN NOT FOUND;
        n := n + i;
    END LOOP;
    CLOSE c;
    EXECUTE 'SELECT sum(id) FROM a' INTO m;
    FOR i IN SELECT a.id FROM b JOIN a ON a.id = b.id WHERE b.id < 9 LOOP
        t := t + i;
    END LOOP;
    RETURN format('%s %s %s', n = m, t, EXISTS (SELECT 1 FROM a WHERE id = 1));
END $$;
SELECT sums();
RESET ROLE;
SELECT sums();
ALTER TABLE a ALTER COLUMN who TYPE varchar(20);
ALTER TABLE a ALTER COLUMN k TYPE bigint;
-- A view over a view, each with its own rights.
CREATE VIEW inner_view AS SELECT * FROM a WHERE id < 10;
CREATE VIEW outer_view WITH (security_invoker = on) AS SELECT i.id, x.id AS own FROM inner_view i LEFT JOIN a x ON x.id = i.id;
GRANT ALL ON inner_view, outer_view TO rls_u;
SET ROLE rls_u;
SELECT * FROM outer_view ORDER BY id;
UPDATE inner_view SET k = 0 WHERE id = 1 RETURNING id, who;
RESET ROLE;
CREATE VIEW checked WITH (security_invoker = on) AS SELECT * FROM a WHERE k < 3 WITH CHECK OPTION;
GRANT ALL ON checked TO rls_u;
SET ROLE rls_u;
INSERT INTO checked VALUES (80, 1, 'rls_v');
INSERT INTO checked VALUES (80, 4, 'rls_u');
INSERT INTO checked VALUES (80, 1, 'rls_u') RETURNING id;
UPDATE checked SET k = 5 WHERE id = 80;
UPDATE checked SET who = 'rls_v' WHERE id = 80;
DELETE FROM checked WHERE id IN (1, 80) RETURNING id;
-- What is altered under it.
RESET ROLE;
ALTER TABLE a ADD COLUMN extra int DEFAULT 1;
ALTER TABLE a DROP COLUMN secret;
SET ROLE rls_u;
SELECT id, extra FROM a ORDER BY id LIMIT 1;
RESET ROLE;
DROP OWNED BY rls_u CASCADE;
DROP TABLE a, b, r, g CASCADE;
DROP OWNED BY rls_v, rls_w, rls_group;
DROP ROLE rls_u, rls_v, rls_w, rls_group;
