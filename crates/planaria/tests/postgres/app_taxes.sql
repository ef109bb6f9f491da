-- with contexts
-- A rules engine for taxes: rules as rows whose conditions are SQL, compiled and run by EXECUTE format, brackets as ranges, exemptions, rounding by country, explanations, what-if runs that are rolled back.
CREATE SCHEMA tax;
SET search_path = tax, public;
CREATE TYPE rounding AS ENUM ('half_up', 'half_even', 'down', 'up', 'swiss');
CREATE TABLE jurisdictions (code text PRIMARY KEY CHECK (code ~ '^[A-Z]{2}(-[A-Z0-9]{1,3})?$'), parent text REFERENCES jurisdictions, name text NOT NULL, currency char(3) NOT NULL DEFAULT 'EUR', rounding rounding NOT NULL DEFAULT 'half_up', digits smallint NOT NULL DEFAULT 2);
CREATE TABLE facts_spec (name text PRIMARY KEY CHECK (name = lower(name)), type regtype NOT NULL, required boolean NOT NULL DEFAULT false, doc text);
CREATE TABLE rules (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, jurisdiction text NOT NULL REFERENCES jurisdictions, code text NOT NULL, priority int NOT NULL DEFAULT 100, valid daterange NOT NULL, cond text NOT NULL DEFAULT 'true', amount text NOT NULL, stop boolean NOT NULL DEFAULT false, tags text[] NOT NULL DEFAULT '{}', UNIQUE (jurisdiction, code, valid));
CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA public;
CREATE TABLE brackets (scale text, income numrange, rate numeric(5,4) NOT NULL CHECK (rate BETWEEN 0 AND 1), PRIMARY KEY (scale, income), EXCLUDE USING gist (scale WITH =, income WITH &&));
CREATE TABLE assessments (id bigserial PRIMARY KEY, subject text NOT NULL, jurisdiction text NOT NULL, day date NOT NULL, facts jsonb NOT NULL, total numeric NOT NULL, lines jsonb NOT NULL, seq int NOT NULL DEFAULT 1);
CREATE UNIQUE INDEX ON assessments (subject, jurisdiction, date_trunc('year', day::timestamp), seq);
INSERT INTO jurisdictions VALUES ('DE', NULL, 'Germany', DEFAULT, 'down', 0), ('DE-BY', 'DE', 'Bavaria', DEFAULT, DEFAULT, DEFAULT), ('CH', NULL, 'Switzerland', 'CHF', 'swiss', 2), ('CH-ZH', 'CH', 'Zürich', 'CHF', 'swiss', 2), ('US', NULL, 'United States', 'USD', 'half_even', 2), ('JP', NULL, 'Japan', 'JPY', 'down', 0);
INSERT INTO jurisdictions VALUES ('de', NULL, 'x');
INSERT INTO jurisdictions (code, name, rounding) VALUES ('FR', 'France', 'nearest');
INSERT INTO facts_spec VALUES ('income', 'numeric', true, 'Yearly income'), ('children', 'int', false, NULL), ('born', 'date', false, NULL), ('church', 'boolean', false, NULL), ('items', 'jsonb', false, 'Lines of an invoice'), ('member_since', 'timestamp(0)', false, NULL);
INSERT INTO facts_spec VALUES ('bad', 'no_such_type');
SELECT name, type, type::oid > 0, pg_typeof(type) FROM facts_spec ORDER BY type::text, name;
INSERT INTO brackets VALUES ('de', '[0,11604)', 0), ('de', '[11604,17005)', 0.14), ('de', '[17005,66760)', 0.24), ('de', '[66760,277825)', 0.42), ('de', '[277825,)', 0.45), ('ch', '[0,31600)', 0), ('ch', '[31600,)', 0.0264);
INSERT INTO brackets VALUES ('de', '[60000,70000]', 0.3);
INSERT INTO brackets VALUES ('ch', '(,0)', 1.2);
SELECT scale, income, upper(income) - lower(income) AS width, lag(income) OVER (PARTITION BY scale ORDER BY income) -|- income AS joined FROM brackets ORDER BY 1, 2;
-- Progressive: what of the income lies in each bracket.
CREATE FUNCTION progressive(p_scale text, x numeric) RETURNS numeric LANGUAGE sql STABLE STRICT AS $$
  SELECT coalesce(sum((coalesce(upper(b), x) - lower(b)) * rate), 0) FROM (SELECT numrange(lower(income), upper(income)) * numrange(0, x) AS b, rate FROM tax.brackets WHERE scale = p_scale AND income && numrange(0, x)) s
$$;
SELECT i, progressive('de', i) AS tax, round(progressive('de', i) / nullif(i, 0), 4) AS avg FROM unnest(ARRAY[0, 11604, 20000, 50000, 300000]::numeric[]) i;
CREATE FUNCTION round_as(x numeric, how rounding, digits int) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE f numeric := power(10::numeric, digits); h numeric;
BEGIN
  RETURN CASE how
    WHEN 'half_up' THEN round(x, digits)
    WHEN 'half_even' THEN CASE WHEN abs(x * f - trunc(x * f)) = 0.5 AND mod(trunc(x * f), 2) = 0 THEN trunc(x, digits) ELSE round(x, digits) END
    WHEN 'down' THEN trunc(x, digits)
    WHEN 'up' THEN ceil(x * f) / f
    WHEN 'swiss' THEN round(x * 20) / 20
  END;
END $$;
SELECT how, round_as(2.345, how, 2) AS a, round_as(2.355, how, 2) AS b, round_as(-2.345, how, 2) AS c, round_as(7, how, 0) AS d FROM unnest(enum_range(NULL::rounding)) how;
-- A rule is tried when it is written: its condition and amount must be expressions over the facts.
CREATE FUNCTION fact_list() RETURNS text LANGUAGE sql STABLE AS $$ SELECT string_agg(format('(f ->> %L)::%s AS %I', name, type, name), ', ' ORDER BY name) FROM tax.facts_spec $$;
SELECT fact_list();
CREATE FUNCTION try_rule() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE ok boolean; n numeric; state text; msg text;
BEGIN
  EXECUTE format('SELECT (%s)::boolean, (%s)::numeric FROM (SELECT %s FROM (SELECT $1::jsonb AS f) j) facts, (SELECT 0::numeric AS so_far) s', NEW.cond, NEW.amount, tax.fact_list()) INTO ok, n USING '{"income": 1}'::jsonb;
  RETURN NEW;
EXCEPTION
  WHEN syntax_error OR undefined_column OR undefined_function OR ambiguous_column OR datatype_mismatch OR grouping_error THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, msg = MESSAGE_TEXT;
    RAISE EXCEPTION 'rule %/% does not compile', NEW.jurisdiction, NEW.code USING ERRCODE = 'TR001', DETAIL = state || ': ' || msg;
  WHEN division_by_zero THEN
    RETURN NEW;
END $$;
CREATE TRIGGER try_rule BEFORE INSERT OR UPDATE OF cond, amount ON rules FOR EACH ROW EXECUTE FUNCTION try_rule();
INSERT INTO rules (jurisdiction, code, priority, valid, cond, amount) VALUES
  ('DE', 'income', 10, '[2024-01-01,)', 'income > 0', 'tax.progressive(''de'', income - 1230)'),
  ('DE', 'soli', 20, '[2024-01-01,)', 'so_far > 18130', 'least(so_far * 0.055, (so_far - 18130) * 0.119)'),
  ('DE-BY', 'church', 30, '[2024-01-01,)', 'church', 'so_far * 0.08'),
  ('DE', 'child', 40, '[2024-01-01,2025-01-01)', 'coalesce(children, 0) > 0', '-least(so_far, children * 600)'),
  ('CH', 'direct', 10, '[2020-01-01,)', 'true', 'tax.progressive(''ch'', income)'),
  ('CH-ZH', 'canton', 20, '[2020-01-01,)', 'income >= 7000', 'income * 0.031 * 1.98'),
  ('US', 'sales', 10, '[2024-01-01,)', 'items IS NOT NULL', '(SELECT sum((i ->> ''price'')::numeric * coalesce((i ->> ''qty'')::int, 1) * CASE i ->> ''kind'' WHEN ''food'' THEN 0 ELSE 0.08875 END) FROM jsonb_array_elements(items) i)'),
  ('US', 'senior', 5, '[2024-01-01,)', 'born < date ''1959-01-01''', '0') RETURNING id, code;
UPDATE rules SET stop = true WHERE code = 'senior';
INSERT INTO rules (jurisdiction, code, valid, amount) VALUES ('DE', 'bad', 'empty', 'incom * 2');
INSERT INTO rules (jurisdiction, code, valid, amount) VALUES ('DE', 'bad', 'empty', 'income *');
INSERT INTO rules (jurisdiction, code, valid, amount) VALUES ('DE', 'bad', 'empty', 'no_such(income)');
INSERT INTO rules (jurisdiction, code, valid, cond, amount) VALUES ('DE', 'bad', 'empty', 'income', '1');
INSERT INTO rules (jurisdiction, code, valid, cond, amount) VALUES ('DE', 'bad', 'empty', 'born - date ''2000-01-01''', '1');
INSERT INTO rules (jurisdiction, code, valid, cond, amount) VALUES ('DE', 'bad', 'empty', 'sum(income) > 1', '1');
INSERT INTO rules (jurisdiction, code, valid, cond, amount) VALUES ('DE', 'odd', '[2030-01-01,)', 'income / children > 1', 'income / 0');
INSERT INTO rules (jurisdiction, code, valid, amount) VALUES ('DE', 'text', '[2030-01-01,)', '''ten''');
CREATE FUNCTION check_facts(f jsonb) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE r facts_spec; k text;
BEGIN
  FOR r IN SELECT * FROM facts_spec ORDER BY name LOOP
    IF r.required AND NOT f ? r.name THEN RAISE EXCEPTION 'fact "%" is missing', r.name USING ERRCODE = 'TR002', HINT = r.doc; END IF;
    CONTINUE WHEN f ->> r.name IS NULL;
    BEGIN
      EXECUTE format('SELECT %L::%s', f ->> r.name, r.type);
    EXCEPTION WHEN data_exception THEN
      RAISE EXCEPTION 'fact "%" is no %', r.name, r.type USING ERRCODE = 'TR003', DETAIL = SQLERRM;
    END;
  END LOOP;
  SELECT string_agg(quote_ident(x), ', ' ORDER BY x) INTO k FROM jsonb_object_keys(f) x WHERE x NOT IN (SELECT name FROM facts_spec);
  IF k IS NOT NULL THEN RAISE WARNING 'facts that nobody asks for: %', k; END IF;
END $$;
CREATE FUNCTION assess(p_subject text, p_where text, p_day date, f jsonb, explain boolean DEFAULT false) RETURNS numeric LANGUAGE plpgsql AS $$
<<fn>>
DECLARE
  r record;
  applies boolean;
  v numeric;
  so_far numeric := 0;
  lines jsonb := '[]';
  j jurisdictions%ROWTYPE;
  source constant text := format('(SELECT %s FROM (SELECT $1 AS f) j) facts, (SELECT $2::numeric AS so_far) s', tax.fact_list());
BEGIN
  PERFORM check_facts(f);
  SELECT * INTO STRICT j FROM jurisdictions WHERE code = p_where;
  FOR r IN
    WITH RECURSIVE up AS (SELECT code, parent FROM jurisdictions WHERE code = p_where UNION ALL SELECT p.code, p.parent FROM up JOIN jurisdictions p ON p.code = up.parent)
    SELECT rl.* FROM rules rl JOIN up ON up.code = rl.jurisdiction WHERE rl.valid @> p_day ORDER BY rl.priority, rl.id
  LOOP
    EXECUTE 'SELECT ' || r.cond || ' FROM ' || source INTO applies USING f, so_far;
    IF applies IS NOT TRUE THEN
      IF explain THEN RAISE NOTICE '% does not apply (%)', r.code, coalesce(applies::text, 'unknown'); END IF;
      CONTINUE;
    END IF;
    EXECUTE format('SELECT %s FROM %s', r.amount, source) INTO v USING f, so_far;
    v := round_as(coalesce(v, 0), j.rounding, j.digits);
    so_far := so_far + v;
    lines := lines || jsonb_build_object('rule', r.code, 'amount', v);
    IF explain THEN RAISE NOTICE '% %', rpad(r.code, 8, '.'), to_char(v, 'FM999G990D00'); END IF;
    EXIT WHEN r.stop;
  END LOOP;
  INSERT INTO assessments AS a (subject, jurisdiction, day, facts, total, lines, seq)
    SELECT p_subject, p_where, p_day, f, fn.so_far, fn.lines, coalesce(max(b.seq), 0) + 1 FROM assessments b WHERE b.subject = p_subject AND b.jurisdiction = p_where AND date_trunc('year', b.day::timestamp) = date_trunc('year', p_day::timestamp);
  RETURN so_far;
END $$;
SELECT assess('ann', 'DE-BY', '2024-06-30', '{"income": 54321.98, "church": true, "children": 2}', true);
SELECT assess('bob', 'DE', '2024-06-30', '{"income": "250000", "children": null, "hobby": "chess", "Shoe Size": 43}', explain => true);
SELECT assess('ann', 'DE-BY', '2024-12-31', '{"income": 54321.98, "church": false, "children": 2}');
SELECT assess('ann', 'DE-BY', '2025-01-01', '{"income": 54321.98, "children": 2}');
SELECT assess('cia', 'CH-ZH', '2024-06-30', '{"income": 98765.43}', true), assess('cia', 'CH', '2024-06-30', '{"income": 0}');
SELECT assess('dan', 'US', '2024-06-30', '{"income": 0, "items": [{"price": 19.99, "qty": 3}, {"price": "5.25", "kind": "food"}, {"price": 0.5}]}', true);
SELECT assess('eva', 'US', '2024-06-30', '{"income": 0, "born": "1950-05-05", "items": [{"price": 19.99}]}', true);
SELECT assess('dan', 'US', '2024-06-30', '{"income": 0, "items": {"price": 1}}');
SELECT assess('dan', 'US', '2024-06-30', '{"income": "lots"}');
SELECT assess('dan', 'US', '2024-06-30', '{"income": 1, "born": "1950-13-05"}');
SELECT assess('dan', 'US', '2024-06-30', '{"children": 1}');
SELECT assess('dan', 'XX', '2024-06-30', '{"income": 1}');
SELECT assess('dan', 'DE', '2031-06-30', '{"income": 1, "children": 0}');
SELECT subject, jurisdiction, day, seq, total, jsonb_path_query_array(lines, '$[*].rule') AS rules FROM assessments ORDER BY id;
-- What if: each rule is taken away in turn, within a block that fails on purpose.
CREATE FUNCTION what_if(p_rule text, p_amount text) RETURNS TABLE (subject text, before numeric, after numeric) LANGUAGE plpgsql AS $$
DECLARE a assessments; results jsonb := '[]';
BEGIN
  BEGIN
    UPDATE rules SET amount = p_amount WHERE code = p_rule;
    IF NOT FOUND THEN RETURN; END IF;
    FOR a IN SELECT DISTINCT ON (s.subject, s.jurisdiction) s.* FROM assessments s ORDER BY s.subject, s.jurisdiction, s.id DESC LOOP
      results := results || jsonb_build_object('subject', a.subject, 'before', a.total, 'after', assess(a.subject, a.jurisdiction, a.day, a.facts));
    END LOOP;
    RAISE SQLSTATE 'ZZZZZ';
  EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN NULL;
  END;
  RETURN QUERY SELECT x.* FROM jsonb_to_recordset(results) AS x(subject text, before numeric, after numeric) WHERE x.before <> x.after ORDER BY 1;
END $$;
SELECT * FROM what_if('child', '-least(so_far, children * 1000)');
SELECT * FROM what_if('canton', 'income * 0.03');
SELECT * FROM what_if('none', '0');
SELECT * FROM what_if('canton', 'income * zero');
SELECT code, amount FROM rules WHERE code IN ('child', 'canton') ORDER BY code;
-- A view for each jurisdiction, made by a loop; the same by one function that answers differently.
DO $$
DECLARE j record; body text;
BEGIN
  FOR j IN SELECT code, lower(replace(code, '-', '_')) AS short FROM jurisdictions WHERE parent IS NULL ORDER BY code LOOP
    SELECT string_agg(format('%L', code), ', ' ORDER BY code) INTO body FROM jurisdictions WHERE code LIKE j.code || '%';
    EXECUTE format('CREATE OR REPLACE VIEW %I AS SELECT subject, day, total FROM assessments WHERE jurisdiction IN (%s)', 'assessed_' || j.short, body);
    RAISE NOTICE 'assessed_%: %', j.short, body;
  END LOOP;
END $$;
SELECT * FROM assessed_de ORDER BY day, total;
SELECT count(*) FROM assessed_jp;
SELECT total, count(*) OVER (PARTITION BY jurisdiction), total - avg(total) OVER (PARTITION BY jurisdiction)::numeric(10,2) AS off FROM assessments WHERE subject = 'ann' ORDER BY id;
CREATE FUNCTION totals_by(col text) RETURNS TABLE (key text, n bigint, total numeric) LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'tax.assessments'::regclass AND attname = col AND attnum > 0) THEN
    RAISE undefined_column USING MESSAGE = format('no column %I to group by', col);
  END IF;
  RETURN QUERY EXECUTE format('SELECT %1$I::text, count(*), sum(total) FROM assessments GROUP BY %1$I ORDER BY %1$I', col);
END $$;
SELECT * FROM totals_by('jurisdiction');
SELECT * FROM totals_by('subject; DROP TABLE rules');
SELECT * FROM totals_by('day') FETCH FIRST 2 ROWS ONLY;
SELECT r.jurisdiction, jsonb_object_agg(r.code, jsonb_build_array(lower(r.valid), upper_inf(r.valid))) FROM rules r GROUP BY 1 ORDER BY 1;
SELECT a.subject, l.rule, l.amount, sum(l.amount) OVER (PARTITION BY a.id ORDER BY l.n) AS running FROM assessments a CROSS JOIN LATERAL (SELECT e.x ->> 'rule', (e.x ->> 'amount')::numeric, e.n FROM jsonb_array_elements(a.lines) WITH ORDINALITY AS e(x, n)) AS l(rule, amount, n) WHERE a.subject IN ('ann', 'bob') AND a.day < '2024-12-01' ORDER BY a.id, l.n;
DROP VIEW assessed_de, assessed_ch, assessed_us, assessed_jp;
DELETE FROM jurisdictions WHERE code = 'DE';
ALTER TABLE facts_spec DROP COLUMN required CASCADE;
SELECT assess('dan', 'US', '2024-06-30', '{"income": 1}');
