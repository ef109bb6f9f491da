-- Hotels: rooms and rates, stays by night, invoices with lines and taxes, loyalty points.
SET timezone = 'Europe/Lisbon';
CREATE TYPE room_kind AS ENUM ('single', 'double', 'suite');
CREATE TYPE stay_state AS ENUM ('booked', 'in house', 'checked out', 'no show', 'cancelled');
CREATE DOMAIN currency AS char(3) DEFAULT 'EUR' CHECK (VALUE IN ('EUR', 'USD', 'GBP'));
CREATE DOMAIN stars AS smallint CHECK (VALUE BETWEEN 1 AND 5);
CREATE TABLE hotels (hotel_id serial CONSTRAINT pk_hotels PRIMARY KEY, name varchar(255) NOT NULL, stars stars, currency currency NOT NULL, check_in time without time zone DEFAULT '15:00' NOT NULL, check_out time(0) DEFAULT '11:00' NOT NULL, amenities jsonb);
CREATE TABLE rooms (hotel_id integer NOT NULL CONSTRAINT fk_rooms_hotels REFERENCES hotels ON UPDATE CASCADE ON DELETE CASCADE, room_no varchar(5) NOT NULL, kind room_kind NOT NULL, floor smallint, beds smallint DEFAULT 1, CONSTRAINT pk_rooms PRIMARY KEY (hotel_id, room_no), CONSTRAINT ck_beds CHECK (beds > 0 AND (kind <> 'single' OR beds = 1)));
CREATE TABLE rates (rate_id bigserial PRIMARY KEY, hotel_id integer NOT NULL, kind room_kind NOT NULL, night date NOT NULL, price numeric(8,2) NOT NULL, CONSTRAINT uq_rates UNIQUE (hotel_id, kind, night), CONSTRAINT fk_rates FOREIGN KEY (hotel_id) REFERENCES hotels (hotel_id) MATCH SIMPLE ON DELETE CASCADE);
CREATE TABLE guests (guest_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, email text UNIQUE, points integer DEFAULT 0 NOT NULL, tier text GENERATED ALWAYS AS (CASE WHEN points >= 1000 THEN 'gold' WHEN points >= 200 THEN 'silver' ELSE 'blue' END) STORED, passport bytea);
CREATE TABLE stays (
  stay_id integer GENERATED ALWAYS AS IDENTITY (MINVALUE 100 START 100) PRIMARY KEY, hotel_id integer NOT NULL, room_no varchar(5), guest_id bigint NOT NULL REFERENCES guests, arrives date NOT NULL, leaves date NOT NULL,
  nights integer GENERATED ALWAYS AS (leaves - arrives) STORED, state stay_state DEFAULT 'booked'::stay_state NOT NULL, wishes text[] DEFAULT ARRAY[]::text[], created_at timestamp with time zone DEFAULT '2024-01-01 00:00:00+00' NOT NULL,
  FOREIGN KEY (hotel_id, room_no) REFERENCES rooms ON UPDATE CASCADE ON DELETE SET NULL (room_no), CHECK (leaves > arrives), CHECK (nights <= 30));
CREATE INDEX stays_active ON stays (hotel_id, room_no, arrives) WHERE state IN ('booked', 'in house');
CREATE TABLE invoices (invoice_no text PRIMARY KEY, stay_id integer NOT NULL UNIQUE REFERENCES stays ON DELETE RESTRICT, issued timestamptz NOT NULL, net numeric(10,2), tax numeric(10,2), gross numeric(10,2) GENERATED ALWAYS AS (net + tax) STORED);
CREATE TABLE invoice_lines (invoice_no text REFERENCES invoices ON DELETE CASCADE, line integer, what text NOT NULL, qty numeric(6,2) NOT NULL DEFAULT 1, unit numeric(8,2) NOT NULL, vat numeric(4,2) NOT NULL DEFAULT 0.06, PRIMARY KEY (invoice_no, line));
INSERT INTO hotels (name, stars, currency, amenities) VALUES ('Mar', 4, DEFAULT, '{"pool": true, "bars": [{"name": "Top", "open": "18:00"}, {"name": "Lobby"}]}'), ('Serra', NULL, 'GBP', NULL);
INSERT INTO hotels (name, currency) VALUES ('Sol', 'CHF');
INSERT INTO hotels (name, currency) VALUES ('Sol', NULL);
INSERT INTO hotels (name, stars) VALUES ('Lua', 6);
INSERT INTO rooms VALUES (1, '101', 'single', 1), (1, '102', 'double', 1, 2), (1, '201', 'suite', 2, 3), (2, 'A', 'double', 0, 1);
INSERT INTO rooms VALUES (1, '103', 'single', 1, 2);
INSERT INTO rooms VALUES (1, '100000', 'single', 1);
INSERT INTO rooms VALUES (1, '103', 'penthouse', 1);
INSERT INTO rates (hotel_id, kind, night, price) SELECT h.hotel_id, k, d::date, CASE k WHEN 'single' THEN 60 WHEN 'double' THEN 90 ELSE 200 END * CASE WHEN extract(dow FROM d) IN (5, 6) THEN 1.25 ELSE 1 END FROM hotels h, unnest(enum_range(NULL::room_kind)) k, generate_series('2024-03-28'::timestamp, '2024-04-03', '1 day') d WHERE h.hotel_id = 1;
INSERT INTO rates (hotel_id, kind, night, price) VALUES (1, 'single', '2024-03-28', 1) ON CONFLICT ON CONSTRAINT uq_rates DO UPDATE SET price = LEAST(rates.price, EXCLUDED.price * 55) RETURNING rate_id, price;
INSERT INTO rates (hotel_id, kind, night, price) VALUES (1, 'single', '2024-03-29', 1), (1, 'single', '2024-03-29', 2) ON CONFLICT (hotel_id, kind, night) DO UPDATE SET price = EXCLUDED.price;
SELECT kind, min(price), max(price), sum(price), count(*) FROM rates GROUP BY kind ORDER BY kind DESC;
INSERT INTO guests (name, email, points) VALUES ('Rui', 'rui@example.pt', 150), ('Joan', 'joan@example.com', 1200), ('Kit', NULL, DEFAULT) RETURNING guest_id, tier;
-- A free room of a kind, the lowest number first; raises when there is none.
CREATE FUNCTION find_room(h int, k room_kind, a date, l date, OUT room varchar, OUT price numeric) LANGUAGE plpgsql STABLE AS $$
BEGIN
  SELECT r.room_no INTO room FROM rooms r WHERE r.hotel_id = h AND r.kind = k
    AND NOT EXISTS (SELECT FROM stays s WHERE s.hotel_id = r.hotel_id AND s.room_no = r.room_no AND s.state = ANY ('{booked,"in house"}'::stay_state[]) AND (s.arrives, s.leaves) OVERLAPS (a, l))
    ORDER BY r.room_no LIMIT 1;
  IF room IS NULL THEN RAISE EXCEPTION 'no % room from % to %', k, a, l USING ERRCODE = 'HT001'; END IF;
  SELECT sum(rates.price) INTO price FROM rates WHERE hotel_id = h AND kind = k AND night >= a AND night < l HAVING count(*) = l - a;
END $$;
CREATE FUNCTION book(h int, k room_kind, who text, a date, n int, VARIADIC w text[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
DROP FUNCTION IF EXISTS book(int, room_kind, text, date, int, text[]);
CREATE FUNCTION book(h int, k room_kind, who text, a date, n int DEFAULT 1, w text[] DEFAULT NULL) RETURNS stays LANGUAGE plpgsql AS $$
DECLARE f record; s stays; g bigint;
BEGIN
  SELECT guest_id INTO g FROM guests WHERE name = who;
  SELECT * INTO f FROM find_room(h, k, a, a + n);
  RAISE NOTICE 'room % for %', f.room, coalesce(f.price::text, 'an unknown price');
  INSERT INTO stays (hotel_id, room_no, guest_id, arrives, leaves, wishes) VALUES (h, f.room, g, a, a + n, coalesce(w, '{}')) RETURNING * INTO s;
  RETURN s;
END $$;
SELECT stay_id, room_no, arrives, leaves, nights, state, wishes FROM book(1, 'double', 'Rui', '2024-03-28', 3, ARRAY['crib', 'late, please']);
SELECT stay_id, room_no FROM book(1, 'double', 'Joan', '2024-03-31');
SELECT stay_id, room_no FROM book(1, 'double', 'Joan', '2024-03-30', 2);
SELECT stay_id, room_no FROM book(1, 'suite', 'Joan', '2024-04-02', n => 4);
SELECT stay_id FROM book(2, 'double', 'Nobody', '2024-04-02');
SELECT stay_id FROM book(2, 'double', 'Kit', '2024-04-02', 0);
SELECT stay_id FROM book(2, 'double', 'Kit', '2024-04-02', 31);
SELECT stay_id, nights FROM book(k => 'double', h => 2, a => '2024-02-28', who => 'Kit', n => 2);
CREATE PROCEDURE check_out(s int, at timestamptz) LANGUAGE plpgsql AS $$
DECLARE st stays%ROWTYPE; no text; n int; late boolean;
BEGIN
  UPDATE stays SET state = 'checked out' WHERE stay_id = s AND state IN ('booked', 'in house') RETURNING * INTO st;
  IF NOT FOUND THEN RAISE EXCEPTION USING MESSAGE = 'stay ' || s || ' is not open', ERRCODE = 'HT002', DETAIL = coalesce('It is ' || (SELECT state FROM stays WHERE stay_id = s) || '.', 'There is none.'); END IF;
  no := to_char(at, 'YYYY') || '-' || to_char(s, 'FM00000');
  INSERT INTO invoices (invoice_no, stay_id, issued) VALUES (no, s, at);
  INSERT INTO invoice_lines (invoice_no, line, what, unit) SELECT no, row_number() OVER (ORDER BY night), 'Night of ' || to_char(night, 'DD Mon'), price FROM rates JOIN rooms USING (hotel_id, kind) WHERE hotel_id = st.hotel_id AND room_no = st.room_no AND night >= st.arrives AND night < st.leaves;
  GET DIAGNOSTICS n := ROW_COUNT;
  SELECT at > st.leaves + check_out INTO late FROM hotels WHERE hotel_id = st.hotel_id;
  IF late THEN INSERT INTO invoice_lines VALUES (no, n + 1, 'Late', 0.5, 90, 0.23); END IF;
  UPDATE invoices i SET (net, tax) = (SELECT coalesce(sum(qty * unit), 0), coalesce(sum(round(qty * unit * vat, 2)), 0) FROM invoice_lines l WHERE l.invoice_no = i.invoice_no) WHERE i.invoice_no = no;
  UPDATE guests SET points = points + floor(i.net)::int FROM invoices i WHERE i.stay_id = s AND guest_id = st.guest_id;
END $$;
CALL check_out(100, '2024-03-31 11:30');
CALL check_out(101, '2024-04-01 10:59:59+01');
CALL check_out(100, '2024-03-31 11:30');
CALL check_out(999, '2024-03-31 11:30');
SELECT invoice_no, line, what, qty, unit, vat, qty * unit AS amount FROM invoice_lines ORDER BY 1, 2;
SELECT invoice_no, issued, net, tax, gross, to_char(gross, 'L9G990D00') IS NOT NULL FROM invoices ORDER BY 1;
SELECT name, points, tier FROM guests ORDER BY points DESC;
-- Occupancy, day by day.
SELECT d::date AS night, count(s.stay_id) AS taken, count(*) FILTER (WHERE s.state = 'checked out') AS gone, string_agg(s.room_no, ',' ORDER BY s.room_no) AS rooms, round(100.0 * count(s.stay_id) / (SELECT count(*) FROM rooms WHERE hotel_id = 1)) || '%' AS pct FROM generate_series(date '2024-03-28', date '2024-04-02', interval '1 day') AS d LEFT JOIN stays s ON d >= s.arrives AND d < s.leaves AND s.hotel_id = 1 GROUP BY d ORDER BY d;
SELECT r.room_no, r.kind, s.guest, s.arrives FROM rooms r LEFT JOIN LATERAL (SELECT g.name AS guest, arrives FROM stays JOIN guests g USING (guest_id) WHERE stays.hotel_id = r.hotel_id AND stays.room_no = r.room_no ORDER BY arrives DESC LIMIT 1) s ON true WHERE r.hotel_id = 1 ORDER BY r.room_no;
SELECT kind, night, price, price - avg(price) OVER (PARTITION BY kind) AS off, rank() OVER (PARTITION BY kind ORDER BY price DESC) AS r, count(*) OVER () AS n FROM rates WHERE extract(isodow FROM night) IN (4, 5, 7) ORDER BY kind, night;
SELECT h.name, bar ->> 'name' AS bar, coalesce((bar ->> 'open')::time, h.check_in) AS opens FROM hotels h CROSS JOIN LATERAL jsonb_array_elements(h.amenities -> 'bars') AS bar ORDER BY 1, 2;
SELECT name, amenities -> 'pool' = 'true'::jsonb AS pool, (amenities -> 'bars' -> 1 ->> 'name') || '!' AS second, amenities IS NOT DISTINCT FROM NULL AS bare FROM hotels ORDER BY name;
SELECT check_out + interval '90 minutes', check_in - check_out, date '2024-03-31' + check_in, (date '2024-03-31' + check_in) AT TIME ZONE 'Europe/Lisbon' FROM hotels WHERE hotel_id = 1;
SELECT timestamptz '2024-03-31 00:30' + interval '1 day', timestamptz '2024-03-31 00:30' + interval '24 hours', timestamptz '2024-03-31 01:30', date_trunc('day', timestamptz '2024-03-31 12:00', 'America/New_York');
SELECT hotel_id, room_no FROM rooms EXCEPT ALL SELECT hotel_id, room_no FROM stays ORDER BY 1, 2;
(SELECT name, 'guest' AS what FROM guests ORDER BY points LIMIT 1) UNION (SELECT name, 'hotel' FROM hotels ORDER BY name DESC LIMIT 1) ORDER BY what DESC;
UPDATE rooms SET room_no = '112' WHERE room_no = '102' AND hotel_id = 1;
DELETE FROM rooms WHERE room_no IN ('112', '201') RETURNING room_no, kind;
SELECT stay_id, hotel_id, room_no, state FROM stays ORDER BY stay_id;
DELETE FROM stays WHERE stay_id = 100;
UPDATE stays SET wishes = wishes || 'quiet'::text, leaves = leaves + 1 WHERE guest_id = (SELECT guest_id FROM guests WHERE name = 'Kit') RETURNING nights, wishes, leaves;
ALTER TABLE stays ADD COLUMN rate numeric(8,2) DEFAULT 99.9, ADD COLUMN agent_id int REFERENCES guests (guest_id), DROP CONSTRAINT stays_check1;
DROP INDEX stays_active;
ALTER TABLE stays ALTER COLUMN state DROP DEFAULT, ALTER COLUMN state TYPE text USING replace(state::text, ' ', '_'), ALTER COLUMN state SET DEFAULT 'booked';
SELECT state, rate, agent_id FROM stays ORDER BY stay_id;
ALTER TABLE guests ALTER COLUMN points TYPE bigint;
ALTER TABLE guests DROP COLUMN points;
ALTER TABLE guests DROP COLUMN points CASCADE;
SELECT * FROM guests ORDER BY guest_id;
