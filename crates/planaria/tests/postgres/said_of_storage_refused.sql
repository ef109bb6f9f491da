-- What is said of how columns are stored, and cannot be.
CREATE TABLE a (x int COMPRESSION pglz);
CREATE TABLE a (x int COLLATE "C");
CREATE TABLE a (x text COLLATE "C", y text COMPRESSION pglz, z varchar(3)[] COLLATE "C");
ALTER TABLE a ADD COLUMN b int COLLATE "C";
ALTER TABLE a ADD COLUMN b date COMPRESSION pglz;
ALTER TABLE a ADD COLUMN b text COLLATE "C";
ALTER TABLE a ALTER COLUMN x TYPE int COLLATE "C" USING 1;
ALTER TABLE a ALTER COLUMN x TYPE varchar(9) COLLATE "POSIX";
SELECT attname, format_type(atttypid, atttypmod), attcollation::regcollation, attcompression FROM pg_attribute WHERE attrelid = 'a'::regclass AND attnum > 0 ORDER BY attnum;
-- A replica identity stands on columns that are never NULL.
CREATE TABLE r (k int NOT NULL, v int NOT NULL, UNIQUE (k));
ALTER TABLE r REPLICA IDENTITY USING INDEX r_k_key;
ALTER TABLE r ALTER COLUMN k DROP NOT NULL;
ALTER TABLE r ALTER COLUMN v DROP NOT NULL;
ALTER TABLE r REPLICA IDENTITY DEFAULT;
ALTER TABLE r ALTER COLUMN k DROP NOT NULL;
-- Partitions and copies have what their columns can have.
CREATE TABLE whole (a text COMPRESSION pglz COLLATE "C", b int) PARTITION BY RANGE (b);
CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (10);
CREATE TABLE copied (LIKE whole INCLUDING ALL);
SELECT attrelid::regclass, attname, attcollation::regcollation, attcompression FROM pg_attribute WHERE attrelid IN ('whole'::regclass, 'part'::regclass, 'copied'::regclass) AND attnum > 0 ORDER BY attrelid::regclass::text, attnum;
