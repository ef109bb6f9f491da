-- Numbers beyond 35 digits in columns, indexes, keys, procedures.
CREATE TABLE longs (id int PRIMARY KEY, n numeric, wide numeric(100,40), neg numeric(20,-5), tiny numeric(5,8), note text);
INSERT INTO longs VALUES (1, 123456789012345678901234567890123456789012345678901234567890, 12345678901234567890.0123456789012345678901234567890123456789, 12345678, 0.00012345, 'first'), (2, 5, 5, 5, 0, NULL), (3, 1e-100, 1e-40, -99999999, -0.0001, 'third'), (4, NULL, NULL, NULL, NULL, 'fourth'), (5, -1e60, -1e59, 1e20, 0.00099999, 'fifth');
INSERT INTO longs VALUES (6, 0, 1e60, 0, 0, 'x');
INSERT INTO longs VALUES (6, 0, 0, 1e25, 0, 'x');
INSERT INTO longs VALUES (6, 0, 0, 0, 0.001, 'x');
SELECT * FROM longs ORDER BY id;
SELECT id, note FROM longs WHERE n > 5 ORDER BY n;
UPDATE longs SET n = n * 10 + 1 WHERE id <= 3;
UPDATE longs SET n = n + 1, note = note || ' changed' WHERE id = 1;
UPDATE longs SET wide = 7 WHERE id = 1;
SELECT * FROM longs ORDER BY id;
UPDATE longs SET n = 8 WHERE id = 1;
UPDATE longs SET n = 1e70, wide = 1e50 + 1e-40, note = 'a longer text than before' WHERE id = 2;
UPDATE longs SET note = 'short' WHERE id = 2;
UPDATE longs SET n = -n, note = NULL WHERE id = 2;
SELECT * FROM longs ORDER BY id;
SELECT sum(n), sum(wide), max(n), min(n), avg(wide), count(DISTINCT n) FROM longs;
CREATE INDEX longs_n ON longs (n);
CREATE INDEX longs_wide ON longs (wide, id);
CREATE UNIQUE INDEX longs_note ON longs (note, n);
SELECT id, n FROM longs ORDER BY n;
SELECT id, n FROM longs ORDER BY n DESC NULLS LAST;
SELECT id FROM longs WHERE n = -1e70;
SELECT id FROM longs WHERE n = 8;
SELECT id FROM longs WHERE n < 0 ORDER BY n;
SELECT id FROM longs WHERE n >= 1e-100 AND n < 9 ORDER BY n;
SELECT id, wide FROM longs WHERE wide > 0 ORDER BY wide;
CREATE TABLE ordered (k numeric PRIMARY KEY, i int);
INSERT INTO ordered SELECT k, row_number() OVER () FROM (VALUES (0::numeric), (1), (-1), (12345678901234567890123456789012345), (123456789012345678901234567890123456), (1234567890123456789012345678901234567), (-1234567890123456789012345678901234567), (12345678901234567890123456789012345.1), (12345678901234567890123456789012345.01), (12345678901234567890123456789012344.99), (-12345678901234567890123456789012345.01), (-12345678901234567890123456789012345), (-12345678901234567890123456789012344.99), (1e100), (1.0000000000000000000000000000000000000000000001e100), (1e5000), (1e40000), (-1e40000), (1e-100), (1e-250), (1e-5000), (-1e-5000), (-1e-250), (1.5e-5000), (9.99e-251), ('NaN'), ('Infinity'), ('-Infinity'), (600000000000000000000000000000000001), (600000000000000000000000000000000002), (600000000000000000000000000000000001.5)) v(k);
SELECT i, CASE WHEN length(k::text) < 60 THEN k::text ELSE length(k::text)::text END FROM ordered ORDER BY k;
SELECT i FROM ordered WHERE k > 12345678901234567890123456789012345 ORDER BY k;
SELECT i FROM ordered WHERE k >= 12345678901234567890123456789012345.01 AND k <= 1e100 ORDER BY k;
SELECT i FROM ordered WHERE k < -12345678901234567890123456789012345 ORDER BY k DESC;
SELECT i FROM ordered WHERE k BETWEEN -1e-200 AND 1e-200 ORDER BY k;
SELECT i FROM ordered WHERE k = 1e40000;
SELECT i FROM ordered WHERE k = 1234567890123456789012345678901234567.00000;
SELECT i FROM ordered WHERE k = 1.00000000000000000000000000000000000000000000000000000;
INSERT INTO ordered VALUES (1234567890123456789012345678901234567.0, 0);
INSERT INTO ordered VALUES (1e5000, 0);
INSERT INTO ordered VALUES (1.000000000000000000000000000000000000000000000000000, 0);
INSERT INTO ordered VALUES (1e5000, -1) ON CONFLICT (k) DO UPDATE SET i = excluded.i;
DELETE FROM ordered WHERE k > 1e4999 AND k < 1e5001 RETURNING i;
UPDATE ordered SET k = k + 1 WHERE k = 1234567890123456789012345678901234567;
SELECT k FROM ordered WHERE k > 1e36 AND k < 1e38 ORDER BY k;
CREATE TABLE parents (a numeric, b text, v int, PRIMARY KEY (a, b));
INSERT INTO parents VALUES (1e40, 'x', 1), (1e40, 'y', 2), (12345678901234567890123456789012345678, 'x', 3), (5, 'x', 4);
CREATE TABLE children (id int PRIMARY KEY, a numeric, b text, FOREIGN KEY (a, b) REFERENCES parents ON UPDATE CASCADE ON DELETE CASCADE);
INSERT INTO children VALUES (1, 1e40, 'x'), (2, 12345678901234567890123456789012345678.00, 'x'), (3, 5, 'x'), (4, NULL, 'x');
INSERT INTO children VALUES (5, 1e41, 'x');
UPDATE parents SET a = 1e42 WHERE a = 1e40 AND b = 'x';
SELECT * FROM children ORDER BY id;
DELETE FROM parents WHERE a > 1e37 AND b = 'x';
SELECT * FROM children ORDER BY id;
SELECT * FROM parents ORDER BY a, b;
SELECT c.id, p.v FROM children c LEFT JOIN parents p USING (a, b) ORDER BY c.id;
CREATE TABLE accounts (id int PRIMARY KEY, balance numeric NOT NULL, fixed numeric(38,2) NOT NULL DEFAULT 0);
INSERT INTO accounts SELECT i, i FROM generate_series(1, 5) g(i);
CREATE PROCEDURE multiply(who int, factor numeric) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE accounts SET balance = balance * factor, fixed = fixed + 1000000000000000000000000000000000.5 WHERE id = who;
END
$$;
CREATE PROCEDURE move(source int, target int, amount numeric) LANGUAGE plpgsql AS $$
DECLARE
  left_over numeric;
BEGIN
  UPDATE accounts SET balance = balance - amount WHERE id = source RETURNING balance INTO left_over;
  IF left_over < 0 THEN
    RAISE EXCEPTION 'only % left', left_over;
  END IF;
  UPDATE accounts SET balance = balance + amount WHERE id = target;
END
$$;
CREATE PROCEDURE add_account(who int, amount numeric) LANGUAGE sql AS $$
INSERT INTO accounts VALUES (who, amount, 12345678901234567890123456789012345.25)
$$;
CALL multiply(1, 1e20);
CALL multiply(1, 1e20);
CALL multiply(1, 3);
CALL multiply(2, 0.00000000000000000000000000000000000000000001);
CALL multiply(2, 1);
CALL multiply(3, 'NaN');
CALL move(1, 4, 1e39);
CALL move(4, 5, 12345678901234567890123456789012345678.5);
CALL move(4, 5, 1e50);
CALL move(1, 2, 299000000000000000000000000000000000000000);
CALL add_account(6, 1e50);
CALL add_account(7, 7);
CALL add_account(8, '-Infinity');
CALL multiply(6, 1e-50);
SELECT * FROM accounts ORDER BY id;
SELECT sum(balance) FROM accounts WHERE id NOT IN (3, 8);
CREATE FUNCTION harmonic(n int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
  total numeric := 0;
  product numeric := 1;
BEGIN
  FOR i IN 1..n LOOP
    product := product * i;
    total := total + product;
  END LOOP;
  RETURN total;
END
$$;
SELECT harmonic(10), harmonic(50), length(harmonic(1000)::text);
CREATE TABLE arrays (id int PRIMARY KEY, a numeric[], j jsonb, d numeric DEFAULT 123456789012345678901234567890123456789012345678901234567890);
INSERT INTO arrays VALUES (1, ARRAY[1e40, 'NaN', 5, NULL], '{"x": 1e40}'), (2, '{1e-60}', '[123456789012345678901234567890123456789012345678901234567890]');
SELECT * FROM arrays ORDER BY id;
SELECT id, a[1] + 1, (j->'x')::numeric, (j->>0)::numeric, d + 1 FROM arrays ORDER BY id;
ALTER TABLE longs ALTER COLUMN neg TYPE numeric USING neg * 1e40;
ALTER TABLE longs ALTER COLUMN n TYPE numeric(80,5);
SELECT id, n, neg FROM longs ORDER BY id;
ALTER TABLE longs ALTER COLUMN wide TYPE text;
SELECT id, wide FROM longs ORDER BY id;
ALTER TABLE longs ADD CHECK (n > -1e75);
INSERT INTO longs (id, n) VALUES (9, -1e74), (10, -9.99e74);
INSERT INTO longs (id, n) VALUES (11, -1.1e75);
INSERT INTO longs (id, n) VALUES (11, -9.9999e74), (12, 1e75);
CREATE VIEW doubled AS SELECT id, n * 2 AS n FROM longs WHERE n > 1e70;
SELECT * FROM doubled ORDER BY id;
BEGIN;
UPDATE accounts SET balance = balance * 1e30 WHERE id = 7;
SAVEPOINT a;
UPDATE accounts SET balance = balance * 1e30 WHERE id = 7;
ROLLBACK TO a;
SELECT balance FROM accounts WHERE id = 7;
COMMIT;
SELECT balance FROM accounts WHERE id = 7;
CREATE TABLE parted (k numeric, v int) PARTITION BY RANGE (k);
CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (1e40);
CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (1e40) TO (MAXVALUE);
INSERT INTO parted VALUES (5, 1), (1e39, 2), (1e40, 3), (1e41, 4), ('NaN', 5);
SELECT v FROM parted_high ORDER BY k;
SELECT tableoid::regclass, count(*) FROM parted GROUP BY 1 ORDER BY 1;
SELECT attname, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'longs'::regclass AND attnum > 0 ORDER BY attnum;
SELECT column_name, numeric_precision, numeric_scale FROM information_schema.columns WHERE table_name = 'accounts' ORDER BY ordinal_position;
