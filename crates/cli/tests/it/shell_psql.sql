\set n 5
\echo :n 'a''b' "q r" :'n' :"n" `echo x` -n
\pset border 0
VALUES (1, 'a', NULL), (22, E'two\nlines', 'z');
\pset border 2
VALUES (1, 'a', NULL), (22, E'two\nlines', 'z');
\x
VALUES (1, 'a', NULL), (22, E'two\nlines', 'z');
\pset border 1
SELECT 1 WHERE false;
\x
SELECT 1 WHERE false;
\a
VALUES (1, 'a', NULL), (2,'b', 'c');
\x
VALUES (1, 'a', NULL), (2,'b', 'c');
SELECT 1 WHERE false;
\x
\pset footer
\f ';'
\pset null N
\t
VALUES (1, 'a', NULL), (2,'b', 'c');
\t
\pset format csv
VALUES (1, 'a,', NULL), (2,'b"', 'c');
\pset format aligned
\pset footer
\pset nonsense
\pset null ''
\pset fieldsep '|'
\unset
\unset n
\echo :n
SELECT 3
\r
\p
\else
\elif 1
\endif
\nonsense
\x on off
\x off
\echo a \echo b \\ SELECT 5;
\i
\w
\o /nowhere/x
\warn oops
\qecho hi
\cd /nowhere
\echo :{?n} :{?nope}
\pset border 0
\x
VALUES (1, 'a', NULL), (22, E'two\nlines', 'z');
\t
VALUES (1, 'a', NULL), (22, E'two\nlines', 'z');
\pset border 2
VALUES (1, 'a', NULL), (22, E'two\nlines', 'z');
SELECT 1 AS "a long name of a column";
\pset border 1
SELECT 1 AS "a long name of a column";
\t
SELECT 1 AS "a long name of a column";
\pset border 0
SELECT 1 AS "a long name of a column";
\pset border 1
\x
SELECT 3
\p
\g
\p
CREATE TABLE t (k int);
INSERT INTO t VALUES (1), (2) RETURNING k;
COPY t TO STDOUT;
\o | cat
SELECT * FROM t;
COPY t TO STDOUT;
DELETE FROM t;
\o
\set x 'a b'
SELECT :'x', :"x", :x FROM (SELECT 1 AS "a b", 2 AS a) s;
SELECT $$ :x ' $$, e'\' :x', 'a\', U&'\0041'; -- :x '
DROP TABLE t; \echo done
\if true \echo yes \else \echo no \endif
\if false
\echo `echo not run >&2`
\elif false
\else
\echo else
\endif
\if on
\endif extra
SELECT 1 AS a, 2 AS a \gset p_
\echo :p_a
SELECT NULL AS p_a \gset
\echo :p_a
SELECT 1 AS "b c" \gset
SELECT 'SELECT 1; SELECT 2' , NULL \gexec
BEGIN; SELECT 1; COMMIT;
SELECT 1/0 \gset
\echo :ERROR :SQLSTATE :ROW_COUNT :LAST_ERROR_SQLSTATE
\c nodb
\c - - localhost
\c bank postgres 127.0.0.1
\conninfo
\d nope
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE TYPE pair AS (x int, y text);
CREATE DOMAIN even AS int DEFAULT 2 NOT NULL CHECK (VALUE % 2 = 0);
CREATE TABLE m (id int, at date NOT NULL, e even, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE m1 PARTITION OF m FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE MATERIALIZED VIEW mv AS SELECT id, count(*) AS n FROM m GROUP BY id;
CREATE VIEW v AS SELECT id, at FROM m WHERE id > 0;
CREATE FUNCTION f(a int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN a + 1;
END $$;
COMMENT ON TABLE m IS 'measurements';
COMMENT ON COLUMN m.at IS 'when';
COMMENT ON TYPE mood IS 'how it feels';
CREATE ROLE reader;
GRANT SELECT ON m TO reader;
GRANT UPDATE (e) ON m TO reader;
\dm
\dT
\dD
\d pair
\d m
\d m1
\d+ v
\dp m
\z v
\sf f
\sf f(int)
\sv v
\sv m
\d
\dx
DROP MATERIALIZED VIEW mv;
DROP VIEW v;
DROP TABLE m;
DROP DOMAIN even;
DROP TYPE mood, pair;
DROP FUNCTION f(int);
DROP ROLE reader;
\pset null
\pset format
\pset border
\pset expanded
\t
\f
