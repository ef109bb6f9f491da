-- An audit trail of three tables of TPC-C: who changed which money when, and every step of an order.
-- planaria bench tpcc --prepare examples/workloads/tpcc_audit.sql
CREATE TABLE audit (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tab     text NOT NULL,
    op      text NOT NULL,
    w_id    integer NOT NULL,
    d_id    integer,
    of_id   integer,
    was     numeric(12,2),
    became  numeric(12,2),
    by_role text NOT NULL,
    at      timestamp NOT NULL
);

CREATE FUNCTION audit_warehouse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (tab, op, w_id, was, became, by_role, at)
    VALUES (TG_TABLE_NAME, TG_OP, NEW.w_id, OLD.w_ytd, NEW.w_ytd, current_user, localtimestamp);
    RETURN NULL;
END $$;
CREATE TRIGGER audited AFTER UPDATE ON warehouse FOR EACH ROW EXECUTE FUNCTION audit_warehouse();

CREATE FUNCTION audit_customer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (tab, op, w_id, d_id, of_id, was, became, by_role, at)
    VALUES (TG_TABLE_NAME, TG_OP, NEW.c_w_id, NEW.c_d_id, NEW.c_id, OLD.c_balance, NEW.c_balance, current_user, localtimestamp);
    RETURN NULL;
END $$;
CREATE TRIGGER audited AFTER UPDATE ON customer FOR EACH ROW
    WHEN (OLD.c_balance IS DISTINCT FROM NEW.c_balance) EXECUTE FUNCTION audit_customer();

CREATE FUNCTION audit_orders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (tab, op, w_id, d_id, of_id, was, became, by_role, at)
    VALUES (TG_TABLE_NAME, TG_OP, NEW.o_w_id, NEW.o_d_id, NEW.o_id,
            CASE TG_OP WHEN 'UPDATE' THEN OLD.o_carrier_id END, NEW.o_carrier_id, current_user, localtimestamp);
    RETURN NULL;
END $$;
CREATE TRIGGER audited AFTER INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION audit_orders();
