-- with contexts
-- Categories in a tree: a closure table that triggers keep, paths, moves of branches, counts up the tree, orderings by SEARCH, what is deleted with its branch.
CREATE TABLE nodes (id int PRIMARY KEY, parent int REFERENCES nodes ON DELETE CASCADE DEFERRABLE, name text NOT NULL, pos int NOT NULL DEFAULT 0, items int NOT NULL DEFAULT 0 CHECK (items >= 0), total int NOT NULL DEFAULT 0, UNIQUE NULLS NOT DISTINCT (parent, name));
CREATE TABLE closure (ancestor int REFERENCES nodes ON DELETE CASCADE, node int REFERENCES nodes ON DELETE CASCADE, depth int NOT NULL CHECK (depth >= 0), PRIMARY KEY (ancestor, node));
CREATE INDEX closure_node ON closure (node, depth);
CREATE TABLE moved (at serial PRIMARY KEY, node int, old_path text, new_path text, trail text[]);
CREATE FUNCTION path_of(p_node int, sep text DEFAULT '/') RETURNS text LANGUAGE sql STABLE AS $$ SELECT string_agg(n.name, sep ORDER BY c.depth DESC) FROM closure c JOIN nodes n ON n.id = c.ancestor WHERE c.node = p_node $$;
CREATE FUNCTION node_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO closure VALUES (NEW.id, NEW.id, 0);
  INSERT INTO closure SELECT ancestor, NEW.id, depth + 1 FROM closure WHERE node = NEW.parent;
  UPDATE nodes SET total = total + NEW.items WHERE id IN (SELECT ancestor FROM closure WHERE node = NEW.id) AND NEW.items <> 0;
  RETURN NULL;
END $$;
CREATE TRIGGER node_in AFTER INSERT ON nodes FOR EACH ROW EXECUTE FUNCTION node_in();
CREATE FUNCTION node_moves() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE was text; trail text[]; r record; t int;
BEGIN
  IF EXISTS (SELECT FROM closure WHERE ancestor = NEW.id AND node = NEW.parent) THEN
    RAISE EXCEPTION 'node % cannot be moved below itself', NEW.id USING ERRCODE = 'TR001', DETAIL = format('%s is in its branch.', path_of(NEW.parent));
  END IF;
  was := path_of(NEW.id);
  SELECT total INTO t FROM nodes WHERE id = NEW.id;
  UPDATE nodes SET total = total - t WHERE id IN (SELECT ancestor FROM closure WHERE node = NEW.id AND depth > 0);
  DELETE FROM closure c USING closure sub, closure up WHERE sub.ancestor = NEW.id AND up.node = NEW.id AND up.depth > 0 AND c.node = sub.node AND c.ancestor = up.ancestor;
  INSERT INTO closure SELECT up.ancestor, sub.node, up.depth + sub.depth + 1 FROM closure up CROSS JOIN closure sub WHERE up.node = NEW.parent AND sub.ancestor = NEW.id;
  UPDATE nodes SET total = total + t WHERE id IN (SELECT ancestor FROM closure WHERE node = NEW.id AND depth > 0);
  FOR r IN SELECT n.name, c.depth FROM closure c JOIN nodes n ON n.id = c.ancestor WHERE c.node = NEW.id ORDER BY c.depth LOOP
    trail := trail || (r.depth || ':' || r.name);
  END LOOP;
  INSERT INTO moved (node, old_path, new_path, trail) VALUES (NEW.id, was, path_of(NEW.id), trail);
  RETURN NULL;
END $$;
CREATE TRIGGER node_moves AFTER UPDATE OF parent ON nodes FOR EACH ROW WHEN (OLD.parent IS DISTINCT FROM NEW.parent) EXECUTE FUNCTION node_moves();
CREATE FUNCTION items_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE nodes n SET total = n.total + d.diff FROM (SELECT c.ancestor, sum(a.items - b.items) AS diff FROM new_nodes a JOIN old_nodes b USING (id) JOIN closure c ON c.node = a.id GROUP BY 1 HAVING sum(a.items - b.items) <> 0) d WHERE d.ancestor = n.id;
  RETURN NULL;
END $$;
CREATE TRIGGER items_change AFTER UPDATE ON nodes REFERENCING OLD TABLE AS old_nodes NEW TABLE AS new_nodes FOR EACH STATEMENT WHEN (pg_trigger_depth() < 2) EXECUTE FUNCTION items_change();
CREATE FUNCTION node_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE nodes SET total = total - OLD.total WHERE id IN (SELECT ancestor FROM closure WHERE node = OLD.parent);
  RETURN OLD;
END $$;
CREATE TRIGGER node_out BEFORE DELETE ON nodes FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION node_out();
INSERT INTO nodes VALUES (1, NULL, 'root', 0, 0), (2, 1, 'books', 1, 3), (3, 1, 'music', 2, 5), (4, 2, 'novels', 1, 10), (5, 2, 'poems', 2, 1), (6, 4, 'crime', 1, 7), (7, 3, 'jazz', 1, 2);
SELECT id, path_of(id), total FROM nodes ORDER BY id;
SELECT * FROM closure ORDER BY ancestor, node;
INSERT INTO nodes VALUES (8, NULL, 'root');
INSERT INTO nodes VALUES (8, 1, 'books') ON CONFLICT (parent, name) DO UPDATE SET items = nodes.items + 1 RETURNING id, items;
SELECT id, total FROM nodes ORDER BY id;
UPDATE nodes SET items = items + id WHERE id IN (6, 7);
SELECT id, items, total FROM nodes ORDER BY id;
UPDATE nodes SET parent = 3 WHERE id = 4;
UPDATE nodes SET parent = 6 WHERE id = 3;
UPDATE nodes SET parent = 3 WHERE id = 3;
SELECT * FROM moved;
SELECT id, path_of(id, ' > '), total FROM nodes ORDER BY 2;
WITH RECURSIVE t AS (SELECT id, parent, name, pos FROM nodes WHERE parent IS NULL UNION ALL SELECT n.id, n.parent, n.name, n.pos FROM nodes n JOIN t ON t.id = n.parent) SEARCH DEPTH FIRST BY pos, id SET o SELECT id, name FROM t ORDER BY o;
WITH RECURSIVE t AS (SELECT id, parent, name, pos FROM nodes WHERE parent IS NULL UNION ALL SELECT n.id, n.parent, n.name, n.pos FROM nodes n JOIN t ON t.id = n.parent) SEARCH BREADTH FIRST BY name SET o SELECT id, name, o FROM t ORDER BY o;
SELECT n.id, s.sum, n.total = s.sum AS right FROM nodes n, LATERAL (SELECT sum(m.items) FROM closure c JOIN nodes m ON m.id = c.node WHERE c.ancestor = n.id) s ORDER BY 1;
CREATE FUNCTION subtree(p_root int, p_max int DEFAULT NULL) RETURNS TABLE (id int, depth int, label text, leaf boolean) LANGUAGE plpgsql STABLE ROWS 50 AS $$
BEGIN
  RETURN QUERY EXECUTE 'SELECT n.id, c.depth, repeat(''. '', c.depth) || n.name, NOT EXISTS (SELECT FROM nodes k WHERE k.parent = n.id) FROM closure c JOIN nodes n ON n.id = c.node WHERE c.ancestor = $1' || CASE WHEN p_max IS NOT NULL THEN ' AND c.depth <= $2' ELSE '' END || ' ORDER BY path_of(n.id)' USING p_root, p_max;
  IF NOT FOUND THEN RAISE WARNING 'no node %', p_root; END IF;
END $$;
SELECT * FROM subtree(1);
SELECT * FROM subtree(3, 1);
SELECT * FROM subtree(99);
CREATE FUNCTION as_json(p_root int) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE r nodes; kids jsonb;
BEGIN
  SELECT * INTO STRICT r FROM nodes WHERE id = p_root;
  SELECT jsonb_agg(as_json(id) ORDER BY pos, id) INTO kids FROM nodes WHERE parent = p_root;
  RETURN jsonb_strip_nulls(jsonb_build_object('name', r.name, 'total', r.total, 'in', kids));
END $$;
SELECT as_json(1);
SELECT as_json(55);
SELECT jsonb_path_query_array(as_json(1), '$.**.name'), jsonb_path_query(as_json(1), '$.**[*] ? (@.total > 20).name');
CREATE PROCEDURE load_paths(p_paths text[], INOUT made int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE p text; part text; cur int; nxt int;
BEGIN
  FOREACH p IN ARRAY p_paths LOOP
    cur := NULL;
    FOREACH part IN ARRAY string_to_array(p, '/') LOOP
      SELECT id INTO nxt FROM nodes WHERE parent IS NOT DISTINCT FROM cur AND name = part;
      IF NOT FOUND THEN
        INSERT INTO nodes (id, parent, name) SELECT max(id) + 1, cur, part FROM nodes RETURNING id INTO nxt;
        made := made + 1;
      END IF;
      cur := nxt;
    END LOOP;
  END LOOP;
END $$;
CALL load_paths('{root/music/jazz/bebop,root/music/folk,root/games}');
CALL load_paths('{root/music/jazz/bebop}', 100);
SELECT id, parent, path_of(id) FROM nodes WHERE id > 7 ORDER BY id;
DO $$
DECLARE levels int[][]; l int[]; a int[] := '{}';
BEGIN
  SELECT array_agg(ARRAY[depth, n] ORDER BY depth) INTO levels FROM (SELECT c.depth, count(*)::int AS n FROM closure c WHERE ancestor = 1 GROUP BY 1) x;
  FOREACH l SLICE 1 IN ARRAY levels LOOP RAISE NOTICE 'level % has %', l[1], l[2]; a := a || l[2]; END LOOP;
  RAISE NOTICE '% % %', a, levels[2:3][2:2], array_dims(levels);
END $$;
DO $$
DECLARE r record; prev record;
BEGIN
  SELECT 0 AS id, '-'::text AS name, 0 AS depth INTO prev;
  FOR r IN SELECT n.id, n.name, c.depth FROM nodes n JOIN closure c ON c.node = n.id AND c.ancestor = 1 ORDER BY path_of(n.id) LOOP
    IF r.depth > prev.depth THEN RAISE NOTICE '% begins a branch with %', prev.name, r.name; END IF;
    prev := r;
  END LOOP;
END $$;
DELETE FROM nodes WHERE id = 4 RETURNING path_of(id) IS NULL, total;
SELECT id, total FROM nodes ORDER BY id;
SELECT count(*) FROM closure WHERE node NOT IN (SELECT id FROM nodes);
WITH moved_up AS (UPDATE nodes SET parent = (SELECT p.parent FROM nodes p WHERE p.id = nodes.parent) WHERE name = 'bebop' RETURNING id, parent) SELECT m.parent, p.name FROM moved_up m JOIN nodes p ON p.id = m.parent;
SELECT path_of(id) FROM nodes WHERE name = 'bebop';
SELECT * FROM moved ORDER BY at;
WITH a AS (SELECT ancestor FROM closure WHERE node = 7), b AS (SELECT ancestor, depth FROM closure WHERE node = 5) SELECT path_of(ancestor) FROM a JOIN b USING (ancestor) ORDER BY depth LIMIT 1;
CREATE MATERIALIZED VIEW breadcrumbs AS SELECT id, path_of(id) AS path, to_tsvector('simple', replace(path_of(id), '/', ' ')) AS words FROM nodes WITH NO DATA;
SELECT * FROM breadcrumbs;
REFRESH MATERIALIZED VIEW breadcrumbs;
CREATE UNIQUE INDEX ON breadcrumbs (id);
SELECT path FROM breadcrumbs WHERE words @@ to_tsquery('simple', 'music & !jazz') ORDER BY 1;
UPDATE nodes SET name = 'ROOT' WHERE id = 1;
REFRESH MATERIALIZED VIEW CONCURRENTLY breadcrumbs;
SELECT path, ts_rank(words, to_tsquery('simple', 'root')) > 0 FROM breadcrumbs ORDER BY id LIMIT 2;
SELECT parent, name, dense_rank() OVER (ORDER BY parent NULLS FIRST), sum(total) OVER (PARTITION BY parent ORDER BY pos, id ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW) FROM nodes ORDER BY parent NULLS FIRST, pos, id;
BEGIN;
SET CONSTRAINTS ALL DEFERRED;
INSERT INTO nodes VALUES (51, 50, 'child'), (50, 1, 'late');
COMMIT;
SELECT * FROM closure WHERE node IN (50, 51) ORDER BY 1, 2;
DELETE FROM nodes WHERE id = 3 RETURNING total;
SELECT id, total FROM nodes ORDER BY id;
DELETE FROM nodes WHERE id = 1;
SELECT count(*), (SELECT count(*) FROM closure) FROM nodes;
