-- Subscriptions: plans with validity, proration by days, invoices in a chain of states, dunning, revenue by month.
SET timezone = 'UTC';
SET datestyle = 'ISO, DMY';
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE TYPE period AS ENUM ('month', 'year');
CREATE TYPE money_line AS (what text, amount numeric(12,2));
CREATE DOMAIN percent AS numeric(5,2) DEFAULT 0 CHECK (VALUE >= 0) CHECK (VALUE <= 100);
CREATE TABLE customers (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text NOT NULL, country char(2) NOT NULL DEFAULT 'DE', discount percent, meta jsonb NOT NULL DEFAULT '{}',
  CONSTRAINT email_shape CHECK (email ~* '^[^@ ]+@[^@ ]+\.[a-z]{2,}$'));
CREATE UNIQUE INDEX customers_email ON customers (lower(email));
CREATE TABLE plans (code text, valid daterange NOT NULL DEFAULT daterange('-infinity', 'infinity'), period period NOT NULL, price numeric(10,2) NOT NULL CHECK (price >= 0), features text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (code, valid), CHECK (NOT isempty(valid)));
CREATE TABLE subscriptions (id serial PRIMARY KEY, customer int NOT NULL REFERENCES customers ON DELETE RESTRICT, plan text NOT NULL, during daterange NOT NULL, quantity int NOT NULL DEFAULT 1 CHECK (quantity > 0),
  EXCLUDE USING gist (customer WITH =, during WITH &&));
CREATE TABLE invoices (no int PRIMARY KEY, customer int NOT NULL REFERENCES customers, month date NOT NULL CHECK (extract(day FROM month) = 1), lines money_line[] NOT NULL, net numeric(12,2) NOT NULL, tax numeric(12,2) NOT NULL,
  gross numeric(12,2) GENERATED ALWAYS AS (net + tax) STORED, paid numeric(12,2) NOT NULL DEFAULT 0, UNIQUE (customer, month), CONSTRAINT not_overpaid CHECK (paid <= net + tax));
CREATE TABLE invoice_no (last int NOT NULL, one boolean PRIMARY KEY DEFAULT true CHECK (one));
INSERT INTO invoice_no VALUES (20240000);
INSERT INTO invoice_no VALUES (1);
INSERT INTO invoice_no VALUES (1, false);
INSERT INTO customers (email, country, discount) VALUES ('ann@example.org', 'DE', DEFAULT), ('Bob@Example.org', 'FR', 12.5), ('cy@example.co.uk', 'GB', 100);
INSERT INTO customers (email) VALUES ('bob@example.ORG');
INSERT INTO customers (email) VALUES ('nobody');
INSERT INTO customers (email, discount) VALUES ('x@y.de', 100.01);
INSERT INTO customers (email, discount) VALUES ('x@y.de', 1234.5);
INSERT INTO customers (email, country) VALUES ('x@y.de', 'DEU');
INSERT INTO plans (code, period, price, features) VALUES ('free', 'month', 0, '{}'), ('team', 'year', 1188, '{sso,audit}');
INSERT INTO plans VALUES ('basic', '[01/01/2023,31/12/2023]', 'month', 9.90, '{mail}'), ('basic', '[2024-01-01,)', 'month', 12.90, '{mail,chat}');
INSERT INTO plans VALUES ('basic', 'empty', 'month', 1);
INSERT INTO plans VALUES ('basic', '[2024-02-01,2024-01-01)', 'month', 1);
INSERT INTO plans VALUES ('basic', '[13/13/2024,)', 'month', 1);
CREATE FUNCTION price_on(p_plan text, p_day date, OUT price numeric, OUT per period) LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
  SELECT p.price, p.period INTO STRICT price, per FROM plans p WHERE p.code = p_plan AND p.valid @> p_day;
EXCEPTION
  WHEN NO_DATA_FOUND THEN RAISE EXCEPTION 'plan % has no price on %', p_plan, to_char(p_day, 'FMDD Month YYYY') USING ERRCODE = 'BI001';
  WHEN TOO_MANY_ROWS THEN RAISE EXCEPTION 'plan % has several prices on %', p_plan, p_day USING ERRCODE = 'BI002';
END $$;
SELECT * FROM price_on('basic', '2023-12-31');
SELECT * FROM price_on('basic', '2024-01-01');
SELECT * FROM price_on('basic', NULL);
SELECT price_on('basic', '2022-12-31');
INSERT INTO plans VALUES ('basic', '[2024-06-01,2024-07-01)', 'month', 1);
SELECT price_on('basic', '2024-06-30');
DELETE FROM plans WHERE valid <@ daterange('2024-06-01', '2024-07-01') RETURNING valid, upper(valid) - lower(valid);
CREATE FUNCTION month_lines(p_customer int, p_month date) RETURNS SETOF money_line LANGUAGE plpgsql STABLE AS $$
DECLARE s record; whole daterange := daterange(p_month, (p_month + interval '1 month')::date); part daterange; days int; monthly numeric; p record;
BEGIN
  FOR s IN SELECT * FROM subscriptions WHERE customer = p_customer AND during && whole ORDER BY lower(during) LOOP
    part := s.during * whole;
    days := upper(part) - lower(part);
    p := price_on(s.plan, lower(part));
    monthly := CASE p.per WHEN 'year' THEN p.price / 12 ELSE p.price END;
    RETURN NEXT ROW(format('%s x %s, %s of %s days', s.quantity, s.plan, days, upper(whole) - lower(whole)), s.quantity * monthly * days / (upper(whole) - lower(whole)))::money_line;
  END LOOP;
END $$;
CREATE FUNCTION tax_rate(c char(2)) RETURNS numeric LANGUAGE sql IMMUTABLE RETURN CASE c WHEN 'DE' THEN 0.19 WHEN 'FR' THEN 0.20 ELSE 0 END;
CREATE FUNCTION bill(p_month date) RETURNS TABLE (no int, customer int, gross numeric) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE c customers; ls money_line[]; sum numeric; n int;
BEGIN
  FOR c IN SELECT * FROM customers ORDER BY id LOOP
    ls := ARRAY(SELECT l FROM month_lines(c.id, p_month) l);
    CONTINUE WHEN ls = '{}';
    SELECT coalesce(sum(amount), 0) INTO sum FROM unnest(ls);
    IF c.discount > 0 THEN
      ls := ls || ROW('discount ' || c.discount || ' %', -round(sum * c.discount / 100, 2))::money_line;
      sum := sum - round(sum * c.discount / 100, 2);
    END IF;
    UPDATE invoice_no SET last = last + 1 RETURNING last INTO n;
    RETURN QUERY INSERT INTO invoices (no, customer, month, lines, net, tax) VALUES (n, c.id, p_month, ls, sum, round(sum * tax_rate(c.country), 2)) RETURNING no, customer, gross;
  END LOOP;
END $$;
INSERT INTO subscriptions (customer, plan, during, quantity) VALUES (1, 'basic', '[2023-12-15,2024-01-20)', 1), (1, 'team', '[2024-01-20,)', 3), (2, 'basic', '[2024-01-01,2024-02-11)', 5), (3, 'free', '[2024-01-01,2024-02-01)', 1);
INSERT INTO subscriptions (customer, plan, during) VALUES (2, 'team', '[2024-02-10,2024-03-01)');
INSERT INTO subscriptions (customer, plan, during, quantity) VALUES (2, 'team', '[2024-02-11,2024-03-01)', 0);
SELECT * FROM month_lines(1, '2024-01-01');
SELECT * FROM bill('2023-12-01');
SELECT * FROM bill('2024-01-01');
SELECT * FROM bill('2024-01-01');
SELECT * FROM bill('2024-01-02');
SELECT last FROM invoice_no;
SELECT * FROM bill('2024-02-01');
SELECT no, i.customer, l.what, l.amount, ord FROM invoices i, unnest(lines) WITH ORDINALITY AS l (what, amount, ord) ORDER BY no, ord;
SELECT no, lines[1].what, (lines[array_upper(lines, 1)]).amount, cardinality(lines) FROM invoices ORDER BY no;
UPDATE invoices SET paid = gross WHERE no % 2 = 1 RETURNING no, paid;
UPDATE invoices SET paid = paid + 0.01 WHERE no = 20240001;
UPDATE invoices SET gross = 1;
CREATE FUNCTION age_of_debt(i invoices, at date) RETURNS int LANGUAGE sql AS $$ SELECT at - (i.month + interval '1 month 14 days')::date $$;
CREATE VIEW debts AS SELECT i.no, c.email, i.gross - i.paid AS due, age_of_debt(i, date '2024-03-31') AS late FROM invoices i JOIN customers c ON c.id = i.customer WHERE i.paid < i.gross;
SELECT *, CASE WHEN late > 30 THEN 'collect' WHEN late > 0 THEN 'remind' ELSE 'wait' END AS step FROM debts ORDER BY no;
INSERT INTO debts VALUES (1, 'a', 1, 1);
UPDATE debts SET due = 0;
MERGE INTO customers c USING (SELECT customer, sum(gross - paid) AS due FROM invoices GROUP BY customer) d ON d.customer = c.id
  WHEN MATCHED AND d.due > 0 THEN UPDATE SET meta = jsonb_set(meta, '{debt}', to_jsonb(d.due), true)
  WHEN MATCHED THEN UPDATE SET meta = meta - 'debt' || '{"ok": true}';
SELECT id, meta, meta ? 'debt', (meta ->> 'debt')::numeric > 50 FROM customers ORDER BY id;
SELECT to_char(month, 'YYYY-"Q"Q') AS quarter, to_char(month, 'Mon') AS month, sum(net), grouping(to_char(month, 'Mon')) AS g FROM invoices GROUP BY GROUPING SETS ((1, 2), (1), ()) ORDER BY 1 NULLS LAST, g, min(month);
SELECT month, sum(net) AS net, sum(sum(net)) OVER (ORDER BY month) AS running, round(100 * sum(net) / lag(sum(net)) OVER (ORDER BY month) - 100, 1) AS growth FROM invoices GROUP BY month ORDER BY month;
SELECT d::date, count(s.id) AS active, coalesce(sum(s.quantity), 0) AS seats FROM generate_series(date '2023-12-01', '2024-03-01', '1 month') d LEFT JOIN subscriptions s ON s.during @> d::date GROUP BY d ORDER BY d;
SELECT customer, range_merge(during, '[2024-01-01,2024-01-02)'), during -|- daterange('2024-01-20', NULL), during << '[2024-03-01,)', lower_inc(during), upper_inf(during) FROM subscriptions ORDER BY id;
CREATE FUNCTION change_plan(p_customer int, p_plan text, p_from date) RETURNS int LANGUAGE plpgsql AS $$
DECLARE cur subscriptions; n int;
BEGIN
  SELECT * INTO STRICT cur FROM subscriptions WHERE customer = p_customer AND during @> p_from;
  IF cur.plan = p_plan THEN RETURN cur.id; END IF;
  UPDATE subscriptions SET during = daterange(lower(during), p_from) WHERE id = cur.id;
  cur.during := daterange(p_from, upper(cur.during)); cur.plan := p_plan;
  cur.id := nextval(pg_get_serial_sequence('subscriptions', 'id'));
  INSERT INTO subscriptions VALUES (cur.*) RETURNING id INTO n;
  RETURN n;
END $$;
SELECT change_plan(1, 'basic', '2024-06-15'), change_plan(1, 'basic', '2024-07-15');
SELECT change_plan(3, 'basic', '2024-06-15');
SELECT id, customer, plan, during, quantity FROM subscriptions ORDER BY id;
SELECT age(timestamp '2024-03-31', '2024-02-29'), date '2024-01-31' + interval '1 month', justify_days(interval '45 days'), (date '2024-03-01' - date '2024-02-01') * interval '1 day';
DELETE FROM customers WHERE id = 1;
ALTER TABLE plans ADD CONSTRAINT no_overlap EXCLUDE USING gist (code WITH =, valid WITH &&);
UPDATE plans SET valid = '[2023-06-01,)' WHERE code = 'basic' AND price = 12.90;
ALTER DOMAIN percent ADD CONSTRAINT halves CHECK (VALUE * 2 = floor(VALUE * 2));
ALTER DOMAIN percent ADD CONSTRAINT small CHECK (VALUE < 50);
ALTER DOMAIN percent ADD CONSTRAINT small CHECK (VALUE < 50) NOT VALID;
UPDATE customers SET discount = 99 WHERE id = 1;
ALTER TABLE invoices ALTER COLUMN net TYPE numeric(14,4);
ALTER TABLE invoices DROP COLUMN month;
COMMENT ON COLUMN invoices.gross IS 'with tax';
SELECT col_description('invoices'::regclass, ordinal_position), column_name, is_generated, generation_expression, numeric_scale FROM information_schema.columns WHERE table_name = 'invoices' AND data_type = 'numeric' ORDER BY ordinal_position;
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid IN ('invoices'::regclass, 'plans'::regclass, 'subscriptions'::regclass, 'customers'::regclass) ORDER BY conrelid::regclass::text, conname;
