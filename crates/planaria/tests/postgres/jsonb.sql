-- Values and their one form
SELECT '{"b":1, "aa":[1 ,2.50, {}],"a":null,"b":2}'::jsonb;
SELECT '"\u00e4\ud83d\ude00\/\u0007"'::jsonb, '[1e2, 1.5e1, 1.50E-3, -0, -0.0, 120e-1, -1E+3]'::jsonb;
SELECT ' [ 1 , "a" ] '::json, ' [ 1 , "a" ] '::jsonb, 'null'::jsonb IS NULL;
SELECT '123456789012345678901234567890123456789012345.678900'::jsonb;
SELECT '{'::jsonb;
SELECT '"\u0000"'::jsonb;
SELECT '"\ud800"'::jsonb;
SELECT '1e200000'::jsonb;
SELECT 'abc'::jsonb;
-- Parts
SELECT '{"a":{"b":[1,"x",null]}}'::jsonb -> 'a' -> 'b' -> 1, '{"a":{"b":[1,"x",null]}}'::jsonb -> 'a' -> 'b' ->> 1;
SELECT '[1,2,3]'::jsonb -> -1, '[1,2,3]'::jsonb -> 3, '[1,2,3]'::jsonb -> 'a', '{"a":1}'::jsonb -> 0, '5'::jsonb -> 0, '5'::json -> 0;
SELECT '{"a":null}'::jsonb -> 'a', '{"a":null}'::jsonb ->> 'a', ('{"a":null}'::jsonb ->> 'a') IS NULL;
SELECT '{"a":[1,{"b":2}]}'::jsonb #> '{a,1,b}', '{"a":[1,{"b":"2"}]}'::jsonb #>> '{a,1,b}', '{"a":1}'::jsonb #> '{}', '{"a":1}'::jsonb #> array['a',NULL];
SELECT '{"a": 1, "b" : [1, 2] , "a": "x y"}'::json -> 'a', '{"a": 1, "b" : [1, 2] }'::json -> 'b', '{"a": {"b" : 1 } }'::json #>> '{a}';
SELECT '{"a\"b": "c\\d\n"}'::json ->> 'a"b', '{"a\"b": "c\\d\n"}'::jsonb -> 'a"b', '{"": 1}'::jsonb -> '';
SELECT ('{"a":[1,2]}'::jsonb)['a'][0], ('{"a":[1,2]}'::jsonb)['b'];
SELECT jsonb_extract_path('{"a":{"b":[1,2]}}', 'a', 'b', '1'), jsonb_extract_path_text('{"a":{"b":"x"}}', 'a', 'b'), json_extract_path_text('{"a":"x"}', 'a'), jsonb_extract_path('{"a":2}', VARIADIC array['a']);
-- What they are
SELECT jsonb_typeof(x), x::text FROM unnest(array['1','"a"','null','true','[]','{}']::jsonb[]) AS x;
SELECT jsonb_array_length('[1,2,[3]]'), json_array_length('[]');
SELECT jsonb_array_length('{"a":1}');
SELECT json_array_length('1');
SELECT pg_typeof('1'::jsonb), pg_typeof('{"a":1}'::json -> 'a'), pg_typeof(to_jsonb(1));
-- Casts
SELECT '1.5'::jsonb::int, '2.5'::jsonb::int8, '1e3'::jsonb::float8, '12'::jsonb::numeric(4,1), 'true'::jsonb::bool, '7'::jsonb::int2, '0.1'::jsonb::real;
SELECT '"a"'::jsonb::int;
SELECT 'null'::jsonb::int;
SELECT '[1]'::jsonb::bool;
SELECT '1'::jsonb::bool;
SELECT '{}'::jsonb::numeric;
SELECT '99999999999'::jsonb::int;
SELECT '{"b":1,"a":2}'::json::jsonb, '{"b":1,"a":2}'::jsonb::json, '{"a": 1}'::jsonb::text || 'x', '{"a":1}'::text::jsonb;
SELECT 1::jsonb;
-- Order and equality
SELECT x FROM unnest(array['[]','null','"b"','"a"','-1','10','2','false','true','[1]','[[]]','[null,1]','{}','{"a":1,"b":1}','{"b":1}']::jsonb[]) AS x ORDER BY x;
SELECT '1.0'::jsonb = '1.00', '[1.0]'::jsonb = '[1]', '{"a":1,"b":2}'::jsonb = '{"b":2,"a":1}', '1'::jsonb < '"a"', '[1,2]'::jsonb <> '[2,1]', '{"a":1}'::jsonb >= '[]';
SELECT count(*), x = '[1]' FROM unnest(array['[1]','[1.0]','[2]']::jsonb[]) AS x GROUP BY x ORDER BY 2, 1;
SELECT DISTINCT x FROM unnest(array['"a"','"a"','"b"']::jsonb[]) AS x ORDER BY x;
SELECT '1'::json = '1'::json;
SELECT '{"a":1}'::jsonb IN ('{"a":2}', '{"a":1.0}');
-- Operators
SELECT '{"a":1,"b":[1,{"c":2}]}'::jsonb @> '{"b":[{"c":2}]}', '[1,[2,3]]'::jsonb @> '[[3]]', '["a","b"]'::jsonb @> '"a"', '"a"'::jsonb @> '["a"]', '{"a":1}'::jsonb @> '{"a":1,"b":2}', '[1,1]'::jsonb @> '[1,1,1]', '{}'::jsonb @> '[]', '{"a":1}' <@ '{"a":1,"b":2}'::jsonb, '1'::jsonb @> '1.0';
SELECT '{"a":1}'::jsonb ? 'a', '["a","b"]'::jsonb ? 'b', '"a"'::jsonb ? 'a', '{"a":{"b":1}}'::jsonb ? 'b', '[1]'::jsonb ? '1';
SELECT '{"a":1,"b":2}'::jsonb ?| array['c','b'], '{"a":1,"b":2}'::jsonb ?& array['a','c'], '{"a":1}'::jsonb ?& array[]::text[], '{"a":1}'::jsonb ?| '{a,x}';
SELECT '{"a":1,"b":2}'::jsonb || '{"b":3,"c":4}', '[1]'::jsonb || '[2]', '[1]'::jsonb || '{"a":1}', '1'::jsonb || '2', '{"a":1}'::jsonb || '1', '[]'::jsonb || 'null', '{}'::jsonb || NULL;
SELECT '{"a":1,"b":2}'::jsonb - 'a', '["a","b","a"]'::jsonb - 'a', '[1,2,3]'::jsonb - 1, '[1,2,3]'::jsonb - -1, '[1]'::jsonb - 5, '{"a":1,"b":2,"c":3}'::jsonb - array['a','c'];
SELECT '{"a":1}'::jsonb - 1;
SELECT '1'::jsonb - 'a';
SELECT '1'::jsonb - 0;
SELECT '{"a":{"b":1,"c":[1,2]}}'::jsonb #- '{a,b}', '{"a":{"c":[1,2]}}'::jsonb #- '{a,c,-1}', '{"a":1}'::jsonb #- '{b}', '{"a":1}'::jsonb #- '{}';
SELECT '1'::jsonb #- '{a}';
SELECT '[1]'::jsonb #- '{a}';
SELECT '{"a":1}'::jsonb + 1;
SELECT '{"a":1}'::json || '{}';
SELECT '{"a":1}'::json @> '{}';
-- Changes
SELECT jsonb_set('{"a":[1,2]}', '{a,0}', '{"x":1}'), jsonb_set('{"a":1}', '{b}', '2'), jsonb_set('{"a":1}', '{b}', '2', false), jsonb_set('[1,2]', '{-5}', '5'), jsonb_set('[1,2]', '{7}', '5'), jsonb_set('[]', '{7}', '5'), jsonb_set('{"a":{}}', '{b,c}', '5'), jsonb_set('[1]', '{}', '2'), jsonb_set('[1]', '{0}', NULL);
SELECT jsonb_set('{"a":[1,2]}', '{a,x}', '5');
SELECT jsonb_set('1', '{a}', '2');
SELECT jsonb_set('{"a":1}', array['a',NULL], '2'), 1;
SELECT jsonb_set('{"a":{}}', array['a',NULL], '2');
SELECT jsonb_insert('[1,2]', '{0}', '5'), jsonb_insert('[1,2]', '{0}', '5', true), jsonb_insert('[1,2]', '{-9}', '5', true), jsonb_insert('{"a":1}', '{b}', '5');
SELECT jsonb_insert('{"a":1}', '{a}', '5');
SELECT jsonb_strip_nulls('{"a":null, "b": [null,{"c":null}]}'), json_strip_nulls('{"a":null, "b": [null,{"c":null}], "a": 1 }');
SELECT jsonb_pretty('{"a":[1,{"b":null}],"c":{}}');
SELECT jsonb_pretty('[]'), jsonb_pretty('1');
-- Made of values
SELECT jsonb_build_object('a', 1, 'b', NULL, 'c', array[1,2], 'a', 3), jsonb_build_array(1, 'x', NULL, true, 1.50), jsonb_build_object(), jsonb_build_array();
SELECT jsonb_build_object('a');
SELECT jsonb_build_object(NULL, 1);
SELECT to_jsonb(1.50), to_jsonb('x'::text), to_jsonb(array[1,2]), to_jsonb('{"b":1,"a":2}'::json), to_jsonb('[1]'::jsonb), to_jsonb(date '2024-01-02'), to_jsonb(NULL::int);
SELECT jsonb_agg(x ORDER BY x DESC), jsonb_object_agg('k' || x, x) FROM generate_series(1, 3) AS x;
SELECT jsonb_agg(x) FROM generate_series(1, 0) AS x;
SELECT jsonb_agg(jsonb_build_object('n', x)) FILTER (WHERE x > 1) FROM generate_series(1, 3) AS x;
SELECT json_object('{a,1,b,2}'), jsonb_object('{a,1,b,NULL}'), json_object('{a,b}', '{1,2}');
SELECT json_object('{a}');
SELECT jsonb_object('{a,b}', '{1}');
SELECT json_object(array[NULL,'1']);
SELECT to_json('{"a":1}'::jsonb), json_build_array('{"a":1}'::jsonb, '[ 1 ]'::json), row_to_json(r) FROM (SELECT 1 AS a, '{"b":2}'::jsonb AS j) AS r;
-- Sets
SELECT * FROM jsonb_array_elements('[1,"a",null,[2]]');
SELECT * FROM jsonb_array_elements_text('[1,"a",null,[2]]') WITH ORDINALITY AS t (v, n);
SELECT value FROM json_array_elements('[1, {"a" : 2} ]') AS e;
SELECT e.value ->> 'a' FROM jsonb_array_elements('[{"a":1},{"a":"x"}]') AS e;
SELECT jsonb_array_elements('[1,2]'), 'x';
SELECT * FROM jsonb_each('{"b":1,"a":[2]}');
SELECT key, value FROM json_each_text('{"b":"x","a":null,"b":2}') AS t;
SELECT * FROM jsonb_each_text('{"b":"x","a":null}') AS t (k, v) WHERE v IS NOT NULL;
SELECT jsonb_object_keys('{"b":1,"a":2}');
SELECT k FROM json_object_keys('{"b":1,"a":2,"b":3}') AS k;
SELECT jsonb_array_elements('{"a":1}');
SELECT json_array_elements('1');
SELECT jsonb_object_keys('[1]');
SELECT json_object_keys('1');
SELECT * FROM jsonb_each('[1]');
SELECT * FROM json_each('[1]');
SELECT * FROM json_each_text('1');
-- Columns
CREATE TABLE docs (id int PRIMARY KEY, data jsonb NOT NULL DEFAULT '{}', raw json, CHECK (jsonb_typeof(data) = 'object'));
INSERT INTO docs (id) VALUES (1);
INSERT INTO docs VALUES (2, '{"name":"b","tags":["x","y"],"n":2}', '{"a": 1}'), (3, '{"name":"a","tags":["y"],"n":10.50}', '[ ]');
INSERT INTO docs VALUES (4, '[]');
INSERT INTO docs VALUES (4, '{"a"');
SELECT * FROM docs ORDER BY data DESC;
SELECT id, data ->> 'name' AS name, (data ->> 'n')::numeric AS n FROM docs WHERE data @> '{"tags":["y"]}' ORDER BY data -> 'n';
UPDATE docs SET data = data || '{"seen":true}' WHERE data ? 'name';
UPDATE docs SET data = jsonb_set(data, '{n}', to_jsonb((data ->> 'n')::numeric + 1)), raw = to_json(id) WHERE id > 1 RETURNING *;
SELECT t.id, e.value FROM docs AS t, jsonb_array_elements_text(t.data -> 'tags') AS e ORDER BY 1, 2;
SELECT data ->> 'name', count(*) FROM docs GROUP BY data ->> 'name' ORDER BY 1;
SELECT d.id FROM docs AS d JOIN docs AS e ON d.data = e.data ORDER BY 1;
SELECT id FROM docs WHERE data = '{"n": 11.5, "name": "a", "seen": true, "tags": ["y"]}';
CREATE INDEX ON docs (raw);
ALTER TABLE docs ADD COLUMN extra jsonb DEFAULT '[1]';
ALTER TABLE docs ALTER COLUMN raw TYPE jsonb USING raw::jsonb;
SELECT id, raw, extra FROM docs ORDER BY id;
CREATE FUNCTION bump(j jsonb, k text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE v jsonb := j; n int; e record;
BEGIN
    n := coalesce((v ->> k)::int, 0) + 1;
    v := v || jsonb_build_object(k, n);
    FOR e IN SELECT * FROM jsonb_each(v) ORDER BY key LOOP
        RAISE NOTICE '% = %', e.key, e.value;
    END LOOP;
    IF v @> '{"x":2}' THEN v := v - 'x'; END IF;
    RETURN v;
END $$;
SELECT bump('{}', 'x'), bump('{"x":1}', 'x'), bump('{"y":"1"}', 'y');
PREPARE p (jsonb) AS SELECT $1 -> 'a', $1 ->> 'b';
EXECUTE p ('{"a":[1],"b":"x"}');
SELECT coalesce(data -> 'none', '0'), CASE WHEN id = 1 THEN data ELSE '1' END, greatest('1'::jsonb, '2') FROM docs WHERE id = 1;
SELECT string_agg(value, ',') FROM jsonb_array_elements_text('["a","b"]');
SELECT data FROM docs UNION SELECT '{}'::jsonb ORDER BY 1;
-- json has no equality and no order
SELECT x FROM (VALUES ('1'::json), ('2')) AS v (x) ORDER BY x;
SELECT x FROM (VALUES ('1'::json), ('2')) AS v (x) GROUP BY x;
SELECT DISTINCT x FROM (VALUES ('1'::json), ('2')) AS v (x);
SELECT '1'::json UNION SELECT '2'::json;
SELECT '1'::json UNION ALL SELECT '2'::json;
SELECT '1'::json EXCEPT ALL SELECT '2'::json;
SELECT count(DISTINCT x) FROM (VALUES ('1'::json), ('2')) AS v (x);
SELECT json_agg(x ORDER BY x) FROM (VALUES ('1'::json), ('2')) AS v (x);
SELECT max(x) FROM (VALUES ('1'::jsonb), ('2')) AS v (x);
SELECT min(x) FROM (VALUES ('1'::json), ('2')) AS v (x);
SELECT max(x) FROM (VALUES (array[1,2]), (array[1,3])) AS v (x);
-- Subscripts are paths; numbers are exact
SELECT ('{"0":"x"}'::jsonb)[0], ('5'::jsonb)[0], ('["a"]'::jsonb)['0'], ('{"a":[1,2]}'::jsonb)['a'][-1], ('{"a":1}'::jsonb)[NULL::int];
SELECT to_jsonb(1e50::float8)::float8, '3.14159265358979323846264338327950288419716'::jsonb::float8, '1e30'::jsonb::real;
SELECT json_strip_nulls('{"a":1E2,"b":-0,"c":null, "d" : {"e":null,"f":"x"}}');
SELECT jsonb_array_length(('[' || repeat('1e131071,', 3) || '1]')::jsonb), length(('[1e131071]'::jsonb)::text);
ALTER TABLE docs ADD COLUMN k int;
UPDATE docs SET k = id;
SELECT array_agg(x) FROM jsonb_array_elements('[1,2]') AS x;
SELECT * FROM jsonb_each(5);
SELECT jsonb_array_elements('a'::text);
SELECT jsonb_typeof(1);
SELECT jsonb_pretty('{}'::json);
SELECT json_array_length('[]'::jsonb);
-- Where there is nothing to change, the path is not looked at.
SELECT '[]'::jsonb #- '{a,0}', '{}'::jsonb #- '{a}', jsonb_set('[]', '{a}', '1', false), jsonb_set('{}', '{a}', '1', false);
SELECT jsonb_set('[]', '{a}', '1', true);
SELECT jsonb_insert('[]', '{a}', '1');
SELECT '[1]'::jsonb #- '{a,0}';
SELECT '[]'::jsonb #- ARRAY[NULL];
SELECT jsonb_set('{"a": []}', '{a,b}', '1', false);
