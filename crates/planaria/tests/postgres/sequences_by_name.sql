-- Sequences whose names are computed.
CREATE SEQUENCE a_seq;
CREATE SCHEMA "Other one";
CREATE SEQUENCE "Other one"."b'seq" START 100 INCREMENT -5 MINVALUE -1000 MAXVALUE 100;
CREATE TABLE kept (id bigint PRIMARY KEY, name text);
SELECT nextval('a' || '_seq'), nextval(concat('a', '_seq')), currval('a' || lower('_SEQ'));
SELECT nextval(c.oid::regclass) FROM pg_class c WHERE relname IN ('a_seq', 'b''seq') ORDER BY relname;
SELECT setval('a' || '_seq', 50), nextval('a_seq');
SELECT setval('a' || '_seq', 70, false), nextval('a_seq');
SELECT setval('a' || '_seq', NULL), nextval('a_seq');
SELECT nextval(NULL::text || '_seq'), nextval(NULL);
SELECT nextval('nothing' || '_seq');
SELECT nextval('kept'::text || '');
SELECT nextval('a' || '_seq') FROM generate_series(1, 3);
CREATE FUNCTION next_of(name text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN nextval(name || '_seq');
END $$;
CREATE FUNCTION next_sql(name text) RETURNS bigint LANGUAGE sql AS $$ SELECT nextval(name || '_seq') * 2 $$;
SELECT next_of('a'), next_sql('a');
CREATE FUNCTION give_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := coalesce(NEW.id, nextval(TG_ARGV[0] || '_seq'));
    RETURN NEW;
END $$;
CREATE TRIGGER give_id BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION give_id('a');
INSERT INTO kept (name) VALUES ('one'), ('two');
INSERT INTO kept VALUES (1000, 'three');
TABLE kept;
CREATE TABLE stamped (id bigint DEFAULT next_of('a'), n int DEFAULT nextval('a' || '_seq'));
INSERT INTO stamped (n) VALUES (1);
INSERT INTO stamped DEFAULT VALUES;
TABLE stamped;
PREPARE next (text) AS SELECT nextval($1);
EXECUTE next('a_seq');
EXECUTE next('"Other one"."b''seq"');
EXECUTE next('absent');
PREPARE typed AS SELECT nextval($1), pg_typeof($1);
EXECUTE typed('a_seq');
SELECT lastval(), currval('a' || '_seq');
DO $$
BEGIN
    PERFORM nextval('no' || 'thing');
EXCEPTION WHEN undefined_table THEN
    RAISE NOTICE '% %', SQLSTATE, SQLERRM;
END $$;
