-- What the audit of queries found: WITH RECURSIVE in front of changes, lists of columns in ROWS FROM, parts of jsonb variables.
CREATE TABLE node (id int PRIMARY KEY, parent int REFERENCES node ON DELETE CASCADE, name text, depth int);
INSERT INTO node VALUES (1, NULL, 'root', NULL), (2, 1, 'a', NULL), (3, 1, 'b', NULL), (4, 2, 'aa', NULL), (5, 4, 'aaa', NULL), (6, 3, 'ba', NULL);
WITH RECURSIVE tree AS (
    SELECT id, 0 AS depth FROM node WHERE parent IS NULL
    UNION ALL
    SELECT n.id, t.depth + 1 FROM node n JOIN tree t ON n.parent = t.id
)
UPDATE node n SET depth = t.depth FROM tree t WHERE t.id = n.id RETURNING n.id, n.depth;
SELECT * FROM node ORDER BY id;
WITH RECURSIVE days(d) AS (VALUES (1) UNION ALL SELECT d + 1 FROM days WHERE d < 4)
INSERT INTO node (id, parent, name) SELECT 100 + d, 1, 'day ' || d FROM days RETURNING id, name;
WITH RECURSIVE copied AS (
    SELECT id, 1 AS n FROM node WHERE id = 2
    UNION ALL
    SELECT c.id, n + 1 FROM node c JOIN copied ON c.parent = copied.id
)
INSERT INTO node SELECT id + 200, CASE WHEN n = 1 THEN NULL ELSE 202 END, 'copy', n FROM copied ON CONFLICT (id) DO NOTHING RETURNING id, depth;
WITH RECURSIVE sub AS (
    SELECT id FROM node WHERE id = 2
    UNION
    SELECT n.id FROM node n JOIN sub s ON n.parent = s.id
)
DELETE FROM node USING sub WHERE node.id = sub.id RETURNING node.id, node.name;
WITH RECURSIVE r(n) AS (SELECT 101 UNION ALL SELECT n + 1 FROM r WHERE n < 104)
DELETE FROM node WHERE id IN (SELECT n FROM r) RETURNING id;
WITH RECURSIVE b AS (SELECT n + 1 AS m FROM a), a(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM a WHERE n < 3)
INSERT INTO node (id) SELECT 300 + m FROM b RETURNING id;
WITH RECURSIVE gone AS (DELETE FROM node WHERE id > 300 RETURNING id), k(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM k WHERE n < 1)
INSERT INTO node (id, name) SELECT 400 + n, (SELECT count(*) FROM gone)::text FROM k RETURNING id, name;
WITH RECURSIVE k(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM k WHERE n < 3) SEARCH DEPTH FIRST BY n SET o
UPDATE node SET name = k.n::text || cardinality(k.o) FROM k WHERE node.id = 400 AND k.n = 2 RETURNING name;
WITH RECURSIVE k(n) AS (SELECT n FROM k) DELETE FROM node USING k;
WITH RECURSIVE k(n) AS (VALUES (0)) MERGE INTO node USING k ON node.id = k.n WHEN MATCHED THEN DELETE;
SELECT id, parent, name FROM node ORDER BY id;
CREATE FUNCTION number_them(first int, how_many int) RETURNS SETOF int LANGUAGE sql AS $$
    WITH RECURSIVE k(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM k WHERE n + 1 < how_many)
    INSERT INTO node (id, name) SELECT first + n, 'made' FROM k RETURNING id
$$;
SELECT * FROM number_them(500, 3);
CREATE PROCEDURE prune(top int) LANGUAGE plpgsql AS $$
DECLARE
    n int;
BEGIN
    WITH RECURSIVE sub AS (
        SELECT id FROM node WHERE id = top
        UNION ALL
        SELECT c.id FROM node c JOIN sub ON c.parent = sub.id
    )
    DELETE FROM node WHERE id IN (SELECT id FROM sub);
    GET DIAGNOSTICS n = ROW_COUNT;
    RAISE NOTICE '% pruned', n;
END
$$;
CALL prune(3);
SELECT count(*) FROM node;
CREATE VIEW named AS SELECT id, name FROM node WHERE name IS NOT NULL;
WITH RECURSIVE k(n) AS (VALUES (500) UNION ALL SELECT n + 1 FROM k WHERE n < 501)
UPDATE named SET name = name || '!' FROM k WHERE k.n = named.id RETURNING named.*;
-- Lists of columns in ROWS FROM.
SELECT * FROM ROWS FROM (jsonb_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') AS (a int, b text)) WITH ORDINALITY;
SELECT * FROM ROWS FROM (jsonb_to_recordset('[{"a": 1, "b": "x"}, {"a": 2}]') AS (a int, b text), generate_series(5, 7)) WITH ORDINALITY AS t(a, b, g, n);
SELECT t.n, t.a FROM (VALUES ('[{"a": 3}]'::jsonb), ('[{"a": 5}, {"a": 4}]')) v(j), ROWS FROM (jsonb_to_recordset(v.j) AS (a int)) WITH ORDINALITY AS t(a, n) ORDER BY 2;
SELECT * FROM ROWS FROM (json_to_record('{"x": [1, 2]}') AS (x int[], y text));
SELECT * FROM ROWS FROM (jsonb_populate_recordset(NULL::node, '[{"id": 1}, {"id": 2}]')) WITH ORDINALITY ORDER BY ordinality;
SELECT * FROM ROWS FROM (generate_series(1, 2) AS (a int));
-- Parts of jsonb variables.
CREATE TYPE holder AS (id int, doc jsonb);
DO $$
DECLARE
    j jsonb := '{"a": 1}';
    none jsonb;
    h holder;
    k text := 'key';
BEGIN
    j['b'] := '[1, 2]';
    j['b'][0] := '"first"';
    j[k]['deep'] := to_jsonb(5);
    RAISE NOTICE '%', j;
    none['x'] := 'true';
    RAISE NOTICE '%', none;
    h.doc['n'] := '1';
    h.doc['n'] := to_jsonb((h.doc['n'])::int + 1);
    RAISE NOTICE '%', h;
    j['a'] := NULL;
    RAISE NOTICE '%', j;
END
$$;
DO $$ DECLARE j jsonb := '{}'; BEGIN j['a'] := 5; END $$;
DO $$ DECLARE j jsonb := '{}'; BEGIN j['a'] := 'no json'; END $$;
CREATE TABLE kept (id int, doc jsonb);
CREATE FUNCTION stamped() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.doc['op'] := to_jsonb(TG_OP); RETURN NEW; END $$;
CREATE TRIGGER stamped BEFORE INSERT OR UPDATE ON kept FOR EACH ROW EXECUTE FUNCTION stamped();
INSERT INTO kept VALUES (1, '{"x": 1}'), (2, NULL) RETURNING *;
