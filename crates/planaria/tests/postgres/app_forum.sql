-- A forum: threads as a closure table, votes counted by triggers, mentions found by regular expression, moderation by role, feeds by keyset.
SET timezone = 'UTC';
CREATE TABLE members (id serial PRIMARY KEY, nick text NOT NULL, joined timestamptz NOT NULL, karma int NOT NULL DEFAULT 0, settings jsonb NOT NULL DEFAULT '{"mail": true, "theme": {"dark": false}}'::jsonb, banned_until timestamptz,
  CONSTRAINT nick_shape CHECK (nick ~ '^\w{2,15}$' AND nick !~ '^\d'));
CREATE UNIQUE INDEX ON members (lower(nick));
CREATE TABLE boards (slug text PRIMARY KEY, title text NOT NULL, posts int NOT NULL DEFAULT 0, last_post bigint);
CREATE TABLE posts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, board text NOT NULL REFERENCES boards, parent bigint REFERENCES posts ON DELETE CASCADE, author int REFERENCES members ON DELETE SET NULL, at timestamptz NOT NULL, body text NOT NULL,
  score int NOT NULL DEFAULT 0, edits int NOT NULL DEFAULT 0, mentions text[] NOT NULL DEFAULT '{}', words tsvector, hidden boolean NOT NULL DEFAULT false, UNIQUE (board, id), FOREIGN KEY (board, parent) REFERENCES posts (board, id) MATCH SIMPLE);
ALTER TABLE boards ADD FOREIGN KEY (slug, last_post) REFERENCES posts (board, id) ON DELETE SET NULL (last_post);
CREATE INDEX posts_words ON posts USING gin (words);
CREATE INDEX posts_feed ON posts (board, at DESC, id DESC) WHERE NOT hidden;
CREATE TABLE post_tree (ancestor bigint REFERENCES posts ON DELETE CASCADE, descendant bigint REFERENCES posts ON DELETE CASCADE, depth int NOT NULL CHECK (depth BETWEEN 0 AND 5), PRIMARY KEY (ancestor, descendant));
CREATE TABLE votes (post bigint REFERENCES posts ON DELETE CASCADE, member int REFERENCES members ON DELETE CASCADE, up boolean NOT NULL, PRIMARY KEY (post, member));
CREATE TABLE notices (member int NOT NULL REFERENCES members ON DELETE CASCADE, post bigint NOT NULL REFERENCES posts ON DELETE CASCADE, why text NOT NULL, seen boolean NOT NULL DEFAULT false, UNIQUE (member, post, why));
CREATE FUNCTION before_post() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE m members;
BEGIN
  IF TG_OP = 'INSERT' THEN
    SELECT * INTO m FROM members WHERE id = NEW.author;
    IF m.banned_until > NEW.at THEN RAISE EXCEPTION '% is banned until %', m.nick, to_char(m.banned_until, 'YYYY-MM-DD') USING ERRCODE = 'FO001'; END IF;
    IF m.settings #>> '{theme,dark}' = 'true' THEN NEW.body := NEW.body || ' (at night)'; END IF;
  ELSIF NEW.body IS DISTINCT FROM OLD.body THEN
    NEW.edits := OLD.edits + 1;
  END IF;
  NEW.body := regexp_replace(btrim(NEW.body), '\s+', ' ', 'g');
  NEW.words := setweight(to_tsvector('english', split_part(NEW.body, '.', 1)), 'A') || setweight(to_tsvector('english', NEW.body), 'D');
  NEW.mentions := ARRAY(SELECT DISTINCT lower(x[1]) FROM regexp_matches(NEW.body, '@(\w+)', 'g') x ORDER BY 1);
  RETURN NEW;
END $$;
CREATE TRIGGER before_post BEFORE INSERT OR UPDATE OF body ON posts FOR EACH ROW EXECUTE FUNCTION before_post();
CREATE FUNCTION after_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO post_tree SELECT ancestor, NEW.id, depth + 1 FROM post_tree WHERE descendant = NEW.parent UNION ALL SELECT NEW.id, NEW.id, 0;
  UPDATE boards SET posts = posts + 1, last_post = NEW.id WHERE slug = NEW.board;
  INSERT INTO notices SELECT m.id, NEW.id, 'mention' FROM members m WHERE lower(m.nick) = ANY (NEW.mentions) AND m.id <> NEW.author;
  INSERT INTO notices SELECT p.author, NEW.id, 'reply' FROM posts p WHERE p.id = NEW.parent AND p.author <> NEW.author ON CONFLICT ON CONSTRAINT notices_member_post_why_key DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER after_post AFTER INSERT ON posts FOR EACH ROW EXECUTE FUNCTION after_post();
CREATE FUNCTION gone_post() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE boards SET posts = posts - 1 WHERE slug = OLD.board; RETURN OLD; END $$;
CREATE TRIGGER gone_post AFTER DELETE ON posts FOR EACH ROW EXECUTE FUNCTION gone_post();
CREATE FUNCTION voted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE d int := 0; p bigint; a int;
BEGIN
  IF TG_OP <> 'INSERT' THEN d := d - CASE WHEN OLD.up THEN 1 ELSE -1 END; p := OLD.post; END IF;
  IF TG_OP <> 'DELETE' THEN d := d + CASE WHEN NEW.up THEN 1 ELSE -1 END; p := NEW.post; END IF;
  UPDATE posts SET score = score + d, hidden = score + d <= -2 WHERE id = p RETURNING author INTO a;
  IF a = NEW.member THEN RAISE EXCEPTION 'nobody votes for himself' USING ERRCODE = 'FO002', COLUMN = 'member', DATATYPE = 'integer'; END IF;
  UPDATE members SET karma = karma + d WHERE id = a;
  RETURN NULL;
END $$;
CREATE TRIGGER voted AFTER INSERT OR UPDATE OR DELETE ON votes FOR EACH ROW EXECUTE FUNCTION voted();
INSERT INTO members (nick, joined, settings) SELECT n, timestamptz '2024-01-01' + o * interval '1 day', coalesce(s::jsonb, '{}') FROM (VALUES ('Ann', NULL, 1), ('bob_b', '{"theme": {"dark": true}}', 2), ('Cy', '{"mail": false}', 3), ('Dee', NULL, 4)) AS v (n, s, o);
INSERT INTO members (nick, joined) SELECT n, '2024-01-01' FROM (VALUES ('ANN')) v (n);
INSERT INTO members (nick, joined) VALUES ('a', '2024-01-01');
INSERT INTO members (nick, joined) VALUES ('1st', '2024-01-01');
INSERT INTO boards (slug, title) VALUES ('rust', 'The language'), ('sql', 'Another one');
CREATE FUNCTION post(p_board text, p_author text, p_body text, p_parent bigint DEFAULT NULL, p_at timestamptz DEFAULT '2024-02-01 10:00') RETURNS bigint LANGUAGE sql AS $$
  INSERT INTO posts (board, parent, author, at, body) SELECT p_board, p_parent, m.id, p_at + coalesce(p_parent, 0) * interval '7 minutes', p_body FROM members m WHERE m.nick = p_author RETURNING id $$;
SELECT post('rust', 'Ann', 'Who owns   the borrow checker? I ask @Bob_B and @cy, @nobody.'), post('sql', 'Cy', 'Joins considered joinable');
SELECT post('rust', 'bob_b', 'It is borrowed. @ann @ann', 1), post('rust', 'Cy', 'Nobody owns it', 1);
SELECT post('rust', 'Ann', 'Thanks, @BOB_B', 3), post('rust', 'Dee', 'Off topic: databases and joins.', 3);
SELECT post('rust', 'Dee', 'deeper', 5), post('sql', 'Dee', 'wrong board', 1);
SELECT post('rust', 'Dee', 'deeper', 5);
SELECT post('rust', 'Zoe', 'who am I');
SELECT post('java', 'Ann', 'no board');
SELECT id, board, parent, body, mentions, edits FROM posts ORDER BY id;
SELECT words FROM posts WHERE id = 1;
SELECT m.nick, n.post, n.why FROM notices n JOIN members m ON m.id = n.member ORDER BY n.post, m.nick;
SELECT slug, posts, last_post FROM boards ORDER BY slug;
-- A thread in order: the path of ids along the closure.
CREATE VIEW threads AS SELECT t.ancestor AS thread, p.id, t.depth, (SELECT array_agg(u.ancestor ORDER BY u.depth DESC) FROM post_tree u WHERE u.descendant = p.id) AS path, p.body, p.score FROM post_tree t JOIN posts p ON p.id = t.descendant WHERE NOT EXISTS (SELECT FROM posts r WHERE r.id = t.ancestor AND r.parent IS NOT NULL);
SELECT lpad('', 2 * depth, ' ') || left(body, 20) || CASE WHEN length(body) > 20 THEN '…' ELSE '' END FROM threads WHERE thread = 1 ORDER BY path;
DO $$
DECLARE p bigint := 8;
BEGIN
  FOR i IN 1..9 LOOP
    p := (SELECT max(id) FROM posts WHERE board = 'rust');
    PERFORM post('rust', 'Dee', 'level ' || i, p);
  END LOOP;
EXCEPTION WHEN check_violation THEN RAISE NOTICE '%', SQLERRM;
END $$;
SELECT max(depth), count(*) FROM post_tree;
INSERT INTO votes VALUES (1, 2, true), (1, 3, true), (3, 1, false), (4, 1, true);
INSERT INTO votes VALUES (1, 1, true);
INSERT INTO votes VALUES (1, 2, false) ON CONFLICT (post, member) DO UPDATE SET up = excluded.up WHERE votes.up IS DISTINCT FROM excluded.up RETURNING *, xmax <> 0;
INSERT INTO votes VALUES (1, 2, false) ON CONFLICT (post, member) DO UPDATE SET up = excluded.up WHERE votes.up <> excluded.up RETURNING *;
INSERT INTO votes VALUES (1, 4, true), (1, 4, false) ON CONFLICT (post, member) DO UPDATE SET up = excluded.up;
DELETE FROM votes WHERE post = 4;
INSERT INTO votes SELECT 3, m, false FROM generate_series(3, 4) m;
SELECT id, score, hidden FROM posts WHERE score <> 0 ORDER BY id;
SELECT nick, karma, dense_rank() OVER (ORDER BY karma DESC) FROM members ORDER BY karma DESC, nick;
UPDATE posts SET body = 'Borrowed, returned. ' || body WHERE id = 3 RETURNING edits, mentions, words;
SELECT id, ts_rank_cd('{0.1, 0.2, 0.4, 1.0}', words, q)::numeric(5,3) AS rank FROM posts, plainto_tsquery('english', 'joins') q WHERE words @@ q ORDER BY rank DESC, id;
SELECT id, ts_headline('english', body, phraseto_tsquery('english', 'borrow checker'), 'StartSel=<, StopSel=>, MaxWords=5, MinWords=2') FROM posts WHERE words @@ phraseto_tsquery('english', 'borrow checker');
SELECT id FROM posts WHERE words @@ to_tsquery('english', 'borrow:*A & !checker');
-- Pages by keyset.
PREPARE page (text, timestamptz, bigint) AS SELECT id, at FROM posts WHERE board = $1 AND NOT hidden AND (at, id) < ($2, $3) ORDER BY at DESC, id DESC LIMIT 3;
EXECUTE page('rust', 'infinity', 0);
EXECUTE page('rust', '2024-02-01 10:35', 999);
EXECUTE page('rust', '2024-02-01 10:35');
DEALLOCATE page;
CREATE FUNCTION feed(opts jsonb) RETURNS SETOF posts LANGUAGE plpgsql STABLE AS $$
DECLARE q text := 'SELECT * FROM posts WHERE NOT hidden'; sort text := coalesce(opts ->> 'sort', 'at');
BEGIN
  IF opts ? 'board' THEN q := q || format(' AND board = %L', opts ->> 'board'); END IF;
  IF opts ? 'min_score' THEN q := q || ' AND score >= $1'; END IF;
  IF opts ? 'by' THEN q := q || ' AND author = ANY (SELECT id FROM members WHERE nick = ANY ($2))'; END IF;
  q := q || format(' ORDER BY %I %s, id LIMIT %s', sort, CASE WHEN opts -> 'desc' = 'true' THEN 'DESC' ELSE 'ASC' END, coalesce((opts ->> 'limit')::int, 10));
  RETURN QUERY EXECUTE q USING (opts ->> 'min_score')::int, ARRAY(SELECT jsonb_array_elements_text(opts -> 'by'));
END $$;
SELECT id, score FROM feed('{"board": "rust", "sort": "score", "desc": true, "limit": 2}');
SELECT id FROM feed('{"by": ["Cy", "Ann"], "min_score": 0}');
SELECT id FROM feed('{"sort": "at; DROP TABLE posts"}');
SELECT id FROM feed('{"limit": "many"}');
SELECT id FROM feed('[]');
SELECT date_bin('15 min', at, '2024-02-01') AS slot, count(*), string_agg(id::text, ' ' ORDER BY id) FROM posts GROUP BY slot ORDER BY slot;
UPDATE members SET banned_until = '2024-03-01' WHERE nick = 'Dee';
SELECT post('sql', 'Dee', 'let me in'), 1;
SELECT post('sql', 'Dee', 'I am back', NULL, '2024-03-01');
MERGE INTO notices n USING (SELECT DISTINCT author FROM posts WHERE author IS NOT NULL) a ON a.author = n.member WHEN MATCHED AND n.why = 'reply' THEN DELETE WHEN MATCHED THEN UPDATE SET seen = true;
SELECT member, post, why, seen FROM notices ORDER BY 1, 2;
DELETE FROM members WHERE nick = 'bob_b';
SELECT id, author FROM posts WHERE author IS NULL;
UPDATE boards SET last_post = NULL WHERE slug = 'rust';
WITH gone AS (DELETE FROM posts WHERE id = 3 RETURNING id, board) SELECT g.*, b.title FROM gone g JOIN (VALUES ('rust', 'The language')) AS b (slug, title) ON b.slug = g.board;
SELECT slug, posts, last_post FROM boards ORDER BY slug;
SELECT count(*), count(DISTINCT ancestor) FROM post_tree;
SELECT settings, settings @> '{"theme": {}}', settings @? '$.mail ? (@ == false)', jsonb_pretty(settings) FROM members ORDER BY id;
DROP TABLE members;
