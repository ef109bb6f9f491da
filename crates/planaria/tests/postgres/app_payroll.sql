-- Payroll: departments, employees, salaries over time, time sheets, tax brackets, pay runs.
SET timezone = 'UTC';
SET DateStyle = 'ISO, MDY';
CREATE TYPE contract AS ENUM ('permanent', 'fixed term', 'intern');
CREATE DOMAIN money2 AS numeric(12,2) NOT NULL DEFAULT 0 CONSTRAINT money2_not_negative CHECK (VALUE >= 0);
CREATE DOMAIN iban AS text CONSTRAINT iban_form CHECK (VALUE ~ '^[A-Z]{2}[0-9]{2}[A-Z0-9]{10,30}$');
CREATE SEQUENCE employee_numbers MINVALUE 1000 MAXVALUE 1005 START 1000 CYCLE;
CREATE TABLE departments (code text PRIMARY KEY, name text NOT NULL, parent text REFERENCES departments (code) ON UPDATE CASCADE ON DELETE SET NULL, budget numeric(14,2), head int);
CREATE TABLE employees (
  no int PRIMARY KEY DEFAULT nextval('employee_numbers'::regclass), first text NOT NULL, last text NOT NULL, department text REFERENCES departments ON UPDATE CASCADE, boss int,
  contract contract NOT NULL DEFAULT 'permanent', hired date NOT NULL, left_on date, account iban, hours_week real NOT NULL DEFAULT 40,
  CONSTRAINT boss_fk FOREIGN KEY (boss) REFERENCES employees (no), CONSTRAINT left_after CHECK (left_on > hired), CONSTRAINT interns_leave CHECK (contract = 'permanent' OR left_on IS NOT NULL));
ALTER SEQUENCE employee_numbers OWNED BY employees.no;
ALTER TABLE departments ADD CONSTRAINT head_fk FOREIGN KEY (head) REFERENCES employees (no) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE salaries (employee int REFERENCES employees ON DELETE CASCADE, valid_from date, yearly money2, PRIMARY KEY (employee, valid_from));
CREATE TABLE brackets (year int, upper numeric(12,2), rate numeric(4,3) NOT NULL CHECK (rate < 1), UNIQUE NULLS NOT DISTINCT (year, upper));
CREATE TABLE timesheets (employee int NOT NULL REFERENCES employees, day date NOT NULL, start time NOT NULL, stop time NOT NULL, pause interval NOT NULL DEFAULT '0', worked interval GENERATED ALWAYS AS (stop - start - pause) STORED, PRIMARY KEY (employee, day, start), CHECK (stop > start), CONSTRAINT pause_short CHECK (pause BETWEEN '0' AND '2 hours'));
CREATE TABLE runs (id int GENERATED ALWAYS AS IDENTITY, month date NOT NULL CHECK (extract(day FROM month) = 1), closed boolean DEFAULT false, UNIQUE (month), PRIMARY KEY (id));
CREATE TABLE payslips (run int REFERENCES runs ON DELETE CASCADE, employee int REFERENCES employees, gross money2, tax money2, net numeric(12,2) GENERATED ALWAYS AS (gross - tax) STORED, details json, PRIMARY KEY (run, employee));
BEGIN;
INSERT INTO departments VALUES ('HQ', 'Head office', NULL, 1e6, 1000), ('DEV', 'Development', 'HQ', 500000, 1001), ('OPS', 'Operations', 'HQ', NULL, NULL);
INSERT INTO employees (first, last, department, boss, hired, account) VALUES ('Ida', 'Berg', 'HQ', NULL, '2015-04-01', 'DE02120300000000202051'), ('Lars', 'Dahl', 'DEV', 1000, '2018-09-15', NULL), ('Mia', 'Ek', 'DEV', 1001, '2020-02-29', 'SE4550000000058398257466') RETURNING no;
COMMIT;
INSERT INTO employees (first, last, department, boss, contract, hired, left_on, hours_week) VALUES ('Nils', 'Falk', 'OPS', 1000, 'fixed term', '2023-11-30', '2024-05-31', 20), ('Pia', 'Gran', 'DEV', 1001, 'intern', '2024-01-15', '2024-07-14', 37.5);
INSERT INTO employees (first, last, contract, hired) VALUES ('No', 'End', 'intern', '2024-01-01');
INSERT INTO employees (first, last, department, hired) VALUES ('Cy', 'Cle', 'HQ', '2024-01-01');
INSERT INTO employees (no, first, last, hired, account) VALUES (2000, 'Bad', 'Account', '2024-01-01', '123');
INSERT INTO employees (no, first, last, hired) VALUES (2000, 'Bad', 'Day', '02/30/2024');
INSERT INTO employees (no, first, last, department, hired) VALUES (2000, 'Bad', 'Place', 'XX', '01/31/2024');
BEGIN;
UPDATE departments SET head = 4711 WHERE code = 'OPS';
SELECT head FROM departments WHERE code = 'OPS';
COMMIT;
SELECT code, head FROM departments ORDER BY code;
INSERT INTO salaries VALUES (1000, '2015-04-01', 90000), (1000, '2020-01-01', 108000), (1001, '2018-09-15', 66000), (1001, '2024-02-01', 72000.60), (1002, '2020-02-29', 54321.09), (1003, '2023-11-30', 24000), (1004, '2024-01-15', 12000);
INSERT INTO salaries VALUES (1000, '2024-01-01', -1);
INSERT INTO salaries (employee, valid_from) VALUES (1000, '2024-01-01');
INSERT INTO salaries VALUES (1000, '2024-05-01', NULL);
DELETE FROM salaries WHERE yearly = 0;
INSERT INTO brackets VALUES (2024, 12000, 0), (2024, 60000, 0.2), (2024, NULL, 0.42);
INSERT INTO brackets VALUES (2024, NULL, 0.45);
INSERT INTO brackets VALUES (2025, 1, 9.9999);
INSERT INTO brackets VALUES (2025, 1, 10);
INSERT INTO timesheets VALUES (1003, '2024-01-02', '08:00', '12:30'), (1003, '2024-01-02', '13:00', '17:15', '10 min'), (1003, '2024-01-03', '22:00', '24:00', DEFAULT), (1004, '2024-01-16', '09:00:00.5', '17:00', '00:45');
INSERT INTO timesheets VALUES (1004, '2024-01-17', '09:00', '25:00');
INSERT INTO timesheets VALUES (1004, '2024-01-17', '09:00', '17:00', '3 h');
INSERT INTO timesheets VALUES (1004, '2024-01-17', '17:00', '09:00');
-- Progressive tax on a year's pay.
CREATE FUNCTION tax_of(y int, pay numeric) RETURNS numeric LANGUAGE plpgsql STABLE STRICT AS $$
DECLARE b brackets; lower numeric := 0; total numeric(12,2) := 0;
BEGIN
  FOR b IN SELECT * FROM brackets WHERE year = y ORDER BY upper ASC NULLS LAST LOOP
    total := total + (least(pay, coalesce(b.upper, pay)) - lower) * b.rate;
    EXIT WHEN b.upper IS NULL OR pay <= b.upper;
    lower := b.upper;
  END LOOP;
  IF NOT FOUND THEN RAISE EXCEPTION 'no brackets for %', y; END IF;
  RETURN total;
END $$;
CREATE FUNCTION salary_at(e int, d date) RETURNS money2 LANGUAGE sql STABLE AS $$ SELECT yearly FROM salaries WHERE employee = e AND valid_from <= d ORDER BY valid_from DESC LIMIT 1 $$;
CREATE PROCEDURE pay(m date, INOUT slips int DEFAULT 0, INOUT total numeric DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE r int; e employees%ROWTYPE; g numeric; days int; month_days CONSTANT int := extract(day FROM m + interval '1 month' - interval '1 day'); t numeric;
BEGIN
  INSERT INTO runs (month) VALUES (m) RETURNING id INTO r;
  FOR e IN SELECT * FROM employees WHERE hired < m + interval '1 month' AND (left_on IS NULL OR left_on >= m) ORDER BY no LOOP
    days := least(coalesce(e.left_on, 'infinity'), (m + interval '1 month - 1 day')::date) - greatest(e.hired, m) + 1;
    BEGIN
      g := round(salary_at(e.no, (m + interval '1 month - 1 day')::date) / 12 * days / month_days, 2);
      t := round(tax_of(extract(year FROM m)::int, g * 12) / 12, 2);
      INSERT INTO payslips (run, employee, gross, tax, details) VALUES (r, e.no, g, t, json_build_object('days', days, 'of', month_days, 'name', format('%s, %s', e.last, e.first)));
      slips := slips + 1;
      total := coalesce(total, 0) + g;
    EXCEPTION
      WHEN not_null_violation OR check_violation THEN
        RAISE NOTICE '% % has no salary (%)', e.first, e.last, SQLSTATE;
      WHEN raise_exception THEN
        RAISE NOTICE 'skipped %: %', e.no, SQLERRM;
    END;
  END LOOP;
  UPDATE runs SET closed = true WHERE id = r;
END $$;
SELECT tax_of(2024, 10000), tax_of(2024, 30000), tax_of(2024, 100000), tax_of(NULL, 1);
SELECT tax_of(1999, 1);
CALL pay('2024-01-01');
CALL pay('2024-02-01', 100);
CALL pay('2024-02-01');
CALL pay('2024-02-15');
CALL pay('2025-03-01');
CALL pay('2014-01-01', slips => 5);
SELECT r.month, e.last, p.gross, p.tax, p.net, p.details ->> 'days' AS days, p.details FROM payslips p JOIN runs r ON r.id = p.run JOIN employees e ON e.no = p.employee ORDER BY 1, 2;
SELECT to_char(month, 'FMMonth YYYY'), sum(gross) AS gross, to_char(sum(net), 'FM999,999.00') AS net, to_char(sum(tax) / nullif(sum(gross), 0) * 100, '90.9%') AS rate FROM runs LEFT JOIN payslips ON run = id GROUP BY month ORDER BY month;
SELECT e.last, sum(t.worked) AS worked, extract(epoch FROM sum(t.worked)) / 3600 AS hours, sum(t.worked) > make_interval(hours => 8) AS over FROM timesheets t JOIN employees e ON e.no = t.employee GROUP BY e.no, e.last ORDER BY worked DESC;
SELECT employee, date_trunc('week', day)::date AS week, justify_hours(sum(worked) * 10), avg(worked), min(start), max(stop) FROM timesheets GROUP BY 1, 2 ORDER BY 1, 2;
-- Raises: each salary with the one before.
SELECT employee, valid_from, yearly, yearly - lag(yearly) OVER w AS raise, round(100.0 * (yearly / lag(yearly) OVER w - 1), 2) AS pct, lead(valid_from, 1, 'infinity') OVER w - 1 AS until FROM salaries WINDOW w AS (PARTITION BY employee ORDER BY valid_from) ORDER BY 1, 2;
WITH RECURSIVE org AS (SELECT no, last, boss, 1 AS level, last::text AS path FROM employees WHERE boss IS NULL AND no < 1005 UNION ALL SELECT e.no, e.last, e.boss, o.level + 1, o.path || ' > ' || e.last FROM employees e INNER JOIN org o ON e.boss = o.no)
SELECT level, path, (SELECT count(*) FROM employees x WHERE x.boss = org.no) AS reports FROM org ORDER BY path;
SELECT d.code, count(e.no) AS people, round(avg(s.yearly), 2) AS mean, max(s.yearly) AS top, d.budget - sum(s.yearly) AS spare FROM departments d LEFT JOIN employees e ON e.department = d.code LEFT JOIN LATERAL (SELECT yearly FROM salaries WHERE employee = e.no ORDER BY valid_from DESC LIMIT 1) s ON true GROUP BY d.code HAVING count(*) >= 1 ORDER BY mean DESC NULLS LAST;
SELECT last, hired, age(date '2024-02-29', hired) AS served, hired + interval '5 years' AS jubilee, date_part('doy', hired) AS doy, to_char(hired, 'IYYY-"W"IW-ID') AS iso FROM employees WHERE no < 1005 ORDER BY hired;
SELECT contract, count(*), array_agg(last ORDER BY hired DESC), bool_and(account IS NULL) FROM employees GROUP BY contract ORDER BY contract DESC;
SELECT last, 1 / (hours_week - 40) FROM employees WHERE no < 1003 ORDER BY no;
SELECT 100 / (count(*) - count(*)) FROM employees;
UPDATE departments SET code = 'ENG' WHERE code = 'DEV';
SELECT last, department FROM employees WHERE department = 'ENG' ORDER BY 1;
DELETE FROM employees WHERE no = 1001;
UPDATE employees SET boss = (SELECT boss FROM employees x WHERE x.no = employees.boss) WHERE boss = 1001 RETURNING no, boss;
DELETE FROM payslips WHERE employee = 1001;
DELETE FROM employees WHERE no = 1001;
SELECT code, head FROM departments ORDER BY code;
ALTER TABLE employees ADD COLUMN mail text GENERATED ALWAYS AS (lower(first) || '.' || lower(last) || '@example.com') STORED UNIQUE;
ALTER TABLE employees ALTER COLUMN hours_week TYPE numeric(4,1), ALTER COLUMN hours_week DROP NOT NULL, ALTER COLUMN first SET DEFAULT 'N.', ADD CHECK (hours_week <= 48);
UPDATE employees SET hours_week = 48.04 WHERE no = 1000 RETURNING hours_week, mail;
UPDATE employees SET hours_week = 48.05 WHERE no = 1000;
ALTER TABLE employees DROP COLUMN last;
ALTER TABLE employees DROP COLUMN mail, DROP CONSTRAINT IF EXISTS no_such, DROP CONSTRAINT interns_leave;
ALTER DOMAIN money2 DROP CONSTRAINT money2_not_negative;
ALTER DOMAIN money2 ADD CONSTRAINT money2_small CHECK (VALUE < 1000);
UPDATE salaries SET yearly = -5 WHERE employee = 1004 RETURNING yearly;
