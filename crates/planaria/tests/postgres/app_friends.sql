-- A network of friends: an undirected graph, requests and blocks, degrees by breadth-first search, suggestions, circles, feeds that fan out, pages by cursor.
CREATE TYPE visibility AS ENUM ('public', 'friends', 'only_me');
CREATE DOMAIN handle AS varchar(15) COLLATE "C" CHECK (VALUE ~ '^[a-z][a-z0-9_]*$');
CREATE TABLE people (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, handle handle UNIQUE NOT NULL, born date, interests text[] NOT NULL DEFAULT '{}', place jsonb, friends_count int NOT NULL DEFAULT 0 CHECK (friends_count >= 0));
CREATE TABLE friendships (a int NOT NULL REFERENCES people ON DELETE CASCADE, b int NOT NULL REFERENCES people ON DELETE CASCADE, since date NOT NULL DEFAULT '2024-01-01', weight real NOT NULL DEFAULT 1, PRIMARY KEY (a, b), CONSTRAINT ordered CHECK (a < b));
CREATE INDEX ON friendships (b, a);
CREATE TABLE requests (sender int REFERENCES people, receiver int REFERENCES people, message text, PRIMARY KEY (sender, receiver), CHECK (sender <> receiver));
CREATE UNIQUE INDEX one_request_per_pair ON requests (least(sender, receiver), greatest(sender, receiver));
CREATE TABLE blocks (who int REFERENCES people ON DELETE CASCADE, whom int REFERENCES people ON DELETE CASCADE, PRIMARY KEY (who, whom));
CREATE TABLE posts (id bigserial PRIMARY KEY, author int NOT NULL REFERENCES people ON DELETE CASCADE, visible visibility NOT NULL DEFAULT 'friends', body text NOT NULL, at timestamptz NOT NULL, reactions jsonb NOT NULL DEFAULT '{}');
CREATE TABLE inbox (person int, post bigint REFERENCES posts ON DELETE CASCADE, at timestamptz NOT NULL, PRIMARY KEY (person, post));
CREATE VIEW edges AS SELECT a AS x, b AS y, since, weight FROM friendships UNION ALL SELECT b, a, since, weight FROM friendships;
CREATE FUNCTION befriend(p int, q int, since date DEFAULT '2024-01-01') RETURNS void LANGUAGE sql AS $$ INSERT INTO friendships (a, b, since) VALUES (least(p, q), greatest(p, q), since) $$;
CREATE FUNCTION count_friends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE people p SET friends_count = friends_count + n FROM (SELECT id, count(*) AS n FROM (SELECT a AS id FROM fresh UNION ALL SELECT b FROM fresh) u GROUP BY id) c WHERE c.id = p.id;
  ELSE
    UPDATE people p SET friends_count = friends_count - n FROM (SELECT id, count(*)::int AS n FROM (SELECT a FROM gone UNION ALL SELECT b FROM gone) u(id) GROUP BY id) c WHERE c.id = p.id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_in AFTER INSERT ON friendships REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION count_friends();
CREATE TRIGGER count_out AFTER DELETE ON friendships REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_friends();
INSERT INTO people (handle, born, interests, place) VALUES ('ann', '1990-03-01', '{chess,go}', '{"city": "Oslo", "at": [59.91, 10.75]}'), ('bob', '1988-02-29', '{go,ski}', '{"city": "Bergen"}'), ('cat', NULL, '{}', NULL), ('dan', '2001-12-31', '{ski}', '{"city": "Oslo"}'), ('eve', '1990-03-02', '{chess}', 'null'), ('fay', '1995-07-07', '{go,chess,ski}', '{"city": null}'), ('gus', '1970-01-01', '{fish}', '{}'), ('hal', '1999-09-09', '{chess}', '[]');
INSERT INTO people (handle) VALUES ('Ivy');
INSERT INTO people (handle) VALUES ('a_very_long_handle');
INSERT INTO people (handle) VALUES (NULL);
INSERT INTO people (id, handle) VALUES (50, 'ivy');
INSERT INTO people (handle) VALUES ('ann');
SELECT befriend(1, 2), befriend(3, 2), befriend(4, 3, '2024-02-02');
INSERT INTO friendships (a, b, weight) VALUES (4, 5, 0.5), (5, 6, 2), (1, 6, 3.25), (2, 6, 1);
SELECT befriend(2, 1);
SELECT befriend(7, 7);
SELECT befriend(7, 99);
INSERT INTO friendships (a, b) VALUES (6, 5);
SELECT handle, friends_count, (SELECT count(*) FROM edges WHERE x = p.id) AS counted FROM people p ORDER BY id;
-- Requests: the same pair once, whichever way; accepting is one statement.
INSERT INTO requests VALUES (7, 1, 'Hi'), (8, 1, NULL), (8, 7, 'Old friend');
INSERT INTO requests VALUES (1, 7, 'Hi yourself');
INSERT INTO requests VALUES (1, 1, 'Me');
INSERT INTO requests VALUES (7, 8, 'x') ON CONFLICT (least(sender, receiver), greatest(sender, receiver)) DO UPDATE SET message = requests.message || ' / ' || excluded.message RETURNING *;
WITH accepted AS (DELETE FROM requests WHERE receiver = 1 AND sender = 8 RETURNING sender, receiver) INSERT INTO friendships (a, b) SELECT least(sender, receiver), greatest(sender, receiver) FROM accepted RETURNING a, b;
SELECT id, friends_count FROM people WHERE id IN (1, 8) ORDER BY id;
-- Distances: a recursion with a path, one with a work list that forgets.
WITH RECURSIVE walk (who, hops, path) AS (
  SELECT 1, 0, ARRAY[1]
  UNION ALL
  SELECT e.y, w.hops + 1, w.path || e.y FROM walk w JOIN edges e ON e.x = w.who WHERE e.y <> ALL (w.path) AND w.hops < 4
)
SELECT p.handle, min(w.hops) AS hops, count(*) AS ways, (array_agg(path::text ORDER BY hops, path))[1] AS shortest FROM walk w JOIN people p ON p.id = w.who GROUP BY p.id ORDER BY 2, 1;
CREATE FUNCTION distance(p int, q int, OUT hops int, OUT route int[]) LANGUAGE plpgsql STABLE AS $$
DECLARE
  edge int[] := ARRAY[p];
  seen int[] := ARRAY[p];
  came jsonb := '{}';
  r record;
  n int := 0;
  fresh int[];
BEGIN
  <<search>>
  LOOP
    EXIT search WHEN q = ANY (edge);
    fresh := '{}';
    FOR r IN SELECT DISTINCT ON (e.y) e.y, e.x FROM edges e WHERE e.x = ANY (edge) AND NOT e.y = ANY (seen) ORDER BY e.y, e.x LOOP
      fresh := fresh || r.y;
      came := came || jsonb_build_object(r.y, r.x);
    END LOOP;
    IF fresh = '{}' THEN RETURN; END IF;
    seen := seen || fresh;
    edge := fresh;
    n := n + 1;
  END LOOP search;
  hops := n;
  route := ARRAY[q];
  WHILE route[1] <> p LOOP
    route := (came ->> route[1]::text)::int || route;
  END LOOP;
END $$;
SELECT p.handle, d.* FROM people p CROSS JOIN LATERAL distance(8, p.id) d ORDER BY d.hops NULLS LAST, p.id;
SELECT (distance(4, 1)).route;
-- Cheapest ways: weights, by relaxing until nothing changes.
CREATE TABLE best (who int PRIMARY KEY, cost real NOT NULL, via int);
CREATE PROCEDURE dijkstra(source int) LANGUAGE plpgsql AS $$
DECLARE changed bigint; rounds int := 0;
BEGIN
  DELETE FROM best;
  INSERT INTO best VALUES (source, 0);
  LOOP
    INSERT INTO best AS old SELECT DISTINCT ON (e.y) e.y, b.cost + e.weight, e.x FROM best b JOIN edges e ON e.x = b.who ORDER BY e.y, b.cost + e.weight, e.x
      ON CONFLICT (who) DO UPDATE SET cost = excluded.cost, via = excluded.via WHERE excluded.cost < old.cost;
    GET DIAGNOSTICS changed = ROW_COUNT;
    rounds := rounds + 1;
    EXIT WHEN changed = 0 OR rounds > 20;
  END LOOP;
  RAISE INFO 'settled after % rounds', rounds;
END $$;
CALL dijkstra(1);
SELECT p.handle, b.cost, v.handle AS via FROM best b JOIN people p ON p.id = b.who LEFT JOIN people v ON v.id = b.via ORDER BY b.cost, p.handle;
-- Whom one may know: friends of friends, weighed by common friends, interests and place.
CREATE FUNCTION common_interests(text[], text[]) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT count(*)::int FROM (SELECT unnest($1) INTERSECT SELECT unnest($2)) x';
CREATE FUNCTION suggestions(me int) RETURNS TABLE (handle handle, common bigint, score numeric, because text) LANGUAGE sql STABLE AS $$
  WITH mine AS (SELECT y FROM edges WHERE x = me), fof AS (SELECT e.y AS who, count(*) AS common, string_agg(f.handle, ', ' ORDER BY f.handle) AS names FROM mine m JOIN edges e ON e.x = m.y JOIN people f ON f.id = m.y WHERE e.y <> me AND NOT EXISTS (SELECT FROM edges k WHERE k.x = me AND k.y = e.y) GROUP BY e.y)
  SELECT p.handle, fof.common, round(fof.common * 2 + common_interests(p.interests, i.interests) + CASE WHEN p.place ->> 'city' = i.place ->> 'city' THEN 1.5 ELSE 0 END, 1), 'knows ' || fof.names
  FROM fof JOIN people p ON p.id = fof.who JOIN people i ON i.id = me
  WHERE NOT EXISTS (SELECT FROM blocks WHERE (who, whom) IN ((me, p.id), (p.id, me))) ORDER BY 3 DESC, 1
$$;
SELECT * FROM suggestions(1);
SELECT p.handle, s.handle, s.score FROM people p, suggestions(p.id) s WHERE p.id > 3 ORDER BY 1, 3 DESC, 2;
INSERT INTO blocks VALUES (5, 1);
SELECT handle FROM suggestions(1);
-- Circles: triangles, components, clustering.
SELECT array_agg(p.handle ORDER BY p.handle) FROM (SELECT f.a AS x, f.b AS y, g.b AS z FROM friendships f JOIN friendships g ON g.a = f.b JOIN friendships h ON h.a = f.a AND h.b = g.b) t CROSS JOIN LATERAL (VALUES (t.x), (t.y), (t.z)) v(id) JOIN people p USING (id) GROUP BY t.x, t.y, t.z;
WITH RECURSIVE c AS (SELECT id, id AS root FROM people UNION SELECT e.y, c.root FROM c JOIN edges e ON e.x = c.id), component AS (SELECT id, min(root) AS root FROM c GROUP BY id)
SELECT root, count(*), string_agg(handle, ' ' ORDER BY handle) FROM component JOIN people USING (id) GROUP BY root ORDER BY root;
SELECT p.handle, d.n, CASE WHEN d.n > 1 THEN round(2.0 * t.n / (d.n * (d.n - 1)), 3) END AS clustering, percent_rank() OVER (ORDER BY d.n) AS pr FROM people p CROSS JOIN LATERAL (SELECT count(*) FROM edges WHERE x = p.id) d(n) CROSS JOIN LATERAL (SELECT count(*) FROM friendships f WHERE f.a IN (SELECT y FROM edges WHERE x = p.id) AND f.b IN (SELECT y FROM edges WHERE x = p.id)) t(n) ORDER BY 2 DESC, 1;
SELECT width_bucket(friends_count, 0, 4, 2) AS bucket, int4range(min(friends_count), max(friends_count), '[]') AS has, count(*) FROM people GROUP BY 1 ORDER BY 1;
-- Feeds: written when posted.
CREATE FUNCTION fan_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  CASE NEW.visible
    WHEN 'only_me' THEN INSERT INTO inbox VALUES (NEW.author, NEW.id, NEW.at);
    WHEN 'friends', 'public' THEN
      INSERT INTO inbox SELECT y, NEW.id, NEW.at FROM edges WHERE x = NEW.author AND NOT EXISTS (SELECT FROM blocks b WHERE b.who = y AND b.whom = NEW.author) UNION SELECT NEW.author, NEW.id, NEW.at;
  END CASE;
  PERFORM pg_notify('posts', json_build_object('id', NEW.id, 'author', NEW.author)::text);
  RETURN NEW;
END $$;
CREATE TRIGGER fan_out AFTER INSERT ON posts FOR EACH ROW EXECUTE FUNCTION fan_out();
INSERT INTO posts (author, visible, body, at) SELECT 1 + n % 6, (enum_range(NULL::visibility))[1 + n % 3], 'Post ' || n || CASE WHEN n % 4 = 0 THEN ' @bob #go' WHEN n % 5 = 0 THEN ' @ann #Chess #go' ELSE '' END, timestamptz '2024-03-01 08:00+01' + n * interval '37 min' FROM generate_series(1, 14) n;
SELECT i.post, p.handle, to_char(i.at AT TIME ZONE 'Europe/Oslo', 'HH24:MI') AS at FROM inbox i JOIN posts o ON o.id = i.post JOIN people p ON p.id = o.author WHERE i.person = 1 ORDER BY i.at DESC, i.post DESC LIMIT 4;
SELECT i.post FROM inbox i WHERE i.person = 1 AND (i.at, i.post) < (timestamptz '2024-03-01 12:42+01', 7) ORDER BY i.at DESC, i.post DESC FETCH FIRST 3 ROWS ONLY;
SELECT lower(m[1]) AS tag, count(*), array_agg(id ORDER BY id) FROM posts, regexp_matches(body, '#(\w+)', 'g') AS m GROUP BY 1 ORDER BY 2 DESC, 1;
UPDATE posts SET reactions = jsonb_set(reactions, '{like}', (coalesce((reactions ->> 'like')::int, 0) + 1)::text::jsonb) WHERE body LIKE '%@bob%' RETURNING id, reactions;
UPDATE posts SET reactions['like'] = to_jsonb((reactions['like'])::int + 1), reactions['heart'] = '1' WHERE reactions ? 'like' AND id < 9 RETURNING id, reactions;
SELECT author, sum(v.value::int) AS n, jsonb_object_agg(v.key, v.value) FROM posts, jsonb_each_text(reactions) v GROUP BY author ORDER BY author;
BEGIN;
DECLARE pages SCROLL CURSOR FOR SELECT id, body FROM posts WHERE visible = 'public' ORDER BY at;
FETCH 2 FROM pages;
MOVE FORWARD 1 IN pages;
FETCH NEXT FROM pages;
FETCH BACKWARD 2 FROM pages;
FETCH ABSOLUTE -1 FROM pages;
CLOSE pages;
FETCH pages;
ROLLBACK;
-- Going away.
DELETE FROM people WHERE handle = 'fay' RETURNING friends_count;
SELECT handle, friends_count, (SELECT count(*) FROM edges WHERE x = p.id) AS counted FROM people p ORDER BY id;
SELECT count(*) FROM inbox WHERE post NOT IN (SELECT id FROM posts);
DELETE FROM people WHERE handle = 'gus';
SELECT date_part('year', age(date '2024-02-28', born)) AS age, count(*) FROM people WHERE born IS NOT NULL GROUP BY 1 ORDER BY 1;
SELECT handle, born + make_interval(years => 2024 - extract(year FROM born)::int) AS birthday FROM people WHERE to_char(born, 'MM-DD') BETWEEN '02-01' AND '03-31' ORDER BY to_char(born, 'MM-DD');
SELECT handle, place #>> '{at,1}' AS lon, place -> 'at' @> '[59.91]' AS at_oslo, jsonb_typeof(place), place ->> 'city' IS NULL AS nowhere FROM people ORDER BY place ->> 'city' NULLS FIRST, id;
SELECT (distance(1, 2)).jumps;
SELECT handle FROM people WHERE interests @> '{go}' AND interests <> '{go}' ORDER BY cardinality(interests) DESC, handle;
