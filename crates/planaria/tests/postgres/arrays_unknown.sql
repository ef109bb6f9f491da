SELECT array_position(NULL, 1, NULL), array_position(NULL, 1), array_positions(NULL, 'x'::text);
SELECT array_remove(NULL, 1), array_replace(NULL, 1, 2), array_replace(NULL, 1, NULL), array_replace(NULL, NULL, 1);
SELECT array_remove(NULL, '{1}'::int[]);
SELECT array_position('{1,2}'::int[], 2, NULL);
SELECT array_position(NULL::int[], 1, NULL), array_position('{}'::int[], 1, NULL), array_position('{1}'::int[], NULL, NULL);
SELECT array_position('{1,NULL}'::int[], NULL, NULL);
SELECT array_position('{{1}}'::int[], 1, NULL);
SELECT pg_typeof(array_remove(NULL, 2::smallint)), pg_typeof(array_append(NULL, 'x'::varchar(3))), pg_typeof(array_remove(NULL, 'x'::varchar(3)));
SELECT array_remove('{1,2}', 2), array_position('{1,2}', 2), array_append('{1}', 2), array_replace('{1,2}', 2, 3);
