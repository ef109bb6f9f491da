CREATE TABLE parents(id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text);
CREATE TABLE children(id int PRIMARY KEY, parent int REFERENCES parents(id));
CREATE TABLE alone(id int PRIMARY KEY);
CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO parents(name) VALUES ('a'), ('b');
  INSERT INTO children SELECT id, id FROM parents;
  INSERT INTO alone VALUES (1), (2), (3);
END $$;
CREATE FUNCTION counts() RETURNS text LANGUAGE sql AS $$
  SELECT (SELECT count(*) FROM parents) || ' ' || (SELECT count(*) FROM children) || ' ' || (SELECT count(*) FROM alone);
$$;
CALL fill();
SELECT counts();
CREATE PROCEDURE empty(what text) LANGUAGE plpgsql AS $$
BEGIN
  IF what = 'alone' THEN
    TRUNCATE alone;
    RAISE NOTICE 'left %', (SELECT count(*) FROM alone);
  ELSIF what = 'parents' THEN
    TRUNCATE TABLE parents;
  ELSIF what = 'both' THEN
    TRUNCATE parents, children;
  ELSIF what = 'cascade' THEN
    TRUNCATE parents RESTART IDENTITY CASCADE;
  ELSE
    EXECUTE format('TRUNCATE %I CASCADE', what);
  END IF;
END $$;
CALL empty('alone');
SELECT counts();
CALL empty('parents');
SELECT counts();
CALL empty('both');
SELECT counts();
CALL fill();
CALL empty('cascade');
SELECT counts();
SELECT nextval('parents_id_seq') < 5;
INSERT INTO alone VALUES (7);
CALL empty('children');
SELECT counts();
CALL empty('nothing');
BEGIN;
CALL empty('alone');
SELECT counts();
ROLLBACK;
SELECT counts();
DO $$
BEGIN
  BEGIN
    TRUNCATE alone;
    RAISE EXCEPTION 'no';
  EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE '% %', SQLERRM, counts();
  END;
  TRUNCATE alone;
  INSERT INTO alone VALUES (8), (9);
  TRUNCATE alone;
  INSERT INTO alone VALUES (8);
END $$;
SELECT * FROM alone;
CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE '% % % %', TG_WHEN, TG_OP, TG_LEVEL, TG_TABLE_NAME;
  RETURN NULL;
END $$;
CREATE TRIGGER before_all BEFORE TRUNCATE ON alone FOR EACH STATEMENT EXECUTE FUNCTION told();
CREATE TRIGGER after_all AFTER TRUNCATE ON alone FOR EACH STATEMENT EXECUTE FUNCTION told();
CREATE TRIGGER gone AFTER DELETE ON alone FOR EACH ROW EXECUTE FUNCTION told();
CALL empty('alone');
SELECT * FROM alone;
CREATE VIEW seen AS SELECT * FROM alone;
DO $$
BEGIN
  TRUNCATE seen;
END $$;
DO $$
BEGIN
  EXECUTE 'TRUNCATE seen';
END $$;
BEGIN;
TRUNCATE parents CASCADE;
ROLLBACK;
TRUNCATE parents CASCADE;
CREATE ROLE cleaner;
SET ROLE cleaner;
DO $$
BEGIN
  TRUNCATE alone;
END $$;
RESET ROLE;
GRANT TRUNCATE ON alone TO cleaner;
SET ROLE cleaner;
DO $$
BEGIN
  TRUNCATE alone;
END $$;
RESET ROLE;
REVOKE ALL ON alone FROM cleaner;
DROP ROLE cleaner;
