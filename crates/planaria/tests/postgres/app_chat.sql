-- A chat: channels, membership, messages with reactions, read markers, mentions, search.
CREATE TABLE accounts (id bigint PRIMARY KEY, handle text NOT NULL, display text, status jsonb, UNIQUE (handle));
CREATE TABLE channels (id bigint PRIMARY KEY, name text, is_private boolean DEFAULT false NOT NULL, topic text DEFAULT '', created timestamp DEFAULT '2024-01-01', CHECK (is_private OR name IS NOT NULL));
CREATE TABLE membership (channel bigint REFERENCES channels ON DELETE CASCADE, account bigint REFERENCES accounts ON DELETE CASCADE, joined timestamp NOT NULL DEFAULT '2024-01-02', last_read bigint NOT NULL DEFAULT 0, muted bool NOT NULL DEFAULT false, CONSTRAINT membership_pk PRIMARY KEY (channel, account));
CREATE SEQUENCE message_ids START 1000 INCREMENT 3;
CREATE TABLE messages (id bigint PRIMARY KEY DEFAULT nextval('message_ids'), channel bigint NOT NULL REFERENCES channels ON DELETE CASCADE, author bigint REFERENCES accounts ON DELETE SET NULL, body text NOT NULL, sent timestamp NOT NULL, edited timestamp, thread bigint REFERENCES messages ON DELETE CASCADE, attachments jsonb[] NOT NULL DEFAULT '{}');
ALTER SEQUENCE message_ids OWNED BY messages.id;
CREATE INDEX ON messages (channel, id DESC);
CREATE TABLE reactions (message bigint REFERENCES messages ON DELETE CASCADE, account bigint REFERENCES accounts ON DELETE CASCADE, emoji varchar(16), PRIMARY KEY (message, account, emoji));
CREATE TABLE mentions (message bigint REFERENCES messages ON DELETE CASCADE, account bigint REFERENCES accounts ON DELETE CASCADE, PRIMARY KEY (message, account));
INSERT INTO accounts VALUES (1, 'amy', 'Amy', '{"emoji": "☕", "text": "coffee", "until": null}'), (2, 'ben', NULL, NULL), (3, 'cat', 'Cat O''Hara', '{}'), (4, 'dan', 'Dan "D"', '{"text": "a\tb"}');
INSERT INTO channels (id, name, is_private) VALUES (10, 'general', DEFAULT), (11, NULL, true);
INSERT INTO channels (id) VALUES (12);
INSERT INTO membership (channel, account) SELECT 10, id FROM accounts;
INSERT INTO membership (channel, account, muted) VALUES (11, 1, true), (11, 2, false);
CREATE FUNCTION say(c bigint, who bigint, what text, at timestamp, t bigint DEFAULT NULL) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE m bigint; h text;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM membership WHERE channel = c AND account = who) THEN
    RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = format('%s is not in %s', (SELECT handle FROM accounts WHERE id = who), c);
  END IF;
  IF t IS NOT NULL AND NOT EXISTS (SELECT 1 FROM messages WHERE id = t AND channel = c AND thread IS NULL) THEN
    RAISE EXCEPTION 'no thread % in %', t, c;
  END IF;
  INSERT INTO messages (channel, author, body, sent, thread) VALUES (c, who, btrim(what), at, t) RETURNING id INTO m;
  FOREACH h IN ARRAY ARRAY(SELECT DISTINCT lower(x[1]) FROM regexp_matches(what, '@(\w+)', 'g') AS x) LOOP
    INSERT INTO mentions SELECT m, id FROM accounts WHERE handle = h ON CONFLICT DO NOTHING;
  END LOOP;
  UPDATE membership SET last_read = m WHERE channel = c AND account = who;
  RETURN m;
END $$;
CREATE FUNCTION react(m bigint, who bigint, e text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO reactions VALUES (m, who, e);
  RETURN (SELECT count(*) FROM reactions WHERE message = m AND emoji = e);
EXCEPTION
  WHEN unique_violation THEN
    DELETE FROM reactions WHERE message = m AND account = who AND emoji = e;
    RETURN (SELECT count(*) FROM reactions WHERE message = m AND emoji = e);
END $$;
CREATE FUNCTION unread(who bigint) RETURNS TABLE (channel text, n bigint, mentioned boolean) LANGUAGE sql STABLE AS $$
  SELECT coalesce(c.name, (SELECT string_agg(a.handle, ', ' ORDER BY a.handle) FROM membership o JOIN accounts a ON a.id = o.account WHERE o.channel = c.id AND o.account <> who)),
         count(m.id), coalesce(bool_or(x.account IS NOT NULL), false)
  FROM membership s JOIN channels c ON c.id = s.channel
  LEFT JOIN messages m ON m.channel = s.channel AND m.id > s.last_read
  LEFT JOIN mentions x ON x.message = m.id AND x.account = who
  WHERE s.account = who GROUP BY c.id, c.name ORDER BY c.id $$;
SELECT say(10, 1, '  Hello @ben and @Cat, not @nobody ', '2024-01-03 09:00');
SELECT say(10, 2, 'Hi!', '2024-01-03 09:01', 1000), say(10, 3, 'hi @amy @amy', '2024-01-03 09:02', 1000);
SELECT say(11, 3, 'sneaky', '2024-01-03 09:03');
SELECT say(11, 2, 'private', '2024-01-03 09:04');
SELECT say(10, 4, 'reply to a reply', '2024-01-03 09:05', 1003);
SELECT say(10, 4, E'two\nlines\t%_\\ ''quoted''', '2024-01-03 09:06');
SELECT * FROM unread(1);
SELECT * FROM unread(4);
SELECT react(1000, 2, ':+1:'), react(1000, 3, ':+1:'), react(1000, 3, ':tada:'), react(1000, 2, ':+1:');
SELECT react(999, 2, ':+1:');
SELECT react(1000, 2, ':a-very-long-emoji-name:');
SELECT m.id, a.handle, m.body, (SELECT jsonb_object_agg(emoji, n) FROM (SELECT emoji, count(*) AS n FROM reactions r WHERE r.message = m.id GROUP BY emoji) t) FROM messages m LEFT JOIN accounts a ON a.id = m.author ORDER BY m.id;
SELECT id, body FROM messages WHERE body ILIKE '%HI%' ORDER BY id;
SELECT id FROM messages WHERE body LIKE '%\%\_%' ;
SELECT id, regexp_replace(body, '@(\w+)', '<\1>', 'g'), regexp_count(body, '@') FROM messages ORDER BY id;
SELECT a.handle, count(*) FROM mentions m JOIN accounts a ON a.id = m.account GROUP BY 1 ORDER BY 2 DESC, 1;
UPDATE messages SET attachments = attachments || '{"kind": "image", "w": 640}'::jsonb || '{"kind": "file"}'::jsonb WHERE id = 1000 RETURNING attachments;
SELECT a ->> 'kind' FROM messages, unnest(attachments) AS a WHERE id = 1000;
SELECT m.id, t.replies, t.last FROM messages m JOIN LATERAL (SELECT count(*) AS replies, max(sent) AS last FROM messages r WHERE r.thread = m.id) t ON t.replies > 0;
SELECT status ->> 'text', status -> 'until', status ? 'until', status ->> 'emoji' FROM accounts ORDER BY id;
SELECT handle, coalesce(display, initcap(handle)), quote_literal(display), to_json(display) FROM accounts ORDER BY id;
SELECT row_number() OVER (ORDER BY sent) AS n, date_trunc('minute', sent), sent - lag(sent) OVER (ORDER BY sent) FROM messages ORDER BY n;
SELECT DISTINCT ON (author) author, id, body FROM messages ORDER BY author, id DESC;
DELETE FROM accounts WHERE id = 3;
SELECT id, author IS NULL FROM messages ORDER BY id;
DELETE FROM messages WHERE id = 1000;
SELECT count(*) FROM messages; SELECT count(*) FROM reactions; SELECT count(*) FROM mentions;
DROP TABLE messages;
DROP TABLE messages CASCADE;
SELECT nextval('message_ids');
