-- The remote side: tables made by an application.
DROP SCHEMA IF EXISTS fx CASCADE;
CREATE SCHEMA fx;
SET search_path = fx;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE customer (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar(40) NOT NULL, email text COLLATE "C" UNIQUE,
  score numeric(10,2) DEFAULT 1.5, joined date NOT NULL DEFAULT '2024-01-01', seen timestamptz, tags text[], doc jsonb, u uuid, b bytea, ok boolean DEFAULT true);
CREATE TABLE orders (id int PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customer, total numeric(12,2) NOT NULL, state varchar(10) NOT NULL DEFAULT 'new', placed timestamp, took interval, net numeric GENERATED ALWAYS AS (total * 0.8) STORED);
CREATE VIEW big_orders AS SELECT * FROM orders WHERE total > 500;
CREATE TABLE "Mixed Case" ("Key" int PRIMARY KEY, "a b" text NOT NULL);
CREATE TABLE part (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (100) TO (200);
CREATE MATERIALIZED VIEW totals AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY 1;
INSERT INTO customer (name, email, score, joined, seen, tags, doc, u, b)
  SELECT 'c' || g, 'c' || g || '@example.org', g * 1.25, date '2024-01-01' + g, timestamptz '2024-01-01 10:00+02' + g * interval '1 hour',
    ARRAY['t' || g, 'x,y'], jsonb_build_object('n', g, 'l', jsonb_build_array(1, g)), ('00000000-0000-0000-0000-' || lpad(g::text, 12, '0'))::uuid, decode(lpad(g::text, 4, '0'), 'hex')
  FROM generate_series(1, 100) g;
INSERT INTO orders (id, customer_id, total, state, placed, took)
  SELECT g, 1 + g % 100, g * 2.5, CASE WHEN g % 3 = 0 THEN 'paid' ELSE 'new' END, timestamp '2024-03-01 12:00' + g * interval '1 minute', g * interval '1 second' FROM generate_series(1, 500) g;
INSERT INTO part SELECT g, 'p' || g FROM generate_series(0, 199, 10) g;
INSERT INTO "Mixed Case" VALUES (1, 'x'), (2, 'it''s');
ANALYZE customer; ANALYZE orders;
REFRESH MATERIALIZED VIEW totals;
