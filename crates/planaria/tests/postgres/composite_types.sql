CREATE TYPE money_of AS (amount numeric(12,2), currency char(3));
CREATE TYPE place AS (street text, zip varchar(5), at point_of);
CREATE TYPE place AS (street text, zip varchar(5), tags text[]);
CREATE TYPE empty_one AS ();
CREATE TYPE money_of AS (a int);
CREATE TYPE twice AS (a int, a text);
CREATE TYPE numbered AS (id serial);
CREATE TABLE money_of (a int);
CREATE TABLE orders (id int PRIMARY KEY, amount numeric(12,2), currency char(3), note text);
CREATE TYPE orders AS (a int);

-- Functions that take and return it.
CREATE FUNCTION money(a numeric, c text) RETURNS money_of LANGUAGE sql AS $$ SELECT a, c::char(3) $$;
CREATE FUNCTION show(m money_of) RETURNS text LANGUAGE sql AS $$ SELECT m.amount || ' ' || m.currency $$;
CREATE FUNCTION total(o_currency text) RETURNS money_of LANGUAGE plpgsql AS $$
DECLARE
  r money_of;
BEGIN
  SELECT sum(amount), o_currency INTO r FROM orders WHERE currency = o_currency;
  RETURN r;
END
$$;
CREATE FUNCTION totals() RETURNS SETOF money_of LANGUAGE plpgsql AS $$
DECLARE
  r money_of;
BEGIN
  FOR r IN SELECT sum(amount), currency FROM orders GROUP BY currency ORDER BY currency LOOP
    RETURN NEXT r;
  END LOOP;
  r.amount := 0;
  r.currency := 'XXX';
  RETURN NEXT r;
  RETURN QUERY SELECT 1.5::numeric(12,2), 'ONE'::char(3);
END
$$;
INSERT INTO orders VALUES (1, 10.50, 'EUR', 'a'), (2, 4, 'EUR', NULL), (3, 99.99, 'USD', 'c');
SELECT money(5, 'EUR'), (money(7.123, 'USD')).amount, (money(1, 'CHF')).*;
SELECT show(money(5, 'EUR')), show(ROW(1, 'USD')::money_of), show('(12.5,GBP)');
SELECT * FROM total('EUR');
SELECT total('USD'), (total('USD')).currency;
SELECT * FROM totals();
SELECT t.currency, t.amount * 2 FROM totals() t WHERE t.amount > 1 ORDER BY 1;
SELECT (ROW(1.005, 'EUR')::money_of).amount, '(1.005,EUR)'::money_of, NULL::money_of IS NULL;
SELECT 'x'::money_of;
SELECT '(1,EUR,3)'::money_of;
SELECT (money(1, 'EUR')).nothing;
SELECT to_jsonb(money(3, 'EUR')), row_to_json(money(4, 'USD'));
SELECT * FROM json_populate_record(NULL::money_of, '{"amount": 3, "currency": "EUR"}');
SELECT * FROM json_populate_recordset(NULL::money_of, '[{"amount": 3}, {"currency": "USD"}]');
DO $$
DECLARE
  m money_of := ROW(3, 'EUR');
  p place;
  n money_of%ROWTYPE;
BEGIN
  m.amount := m.amount + 1;
  p := ROW('Main St', '12345', ARRAY['home', 'work']);
  RAISE NOTICE '% % % %', m, m.amount, p, p.tags[2];
  n := m;
  n.currency := 'USD';
  RAISE NOTICE '% % %', n, n = m, show(n);
  m := NULL;
  RAISE NOTICE '%', m.amount IS NULL;
  m := money(8, 'CHF');
  RAISE NOTICE '%', m;
END
$$;
CREATE PROCEDURE pay(m money_of, INOUT id int) LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO orders VALUES (id, m.amount, m.currency, show(m));
  id := id + 1;
END
$$;
CALL pay(ROW(77, 'JPY'), 10);
CALL pay(money(78, 'JPY'), 11);
SELECT * FROM orders WHERE id >= 10 ORDER BY id;

-- It is no relation.
SELECT count(*) FROM pg_class WHERE relname = 'money_of' AND relkind = 'c';
SELECT typname, typtype, typcategory, typrelid <> 0 FROM pg_type WHERE typname IN ('money_of', '_money_of') ORDER BY 1;
SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute WHERE attrelid = 'place'::regclass AND attnum > 0 ORDER BY attnum;
SELECT 'money_of'::regtype, pg_typeof(money(1, 'EUR'));
SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1;
SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1;
SELECT * FROM money_of;
INSERT INTO money_of VALUES (1, 'EUR');
DELETE FROM money_of;
DROP TABLE money_of;
ALTER TABLE orders ADD COLUMN m int;

-- It changes, and what uses it follows.
ALTER TYPE place ADD ATTRIBUTE country text;
ALTER TYPE place DROP ATTRIBUTE zip, ALTER ATTRIBUTE street TYPE varchar(10);
ALTER TYPE place RENAME ATTRIBUTE tags TO labels;
ALTER TYPE place DROP ATTRIBUTE nothing;
ALTER TYPE place DROP ATTRIBUTE IF EXISTS nothing;
ALTER TYPE place ADD ATTRIBUTE country text;
SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'place'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT ROW('x', ARRAY['y'], 'z')::place;
ALTER TYPE place RENAME TO address;
SELECT ROW('x', ARRAY['y'], 'z')::address;
CREATE SCHEMA other;
ALTER TYPE address SET SCHEMA other;
SELECT ROW('x', NULL, 'z')::other.address;
COMMENT ON TYPE money_of IS 'an amount';
SELECT obj_description('money_of'::regtype, 'pg_type');
ALTER TYPE money_of ADD VALUE 'x';
DROP TYPE money_of;
DROP TYPE IF EXISTS nothing_of;
DROP TYPE other.address, empty_one;
DROP TYPE money_of CASCADE;
SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1;
