CREATE TABLE k (id int PRIMARY KEY, v int);
INSERT INTO k VALUES (1, 10);
DO $$
BEGIN
  SET work_mem = '5MB';
  SET LOCAL statement_timeout = '1h';
  RESET ALL;
  RAISE NOTICE '% %', current_setting('work_mem') = '5MB', current_setting('statement_timeout');
END $$;
SHOW statement_timeout;
DO $$ BEGIN LISTEN one; LISTEN two; UNLISTEN one; END $$;
SELECT pg_listening_channels();
DO $$ BEGIN UNLISTEN *; END $$;
SELECT count(*) FROM pg_listening_channels();
CREATE FUNCTION listens(channel text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  LISTEN mine;
  EXECUTE format('LISTEN %I', channel);
  RETURN 1;
END $$;
SELECT listens('Yours');
SELECT pg_listening_channels() ORDER BY 1;
UNLISTEN *;
CREATE PROCEDURE locks() LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  LOCK TABLE k IN EXCLUSIVE MODE;
  SELECT max(id) INTO n FROM k;
  INSERT INTO k VALUES (n + 1, n);
  ANALYZE k;
  LOCK TABLE nowhere;
EXCEPTION WHEN undefined_table THEN
  RAISE NOTICE 'no such table';
  INSERT INTO k VALUES (100, 0);
END $$;
CALL locks();
SELECT * FROM k ORDER BY id;
CREATE FUNCTION next_id() RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  LOCK TABLE k IN SHARE ROW EXCLUSIVE MODE;
  SELECT max(id) + 1 INTO n FROM k;
  INSERT INTO k VALUES (n, 0);
  RETURN n;
END $$;
SELECT next_id();
BEGIN;
SELECT next_id();
ROLLBACK;
SELECT count(*) FROM k;
DO $$
DECLARE r record;
BEGIN
  EXECUTE 'LOCK TABLE k';
  FOR r IN SELECT * FROM k ORDER BY id LOOP RAISE NOTICE '%', r.id; END LOOP;
END $$;
DO $$
BEGIN
  CREATE TEMP TABLE tt (a int);
  DISCARD TEMP;
  RAISE NOTICE '%', (SELECT count(*) FROM pg_class WHERE relname = 'tt');
END $$;
DO $$ BEGIN DISCARD ALL; END $$;
DO $$ BEGIN DISCARD PLANS; END $$;
DO $$ BEGIN SET TRANSACTION READ ONLY; PERFORM 1 FROM k; END $$;
DO $$ BEGIN SET TRANSACTION READ ONLY; INSERT INTO k VALUES (7, 7); END $$;
INSERT INTO k VALUES (8, 8);
BEGIN;
DO $$ BEGIN SET TRANSACTION READ ONLY; END $$;
SELECT count(*) FROM k;
INSERT INTO k VALUES (9, 9);
ROLLBACK;
DO $$ BEGIN SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; END $$;
SHOW default_transaction_read_only;
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE;
DO $$ BEGIN VACUUM k; END $$;
DO $$ BEGIN PREPARE q AS SELECT count(*) FROM k WHERE id = 8; END $$;
EXECUTE q;
DO $$ BEGIN DEALLOCATE q; END $$;
EXECUTE q;
