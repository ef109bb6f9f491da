-- A site's content: translations with fallbacks, slugs made by triggers, versions, a menu in a tree, views that are written to, permissions by group.
SET timezone = 'UTC';
CREATE SCHEMA cms;
CREATE SCHEMA cms_api;
SET search_path = cms, public;
CREATE TYPE lang AS ENUM ('en', 'de', 'fr');
CREATE DOMAIN slug AS text CHECK (VALUE ~ '^[a-z0-9]+(-[a-z0-9]+)*$') CHECK (length(VALUE) <= 40);
CREATE TABLE pages (id serial PRIMARY KEY, parent int REFERENCES pages, place int NOT NULL DEFAULT 0, published tstzrange, owner name NOT NULL DEFAULT current_user, tags text[] NOT NULL DEFAULT '{}', CONSTRAINT places UNIQUE (parent, place) DEFERRABLE INITIALLY IMMEDIATE);
CREATE TABLE texts (page int REFERENCES pages ON DELETE CASCADE, lang lang, slug slug, title text NOT NULL, body text NOT NULL DEFAULT '', version int NOT NULL DEFAULT 1, search tsvector, PRIMARY KEY (page, lang), UNIQUE (lang, slug));
CREATE TABLE versions (page int, lang lang, version int, title text, body text, changed_by name, PRIMARY KEY (page, lang, version), FOREIGN KEY (page, lang) REFERENCES texts ON DELETE CASCADE);
CREATE TABLE fallbacks (lang lang PRIMARY KEY, next lang CHECK (lang <> next));
INSERT INTO fallbacks VALUES ('fr', 'en'), ('de', 'en'), ('en', NULL);
CREATE FUNCTION to_slug(t text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT trim(BOTH '-' FROM regexp_replace(translate(lower(t), 'äöüéèß', 'aouees'), '[^a-z0-9]+', '-', 'g')) $$;
SELECT to_slug('  Über uns & Ärger!  '), to_slug('Été 2024'), to_slug('!!!'), to_slug(NULL);
CREATE FUNCTION text_changes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE n int := 1; base text;
BEGIN
  IF TG_OP = 'INSERT' AND NEW.slug IS NULL THEN
    base := left(to_slug(NEW.title), 36);
    NEW.slug := base;
    WHILE EXISTS (SELECT 1 FROM texts WHERE lang = NEW.lang AND slug = NEW.slug) LOOP
      n := n + 1;
      NEW.slug := base || '-' || n;
    END LOOP;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.title, OLD.body) IS DISTINCT FROM (NEW.title, NEW.body) THEN
    NEW.version := OLD.version + 1;
    INSERT INTO versions VALUES (OLD.page, OLD.lang, OLD.version, OLD.title, OLD.body, current_user);
  END IF;
  NEW.search := setweight(to_tsvector(CASE NEW.lang WHEN 'de' THEN 'german' WHEN 'fr' THEN 'french' ELSE 'english' END::regconfig, NEW.title), 'A') || to_tsvector('simple', NEW.body);
  RETURN NEW;
END $$;
CREATE TRIGGER text_changes BEFORE INSERT OR UPDATE ON texts FOR EACH ROW EXECUTE FUNCTION text_changes();
CREATE FUNCTION next_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.place = 0 THEN NEW.place := (SELECT coalesce(max(place), 0) + 1 FROM pages WHERE parent IS NOT DISTINCT FROM NEW.parent); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER next_place BEFORE INSERT ON pages FOR EACH ROW EXECUTE FUNCTION next_place();
INSERT INTO pages (parent, published, tags) VALUES (NULL, '[2024-01-01,)', '{home}'), (1, '[2024-01-01,2024-06-01)', '{news,old}'), (1, '(,)', '{about}'), (3, NULL, '{}'), (3, 'empty', '{}');
INSERT INTO texts (page, lang, title, body) VALUES (1, 'en', 'Home', 'Welcome home'), (1, 'de', 'Zuhause', 'Willkommen'), (2, 'en', 'News of the day', 'Nothing new'), (3, 'en', 'About us', ''), (3, 'fr', 'À propos', ''), (4, 'en', 'About us', 'Twice'), (5, 'de', 'Häuser und Häfen', 'Ein Haus');
INSERT INTO texts (page, lang, slug, title) VALUES (4, 'de', 'Not a slug', 'x');
INSERT INTO texts (page, lang, slug, title) VALUES (4, 'de', repeat('a', 41), 'x');
INSERT INTO texts (page, lang, slug, title) VALUES (4, 'en', 'home', 'x');
INSERT INTO texts (page, lang, slug, title) VALUES (4, 'fr', 'a-propos', 'x'), (5, 'en', 'home', 'y');
INSERT INTO texts (page, lang, title) VALUES (5, 'en', '???');
SELECT page, lang, slug, search FROM texts ORDER BY page, lang;
UPDATE texts SET body = body || '!', title = upper(title) WHERE page = 1 RETURNING page, lang, version, slug;
UPDATE texts SET slug = 'start' WHERE page = 1 AND lang = 'en' RETURNING version;
SELECT page, lang, version, title, body, changed_by = current_user FROM versions ORDER BY page, lang, version;
-- The best text of a page: that of a language or of those it falls back to.
CREATE FUNCTION best(p_page int, p_lang lang, OUT lang lang, OUT title text, OUT fallen int) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE l lang := p_lang;
BEGIN
  fallen := 0;
  LOOP
    SELECT t.lang, t.title INTO lang, title FROM texts t WHERE t.page = p_page AND t.lang = l;
    EXIT WHEN FOUND;
    SELECT next INTO l FROM fallbacks f WHERE f.lang = l;
    IF l IS NULL THEN
      SELECT t.lang, '(' || t.title || ')' INTO lang, title FROM texts t WHERE t.page = p_page ORDER BY t.lang LIMIT 1;
      fallen := -1;
      RETURN;
    END IF;
    fallen := fallen + 1;
  END LOOP;
END $$;
SELECT p.id, l, (best(p.id, l)).* FROM pages p, unnest(enum_range('de'::lang, NULL)) l ORDER BY 1, 2;
CREATE VIEW cms_api.menu WITH (security_invoker = false) AS
  WITH RECURSIVE tree AS (SELECT id, ARRAY[place] AS path, 0 AS depth FROM pages WHERE parent IS NULL UNION ALL SELECT p.id, t.path || p.place, t.depth + 1 FROM pages p JOIN tree t ON p.parent = t.id)
  SELECT t.path, t.depth, t.id, b.lang, b.title FROM tree t CROSS JOIN LATERAL best(t.id, coalesce(current_setting('cms.lang', true), 'en')::lang) b;
SELECT repeat('- ', depth) || title FROM cms_api.menu ORDER BY path;
SET cms.lang = 'fr';
SELECT path, lang, title FROM cms_api.menu ORDER BY path;
RESET cms.lang;
-- Places change hands: checked when the statement ends, or later.
UPDATE pages SET place = 3 - place WHERE parent = 1;
UPDATE pages SET place = 1 WHERE id = 3;
SELECT id, place FROM pages ORDER BY id;
BEGIN;
SET CONSTRAINTS places DEFERRED;
UPDATE pages SET place = 2 WHERE id = 3;
UPDATE pages SET place = 1 WHERE id = 2;
COMMIT;
SELECT id, place FROM pages WHERE parent = 1 ORDER BY place;
-- Pages as one view, written through triggers.
CREATE VIEW cms_api.page AS SELECT p.id, t.lang, t.slug, t.title, t.body, p.tags, NOT isempty(coalesce(p.published, 'empty')) AND upper_inf(p.published) AS live FROM pages p JOIN texts t ON t.page = p.id;
CREATE FUNCTION page_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE p int;
BEGIN
  CASE TG_OP
    WHEN 'INSERT' THEN
      INSERT INTO cms.pages (tags, parent) VALUES (coalesce(NEW.tags, '{}'), 1) RETURNING id INTO p;
      INSERT INTO cms.texts (page, lang, title, body) VALUES (p, coalesce(NEW.lang, 'en'), NEW.title, coalesce(NEW.body, '')) RETURNING slug INTO NEW.slug;
      NEW.id := p;
    WHEN 'UPDATE' THEN
      IF NEW.id <> OLD.id THEN RAISE EXCEPTION 'ids stay' USING ERRCODE = 'feature_not_supported'; END IF;
      UPDATE cms.texts SET title = NEW.title, body = NEW.body, slug = NEW.slug WHERE page = OLD.id AND lang = OLD.lang;
      UPDATE cms.pages SET tags = NEW.tags WHERE id = OLD.id AND tags <> NEW.tags;
    ELSE
      DELETE FROM cms.texts WHERE page = OLD.id AND lang = OLD.lang;
      DELETE FROM cms.pages g WHERE id = OLD.id AND NOT EXISTS (SELECT FROM cms.texts WHERE page = g.id);
      RETURN OLD;
  END CASE;
  RETURN NEW;
END $$;
CREATE TRIGGER page_written INSTEAD OF INSERT OR UPDATE OR DELETE ON cms_api.page FOR EACH ROW EXECUTE FUNCTION page_written();
INSERT INTO cms_api.page (title, tags) VALUES ('News of the day', '{news}'), ('News of the day', NULL) RETURNING id, slug, live;
UPDATE cms_api.page SET body = initcap(title), tags = tags || 'x' WHERE slug LIKE 'news-%' RETURNING id, body, tags;
UPDATE cms_api.page SET id = id + 1 WHERE id = 6;
DELETE FROM cms_api.page WHERE id = 7 RETURNING *;
SELECT count(*) FROM pages WHERE id = 7;
SELECT id, slug, live FROM cms_api.page ORDER BY id, lang;
-- Who may.
CREATE ROLE cms_editor;
CREATE ROLE cms_guest;
GRANT USAGE ON SCHEMA cms_api TO cms_guest, cms_editor;
GRANT SELECT ON ALL TABLES IN SCHEMA cms_api TO cms_guest;
GRANT SELECT, INSERT, UPDATE (title, body), DELETE ON cms_api.page TO cms_editor;
SET ROLE cms_guest;
SELECT count(*) FROM cms.pages;
UPDATE cms_api.page SET title = 'x';
SET ROLE cms_editor;
UPDATE cms_api.page SET slug = 'x' WHERE id = 2;
UPDATE cms_api.page SET title = 'Old news' WHERE id = 2;
RESET ROLE;
DROP OWNED BY cms_editor;
DROP ROLE cms_editor;
DROP ROLE cms_guest;
REVOKE ALL ON ALL TABLES IN SCHEMA cms_api FROM cms_guest;
REVOKE USAGE ON SCHEMA cms_api FROM cms_guest;
DROP ROLE cms_guest;
SELECT page, ts_headline('german', title, q, 'StartSel=[,StopSel=]'), round(ts_rank(search, q)::numeric, 3) FROM texts, to_tsquery('german', 'haus | hafen') q WHERE search @@ q;
SELECT tag, count(*), array_agg(DISTINCT page ORDER BY page) FROM pages p JOIN texts t ON t.page = p.id, unnest(p.tags) tag GROUP BY tag ORDER BY count(*) DESC, tag;
SELECT lang, count(*), count(*) FILTER (WHERE version > 1), string_agg(slug, ',' ORDER BY slug) FROM texts GROUP BY ROLLUP (lang) ORDER BY lang NULLS FIRST;
SELECT page, string_agg(lang::text, '>' ORDER BY lang DESC), every(body <> ''), min(slug::text) FROM texts GROUP BY page HAVING count(*) > 1 ORDER BY page;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'page_written';
ALTER TABLE texts RENAME COLUMN body TO content;
SELECT body FROM cms_api.page WHERE id = 1 AND lang = 'en';
UPDATE texts SET content = 'x' WHERE page = 1;
ALTER TABLE pages DROP COLUMN tags;
DROP VIEW cms_api.menu, cms_api.page;
ALTER TABLE pages DROP COLUMN tags;
DELETE FROM pages WHERE id = 1;
DROP SCHEMA cms_api;
SELECT table_schema, table_name, column_name, domain_name FROM information_schema.columns WHERE domain_name IS NOT NULL AND table_schema <> 'information_schema' ORDER BY 2, 3;
