-- Wages: grades, rates by date, overtime, tax by bands, rounding to the cent, slips.
SET timezone = 'UTC';
CREATE DOMAIN cents AS numeric(12,2) CHECK (VALUE >= 0);
CREATE DOMAIN rate AS numeric(6,4) DEFAULT 0 NOT NULL CHECK (VALUE BETWEEN 0 AND 1);
CREATE DOMAIN hours AS numeric(4,2) CONSTRAINT hours_of_a_day CHECK (VALUE > 0 AND VALUE <= 24) CONSTRAINT quarters CHECK (VALUE * 4 = trunc(VALUE * 4));
CREATE TYPE grade AS ENUM ('junior', 'senior', 'lead');
CREATE TYPE pay_kind AS ENUM ('base', 'overtime', 'bonus', 'deduction');
CREATE TABLE worker (no char(4) PRIMARY KEY, name varchar(20) NOT NULL, grade grade NOT NULL, hired date NOT NULL, part rate DEFAULT 1, fired date CHECK (fired >= hired), email text);
CREATE TABLE pay_rate (grade grade, valid_from date, hourly cents NOT NULL, PRIMARY KEY (grade, valid_from));
CREATE TABLE band (lower cents PRIMARY KEY, pct numeric(5,3) NOT NULL);
CREATE TABLE clock (no char(4) REFERENCES worker ON DELETE CASCADE, day date, hours hours NOT NULL, note text, PRIMARY KEY (no, day));
CREATE TABLE slip (no char(4) NOT NULL REFERENCES worker, month date NOT NULL, kind pay_kind NOT NULL, amount numeric(12,2) NOT NULL, PRIMARY KEY (no, month, kind), CHECK (date_trunc('month', month) = month), CHECK ((kind = 'deduction') = (amount < 0)));
INSERT INTO worker VALUES ('1', 'Ann', 'lead', '2015-03-01', DEFAULT, NULL), ('2', 'Bo', 'junior', '2023-11-15', 0.5, NULL), ('3', 'Cy', 'senior', '2020-02-29', 0.7525, '2024-02-16');
INSERT INTO worker VALUES ('4', 'Di', 'boss', '2020-01-01');
INSERT INTO worker VALUES ('4', 'Di', 'lead', '2020-01-01', 1.5);
INSERT INTO worker VALUES ('4', 'Di', 'lead', '2020-01-01', NULL);
INSERT INTO worker VALUES ('12345', 'Di', 'lead', '2020-01-01');
INSERT INTO worker VALUES ('4', 'Di', 'lead', '2020-01-01', 1, '2019-12-31');
INSERT INTO pay_rate VALUES ('junior', '2023-01-01', 15.5), ('junior', '2024-02-15', 16.125), ('senior', '2023-01-01', 24), ('lead', '2023-01-01', 40.005);
INSERT INTO pay_rate VALUES ('lead', '2024-01-01', -1);
INSERT INTO band VALUES (0, 0), (500, 10.5), (1500, 22.25), (5000, 42);
INSERT INTO clock SELECT no, d::date, CASE no WHEN '1' THEN 9.25 WHEN '2' THEN 4 ELSE 6.5 END FROM worker, generate_series('2024-02-01'::date, '2024-02-29', '1 day') d WHERE extract(isodow FROM d) < 6 AND d <= coalesce(fired, 'infinity');
INSERT INTO clock VALUES ('1', '2024-03-01', 25);
INSERT INTO clock VALUES ('1', '2024-03-01', 7.1);
INSERT INTO clock VALUES ('1', '2024-03-01', 0.004);
UPDATE clock SET hours = hours + 20 WHERE no = '1' AND day = '2024-02-29';
SELECT no, count(*), sum(hours), avg(hours), min(day), max(day), max(day) - min(day) AS span FROM clock GROUP BY no ORDER BY no;
CREATE FUNCTION hourly(g grade, d date) RETURNS cents STABLE LANGUAGE sql AS $$ SELECT hourly FROM pay_rate WHERE grade = g AND valid_from <= d ORDER BY valid_from DESC LIMIT 1 $$;
CREATE FUNCTION tax(gross numeric) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
DECLARE t numeric := 0; b record; upper numeric;
BEGIN
  FOR b IN SELECT lower, pct, lead(lower) OVER (ORDER BY lower) AS next FROM band ORDER BY lower LOOP
    EXIT WHEN gross <= b.lower;
    upper := least(gross, b.next);
    t := t + (upper - b.lower) * b.pct / 100;
  END LOOP;
  RETURN round(t, 2);
END $$;
CREATE FUNCTION tax(gross integer) RETURNS integer LANGUAGE sql AS $$ SELECT round(tax(gross::numeric))::integer $$;
SELECT g, tax(g) FROM unnest(ARRAY[0, 499.99, 500, 1500.01, 9999.995]) AS g;
SELECT tax(1500), tax(1500.0), tax('1500'), tax(NULL);
SELECT hourly('junior', '2024-02-14'), hourly('junior', '2024-02-15'), hourly('lead', '2022-01-01'), hourly(g => 'senior', d => DATE '2024-01-01');
CREATE FUNCTION gross(IN p_no char(4), IN p_month date, OUT base numeric, OUT overtime numeric, OUT days int, OUT remark text) LANGUAGE plpgsql AS $$
DECLARE w worker%ROWTYPE; c clock; normal numeric; h numeric;
BEGIN
  SELECT * INTO w FROM worker WHERE no = p_no;
  IF NOT FOUND THEN RAISE EXCEPTION 'no worker "%"', p_no USING ERRCODE = 'undefined_object'; END IF;
  base := 0; overtime := 0; days := 0;
  normal := 8 * w.part;
  FOR c IN SELECT * FROM clock WHERE clock.no = w.no AND day >= p_month AND day < p_month + '1 mon'::interval ORDER BY day LOOP
    h := hourly(w.grade, c.day);
    base := base + least(c.hours, normal) * h;
    overtime := overtime + greatest(c.hours - normal, 0) * h * CASE WHEN c.hours > 10 THEN 1.5 ELSE 1.25 END;
    days := days + 1;
  END LOOP;
  remark := CASE WHEN days = 0 THEN 'no days' WHEN w.fired < p_month + interval '1 month' THEN 'last' WHEN age(p_month, w.hired) < '1 year' THEN 'first year' END;
END $$;
SELECT w.name, g.* FROM worker w, gross(w.no, '2024-02-01') g ORDER BY w.no;
SELECT gross('1', '2024-02-01');
SELECT (gross('2', '2024-03-01')).remark;
SELECT * FROM gross('9', '2024-03-01');
CREATE PROCEDURE pay(p_month date, p_bonus numeric = 0) LANGUAGE plpgsql AS $$
DECLARE g record; w worker; total numeric; n int;
BEGIN
  FOR w IN SELECT * FROM worker ORDER BY no LOOP
    SELECT * INTO g FROM gross(w.no, p_month);
    CONTINUE WHEN g.days = 0;
    total := round(g.base, 2) + round(g.overtime, 2);
    INSERT INTO slip VALUES (w.no, p_month, 'base', g.base), (w.no, p_month, 'overtime', g.overtime);
    IF g.remark IS NULL AND p_bonus > 0 THEN
      INSERT INTO slip VALUES (w.no, p_month, 'bonus', p_bonus * extract(year FROM age(p_month, w.hired)));
      GET DIAGNOSTICS n = ROW_COUNT;
      SELECT total + amount INTO total FROM slip WHERE no = w.no AND month = p_month AND kind = 'bonus';
    END IF;
    IF tax(total) <> 0 THEN INSERT INTO slip VALUES (w.no, p_month, 'deduction', -tax(total)); END IF;
  END LOOP;
END $$;
CALL pay('2024-02-01', 33.335);
CALL pay('2024-02-01');
CALL pay('2024-02-02');
CALL pay('2023-02-01');
CALL pay();
SELECT no, kind, amount, sum(amount) OVER (PARTITION BY no ORDER BY kind) AS running FROM slip ORDER BY no, kind;
SELECT coalesce(name, 'all') AS name, sum(amount) FILTER (WHERE kind <> 'deduction') AS gross, sum(amount) FILTER (WHERE kind = 'deduction') AS tax, sum(amount) AS net, round(100 * sum(amount) FILTER (WHERE kind = 'deduction') / sum(amount) FILTER (WHERE kind <> 'deduction'), 3) AS pct FROM slip JOIN worker USING (no) GROUP BY ROLLUP (name) ORDER BY grouping(name), name;
SELECT kind, enum_first(kind), enum_last(NULL::pay_kind), kind > 'base', kind::text || '!' FROM (SELECT DISTINCT kind FROM slip) s ORDER BY kind;
SELECT name, no || '|' AS no, length(no), no = '1', no = '1   ', no LIKE '1', no::text LIKE '1' FROM worker ORDER BY no DESC LIMIT 2;
SELECT name, hired, age('2024-02-29', hired), date_part('year', age(date '2024-02-28', hired)) AS years, hired + interval '1 year' AS a, hired + 365 AS b, (hired + interval '6 months - 1 day')::date AS probation, date '2024-02-29' - hired AS days, (date_trunc('year', hired) + interval '1 year -1 day')::date, extract(quarter FROM hired), to_char(hired, 'FMDD.FMMM.YY, Q, DDD') FROM worker ORDER BY no;
SELECT x, round(x, 1), round(x), trunc(x, 1), ceil(x), floor(x), round(x::float8), x::int, to_char(x, '999.9'), to_char(x, 'FM990.00'), x::numeric(4,1) FROM unnest(ARRAY[0.05, 0.15, 2.5, -2.5, 0.449, 99.95]) x;
SELECT 1.00 * 2, 1.10 + 2, 10 / 4.0, 10::numeric / 3, (1 / 3.0)::numeric(5,3), 2 / 3 * 3.0, 5 % 3.5, 1e2::numeric, 0.1 + 0.2 = 0.3, 0.1::float8 + 0.2 = 0.3, sqrt(2.0), exp(1.0), ln(10.0), log(100), power(1.1, 10), scale(1.10), trim_scale(1.10), min_scale(1.10);
SELECT sum(x), avg(x), stddev(x), sum(x::float4), avg(x::int) FROM (VALUES (1.1), (2.25), (NULL), (3)) v(x);
UPDATE worker SET (grade, part) = ('senior', part + 0.25) WHERE no = '2' RETURNING name, grade, part;
UPDATE worker SET part = part * 2 WHERE no = '2';
UPDATE pay_rate SET hourly = round(hourly * 1.035, 2) WHERE grade IN ('junior', 'lead') RETURNING grade, valid_from, hourly;
ALTER TYPE grade ADD VALUE 'principal' AFTER 'lead';
ALTER TYPE grade RENAME VALUE 'junior' TO 'entry';
ALTER DOMAIN hours DROP CONSTRAINT quarters;
ALTER DOMAIN hours ADD CONSTRAINT halves CHECK (VALUE * 2 = trunc(VALUE * 2));
ALTER DOMAIN cents SET DEFAULT 0;
SELECT grade, array_agg(name ORDER BY name) FROM worker GROUP BY grade ORDER BY grade DESC;
SELECT 'entry'::grade < 'lead', enum_range('senior'::grade, NULL), 'boss'::grade;
INSERT INTO worker VALUES ('5', 'Flo', 'junior', 'today');
DELETE FROM worker WHERE no = '3';
DELETE FROM slip WHERE no = '3' AND month < '2024-03-01';
DELETE FROM worker WHERE no = '3';
BEGIN;
TRUNCATE slip;
ROLLBACK;
CREATE OR REPLACE VIEW net AS SELECT no, month, sum(amount) AS net FROM slip GROUP BY no, month;
CREATE OR REPLACE VIEW net AS SELECT no, sum(amount) AS net FROM slip GROUP BY no;
COMMENT ON VIEW net IS 'What is paid out';
GRANT SELECT ON net TO PUBLIC;
SELECT * FROM net ORDER BY no;
SELECT no, net INTO copied FROM net;
CREATE TABLE copied2 AS SELECT * FROM net;
DROP DOMAIN cents;
DROP DOMAIN cents CASCADE;
VACUUM worker;
ANALYZE;
