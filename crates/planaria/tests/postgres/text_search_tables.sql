CREATE TABLE docs (id int PRIMARY KEY, title text NOT NULL, body text, tsv tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', title), 'A') || to_tsvector('english', coalesce(body, ''))) STORED);
INSERT INTO docs VALUES (1, 'Cats', 'The cats sit on mats'), (2, 'Dogs', 'Dogs run after cats'), (3, 'Birds', NULL);
SELECT id, tsv FROM docs ORDER BY id;
SELECT id FROM docs WHERE tsv @@ to_tsquery('english', 'cat') ORDER BY id;
SELECT id, ts_rank(tsv, q) FROM docs, plainto_tsquery('english', 'cats') AS q WHERE tsv @@ q ORDER BY 2 DESC, 1;
SELECT d.id, ts_headline('english', d.body, q) FROM docs AS d, to_tsquery('english', 'cat | dog') AS q WHERE d.tsv @@ q ORDER BY 1;
UPDATE docs SET body = 'Birds fly to the cats' WHERE id = 3;
SELECT id FROM docs WHERE tsv @@ 'cat' ORDER BY id;
CREATE TABLE bad (a text, tsv tsvector GENERATED ALWAYS AS (to_tsvector(a)) STORED);
CREATE TABLE bad (a text, q tsquery GENERATED ALWAYS AS (to_tsquery(a)) STORED);
CREATE TABLE langs (id int PRIMARY KEY, lang regconfig NOT NULL DEFAULT 'english', body text, tsv tsvector GENERATED ALWAYS AS (to_tsvector(lang, body)) STORED);
INSERT INTO langs VALUES (1, 'english', 'running foxes'), (2, 'german', 'laufende Füchse'), (3, DEFAULT, 'jumping');
SELECT id, lang, tsv FROM langs ORDER BY id;
SELECT column_name, data_type, udt_name FROM information_schema.columns WHERE table_name = 'langs' ORDER BY ordinal_position;
CREATE TABLE plain (id serial PRIMARY KEY, v tsvector, q tsquery, vs tsvector[], qs tsquery[]);
INSERT INTO plain (v, q, vs, qs) VALUES ('a:1 b:2', 'a & b', '{"a b","c:1A"}', '{"a | b",c}');
INSERT INTO plain (v, q) VALUES (to_tsvector('simple', 'x y'), NULL), ('', 'z');
SELECT * FROM plain ORDER BY id;
SELECT vs[1] @@ 'a', v @@ q FROM plain ORDER BY id;
CREATE UNIQUE INDEX plain_v ON plain (v);
INSERT INTO plain (v) VALUES ('b:2 a:1');
SELECT id FROM plain WHERE v = 'a:1 b:2';
UPDATE plain SET v = v || 'z' WHERE id = 1;
SELECT v, q FROM plain ORDER BY v, q;
SELECT count(DISTINCT v) FROM plain;
CREATE FUNCTION matches(v tsvector, words text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  q tsquery := plainto_tsquery('english', words);
BEGIN
  RETURN v @@ q;
END $$;
SELECT id, matches(tsv, 'cats') FROM docs ORDER BY id;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.v := to_tsvector('english', 'stamped ' || NEW.id);
  RETURN NEW;
END $$;
CREATE TRIGGER stamp BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION stamp();
INSERT INTO plain (id) VALUES (10) RETURNING v;
CREATE INDEX bad_index ON docs USING gin (to_tsvector(body));
CREATE INDEX on_lower ON docs ((to_tsvector('english', body)));
SELECT id FROM docs WHERE to_tsvector('english', body) = to_tsvector('english', 'birds fly to cats') ORDER BY id;
ALTER TABLE docs ADD COLUMN note text;
ALTER TABLE docs ADD COLUMN note_tsv tsvector GENERATED ALWAYS AS (to_tsvector('simple', coalesce(note, 'None'))) STORED;
SELECT id, note_tsv FROM docs ORDER BY id;
ALTER TABLE plain ALTER COLUMN v TYPE text;
SELECT v FROM plain ORDER BY id;
ALTER TABLE plain ALTER COLUMN v TYPE tsvector USING v::tsvector;
