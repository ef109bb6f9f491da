-- A bank: accounts, a journal in double entry, statements by window functions, an audit trail kept by triggers, month ends.
SET timezone = 'UTC';
CREATE TABLE currencies (code char(3) PRIMARY KEY CHECK (code = upper(code)), digits smallint NOT NULL DEFAULT 2 CHECK (digits IN (0, 2, 3)), name text);
CREATE TABLE customers (id bigserial PRIMARY KEY, name text NOT NULL, born date, CONSTRAINT adults CHECK (born IS NULL OR born <= DATE '2006-01-01'));
CREATE TABLE accounts (
    number   varchar(12) NOT NULL,
    owner    bigint NOT NULL,
    currency char(3) NOT NULL DEFAULT 'EUR',
    kind     text NOT NULL DEFAULT 'current' CHECK (kind IN ('current', 'savings', 'internal')),
    opened   timestamptz NOT NULL DEFAULT '2024-01-01 00:00+00',
    closed   timestamptz,
    "limit"  numeric(15,3) NOT NULL DEFAULT 0 CHECK ("limit" >= 0),
    CONSTRAINT accounts_pk PRIMARY KEY (number),
    CONSTRAINT accounts_owner FOREIGN KEY (owner) REFERENCES customers (id) ON DELETE RESTRICT,
    CONSTRAINT accounts_currency FOREIGN KEY (currency) REFERENCES currencies ON UPDATE CASCADE,
    CONSTRAINT closed_later CHECK (closed > opened)
);
CREATE TABLE journal (id bigint GENERATED ALWAYS AS IDENTITY (START WITH 1000 INCREMENT BY 10), booked date NOT NULL, "text" text NOT NULL, reference text, PRIMARY KEY (id), UNIQUE (reference));
CREATE TABLE lines (journal_id bigint NOT NULL REFERENCES journal ON DELETE CASCADE, line smallint NOT NULL, account varchar(12) NOT NULL REFERENCES accounts (number), debit numeric(15,3), credit numeric(15,3), PRIMARY KEY (journal_id, line), CHECK (num_nonnulls(debit, credit) = 1), CHECK (debit > 0), CHECK (credit > 0));
CREATE INDEX lines_account ON lines (account, journal_id DESC);
CREATE TABLE audit_log (id serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), who name NOT NULL DEFAULT current_user, tab name NOT NULL, op char(1) NOT NULL, old_row jsonb, new_row jsonb);
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO audit_log (tab, op, new_row) VALUES (TG_TABLE_NAME, 'I', to_jsonb(NEW));
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' THEN
    IF OLD IS NOT DISTINCT FROM NEW THEN RETURN NULL; END IF;
    INSERT INTO audit_log (tab, op, old_row, new_row)
      SELECT TG_TABLE_NAME, 'U', jsonb_object_agg(o.key, o.value), jsonb_object_agg(n.key, n.value)
        FROM jsonb_each(to_jsonb(OLD)) o JOIN jsonb_each(to_jsonb(NEW)) n USING (key) WHERE o.value IS DISTINCT FROM n.value;
    RETURN NEW;
  ELSE
    INSERT INTO audit_log (tab, op, old_row) VALUES (TG_TABLE_NAME, left(TG_OP, 1), to_jsonb(OLD));
    RETURN OLD;
  END IF;
END $$;
CREATE TRIGGER audit_customers AFTER INSERT OR UPDATE OR DELETE ON customers FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TRIGGER audit_accounts AFTER INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW EXECUTE PROCEDURE audit();
CREATE FUNCTION no_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = format('%I.%I is written once', TG_TABLE_SCHEMA, TG_TABLE_NAME), HINT = 'Reverse the entry.', DETAIL = format('%s of %s', TG_OP, OLD.id);
END $$;
CREATE TRIGGER journal_stays BEFORE UPDATE OR DELETE ON journal FOR EACH ROW EXECUTE FUNCTION no_changes();
INSERT INTO currencies VALUES ('EUR', 2, 'Euro'), ('JPY', 0, 'Yen'), ('KWD', 3, NULL);
INSERT INTO currencies VALUES ('usd');
INSERT INTO currencies VALUES ('USDX');
INSERT INTO customers (name, born) VALUES ('Ada', '1980-05-05'), ('Bob', NULL), ('Bank', NULL) RETURNING id, name;
INSERT INTO customers (name, born) VALUES ('Kid', '2010-01-01');
INSERT INTO accounts (number, owner, currency, kind, "limit") VALUES ('A-1', 1, 'EUR', DEFAULT, 500), ('A-2', 1, 'EUR', 'savings', DEFAULT), ('B-1', 2, DEFAULT, DEFAULT, 100), ('B-2', 2, 'JPY', DEFAULT, 0), ('X-0', 3, DEFAULT, 'internal', 1e9), ('X-9', 3, 'JPY', 'internal', 1e9);
INSERT INTO accounts (number, owner, currency) VALUES ('C-1', 4, 'EUR');
INSERT INTO accounts (number, owner, currency) VALUES ('C-1', 2, 'CHF');
INSERT INTO accounts (number, owner, closed) VALUES ('C-1', 2, '2023-01-01');
CREATE VIEW balances AS
  SELECT a.number, a.currency, a."limit", coalesce(sum(l.debit), 0) - coalesce(sum(l.credit), 0) AS balance, count(l.*) AS lines
    FROM accounts a LEFT JOIN lines l ON l.account = a.number GROUP BY a.number;
CREATE OR REPLACE FUNCTION transfer(_from varchar, _to varchar, _amount numeric, _day date, _text text DEFAULT 'Transfer', _ref text = NULL) RETURNS journal.id%TYPE AS $$
DECLARE
  src accounts; dst accounts; j journal.id%TYPE; bal numeric; d int;
BEGIN
  IF _amount <= 0 THEN RAISE EXCEPTION 'amount % is not positive', _amount USING ERRCODE = '22023'; END IF;
  SELECT * INTO STRICT src FROM accounts WHERE number = _from FOR UPDATE;
  SELECT * INTO STRICT dst FROM accounts WHERE number = _to FOR UPDATE;
  IF src.currency <> dst.currency THEN
    RAISE EXCEPTION 'currencies differ' USING DETAIL = src.number || ' is in ' || src.currency || ', ' || dst.number || ' in ' || dst.currency || '.';
  END IF;
  SELECT digits INTO d FROM currencies WHERE code = src.currency;
  IF round(_amount, d) <> _amount THEN RAISE EXCEPTION '% has % digits', src.currency, d USING ERRCODE = 'numeric_value_out_of_range'; END IF;
  INSERT INTO journal (booked, text, reference) VALUES (_day, _text, _ref) RETURNING id INTO j;
  INSERT INTO lines VALUES (j, 1, _from, NULL, _amount), (j, 2, _to, _amount, NULL);
  SELECT balance INTO bal FROM balances WHERE number = _from;
  IF bal < -src."limit" THEN
    RAISE EXCEPTION 'account % is overdrawn by %', _from, -bal - src."limit" USING ERRCODE = 'P1001';
  END IF;
  RETURN j;
EXCEPTION
  WHEN no_data_found THEN
    RAISE EXCEPTION 'no such account: %', CASE WHEN src.number IS NULL THEN _from ELSE _to END USING ERRCODE = 'foreign_key_violation';
  WHEN unique_violation THEN
    RAISE NOTICE 'reference % was booked before', _ref;
    RETURN (SELECT id FROM journal WHERE reference = _ref);
END;
$$ LANGUAGE plpgsql;
SELECT transfer('X-0', 'A-1', 1000, '2024-01-31', 'Salary', 'S-1');
SELECT transfer('X-0', 'A-1', 1000, '2024-01-31', 'Salary', 'S-1');
SELECT transfer('A-1', 'B-1', 250.50, '2024-02-03');
SELECT transfer('A-1', 'A-2', 700, '2024-02-10', _ref => 'SAVE', _text => 'Savings');
SELECT transfer('A-1', 'B-1', 600, '2024-02-11');
SELECT transfer('A-1', 'B-2', 1, '2024-02-11');
SELECT transfer('A-1', 'Q-1', 1, '2024-02-11');
SELECT transfer('A-1', 'B-1', -1, '2024-02-11');
SELECT transfer('A-1', 'B-1', 0.001, '2024-02-11');
SELECT transfer('X-9', 'B-2', 12000, '2024-03-01');
SELECT transfer('B-1', 'A-1', 20.25, '2024-03-02', 'Lunch ' || n, 'L-' || n) FROM generate_series(1, 3) AS n;
SELECT * FROM balances ORDER BY number;
SELECT sum(balance) = 0 AS balanced, currency FROM balances GROUP BY currency HAVING count(*) > 0 ORDER BY currency;
SELECT j.booked, j."text", l.debit, l.credit, sum(coalesce(l.debit, -l.credit)) OVER w AS balance, lag(j.booked) OVER w AS previous, j.booked - lag(j.booked) OVER w AS days, first_value(j.text) OVER w, row_number() OVER w
  FROM lines l JOIN journal j ON j.id = l.journal_id WHERE l.account = 'A-1' WINDOW w AS (PARTITION BY l.account ORDER BY j.booked, j.id) ORDER BY j.booked, j.id;
SELECT m::date AS month, a.number, sum(coalesce(l.debit, 0) - coalesce(l.credit, 0)) FILTER (WHERE j.booked < m + interval '1 month') AS closing, sum(sum(l.debit)) OVER (PARTITION BY a.number ORDER BY m) AS turnover
  FROM generate_series(timestamp '2024-01-01', '2024-03-01', '1 month') AS m CROSS JOIN accounts a JOIN lines l ON l.account = a.number JOIN journal j ON j.id = l.journal_id WHERE a.kind <> 'internal' GROUP BY m, a.number ORDER BY a.number, m;
UPDATE journal SET booked = booked + 1 WHERE id = 1000;
DELETE FROM journal WHERE id = 1010;
UPDATE accounts SET "limit" = "limit" WHERE number = 'A-1';
UPDATE accounts SET "limit" = 1000, closed = '2025-01-01' WHERE number = 'A-1';
UPDATE customers SET name = upper(name), born = NULL WHERE id = 1;
DELETE FROM customers WHERE id = 2;
DELETE FROM accounts WHERE number = 'A-2';
UPDATE currencies SET code = 'JPN' WHERE code = 'JPY';
SELECT id, tab, op, old_row, new_row, who = current_user AS me, at <= now() AS past FROM audit_log ORDER BY id;
SELECT tab, count(*), array_agg(op ORDER BY id), (max(new_row ->> 'limit'))::numeric(10,1) FROM audit_log GROUP BY tab ORDER BY tab;
-- The month's end: interest by day, booked at once.
CREATE PROCEDURE month_end(month date, rate numeric, INOUT booked int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE r record; total numeric(15,2);
BEGIN
  FOR r IN
    SELECT a.number, round(sum(day.balance) * rate / 36500, 2) AS interest
      FROM accounts a,
      LATERAL (SELECT d, (SELECT coalesce(sum(coalesce(debit, -credit)), 0) FROM lines JOIN journal ON id = journal_id WHERE account = a.number AND journal.booked <= d) AS balance
                 FROM generate_series(month::timestamp, month + interval '1 month - 1 day', interval '1 day') AS d) AS day
     WHERE a.kind = 'savings' GROUP BY a.number
  LOOP
    CONTINUE WHEN r.interest = 0;
    PERFORM transfer('X-0', r.number, r.interest, (month + interval '1 month - 1 day')::date, to_char(month, '"Interest" FMMonth YYYY'));
    booked := booked + 1;
    total := coalesce(total, 0) + r.interest;
  END LOOP;
  RAISE INFO 'booked % for %', total, to_char(month, 'YYYY-MM');
END $$;
CALL month_end('2024-02-01', 3.65);
CALL month_end('2024-03-01', 3.65, NULL);
CALL month_end('2024-03-01', 3.65, 5);
SELECT * FROM balances WHERE number = 'A-2';
SELECT to_char(balance, 'FM999,999,990.00') AS shown, to_char(balance, 'S00000.0'), balance::int FROM balances WHERE number = 'A-2';
SELECT booked, text, string_agg(account || ':' || coalesce('+' || debit, '-' || credit), ' ' ORDER BY line) FROM journal JOIN lines ON journal_id = id GROUP BY id ORDER BY id DESC LIMIT 3;
BEGIN;
SELECT transfer('A-2', 'A-1', 100, '2024-04-01');
SAVEPOINT s;
SELECT transfer('A-2', 'A-1', 10000, '2024-04-01');
ROLLBACK TO s;
SELECT transfer('A-2', 'A-1', 1, '2024-04-01', _ref := 'L-1');
COMMIT;
SELECT number, balance FROM balances WHERE number LIKE 'A%' ORDER BY 1;
TABLE currencies ORDER BY code DESC;
