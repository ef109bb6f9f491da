-- Moves money, if there is enough of it.
CREATE PROCEDURE pay(p_id uuid, p_payer integer, p_payee integer, p_amount numeric)
LANGUAGE plpgsql AS $$
DECLARE
    v_balance numeric;
BEGIN
    SELECT balance INTO STRICT v_balance FROM account WHERE id = p_payer;
    IF v_balance < p_amount THEN
        RETURN;
    END IF;
    UPDATE account SET balance = balance - p_amount WHERE id = p_payer;
    UPDATE account SET balance = balance + p_amount WHERE id = p_payee;
    INSERT INTO transfer VALUES (p_id, p_payer, p_payee, p_amount);
END $$;
