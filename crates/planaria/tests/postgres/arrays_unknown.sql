SELECT array_position(NULL, 1, NULL), array_position(NULL, 1), array_positions(NULL, 'x'::text);
SELECT array_remove(NULL, 1), array_replace(NULL, 1, 2), array_replace(NULL, 1, NULL), array_replace(NULL, NULL, 1);
SELECT array_remove(NULL, '{1}'::int[]);
SELECT array_position('{1,2}'::int[], 2, NULL);
SELECT array_position(NULL::int[], 1, NULL), array_position('{}'::int[], 1, NULL), array_position('{1}'::int[], NULL, NULL);
SELECT array_position('{1,NULL}'::int[], NULL, NULL);
SELECT array_position('{{1}}'::int[], 1, NULL);
SELECT pg_typeof(array_remove(NULL, 2::smallint)), pg_typeof(array_append(NULL, 'x'::varchar(3))), pg_typeof(array_remove(NULL, 'x'::varchar(3)));
SELECT array_remove('{1,2}', 2), array_position('{1,2}', 2), array_append('{1}', 2), array_replace('{1,2}', 2, 3);
-- Elements that do not fit the array.
SELECT array_append(ARRAY[1,2], 2.5), array_prepend(2.5, ARRAY[1]), array_cat(ARRAY[1], ARRAY[2.5]), array_remove(ARRAY[1,2], 2.0);
SELECT array_position(ARRAY[1,2], 2.0), array_positions(ARRAY[1,2], 2::bigint), array_replace(ARRAY[1,2], 1, 2.5), array_replace('{1,2}', 1, 2.5);
SELECT pg_typeof(array_append(ARRAY[1,2], 2::bigint)), pg_typeof(array_append(ARRAY[1::bigint], 2::int)), pg_typeof(array_replace(ARRAY[1], 1::smallint, 2::bigint));
SELECT array_append(ARRAY['2020-01-01'::date], '2020-01-01 12:00'::timestamp);
SELECT array_position(ARRAY[1,2,3], 2.0, 1), array_position(ARRAY[1,2,1.0], 1, 2);
SELECT array_append(ARRAY[[1,2]], 2.5);
SELECT array_prepend(2.5, '{1,2}'), array_remove('{1,2}', 2.0), array_append(NULL::int[], 2.5);
SELECT array_append(ARRAY[1.5], 2::real), pg_typeof(array_append(ARRAY[1.5], 2::real)), pg_typeof(array_append(ARRAY[1::real], 2.5));
