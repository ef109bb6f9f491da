-- with contexts
-- Meters that are read: partitions by month that are made as needed, time zones and the hours that clocks skip, tariffs, gaps, materialized views, an own aggregate, corrections with upserts.
CREATE EXTENSION IF NOT EXISTS btree_gist;
SET timezone = 'Europe/Berlin';
CREATE TABLE sites (id int PRIMARY KEY, name text NOT NULL, tz text NOT NULL CHECK (now() AT TIME ZONE tz IS NOT NULL));
CREATE TABLE meters (id int PRIMARY KEY, site int NOT NULL REFERENCES sites, unit text NOT NULL DEFAULT 'kWh', factor numeric NOT NULL DEFAULT 1, ip inet, flags bit(4) NOT NULL DEFAULT B'0000');
CREATE TABLE readings (meter int NOT NULL REFERENCES meters, at timestamptz NOT NULL, value numeric(12,3) NOT NULL, source "char" NOT NULL DEFAULT 'a', PRIMARY KEY (meter, at)) PARTITION BY RANGE (at);
CREATE TABLE readings_rest PARTITION OF readings DEFAULT;
CREATE TABLE tariffs (site int REFERENCES sites, valid tstzrange, hours int4range NOT NULL, price money NOT NULL, EXCLUDE USING gist (site WITH =, valid WITH &&) WHERE (hours = '[0,24)'));
INSERT INTO sites VALUES (1, 'Berlin', 'Europe/Berlin'), (2, 'New York', 'America/New_York'), (3, 'Tokyo', 'Asia/Tokyo');
INSERT INTO sites VALUES (4, 'Nowhere', 'Moon/Base');
INSERT INTO meters (id, site, ip, flags) VALUES (10, 1, '10.0.0.10/24', B'1010'), (20, 2, '10.0.1.20', B'0001'), (30, 3, '::1', DEFAULT);
CREATE FUNCTION make_month(p_at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE first date := date_trunc('month', p_at AT TIME ZONE 'UTC'); name text := 'readings_' || to_char(first, 'YYYYMM');
BEGIN
  IF to_regclass(name) IS NULL THEN
    EXECUTE format('CREATE TABLE %I PARTITION OF readings FOR VALUES FROM (%L) TO (%L)', name, first || ' 00:00+00', (first + interval '1 month')::date || ' 00:00+00');
    RAISE NOTICE 'made %', name;
  END IF;
  RETURN name;
END $$;
SELECT make_month('2024-03-10 12:00+00');
SELECT make_month('2024-03-31 23:00+00');
DO $$
DECLARE m timestamptz;
BEGIN
  FOR m IN SELECT generate_series(timestamptz '2024-10-01 00:00+00', '2024-12-01 00:00+00', '1 month') LOOP PERFORM make_month(m); END LOOP;
END $$;
SET timezone = 'UTC';
SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class WHERE relispartition AND relkind = 'r' ORDER BY 1;
SET timezone = 'Europe/Berlin';
INSERT INTO readings SELECT 10, t, 100 + row_number() OVER (ORDER BY t) * 1.5 FROM generate_series(timestamptz '2024-03-31 00:00', '2024-03-31 05:00', '30 minutes') t;
INSERT INTO readings SELECT 20, t AT TIME ZONE 'America/New_York', 1000 + extract(hour FROM t) FROM generate_series(timestamp '2024-11-03 00:00', '2024-11-03 04:00', '1 hour') t;
INSERT INTO readings VALUES (30, '2024-06-01 00:00+09', 5), (30, '2024-06-01 01:00+09', 7.25);
SELECT tableoid::regclass, count(*), min(at), max(at) FROM readings GROUP BY 1 ORDER BY min(at);
SELECT at, at AT TIME ZONE 'UTC' AS utc, value FROM readings WHERE meter = 10 ORDER BY at;
SELECT date_trunc('day', r.at, s.tz) AS day, count(*), max(value) - min(value) AS used FROM readings r JOIN meters m ON m.id = r.meter JOIN sites s ON s.id = m.site GROUP BY 1 ORDER BY 1;
SELECT r.at AT TIME ZONE s.tz AS local, extract(timezone_hour FROM r.at) AS here, value - lag(value) OVER (PARTITION BY meter ORDER BY at) AS used FROM readings r JOIN meters m ON m.id = r.meter JOIN sites s ON s.id = m.site WHERE s.id = 2 ORDER BY r.at;
CREATE TYPE slope_state AS (first_at timestamptz, first_value numeric, last_at timestamptz, last_value numeric);
CREATE FUNCTION slope_step(s slope_state, at timestamptz, v numeric) RETURNS slope_state LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF at IS NULL OR v IS NULL THEN RETURN s; END IF;
  IF s.first_at IS NULL OR at < s.first_at THEN s.first_at := at; s.first_value := v; END IF;
  IF s.last_at IS NULL OR at >= s.last_at THEN s.last_at := at; s.last_value := v; END IF;
  RETURN s;
END $$;
CREATE FUNCTION slope_end(s slope_state) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT round((s.last_value - s.first_value) / nullif(extract(epoch FROM s.last_at - s.first_at) / 3600, 0), 4) $$;
CREATE AGGREGATE per_hour(timestamptz, numeric) (SFUNC = slope_step, STYPE = slope_state, FINALFUNC = slope_end, INITCOND = '(,,,)');
SELECT meter, per_hour(at, value), per_hour(at, value) FILTER (WHERE value > 105) FROM readings GROUP BY meter ORDER BY meter;
SELECT meter, at, per_hour(at, value) OVER (PARTITION BY meter ORDER BY at ROWS 2 PRECEDING) FROM readings WHERE meter <> 10 ORDER BY meter, at;
CREATE FUNCTION store(p jsonb) RETURNS TABLE (new int, changed int, refused int) LANGUAGE plpgsql AS $$
DECLARE r record; ins boolean;
BEGIN
  new := 0; changed := 0; refused := 0;
  FOR r IN SELECT * FROM jsonb_to_recordset(p) AS x(meter int, at timestamptz, value numeric) LOOP
    BEGIN
      INSERT INTO readings AS o (meter, at, value, source) VALUES (r.meter, r.at, r.value, 'c') ON CONFLICT (meter, at) DO UPDATE SET value = EXCLUDED.value, source = 'u' WHERE o.value <> EXCLUDED.value RETURNING source = 'c' INTO ins;
      IF ins THEN new := new + 1; ELSIF NOT ins THEN changed := changed + 1; END IF;
    EXCEPTION WHEN integrity_constraint_violation OR numeric_value_out_of_range THEN
      refused := refused + 1;
      RAISE NOTICE '%: %', SQLSTATE, split_part(SQLERRM, '"', 1);
    END;
  END LOOP;
  RETURN NEXT;
END $$;
SELECT * FROM store('[{"meter": 10, "at": "2024-03-31T00:00:00+01:00", "value": 101.5}, {"meter": 10, "at": "2024-03-31T00:30:00+01:00", "value": 999}, {"meter": 10, "at": "2024-03-31T00:45:00+01:00", "value": 1}, {"meter": 99, "at": "2024-03-31T00:45:00+01:00", "value": 1}, {"meter": 10, "at": "2024-04-01T00:45:00+02:00", "value": 1e12}]');
SELECT at, value, source FROM readings WHERE source <> 'a' ORDER BY at;
INSERT INTO tariffs VALUES (1, '[2024-01-01,2024-07-01)', '[0,24)', '0.30'), (1, '[2024-07-01,)', '[0,24)', '0.35'), (2, '(,)', '[0,8)', '0.10'), (2, '(,)', '[8,24)', '0.25');
INSERT INTO tariffs VALUES (1, '[2024-06-01,2024-06-02)', '[0,24)', '9.99');
SELECT m.id, t.price, sum(x.used) AS used, sum(x.used)::float8 * t.price AS cost FROM (SELECT meter, at, value - lag(value) OVER (PARTITION BY meter ORDER BY at) AS used FROM readings) x JOIN meters m ON m.id = x.meter JOIN sites s ON s.id = m.site LEFT JOIN tariffs t ON t.site = s.id AND t.valid @> x.at AND t.hours @> extract(hour FROM x.at AT TIME ZONE s.tz)::int GROUP BY 1, 2 ORDER BY 1, 2;
WITH expected AS (SELECT m.id, g.at FROM meters m CROSS JOIN generate_series(timestamptz '2024-03-31 00:00', '2024-03-31 06:00', '1 hour') AS g(at) WHERE m.site = 1), missing AS (SELECT e.*, e.at - row_number() OVER (PARTITION BY e.id ORDER BY e.at) * interval '1 hour' AS island FROM expected e LEFT JOIN readings r ON r.meter = e.id AND r.at = e.at WHERE r.meter IS NULL) SELECT id, tstzrange(min(at), max(at), '[]') AS gap, count(*) FROM missing GROUP BY id, island ORDER BY 1, 2;
CREATE MATERIALIZED VIEW daily AS SELECT m.site, (r.at AT TIME ZONE s.tz)::date AS day, count(*) AS n, per_hour(r.at, r.value) AS rate, percentile_cont(0.5) WITHIN GROUP (ORDER BY r.value) AS median FROM readings r JOIN meters m ON m.id = r.meter JOIN sites s ON s.id = m.site GROUP BY 1, 2;
CREATE UNIQUE INDEX daily_key ON daily (site, day);
SELECT * FROM daily ORDER BY 1, 2;
DELETE FROM readings WHERE value > 900 AND meter = 10;
REFRESH MATERIALIZED VIEW CONCURRENTLY daily;
SELECT site, day, n, rate FROM daily WHERE site = 1;
INSERT INTO daily VALUES (1, '2024-01-01', 1);
CREATE FUNCTION late_reading() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last timestamptz;
BEGIN
  SELECT max(at) INTO last FROM readings WHERE meter = NEW.meter;
  IF NEW.at < last - interval '30 days' THEN RAISE WARNING 'meter %: % late', NEW.meter, justify_interval(last - NEW.at); NEW.source := 'l'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER late_reading BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION late_reading();
INSERT INTO readings VALUES (20, '2024-10-01 00:00-04', 900) RETURNING tableoid::regclass, source, at;
SET timezone = 'UTC';
SELECT at FROM readings WHERE meter = 20 ORDER BY at LIMIT 2;
SELECT to_char(at AT TIME ZONE 'Europe/Berlin', 'Dy DD.MM. HH24:MI') || to_char(at, ' TZ') FROM readings WHERE meter = 10 ORDER BY at LIMIT 3;
BEGIN;
ALTER TABLE readings DETACH PARTITION readings_202403;
SELECT count(*) FROM readings;
CREATE TABLE readings_old (LIKE readings_202403 INCLUDING ALL);
INSERT INTO readings_old TABLE readings_202403;
SELECT count(*), avg(value)::numeric(10,3) FROM readings_old;
ROLLBACK;
SELECT count(*) FROM readings;
DROP TABLE readings_202412;
INSERT INTO readings VALUES (20, '2024-12-05 00:00-05', 2000) RETURNING tableoid::regclass;
SELECT make_month('2024-12-05 12:00+00');
UPDATE readings SET at = at + interval '1 month' WHERE meter = 20 AND value >= 1003 RETURNING tableoid::regclass, at;
SELECT id, host(ip), family(ip), masklen(ip), ip <<= '10.0.0.0/16' AS inside, flags & B'0010', flags << 1, get_bit(flags, 3) FROM meters ORDER BY id;
UPDATE meters SET flags = set_bit(flags, 0, 1), ip = ip + 5 WHERE site > 1 RETURNING id, flags, ip;
SELECT sum(price), max(price), price * 3, (price / 2)::numeric FROM tariffs GROUP BY price ORDER BY price;
SELECT s.name, d.* FROM sites s LEFT JOIN LATERAL (SELECT r.at, r.value FROM readings r JOIN meters m ON m.id = r.meter WHERE m.site = s.id ORDER BY r.at DESC FETCH FIRST 1 ROW ONLY) d ON true ORDER BY s.id;
SELECT date_bin('15 minutes', at, '2024-03-31') AS bin, avg(value)::numeric(8,2), count(*) FROM readings TABLESAMPLE SYSTEM (100) WHERE meter = 10 GROUP BY 1 HAVING count(*) >= 1 ORDER BY 1 DESC LIMIT 3 OFFSET 1;
SELECT timestamptz '2024-03-31 02:30 Europe/Berlin', timestamp '2024-10-27 02:30' AT TIME ZONE 'Europe/Berlin', timestamptz '2024-03-30 12:00+01' + interval '1 day', age(timestamptz '2024-03-31 12:00', '2024-02-29 13:00');
