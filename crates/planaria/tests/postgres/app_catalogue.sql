-- A catalogue of categories in materialized paths: moves of branches, breadcrumbs, counts, names made to slugs.
SET client_min_messages = warning;
DROP TABLE IF EXISTS category, article CASCADE;
DROP FUNCTION IF EXISTS slugify(text);
CREATE OR REPLACE FUNCTION slugify(v text) RETURNS text AS $$
  SELECT trim(BOTH '-' FROM regexp_replace(lower(translate(v, 'äöüßéè', 'aouses')), '[^a-z0-9]+', '-', 'g'));
$$ LANGUAGE sql IMMUTABLE STRICT;
CREATE TABLE category (
  id serial NOT NULL,
  parent_id integer,
  name varchar(50) NOT NULL,
  slug text GENERATED ALWAYS AS (slugify(name)) STORED,
  path text NOT NULL DEFAULT '',
  depth int GENERATED ALWAYS AS (length(path) - length(replace(path, '/', ''))) STORED,
  ids int[] NOT NULL DEFAULT '{}',
  position smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  FOREIGN KEY (parent_id) REFERENCES category (id) ON DELETE CASCADE);
CREATE UNIQUE INDEX category_path ON category (path text_pattern_ops);
CREATE UNIQUE INDEX category_siblings ON category (coalesce(parent_id, 0), slug);
CREATE TABLE article (no varchar(20) PRIMARY KEY, category_id integer REFERENCES category ON DELETE SET NULL, title text NOT NULL, keywords text[], price numeric(9,2));
CREATE OR REPLACE FUNCTION category_path() RETURNS trigger AS $$
DECLARE up category%ROWTYPE;
BEGIN
  IF NEW.parent_id IS NULL THEN
    NEW.path := slugify(NEW.name); NEW.ids := ARRAY[NEW.id];
  ELSE
    SELECT * INTO up FROM category WHERE id = NEW.parent_id;
    IF TG_OP = 'UPDATE' AND OLD.id = ANY (up.ids) THEN
      RAISE EXCEPTION 'category "%" cannot move below itself', OLD.name USING ERRCODE = 'invalid_parameter_value';
    END IF;
    NEW.path := up.path || '/' || slugify(NEW.name);
    NEW.ids := up.ids || NEW.id;
  END IF;
  RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER category_path BEFORE INSERT OR UPDATE OF parent_id, name ON category FOR EACH ROW EXECUTE FUNCTION category_path();
CREATE OR REPLACE FUNCTION category_children() RETURNS trigger AS $$
BEGIN
  UPDATE category SET path = NEW.path || substr(path, length(OLD.path) + 1), ids = NEW.ids || ids[cardinality(OLD.ids) + 1:] WHERE path LIKE OLD.path || '/%';
  RETURN NULL;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER category_children AFTER UPDATE OF parent_id, name ON category FOR EACH ROW WHEN (OLD.path <> NEW.path) EXECUTE FUNCTION category_children();
INSERT INTO category (name) VALUES ('Haus & Garten'), ('Bücher');
INSERT INTO category (parent_id, name, position) VALUES (1, 'Möbel', 2), (1, 'Werkzeug', 1), (2, 'Romane', 0);
INSERT INTO category (parent_id, name) SELECT id, n FROM category CROSS JOIN unnest(ARRAY['Stühle', 'Tische (groß)']) n WHERE name = 'Möbel' RETURNING id, slug, path, depth, ids;
INSERT INTO category (name, parent_id) VALUES ('romane!', 2);
INSERT INTO category (name, parent_id) VALUES ('Nowhere', 77);
INSERT INTO category (name) VALUES (NULL);
INSERT INTO category (name) VALUES (repeat('lang', 13));
INSERT INTO category (name, path) VALUES ('Spiele', 'given') RETURNING path;
INSERT INTO category (name, slug) VALUES ('x', 'y');
INSERT INTO article VALUES ('T-1', 7, 'Tisch "Eiche"', '{holz,eiche}', 399), ('S-1', 6, 'Stuhl ''Nord''', '{holz,"kiefer natur"}', 89.9), ('B-1', 5, 'Der Berg\Tal', NULL, 12.995), ('H-1', 4, E'Hammer\tschwer', '{}', 19), ('X-1', NULL, 'Ohne', '{NULL,"null"}', NULL);
SELECT c.path, repeat(' ', depth) || c.name AS name, count(a.no) AS own, (SELECT count(*) FROM article x JOIN category d ON d.id = x.category_id WHERE d.path = c.path OR d.path LIKE c.path || '/%') AS all_below FROM category c LEFT JOIN article a ON a.category_id = c.id GROUP BY c.id ORDER BY c.path;
-- Breadcrumbs.
SELECT a.title, string_agg(c.name, ' / ' ORDER BY x.n) AS crumbs FROM article a JOIN category l ON l.id = a.category_id CROSS JOIN unnest(l.ids) WITH ORDINALITY AS x(id, n) JOIN category c ON c.id = x.id GROUP BY a.no, a.title ORDER BY a.no;
SELECT path, split_part(path, '/', 1) AS root, split_part(path, '/', -1) AS leaf, string_to_array(path, '/') AS parts, (string_to_array(path, '/'))[2] AS second, cardinality(string_to_array(path, '/')), left(path, -3), right(path, 4), strpos(path, '/'), position('/' IN path), reverse(path), initcap(replace(path, '-', ' ')) FROM category ORDER BY id LIMIT 4;
SELECT path, regexp_split_to_array(path, '[/-]+'), regexp_match(path, '([a-z]+)$'), regexp_matches(path, '(o)(.)', 'g'), regexp_count(path, 'e'), substring(path FROM '/(.*)$'), overlay(path PLACING '**' FROM 2 FOR 3) FROM category WHERE path ~ 'mobel|romane' ORDER BY path;
SELECT t, count(*) FROM category, regexp_split_to_table(path, '/') AS t GROUP BY t ORDER BY 2 DESC, 1;
SELECT ids[1], ids[1:1], ids[2:], ids[:array_upper(ids, 1) - 1] AS above, array_length(ids, 1), array_dims(ids), ids || 0, array_prepend(0, ids), array_cat(ids, '{9}'), array_positions(ids || 1, 1), array_replace(ids, 1, 100) FROM category WHERE 1 = ANY (ids) ORDER BY id;
SELECT id, ids @> ARRAY[1, 3] AS below, ids && '{2,3}' AS meets, ids <@ '{1,2,3}' AS within, ids = '{1,3}' AS same, ids < '{1,4}' AS less FROM category ORDER BY ids;
-- Moves.
UPDATE category SET parent_id = 2 WHERE id = 3;
UPDATE category SET name = 'Bücher & Möbel' WHERE id = 2;
SELECT id, path, ids, depth FROM category ORDER BY path;
UPDATE category SET parent_id = 6 WHERE id = 2;
UPDATE category SET parent_id = NULL, name = 'Möbel neu' WHERE slug = 'mobel' RETURNING path;
UPDATE category SET name = 'Romane' WHERE id = 4 AND parent_id = 1 RETURNING path;
UPDATE category SET parent_id = 1 WHERE id = 5;
WITH RECURSIVE t AS (SELECT id, name, ARRAY[row_number() OVER (ORDER BY position, name)] AS pos FROM category WHERE parent_id IS NULL UNION ALL SELECT c.id, c.name, t.pos || row_number() OVER (PARTITION BY c.parent_id ORDER BY c.position, c.name) FROM category c JOIN t ON t.id = c.parent_id)
SELECT array_to_string(pos, '.') AS nr, name FROM t ORDER BY pos;
-- The whole tree as one json.
CREATE FUNCTION subtree(root int) RETURNS json AS $$
  SELECT json_strip_nulls(json_build_object('name', c.name, 'articles', (SELECT json_agg(title ORDER BY no) FROM article WHERE category_id = c.id), 'children', (SELECT json_agg(subtree(k.id) ORDER BY k.path) FROM category k WHERE k.parent_id = c.id)))
    FROM category c WHERE c.id = root
$$ LANGUAGE sql STABLE;
CREATE FUNCTION subtree(root int) RETURNS json AS $$
DECLARE c category; kids json;
BEGIN
  SELECT * INTO c FROM category WHERE id = root;
  SELECT json_agg(subtree(k.id) ORDER BY k.path) INTO kids FROM category k WHERE k.parent_id = root;
  RETURN json_strip_nulls(json_build_object('name', c.name, 'articles', (SELECT json_agg(title ORDER BY no) FROM article WHERE category_id = c.id), 'children', kids));
END
$$ LANGUAGE plpgsql STABLE;
SELECT subtree(id) FROM category WHERE parent_id IS NULL ORDER BY path;
SELECT no, title, keywords, array_to_string(keywords, ',', '-') AS words, 'holz' = ANY (keywords) AS wood, 'x' <> ALL (keywords) AS no_x, coalesce(array_length(keywords, 1), 0) AS n, keywords[1] IS NULL, quote_literal(title), quote_ident(title), quote_nullable(price), format('%-8s|%8s|%I|%L|%%', no, price, title, keywords[1]) FROM article ORDER BY no;
SELECT k, array_agg(no ORDER BY no DESC) FROM article LEFT JOIN LATERAL unnest(keywords) k ON true GROUP BY k ORDER BY k NULLS FIRST;
SELECT no FROM article WHERE title ILIKE '%ISCH%' OR title LIKE '%\\%' OR title LIKE 'St_hl%' OR title SIMILAR TO '(Ha|Oh)%' ORDER BY no COLLATE "C" DESC;
SELECT upper(title), md5(title), length(title), octet_length(title), char_length('ä'), ascii('ä'), chr(228), btrim(title, 'eTt'), rpad(title, 12, '.'), starts_with(title, 'T') FROM article WHERE no = 'T-1';
DELETE FROM category WHERE path = 'mobel-neu';
SELECT no, category_id FROM article WHERE category_id IS NULL ORDER BY no;
ALTER TABLE category ADD CONSTRAINT few_levels CHECK (cardinality(ids) <= 1);
ALTER TABLE category ADD CONSTRAINT few_levels CHECK (cardinality(ids) <= 4) NOT VALID;
ALTER TABLE category VALIDATE CONSTRAINT few_levels;
ALTER TABLE article ALTER COLUMN title TYPE varchar(8);
ALTER TABLE article ALTER title TYPE varchar(16), ALTER price SET NOT NULL;
ALTER TABLE article ADD COLUMN slug text NOT NULL;
ALTER TABLE article ADD COLUMN slug text NOT NULL DEFAULT 'none', DROP COLUMN keywords;
UPDATE article SET slug = slugify(title), price = coalesce(price, 0);
TABLE article ORDER BY 1;
CREATE INDEX article_slug ON article (slug) WHERE price > 0;
DROP FUNCTION slugify(text);
