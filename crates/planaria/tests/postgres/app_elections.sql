-- Elections: districts in a tree, secret ballots, seats by D'Hondt and Sainte-Lague, a certified result that nobody changes.
SET timezone = 'UTC';
CREATE SCHEMA register;
CREATE SCHEMA polls;
SET search_path = polls, register, public;
CREATE TYPE register.status AS ENUM ('eligible', 'voted', 'struck');
CREATE DOMAIN polls.share AS numeric(6,3) CHECK (VALUE BETWEEN 0 AND 100);
CREATE TABLE register.districts (
  id int PRIMARY KEY, parent int REFERENCES register.districts, name text NOT NULL,
  seats int NOT NULL DEFAULT 0 CHECK (seats >= 0), path text COLLATE "C",
  CONSTRAINT not_own_parent CHECK (parent IS DISTINCT FROM id));
CREATE FUNCTION register.set_path() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.parent IS NULL THEN NEW.path := NEW.id::text;
  ELSE
    SELECT path || '.' || NEW.id INTO STRICT NEW.path FROM register.districts WHERE id = NEW.parent;
  END IF;
  RETURN NEW;
EXCEPTION WHEN no_data_found THEN
  RAISE EXCEPTION 'district % has no parent %', NEW.id, NEW.parent USING ERRCODE = 'foreign_key_violation', HINT = 'Insert the parent first.';
END $$;
CREATE TRIGGER set_path BEFORE INSERT OR UPDATE OF parent ON register.districts FOR EACH ROW EXECUTE FUNCTION register.set_path();
INSERT INTO districts (id, parent, name, seats) VALUES (1, NULL, 'Country', 0), (2, 1, 'North', 7), (3, 1, 'South', 5), (4, 2, 'Harbour', 0), (5, 2, 'Hills', 0), (6, 3, 'Plain', 0);
INSERT INTO districts (id, parent, name) VALUES (9, 8, 'Nowhere');
INSERT INTO districts (id, parent, name) VALUES (7, 7, 'Loop');
CREATE TABLE register.voters (
  id bigint GENERATED ALWAYS AS IDENTITY (START WITH 1000) PRIMARY KEY, district int NOT NULL REFERENCES register.districts,
  name text NOT NULL, born date NOT NULL, status register.status NOT NULL DEFAULT 'eligible',
  initials text GENERATED ALWAYS AS (upper(left(name, 1)) || '.') STORED,
  EXCLUDE (name WITH =, district WITH =) WHERE (status <> 'struck'));
CREATE TABLE polls.lists (code char(3) PRIMARY KEY, name text NOT NULL UNIQUE, colour text CHECK (colour ~ '^#[0-9a-f]{6}$'));
CREATE TABLE polls.ballots (no serial, district int NOT NULL REFERENCES register.districts, list char(3) REFERENCES polls.lists, valid boolean NOT NULL GENERATED ALWAYS AS (list IS NOT NULL) STORED) PARTITION BY LIST (district);
CREATE TABLE polls.ballots_north PARTITION OF polls.ballots FOR VALUES IN (4, 5);
CREATE TABLE polls.ballots_south PARTITION OF polls.ballots FOR VALUES IN (6);
INSERT INTO voters (district, name, born) SELECT (ARRAY[4, 5, 6])[1 + n % 3], 'Voter ' || n, date '1950-01-01' + n * 300 FROM generate_series(1, 60) n;
INSERT INTO voters (id, district, name, born) VALUES (1, 4, 'Me', '2000-01-01');
INSERT INTO voters (district, name, born, initials) VALUES (4, 'Me', '2000-01-01', 'X');
INSERT INTO voters (district, name, born) VALUES (5, 'Voter 1', '2000-01-01');
INSERT INTO lists VALUES ('RED', 'Red list', '#ff0000'), ('GRN', 'Green list', '#00ff00'), ('BLU', 'Blue list', NULL);
INSERT INTO lists VALUES ('YEL', 'Yellow list', 'yellow');
INSERT INTO lists VALUES ('LONG', 'Too long', NULL);
CREATE PROCEDURE polls.vote(voter bigint, choice char(3), on_day date DEFAULT '2024-06-09') LANGUAGE plpgsql AS $$
DECLARE v register.voters; age int;
BEGIN
  SELECT * INTO v FROM register.voters WHERE id = voter FOR UPDATE;
  IF NOT FOUND THEN RAISE EXCEPTION 'no voter %', voter USING ERRCODE = 'EL001'; END IF;
  age := extract(year FROM age(on_day, v.born));
  IF age < 18 THEN RAISE EXCEPTION '% is %, too young', v.name, age USING ERRCODE = 'EL002'; END IF;
  CASE v.status
    WHEN 'voted' THEN RAISE EXCEPTION '% has voted', v.name USING ERRCODE = 'EL003';
    WHEN 'struck' THEN RAISE EXCEPTION '% is struck', v.name USING ERRCODE = 'EL004';
    ELSE UPDATE register.voters SET status = 'voted' WHERE id = voter;
  END CASE;
  INSERT INTO polls.ballots (district, list) VALUES (v.district, choice);
END $$;
CALL vote(1001, 'RED');
CALL vote(1001, 'RED');
CALL vote(1059, 'GRN', '2010-01-01');
CALL vote(5, 'GRN');
CALL vote(choice => 'BLU', voter => 1003);
UPDATE voters SET status = 'struck' WHERE id = 1004;
CALL vote(1004, 'BLU');
DO $$
DECLARE v record; n int := 0; lists text[] := ARRAY(SELECT code::text FROM polls.lists ORDER BY code);
BEGIN
  FOR v IN SELECT id FROM register.voters WHERE status = 'eligible' AND id < 1050 ORDER BY id LOOP
    n := n + 1;
    CALL polls.vote(v.id, CASE WHEN n % 11 <> 0 THEN lists[1 + n * n % 5 % array_length(lists, 1)] END);
  END LOOP;
  RAISE NOTICE '% ballots', n;
END $$;
SELECT status, count(*) FROM voters GROUP BY status ORDER BY status;
SELECT tableoid::regclass, list, count(*), count(*) FILTER (WHERE NOT valid) AS void FROM ballots GROUP BY 1, 2 ORDER BY tableoid::regclass::text, 2;
INSERT INTO ballots (district, list) VALUES (2, 'RED');
CREATE VIEW polls.counts AS
  WITH RECURSIVE up(district, top) AS (
    SELECT id, id FROM register.districts
    UNION ALL SELECT u.district, d.parent FROM up u JOIN register.districts d ON d.id = u.top WHERE d.parent IS NOT NULL)
  SELECT top AS district, list, count(*) AS votes, (100.0 * count(*) / sum(count(*)) OVER (PARTITION BY top))::polls.share AS share
  FROM polls.ballots b JOIN up USING (district) WHERE valid GROUP BY top, list;
SELECT d.path, d.name, c.list, c.votes, c.share FROM counts c JOIN districts d ON d.id = c.district ORDER BY d.path, c.votes DESC, c.list;
-- Highest averages: each list's votes divided by a series; the largest quotients have seats.
CREATE FUNCTION polls.seats(p_district int, step int DEFAULT 1, OUT list char(3), OUT seats bigint, OUT quotients numeric[]) RETURNS SETOF record LANGUAGE sql STABLE AS $$
  SELECT list, count(*), array_agg(round(q, 2) ORDER BY q DESC) FROM (
    SELECT c.list, c.votes::numeric / (1 + step * k) AS q, row_number() OVER (ORDER BY c.votes::numeric / (1 + step * k) DESC, c.list) AS rank
    FROM polls.counts c, generate_series(0, (SELECT d.seats - 1 FROM register.districts d WHERE d.id = p_district)) k
    WHERE c.district = p_district) q
  WHERE rank <= (SELECT d.seats FROM register.districts d WHERE d.id = p_district) GROUP BY list $$;
SELECT * FROM seats(2) ORDER BY list;
SELECT * FROM seats(2, 2) ORDER BY list;
SELECT d.name, s.list, s.seats FROM districts d CROSS JOIN LATERAL seats(d.id, 2) s WHERE d.seats > 0 ORDER BY 1, 2;
SELECT s.list, sum(s.seats) AS seats, grouping(s.list) FROM districts d, seats(d.id) s WHERE d.parent = 1 GROUP BY ROLLUP (s.list) ORDER BY 3, 1;
CREATE MATERIALIZED VIEW polls.certified AS SELECT district, list, votes FROM polls.counts WITH NO DATA;
SELECT * FROM certified;
REFRESH MATERIALIZED VIEW polls.certified;
CREATE UNIQUE INDEX ON polls.certified (district, list);
REFRESH MATERIALIZED VIEW CONCURRENTLY certified;
SELECT count(*), sum(votes) FROM certified;
UPDATE certified SET votes = 0;
CREATE FUNCTION polls.sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% of % is sealed', lower(TG_OP), TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege', DETAIL = format('%s.%s', TG_TABLE_SCHEMA, TG_NAME);
END $$;
CREATE TRIGGER sealed BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON polls.ballots FOR EACH STATEMENT EXECUTE FUNCTION polls.sealed();
CALL vote(1055, 'RED');
DELETE FROM ballots;
TRUNCATE polls.ballots;
DELETE FROM ballots_south WHERE list IS NULL;
SELECT count(*) FROM ballots;
SELECT name, width_bucket(extract(year FROM age('2024-06-09', born))::int, 18, 78, 4) AS bucket FROM voters WHERE id % 13 = 0 ORDER BY id;
SELECT list, votes, lag(votes) OVER w - votes AS behind, ntile(2) OVER w, round(cume_dist() OVER w::numeric, 3) FROM counts WHERE district = 1 WINDOW w AS (ORDER BY votes DESC, list);
SELECT list, votes, lag(votes) OVER w - votes AS behind, ntile(2) OVER w, round((cume_dist() OVER w)::numeric, 3) FROM counts WHERE district = 1 WINDOW w AS (ORDER BY votes DESC, list);
SELECT json_object_agg(list, votes ORDER BY list) FROM counts WHERE district = 2;
DROP TABLE register.districts;
ALTER TYPE register.status ADD VALUE 'moved' BEFORE 'struck';
UPDATE voters SET status = 'moved' WHERE id = 1060 RETURNING id, status, status > 'voted';
SELECT pg_get_viewdef('polls.counts'::regclass, true);
RESET search_path;
SELECT count(*) FROM counts;
SELECT count(*) FROM polls.counts;
