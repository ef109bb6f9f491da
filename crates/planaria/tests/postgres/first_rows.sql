-- The first rows of an order, where more come than are kept; values of all classes in order; min and max of many
-- columns; columns that only rows within a filter are read for.
CREATE TABLE r (id int PRIMARY KEY, i int, b bigint, n numeric, p numeric(12,2), x double precision, f real, t text, c char(9),
  d date, ts timestamp, v interval, u uuid, y bytea, o boolean, a int[], j jsonb);
INSERT INTO r SELECT g,
  CASE WHEN g % 11 = 0 THEN NULL ELSE (g * 7919) % 37 - 18 END,
  CASE WHEN g % 13 = 0 THEN NULL WHEN g % 17 = 0 THEN 9223372036854775807 WHEN g % 19 = 0 THEN -9223372036854775808 ELSE (g * 31) % 101 END,
  CASE WHEN g % 7 = 0 THEN NULL WHEN g % 5 = 0 THEN (g % 4) * 1.000 WHEN g % 3 = 0 THEN ((g % 50) - 25) / 8.0 ELSE ((g % 9) - 4) * 1000000000000000.5 END,
  ((g * 17) % 1000) / 100.0,
  CASE WHEN g % 29 = 0 THEN 'NaN'::float8 WHEN g % 31 = 0 THEN '-Infinity' WHEN g % 23 = 0 THEN 'Infinity' WHEN g % 10 = 0 THEN '-0' WHEN g % 12 = 0 THEN NULL ELSE ((g % 40) - 20) / 4.0 END,
  CASE WHEN g % 27 = 0 THEN 'NaN'::float8 ELSE ((g % 40) - 20) / 4.0 END,
  CASE WHEN g % 14 = 0 THEN NULL WHEN g % 3 = 0 THEN 'name' || g % 40 WHEN g % 4 = 0 THEN '' WHEN g % 5 = 0 THEN 'namely' ELSE 'a longer name, ' || (g % 50) END,
  CASE WHEN g % 15 = 0 THEN NULL ELSE 'c' || g % 100 END,
  date '2020-01-01' + (g * 13) % 400, timestamp '2020-01-01 12:00:00' + (g % 90) * interval '7 hours',
  CASE WHEN g % 16 = 0 THEN NULL WHEN g % 2 = 0 THEN make_interval(days => g % 62) ELSE make_interval(months => g % 3) END,
  ('00000000-0000-0000-0000-0000000000' || lpad(((g * 7) % 100)::text, 2, '0'))::uuid,
  decode(lpad(((g * 37) % 100)::text, 2, '0'), 'hex'), g % 3 = 0, ARRAY[g % 5, g % 3], jsonb_build_object('k', g % 6)
  FROM generate_series(1, 3000) g;

-- The first rows by each class, both ways.
SELECT id, i FROM r ORDER BY i, id LIMIT 5;
SELECT id, i FROM r ORDER BY i DESC, id DESC LIMIT 5;
SELECT id, i FROM r ORDER BY i NULLS FIRST, id DESC LIMIT 3;
SELECT id, i FROM r ORDER BY i DESC NULLS LAST, id LIMIT 3 OFFSET 300;
SELECT id, b FROM r ORDER BY b, id LIMIT 3 OFFSET 2690;
SELECT id, b FROM r ORDER BY b DESC, id LIMIT 3 OFFSET 228;
SELECT id, b FROM r ORDER BY b NULLS FIRST, id LIMIT 4 OFFSET 228;
SELECT id, n FROM r ORDER BY n, id LIMIT 4;
SELECT id, n FROM r ORDER BY n DESC NULLS LAST, id LIMIT 4;
SELECT id, n FROM r WHERE n BETWEEN -1 AND 3 ORDER BY n DESC, id DESC OFFSET 20 LIMIT 6;
SELECT id, p FROM r ORDER BY p, id LIMIT 4;
SELECT id, p FROM r ORDER BY p DESC, id LIMIT 4;
SELECT id, x FROM r ORDER BY x, id LIMIT 4;
SELECT id, x FROM r ORDER BY x DESC, id LIMIT 4;
SELECT id, x FROM r ORDER BY x DESC NULLS LAST, id LIMIT 4;
SELECT id, x FROM r WHERE x BETWEEN -0.25 AND 0.25 ORDER BY x, id LIMIT 12;
SELECT id, f FROM r ORDER BY f DESC, id LIMIT 3;
SELECT id, t FROM r ORDER BY t, id LIMIT 3;
SELECT id, t FROM r WHERE t <> '' ORDER BY t, id LIMIT 4;
SELECT id, t FROM r ORDER BY t DESC NULLS LAST, id LIMIT 4;
SELECT id, c FROM r ORDER BY c DESC NULLS LAST, id LIMIT 4;
SELECT id, d FROM r ORDER BY d, id LIMIT 3;
SELECT id, ts FROM r ORDER BY ts DESC, id LIMIT 3;
SELECT id, v FROM r ORDER BY v, id LIMIT 4 OFFSET 1450;
SELECT id, v FROM r ORDER BY v DESC NULLS LAST, id LIMIT 3;
SELECT id, u FROM r ORDER BY u DESC, id LIMIT 3;
SELECT id, y FROM r ORDER BY y DESC, id LIMIT 3;
SELECT id, o FROM r ORDER BY o DESC, id LIMIT 3;
SELECT id, a FROM r ORDER BY a DESC, id LIMIT 3;
SELECT id, j FROM r ORDER BY j DESC, id LIMIT 3;
SELECT id, o, t, i FROM r ORDER BY o DESC, t DESC NULLS LAST, i NULLS FIRST, id LIMIT 5 OFFSET 40;

-- All of them, in order.
SELECT count(*), sum(id * n) FROM (SELECT id, row_number() OVER () n FROM (SELECT id FROM r ORDER BY o, a, t DESC, x, n NULLS FIRST, v, id) s) q;
SELECT count(*), sum(id * n) FROM (SELECT id, row_number() OVER () n FROM (SELECT id FROM r ORDER BY n DESC, b, c, id DESC) s) q;
SELECT count(*), sum(id * n) FROM (SELECT id, row_number() OVER (ORDER BY y, u DESC, j, f, id) n FROM r) q;
SELECT count(*), sum(g * n) FROM (SELECT g, row_number() OVER () n FROM (SELECT g FROM generate_series(1, 100000) g ORDER BY (g * 31) % 1000, -g) s) q;
SELECT count(*), sum(g * n) FROM (SELECT g, row_number() OVER () n FROM (SELECT g FROM generate_series(1, 100000) g ORDER BY 'text ' || g % 7, g % 11, g DESC OFFSET 3) s) q;

-- LIMIT and OFFSET that are known when it runs, are NULL, nothing, or more than there is.
PREPARE p(bigint, bigint) AS SELECT id FROM r ORDER BY p DESC, id LIMIT $1 OFFSET $2;
EXECUTE p(3, 0);
EXECUTE p(2, 500);
EXECUTE p(3, NULL);
EXECUTE p(0, 1);
EXECUTE p(NULL, 2998);
EXECUTE p(9223372036854775807, 2997);
EXECUTE p(-1, 0);
EXECUTE p(1, -1);
SELECT count(*) FROM (SELECT id FROM r ORDER BY t LIMIT 2500) s;
SELECT id FROM r ORDER BY p DESC, id LIMIT (SELECT count(*) FROM r WHERE id < 4);
SELECT s.id, (SELECT id FROM r WHERE r.i = s.i ORDER BY p DESC, id LIMIT 1), (SELECT id FROM r WHERE r.i = s.i ORDER BY p, id DESC OFFSET s.id LIMIT 1) FROM r s WHERE id < 5 ORDER BY 1;
SELECT s.id, l.id FROM r s, LATERAL (SELECT id FROM r WHERE r.i = s.i ORDER BY x, id LIMIT s.id - 1) l WHERE s.id < 5 ORDER BY 1, 2;

-- Rows that tie with the last one.
SELECT id, i FROM (SELECT id, i FROM r WHERE id < 900 ORDER BY i FETCH FIRST 2 ROWS WITH TIES) s ORDER BY id DESC;
SELECT count(*), min(i), max(i) FROM (SELECT i FROM r ORDER BY i FETCH FIRST 100 ROWS WITH TIES) s;
SELECT count(*), min(x), max(x) FROM (SELECT x FROM r ORDER BY x DESC NULLS LAST OFFSET 90 FETCH FIRST 20 ROWS WITH TIES) s;
SELECT count(*), count(o) FROM (SELECT o FROM r ORDER BY o FETCH FIRST 1 ROW WITH TIES) s;
SELECT count(*), count(b) FROM (SELECT b FROM r ORDER BY b DESC FETCH FIRST 1 ROW WITH TIES) s;

-- What comes between order and limit leaves rows out.
SELECT DISTINCT ON (i) i, id FROM r ORDER BY i, p DESC, id LIMIT 4;
SELECT DISTINCT i FROM r ORDER BY i DESC LIMIT 4;
SELECT i, count(*), max(t) FROM r GROUP BY i ORDER BY count(*) DESC, i LIMIT 3;
SELECT id FROM r ORDER BY p DESC, id LIMIT 2 FOR UPDATE;
SELECT id, row_number() OVER (ORDER BY p, id) FROM r ORDER BY p DESC, id LIMIT 2;
SELECT id FROM r WHERE id < 3 UNION ALL SELECT id FROM r WHERE id > 2000 ORDER BY 1 DESC LIMIT 2;

-- min and max of many columns, with NULLs, NaN and both zeros; greatest and least.
SELECT min(i), max(i), min(b), max(b), min(n), max(n), min(p), max(p), min(x), max(x), min(f), max(f) FROM r;
SELECT min(t), max(t), min(c)::text, max(c)::text, min(d), max(d), min(ts), max(ts), min(v), max(v), min(a), max(a) FROM r;
SELECT max(i), max(b), max(d), max(i), max(id), min(id), min(b), min(i) FROM r WHERE p < 1 AND i IS NOT NULL;
SELECT max(i), max(b), max(n), max(x), max(t) FROM r WHERE id < 0;
SELECT o, max(i), max(b), max(id), min(x), min(n), min(t) FROM r GROUP BY o ORDER BY o;
SELECT max(x), min(x) FROM r WHERE x < 'NaN' AND abs(x) < 0.25;
SELECT max(DISTINCT i), min(DISTINCT i), max(i) FILTER (WHERE o), min(b) FILTER (WHERE NOT o) FROM r;
SELECT id, max(i) OVER w, min(x) OVER w, max(t) OVER w FROM r WHERE id < 12 WINDOW w AS (ORDER BY id ROWS 2 PRECEDING) ORDER BY id;
SELECT greatest(i, id, 5), least(i, id), greatest(i, NULL), greatest(x, 'NaN'), least(x, 0), greatest(t, 'm'), least(n, 0.00), greatest(p, 5) FROM r WHERE id BETWEEN 9 AND 14 ORDER BY id;
SELECT greatest(0::float8, '-0'), greatest('-0'::float8, 0), least(1.0, 1.00), least(1.00, 1.0), greatest(NULL::int, NULL);

-- Columns behind a filter.
SELECT count(*), sum(length(t)), max(c)::text, sum(i), count(j) FROM r WHERE p BETWEEN 3 AND 4;
SELECT count(*), max(t) FROM r WHERE t LIKE 'name1%' AND c LIKE 'c2%';
SELECT id, t, c, y, a, j FROM r WHERE i = 3 AND o AND b < 50 ORDER BY id LIMIT 3;
SELECT count(*), sum(s.p), max(s.t) FROM r s WHERE s.i > 10 AND EXISTS (SELECT 1 FROM r q WHERE q.id = s.id + 1 AND q.o AND q.t > 'n');
SELECT s.id, s.t, q.t, q.c FROM r s JOIN r q ON q.id = s.id * 3 WHERE s.i = 4 AND s.o AND q.p > 2 ORDER BY 1 LIMIT 4;
SELECT s.id, s.t, q.id, q.c FROM r s LEFT JOIN r q ON q.id = s.id + 2990 AND q.o WHERE s.id < 14 AND s.p > 1 ORDER BY 1;

-- Joins whose one side has a condition.
CREATE TABLE few (k int, g int, v int);
INSERT INTO few SELECT g, g % 3, g % 37 - 18 FROM generate_series(1, 100) g;
SELECT few.g, count(*), sum(r.id), sum(few.k) FROM few JOIN r ON r.i = few.v WHERE few.k < 20 GROUP BY few.g ORDER BY 1;
SELECT few.g, count(*), sum(r.id) FROM r JOIN few ON r.i = few.v WHERE few.k < 20 AND r.o GROUP BY few.g ORDER BY 1;
SELECT r.t, count(*) FROM few, r WHERE r.id = few.k AND few.g = 1 AND r.p > 3 GROUP BY r.t ORDER BY 1 LIMIT 3;

-- Programs do the same.
CREATE TABLE found (n serial, id int, t text);
CREATE PROCEDURE find(way text, so_many bigint) LANGUAGE plpgsql AS $$
DECLARE
  row record;
BEGIN
  FOR row IN SELECT id, t FROM r WHERE t LIKE way ORDER BY p DESC, id LIMIT so_many LOOP
    INSERT INTO found (id, t) VALUES (row.id, row.t);
  END LOOP;
  INSERT INTO found (id, t) SELECT max(id), max(t) FROM r WHERE t LIKE way;
  INSERT INTO found (id, t) SELECT id, t FROM r ORDER BY i, x DESC, id OFFSET so_many FETCH FIRST 1 ROW WITH TIES;
END
$$;
CALL find('name%', 3);
CALL find('a%', 2);
SELECT * FROM found ORDER BY n;
