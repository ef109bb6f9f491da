CREATE TABLE acct (id int PRIMARY KEY, code text UNIQUE, bal int NOT NULL, note text);
CREATE TABLE log (n serial PRIMARY KEY, what text);
INSERT INTO acct SELECT i, 'c' || i, i * 100, 'note ' || i FROM generate_series(1, 5) i;

CREATE FUNCTION touch(k int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
    UPDATE acct SET bal = bal + 1000, note = note || '!' WHERE id = k;
    RETURN k;
END $$;

CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.what = 'raise' THEN
        UPDATE acct SET bal = bal + 7 WHERE id = 1;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER noted BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION noted();

-- Read, then changed: the same row, other columns.
CREATE FUNCTION spend(k int, amount int, OUT left_over int, OUT said text) LANGUAGE plpgsql AS $$
DECLARE b int;
BEGIN
    SELECT bal INTO STRICT b FROM acct WHERE id = k FOR UPDATE;
    IF b < amount THEN
        RAISE EXCEPTION 'not enough: %', b;
    END IF;
    UPDATE acct SET bal = bal - amount, note = note || ' spent' WHERE id = k RETURNING bal, note INTO left_over, said;
END $$;
SELECT * FROM spend(1, 30);
SELECT * FROM spend(1, 300);
SELECT * FROM spend(9, 1);

-- Something in between: its own change, a function's, a trigger's, a text's.
CREATE FUNCTION among(k int, how text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a int; b int; c text;
BEGIN
    SELECT bal INTO a FROM acct WHERE id = k;
    CASE how
        WHEN 'own' THEN UPDATE acct SET bal = bal + 1 WHERE id = k;
        WHEN 'function' THEN PERFORM touch(k);
        WHEN 'trigger' THEN INSERT INTO log (what) VALUES ('raise');
        WHEN 'text' THEN EXECUTE 'UPDATE acct SET bal = bal + 5 WHERE id = $1' USING k;
        WHEN 'delete' THEN DELETE FROM acct WHERE id = k;
        WHEN 'other' THEN UPDATE acct SET bal = bal + 3 WHERE code = 'c' || k;
        ELSE NULL;
    END CASE;
    SELECT bal, note INTO b, c FROM acct WHERE id = k;
    IF b IS NULL THEN
        INSERT INTO acct VALUES (k, 'c' || k, 1, 'new');
        SELECT bal, note INTO b, c FROM acct WHERE id = k;
    END IF;
    RETURN format('%s -> %s, %s', a, b, c);
END $$;
SELECT how, among(1, how) FROM unnest(ARRAY['none', 'own', 'function', 'trigger', 'text', 'other', 'delete', 'none']) how;
SELECT among(8, 'none'), among(8, 'own');

-- In loops: keys that change, and that do not.
CREATE FUNCTION turns(ids int[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v int; w int; s text := ''; n text;
BEGIN
    SELECT bal INTO w FROM acct WHERE id = ids[1];
    FOR i IN 1 .. array_length(ids, 1) LOOP
        SELECT bal INTO v FROM acct WHERE id = ids[i];
        IF v % 2 = 0 THEN
            UPDATE acct SET bal = bal + 1 WHERE id = ids[i];
        ELSE
            SELECT note INTO n FROM acct WHERE id = ids[i];
            s := s || '[' || coalesce(n, '-') || ']';
        END IF;
        SELECT bal INTO w FROM acct WHERE id = ids[1];
        s := s || coalesce(v::text, '-') || '/' || w || ' ';
    END LOOP;
    RETURN s;
END $$;
SELECT turns(ARRAY[1, 2, 1, 1, 3, 77, 2]);

-- A variable that is the key and changes; the array, too.
CREATE FUNCTION moves(k int, ids int[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a int; b int; c int; d int;
BEGIN
    SELECT bal INTO a FROM acct WHERE id = k;
    k := k + 1;
    SELECT bal INTO b FROM acct WHERE id = k;
    SELECT bal INTO c FROM acct WHERE id = ids[1];
    ids[1] := ids[2];
    SELECT bal INTO d FROM acct WHERE id = ids[1];
    RETURN format('%s %s %s %s %s', a, b, c, d, ids[1] + ids[1]);
END $$;
SELECT moves(2, ARRAY[3, 4]);

-- Undone by a handler.
CREATE FUNCTION undone(k int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a int; b int; c int;
BEGIN
    SELECT bal INTO a FROM acct WHERE id = k;
    BEGIN
        UPDATE acct SET bal = bal + 10000 WHERE id = k;
        SELECT bal INTO b FROM acct WHERE id = k;
        PERFORM 1 / (b - b);
    EXCEPTION WHEN division_by_zero THEN
        SELECT bal INTO c FROM acct WHERE id = k;
    END;
    RETURN format('%s %s %s %s', a, b, c, (SELECT bal FROM acct WHERE id = k));
END $$;
SELECT undone(2);

-- What is computed again, of what has changed meanwhile.
CREATE FUNCTION computed(x int, t text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE a text; b text; c text;
BEGIN
    a := upper(t) || x * 7;
    b := upper(t) || x * 7;
    IF x > 1 THEN
        t := t || 'y';
        c := upper(t) || x * 7;
    ELSE
        x := x * 3;
        c := upper(t) || x * 7;
    END IF;
    RETURN a || ' ' || b || ' ' || c || ' ' || upper(t) || x * 7;
END $$;
SELECT computed(1, 'q'), computed(2, 'q');
SELECT id, code, bal, note FROM acct ORDER BY id;
SELECT what FROM log ORDER BY n;
