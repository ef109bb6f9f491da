-- Advisory locks as one session sees them: levels, counts, savepoints, what pg_locks shows.
CREATE TABLE jobs (id int PRIMARY KEY);
INSERT INTO jobs SELECT i FROM generate_series(1, 5) i;
CREATE VIEW held AS SELECT classid, objid, objsubid, mode, granted FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_lock(1), pg_advisory_lock_shared(1), pg_try_advisory_lock(1);
SELECT * FROM held ORDER BY 1, 2, 3, 4;
SELECT database = (SELECT oid FROM pg_database WHERE datname = current_database()), pid = pg_backend_pid(), relation, fastpath FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_unlock(1), pg_advisory_unlock(1), pg_advisory_unlock(1);
SELECT pg_advisory_unlock_shared(1), pg_advisory_unlock_shared(1);
SELECT * FROM held ORDER BY 1, 2, 3, 4;
-- Keys of one part and of two.
SELECT pg_advisory_lock(-1), pg_advisory_lock(-1, 2), pg_advisory_lock(4294967298), pg_advisory_lock(1, 2);
SELECT pg_advisory_lock(9223372036854775807), pg_advisory_lock(-9223372036854775808), pg_advisory_lock(1::smallint);
SELECT * FROM held ORDER BY 1, 2, 3, 4;
SELECT pg_advisory_unlock(1, 2), pg_advisory_unlock(2, 1), pg_advisory_unlock_all();
SELECT count(*) FROM held;
SELECT pg_advisory_lock(NULL), pg_try_advisory_lock(NULL, 1), pg_advisory_unlock(NULL::bigint);
SELECT pg_advisory_lock();
SELECT pg_advisory_lock(1.5);
SELECT pg_advisory_lock('x');
SELECT pg_advisory_lock('7');
SELECT pg_advisory_unlock('7');
-- Outside of a block a transaction is the statement.
SELECT pg_advisory_xact_lock(3), (SELECT count(*) FROM pg_locks WHERE locktype = 'none'), pg_try_advisory_xact_lock_shared(4, 5);
SELECT count(*) FROM held;
SELECT pg_advisory_unlock(3);
-- What a transaction locks goes with it, and with the savepoint.
BEGIN;
SELECT pg_advisory_xact_lock(10);
SAVEPOINT a;
SELECT pg_advisory_xact_lock(11), pg_advisory_lock(12), pg_advisory_xact_lock(10);
SELECT objid FROM held ORDER BY 1;
ROLLBACK TO a;
SELECT objid FROM held ORDER BY 1;
SELECT pg_advisory_xact_lock_shared(13);
RELEASE a;
SELECT objid, mode FROM held ORDER BY 1;
SELECT pg_advisory_unlock(10), pg_advisory_unlock_all();
SELECT objid FROM held ORDER BY 1;
COMMIT;
SELECT objid FROM held ORDER BY 1;
-- What a session locks stays, whatever becomes of the transaction.
BEGIN;
SELECT pg_advisory_lock(20), pg_advisory_xact_lock(20), pg_advisory_xact_lock(21);
ROLLBACK;
SELECT objid FROM held ORDER BY 1;
BEGIN;
SELECT pg_advisory_unlock(20);
ROLLBACK;
SELECT objid FROM held ORDER BY 1;
SELECT pg_advisory_lock(id), 1 / (id - 3) FROM jobs WHERE id = 3;
SELECT objid FROM held ORDER BY 1;
BEGIN;
SELECT pg_advisory_xact_lock(23);
SAVEPOINT b;
SELECT pg_advisory_xact_lock(id), pg_advisory_lock(25), 1 / (id - 3) FROM jobs WHERE id = 3;
ROLLBACK TO b;
SELECT objid FROM held ORDER BY 1;
COMMIT;
SELECT pg_advisory_unlock_all();
-- In routines.
CREATE FUNCTION locks(k bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  BEGIN
    PERFORM pg_advisory_xact_lock(k);
    PERFORM pg_advisory_lock(k + 1);
    RAISE EXCEPTION 'back';
  EXCEPTION WHEN raise_exception THEN
    RAISE NOTICE '% held', (SELECT count(*) FROM held);
  END;
  RETURN pg_try_advisory_xact_lock(k + 2);
END $$;
SELECT locks(30), (SELECT 1);
SELECT objid FROM held ORDER BY 1;
BEGIN;
SELECT locks(40);
SELECT objid FROM held ORDER BY 1;
COMMIT;
DO $$ BEGIN
  FOR i IN 1..3 LOOP PERFORM pg_advisory_lock(50); END LOOP;
  PERFORM pg_advisory_unlock(50);
END $$;
SELECT pg_advisory_unlock(50), pg_advisory_unlock(50), pg_advisory_unlock(50);
-- Of several rows, as often as there are.
SELECT id FROM jobs WHERE pg_try_advisory_lock(id) AND id > 3 ORDER BY id;
SELECT objid FROM held ORDER BY 1;
BEGIN READ ONLY;
SELECT pg_advisory_xact_lock(id) FROM jobs WHERE id = 2;
SELECT objid FROM held WHERE objid <= 3;
COMMIT;
SELECT pg_blocking_pids(pg_backend_pid()), pg_isolation_test_session_is_blocked(pg_backend_pid(), ARRAY[1, 2]), pg_blocking_pids(0);
DISCARD ALL;
SELECT count(*) FROM held;
