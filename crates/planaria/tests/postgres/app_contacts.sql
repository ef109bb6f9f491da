-- Contacts of a sales team: one address in any case, merges of doubles, tags, soft deletes, imports by upsert.
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE TABLE companies (id bigserial PRIMARY KEY, name text NOT NULL, website text, created_at timestamp(6) without time zone NOT NULL DEFAULT '2024-01-01', updated_at timestamp(6) NOT NULL DEFAULT '2024-01-01');
CREATE UNIQUE INDEX index_companies_on_lower_name ON companies (lower(name));
CREATE TABLE contacts (
  id bigserial PRIMARY KEY, company_id bigint, email character varying NOT NULL, first_name character varying, last_name character varying,
  full_name text GENERATED ALWAYS AS (btrim(coalesce(first_name, '') || ' ' || coalesce(last_name, ''))) STORED,
  phone varchar(30), score integer DEFAULT 0 NOT NULL, "primary" boolean DEFAULT false NOT NULL, tags character varying[] DEFAULT '{}'::character varying[], settings jsonb DEFAULT '{}'::jsonb NOT NULL, deleted_at timestamp(6) without time zone, lock_version integer DEFAULT 0 NOT NULL,
  CONSTRAINT fk_rails_contacts_companies FOREIGN KEY (company_id) REFERENCES companies (id));
CREATE UNIQUE INDEX index_contacts_on_email ON public.contacts USING btree (lower((email)::text)) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX index_contacts_primary ON contacts (company_id) WHERE "primary" AND deleted_at IS NULL;
CREATE INDEX index_contacts_on_name ON contacts (last_name varchar_pattern_ops, first_name);
CREATE INDEX index_contacts_on_score ON contacts USING btree (score DESC NULLS LAST, id);
CREATE TABLE merges (id bigserial PRIMARY KEY, kept bigint REFERENCES contacts, gone bigint NOT NULL, before jsonb);
INSERT INTO companies (name, website) VALUES ('Acme', 'https://acme.example'), ('Bolt', NULL);
INSERT INTO companies (name) VALUES ('ACME');
INSERT INTO companies (name) VALUES ('acme'), ('New') ON CONFLICT (lower(name)) DO UPDATE SET updated_at = '2024-02-02' RETURNING id, name, updated_at;
INSERT INTO companies (name) VALUES ('acme') ON CONFLICT (name) DO NOTHING;
INSERT INTO contacts (company_id, email, first_name, last_name, "primary", tags) VALUES (1, 'Ann@Acme.example', 'Ann', 'Aro', true, '{vip,press}'), (1, 'bob@acme.example', 'Bob', NULL, false, DEFAULT), (2, 'cy@bolt.example', NULL, 'Cyr', true, ARRAY['vip']) RETURNING id, full_name;
INSERT INTO contacts (email, company_id, "primary") VALUES ('x@acme.example', 1, true);
INSERT INTO contacts (email, company_id) VALUES ('x@acme.example', 9);
INSERT INTO contacts (email, full_name) VALUES ('x@acme.example', 'X');
INSERT INTO contacts (email, phone) VALUES ('x@acme.example', repeat('1', 31));
INSERT INTO contacts AS c (email, first_name, score) VALUES ('ANN@ACME.example', 'Anna', 5), ('dan@else.example', 'Dan', 1)
  ON CONFLICT (lower(email)) WHERE deleted_at IS NULL DO UPDATE SET first_name = coalesce(EXCLUDED.first_name, c.first_name), score = c.score + EXCLUDED.score, lock_version = c.lock_version + 1 RETURNING id, full_name, score, lock_version;
INSERT INTO contacts (email) VALUES ('ANN@ACME.example') ON CONFLICT (lower(email)) DO NOTHING;
INSERT INTO contacts (email) VALUES ('e@e.example'), ('E@e.example') ON CONFLICT (lower(email)) WHERE deleted_at IS NULL DO UPDATE SET score = 1;
UPDATE contacts SET deleted_at = '2024-03-01' WHERE id = 1 AND lock_version = 0;
UPDATE contacts SET deleted_at = '2024-03-01', lock_version = lock_version + 1 WHERE id = 1 AND lock_version = 1 RETURNING lock_version;
INSERT INTO contacts (email, company_id, "primary", first_name) VALUES ('ann@acme.example', 1, true, 'Ann II') RETURNING id;
-- An import: lines that may be there already, wrong ones set aside.
CREATE TEMPORARY TABLE import (line serial, email text, name text, company text, tags text, CHECK (line > 0)) ON COMMIT DROP;
CREATE TEMPORARY TABLE import (line serial, email text, name text, company text, tags text);
INSERT INTO import (email, name, company, tags) VALUES ('bob@ACME.example', 'Bob Bee', 'acme', 'press; new'), ('eve@new.example', 'Eve van Dam', 'Newer Ltd', ''), ('nobody', 'No Body', NULL, NULL), ('dan@else.example', 'Dan', 'Bolt', 'vip;vip'), (NULL, 'Null', '', '');
WITH wanted AS (SELECT DISTINCT ON (lower(company)) company FROM import WHERE nullif(company, '') IS NOT NULL ORDER BY lower(company), line)
INSERT INTO companies (name) SELECT company FROM wanted ON CONFLICT (lower(name)) DO NOTHING RETURNING id, name;
WITH good AS (
  SELECT i.line, lower(trim(email)) AS email, split_part(i.name, ' ', 1) AS first_name, nullif(substr(i.name, strpos(i.name || ' ', ' ') + 1), '') AS last_name, c.id AS company_id, ARRAY(SELECT DISTINCT trim(t) FROM unnest(string_to_array(tags, ';')) t WHERE trim(t) <> '' ORDER BY 1) AS tags
    FROM import i LEFT JOIN companies c ON lower(c.name) = lower(i.company) WHERE email LIKE '%_@_%.__%')
INSERT INTO contacts (email, first_name, last_name, company_id, tags) SELECT email, first_name, last_name, company_id, tags FROM good ORDER BY line
  ON CONFLICT (lower(email)) WHERE deleted_at IS NULL DO UPDATE SET first_name = EXCLUDED.first_name, last_name = coalesce(EXCLUDED.last_name, contacts.last_name), company_id = coalesce(contacts.company_id, EXCLUDED.company_id), tags = (SELECT array_agg(DISTINCT x ORDER BY x) FROM unnest(contacts.tags || EXCLUDED.tags) x)
  RETURNING id, email, full_name, company_id, tags;
WITH good AS (
  SELECT i.line, lower(trim(email)) AS email, split_part(i.name, ' ', 1) AS first_name, nullif(substr(i.name, strpos(i.name || ' ', ' ') + 1), '') AS last_name, c.id AS company_id, ARRAY(SELECT DISTINCT trim(t) FROM unnest(string_to_array(tags, ';')) t WHERE trim(t) <> '' ORDER BY 1)::varchar[] AS tags
    FROM import i LEFT JOIN companies c ON lower(c.name) = lower(i.company) WHERE email LIKE '%_@_%.__%')
INSERT INTO contacts (email, first_name, last_name, company_id, tags) SELECT email, first_name, last_name, company_id, tags FROM good ORDER BY line
  ON CONFLICT (lower(email)) WHERE deleted_at IS NULL DO UPDATE SET first_name = EXCLUDED.first_name, last_name = coalesce(EXCLUDED.last_name, contacts.last_name), company_id = coalesce(contacts.company_id, EXCLUDED.company_id), tags = (SELECT array_agg(DISTINCT x ORDER BY x) FROM unnest(contacts.tags || EXCLUDED.tags) x)
  RETURNING id, email, full_name, company_id, tags;
SELECT line, coalesce(email, '<none>') AS email FROM import WHERE email IS NULL OR email NOT LIKE '%_@_%.__%' ORDER BY line;
-- Merging doubles.
CREATE FUNCTION merge_contacts(keep bigint, VARIADIC gone bigint[]) RETURNS contacts LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION merge_contacts(keep bigint, gone bigint) RETURNS contacts LANGUAGE plpgsql AS $$
DECLARE k contacts%ROWTYPE; g contacts%ROWTYPE;
BEGIN
  SELECT * INTO k FROM contacts WHERE id = keep FOR UPDATE;
  SELECT * INTO g FROM contacts WHERE id = gone FOR UPDATE;
  IF k.id IS NULL OR g.id IS NULL THEN
    RAISE EXCEPTION 'cannot merge % into %', gone, keep USING ERRCODE = 'no_data_found', DETAIL = concat_ws(' and ', CASE WHEN k.id IS NULL THEN keep END, CASE WHEN g.id IS NULL THEN gone END) || ' not found';
  END IF;
  INSERT INTO merges (kept, gone, before) VALUES (keep, gone, row_to_json(g)::jsonb - 'settings' - 'tags');
  DELETE FROM contacts WHERE id = gone;
  UPDATE contacts SET first_name = coalesce(k.first_name, g.first_name), last_name = coalesce(k.last_name, g.last_name), score = k.score + g.score, tags = array(SELECT DISTINCT unnest(k.tags || g.tags) ORDER BY 1), settings = g.settings || k.settings || jsonb_build_object('merged', coalesce(k.settings->'merged', '[]') || to_jsonb(gone)) WHERE id = keep RETURNING * INTO k;
  RETURN k;
END $$;
SELECT id, full_name, score, tags, settings FROM merge_contacts(2, 3);
SELECT (merge_contacts(2, 5)).full_name;
SELECT full_name, settings FROM merge_contacts(keep => 2, gone => 4);
SELECT merge_contacts(2, 77);
SELECT merge_contacts(2);
SELECT * FROM merges ORDER BY id;
DELETE FROM contacts WHERE id = 2;
MERGE INTO contacts c USING (SELECT lower(email) AS email, max(line) AS line FROM import WHERE email IS NOT NULL GROUP BY 1) i ON lower(c.email) = i.email AND c.deleted_at IS NULL
  WHEN MATCHED AND c.score > 3 THEN DO NOTHING
  WHEN MATCHED THEN UPDATE SET score = c.score + 10, settings = jsonb_set(c.settings, ARRAY['line'], to_jsonb(i.line))
  WHEN NOT MATCHED AND i.email LIKE '%@%' THEN INSERT (email, score) VALUES (i.email, -1);
SELECT id, email, full_name, score, tags, settings, deleted_at IS NOT NULL AS gone FROM contacts ORDER BY id;
SELECT coalesce(c.name, 'none') AS company, count(k.id) FILTER (WHERE deleted_at IS NULL) AS live, max(score), array_agg(k.full_name ORDER BY k.last_name NULLS LAST, k.id) FROM contacts k FULL JOIN companies c ON c.id = k.company_id GROUP BY c.id ORDER BY c.name COLLATE "C" NULLS LAST;
SELECT full_name FROM contacts WHERE full_name ILIKE 'a%' OR last_name ~ '^van ' ORDER BY lower(full_name);
SELECT email, regexp_replace(email, '^(.).*(@.*)$', '\1***\2') AS masked, split_part(email, '@', 2) AS host, md5(lower(email)) = md5(email) AS lower FROM contacts ORDER BY 1 LIMIT 2;
SELECT first_name || last_name AS nothing, concat(first_name, last_name), concat_ws(',', last_name, first_name), format('%s <%s>', full_name, email), initials FROM contacts, LATERAL (SELECT upper(left(first_name, 1) || left(last_name, 1)) AS initials) i ORDER BY email;
UPDATE contacts SET tags = tags || '{bulk}', score = DEFAULT WHERE 'vip' = ANY (tags) AND company_id IN (SELECT id FROM companies WHERE name ILIKE 'a%') RETURNING id, tags, score;
UPDATE contacts SET tags[1] = 'first' WHERE cardinality(tags) > 0;
UPDATE contacts c SET company_id = NULL FROM companies o WHERE o.id = c.company_id AND o.website IS NULL;
DELETE FROM companies o WHERE NOT EXISTS (SELECT 1 FROM contacts WHERE company_id = o.id) RETURNING name;
BEGIN;
SAVEPOINT active_record_1;
INSERT INTO contacts (email) VALUES (NULL);
ROLLBACK TO SAVEPOINT active_record_1;
RELEASE SAVEPOINT active_record_1;
SELECT 1 AS one FROM contacts WHERE lower(contacts.email) = lower('Ann@acme.example') AND contacts.deleted_at IS NULL LIMIT 1;
SELECT contacts.* FROM contacts WHERE contacts.id = 6 LIMIT 1 FOR UPDATE;
COMMIT;
ALTER TABLE contacts ADD CONSTRAINT email_form CHECK (email LIKE '%@%') NOT VALID;
ALTER TABLE contacts DROP COLUMN first_name;
ALTER INDEX index_contacts_on_score RENAME TO contacts_by_score;
ALTER SEQUENCE contacts_id_seq RESTART WITH 1000;
INSERT INTO contacts (email) VALUES ('z@z.example') RETURNING id, full_name;
SELECT setval('contacts_id_seq', 2000), nextval('contacts_id_seq'), currval('contacts_id_seq'), lastval(), pg_get_serial_sequence('contacts', 'id');
