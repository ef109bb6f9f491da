-- Documents with versions: a view that is written to, transition tables for statistics, MERGE of imports, locks and branches.
SET timezone = 'UTC';
CREATE TABLE doc (doc_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL UNIQUE, head int, locked_by text, created date NOT NULL DEFAULT '2024-01-01');
CREATE TABLE version (doc_id int NOT NULL REFERENCES doc ON DELETE CASCADE, n int NOT NULL, body text NOT NULL, author text NOT NULL DEFAULT current_user, base int, PRIMARY KEY (doc_id, n), FOREIGN KEY (doc_id, base) REFERENCES version (doc_id, n) DEFERRABLE INITIALLY DEFERRED, CHECK (base < n));
ALTER TABLE doc ADD CONSTRAINT doc_head FOREIGN KEY (doc_id, head) REFERENCES version (doc_id, n) DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE stats (day date, op text, rows int, bytes bigint, PRIMARY KEY (day, op));
CREATE VIEW current_doc AS SELECT d.doc_id, d.title, v.n AS version, v.body, v.author, d.locked_by FROM doc d JOIN version v ON v.doc_id = d.doc_id AND v.n = d.head;
CREATE FUNCTION write_doc() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE id int; last int;
BEGIN
  CASE TG_OP
  WHEN 'INSERT' THEN
    INSERT INTO doc (title, locked_by) VALUES (NEW.title, NEW.locked_by) RETURNING doc_id INTO id;
    INSERT INTO version (doc_id, n, body, author) VALUES (id, 1, coalesce(NEW.body, ''), coalesce(NEW.author, 'nobody'));
    UPDATE doc SET head = 1 WHERE doc_id = id;
    NEW.doc_id := id; NEW.version := 1; NEW.author := coalesce(NEW.author, 'nobody');
    RETURN NEW;
  WHEN 'UPDATE' THEN
    IF NEW.doc_id <> OLD.doc_id OR NEW.version <> OLD.version THEN
      RAISE EXCEPTION 'column "%" is not to be written', CASE WHEN NEW.doc_id <> OLD.doc_id THEN 'doc_id' ELSE 'version' END USING ERRCODE = 'generated_always';
    END IF;
    IF OLD.locked_by IS NOT NULL AND OLD.locked_by <> NEW.author THEN
      RAISE EXCEPTION '"%" is locked by %', OLD.title, OLD.locked_by USING ERRCODE = 'lock_not_available', HINT = 'Wait, or talk.';
    END IF;
    IF (NEW.title, NEW.locked_by) IS DISTINCT FROM (OLD.title, OLD.locked_by) THEN
      UPDATE doc SET title = NEW.title, locked_by = NEW.locked_by WHERE doc_id = OLD.doc_id;
    END IF;
    IF NEW.body IS DISTINCT FROM OLD.body THEN
      SELECT max(n) INTO STRICT last FROM version WHERE doc_id = OLD.doc_id;
      INSERT INTO version VALUES (OLD.doc_id, last + 1, NEW.body, NEW.author, OLD.version);
      UPDATE doc SET head = last + 1 WHERE doc_id = OLD.doc_id;
      NEW.version := last + 1;
    END IF;
    RETURN NEW;
  ELSE
    DELETE FROM doc WHERE doc_id = OLD.doc_id;
    IF NOT FOUND THEN RETURN NULL; END IF;
    RETURN OLD;
  END CASE;
END $$;
CREATE TRIGGER write_doc INSTEAD OF INSERT OR UPDATE OR DELETE ON current_doc FOR EACH ROW EXECUTE FUNCTION write_doc();
CREATE FUNCTION count_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stats AS s SELECT '2024-01-01', TG_OP, count(*), sum(length(body)) FROM changed HAVING count(*) > 0 ON CONFLICT (day, op) DO UPDATE SET rows = s.rows + EXCLUDED.rows, bytes = s.bytes + EXCLUDED.bytes;
  RETURN NULL;
END $$;
CREATE TRIGGER count_new AFTER INSERT ON version REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_versions();
CREATE TRIGGER count_gone AFTER DELETE ON version REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_versions();
CREATE TRIGGER count_both AFTER INSERT OR DELETE ON version REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_versions();
INSERT INTO current_doc (title, body, author) VALUES ('Plan', 'Do it.', 'ann'), ('Notes', NULL, NULL) RETURNING *;
INSERT INTO current_doc (title, body, author) VALUES ('Plan', 'Again', 'bob');
UPDATE current_doc SET body = body || E'\nThen rest.', author = 'bob' WHERE title = 'Plan' RETURNING doc_id, version, body;
UPDATE current_doc SET locked_by = 'ann', author = 'ann' WHERE title = 'Plan';
UPDATE current_doc SET body = 'Mine', author = 'bob' WHERE title = 'Plan';
UPDATE current_doc SET version = 1 WHERE doc_id = 1;
UPDATE current_doc SET body = upper(body), author = coalesce(locked_by, 'cy');
UPDATE current_doc c SET title = x.t FROM (VALUES (1, 'Plan A'), (9, 'None')) x (id, t) WHERE x.id = c.doc_id RETURNING c.title, x.id;
DELETE FROM current_doc WHERE version = 99;
SELECT * FROM version ORDER BY doc_id, n;
SELECT * FROM stats ORDER BY op;
INSERT INTO current_doc VALUES (1, 2) ON CONFLICT DO NOTHING;
-- A branch: back to version 1, a new one on it.
BEGIN;
UPDATE doc SET head = 7 WHERE doc_id = 1;
SAVEPOINT s;
SET CONSTRAINTS doc_head IMMEDIATE;
ROLLBACK TO s;
UPDATE doc SET head = 1 WHERE doc_id = 1;
INSERT INTO version VALUES (1, 4, 'Branch', 'dee', 1), (1, 6, 'Far', 'dee', 5);
INSERT INTO version VALUES (1, 5, 'Between', 'eve', 4);
COMMIT;
INSERT INTO version VALUES (1, 9, 'Orphan', 'eve', 8);
INSERT INTO version VALUES (1, 9, 'Loop', 'eve', 9);
WITH RECURSIVE h (n, base, path) AS (SELECT n, base, n::text FROM version WHERE doc_id = 1 AND base IS NULL UNION ALL SELECT v.n, v.base, h.path || '/' || v.n FROM h JOIN version v ON v.doc_id = 1 AND v.base = h.n)
SELECT n, base, path, NOT EXISTS (SELECT FROM h x WHERE x.base = h.n) AS leaf, n = (SELECT head FROM doc WHERE doc_id = 1) AS head FROM h ORDER BY path;
-- Lines that differ between two versions.
CREATE FUNCTION diff(d int, a int, b int) RETURNS TABLE (line bigint, was text, is_now text) LANGUAGE sql STABLE ROWS 10 COST 50 AS $$
  SELECT coalesce(x.n, y.n), x.l, y.l FROM (SELECT t.* FROM version v, string_to_table(v.body, E'\n') WITH ORDINALITY AS t(l, n) WHERE doc_id = d AND v.n = a) x FULL JOIN (SELECT t.* FROM version v, string_to_table(v.body, E'\n') WITH ORDINALITY AS t(l, n) WHERE doc_id = d AND v.n = b) y ON x.n = y.n WHERE x.l IS DISTINCT FROM y.l ORDER BY 1
$$;
CREATE FUNCTION diff(d int, a int, b int) RETURNS TABLE (line bigint, was text, is_now text) LANGUAGE sql STABLE ROWS 10 COST 50 AS $$
  SELECT coalesce(x.n, y.n), x.l, y.l FROM (SELECT t.* FROM version v, string_to_table(v.body, E'\n') WITH ORDINALITY AS t(l, n) WHERE doc_id = d AND v.n = a) x FULL JOIN (SELECT t.* FROM version v, string_to_table(v.body, E'\n') WITH ORDINALITY AS t(l, n) WHERE doc_id = d AND v.n = b) y ON x.n = y.n WHERE x.l IS DISTINCT FROM y.l ORDER BY 1
$$;
SELECT * FROM diff(1, 1, 2);
SELECT v.n, d.* FROM version v LEFT JOIN LATERAL diff(v.doc_id, v.base, v.n) d ON true WHERE v.doc_id = 1 ORDER BY v.n, d.line;
-- An import by MERGE.
CREATE TABLE incoming (title text PRIMARY KEY, body text, drop boolean DEFAULT false);
CREATE TABLE incoming (title text PRIMARY KEY, body text, gone boolean DEFAULT false);
INSERT INTO incoming VALUES ('Plan A', 'Imported', false), ('New', 'Fresh', NULL), ('Notes', NULL, true), ('Nothing', NULL, false);
MERGE INTO current_doc c USING incoming i ON c.title = i.title WHEN MATCHED THEN UPDATE SET body = i.body;
MERGE INTO doc AS d USING incoming AS i ON d.title = i.title
  WHEN MATCHED AND i.gone THEN DELETE
  WHEN MATCHED AND d.locked_by IS NOT NULL THEN UPDATE SET locked_by = NULL
  WHEN NOT MATCHED AND i.body IS NOT NULL THEN INSERT (title, created) VALUES (i.title, DEFAULT)
  WHEN NOT MATCHED THEN DO NOTHING;
MERGE INTO version v USING (SELECT d.doc_id, i.body FROM doc d NATURAL JOIN incoming i WHERE i.body IS NOT NULL) s ON v.doc_id = s.doc_id AND v.n = 100
  WHEN NOT MATCHED THEN INSERT (doc_id, n, body, author) VALUES (s.doc_id, 100, s.body, 'import');
MERGE INTO doc USING (VALUES (1), (1)) x (id) ON doc_id = id WHEN MATCHED THEN UPDATE SET head = 100;
MERGE INTO doc USING version v ON doc.doc_id = v.doc_id AND v.n = 100 WHEN MATCHED THEN UPDATE SET head = v.n;
MERGE INTO doc USING incoming ON true WHEN MATCHED THEN INSERT VALUES (1);
SELECT title, version, body, author FROM current_doc ORDER BY title;
SELECT op, rows, bytes FROM stats ORDER BY op;
DELETE FROM current_doc WHERE title = 'New' RETURNING doc_id, title;
DELETE FROM version WHERE doc_id = 1 AND n = 1;
DELETE FROM version WHERE doc_id = 1 AND n > 3 AND n < 100 RETURNING n;
SELECT op, rows FROM stats ORDER BY op;
-- Changes seen as of a function's arguments; a search by hand.
SELECT title, position('plan' IN lower(body)) > 0 AS hit, ts FROM (SELECT title, body, array_length(regexp_split_to_array(body, '\W+'), 1) AS ts FROM current_doc) x ORDER BY title;
SELECT doc_id, count(*) AS n, max(length(body)) AS longest, (array_agg(body ORDER BY length(body) DESC, n))[1] AS which, string_agg(DISTINCT author, '+') AS authors, bool_or(base IS NULL) FROM version GROUP BY doc_id ORDER BY 1;
CREATE VIEW titles AS SELECT doc_id, title, upper(title) AS loud FROM doc WHERE title <> 'Secret' WITH LOCAL CHECK OPTION;
INSERT INTO titles (title) VALUES ('Secret');
INSERT INTO titles (title, loud) VALUES ('a', 'A');
INSERT INTO titles (title) VALUES ('Open') RETURNING loud;
UPDATE titles SET title = 'Secret' WHERE title = 'Open';
UPDATE titles SET loud = 'x';
DELETE FROM titles WHERE loud = 'OPEN' RETURNING title;
ALTER TABLE doc RENAME title TO name;
SELECT * FROM titles ORDER BY 1;
INSERT INTO current_doc (title, body) VALUES ('After', 'renaming') RETURNING doc_id;
ALTER TABLE version ADD COLUMN size int GENERATED ALWAYS AS (length(body)) STORED;
ALTER TABLE doc DROP COLUMN locked_by;
DROP VIEW current_doc;
SELECT name, size FROM doc JOIN version ON version.doc_id = doc.doc_id AND n = head ORDER BY 1;
SELECT pg_get_viewdef('titles'::regclass) IS NOT NULL, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'doc'::regclass ORDER BY conname;
SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'version'::regclass AND NOT tgisinternal ORDER BY 1;
