-- Bills of material: assemblies in assemblies, what a product takes and costs, where a part is used, a change of a price that goes up the tree.
SET timezone = 'UTC';
CREATE TYPE unit AS ENUM ('piece', 'g', 'ml', 'm');
CREATE DOMAIN quantity AS numeric(12,3) CONSTRAINT positive CHECK (VALUE > 0);
CREATE TABLE parts (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, no text NOT NULL UNIQUE, name jsonb NOT NULL, unit unit NOT NULL DEFAULT 'piece', price numeric(12,4), made boolean NOT NULL DEFAULT false,
  search tsvector GENERATED ALWAYS AS (to_tsvector('english', coalesce(name ->> 'en', ''))) STORED,
  CONSTRAINT bought_or_made CHECK (made OR price IS NOT NULL), CONSTRAINT named CHECK (name ? 'en' AND jsonb_typeof(name) = 'object'));
CREATE INDEX ON parts USING gin (search);
CREATE INDEX ON parts ((name ->> 'de'));
CREATE TABLE bom (assembly int REFERENCES parts, pos int, part int NOT NULL REFERENCES parts, quantity quantity, scrap numeric(4,3) NOT NULL DEFAULT 0, valid daterange NOT NULL DEFAULT '(,)', PRIMARY KEY (assembly, pos), CHECK (assembly <> part), CHECK (scrap >= 0 AND scrap < 1));
CREATE TABLE paths (assembly int NOT NULL REFERENCES parts ON DELETE CASCADE, part int NOT NULL REFERENCES parts ON DELETE CASCADE, depth int NOT NULL, ways int NOT NULL, PRIMARY KEY (assembly, part, depth));
CREATE FUNCTION no_loops() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE ring text;
BEGIN
  WITH RECURSIVE down(part, path) AS (SELECT NEW.part, ARRAY[NEW.assembly, NEW.part] UNION ALL SELECT b.part, path || b.part FROM down d JOIN bom b ON b.assembly = d.part WHERE d.part <> NEW.assembly)
    SELECT string_agg(p.no, ' > ' ORDER BY u.n) INTO ring FROM (SELECT path FROM down WHERE part = NEW.assembly ORDER BY cardinality(path), path LIMIT 1) d, unnest(d.path) WITH ORDINALITY u(id, n) JOIN parts p ON p.id = u.id;
  IF ring IS NOT NULL THEN RAISE EXCEPTION 'a loop: %', ring USING ERRCODE = 'BM001'; END IF;
  UPDATE parts SET made = true WHERE id = NEW.assembly AND NOT made;
  RETURN NEW;
END $$;
CREATE TRIGGER no_loops BEFORE INSERT OR UPDATE ON bom FOR EACH ROW EXECUTE FUNCTION no_loops();
CREATE FUNCTION keep_paths() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM paths;
  INSERT INTO paths WITH RECURSIVE p AS (SELECT assembly, part, 1 AS depth FROM bom UNION ALL SELECT p.assembly, b.part, p.depth + 1 FROM p JOIN bom b ON b.assembly = p.part) SELECT assembly, part, depth, count(*) FROM p GROUP BY assembly, part, depth;
  RETURN NULL;
END $$;
CREATE TRIGGER keep_paths AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON bom EXECUTE FUNCTION keep_paths();
INSERT INTO parts (no, name, unit, price) VALUES ('S-4', '{"en": "Screws, zinc plated", "de": "Schrauben"}', 'piece', 0.02), ('W-26', '{"en": "Wheel"}', 'piece', 40), ('T-1', '{"en": "Steel tubes", "de": "Stahlrohr"}', 'm', 6.5), ('P-R', '{"en": "Red paint", "de": "Lack, rot"}', 'ml', 0.011), ('SP', '{"en": "Spokes"}', 'piece', 0.15);
INSERT INTO parts (no, name, made) VALUES ('F-1', '{"en": "Painted frame"}', true), ('B-1', '{"en": "Bicycle for the town", "de": "Stadtrad"}', true), ('B-3', '{"en": "Tricycle"}', true);
INSERT INTO parts (no, name) VALUES ('X', '{"en": "x"}');
INSERT INTO parts (no, name, price) VALUES ('X', '{"de": "x"}', 1);
INSERT INTO parts (no, name, price) VALUES ('X', '["en"]', 1);
INSERT INTO parts (no, name, price, search) VALUES ('X', '{"en": "x"}', 1, 'x');
INSERT INTO parts (no, name, price, unit) VALUES ('X', '{"en": "x"}', 1, 'kg');
INSERT INTO bom (assembly, pos, part, quantity, scrap) SELECT a.id, v.pos, p.id, v.q, v.s FROM (VALUES ('F-1', 1, 'T-1', 3.25, 0.1), ('F-1', 2, 'P-R', 120, 0.25), ('W-26', 1, 'SP', 36, 0), ('B-1', 1, 'F-1', 1, 0), ('B-1', 2, 'W-26', 2, 0), ('B-1', 3, 'S-4', 14, 0.02), ('B-3', 1, 'B-1', 1, 0), ('B-3', 2, 'W-26', 1, 0), ('B-3', 3, 'S-4', 6, 0)) AS v (a, pos, p, q, s) JOIN parts a ON a.no = v.a JOIN parts p ON p.no = v.p;
SELECT no, made, price FROM parts ORDER BY no;
INSERT INTO bom VALUES (2, 9, 8, 1);
INSERT INTO bom VALUES (3, 1, 3, 1);
INSERT INTO bom VALUES (3, 1, 1, 0);
INSERT INTO bom VALUES (3, 1, 1, 1, 1);
INSERT INTO bom VALUES (3, 1, 1, '1e10');
INSERT INTO bom VALUES (3, 1, 1, 0.0004);
SELECT a.no, p.no, depth, ways FROM paths JOIN parts a ON a.id = assembly JOIN parts p ON p.id = part WHERE depth > 1 ORDER BY 1, 2, 3;
CREATE FUNCTION explode(p_no text, n numeric DEFAULT 1, p_day date DEFAULT '2024-01-01') RETURNS TABLE (level int, no text, needed numeric, unit unit, sort text) LANGUAGE sql STABLE ROWS 50 AS $$
  WITH RECURSIVE x AS (
    SELECT 0 AS level, p.id, n::numeric AS needed, ARRAY[0] AS sort FROM parts p WHERE p.no = p_no
    UNION ALL
    SELECT x.level + 1, b.part, x.needed * b.quantity / (1 - b.scrap), x.sort || b.pos FROM x JOIN bom b ON b.assembly = x.id AND b.valid @> p_day)
  SELECT x.level, p.no, round(x.needed, 3), p.unit, array_to_string(x.sort[2:], '.') FROM x JOIN parts p ON p.id = x.id ORDER BY x.sort $$;
SELECT repeat('. ', level) || no AS part, needed, unit, sort FROM explode('B-3', 10);
SELECT no, sum(needed) FROM explode('B-3', n => 2) GROUP BY no HAVING count(*) > 1 ORDER BY no;
CREATE FUNCTION cost(p_part int, depth int DEFAULT 0) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
DECLARE c numeric; own numeric;
BEGIN
  IF depth > 20 THEN RAISE EXCEPTION 'too deep'; END IF;
  SELECT sum(cost(b.part, depth + 1) * b.quantity / (1 - b.scrap)) INTO c FROM bom b WHERE b.assembly = p_part;
  SELECT price INTO own FROM parts WHERE id = p_part;
  RETURN round(coalesce(c, 0) + coalesce(own, 0), 4);
END $$;
SELECT no, cost(id), cost(id) * 1.4 - price AS margin FROM parts ORDER BY no;
CREATE MATERIALIZED VIEW price_list AS SELECT no, name ->> 'en' AS name, ceil(cost(id) * 1.4) - 0.01 AS price FROM parts WHERE made AND NOT EXISTS (SELECT FROM bom WHERE part = parts.id) WITH DATA;
TABLE price_list ORDER BY no;
UPDATE parts SET price = price * 1.1 WHERE no = 'W-26';
REFRESH MATERIALIZED VIEW price_list;
TABLE price_list;
WITH RECURSIVE used AS (SELECT assembly, part, 1 AS depth FROM bom JOIN parts p ON p.id = part WHERE p.no = 'SP' UNION SELECT b.assembly, b.part, u.depth + 1 FROM bom b JOIN used u ON u.assembly = b.part) SEARCH BREADTH FIRST BY assembly SET ord
  SELECT p.no, depth FROM used JOIN parts p ON p.id = assembly ORDER BY ord;
WITH RECURSIVE used AS (SELECT assembly FROM bom JOIN parts p ON p.id = part WHERE p.no = 'T-1' UNION SELECT b.assembly FROM bom b JOIN used u ON u.assembly = b.part) SELECT count(*), string_agg(no, ',' ORDER BY no) FROM used JOIN parts p ON p.id = used.assembly;
SELECT no, ts_rank(search, q)::numeric(6,4), ts_headline('english', name ->> 'en', q) FROM parts, to_tsquery('english', 'paint | steel & tube') q WHERE search @@ q ORDER BY 2 DESC, 1;
SELECT no FROM parts WHERE search @@ websearch_to_tsquery('english', '"bicycle town" or -wheel frame') ORDER BY no;
SELECT no, name -> 'de' IS NULL, coalesce(name ->> 'de', name ->> 'en') COLLATE "C" AS label, jsonb_path_query_first(name, '$.* ? (@ like_regex "^s" flag "i")') FROM parts ORDER BY label;
UPDATE parts SET name = name || jsonb_build_object('fr', 'vis') - 'de', unit = DEFAULT WHERE no = 'S-4' RETURNING name, unit, search;
UPDATE parts SET name['it'] = '"viti"' WHERE no = 'S-4' RETURNING name;
UPDATE parts SET name = name - 'en' WHERE no = 'S-4';
-- Revisions: the old line ends where the new one begins.
CREATE PROCEDURE revise(p_no text, p_pos int, p_new text, p_from date) LANGUAGE plpgsql AS $$
DECLARE old bom; new_part parts.id%TYPE; a int;
BEGIN
  SELECT id INTO STRICT a FROM parts WHERE no = p_no;
  SELECT id INTO STRICT new_part FROM parts WHERE no = p_new;
  UPDATE bom SET valid = daterange(lower(valid), p_from) WHERE assembly = a AND pos = p_pos RETURNING * INTO STRICT old;
  old.pos := (SELECT max(pos) + 1 FROM bom WHERE assembly = a);
  old.part := new_part;
  old.valid := daterange(p_from, NULL);
  INSERT INTO bom SELECT old.*;
EXCEPTION
  WHEN no_data_found THEN RAISE EXCEPTION 'nothing to revise: % %', p_no, p_pos USING HINT = SQLERRM;
END $$;
CALL revise('B-1', 3, 'SP', '2024-07-01');
CALL revise('B-1', 33, 'SP', '2024-07-01');
CALL revise('B-1', 3, 'NO', '2024-07-01');
CALL revise('W-26', 1, 'B-3', '2024-07-01');
SELECT assembly, pos, part, quantity, valid, valid @> date '2024-07-01' AS then FROM bom ORDER BY 1, 2;
SELECT no, needed FROM explode('B-1', 1, '2024-06-30') EXCEPT SELECT no, needed FROM explode('B-1', 1, '2024-07-01');
SELECT level, count(*), json_agg(no ORDER BY no) FROM explode('B-1', p_day => '2024-07-01') GROUP BY GROUPING SETS (level, ()) ORDER BY level;
SELECT array_agg(DISTINCT unit ORDER BY unit DESC), max(unit), enum_last(NULL::unit), enum_range('g'::unit, NULL) FROM parts;
ALTER TYPE unit RENAME VALUE 'm' TO 'metre';
SELECT no, unit FROM parts WHERE unit = 'metre';
SELECT no FROM parts WHERE unit = 'm';
DELETE FROM bom WHERE assembly = (SELECT id FROM parts WHERE no = 'B-3');
SELECT count(*) FROM paths;
DELETE FROM parts WHERE no = 'B-3' RETURNING no, to_jsonb(parts.*) - 'search' - 'name';
DELETE FROM parts WHERE no = 'SP';
TRUNCATE bom;
SELECT count(*) FROM paths;
ALTER TABLE bom ALTER quantity DROP NOT NULL, ALTER quantity SET DEFAULT 1, DROP CONSTRAINT bom_check, ADD CONSTRAINT enough CHECK (quantity < 1000) NOT VALID;
INSERT INTO bom (assembly, pos, part) VALUES (1, 1, 2) RETURNING quantity;
ALTER TABLE bom VALIDATE CONSTRAINT enough;
SELECT conname, contype, convalidated, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid IN ('bom'::regclass, 'parts'::regclass) ORDER BY conname;
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'parts' ORDER BY indexname;
