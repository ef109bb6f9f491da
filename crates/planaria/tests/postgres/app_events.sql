-- Events as the truth: streams with versions, optimistic locking, snapshots, projections that can be built anew.
SET timezone = 'UTC';
CREATE SCHEMA es;
CREATE TABLE es.streams (stream_id text PRIMARY KEY, type text NOT NULL, version bigint NOT NULL DEFAULT 0 CHECK (version >= 0), archived bool NOT NULL DEFAULT false);
CREATE TABLE es.events (position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, stream_id text NOT NULL REFERENCES es.streams, version bigint NOT NULL, type text NOT NULL CHECK (type ~ '^[A-Z][A-Za-z]+$'), data jsonb NOT NULL, meta jsonb NOT NULL DEFAULT '{}', at timestamptz NOT NULL DEFAULT clock_timestamp(), CONSTRAINT events_version UNIQUE (stream_id, version));
CREATE INDEX events_type ON es.events ((data ->> 'owner'), type) WHERE type LIKE 'Account%';
CREATE TABLE es.snapshots (stream_id text REFERENCES es.streams ON DELETE CASCADE, version bigint, state jsonb NOT NULL, PRIMARY KEY (stream_id, version));
CREATE TABLE account_view (id text PRIMARY KEY, owner text, balance numeric(12,2) NOT NULL DEFAULT 0, movements int NOT NULL DEFAULT 0, last_position bigint NOT NULL, open boolean NOT NULL DEFAULT true);
CREATE TABLE checkpoints (name text PRIMARY KEY, position bigint NOT NULL);
CREATE FUNCTION es.append(p_stream text, p_type text, p_expected bigint, VARIADIC p_events jsonb[]) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
CREATE FUNCTION es.append(p_stream text, p_type text, p_expected bigint, p_events jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint; e record;
BEGIN
  IF p_expected = 0 THEN
    INSERT INTO es.streams (stream_id, type) VALUES (p_stream, p_type) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN RAISE EXCEPTION 'stream "%" is there already', p_stream USING ERRCODE = 'ES409'; END IF;
  END IF;
  UPDATE es.streams s SET version = s.version + jsonb_array_length(p_events) WHERE stream_id = p_stream AND s.version = p_expected AND NOT archived RETURNING s.version INTO v;
  IF v IS NULL THEN
    SELECT version INTO v FROM es.streams WHERE stream_id = p_stream;
    RAISE EXCEPTION 'wrong version of stream "%"', p_stream USING ERRCODE = 'ES001', DETAIL = format('Expected %s, found %s.', p_expected, coalesce(v::text, 'none')), HINT = 'Read it again.';
  END IF;
  FOR e IN SELECT o.value, o.ordinality FROM jsonb_array_elements(p_events) WITH ORDINALITY o LOOP
    INSERT INTO es.events (stream_id, version, type, data, at) VALUES (p_stream, p_expected + e.ordinality, e.value ->> 'type', e.value - 'type', timestamptz '2024-01-01' + (p_expected + e.ordinality) * interval '1 hour');
  END LOOP;
  RETURN v;
END $$;
SELECT es.append('acc-1', 'account', 0, '[{"type": "AccountOpened", "owner": "Ann"}, {"type": "Deposited", "amount": 100.50}, {"type": "Withdrawn", "amount": 20}]');
SELECT es.append('acc-1', 'account', 0, '[]');
SELECT es.append('acc-1', 'account', 2, '[{"type": "Deposited", "amount": 1}]');
SELECT es.append('acc-2', 'account', 5, '[{"type": "Deposited", "amount": 1}]');
SELECT es.append('acc-1', 'account', 3, '[{"type": "deposited", "amount": 1}]');
SELECT es.append('acc-1', 'account', 3, '[{"amount": 1}]');
SELECT es.append('acc-1', 'account', 3, '{"type": "Deposited"}');
SELECT es.append('acc-2', 'account', 0, '[{"type": "AccountOpened", "owner": "Bob", "limits": {"day": 500, "currencies": ["EUR", "USD"]}}]'), es.append('acc-2', 'account', 1, '[{"type": "Deposited", "amount": 1e3}]');
SELECT es.append('acc-1', 'account', 3, (SELECT jsonb_agg(jsonb_build_object('type', CASE WHEN n % 3 = 0 THEN 'Withdrawn' ELSE 'Deposited' END, 'amount', n * 1.25)) FROM generate_series(1, 6) n));
SELECT stream_id, version, type, data, to_char(at, 'HH24:MI') FROM es.events ORDER BY stream_id, version;
-- The state of a stream, folded by recursion.
CREATE FUNCTION es.fold(s jsonb, t text, d jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE t WHEN 'AccountOpened' THEN s || d || '{"balance": 0}'::jsonb
    WHEN 'Deposited' THEN jsonb_set(s, '{balance}', to_jsonb((s ->> 'balance')::numeric + (d ->> 'amount')::numeric))
    WHEN 'Withdrawn' THEN jsonb_set(s, '{balance}', to_jsonb((s ->> 'balance')::numeric - (d ->> 'amount')::numeric))
    WHEN 'AccountClosed' THEN s || '{"closed": true}'::jsonb - 'limits' ELSE s END || jsonb_build_object('events', coalesce((s -> 'events')::int, 0) + 1)
$$;
CREATE FUNCTION es.state(p text, p_upto bigint DEFAULT NULL) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE s es.snapshots; st jsonb := '{}'; e es.events%ROWTYPE;
BEGIN
  SELECT * INTO s FROM es.snapshots WHERE stream_id = p AND (p_upto IS NULL OR version <= p_upto) ORDER BY version DESC LIMIT 1;
  IF s.version IS NOT NULL THEN st := s.state; END IF;
  FOR e IN SELECT * FROM es.events ev WHERE ev.stream_id = p AND ev.version > coalesce(s.version, 0) AND ev.version <= coalesce(p_upto, 9223372036854775807) ORDER BY version LOOP
    st := es.fold(st, e.type, e.data);
  END LOOP;
  RETURN st;
END $$;
SELECT es.state('acc-1'), es.state('acc-1', 2), es.state('acc-2'), es.state('none');
WITH RECURSIVE f AS (SELECT 0::bigint AS v, '{}'::jsonb AS st UNION ALL SELECT e.version, es.fold(st, type, data) FROM f JOIN es.events e ON e.stream_id = 'acc-1' AND e.version = f.v + 1) SELECT v, st ->> 'balance' AS balance FROM f ORDER BY v;
INSERT INTO es.snapshots SELECT stream_id, version, es.state(stream_id) FROM es.streams WHERE version >= 9 RETURNING stream_id, version, state -> 'balance' AS balance;
SELECT es.append('acc-1', 'account', 9, '[{"type": "Withdrawn", "amount": 0.75}]');
-- A projection by trigger, and built anew.
CREATE FUNCTION project(e es.events) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  CASE e.type
    WHEN 'AccountOpened' THEN
      INSERT INTO account_view (id, owner, last_position) VALUES (e.stream_id, e.data ->> 'owner', e.position) ON CONFLICT (id) DO UPDATE SET owner = EXCLUDED.owner;
    WHEN 'Deposited', 'Withdrawn' THEN
      UPDATE account_view SET balance = balance + CASE e.type WHEN 'Deposited' THEN 1 ELSE -1 END * (e.data ->> 'amount')::numeric, movements = movements + 1, last_position = e.position WHERE id = e.stream_id AND last_position < e.position;
    WHEN 'AccountClosed' THEN UPDATE account_view SET open = false WHERE id = e.stream_id;
  END CASE;
EXCEPTION WHEN case_not_found THEN
  RAISE WARNING 'event % (%) is not projected', e.position, e.type USING HINT = SQLERRM;
END $$;
CREATE PROCEDURE rebuild(INOUT n int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE e es.events; c CURSOR FOR SELECT * FROM es.events ORDER BY position;
BEGIN
  DELETE FROM account_view;
  FOR e IN SELECT * FROM es.events ORDER BY position LOOP PERFORM project(e); n := n + 1; END LOOP;
  INSERT INTO checkpoints VALUES ('accounts', coalesce(e.position, 0)) ON CONFLICT (name) DO UPDATE SET position = EXCLUDED.position;
END $$;
CALL rebuild();
CREATE FUNCTION on_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM project(NEW);
  PERFORM pg_notify('events', NEW.stream_id);
  RETURN NEW;
END $$;
CREATE TRIGGER on_event AFTER INSERT ON es.events FOR EACH ROW EXECUTE FUNCTION on_event();
SELECT es.append('acc-2', 'account', 2, '[{"type": "Withdrawn", "amount": 0.01}, {"type": "Renamed", "to": "Bobby"}]');
SELECT es.append('acc-3', 'account', 0, '[{"type": "AccountOpened", "owner": null}, {"type": "Deposited", "amount": "12.345"}, {"type": "AccountClosed"}]');
SELECT es.append('acc-4', 'account', 0, '[{"type": "AccountOpened"}, {"type": "Deposited", "amount": "much"}]');
SELECT * FROM account_view ORDER BY id;
CREATE TEMP TABLE before AS TABLE account_view;
CALL rebuild(n => 100);
SELECT count(*) AS differ FROM (TABLE before EXCEPT TABLE account_view) x;
SELECT name, position = (SELECT max(position) FROM es.events) AS current FROM checkpoints;
CREATE FUNCTION es.immutable() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'events are not changed (% of %)', lower(TG_OP), TG_RELID::regclass USING ERRCODE = '0A000'; END $$;
CREATE TRIGGER immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON es.events FOR EACH STATEMENT EXECUTE FUNCTION es.immutable();
UPDATE es.events SET data = '{}' WHERE false;
DELETE FROM es.events;
TRUNCATE es.events;
INSERT INTO es.events (position, stream_id, version, type, data) VALUES (1, 'acc-1', 99, 'X', '{}');
INSERT INTO es.events (position, stream_id, version, type, data) OVERRIDING SYSTEM VALUE VALUES (1, 'acc-1', 99, 'Xx', '{}');
INSERT INTO es.events (stream_id, version, type, data) VALUES ('acc-1', 1, 'Xx', '{}');
INSERT INTO es.events (stream_id, version, type, data) VALUES ('acc-1', 100, 'Xx', '{"a": 1, "a": 2, "b": [1, {"c": null}]}') RETURNING data, data -> 'b' -> 1 -> 'c' IS NULL, data #>> '{b,1,c}' IS NULL, jsonb_typeof(data #> '{b,1,c}');
INSERT INTO es.events (stream_id, version, type, data) VALUES ('acc-1', 101, 'Xx', '{"a": 1,}');
INSERT INTO es.events (stream_id, version, type, data) VALUES ('acc-1', 101, 'Xx', '{"a": "\u00e4\u0000"}');
SELECT stream_id, type, (data ->> 'amount')::numeric AS amount, sum(CASE type WHEN 'Deposited' THEN (data ->> 'amount')::numeric WHEN 'Withdrawn' THEN -(data ->> 'amount')::numeric END) OVER (PARTITION BY stream_id ORDER BY version) AS balance, version - lag(version, 1, 0::bigint) OVER (PARTITION BY stream_id ORDER BY version) AS step FROM es.events ORDER BY stream_id, version LIMIT 5;
SELECT type, count(*), sum((data ->> 'amount')::numeric), avg((data ->> 'amount')::numeric), jsonb_agg(DISTINCT stream_id) FROM es.events GROUP BY type ORDER BY type;
SELECT e.stream_id, k.key, k.value FROM es.events e, jsonb_each_text(e.data) k WHERE e.type = 'AccountOpened' ORDER BY 1, 2;
SELECT stream_id FROM es.events WHERE data @> '{"limits": {"currencies": ["USD"]}}' OR data ->> 'owner' IS NULL AND data ? 'owner';
UPDATE es.streams SET archived = true WHERE stream_id LIKE 'acc-_' AND NOT EXISTS (SELECT FROM account_view WHERE id = stream_id AND open);
SELECT es.append('acc-3', 'account', 3, '[]');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT es.append('acc-1', 'account', 10, '[{"type": "Deposited", "amount": 1}]');
SAVEPOINT a;
SELECT es.append('acc-1', 'account', 10, '[{"type": "Deposited", "amount": 1}]');
ROLLBACK TO a;
SELECT es.append('acc-1', 'account', 11, '[{"type": "Deposited", "amount": 1}]');
COMMIT;
SELECT balance, movements FROM account_view WHERE id = 'acc-1';
DELETE FROM es.streams WHERE stream_id = 'acc-2';
