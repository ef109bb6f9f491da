-- A CHECK that is NOT VALID is asked of every row that is stored, whatever columns change.
CREATE TABLE t (id int PRIMARY KEY, a int, b int, up int REFERENCES t ON UPDATE CASCADE);
INSERT INTO t VALUES (1, -1, 1, NULL), (2, 5, 1, 1), (3, NULL, 1, NULL);
ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0) NOT VALID;
UPDATE t SET b = 2 WHERE id = 1;
UPDATE t SET b = 2 WHERE id > 1;
UPDATE t SET b = 3;
UPDATE t SET a = 1, b = 4 WHERE id = 1;
UPDATE t SET b = 5;
SELECT * FROM t ORDER BY id;
ALTER TABLE t DROP CONSTRAINT positive;
UPDATE t SET a = -2 WHERE id = 2;
ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0) NOT VALID;
-- Also where a foreign key changes the row, and in MERGE, INSERT .. ON CONFLICT and views.
UPDATE t SET id = 10 WHERE id = 1;
MERGE INTO t USING (VALUES (2), (3)) x(id) ON t.id = x.id WHEN MATCHED THEN UPDATE SET b = 7;
INSERT INTO t VALUES (2, 1, 9, NULL) ON CONFLICT (id) DO UPDATE SET b = excluded.b;
CREATE VIEW v AS SELECT id, b FROM t;
UPDATE v SET b = 8 WHERE id = 2;
SELECT * FROM t ORDER BY id;
UPDATE t SET a = 6 WHERE id = 2;
ALTER TABLE t VALIDATE CONSTRAINT positive;
UPDATE v SET b = 8 WHERE id = 2;
SELECT * FROM t ORDER BY id;
-- Of a partition, too.
CREATE TABLE parted (id int PRIMARY KEY, a int, b int) PARTITION BY RANGE (id);
CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE high PARTITION OF parted FOR VALUES FROM (10) TO (20);
INSERT INTO parted VALUES (1, -1, 0), (2, 2, 0), (11, -1, 0);
ALTER TABLE low ADD CONSTRAINT low_positive CHECK (a > 0) NOT VALID;
UPDATE parted SET b = 1 WHERE id = 1;
UPDATE low SET b = 1 WHERE id = 1;
UPDATE parted SET b = 1 WHERE id IN (2, 11);
UPDATE parted SET b = 2;
SELECT * FROM parted ORDER BY id;
UPDATE parted SET a = 1 WHERE id = 1;
ALTER TABLE low VALIDATE CONSTRAINT low_positive;
UPDATE parted SET b = 2;
SELECT * FROM parted ORDER BY id;
