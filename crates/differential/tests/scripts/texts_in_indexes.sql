CREATE TYPE mood AS ENUM ('sad', 'ok')
;
CREATE TABLE t (id integer, m mood, r int4range, c money, a text[], i interval, d date, b bit(4), u uuid, n numeric(8,2))
;
CREATE INDEX ON t ((m::text))
;
CREATE INDEX ON t ((r::text))
;
CREATE INDEX ON t ((c::text))
;
CREATE INDEX ON t ((a::text))
;
CREATE INDEX ON t ((d::text))
;
CREATE INDEX ON t ((i::text))
;
CREATE INDEX ON t (id) WHERE m::text = 'sad'
;
ALTER TABLE t ADD COLUMN g text GENERATED ALWAYS AS (m::text) STORED
;
CREATE INDEX ON t ((b::text), (u::text), (n::text))
;
CREATE INDEX ON t (m, r, c, i) WHERE m > 'sad' AND c > '1' AND r && '[1,2)'
;
INSERT INTO t (id, m) VALUES (1, 'sad')
;
ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'
;
SELECT id, m FROM t WHERE m::text = 'blue'
