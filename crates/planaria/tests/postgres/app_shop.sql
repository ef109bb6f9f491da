-- A web shop: customers, catalog with variants, carts, orders, coupons, stock movements.
CREATE TYPE order_status AS ENUM ('cart', 'placed', 'paid', 'shipped', 'delivered', 'cancelled');
CREATE DOMAIN price AS numeric(12,2) CHECK (VALUE >= 0);
CREATE DOMAIN email_address AS text CHECK (VALUE ~* '^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$');
CREATE TABLE customers (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email email_address NOT NULL UNIQUE,
  full_name varchar(100) NOT NULL,
  birthday date,
  preferences jsonb NOT NULL DEFAULT '{}'::jsonb,
  tags text[] NOT NULL DEFAULT ARRAY[]::text[],
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT grown_up CHECK (birthday IS NULL OR birthday < DATE '2020-01-01')
);
CREATE TABLE categories (
  id serial PRIMARY KEY,
  parent_id integer REFERENCES categories (id) ON DELETE CASCADE,
  slug text NOT NULL UNIQUE,
  name text NOT NULL
);
CREATE TABLE products (
  id serial PRIMARY KEY,
  category_id integer NOT NULL REFERENCES categories ON DELETE RESTRICT,
  sku char(8) NOT NULL UNIQUE,
  title text NOT NULL,
  base_price price NOT NULL,
  attributes jsonb NOT NULL DEFAULT '{}',
  discontinued boolean NOT NULL DEFAULT false
);
CREATE INDEX products_by_category ON products (category_id, title);
CREATE TABLE stock (
  product_id integer PRIMARY KEY REFERENCES products ON DELETE CASCADE,
  on_hand integer NOT NULL DEFAULT 0 CHECK (on_hand >= 0),
  reserved integer NOT NULL DEFAULT 0,
  CONSTRAINT no_more_than_there CHECK (reserved BETWEEN 0 AND on_hand)
);
CREATE TABLE orders (
  id bigserial PRIMARY KEY,
  customer_id bigint NOT NULL REFERENCES customers (id),
  status order_status NOT NULL DEFAULT 'cart',
  placed_at timestamp,
  shipping jsonb,
  total price
);
CREATE INDEX orders_by_status ON orders (status, id);
CREATE TABLE order_lines (
  order_id bigint NOT NULL REFERENCES orders ON DELETE CASCADE,
  line smallint NOT NULL,
  product_id integer NOT NULL REFERENCES products,
  quantity integer NOT NULL CHECK (quantity > 0),
  unit_price price NOT NULL,
  PRIMARY KEY (order_id, line)
);
CREATE TABLE coupons (
  code text PRIMARY KEY,
  percent numeric(4,1) CHECK (percent > 0 AND percent <= 100),
  valid_from date NOT NULL,
  valid_to date NOT NULL,
  uses integer NOT NULL DEFAULT 0,
  max_uses integer,
  CHECK (valid_from <= valid_to)
);
INSERT INTO customers (email, full_name, birthday, preferences, tags, created_at) VALUES
  ('ada@example.org', 'Ada Lovelace', '1815-12-10', '{"newsletter": true, "lang": "en"}', '{vip,early}', '2024-01-01 10:00+00'),
  ('linus@example.org', 'Linus T', NULL, '{"lang": "fi"}', '{}', '2024-02-01 10:00+00'),
  ('grace@example.org', 'Grace Hopper', '1906-12-09', '{"newsletter": false}', '{navy}', '2024-03-01 10:00+00');
INSERT INTO customers (email, full_name) VALUES ('not an address', 'x');
INSERT INTO customers (email, full_name) VALUES ('ada@example.org', 'x');
INSERT INTO customers (email, full_name, birthday, created_at) VALUES ('kid@example.org', 'x', '2021-05-05', '2024-04-01 10:00+00');
INSERT INTO customers (id, email, full_name) VALUES (9, 'id@example.org', 'x');
INSERT INTO categories (parent_id, slug, name) VALUES (NULL, 'books', 'Books'), (NULL, 'music', 'Music'), (1, 'sf', 'Science fiction'), (3, 'cyber', 'Cyberpunk'), (1, 'history', 'History');
INSERT INTO products (category_id, sku, title, base_price, attributes) VALUES
  (4, 'BK-00001', 'Neuromancer', 9.99, '{"pages": 271, "formats": ["paper", "ebook"]}'),
  (3, 'BK-00002', 'Dune', 12.5, '{"pages": 412, "formats": ["paper"], "award": {"name": "Hugo", "year": 1966}}'),
  (5, 'BK-00003', 'SPQR', 20, '{"pages": 608}'),
  (2, 'MU-00001', 'Kind of Blue', 15.25, '{"tracks": 5, "formats": ["vinyl", "cd"]}');
INSERT INTO stock SELECT id, 10 - id, 0 FROM products;
INSERT INTO coupons VALUES ('SPRING', 10, '2024-03-01', '2024-05-31', 0, 2), ('BIG', 50, '2023-01-01', '2023-12-31', 0, NULL);
-- queries
SELECT p.title, c.name, p.base_price FROM products p JOIN categories c ON c.id = p.category_id ORDER BY p.title;
WITH RECURSIVE tree AS (
  SELECT id, slug, name, 0 AS depth, ARRAY[slug] AS path FROM categories WHERE parent_id IS NULL
  UNION ALL
  SELECT c.id, c.slug, c.name, t.depth + 1, t.path || c.slug FROM categories c JOIN tree t ON c.parent_id = t.id
) SELECT repeat('  ', depth) || name, array_to_string(path, '/') FROM tree ORDER BY path;
SELECT title, attributes ->> 'pages', attributes -> 'formats' -> 0, attributes #>> '{award,name}' FROM products ORDER BY id;
SELECT title FROM products WHERE attributes @> '{"formats": ["paper"]}' ORDER BY title;
SELECT title FROM products WHERE attributes ? 'award' OR (attributes ->> 'tracks')::int > 3 ORDER BY title;
SELECT f, count(*) FROM products, jsonb_array_elements_text(attributes -> 'formats') AS f GROUP BY f ORDER BY f;
SELECT full_name FROM customers WHERE 'vip' = ANY (tags);
SELECT full_name, date_part('year', age(DATE '2024-06-01', birthday)) FROM customers WHERE birthday IS NOT NULL ORDER BY 1;
SELECT full_name, coalesce(preferences ->> 'newsletter', 'unset') FROM customers ORDER BY id;
-- procedures
CREATE FUNCTION place_line(o bigint, p integer, q integer) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE n smallint; unit price;
BEGIN
  UPDATE stock SET reserved = reserved + q WHERE product_id = p;
  IF NOT FOUND THEN RAISE EXCEPTION 'product % has no stock', p USING ERRCODE = 'P0002', HINT = 'Order it first.'; END IF;
  SELECT base_price INTO STRICT unit FROM products WHERE id = p AND NOT discontinued;
  SELECT coalesce(max(line), 0) + 1 INTO n FROM order_lines WHERE order_id = o;
  INSERT INTO order_lines VALUES (o, n, p, q, unit);
  RETURN n;
END $$;
CREATE PROCEDURE place_order(o bigint, at timestamp, coupon text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE s order_status; sum numeric; c coupons%ROWTYPE;
BEGIN
  SELECT status INTO s FROM orders WHERE id = o FOR UPDATE;
  IF s IS DISTINCT FROM 'cart' THEN RAISE EXCEPTION 'order % is %', o, coalesce(s::text, 'missing'); END IF;
  SELECT sum(quantity * unit_price) INTO sum FROM order_lines WHERE order_id = o;
  IF sum IS NULL THEN RAISE EXCEPTION 'order % is empty', o; END IF;
  IF coupon IS NOT NULL THEN
    SELECT * INTO c FROM coupons WHERE code = upper(coupon) AND at::date BETWEEN valid_from AND valid_to;
    IF NOT FOUND OR c.uses >= c.max_uses THEN RAISE NOTICE 'coupon % is not valid', coupon;
    ELSE
      UPDATE coupons SET uses = uses + 1 WHERE code = c.code;
      sum := round(sum * (100 - c.percent) / 100, 2);
    END IF;
  END IF;
  UPDATE orders SET status = 'placed', placed_at = at, total = sum WHERE id = o;
END $$;
CREATE FUNCTION advance(o bigint, next order_status) RETURNS order_status LANGUAGE plpgsql AS $$
DECLARE was order_status;
BEGIN
  SELECT status INTO was FROM orders WHERE id = o;
  IF next <= was THEN RAISE EXCEPTION 'cannot go from % to %', was, next USING ERRCODE = '22023'; END IF;
  IF next = 'shipped' THEN
    UPDATE stock s SET on_hand = on_hand - l.quantity, reserved = reserved - l.quantity
      FROM order_lines l WHERE l.order_id = o AND l.product_id = s.product_id;
  END IF;
  UPDATE orders SET status = next WHERE id = o;
  RETURN was;
END $$;
INSERT INTO orders (customer_id) VALUES (1), (3), (1) RETURNING id, status;
SELECT place_line(1, 1, 2), place_line(1, 4, 1);
SELECT place_line(2, 2, 3);
SELECT place_line(2, 2, 30);
SELECT place_line(2, 99, 1);
CALL place_order(1, '2024-04-01 12:00', 'spring');
CALL place_order(2, '2024-04-02 12:00', 'big');
CALL place_order(3, '2024-04-03 12:00');
CALL place_order(1, '2024-04-03 12:00');
CALL place_order(77, '2024-04-03 12:00');
SELECT id, status, placed_at, total FROM orders ORDER BY id;
SELECT advance(1, 'paid'), advance(1, 'shipped');
SELECT advance(1, 'paid');
SELECT advance(2, 'lost');
SELECT * FROM stock ORDER BY product_id;
SELECT status, count(*), sum(total), string_agg(id::text, ',' ORDER BY id) FROM orders GROUP BY status ORDER BY status;
SELECT c.full_name, count(o.id) AS orders, coalesce(sum(o.total) FILTER (WHERE o.status > 'cart'), 0) AS spent
  FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id ORDER BY spent DESC, c.full_name;
SELECT p.title, sum(l.quantity), rank() OVER (ORDER BY sum(l.quantity) DESC) FROM order_lines l JOIN products p ON p.id = l.product_id GROUP BY p.id, p.title ORDER BY 2 DESC, 1;
CREATE VIEW open_orders AS SELECT o.id, c.email, o.status, o.total FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status < 'delivered';
SELECT * FROM open_orders ORDER BY id;
UPDATE customers SET preferences = (preferences || '{"lang": "de"}') - 'newsletter' WHERE id = 1 RETURNING preferences;
UPDATE customers SET preferences = jsonb_set(preferences, '{address}', '{"city": "London"}') WHERE id = 1 RETURNING preferences #>> '{address,city}';
UPDATE customers SET tags = array_append(array_remove(tags, 'early'), 'gold') WHERE id = 1 RETURNING tags;
DELETE FROM customers WHERE id = 1;
DELETE FROM categories WHERE slug = 'books';
DELETE FROM categories WHERE slug = 'cyber';
BEGIN;
DELETE FROM products WHERE id = 3;
SELECT count(*) FROM stock;
ROLLBACK;
SELECT count(*) FROM stock;
SELECT jsonb_pretty(jsonb_build_object('order', o.id, 'lines', jsonb_agg(jsonb_build_object('sku', p.sku, 'n', l.quantity) ORDER BY l.line)))
  FROM orders o JOIN order_lines l ON l.order_id = o.id JOIN products p ON p.id = l.product_id WHERE o.id = 1 GROUP BY o.id;
SELECT json_agg(t) FROM (SELECT id, total, placed_at FROM orders WHERE total IS NOT NULL ORDER BY id) t;
