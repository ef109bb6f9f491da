-- Shifts of a hospital: exclusion of double duty, rest hours by trigger, rights by role, swaps, a roster made by recursion.
SET timezone = 'Europe/Vienna';
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE SCHEMA hr;
CREATE SCHEMA ward;
CREATE TYPE hr.grade AS ENUM ('trainee', 'nurse', 'senior', 'doctor');
CREATE TABLE hr.staff (id int PRIMARY KEY, name text NOT NULL UNIQUE, grade hr.grade NOT NULL, hours_max int NOT NULL DEFAULT 40, skills text[] NOT NULL DEFAULT '{}', boss int REFERENCES hr.staff DEFERRABLE INITIALLY IMMEDIATE);
CREATE TABLE ward.wards (id serial PRIMARY KEY, name text NOT NULL UNIQUE, needs jsonb NOT NULL DEFAULT '{}');
CREATE TABLE ward.shifts (id bigserial PRIMARY KEY, ward int NOT NULL REFERENCES ward.wards, staff int NOT NULL REFERENCES hr.staff, during tstzrange NOT NULL CHECK (NOT isempty(during)), note text,
  CONSTRAINT at_one_place EXCLUDE USING gist (staff WITH =, during WITH &&),
  CONSTRAINT bounded CHECK (lower(during) IS NOT NULL AND upper(during) IS NOT NULL AND upper(during) - lower(during) <= interval '13 hours'));
CREATE TABLE ward.swaps (shift bigint REFERENCES ward.shifts ON DELETE CASCADE, was int NOT NULL, is_now int NOT NULL, n int NOT NULL, PRIMARY KEY (shift, n));
CREATE TABLE ward.journal (at int GENERATED ALWAYS AS IDENTITY, who name NOT NULL DEFAULT current_user, what text, row_old jsonb, row_new jsonb);
INSERT INTO hr.staff VALUES (1, 'Dr. Adler', 'doctor', 60, '{icu,surgery}', NULL), (2, 'Berta', 'senior', 40, '{icu}', 1), (3, 'Cem', 'nurse', 40, '{}', 2), (4, 'Dana', 'nurse', 20, '{icu,dialysis}', 2), (5, 'Egon', 'trainee', 38, '{}', 3);
INSERT INTO ward.wards (name, needs) VALUES ('ICU', '{"skills": ["icu"], "night": 2}'), ('Surgery', '{"skills": []}');
CREATE FUNCTION ward.rest() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE near record; total interval; lacking text[];
BEGIN
  SELECT s.* INTO near FROM ward.shifts s WHERE s.staff = NEW.staff AND s.id <> NEW.id
    AND s.during && tstzrange(lower(NEW.during) - interval '11 hours', upper(NEW.during) + interval '11 hours') AND NOT s.during && NEW.during ORDER BY lower(s.during) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'rest of % is too short', (SELECT name FROM hr.staff WHERE id = NEW.staff)
      USING DETAIL = format('Shift %s ends %s.', near.id, to_char(upper(near.during), 'DD.MM. HH24:MI')), ERRCODE = 'HO001';
  END IF;
  SELECT sum(upper(during) - lower(during)) INTO total FROM ward.shifts WHERE staff = NEW.staff AND id <> NEW.id AND date_trunc('week', lower(during)) = date_trunc('week', lower(NEW.during));
  total := coalesce(total, '0') + (upper(NEW.during) - lower(NEW.during));
  IF extract(epoch FROM total) / 3600 > (SELECT hours_max FROM hr.staff WHERE id = NEW.staff) THEN RAISE EXCEPTION '% hours in a week', justify_hours(total) USING ERRCODE = 'HO002'; END IF;
  lacking := ARRAY(SELECT jsonb_array_elements_text(needs -> 'skills') FROM ward.wards WHERE id = NEW.ward EXCEPT SELECT unnest(skills) FROM hr.staff WHERE id = NEW.staff);
  IF cardinality(lacking) > 0 THEN RAISE WARNING '% lacks %', NEW.staff, array_to_string(lacking, ' and '); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER rest BEFORE INSERT OR UPDATE OF staff, during ON ward.shifts FOR EACH ROW EXECUTE FUNCTION ward.rest();
CREATE FUNCTION ward.audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = ward, pg_temp AS $$
DECLARE o jsonb; n jsonb;
BEGIN
  IF TG_OP IN ('UPDATE', 'DELETE') THEN o := to_jsonb(OLD) - 'during'; END IF;
  IF TG_OP IN ('UPDATE', 'INSERT') THEN n := to_jsonb(NEW) - 'during'; END IF;
  IF TG_OP = 'UPDATE' THEN
    SELECT jsonb_object_agg(a.key, a.value), jsonb_object_agg(a.key, b.value) INTO o, n FROM jsonb_each(o) a JOIN jsonb_each(n) b USING (key) WHERE a.value IS DISTINCT FROM b.value;
    IF OLD.staff <> NEW.staff THEN
      INSERT INTO swaps SELECT NEW.id, OLD.staff, NEW.staff, count(*) + 1 FROM swaps WHERE shift = NEW.id;
    END IF;
  END IF;
  INSERT INTO journal (who, what, row_old, row_new) VALUES (session_user, concat_ws(' ', TG_OP, TG_TABLE_SCHEMA, TG_RELNAME), o, n);
  RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER z_audit AFTER INSERT OR UPDATE OR DELETE ON ward.shifts FOR EACH ROW EXECUTE PROCEDURE ward.audit();
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 2, '[2024-03-29 06:00,2024-03-29 14:00)'), (1, 4, '[2024-03-29 14:00,2024-03-29 22:00)'), (2, 3, '[2024-03-30 20:00,2024-03-31 08:00)');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 2, '[2024-03-29 13:00,2024-03-29 16:00)');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 2, '[2024-03-29 20:00,2024-03-29 23:00)');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 4, '[2024-03-31 06:00,2024-03-31 18:30)');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 3, '[2024-04-02 06:00,2024-04-02 12:00]'), (1, 5, '(2024-04-02 06:00,2024-04-02 12:00)');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 1, '[2024-04-02 06:00,)');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 1, 'empty');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 1, '[2024-04-03,2024-04-02]');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 1, '[2024-04-03,2024-04-02');
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 77, '[2024-04-03 08:00,2024-04-03 09:00]');
SELECT id, staff, during, upper(during) - lower(during) AS long FROM ward.shifts ORDER BY lower(during), id;
UPDATE ward.shifts SET staff = 1 WHERE id = 3 RETURNING id, staff;
UPDATE ward.shifts SET note = 'handover', staff = 3 WHERE id = 3;
UPDATE ward.shifts SET note = note WHERE id = 1;
SELECT at, what, row_old, row_new FROM ward.journal ORDER BY at;
SELECT * FROM ward.swaps ORDER BY shift, n;
-- Who may see what.
CREATE ROLE hosp_nurse NOLOGIN;
CREATE ROLE hosp_head NOLOGIN IN ROLE hosp_nurse;
GRANT USAGE ON SCHEMA ward TO hosp_nurse;
GRANT SELECT, UPDATE (note) ON ward.shifts TO hosp_nurse;
GRANT USAGE ON SCHEMA hr TO hosp_head;
GRANT SELECT (id, name, grade) ON hr.staff TO hosp_head;
ALTER TABLE ward.shifts ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION ward.me() RETURNS int LANGUAGE sql STABLE AS $$ SELECT nullif(current_setting('ward.me', true), '')::int $$;
CREATE POLICY own ON ward.shifts FOR SELECT TO hosp_nurse USING (staff = ward.me());
CREATE POLICY heads ON ward.shifts TO hosp_head USING (true) WITH CHECK (note IS NULL OR length(note) < 20);
CREATE POLICY notes ON ward.shifts FOR UPDATE TO hosp_nurse USING (staff = ward.me()) WITH CHECK (note <> '');
SET ROLE hosp_nurse;
SELECT count(*) FROM ward.shifts;
SET ward.me = 4;
SELECT id, note FROM ward.shifts ORDER BY id;
UPDATE ward.shifts SET note = 'mine' RETURNING id;
UPDATE ward.shifts SET note = '' WHERE id = 2;
UPDATE ward.shifts SET staff = 4 WHERE id = 2;
DELETE FROM ward.shifts;
SELECT * FROM hr.staff;
SELECT * FROM ward.journal;
SET ROLE hosp_head;
SELECT s.id, p.name, s.note FROM ward.shifts s JOIN hr.staff p ON p.id = s.staff ORDER BY s.id;
SELECT p.skills FROM hr.staff p;
SELECT * FROM hr.staff;
SELECT count(*) FROM hr.staff;
UPDATE ward.shifts SET note = repeat('long ', 5) WHERE id = 1;
UPDATE ward.shifts SET note = 'head' WHERE id = 1;
INSERT INTO ward.shifts (ward, staff, during) VALUES (1, 1, '[2024-05-03 08:00,2024-05-03 09:00]');
RESET ROLE;
SELECT who = current_user, what, row_new FROM ward.journal WHERE row_new ? 'note' AND row_new ->> 'note' = 'head';
SELECT has_table_privilege('hosp_nurse', 'ward.shifts', 'UPDATE'), has_column_privilege('hosp_nurse', 'ward.shifts', 'note', 'UPDATE'), has_schema_privilege('hosp_head', 'ward', 'USAGE'), pg_has_role('hosp_head', 'hosp_nurse', 'MEMBER');
-- A roster: who follows whom, round robin, over a week with a clock change.
WITH RECURSIVE roster(n, starts, who) AS (
    SELECT 1, timestamptz '2024-03-30 19:00', 1
    UNION ALL
    SELECT n + 1, starts + interval '12 hours', 1 + who % (SELECT count(*)::int FROM hr.staff) FROM roster WHERE n < 6)
  SELECT n, to_char(starts, 'Dy HH24:MI OF'), (SELECT name FROM hr.staff WHERE id = who), starts::time > '12:00' AS night FROM roster;
WITH RECURSIVE chain AS (SELECT id, name, boss, ARRAY[name] AS line FROM hr.staff WHERE boss IS NULL UNION ALL SELECT s.id, s.name, s.boss, line || s.name FROM hr.staff s JOIN chain c ON s.boss = c.id) CYCLE id SET again USING seen
  SELECT array_to_string(line, ' > '), again FROM chain ORDER BY line;
UPDATE hr.staff SET boss = 5 WHERE id = 1;
WITH RECURSIVE chain AS (SELECT id, boss FROM hr.staff WHERE id = 5 UNION ALL SELECT s.id, s.boss FROM hr.staff s JOIN chain c ON s.id = c.boss) CYCLE id SET again TO 'yes' DEFAULT 'no' USING seen
  SELECT id, again, seen FROM chain ORDER BY cardinality(seen), again;
SELECT w.name, min(lower(s.during)), max(upper(s.during)) FROM ward.wards w JOIN ward.shifts s ON s.ward = w.id WHERE lower(s.during) < '2024-03-30' GROUP BY w.name;
SELECT grade, count(*), array_agg(name ORDER BY name), max(hours_max) FILTER (WHERE 'icu' = ANY (skills)) FROM hr.staff GROUP BY grade HAVING count(*) >= 1 ORDER BY grade DESC;
SELECT s.name, x.day, x.hours FROM hr.staff s LEFT JOIN LATERAL (SELECT lower(during)::date AS day, sum(extract(epoch FROM upper(during) - lower(during)) / 3600)::numeric(5,1) AS hours FROM ward.shifts WHERE staff = s.id GROUP BY 1 ORDER BY 1 LIMIT 1) x ON true ORDER BY s.id;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY upper(during) - lower(during)), percentile_disc(ARRAY[0, 0.9]) WITHIN GROUP (ORDER BY id), mode() WITHIN GROUP (ORDER BY ward) FROM ward.shifts;
DROP OWNED BY hosp_nurse, hosp_head;
DROP ROLE hosp_head, hosp_nurse;
SELECT polname FROM pg_policy ORDER BY 1;
DROP SCHEMA hr CASCADE;
DROP TABLE ward.wards CASCADE;
