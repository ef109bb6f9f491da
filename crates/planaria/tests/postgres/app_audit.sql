-- A ledger with an audit trail, updated_at columns and counters, all kept by triggers.
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, accounts int NOT NULL DEFAULT 0, updated_at timestamp, version int NOT NULL DEFAULT 1);
CREATE TABLE accounts (id int PRIMARY KEY, customer int NOT NULL REFERENCES customers ON DELETE CASCADE, balance numeric(12,2) NOT NULL DEFAULT 0, currency char(3) NOT NULL DEFAULT 'EUR', closed boolean NOT NULL DEFAULT false, updated_at timestamp, version int NOT NULL DEFAULT 1);
CREATE TABLE entries (id serial PRIMARY KEY, account int NOT NULL REFERENCES accounts ON DELETE CASCADE, amount numeric(12,2) NOT NULL CHECK (amount <> 0), note text);
CREATE TABLE audit (n serial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), who name NOT NULL DEFAULT current_user, tab text NOT NULL, op text NOT NULL, old_row jsonb, new_row jsonb, changed text[]);
CREATE TABLE totals (currency char(3) PRIMARY KEY, accounts int NOT NULL, sum numeric(14,2) NOT NULL);

CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    new.updated_at := timestamp '2024-01-01 00:00' + new.version * interval '1 hour';
    new.version := old.version + 1;
    RETURN new;
END $$;
CREATE TRIGGER touch BEFORE UPDATE ON customers FOR EACH ROW WHEN (old.* IS DISTINCT FROM new.*) EXECUTE FUNCTION touch();
CREATE TRIGGER touch BEFORE UPDATE ON accounts FOR EACH ROW WHEN (old.* IS DISTINCT FROM new.*) EXECUTE FUNCTION touch();

CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was jsonb;
    is_now jsonb;
    key text;
    differs text[];
BEGIN
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        was := to_jsonb(OLD);
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        is_now := to_jsonb(NEW);
    END IF;
    IF TG_OP = 'UPDATE' THEN
        FOR key IN SELECT k FROM jsonb_object_keys(is_now) AS k ORDER BY k LOOP
            IF is_now -> key IS DISTINCT FROM was -> key THEN
                differs := differs || key;
            END IF;
        END LOOP;
    END IF;
    INSERT INTO audit (tab, op, old_row, new_row, changed) VALUES (TG_TABLE_NAME, TG_OP, was, is_now, differs);
    RETURN COALESCE(NEW, OLD);
END $$;
CREATE TRIGGER zz_audit AFTER INSERT OR UPDATE OR DELETE ON customers FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TRIGGER zz_audit AFTER INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TRIGGER zz_audit AFTER INSERT OR UPDATE OR DELETE ON entries FOR EACH ROW EXECUTE FUNCTION audit();

CREATE FUNCTION count_accounts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND NEW.customer <> OLD.customer THEN
        UPDATE customers SET accounts = accounts - 1 WHERE id = OLD.customer;
    END IF;
    IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NEW.customer <> OLD.customer THEN
        UPDATE customers SET accounts = accounts + 1 WHERE id = NEW.customer;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER count_them AFTER INSERT OR UPDATE OF customer OR DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION count_accounts();

CREATE FUNCTION keep_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        UPDATE totals SET accounts = accounts - 1, sum = sum - OLD.balance WHERE currency = OLD.currency;
    END IF;
    IF TG_OP IN ('UPDATE', 'INSERT') THEN
        INSERT INTO totals VALUES (NEW.currency, 1, NEW.balance)
        ON CONFLICT (currency) DO UPDATE SET accounts = totals.accounts + 1, sum = totals.sum + excluded.sum;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_totals AFTER INSERT OR UPDATE OF balance, currency OR DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION keep_totals();

CREATE FUNCTION book() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    left_over numeric;
BEGIN
    UPDATE accounts SET balance = balance + NEW.amount WHERE id = NEW.account AND NOT closed RETURNING balance INTO left_over;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % takes no entries', NEW.account USING ERRCODE = 'check_violation';
    END IF;
    IF left_over < 0 THEN
        RAISE EXCEPTION 'account % would be overdrawn by %', NEW.account, -left_over USING ERRCODE = '23514', HINT = 'Pay something in first.';
    END IF;
    NEW.note := COALESCE(NEW.note, 'entry of ' || NEW.amount);
    RETURN NEW;
END $$;
CREATE TRIGGER book BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION book();

CREATE FUNCTION immutable_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries are never changed' USING ERRCODE = 'P0403', DETAIL = format('%s of %s', TG_OP, TG_ARGV[0]);
END $$;
CREATE TRIGGER keep BEFORE UPDATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION immutable_entries('the ledger');

CREATE PROCEDURE transfer(source int, target int, amount numeric) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO entries (account, amount, note) VALUES (source, -amount, 'to ' || target);
    INSERT INTO entries (account, amount, note) VALUES (target, amount, 'from ' || source);
END $$;

INSERT INTO customers (id, name) VALUES (1, 'Ada'), (2, 'Grace'), (3, 'Edsger');
INSERT INTO accounts (id, customer, currency) VALUES (10, 1, 'EUR'), (11, 1, 'USD'), (20, 2, 'EUR');
INSERT INTO entries (account, amount) VALUES (10, 100), (20, 50.25) RETURNING *;
CALL transfer(10, 20, 30);
CALL transfer(20, 10, 1000);
CALL transfer(10, 99, 1);
UPDATE accounts SET closed = true WHERE id = 11;
INSERT INTO entries (account, amount) VALUES (11, 5);
UPDATE entries SET amount = 1;
SELECT id, balance, closed, updated_at, version FROM accounts ORDER BY id;
SELECT id, accounts, updated_at, version FROM customers ORDER BY id;
SELECT * FROM totals ORDER BY currency;
UPDATE accounts SET customer = 3 WHERE id = 20;
UPDATE customers SET name = upper(name) WHERE id < 3;
UPDATE customers SET name = name WHERE id = 3;
UPDATE accounts SET currency = 'CHF' WHERE id = 20;
DELETE FROM customers WHERE id = 3;
SELECT id, name, accounts, version FROM customers ORDER BY id;
SELECT * FROM totals ORDER BY currency;
SELECT id, account, amount, note FROM entries ORDER BY id;
SELECT tab, op, changed, old_row ->> 'id' AS old_id, new_row ->> 'id' AS new_id, COALESCE(new_row, old_row) ->> 'version' AS version FROM audit ORDER BY n;
SELECT old_row, new_row FROM audit WHERE tab = 'accounts' AND op = 'UPDATE' ORDER BY n LIMIT 2;
SELECT count(*) FILTER (WHERE who = current_user AND at <= now()) = count(*) FROM audit;
-- The trail goes on after a function is replaced, a trigger renamed, a column added.
ALTER TABLE customers ADD COLUMN email text DEFAULT 'none';
UPDATE customers SET email = 'ada@example.org' WHERE id = 1;
CREATE OR REPLACE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (tab, op, new_row) SELECT TG_TABLE_NAME, lower(TG_OP), to_jsonb(NEW);
    RETURN NULL;
END $$;
UPDATE customers SET email = NULL WHERE id = 1;
ALTER TRIGGER zz_audit ON customers RENAME TO aa_audit;
ALTER TABLE customers DISABLE TRIGGER touch;
UPDATE customers SET name = 'Ada L' WHERE id = 1 RETURNING name, version;
SELECT tab, op, changed, new_row FROM audit ORDER BY n DESC LIMIT 3;
-- A copy of rows that are gone.
CREATE TABLE bin (LIKE entries);
CREATE FUNCTION keep_copy() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO bin VALUES (OLD.*);
    INSERT INTO bin SELECT OLD.*;
    RETURN OLD;
END $$;
CREATE TRIGGER copies BEFORE DELETE ON entries FOR EACH ROW EXECUTE FUNCTION keep_copy();
DELETE FROM entries WHERE amount < 0;
SELECT * FROM bin ORDER BY id;
DROP FUNCTION audit();
DROP FUNCTION audit() CASCADE;
DELETE FROM customers;
SELECT (SELECT count(*) FROM accounts), (SELECT count(*) FROM entries), (SELECT count(*) FROM bin), (SELECT sum(sum) FROM totals);
