CREATE TABLE psql_t (id int PRIMARY KEY, name text, n numeric(12,2));
INSERT INTO psql_t VALUES (1, 'one', 1.5), (2, 'zwei ü', NULL) RETURNING id;
SELECT * FROM psql_t ORDER BY id;
SELECT 'äö', nix FROM psql_t;
BEGIN;
INSERT INTO psql_t VALUES (1, 'again', 0);
SELECT 1;
COMMIT;
\copy psql_t FROM STDIN (FORMAT csv)
3,"three, and ""more""",3
4,,
\.
COPY psql_t TO STDOUT;
PREPARE p AS SELECT name FROM psql_t WHERE id = $1;
EXECUTE p(3);
DEALLOCATE p;
DO $$ BEGIN RAISE NOTICE 'from %', 'inside'; END $$;
SHOW server_encoding;
SELECT 1\; SELECT 2;
DISCARD ALL;
DROP TABLE psql_t;
