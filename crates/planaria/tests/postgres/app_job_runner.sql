-- with contexts
-- A queue of jobs: NOTIFY, SKIP LOCKED, retries that wait longer each time, dead letters, dependencies, quotas, a dispatcher that calls handlers by their names.
CREATE TYPE job_state AS ENUM ('waiting', 'ready', 'running', 'done', 'failed', 'dead');
CREATE TABLE queues (name text PRIMARY KEY, max_running int NOT NULL DEFAULT 2, paused boolean NOT NULL DEFAULT false, retry_base interval NOT NULL DEFAULT '10 seconds');
CREATE TABLE jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL REFERENCES queues ON UPDATE CASCADE, kind text NOT NULL, args jsonb NOT NULL DEFAULT '{}', priority smallint NOT NULL DEFAULT 0, state job_state NOT NULL DEFAULT 'ready', run_at timestamptz NOT NULL, attempts int NOT NULL DEFAULT 0, max_attempts int NOT NULL DEFAULT 3 CHECK (max_attempts BETWEEN 1 AND 10), unique_key text, result jsonb, error text, CHECK (attempts <= max_attempts));
CREATE UNIQUE INDEX jobs_unique ON jobs (queue, unique_key) WHERE state IN ('waiting', 'ready', 'running');
CREATE INDEX jobs_next ON jobs (queue, priority DESC, run_at, id) WHERE state = 'ready';
CREATE TABLE needs (job bigint REFERENCES jobs ON DELETE CASCADE, other bigint REFERENCES jobs ON DELETE CASCADE, PRIMARY KEY (job, other), CHECK (job <> other));
CREATE TABLE attempts (job bigint NOT NULL REFERENCES jobs ON DELETE CASCADE, n int NOT NULL, outcome text NOT NULL, context text, PRIMARY KEY (job, n));
CREATE TABLE counters (queue text, state job_state, n bigint NOT NULL, PRIMARY KEY (queue, state));
INSERT INTO queues VALUES ('mail', DEFAULT, DEFAULT, DEFAULT), ('reports', 1, false, '1 minute'), ('slow', 1, true, '1 hour');
CREATE FUNCTION count_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP IN ('DELETE', 'UPDATE') THEN
    INSERT INTO counters SELECT queue, state, -count(*) FROM gone GROUP BY 1, 2 ON CONFLICT (queue, state) DO UPDATE SET n = counters.n + EXCLUDED.n;
  END IF;
  IF TG_OP IN ('INSERT', 'UPDATE') THEN
    INSERT INTO counters SELECT queue, state, count(*) FROM come GROUP BY 1, 2 ON CONFLICT (queue, state) DO UPDATE SET n = counters.n + EXCLUDED.n;
  END IF;
  DELETE FROM counters WHERE n = 0;
  RETURN NULL;
END $$;
CREATE FUNCTION count_ins() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO counters SELECT queue, state, count(*) FROM come GROUP BY 1, 2 ON CONFLICT (queue, state) DO UPDATE SET n = counters.n + EXCLUDED.n; RETURN NULL; END $$;
CREATE FUNCTION count_del() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE counters c SET n = c.n - g.n FROM (SELECT queue, state, count(*) AS n FROM gone GROUP BY 1, 2) g WHERE (g.queue, g.state) = (c.queue, c.state); DELETE FROM counters WHERE n = 0; RETURN NULL; END $$;
CREATE TRIGGER count_ins AFTER INSERT ON jobs REFERENCING NEW TABLE AS come FOR EACH STATEMENT EXECUTE FUNCTION count_ins();
CREATE TRIGGER count_upd AFTER UPDATE ON jobs REFERENCING OLD TABLE AS gone NEW TABLE AS come FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();
CREATE TRIGGER count_del AFTER DELETE ON jobs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION count_del();
CREATE FUNCTION tell_queue() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_notify('jobs_' || NEW.queue, json_build_object('id', NEW.id, 'kind', NEW.kind)::text); RETURN NEW; END $$;
CREATE TRIGGER tell_queue AFTER INSERT OR UPDATE OF state ON jobs FOR EACH ROW WHEN (NEW.state = 'ready') EXECUTE FUNCTION tell_queue();
CREATE FUNCTION enqueue(p_queue text, p_kind text, p_args jsonb DEFAULT '{}', p_at timestamptz DEFAULT '2024-01-01 00:00+00', p_key text DEFAULT NULL, p_priority int DEFAULT 0, p_needs bigint[] DEFAULT '{}') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE j bigint;
BEGIN
  INSERT INTO jobs (queue, kind, args, run_at, unique_key, priority, state) VALUES (p_queue, p_kind, p_args, p_at, p_key, p_priority, CASE WHEN p_needs = '{}' THEN 'ready' ELSE 'waiting' END::job_state)
    ON CONFLICT (queue, unique_key) WHERE state IN ('waiting', 'ready', 'running') DO UPDATE SET args = jobs.args || EXCLUDED.args RETURNING id INTO j;
  INSERT INTO needs SELECT j, unnest(p_needs) ON CONFLICT DO NOTHING;
  RETURN j;
END $$;
SELECT enqueue('mail', 'send', '{"to": "a@x"}');
SELECT enqueue('mail', 'send', '{"to": "b@x"}', p_priority => 5);
SELECT enqueue('mail', 'send', '{"to": "bounce@x"}', p_key => 'k1'), enqueue('mail', 'send', '{"cc": "c@x"}', p_key => 'k1');
SELECT enqueue('reports', 'sum', '{"n": 10}', p_needs => '{1,2}');
SELECT enqueue('reports', 'nothing');
SELECT enqueue('nowhere', 'send');
SELECT enqueue('slow', 'sum', '{"n": 3}', '2024-01-02 00:00+00', NULL, 1);
SELECT * FROM counters ORDER BY 1, 2;
CREATE FUNCTION handle_send(args jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
  IF args ->> 'to' LIKE 'bounce%' THEN RAISE EXCEPTION 'no mailbox %', args ->> 'to' USING ERRCODE = 'MX550'; END IF;
  RETURN jsonb_build_object('sent', args ->> 'to');
END $$;
CREATE FUNCTION handle_sum(args jsonb) RETURNS jsonb LANGUAGE sql AS $$ SELECT to_jsonb(sum(x)) FROM generate_series(1, (args ->> 'n')::int) x $$;
CREATE FUNCTION claim(p_now timestamptz, p_max int DEFAULT 1) RETURNS SETOF jobs LANGUAGE sql AS $$
  UPDATE jobs j SET state = 'running', attempts = attempts + 1 FROM (
    SELECT c.id FROM jobs c JOIN queues q ON q.name = c.queue WHERE c.state = 'ready' AND c.run_at <= p_now AND NOT q.paused AND (SELECT count(*) FROM jobs r WHERE r.queue = c.queue AND r.state = 'running') < q.max_running ORDER BY c.priority DESC, c.run_at, c.id LIMIT p_max FOR UPDATE OF c SKIP LOCKED) n
  WHERE j.id = n.id RETURNING j.*
$$;
CREATE PROCEDURE run_jobs(p_now timestamptz, p_max int, INOUT ran int DEFAULT 0, INOUT broken int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE j jobs; res jsonb; msg text; st text; ctx text; wait interval;
BEGIN
  FOR j IN SELECT * FROM claim(p_now, p_max) c ORDER BY c.priority DESC, c.id LOOP
    BEGIN
      EXECUTE format('SELECT %I($1)', 'handle_' || j.kind) INTO STRICT res USING j.args;
      UPDATE jobs SET state = 'done', result = res, error = NULL WHERE id = j.id;
      INSERT INTO attempts VALUES (j.id, j.attempts, 'done');
      ran := ran + 1;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS st = RETURNED_SQLSTATE, msg = MESSAGE_TEXT, ctx = PG_EXCEPTION_CONTEXT;
      SELECT retry_base * power(2, j.attempts - 1) INTO wait FROM queues WHERE name = j.queue;
      UPDATE jobs SET state = CASE WHEN attempts >= max_attempts THEN 'dead' ELSE 'ready' END::job_state, run_at = p_now + wait, error = st || ': ' || msg WHERE id = j.id;
      INSERT INTO attempts VALUES (j.id, j.attempts, st, split_part(ctx, E'\n', 1));
      broken := broken + 1;
    END;
  END LOOP;
  UPDATE jobs w SET state = 'ready' WHERE state = 'waiting' AND NOT EXISTS (SELECT FROM needs n JOIN jobs o ON o.id = n.other WHERE n.job = w.id AND o.state <> 'done');
END $$;
CALL run_jobs('2024-01-01 00:00+00', 10);
SELECT id, state, attempts, run_at AT TIME ZONE 'UTC' AS run_at, result, error FROM jobs ORDER BY id;
CALL run_jobs('2024-01-01 00:00:05+00', 10);
CALL run_jobs('2024-01-01 00:01:00+00', 10);
CALL run_jobs('2024-01-01 00:05:00+00', 10);
SELECT id, state, attempts, run_at AT TIME ZONE 'UTC' AS run_at, result, error FROM jobs ORDER BY id;
SELECT * FROM attempts ORDER BY job, n;
SELECT * FROM counters ORDER BY 1, 2;
SELECT c.queue, c.state, c.n = count(j.*) AS right FROM counters c LEFT JOIN jobs j USING (queue, state) GROUP BY c.queue, c.state, c.n ORDER BY 1, 2;
UPDATE queues SET paused = false WHERE name = 'slow' RETURNING name, max_running;
CREATE FUNCTION drain(p_queue text) RETURNS TABLE (job bigint, answer jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE picked CURSOR FOR SELECT id, kind, args FROM jobs WHERE queue = p_queue AND state = 'ready' ORDER BY id FOR UPDATE; r record;
BEGIN
  FOR r IN picked LOOP
    EXECUTE 'SELECT ' || quote_ident('handle_' || r.kind) || '($1)' INTO answer USING r.args;
    job := r.id;
    UPDATE jobs SET state = 'done', result = answer WHERE CURRENT OF picked;
    RETURN NEXT;
  END LOOP;
  IF NOT FOUND THEN RAISE NOTICE 'nothing in %', p_queue; END IF;
END $$;
SELECT * FROM drain('slow');
SELECT * FROM drain('slow');
SELECT enqueue('mail', 'send', jsonb_build_object('to', u || '@x'), '2024-02-01 00:00+00', u) FROM unnest(ARRAY['p', 'q', 'p', 'r']) u;
SELECT id, args, unique_key FROM jobs WHERE unique_key IN ('p', 'q', 'r') ORDER BY id;
WITH dead AS (DELETE FROM jobs WHERE state = 'dead' RETURNING *), revived AS (INSERT INTO jobs (queue, kind, args, run_at, max_attempts) SELECT queue, kind, args || '{"to": "ok@x"}', '2024-02-01 00:00+00', max_attempts + 1 FROM dead WHERE kind = 'send' RETURNING id, args) SELECT d.id AS was, d.kind, r.id AS is, r.args FROM dead d LEFT JOIN revived r ON d.kind = 'send' ORDER BY 1;
SELECT count(*) FROM attempts;
UPDATE queues SET name = 'post' WHERE name = 'mail';
SELECT queue, count(*) FROM jobs GROUP BY 1 ORDER BY 1;
SELECT * FROM counters ORDER BY 1, 2;
DO $$
DECLARE n int; b int; total int := 0;
BEGIN
  LOOP
    n := 0; b := 0;
    CALL run_jobs('2024-02-01 00:00+00', 1, n, b);
    EXIT WHEN n + b = 0;
    total := total + n;
    ASSERT total < 10, 'too many';
  END LOOP;
  RAISE NOTICE 'ran %', total;
END $$;
SELECT state, array_agg(id ORDER BY id), jsonb_agg(result ORDER BY id) FILTER (WHERE result IS NOT NULL) FROM jobs GROUP BY state ORDER BY state;
INSERT INTO needs VALUES (1, 1);
INSERT INTO needs VALUES (1, 2), (2, 404);
INSERT INTO needs VALUES (1, 2), (2, 5), (5, 1);
WITH RECURSIVE r AS (SELECT job, other FROM needs UNION ALL SELECT r.job, n.other FROM r JOIN needs n ON n.job = r.other) CYCLE other SET looped USING way SELECT job, other, looped, way FROM r WHERE job = 1 ORDER BY way::text, other;
CREATE VIEW dashboard AS SELECT q.name, q.paused, coalesce(jsonb_object_agg(c.state, c.n) FILTER (WHERE c.n IS NOT NULL), '{}') AS states, (SELECT max(a.n) FROM attempts a JOIN jobs j ON j.id = a.job WHERE j.queue = q.name) AS worst FROM queues q LEFT JOIN counters c ON c.queue = q.name GROUP BY q.name;
SELECT * FROM dashboard ORDER BY name;
PREPARE failing(text) AS SELECT id, error FROM jobs WHERE error LIKE $1 || '%' ORDER BY id;
EXECUTE failing('42');
DEALLOCATE failing;
LISTEN jobs_post;
SELECT pg_listening_channels();
UNLISTEN *;
CREATE FUNCTION backoff(n int) RETURNS interval LANGUAGE sql IMMUTABLE RETURN least(interval '1 hour', interval '10 seconds' * power(2, n)) + interval '1 second' * (n % 3);
SELECT n, backoff(n) FROM generate_series(0, 10, 3) n;
TRUNCATE jobs RESTART IDENTITY CASCADE;
SELECT count(*) FROM counters;
SELECT enqueue('post', 'send');
