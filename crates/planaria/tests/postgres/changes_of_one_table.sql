-- Parts of WITH, and the statement, that change rows of the same table: each row is changed by one of them.
CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance int NOT NULL, note text);
INSERT INTO account SELECT n, 'o' || n % 3, n * 100, NULL FROM generate_series(1, 6) n;
WITH taken AS (UPDATE account SET balance = balance - 50 WHERE id = 1 RETURNING id, balance),
     given AS (UPDATE account SET balance = balance + 50 WHERE id = 2 RETURNING id, balance)
  SELECT * FROM taken UNION ALL SELECT * FROM given ORDER BY 1;
SELECT * FROM account ORDER BY id;
WITH taken AS (UPDATE account SET balance = balance - 10 WHERE id = 1 RETURNING id)
  UPDATE account SET balance = balance + 10 WHERE id = 2 RETURNING *;
WITH gone AS (DELETE FROM account WHERE id = 6 RETURNING *)
  UPDATE account SET note = 'had ' || gone.balance FROM gone WHERE account.id = 5 RETURNING account.*;
WITH changed AS (UPDATE account SET note = 'changed' WHERE id <= 2 RETURNING id)
  DELETE FROM account WHERE id = 5 RETURNING *;
WITH changed AS (UPDATE account SET note = 'by owner' WHERE owner = 'o1' RETURNING id)
  UPDATE account SET note = 'the rest' WHERE owner <> 'o1';
SELECT * FROM account ORDER BY id;
-- What one part has stored is no row of the others.
WITH new AS (INSERT INTO account VALUES (7, 'o1', 700, NULL), (8, 'o2', 800, NULL) RETURNING id),
     more AS (UPDATE account SET balance = balance + 1 WHERE owner IN ('o1', 'o2') RETURNING id, balance)
  SELECT * FROM more ORDER BY id;
WITH new AS (INSERT INTO account VALUES (9, 'o1', 0, 'zero') RETURNING id)
  UPDATE account SET balance = 1000 / balance WHERE id > 6 AND 1000 / balance > 0;
WITH new AS (INSERT INTO account VALUES (10, 'o9', 1, NULL) RETURNING id) DELETE FROM account WHERE id >= 9 RETURNING id;
SELECT * FROM account ORDER BY id;
-- A row that a part has changed, and the statement asks for through it, is changed once.
WITH changed AS (UPDATE account SET balance = 0 WHERE id < 4 RETURNING id)
  UPDATE account SET balance = -1 FROM changed WHERE account.id = changed.id RETURNING account.*;
WITH changed AS (UPDATE account SET balance = 1 WHERE id < 4 RETURNING id)
  DELETE FROM account USING changed WHERE account.id = changed.id RETURNING account.*;
SELECT * FROM account ORDER BY id;
-- What is read of the table is as it was.
WITH changed AS (UPDATE account SET balance = balance * 2 WHERE id <= 4)
  UPDATE account SET balance = (SELECT sum(balance) FROM account) WHERE id = 7;
WITH changed AS (UPDATE account SET balance = 5 WHERE id = 1)
  UPDATE account SET note = 'below ' || other.balance FROM account other WHERE account.id = 7 AND other.id = 1;
SELECT * FROM account ORDER BY id;
-- Three parts, keys that change, a table without a key.
WITH moved AS (UPDATE account SET id = id + 100 WHERE id = 1 RETURNING id),
     put AS (INSERT INTO account VALUES (11, 'p', 11, NULL) RETURNING id),
     gone AS (DELETE FROM account WHERE id IN (3, 101) RETURNING id)
  SELECT 'moved', * FROM moved UNION ALL SELECT 'put', * FROM put UNION ALL SELECT 'gone', * FROM gone ORDER BY 1;
SELECT * FROM account ORDER BY id;
CREATE TABLE bare (n int, word text);
INSERT INTO bare SELECT n, 'w' || n % 2 FROM generate_series(1, 6) n;
WITH a AS (UPDATE bare SET n = n * 10 WHERE word = 'w0' RETURNING n) UPDATE bare SET n = -n WHERE word = 'w1' RETURNING *;
WITH a AS (DELETE FROM bare WHERE n > 0 RETURNING n), b AS (UPDATE bare SET n = n - 1 WHERE n < 0 RETURNING n) SELECT (SELECT sum(n) FROM a), (SELECT sum(n) FROM b);
SELECT * FROM bare ORDER BY n;
-- Within routines, with variables.
CREATE PROCEDURE transfer(a int, b int, amount int) LANGUAGE plpgsql AS $$
BEGIN
  WITH taken AS (UPDATE account SET balance = balance - amount WHERE id = a AND balance >= amount RETURNING id)
    UPDATE account SET balance = balance + amount FROM taken WHERE account.id = b;
  IF NOT FOUND THEN RAISE EXCEPTION 'not enough'; END IF;
END $$;
CALL transfer(7, 2, 100);
CALL transfer(4, 2, 100000);
SELECT * FROM account ORDER BY id;
CREATE FUNCTION swapped(a int, b int) RETURNS TABLE (which int, note text) LANGUAGE sql AS $$
  WITH one AS (UPDATE account SET note = 'was ' || a WHERE id = a RETURNING id, note), two AS (UPDATE account SET note = 'was ' || b WHERE id = b RETURNING id, note)
  SELECT * FROM one UNION ALL SELECT * FROM two ORDER BY 1 $$;
SELECT * FROM swapped(2, 7);
-- Partitions.
CREATE TABLE measured (day int, v int, PRIMARY KEY (day, v)) PARTITION BY RANGE (day);
CREATE TABLE measured_1 PARTITION OF measured FOR VALUES FROM (0) TO (10);
CREATE TABLE measured_2 PARTITION OF measured FOR VALUES FROM (10) TO (20);
INSERT INTO measured SELECT n, n FROM generate_series(1, 19, 3) n;
WITH early AS (UPDATE measured_1 SET v = v + 100 RETURNING v), late AS (DELETE FROM measured WHERE day >= 13 RETURNING v)
  SELECT (SELECT sum(v) FROM early), (SELECT sum(v) FROM late);
WITH moved AS (UPDATE measured SET day = day + 9 WHERE day = 4 RETURNING day) UPDATE measured_2 SET v = v + 1000 RETURNING *;
SELECT tableoid::regclass, * FROM measured ORDER BY day, v;
-- Triggers of rows see what each part does.
CREATE TABLE told (what text);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO told VALUES (TG_OP || ' ' || coalesce(NEW.n, OLD.n)); RETURN coalesce(NEW, OLD); END $$;
CREATE TRIGGER tells BEFORE UPDATE OR DELETE ON bare FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO bare VALUES (1, 'a'), (2, 'b');
WITH a AS (UPDATE bare SET n = 10 WHERE n = 1 RETURNING n) DELETE FROM bare WHERE n = 2 RETURNING n;
SELECT * FROM told ORDER BY what;
-- Through views.
CREATE TABLE ledger (id int PRIMARY KEY, kind text, amount int);
INSERT INTO ledger SELECT n, CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END, n FROM generate_series(1, 8) n;
CREATE VIEW evens AS SELECT id, amount FROM ledger WHERE kind = 'even';
CREATE VIEW few AS SELECT id AS which, amount AS much FROM evens WHERE amount < 7;
WITH a AS (UPDATE evens SET amount = amount + 100 WHERE id <= 4 RETURNING *), b AS (DELETE FROM evens WHERE id >= 8 RETURNING *) SELECT * FROM a UNION ALL SELECT * FROM b ORDER BY 1;
SELECT * FROM ledger ORDER BY id;
WITH a AS (UPDATE few SET much = 0 WHERE which = 6 RETURNING *) UPDATE ledger SET amount = amount * 10 WHERE kind = 'even' AND id <> 6;
WITH a AS (UPDATE ledger SET amount = -1 WHERE id = 1 RETURNING *) DELETE FROM few USING a WHERE which > a.id RETURNING few.*;
WITH a AS (INSERT INTO ledger VALUES (20, 'even', 3) RETURNING id) UPDATE few SET much = 5 RETURNING *;
SELECT * FROM ledger ORDER BY id;
