-- with contexts
-- Trigger functions whose records take rows of SQL text made at run time, and transition tables in such text.
CREATE DOMAIN short AS text CHECK (length(VALUE) < 6);
CREATE TABLE t (id int PRIMARY KEY, v text, s short, n int GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE lg (id serial, msg text);
CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n int; m int; BEGIN EXECUTE 'SELECT count(*), sum(id) FROM new_rows' INTO n, m; RAISE NOTICE '% % rows, %', TG_OP, n, m; RETURN NULL; END $$;
CREATE TRIGGER counted AFTER INSERT ON t REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION counted();
INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y');
INSERT INTO t SELECT 3, 'c' WHERE false;
CREATE TABLE new_rows (id int, v text);
INSERT INTO new_rows VALUES (77, 'table');
INSERT INTO t VALUES (3, 'c', 'z');
CREATE FUNCTION compared() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record; tn text := 'new_rows'; n bigint;
BEGIN
  FOR r IN EXECUTE format('SELECT n.id, n.v, o.v AS was FROM %I n JOIN old_rows o USING (id) ORDER BY 1', tn) LOOP
    RAISE NOTICE '% % %', r.id, r.v, r.was;
  END LOOP;
  SELECT count(*) AS c, max(v) AS m INTO r FROM old_rows;
  RAISE NOTICE '%', r;
  EXECUTE 'INSERT INTO lg (msg) SELECT v || $1 FROM new_rows ORDER BY id' USING '!';
  GET DIAGNOSTICS n = ROW_COUNT;
  EXECUTE 'WITH new_rows AS (SELECT 5 AS five) SELECT * FROM new_rows' INTO r;
  RAISE NOTICE '% %', n, r.five;
  RETURN NULL;
END $$;
CREATE TRIGGER compared AFTER UPDATE ON t REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION compared();
UPDATE t SET v = v || id;
SELECT * FROM lg;
DROP TRIGGER compared ON t;
CREATE FUNCTION filled() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record; k text;
BEGIN
  RAISE NOTICE '% % % % % %', TG_NAME, TG_WHEN, TG_LEVEL, TG_OP, TG_TABLE_NAME, TG_ARGV[0];
  RAISE NOTICE 'old % new %', OLD, NEW;
  EXECUTE 'SELECT $1.v AS was, $2 AS op, 5 AS five' INTO r USING coalesce(NEW, OLD), TG_OP;
  RAISE NOTICE '% %', r, r.five + 1;
  IF TG_OP = 'DELETE' THEN
    IF OLD.id = 2 THEN RETURN NULL; END IF;
    RETURN OLD;
  END IF;
  IF NEW.v = 'skip' THEN RETURN NULL; END IF;
  IF NEW.v = 'long' THEN NEW.s := 'much too long'; END IF;
  IF NEW.v = 'old' THEN RETURN OLD; END IF;
  IF NEW.v = 'wrong' THEN SELECT 1, 2 INTO r; RETURN r; END IF;
  IF NEW.v = 'other' THEN SELECT NEW.id, 'another'::text, 'abc'::short, NULL::int INTO r; RETURN r; END IF;
  IF NEW.v = 'none' THEN RETURN 5; END IF;
  NEW.v := NEW.v || '/' || r.op;
  RETURN NEW;
END $$;
CREATE TRIGGER filled BEFORE INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION filled('x', 'y');
INSERT INTO t VALUES (4, 'd'), (5, 'skip'), (6, 'other') RETURNING *;
INSERT INTO t VALUES (7, 'wrong');
INSERT INTO t VALUES (7, 'long');
INSERT INTO t VALUES (7, 'none');
UPDATE t SET v = 'old' WHERE id = 1 RETURNING *;
UPDATE t SET v = 'u' WHERE id = 2 RETURNING *;
DELETE FROM t WHERE id IN (2, 4) RETURNING id, v;
INSERT INTO t VALUES (2, 'up') ON CONFLICT (id) DO UPDATE SET v = 'upserted' RETURNING v;
SELECT * FROM t ORDER BY id;
DROP TRIGGER filled ON t;
CREATE FUNCTION no_return() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE 'SELECT 1 AS a' INTO r; IF r.a = 2 THEN RETURN NULL; END IF; END $$;
CREATE TRIGGER no_return BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION no_return();
DELETE FROM t WHERE id = 1;
DROP TRIGGER no_return ON t;
-- An error that a handler catches takes back what the trigger did.
CREATE FUNCTION caught() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR r IN EXECUTE 'SELECT g, 10 / (g - 2) AS q FROM generate_series(1, $1) g' USING NEW.id LOOP
    INSERT INTO lg (msg) VALUES (format('%s: %s', r.g, r.q));
  END LOOP;
  RETURN NULL;
EXCEPTION WHEN division_by_zero THEN
  INSERT INTO lg (msg) VALUES (SQLERRM);
  RETURN NULL;
END $$;
CREATE TRIGGER caught AFTER UPDATE ON t FOR EACH ROW EXECUTE FUNCTION caught();
UPDATE t SET v = 'x' WHERE id IN (1, 3);
SELECT msg FROM lg ORDER BY id;
DROP TRIGGER caught ON t;
-- A record of several structures by turns.
CREATE FUNCTION turns() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE r record; i int;
BEGIN
  FOR i IN 1..3 LOOP
    IF i = 2 THEN SELECT 'two' AS word, NEW.id AS id INTO r; ELSE SELECT i AS number INTO r; END IF;
    RAISE NOTICE '%', r;
  END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER turns BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION turns();
UPDATE t SET v = 'y' WHERE id = 1;
CREATE PROCEDURE calls_it(a int) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = v || '+' WHERE id <= a; END $$;
CALL calls_it(1);
SELECT id, v FROM t ORDER BY id;
DROP TRIGGER turns ON t;
-- The path changes while a trigger runs.
CREATE SCHEMA other;
CREATE TABLE other.lg (msg text);
CREATE FUNCTION elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET LOCAL search_path = other; INSERT INTO lg VALUES (NEW.v); SET LOCAL search_path = public; RETURN NEW; END $$;
CREATE TRIGGER elsewhere BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION elsewhere();
UPDATE t SET v = 'there' WHERE id = 1;
SELECT * FROM other.lg;
DROP TRIGGER elsewhere ON t;
-- Views, deferred triggers, partitions.
CREATE VIEW w AS SELECT id, v FROM t;
CREATE FUNCTION instead() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE 'SELECT $1.id AS id, upper($1.v) AS v' INTO r USING NEW; RAISE NOTICE '% %', TG_RELID::regclass, r; UPDATE t SET v = r.v WHERE id = r.id; NEW.v := r.v; RETURN NEW; END $$;
CREATE TRIGGER instead INSTEAD OF UPDATE ON w FOR EACH ROW EXECUTE FUNCTION instead();
UPDATE w SET v = 'up' WHERE id = 3 RETURNING *;
CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE 'SELECT count(*) AS n FROM t' INTO r; RAISE NOTICE 'late % %', NEW.id, r.n; RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late();
BEGIN;
INSERT INTO t VALUES (20, 'l');
INSERT INTO t VALUES (21, 'm');
COMMIT;
CREATE TABLE p (k int, v text) PARTITION BY LIST (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
CREATE FUNCTION which() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE 'SELECT $1 AS tbl, $2.k AS k' INTO r USING TG_TABLE_NAME, NEW; RAISE NOTICE '%', r; RETURN NEW; END $$;
CREATE TRIGGER which AFTER INSERT ON p FOR EACH ROW EXECUTE FUNCTION which();
INSERT INTO p VALUES (2, 'b'), (1, 'a');
