-- SET clauses of routines: where they are kept, what they do, and what is back afterwards.
CREATE SCHEMA admin;
CREATE SCHEMA app;
CREATE TABLE t (id int PRIMARY KEY, v text);
CREATE TABLE admin.t (id int PRIMARY KEY, v text);
CREATE TABLE app.t (id int PRIMARY KEY, v text);
INSERT INTO t VALUES (1, 'public');
INSERT INTO admin.t VALUES (1, 'admin');
INSERT INTO app.t VALUES (1, 'app');
CREATE FUNCTION helper() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT v FROM t WHERE id = 1); END $$;
CREATE FUNCTION of_admin() RETURNS text LANGUAGE plpgsql SET search_path = admin, public AS $$
BEGIN RETURN (SELECT v FROM t WHERE id = 1); END $$;
CREATE FUNCTION of_app() RETURNS text LANGUAGE sql SET search_path TO app AS $$ SELECT v FROM t WHERE id = 1 $$;
SELECT of_admin(), of_app(), helper();
-- what it calls looks for names along its path, what it executes too
CREATE FUNCTION calls() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, public, pg_temp AS $$
DECLARE a text; b text;
BEGIN
    a := helper();
    EXECUTE 'SELECT v FROM t WHERE id = 1' INTO b;
    RETURN a || ' ' || b || ' ' || of_admin() || ' ' || helper() || ' ' || current_schema() || ' ' || current_setting('search_path');
END $$;
SELECT calls(), helper(), current_setting('search_path');
SET search_path = admin, public;
SELECT helper(), calls(), of_app(), of_admin(), helper();
RESET search_path;
CREATE PROCEDURE put(p_id int, p_v text) LANGUAGE plpgsql SET search_path = app AS $$
BEGIN
    INSERT INTO t VALUES (p_id, p_v);
    UPDATE t SET v = v || '!' WHERE id = p_id;
END $$;
CALL put(2, 'two');
CREATE PROCEDURE both_of(p_id int) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO t VALUES (p_id, 'both');
    CALL put(p_id, 'by both');
    INSERT INTO t VALUES (p_id + 1, helper());
END $$;
CALL both_of(5);
SELECT 'public', * FROM t UNION ALL SELECT 'app', * FROM app.t ORDER BY 1, 2;
-- temporary relations come first, unless the path says where
CREATE TEMP TABLE t (id int, v text);
INSERT INTO t VALUES (1, 'temporary');
CREATE FUNCTION temp_last() RETURNS text LANGUAGE plpgsql SET search_path = app, pg_temp AS $$ BEGIN RETURN (SELECT v FROM t WHERE id = 1); END $$;
SELECT of_admin(), of_app(), temp_last();
DROP TABLE pg_temp.t;
SELECT of_admin(), of_app(), temp_last();
-- schemas that are not there
CREATE FUNCTION nowhere() RETURNS text LANGUAGE plpgsql SET search_path = none, app AS $$ BEGIN RETURN (SELECT v FROM t WHERE id = 1); END $$;
SELECT nowhere();
CREATE SCHEMA none;
CREATE TABLE none.t AS SELECT 1 AS id, 'none'::text AS v;
SELECT nowhere();
CREATE FUNCTION unnamed() RETURNS text LANGUAGE plpgsql SET search_path = '' AS $$ BEGIN RETURN (SELECT v FROM t WHERE id = 1); END $$;
SELECT unnamed();
CREATE FUNCTION wrong() RETURNS int LANGUAGE sql SET search_path = app AS $$ SELECT count(*)::int FROM helper $$;
-- triggers
CREATE TABLE log (what text);
CREATE TABLE app.log (what text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp AS $$
BEGIN INSERT INTO log VALUES (TG_OP || ' ' || current_schema() || ' ' || NEW.v); RETURN NEW; END $$;
CREATE TRIGGER noted AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO t VALUES (9, 'nine');
SELECT (SELECT count(*) FROM log), what FROM app.log;
-- settings of any kind
CREATE FUNCTION shown() RETURNS text LANGUAGE plpgsql SET work_mem = '8MB' SET app.who TO 'robot' SET timezone = 'Asia/Tokyo' SET enable_seqscan = off SET lock_timeout = 500 AS $$
BEGIN
    RETURN concat_ws(' ', current_setting('work_mem'), current_setting('app.who'), current_setting('TimeZone'),
        current_setting('enable_seqscan'), current_setting('lock_timeout'),
        timestamptz '2024-01-01 00:00:00+00');
END $$;
SET app.who = 'me';
SELECT shown(), current_setting('app.who'), current_setting('timezone'), timestamptz '2024-01-01 00:00:00+00';
CREATE FUNCTION outer_one() RETURNS text LANGUAGE plpgsql SET app.who = 'outer' AS $$
BEGIN RETURN current_setting('app.who') || ' ' || shown() || ' ' || current_setting('app.who'); END $$;
SELECT outer_one(), current_setting('app.who');
-- also on errors
CREATE FUNCTION fails() RETURNS text LANGUAGE plpgsql SET app.who = 'failing' SET timezone = 'America/New_York' SET search_path = app AS $$
BEGIN RAISE EXCEPTION 'as % in % of %', current_setting('app.who'), current_setting('timezone'), current_schema(); END $$;
SELECT fails();
SELECT current_setting('app.who'), current_setting('timezone'), current_schema();
DO $$
BEGIN
    BEGIN
        PERFORM fails();
    EXCEPTION WHEN OTHERS THEN
        RAISE NOTICE 'caught "%", now % % % %', sqlerrm, current_setting('app.who'), current_setting('timezone'), current_schema(), timestamptz '2024-01-01 00:00:00+00';
    END;
END $$;
-- SET LOCAL of the same setting is over with the routine, SET is not
CREATE FUNCTION local_in() RETURNS text LANGUAGE plpgsql SET app.who = 'clause' AS $$
BEGIN PERFORM set_config('app.who', 'local', true); RETURN current_setting('app.who'); END $$;
CREATE FUNCTION session_in() RETURNS text LANGUAGE plpgsql SET app.who = 'clause' AS $$
BEGIN PERFORM set_config('app.who', 'session', false); RETURN current_setting('app.who'); END $$;
CREATE FUNCTION other_in() RETURNS text LANGUAGE plpgsql SET app.who = 'clause' AS $$
BEGIN PERFORM set_config('app.other', 'local', true); RETURN current_setting('app.other'); END $$;
BEGIN;
SELECT local_in(), current_setting('app.who');
SELECT other_in();
SELECT current_setting('app.who'), current_setting('app.other');
COMMIT;
SELECT current_setting('app.who'), current_setting('app.other');
SELECT session_in();
SELECT current_setting('app.who');
BEGIN;
SET LOCAL app.who = 'block';
SELECT session_in();
SELECT current_setting('app.who');
ROLLBACK;
SELECT current_setting('app.who');
SET app.who = 'me';
-- SET in bodies
CREATE FUNCTION sets() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text;
BEGIN
    SET LOCAL timezone = 'Asia/Tokyo';
    a := timestamptz '2024-01-01 00:00:00+00';
    SET timezone TO DEFAULT;
    SET app.who = 'set';
    EXECUTE 'SET LOCAL app.other = ''executed''';
    RETURN a || ' ' || timestamptz '2024-01-01 00:00:00+00' || ' ' || current_setting('app.who') || ' ' || current_setting('app.other');
END $$;
SELECT sets();
SELECT current_setting('app.who'), current_setting('app.other'), current_setting('timezone');
CREATE FUNCTION sets_and_fails() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    SET app.who = 'before';
    BEGIN
        SET app.who = 'within';
        SET LOCAL timezone = 'Asia/Tokyo';
        RAISE EXCEPTION 'no';
    EXCEPTION WHEN OTHERS THEN
        RAISE NOTICE 'back to % in %: %', current_setting('app.who'), current_setting('timezone'), timestamptz '2024-01-01 00:00:00+00';
    END;
    RESET app.who;
    RAISE NOTICE 'reset to "%"', current_setting('app.who');
    SET nonsense = 1;
END $$;
SELECT sets_and_fails();
SELECT current_setting('app.who');
DO $$ BEGIN SET LOCAL work_mem = '1kB'; END $$;
DO $$ BEGIN SET LOCAL work_mem = '16MB'; RAISE NOTICE '%', current_setting('work_mem'); END $$;
SHOW work_mem;
-- how it is kept and shown
SELECT proname, prosecdef, proconfig FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proconfig IS NOT NULL ORDER BY proname;
SELECT pg_get_functiondef('calls'::regproc);
SELECT pg_get_functiondef('shown'::regproc);
SELECT pg_get_functiondef('put'::regproc);
ALTER FUNCTION of_app() SET search_path = admin;
SELECT of_app();
ALTER FUNCTION of_app() SET search_path TO "$user", "Odd one", public SECURITY DEFINER;
SELECT of_app(), proconfig FROM pg_proc WHERE proname = 'of_app';
ALTER FUNCTION of_app() RESET search_path SECURITY INVOKER;
SELECT of_app(), proconfig FROM pg_proc WHERE proname = 'of_app';
ALTER FUNCTION shown() SET work_mem TO DEFAULT SET app.who = 'other';
SELECT shown(), proconfig FROM pg_proc WHERE proname = 'shown';
ALTER ROUTINE shown() RESET ALL SET app.who = 'last';
SELECT proconfig FROM pg_proc WHERE proname = 'shown';
ALTER PROCEDURE put RESET ALL;
CALL put(77, 'in public');
SELECT * FROM t WHERE id = 77;
SET search_path = app, public;
SET app.who = 'it''s me';
CREATE FUNCTION public.frozen() RETURNS text LANGUAGE sql SET search_path FROM CURRENT SET app.who FROM CURRENT AS $$ SELECT v || current_setting('app.who') FROM t WHERE id = 1 $$;
RESET search_path;
RESET app.who;
SELECT frozen(), proconfig FROM pg_proc WHERE proname = 'frozen';
ALTER FUNCTION frozen() SET app.who FROM CURRENT;
SELECT frozen(), proconfig FROM pg_proc WHERE proname = 'frozen';
CREATE OR REPLACE FUNCTION frozen() RETURNS text LANGUAGE sql AS $$ SELECT v FROM t WHERE id = 1 $$;
SELECT frozen(), proconfig FROM pg_proc WHERE proname = 'frozen';
-- what cannot be
CREATE FUNCTION bad() RETURNS int LANGUAGE sql SET nonsense = 1 AS $$ SELECT 1 $$;
CREATE FUNCTION bad() RETURNS int LANGUAGE sql SET work_mem = 'much' AS $$ SELECT 1 $$;
CREATE FUNCTION bad() RETURNS int LANGUAGE sql SET timezone = 'Nowhere/At_all' AS $$ SELECT 1 $$;
CREATE FUNCTION bad() RETURNS int LANGUAGE sql SET work_mem AS $$ SELECT 1 $$;
CREATE FUNCTION bad() RETURNS int LANGUAGE sql SET LOCAL work_mem = '1MB' AS $$ SELECT 1 $$;
ALTER FUNCTION frozen() SET nonsense FROM CURRENT;
ALTER FUNCTION frozen() RESET nonsense;
-- rights: the path of a definer is its own
CREATE ROLE keeper;
CREATE ROLE caller;
GRANT USAGE ON SCHEMA app TO keeper;
GRANT SELECT ON app.t TO keeper;
CREATE FUNCTION kept() RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = admin, app AS $$ BEGIN RETURN current_user || ' ' || (SELECT v FROM t WHERE id = 1); END $$;
ALTER FUNCTION kept() OWNER TO keeper;
SELECT kept();
SET ROLE caller;
SELECT kept();
SELECT of_admin();
RESET ROLE;
REVOKE SELECT ON app.t FROM keeper;
SELECT kept();
SET ROLE caller;
SELECT kept();
RESET ROLE;
