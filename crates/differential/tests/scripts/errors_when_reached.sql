CREATE FUNCTION f(go boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE b boolean; n integer;
BEGIN
    RAISE NOTICE 'begins';
    IF go THEN
        b := 'no such'::boolean;
    END IF;
    BEGIN
        SELECT count(*) INTO n FROM not_there;
    EXCEPTION WHEN undefined_table THEN
        RAISE NOTICE 'caught %: %', sqlstate, sqlerrm;
    END;
    BEGIN
        n := no_function(1);
    EXCEPTION WHEN undefined_function THEN
        RAISE NOTICE 'caught %', sqlerrm;
    END;
    FOR i IN 1..2 LOOP
        IF i > 5 THEN
            PERFORM not_there.column_either FROM not_there;
        END IF;
    END LOOP;
    RETURN 'ends';
END $$
;
SELECT f(false)
;
SELECT f(true)
;
CREATE TABLE not_there (a integer)
;
SELECT f(false)
