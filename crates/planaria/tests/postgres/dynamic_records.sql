CREATE TABLE people(id int PRIMARY KEY, name text, born date);
INSERT INTO people VALUES (1, 'ann', '1990-01-01'), (2, 'bob', '1985-05-05'), (3, NULL, NULL);
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN EXECUTE 'SELECT id, name FROM people ORDER BY id' LOOP
    RAISE NOTICE '% %', r.id, r.name;
  END LOOP;
  FOR r IN EXECUTE 'SELECT * FROM people WHERE id > $1 ORDER BY id' USING 1 LOOP
    RAISE NOTICE '%', r;
  END LOOP;
  RAISE NOTICE '%', r.id;
END $$;
DO $$
DECLARE
  r record;
BEGIN
  EXECUTE 'SELECT name, born FROM people WHERE id = 1' INTO r;
  RAISE NOTICE '% % %', r.name, r.born + 1, r;
  EXECUTE 'SELECT count(*) AS n, max(born) FROM people' INTO r;
  RAISE NOTICE '% %', r.n + 1, r.max;
  EXECUTE 'SELECT 1 AS x WHERE false' INTO r;
  RAISE NOTICE '% %', r.x IS NULL, r IS NULL;
  RAISE NOTICE '%', r.y;
END $$;
DO $$
DECLARE
  r record;
BEGIN
  RAISE NOTICE '%', r.x;
END $$;
CREATE TABLE towns(code text PRIMARY KEY, size bigint);
INSERT INTO towns VALUES ('x', 5), ('y', 6);
DO $$
DECLARE
  r record;
  n int := 0;
BEGIN
  FOR r IN EXECUTE 'SELECT * FROM people WHERE name IS NOT NULL' LOOP
    INSERT INTO towns VALUES (r.name, r.id * 100);
    UPDATE towns SET size = size + r.id WHERE code = r.name;
    n := n + 1;
  END LOOP;
  RAISE NOTICE '%', n;
END $$;
SELECT * FROM towns ORDER BY code;
DO $$
DECLARE
  r record;
  p people;
  n text;
BEGIN
  EXECUTE 'SELECT * FROM people WHERE id = 2' INTO p;
  RAISE NOTICE '%', p.name;
  EXECUTE 'SELECT * FROM people WHERE id = 2' INTO r;
  p := r;
  n := r.name;
  RAISE NOTICE '% %', p.born, n;
  r.name := 'changed';
  RAISE NOTICE '%', r;
  SELECT 5 AS five INTO r;
  RAISE NOTICE '%', r.five;
  EXECUTE 'SELECT * FROM people WHERE id = 7' INTO STRICT r;
END $$;
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN EXECUTE 'SELECT relation FROM nothing' LOOP
    NULL;
  END LOOP;
END $$;
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN EXECUTE NULL LOOP
    NULL;
  END LOOP;
END $$;
DO $$
DECLARE
  r record;
BEGIN
  FOR r IN EXECUTE 'INSERT INTO towns VALUES (''z'', 9) RETURNING code, size' LOOP
    RAISE NOTICE '%', r.code;
  END LOOP;
  FOR r IN EXECUTE 'UPDATE towns SET size = 0' LOOP
    NULL;
  END LOOP;
END $$;
DO $$
DECLARE
  r record;
  total numeric := 0;
BEGIN
  FOR r IN EXECUTE 'SELECT size AS v FROM towns' LOOP
    total := total + coalesce(r.v, 0);
  END LOOP;
  FOR r IN EXECUTE 'SELECT * FROM people ORDER BY id' LOOP
    RAISE NOTICE '%', to_jsonb(r);
  END LOOP;
  RAISE NOTICE '%', total;
  TRUNCATE towns;
  RAISE NOTICE '%', (SELECT count(*) FROM towns);
END $$;
