-- What people type into psql: its commands, and what they print. Left out: what is of the server's machine.
CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, born date);
CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id int NOT NULL REFERENCES customer (id), total numeric(12,2) DEFAULT 0 CHECK (total >= 0), s serial);
CREATE INDEX order_by_customer ON orders (customer_id);
CREATE UNIQUE INDEX customer_by_name ON customer (name, born);
CREATE VIEW big_order AS SELECT id, total FROM orders WHERE total > 100;
CREATE SEQUENCE ticket INCREMENT 5;
CREATE ROLE ann LOGIN; CREATE ROLE readers; GRANT readers TO ann; GRANT SELECT ON customer TO readers; GRANT UPDATE ON orders TO ann;
CREATE FUNCTION double_it(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2';
CREATE PROCEDURE nothing(a int, INOUT b text) LANGUAGE plpgsql AS $$ BEGIN
  b := 'x';
END $$;
INSERT INTO customer SELECT i, 'c' || i, '2000-01-01' FROM generate_series(1,5) i;
\echo == d
\d
\d+
\d customer
\d+ customer
\d orders
\d+ orders
\d big_order
\d+ big_order
\d ticket
\d+ ticket
\d order_by_customer
\d+ order_by_customer
\d nix
\echo == dt
\dt
\dt+
\dt cust*
\di
\di+
\ds
\ds+
\dv
\dv+
\echo == df
\df
\df+
\df double_it
\sf double_it
\sf+ nothing
\echo == du
\du
\du+
\dg
\dp
\z customer
\ddp
\dT
\dT+
\dD
\dy
\do+ nix
\dO
\dC nix
\dL
\da nix
\dd
\dconfig nix*
\dc nix
\dE
\dm
\dRp
\dRs
\dX
\dl
\drds
\det
\dew
\deu
\des
\dP
\conninfo
\timing on
\timing off
SELECT 1 AS a, 'x'::text AS b, 2.5::numeric(5,2) AS c, now() AS d, ARRAY[1] AS e, 'y'::varchar(3) AS f \gdesc
SELECT c.name, o.v, o.v * 10 AS w FROM (VALUES ('a'), ('b')) AS c(name), (VALUES (1), (2)) AS o(v) ORDER BY 1, 2 \crosstabview
SELECT 1/0;
\errverbose
SELECT * FROM nix;
\errverbose
\copy customer TO '/dev/null' CSV HEADER
\copy (SELECT id, name FROM customer ORDER BY 1) TO STDOUT
SELECT 'SELECT ' || i FROM generate_series(1,2) i \gexec
SELECT 1 AS one, 'x' AS two \gset
\echo :one :two
SELECT $1::int + 1 \bind 4 \g
SELECT 5 \gx
\encoding
\set FETCH_COUNT 2
SELECT id FROM customer ORDER BY 1;
\unset FETCH_COUNT
\set ON_ERROR_ROLLBACK on
BEGIN;
SELECT 1/0;
SELECT 2;
COMMIT;
COMMENT ON TABLE customer IS 'people';
\dd customer
\dt+ customer
\lo_list
DROP VIEW big_order; DROP TABLE orders, customer; DROP SEQUENCE ticket; DROP FUNCTION double_it; DROP PROCEDURE nothing;
DROP ROLE ann; DROP ROLE readers;
