CREATE TABLE kept(id int PRIMARY KEY, note text);
INSERT INTO kept VALUES (1, 'a'), (2, NULL), (3, 'c');
CREATE TYPE pair AS (a int, b text);
SELECT (1, 'a')::pair = (1, 'a')::pair, (1, 'a')::pair < (1, 'b')::pair, (1, NULL)::pair = (1, NULL)::pair;
SELECT (1, NULL)::pair IS NOT DISTINCT FROM (1, NULL)::pair, (2, 'x')::pair > (1, NULL)::pair;
SELECT (1, 'a')::pair <> (1, 'b')::pair, (1, 'a')::pair <= (1, 'a')::pair, (1, NULL)::pair >= (1, 'z')::pair;
SELECT (1, 'a')::pair = NULL, NULL::pair = NULL::pair;
SELECT (1, 'a')::pair = ROW(1, 'a'::text), ROW(1, 'b'::text) = (1, 'a')::pair;
SELECT (1, 'a')::pair = ROW(1);
SELECT (1, 'a')::pair = ROW(1, 2);
SELECT (1, 'a')::pair = 1;
SELECT (1, 2) = (1, NULL), (1, 2) < (1, 3), (2, NULL) > (1, NULL);
SELECT x FROM (VALUES ((2, 'b')::pair), ((1, 'z')::pair), ((1, 'c')::pair)) v(x) ORDER BY x;
SELECT DISTINCT x FROM (VALUES ((2, 'b')::pair), ((2, 'b')::pair), ((1, 'c')::pair)) v(x) ORDER BY 1 DESC;
SELECT (1, 'a')::pair IN ((2, 'b')::pair, (1, 'a')::pair), (1, 'a')::pair BETWEEN (0, '')::pair AND (1, 'b')::pair;
SELECT CASE (1, 'a')::pair WHEN (1, 'a')::pair THEN 'same' ELSE 'other' END;
SELECT k FROM kept k WHERE k = (2);
SELECT k FROM kept k WHERE k = ROW(2, NULL::text);
SELECT k FROM kept k WHERE k >= ROW(2, ''::text) ORDER BY k;
SELECT a.id FROM kept a JOIN kept b ON a = b ORDER BY a;
SELECT a.id FROM kept a LEFT JOIN kept b ON a = b AND b.id > 1 WHERE b IS NOT DISTINCT FROM NULL ORDER BY a;
SELECT count(*) FROM kept k GROUP BY k;
DO $$
DECLARE
  x kept;
  y kept;
BEGIN
  SELECT * INTO x FROM kept WHERE id = 2;
  SELECT * INTO y FROM kept WHERE id = 2;
  RAISE NOTICE '% % %', x = y, x < y, x IS DISTINCT FROM y;
  y.note := 'b';
  RAISE NOTICE '% % %', x = y, x > y, x <> y;
  IF x = ROW(2, NULL::text) THEN
    RAISE NOTICE 'it is';
  END IF;
END $$;
CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW = OLD THEN
    RAISE NOTICE 'nothing changed in %', NEW.id;
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER told BEFORE UPDATE ON kept FOR EACH ROW EXECUTE FUNCTION told();
UPDATE kept SET note = note;
UPDATE kept SET note = 'x' WHERE note IS NULL;
SELECT * FROM kept ORDER BY id;
COMMENT ON COLUMN pair.a IS 'the first';
COMMENT ON COLUMN pair.c IS 'the third';
SELECT col_description('pair'::regclass, 1);
CREATE VIEW kept_view AS SELECT * FROM kept;
ALTER TABLE kept_view ENABLE ROW LEVEL SECURITY;
ALTER TABLE kept_view ADD COLUMN b int;
ALTER TABLE kept_view DROP COLUMN id;
ALTER TABLE kept_view ALTER id SET NOT NULL;
ALTER TABLE kept_view ADD CONSTRAINT x CHECK (id > 0);
ALTER TABLE kept_view ALTER id TYPE text;
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY id) FROM kept WHERE false;
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY id) FROM kept;
SELECT percentile_disc(array[0.5, -1]) WITHIN GROUP (ORDER BY id) FROM kept;
SELECT percentile_disc(array[0.5, NULL, 1]) WITHIN GROUP (ORDER BY id), percentile_cont(array[0, 0.3]) WITHIN GROUP (ORDER BY id) FROM kept;
SELECT percentile_disc(array[0.5, 1]) WITHIN GROUP (ORDER BY id) FROM kept WHERE false;
