-- with contexts
-- Deliveries of meals, with event triggers in the manner of Hasura: a catalog schema with an event log and metadata as jsonb, workers that take events, cron events, computed fields, relationships as JSON.
SET client_min_messages = warning;
CREATE SCHEMA IF NOT EXISTS hdb_catalog;
CREATE EXTENSION IF NOT EXISTS pgcrypto;
CREATE OR REPLACE FUNCTION hdb_catalog.gen_hasura_uuid() RETURNS uuid AS 'select gen_random_uuid()' LANGUAGE SQL;
CREATE TABLE hdb_catalog.hdb_metadata (id INTEGER PRIMARY KEY, metadata JSON NOT NULL, resource_version INTEGER NOT NULL DEFAULT 1 UNIQUE);
CREATE TABLE hdb_catalog.event_log (id TEXT DEFAULT hdb_catalog.gen_hasura_uuid() PRIMARY KEY, schema_name TEXT NOT NULL, table_name TEXT NOT NULL, trigger_name TEXT NOT NULL, payload JSONB NOT NULL, delivered BOOLEAN NOT NULL DEFAULT FALSE, error BOOLEAN NOT NULL DEFAULT FALSE, tries INTEGER NOT NULL DEFAULT 0, created_at TIMESTAMP DEFAULT '2024-05-05 12:00', locked TIMESTAMPTZ, next_retry_at TIMESTAMP, archived BOOLEAN NOT NULL DEFAULT FALSE, n BIGINT GENERATED ALWAYS AS IDENTITY);
CREATE INDEX event_log_fetch_events ON hdb_catalog.event_log (locked NULLS FIRST, next_retry_at NULLS FIRST, created_at) WHERE delivered = 'f' AND error = 'f' AND archived = 'f';
CREATE TABLE hdb_catalog.event_invocation_logs (id TEXT DEFAULT hdb_catalog.gen_hasura_uuid() PRIMARY KEY, event_id TEXT, status INTEGER, request JSON, response JSON, FOREIGN KEY (event_id) REFERENCES hdb_catalog.event_log (id) ON UPDATE CASCADE ON DELETE CASCADE);
CREATE OR REPLACE FUNCTION hdb_catalog.insert_event_log(schema_name text, table_name text, trigger_name text, op text, row_data json) RETURNS text AS $$
DECLARE
  id text;
  payload json;
  session_variables json;
BEGIN
  id := hdb_catalog.gen_hasura_uuid();
  session_variables := current_setting('hasura.user', 't');
  payload := json_build_object('op', op, 'data', row_data, 'session_variables', session_variables);
  INSERT INTO hdb_catalog.event_log (id, schema_name, table_name, trigger_name, payload) VALUES (id, schema_name, table_name, trigger_name, payload);
  RETURN id;
END $$ LANGUAGE plpgsql;
CREATE DOMAIN money_cents AS integer DEFAULT 0 CHECK (VALUE >= 0);
CREATE TYPE order_state AS ENUM ('cart', 'placed', 'cooking', 'riding', 'done', 'cancelled');
CREATE TABLE restaurants (id serial PRIMARY KEY, name text NOT NULL, open_from time NOT NULL DEFAULT '11:00', open_to time NOT NULL DEFAULT '22:00', days smallint[] NOT NULL DEFAULT '{1,2,3,4,5,6}', CHECK (open_from < open_to));
CREATE TABLE dishes (id serial PRIMARY KEY, restaurant_id int NOT NULL REFERENCES restaurants ON DELETE CASCADE, name text NOT NULL, price money_cents NOT NULL, options jsonb NOT NULL DEFAULT '[]', available boolean NOT NULL DEFAULT true, UNIQUE (restaurant_id, name));
CREATE TABLE riders (id serial PRIMARY KEY, name text NOT NULL, busy boolean NOT NULL DEFAULT false, seen_at timestamptz);
CREATE TABLE orders (id serial PRIMARY KEY, restaurant_id int NOT NULL REFERENCES restaurants, rider_id int REFERENCES riders, state order_state NOT NULL DEFAULT 'cart', customer text NOT NULL, placed_at timestamptz, total money_cents, history jsonb NOT NULL DEFAULT '[]', CHECK (state <> 'riding' OR rider_id IS NOT NULL));
CREATE UNIQUE INDEX one_ride ON orders (rider_id) WHERE state = 'riding';
CREATE TABLE order_lines (order_id int REFERENCES orders ON DELETE CASCADE, line smallint, dish_id int NOT NULL REFERENCES dishes, quantity smallint NOT NULL DEFAULT 1 CHECK (quantity > 0), picked text[] NOT NULL DEFAULT '{}', PRIMARY KEY (order_id, line));
-- What the metadata server makes for an event trigger.
CREATE OR REPLACE FUNCTION hdb_catalog."notify_hasura_order_changed_UPDATE"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  _old record;
  _new record;
  _data json;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    _old := row((SELECT "e" FROM (SELECT OLD."id", OLD."state", OLD."rider_id") AS "e"));
    _new := row((SELECT "e" FROM (SELECT NEW."id", NEW."state", NEW."rider_id") AS "e"));
  ELSE
    _old := row((select 1));
    _new := row((select 1));
  END IF;
  _data := json_build_object('old', row_to_json(OLD), 'new', row_to_json(NEW));
  IF OLD."state" IS DISTINCT FROM NEW."state" THEN
    PERFORM hdb_catalog.insert_event_log(CAST(TG_TABLE_SCHEMA AS text), CAST(TG_TABLE_NAME AS text), CAST('order_changed' AS text), TG_OP, _data);
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION hdb_catalog."notify_hasura_order_changed_UPDATE"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  _old json;
  _new json;
BEGIN
  _old := (SELECT row_to_json("e") FROM (SELECT OLD."id", OLD."state", OLD."rider_id", OLD.total) AS "e");
  _new := (SELECT row_to_json("e") FROM (SELECT NEW."id", NEW."state", NEW."rider_id", NEW.total) AS "e");
  IF OLD."state" IS DISTINCT FROM NEW."state" THEN
    PERFORM hdb_catalog.insert_event_log(CAST(TG_TABLE_SCHEMA AS text), CAST(TG_TABLE_NAME AS text), CAST('order_changed' AS text), TG_OP, json_build_object('old', _old, 'new', _new));
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER "notify_hasura_order_changed_UPDATE" AFTER UPDATE ON "public"."orders" FOR EACH ROW EXECUTE PROCEDURE hdb_catalog."notify_hasura_order_changed_UPDATE"();
CREATE FUNCTION order_totals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE orders o SET total = coalesce((SELECT sum(l.quantity * (d.price + coalesce((SELECT sum((x ->> 'cents')::int) FROM jsonb_array_elements(d.options) x WHERE x ->> 'name' = ANY (l.picked)), 0))) FROM order_lines l JOIN dishes d ON d.id = l.dish_id WHERE l.order_id = o.id), 0)
  WHERE o.id IN (SELECT order_id FROM changed);
  RETURN NULL;
END $$;
CREATE TRIGGER totals_i AFTER INSERT ON order_lines REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION order_totals();
CREATE TRIGGER totals_u AFTER UPDATE ON order_lines REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION order_totals();
CREATE TRIGGER totals_d AFTER DELETE ON order_lines REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION order_totals();
CREATE FUNCTION order_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state < OLD.state OR (OLD.state >= 'done' AND NEW.state <> OLD.state) THEN
    RAISE EXCEPTION 'order % cannot go from % back to %', OLD.id, OLD.state, NEW.state USING ERRCODE = 'P0005';
  END IF;
  NEW.history := OLD.history || jsonb_build_object('to', NEW.state, 'by', coalesce(current_setting('hasura.user', true)::json ->> 'x-hasura-user-id', 'nobody'));
  RETURN NEW;
EXCEPTION WHEN invalid_text_representation THEN
  RAISE WARNING 'session is not JSON: %', current_setting('hasura.user', true);
  NEW.history := OLD.history || jsonb_build_object('to', NEW.state);
  RETURN NEW;
END $$;
CREATE TRIGGER history BEFORE UPDATE OF state ON orders FOR EACH ROW EXECUTE FUNCTION order_history();
INSERT INTO restaurants (name) VALUES ('Noodle Bar'), ('Pizza & Co') RETURNING id, open_from, days;
INSERT INTO restaurants (name, open_from, open_to) VALUES ('Night', '20:00', '04:00');
INSERT INTO dishes (restaurant_id, name, price, options) VALUES (1, 'Ramen', 1250, '[{"name": "egg", "cents": 150}, {"name": "extra noodles", "cents": 200}]'), (1, 'Gyoza', 690, DEFAULT), (2, 'Margherita', 900, '[{"name": "basil", "cents": 0}]'), (2, 'Tiramisu', 550, '[]') RETURNING id, price;
INSERT INTO dishes (restaurant_id, name, price) VALUES (2, 'Free', -1);
INSERT INTO riders (name) VALUES ('Rita'), ('Raul');
-- Mutations, as the server writes them.
BEGIN;
SET LOCAL "hasura.user" = '{"x-hasura-role":"customer","x-hasura-user-id":"u1"}';
WITH "orders__mutation_result_alias" AS (INSERT INTO "public"."orders" ("restaurant_id", "customer") VALUES (1, 'u1') RETURNING *, true AS "check__constraint"), "orders__all_columns_alias" AS (SELECT "id", "customer", "state", total FROM "orders__mutation_result_alias")
  SELECT json_build_object('affected_rows', (SELECT COUNT(*) FROM "orders__all_columns_alias"), 'returning', (SELECT coalesce(json_agg("root"), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."id" AS "id", "_root.base"."state" AS "state", total) AS "_e")) AS "root" FROM (SELECT * FROM "orders__all_columns_alias" WHERE ('true')) AS "_root.base") AS "_root")), (SELECT coalesce(bool_and("check__constraint"), true) FROM "orders__mutation_result_alias");
INSERT INTO order_lines VALUES (1, 1, 1, 2, '{egg,"extra noodles"}'), (1, 2, 2, 1, '{}');
UPDATE orders SET state = 'placed', placed_at = '2024-05-05 12:30+02' WHERE id = 1 RETURNING total, history;
COMMIT;
INSERT INTO orders (restaurant_id, customer) VALUES (2, 'u2'), (2, 'u3') RETURNING id;
INSERT INTO order_lines (order_id, line, dish_id, quantity, picked) VALUES (2, 1, 3, 1, '{basil}'), (3, 1, 3, 3, '{}'), (3, 2, 4, 2, '{}');
SELECT id, total FROM orders ORDER BY id;
UPDATE order_lines SET quantity = quantity + 1 WHERE order_id IN (2, 3) AND dish_id = 3;
DELETE FROM order_lines WHERE dish_id = 4;
SELECT id, total FROM orders ORDER BY id;
SET "hasura.user" = 'u2';
UPDATE orders SET state = 'placed', placed_at = '2024-05-05 12:40+02' WHERE id = 2 RETURNING history;
RESET "hasura.user";
UPDATE orders SET state = 'placed', placed_at = '2024-05-05 12:45+02' WHERE id = 3;
SET "hasura.user" = '{"x-hasura-role":"kitchen"}';
UPDATE orders SET state = 'cooking' WHERE state = 'placed' AND id < 3;
UPDATE orders SET state = 'cart' WHERE id = 1;
UPDATE orders SET state = 'riding' WHERE id = 1;
UPDATE orders SET state = 'lost' WHERE id = 1;
UPDATE orders SET state = 'riding', rider_id = 1 WHERE id = 1;
UPDATE orders SET state = 'riding', rider_id = 1 WHERE id = 2;
SELECT n, trigger_name, payload #>> '{data,old,state}' AS was, payload -> 'data' -> 'new' ->> 'state' AS is_now, payload -> 'session_variables' AS who FROM hdb_catalog.event_log ORDER BY n;
-- Workers.
CREATE FUNCTION hdb_catalog.fetch_events(lim int, at timestamptz) RETURNS SETOF hdb_catalog.event_log LANGUAGE sql AS $$
  UPDATE hdb_catalog.event_log SET locked = at WHERE id IN (SELECT l.id FROM hdb_catalog.event_log l WHERE l.delivered = 'f' AND l.error = 'f' AND (l.locked IS NULL OR l.locked < at - interval '30 minute') AND (l.next_retry_at IS NULL OR l.next_retry_at <= at) AND l.archived = 'f' ORDER BY l.created_at, l.n LIMIT lim FOR UPDATE SKIP LOCKED) RETURNING *
$$;
CREATE FUNCTION hdb_catalog.answered(event bigint, status int, response json, at timestamp) RETURNS text LANGUAGE plpgsql AS $$
DECLARE e hdb_catalog.event_log%ROWTYPE; waits interval[] := '{10 s,1 min,10 min}';
BEGIN
  SELECT * INTO e FROM hdb_catalog.event_log WHERE n = event AND locked IS NOT NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN 'not locked'; END IF;
  INSERT INTO hdb_catalog.event_invocation_logs (event_id, status, request, response) VALUES (e.id, answered.status, json_build_object('try', e.tries, 'op', e.payload -> 'op'), response);
  CASE
    WHEN status BETWEEN 200 AND 299 THEN
      UPDATE hdb_catalog.event_log SET delivered = 't', locked = NULL, tries = e.tries + 1 WHERE id = e.id;
    WHEN e.tries >= array_length(waits, 1) THEN
      UPDATE hdb_catalog.event_log SET error = 't', locked = NULL WHERE id = e.id;
      RETURN 'given up';
    WHEN status >= 400 THEN
      UPDATE hdb_catalog.event_log SET tries = tries + 1, next_retry_at = at + waits[e.tries + 1], locked = NULL WHERE id = e.id;
      RETURN 'again at ' || to_char(at + waits[e.tries + 1], 'HH24:MI:SS');
  END CASE;
  RETURN 'delivered';
END $$;
SELECT n, tries FROM hdb_catalog.fetch_events(3, '2024-05-05 13:00+00') ORDER BY n;
SELECT n FROM hdb_catalog.fetch_events(3, '2024-05-05 13:10+00') ORDER BY n;
SELECT n FROM hdb_catalog.fetch_events(9, '2024-05-05 13:31+00') ORDER BY n;
SELECT hdb_catalog.answered(1, 200, '{"ok": true}', '2024-05-05 13:32');
SELECT hdb_catalog.answered(2, 500, '"down"', '2024-05-05 13:32');
SELECT hdb_catalog.answered(2, 500, '"down"', '2024-05-05 13:32');
SELECT hdb_catalog.answered(3, 302, NULL, '2024-05-05 13:32');
SELECT hdb_catalog.answered(3, 404, '{oops', '2024-05-05 13:32');
SELECT n, delivered, tries, next_retry_at FROM hdb_catalog.event_log WHERE locked IS NULL ORDER BY n;
DO $$
DECLARE t timestamp := '2024-05-05 14:00'; said text;
BEGIN
  FOR i IN 1..5 LOOP
    PERFORM hdb_catalog.fetch_events(9, t AT TIME ZONE 'UTC');
    said := hdb_catalog.answered(4, 503, to_json('try ' || i), t);
    EXIT WHEN said = 'given up';
    RAISE WARNING '%: %', i, said;
    t := t + interval '20 min';
  END LOOP;
  RAISE WARNING 'end: %', said;
END $$;
SELECT e.n, e.error, json_agg(json_build_array(l.status, l.response) ORDER BY l.request ->> 'try') AS log FROM hdb_catalog.event_log e JOIN hdb_catalog.event_invocation_logs l ON l.event_id = e.id GROUP BY e.n, e.error ORDER BY 1;
-- Queries: a tree by LATERAL, as GraphQL asks for it.
SELECT coalesce(json_agg("root" ORDER BY "root.pg.id" ASC NULLS LAST), '[]') AS "root" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_root.base"."name" AS "name", "_root.ar.root.dishes"."dishes" AS "dishes", "_agg"."orders_aggregate") AS "_e")) AS "root", "_root.base"."id" AS "root.pg.id" FROM (SELECT * FROM "public"."restaurants" WHERE ('true')) AS "_root.base"
  LEFT OUTER JOIN LATERAL (SELECT coalesce(json_agg("dishes" ORDER BY "p" DESC NULLS FIRST), '[]') AS "dishes" FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT d."name" AS "name", d.price AS "price") AS "_e")) AS "dishes", d.price AS p FROM "public"."dishes" d WHERE (("_root.base"."id") = ("restaurant_id")) AND d.available ORDER BY d.price DESC LIMIT 2) AS "_d") AS "_root.ar.root.dishes" ON ('true')
  LEFT OUTER JOIN LATERAL (SELECT json_build_object('aggregate', json_build_object('count', count(*), 'max', json_build_object('total', max(total)), 'avg', json_build_object('total', avg(total)::numeric(8,2)))) AS "orders_aggregate" FROM orders o WHERE o.restaurant_id = "_root.base".id) AS "_agg" ON ('true')) AS "_root";
CREATE FUNCTION is_open(r restaurants, at timestamp) RETURNS boolean LANGUAGE sql STABLE AS $$ SELECT extract(isodow FROM at)::smallint = ANY (r.days) AND at::time BETWEEN r.open_from AND r.open_to $$;
CREATE FUNCTION menu_size(r restaurants) RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT count(*) FROM dishes d WHERE d.restaurant_id = r.id $$;
SELECT r.name, r.menu_size, is_open(r, '2024-05-05 12:00') AS sunday, is_open(r, '2024-05-06 21:59:59') AS monday FROM restaurants r ORDER BY id;
SELECT r.menu_length FROM restaurants r;
INSERT INTO hdb_catalog.hdb_metadata VALUES (1, '{"version": 3, "sources": [{"name": "default", "tables": [{"table": {"schema": "public", "name": "orders"}, "event_triggers": [{"name": "order_changed", "retry_conf": {"num_retries": 3, "interval_sec": 10}}]}, {"table": {"schema": "public", "name": "dishes"}}]}]}');
UPDATE hdb_catalog.hdb_metadata SET resource_version = resource_version + 1, metadata = jsonb_set(metadata::jsonb, '{sources,0,tables,0,event_triggers,0,retry_conf,num_retries}', '5') WHERE id = 1 AND resource_version = 1 RETURNING resource_version;
UPDATE hdb_catalog.hdb_metadata SET resource_version = resource_version + 1 WHERE id = 1 AND resource_version = 1 RETURNING resource_version;
SELECT t #>> '{table,name}' AS tbl, e ->> 'name' AS trg, e #> '{retry_conf,num_retries}' AS n FROM hdb_catalog.hdb_metadata m, json_array_elements(m.metadata -> 'sources') s, json_array_elements(s -> 'tables') t LEFT JOIN LATERAL json_array_elements(t -> 'event_triggers') e ON true ORDER BY 1;
SELECT jsonb_path_query_array(metadata::jsonb, '$.sources[*].tables[*] ? (exists (@.event_triggers)).table.name') FROM hdb_catalog.hdb_metadata;
SELECT metadata = metadata FROM hdb_catalog.hdb_metadata;
-- Riders: the first that is free, by turns.
CREATE FUNCTION give_rider(p_order int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r riders;
BEGIN
  SELECT * INTO r FROM riders WHERE NOT busy ORDER BY seen_at NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF r IS NULL THEN RETURN 'nobody'; END IF;
  UPDATE riders SET busy = true, seen_at = '2024-05-05 15:00+00' WHERE id = r.id;
  UPDATE orders SET rider_id = r.id, state = 'riding' WHERE id = p_order;
  RETURN r.name;
END $$;
SELECT give_rider(2);
SELECT give_rider(3);
UPDATE riders SET busy = true;
SELECT give_rider(3);
SELECT o.id, o.state, r.name, jsonb_path_query_array(history, '$[*].to') AS path FROM orders o LEFT JOIN riders r ON r.id = o.rider_id ORDER BY o.id;
DELETE FROM dishes WHERE id = 3;
DELETE FROM hdb_catalog.event_log WHERE delivered RETURNING n;
SELECT count(*) FROM hdb_catalog.event_invocation_logs;
