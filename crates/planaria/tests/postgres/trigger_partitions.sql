-- Which partition a row is in is known before its triggers fire, and a row that moves is deleted and inserted to them.
CREATE TABLE seen (n serial, what text);
CREATE TABLE t (id int, k int, v text, w int GENERATED ALWAYS AS (k * 2) STORED, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1, 2);
CREATE TABLE t3 PARTITION OF t FOR VALUES IN (3);
CREATE TABLE t4 PARTITION OF t FOR VALUES IN (4, 5) PARTITION BY RANGE (id);
CREATE TABLE t4a PARTITION OF t4 FOR VALUES FROM (0) TO (10);
CREATE TABLE t4b PARTITION OF t4 FOR VALUES FROM (10) TO (20);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO seen (what) VALUES (concat_ws(' ', TG_NAME, TG_WHEN, TG_OP, TG_LEVEL, TG_TABLE_NAME, OLD::text, NEW::text));
  IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER c BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER d AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE FUNCTION tables() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO seen (what) SELECT 'old ' || o::text FROM o ORDER BY o.id;
  INSERT INTO seen (what) SELECT 'new ' || n::text FROM n ORDER BY n.id;
  RETURN NULL;
END $$;
CREATE TRIGGER e AFTER UPDATE ON t REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION tables();
INSERT INTO t VALUES (1, 1, 'a'), (2, 3, 'b'), (3, 4, 'c');
INSERT INTO t VALUES (4, 9, 'nowhere');
INSERT INTO t SELECT 4, 4, 'd' UNION ALL SELECT 25, 5, 'nowhere' ORDER BY 1;
INSERT INTO t4 VALUES (4, 1, 'elsewhere');
INSERT INTO t4 VALUES (40, 4, 'nowhere');
INSERT INTO t1 VALUES (4, 3, 'elsewhere');
INSERT INTO t1 VALUES (4, 2, 'd');
UPDATE t SET v = 'x' WHERE id = 1 RETURNING *;
UPDATE t SET k = 2 WHERE id = 1 RETURNING *;
UPDATE t SET k = 3 WHERE id = 1 RETURNING *;
UPDATE t SET k = k + 1, v = v || '!' WHERE id = 2 RETURNING *;
UPDATE t SET k = k + 1, v = v || '!' WHERE id = 4 RETURNING *;
UPDATE t SET k = 9 WHERE id = 2;
UPDATE t SET id = id + 10 WHERE id = 3 RETURNING tableoid::regclass, *;
UPDATE t4 SET k = 1 WHERE id = 13;
UPDATE t1 SET k = 3;
UPDATE t3 SET k = 3 RETURNING *;
-- PostgreSQL 15 has no rows that a MERGE moves in transition tables.
DROP TRIGGER e ON t;
MERGE INTO t USING (VALUES (1, 1), (7, 9)) s (id, k) ON t.id = s.id WHEN MATCHED THEN UPDATE SET k = s.k;
MERGE INTO t USING (VALUES (1, 1), (7, 9)) s (id, k) ON t.id = s.id WHEN MATCHED THEN UPDATE SET k = 3 WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.k);
CREATE TRIGGER e AFTER UPDATE ON t REFERENCING OLD TABLE AS o NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION tables();
SELECT what FROM seen ORDER BY n;
SELECT tableoid::regclass, * FROM t ORDER BY id;
TRUNCATE seen;
-- What a trigger does to a row that is inserted, or moves.
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.v = 'move' THEN NEW.k := 1; END IF;
  IF NEW.v = 'none' THEN NEW.k := NULL; END IF;
  IF NEW.v = 'within' THEN NEW.k := 2; END IF;
  IF NEW.v = 'skip' THEN RETURN NULL; END IF;
  NEW.v := NEW.v || '+';
  RETURN NEW;
END $$;
CREATE TRIGGER aa BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION change();
INSERT INTO t VALUES (20, 3, 'move');
INSERT INTO t VALUES (20, 3, 'none');
INSERT INTO t VALUES (20, 9, 'skip');
INSERT INTO t VALUES (20, 3, 'skip');
INSERT INTO t VALUES (20, 1, 'within') RETURNING *;
INSERT INTO t VALUES (20, 1, 'move'), (21, 1, 'plain') ON CONFLICT (id, k) DO UPDATE SET v = excluded.v RETURNING *;
INSERT INTO t1 VALUES (22, 3, 'plain');
MERGE INTO t USING (VALUES (30, 3)) s (id, k) ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.k, 'move');
UPDATE t SET k = 3, v = 'move' WHERE id = 20 AND k = 2;
DELETE FROM t WHERE id = 20 AND k = 1;
UPDATE t SET k = 3, v = 'later' WHERE id = 20 RETURNING *;
UPDATE t SET v = 'stays' WHERE id = 20 RETURNING *;
UPDATE t SET k = 2, v = 'skip' WHERE id = 20 RETURNING *;
SELECT count(*) FROM t WHERE id = 20;
SELECT what FROM seen ORDER BY n;
SELECT tableoid::regclass, * FROM t ORDER BY id;
TRUNCATE seen;
-- One that keeps rows from being deleted keeps them from moving.
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER ab BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION keep();
UPDATE t SET k = 3 WHERE id = 21 RETURNING *;
UPDATE t SET k = 9 WHERE id = 21;
DELETE FROM t WHERE id = 21;
DROP TRIGGER ab ON t;
-- BEFORE UPDATE may move a row.
CREATE FUNCTION send() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.k := CASE OLD.k WHEN 3 THEN 1 ELSE 3 END; RETURN NEW; END $$;
CREATE TRIGGER ac BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION send();
UPDATE t SET v = 'sent' WHERE id = 21 RETURNING *;
UPDATE t SET v = 'back' WHERE id = 21 RETURNING *;
DROP TRIGGER ac ON t;
SELECT what FROM seen ORDER BY n;
TRUNCATE seen;
-- Constraint triggers wait as those of a deletion and an insertion.
CREATE CONSTRAINT TRIGGER f AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
BEGIN;
UPDATE t SET k = 4, id = 15 WHERE id = 21;
UPDATE t SET v = 'w' WHERE id = 15;
SELECT what FROM seen ORDER BY n;
COMMIT;
SELECT what FROM seen ORDER BY n;
TRUNCATE seen;
-- Keys move rows, too.
CREATE TABLE parent (k int PRIMARY KEY);
INSERT INTO parent VALUES (1), (2);
CREATE TABLE child (id int, k int REFERENCES parent ON UPDATE CASCADE ON DELETE SET NULL) PARTITION BY LIST (k);
CREATE TABLE c1 PARTITION OF child FOR VALUES IN (1, 11);
CREATE TABLE c2 PARTITION OF child FOR VALUES IN (2, 3);
CREATE TABLE c0 PARTITION OF child FOR VALUES IN (NULL);
CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO child VALUES (1, 1), (2, 2);
UPDATE parent SET k = 3 WHERE k = 1;
DELETE FROM parent WHERE k = 2;
SELECT what FROM seen ORDER BY n;
SELECT tableoid::regclass, * FROM child ORDER BY id;
-- Where a DEFAULT partition takes all others.
CREATE TABLE open_to_all (id int, k text, n int, PRIMARY KEY (id, k, n)) PARTITION BY LIST (k);
CREATE TABLE open_a PARTITION OF open_to_all FOR VALUES IN ('a') PARTITION BY RANGE (n);
CREATE TABLE open_a1 PARTITION OF open_a FOR VALUES FROM (0) TO (10);
CREATE TABLE open_a2 PARTITION OF open_a DEFAULT;
CREATE TABLE open_rest PARTITION OF open_to_all DEFAULT;
CREATE TRIGGER b AFTER INSERT OR UPDATE OR DELETE ON open_to_all FOR EACH ROW EXECUTE FUNCTION note();
TRUNCATE seen;
INSERT INTO open_to_all VALUES (1, 'a', 1), (2, 'b', 2);
UPDATE open_to_all SET k = 'x' WHERE id = 1;
UPDATE open_to_all SET k = 'y' WHERE id = 1;
UPDATE open_to_all SET k = 'a', n = 100 WHERE id = 2;
UPDATE open_to_all SET n = 5 WHERE id = 2;
UPDATE open_a SET n = 6 WHERE id = 2;
UPDATE open_a SET n = 16 WHERE id = 2;
CREATE FUNCTION to_c() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.k := 'c'; RETURN NEW; END $$;
CREATE TRIGGER a BEFORE INSERT ON open_to_all FOR EACH ROW EXECUTE FUNCTION to_c();
INSERT INTO open_to_all VALUES (3, 'a', 1);
INSERT INTO open_to_all VALUES (3, 'z', 1) RETURNING *;
SELECT what FROM seen ORDER BY n;
-- In routines.
CREATE PROCEDURE go(i int, to_k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET k = to_k WHERE id = i; END $$;
TRUNCATE seen;
CALL go(15, 3);
CALL go(15, 9);
CREATE FUNCTION tries(i int, to_k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE d text;
BEGIN
  INSERT INTO t VALUES (i, to_k, 'move');
  RETURN 'done';
EXCEPTION WHEN others THEN
  GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
  RETURN concat_ws('/', sqlstate, sqlerrm, d);
END $$;
SELECT tries(50, 3), tries(51, 9), tries(52, 1);
SELECT what FROM seen ORDER BY n;
-- Arguments are an array that begins at 0.
CREATE TABLE given (x int);
CREATE FUNCTION arguments() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE a text;
BEGIN
  RAISE NOTICE '% % % %', TG_ARGV, TG_ARGV[0], TG_ARGV[1], TG_ARGV[2];
  RAISE NOTICE '% % % %', TG_ARGV[-1], TG_ARGV[0:1], array_lower(TG_ARGV, 1), array_upper(TG_ARGV, 1);
  FOREACH a IN ARRAY coalesce(TG_ARGV, '{}') LOOP RAISE NOTICE '%', a; END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON given FOR EACH ROW EXECUTE FUNCTION arguments('one', 2);
CREATE TRIGGER b BEFORE INSERT ON given FOR EACH ROW EXECUTE FUNCTION arguments();
INSERT INTO given VALUES (1);
-- Many rows wait, for two triggers by turns, and a routine has them looked at.
CREATE TABLE many (i int);
CREATE TABLE sums (what text, n int, total bigint);
INSERT INTO sums VALUES ('one', 0, 0), ('two', 0, 0);
CREATE FUNCTION add() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sums SET n = n + 1, total = total * 7 % 1000003 + NEW.i WHERE what = TG_ARGV[0];
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER one AFTER INSERT ON many DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION add('one');
CREATE CONSTRAINT TRIGGER two AFTER INSERT ON many DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.i % 3 = 0) EXECUTE FUNCTION add('two');
CREATE PROCEDURE all_now(n int, said text) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO many SELECT generate_series(1, n);
  EXECUTE said;
  RAISE NOTICE '%', (SELECT string_agg(sums::text, ' ' ORDER BY what) FROM sums);
END $$;
CALL all_now(20000, 'SET CONSTRAINTS ALL IMMEDIATE');
CALL all_now(10, '/* one */ -- two
SET CONSTRAINTS two IMMEDIATE');
SELECT * FROM sums ORDER BY what;
-- What is wrong with values is told of before columns that are not there.
UPDATE given SET nosuch = nosuch + 1;
UPDATE given SET nosuch = 1;
UPDATE given SET (x, nosuch) = (other, 1);
INSERT INTO given (nosuch) VALUES (1) RETURNING other;
