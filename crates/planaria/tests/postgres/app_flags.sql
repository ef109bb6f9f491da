-- with contexts
-- Feature flags and experiments: rules in jsonb with segments, stable buckets by hash, overrides, scheduled changes, dependencies without rings, a history of versions, exposures, results with confidence.
CREATE SCHEMA flags;
SET search_path = flags;
CREATE TYPE flag_kind AS ENUM ('boolean', 'string', 'number', 'json');
CREATE TYPE op AS ENUM ('eq', 'neq', 'in', 'gt', 'lt', 'matches', 'semver_ge', 'segment');
CREATE DOMAIN flag_key AS text CHECK (VALUE ~ '^[a-z][a-z0-9-]*(\.[a-z0-9-]+)*$') CHECK (length(VALUE) <= 40);
CREATE DOMAIN percentage AS numeric(6,3) CHECK (VALUE BETWEEN 0 AND 100);
CREATE TABLE environments (env text PRIMARY KEY, protected boolean NOT NULL DEFAULT false, sort int UNIQUE DEFERRABLE);
CREATE TABLE segments (name text PRIMARY KEY, rule jsonb NOT NULL);
CREATE TABLE definitions (key flag_key PRIMARY KEY, kind flag_kind NOT NULL DEFAULT 'boolean', variants jsonb NOT NULL, description text, owner text NOT NULL, created date NOT NULL DEFAULT '2024-01-01', archived boolean NOT NULL DEFAULT false, CONSTRAINT some_variants CHECK (jsonb_typeof(variants) = 'object' AND variants <> '{}'));
CREATE TABLE settings (key flag_key REFERENCES definitions ON UPDATE CASCADE ON DELETE CASCADE, env text REFERENCES environments ON UPDATE CASCADE, is_on boolean NOT NULL DEFAULT false, off_variant text NOT NULL, rules jsonb NOT NULL DEFAULT '[]', fallthrough jsonb NOT NULL, salt text NOT NULL DEFAULT 'x', version int NOT NULL DEFAULT 1, PRIMARY KEY (key, env));
CREATE TABLE requires (key flag_key REFERENCES definitions ON UPDATE CASCADE ON DELETE CASCADE, needs flag_key REFERENCES definitions ON UPDATE CASCADE ON DELETE RESTRICT, variant text NOT NULL, PRIMARY KEY (key, needs), CHECK (key <> needs));
CREATE TABLE history (key text, env text, version int, changed jsonb NOT NULL, by text NOT NULL, PRIMARY KEY (key, env, version));
CREATE TABLE overrides (key flag_key REFERENCES definitions ON DELETE CASCADE, unit text, variant text NOT NULL, until timestamptz NOT NULL DEFAULT 'infinity', PRIMARY KEY (key, unit));
CREATE TABLE exposures (key text NOT NULL, unit text NOT NULL, variant text NOT NULL, at timestamptz NOT NULL);
CREATE UNIQUE INDEX first_exposure ON exposures (key, unit);
CREATE TABLE conversions (unit text, metric text, value numeric NOT NULL DEFAULT 1, at timestamptz NOT NULL);
INSERT INTO environments VALUES ('dev', DEFAULT, 1), ('staging', false, 2), ('prod', true, 3);
UPDATE environments SET sort = 4 - sort;
UPDATE environments SET sort = 1;
SELECT * FROM environments ORDER BY sort;
INSERT INTO segments VALUES ('beta', '[{"attr": "email", "op": "matches", "value": "@example\\.org$"}]'), ('adults', '[{"attr": "age", "op": "gt", "value": 17}]');
INSERT INTO definitions (key, kind, variants, owner) VALUES ('new-checkout', DEFAULT, '{"on": true, "off": false}', 'shop'), ('checkout.button', 'string', '{"a": "green", "b": "blue", "c": "red"}', 'shop'), ('search.limit', 'number', '{"low": 10, "high": 50}', 'search');
INSERT INTO definitions (key, variants, owner) VALUES ('New Checkout', '{"on": true}', 'x');
INSERT INTO definitions (key, variants, owner) VALUES (repeat('a', 41), '{"on": true}', 'x');
INSERT INTO definitions (key, variants, owner) VALUES ('empty', '{}', 'x');
INSERT INTO definitions (key, kind, variants, owner) VALUES ('colour', 'colour', '{"a": 1}', 'x');
-- Variants are of the kind that was said; rules name variants and segments that are there.
CREATE FUNCTION check_definition() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE v record; want text := CASE NEW.kind WHEN 'boolean' THEN 'boolean' WHEN 'string' THEN 'string' WHEN 'number' THEN 'number' END;
BEGIN
  FOR v IN SELECT * FROM jsonb_each(NEW.variants) LOOP
    IF want IS NOT NULL AND jsonb_typeof(v.value) <> want THEN
      RAISE EXCEPTION 'variant % of % is no %', v.key, NEW.key, want USING ERRCODE = 'invalid_parameter_value', DETAIL = 'It is ' || v.value::text || ', of type ' || jsonb_typeof(v.value) || '.';
    END IF;
  END LOOP;
  RETURN NEW;
END $$;
CREATE TRIGGER check_definition BEFORE INSERT OR UPDATE ON definitions FOR EACH ROW EXECUTE FUNCTION check_definition();
INSERT INTO definitions (key, kind, variants, owner) VALUES ('ratio', 'number', '{"a": 1, "b": "2"}', 'x');
CREATE FUNCTION check_setting() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE known text[]; named text; total numeric;
BEGIN
  known := ARRAY(SELECT jsonb_object_keys(variants) FROM definitions WHERE key = NEW.key);
  FOR named IN SELECT NEW.off_variant UNION SELECT jsonb_path_query(NEW.rules, '$[*].serve') #>> '{}' UNION SELECT k FROM jsonb_object_keys(NEW.fallthrough) k ORDER BY 1 LOOP
    IF named <> ALL (known) THEN RAISE EXCEPTION 'flag % has no variant "%"', NEW.key, named USING ERRCODE = 'FF001', HINT = 'It has ' || array_to_string(known, ', ') || '.'; END IF;
  END LOOP;
  SELECT sum(value::percentage) INTO total FROM jsonb_each_text(NEW.fallthrough);
  IF total <> 100 THEN RAISE EXCEPTION 'weights of % come to % %%', NEW.key, total USING ERRCODE = 'FF002'; END IF;
  IF EXISTS (SELECT FROM jsonb_path_query(NEW.rules, '$[*].if[*] ? (@.op == "segment").value') s WHERE s #>> '{}' NOT IN (SELECT name FROM segments)) THEN
    RAISE foreign_key_violation USING MESSAGE = 'rules name a segment that is not there';
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF NEW.version <> OLD.version THEN RAISE EXCEPTION 'version % is not %', NEW.version, OLD.version USING ERRCODE = 'FF409'; END IF;
    IF (NEW.is_on, NEW.rules, NEW.fallthrough, NEW.off_variant) IS NOT DISTINCT FROM (OLD.is_on, OLD.rules, OLD.fallthrough, OLD.off_variant) THEN RETURN NULL; END IF;
    NEW.version := OLD.version + 1;
  END IF;
  IF (SELECT protected FROM environments WHERE env = NEW.env) AND coalesce(current_setting('flags.approved', true), '') <> 'yes' THEN
    RAISE insufficient_privilege USING MESSAGE = format('changes of %s in %s need approval', NEW.key, NEW.env);
  END IF;
  INSERT INTO history VALUES (NEW.key, NEW.env, NEW.version, CASE TG_OP WHEN 'INSERT' THEN to_jsonb(NEW) - '{key,env,version}'::text[] ELSE (SELECT jsonb_object_agg(n.key, n.value) FROM jsonb_each(to_jsonb(NEW)) n JOIN jsonb_each(to_jsonb(OLD)) o USING (key) WHERE n.value <> o.value AND key <> 'version') END, coalesce(nullif(current_setting('flags.actor', true), ''), 'unknown'));
  PERFORM pg_notify('flags', json_build_object('key', NEW.key, 'env', NEW.env, 'version', NEW.version)::text);
  RETURN NEW;
END $$;
CREATE TRIGGER check_setting BEFORE INSERT OR UPDATE ON settings FOR EACH ROW EXECUTE FUNCTION check_setting();
INSERT INTO settings (key, env, off_variant, fallthrough) VALUES ('new-checkout', 'dev', 'off', '{"on": 100}'), ('checkout.button', 'dev', 'a', '{"a": 33.4, "b": 33.3, "c": 33.3}');
INSERT INTO settings (key, env, off_variant, fallthrough) VALUES ('search.limit', 'dev', 'lo', '{"low": 100}');
INSERT INTO settings (key, env, off_variant, fallthrough) VALUES ('search.limit', 'dev', 'low', '{"low": 60, "high": 30}');
INSERT INTO settings (key, env, off_variant, fallthrough) VALUES ('search.limit', 'dev', 'low', '{"low": 101, "high": -1}');
INSERT INTO settings (key, env, off_variant, fallthrough, rules) VALUES ('search.limit', 'dev', 'low', '{"low": 100}', '[{"if": [{"op": "segment", "value": "robots"}], "serve": "low"}]');
INSERT INTO settings (key, env, off_variant, fallthrough, is_on) VALUES ('new-checkout', 'prod', 'off', '{"on": 10, "off": 90}', true);
SET flags.approved = 'yes';
SET flags.actor = 'kim';
INSERT INTO settings (key, env, off_variant, fallthrough, is_on, rules) VALUES ('new-checkout', 'prod', 'off', '{"on": 30, "off": 70}', true, '[{"if": [{"op": "segment", "value": "beta"}], "serve": "on"}, {"if": [{"attr": "country", "op": "in", "value": ["FR", "IT"]}, {"attr": "app", "op": "semver_ge", "value": "2.10.0"}], "serve": "on"}]'), ('checkout.button', 'prod', 'a', '{"a": 40, "b": 40, "c": 20}', true, '[]'), ('search.limit', 'prod', 'low', '{"high": 100}', false, '[]') RETURNING key, version;
UPDATE settings SET fallthrough = '{"on": 50, "off": 50}' WHERE key = 'new-checkout' AND env = 'prod' RETURNING version;
UPDATE settings SET fallthrough = fallthrough, version = 1 WHERE key = 'new-checkout' AND env = 'prod';
UPDATE settings SET is_on = true WHERE key = 'new-checkout' RETURNING env, version;
SELECT key, env, version, changed - 'rules' AS changed, by FROM history ORDER BY 1, 2, 3;
-- Dependencies make no ring.
CREATE FUNCTION no_rings() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE ring text;
BEGIN
  WITH RECURSIVE down AS (SELECT needs, ARRAY[key::text, needs::text] AS path FROM requires WHERE key = NEW.key UNION ALL SELECT r.needs, path || r.needs::text FROM requires r JOIN down d ON r.key = d.needs WHERE NOT r.needs = ANY (d.path[2:]))
  SELECT array_to_string(path, ' > ') INTO ring FROM down WHERE needs = NEW.key LIMIT 1;
  IF FOUND THEN RAISE EXCEPTION 'dependencies in a ring' USING DETAIL = ring; END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER no_rings AFTER INSERT OR UPDATE ON requires NOT DEFERRABLE FOR EACH ROW EXECUTE FUNCTION no_rings();
INSERT INTO requires VALUES ('checkout.button', 'new-checkout', 'on'), ('new-checkout', 'search.limit', 'high');
INSERT INTO requires VALUES ('search.limit', 'checkout.button', 'a');
INSERT INTO requires VALUES ('search.limit', 'search.limit', 'low');
DELETE FROM requires WHERE key = 'new-checkout';
-- Evaluation.
CREATE FUNCTION bucket(key text, salt text, unit text) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT (('x' || substr(md5(concat_ws('.', key, salt, unit)), 1, 7))::bit(28)::int % 100000) / 1000.0 $$;
CREATE FUNCTION semver(text) RETURNS int[] LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT string_to_array(substring($1 FROM '^\d+(?:\.\d+)*'), '.')::int[] $$;
SELECT bucket('new-checkout', 'x', 'u1') = bucket('new-checkout', 'x', 'u1'), semver('2.10.1-rc1') > semver('2.9.9'), semver('v1'), semver('3') > '{2,99}';
CREATE FUNCTION clause(c jsonb, ctx jsonb) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE a jsonb := ctx -> (c ->> 'attr'); v jsonb := c -> 'value'; s text;
BEGIN
  CASE (c ->> 'op')::op
    WHEN 'eq' THEN RETURN a = v;
    WHEN 'neq' THEN RETURN a IS DISTINCT FROM v;
    WHEN 'in' THEN RETURN v @> a;
    WHEN 'gt' THEN RETURN a::numeric > v::numeric;
    WHEN 'lt' THEN RETURN a::numeric < v::numeric;
    WHEN 'matches' THEN RETURN a #>> '{}' ~ (v #>> '{}');
    WHEN 'semver_ge' THEN RETURN semver(a #>> '{}') >= semver(v #>> '{}');
    WHEN 'segment' THEN
      RETURN (SELECT bool_and(clause(x, ctx)) FROM segments g, jsonb_array_elements(g.rule) x WHERE g.name = v #>> '{}');
  END CASE;
END $$;
SELECT clause('{"attr": "age", "op": "gt", "value": 17}', '{"age": 18}'), clause('{"attr": "age", "op": "gt", "value": 17}', '{}'), clause('{"op": "segment", "value": "beta"}', '{"email": "a@example.org"}'), clause('{"attr": "x", "op": "in", "value": [1, 2]}', '{"x": 3}');
SELECT clause('{"attr": "age", "op": "gt", "value": 17}', '{"age": "old"}');
SELECT clause('{"attr": "age", "op": "between", "value": 17}', '{"age": 1}');
SELECT clause('{"attr": "e", "op": "matches", "value": "("}', '{"e": "x"}');
CREATE FUNCTION evaluate(p_key text, p_env text, unit text, ctx jsonb DEFAULT '{}', OUT variant text, OUT value jsonb, OUT reason text) LANGUAGE plpgsql STABLE AS $$
DECLARE s settings; d definitions; r record; dep record; upto numeric := 0; b numeric;
BEGIN
  SELECT * INTO d FROM definitions WHERE key = p_key AND NOT archived;
  IF NOT FOUND THEN reason := 'unknown flag'; RETURN; END IF;
  SELECT * INTO STRICT s FROM settings st WHERE st.key = p_key AND st.env = p_env;
  <<decide>>
  BEGIN
    variant := s.off_variant;
    IF NOT s.is_on THEN reason := 'off'; EXIT decide; END IF;
    FOR dep IN SELECT q.needs, q.variant AS want FROM requires q WHERE q.key = p_key ORDER BY 1 LOOP
      IF (SELECT e.variant FROM evaluate(dep.needs, p_env, unit, ctx) e) IS DISTINCT FROM dep.want THEN
        reason := 'needs ' || dep.needs || '=' || dep.want;
        EXIT decide;
      END IF;
    END LOOP;
    SELECT o.variant INTO variant FROM overrides o WHERE o.key = p_key AND o.unit = evaluate.unit AND o.until > '2024-05-01';
    IF FOUND THEN reason := 'override'; EXIT decide; END IF;
    FOR r IN SELECT x, n FROM jsonb_array_elements(s.rules) WITH ORDINALITY AS e(x, n) ORDER BY n LOOP
      IF (SELECT coalesce(bool_and(coalesce(clause(c, ctx), false)), true) FROM jsonb_array_elements(r.x -> 'if') c) THEN
        variant := r.x ->> 'serve';
        reason := 'rule ' || r.n;
        EXIT decide;
      END IF;
    END LOOP;
    b := bucket(p_key, s.salt, unit);
    FOR r IN SELECT k, v::numeric AS w FROM jsonb_each_text(s.fallthrough) AS f(k, v) ORDER BY k LOOP
      upto := upto + r.w;
      IF b < upto THEN variant := r.k; reason := 'split'; EXIT decide; END IF;
    END LOOP;
  END decide;
  value := d.variants -> variant;
EXCEPTION WHEN no_data_found THEN
  RAISE EXCEPTION 'flag % is not set up in %', p_key, p_env USING ERRCODE = 'FF404';
END $$;
SELECT * FROM evaluate('new-checkout', 'prod', 'u1', '{"email": "u1@example.org"}');
SELECT c.n, e.* FROM (VALUES (1, '{"country": "FR", "app": "2.9.1"}'::jsonb), (2, '{"country": "FR", "app": "2.10.0"}'), (3, '{"country": "DE", "app": "3"}'), (4, NULL)) c(n, ctx) CROSS JOIN LATERAL evaluate('new-checkout', 'prod', 'u7', coalesce(c.ctx, '{}')) e ORDER BY n;
SELECT * FROM evaluate('search.limit', 'prod', 'u1'), evaluate('nothing', 'prod', 'u1') AS n;
SELECT * FROM evaluate('search.limit', 'dev', 'u1');
INSERT INTO overrides VALUES ('new-checkout', 'u2', 'on', DEFAULT), ('new-checkout', 'u3', 'off', '2024-04-01');
SELECT u, (evaluate('checkout.button', 'prod', u)).* FROM unnest(ARRAY['u2', 'u3', 'u4']) u;
-- An experiment: exposures once per unit, conversions, results with a z test.
INSERT INTO exposures SELECT 'checkout.button', 'u' || n, e.variant, timestamptz '2024-05-01 00:00+00' + n * interval '7 min' FROM generate_series(1, 400) n, evaluate('checkout.button', 'prod', 'u' || n) e WHERE e.reason = 'split';
INSERT INTO exposures SELECT 'checkout.button', 'u' || n, 'a', '2024-05-09' FROM generate_series(1, 400) n ON CONFLICT (key, unit) DO NOTHING;
INSERT INTO conversions SELECT unit, 'buy', (n * 37 % 90) + 10, at + (n % 30) * interval '1 hour' FROM (SELECT *, substr(unit, 2)::int AS n FROM exposures) x WHERE n % CASE variant WHEN 'a' THEN 7 WHEN 'b' THEN 5 ELSE 6 END = 0;
WITH per AS (SELECT e.variant, count(*) AS n, count(c.unit) AS hits, avg(c.value) AS mean FROM exposures e LEFT JOIN LATERAL (SELECT unit, sum(value) AS value FROM conversions c WHERE c.unit = e.unit AND c.at BETWEEN e.at AND e.at + interval '1 day' GROUP BY unit) c ON true WHERE e.key = 'checkout.button' GROUP BY e.variant), base AS (SELECT * FROM per WHERE variant = 'a')
SELECT p.variant, p.n, p.hits, round(p.hits::numeric / p.n, 4) AS rate, round(p.mean, 2) AS mean, round(((p.hits::numeric / p.n - b.hits::numeric / b.n) / sqrt(x.q * (1 - x.q) * (1.0 / p.n + 1.0 / b.n)))::numeric, 3) AS z FROM per p CROSS JOIN base b CROSS JOIN LATERAL (SELECT (p.hits + b.hits)::numeric / (p.n + b.n) AS q) x ORDER BY 1;
SELECT variant, count(*), round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS share, min(at)::time, regr_count(extract(epoch FROM at), substr(unit, 2)::int) FROM exposures WHERE at < '2024-05-09' GROUP BY variant ORDER BY variant;
SELECT date_trunc('day', c.at) AS day, e.variant, sum(c.value) AS revenue, sum(sum(c.value)) OVER (PARTITION BY e.variant ORDER BY date_trunc('day', c.at)) AS total, dense_rank() OVER (PARTITION BY date_trunc('day', c.at) ORDER BY sum(c.value) DESC) AS place FROM conversions c JOIN exposures e USING (unit) WHERE e.variant IN ('a', 'b') GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 4;
-- The whole state as a client gets it; renaming; archiving.
SELECT jsonb_pretty(jsonb_object_agg(d.key, jsonb_strip_nulls(jsonb_build_object('on', s.is_on, 'v', s.version, 'rules', nullif(jsonb_array_length(s.rules), 0), 'needs', (SELECT jsonb_object_agg(r.needs, r.variant) FROM requires r WHERE r.key = d.key))) ORDER BY d.key)) FROM definitions d JOIN settings s ON s.key = d.key AND s.env = 'prod';
UPDATE definitions SET key = 'shop.checkout' WHERE key = 'new-checkout';
UPDATE settings SET version = version WHERE false;
SELECT key, env FROM settings WHERE key LIKE 'shop%' ORDER BY env;
SELECT key, needs FROM requires;
DELETE FROM definitions WHERE key = 'shop.checkout';
DELETE FROM overrides;
DELETE FROM definitions WHERE key = 'checkout.button' RETURNING variants ? 'c', variants @> '{"c": "red"}';
SELECT (SELECT count(*) FROM settings), (SELECT count(*) FROM requires), (SELECT string_agg(key, ',' ORDER BY key) FROM definitions);
