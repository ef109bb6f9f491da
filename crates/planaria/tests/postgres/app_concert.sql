-- with contexts
-- Tickets of concerts: a waiting room, seats held under advisory locks, best seats side by side, carts that lapse, payments with provider callbacks, scans at the door, resale, barcodes with check digits.
SET TIME ZONE 'America/New_York';
CREATE SCHEMA tix;
SET search_path = tix;
CREATE DOMAIN cents AS bigint CHECK (VALUE >= 0);
CREATE TABLE venues (venue_id int PRIMARY KEY, name text NOT NULL, tz text NOT NULL DEFAULT 'America/New_York');
CREATE TABLE shows (show_id int PRIMARY KEY, venue_id int NOT NULL REFERENCES venues, title text NOT NULL, doors timestamptz NOT NULL, starts timestamptz NOT NULL, sale tstzrange NOT NULL, max_per_buyer smallint NOT NULL DEFAULT 4, CHECK (doors < starts), CHECK (upper(sale) <= starts));
CREATE TABLE price_levels (show_id int REFERENCES shows, level char(1), price cents NOT NULL, fee numeric(4,3) NOT NULL DEFAULT 0.1, PRIMARY KEY (show_id, level));
CREATE TABLE seats (show_id int NOT NULL, row_no smallint NOT NULL, seat_no smallint NOT NULL, level char(1) NOT NULL, status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'held', 'sold', 'killed')), cart uuid, held_until timestamptz, PRIMARY KEY (show_id, row_no, seat_no), FOREIGN KEY (show_id, level) REFERENCES price_levels, CONSTRAINT held_how CHECK ((status = 'held') = (held_until IS NOT NULL)));
CREATE INDEX seats_open ON seats (show_id, level, row_no, seat_no) WHERE status = 'open';
CREATE TABLE carts (cart uuid PRIMARY KEY, show_id int NOT NULL REFERENCES shows, buyer text NOT NULL, opened timestamptz NOT NULL, state text NOT NULL DEFAULT 'open', promo text);
CREATE TABLE orders (order_no text PRIMARY KEY, cart uuid UNIQUE REFERENCES carts, total cents NOT NULL, paid cents NOT NULL DEFAULT 0, refunded cents NOT NULL DEFAULT 0, CHECK (refunded <= paid));
CREATE TABLE tickets (barcode char(13) PRIMARY KEY, order_no text NOT NULL REFERENCES orders, show_id int NOT NULL, row_no smallint NOT NULL, seat_no smallint NOT NULL, holder text NOT NULL, used_at timestamptz, void boolean NOT NULL DEFAULT false, FOREIGN KEY (show_id, row_no, seat_no) REFERENCES seats DEFERRABLE);
CREATE UNIQUE INDEX one_valid_ticket ON tickets (show_id, row_no, seat_no) WHERE NOT void;
CREATE TABLE callbacks (provider text, event_id text, body jsonb NOT NULL, handled text, PRIMARY KEY (provider, event_id));
CREATE TABLE waiting (show_id int, place bigint GENERATED ALWAYS AS IDENTITY, token text NOT NULL, admitted boolean NOT NULL DEFAULT false, PRIMARY KEY (show_id, place));
CREATE SEQUENCE order_numbers START 10001 INCREMENT 7 MINVALUE 10001 MAXVALUE 10050 CYCLE CACHE 1;
INSERT INTO venues VALUES (1, 'Hall', DEFAULT), (2, 'Barn', 'America/Denver');
INSERT INTO shows VALUES (1, 1, 'Fugue State', '2024-11-02 19:00', '2024-11-02 20:00', '[2024-10-01 10:00,2024-11-02 20:00)', 4), (2, 2, 'Rain', '2024-11-03 19:00-07', '2024-11-03 20:00-07', '[2024-10-01 10:00-06,2024-11-03 12:00-07]', 2);
INSERT INTO shows VALUES (3, 1, 'Late', '2024-11-02 21:00', '2024-11-02 20:00', 'empty', 4);
INSERT INTO price_levels VALUES (1, 'A', 9000, 0.1), (1, 'B', 4550, 0.125), (2, 'A', 2000, 0);
INSERT INTO seats (show_id, row_no, seat_no, level) SELECT 1, r, s, CASE WHEN r <= 2 THEN 'A' ELSE 'B' END FROM generate_series(1, 4) r, generate_series(1, 8) s UNION ALL SELECT 2, 1, s, 'A' FROM generate_series(1, 5) s;
UPDATE seats SET status = 'killed' WHERE (show_id, row_no, seat_no) IN ((1, 1, 4), (1, 3, 1));
SELECT title, to_char(starts AT TIME ZONE tz, 'Dy, FMMonth FMDDth, FMHH12:MI AM') AS local, to_char(starts, 'YYYY-MM-DD HH24:MI TZ OF') AS here, sale, upper(sale) - lower(sale) AS open_for FROM shows JOIN venues USING (venue_id) ORDER BY show_id;
CREATE FUNCTION ean(digits text) RETURNS char(13) LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT digits || ((10 - sum(d::int * CASE WHEN o % 2 = 0 THEN 3 ELSE 1 END) % 10) % 10)::text FROM regexp_split_to_table(digits, '') WITH ORDINALITY AS x(d, o) $$;
SELECT ean('400638133393'), ean('978020137962'), ean(NULL), length(ean('000000000000'));
CREATE VIEW seat_map AS SELECT show_id, row_no, string_agg(CASE status WHEN 'open' THEN level WHEN 'held' THEN '?' WHEN 'sold' THEN '#' ELSE '_' END, '' ORDER BY seat_no) AS seats, count(*) FILTER (WHERE status = 'open') AS open FROM seats GROUP BY show_id, row_no;
SELECT * FROM seat_map ORDER BY 1, 2;
-- Best seats: n side by side, nearest to the middle, in the first row that has them (islands).
CREATE FUNCTION best_block(p_show int, p_level text, n int) RETURNS SETOF seats LANGUAGE sql STABLE AS $$
  WITH o AS (SELECT *, seat_no - row_number() OVER (PARTITION BY row_no ORDER BY seat_no) AS island FROM seats WHERE show_id = p_show AND level = p_level AND status = 'open'),
    runs AS (SELECT row_no, seat_no AS first, count(*) OVER (PARTITION BY row_no, island ORDER BY seat_no ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS long FROM o),
    pick AS (SELECT row_no, first FROM runs WHERE long >= n ORDER BY row_no, abs(first + (n - 1) / 2.0 - 4.5), first LIMIT 1)
  SELECT s.* FROM seats s JOIN pick p ON p.row_no = s.row_no AND s.seat_no BETWEEN p.first AND p.first + n - 1 WHERE s.show_id = p_show ORDER BY s.seat_no
$$;
SELECT row_no, seat_no FROM best_block(1, 'A', 3);
SELECT row_no, seat_no FROM best_block(1, 'A', 5);
SELECT count(*) FROM best_block(1, 'A', 9);
CREATE FUNCTION lapse(p_show int, at timestamptz) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int;
BEGIN
  WITH freed AS (UPDATE seats SET status = 'open', cart = NULL, held_until = NULL WHERE show_id = p_show AND status = 'held' AND held_until <= at RETURNING cart) SELECT count(*) INTO n FROM freed;
  UPDATE carts c SET state = 'lapsed' WHERE c.show_id = p_show AND c.state = 'open' AND NOT EXISTS (SELECT FROM seats s WHERE s.cart = c.cart);
  RETURN n;
END $$;
CREATE FUNCTION hold(p_cart uuid, p_show int, p_buyer text, p_level text, n int, at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE s shows; got seats[]; had int; x seats;
BEGIN
  SELECT * INTO STRICT s FROM shows WHERE show_id = p_show;
  IF NOT s.sale @> at THEN
    RAISE EXCEPTION '% is not on sale', s.title USING ERRCODE = 'TX010', DETAIL = format('Sale is from %s to %s.', to_char(lower(s.sale), 'MM/DD HH24:MI'), to_char(upper(s.sale), 'MM/DD HH24:MI'));
  END IF;
  -- One at a time for each show: the lock goes with the transaction.
  PERFORM pg_advisory_xact_lock(hashtext('show'), p_show);
  PERFORM lapse(p_show, at);
  SELECT count(*) INTO had FROM seats JOIN carts USING (cart) WHERE seats.show_id = p_show AND buyer = p_buyer AND status IN ('held', 'sold');
  IF had + n > s.max_per_buyer THEN RAISE EXCEPTION 'no more than % tickets', s.max_per_buyer USING ERRCODE = 'TX011', HINT = format('%s has %s.', p_buyer, had); END IF;
  got := ARRAY(SELECT b FROM best_block(p_show, p_level, n) b);
  IF coalesce(cardinality(got), 0) < n THEN RETURN 'none'; END IF;
  INSERT INTO carts VALUES (p_cart, p_show, p_buyer, at) ON CONFLICT (cart) DO NOTHING;
  FOREACH x IN ARRAY got LOOP
    UPDATE seats SET status = 'held', cart = p_cart, held_until = at + interval '10 min' WHERE show_id = x.show_id AND row_no = x.row_no AND seat_no = x.seat_no;
  END LOOP;
  RETURN got[1].row_no || ':' || (SELECT string_agg(u.seat_no::text, '-') FROM unnest(got) u);
END $$;
SELECT hold('00000000-0000-0000-0000-00000000000a', 1, 'ann', 'A', 2, '2024-09-30 23:00');
SELECT hold('00000000-0000-0000-0000-00000000000a', 1, 'ann', 'A', 2, '2024-10-01 10:00');
SELECT hold('00000000-0000-0000-0000-00000000000b', 1, 'bob', 'A', 4, '2024-10-01 10:01');
SELECT hold('00000000-0000-0000-0000-00000000000b', 1, 'bob', 'B', 1, '2024-10-01 10:01');
SELECT hold('00000000-0000-0000-0000-00000000000c', 1, 'cyn', 'A', 5, '2024-10-01 10:02');
SELECT hold('00000000-0000-0000-0000-00000000000c', 1, 'cyn', 'A', 3, '2024-10-01 10:02'), hold('00000000-0000-0000-0000-00000000000d', 1, 'dov', 'A', 3, '2024-10-01 10:03');
SELECT hold('x', 1, 'dov', 'A', 3, '2024-10-01 10:03');
SELECT hold(gen_random_uuid(), 9, 'dov', 'A', 3, '2024-10-01 10:03');
SELECT * FROM seat_map WHERE show_id = 1 ORDER BY 2;
SELECT lapse(1, '2024-10-01 10:10'), lapse(1, '2024-10-01 10:10');
SELECT cart, state FROM carts ORDER BY 1;
SELECT pg_try_advisory_lock(1, 2), pg_try_advisory_lock(1, 2), pg_advisory_unlock(1, 2), pg_advisory_unlock(1, 2), pg_advisory_unlock(1, 2);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
-- Checkout: a number from a sequence that cycles, an EAN for each ticket.
CREATE FUNCTION checkout(p_cart uuid, at timestamptz, INOUT promo text DEFAULT NULL, OUT no text, OUT total cents) LANGUAGE plpgsql AS $$
DECLARE c carts; q record; sum_price numeric; cut numeric;
BEGIN
  SELECT * INTO c FROM carts WHERE cart = p_cart FOR UPDATE;
  ASSERT c.cart IS NOT NULL, 'cart ' || p_cart || ' is not there';
  IF c.state <> 'open' OR EXISTS (SELECT FROM seats WHERE cart = p_cart AND held_until <= at) THEN RAISE EXCEPTION 'cart has lapsed' USING ERRCODE = 'TX012'; END IF;
  SELECT sum(p.price * (1 + p.fee)) AS s, count(*) AS n INTO q FROM seats s JOIN price_levels p USING (show_id, level) WHERE s.cart = p_cart;
  cut := CASE WHEN promo ~ '^SAVE\d{1,2}$' THEN substring(promo FROM '\d+')::numeric / 100 ELSE 0 END;
  IF cut = 0 THEN promo := NULL; END IF;
  total := ceil(q.s * (1 - cut));
  no := to_char(nextval('order_numbers'), 'FM"T-"000000');
  INSERT INTO orders (order_no, cart, total) VALUES (no, p_cart, total);
  UPDATE carts SET state = 'checkout', promo = checkout.promo WHERE cart = p_cart;
  UPDATE seats SET held_until = held_until + interval '5 min' WHERE cart = p_cart;
END $$;
SELECT * FROM checkout('00000000-0000-0000-0000-00000000000c', '2024-10-01 10:05', 'SAVE15');
SELECT * FROM checkout('00000000-0000-0000-0000-00000000000b', '2024-10-01 10:10:30', 'FREE');
SELECT hold('00000000-0000-0000-0000-00000000000e', 1, 'eli', 'B', 2, '2024-10-01 10:08');
SELECT (checkout('00000000-0000-0000-0000-00000000000e', '2024-10-01 10:20')).total;
SELECT (checkout('00000000-0000-0000-0000-00000000000e', '2024-10-01 10:12')).total;
SELECT * FROM checkout('ffffffff-ffff-ffff-ffff-ffffffffffff', '2024-10-01 10:05');
-- Callbacks come twice, out of order, for what is not known.
CREATE FUNCTION on_callback() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE o orders; t record; n int := 0;
BEGIN
  SELECT * INTO o FROM orders WHERE order_no = NEW.body ->> 'order';
  IF NOT FOUND THEN
    NEW.handled := 'unknown order';
    RETURN NEW;
  END IF;
  CASE NEW.body ->> 'type'
    WHEN 'paid' THEN
      UPDATE orders SET paid = paid + (NEW.body ->> 'amount')::bigint WHERE order_no = o.order_no RETURNING * INTO o;
      IF o.paid >= o.total THEN
        FOR t IN UPDATE seats SET status = 'sold', held_until = NULL WHERE cart = o.cart AND status = 'held' RETURNING show_id, row_no, seat_no LOOP
          n := n + 1;
          INSERT INTO tickets VALUES (ean(lpad(t.show_id::text, 3, '2') || lpad(t.row_no::text, 3, '0') || lpad(t.seat_no::text, 3, '0') || right(o.order_no, 3)), o.order_no, t.show_id, t.row_no, t.seat_no, (SELECT buyer FROM carts WHERE cart = o.cart));
        END LOOP;
        UPDATE carts SET state = 'done' WHERE cart = o.cart;
      END IF;
      NEW.handled := n || ' tickets';
    WHEN 'refunded' THEN
      UPDATE orders SET refunded = refunded + (NEW.body ->> 'amount')::bigint WHERE order_no = o.order_no;
      UPDATE tickets SET void = true WHERE order_no = o.order_no AND used_at IS NULL;
      UPDATE seats s SET status = 'open', cart = NULL FROM tickets k WHERE k.order_no = o.order_no AND k.void AND (s.show_id, s.row_no, s.seat_no) = (k.show_id, k.row_no, k.seat_no);
      NEW.handled := 'refunded';
  END CASE;
  RETURN NEW;
END $$;
CREATE TRIGGER on_callback BEFORE INSERT ON callbacks FOR EACH ROW EXECUTE FUNCTION on_callback();
INSERT INTO callbacks VALUES ('pay', 'e1', '{"type": "paid", "order": "T-010001", "amount": 20000}'), ('pay', 'e2', '{"type": "paid", "order": "T-099999", "amount": 5}') RETURNING event_id, handled;
INSERT INTO callbacks VALUES ('pay', 'e3', '{"type": "paid", "order": "T-010001", "amount": 5245}') ON CONFLICT DO NOTHING RETURNING handled;
INSERT INTO callbacks VALUES ('pay', 'e4', '{"type": "disputed", "order": "T-010001"}');
INSERT INTO callbacks VALUES ('pay', 'e5', '{"type": "refunded", "order": "T-010001", "amount": 99999}');
INSERT INTO callbacks VALUES ('pay', 'e6', '{"type": "paid", "order": "T-010008", "amount": "10k"}');
INSERT INTO callbacks VALUES ('pay', 'e6', '{"type": "paid", "order": "T-010015", "amount": 10238}') RETURNING handled;
SELECT order_no, total, paid FROM orders ORDER BY 1;
SELECT barcode, row_no, seat_no, holder FROM tickets ORDER BY row_no, seat_no;
SELECT count(*) FROM tickets WHERE barcode <> ean(left(barcode, 12));
SELECT * FROM seat_map WHERE show_id = 1 ORDER BY 2;
-- At the door.
CREATE FUNCTION scan(code text, at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t tickets; r text;
BEGIN
  UPDATE tickets SET used_at = at WHERE barcode = code AND used_at IS NULL AND NOT void RETURNING * INTO t;
  IF FOUND THEN RETURN format('welcome %s, row %s seat %s', initcap(t.holder), t.row_no, t.seat_no); END IF;
  SELECT CASE WHEN void THEN 'void' WHEN used_at IS NOT NULL THEN 'used at ' || to_char(used_at, 'HH12:MI am') END INTO r FROM tickets WHERE barcode = code;
  RETURN coalesce(r, 'unknown');
END $$;
SELECT scan(barcode, '2024-11-02 19:05') FROM tickets WHERE seat_no = 4 AND row_no = 2;
SELECT scan(barcode, '2024-11-02 19:06') FROM tickets WHERE seat_no = 4 AND row_no = 2;
SELECT scan('1', '2024-11-02 19:06');
INSERT INTO callbacks VALUES ('pay', 'e7', '{"type": "refunded", "order": "T-010001", "amount": 16830}') RETURNING handled;
SELECT scan(barcode, '2024-11-02 19:07') FROM tickets WHERE void ORDER BY barcode;
SELECT * FROM seat_map WHERE show_id = 1 AND row_no = 2;
-- The waiting room admits by hundreds; here by two.
INSERT INTO waiting (show_id, token) SELECT 1, left(md5(n::text), 6) FROM generate_series(1, 5) n;
WITH next AS (SELECT show_id, place FROM waiting WHERE NOT admitted ORDER BY place LIMIT 2 FOR UPDATE SKIP LOCKED) UPDATE waiting w SET admitted = true FROM next n WHERE (w.show_id, w.place) = (n.show_id, n.place) RETURNING w.place, w.token;
SELECT token, row_number() OVER (ORDER BY place) AS ahead, ceil(row_number() OVER (ORDER BY place) / 2.0) * interval '30 s' AS wait FROM waiting WHERE NOT admitted ORDER BY place;
-- Reports.
SELECT s.title, coalesce(p.level, 'all') AS level, count(*) FILTER (WHERE x.status = 'sold') AS sold, count(*) AS seats, round(100.0 * count(*) FILTER (WHERE x.status = 'sold') / count(*), 1) || '%' AS full, sum(p.price) FILTER (WHERE x.status = 'sold') ::numeric / 100 AS gross FROM shows s JOIN seats x USING (show_id) JOIN price_levels p USING (show_id, level) GROUP BY s.show_id, ROLLUP (p.level) ORDER BY s.show_id, p.level;
SELECT to_char(sum(paid - refunded) / 100.0, '$9,999.99') AS net, to_char(-5.5, 'S99.00'), to_char(sum(total), '999G999') FROM orders;
SELECT i, nextval('order_numbers') FROM generate_series(1, 6) i;
SELECT starts, starts + interval '1 day' AS next_day, starts + interval '24 hours' AS h24, (starts + interval '1 day') - starts AS elapsed FROM shows WHERE show_id = 1;
SELECT d, d AT TIME ZONE 'America/New_York' FROM (VALUES (timestamp '2024-11-03 01:30'), ('2024-03-10 02:30')) v(d);
ALTER TABLE seats DROP CONSTRAINT held_how;
ALTER TABLE price_levels ALTER COLUMN level TYPE text;
DELETE FROM shows WHERE show_id = 1;
DROP VIEW seat_map;
DROP SCHEMA tix;
