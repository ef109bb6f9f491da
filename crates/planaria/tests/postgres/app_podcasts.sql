-- with contexts
-- Podcasts, as ActiveRecord has it: migrations, bigserial ids, timestamps(6), polymorphic comments, counter caches, single table inheritance, has_secure_token.
SET TIME ZONE 'UTC';
CREATE EXTENSION IF NOT EXISTS "pgcrypto";
CREATE EXTENSION IF NOT EXISTS "citext";
CREATE TABLE "schema_migrations" ("version" character varying NOT NULL PRIMARY KEY);
CREATE TABLE "ar_internal_metadata" ("key" character varying NOT NULL PRIMARY KEY, "value" character varying, "created_at" timestamp(6) NOT NULL, "updated_at" timestamp(6) NOT NULL);
INSERT INTO "ar_internal_metadata" ("key", "value", "created_at", "updated_at") VALUES ('environment', 'production', '2024-01-05 10:00:00.123456', '2024-01-05 10:00:00.123456') RETURNING "key";
CREATE TABLE "users" ("id" bigserial primary key, "email" citext NOT NULL, "name" character varying DEFAULT '' NOT NULL, "type" character varying DEFAULT 'Listener' NOT NULL, "auth_token" character varying(24), "preferences" jsonb DEFAULT '{}' NOT NULL, "subscriptions_count" integer DEFAULT 0 NOT NULL, "comments_count" integer DEFAULT 0 NOT NULL, "sign_in_at" timestamp(6), "discarded_at" timestamp(6), "created_at" timestamp(6) NOT NULL, "updated_at" timestamp(6) NOT NULL);
CREATE UNIQUE INDEX "index_users_on_email" ON "users" ("email");
CREATE UNIQUE INDEX "index_users_on_auth_token" ON "users" ("auth_token");
CREATE INDEX "index_users_on_type" ON "users" ("type") WHERE (discarded_at IS NULL);
CREATE TABLE "shows" ("id" bigserial primary key, "host_id" bigint NOT NULL, "title" character varying NOT NULL, "slug" character varying NOT NULL, "explicit" boolean DEFAULT FALSE, "language" character varying(2) DEFAULT 'en', "episodes_count" integer DEFAULT 0 NOT NULL, "subscriptions_count" integer DEFAULT 0 NOT NULL, "lock_version" integer DEFAULT 0 NOT NULL, "created_at" timestamp(6) NOT NULL, "updated_at" timestamp(6) NOT NULL, CONSTRAINT "fk_rails_2a1a3b4c5d"
FOREIGN KEY ("host_id")
  REFERENCES "users" ("id")
);
CREATE INDEX "index_shows_on_host_id" ON "shows" ("host_id");
CREATE UNIQUE INDEX "index_shows_on_lower_slug" ON "shows" USING btree (lower(slug));
CREATE TABLE "episodes" ("id" bigserial primary key, "show_id" bigint NOT NULL, "number" integer, "title" character varying, "description" text, "duration" interval(0), "status" integer DEFAULT 0 NOT NULL, "published_at" timestamp(6), "tags" character varying[] DEFAULT '{}' NOT NULL, "chapters" jsonb[] DEFAULT '{}', "position" integer, "created_at" timestamp(6) NOT NULL, "updated_at" timestamp(6) NOT NULL);
ALTER TABLE "episodes" ADD CONSTRAINT "fk_rails_a1b2c3d4e5" FOREIGN KEY ("show_id") REFERENCES "shows" ("id") ON DELETE CASCADE;
CREATE UNIQUE INDEX "index_episodes_on_show_id_and_number" ON "episodes" ("show_id", "number");
CREATE INDEX "index_episodes_on_tags" ON "episodes" USING gin ("tags");
CREATE INDEX "index_episodes_on_published_at" ON "episodes" ("published_at" DESC NULLS LAST) WHERE status = 1;
ALTER TABLE "episodes" ADD CONSTRAINT "chk_rails_1234567890" CHECK (status <> 1 OR published_at IS NOT NULL);
CREATE TABLE "comments" ("id" bigserial primary key, "commentable_type" character varying NOT NULL, "commentable_id" bigint NOT NULL, "user_id" bigint, "parent_id" bigint, "body" text, "created_at" timestamp(6) NOT NULL, "updated_at" timestamp(6) NOT NULL);
CREATE INDEX "index_comments_on_commentable" ON "comments" ("commentable_type", "commentable_id");
CREATE INDEX "index_comments_on_user_id" ON "comments" ("user_id");
ALTER TABLE "comments" ADD CONSTRAINT "fk_rails_03de2dc08c" FOREIGN KEY ("user_id") REFERENCES "users" ("id") ON DELETE SET NULL;
ALTER TABLE "comments" ADD CONSTRAINT "fk_rails_31554e7034" FOREIGN KEY ("parent_id") REFERENCES "comments" ("id") ON DELETE CASCADE DEFERRABLE;
CREATE TABLE "subscriptions" ("user_id" bigint NOT NULL, "show_id" bigint NOT NULL, "created_at" timestamp(6) NOT NULL, PRIMARY KEY ("user_id", "show_id"));
CREATE TABLE "taggings" ("id" bigserial primary key, "taggable_type" varchar, "taggable_id" bigint, "tag" varchar NOT NULL);
CREATE TABLE "listens" ("id" uuid DEFAULT gen_random_uuid() NOT NULL PRIMARY KEY, "episode_id" bigint, "user_id" bigint, "seconds" integer, "listened_on" date, CONSTRAINT "fk_rails_listen_e" FOREIGN KEY ("episode_id") REFERENCES "episodes" ("id") ON DELETE CASCADE);
INSERT INTO "schema_migrations" ("version") VALUES ('20240105100000'), ('20240105100100'), ('20240212080500');
INSERT INTO "schema_migrations" ("version") VALUES ('20240105100100');
SELECT "schema_migrations"."version" FROM "schema_migrations" ORDER BY "schema_migrations"."version" ASC;
-- What ActiveRecord asks of the catalogs.
SELECT a.attname, format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid), a.attnotnull FROM pg_attribute a LEFT JOIN pg_attrdef d ON a.attrelid = d.adrelid AND a.attnum = d.adnum LEFT JOIN pg_type t ON a.atttypid = t.oid LEFT JOIN pg_collation c ON a.attcollation = c.oid AND a.attcollation <> t.typcollation WHERE a.attrelid = '"episodes"'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;
SELECT distinct i.relname, d.indisunique, pg_get_indexdef(d.indexrelid) FROM pg_class t INNER JOIN pg_index d ON t.oid = d.indrelid INNER JOIN pg_class i ON d.indexrelid = i.oid LEFT JOIN pg_namespace n ON n.oid = t.relnamespace WHERE i.relkind IN ('i', 'I') AND d.indisprimary = 'f' AND t.relname IN ('episodes', 'shows') AND n.nspname = ANY (current_schemas(false)) ORDER BY i.relname;
SELECT t2.relname AS to_table, a1.attname AS column, a2.attname AS primary_key, c.conname AS name, c.confupdtype AS on_update, c.confdeltype AS on_delete, c.convalidated AS valid, c.condeferrable AS deferrable, c.condeferred AS deferred FROM pg_constraint c JOIN pg_class t1 ON c.conrelid = t1.oid JOIN pg_class t2 ON c.confrelid = t2.oid JOIN pg_attribute a1 ON a1.attnum = c.conkey[1] AND a1.attrelid = t1.oid JOIN pg_attribute a2 ON a2.attnum = c.confkey[1] AND a2.attrelid = t2.oid JOIN pg_namespace t3 ON c.connamespace = t3.oid WHERE c.contype = 'f' AND t1.relname = 'comments' AND t3.nspname = ANY (current_schemas(false)) ORDER BY c.conname;
-- Records.
INSERT INTO "users" ("email", "name", "type", "auth_token", "preferences", "created_at", "updated_at") VALUES ('Ada@Example.com', 'Ada', 'Host', 'tok-ada', '{"theme":"dark","speed":1.5}', '2024-02-01 09:00:00', '2024-02-01 09:00:00') RETURNING "id";
INSERT INTO "users" ("email", "name", "created_at", "updated_at") VALUES ('bob@example.com', 'Bob', '2024-02-02 09:00:00', '2024-02-02 09:00:00'), ('cy@example.com', 'Cy', '2024-02-03 09:00:00', '2024-02-03 09:00:00'), ('di@example.com', 'Di', '2024-02-03 10:00:00', '2024-02-03 10:00:00') RETURNING "id", "type";
INSERT INTO "users" ("email", "created_at", "updated_at") VALUES ('BOB@example.com', '2024-02-02', '2024-02-02') RETURNING "id";
SELECT 1 AS one FROM "users" WHERE "users"."email" = 'ADA@example.COM' LIMIT 1;
BEGIN;
SAVEPOINT active_record_1;
INSERT INTO "shows" ("host_id", "title", "slug", "created_at", "updated_at") VALUES (1, 'Compilers at Breakfast', 'compilers', '2024-02-05', '2024-02-05') RETURNING "id";
RELEASE SAVEPOINT active_record_1;
SAVEPOINT active_record_1;
INSERT INTO "shows" ("host_id", "title", "slug", "created_at", "updated_at") VALUES (1, 'Compilers again', 'Compilers', '2024-02-05', '2024-02-05') RETURNING "id";
ROLLBACK TO SAVEPOINT active_record_1;
INSERT INTO "shows" ("host_id", "title", "slug", "language", "created_at", "updated_at") VALUES (1, 'Garten im Winter', 'garten', 'de', '2024-02-06', '2024-02-06') RETURNING "id", "explicit";
COMMIT;
INSERT INTO "shows" ("host_id", "title", "slug", "language", "created_at", "updated_at") VALUES (1, 'X', 'x', 'deu', '2024-02-06', '2024-02-06');
INSERT INTO "shows" ("host_id", "title", "slug", "created_at", "updated_at") VALUES (99, 'X', 'x', '2024-02-06', '2024-02-06');
CREATE FUNCTION episodes_counter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE shows SET episodes_count = episodes_count + 1, updated_at = NEW.created_at WHERE id = NEW.show_id;
    NEW.number := coalesce(NEW.number, (SELECT max(number) FROM episodes WHERE show_id = NEW.show_id) + 1, 1);
    RETURN NEW;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE shows SET episodes_count = episodes_count - 1 WHERE id = OLD.show_id;
    RETURN OLD;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER episodes_counter BEFORE INSERT OR DELETE ON episodes FOR EACH ROW EXECUTE FUNCTION episodes_counter();
INSERT INTO "episodes" ("show_id", "title", "description", "duration", "status", "published_at", "tags", "chapters", "created_at", "updated_at") VALUES
  (1, 'Lexing', 'How texts become tokens', '00:42:10', 1, '2024-02-10 06:00', '{parsing,basics}', ARRAY['{"at":0,"title":"Hello"}', '{"at":300,"title":"Regular languages"}']::jsonb[], '2024-02-09', '2024-02-09'),
  (1, 'Parsing', 'Trees by descent', '00:55:00.7', 1, '2024-02-17 06:00', '{parsing,trees}', '{}', '2024-02-16', '2024-02-16'),
  (1, 'Types', NULL, 'PT1H2M3S', 0, NULL, '{types}', NULL, '2024-02-20', '2024-02-20'),
  (2, 'Rosen schneiden', 'Wann und wie', '31 minutes', 1, '2024-02-18 07:30', '{}', '{}', '2024-02-17', '2024-02-17') RETURNING "id", "number", "duration";
INSERT INTO "episodes" ("show_id", "title", "status", "created_at", "updated_at") VALUES (2, 'Kompost', 1, '2024-02-19', '2024-02-19');
INSERT INTO "episodes" ("show_id", "number", "title", "created_at", "updated_at") VALUES (1, 2, 'Twice', '2024-02-19', '2024-02-19');
SELECT "shows".* FROM "shows" ORDER BY "shows"."id" ASC;
-- Optimistic locking: the second writer finds no row.
UPDATE "shows" SET "title" = 'Compilers for Breakfast', "updated_at" = '2024-02-21', "lock_version" = 1 WHERE "shows"."id" = 1 AND "shows"."lock_version" = 0 RETURNING lock_version;
UPDATE "shows" SET "title" = 'Compilers for Lunch', "updated_at" = '2024-02-21', "lock_version" = 1 WHERE "shows"."id" = 1 AND "shows"."lock_version" = 0 RETURNING lock_version;
INSERT INTO "subscriptions" ("user_id", "show_id", "created_at") VALUES (2, 1, '2024-02-22'), (3, 1, '2024-02-22'), (2, 2, '2024-02-23'), (2, 1, '2024-02-24') ON CONFLICT DO NOTHING RETURNING "user_id", "show_id";
UPDATE "users" SET "subscriptions_count" = COALESCE("subscriptions_count", 0) + s.n FROM (SELECT user_id, count(*) AS n FROM subscriptions GROUP BY 1) s WHERE s.user_id = users.id RETURNING users.id, subscriptions_count;
INSERT INTO "comments" ("commentable_type", "commentable_id", "user_id", "parent_id", "body", "created_at", "updated_at") VALUES ('Episode', 1, 2, NULL, 'Great start', '2024-02-11', '2024-02-11'), ('Episode', 1, 1, 1, 'Thank you', '2024-02-11 01:00', '2024-02-11'), ('Show', 1, 3, NULL, 'More please', '2024-02-12', '2024-02-12'), ('Episode', 1, 3, 2, 'Agreed', '2024-02-12 02:00', '2024-02-12'), ('Episode', 4, 2, NULL, 'Schön', '2024-02-19', '2024-02-19') RETURNING "id";
-- Preloading a polymorphic association.
SELECT "comments".* FROM "comments" WHERE "comments"."commentable_type" = 'Episode' AND "comments"."commentable_id" IN (1, 4) ORDER BY id;
SELECT c.id, CASE c.commentable_type WHEN 'Episode' THEN e.title WHEN 'Show' THEN s.title END AS about, u.name FROM comments c LEFT OUTER JOIN episodes e ON e.id = c.commentable_id AND c.commentable_type = 'Episode' LEFT OUTER JOIN shows s ON s.id = c.commentable_id AND c.commentable_type = 'Show' LEFT JOIN users u ON u.id = c.user_id ORDER BY c.id;
WITH RECURSIVE thread AS (
  SELECT id, parent_id, body, 0 AS depth, ARRAY[id] AS path FROM comments WHERE commentable_type = 'Episode' AND commentable_id = 1 AND parent_id IS NULL
  UNION ALL
  SELECT c.id, c.parent_id, c.body, depth + 1, path || c.id FROM comments c INNER JOIN thread t ON t.id = c.parent_id
)
SELECT repeat('  ', depth) || body AS line, path FROM thread ORDER BY path;
SELECT "episodes".* FROM "episodes" WHERE ('parsing' = ANY (tags)) AND "episodes"."status" = 1 ORDER BY "episodes"."published_at" DESC NULLS LAST LIMIT 1 OFFSET 0;
SELECT COUNT(*) AS count_all, DATE_TRUNC('week', published_at) AS date_trunc_week_published_at FROM "episodes" WHERE "episodes"."status" = 1 GROUP BY DATE_TRUNC('week', published_at) ORDER BY 2;
SELECT "shows"."language", COUNT(DISTINCT "episodes"."id") AS count_id, SUM(EXTRACT(epoch FROM duration))::bigint AS seconds, to_char(sum(duration), 'HH24:MI:SS') AS air FROM "shows" LEFT OUTER JOIN "episodes" ON "episodes"."show_id" = "shows"."id" GROUP BY "shows"."language" HAVING (COUNT("episodes"."id") > 0) ORDER BY 1;
SELECT e.title, c.ord, c.chapter ->> 'title' AS chapter, lead((c.chapter ->> 'at')::int) OVER (PARTITION BY e.id ORDER BY c.ord) - (c.chapter ->> 'at')::int AS lasts FROM episodes e CROSS JOIN LATERAL unnest(e.chapters) WITH ORDINALITY AS c(chapter, ord) ORDER BY 1, 2;
-- insert_all, upsert_all, touch_all, in_batches.
INSERT INTO "taggings" ("taggable_type", "taggable_id", "tag") SELECT 'Episode', id, unnest(tags) FROM episodes ORDER BY id RETURNING taggable_id, tag;
INSERT INTO "users" ("email", "name", "created_at", "updated_at") VALUES ('CY@EXAMPLE.COM', 'Cyrus', '2024-03-01', '2024-03-01'), ('eve@example.com', 'Eve', '2024-03-01', '2024-03-01') ON CONFLICT ("email") DO UPDATE SET updated_at = (CASE WHEN ("users"."name" IS NOT DISTINCT FROM excluded."name") THEN "users".updated_at ELSE '2024-03-01 12:00' END), "name" = excluded."name" RETURNING "id", "email", "name", "updated_at";
SELECT "users"."id" FROM "users" WHERE "users"."id" > 2 ORDER BY "users"."id" ASC LIMIT 2 FOR UPDATE;
UPDATE "users" SET "discarded_at" = '2024-03-02' WHERE "users"."id" IN (SELECT "users"."id" FROM "users" LEFT OUTER JOIN "subscriptions" ON "subscriptions"."user_id" = "users"."id" WHERE "subscriptions"."user_id" IS NULL AND "users"."type" = 'Listener');
SELECT "users"."name" FROM "users" WHERE "users"."discarded_at" IS NOT NULL ORDER BY "users"."id" ASC;
SELECT tag, array_agg(DISTINCT taggable_id ORDER BY taggable_id DESC) FROM taggings GROUP BY tag ORDER BY count(*) DESC, tag;
INSERT INTO listens (episode_id, user_id, seconds, listened_on) SELECT e.id, u.id, (e.id * 371 + u.id * 97) % 1800, date '2024-03-01' + (e.id + u.id)::int FROM episodes e CROSS JOIN users u WHERE e.status = 1;
SELECT listened_on, episode_id, sum(seconds) AS s, sum(sum(seconds)) OVER (PARTITION BY episode_id ORDER BY listened_on ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far, rank() OVER (PARTITION BY listened_on ORDER BY sum(seconds) DESC) AS place FROM listens GROUP BY 1, 2 ORDER BY 1, 2;
SELECT d::date AS day, count(l.id), coalesce(sum(l.seconds), 0) AS seconds FROM generate_series('2024-03-02'::date, '2024-03-10', '1 day') d LEFT JOIN listens l ON l.listened_on = d GROUP BY d ORDER BY d;
SELECT json_build_object('data', json_agg(json_build_object('id', s.id::text, 'type', 'shows', 'attributes', json_build_object('title', s.title, 'episodes-count', s.episodes_count), 'relationships', json_build_object('episodes', json_build_object('data', (SELECT coalesce(json_agg(json_build_object('id', e.id::text, 'type', 'episodes') ORDER BY e.number), '[]') FROM episodes e WHERE e.show_id = s.id AND e.status = 1)))) ORDER BY s.id)) FROM shows s;
-- Models that are wrong.
DELETE FROM "users" WHERE "users"."id" = 1;
UPDATE "episodes" SET "show_id" = NULL WHERE "episodes"."id" = 3;
UPDATE "episodes" SET "duration" = 'an hour' WHERE "episodes"."id" = 3;
SELECT "shows".* FROM "shows" WHERE "shows"."titel" = 'x' LIMIT 1;
SELECT "shows"."id" FROM "shows" INNER JOIN "episodes" ON "episodes"."show_id" = "shows"."id" GROUP BY "shows"."language";
SELECT DISTINCT "shows"."title" FROM "shows" ORDER BY "shows"."created_at";
SELECT users.preferences -> 'speed' + 1 FROM users;
UPDATE users SET preferences = preferences || '{"speed": "fast"}' WHERE id = 1 RETURNING preferences, (preferences ->> 'speed')::numeric;
UPDATE users SET preferences = jsonb_set(preferences, '{notify,mail}', 'true') WHERE id = 1 RETURNING preferences;
UPDATE users SET preferences = jsonb_set(preferences, '{notify}', '{"mail": true}', true) - 'theme' WHERE id = 1 RETURNING preferences, preferences @? '$.notify.mail ? (@ == true)';
-- acts_as_list: positions that move in one statement; a callback that gives up.
UPDATE episodes SET position = x.n FROM (SELECT id, row_number() OVER (PARTITION BY show_id ORDER BY number) AS n FROM episodes) x WHERE x.id = episodes.id;
UPDATE "episodes" SET position = CASE WHEN id = 3 THEN 1 ELSE position + 1 END WHERE "show_id" = 1 AND position BETWEEN 1 AND 3 RETURNING id, position;
CREATE FUNCTION frozen_show() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) FROM subscriptions WHERE show_id = OLD.id) >= TG_ARGV[0]::int THEN
    RAISE EXCEPTION 'Show % still has subscribers', quote_ident(OLD.slug) USING ERRCODE = 'restrict_violation', HINT = 'Destroy the subscriptions first.';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER before_destroy BEFORE DELETE ON shows FOR EACH ROW EXECUTE FUNCTION frozen_show('2');
DELETE FROM "shows" WHERE "shows"."id" = 1;
DELETE FROM "shows" WHERE "shows"."id" = 2;
SELECT count(*), count(*) FILTER (WHERE show_id = 2) FROM episodes;
SELECT "comments"."commentable_type", "comments"."commentable_id" FROM comments WHERE commentable_type = 'Episode' AND NOT EXISTS (SELECT 1 FROM episodes WHERE episodes.id = commentable_id);
DELETE FROM comments WHERE id = 1;
SELECT id, parent_id FROM comments ORDER BY id;
-- A later migration.
BEGIN;
ALTER TABLE "shows" ADD "rating" numeric(3,2) DEFAULT 0.0 NOT NULL;
ALTER TABLE "shows" ADD CONSTRAINT "chk_rails_rating" CHECK (rating BETWEEN 0 AND 5) NOT VALID;
ALTER TABLE "shows" RENAME COLUMN "title" TO "name";
ALTER TABLE "users" ALTER COLUMN "name" DROP NOT NULL;
ALTER TABLE "shows" ALTER COLUMN "nam" SET NOT NULL;
ROLLBACK;
CREATE EXTENSION pg_trgm;
BEGIN;
ALTER TABLE "shows" ADD "rating" numeric(3,2) DEFAULT 0.0 NOT NULL;
ALTER TABLE "shows" ADD CONSTRAINT "chk_rails_rating" CHECK (rating BETWEEN 0 AND 5) NOT VALID;
ALTER TABLE "shows" RENAME COLUMN "title" TO "name";
INSERT INTO "schema_migrations" ("version") VALUES ('20240301000000') RETURNING "version";
COMMIT;
ALTER TABLE "shows" VALIDATE CONSTRAINT "chk_rails_rating";
UPDATE shows SET rating = 5.004 WHERE slug = 'garten' RETURNING name, rating;
UPDATE shows SET rating = 5.006 WHERE id = 1;
UPDATE shows SET rating = 10 WHERE id = 1;
SELECT name, round(similarity(name, 'compiler breakfast')::numeric, 2) FROM shows WHERE name % 'compiler breakfast';
