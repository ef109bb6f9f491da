-- with contexts
-- What the audit of PL/pgSQL programs found: cursors of parameters by number, rows spread over VALUES, rows filled from JSON.
CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL, price numeric(10, 2) DEFAULT 1, tags text[]);
INSERT INTO item VALUES (1, 'one', 1.5, '{a}'), (2, 'two', 2.5, NULL), (3, 'three', 3.5, '{b,c}');
CREATE FUNCTION open_items(refcursor, int) RETURNS refcursor LANGUAGE plpgsql AS $$
BEGIN
    OPEN $1 SCROLL FOR SELECT id, name FROM item WHERE id >= $2 ORDER BY id;
    RETURN $1;
END
$$;
BEGIN;
SELECT open_items('c', 2);
FETCH ALL FROM c;
FETCH BACKWARD 1 FROM c;
MOVE ABSOLUTE 0 IN c;
FETCH c;
CLOSE c;
SELECT open_items('d', 1);
FETCH 1 FROM d;
COMMIT;
CREATE FUNCTION walk(refcursor) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    a int;
    b text;
    said text := '';
BEGIN
    OPEN $1 FOR EXECUTE 'SELECT id, name FROM item WHERE id > $1 ORDER BY id' USING 1;
    LOOP
        FETCH $1 INTO a, b;
        EXIT WHEN NOT FOUND;
        said := said || a || b || ';';
    END LOOP;
    MOVE BACKWARD ALL FROM $1;
    FETCH NEXT FROM $1 INTO a, b;
    said := said || a;
    CLOSE $1;
    RETURN said;
END
$$;
SELECT walk('w');
SELECT walk(NULL);
CREATE FUNCTION no_cursor(int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    OPEN $1 FOR SELECT 1;
    RETURN 1;
END
$$;
-- The partitions of old: a row goes on by EXECUTE.
CREATE TABLE log_1 (id int, made date, note text);
CREATE TABLE log_2 (id int, made date, note text);
CREATE TABLE log (id int, made date, note text);
CREATE FUNCTION to_part() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %I VALUES ($1.*)', 'log_' || extract(month FROM NEW.made)) USING NEW;
    EXECUTE 'INSERT INTO log_1 SELECT ($1).*' USING NEW;
    EXECUTE 'INSERT INTO log_1 (note, id) VALUES (($1).note || ''!'', $1.id + $2)' USING NEW, 100;
    RETURN NULL;
END
$$;
CREATE TRIGGER to_part BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION to_part();
INSERT INTO log VALUES (1, '2024-01-05', 'jan'), (2, '2024-02-05', 'feb');
INSERT INTO log VALUES (3, '2024-03-05', 'mar');
SELECT count(*) FROM log;
SELECT * FROM log_1 ORDER BY id, note;
SELECT * FROM log_2;
CREATE TYPE pair AS (a int, b text);
CREATE FUNCTION make_pair(int) RETURNS pair LANGUAGE sql AS $$ SELECT $1, 'p' || $1 $$;
CREATE TABLE pairs (a int, b text, c int DEFAULT 7);
INSERT INTO pairs VALUES ((make_pair(1)).*), ((make_pair(2)).*);
INSERT INTO pairs VALUES ((make_pair(3)).*, 9);
INSERT INTO pairs VALUES ((make_pair(3)).*, 9, 10);
VALUES ((make_pair(4)).*, true), (5, 'x', false);
SELECT ROW((make_pair(6)).*, 1), ROW((p).*) FROM pairs p ORDER BY p.a;
SELECT ARRAY[(make_pair(6)).*];
VALUES ((make_pair(4)).*), (5, 'x', false);
INSERT INTO pairs VALUES ((1).*);
SELECT * FROM pairs ORDER BY a;
-- Rows filled from JSON.
SELECT jsonb_populate_record(i, '{"name": "uno", "tags": null}') FROM item i ORDER BY id;
SELECT (jsonb_populate_record(i, '{"id": 9}')).* FROM item i WHERE id = 3;
SELECT r.* FROM item i, jsonb_populate_record(i, jsonb_build_object('price', i.price * 2)) r ORDER BY r.id;
SELECT * FROM item i, json_populate_recordset(i, '[{"id": 10}, {"name": null}]') r WHERE i.id = 1;
SELECT json_populate_record(make_pair(1), '{"b": "z"}'), jsonb_populate_record(make_pair(1), NULL);
SELECT jsonb_populate_record(make_pair(1), '{"a": "z"}');
SELECT jsonb_populate_record(ROW(1, 'x')::pair, '{}'), jsonb_populate_record(NULL::pair, '{"a": 3}');
SELECT jsonb_populate_record(1, '{}');
CREATE FUNCTION patched() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW := jsonb_populate_record(NEW, '{"price": 99.999, "nothing": 1}');
    SELECT * INTO NEW FROM jsonb_populate_record(NEW, jsonb_build_object('name', NEW.name || '*'));
    RETURN NEW;
END
$$;
CREATE TRIGGER patched BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION patched();
UPDATE item SET tags = '{z}' WHERE id < 3 RETURNING *;
DO $$
DECLARE
    r item;
    p pair := (1, 'x');
BEGIN
    r.id := 3;
    r := jsonb_populate_record(r, '{"name": "n"}');
    RAISE NOTICE '%', r;
    r := jsonb_populate_record(r, NULL);
    RAISE NOTICE '%', r;
    p := json_populate_record(p, '{"a": 5}');
    RAISE NOTICE '%', p;
END
$$;
-- An aggregate whose state is a row.
CREATE TYPE mean_state AS (total numeric, weight int);
CREATE FUNCTION mean_step(s mean_state, v numeric, w int) RETURNS mean_state LANGUAGE plpgsql AS $$
BEGIN
    s.total := coalesce(s.total, 0) + v * w;
    s.weight := coalesce(s.weight, 0) + w;
    RETURN s;
END
$$;
CREATE FUNCTION mean_last(s mean_state) RETURNS numeric LANGUAGE sql AS $$ SELECT round(s.total / nullif(s.weight, 0), 3) $$;
CREATE AGGREGATE mean(numeric, int) (SFUNC = mean_step, STYPE = mean_state, FINALFUNC = mean_last, INITCOND = '(0,0)');
CREATE AGGREGATE mean_bare(numeric, int) (SFUNC = mean_step, STYPE = mean_state, FINALFUNC = mean_last);
CREATE TABLE weighed (g text, v numeric, w int);
INSERT INTO weighed VALUES ('a', 1, 2), ('a', 4, 1), ('b', 10, 3), ('b', NULL, 1), ('c', 5, 0);
SELECT mean(v, w), mean_bare(v, w) FROM weighed;
SELECT g, mean(v, w), mean_bare(v, w) FILTER (WHERE w > 1), mean(DISTINCT v, w) FROM weighed GROUP BY g ORDER BY g;
SELECT g, v, mean(v, w) OVER (PARTITION BY g ORDER BY w) FROM weighed ORDER BY g, w;
SELECT g, v, mean_bare(v, w) OVER (ORDER BY g, w ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM weighed ORDER BY g, w;
SELECT mean(v, w) FROM weighed WHERE false;
ALTER TYPE mean_state ADD ATTRIBUTE seen int;
SELECT g, mean_bare(v, w) FROM weighed GROUP BY g ORDER BY g;
DROP FUNCTION mean_last(mean_state);
DROP AGGREGATE mean_bare(numeric, int);
DROP AGGREGATE mean(numeric, int);
SELECT mean(v, w) FROM weighed;
