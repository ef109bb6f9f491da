-- Flights: local times of two zones, seat maps as arrays, holds that expire, standby lists.
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE TYPE cabin AS ENUM ('economy', 'premium', 'business');
CREATE TYPE seat AS (line smallint, letter "char");
CREATE TABLE airports (code char(3) PRIMARY KEY CHECK (code = upper(code)), city text NOT NULL, tz text NOT NULL);
INSERT INTO airports VALUES ('FRA', 'Frankfurt', 'Europe/Berlin'), ('JFK', 'New York', 'America/New_York'), ('NRT', 'Tokyo', 'Asia/Tokyo'), ('SYD', 'Sydney', 'Australia/Sydney');
INSERT INTO airports VALUES ('cdg', 'Paris', 'Europe/Paris');
CREATE TABLE planes (tail text PRIMARY KEY, layout jsonb NOT NULL CHECK (jsonb_typeof(layout -> 'cabins') = 'array'), seats int GENERATED ALWAYS AS (jsonb_array_length(layout -> 'cabins')) STORED);
INSERT INTO planes (tail, layout) VALUES ('D-AAAA', '{"cabins": [{"cabin": "business", "lines": [1, 2], "letters": "AF"}, {"cabin": "economy", "lines": [10, 13], "letters": "ABCDEF"}]}'), ('D-BBBB', '{"cabins": [{"cabin": "economy", "lines": [1, 4], "letters": "ABCD"}]}');
INSERT INTO planes (tail, layout) VALUES ('D-CCCC', '{"cabins": 3}');
INSERT INTO planes (tail, layout) VALUES ('D-CCCC', '{"cabins": [}');
CREATE TABLE flights (
  no text NOT NULL, day date NOT NULL, origin char(3) NOT NULL REFERENCES airports, goal char(3) NOT NULL REFERENCES airports, tail text REFERENCES planes,
  leaves timestamptz NOT NULL, arrives timestamptz NOT NULL, PRIMARY KEY (no, day), CHECK (origin <> goal), CHECK (arrives > leaves),
  CONSTRAINT one_place EXCLUDE USING gist (tail WITH =, tstzrange(leaves, arrives) WITH &&));
CREATE TABLE seats (no text, day date, line smallint, letter char(1), cabin cabin NOT NULL, PRIMARY KEY (no, day, line, letter), FOREIGN KEY (no, day) REFERENCES flights ON UPDATE CASCADE ON DELETE CASCADE);
CREATE FUNCTION local_instant(ts timestamp, code char(3)) RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT ts AT TIME ZONE tz FROM airports a WHERE a.code = local_instant.code $$;
CREATE FUNCTION make_seats() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE c jsonb; l int; x text;
BEGIN
  FOR c IN SELECT jsonb_array_elements(layout -> 'cabins') FROM planes WHERE tail = NEW.tail LOOP
    FOR l IN (c #>> '{lines,0}')::int .. (c -> 'lines' ->> -1)::int LOOP
      FOREACH x IN ARRAY regexp_split_to_array(c ->> 'letters', '') LOOP
        INSERT INTO seats VALUES (NEW.no, NEW.day, l, x, (c ->> 'cabin')::cabin);
      END LOOP;
    END LOOP;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER make_seats AFTER INSERT ON flights FOR EACH ROW WHEN (NEW.tail IS NOT NULL) EXECUTE FUNCTION make_seats();
INSERT INTO flights SELECT f.no, f.day, f.o, f.g, f.tail, local_instant(f.day + f.at, f.o), local_instant(f.day + f.at, f.o) + f.takes
  FROM (VALUES ('PL1', date '2024-03-30', 'FRA', 'JFK', 'D-AAAA', time '10:15', interval '8 hours 40 min'), ('PL2', '2024-03-30', 'JFK', 'FRA', 'D-AAAA', '18:30', '7:25'),
    ('PL7', '2024-04-06', 'SYD', 'NRT', 'D-BBBB', '21:00', '9:30'), ('PL8', '2024-10-27', 'NRT', 'FRA', NULL, '11:00', '14:10')) AS f (no, day, o, g, tail, at, takes);
INSERT INTO flights VALUES ('PL9', '2024-03-30', 'FRA', 'SYD', 'D-AAAA', '2024-03-30 12:00+00', '2024-03-31 12:00+00');
INSERT INTO flights VALUES ('PL9', '2024-03-30', 'FRA', 'FRA', NULL, '2024-03-30 12:00+00', '2024-03-31 12:00+00');
INSERT INTO flights VALUES ('PL9', '2024-03-30', 'FRA', 'LHR', NULL, '2024-03-30 12:00+00', '2024-03-31 12:00+00');
SELECT no, to_char(leaves AT TIME ZONE a.tz, 'Dy DD Mon HH24:MI') AS leaves, to_char(arrives AT TIME ZONE b.tz, 'Dy DD Mon HH12:MI am') AS arrives, arrives - leaves AS takes,
  (arrives AT TIME ZONE b.tz)::date - (leaves AT TIME ZONE a.tz)::date AS days FROM flights JOIN airports a ON a.code = origin JOIN airports b ON b.code = goal ORDER BY no;
SELECT no, cabin, count(*), min(line), max(letter), string_agg(DISTINCT letter, '' ORDER BY letter DESC) FROM seats GROUP BY no, cabin ORDER BY 1, 2;
CREATE TABLE passengers (id int PRIMARY KEY, name text NOT NULL, passport text UNIQUE, status int NOT NULL DEFAULT 0);
INSERT INTO passengers SELECT n, 'P' || n, CASE WHEN n % 4 <> 0 THEN lpad(n::text, 6, '0') END, n % 3 FROM generate_series(1, 40) n;
CREATE TABLE reservations (
  id serial PRIMARY KEY, no text NOT NULL, day date NOT NULL, passenger int NOT NULL REFERENCES passengers, cabin cabin NOT NULL DEFAULT 'economy', seat seat,
  held_until timestamptz, fare numeric(9,2) NOT NULL, FOREIGN KEY (no, day) REFERENCES flights DEFERRABLE INITIALLY DEFERRED, UNIQUE (no, day, passenger));
CREATE UNIQUE INDEX one_per_seat ON reservations (no, day, ((seat).line), ((seat).letter)) WHERE seat IS NOT NULL;
CREATE TABLE standby (no text, day date, passenger int, asked int GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (no, day, passenger));
CREATE FUNCTION fare_of(base numeric, c cabin, sold bigint, VARIADIC taxes numeric[]) RETURNS numeric LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE f numeric := base * CASE c WHEN 'economy' THEN 1 WHEN 'premium' THEN 1.6 ELSE 3.5 END; t numeric;
BEGIN
  f := f * (1 + least(sold, 20) * 0.025);
  FOREACH t IN ARRAY taxes LOOP f := f + t; END LOOP;
  RETURN round(f, 2);
END $$;
SELECT fare_of(100, 'economy', 0, 12.5, 7.25), fare_of(100, 'business', 99, VARIADIC '{}'), fare_of(80, c.c, 3, 1) FROM unnest(enum_range(NULL::cabin)) c(c);
SELECT fare_of(100, 'economy', 0);
SELECT fare_of(100, 'first', 0, 1);
CREATE FUNCTION reserve(p_no text, p_day date, p int, c cabin, at timestamptz, OUT id int, OUT place text, OUT message text) LANGUAGE plpgsql AS $$
DECLARE sold bigint; best seat;
BEGIN
  DELETE FROM reservations r WHERE r.no = p_no AND r.day = p_day AND r.held_until < at;
  SELECT count(*) INTO sold FROM reservations r WHERE (r.no, r.day) = (p_no, p_day);
  SELECT s.line, s.letter INTO best FROM seats s WHERE s.no = p_no AND s.day = p_day AND s.cabin = c
    AND NOT EXISTS (SELECT FROM reservations r WHERE r.no = s.no AND r.day = s.day AND (r.seat).line = s.line AND (r.seat).letter = s.letter::"char")
    ORDER BY s.line, s.letter LIMIT 1;
  IF best IS NULL THEN
    INSERT INTO standby VALUES (p_no, p_day, p) ON CONFLICT DO NOTHING;
    message := CASE WHEN FOUND THEN 'standby' ELSE 'waits already' END;
    RETURN;
  END IF;
  INSERT INTO reservations (no, day, passenger, cabin, seat, held_until, fare) VALUES (p_no, p_day, p, c, best, at + interval '15 min', fare_of(200, c, sold, 35)) RETURNING reservations.id INTO id;
  place := (best).line || best.letter::text;
  message := format('%s for %s', place, p);
EXCEPTION
  WHEN unique_violation THEN
    GET STACKED DIAGNOSTICS message = CONSTRAINT_NAME;
    id := NULL; place := NULL;
END $$;
SELECT * FROM reserve('PL1', '2024-03-30', 1, 'business', '2024-03-01 09:00');
SELECT (reserve('PL1', '2024-03-30', 2, 'business', '2024-03-01 09:01')).message;
SELECT * FROM reserve('PL1', '2024-03-30', 2, 'economy', '2024-03-01 09:02');
SELECT n, r.* FROM generate_series(3, 7) n, reserve('PL1', '2024-03-30', n, 'business', '2024-03-01 09:03') r;
SELECT n, r.* FROM generate_series(5, 6) n, reserve('PL1', '2024-03-30', n, 'business', '2024-03-01 09:20') r;
SELECT * FROM reserve('PL1', '2024-03-30', 99, 'economy', '2024-03-01 09:20');
UPDATE reservations SET held_until = NULL WHERE passenger IN (3, 4) RETURNING id, seat, (seat).letter, fare;
UPDATE reservations SET seat.line = 99 WHERE passenger = 4 RETURNING seat;
UPDATE reservations SET seat = ROW(1, 'A') WHERE passenger = 4;
SELECT * FROM standby ORDER BY asked;
BEGIN;
INSERT INTO reservations (no, day, passenger, fare) VALUES ('PL3', '2024-05-01', 8, 10), ('PL3', '2024-05-01', 9, 10);
INSERT INTO flights VALUES ('PL3', '2024-05-01', 'FRA', 'NRT', 'D-BBBB', '2024-05-01 08:00+02', '2024-05-01 20:00+02');
COMMIT;
BEGIN;
INSERT INTO reservations (no, day, passenger, fare) VALUES ('PL4', '2024-05-01', 8, 10);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
UPDATE flights SET day = day + 1, leaves = leaves + interval '1 day', arrives = arrives + interval '1 day' WHERE no = 'PL3';
UPDATE flights SET day = day + 1 WHERE no = 'PL7' RETURNING day, leaves::date;
SELECT no, day, count(*) FROM seats GROUP BY no, day ORDER BY no;
WITH moved AS (DELETE FROM standby WHERE no = 'PL1' RETURNING *), placed AS (INSERT INTO reservations (no, day, passenger, cabin, fare) SELECT no, day, passenger, 'economy', 99 FROM moved ON CONFLICT DO NOTHING RETURNING passenger)
  SELECT (SELECT count(*) FROM moved), array_agg(passenger ORDER BY passenger) FROM placed;
SELECT string_agg(CASE WHEN r.id IS NULL THEN '.' ELSE '#' END, '' ORDER BY s.letter) FROM seats s LEFT JOIN reservations r ON r.no = s.no AND r.day = s.day AND (r.seat).line = s.line AND (r.seat).letter = s.letter::"char" WHERE s.no = 'PL1' GROUP BY s.line ORDER BY s.line;
SELECT passenger, fare, sum(fare) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING), fare - first_value(fare) OVER (PARTITION BY cabin ORDER BY id) FROM reservations ORDER BY id;
SELECT timestamptz '2024-03-31 00:30 Europe/Berlin' + interval '2 hours', timestamp '2024-03-31 02:30' AT TIME ZONE 'Europe/Berlin', timestamp '2024-10-27 02:30' AT TIME ZONE 'Europe/Berlin', date_trunc('day', timestamptz '2024-10-27 12:00+00', 'Europe/Berlin') - date_trunc('day', timestamptz '2024-10-26 12:00+00', 'Europe/Berlin');
SET timezone = 'Australia/Sydney';
SELECT leaves, arrives, leaves + interval '1 day', leaves + interval '24 hours' FROM flights WHERE no = 'PL7';
SET timezone = 'America/New_York';
SELECT leaves, leaves::time, extract(timezone_hour FROM leaves), extract(epoch FROM leaves)::bigint % 86400 FROM flights ORDER BY no;
SELECT seat, seat < ROW(2, 'A')::seat, seat IS NULL, row_to_json(seat) FROM reservations ORDER BY id;
DELETE FROM flights WHERE no = 'PL1';
DELETE FROM passengers WHERE id = 40;
DROP TYPE seat;
