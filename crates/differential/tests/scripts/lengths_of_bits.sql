CREATE TABLE t (id integer PRIMARY KEY, b bit(4), v bit varying(8), a bit(3)[])
;
CREATE TABLE seen (was bit varying, now bit)
;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (OLD.v, substring(NEW.b FROM 1 FOR 1)); NEW.v := NEW.v || B'1'; RETURN NEW; END $$
;
CREATE TRIGGER g BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()
;
CREATE FUNCTION h() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen SELECT v FROM fresh; RETURN NULL; END $$
;
CREATE TRIGGER s AFTER UPDATE ON t REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION h()
;
INSERT INTO t VALUES (1, B'0101', B'1', '{101,NULL}'), (2, B'1111', B'', NULL)
;
INSERT INTO t VALUES (3, B'0101', B'11111111')
;
UPDATE t SET b = ~ b
;
DELETE FROM t WHERE id = 2 RETURNING *
;
MERGE INTO t USING (VALUES (1, (B'1111')::bit(4)), (4, B'1010')) s (id, b) ON t.id = s.id WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, s.b)
;
CREATE FUNCTION twice(p bit varying, q bit) RETURNS bit varying LANGUAGE plpgsql AS $$ DECLARE w bit varying(8) := p; z bit(4) := q; BEGIN p := w; RETURN p || z; END $$
;
SELECT id, twice(v, b), twice(b, v::bit(4)) FROM t
;
SELECT * FROM t
;
SELECT * FROM seen
