-- TPC-C as the paper's Figure 21 has it: the three transactions that change something, plain.
CREATE TABLE warehouse (w_id int PRIMARY KEY, w_name text, w_tax numeric(4,4), w_ytd numeric(12,2));
CREATE TABLE district (d_w_id int, d_id int, d_name text, d_tax numeric(4,4), d_ytd numeric(12,2), d_next_o_id int,
    PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_last text, c_discount numeric(4,4),
    c_balance numeric(12,2), PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE TABLE history (h_id bigint PRIMARY KEY, h_c_id int, h_w_id int, h_data text, h_amount numeric(6,2));
CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_carrier_id int,
    PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE item (i_id int PRIMARY KEY, i_price numeric(5,2));
CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int, s_dist text, PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, ol_amount numeric(6,2),
    ol_dist text, ol_delivered boolean, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));

CREATE PROCEDURE neworder(w int, d int, c int, n int, items int[], suppliers int[], quantities int[],
    INOUT total numeric DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE
    w_t numeric; d_t numeric; discount numeric; o int; price numeric; q int; dist text;
BEGIN
    SELECT w_tax INTO w_t FROM warehouse WHERE w_id = w;
    SELECT d_tax, d_next_o_id INTO d_t, o FROM district WHERE d_w_id = w AND d_id = d;
    UPDATE district SET d_next_o_id = o + 1 WHERE d_w_id = w AND d_id = d;
    SELECT c_discount INTO discount FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    INSERT INTO orders VALUES (w, d, o, c, NULL);
    INSERT INTO new_order VALUES (w, d, o);
    FOR i IN 1..n LOOP
        SELECT i_price INTO price FROM item WHERE i_id = items[i];
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no such item';
        END IF;
        SELECT s_quantity, s_dist INTO q, dist FROM stock WHERE s_w_id = suppliers[i] AND s_i_id = items[i];
        UPDATE stock SET s_quantity = CASE WHEN q >= quantities[i] + 10 THEN q ELSE q + 91 END - quantities[i]
        WHERE s_w_id = suppliers[i] AND s_i_id = items[i];
        INSERT INTO order_line VALUES (w, d, o, i, items[i], quantities[i] * price, dist, false);
        total := total + quantities[i] * price;
    END LOOP;
    total := total * (1 - discount) * (1 + w_t + d_t);
END $$;

CREATE PROCEDURE payment(w int, d int, c_w int, c_d int, c int, amount numeric, h bigint) LANGUAGE plpgsql AS $$
DECLARE
    w_n text; d_n text;
BEGIN
    SELECT w_name INTO w_n FROM warehouse WHERE w_id = w;
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
    SELECT d_name INTO d_n FROM district WHERE d_w_id = w AND d_id = d;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
    UPDATE customer SET c_balance = c_balance - amount WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = c;
    INSERT INTO history VALUES (h, c, w, w_n || d_n, amount);
END $$;

CREATE PROCEDURE delivery(w int, carrier int) LANGUAGE plpgsql AS $$
DECLARE
    o int; c int; amount numeric;
BEGIN
    FOR d IN 1..10 LOOP
        SELECT min(no_o_id) INTO o FROM new_order WHERE no_w_id = w AND no_d_id = d;
        CONTINUE WHEN o IS NULL;
        DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
        SELECT o_c_id INTO c FROM orders WHERE o_w_id = w AND o_d_id = d AND o_id = o;
        UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o;
        UPDATE order_line SET ol_delivered = true WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        SELECT sum(ol_amount) INTO amount FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        UPDATE customer SET c_balance = c_balance + amount WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    END LOOP;
END $$;
