-- A wiki: pages in a tree, versions, links between pages, watchers, rights by group, redirects.
SET timezone = 'UTC';
CREATE TYPE page_right AS ENUM ('none', 'read', 'write', 'admin');
CREATE TABLE spaces (key text PRIMARY KEY CHECK (key SIMILAR TO '[a-z]+'), title text NOT NULL);
CREATE TABLE spaces (key text PRIMARY KEY CHECK (key ~ '^[a-z]+$'), title text NOT NULL, home int);
CREATE TABLE pages (
  id serial PRIMARY KEY, space text NOT NULL REFERENCES spaces ON UPDATE CASCADE ON DELETE CASCADE, parent int, title text NOT NULL, slug text NOT NULL GENERATED ALWAYS AS (lower(replace(title, ' ', '_'))) STORED, version int NOT NULL DEFAULT 0, deleted boolean NOT NULL DEFAULT false,
  UNIQUE (id, space), CONSTRAINT pages_parent_fkey FOREIGN KEY (parent, space) REFERENCES pages (id, space) ON UPDATE CASCADE);
CREATE UNIQUE INDEX pages_slug ON pages (space, slug) WHERE NOT deleted;
ALTER TABLE spaces ADD FOREIGN KEY (home) REFERENCES pages ON DELETE SET NULL;
CREATE TABLE versions (page int NOT NULL REFERENCES pages ON DELETE CASCADE, version int NOT NULL, body text NOT NULL DEFAULT '', author text NOT NULL, at timestamp(0) NOT NULL, minor bool NOT NULL DEFAULT false, hash text GENERATED ALWAYS AS (md5(body)) STORED, CONSTRAINT versions_pk PRIMARY KEY (page, version));
CREATE TABLE links (source int NOT NULL REFERENCES pages ON DELETE CASCADE, target_slug text NOT NULL, target int REFERENCES pages ON DELETE SET NULL, PRIMARY KEY (source, target_slug));
CREATE TABLE redirects (space text, slug text, page int NOT NULL REFERENCES pages ON DELETE CASCADE, PRIMARY KEY (space, slug));
CREATE TABLE groups (name text PRIMARY KEY, members text[] NOT NULL DEFAULT '{}'::text[]);
CREATE TABLE rights (space text REFERENCES spaces ON UPDATE CASCADE ON DELETE CASCADE, group_name text REFERENCES groups ON DELETE CASCADE, right_ page_right NOT NULL, PRIMARY KEY (space, group_name));
COMMENT ON COLUMN versions.hash IS 'Tells whether two versions are alike';
COMMENT ON CONSTRAINT pages_parent_fkey ON pages IS 'A page''s parent is in its space';
INSERT INTO spaces VALUES ('dev', 'Development'), ('ops', 'Operations');
INSERT INTO spaces VALUES ('Dev 2', 'x');
INSERT INTO groups VALUES ('staff', '{ann,bob,cyd}'), ('ops team', '{cyd}'), ('guests', DEFAULT);
INSERT INTO rights VALUES ('dev', 'staff', 'write'), ('dev', 'guests', 'read'), ('ops', 'staff', 'read'), ('ops', 'ops team', 'admin');
INSERT INTO rights VALUES ('ops', 'nobody', 'read');
CREATE FUNCTION right_of(who text, s text) RETURNS page_right LANGUAGE sql STABLE AS $$
  SELECT coalesce(max(right_), 'none') FROM rights JOIN groups ON groups.name = group_name WHERE space = s AND (who = ANY (members) OR groups.name = 'guests')
$$;
SELECT u, s.key, right_of(u, s.key) FROM unnest('{ann,cyd,eve}'::text[]) AS u CROSS JOIN spaces s ORDER BY u, s.key;
CREATE FUNCTION save_page(s text, t text, content text, who text, at timestamp, under text DEFAULT NULL, is_minor boolean DEFAULT false) RETURNS int LANGUAGE plpgsql AS $$
DECLARE p pages%ROWTYPE; up int; m text[]; n int := 0;
BEGIN
  IF right_of(who, s) < 'write' THEN RAISE insufficient_privilege USING MESSAGE = format('%s may only %s in %s', who, right_of(who, s), s); END IF;
  IF under IS NOT NULL THEN
    SELECT id INTO STRICT up FROM pages WHERE space = s AND slug = lower(replace(under, ' ', '_')) AND NOT deleted;
  END IF;
  INSERT INTO pages (space, parent, title) VALUES (s, up, t)
    ON CONFLICT (space, slug) WHERE NOT deleted DO UPDATE SET title = EXCLUDED.title, parent = coalesce(EXCLUDED.parent, pages.parent)
    RETURNING * INTO p;
  IF EXISTS (SELECT 1 FROM versions v WHERE v.page = p.id AND v.version = p.version AND v.hash = md5(content)) THEN RETURN p.version; END IF;
  UPDATE pages SET version = version + 1 WHERE id = p.id RETURNING version INTO p.version;
  INSERT INTO versions VALUES (p.id, p.version, content, who, at, is_minor);
  DELETE FROM links WHERE source = p.id;
  FOR m IN SELECT regexp_matches(content, '\[\[([^]|]+)(?:\|([^]]*))?\]\]', 'g') LOOP
    INSERT INTO links SELECT p.id, lower(replace(m[1], ' ', '_')), (SELECT id FROM pages x WHERE x.space = s AND x.slug = lower(replace(m[1], ' ', '_'))) ON CONFLICT DO NOTHING;
    n := n + 1;
  END LOOP;
  UPDATE links SET target = p.id WHERE target IS NULL AND target_slug = p.slug AND source IN (SELECT id FROM pages WHERE space = s);
  IF n > 2 THEN RAISE NOTICE '% has % links', p.title, n; END IF;
  RETURN p.version;
END $$;
SELECT save_page('dev', 'Home', 'See [[Style Guide]] and [[Build|how to build]] and [[style guide]].', 'ann', '2024-01-01 10:00');
SELECT save_page('dev', 'Style Guide', 'Be brief.', 'bob', '2024-01-02 10:00:00.6', 'Home'), save_page('dev', 'Style Guide', 'Be brief.', 'ann', '2024-01-03 10:00');
SELECT save_page('dev', 'STYLE guide', 'Be brief. Back to [[Home]].', 'ann', '2024-01-03 10:00', is_minor => true);
SELECT save_page('dev', 'Naming', 'a_b', 'cyd', '2024-01-04 10:00', 'Style Guide');
SELECT save_page('dev', 'Lost', 'x', 'ann', '2024-01-05', 'No such page');
SELECT save_page('dev', 'Spam', 'x', 'eve', '2024-01-05');
SELECT save_page('ops', 'Runbook', 'x', 'ann', '2024-01-05');
SELECT save_page('ops', 'Runbook', E'1. panic\n2. [[Home]]', 'cyd', '2024-01-05');
INSERT INTO pages (space, parent, title) VALUES ('ops', 1, 'Under another space');
INSERT INTO pages (space, title) VALUES ('dev', 'home');
INSERT INTO pages (space, title, slug) VALUES ('dev', 'Slug', 'slug');
UPDATE spaces SET home = 1 WHERE key = 'dev';
UPDATE spaces SET home = 1000 WHERE key = 'ops';
SELECT id, space, parent, title, slug, version FROM pages ORDER BY id;
SELECT source, target_slug, target FROM links ORDER BY 1, 2;
-- The tree with its depth, and the way up from a page.
WITH RECURSIVE tree AS (SELECT id, title, parent, 0 AS depth, title AS sort FROM pages WHERE parent IS NULL UNION ALL SELECT p.id, p.title, p.parent, t.depth + 1, t.sort || '/' || p.title FROM pages p JOIN tree t ON p.parent = t.id)
SELECT rpad(repeat('- ', depth) || title, 20, '.') || id AS line FROM tree ORDER BY sort COLLATE "C";
WITH RECURSIVE up AS (SELECT id, parent, title, 1 AS n FROM pages WHERE title = 'Naming' UNION ALL SELECT p.id, p.parent, p.title, n + 1 FROM pages p, up WHERE p.id = up.parent) SELECT string_agg(title, ' > ' ORDER BY n DESC) AS crumbs FROM up;
-- Pages that can be reached over links, however they go round.
WITH RECURSIVE reach (id) AS (SELECT 1 UNION SELECT l.target FROM links l JOIN reach r ON r.id = l.source WHERE l.target IS NOT NULL) SELECT title FROM pages WHERE id NOT IN (SELECT id FROM reach) ORDER BY title;
SELECT p.title, v.author, v.at, count(*) OVER w AS edits, length(v.body) - lag(length(v.body), 1, 0) OVER w AS grew, v.minor FROM versions v JOIN pages p ON p.id = v.page WINDOW w AS (PARTITION BY v.page ORDER BY v.version) ORDER BY p.title, v.version;
SELECT author, count(*) AS edits, count(DISTINCT page) AS pages, min(at)::date AS first, string_agg(DISTINCT p.title, ', ' ORDER BY p.title) AS titles FROM versions v JOIN pages p ON p.id = v.page GROUP BY author ORDER BY edits DESC, author;
SELECT target_slug AS wanted, count(*) FROM links WHERE target IS NULL GROUP BY target_slug HAVING bool_and(target IS NULL) ORDER BY 2 DESC, 1;
SELECT title, ts.word, ts.n FROM pages p JOIN versions v ON (v.page, v.version) = (p.id, p.version), LATERAL (SELECT lower(w) AS word, count(*) AS n FROM regexp_split_to_table(body, '[^A-Za-z]+') AS w WHERE w <> '' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1) AS ts ORDER BY title;
SELECT body, replace(body, E'\n', ' // '), strpos(body, E'\n'), octet_length(body), regexp_replace(body, '^\d+\. ', '* ', 'gn') FROM versions WHERE author = 'cyd' AND body LIKE '%[[%' ORDER BY at;
SELECT regexp_split_to_array(body, '\s+') AS words, left(hash, 8) FROM versions WHERE page = 2 ORDER BY version;
SELECT line, nr FROM versions, string_to_table(body, E'\n') WITH ORDINALITY AS l (line, nr) WHERE page = (SELECT id FROM pages WHERE title = 'Runbook') ORDER BY nr;
-- Renames a page and leaves a redirect.
CREATE PROCEDURE rename_page(p int, t text) LANGUAGE plpgsql AS $$
DECLARE before text; state text; msg text; con text;
BEGIN
  SELECT slug INTO before FROM pages WHERE id = p;
  UPDATE pages SET title = t WHERE id = p;
  INSERT INTO redirects SELECT space, before, id FROM pages WHERE id = p;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, msg = MESSAGE_TEXT, con = CONSTRAINT_NAME;
  RAISE NOTICE 'not renamed: % % (%)', state, msg, con;
END $$;
CALL rename_page(2, 'House Style');
CALL rename_page(2, 'Home');
CALL rename_page(2, NULL);
CALL rename_page(2, 'House Style');
SELECT * FROM redirects ORDER BY slug;
SELECT coalesce(p.id, r.page) AS id, p.id IS NULL AS redirected FROM (VALUES ('home'), ('style_guide'), ('nowhere')) AS asked (slug) LEFT JOIN pages p ON p.space = 'dev' AND p.slug = asked.slug AND NOT p.deleted LEFT JOIN redirects r ON r.space = 'dev' AND r.slug = asked.slug ORDER BY asked.slug;
UPDATE pages SET deleted = true WHERE title = 'Naming';
INSERT INTO pages (space, title) VALUES ('dev', 'Naming') RETURNING id > 5 AS fresh, slug;
UPDATE pages SET deleted = false WHERE title = 'Naming' AND deleted;
UPDATE spaces SET key = 'eng' WHERE key = 'dev';
SELECT space, count(*), count(parent), max(version) FROM pages GROUP BY space ORDER BY space;
DELETE FROM pages WHERE id = 1;
BEGIN;
UPDATE pages SET parent = NULL WHERE parent = 1;
SAVEPOINT s1;
DELETE FROM pages WHERE id = 1;
SELECT key, home FROM spaces ORDER BY key;
RELEASE SAVEPOINT s1;
SELECT source, target_slug, target FROM links ORDER BY 1, 2;
COMMIT;
DELETE FROM spaces WHERE key = 'eng';
SELECT (SELECT count(*) FROM pages) AS pages, (SELECT count(*) FROM versions) AS versions, (SELECT count(*) FROM rights) AS rights;
ALTER TABLE versions DROP COLUMN body;
ALTER TABLE versions ALTER COLUMN hash DROP EXPRESSION, ALTER COLUMN author TYPE varchar(3);
UPDATE versions SET hash = 'x' RETURNING hash;
ALTER TABLE versions ADD COLUMN size int NOT NULL GENERATED ALWAYS AS (octet_length(body)) STORED;
SELECT size FROM versions;
