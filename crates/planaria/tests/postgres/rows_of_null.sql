-- with contexts
-- RETURN and RETURN NEXT of what is no row, where rows are answered with.
CREATE TYPE pt AS (x int, y text);
CREATE TABLE item (id int PRIMARY KEY, name text);
CREATE FUNCTION nexts() RETURNS SETOF pt LANGUAGE plpgsql AS $$
BEGIN
    RETURN NEXT NULL;
    RETURN NEXT ROW(1, 'a')::pt;
    RETURN NEXT (2, 'b'::text);
    RETURN NEXT NULL::int;
    RETURN NEXT NULL::pt;
END $$;
SELECT * FROM nexts();
SELECT count(*), count(x) FROM nexts();
CREATE FUNCTION of_table() RETURNS SETOF item LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT NULL; END $$;
SELECT * FROM of_table();
CREATE FUNCTION records() RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT NULL; RETURN NEXT (5, 6); END $$;
SELECT * FROM records() AS t(a int, b int);
CREATE FUNCTION wrong_next(n int) RETURNS SETOF pt LANGUAGE plpgsql AS $$
BEGIN
    RETURN NEXT n;
END $$;
SELECT * FROM wrong_next(5);
SELECT * FROM wrong_next(NULL);
CREATE FUNCTION wrong_expression(n int) RETURNS SETOF pt LANGUAGE plpgsql AS $$
BEGIN
    RETURN NEXT n + 1;
END $$;
SELECT * FROM wrong_expression(NULL);
SELECT * FROM wrong_expression(5);
CREATE FUNCTION wrong_one(n int) RETURNS pt LANGUAGE plpgsql AS $$
BEGIN
    RETURN n;
END $$;
SELECT * FROM wrong_one(5);
SELECT * FROM wrong_one(NULL);
CREATE FUNCTION wrong_record(n int) RETURNS record LANGUAGE plpgsql AS $$
BEGIN
    RETURN n;
END $$;
SELECT * FROM wrong_record(5) AS t(a int);
SELECT * FROM wrong_record(NULL) AS t(a int);
SELECT * FROM wrong_record(NULL) AS t(a int, b text);
CREATE FUNCTION catches() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM * FROM wrong_one(1);
    RETURN 'none';
EXCEPTION WHEN datatype_mismatch THEN
    RETURN SQLERRM;
END $$;
SELECT catches();
SELECT * FROM records() AS t(a serial, b int);
SELECT * FROM records() AS t(a bigserial, b int);
