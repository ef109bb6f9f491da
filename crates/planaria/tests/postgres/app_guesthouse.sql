-- A guest house: nights as rows of a query, overlaps, prices by season and weekday, cleaning rounds, occupancy.
SET timezone = 'America/New_York';
CREATE SCHEMA gh;
SET search_path = gh, public;
CREATE DOMAIN gh.email AS text CHECK (VALUE ~* '^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$');
CREATE DOMAIN nights AS int CONSTRAINT nights_positive CHECK (VALUE > 0) CONSTRAINT nights_few CHECK (VALUE <= 28);
CREATE TYPE status AS ENUM ('tentative', 'firm', 'arrived', 'left', 'dropped');
CREATE TABLE room (
  code char(3) PRIMARY KEY, title text NOT NULL UNIQUE, sleeps smallint NOT NULL DEFAULT 2, base numeric(6,2) NOT NULL, facilities varchar(10)[] );
CREATE TABLE guest (id serial PRIMARY KEY, name text NOT NULL, mail gh.email, UNIQUE (mail));
CREATE TABLE stay (
  id serial PRIMARY KEY, room char(3) NOT NULL REFERENCES room ON UPDATE CASCADE, guest int NOT NULL REFERENCES guest,
  arrive date NOT NULL, depart date NOT NULL, status status NOT NULL DEFAULT 'tentative', hold_until timestamp with time zone,
  paid numeric(8,2) NOT NULL DEFAULT 0, nights nights GENERATED ALWAYS AS (depart - arrive) STORED, remarks text,
  CONSTRAINT "leaves after arriving" CHECK (depart > arrive), CONSTRAINT held CHECK (status <> 'tentative' OR hold_until IS NOT NULL));
CREATE TABLE season (label text PRIMARY KEY, from_md char(5) NOT NULL, to_md char(5) NOT NULL, pct int NOT NULL);
CREATE INDEX stay_room_arrive ON stay (room, arrive) INCLUDE (depart);
CREATE FUNCTION check_overlap() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE other stay%ROWTYPE;
BEGIN
  SELECT s.* INTO other FROM stay s WHERE s.room = NEW.room AND s.id <> NEW.id AND s.status NOT IN ('left', 'dropped') AND (s.arrive, s.depart) OVERLAPS (NEW.arrive, NEW.depart) ORDER BY s.arrive LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'room % is taken', trim(NEW.room) USING ERRCODE = 'exclusion_violation', DETAIL = format('Stay %s is from %s to %s.', other.id, other.arrive, to_char(other.depart, 'Dy DD.MM.YYYY')), HINT = coalesce('It is held until ' || other.hold_until || '.', 'It is ' || other.status || '.');
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER check_overlap BEFORE INSERT OR UPDATE OF room, arrive, depart, status ON stay FOR EACH ROW WHEN (NEW.status <> 'dropped') EXECUTE FUNCTION check_overlap();
INSERT INTO room VALUES ('1', 'Garden', DEFAULT, 80, '{bath,desk}'), ('2', 'Tower', 1, 55.5, NULL), ('3A', 'Loft', 4, 140, '{bath,kitchen,balcony}');
INSERT INTO room VALUES ('1', 'Again', 2, 1), ('9', 'Nine', 2, 1);
INSERT INTO room VALUES ('4', 'Four', 2, 10000);
INSERT INTO room (code, title, base, facilities) VALUES ('4', 'Four', 2, '{a very long facility}');
INSERT INTO guest (name, mail) VALUES ('Ann', 'ann@example.org'), ('Ben', 'Ben.B@Example.com'), ('Cat', NULL);
INSERT INTO guest (name, mail) VALUES ('Dan', 'dan at home');
INSERT INTO season VALUES ('summer', '06-15', '09-01', 130), ('xmas', '12-20', '01-06', 150);
INSERT INTO stay (room, guest, arrive, depart, status) VALUES ('1', 1, '2024-06-28', 'July 3, 2024', 'firm'), ('2', 2, '2024-07-01', '20240702', 'arrived') RETURNING id, arrive, nights;
INSERT INTO stay (room, guest, arrive, depart, hold_until) VALUES ('3A', 3, '2024-12-18', '2024-12-23', '2024-12-01 12:00') RETURNING *;
INSERT INTO stay (room, guest, arrive, depart, status) VALUES ('1', 3, '2024-07-02', '2024-07-05', 'firm');
INSERT INTO stay (room, guest, arrive, depart, status) VALUES ('3A', 2, '2024-12-22', '2024-12-30', 'firm');
INSERT INTO stay (room, guest, arrive, depart, status) VALUES ('1', 3, '2024-07-03', '2024-07-05', 'firm') RETURNING id;
INSERT INTO stay (room, guest, arrive, depart, status) VALUES ('1', 3, '2024-07-05', '2024-07-05', 'firm');
INSERT INTO stay (room, guest, arrive, depart, status) VALUES ('1', 3, '2024-08-01', '2024-09-05', 'firm');
INSERT INTO stay (room, guest, arrive, depart) VALUES ('2', 3, '2024-08-01', '2024-08-05');
INSERT INTO stay (room, guest, arrive, depart, status) VALUES ('1', 3, '2024-02-30', '2024-03-01', 'firm');
INSERT INTO stay (room, guest, arrive, depart, status) VALUES ('7', 3, '2024-03-01', '2024-03-02', 'firm');
UPDATE stay SET depart = depart + 1 WHERE id = 1;
UPDATE stay SET status = 'dropped' WHERE id = 5 RETURNING status;
UPDATE stay SET depart = depart + 1 WHERE id = 1 RETURNING depart, nights;
CREATE FUNCTION night_price(r room, d date) RETURNS numeric(8,2) LANGUAGE sql STABLE AS $$
  SELECT round(r.base * coalesce((SELECT max(pct) FROM season WHERE CASE WHEN from_md <= to_md THEN to_char(d, 'MM-DD') BETWEEN from_md AND to_md ELSE to_char(d, 'MM-DD') >= from_md OR to_char(d, 'MM-DD') <= to_md END), 100) / 100.0
    * CASE extract(isodow FROM d) WHEN 5 THEN 1.1 WHEN 6 THEN 1.2 ELSE 1 END, 2)
$$;
CREATE VIEW bill AS
  SELECT s.id, g.name, r.title, n.night::date AS night, night_price(r, n.night::date) AS price
    FROM stay s JOIN room r ON r.code = s.room JOIN guest g ON g.id = s.guest CROSS JOIN LATERAL generate_series(s.arrive, s.depart - 1, interval '1 day') AS n(night);
SELECT id, name, night, to_char(night, 'Dy') AS day, price, sum(price) OVER (PARTITION BY id ORDER BY night) AS total FROM bill ORDER BY id, night;
SELECT id, title, count(*) AS nights, sum(price) AS due, min(price), max(price), round(avg(price), 3) AS mean FROM bill GROUP BY id, title ORDER BY id;
UPDATE stay s SET paid = b.due, remarks = concat_ws('; ', s.remarks, 'paid ' || b.due) FROM (SELECT id, sum(price) AS due FROM bill GROUP BY id) b WHERE b.id = s.id AND s.status IN ('firm', 'arrived') RETURNING s.id, s.paid, s.remarks;
-- Free rooms for a span, and gaps of each room in July.
PREPARE free (date, date, int) AS SELECT trim(code) AS code, title FROM room r WHERE sleeps >= $3 AND NOT EXISTS (SELECT FROM stay s WHERE s.room = r.code AND s.status <> 'dropped' AND s.arrive < $2 AND s.depart > $1) ORDER BY base;
EXECUTE free ('2024-07-01', '2024-07-03', 1);
EXECUTE free ('2024-07-04', date '2024-07-04' + 2, 2);
DEALLOCATE free;
WITH d AS (SELECT r.code, g::date AS day, s.id FROM room r CROSS JOIN generate_series('2024-06-29'::date, '2024-07-08', '1 day') g LEFT JOIN stay s ON s.room = r.code AND s.status <> 'dropped' AND g >= s.arrive AND g < s.depart),
     i AS (SELECT code, day, id, row_number() OVER (PARTITION BY code ORDER BY day) - row_number() OVER (PARTITION BY code, id IS NULL ORDER BY day) AS grp FROM d)
SELECT code, min(day) AS first, max(day) AS last, count(*) AS days, CASE WHEN id IS NULL THEN 'free' ELSE 'taken' END AS what FROM i GROUP BY code, id IS NULL, id, grp ORDER BY code, first;
SELECT date_trunc('week', night)::date AS week, count(*) AS sold, 3 * 7 AS rooms, round(100.0 * count(*) / 21, 1) || '%' AS rate, sum(price) FILTER (WHERE title = 'Garden') AS garden FROM bill GROUP BY 1 ORDER BY 1;
SELECT s.id, s.arrive, age(s.depart, s.arrive) AS long, s.arrive + time '15:00' AS from_, (s.arrive + time '15:00') AT TIME ZONE 'Europe/Paris' AS paris, s.hold_until - interval '1 week 2 hours' AS warn, justify_hours(s.depart::timestamp - (s.arrive + time '15:00')) AS spent FROM stay s ORDER BY s.id;
SELECT EXTRACT(epoch FROM hold_until), date_part('week', arrive), to_char(hold_until, 'HH12:MI am TZ OF'), hold_until::date, hold_until::time, isfinite(hold_until), make_date(2024, 2, 29) + interval '1 year' AS leap FROM stay WHERE hold_until IS NOT NULL;
SELECT (date '2024-01-01', date '2024-01-05') OVERLAPS (date '2024-01-05', date '2024-01-09') AS touch, (date '2024-01-01', interval '10 days') OVERLAPS (date '2024-01-05', interval '1 day') AS within, (timestamp '2024-01-01 10:00', timestamp '2024-01-01 10:00') OVERLAPS (timestamp '2024-01-01 10:00', timestamp '2024-01-01 11:00') AS point, (date '2024-01-01', NULL::date) OVERLAPS (date '2024-01-05', date '2024-01-09') AS unknown;
-- Cleaning rounds: who leaves, who stays.
CREATE FUNCTION rounds(day date, OUT room text, OUT kind text, OUT minutes int) RETURNS SETOF record LANGUAGE plpgsql STABLE AS $$
DECLARE s record;
BEGIN
  FOR s IN SELECT trim(r.code) AS code, r.sleeps, x.depart = day AS leaves, y.id AS comes FROM gh.room r LEFT JOIN stay x ON x.room = r.code AND x.depart >= day AND x.arrive < day AND x.status <> 'dropped' LEFT JOIN stay y ON y.room = r.code AND y.arrive = day AND y.status <> 'dropped' ORDER BY r.code LOOP
    room := s.code;
    kind := CASE WHEN s.leaves AND s.comes IS NOT NULL THEN 'turn' WHEN s.leaves THEN 'clear' WHEN s.leaves IS NULL AND s.comes IS NOT NULL THEN 'prepare' WHEN s.leaves IS NULL THEN NULL ELSE 'tidy' END;
    CONTINUE WHEN kind IS NULL;
    minutes := CASE kind WHEN 'turn' THEN 45 WHEN 'clear' THEN 30 WHEN 'prepare' THEN 20 ELSE 10 END + 5 * s.sleeps;
    RETURN NEXT;
  END LOOP;
END $$;
SELECT d::date, r.* FROM generate_series('2024-07-01'::date, '2024-07-04'::date, '1 day') d, rounds(d::date) r ORDER BY 1, 2;
SELECT kind, sum(minutes) * interval '1 minute' AS time FROM generate_series(0, 9) n, rounds(date '2024-06-28' + n) GROUP BY ROLLUP (kind) ORDER BY kind;
-- Moves of guests to another room; the room's code changes under them.
UPDATE room SET code = 'T1' WHERE code = '2';
SELECT id, room, room = 'T1' AS same, length(room), room || '!' AS joined FROM stay WHERE guest = 2;
DELETE FROM room WHERE code = 'T1';
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c SCROLL CURSOR FOR SELECT id, arrive FROM stay ORDER BY id;
FETCH LAST FROM c;
FETCH RELATIVE -2 FROM c;
MOVE FORWARD 1 IN c;
FETCH ALL FROM c;
CLOSE c;
UPDATE stay SET status = 'left' WHERE depart < '2024-08-01' AND status = 'arrived';
COMMIT;
SELECT status, count(*) FROM stay GROUP BY status ORDER BY status;
MERGE INTO guest g USING (VALUES ('Ann', 'ann@example.net'), ('Eva', 'eva@example.net')) AS n (name, mail) ON g.name = n.name WHEN MATCHED THEN UPDATE SET mail = n.mail WHEN NOT MATCHED THEN INSERT (name, mail) VALUES (n.name, n.mail);
MERGE INTO guest g USING (VALUES ('Cat', 'none')) AS n (name, mail) ON g.name = n.name WHEN MATCHED AND n.mail = 'none' THEN DELETE;
SELECT * FROM guest ORDER BY id;
ALTER TABLE stay ADD COLUMN pets smallint DEFAULT 0 NOT NULL, ADD CONSTRAINT pets_few CHECK (pets < 3), ALTER COLUMN remarks SET DEFAULT '';
ALTER TABLE stay ALTER COLUMN paid TYPE integer USING round(paid)::int;
ALTER TABLE stay RENAME COLUMN pets TO animals;
ALTER TABLE stay DROP COLUMN nights;
INSERT INTO stay (room, guest, arrive, depart, status, animals) VALUES ('1', 1, '2025-01-01', '2025-01-02', 'firm', 3);
INSERT INTO stay (room, guest, arrive, depart, status, animals) VALUES ('1', 1, '2025-01-01', '2025-01-02', 'firm', 1) RETURNING paid, remarks, animals;
ALTER TABLE guest DROP COLUMN name CASCADE;
ALTER TABLE guest DROP CONSTRAINT guest_pkey;
SELECT * FROM stay ORDER BY id;
