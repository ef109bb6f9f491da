CREATE SEQUENCE s
;
CREATE FUNCTION tick(x integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('s'); RETURN x; END $$
;
CREATE TABLE d (a integer, b integer, c integer CHECK (tick(c) > 0))
;
INSERT INTO d VALUES (1, 1, 1), (1, 1, 2), (2, 2, 3)
;
SELECT nextval('s')
;
UPDATE d SET (a, b) = (SELECT tick(1), tick(2))
;
SELECT nextval('s')
;
UPDATE d SET (a, b) = (SELECT tick(d.c), tick(2))
;
SELECT nextval('s')
;
UPDATE d SET a = 2 WHERE c > 1
;
SELECT nextval('s')
;
SELECT sum(tick(a)), sum(tick(a)), sum(a), sum(a) FROM d
;
SELECT nextval('s')
;
SELECT DISTINCT ON (a) a, tick(c) FROM d ORDER BY a, c
;
SELECT nextval('s')
;
SELECT DISTINCT ON (a) a, tick(c), b FROM d ORDER BY a, c LIMIT 1
;
SELECT nextval('s')
