CREATE TABLE tag (id serial PRIMARY KEY, name text UNIQUE, uses int NOT NULL DEFAULT 0);
CREATE TABLE post (id int PRIMARY KEY, title text);
CREATE TABLE post_tag (post int REFERENCES post ON DELETE CASCADE, tag int REFERENCES tag, PRIMARY KEY (post, tag));
CREATE TABLE log (id serial PRIMARY KEY, what text);
INSERT INTO tag (name) VALUES ('red'), ('green');
INSERT INTO post VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO post_tag VALUES (1, 1), (2, 1), (2, 2);
-- get or create
WITH ins AS (INSERT INTO tag (name) VALUES ('blue') ON CONFLICT (name) DO NOTHING RETURNING id, name)
SELECT id, name, 'new' FROM ins UNION ALL SELECT id, name, 'old' FROM tag WHERE name = 'blue';
WITH ins AS (INSERT INTO tag (name) VALUES ('red') ON CONFLICT (name) DO NOTHING RETURNING id, name)
SELECT id, name, 'new' FROM ins UNION ALL SELECT id, name, 'old' FROM tag WHERE name = 'red' LIMIT 1;
WITH wanted (name) AS (VALUES ('red'), ('black'), ('white')),
     ins AS (INSERT INTO tag (name) SELECT name FROM wanted ORDER BY name ON CONFLICT (name) DO NOTHING RETURNING id, name)
SELECT w.name, coalesce(i.name, t.name), i.id IS NULL AS was_there
FROM wanted w LEFT JOIN ins i USING (name) LEFT JOIN tag t ON t.name = w.name ORDER BY 1;
PREPARE get(text) AS WITH ins AS (INSERT INTO tag (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING name)
SELECT name, true FROM ins UNION ALL SELECT name, false FROM tag WHERE name = $1;
EXECUTE get('grey');
EXECUTE get('grey');
-- the table as it was
WITH gone AS (DELETE FROM post_tag WHERE post = 2 RETURNING tag) SELECT count(*), (SELECT count(*) FROM gone) FROM post_tag;
SELECT count(*) FROM post_tag;
WITH more AS (UPDATE tag SET uses = uses + 10 WHERE id <= 2 RETURNING id, uses)
SELECT t.id, t.uses AS before, m.uses AS after FROM tag t JOIN more m ON m.id = t.id ORDER BY t.id;
WITH more AS (UPDATE tag SET uses = uses + 1 RETURNING *)
SELECT (SELECT sum(uses) FROM tag), (SELECT sum(uses) FROM more), EXISTS (SELECT 1 FROM tag WHERE uses > 10);
WITH more AS (UPDATE tag SET uses = uses + 1 WHERE name = 'red' RETURNING *), old AS (SELECT * FROM tag WHERE name = 'red')
SELECT old.uses, more.uses FROM old, more;
WITH a AS (UPDATE tag SET uses = 100 WHERE name = 'red' RETURNING id), b AS (INSERT INTO log (what) SELECT name || uses FROM tag WHERE id IN (SELECT id FROM a) RETURNING what)
SELECT * FROM b;
SELECT uses FROM tag WHERE name = 'red';
-- what foreign keys and triggers change
WITH gone AS (DELETE FROM post WHERE id = 1 RETURNING id) SELECT p.post, p.tag FROM post_tag p ORDER BY 1, 2;
SELECT count(*) FROM post_tag;
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (what) VALUES (TG_OP || ' ' || NEW.title || ' ' || (SELECT count(*) FROM post));
  RETURN NEW;
END $$;
CREATE TRIGGER noted AFTER INSERT ON post FOR EACH ROW EXECUTE FUNCTION noted();
WITH p AS (INSERT INTO post VALUES (4, 'four'), (5, 'five') RETURNING id) SELECT (SELECT count(*) FROM p), (SELECT count(*) FROM post), (SELECT count(*) FROM log);
SELECT what FROM log ORDER BY id;
-- changes that read it
WITH p AS (INSERT INTO post VALUES (6, 'six') RETURNING id) INSERT INTO log (what) SELECT 'copy of ' || title FROM post WHERE id > 3 ORDER BY id RETURNING what;
WITH p AS (INSERT INTO post VALUES (7, 'seven') RETURNING id) UPDATE tag SET uses = (SELECT count(*) FROM post) WHERE id = 1 RETURNING uses;
WITH p AS (UPDATE post SET title = upper(title) WHERE id = 7 RETURNING id) UPDATE tag SET name = post.title FROM post WHERE post.id = 7 AND tag.id = 2 RETURNING name;
WITH p AS (DELETE FROM post WHERE id = 7 RETURNING id) DELETE FROM tag USING post WHERE post.id = 7 AND tag.name = post.title RETURNING tag.name, post.title;
WITH p AS (INSERT INTO post VALUES (8, 'eight')) INSERT INTO post SELECT id + 100, title FROM post WHERE id >= 5;
SELECT id FROM post WHERE id > 99 ORDER BY id;
WITH p AS (UPDATE post SET title = title || '!' WHERE id < 5 RETURNING id)
MERGE INTO log USING post ON what = title WHEN NOT MATCHED AND post.id < 5 THEN INSERT (what) VALUES (title);
SELECT what FROM log WHERE what !~ ' ' ORDER BY what;
-- every way of reading
CREATE VIEW short AS SELECT id, title FROM post WHERE length(title) < 6;
WITH p AS (DELETE FROM post WHERE id > 99 RETURNING *) SELECT count(*) FROM short;
WITH p AS (UPDATE post SET title = 'x' WHERE id = 2 RETURNING *) SELECT p, q FROM post q JOIN p ON p.id = q.id;
WITH p AS (UPDATE post SET title = 'y' WHERE id = 2 RETURNING *) SELECT to_jsonb(q), q.*::text FROM post q WHERE q.id = 2;
WITH p AS (UPDATE post SET title = 'z' WHERE id = 2 RETURNING *) SELECT q.id, q.title, count(*) FROM post q LEFT JOIN post_tag t ON t.post = q.id WHERE q.id < 5 GROUP BY q.id ORDER BY 1;
WITH p AS (UPDATE post SET title = 'two' WHERE id = 2 RETURNING *) SELECT id, rank() OVER (ORDER BY title DESC) FROM post WHERE id < 5 ORDER BY 1;
WITH p AS (UPDATE post SET title = 'two' WHERE id = 2 RETURNING *) SELECT DISTINCT ON (length(title)) length(title), id FROM post ORDER BY 1, 2;
WITH p AS (INSERT INTO post VALUES (9, 'nine') RETURNING *) SELECT l.id, r.id FROM post l FULL JOIN p r USING (id) WHERE l.id > 7 OR r.id > 7 ORDER BY 1, 2;
WITH p AS (INSERT INTO post VALUES (10, 'ten') RETURNING *) SELECT q.id FROM p, LATERAL (SELECT id FROM post WHERE post.id < p.id ORDER BY id DESC LIMIT 2) q;
WITH RECURSIVE p AS (INSERT INTO post VALUES (11, 'eleven') RETURNING id), down AS (SELECT 9 AS n UNION ALL SELECT n + 1 FROM down JOIN post ON post.id = n + 1)
SELECT * FROM down;
WITH p AS (INSERT INTO tag (name) VALUES ('last') RETURNING id) SELECT max(name) FILTER (WHERE id < 3) FROM tag WHERE name <> 'last' AND id IN (1, 2) AND name = ANY (ARRAY['red', 'two']);
WITH p AS (INSERT INTO log (what) VALUES ('a') RETURNING id, (SELECT count(*) FROM log) AS n), q AS (INSERT INTO log (what) VALUES ('b') RETURNING (SELECT count(*) FROM log) AS n)
SELECT p.n = q.n FROM p, q;
-- in routines
CREATE FUNCTION tag_of(wanted text) RETURNS int LANGUAGE sql AS $$
  WITH ins AS (INSERT INTO tag (name) VALUES (wanted) ON CONFLICT (name) DO NOTHING RETURNING id)
  SELECT id FROM ins UNION ALL SELECT id FROM tag WHERE name = wanted
$$;
SELECT tag_of('red'), tag_of('violet') = tag_of('violet');
CREATE FUNCTION tag_counts(wanted text, OUT before bigint, OUT after bigint) LANGUAGE plpgsql AS $$
DECLARE lowest int := 0;
BEGIN
  WITH ins AS (INSERT INTO tag (name) VALUES (wanted) RETURNING id)
  SELECT count(*) INTO before FROM tag WHERE id > lowest AND name IS NOT NULL;
  SELECT count(*) INTO after FROM tag;
END $$;
SELECT after - before FROM tag_counts('pink');
-- conditions that can fail wait for those before them
CREATE TABLE z (id int PRIMARY KEY, s text);
INSERT INTO z VALUES (1, '5'), (2, 'abc');
WITH x AS (INSERT INTO z VALUES (4, '7') RETURNING id)
SELECT CASE WHEN EXISTS (SELECT 1 FROM x) THEN 'ins' ELSE (SELECT max(s) FROM z WHERE s::int > 3) END;
WITH x AS (INSERT INTO z VALUES (5, '0') RETURNING id) SELECT id FROM z WHERE (SELECT count(*) FROM x) > 5 AND 10 / (id - 1) > 1;
-- rows of policies
CREATE ROLE with_reader;
GRANT SELECT, UPDATE ON tag TO with_reader;
ALTER TABLE tag ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON tag USING (id <= 2);
SET ROLE with_reader;
WITH u AS (UPDATE tag SET uses = 7 RETURNING name) SELECT name, uses FROM tag WHERE uses >= 0 ORDER BY 1;
WITH u AS (UPDATE tag SET uses = 8 WHERE name = 'red' RETURNING name) SELECT name, uses FROM tag WHERE name = 'red';
RESET ROLE;
DROP OWNED BY with_reader;
DROP ROLE with_reader;
