-- with contexts
-- A wallet behind an API: idempotency keys with the answer that was given, holds and captures, balances held by a deferred trigger, limits by window, fees, a journal that nobody changes, webhooks to send.
CREATE SCHEMA wallet AUTHORIZATION CURRENT_USER;
CREATE ROLE wallet_app NOLOGIN;
CREATE ROLE wallet_auditor NOLOGIN;
GRANT USAGE ON SCHEMA wallet TO wallet_app, wallet_auditor;
ALTER DEFAULT PRIVILEGES IN SCHEMA wallet GRANT SELECT ON TABLES TO wallet_auditor;
SET search_path TO wallet, public;
CREATE DOMAIN currency AS char(3) NOT NULL CHECK (VALUE = ANY ('{EUR,USD,JPY}'::bpchar[]));
CREATE DOMAIN positive AS numeric(18,2) CONSTRAINT is_positive CHECK (VALUE > 0);
CREATE TYPE entry_side AS ENUM ('debit', 'credit');
CREATE TABLE users (id uuid PRIMARY KEY, email text NOT NULL, tier smallint NOT NULL DEFAULT 0, frozen_at timestamptz, deleted_at timestamptz, CONSTRAINT email_shape CHECK (email ~* '^[^@\s]+@[^@\s]+\.[a-z]{2,}$'));
CREATE UNIQUE INDEX users_email_live ON users (lower(email)) WHERE deleted_at IS NULL;
CREATE TABLE accounts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner uuid REFERENCES users, kind text NOT NULL CHECK (kind IN ('cash', 'hold', 'fees', 'world')), currency currency, balance numeric(18,2) NOT NULL DEFAULT 0, version bigint NOT NULL DEFAULT 0, CONSTRAINT solvent CHECK (kind = 'world' OR balance >= 0), CONSTRAINT owned CHECK ((owner IS NULL) = (kind IN ('fees', 'world'))), UNIQUE NULLS NOT DISTINCT (owner, kind, currency));
CREATE TABLE transfers (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), kind text NOT NULL, at timestamptz NOT NULL, memo text, reverses uuid UNIQUE REFERENCES transfers, meta jsonb NOT NULL DEFAULT '{}' CHECK (NOT meta @? '$.** ? (@.type() == "string" && @ like_regex "^[0-9]{16}$")'));
CREATE TABLE entries (transfer uuid NOT NULL REFERENCES transfers, n smallint NOT NULL, account bigint NOT NULL REFERENCES accounts, side entry_side NOT NULL, amount positive NOT NULL, balance_after numeric(18,2), PRIMARY KEY (transfer, n));
CREATE INDEX entries_account ON entries (account, transfer) INCLUDE (side, amount);
CREATE TABLE idempotency (key text, endpoint text, request_hash bytea NOT NULL, status smallint, body jsonb, locked_at timestamptz, created_at timestamptz NOT NULL, PRIMARY KEY (key, endpoint));
CREATE TABLE webhooks (id bigserial PRIMARY KEY, event text NOT NULL, body jsonb NOT NULL, signature text);
CREATE TABLE limits (tier smallint PRIMARY KEY, daily numeric NOT NULL, per_hour int NOT NULL, fee numeric NOT NULL DEFAULT 0.01);
INSERT INTO limits VALUES (0, 500, 3, 0.015), (1, 5000, 20, DEFAULT);
INSERT INTO users VALUES ('11111111-1111-1111-1111-111111111111', 'Ann@Example.org', 1), ('22222222-2222-2222-2222-222222222222', 'bob@example.org', DEFAULT);
INSERT INTO users VALUES ('33333333-3333-3333-3333-333333333333', 'old@example.org', 0, NULL, '2024-01-01');
INSERT INTO users VALUES ('44444444-4444-4444-4444-444444444444', 'ANN@example.org');
INSERT INTO users VALUES ('55555555-5555-5555-5555-555555555555', 'old@example.org'), ('66666666-6666-6666-6666-666666666666', 'no mail');
INSERT INTO users VALUES ('44444444-4444-4444-4444-444444444444', 'old@example.org') RETURNING tier;
INSERT INTO accounts (owner, kind, currency) SELECT u.id, k, 'EUR' FROM users u, unnest(ARRAY['cash', 'hold']) k WHERE u.deleted_at IS NULL ORDER BY u.id, k;
INSERT INTO accounts (owner, kind, currency) VALUES (NULL, 'world', 'EUR'), (NULL, 'fees', 'EUR') RETURNING id, kind;
INSERT INTO accounts (kind, currency) VALUES ('cash', 'EUR');
INSERT INTO accounts (kind, currency) VALUES ('fees', 'GBP');
INSERT INTO accounts (kind) VALUES ('fees');
CREATE FUNCTION apply_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET balance = balance + CASE NEW.side WHEN 'credit' THEN NEW.amount ELSE -NEW.amount END, version = version + 1 WHERE id = NEW.account RETURNING balance INTO NEW.balance_after;
  RETURN NEW;
EXCEPTION WHEN check_violation THEN
  RAISE EXCEPTION 'insufficient funds' USING ERRCODE = 'WA402', DETAIL = format('Account %s lacks %s.', NEW.account, (SELECT NEW.amount - balance FROM accounts WHERE id = NEW.account)), CONSTRAINT = 'solvent';
END $$;
CREATE TRIGGER apply_entry BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION apply_entry();
CREATE FUNCTION balanced() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE off numeric;
BEGIN
  SELECT sum(CASE side WHEN 'debit' THEN -amount ELSE amount END) INTO off FROM entries WHERE transfer = NEW.transfer;
  IF off <> 0 THEN RAISE EXCEPTION 'transfer is off by %', off USING ERRCODE = 'WA500', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME; END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER balanced AFTER INSERT ON entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION balanced();
CREATE FUNCTION immutable_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '% of % is not allowed', lower(TG_OP), TG_TABLE_NAME USING ERRCODE = 'read_only_sql_transaction'; END $$;
CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON entries FOR EACH ROW EXECUTE FUNCTION immutable_row();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION immutable_row();
CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON transfers FOR EACH ROW EXECUTE FUNCTION immutable_row();
-- One door for all movements: legs as an array of rows.
CREATE TYPE leg AS (account bigint, side entry_side, amount numeric);
CREATE FUNCTION post(p_id uuid, p_kind text, p_at timestamptz, VARIADIC legs leg[]) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE l leg; i int := 0; currencies int;
BEGIN
  SELECT count(DISTINCT currency) INTO currencies FROM accounts a WHERE a.id IN (SELECT (u).account FROM unnest(legs) u);
  IF currencies <> 1 THEN RAISE EXCEPTION USING ERRCODE = 'WA422', MESSAGE = 'legs are in ' || currencies || ' currencies'; END IF;
  -- Locks in the order of the accounts, so that two transfers do not wait for each other.
  PERFORM 1 FROM accounts a WHERE a.id = ANY (SELECT u.account FROM unnest(legs) AS u) ORDER BY a.id FOR NO KEY UPDATE;
  INSERT INTO transfers (id, kind, at) VALUES (p_id, p_kind, p_at);
  FOREACH l IN ARRAY legs LOOP
    i := i + 1;
    INSERT INTO entries (transfer, n, account, side, amount) VALUES (p_id, i, l.account, l.side, l.amount);
  END LOOP;
  RETURN p_id;
END $$;
SELECT post('a0000000-0000-0000-0000-000000000001', 'deposit', '2024-03-01 09:00Z', (7, 'debit', 300)::leg, (1, 'credit', 300)::leg);
SELECT id, kind, balance, version FROM accounts WHERE version > 0 ORDER BY id;
SELECT id, owner IS NULL AS house, kind FROM accounts ORDER BY id;
SELECT post('a0000000-0000-0000-0000-000000000002', 'theft', '2024-03-01 09:00Z', (3, 'debit', 1), (1, 'credit', 1));
SELECT post('a0000000-0000-0000-0000-000000000003', 'slip', '2024-03-01 09:00Z', (7, 'debit', 10), (1, 'credit', 11));
SELECT post('a0000000-0000-0000-0000-000000000003', 'slip', '2024-03-01 09:00Z', (7, 'sideways', 10), (1, 'credit', 11));
BEGIN;
SELECT post('a0000000-0000-0000-0000-000000000004', 'two steps', '2024-03-01 09:00Z', ROW(7, 'debit', 10)::leg);
INSERT INTO entries (transfer, n, account, side, amount) VALUES ('a0000000-0000-0000-0000-000000000004', 2, 3, 'credit', 10) RETURNING balance_after;
SET CONSTRAINTS balanced IMMEDIATE;
COMMIT;
UPDATE entries SET amount = 1;
TRUNCATE entries;
DELETE FROM transfers WHERE kind = 'deposit';
-- The API.
CREATE FUNCTION send_money(who uuid, p_to text, p_amount numeric, p_at timestamptz, p_transfer uuid) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  s users; r users; lim limits; spent numeric; n bigint; f numeric; src accounts; dst bigint;
BEGIN
  SELECT * INTO STRICT s FROM users WHERE id = who AND deleted_at IS NULL;
  IF s.frozen_at IS NOT NULL THEN RAISE EXCEPTION 'frozen since %', s.frozen_at::date USING ERRCODE = 'WA403'; END IF;
  SELECT * INTO r FROM users WHERE lower(email) = lower(p_to) AND deleted_at IS NULL;
  IF NOT FOUND OR r.id = s.id THEN RAISE EXCEPTION 'no recipient' USING ERRCODE = 'WA404', HINT = 'Invite ' || quote_literal(p_to) || '.'; END IF;
  SELECT * INTO lim FROM limits WHERE tier = s.tier;
  SELECT * INTO src FROM accounts WHERE owner = s.id AND kind = 'cash' FOR UPDATE;
  SELECT coalesce(sum(e.amount), 0), count(*) FILTER (WHERE t.at > p_at - interval '1 hour') INTO spent, n FROM entries e JOIN transfers t ON t.id = e.transfer WHERE e.account = src.id AND e.side = 'debit' AND t.kind = 'send' AND t.at >= date_trunc('day', p_at, 'UTC');
  IF spent + p_amount > lim.daily THEN RAISE EXCEPTION 'daily limit' USING ERRCODE = 'WA429', DETAIL = json_build_object('limit', lim.daily, 'left', lim.daily - spent)::text; END IF;
  IF n >= lim.per_hour THEN RAISE EXCEPTION 'too many transfers' USING ERRCODE = 'WA429', DETAIL = json_build_object('per_hour', lim.per_hour)::text; END IF;
  f := greatest(round(p_amount * lim.fee, 2), 0.01);
  SELECT id INTO dst FROM accounts WHERE owner = r.id AND kind = 'cash';
  PERFORM post(p_transfer, 'send', p_at, (src.id, 'debit', p_amount + f), (dst, 'credit', p_amount), ((SELECT id FROM accounts WHERE kind = 'fees'), 'credit', f));
  INSERT INTO webhooks (event, body) VALUES ('transfer.sent', jsonb_build_object('id', p_transfer, 'to', r.email, 'amount', p_amount::text));
  RETURN jsonb_build_object('id', p_transfer, 'fee', f, 'balance', (SELECT balance FROM accounts WHERE id = src.id));
END $$;
CREATE FUNCTION api(p_key text, p_endpoint text, p_request jsonb, p_at timestamptz, OUT status int, OUT body jsonb, OUT replayed boolean) LANGUAGE plpgsql AS $$
DECLARE i idempotency; h bytea := sha256(p_request::text::bytea); code text; msg text; det text;
BEGIN
  replayed := false;
  INSERT INTO idempotency (key, endpoint, request_hash, locked_at, created_at) VALUES (p_key, p_endpoint, h, p_at, p_at) ON CONFLICT (key, endpoint) DO NOTHING;
  IF NOT FOUND THEN
    SELECT * INTO i FROM idempotency WHERE key = p_key AND endpoint = p_endpoint FOR UPDATE;
    IF i.request_hash <> h THEN status := 422; body := '{"error": "key was used for another request"}'; RETURN; END IF;
    IF i.status IS NULL THEN status := 409; RETURN; END IF;
    status := i.status; body := i.body; replayed := true;
    RETURN;
  END IF;
  BEGIN
    body := send_money((p_request ->> 'from')::uuid, p_request ->> 'to', (p_request ->> 'amount')::positive, p_at, md5(p_key)::uuid);
    status := 201;
  EXCEPTION
    WHEN no_data_found THEN status := 401; body := jsonb_build_object('error', 'who are you');
    WHEN check_violation OR data_exception THEN
      GET STACKED DIAGNOSTICS msg = MESSAGE_TEXT;
      status := 400; body := jsonb_build_object('error', msg);
    WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, msg = MESSAGE_TEXT, det = PG_EXCEPTION_DETAIL;
      IF code !~ '^WA' THEN RAISE; END IF;
      status := substr(code, 3)::int;
      body := jsonb_build_object('error', msg) || CASE WHEN det LIKE '{%' THEN det::jsonb WHEN det <> '' THEN jsonb_build_object('detail', det) ELSE '{}' END;
  END;
  UPDATE idempotency SET status = api.status, body = api.body, locked_at = NULL WHERE key = p_key AND endpoint = p_endpoint;
END $$;
SELECT * FROM api('k1', 'POST /send', '{"from": "11111111-1111-1111-1111-111111111111", "to": "BOB@example.org", "amount": 50}', '2024-03-02 10:00Z');
SELECT * FROM api('k1', 'POST /send', '{"to": "BOB@example.org", "amount": 50, "from": "11111111-1111-1111-1111-111111111111"}', '2024-03-02 10:01Z');
SELECT * FROM api('k1', 'POST /send', '{"from": "11111111-1111-1111-1111-111111111111", "to": "BOB@example.org", "amount": 51}', '2024-03-02 10:01Z');
CREATE OR REPLACE FUNCTION api(p_key text, p_endpoint text, p_request jsonb, p_at timestamptz, OUT status int, OUT body jsonb, OUT replayed boolean) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE i idempotency; h bytea := sha256(p_request::text::bytea); code text; msg text; det text; st int; bo jsonb;
BEGIN
  replayed := false;
  INSERT INTO idempotency (key, endpoint, request_hash, locked_at, created_at) VALUES (p_key, p_endpoint, h, p_at, p_at) ON CONFLICT (key, endpoint) DO NOTHING;
  IF NOT FOUND THEN
    SELECT * INTO i FROM idempotency WHERE key = p_key AND endpoint = p_endpoint FOR UPDATE;
    IF i.request_hash <> h THEN status := 422; body := '{"error": "key was used for another request"}'; RETURN; END IF;
    IF i.status IS NULL THEN status := 409; RETURN; END IF;
    status := i.status; body := i.body; replayed := true;
    RETURN;
  END IF;
  BEGIN
    bo := send_money((p_request ->> 'from')::uuid, p_request ->> 'to', (p_request ->> 'amount')::positive, p_at, md5(p_key)::uuid);
    st := 201;
  EXCEPTION
    WHEN no_data_found THEN st := 401; bo := jsonb_build_object('error', 'who are you');
    WHEN check_violation OR data_exception THEN
      GET STACKED DIAGNOSTICS msg = MESSAGE_TEXT;
      st := 400; bo := jsonb_build_object('error', msg);
    WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, msg = MESSAGE_TEXT, det = PG_EXCEPTION_DETAIL;
      IF code !~ '^WA' THEN RAISE; END IF;
      st := substr(code, 3)::int;
      bo := jsonb_build_object('error', msg) || CASE WHEN det LIKE '{%' THEN det::jsonb WHEN det <> '' THEN jsonb_build_object('detail', det) ELSE '{}' END;
  END;
  UPDATE idempotency SET status = st, body = bo, locked_at = NULL WHERE key = p_key AND endpoint = p_endpoint;
  status := st; body := bo;
END $$;
SELECT * FROM api('k1', 'POST /send', '{"from": "11111111-1111-1111-1111-111111111111", "to": "BOB@example.org", "amount": 50}', '2024-03-02 10:00Z');
SELECT * FROM api('k1', 'POST /send', '{"to": "BOB@example.org", "amount": 50, "from": "11111111-1111-1111-1111-111111111111"}', '2024-03-02 10:01Z');
SELECT * FROM api('k1', 'POST /send', '{"from": "11111111-1111-1111-1111-111111111111", "to": "BOB@example.org", "amount": 51}', '2024-03-02 10:01Z');
SELECT * FROM api('k2', 'POST /send', '{"from": "22222222-2222-2222-2222-222222222222", "to": "ann@example.org", "amount": 59.5}', '2024-03-02 10:05Z');
SELECT * FROM api('k3', 'POST /send', '{"from": "22222222-2222-2222-2222-222222222222", "to": "ann@example.org", "amount": 499}', '2024-03-02 10:05Z');
SELECT * FROM api('k4', 'POST /send', '{"from": "22222222-2222-2222-2222-222222222222", "to": "nobody@example.org", "amount": 1}', '2024-03-02 10:05Z');
SELECT * FROM api('k5', 'POST /send', '{"from": "22222222-2222-2222-2222-222222222222", "to": "ann@example.org", "amount": -1}', '2024-03-02 10:05Z');
SELECT * FROM api('k6', 'POST /send', '{"from": "me", "to": "ann@example.org", "amount": 1}', '2024-03-02 10:05Z');
SELECT * FROM api('k7', 'POST /send', '{"from": "33333333-3333-3333-3333-333333333333", "to": "ann@example.org", "amount": 1}', '2024-03-02 10:05Z');
SELECT k, a.status, a.body -> 'error' AS error, a.body - 'error' - 'id' AS rest FROM generate_series(8, 12) k, api('k' || k, 'POST /send', '{"from": "22222222-2222-2222-2222-222222222222", "to": "ann@example.org", "amount": 1.5}', timestamptz '2024-03-02 10:10Z' + k * interval '1 min') a;
SELECT * FROM api('k4', 'POST /send', '{"from": "22222222-2222-2222-2222-222222222222", "to": "nobody@example.org", "amount": 1}', '2024-03-05 10:05Z');
UPDATE users SET frozen_at = '2024-03-03' WHERE tier = 1;
SELECT status, body FROM api('k20', 'POST /send', '{"from": "11111111-1111-1111-1111-111111111111", "to": "bob@example.org", "amount": 5}', '2024-03-04 10:00Z');
SELECT key, status, encode(request_hash, 'hex') LIKE '________________%' AS hashed, locked_at IS NULL AS open FROM idempotency ORDER BY length(key), key LIMIT 4;
SELECT event, body ->> 'amount' AS amount, body -> 'to' FROM webhooks ORDER BY id;
INSERT INTO transfers (id, kind, at, meta) VALUES ('c0000000-0000-0000-0000-000000000001', 'card', '2024-03-04', '{"card": {"pan": "4111111111111111"}}');
-- Statements and checks.
SELECT to_char(t.at AT TIME ZONE 'UTC', 'DD.MM. HH24:MI') AS at, t.kind, CASE e.side WHEN 'debit' THEN to_char(-e.amount, 'FM999G990D00PR') ELSE to_char(e.amount, 'FM999G990D00') END AS amount, e.balance_after, sum(CASE side WHEN 'debit' THEN -amount ELSE amount END) OVER (ORDER BY t.at, e.n) = e.balance_after AS agrees FROM entries e JOIN transfers t ON t.id = e.transfer WHERE e.account = 1 ORDER BY t.at, e.n;
SELECT a.id, a.balance, x.sum, a.balance = coalesce(x.sum, 0) AS ok FROM accounts a LEFT JOIN (SELECT account, sum(CASE side WHEN 'credit' THEN amount ELSE -amount END) FROM entries GROUP BY account) x(account, sum) ON x.account = a.id WHERE a.version > 0 ORDER BY a.id;
SELECT sum(balance) FROM accounts;
SELECT date_trunc('hour', t.at) AS hour, count(*) AS n, sum(e.amount) FILTER (WHERE e.side = 'credit' AND a.kind = 'fees') AS fees FROM transfers t JOIN entries e ON e.transfer = t.id JOIN accounts a ON a.id = e.account GROUP BY 1 ORDER BY 1;
-- Rights: the program calls, the auditor reads, neither writes rows by hand.
ALTER FUNCTION api(text, text, jsonb, timestamptz) SECURITY DEFINER SET search_path = wallet, pg_temp;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA wallet FROM PUBLIC;
GRANT EXECUTE ON FUNCTION api(text, text, jsonb, timestamptz) TO wallet_app;
SET ROLE wallet_app;
SELECT status FROM api('k21', 'POST /send', '{"from": "22222222-2222-2222-2222-222222222222", "to": "ann@example.org", "amount": 2}', '2024-03-06 10:00Z');
SELECT balance FROM accounts;
SELECT post('a0000000-0000-0000-0000-00000000000f', 'x', '2024-03-01', (7, 'debit', 1));
SET ROLE wallet_auditor;
SELECT count(*) FROM transfers WHERE kind = 'send';
INSERT INTO limits VALUES (2, 1, 1);
SELECT api('k', 'e', '{}', '2024-01-01');
RESET ROLE;
SELECT defaclacl::text LIKE '%wallet_auditor=r/%' FROM pg_default_acl;
DROP ROLE wallet_auditor;
DROP OWNED BY wallet_app, wallet_auditor;
DROP ROLE wallet_app, wallet_auditor;
SELECT count(*) FROM pg_default_acl;
