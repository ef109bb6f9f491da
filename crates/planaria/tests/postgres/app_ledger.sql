-- Double-entry book-keeping for several tenants.
CREATE TABLE tenants (id int PRIMARY KEY, name text NOT NULL, currency char(3) NOT NULL DEFAULT 'EUR');
CREATE TYPE account_kind AS ENUM ('asset', 'liability', 'equity', 'income', 'expense');
CREATE TABLE accounts (
  tenant int NOT NULL REFERENCES tenants,
  code varchar(10) NOT NULL,
  kind account_kind NOT NULL,
  title text NOT NULL,
  balance numeric(20,4) NOT NULL DEFAULT 0,
  overdraft numeric(20,4) NOT NULL DEFAULT 0,
  closed date,
  PRIMARY KEY (tenant, code),
  CHECK (kind <> 'asset' OR balance >= -overdraft)
);
CREATE TABLE entries (
  id bigint GENERATED ALWAYS AS IDENTITY,
  tenant int NOT NULL,
  day date NOT NULL,
  memo text,
  reverses bigint,
  UNIQUE (tenant, id),
  PRIMARY KEY (id)
);
CREATE TABLE postings (
  entry bigint NOT NULL REFERENCES entries DEFERRABLE INITIALLY DEFERRED,
  tenant int NOT NULL,
  account varchar(10) NOT NULL,
  amount numeric(20,4) NOT NULL CHECK (amount <> 0),
  FOREIGN KEY (tenant, account) REFERENCES accounts (tenant, code)
);
CREATE INDEX ON postings (tenant, account);
INSERT INTO tenants VALUES (1, 'Acme', DEFAULT), (2, 'Umbrella', 'USD');
INSERT INTO accounts (tenant, code, kind, title, overdraft) VALUES (1, '1000', 'asset', 'Bank', 100), (1, '1400', 'asset', 'Receivables', 0), (1, '4000', 'income', 'Sales', 0), (1, '6000', 'expense', 'Rent', 0), (1, '2000', 'liability', 'VAT', 0), (2, '1000', 'asset', 'Bank', 0), (2, '3000', 'equity', 'Capital', 0);
CREATE FUNCTION post(t int, d date, m text, lines jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE e bigint; l record; s numeric := 0;
BEGIN
  IF jsonb_array_length(lines) < 2 THEN RAISE EXCEPTION 'an entry has two lines at least'; END IF;
  INSERT INTO entries (tenant, day, memo) VALUES (t, d, m) RETURNING id INTO e;
  FOR l IN SELECT * FROM jsonb_to_recordset(lines) AS x(account text, amount numeric) LOOP
    s := s + l.amount;
    UPDATE accounts SET balance = balance + l.amount WHERE tenant = t AND code = l.account AND (closed IS NULL OR closed > d);
    IF NOT FOUND THEN RAISE EXCEPTION 'account % is not open', l.account USING ERRCODE = '23503'; END IF;
    INSERT INTO postings VALUES (e, t, l.account, l.amount);
  END LOOP;
  IF s <> 0 THEN RAISE EXCEPTION 'entry is off by %', s USING ERRCODE = '23514', HINT = 'Debits and credits must be equal.'; END IF;
  RETURN e;
END $$;
CREATE FUNCTION reverse_entry(e bigint, d date) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE o entries; n bigint; p postings%ROWTYPE;
BEGIN
  SELECT * INTO STRICT o FROM entries WHERE id = e;
  IF EXISTS (SELECT 1 FROM entries WHERE reverses = e) THEN RAISE EXCEPTION 'entry % was reversed', e; END IF;
  INSERT INTO entries (tenant, day, memo, reverses) VALUES (o.tenant, d, 'Reversal: ' || coalesce(o.memo, ''), e) RETURNING id INTO n;
  FOR p IN SELECT * FROM postings WHERE entry = e ORDER BY account LOOP
    INSERT INTO postings VALUES (n, p.tenant, p.account, -p.amount);
    UPDATE accounts SET balance = balance - p.amount WHERE tenant = p.tenant AND code = p.account;
  END LOOP;
  RETURN n;
EXCEPTION WHEN no_data_found THEN
  RAISE EXCEPTION 'there is no entry %', e;
END $$;
SELECT post(1, '2024-01-05', 'Invoice 1', '[{"account": "1400", "amount": 119}, {"account": "4000", "amount": -100}, {"account": "2000", "amount": -19}]');
SELECT post(1, '2024-01-20', 'Payment', '[{"account": "1000", "amount": 119}, {"account": "1400", "amount": -119}]');
SELECT post(1, '2024-02-01', 'Rent', '[{"account": "6000", "amount": 200.1234}, {"account": "1000", "amount": -200.1234}]');
SELECT post(1, '2024-02-01', 'Rent', '[{"account": "6000", "amount": 20}, {"account": "1000", "amount": -20}]');
SELECT post(1, '2024-02-01', 'Off', '[{"account": "6000", "amount": 20}, {"account": "1000", "amount": -19}]');
SELECT post(1, '2024-02-01', 'Lone', '[{"account": "6000", "amount": 20}]');
SELECT post(2, '2024-02-01', 'Foreign', '[{"account": "6000", "amount": 20}, {"account": "1000", "amount": -20}]');
SELECT post(2, '2024-02-01', 'Capital', '[{"account": "1000", "amount": "5000.50"}, {"account": "3000", "amount": -5000.50}]');
SELECT reverse_entry(3, '2024-03-01');
SELECT id, tenant, memo, reverses FROM entries ORDER BY id;
SELECT reverse_entry(max(id), '2024-03-01') FROM entries WHERE memo = 'Payment';
SELECT reverse_entry((SELECT id FROM entries WHERE memo = 'Payment'), '2024-03-01');
SELECT reverse_entry(12345, '2024-03-01');
SELECT tenant, code, balance FROM accounts ORDER BY 1, 2;
SELECT tenant, sum(amount) FROM postings GROUP BY tenant ORDER BY 1;
SELECT a.code, a.balance, coalesce(sum(p.amount), 0) AS posted, a.balance = coalesce(sum(p.amount), 0) FROM accounts a LEFT JOIN postings p ON p.tenant = a.tenant AND p.account = a.code WHERE a.tenant = 1 GROUP BY a.code, a.balance ORDER BY a.code;
SELECT e.day, p.amount, sum(p.amount) OVER (PARTITION BY p.account ORDER BY e.day, e.id) AS running FROM postings p JOIN entries e ON e.id = p.entry WHERE p.tenant = 1 AND p.account = '1400' ORDER BY e.day, e.id;
SELECT date_trunc('month', e.day)::date AS month, a.kind, sum(p.amount) FROM postings p JOIN entries e ON e.id = p.entry JOIN accounts a ON (a.tenant, a.code) = (p.tenant, p.account) WHERE p.tenant = 1 GROUP BY 1, 2 ORDER BY 1, 2;
BEGIN;
INSERT INTO postings VALUES (999, 1, '1000', 1);
COMMIT;
BEGIN;
INSERT INTO postings VALUES (999, 1, '1000', 1);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
UPDATE accounts SET balance = -101 WHERE tenant = 1 AND code = '1000';
UPDATE accounts SET overdraft = 500, balance = -101 WHERE tenant = 1 AND code = '1000' RETURNING balance + overdraft;
SELECT t.name, a.kind, sum(a.balance)::numeric(12,2) || ' ' || t.currency FROM accounts a JOIN tenants t ON t.id = a.tenant GROUP BY t.id, a.kind HAVING sum(a.balance) <> 0 ORDER BY 1, 2;
CREATE VIEW trial_balance AS SELECT tenant, kind, sum(balance) AS balance FROM accounts GROUP BY tenant, kind;
SELECT kind, balance FROM trial_balance WHERE tenant = 2 ORDER BY kind;
SELECT array_agg(code ORDER BY code) FROM accounts WHERE tenant = 1 AND kind IN ('asset', 'liability');
