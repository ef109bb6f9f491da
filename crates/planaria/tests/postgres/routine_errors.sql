-- with contexts
CREATE TABLE counted(n int PRIMARY KEY);
INSERT INTO counted VALUES (1);
CREATE FUNCTION fails(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN 1 / n;
END $$;
DO $$
BEGIN
  PERFORM fails(0);
EXCEPTION WHEN OTHERS THEN
  RAISE;
END $$;
CREATE FUNCTION passes_on(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN fails(n);
EXCEPTION WHEN division_by_zero THEN
  RAISE NOTICE 'seen: %', sqlerrm;
  RAISE;
END $$;
SELECT passes_on(0);
SELECT passes_on(1);
CREATE FUNCTION passes_on_further(n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  told text;
BEGIN
  BEGIN
    RETURN passes_on(n);
  EXCEPTION WHEN OTHERS THEN
    RAISE;
  END;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS told = PG_EXCEPTION_CONTEXT;
  RAISE NOTICE '%', told;
  RAISE;
END $$;
SELECT passes_on_further(0);
CREATE FUNCTION raises_anew(n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN fails(n);
EXCEPTION WHEN OTHERS THEN
  RAISE EXCEPTION 'anew: %', sqlerrm;
END $$;
SELECT raises_anew(0);
DO $$
BEGIN
  RAISE NOTICE '% %', 1;
END $$;
DO $$
BEGIN
  RAISE NOTICE 'first';
  RAISE NOTICE 'none', 1;
END $$;
CREATE PROCEDURE too_many() LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'none', 1;
END $$;
CREATE PROCEDURE too_few() LANGUAGE plpgsql AS $$
BEGIN
  IF 1 = 2 THEN
    RAISE NOTICE '% and %', 1;
  END IF;
END $$;
DO $$
DECLARE
  a int[];
BEGIN
  FOREACH a IN ARRAY ARRAY[1, 2] LOOP
    NULL;
  END LOOP;
END $$;
CREATE TABLE two(a int, b text);
CREATE FUNCTION wrong() RETURNS int LANGUAGE sql AS $$ SELECT 'a'::text $$;
CREATE FUNCTION wrong_date() RETURNS date LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION wrong_literal() RETURNS date LANGUAGE sql AS $$ SELECT '2020-01-01' $$;
CREATE FUNCTION wrong_null() RETURNS int LANGUAGE sql AS $$ SELECT NULL $$;
CREATE FUNCTION too_wide() RETURNS int LANGUAGE sql AS $$ SELECT 1, 2 $$;
CREATE FUNCTION too_wide_set() RETURNS SETOF int LANGUAGE sql AS $$ SELECT 1, 2 $$;
CREATE FUNCTION too_narrow() RETURNS two LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION too_long() RETURNS two LANGUAGE sql AS $$ SELECT 1, 'a', 3 $$;
CREATE FUNCTION at_column() RETURNS two LANGUAGE sql AS $$ SELECT 'x', 'y' $$;
CREATE FUNCTION at_column_set() RETURNS SETOF two LANGUAGE sql AS $$ SELECT 1, 2 FROM two $$;
CREATE FUNCTION at_column_set_of_two() RETURNS SETOF two LANGUAGE sql AS $$ SELECT b, a FROM two $$;
CREATE FUNCTION at_out(OUT a int, OUT b int) LANGUAGE sql AS $$ SELECT 1, 'y'::text $$;
CREATE FUNCTION one_out(OUT a int) LANGUAGE sql AS $$ SELECT 'y'::text $$;
CREATE FUNCTION at_table() RETURNS TABLE(a int, b text) LANGUAGE sql AS $$ SELECT 'x', 'y' $$;
CREATE FUNCTION one_table() RETURNS TABLE(a int) LANGUAGE sql AS $$ SELECT 'x'::text $$;
CREATE FUNCTION no_rows() RETURNS int LANGUAGE sql AS $$ DELETE FROM two $$;
CREATE FUNCTION no_statement() RETURNS int LANGUAGE sql AS $$ $$;
CREATE FUNCTION returning_more() RETURNS int LANGUAGE sql AS $$ DELETE FROM two RETURNING a, b $$;
CREATE FUNCTION returning_one() RETURNS int LANGUAGE sql AS $$ DELETE FROM two RETURNING a $$;
CREATE PROCEDURE inout_type(INOUT a int) LANGUAGE sql AS $$ SELECT 'x'::text $$;
CREATE PROCEDURE inout_more(INOUT a int) LANGUAGE sql AS $$ SELECT 1, 2 $$;
CREATE PROCEDURE inout_nothing(INOUT a int) LANGUAGE sql AS $$ DELETE FROM two $$;
CREATE FUNCTION narrowed() RETURNS smallint LANGUAGE sql AS $$ SELECT 7::bigint $$;
CREATE FUNCTION widened() RETURNS numeric LANGUAGE sql AS $$ SELECT 7 $$;
CREATE FUNCTION to_varchar() RETURNS varchar LANGUAGE sql AS $$ SELECT 'v' $$;
CREATE FUNCTION row_of_two() RETURNS two LANGUAGE sql AS $$ SELECT two FROM two $$;
CREATE FUNCTION nothing_at_all() RETURNS void LANGUAGE sql AS $$ SELECT 1 $$;
SELECT narrowed(), widened(), to_varchar(), returning_one() IS NULL, row_of_two() IS NULL;
