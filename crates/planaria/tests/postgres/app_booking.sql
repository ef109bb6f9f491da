-- Rooms that are booked by the hour, with recurring bookings, waiting lists and prices by season.
SET timezone = 'Europe/Berlin';
CREATE TYPE booking_state AS ENUM ('requested', 'confirmed', 'cancelled', 'no_show');
CREATE DOMAIN minutes AS smallint CHECK (VALUE BETWEEN 15 AND 24 * 60 AND VALUE % 15 = 0);
CREATE TABLE sites (id smallserial PRIMARY KEY, name text NOT NULL UNIQUE, tz text NOT NULL DEFAULT 'Europe/Berlin', opens time NOT NULL DEFAULT '08:00', closes time NOT NULL DEFAULT '20:00', CHECK (opens < closes));
CREATE TABLE rooms (id serial PRIMARY KEY, site smallint NOT NULL REFERENCES sites, name text NOT NULL, seats int NOT NULL CHECK (seats > 0), equipment text[] NOT NULL DEFAULT '{}', hourly numeric(8,2) NOT NULL, UNIQUE (site, name));
CREATE TABLE seasons (name text PRIMARY KEY, first date NOT NULL, last date NOT NULL, factor real NOT NULL DEFAULT 1, CHECK (last >= first));
CREATE TABLE guests (id serial PRIMARY KEY, name text NOT NULL, phone text CHECK (phone ~ '^\+?[0-9 ]+$'), credit numeric(8,2) NOT NULL DEFAULT 0);
CREATE TABLE bookings (
  id serial PRIMARY KEY, room int NOT NULL REFERENCES rooms, guest int NOT NULL REFERENCES guests ON DELETE CASCADE,
  starts timestamptz NOT NULL, takes minutes NOT NULL, state booking_state NOT NULL DEFAULT 'requested', price numeric(10,2), note text);
CREATE INDEX bookings_by_room ON bookings (room, starts);
CREATE TABLE waiting (room int REFERENCES rooms ON DELETE CASCADE, guest int REFERENCES guests ON DELETE CASCADE, day date, at timestamptz NOT NULL, PRIMARY KEY (room, guest, day));
INSERT INTO sites (name, tz) VALUES ('Mitte', DEFAULT), ('Soho', 'Europe/London');
INSERT INTO sites (name, opens, closes) VALUES ('Night', '22:00', '06:00');
INSERT INTO rooms (site, name, seats, equipment, hourly) VALUES (1, 'Blue', 8, '{screen,whiteboard}', 25), (1, 'Red', 4, '{}', 12.5), (2, 'Attic', 20, '{screen,piano}', 60);
INSERT INTO seasons VALUES ('winter', '2024-01-01', '2024-03-31', 0.8), ('fair', '2024-04-22', '2024-04-26', 2), ('rest', '2024-04-01', '2024-12-31', 1);
INSERT INTO guests (name, phone) VALUES ('Ines', '+49 30 1234'), ('Jon', NULL), ('Kim', '555');
INSERT INTO guests (name, phone) VALUES ('Bad', 'call me');
CREATE FUNCTION overlaps_any(r int, s timestamptz, m int, but int DEFAULT 0) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM bookings b WHERE b.room = r AND b.id <> but AND b.state IN ('requested', 'confirmed')
    AND (b.starts, b.starts + b.takes * interval '1 minute') OVERLAPS (s, s + m * interval '1 minute')) $$;
CREATE FUNCTION price_of(r int, s timestamptz, m int) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
DECLARE hourly numeric; factor real; zone text;
BEGIN
  SELECT rooms.hourly, sites.tz INTO hourly, zone FROM rooms JOIN sites ON sites.id = rooms.site WHERE rooms.id = r;
  SELECT max(x.factor) INTO factor FROM seasons x WHERE (s AT TIME ZONE zone)::date BETWEEN x.first AND x.last;
  RETURN round(hourly * m / 60 * coalesce(factor, 1)::numeric, 2);
END $$;
CREATE FUNCTION book(r int, g int, s timestamptz, m int, n text DEFAULT NULL) RETURNS int LANGUAGE plpgsql AS $$
DECLARE id int; site sites%ROWTYPE; here timestamp;
BEGIN
  SELECT x.* INTO site FROM sites x JOIN rooms y ON y.site = x.id WHERE y.id = r;
  IF site.id IS NULL THEN RAISE EXCEPTION 'no room %', r; END IF;
  here := s AT TIME ZONE site.tz;
  IF here::time < site.opens OR (here + make_interval(mins => m))::time > site.closes OR here::date <> (here + make_interval(mins => m))::date THEN
    RAISE EXCEPTION '% is open from % to %', site.name, site.opens, site.closes USING ERRCODE = 'BK001';
  END IF;
  IF overlaps_any(r, s, m) THEN
    INSERT INTO waiting VALUES (r, g, here::date, s) ON CONFLICT DO NOTHING;
    RETURN NULL;
  END IF;
  INSERT INTO bookings (room, guest, starts, takes, price, note) VALUES (r, g, s, m, price_of(r, s, m), n) RETURNING bookings.id INTO id;
  RETURN id;
END $$;
CREATE FUNCTION weekly(r int, g int, s timestamptz, m int, weeks int) RETURNS TABLE (week int, booking int) LANGUAGE plpgsql AS $$
BEGIN
  FOR week IN 1..weeks LOOP
    booking := book(r, g, s + (week - 1) * interval '1 week', m, format('week %s of %s', week, weeks));
    RETURN NEXT;
  END LOOP;
END $$;
CREATE PROCEDURE cancel(b int, at timestamptz) LANGUAGE plpgsql AS $$
DECLARE x record;
BEGIN
  UPDATE bookings SET state = 'cancelled' WHERE id = b AND state <> 'cancelled' RETURNING room, guest, starts, price INTO x;
  IF NOT FOUND THEN RAISE EXCEPTION 'booking % is not there', b; END IF;
  IF x.starts - at > interval '24 hours' THEN UPDATE guests SET credit = credit + x.price WHERE id = x.guest; END IF;
END $$;
SELECT book(1, 1, '2024-03-28 10:00', 90), book(1, 2, '2024-03-28 11:15', 60), book(1, 2, '2024-03-28 11:30', 60);
SELECT book(1, 1, '2024-03-28 07:00', 60);
SELECT book(1, 1, '2024-03-28 19:30', 60);
SELECT book(1, 1, '2024-03-28 12:00', 50);
SELECT book(9, 1, '2024-03-28 12:00', 60);
SELECT * FROM weekly(2, 3, '2024-03-27 09:00', 120, 4);
SELECT id, room, starts, takes, price, note FROM bookings ORDER BY id;
SELECT id, starts AT TIME ZONE 'UTC' AS utc, to_char(starts, 'Dy DD.MM. HH24:MI TZ') FROM bookings WHERE room = 2 ORDER BY id;
SELECT book(3, 1, '2024-04-23 10:00+01', 60);
SELECT price FROM bookings WHERE room = 3;
SELECT r.name, g.name, w.day FROM waiting w JOIN rooms r ON r.id = w.room JOIN guests g ON g.id = w.guest ORDER BY g.name;
CALL cancel(1, '2024-03-26 10:00');
CALL cancel(1, '2024-03-26 10:00');
CALL cancel(2, '2024-03-28 10:00');
SELECT name, credit FROM guests ORDER BY id;
SELECT d::date, count(b.id), coalesce(sum(b.takes), 0) FROM generate_series(timestamp '2024-03-26', timestamp '2024-03-30', interval '1 day') AS d LEFT JOIN bookings b ON (b.starts AT TIME ZONE 'Europe/Berlin')::date = d::date AND b.state <> 'cancelled' GROUP BY d ORDER BY d;
SELECT r.name, (SELECT max(seats) FROM rooms x WHERE x.site = r.site) - r.seats, array_length(equipment, 1), equipment && '{piano,tv}' FROM rooms r ORDER BY r.id;
SELECT s.name, count(*) FILTER (WHERE 'screen' = ANY (r.equipment)) AS with_screen, avg(r.hourly)::numeric(8,3), bool_or(r.seats > 10) FROM sites s JOIN rooms r ON r.site = s.id GROUP BY s.name ORDER BY s.name;
SELECT extract(isodow FROM starts) AS dow, sum(price) FROM bookings GROUP BY dow ORDER BY dow;
SELECT starts, lead(starts) OVER (PARTITION BY room ORDER BY starts) - starts AS gap FROM bookings WHERE room = 2 ORDER BY starts;
UPDATE bookings b SET state = 'confirmed' FROM rooms r WHERE r.id = b.room AND r.site = 1 AND b.state = 'requested';
SELECT state, count(*) FROM bookings GROUP BY state ORDER BY state DESC;
UPDATE bookings SET takes = takes + 15 WHERE id = 4 RETURNING takes;
UPDATE bookings SET takes = takes + 1 WHERE id = 4;
DELETE FROM guests WHERE name = 'Kim';
SELECT count(*), min(starts), max(starts) FROM bookings;
RESET timezone;
SELECT min(starts) FROM bookings;
