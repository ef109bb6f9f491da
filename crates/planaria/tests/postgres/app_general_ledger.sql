-- with contexts
-- A general ledger: entries that are corrected and never changed, periods that close, an audit trail written by generic triggers with SQL made at run time, trial balances, statements.
CREATE TYPE side AS ENUM ('debit', 'credit');
CREATE DOMAIN money_amount AS numeric(14,2) CHECK (VALUE >= 0);
CREATE TABLE periods (id int PRIMARY KEY, span daterange NOT NULL, closed_at timestamp, EXCLUDE USING gist (span WITH &&));
CREATE TABLE accounts (code text PRIMARY KEY CHECK (code ~ '^[0-9]{4}$'), name text NOT NULL, parent text REFERENCES accounts, normal side NOT NULL, active boolean NOT NULL DEFAULT true);
CREATE TABLE journals (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, posted_on date NOT NULL, memo text NOT NULL, corrects int REFERENCES journals, created_by text NOT NULL DEFAULT 'clerk', UNIQUE (corrects));
CREATE TABLE lines (journal int NOT NULL REFERENCES journals ON DELETE RESTRICT, n smallint NOT NULL, account text NOT NULL REFERENCES accounts, side side NOT NULL, amount money_amount NOT NULL, tags jsonb NOT NULL DEFAULT '{}', PRIMARY KEY (journal, n));
CREATE TABLE audit (id bigserial PRIMARY KEY, tbl name NOT NULL, op text NOT NULL, key jsonb NOT NULL, changed text[] NOT NULL DEFAULT '{}', before jsonb, after jsonb);
CREATE TABLE watched (tbl name PRIMARY KEY, key_columns text[] NOT NULL, ignored text[] NOT NULL DEFAULT '{}');
INSERT INTO periods VALUES (202401, '[2024-01-01,2024-02-01)'), (202402, '[2024-02-01,2024-03-01)'), (202403, '[2024-03-01,2024-04-01)');
INSERT INTO periods VALUES (202499, '[2024-03-15,2024-05-01)');
INSERT INTO accounts VALUES ('1000', 'Assets', NULL, 'debit'), ('1100', 'Cash', '1000', 'debit'), ('1200', 'Receivables', '1000', 'debit'), ('2000', 'Liabilities', NULL, 'credit'), ('2100', 'Payables', '2000', 'credit'), ('4000', 'Revenue', NULL, 'credit'), ('4100', 'Sales', '4000', 'credit'), ('5000', 'Expenses', NULL, 'debit'), ('5100', 'Rent', '5000', 'debit');
CREATE FUNCTION audit_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE cfg watched; k text; keys jsonb := '{}'; o jsonb; n jsonb; diff text[] := '{}'; r record;
BEGIN
  SELECT * INTO cfg FROM watched WHERE tbl = TG_TABLE_NAME;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF TG_OP <> 'INSERT' THEN o := to_jsonb(OLD) - cfg.ignored; END IF;
  IF TG_OP <> 'DELETE' THEN n := to_jsonb(NEW) - cfg.ignored; END IF;
  FOREACH k IN ARRAY cfg.key_columns LOOP
    keys := keys || jsonb_build_object(k, coalesce(n, o) -> k);
  END LOOP;
  IF TG_OP = 'UPDATE' THEN
    FOR r IN EXECUTE 'SELECT a.key, a.value AS was, b.value AS is FROM jsonb_each($1) a JOIN jsonb_each($2) b USING (key) WHERE a.value IS DISTINCT FROM b.value ORDER BY 1' USING o, n LOOP
      diff := diff || format('%s: %s -> %s', r.key, r.was, r.is);
    END LOOP;
    IF diff = '{}' THEN RETURN NULL; END IF;
  END IF;
  INSERT INTO audit (tbl, op, key, changed, before, after) VALUES (TG_TABLE_NAME, TG_OP, keys, diff, o, n);
  RETURN NULL;
END $$;
CREATE PROCEDURE watch(p_table regclass, VARIADIC p_keys text[]) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO watched VALUES (p_table::text, p_keys) ON CONFLICT (tbl) DO UPDATE SET key_columns = EXCLUDED.key_columns;
  EXECUTE format('CREATE OR REPLACE TRIGGER audit_row AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION audit_row()', p_table);
END $$;
CALL watch('accounts', 'code');
CALL watch('lines', 'journal', 'n');
CALL watch('periods', 'id');
SELECT tgname, tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text;
CREATE FUNCTION guard_line() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE d date; p periods%ROWTYPE;
BEGIN
  IF TG_OP <> 'INSERT' THEN
    RAISE EXCEPTION 'line %/% is posted', OLD.journal, OLD.n USING ERRCODE = 'GL001', HINT = 'Post a correction.';
  END IF;
  SELECT posted_on INTO STRICT d FROM journals WHERE id = NEW.journal;
  SELECT * INTO p FROM periods WHERE span @> d;
  IF p.id IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'GL002', MESSAGE = format('no period has %s', d);
  ELSIF p.closed_at IS NOT NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'GL003', MESSAGE = format('period %s is closed', p.id), DETAIL = format('Since %s.', p.closed_at);
  END IF;
  NEW.tags := NEW.tags || jsonb_build_object('period', p.id);
  RETURN NEW;
END $$;
CREATE TRIGGER a_guard BEFORE INSERT OR UPDATE OR DELETE ON lines FOR EACH ROW EXECUTE FUNCTION guard_line();
CREATE FUNCTION must_balance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE bad record;
BEGIN
  FOR bad IN SELECT l.journal, sum(CASE l.side WHEN 'debit' THEN l.amount ELSE -l.amount END) AS off FROM lines l JOIN (SELECT DISTINCT journal FROM new_lines) n USING (journal) GROUP BY 1 HAVING sum(CASE l.side WHEN 'debit' THEN l.amount ELSE -l.amount END) <> 0 ORDER BY 1 LOOP
    RAISE EXCEPTION 'journal % is off by %', bad.journal, bad.off USING ERRCODE = 'GL004';
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER z_balance AFTER INSERT ON lines REFERENCING NEW TABLE AS new_lines FOR EACH STATEMENT EXECUTE FUNCTION must_balance();
CREATE FUNCTION post(p_on date, p_memo text, p_lines jsonb, p_corrects int DEFAULT NULL) RETURNS int LANGUAGE plpgsql AS $$
DECLARE j int;
BEGIN
  INSERT INTO journals (posted_on, memo, corrects) VALUES (p_on, p_memo, p_corrects) RETURNING id INTO j;
  INSERT INTO lines (journal, n, account, side, amount)
    SELECT j, ord, x.account, x.side, x.amount FROM ROWS FROM (jsonb_to_recordset(p_lines) AS (account text, side side, amount numeric)) WITH ORDINALITY AS x(account, side, amount, ord);
  RETURN j;
END $$;
SELECT post('2024-01-05', 'capital', '[{"account": "1100", "side": "debit", "amount": 1000}, {"account": "2100", "side": "credit", "amount": 1000}]');
SELECT post('2024-01-20', 'rent', '[{"account": "5100", "side": "debit", "amount": 250.50}, {"account": "1100", "side": "credit", "amount": 250.50}]');
SELECT post('2024-02-02', 'sale', '[{"account": "1200", "side": "debit", "amount": 99.99}, {"account": "4100", "side": "credit", "amount": 99.99}]');
SELECT post('2024-02-03', 'off', '[{"account": "1200", "side": "debit", "amount": 10}, {"account": "4100", "side": "credit", "amount": 9}]');
SELECT post('2025-02-03', 'no period', '[{"account": "1200", "side": "debit", "amount": 10}, {"account": "4100", "side": "credit", "amount": 10}]');
SELECT post('2024-02-03', 'no account', '[{"account": "9999", "side": "debit", "amount": 10}, {"account": "4100", "side": "credit", "amount": 10}]');
UPDATE lines SET amount = 1 WHERE journal = 1;
DELETE FROM lines WHERE journal = 2;
UPDATE accounts SET name = 'Cash at bank', active = true WHERE code = '1100';
UPDATE accounts SET active = true WHERE code = '1100';
SELECT id, tbl, op, key, changed FROM audit ORDER BY id;
CREATE FUNCTION correct(p_journal int, p_on date) RETURNS TABLE (journal int, line smallint, account text, moved numeric) LANGUAGE plpgsql AS $$
DECLARE j journals; items jsonb; new_id int;
BEGIN
  SELECT * INTO j FROM journals x WHERE x.id = p_journal;
  IF NOT FOUND THEN RAISE no_data_found USING MESSAGE = 'no journal ' || p_journal; END IF;
  SELECT jsonb_agg(jsonb_build_object('account', l.account, 'side', CASE l.side WHEN 'debit' THEN 'credit' ELSE 'debit' END, 'amount', l.amount) ORDER BY l.n) INTO items FROM lines l WHERE l.journal = p_journal;
  new_id := post(p_on, 'reverses: ' || j.memo, items, p_journal);
  RETURN QUERY SELECT l.journal, l.n, l.account, CASE l.side WHEN 'debit' THEN l.amount ELSE -l.amount END::numeric FROM lines l WHERE l.journal = new_id ORDER BY l.n;
EXCEPTION WHEN unique_violation THEN
  RAISE EXCEPTION 'journal % is corrected already', p_journal USING ERRCODE = 'GL005';
END $$;
SELECT post('2024-02-10', 'wrong rent', '[{"account": "5100", "side": "debit", "amount": 25}, {"account": "1100", "side": "credit", "amount": 25}]');
SELECT * FROM correct(99, '2024-02-11');
SELECT count(*) FROM correct(2, '2024-02-11');
SELECT * FROM correct(2, '2024-02-12');
CREATE VIEW balances AS SELECT a.code, a.name, a.normal, coalesce(sum(CASE WHEN l.side = a.normal THEN l.amount ELSE -l.amount END), 0) AS balance, count(l.n) AS lines FROM accounts a LEFT JOIN lines l ON l.account = a.code GROUP BY a.code;
SELECT * FROM balances ORDER BY code;
WITH RECURSIVE tree AS (SELECT code, name, parent, 0 AS depth, ARRAY[code] AS path FROM accounts WHERE parent IS NULL UNION ALL SELECT a.code, a.name, a.parent, t.depth + 1, t.path || a.code FROM accounts a JOIN tree t ON a.parent = t.code)
SELECT repeat('  ', depth) || name AS account, (SELECT sum(b.balance) FROM balances b JOIN tree u ON u.code = b.code WHERE t.code = ANY (u.path)) AS total FROM tree t ORDER BY path;
SELECT CASE GROUPING(p.id, l.account) WHEN 0 THEN l.account WHEN 1 THEN '(period)' ELSE '(all)' END AS account, p.id, sum(amount) FILTER (WHERE side = 'debit') AS debit, sum(amount) FILTER (WHERE side = 'credit') AS credit FROM lines l JOIN journals j ON j.id = l.journal JOIN periods p ON p.span @> j.posted_on GROUP BY ROLLUP (p.id, l.account) ORDER BY p.id NULLS LAST, l.account NULLS LAST;
SELECT j.posted_on, l.journal, l.amount, sum(CASE l.side WHEN 'debit' THEN l.amount ELSE -l.amount END) OVER w AS running, lag(j.posted_on) OVER w AS before, first_value(l.journal) OVER (PARTITION BY date_trunc('month', j.posted_on) ORDER BY j.posted_on, l.journal) FROM lines l JOIN journals j ON j.id = l.journal WHERE l.account = '1100' WINDOW w AS (ORDER BY j.posted_on, l.journal) ORDER BY 1, 2;
CREATE PROCEDURE close_period(p_id int, INOUT result text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE open_before int[]; n bigint;
BEGIN
  SELECT array_agg(id ORDER BY id) INTO open_before FROM periods WHERE id < p_id AND closed_at IS NULL;
  IF cardinality(open_before) > 0 THEN RAISE EXCEPTION 'periods % are open', open_before USING ERRCODE = 'GL006'; END IF;
  UPDATE periods SET closed_at = '2024-05-01 00:00' WHERE id = p_id AND closed_at IS NULL;
  GET DIAGNOSTICS n = ROW_COUNT;
  result := CASE n WHEN 1 THEN 'closed ' || p_id ELSE 'nothing' END;
END $$;
CALL close_period(202402);
CALL close_period(202401);
CALL close_period(202401);
SELECT post('2024-01-31', 'late', '[{"account": "1200", "side": "debit", "amount": 10}, {"account": "4100", "side": "credit", "amount": 10}]');
DO $$
DECLARE r text; state text; detail text; ctx text;
BEGIN
  CALL close_period(202402, r);
  RAISE NOTICE 'result %', r;
  PERFORM post('2024-02-29', 'late', '[{"account": "1200", "side": "debit", "amount": 10}, {"account": "4100", "side": "credit", "amount": 10}]');
EXCEPTION WHEN SQLSTATE 'GL003' THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL, ctx = PG_EXCEPTION_CONTEXT;
  RAISE NOTICE '% % at %', state, detail, ctx;
END $$;
SELECT id, closed_at FROM periods ORDER BY id;
MERGE INTO accounts a USING (VALUES ('1100', 'Bank', NULL), ('5200', 'Travel', '5000'), ('4000', NULL, NULL)) AS s(code, name, parent) ON a.code = s.code WHEN MATCHED AND s.name IS NULL THEN DO NOTHING WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (code, name, parent, normal) VALUES (s.code, s.name, s.parent, 'debit');
DELETE FROM accounts WHERE code = '5200';
DELETE FROM accounts WHERE code = '1100';
SELECT id, op, key, changed, before ->> 'name' AS was, after ->> 'name' AS is FROM audit WHERE tbl = 'accounts' ORDER BY id;
DO $$
DECLARE c SCROLL CURSOR (acc text) FOR SELECT l.journal, l.amount, j.memo FROM lines l JOIN journals j ON j.id = l.journal WHERE l.account = acc ORDER BY 1 DESC; r record; total numeric := 0;
BEGIN
  FOR r IN c('1100') LOOP total := total + r.amount; RAISE NOTICE '% % %', r.journal, r.memo, total; END LOOP;
  OPEN c('4100');
  FETCH LAST FROM c INTO r;
  RAISE NOTICE '%', r;
  MOVE BACKWARD 5 FROM c;
  FETCH c INTO r;
  RAISE NOTICE '% %', r.memo, FOUND;
  CLOSE c;
END $$;
SELECT percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY amount), mode() WITHIN GROUP (ORDER BY account) FROM lines;
CREATE FUNCTION statement(p_account text, p_from date DEFAULT '2024-01-01') RETURNS SETOF jsonb LANGUAGE sql STABLE BEGIN ATOMIC SELECT jsonb_build_object('on', j.posted_on, 'memo', j.memo, 'amount', l.amount, 'side', l.side) FROM lines l JOIN journals j ON j.id = l.journal WHERE l.account = p_account AND j.posted_on >= p_from ORDER BY j.posted_on, j.id; END;
SELECT statement('1100', '2024-02-01');
SELECT jsonb_pretty(jsonb_agg(s -> 'memo')) FROM statement('1100') s;
