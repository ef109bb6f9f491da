-- with contexts
CREATE TABLE c (id int PRIMARY KEY, n int CHECK (n > 0), t text);
INSERT INTO c VALUES (1, 1, 'a');
CREATE FUNCTION f1(p int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  x int;
  y int := 10 / p;
BEGIN
  x := 1
     / (p - 1);
  IF 1 / (p - 2) = 5 THEN
    x := 2;
  ELSIF 1 / (p - 3) = 7 THEN
    x := 3;
  END IF;
  UPDATE c SET n = n - p
    WHERE id = 1;
  RETURN x / (p - 5);
END $$;
SELECT f1(0);
SELECT f1(1);
SELECT f1(2);
SELECT f1(3);
SELECT f1(4);
CREATE FUNCTION f2(p int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
  INSERT INTO c VALUES (p, 1, 'x') RETURNING id INTO x;
  SELECT n / 0 INTO x FROM c WHERE id = p;
  RETURN x;
END $$;
SELECT f2(1);
SELECT f2(2);
CREATE PROCEDURE p3(p int) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM f2(p);
  CALL p4(p);
END $$;
CREATE PROCEDURE p4(p int) LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'four %', p;
END $$;
CALL p3(1);
CREATE PROCEDURE p5(p int) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
  FOR i IN 1..p LOOP
    FOR r IN SELECT 10 / (3 - i) AS q FROM c LOOP
      CALL p4(r.q);
    END LOOP;
  END LOOP;
END $$;
CALL p5(3);
CREATE FUNCTION f6(p int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
  FOR i IN 1..10/p LOOP
    x := i;
  END LOOP;
  x := (SELECT n / (p - 1) FROM c WHERE id = 1);
  WHILE x / (p - 2) > 0 LOOP
    x := x - 1;
  END LOOP;
  CASE x / (p - 3) WHEN 1 THEN x := 5; ELSE NULL; END CASE;
  EXECUTE 'SELECT 1 / ' || p - 4;
  RETURN 5;
END $$;
SELECT f6(0);
SELECT f6(1);
SELECT f6(2);
SELECT f6(3);
SELECT f6(4);
CREATE FUNCTION f7(p int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
  EXECUTE 'SELECT 1 / $1' INTO x USING p;
  EXECUTE 'SELECT nothing FROM c';
  RETURN x;
END $$;
SELECT f7(0);
SELECT f7(1);
CREATE FUNCTION f8(p int) RETURNS SETOF int LANGUAGE plpgsql AS $$
BEGIN
  RETURN NEXT 1 / p;
  RETURN QUERY SELECT 1 / (p - 1) FROM c;
  ASSERT p = 3, 'p is not three';
  RETURN;
END $$;
SELECT * FROM f8(0);
SELECT * FROM f8(1);
SELECT * FROM f8(2);
CREATE FUNCTION f9(p int) RETURNS int LANGUAGE sql AS $$ SELECT 1; SELECT 1 / p FROM c; $$;
SELECT f9(0);
DO $$
BEGIN
  PERFORM 1;
  PERFORM f9(0);
END $$;
CREATE FUNCTION tg() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.n := 10 / NEW.n;
  RETURN NEW;
END $$;
CREATE TRIGGER tgc BEFORE INSERT ON c FOR EACH ROW EXECUTE FUNCTION tg();
INSERT INTO c VALUES (5, 0, 'z');
CREATE PROCEDURE p10() LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO c (id, n)
  VALUES (5, 0);
END $$;
CALL p10();
CREATE FUNCTION f11() RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text; 
BEGIN
  BEGIN
    PERFORM f2(1);
  EXCEPTION WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS s = PG_EXCEPTION_CONTEXT;
  END;
  RETURN s;
END $$;
SELECT f11();
CREATE FUNCTION f12() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'here';
  RAISE WARNING 'there';
END $$;
SELECT f12();
CREATE FUNCTION f13() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  NULL;
END $$;
SELECT f13();
CREATE FUNCTION f14() RETURNS int LANGUAGE plpgsql AS $$
DECLARE x int;
BEGIN
  SELECT id INTO STRICT x FROM c WHERE id = 77;
  RETURN x;
END $$;
SELECT f14();
