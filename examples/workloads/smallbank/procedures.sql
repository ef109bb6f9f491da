-- CALL sb_load(100000): that many customers, 10000.00 in each of the two accounts.
CREATE OR REPLACE FUNCTION sb_name(p_id bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN 'Customer' || lpad(p_id::text, 12, '0');
END;
$$;

CREATE OR REPLACE PROCEDURE sb_load(p_count bigint)
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM sb_ledger;
    DELETE FROM sb_checking;
    DELETE FROM sb_savings;
    DELETE FROM sb_account;
    INSERT INTO sb_account (custid, name) SELECT i, sb_name(i) FROM generate_series(1, p_count) AS g(i);
    INSERT INTO sb_savings (custid, bal)  SELECT i, 10000.00 FROM generate_series(1, p_count) AS g(i);
    INSERT INTO sb_checking (custid, bal) SELECT i, 10000.00 FROM generate_series(1, p_count) AS g(i);
END;
$$;
-- SmallBank's six transactions.  Each finds its customer by name, as the benchmark asks.
-- An unknown name raises no_data_found (P0002).  A refusal (too little money) changes
-- nothing and answers p_delta = 0 with p_ok = false; p_delta is the change in the
-- bank's total money, so that the total can be checked at any time.

CREATE OR REPLACE FUNCTION sb_balance(p_name text) RETURNS numeric
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_id  bigint;
    v_sum numeric(14,2);
BEGIN
    SELECT custid INTO STRICT v_id FROM sb_account WHERE name = p_name;
    SELECT s.bal + c.bal INTO STRICT v_sum
    FROM sb_savings AS s JOIN sb_checking AS c ON c.custid = s.custid
    WHERE s.custid = v_id;
    RETURN v_sum;
END;
$$;

CREATE OR REPLACE PROCEDURE sb_deposit_checking(
    p_name text, p_amount numeric, INOUT p_ok boolean DEFAULT NULL, INOUT p_delta numeric DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
BEGIN
    IF p_amount < 0 THEN
        RAISE EXCEPTION 'a deposit cannot be negative: %', p_amount USING ERRCODE = '22023';
    END IF;
    SELECT custid INTO STRICT v_id FROM sb_account WHERE name = p_name;
    UPDATE sb_checking SET bal = bal + p_amount WHERE custid = v_id;
    p_ok := true;
    p_delta := p_amount;
END;
$$;

CREATE OR REPLACE PROCEDURE sb_transact_savings(
    p_name text, p_amount numeric, INOUT p_ok boolean DEFAULT NULL, INOUT p_delta numeric DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
BEGIN
    SELECT custid INTO STRICT v_id FROM sb_account WHERE name = p_name;
    UPDATE sb_savings SET bal = bal + p_amount WHERE custid = v_id AND bal + p_amount >= 0;
    p_ok := FOUND;
    p_delta := CASE WHEN p_ok THEN p_amount ELSE 0 END;
END;
$$;

-- all of the first customer's money goes to the second's checking account
CREATE OR REPLACE PROCEDURE sb_amalgamate(
    p_from text, p_to text, INOUT p_ok boolean DEFAULT NULL, INOUT p_delta numeric DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    v_from bigint;
    v_to   bigint;
    v_sav  numeric(14,2);
    v_chk  numeric(14,2);
BEGIN
    SELECT custid INTO STRICT v_from FROM sb_account WHERE name = p_from;
    SELECT custid INTO STRICT v_to   FROM sb_account WHERE name = p_to;
    p_ok := v_from <> v_to;
    p_delta := 0;
    IF NOT p_ok THEN
        RETURN;
    END IF;
    SELECT bal INTO STRICT v_sav FROM sb_savings WHERE custid = v_from FOR UPDATE;
    -- both checking rows in one order, so that two opposite calls cannot deadlock
    PERFORM 1 FROM sb_checking WHERE custid IN (v_from, v_to) ORDER BY custid FOR UPDATE;
    SELECT bal INTO STRICT v_chk FROM sb_checking WHERE custid = v_from;
    UPDATE sb_savings  SET bal = 0 WHERE custid = v_from;
    UPDATE sb_checking SET bal = 0 WHERE custid = v_from;
    UPDATE sb_checking SET bal = bal + v_sav + v_chk WHERE custid = v_to;
END;
$$;

-- a check over the total is paid with a penalty of 1
CREATE OR REPLACE PROCEDURE sb_write_check(
    p_name text, p_amount numeric, INOUT p_ok boolean DEFAULT NULL, INOUT p_delta numeric DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    v_id  bigint;
    v_sav numeric(14,2);
    v_chk numeric(14,2);
BEGIN
    SELECT custid INTO STRICT v_id FROM sb_account WHERE name = p_name;
    SELECT bal INTO STRICT v_sav FROM sb_savings  WHERE custid = v_id;
    SELECT bal INTO STRICT v_chk FROM sb_checking WHERE custid = v_id FOR UPDATE;
    p_ok := v_sav + v_chk >= p_amount;
    p_delta := CASE WHEN p_ok THEN -p_amount ELSE -(p_amount + 1) END;
    UPDATE sb_checking SET bal = bal + p_delta WHERE custid = v_id;
END;
$$;

CREATE OR REPLACE PROCEDURE sb_send_payment(
    p_from text, p_to text, p_amount numeric, INOUT p_ok boolean DEFAULT NULL, INOUT p_delta numeric DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    v_from bigint;
    v_to   bigint;
BEGIN
    SELECT custid INTO STRICT v_from FROM sb_account WHERE name = p_from;
    SELECT custid INTO STRICT v_to   FROM sb_account WHERE name = p_to;
    PERFORM 1 FROM sb_checking WHERE custid IN (v_from, v_to) ORDER BY custid FOR UPDATE;
    UPDATE sb_checking SET bal = bal - p_amount WHERE custid = v_from AND bal >= p_amount;
    p_ok := FOUND;
    p_delta := 0;
    IF p_ok THEN
        UPDATE sb_checking SET bal = bal + p_amount WHERE custid = v_to;
    END IF;
END;
$$;

-- Any one of the six by number, its money flow written to the ledger in the same transaction.
-- 1 balance  2 deposit  3 transact savings  4 amalgamate  5 write check  6 send payment
CREATE OR REPLACE PROCEDURE sb_audited(
    p_kind integer, p_a bigint, p_b bigint, p_amount numeric, INOUT p_out text DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    v_kind  text;
    v_ok    boolean := true;
    v_delta numeric := 0;
BEGIN
    CASE p_kind
        WHEN 1 THEN
            p_out := 'balance ' || sb_balance(sb_name(p_a));
            RETURN;
        WHEN 2 THEN
            v_kind := 'deposit';
            CALL sb_deposit_checking(sb_name(p_a), p_amount, v_ok, v_delta);
        WHEN 3 THEN
            v_kind := 'savings';
            CALL sb_transact_savings(sb_name(p_a), CASE WHEN p_a % 2 = 0 THEN p_amount ELSE -p_amount END, v_ok, v_delta);
        WHEN 4 THEN
            v_kind := 'amalgamate';
            CALL sb_amalgamate(sb_name(p_a), sb_name(p_b), v_ok, v_delta);
        WHEN 5 THEN
            v_kind := 'check';
            CALL sb_write_check(sb_name(p_a), p_amount, v_ok, v_delta);
        WHEN 6 THEN
            v_kind := 'payment';
            CALL sb_send_payment(sb_name(p_a), sb_name(p_b), p_amount, v_ok, v_delta);
        ELSE
            RAISE EXCEPTION 'no transaction of the kind %', p_kind USING ERRCODE = '22023';
    END CASE;
    INSERT INTO sb_ledger (kind, delta) VALUES (v_kind, v_delta);
    p_out := v_kind || ' ' || v_ok || ' ' || v_delta;
END;
$$;
