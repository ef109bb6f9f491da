-- with contexts
CREATE TABLE t (n int);
CREATE FUNCTION inner_most(a int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE stack text;
BEGIN
    GET DIAGNOSTICS stack = PG_CONTEXT;
    RETURN stack;
END $$;
SELECT inner_most(1);
SELECT inner_most(n) FROM (VALUES (1), (2)) v(n);
CREATE FUNCTION middle(a int, b text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text; s text;
BEGIN
    r := inner_most(a);
    SELECT inner_most(a) INTO s;
    PERFORM inner_most(a);
    IF inner_most(a) LIKE '%IF%' THEN
        s := s || ' (in IF)';
    END IF;
    RETURN r || ' | ' || s || ' | ' || inner_most(2) || ' | ' || (SELECT inner_most(a) FROM t);
END $$;
SELECT middle(1, 'x');
INSERT INTO t VALUES (1);
SELECT middle(1, 'x');
CREATE FUNCTION in_sql(a int) RETURNS text LANGUAGE sql AS $$ SELECT 1; SELECT inner_most(a) FROM t $$;
SELECT in_sql(1);
CREATE FUNCTION of_sql(a int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN in_sql(a);
END $$;
SELECT of_sql(1);
CREATE PROCEDURE p(INOUT stack text) LANGUAGE plpgsql AS $$
DECLARE row_count int;
BEGIN
    UPDATE t SET n = n + 1;
    GET CURRENT DIAGNOSTICS row_count = ROW_COUNT, stack := PG_CONTEXT;
    stack := row_count || ': ' || stack;
END $$;
CALL p('');
DO $$
DECLARE x text;
BEGIN
    CALL p(x);
    RAISE NOTICE '%', x;
    FOR i IN 1..2 LOOP
        GET DIAGNOSTICS x = PG_CONTEXT;
        RAISE NOTICE '% %', i, x;
    END LOOP;
    <<b>>
    BEGIN
        RAISE EXCEPTION 'no';
    EXCEPTION WHEN OTHERS THEN
        GET DIAGNOSTICS x = PG_CONTEXT;
        RAISE NOTICE 'handler: %', x;
        GET STACKED DIAGNOSTICS x = PG_EXCEPTION_CONTEXT;
        RAISE NOTICE 'handler: %', x;
        x := inner_most(1);
        RAISE NOTICE 'handler: %', x;
    END;
    EXECUTE 'SELECT inner_most(3)' INTO x;
    RAISE NOTICE '%', x;
    EXECUTE 'SELECT middle($1, ''y'')' INTO x USING 5;
    RAISE NOTICE '%', x;
    EXECUTE 'DO $a$ DECLARE s text; BEGIN GET DIAGNOSTICS s = PG_CONTEXT; RAISE NOTICE ''%'', s; END $a$';
    FOR x IN SELECT inner_most(n) FROM t LOOP
        RAISE NOTICE '%', x;
    END LOOP;
END $$;
CREATE FUNCTION recursive(n int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
    IF n = 0 THEN
        GET DIAGNOSTICS s = PG_CONTEXT;
        RAISE NOTICE '%', s;
    ELSE
        PERFORM recursive(n - 1);
    END IF;
    RETURN n;
END $$;
SELECT recursive(3);
CREATE FUNCTION fired() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE s text; s_length int;
BEGIN
    GET DIAGNOSTICS s = PG_CONTEXT;
    RAISE NOTICE '% % %', TG_NAME, TG_WHEN, s;
    RETURN NEW;
END $$;
CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fired();
CREATE TRIGGER b AFTER INSERT ON t EXECUTE FUNCTION fired();
INSERT INTO t VALUES (7);
CREATE PROCEDURE puts(a int) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO t
        VALUES (a);
END $$;
CALL puts(8);
CREATE PROCEDURE twice(a int) LANGUAGE plpgsql AS $$
BEGIN
    CALL puts(a);
    CALL puts(a + 1);
END $$;
CALL twice(8);
CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
    COMMIT;
    GET DIAGNOSTICS s = PG_CONTEXT;
    RAISE NOTICE '%', s;
    CALL puts(9);
END $$;
CREATE PROCEDURE calls_it() LANGUAGE plpgsql AS $$
BEGIN
    CALL commits();
END $$;
CALL calls_it();
CREATE SCHEMA other;
CREATE FUNCTION other.f(a text, b int[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text := '';
BEGIN
    GET DIAGNOSTICS s = PG_CONTEXT;
    RETURN s;
END $$;
SELECT other.f('', '{1}');
CREATE FUNCTION polymorphic(a anyelement) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text := inner_most(1);
BEGIN
    RETURN s || other.f('', NULL);
END $$;
SELECT polymorphic(1), polymorphic('x'::text);
CREATE FUNCTION short(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE s varchar(10);
BEGIN
    GET DIAGNOSTICS s = PG_CONTEXT;
    RETURN length(s);
END $$;
SELECT short(1);
CREATE FUNCTION lines(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
    GET DIAGNOSTICS n = PG_CONTEXT;
    RETURN n;
END $$;
SELECT lines(1);
CREATE FUNCTION stacked(a int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
    BEGIN
        PERFORM 1 / a;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS s = PG_CONTEXT;
    END;
    RETURN s;
END $$;
SELECT stacked(0);
CREATE FUNCTION wrong(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
    GET DIAGNOSTICS s = NO_SUCH_ITEM;
    RETURN n;
END $$;
CREATE FUNCTION wrong(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
    GET DIAGNOSTICS s = MESSAGE_TEXT;
    RETURN n;
END $$;
CREATE FUNCTION wrong(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE s text;
BEGIN
    GET STACKED DIAGNOSTICS s = ROW_COUNT;
    RETURN n;
END $$;
