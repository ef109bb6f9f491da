-- One procedure for each way in which a write finds its row.
CREATE TABLE account (id bigint PRIMARY KEY, owner text NOT NULL UNIQUE, branch integer NOT NULL, bal numeric(12,2) NOT NULL, note text);
CREATE INDEX account_by_branch ON account (branch);
CREATE TABLE branch (id integer PRIMARY KEY, name varchar(10) NOT NULL, total numeric(12,2) NOT NULL);
CREATE TABLE fee (kind integer PRIMARY KEY, rate numeric(5,4) NOT NULL);
CREATE TABLE entry (account bigint NOT NULL, n integer NOT NULL, amount numeric(12,2) NOT NULL, text varchar(20), PRIMARY KEY (account, n));

-- by key
CREATE PROCEDURE deposit(p_id bigint, p_amount numeric) LANGUAGE plpgsql AS $$
BEGIN UPDATE account SET bal = bal + p_amount WHERE id = p_id; END; $$;

-- by another unique key: what is found there is logged
CREATE PROCEDURE deposit_by_owner(p_owner text, p_amount numeric) LANGUAGE plpgsql AS $$
BEGIN UPDATE account SET bal = bal + p_amount WHERE owner = p_owner; END; $$;

-- many rows by another index: their keys are logged
CREATE PROCEDURE bonus(p_branch integer, p_amount numeric) LANGUAGE plpgsql AS $$
BEGIN UPDATE account SET bal = bal + p_amount WHERE branch = p_branch; END; $$;

-- many rows by a prefix of the key: one piece
CREATE PROCEDURE scale(p_account bigint, p_factor numeric) LANGUAGE plpgsql AS $$
BEGIN UPDATE entry SET amount = amount * p_factor WHERE account = p_account; END; $$;

-- what one row has decides what becomes of another
CREATE PROCEDURE transfer(p_from bigint, p_to bigint, p_amount numeric) LANGUAGE plpgsql AS $$
DECLARE v_bal numeric;
BEGIN
    SELECT bal INTO STRICT v_bal FROM account WHERE id = p_from;
    IF v_bal < p_amount THEN RETURN; END IF;
    UPDATE account SET bal = bal - p_amount WHERE id = p_from;
    UPDATE account SET bal = bal + p_amount WHERE id = p_to;
END; $$;

-- a chain: the row read names the next row
CREATE PROCEDURE follow(p_id bigint, p_amount numeric) LANGUAGE plpgsql AS $$
DECLARE v_branch integer;
BEGIN
    SELECT branch INTO STRICT v_branch FROM account WHERE id = p_id;
    UPDATE branch SET total = total + p_amount WHERE id = v_branch;
END; $$;

-- what no procedure changes is read when the log is read; the total of a scan is logged
CREATE PROCEDURE charge(p_id bigint, p_kind integer) LANGUAGE plpgsql AS $$
DECLARE v_rate numeric; v_sum numeric;
BEGIN
    SELECT rate INTO STRICT v_rate FROM fee WHERE kind = p_kind;
    SELECT sum(amount) INTO v_sum FROM entry WHERE account = p_id;
    UPDATE account SET bal = bal - v_sum * v_rate WHERE id = p_id;
END; $$;

-- row by row, each deciding what is written elsewhere
CREATE PROCEDURE settle(p_branch integer) LANGUAGE plpgsql AS $$
DECLARE r record;
BEGIN
    FOR r IN SELECT id, bal FROM account WHERE branch = p_branch LOOP
        IF r.bal > 100 THEN
            INSERT INTO entry (account, n, amount) VALUES (r.id, 1, r.bal);
        END IF;
    END LOOP;
END; $$;

-- insert or update, with a handler that a logged call did not need
CREATE PROCEDURE open_account(p_id bigint, p_owner text, p_branch integer) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO account (id, owner, branch, bal) VALUES (p_id, p_owner, p_branch, 0)
    ON CONFLICT (id) DO UPDATE SET note = 'again';
EXCEPTION WHEN unique_violation THEN
    UPDATE account SET note = 'taken' WHERE owner = p_owner;
END; $$;

-- calls of others are parts of the procedure
CREATE PROCEDURE twice(p_id bigint, p_amount numeric) LANGUAGE plpgsql AS $$
BEGIN CALL deposit(p_id, p_amount); CALL follow(p_id, p_amount); END; $$;

-- no plan: the text is known only when it runs
CREATE PROCEDURE any_of(p_table text) LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'DELETE FROM ' || p_table; END; $$;

-- two rows that may be one: what is read before a write of the other is logged
CREATE PROCEDURE read_then_write(p_a bigint, p_b bigint) LANGUAGE plpgsql AS $$
DECLARE v_a numeric; v_b numeric;
BEGIN
    SELECT bal INTO v_a FROM account WHERE id = p_a;
    SELECT bal INTO v_b FROM account WHERE id = p_b;
    UPDATE account SET bal = v_a - 7 WHERE id = p_a;
    UPDATE account SET bal = v_b + 7 WHERE id = p_b;
END; $$;
