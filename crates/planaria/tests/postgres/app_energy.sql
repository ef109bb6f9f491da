-- Energy: readings by the hour through clock changes, tariffs by time of day and season, roll-ups in partitions, gaps and outliers, bills as JSON.
SET timezone = 'Europe/Berlin';
CREATE TYPE band AS ENUM ('night', 'day', 'peak');
CREATE TABLE meters (id int PRIMARY KEY, owner text NOT NULL, since date NOT NULL, factor numeric(6,3) NOT NULL DEFAULT 1, address jsonb);
CREATE TABLE readings (meter int NOT NULL REFERENCES meters, at timestamptz NOT NULL, kwh numeric(10,3) NOT NULL CHECK (kwh >= 0), quality smallint NOT NULL DEFAULT 0, PRIMARY KEY (meter, at)) PARTITION BY RANGE (at);
CREATE TABLE readings_q1 PARTITION OF readings FOR VALUES FROM ('2024-01-01 00:00+00') TO ('2024-04-01 00:00+00');
CREATE TABLE readings_q4 PARTITION OF readings FOR VALUES FROM ('2024-10-01 00:00+00') TO ('2025-01-01 00:00+00') PARTITION BY HASH (meter);
CREATE TABLE readings_q4_a PARTITION OF readings_q4 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE readings_q4_b PARTITION OF readings_q4 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE readings_rest PARTITION OF readings DEFAULT;
CREATE TABLE tariffs (name text, band band, valid daterange NOT NULL DEFAULT '[2024-01-01,)', hours int4multirange_is_not_here int);
CREATE TABLE tariffs (name text, band band, hours int4range NOT NULL, weekend boolean, cents numeric(6,3) NOT NULL, valid daterange NOT NULL DEFAULT '[2024-01-01,)', CHECK (hours <@ int4range(0, 24)), CHECK (NOT isempty(hours)));
INSERT INTO tariffs VALUES ('home', 'night', '[0,6)', NULL, 18.5), ('home', 'night', '[22,24)', NULL, 18.5), ('home', 'day', '[6,17)', false, 29), ('home', 'day', '[6,22)', true, 24.25), ('home', 'peak', '[17,22)', false, 38.125), ('flat', 'day', '[0,24)', NULL, 30);
INSERT INTO tariffs VALUES ('home', 'peak', '[20,25)', NULL, 1);
INSERT INTO tariffs VALUES ('home', 'peak', '[20,20)', NULL, 1);
INSERT INTO tariffs VALUES ('home', 'noon', '[12,13)', NULL, 1);
SELECT hours, upper(hours) - lower(hours), hours @> 5, hours * '[5,20]', hours + '[6,7)' FROM tariffs WHERE name = 'home' AND weekend IS NOT TRUE AND lower(hours) <= 6 ORDER BY hours;
INSERT INTO meters VALUES (1, 'Ann', '2024-01-01', DEFAULT, '{"city": "Berlin", "floor": 3}'), (2, 'Ben', '2024-01-15', 1.05, '{"city": "Bonn"}'), (3, 'Cid', '2024-02-01', 1, NULL);
-- Two days of each clock change, an hour each: 23, 25, or 24 of them a day.
INSERT INTO readings SELECT m, t, round((1 + m * 0.5 + extract(hour FROM t AT TIME ZONE 'Europe/Berlin') * 0.1)::numeric, 3) FROM generate_series(1, 2) m, generate_series(timestamptz '2024-03-30 00:00', '2024-03-31 23:00', '1 hour') t;
INSERT INTO readings SELECT m, t, 2 FROM generate_series(1, 2) m, generate_series(timestamptz '2024-10-26 00:00', '2024-10-27 23:00', '1 hour') t;
SELECT meter, (at AT TIME ZONE 'Europe/Berlin')::date AS day, count(*), sum(kwh), max(at) - min(at) AS span FROM readings GROUP BY 1, 2 ORDER BY 1, 2;
SELECT tableoid::regclass, count(*) FROM readings GROUP BY tableoid ORDER BY tableoid::regclass::text;
SELECT at, at AT TIME ZONE 'UTC', to_char(at, 'HH24:MI TZ OF') FROM readings WHERE meter = 1 AND at BETWEEN '2024-03-31 00:59' AND '2024-03-31 04:00' ORDER BY at;
SELECT to_char(at, 'HH24:MI TZ') FROM readings WHERE meter = 1 AND (at AT TIME ZONE 'Europe/Berlin')::time = '02:00' AND at::date = '2024-10-27' ORDER BY at;
INSERT INTO readings VALUES (1, '2024-03-31 02:30', 1) RETURNING at;
INSERT INTO readings VALUES (1, '2024-03-31 12:30', -1);
INSERT INTO readings VALUES (3, '2025-02-01', 7), (3, '2023-02-01', 8) RETURNING at, at::date;
CREATE FUNCTION band_of(p_tariff text, p_at timestamptz, OUT band band, OUT cents numeric) LANGUAGE sql STABLE AS $$
  SELECT t.band, t.cents FROM tariffs t WHERE t.name = p_tariff AND t.hours @> extract(hour FROM p_at AT TIME ZONE 'Europe/Berlin')::int
    AND (t.weekend IS NULL OR t.weekend = (extract(isodow FROM p_at AT TIME ZONE 'Europe/Berlin') >= 6)) AND t.valid @> (p_at AT TIME ZONE 'Europe/Berlin')::date $$;
SELECT h, (band_of('home', timestamptz '2024-10-25 00:00' + h * interval '1 hour')).*, (band_of('home', timestamptz '2024-10-26 00:00' + h * interval '1 hour')).cents AS weekend FROM generate_series(4, 24, 5) h;
CREATE TABLE costs (meter int, month date, band band, kwh numeric NOT NULL, euro numeric(10,2) NOT NULL, PRIMARY KEY (meter, month, band));
CREATE PROCEDURE roll_up(p_month date, p_tariff text DEFAULT 'home') LANGUAGE plpgsql AS $$
DECLARE n bigint; first timestamptz := p_month::timestamp AT TIME ZONE 'Europe/Berlin'; next timestamptz := (p_month + interval '1 month') AT TIME ZONE 'Europe/Berlin';
BEGIN
  IF date_trunc('month', p_month) <> p_month THEN RAISE EXCEPTION '% is no first of a month', p_month USING ERRCODE = 'datetime_field_overflow'; END IF;
  DELETE FROM costs WHERE month = p_month;
  INSERT INTO costs SELECT r.meter, p_month, b.band, sum(r.kwh * m.factor), round(sum(r.kwh * m.factor * b.cents) / 100, 2)
    FROM readings r JOIN meters m ON m.id = r.meter CROSS JOIN LATERAL band_of(p_tariff, r.at) b WHERE r.at >= first AND r.at < next AND r.quality = 0 GROUP BY r.meter, b.band;
  GET DIAGNOSTICS n = ROW_COUNT;
  RAISE NOTICE '% to %: % lines', first, next, n;
END $$;
CALL roll_up('2024-03-01');
CALL roll_up('2024-10-01');
CALL roll_up('2024-10-02');
CALL roll_up('2024-05-01', 'flat');
SELECT meter, month, band, kwh, euro, round(100 * euro / sum(euro) OVER (PARTITION BY meter, month), 1) AS percent FROM costs ORDER BY 1, 2, 3;
SELECT meter, band, sum(kwh), sum(euro), grouping(meter, band) FROM costs GROUP BY CUBE (meter, band) ORDER BY grouping(meter, band), meter, band;
-- What is missing, and what looks wrong.
UPDATE readings SET quality = 1 WHERE meter = 2 AND at BETWEEN '2024-03-30 05:00' AND '2024-03-30 07:00';
DELETE FROM readings WHERE quality = 1 OR at = '2024-03-31 03:30';
UPDATE readings SET kwh = kwh * 20 WHERE meter = 1 AND at = '2024-10-26 12:00' RETURNING kwh;
SELECT meter, at - step AS after, at AS before, step FROM (SELECT meter, at, at - lag(at) OVER (PARTITION BY meter ORDER BY at) AS step FROM readings WHERE meter < 3) x WHERE step > '1 hour' ORDER BY meter, at;
SELECT meter, at, kwh, round(mid, 3) FROM (SELECT *, avg(kwh) OVER (PARTITION BY meter ORDER BY at ROWS BETWEEN 3 PRECEDING AND 3 FOLLOWING EXCLUDE CURRENT ROW) AS mid FROM readings) x WHERE kwh > 5 * mid;
SELECT meter, percentile_cont(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY kwh), stddev_pop(kwh)::numeric(8,4) FROM readings WHERE meter < 3 GROUP BY meter ORDER BY meter;
-- Islands of hours in the peak.
WITH marked AS (SELECT meter, at, (band_of('home', at)).band AS band FROM readings WHERE meter = 1 AND at >= '2024-10-25'), runs AS (SELECT *, row_number() OVER (ORDER BY at) - row_number() OVER (PARTITION BY band ORDER BY at) AS run FROM marked)
  SELECT band, min(at), count(*) FROM runs GROUP BY band, run ORDER BY min(at);
WITH RECURSIVE hours AS (SELECT timestamptz '2024-03-31 00:00' AS h UNION ALL SELECT h + interval '4 hours' FROM hours WHERE h < '2024-04-01 00:00') SELECT h, h + interval '1 day' AS tomorrow, date_trunc('day', h) AS day, date_bin('6 hours', h, '2024-03-31 00:00') AS bin FROM hours;
MERGE INTO meters m USING (SELECT meter, count(*) AS n FROM readings GROUP BY meter) r ON r.meter = m.id WHEN MATCHED AND r.n < 10 THEN UPDATE SET address = jsonb_build_object('few', r.n) WHEN MATCHED THEN UPDATE SET address = address || '{"seen": true}';
SELECT id, address, address -> 'floor', address #>> '{city}' FROM meters ORDER BY id;
SELECT jsonb_pretty(jsonb_build_object('meter', m.id, 'lines', (SELECT jsonb_agg(to_jsonb(c) - 'meter' - 'month' ORDER BY c.band) FROM costs c WHERE c.meter = m.id AND c.month = '2024-03-01'))) FROM meters m WHERE m.id = 1;
SELECT json_build_object('at', at, 'kwh', kwh) FROM readings WHERE meter = 3 ORDER BY at;
CREATE TABLE readings_2025 PARTITION OF readings FOR VALUES FROM ('2025-01-01 00:00+00') TO ('2026-01-01 00:00+00');
DELETE FROM readings_rest WHERE at >= '2025-01-01';
CREATE TABLE readings_2025 PARTITION OF readings FOR VALUES FROM ('2025-01-01 00:00+00') TO ('2026-01-01 00:00+00');
CREATE TABLE readings_bad PARTITION OF readings FOR VALUES FROM ('2024-03-01 00:00+00') TO ('2024-05-01 00:00+00');
UPDATE readings SET at = at + interval '1 year' WHERE meter = 2 AND at < '2024-03-30 02:00' RETURNING at;
ALTER TABLE readings DETACH PARTITION readings_q1;
SELECT count(*), min(at) FROM readings;
INSERT INTO readings SELECT * FROM readings_q1 WHERE kwh > 3.5;
TRUNCATE readings_q4;
SELECT meter, count(*) FROM readings GROUP BY meter ORDER BY meter;
DROP TABLE readings_q1, readings_rest;
INSERT INTO readings VALUES (3, '2026-06-01', 1);
SET timezone = 'UTC';
SELECT relname, relkind, relispartition, pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname LIKE 'readings%' AND relkind IN ('r', 'p') ORDER BY relname;
