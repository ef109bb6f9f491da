-- A queue of jobs: leases, retries with backoff, dependencies between jobs, SKIP LOCKED, NOTIFY, dead letters, a rate limiter.
SET timezone = 'UTC';
CREATE TYPE job_state AS ENUM ('waiting', 'ready', 'running', 'done', 'failed', 'dead');
CREATE TABLE queues (name text PRIMARY KEY, concurrency int NOT NULL DEFAULT 2 CHECK (concurrency BETWEEN 1 AND 10), rate int4range NOT NULL DEFAULT '[0,100]', paused boolean NOT NULL DEFAULT false);
CREATE TABLE jobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL DEFAULT 'default' REFERENCES queues ON UPDATE CASCADE ON DELETE SET DEFAULT, kind varchar(30) NOT NULL, args jsonb NOT NULL DEFAULT '{}', priority int NOT NULL DEFAULT 0,
  state job_state NOT NULL DEFAULT 'ready', run_at timestamptz NOT NULL, attempts smallint NOT NULL DEFAULT 0, max_attempts smallint NOT NULL DEFAULT 3, locked_by text, locked_until timestamptz, errors text[], result jsonb,
  dedup text GENERATED ALWAYS AS (kind || ':' || md5(args::text)) STORED,
  CONSTRAINT lease CHECK ((state = 'running') = (locked_by IS NOT NULL) AND (locked_by IS NULL) = (locked_until IS NULL)), CHECK (attempts <= max_attempts));
CREATE UNIQUE INDEX jobs_once ON jobs (queue, dedup) WHERE state IN ('waiting', 'ready');
CREATE INDEX jobs_next ON jobs (queue, priority DESC, run_at, id) WHERE state = 'ready';
CREATE TABLE job_needs (job bigint REFERENCES jobs ON DELETE CASCADE, needs bigint REFERENCES jobs, PRIMARY KEY (job, needs), CHECK (job > needs));
CREATE TABLE buckets (key text PRIMARY KEY, tokens numeric NOT NULL, filled timestamptz NOT NULL);
CREATE TABLE job_counts (queue text, state job_state, n int NOT NULL, PRIMARY KEY (queue, state));
INSERT INTO queues (name) VALUES ('default'), ('mail'), ('slow');
UPDATE queues SET concurrency = 1, rate = '[0,5)' WHERE name = 'slow' RETURNING *;
INSERT INTO queues VALUES ('bad', 0);
INSERT INTO queues VALUES ('bad', 1, '[5,1]');
-- Counts by state, from whole statements.
CREATE FUNCTION count_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO job_counts AS c SELECT queue, state, count(*) FROM new_jobs GROUP BY queue, state ON CONFLICT (queue, state) DO UPDATE SET n = c.n + excluded.n;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE job_counts c SET n = c.n - o.n FROM (SELECT queue, state, count(*) AS n FROM old_jobs GROUP BY queue, state) o WHERE (c.queue, c.state) = (o.queue, o.state);
  ELSE
    INSERT INTO job_counts AS c
      SELECT queue, state, sum(d) FROM (SELECT queue, state, 1 AS d FROM new_jobs UNION ALL SELECT queue, state, -1 FROM old_jobs) x GROUP BY queue, state HAVING sum(d) <> 0
      ON CONFLICT (queue, state) DO UPDATE SET n = c.n + excluded.n;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER count_insert AFTER INSERT ON jobs REFERENCING NEW TABLE AS new_jobs FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();
CREATE TRIGGER count_update AFTER UPDATE ON jobs REFERENCING OLD TABLE AS old_jobs NEW TABLE AS new_jobs FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();
CREATE TRIGGER count_delete AFTER DELETE ON jobs REFERENCING OLD TABLE AS old_jobs FOR EACH STATEMENT EXECUTE FUNCTION count_jobs();
CREATE FUNCTION job_moves() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE allowed constant jsonb := '{"waiting": ["ready", "dead"], "ready": ["running", "dead"], "running": ["done", "failed", "ready"], "failed": ["ready", "dead"], "done": [], "dead": ["ready"]}';
BEGIN
  IF OLD.state <> NEW.state AND NOT allowed -> OLD.state::text ? NEW.state::text THEN
    RAISE EXCEPTION 'job % cannot be % after %', NEW.id, NEW.state, OLD.state USING ERRCODE = 'QU001', HINT = 'Next: ' || coalesce((SELECT string_agg(x, ' or ' ORDER BY x) FROM jsonb_array_elements_text(allowed -> OLD.state::text) x), 'nothing');
  END IF;
  IF NEW.state <> 'running' THEN NEW.locked_by := NULL; NEW.locked_until := NULL; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER job_moves BEFORE UPDATE OF state ON jobs FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION job_moves();
CREATE FUNCTION enqueue(p_kind text, p_args jsonb DEFAULT '{}', p_queue text DEFAULT 'default', p_at timestamptz DEFAULT '2024-01-01', p_priority int DEFAULT 0, p_needs bigint[] DEFAULT '{}') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE new_id bigint; n bigint;
BEGIN
  INSERT INTO jobs (queue, kind, args, run_at, priority, state) VALUES (p_queue, p_kind, p_args, p_at, p_priority, CASE WHEN cardinality(p_needs) > 0 THEN 'waiting' ELSE 'ready' END::job_state) ON CONFLICT (queue, dedup) WHERE state IN ('waiting', 'ready') DO UPDATE SET priority = greatest(jobs.priority, excluded.priority) RETURNING id INTO new_id;
  FOREACH n IN ARRAY p_needs LOOP INSERT INTO job_needs VALUES (new_id, n); END LOOP;
  PERFORM pg_notify('jobs', p_queue);
  RETURN new_id;
END $$;
SELECT enqueue('resize', '{"w": 10}'), enqueue('resize', '{"w": 20}'), enqueue('resize', '{"w": 10}', p_priority => 5);
SELECT enqueue('mail', '{"to": "ann"}', 'mail', '2024-01-01 10:00'), enqueue('mail', '{"to": "bob"}', 'mail', '2024-01-01 09:00');
SELECT enqueue('report', '{}', 'slow', '2024-01-01', 9, ARRAY[1, 2]);
SELECT enqueue('publish', '{}', 'default', '2024-01-01', 0, p_needs => '{6}');
SELECT enqueue('x', '{}', 'nowhere');
SELECT enqueue('x', '{}', 'mail', '2024-01-01', 0, '{99}');
SELECT enqueue('a kind of job with a name that is far too long', '{}');
SELECT id, queue, kind, priority, state, dedup = kind || ':' || md5(args::text) FROM jobs ORDER BY id;
CREATE FUNCTION take(p_worker text, p_at timestamptz, p_n int DEFAULT 1, p_queues text[] DEFAULT NULL) RETURNS SETOF jobs LANGUAGE sql AS $$
  UPDATE jobs SET state = 'running', locked_by = p_worker, locked_until = p_at + interval '5 min', attempts = attempts + 1
  WHERE id IN (
    SELECT j.id FROM jobs j JOIN queues q ON q.name = j.queue AND NOT q.paused
    WHERE j.state = 'ready' AND j.run_at <= p_at AND (p_queues IS NULL OR j.queue = ANY (p_queues))
      AND (SELECT count(*) FROM jobs r WHERE r.queue = j.queue AND r.state = 'running') < q.concurrency
    ORDER BY j.priority DESC, j.run_at, j.id LIMIT p_n FOR UPDATE OF j SKIP LOCKED)
  RETURNING * $$;
SELECT id, kind, locked_by, locked_until, attempts FROM take('w1', '2024-01-01 08:00', 2) ORDER BY id;
SELECT id, kind FROM take('w2', '2024-01-01 09:30');
SELECT id, kind FROM take('w2', '2024-01-01 12:00', 5, '{mail,slow}');
SELECT count(*) FROM take('w3', '2024-01-01 12:00');
CREATE PROCEDURE finish(p_id bigint, p_worker text, p_at timestamptz, p_result jsonb DEFAULT NULL, p_error text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE j jobs; freed bigint[];
BEGIN
  SELECT * INTO j FROM jobs WHERE id = p_id FOR NO KEY UPDATE;
  IF j.locked_by IS DISTINCT FROM p_worker THEN RAISE EXCEPTION 'job % is not of %', p_id, p_worker USING ERRCODE = 'QU002', DETAIL = format('It is %s, of %s.', j.state, coalesce(j.locked_by, 'nobody')); END IF;
  IF p_error IS NULL THEN
    UPDATE jobs SET state = 'done', result = p_result WHERE id = p_id;
    WITH f AS (UPDATE jobs w SET state = 'ready' WHERE state = 'waiting' AND EXISTS (SELECT FROM job_needs n WHERE n.job = w.id AND n.needs = p_id)
        AND NOT EXISTS (SELECT FROM job_needs n JOIN jobs o ON o.id = n.needs WHERE n.job = w.id AND o.state <> 'done') RETURNING w.id)
      SELECT array_agg(id) INTO freed FROM f;
    IF freed IS NOT NULL THEN RAISE NOTICE '% frees %', p_id, freed; END IF;
  ELSE
    UPDATE jobs SET state = 'failed', errors = array_append(errors, p_error) WHERE id = p_id;
    IF j.attempts >= j.max_attempts THEN
      UPDATE jobs SET state = 'dead' WHERE id = p_id;
    ELSE
      UPDATE jobs SET state = 'ready', run_at = p_at + interval '1 min' * power(4, attempts - 1) WHERE id = p_id;
    END IF;
  END IF;
END $$;
CALL finish(1, 'w1', '2024-01-01 08:01', '{"ok": true}');
CALL finish(1, 'w1', '2024-01-01 08:01');
CALL finish(2, 'w2', '2024-01-01 08:01');
CALL finish(2, 'w1', '2024-01-01 08:01', p_error => 'out of "memory"');
SELECT id, state, run_at, attempts, errors FROM jobs WHERE id = 2;
SELECT id FROM take('w1', '2024-01-01 08:01:59', 1, '{default}');
DO $$
DECLARE t timestamptz := '2024-01-01 08:02'; j jobs; n int := 0;
BEGIN
  LOOP
    SELECT * INTO j FROM take('w9', t, 1, '{default}');
    EXIT WHEN NOT FOUND OR j.id IS NULL OR n > 10;
    n := n + 1;
    CALL finish(j.id, 'w9', t, p_error => 'again ' || n);
    t := t + interval '10 min';
  END LOOP;
  RAISE NOTICE '% tries until %', n, t::time;
END $$;
SELECT id, state, attempts, errors FROM jobs WHERE id = 2;
UPDATE jobs SET state = 'done' WHERE id = 2;
UPDATE jobs SET state = 'running' WHERE id = 1;
UPDATE jobs SET state = 'ready', attempts = 0 WHERE id = 2 RETURNING state, run_at;
UPDATE jobs SET attempts = 4 WHERE id = 2;
UPDATE jobs SET locked_by = 'me' WHERE id = 2;
SELECT id FROM take('w1', '2024-01-01 20:00', 1, '{default}');
CALL finish(2, 'w1', '2024-01-01 20:01', '[1, 2]');
SELECT id, state FROM jobs WHERE state IN ('waiting', 'ready') ORDER BY id;
-- Leases that ran out.
WITH lost AS (UPDATE jobs SET state = 'ready' WHERE state = 'running' AND locked_until < '2024-01-01 13:00' RETURNING id, queue) SELECT queue, array_agg(id ORDER BY id) FROM lost GROUP BY queue ORDER BY queue;
SELECT queue, state, n, n = (SELECT count(*) FROM jobs j WHERE (j.queue, j.state) = (c.queue, c.state)) AS agrees FROM job_counts c WHERE n > 0 ORDER BY queue, state;
-- Tokens of a bucket.
CREATE FUNCTION allow(p_key text, p_at timestamptz, p_rate numeric, p_burst numeric, cost numeric DEFAULT 1) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE b buckets%ROWTYPE;
BEGIN
  INSERT INTO buckets VALUES (p_key, p_burst, p_at) ON CONFLICT DO NOTHING;
  SELECT least(p_burst, tokens + extract(epoch FROM p_at - filled) * p_rate) AS tokens INTO b.tokens FROM buckets WHERE key = p_key FOR UPDATE;
  IF b.tokens >= cost THEN
    UPDATE buckets SET (tokens, filled) = (b.tokens - cost, p_at) WHERE key = p_key;
    RETURN true;
  END IF;
  RETURN false;
END $$;
SELECT n, allow('ip', timestamptz '2024-01-01 00:00' + n * interval '0.4 s', 1, 2) FROM generate_series(0, 6) n;
SELECT key, round(tokens, 3), filled FROM buckets;
-- The order in which jobs can run.
WITH RECURSIVE levels(id, level) AS (SELECT j.id, 0 FROM jobs j WHERE NOT EXISTS (SELECT FROM job_needs WHERE job = j.id) UNION ALL SELECT n.job, l.level + 1 FROM levels l JOIN job_needs n ON n.needs = l.id)
  SELECT max(level) AS level, id FROM levels GROUP BY id ORDER BY 1 DESC, 2 LIMIT 4;
SELECT queue, percentile_disc(0.5) WITHIN GROUP (ORDER BY priority) AS median, count(*) FILTER (WHERE state = 'done') * 100 / count(*) AS percent, jsonb_object_agg(state, kind ORDER BY id) FROM jobs GROUP BY queue ORDER BY queue;
LISTEN jobs;
UNLISTEN *;
INSERT INTO job_needs VALUES (1, 2);
DELETE FROM jobs WHERE id = 1;
DELETE FROM queues WHERE name = 'mail';
UPDATE queues SET name = 'standard' WHERE name = 'default';
SELECT queue, count(*) FROM jobs GROUP BY queue ORDER BY queue;
DELETE FROM queues WHERE name = 'slow';
ALTER TABLE jobs ALTER COLUMN queue SET DEFAULT 'standard';
DELETE FROM queues WHERE name = 'slow';
SELECT queue, count(*) FROM jobs GROUP BY queue ORDER BY queue;
TRUNCATE jobs, job_needs RESTART IDENTITY;
SELECT enqueue('first', p_queue => 'standard');
