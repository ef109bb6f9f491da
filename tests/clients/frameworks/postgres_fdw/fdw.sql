\set VERBOSITY verbose
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS postgres_fdw;
DROP SERVER IF EXISTS far CASCADE;
DROP SCHEMA IF EXISTS far CASCADE;
CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host :'fhost', port :'fport', dbname :'fdb');
CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user 'postgres');
CREATE SCHEMA far;
DROP TYPE IF EXISTS mood;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
IMPORT FOREIGN SCHEMA fx FROM SERVER far INTO far OPTIONS (import_default 'true');
\d far.customer
\d far.orders
\d far.big_orders
\d far."Mixed Case"
\det+ far.*
DROP SCHEMA far CASCADE;
CREATE SCHEMA far;
IMPORT FOREIGN SCHEMA fx LIMIT TO (customer, orders, "Mixed Case", part, totals, big_orders) FROM SERVER far INTO far OPTIONS (import_generated 'false');
IMPORT FOREIGN SCHEMA fx EXCEPT (customer, orders, "Mixed Case", part, totals, big_orders) FROM SERVER far INTO far;
IMPORT FOREIGN SCHEMA nowhere FROM SERVER far INTO far;
SELECT relname FROM pg_class WHERE relnamespace = 'far'::regnamespace ORDER BY 1;
SET search_path = far, public;
-- rows and types
SELECT * FROM customer ORDER BY id LIMIT 3;
SELECT * FROM orders ORDER BY id LIMIT 3;
SELECT * FROM "Mixed Case" ORDER BY 1;
SELECT count(*), min(v), max(k) FROM part;
SELECT count(*), sum(total) FROM totals;
SET TimeZone = 'America/New_York'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'iso_8601';
SELECT id, joined, seen FROM customer WHERE seen > '02/01/2024 00:00' ORDER BY id LIMIT 2;
SELECT id, placed, took FROM orders WHERE took < 'PT3S' ORDER BY id;
RESET ALL; SET search_path = far, public;
-- what is pushed down, plainly
EXPLAIN (VERBOSE, COSTS OFF) SELECT name FROM customer WHERE id = 7 AND name LIKE 'c%' AND score > 2 AND ok;
SELECT name FROM customer WHERE id = 7 AND name LIKE 'c%' AND score > 2 AND ok;
EXPLAIN (VERBOSE, COSTS OFF) SELECT c.name, o.total FROM customer c JOIN orders o ON o.customer_id = c.id WHERE o.total > 1000 ORDER BY o.id;
SELECT c.name, o.total FROM customer c JOIN orders o ON o.customer_id = c.id WHERE o.total > 1230 ORDER BY o.id;
EXPLAIN (VERBOSE, COSTS OFF) SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer_id = c.id AND o.state = 'paid' WHERE c.id IN (3, 4) ORDER BY c.id, o.id LIMIT 5;
SELECT c.name, o.id FROM customer c LEFT JOIN orders o ON o.customer_id = c.id AND o.state = 'paid' WHERE c.id IN (3, 4) ORDER BY c.id, o.id LIMIT 5;
EXPLAIN (VERBOSE, COSTS OFF) SELECT a.id, b.id FROM (SELECT id FROM customer WHERE id < 5) a FULL JOIN (SELECT id FROM orders WHERE id BETWEEN 3 AND 7) b ON a.id = b.id ORDER BY 1, 2;
SELECT a.id, b.id FROM (SELECT id FROM customer WHERE id < 5) a FULL JOIN (SELECT id FROM orders WHERE id BETWEEN 3 AND 7) b ON a.id = b.id ORDER BY 1, 2;
EXPLAIN (VERBOSE, COSTS OFF) SELECT count(*), sum(total), avg(total), min(placed), string_agg(state, ',' ORDER BY id) FILTER (WHERE id < 4) FROM orders;
SELECT count(*), sum(total), avg(total), min(placed), string_agg(state, ',' ORDER BY id) FILTER (WHERE id < 4) FROM orders;
EXPLAIN (VERBOSE, COSTS OFF) SELECT state, count(*), sum(total) FROM orders GROUP BY state HAVING count(*) > 1 ORDER BY state DESC NULLS LAST;
SELECT state, count(*), sum(total) FROM orders GROUP BY state HAVING count(*) > 1 ORDER BY state DESC NULLS LAST;
EXPLAIN (VERBOSE, COSTS OFF) SELECT c.name FROM customer c WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.total > 1200);
SELECT count(*) FROM customer c WHERE EXISTS (SELECT FROM orders o WHERE o.customer_id = c.id AND o.total > 1200);
SELECT count(*) FROM customer c, LATERAL (SELECT * FROM orders o WHERE o.customer_id = c.id LIMIT 1) x;
SELECT id, doc ->> 'n', tags[1] FROM customer WHERE doc @> '{"n": 5}' OR 't9' = ANY (tags) ORDER BY id;
SELECT id FROM customer WHERE u = '00000000-0000-0000-0000-000000000011' OR b = '\x0002' ORDER BY id;
SELECT tableoid::regclass FROM customer WHERE id = 1;
SELECT count(ctid) FROM customer WHERE id = 1;
-- estimates of the remote
ALTER SERVER far OPTIONS (ADD use_remote_estimate 'true');
SELECT count(*) FROM orders;
ALTER SERVER far OPTIONS (DROP use_remote_estimate);
CREATE TEMP TABLE mine AS SELECT g::bigint AS id FROM generate_series(1, 5) g;
ANALYZE mine;
SELECT m.id, c.name FROM mine m JOIN customer c ON c.id = m.id ORDER BY 1;
EXPLAIN (VERBOSE, COSTS OFF) SELECT m.id, c.name FROM mine m JOIN customer c ON c.id = m.id;
ANALYZE customer;
ANALYZE orders;
SELECT relname, reltuples FROM pg_class WHERE oid IN ('far.customer'::regclass, 'far.orders'::regclass) ORDER BY 1;
SELECT attname, n_distinct, null_frac FROM pg_stats WHERE schemaname = 'far' AND tablename = 'customer' ORDER BY 1;
ALTER FOREIGN TABLE customer OPTIONS (ADD analyze_sampling 'off');
-- writes
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO "Mixed Case" VALUES (3, 'three') RETURNING *;
INSERT INTO "Mixed Case" VALUES (3, 'three') RETURNING *;
INSERT INTO orders (id, customer_id, total, state) VALUES (1001, 1, 10, 'new'), (1002, 2, 20, 'new') RETURNING id, total;
SELECT id, total, net, state, placed FROM orders WHERE id > 1000 ORDER BY id;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE orders SET total = total + 1 WHERE id > 1000;
UPDATE orders SET total = total + 1 WHERE id > 1000 RETURNING id, total;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE orders SET state = 'x' || random()::text::varchar(3) WHERE id = 1001;
UPDATE orders SET state = substr('x' || random()::text, 1, 1) WHERE id = 1001;
UPDATE orders o SET total = c.score FROM customer c WHERE c.id = o.customer_id AND o.id = 1002 RETURNING o.id, o.total, c.name;
EXPLAIN (VERBOSE, COSTS OFF) UPDATE orders o SET total = c.score FROM customer c WHERE c.id = o.customer_id AND o.id = 1002;
EXPLAIN (VERBOSE, COSTS OFF) DELETE FROM orders WHERE id = 1002 RETURNING *;
DELETE FROM orders WHERE id = 1002 RETURNING id, net;
DELETE FROM orders WHERE id = 1001 AND random() >= 0 RETURNING id;
DELETE FROM orders WHERE id > 1000;
INSERT INTO "Mixed Case" VALUES (3, 'again') ON CONFLICT DO NOTHING;
INSERT INTO "Mixed Case" VALUES (3, 'again') ON CONFLICT ("Key") DO UPDATE SET "a b" = 'x';
\set VERBOSITY default
INSERT INTO "Mixed Case" VALUES (1, 'twice');
INSERT INTO "Mixed Case" VALUES (9, NULL);
INSERT INTO orders (id, customer_id, total, state) VALUES (1003, 9999, 1, 'new');
DELETE FROM customer WHERE id = 5;
UPDATE orders SET state = 'much too long a state' WHERE id = 1;
INSERT INTO customer (name, joined) VALUES ('no id', '2024-01-01');
INSERT INTO big_orders (id, customer_id, total, state) VALUES (1500, 3, 600, 'new');
DELETE FROM big_orders WHERE id = 1500 RETURNING id;
SELECT 1 / (total - total) FROM orders WHERE id = 1;
\set VERBOSITY verbose
ALTER SERVER far OPTIONS (ADD batch_size '10');
INSERT INTO part SELECT g, 'b' || g FROM generate_series(1, 35, 2) g;
SELECT count(*) FROM part;
COPY part FROM stdin;
51	copied
52	copied \\ too
\.
SELECT * FROM part WHERE k IN (51, 52) ORDER BY k;
INSERT INTO part VALUES (500, 'nowhere');
ALTER SERVER far OPTIONS (DROP batch_size);
-- transactions
BEGIN;
UPDATE orders SET total = 0 WHERE id = 1;
SAVEPOINT a;
UPDATE orders SET total = -1 WHERE id = 1;
SELECT id, total FROM orders WHERE id = 1;
ROLLBACK TO a;
SELECT id, total FROM orders WHERE id = 1;
SAVEPOINT b;
INSERT INTO "Mixed Case" VALUES (1, 'twice');
ROLLBACK TO b;
UPDATE orders SET total = 7 WHERE id = 2;
RELEASE b;
COMMIT;
SELECT id, total FROM orders WHERE id < 3 ORDER BY id;
BEGIN;
DELETE FROM orders;
SELECT count(*) FROM orders;
ROLLBACK;
SELECT count(*) FROM orders;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM orders;
COMMIT;
BEGIN READ ONLY;
SELECT count(*) FROM orders;
COMMIT;
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM orders WHERE id = 1 FOR UPDATE;
BEGIN;
SELECT id FROM orders WHERE id = 1 FOR UPDATE;
SELECT id FROM orders WHERE id = 2 FOR SHARE;
COMMIT;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id;
FETCH 3 FROM c;
MOVE 200 IN c;
FETCH 2 FROM c;
FETCH BACKWARD 1 FROM c;
CLOSE c;
COMMIT;
BEGIN;
DECLARE d SCROLL CURSOR FOR SELECT * FROM part ORDER BY k;
FETCH 2 FROM d;
FETCH FIRST FROM d;
FETCH LAST FROM d;
FETCH ABSOLUTE 4 FROM d;
COMMIT;
PREPARE p (int) AS SELECT id, total FROM orders WHERE id = $1;
EXECUTE p (1); EXECUTE p (2); EXECUTE p (3); EXECUTE p (4); EXECUTE p (5); EXECUTE p (6); EXECUTE p (7);
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE p (3);
SELECT (SELECT max(total) FROM orders o WHERE o.customer_id = c.id) FROM customer c ORDER BY id LIMIT 3;
TRUNCATE "Mixed Case";
SELECT count(*) FROM "Mixed Case";
TRUNCATE customer;
TRUNCATE customer, orders RESTART IDENTITY;
SELECT count(*) FROM customer;
SELECT server_name, valid FROM postgres_fdw_get_connections();
SELECT postgres_fdw_disconnect('far');
-- several at once
ALTER SERVER far OPTIONS (ADD async_capable 'true', ADD fetch_size '3', ADD parallel_commit 'true');
CREATE TABLE both_p (k int, v text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE both_1 PARTITION OF both_p FOR VALUES FROM (0) TO (100) SERVER far OPTIONS (schema_name 'fx', table_name 'part_1');
CREATE FOREIGN TABLE both_2 PARTITION OF both_p FOR VALUES FROM (100) TO (200) SERVER far OPTIONS (schema_name 'fx', table_name 'part_2');
SELECT count(*), sum(k) FROM both_p;
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM both_p WHERE v LIKE '%1%';
INSERT INTO both_p SELECT g, 'r' FROM generate_series(60, 160, 50) g;
UPDATE both_p SET v = 'moved', k = 150 WHERE k = 60;
SELECT tableoid::regclass, * FROM both_p WHERE v IN ('r', 'moved') ORDER BY 2, 3;
EXPLAIN (VERBOSE, COSTS OFF) SELECT k, count(*) FROM both_p GROUP BY k;
DROP TABLE both_p;
DROP SERVER far CASCADE;
DROP SCHEMA far CASCADE;
