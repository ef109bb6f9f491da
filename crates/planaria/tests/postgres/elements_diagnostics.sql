CREATE TABLE a (id int PRIMARY KEY, arr int[], words text[], big bigint[] DEFAULT '{1,2,3}');
INSERT INTO a VALUES (1, '{1,2,3}', '{a,b}'), (2, NULL, '{}'), (3, '{}', NULL);
UPDATE a SET arr[2] = 20, words[1] = 'first' WHERE id = 1 RETURNING *;
UPDATE a SET arr[1] = 5, arr[3] = 7, arr[2] = arr[1] + 1 WHERE id = 1 RETURNING arr;
UPDATE a SET arr[1] = 9, words[1] = upper('x') WHERE id > 1 RETURNING *;
UPDATE a SET arr[5] = 50 WHERE id = 1 RETURNING arr;
UPDATE a SET arr[NULL] = 50 WHERE id = 1;
UPDATE a SET arr[1] = 'x';
UPDATE a SET arr[1] = 1.6 WHERE id = 1 RETURNING arr;
UPDATE a SET id[1] = 1;
UPDATE a SET arr[1] = DEFAULT;
UPDATE a AS z SET big[id] = id * 10 FROM (VALUES (1), (2)) v(n) WHERE z.id = v.n RETURNING z.id, big;
INSERT INTO a VALUES (1) ON CONFLICT (id) DO UPDATE SET arr[1] = -1 RETURNING arr;
UPDATE a SET arr = '{7}', arr[1] = 2;
UPDATE a SET nosuch[1] = 2;
CREATE FUNCTION set_el(i int, v int) RETURNS int[] LANGUAGE plpgsql AS $$ DECLARE r int[]; BEGIN UPDATE a SET arr[i] = v WHERE id = 1 RETURNING arr INTO r; RETURN r; END $$;
SELECT set_el(2, 99);
CREATE TABLE p (id int PRIMARY KEY, name text UNIQUE, n int NOT NULL CHECK (n > 0));
CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p, CONSTRAINT some_check CHECK (id < 100));
INSERT INTO p VALUES (1, 'x', 1);
INSERT INTO c VALUES (1, 1);
CREATE FUNCTION diag(what text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE st text; msg text; det text; hnt text; con text; col text; tab text; sch text; typ text;
BEGIN
  IF what = 'unique' THEN INSERT INTO p VALUES (2, 'x', 1);
  ELSIF what = 'check' THEN INSERT INTO p VALUES (2, 'y', 0);
  ELSIF what = 'null' THEN INSERT INTO p VALUES (2, 'y', NULL);
  ELSIF what = 'fk' THEN INSERT INTO c VALUES (2, 7);
  ELSIF what = 'restrict' THEN DELETE FROM p;
  ELSIF what = 'div' THEN PERFORM 1 / 0;
  ELSIF what = 'raise' THEN RAISE EXCEPTION 'boo %', what USING DETAIL = 'some detail', HINT = 'some hint', ERRCODE = 'P0099', CONSTRAINT = 'k', TABLE = 'tt', COLUMN = 'cc';
  ELSE RAISE EXCEPTION 'plain';
  END IF;
  RETURN 'nothing';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS st = RETURNED_SQLSTATE, msg = MESSAGE_TEXT, det = PG_EXCEPTION_DETAIL, hnt = PG_EXCEPTION_HINT, con = CONSTRAINT_NAME, col = COLUMN_NAME, tab = TABLE_NAME;
  RETURN concat_ws('|', st, msg, det, hnt, con, col, tab);
END $$;
SELECT diag(w) FROM unnest(ARRAY['unique', 'check', 'null', 'fk', 'restrict', 'div', 'raise', 'x']) WITH ORDINALITY u(w, n) ORDER BY n;
CREATE FUNCTION nested() RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text; b text; c text;
BEGIN
  BEGIN
    RAISE EXCEPTION 'outer' USING DETAIL = 'outer detail';
  EXCEPTION WHEN OTHERS THEN
    BEGIN
      RAISE EXCEPTION 'inner' USING DETAIL = 'inner detail';
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS a = PG_EXCEPTION_DETAIL;
    END;
    GET STACKED DIAGNOSTICS b = PG_EXCEPTION_DETAIL, c = CONSTRAINT_NAME;
  END;
  RETURN a || ',' || b || ',' || c;
END $$;
SELECT nested();
CREATE FUNCTION outside() RETURNS text LANGUAGE plpgsql AS $$ DECLARE a text; BEGIN GET STACKED DIAGNOSTICS a = CONSTRAINT_NAME; RETURN a; END $$;
SELECT outside();
