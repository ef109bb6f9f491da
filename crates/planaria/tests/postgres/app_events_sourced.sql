-- Event sourcing: streams with expected versions, projections by triggers, snapshots, replays that must come to the same state, an outbox.
SET timezone = 'UTC';
CREATE SCHEMA es;
SET search_path = es;
CREATE TYPE es.event AS (kind text, data jsonb);
CREATE TABLE streams (id uuid PRIMARY KEY, type text NOT NULL CHECK (type IN ('cart', 'account')), version int NOT NULL DEFAULT 0 CHECK (version >= 0));
CREATE TABLE events (stream uuid NOT NULL REFERENCES streams, version int NOT NULL, kind text NOT NULL, data jsonb NOT NULL DEFAULT '{}', meta jsonb, at timestamptz NOT NULL, position bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (stream, version, at)) PARTITION BY RANGE (at);
CREATE TABLE events_2023 PARTITION OF events FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
CREATE TABLE events_2024 PARTITION OF events FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE INDEX events_key ON events ((meta ->> 'key')) WHERE meta ? 'key';
CREATE TABLE snapshots (stream uuid PRIMARY KEY REFERENCES streams, version int NOT NULL, state jsonb NOT NULL);
CREATE TABLE balances (stream uuid PRIMARY KEY, balance numeric NOT NULL, version int NOT NULL);
CREATE TABLE outbox (position bigint PRIMARY KEY, topic text NOT NULL, payload text NOT NULL);
CREATE FUNCTION apply(state jsonb, e event) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE item text := e.data ->> 'item'; n int;
BEGIN
  CASE e.kind
    WHEN 'opened' THEN RETURN coalesce(state, '{}') || jsonb_build_object('owner', e.data -> 'owner', 'balance', 0);
    WHEN 'deposited', 'withdrawn' THEN
      RETURN jsonb_set(state, '{balance}', to_jsonb((state ->> 'balance')::numeric + CASE e.kind WHEN 'deposited' THEN 1 ELSE -1 END * (e.data ->> 'amount')::numeric));
    WHEN 'added' THEN
      n := coalesce((state #>> ARRAY['items', item])::int, 0) + coalesce((e.data ->> 'n')::int, 1);
      RETURN jsonb_set(coalesce(state, '{"items": {}}'), ARRAY['items', item], to_jsonb(n));
    WHEN 'removed' THEN RETURN state #- ARRAY['items', item];
    WHEN 'renamed' THEN RETURN jsonb_set(state, '{owner}', e.data -> 'to', false);
    WHEN 'noted' THEN RETURN jsonb_insert(state || CASE WHEN state ? 'notes' THEN '{}' ELSE '{"notes": []}' END::jsonb, '{notes,-1}', e.data -> 'text', true);
  END CASE;
EXCEPTION WHEN case_not_found THEN
  RAISE EXCEPTION 'unknown event "%"', e.kind USING ERRCODE = 'ES001';
END $$;
CREATE FUNCTION state_of(p_stream uuid, p_version int DEFAULT NULL) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE s snapshots; state jsonb; from_version int := 0; r record;
BEGIN
  SELECT * INTO s FROM snapshots WHERE stream = p_stream AND (p_version IS NULL OR version <= p_version);
  IF FOUND THEN state := s.state; from_version := s.version; END IF;
  FOR r IN SELECT kind, data FROM events WHERE stream = p_stream AND version > from_version AND (p_version IS NULL OR version <= p_version) ORDER BY version LOOP
    state := apply(state, ROW(r.kind, r.data)::event);
  END LOOP;
  RETURN state;
END $$;
CREATE FUNCTION append(p_stream uuid, p_type text, expected int, p_at timestamptz, VARIADIC es event[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE e event; v int;
BEGIN
  IF expected = 0 THEN
    INSERT INTO streams (id, type) VALUES (p_stream, p_type) ON CONFLICT (id) DO NOTHING;
  END IF;
  SELECT version INTO v FROM streams WHERE id = p_stream FOR UPDATE;
  IF v IS DISTINCT FROM expected THEN
    RAISE EXCEPTION 'stream % is at version %, not %', left(p_stream::text, 8), coalesce(v::text, 'none'), expected USING ERRCODE = 'serialization_failure';
  END IF;
  FOREACH e IN ARRAY es LOOP
    v := v + 1;
    INSERT INTO events (stream, version, kind, data, meta, at) VALUES (p_stream, v, e.kind, e.data - 'key', CASE WHEN e.data ? 'key' THEN jsonb_build_object('key', e.data -> 'key') END, p_at);
  END LOOP;
  UPDATE streams SET version = v WHERE id = p_stream;
  IF v % 4 = 0 THEN
    INSERT INTO snapshots VALUES (p_stream, v, state_of(p_stream)) ON CONFLICT (stream) DO UPDATE SET (version, state) = (excluded.version, excluded.state);
  END IF;
  RETURN v;
END $$;
CREATE FUNCTION project() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.kind = ANY ('{deposited,withdrawn}') THEN
    INSERT INTO balances AS b VALUES (NEW.stream, CASE NEW.kind WHEN 'deposited' THEN 1 ELSE -1 END * (NEW.data ->> 'amount')::numeric, NEW.version)
      ON CONFLICT (stream) DO UPDATE SET balance = b.balance + excluded.balance, version = excluded.version WHERE b.version < excluded.version;
    IF (SELECT balance FROM balances WHERE stream = NEW.stream) < 0 THEN RAISE check_violation USING MESSAGE = 'overdrawn', DETAIL = NEW.data::text; END IF;
  END IF;
  INSERT INTO outbox VALUES (NEW.position, TG_ARGV[0] || NEW.kind, row_to_json(NEW)::text);
  RETURN NULL;
END $$;
CREATE TRIGGER project AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION project('es.');
REVOKE UPDATE, DELETE ON events FROM PUBLIC;
CREATE FUNCTION frozen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'events are for ever'; END $$;
CREATE TRIGGER frozen BEFORE UPDATE OR DELETE ON events FOR EACH ROW EXECUTE FUNCTION frozen();
SELECT append('aaaaaaaa-0000-0000-0000-000000000001', 'account', 0, '2023-12-30', ('opened', '{"owner": "Ann"}'), ('deposited', '{"amount": 100.50}'));
SELECT append('aaaaaaaa-0000-0000-0000-000000000001', 'account', 2, '2024-01-02', ROW('withdrawn', '{"amount": 20, "key": "k1"}')::event, ROW('noted', '{"text": "cash"}')::event);
SELECT append('aaaaaaaa-0000-0000-0000-000000000001', 'account', 2, '2024-01-02', ROW('withdrawn', '{"amount": 20}')::event);
SELECT append('aaaaaaaa-0000-0000-0000-000000000001', 'account', 4, '2024-01-03', ROW('deposited', '{"amount": 1}')::event, ROW('withdrawn', '{"amount": 200}')::event);
SELECT append('aaaaaaaa-0000-0000-0000-000000000001', 'account', 4, '2024-01-03', ROW('withdrawn', '{"amount": 20, "key": "k1"}')::event);
SELECT append('aaaaaaaa-0000-0000-0000-000000000001', 'account', 4, '2025-01-03', ROW('noted', '{"text": "late"}')::event);
SELECT append('cccccccc-0000-0000-0000-000000000001', 'basket', 0, '2024-01-03', ROW('added', '{"item": "tea"}')::event);
SELECT append('cccccccc-0000-0000-0000-000000000001', 'cart', 0, '2024-01-03', VARIADIC ARRAY[('added', '{"item": "tea"}'), ('added', '{"item": "jam", "n": 3}'), ('added', '{"item": "tea", "n": 2}'), ('removed', '{"item": "jam"}'), ('exploded', '{}')]::event[]);
SELECT append('cccccccc-0000-0000-0000-000000000002', 'cart', 3, '2024-01-03');
SELECT append('not a uuid', 'cart', 3, '2024-01-03');
SELECT append('aaaaaaaa-0000-0000-0000-000000000001', 'account', 4, '2024-02-03', VARIADIC '{"(renamed,\"{\"\"to\"\": \"\"Anna\"\"}\")"}');
SELECT left(stream::text, 8), version, kind, data, meta, tableoid::regclass FROM events ORDER BY stream, version;
SELECT state_of(id), state_of(id, 2), state_of(id, 4) FROM streams ORDER BY id;
SELECT apply(NULL, ('exploded', NULL));
SELECT left(stream::text, 8) AS s, version, state FROM snapshots ORDER BY 1;
SELECT left(stream::text, 1), balance, version FROM balances ORDER BY 1;
SELECT topic, payload::json ->> 'version', payload::jsonb #>> '{data,amount}' FROM outbox ORDER BY position;
UPDATE events SET data = '{}' WHERE version = 1;
DELETE FROM events WHERE version = 1;
DELETE FROM events_2024;
WITH batch AS (DELETE FROM outbox WHERE position IN (SELECT position FROM outbox ORDER BY position LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING position, topic) SELECT topic, count(*) OVER () FROM batch ORDER BY position;
SELECT kind, count(*), min(version), (array_agg(data ORDER BY stream, version))[1] FROM events GROUP BY kind ORDER BY count(*) DESC, kind;
SELECT jsonb_path_query(a, '$[*] ? (@.amount > 50 || exists(@.owner)).keyvalue().key') FROM (SELECT jsonb_agg(data ORDER BY stream, version) AS a FROM events) x;
SELECT jsonb_path_query_array(data, 'strict $.*') FROM events WHERE data @@ '$.n >= 2' OR jsonb_path_exists(data, '$.amount ? (@ < $x)', '{"x": 50}') ORDER BY stream, version;
SELECT k, count(*) FROM events, jsonb_object_keys(data) k GROUP BY k ORDER BY k COLLATE "C";
SELECT x.* FROM events e, jsonb_to_record(e.data) AS x (amount numeric, owner text, item text) WHERE e.version = 2 ORDER BY e.stream;
SELECT * FROM jsonb_populate_record(NULL::streams, '{"version": 3, "type": "cart", "more": 1}');
SELECT e.* FROM events ev, LATERAL jsonb_populate_record(NULL::event, jsonb_build_object('kind', ev.kind, 'data', ev.data)) e WHERE version = 1 ORDER BY stream;
-- A rebuild: the projection from nothing comes to the same.
CREATE TABLE was (LIKE balances);
CREATE PROCEDURE rebuild(INOUT changed int) LANGUAGE plpgsql AS $$
DECLARE c refcursor; e events; n int := 0;
BEGIN
  DELETE FROM was;
  INSERT INTO was TABLE balances;
  DELETE FROM balances;
  OPEN c NO SCROLL FOR SELECT * FROM events WHERE kind IN ('deposited', 'withdrawn') ORDER BY position;
  LOOP
    FETCH c INTO e;
    EXIT WHEN NOT FOUND;
    n := n + 1;
    INSERT INTO balances AS b VALUES (e.stream, (CASE e.kind WHEN 'deposited' THEN '' ELSE '-' END || (e.data ->> 'amount'))::numeric, e.version) ON CONFLICT (stream) DO UPDATE SET balance = b.balance + excluded.balance, version = excluded.version;
  END LOOP;
  CLOSE c;
  SELECT count(*) INTO changed FROM (SELECT * FROM was EXCEPT TABLE balances) x;
  RAISE INFO '% events', n;
END $$;
CREATE FUNCTION rebuild_check() RETURNS TABLE (stream uuid, balance numeric) LANGUAGE sql AS $$ SELECT stream, sum(CASE kind WHEN 'deposited' THEN 1 ELSE -1 END * (data ->> 'amount')::numeric) FROM events WHERE kind IN ('deposited', 'withdrawn') GROUP BY stream $$;
SELECT (SELECT array_agg(balance) FROM rebuild_check()) = (SELECT array_agg(balance) FROM balances);
ALTER TABLE events DETACH PARTITION events_2023;
SELECT state_of(id) FROM streams ORDER BY id;
INSERT INTO events (stream, version, kind, at) VALUES ('aaaaaaaa-0000-0000-0000-000000000001', 9, 'noted', '2023-05-05');
ALTER TABLE events ATTACH PARTITION events_2023 FOR VALUES FROM ('2023-01-01') TO ('2024-01-01');
SELECT count(*) FROM events;
SELECT md5(string_agg(concat_ws('|', stream, version, kind, data), E'\n' ORDER BY stream, version)) FROM events;
CALL rebuild(0);
DROP TABLE streams CASCADE;
