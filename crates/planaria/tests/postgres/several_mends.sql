-- savepoints of routines within routines
CREATE TABLE kept (a int PRIMARY KEY);
CREATE PROCEDURE inner_one() LANGUAGE plpgsql AS $$
BEGIN
    CREATE TABLE side (x int);
    BEGIN
        INSERT INTO kept VALUES (2);
        RAISE EXCEPTION 'x';
    EXCEPTION WHEN unique_violation THEN
        NULL;
    END;
END $$;
DO $$
BEGIN
    BEGIN
        INSERT INTO kept VALUES (1);
        CALL inner_one();
    EXCEPTION WHEN OTHERS THEN
        RAISE NOTICE 'caught %', SQLERRM;
    END;
END $$;
SELECT a FROM kept;
SELECT to_regclass('side');
-- keys that wait while the schema is changed
CREATE TABLE w (n int CONSTRAINT w_n UNIQUE DEFERRABLE INITIALLY DEFERRED, id bigint);
INSERT INTO w VALUES (7, 1), (8, 2);
DELETE FROM w;
BEGIN;
INSERT INTO w VALUES (1, 3), (1, 4);
ALTER TABLE w ADD COLUMN z int;
ROLLBACK;
BEGIN;
INSERT INTO w VALUES (1, 3), (1, 4);
ALTER TABLE w ADD PRIMARY KEY (id);
ROLLBACK;
BEGIN;
INSERT INTO w VALUES (1, 3), (2, 4);
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE w ADD COLUMN z int;
COMMIT;
SELECT * FROM w ORDER BY n;
BEGIN;
INSERT INTO w VALUES (5, 3);
CREATE TABLE other (a int);
INSERT INTO w VALUES (5, 4);
COMMIT;
SELECT count(*) FROM w;
-- a row type is no part of itself
CREATE TABLE a (x int);
ALTER TABLE a ALTER x TYPE a USING NULL;
ALTER TABLE a ALTER x TYPE a[] USING NULL;
-- what is computed from texts that may change
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE moods (id int PRIMARY KEY, ms mood[], d date, n int[]);
CREATE INDEX ON moods (array_to_string(ms, ','));
CREATE INDEX ON moods (((ms::text[])[1]));
CREATE INDEX ON moods ((d::text));
CREATE INDEX ON moods (((n::bigint[])[1]));
-- xmax is that of the row that is read
SELECT (SELECT count(*) FROM moods WHERE id = 0);
