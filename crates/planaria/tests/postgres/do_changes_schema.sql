CREATE TABLE users(id int PRIMARY KEY, name text);
CREATE TABLE posts(id int PRIMARY KEY, author int);
DO $$ BEGIN
 ALTER TABLE posts ADD CONSTRAINT posts_author_fk FOREIGN KEY (author) REFERENCES users(id) ON DELETE CASCADE;
EXCEPTION
 WHEN duplicate_object THEN null;
END $$;
DO $$ BEGIN
 ALTER TABLE posts ADD CONSTRAINT posts_author_fk FOREIGN KEY (author) REFERENCES users(id) ON DELETE CASCADE;
EXCEPTION
 WHEN duplicate_object THEN RAISE NOTICE 'it is there: %', SQLERRM;
END $$;
DO $$ BEGIN
 CREATE TYPE state AS ENUM ('on', 'off');
EXCEPTION
 WHEN duplicate_object THEN null;
END $$;
DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'state') THEN
    CREATE TYPE state AS ENUM ('a');
  END IF;
  IF NOT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_name = 'users' AND column_name = 'state') THEN
    ALTER TABLE users ADD COLUMN state state NOT NULL DEFAULT 'on';
    UPDATE users SET state = 'off';
  END IF;
END $$;
INSERT INTO users(id, name) VALUES (1, 'ann');
INSERT INTO posts VALUES (1, 2);
INSERT INTO posts VALUES (1, 1);
SELECT * FROM users;
DO $$
DECLARE
  r record;
  n int := 0;
  made text[] := '{}';
BEGIN
  FOR i IN 1..3 LOOP
    EXECUTE format('CREATE TABLE part_%s (id int PRIMARY KEY, v int DEFAULT %L)', i, i * 10);
    EXECUTE format('INSERT INTO part_%s VALUES ($1)', i) USING i;
    GET DIAGNOSTICS n = ROW_COUNT;
    made := made || ('part_' || i);
    RAISE NOTICE '% %', n, made;
  END LOOP;
  FOR r IN SELECT tablename FROM pg_tables WHERE tablename LIKE 'part\_%' ORDER BY 1 LOOP
    EXECUTE 'SELECT count(*) FROM ' || r.tablename INTO n;
    RAISE NOTICE '% has %', r.tablename, n;
  END LOOP;
  CREATE TEMP TABLE found ON COMMIT DROP AS SELECT id, v FROM part_1 UNION ALL SELECT id, v FROM part_2;
  FOR r IN SELECT * FROM found ORDER BY id LOOP
    RAISE NOTICE 'found %', r;
  END LOOP;
  SELECT sum(v) AS total INTO r FROM found;
  RAISE NOTICE 'total %', r.total;
END $$;
SELECT * FROM part_3;
SELECT * FROM found;
DO $$
BEGIN
  CREATE TABLE not_to_stay(id int);
  INSERT INTO users(id) VALUES (7);
  DROP TABLE nothing_of_that_name;
END $$;
SELECT count(*) FROM users WHERE id = 7;
SELECT * FROM not_to_stay;
DO $$
BEGIN
  CREATE TABLE stays(id int);
  BEGIN
    INSERT INTO stays VALUES (1);
    CREATE TABLE not_to_stay(id int);
    PERFORM 1 / 0;
  EXCEPTION WHEN division_by_zero THEN
    RAISE NOTICE 'caught % %', SQLSTATE, SQLERRM;
  END;
  INSERT INTO stays VALUES (2);
END $$;
SELECT * FROM stays;
SELECT * FROM not_to_stay;
BEGIN;
DO $$
BEGIN
  CREATE TABLE in_block(id int);
  INSERT INTO in_block VALUES (1);
END $$;
SELECT * FROM in_block;
ROLLBACK;
SELECT * FROM in_block;
DO $$
DECLARE
  what text;
  i int := 0;
BEGIN
  <<outer>>
  LOOP
    i := i + 1;
    CONTINUE WHEN i = 2;
    EXIT outer WHEN i > 4;
    CASE i
      WHEN 1 THEN what := 'one';
      WHEN 3, 4 THEN what := 'more';
      ELSE what := 'other';
    END CASE;
    RAISE NOTICE '% %', i, what;
  END LOOP;
  WHILE i > 3 LOOP
    i := i - 1;
  END LOOP;
  FOREACH what IN ARRAY ARRAY['x', 'y'] LOOP
    EXECUTE 'CREATE TABLE t_' || what || '()';
  END LOOP;
  FOR j IN REVERSE 4..1 BY 2 LOOP
    RAISE NOTICE 'j %', j;
  END LOOP;
  IF i = 3 THEN
    DROP TABLE t_x, t_y;
    RETURN;
  END IF;
  RAISE EXCEPTION 'not reached';
END $$;
DO $$
BEGIN
  DROP TABLE t_x;
END $$;
DO $$
BEGIN
  EXECUTE 'DROP TABLE t_x';
END $$;
DO $$
BEGIN
  CREATE TABLE made(id int);
  RAISE EXCEPTION 'no % here', 'more' USING ERRCODE = '22023', HINT = 'go on';
END $$;
DO $$
BEGIN
  CREATE TABLE made(id int);
  INSERT INTO made VALUES (nothing);
END $$;
DO $$
DECLARE
  a text;
  b text;
BEGIN
  CREATE TABLE made(id int PRIMARY KEY);
  INSERT INTO made VALUES (1);
  BEGIN
    INSERT INTO made VALUES (1);
  EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS a = RETURNED_SQLSTATE, b = CONSTRAINT_NAME;
    RAISE NOTICE '% %', a, b;
    RAISE;
  END;
END $$;
CREATE ROLE nobody_much;
SET ROLE nobody_much;
DO $$
BEGIN
  DROP TABLE users;
END $$;
DO $$
BEGIN
  EXECUTE 'CREATE TABLE mine(id int)';
  DELETE FROM users;
END $$;
RESET ROLE;
DROP ROLE nobody_much;
DO $$
DECLARE
  c CONSTANT int := 5;
BEGIN
  CREATE TABLE made(id int);
  c := 6;
END $$;
