SELECT g, ntile(3) OVER (ORDER BY g), ntile(4) OVER (PARTITION BY g % 2 ORDER BY g), percent_rank() OVER (ORDER BY g / 2), cume_dist() OVER (ORDER BY g / 2) FROM generate_series(1, 7) g ORDER BY g;
SELECT ntile(0) OVER () FROM generate_series(1, 2);
SELECT ntile(NULL) OVER () FROM generate_series(1, 2);
SELECT percent_rank() OVER w, cume_dist() OVER w, ntile(2) OVER w FROM generate_series(1, 1) g WINDOW w AS (ORDER BY g);
SELECT x, x SIMILAR TO 'a(b|c)%', x NOT SIMILAR TO '_%', x SIMILAR TO '[a-c]+', x SIMILAR TO 'a\%', x SIMILAR TO 'a#%' ESCAPE '#' FROM (VALUES ('abd'), ('acx'), ('a%'), (''), (NULL), ('abcabc'), ('a.c'), ('A')) v(x);
SELECT 'a.c' SIMILAR TO 'a.c', 'abc' SIMILAR TO 'a.c', 'a^c' SIMILAR TO 'a^c', 'x' SIMILAR TO 'x' ESCAPE 'ab';
SELECT 'a\b' SIMILAR TO 'a\b' ESCAPE '', 'ab' SIMILAR TO '(a|b)*', 'a{2}' SIMILAR TO 'a\{2\}', 'aa' SIMILAR TO 'a{2}', '5d' SIMILAR TO '\dd';
SELECT regexp_replace(E'a\nb\nc', '^b$', 'X', 'n'), regexp_replace(E'a\nb', 'a.b', 'X', 'n'), regexp_replace(E'a\nb', 'a.b', 'X', 'w'), regexp_replace(E'a\nb', '[^a]+', 'X', 'p'), regexp_replace('a.b', '.', 'X', 'gq');
SELECT 'ABC' ~ '(?i)b', 'ABC' ~ '(?i)^abc$', E'a\nb' ~ '(?n)^b', E'a\nb' ~ '^b', 'a.c' ~ '(?q)a.c', 'abc' ~ '(?q)a.c';
CREATE TABLE deal (id int PRIMARY KEY, amount numeric, tags int[]);
INSERT INTO deal VALUES (1, 10, '{1,2}'), (2, 20, NULL), (3, 30, '{}');
CREATE FUNCTION two(x int, OUT a int, OUT b text) LANGUAGE plpgsql AS $$ BEGIN a := x + 1; b := 'b' || x; END $$;
SELECT (two(3)).a, (two(4)).b;
SELECT id, (two(id)).b, (two(id)).a + 1 AS n FROM deal ORDER BY id;
CREATE FUNCTION a_deal(x int) RETURNS deal LANGUAGE sql STABLE AS $$ SELECT * FROM deal WHERE id = x $$;
SELECT (a_deal(2)).amount, (a_deal(9)).id;
SELECT (a_deal(2)).nosuch;
CREATE SEQUENCE sq;
CREATE FUNCTION bump(OUT a bigint, OUT b int) LANGUAGE plpgsql AS $$ BEGIN a := nextval('sq'); b := 1; END $$;
SELECT (bump()).a FROM generate_series(1, 3);
CREATE VIEW dv AS SELECT id, (two(id)).b AS bb FROM deal;
SELECT * FROM dv ORDER BY 1;
CREATE FUNCTION vc1(id int) RETURNS numeric LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE r numeric; BEGIN SELECT sum(amount) INTO r FROM deal WHERE id = vc1.id AND id = id; RETURN r; END $$;
SELECT vc1(2);
CREATE FUNCTION vc2(id int) RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE r bigint; BEGIN SELECT count(*) INTO r FROM deal WHERE id = 2; RETURN r; END $$;
SELECT vc2(2), vc2(3);
CREATE FUNCTION vc3(id int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE r bigint; BEGIN SELECT count(*) INTO r FROM deal WHERE id = 2; RETURN r; END $$;
SELECT vc3(2);
CREATE FUNCTION vc4(id int, amount numeric) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN INSERT INTO deal (id, amount) VALUES (id, amount) ON CONFLICT (id) DO UPDATE SET amount = excluded.amount; END $$;
SELECT vc4(7, 70);
SELECT vc4(7, 71);
SELECT id, amount FROM deal ORDER BY id;
CREATE FUNCTION vc5() RETURNS int LANGUAGE plpgsql AS $$
#variable_conflict nonsense
BEGIN RETURN 1; END $$;
