-- with contexts
-- Long-running work in the manner of Temporal: workflows with histories, tasks with time-outs, compensation in reverse, an outbox, signals, timers, one table of shards by hash.
CREATE SCHEMA wf;
SET search_path TO wf, public;
CREATE TYPE wf_status AS ENUM ('running', 'compensating', 'completed', 'compensated', 'failed');
CREATE TYPE step AS (name text, queue text, undo text, max_attempts int);
CREATE TABLE definitions (name text, version int, steps step[] NOT NULL, PRIMARY KEY (name, version));
CREATE TABLE executions (shard int NOT NULL, workflow_id text NOT NULL, run_id int NOT NULL DEFAULT 1, definition text NOT NULL, version int NOT NULL, status wf_status NOT NULL DEFAULT 'running', input jsonb NOT NULL DEFAULT '{}', result jsonb, at_step int NOT NULL DEFAULT 0, next_event int NOT NULL DEFAULT 1, PRIMARY KEY (shard, workflow_id, run_id), FOREIGN KEY (definition, version) REFERENCES definitions) PARTITION BY HASH (shard);
CREATE TABLE executions_0 PARTITION OF executions FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE executions_1 PARTITION OF executions FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE UNIQUE INDEX one_open_run ON executions (shard, workflow_id) WHERE status IN ('running', 'compensating');
CREATE TABLE history (shard int, workflow_id text, run_id int, event_id int, kind text NOT NULL, attributes jsonb NOT NULL DEFAULT '{}', PRIMARY KEY (shard, workflow_id, run_id, event_id), FOREIGN KEY (shard, workflow_id, run_id) REFERENCES executions ON DELETE CASCADE);
CREATE TABLE tasks (task_id bigserial PRIMARY KEY, queue text NOT NULL, shard int NOT NULL, workflow_id text NOT NULL, run_id int NOT NULL, activity text NOT NULL, attempt int NOT NULL DEFAULT 1, visible_at timestamptz NOT NULL, locked_by text, deadline timestamptz, CHECK ((locked_by IS NULL) = (deadline IS NULL)));
CREATE INDEX tasks_ready ON tasks (queue, visible_at) WHERE locked_by IS NULL;
CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, topic text NOT NULL, key text NOT NULL, payload jsonb NOT NULL, headers text[] NOT NULL DEFAULT '{}', sent_at timestamptz);
CREATE TABLE signals (workflow_id text, name text, body jsonb, consumed boolean NOT NULL DEFAULT false);
-- The clock of the program is a row, so that tests turn it.
CREATE TABLE clock (single boolean PRIMARY KEY DEFAULT true CHECK (single), at timestamptz NOT NULL);
INSERT INTO clock (at) VALUES ('2024-04-01 08:00+00');
INSERT INTO clock (single, at) VALUES (false, '2024-04-01 08:00+00');
CREATE FUNCTION tick(by interval DEFAULT '0') RETURNS timestamptz LANGUAGE sql AS $$ UPDATE wf.clock SET at = at + by RETURNING at $$;
CREATE FUNCTION shard_of(id text) RETURNS int LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT (('x' || substr(md5(id), 1, 6))::bit(24)::int) % 8 $$;
SELECT shard_of('trip-1'), shard_of('trip-2'), shard_of(NULL);
INSERT INTO definitions VALUES ('trip', 1, ARRAY[('flight', 'air', 'cancel_flight', 3)::step, ROW('hotel', 'beds', 'cancel_hotel', 2)::step, ROW('pay', 'money', NULL, 1)]::step[]), ('ping', 1, '{"(ping,net,,5)"}');
SELECT name, cardinality(steps), steps[1].name, (steps[cardinality(steps)]).max_attempts, steps[1].undo FROM definitions ORDER BY definitions.name DESC;
SELECT d.name, s.* FROM definitions d, unnest(d.steps) WITH ORDINALITY AS s(name, queue, undo, tries, n) ORDER BY 1, s.n;
CREATE PROCEDURE note(e executions, kind text, VARIADIC pairs text[] DEFAULT '{}') LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  UPDATE executions x SET next_event = next_event + 1 WHERE (x.shard, x.workflow_id, x.run_id) = (e.shard, e.workflow_id, e.run_id) RETURNING next_event - 1 INTO n;
  INSERT INTO history VALUES (e.shard, e.workflow_id, e.run_id, n, kind, jsonb_object(pairs));
END $$;
CREATE FUNCTION start(p_id text, p_def text, p_input jsonb DEFAULT '{}') RETURNS int LANGUAGE plpgsql AS $$
DECLARE v int; r int; s int := shard_of(p_id);
BEGIN
  SELECT max(version) INTO STRICT v FROM definitions WHERE name = p_def;
  IF v IS NULL THEN RAISE undefined_object USING MESSAGE = format('workflow %I is not defined', p_def); END IF;
  SELECT coalesce(max(run_id), 0) + 1 INTO r FROM executions WHERE shard = s AND workflow_id = p_id;
  INSERT INTO executions (shard, workflow_id, run_id, definition, version, input) VALUES (s, p_id, r, p_def, v, p_input);
  INSERT INTO history VALUES (s, p_id, r, 0, 'Started', p_input);
  PERFORM advance(s, p_id, r);
  RETURN r;
EXCEPTION WHEN unique_violation THEN
  RAISE EXCEPTION 'workflow % is running', p_id USING ERRCODE = 'WF409', DETAIL = format('Run %s would be another one.', r);
END $$;
CREATE FUNCTION advance(s int, id text, r int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE e executions; st step; d definitions;
BEGIN
  SELECT * INTO e FROM executions WHERE shard = s AND workflow_id = id AND run_id = r FOR UPDATE;
  SELECT * INTO d FROM definitions WHERE name = e.definition AND version = e.version;
  IF e.status = 'running' THEN
    IF e.at_step = cardinality(d.steps) THEN
      UPDATE executions SET status = 'completed', result = coalesce((SELECT jsonb_object_agg(h.attributes ->> 'activity', h.attributes -> 'result') FROM history h WHERE h.shard = s AND h.workflow_id = id AND h.run_id = r AND h.kind = 'ActivityCompleted'), '{}') WHERE shard = s AND workflow_id = id AND run_id = r;
      INSERT INTO outbox (topic, key, payload) VALUES (d.name || '.completed', id, jsonb_build_object('run', r));
      PERFORM pg_notify('workflows', id || ' completed');
      RETURN;
    END IF;
    st := d.steps[e.at_step + 1];
    INSERT INTO tasks (queue, shard, workflow_id, run_id, activity, visible_at) SELECT st.queue, s, id, r, st.name, at FROM clock;
  ELSIF e.status = 'compensating' THEN
    WHILE e.at_step > 0 LOOP
      st := d.steps[e.at_step];
      e.at_step := e.at_step - 1;
      IF st.undo IS NOT NULL THEN
        INSERT INTO tasks (queue, shard, workflow_id, run_id, activity, visible_at) SELECT st.queue, s, id, r, st.undo, at FROM clock;
        EXIT;
      END IF;
    END LOOP;
    UPDATE executions SET at_step = e.at_step, status = CASE WHEN EXISTS (SELECT FROM tasks t WHERE t.workflow_id = id AND t.run_id = r) THEN status ELSE 'compensated' END WHERE shard = s AND workflow_id = id AND run_id = r RETURNING status INTO e.status;
    IF e.status = 'compensated' THEN INSERT INTO outbox (topic, key, payload, headers) VALUES (d.name || '.undone', id, jsonb_build_object('run', r), ARRAY['retry=false', 'v=' || d.version]); END IF;
  ELSE
    RAISE EXCEPTION 'workflow % is %', id, e.status USING ERRCODE = 'WF410';
  END IF;
END $$;
CREATE FUNCTION poll(p_queue text, worker text, lease interval DEFAULT '30 s') RETURNS TABLE (task bigint, what text, input jsonb, try int) LANGUAGE plpgsql ROWS 1 AS $$
BEGIN
  RETURN QUERY
    WITH picked AS MATERIALIZED (SELECT t.task_id FROM tasks t, clock c WHERE t.queue = p_queue AND t.visible_at <= c.at AND (t.locked_by IS NULL OR t.deadline < c.at) ORDER BY t.visible_at, t.task_id LIMIT 1 FOR UPDATE OF t SKIP LOCKED)
    UPDATE tasks t SET locked_by = worker, deadline = c.at + lease, attempt = t.attempt + CASE WHEN t.locked_by IS NULL THEN 0 ELSE 1 END
    FROM picked p, clock c, executions e WHERE p.task_id = t.task_id AND (e.shard, e.workflow_id, e.run_id) = (t.shard, t.workflow_id, t.run_id)
    RETURNING t.task_id, t.activity, e.input, t.attempt;
  IF NOT FOUND THEN RAISE NOTICE 'nothing in %', p_queue; END IF;
END $$;
CREATE FUNCTION complete(p_task bigint, worker text, result jsonb) RETURNS wf_status LANGUAGE plpgsql AS $$
DECLARE t tasks; e executions;
BEGIN
  DELETE FROM tasks WHERE task_id = p_task AND locked_by = worker RETURNING * INTO t;
  IF NOT FOUND THEN RAISE EXCEPTION 'task % is not held by %', p_task, worker USING ERRCODE = 'WF423'; END IF;
  SELECT * INTO e FROM executions x WHERE (x.shard, x.workflow_id, x.run_id) = (t.shard, t.workflow_id, t.run_id);
  CALL note(e, 'ActivityCompleted', 'activity', t.activity, 'result', result #>> '{}');
  IF e.status = 'running' THEN UPDATE executions SET at_step = at_step + 1 WHERE workflow_id = e.workflow_id AND run_id = e.run_id; END IF;
  PERFORM advance(e.shard, e.workflow_id, e.run_id);
  SELECT status INTO e.status FROM executions WHERE workflow_id = e.workflow_id AND run_id = e.run_id;
  RETURN e.status;
END $$;
CREATE FUNCTION fail(p_task bigint, worker text, why text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t tasks; e executions; most int;
BEGIN
  SELECT * INTO STRICT t FROM tasks WHERE task_id = p_task AND locked_by = worker;
  SELECT x.* INTO e FROM executions x WHERE x.workflow_id = t.workflow_id AND x.run_id = t.run_id;
  CALL note(e, 'ActivityFailed', 'activity', t.activity, 'why', why, 'attempt', t.attempt::text);
  SELECT s.max_attempts INTO most FROM definitions d CROSS JOIN LATERAL unnest(d.steps) s WHERE d.name = e.definition AND d.version = e.version AND t.activity IN (s.name, s.undo);
  IF t.attempt < most THEN
    UPDATE tasks SET attempt = attempt + 1, locked_by = NULL, deadline = NULL, visible_at = (SELECT at FROM clock) + make_interval(secs => power(2, t.attempt)) WHERE task_id = p_task;
    RETURN 'retry';
  END IF;
  DELETE FROM tasks WHERE task_id = p_task;
  UPDATE executions SET status = 'compensating' WHERE workflow_id = e.workflow_id AND run_id = e.run_id;
  CALL note(e, 'Compensating');
  PERFORM advance(e.shard, e.workflow_id, e.run_id);
  RETURN 'undo';
END $$;
SELECT start('trip-1', 'trip', '{"who": "Ann", "nights": 3}');
SELECT start('trip-1', 'trip');
SELECT start('trip-2', 'trip', '{"who": "Bob"}'), start('p', 'ping');
SELECT start('x', 'Unknown thing');
SELECT * FROM poll('air', 'w1');
SELECT * FROM poll('air', 'w2', '5 minutes');
SELECT * FROM poll('air', 'w1');
SELECT complete(1, 'w2', '{}');
SELECT complete(1, 'w1', '"LH400"');
SELECT fail(2, 'w2', 'no seats');
SELECT * FROM poll('air', 'w2');
SELECT tick('2 seconds');
SELECT * FROM poll('air', 'w2');
SELECT fail(2, 'w1', 'no seats');
SELECT fail(2, 'w2', 'still none');
SELECT tick('1 minute');
SELECT * FROM poll('air', 'w3');
-- A worker that dies: its lease ends, another one has the task.
SELECT tick('31 s');
SELECT * FROM poll('air', 'w4');
SELECT fail(2, 'w4', 'gave up');
SELECT * FROM poll('beds', 'w1');
SELECT complete(task, 'w5', '"room 7"') FROM poll('beds', 'w5');
SELECT task_id, queue, activity, attempt, locked_by, deadline FROM tasks ORDER BY 1;
SELECT tick('1 hour');
SELECT complete(task, 'w5', '"room 7"') FROM poll('beds', 'w5') LIMIT 1;
SELECT (SELECT task FROM poll('money', 'w6')) AS t;
SELECT fail(5, 'w6', 'card declined');
SELECT complete(task, 'w7', 'null') FROM poll('beds', 'w7');
SELECT complete(task, 'w7', 'null') FROM poll('air', 'w7');
SELECT workflow_id, run_id, status, at_step, next_event FROM executions ORDER BY 1, 2;
SELECT event_id, kind, attributes - 'why' AS attributes FROM history WHERE workflow_id = 'trip-1' ORDER BY event_id;
SELECT id, topic, key, payload, headers FROM outbox ORDER BY id;
SELECT start('trip-1', 'trip') AS second_run;
SELECT advance(shard_of('trip-2'), 'trip-2', 1);
SELECT complete(task, 'n', '"pong"') FROM poll('net', 'n');
SELECT status, result FROM executions WHERE workflow_id = 'p';
-- The relay: in order of the keys, marked in the same statement.
WITH batch AS (SELECT id FROM outbox WHERE sent_at IS NULL ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 10), sent AS (UPDATE outbox o SET sent_at = '2024-04-01 10:00+00' FROM batch b WHERE b.id = o.id RETURNING o.*) SELECT topic, count(*), jsonb_agg(payload || jsonb_build_object('key', key) ORDER BY id) FROM sent GROUP BY topic ORDER BY topic;
SELECT count(*) FROM outbox WHERE sent_at IS NULL;
-- Replaying a history gives the state; what differs is told.
WITH RECURSIVE replay AS (
  SELECT shard, workflow_id, run_id, event_id, 'running'::text AS status, 0 AS done FROM history WHERE event_id = 0
  UNION ALL
  SELECT h.shard, h.workflow_id, h.run_id, h.event_id, CASE h.kind WHEN 'Compensating' THEN 'compensating' ELSE r.status END, r.done + (h.kind = 'ActivityCompleted' AND r.status = 'running')::int FROM replay r JOIN history h ON (h.shard, h.workflow_id, h.run_id, h.event_id) = (r.shard, r.workflow_id, r.run_id, r.event_id + 1)
)
SELECT DISTINCT ON (workflow_id, run_id) workflow_id, run_id, event_id, r.status, done, e.status AS stored FROM replay r JOIN executions e USING (shard, workflow_id, run_id) ORDER BY workflow_id, run_id, event_id DESC;
SELECT tableoid::regclass, count(*) FROM executions GROUP BY 1 ORDER BY 1;
-- Signals and queries, and a procedure that cleans up in several transactions.
INSERT INTO signals SELECT 'trip-1', 'cancel', jsonb_build_object('n', n) FROM generate_series(1, 3) n;
WITH one AS (UPDATE signals SET consumed = true WHERE workflow_id = 'trip-1' AND body @> '{"n": 2}' RETURNING body) SELECT body -> 'n' FROM one;
CREATE PROCEDURE archive(INOUT gone int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE e record;
BEGIN
  FOR e IN SELECT shard, workflow_id, run_id, status FROM wf.executions WHERE status NOT IN ('running', 'compensating') ORDER BY workflow_id LOOP
    DELETE FROM wf.executions x WHERE x.shard = e.shard AND x.workflow_id = e.workflow_id AND x.run_id = e.run_id;
    gone := gone + 1;
    COMMIT;
    RAISE NOTICE 'archived % (%)', e.workflow_id, e.status;
  END LOOP;
  DELETE FROM wf.signals WHERE consumed;
  ROLLBACK;
END $$;
CALL archive();
BEGIN;
CALL archive();
ROLLBACK;
SELECT (SELECT count(*) FROM history), (SELECT count(*) FROM executions), (SELECT count(*) FROM signals WHERE consumed);
SELECT poll('money');
SELECT * FROM poll('money', 'w', lease => 'soon');
INSERT INTO tasks (queue, shard, workflow_id, run_id, activity, visible_at, locked_by) VALUES ('q', 1, 'x', 1, 'a', '2024-04-01', 'w');
INSERT INTO executions (shard, workflow_id, definition, version) VALUES (1, 'y', 'trip', NULL), (1, 'y', NULL, 1);
ALTER TYPE wf_status ADD VALUE 'paused' AFTER 'running';
SELECT unnest(enum_range('running'::wf_status, 'completed'));
