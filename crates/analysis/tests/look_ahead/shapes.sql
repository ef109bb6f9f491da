CREATE TABLE account (name varchar(24) PRIMARY KEY, id bigint NOT NULL, kind int NOT NULL);
CREATE TABLE saving (id bigint PRIMARY KEY, amount bigint NOT NULL);

-- By what a first lookup finds.
CREATE FUNCTION by_name(p_name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v_id bigint; v bigint;
BEGIN
    SELECT id INTO v_id FROM account WHERE name = p_name;
    SELECT amount INTO v FROM saving WHERE id = v_id;
    RETURN v;
END $$;

-- By something that is made of it, behind a way out that it decides about.
CREATE FUNCTION half(p_name text, p_by bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v account%ROWTYPE;
BEGIN
    SELECT * INTO v FROM account WHERE name = p_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no account %', p_name;
    END IF;
    IF v.kind = 7 THEN
        RETURN 0;
    END IF;
    RETURN (SELECT amount FROM saving WHERE id = v.id / p_by);
END $$;

-- One branch or the other, as what is read decides.
CREATE FUNCTION either(p_name text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v_id bigint; v_kind int; v bigint;
BEGIN
    SELECT id, kind INTO STRICT v_id, v_kind FROM account WHERE name = p_name;
    IF v_kind > 3 THEN
        SELECT amount INTO v FROM saving WHERE id = v_id;
    ELSE
        SELECT amount INTO v FROM saving WHERE id = -v_id;
    END IF;
    RETURN v;
END $$;

-- What a third lookup would need stays unknown.
CREATE FUNCTION chain(p_id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint;
BEGIN
    SELECT amount INTO v FROM saving WHERE id = p_id;
    SELECT amount INTO v FROM saving WHERE id = v;
    SELECT amount INTO v FROM saving WHERE id = v;
    RETURN v;
END $$;

-- Alone it has enough, in a loop.
CREATE FUNCTION many(p_ids bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint; v_sum bigint := 0;
BEGIN
    FOR i IN 1 .. array_length(p_ids, 1) LOOP
        SELECT amount INTO v FROM saving WHERE id = p_ids[i];
        v_sum := v_sum + v;
    END LOOP;
    RETURN v_sum;
END $$;

-- Several lookups behind each other, in a loop by what is read: nothing.
CREATE FUNCTION follow(p_id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE v bigint := p_id;
BEGIN
    WHILE v IS NOT NULL LOOP
        SELECT amount INTO v FROM saving WHERE id = v;
    END LOOP;
    RETURN v;
END $$;
