-- Rows and arrays of rows out of JSON, at whatever depth.
CREATE TYPE pt AS (x int, y text);
CREATE TYPE shape AS (name text, corner pt, corners pt[], sizes numeric[], more jsonb);
CREATE TYPE whole AS (id int, main shape, shapes shape[]);
SELECT * FROM json_populate_record(NULL::shape, '{"name": "s", "corner": {"x": 1, "y": "a, \"b\""}, "corners": [{"x": 1}, {"y": "q\\r"}, null, {"x": null, "y": ""}], "sizes": [1.5, null], "more": {"a": [1, 2]}}');
SELECT * FROM jsonb_populate_record(NULL::shape, '{"name": "s", "corner": {"x": 1, "y": "(x)"}, "corners": [{"x": 1}, {"y": "NULL"}, null], "sizes": [], "more": null}');
SELECT json_populate_record(NULL::shape, '{"corners": [{"x": 1, "y": "a b"}]}');
SELECT (jsonb_populate_record(NULL::shape, '{"corners": [{"x": 1, "y": "a b"}, {"x": 2}]}')).corners[2].x;
SELECT * FROM jsonb_populate_record(ROW('old', ROW(8, 'z'), NULL, '{9}', '1')::shape, '{"corner": {"x": 1}, "corners": [{"x": 3}]}');
SELECT * FROM json_populate_record(NULL::whole, '{"id": 1, "main": {"name": "m", "corners": [{"x": 1}]}, "shapes": [{"name": "a", "corner": {"x": 4, "y": "k"}, "corners": [{"x": 5, "y": "{}"}], "sizes": [1, 2], "more": {"k": "v"}}, {"sizes": "{3,4}", "more": "text"}]}');
SELECT * FROM jsonb_populate_recordset(NULL::shape, '[{"corners": [{"x": 1}]}, {"name": "n", "corners": []}, {"corners": null}]');
SELECT jsonb_populate_recordset(NULL::shape, '[{"corners": [{"x": 1}]}, {"name": "n", "corners": []}]');
SELECT * FROM json_to_record('{"p": {"x": 1}, "q": [{"x": 2}, {"x": 3}], "s": [{"corners": [{"y": "y"}]}]}') AS t(p pt, q pt[], s shape[]);
SELECT * FROM jsonb_to_recordset('[{"q": [{"x": 2}, {"x": 3}]}, {"q": [[{"x": 2}], [{"x": 3}]]}]') AS t(q pt[]);
SELECT * FROM json_to_record('{"q": "{\"(1,a)\"}"}') AS t(q pt[]);
SELECT * FROM json_to_record('{"q": 5}') AS t(q pt[]);
SELECT * FROM json_to_record('{"q": {"x": 5}}') AS t(q pt[]);
SELECT * FROM json_to_record('{"q": [[{"x": 5}], 1]}') AS t(q pt[]);
SELECT * FROM json_to_record('{"q": [{"x": "z"}]}') AS t(q pt[]);
SELECT * FROM json_to_record('{"s": [{"corners": 1}]}') AS t(s shape[]);
SELECT * FROM json_to_record('{"s": [{"corner": 1}]}') AS t(s shape[]);
SELECT * FROM json_to_record('{"s": [{"corner": [1]}]}') AS t(s shape[]);
CREATE TABLE kept (id int PRIMARY KEY, corners pt[]);
CREATE PROCEDURE keeps(id int, j jsonb) LANGUAGE plpgsql AS $$
DECLARE s shape;
BEGIN
    s := jsonb_populate_record(NULL::shape, j);
    INSERT INTO kept VALUES (id, s.corners);
    INSERT INTO kept SELECT id + 1, r.corners FROM jsonb_populate_record(s, '{"name": "x"}') r;
END $$;
CALL keeps(1, '{"corners": [{"x": 7, "y": "seven"}]}');
SELECT * FROM kept ORDER BY id;
-- A string is the literal of a row.
CREATE TYPE jr_place AS (street text, zip int);
CREATE TYPE jr_home AS (h jr_place, n int);
SELECT * FROM json_to_record('{"q":[{"h":"(a,1)"}, {"h":{"zip":2},"n":3}]}') AS x(q jr_home[]);
SELECT * FROM json_to_record('{"q":["(b,2)", null]}') AS x(q jr_place[]);
-- A string where a row is wanted that stands alone, in statements and routines.
CREATE TYPE alone AS (x int, y text);
SELECT * FROM jsonb_to_recordset('[{"i":{"x":1}},{"i":"(7,seven)"},{"i":null},{"i":"(,)"}]') AS t (i alone);
CREATE FUNCTION read_alone(j json) RETURNS SETOF alone LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT (i).x, (i).y FROM json_to_recordset(j) AS t (i alone); END $$;
SELECT * FROM read_alone('[{"i":"(8,eight)"},{"i":{"y":"nine"}}]');
SELECT * FROM jsonb_to_record('{"i":"(7"}') AS t (i alone);
