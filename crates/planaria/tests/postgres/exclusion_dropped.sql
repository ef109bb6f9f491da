-- Columns that an exclusion constraint has in an expression or a condition alone.
CREATE TABLE t (a int, b int, c int, r int4range, EXCLUDE USING gist (r WITH &&) WHERE (c > 0), EXCLUDE USING btree (b WITH =, (a + 1) WITH =));
INSERT INTO t VALUES (1, 2, 3, '[1,2]');
ALTER TABLE t DROP COLUMN c;
INSERT INTO t VALUES (2, 2, 3, '[2,3]');
ALTER TABLE t DROP COLUMN c CASCADE;
INSERT INTO t VALUES (2, 2, '[2,3]');
ALTER TABLE t DROP COLUMN a;
-- With a column of its own it goes.
ALTER TABLE t DROP COLUMN b;
SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass;
CREATE TABLE u (a int, b int, EXCLUDE USING btree (a WITH =, (a + b) WITH =));
ALTER TABLE u DROP COLUMN a;
SELECT conname FROM pg_constraint WHERE conrelid = 'u'::regclass;
CREATE TABLE w (a int, b int, EXCLUDE USING btree ((a + b) WITH =), EXCLUDE USING btree ((a - b) WITH =), CHECK (a > b));
ALTER TABLE w DROP COLUMN a;
INSERT INTO w VALUES (2, 1);
INSERT INTO w VALUES (2, 1);
ALTER TABLE w DROP COLUMN a CASCADE;
SELECT * FROM w;
SELECT conname FROM pg_constraint WHERE conrelid = 'w'::regclass;
