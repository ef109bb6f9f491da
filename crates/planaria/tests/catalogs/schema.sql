CREATE TABLE customer (
  id serial PRIMARY KEY,
  name varchar(40) NOT NULL,
  email text UNIQUE,
  balance numeric(12,2) NOT NULL DEFAULT 0 CHECK (balance >= 0),
  created timestamptz DEFAULT now(),
  active boolean NOT NULL DEFAULT true
);
CREATE TABLE item (
  code char(8) PRIMARY KEY,
  price numeric NOT NULL CHECK (price > 0),
  title text DEFAULT 'none',
  weight double precision
);
CREATE TABLE orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  customer_id integer NOT NULL REFERENCES customer (id) ON DELETE CASCADE,
  placed date NOT NULL DEFAULT current_date,
  note text
);
CREATE TABLE order_line (
  order_id bigint NOT NULL REFERENCES orders,
  line_no smallint NOT NULL,
  item_code char(8) NOT NULL REFERENCES item (code) ON UPDATE CASCADE,
  quantity integer NOT NULL DEFAULT 1,
  PRIMARY KEY (order_id, line_no),
  CONSTRAINT sane_quantity CHECK (quantity BETWEEN 1 AND 1000)
);
CREATE INDEX orders_by_customer ON orders (customer_id, placed);
CREATE INDEX line_item ON order_line (item_code);
CREATE TABLE log_entry (at timestamp, what text);
CREATE VIEW rich AS SELECT id, name, balance FROM customer WHERE balance > 1000;
CREATE SEQUENCE ticket START 100 INCREMENT 5;
CREATE PROCEDURE pay(p_id integer, p_amount numeric, INOUT p_left numeric DEFAULT NULL)
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE customer SET balance = balance - p_amount WHERE id = p_id RETURNING balance INTO p_left;
END $$;
CREATE FUNCTION total(p_id integer) RETURNS numeric LANGUAGE sql STABLE AS $$
  SELECT sum(balance) FROM customer WHERE id = p_id $$;
CREATE FUNCTION lines(p_order bigint) RETURNS TABLE (line_no smallint, quantity integer)
LANGUAGE sql AS $$ SELECT l.line_no, l.quantity FROM order_line l WHERE l.order_id = p_order $$;
