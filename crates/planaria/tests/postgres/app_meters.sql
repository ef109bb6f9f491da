-- Smart meters: readings in several zones, consumption between readings, gaps, tariffs by hour, invoices.
SET TIME ZONE 'Europe/Berlin';
CREATE TABLE site (site_id int2 PRIMARY KEY, zone text NOT NULL, label text);
CREATE TABLE meter (meter_id int4 PRIMARY KEY, site_id int2 REFERENCES site, kind char(1) DEFAULT 'E' CHECK (kind IN ('E', 'G', 'W')), digits int2 DEFAULT 5, factor float8 DEFAULT 1.0);
CREATE TABLE reading (meter_id int4 NOT NULL REFERENCES meter, at timestamptz NOT NULL, value float8 NOT NULL, quality int2 NOT NULL DEFAULT 0, PRIMARY KEY (meter_id, at));
CREATE TABLE tariff (name text, valid_from date, dow int2[] NOT NULL, from_h time NOT NULL, to_h time NOT NULL, cents real NOT NULL, PRIMARY KEY (name, valid_from, from_h));
CREATE TABLE staging (line int, meter text, stamp text, value text);
INSERT INTO site VALUES (1, 'Europe/Berlin', 'Plant'), (2, 'Asia/Kolkata', 'Office'), (3, 'Mars/Base', NULL);
INSERT INTO meter (meter_id, site_id) VALUES (10, 1), (11, 1), (20, 2);
INSERT INTO meter VALUES (30, 3, 'X');
UPDATE meter SET kind = 'W', factor = 0.1::float8 * 3 WHERE meter_id = 11 RETURNING factor, factor = 0.3 AS equal;
-- A quarter of an hour apart, over the change to summer time; every seventh is missing.
INSERT INTO reading (meter_id, at, value)
  SELECT 10, t, 1000 + n * 0.25 FROM generate_series('2024-03-31 00:00+01'::timestamptz, '2024-03-31 06:00+02', '15 minutes') WITH ORDINALITY AS g(t, n) WHERE n % 7 <> 0;
INSERT INTO reading SELECT 20, ts AT TIME ZONE 'Asia/Kolkata', 99990 + 3 * extract(hour FROM ts)::int, 1 FROM generate_series(timestamp '2024-03-31 00:30', '2024-03-31 09:30', interval '1 hour') ts;
SELECT count(*), min(at), max(at), max(at) - min(at) AS span FROM reading WHERE meter_id = 10;
SELECT date_trunc('hour', at) AS hour, count(*), min(value), max(value), avg(value)::numeric(10,3), round(stddev_samp(value)::numeric, 4) AS sd FROM reading WHERE meter_id = 10 GROUP BY 1 ORDER BY 1;
SELECT date_trunc('hour', at, s.zone) AS h, at AT TIME ZONE s.zone AS local, value FROM reading JOIN meter USING (meter_id) JOIN site s USING (site_id) WHERE meter_id = 20 ORDER BY at LIMIT 4;
SELECT date_bin('30 minutes', at, '2024-03-31 00:10+00') AS bin, count(*) FROM reading WHERE meter_id = 10 GROUP BY bin ORDER BY bin LIMIT 5;
-- Gaps: where the next reading is more than a quarter of an hour away.
SELECT at, next - at AS gap, extract(epoch FROM next - at) / 900 - 1 AS missing FROM (SELECT at, lead(at) OVER (ORDER BY at) AS next FROM reading WHERE meter_id = 10) x WHERE next - at > '15 min' ORDER BY at;
-- Islands of uninterrupted readings.
WITH marked AS (SELECT at, value, at - lag(at, 1) OVER w > interval '15 minutes' OR lag(at) OVER w IS NULL AS starts FROM reading WHERE meter_id = 10 WINDOW w AS (ORDER BY at)),
     numbered AS (SELECT *, count(*) FILTER (WHERE starts) OVER (ORDER BY at ROWS UNBOUNDED PRECEDING) AS island FROM marked)
SELECT island, to_char(min(at), 'HH24:MI TZ') AS first, to_char(max(at), 'HH24:MI:SS OF') AS last, count(*), max(value) - min(value) AS used FROM numbered GROUP BY island HAVING count(*) > 1 ORDER BY island;
-- Missing ones, filled in with what lies between.
WITH slots AS (SELECT s FROM generate_series(timestamptz '2024-03-31 00:00 Europe/Berlin', '2024-03-31 05:00 Europe/Berlin', '15 min') s)
SELECT s, r.value, lag(value) OVER (ORDER BY s) + (lead(value) OVER (ORDER BY s) - lag(value) OVER (ORDER BY s)) / 2 AS guessed FROM slots LEFT JOIN reading r ON r.at = s AND r.meter_id = 10 ORDER BY value IS NOT NULL, s LIMIT 4;
INSERT INTO reading (meter_id, at, value, quality)
  SELECT 10, s, (a.value + b.value) / 2, 9 FROM generate_series('2024-03-31 00:00', '2024-03-31 05:45', '15 min'::interval) s
    CROSS JOIN LATERAL (SELECT value FROM reading WHERE meter_id = 10 AND at < s ORDER BY at DESC LIMIT 1) a CROSS JOIN LATERAL (SELECT value FROM reading WHERE meter_id = 10 AND at > s ORDER BY at LIMIT 1) b
  ON CONFLICT (meter_id, at) DO NOTHING RETURNING at, value;
-- Roll-over of a counter of five digits.
SELECT at, value, CASE WHEN mod(value::numeric, 100000) < lag(mod(value::numeric, 100000)) OVER w THEN 'rolled' ELSE '' END AS note, mod(value::numeric, 10 ^ digits) AS shown FROM reading JOIN meter USING (meter_id) WHERE meter_id = 20 WINDOW w AS (ORDER BY at) ORDER BY at;
UPDATE reading SET value = value - 100000 FROM meter m WHERE m.meter_id = reading.meter_id AND reading.value >= 10 ^ m.digits;
CREATE OR REPLACE FUNCTION used(m int, since timestamptz, till timestamptz) RETURNS float8 AS $$
DECLARE prev float8; total float8 := 0; v float8; mod_ float8;
BEGIN
  SELECT power(10, digits) INTO mod_ FROM meter WHERE meter_id = m;
  IF NOT FOUND THEN RAISE 'meter % is unknown', m USING ERRCODE := 'no_data_found'; END IF;
  FOR v IN SELECT value FROM reading WHERE meter_id = m AND at BETWEEN since AND till ORDER BY at LOOP
    IF prev IS NOT NULL THEN total := total + CASE WHEN v < prev THEN v + mod_ - prev ELSE v - prev END; END IF;
    prev := v;
  END LOOP;
  RETURN total;
END $$ LANGUAGE plpgsql STABLE;
SELECT m.meter_id, used(m.meter_id, '-infinity', 'infinity'), used(m.meter_id, '2024-03-31 01:00', '2024-03-31 04:00') FROM meter m ORDER BY 1;
SELECT used(99, now(), now());
-- Tariffs: hours by day of week.
INSERT INTO tariff VALUES ('day', '2024-01-01', '{1,2,3,4,5}', '06:00', '22:00', 31.5), ('day', '2024-01-01', '{1,2,3,4,5,6,0}', '00:00', '05:59:59.999', 22.25), ('day', '2024-01-01', '{0,6}', '22:00', '24:00', 19.9);
SELECT f.at, t.cents, t.dow, array_position(t.dow, 0::int2) FROM (SELECT at FROM reading WHERE meter_id = 10 AND extract(minute FROM at) = 0) f JOIN tariff t ON extract(dow FROM f.at) = ANY (t.dow) AND f.at::time >= t.from_h AND f.at::time < t.to_h ORDER BY 1 LIMIT 3;
SELECT to_h, to_h - from_h AS takes, to_h > '23:59', cents::numeric, cents * 3, cents / 7 FROM tariff ORDER BY from_h;
-- What comes in as text is looked at line by line.
INSERT INTO staging VALUES (1, '10', '2024-04-01T00:00:00+02:00', '1010.5'), (2, '10', '31.04.2024', '5'), (3, 'ten', '2024-04-01 01:00', '1'), (4, '10', '2024-04-01 01:00', '1e400'), (5, '77', '2024-04-01', '1'), (6, '10', '2024-04-01 00:00 Europe/Berlin', '7'), (7, '10', '2024-04-01 02:00', NULL), (8, '10', 'Apr 1 2024 3:00 PM EST', ' 12 ');
DO $$
DECLARE s staging%ROWTYPE; ok int := 0; bad int := 0; state text; msg text; det text; con text; col text; tab text;
BEGIN
  FOR s IN SELECT * FROM staging ORDER BY line LOOP
    BEGIN
      INSERT INTO reading (meter_id, at, value) VALUES (s.meter::int, s.stamp::timestamptz, s.value::float8);
      ok := ok + 1;
    EXCEPTION
      WHEN unique_violation OR foreign_key_violation OR not_null_violation THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, con = CONSTRAINT_NAME, det = PG_EXCEPTION_DETAIL, col = COLUMN_NAME, tab = TABLE_NAME;
        RAISE NOTICE 'line %: % % % % %', s.line, state, tab, coalesce(con, '-'), coalesce(nullif(col, ''), '-'), det;
        bad := bad + 1;
      WHEN data_exception THEN
        RAISE NOTICE 'line %: % (%)', s.line, SQLERRM, SQLSTATE;
        bad := bad + 1;
    END;
  END LOOP;
  RAISE NOTICE '% read, % not', ok, bad;
END $$;
SELECT at, value FROM reading WHERE at >= '2024-04-01' ORDER BY at;
SELECT meter_id, kind, percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median, percentile_disc(0.9) WITHIN GROUP (ORDER BY value) AS tail, mode() WITHIN GROUP (ORDER BY quality) AS quality, corr(value, extract(epoch FROM at)) > 0.9 AS grows FROM reading JOIN meter USING (meter_id) GROUP BY meter_id, kind ORDER BY meter_id;
SELECT width_bucket(value, 1000, 1008, 4) AS b, count(*), repeat('#', count(*)::int) AS bar, min(value) AS lo FROM reading WHERE meter_id = 10 GROUP BY b ORDER BY b;
SELECT meter_id, at, avg(value) OVER (PARTITION BY meter_id ORDER BY at RANGE BETWEEN '30 min' PRECEDING AND CURRENT ROW) AS smooth, last_value(value) OVER (PARTITION BY meter_id ORDER BY at ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) AS next, nth_value(value, 2) OVER (PARTITION BY meter_id ORDER BY at) AS second, cume_dist() OVER (PARTITION BY meter_id ORDER BY at) AS cd FROM reading WHERE extract(minute FROM at) = 30 ORDER BY meter_id, at LIMIT 8;
SELECT timezone('UTC', at), at AT TIME ZONE 'UTC' AT TIME ZONE 'America/St_Johns' AS odd, at AT TIME ZONE INTERVAL '-03:30' AS off, extract(timezone_hour FROM at) AS tzh, to_char(at, 'IYYY-"W"IW-ID J Q') AS iso, date_part('doy', at) FROM reading ORDER BY at, meter_id LIMIT 2;
SELECT label, at AT TIME ZONE zone FROM reading JOIN meter USING (meter_id) RIGHT JOIN site USING (site_id) WHERE site_id = 3;
SELECT now() AT TIME ZONE zone IS NULL FROM site WHERE site_id = 3;
SELECT t, t::timestamptz, t::timestamptz::text FROM (VALUES (timestamp '2024-03-31 02:30'), ('2024-10-27 02:30'), ('infinity'), ('epoch')) v(t);
SELECT make_timestamptz(2024, 10, 27, 2, 30, 0) + interval '1 hour' AS a, make_timestamptz(2024, 10, 27, 2, 30, 0, 'Europe/London') AS b, make_interval(days => 1, hours => 25) AS c, timestamptz '2024-03-30 02:30' + interval '1 day' AS d, timestamptz '2024-03-30 02:30' + interval '24 hours' AS e, justify_interval('1 mon -1 hour') AS f;
SELECT d::date, extract(week FROM d) AS w, (d + interval '1 month')::date AS m, (date_trunc('month', d) + '1 month - 1 day')::date AS eom FROM generate_series('2024-01-29', '2024-02-01', interval '1 day') d;
DELETE FROM reading r USING meter m WHERE m.meter_id = r.meter_id AND m.site_id = 2 AND r.at < '2024-03-31 03:00' RETURNING r.at, m.kind;
CREATE MATERIALIZED VIEW daily AS SELECT meter_id, (at AT TIME ZONE 'Europe/Berlin')::date AS day, count(*) AS n, max(value) - min(value) AS used FROM reading GROUP BY 1, 2 WITH NO DATA;
SELECT * FROM daily;
REFRESH MATERIALIZED VIEW daily;
SELECT * FROM daily ORDER BY 1, 2;
