-- Privileges on columns.
CREATE ROLE colin;
CREATE ROLE colette;
CREATE ROLE colboss;
CREATE TABLE staff (id int PRIMARY KEY, name text, salary numeric, dept int DEFAULT 1, note text);
INSERT INTO staff VALUES (1, 'ann', 100, 1, 'a'), (2, 'bob', 200, 2, 'b');
GRANT SELECT (id, name), UPDATE (name, note), INSERT (id, name) ON staff TO colin;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum;
SELECT relacl FROM pg_class WHERE relname = 'staff';
SET ROLE colin;
SELECT id, name FROM staff ORDER BY id;
SELECT * FROM staff;
SELECT salary FROM staff;
SELECT count(*) FROM staff;
SELECT 1 FROM staff;
SELECT s.name FROM staff s WHERE s.salary > 100;
SELECT name FROM staff ORDER BY salary;
SELECT s FROM staff s;
SELECT s.* FROM staff s;
SELECT x.a FROM (SELECT name AS a FROM staff) x ORDER BY 1;
SELECT x.id FROM staff AS x(k, n) ORDER BY 1;
SELECT x.k, x.n FROM staff AS x(k, n) ORDER BY 1;
SELECT a.id FROM staff a JOIN staff b USING (id) ORDER BY 1;
SELECT a.id FROM staff a JOIN staff b USING (salary);
SELECT a.id FROM staff a NATURAL JOIN staff b;
SELECT tableoid FROM staff;
SELECT max(salary) FROM staff;
SELECT name, count(*) FROM staff GROUP BY name ORDER BY name;
SELECT (SELECT max(id) FROM staff), EXISTS (SELECT FROM staff WHERE name = 'ann'), EXISTS (SELECT salary FROM staff);
SELECT id FROM staff WHERE name = 'ann' FOR UPDATE;
SELECT id FROM staff WHERE name = 'ann' FOR SHARE;
WITH w AS (SELECT id FROM staff) SELECT * FROM w ORDER BY id;
UPDATE staff SET name = 'anna' WHERE id = 1;
UPDATE staff SET name = 'anna' WHERE salary = 100;
UPDATE staff SET salary = 1;
UPDATE staff SET note = 'x';
UPDATE staff SET note = note || 'y';
UPDATE staff SET (name, note) = ('n', 'm') WHERE id = 1 RETURNING id, name;
UPDATE staff SET name = 'n' WHERE id = 1 RETURNING *;
UPDATE staff SET name = 'n' WHERE id = 1 RETURNING note;
INSERT INTO staff (id, name) VALUES (3, 'cy');
INSERT INTO staff VALUES (4, 'di');
INSERT INTO staff VALUES (5, 'ed', 5);
INSERT INTO staff (id, dept) VALUES (6, 6);
INSERT INTO staff (id, name) VALUES (7, 'fay') RETURNING id;
INSERT INTO staff (id, name) VALUES (8, 'gus') RETURNING salary;
INSERT INTO staff (id, name) SELECT id + 100, name FROM staff WHERE id = 1;
INSERT INTO staff (id, name) SELECT id + 200, note FROM staff;
INSERT INTO staff (id, name) VALUES (1, 'q') ON CONFLICT (id) DO NOTHING;
INSERT INTO staff (id, name) VALUES (1, 'q') ON CONFLICT (id) DO UPDATE SET name = excluded.name || '!';
INSERT INTO staff (id, name) VALUES (1, 'q') ON CONFLICT (id) DO UPDATE SET salary = 7;
INSERT INTO staff (id, name) VALUES (1, 'q') ON CONFLICT (id) DO UPDATE SET name = staff.note;
INSERT INTO staff (id, name) VALUES (1, 'q') ON CONFLICT ON CONSTRAINT staff_pkey DO NOTHING;
DELETE FROM staff WHERE id = 1;
TRUNCATE staff;
MERGE INTO staff USING (VALUES (1)) v(k) ON id = k WHEN MATCHED THEN UPDATE SET name = 'merged';
MERGE INTO staff USING (VALUES (1)) v(k) ON id = k WHEN MATCHED THEN UPDATE SET salary = 0;
MERGE INTO staff USING (VALUES (9)) v(k) ON id = k WHEN NOT MATCHED THEN INSERT (id, name) VALUES (k, 'nine');
MERGE INTO staff USING (VALUES (10)) v(k) ON id = k WHEN NOT MATCHED THEN INSERT (id, dept) VALUES (k, 10);
MERGE INTO staff USING (VALUES (1)) v(k) ON dept = k WHEN MATCHED THEN UPDATE SET name = 'merged';
GRANT SELECT (id) ON staff TO colette;
RESET ROLE;
SELECT * FROM staff ORDER BY id;
SELECT has_column_privilege('colin', 'staff', 'name', 'SELECT'), has_column_privilege('colin', 'staff', 'salary', 'SELECT'),
       has_column_privilege('colin', 'staff', 2::int2, 'UPDATE'), has_column_privilege('colin', 'staff', 'id', 'UPDATE'),
       has_any_column_privilege('colin', 'staff', 'SELECT'), has_any_column_privilege('colin', 'staff', 'REFERENCES'),
       has_table_privilege('colin', 'staff', 'SELECT'), has_column_privilege('colin', 'staff', 'name', 'SELECT WITH GRANT OPTION');
SELECT has_column_privilege('colin', 'staff', 'none', 'SELECT');
SELECT has_column_privilege('colin', 'staff', 99::int2, 'SELECT') IS NULL;
SELECT has_column_privilege('colette', 'staff', 'id', 'SELECT,INSERT'), has_any_column_privilege('colette', 'staff', 'SELECT');
SELECT has_column_privilege('public', 'staff', 'id', 'SELECT');
-- Of views.
CREATE VIEW wages AS SELECT id, name, salary FROM staff;
CREATE VIEW sums AS SELECT dept, sum(salary) AS total FROM staff GROUP BY dept;
GRANT SELECT (id, salary), UPDATE (salary) ON wages TO colette;
GRANT SELECT (total) ON sums TO colette;
SET ROLE colette;
SELECT id, salary FROM wages WHERE id < 3 ORDER BY id;
SELECT name FROM wages;
SELECT * FROM wages;
SELECT count(*) FROM wages;
SELECT total FROM sums ORDER BY total NULLS LAST;
SELECT dept FROM sums;
SELECT id FROM staff;
UPDATE wages SET salary = salary + 1 WHERE id = 2 RETURNING id, salary;
UPDATE wages SET name = 'x' WHERE id = 2;
UPDATE wages SET salary = 1 WHERE name = 'x';
INSERT INTO wages (id) VALUES (50);
DELETE FROM wages;
RESET ROLE;
-- A view whose owner has some columns only.
GRANT CREATE ON SCHEMA public TO colin;
SET ROLE colin;
CREATE VIEW mine AS SELECT id, name FROM staff;
CREATE VIEW notmine AS SELECT id, salary FROM staff;
SELECT count(*) FROM mine;
SELECT id FROM notmine;
UPDATE mine SET name = 'via' WHERE id = 2 RETURNING name;
INSERT INTO mine VALUES (60, 'sixty');
DELETE FROM mine;
RESET ROLE;
-- Granting on.
GRANT SELECT (id, name) ON staff TO colboss WITH GRANT OPTION;
SET ROLE colboss;
GRANT SELECT (id) ON staff TO colette;
GRANT SELECT (salary) ON staff TO colette;
GRANT SELECT (id, salary) ON staff TO colette;
GRANT SELECT (id), UPDATE (id) ON staff TO colette;
GRANT ALL (name) ON staff TO colette;
GRANT SELECT ON staff TO colette;
RESET ROLE;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attacl IS NOT NULL AND NOT attisdropped ORDER BY attnum;
REVOKE SELECT (id) ON staff FROM colboss;
REVOKE GRANT OPTION FOR SELECT (name) ON staff FROM colboss CASCADE;
REVOKE SELECT (id) ON staff FROM colboss CASCADE;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attacl IS NOT NULL AND NOT attisdropped ORDER BY attnum;
-- What is granted on the table is enough; what is revoked there is revoked on columns.
GRANT SELECT ON staff TO colin;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attacl IS NOT NULL AND NOT attisdropped ORDER BY attnum;
SET ROLE colin;
SELECT count(salary) FROM staff;
RESET ROLE;
REVOKE SELECT ON staff FROM colin;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attacl IS NOT NULL AND NOT attisdropped ORDER BY attnum;
SET ROLE colin;
SELECT count(salary) FROM staff;
SELECT id FROM staff;
UPDATE staff SET note = 'still';
RESET ROLE;
-- Columns that are renamed keep their rights, dropped ones lose them.
ALTER TABLE staff RENAME note TO remark;
ALTER TABLE staff ADD COLUMN note text;
SET ROLE colin;
UPDATE staff SET remark = 'r';
UPDATE staff SET note = 'n';
RESET ROLE;
ALTER TABLE staff DROP COLUMN remark;
ALTER TABLE staff ADD COLUMN remark text;
SET ROLE colin;
UPDATE staff SET remark = 'r';
RESET ROLE;
-- REFERENCES.
CREATE TABLE parents (a int PRIMARY KEY, b int UNIQUE);
GRANT REFERENCES (a) ON parents TO colin;
SET ROLE colin;
CREATE TABLE children (a int REFERENCES parents, b int);
CREATE TABLE grandchildren (b int REFERENCES parents (b));
ALTER TABLE children ADD FOREIGN KEY (b) REFERENCES parents (b);
DROP TABLE children;
RESET ROLE;
-- Routines fail at the statement.
CREATE PROCEDURE touches(what text) LANGUAGE plpgsql AS $$
DECLARE n text;
BEGIN
    SELECT name INTO n FROM staff WHERE id = 2;
    RAISE NOTICE 'name %', n IS NOT NULL;
    IF what = 'read' THEN
        SELECT salary INTO n FROM staff WHERE id = 2;
    ELSIF what = 'write' THEN
        UPDATE staff SET salary = 0 WHERE id = 2;
    ELSIF what = 'catch' THEN
        BEGIN
            PERFORM salary FROM staff;
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE NOTICE 'caught: %', SQLERRM;
        END;
    ELSE
        UPDATE staff SET name = what WHERE id = 2;
    END IF;
END $$;
GRANT SELECT (id, name) ON staff TO colin;
SET ROLE colin;
CALL touches('fine');
CALL touches('read');
CALL touches('write');
CALL touches('catch');
DO $$ BEGIN PERFORM id FROM staff; RAISE NOTICE 'here'; PERFORM salary FROM staff; END $$;
RESET ROLE;
SELECT name, salary FROM staff WHERE id = 2;
-- What cannot be granted.
GRANT DELETE (id) ON staff TO colin;
GRANT TRIGGER (id) ON staff TO colin;
GRANT SELECT (none) ON staff TO colin;
GRANT SELECT (id) ON nothing TO colin;
GRANT USAGE (id) ON staff TO colin;
GRANT FROBNICATE (id) ON staff TO colin;
GRANT SELECT (id) ON SCHEMA public TO colin;
GRANT colin (id) TO colette;
CREATE FUNCTION nothing() RETURNS int LANGUAGE sql AS 'SELECT 1';
GRANT EXECUTE (id) ON FUNCTION nothing() TO colin;
GRANT SELECT (id, id) ON TABLE staff TO PUBLIC;
GRANT ALL PRIVILEGES (dept, salary) ON TABLE staff TO PUBLIC;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attacl IS NOT NULL AND NOT attisdropped ORDER BY attnum;
SELECT grantor, grantee, table_name, column_name, privilege_type, is_grantable FROM information_schema.column_privileges
    WHERE table_name IN ('staff', 'wages') AND grantee <> grantor ORDER BY 2, 3, 4, 5;
SELECT grantee, table_name, column_name, privilege_type FROM information_schema.role_column_grants
    WHERE table_name = 'staff' AND grantee = 'colin' ORDER BY 1, 2, 3, 4;
GRANT INSERT, DELETE ON wages TO colette;
SELECT grantor, grantee, table_name, privilege_type, is_grantable, with_hierarchy FROM information_schema.table_privileges
    WHERE table_name = 'wages' ORDER BY grantee, privilege_type;
REVOKE ALL (id, dept, salary) ON staff FROM PUBLIC;
ALTER TABLE staff OWNER TO colboss;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attacl IS NOT NULL AND NOT attisdropped ORDER BY attnum;
ALTER TABLE staff OWNER TO CURRENT_USER;
DROP VIEW mine, notmine;
DROP ROLE colin;
DROP OWNED BY colin, colette;
DROP ROLE colin, colette;
SELECT count(*) FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attacl IS NOT NULL AND NOT attisdropped;
DROP OWNED BY colboss;
DROP ROLE colboss;
-- Whole rows, what was proposed, defaults that are named.
CREATE ROLE colin;
CREATE TABLE vault (id int PRIMARY KEY, a int, secret text DEFAULT 'top');
INSERT INTO vault VALUES (1, 1, 'top');
GRANT UPDATE (a), INSERT (id, a), DELETE ON vault TO colin;
SET ROLE colin;
UPDATE vault SET a = 2 RETURNING vault;
UPDATE vault SET a = 2 WHERE vault::text LIKE '%top%';
UPDATE vault SET a = 2 RETURNING to_json(vault);
INSERT INTO vault (id, a) VALUES (2, 2) RETURNING vault;
DELETE FROM vault RETURNING vault;
MERGE INTO vault USING (SELECT 1 AS i) s ON true WHEN MATCHED AND vault::text LIKE '%top%' THEN UPDATE SET a = 3;
INSERT INTO vault (id, secret) VALUES (2, DEFAULT);
UPDATE vault SET a = 2;
RESET ROLE;
GRANT SELECT (id) ON vault TO colin;
SET ROLE colin;
INSERT INTO vault (id, a) VALUES (1, 9) ON CONFLICT (id) DO UPDATE SET a = length(excluded.secret);
INSERT INTO vault (id, a) VALUES (1, 9) ON CONFLICT (id) DO UPDATE SET a = excluded.id + 40;
SELECT table_name FROM information_schema.tables WHERE table_name = 'vault';
RESET ROLE;
SELECT * FROM vault;
DROP OWNED BY colin;
DROP ROLE colin;
