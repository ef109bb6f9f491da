-- Sensors: devices with a configuration, readings, alerts with thresholds, gaps, downsampling.
SET timezone = 'UTC';
CREATE TYPE severity AS ENUM ('info', 'warn', 'critical');
CREATE TABLE device_types (code text PRIMARY KEY, unit text NOT NULL, low double precision, high double precision, CHECK (low IS NULL OR high IS NULL OR low < high));
CREATE TABLE devices (
  id uuid PRIMARY KEY, serial_no bigint UNIQUE NOT NULL, type text NOT NULL REFERENCES device_types ON UPDATE CASCADE ON DELETE RESTRICT, label text,
  config jsonb NOT NULL DEFAULT '{"interval": 60, "enabled": true}', gateway uuid REFERENCES devices ON DELETE SET NULL, lat double precision, lon double precision, firmware int[] NOT NULL DEFAULT '{1,0,0}',
  CONSTRAINT position_complete CHECK ((lat IS NULL) = (lon IS NULL)), CONSTRAINT firmware_has_three CHECK (array_length(firmware, 1) = 3));
CREATE INDEX devices_enabled ON devices ((config ->> 'enabled'), type);
CREATE TABLE readings (device uuid NOT NULL REFERENCES devices ON DELETE CASCADE, at timestamptz NOT NULL, value double precision, quality smallint DEFAULT 100 CHECK (quality BETWEEN 0 AND 100), raw bytea, PRIMARY KEY (device, at));
CREATE TABLE alerts (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, device uuid NOT NULL REFERENCES devices ON DELETE CASCADE, severity severity NOT NULL, raised_at timestamptz NOT NULL, cleared_at timestamptz, peak double precision, CHECK (cleared_at >= raised_at));
CREATE UNIQUE INDEX one_open_alert ON alerts (device) WHERE cleared_at IS NULL;
CREATE TABLE hourly (device uuid, hour timestamptz, n int NOT NULL, avg numeric(10,3), lo double precision, hi double precision, PRIMARY KEY (device, hour));
INSERT INTO device_types VALUES ('temp', 'C', -20, 30), ('hum', '%', NULL, 80.5), ('gw', '-', NULL, NULL);
INSERT INTO device_types VALUES ('bad', 'x', 5, 4);
INSERT INTO devices (id, serial_no, type, label, lat, lon) VALUES ('d0000000-0000-0000-0000-0000000000aa', 9000000000, 'gw', 'roof', 48.137154, 11.576124);
INSERT INTO devices (id, serial_no, type, label, gateway, config, firmware) VALUES
  ('D0000000-0000-0000-0000-000000000001', 1, 'temp', 'cellar', 'd0000000-0000-0000-0000-0000000000aa', '{"interval": 10, "enabled": true, "offset": -0.5}', '{1,2,10}'),
  ('{d0000000-0000-0000-0000-000000000002}', 2, 'hum', NULL, 'd0000000-0000-0000-0000-0000000000aa', DEFAULT, '{1,10,0}'), ('d0000000000000000000000000000003', 3, 'temp', 'attic', NULL, '{"enabled": false}', '{2,0,0}');
INSERT INTO devices (id, serial_no, type, lat) VALUES ('d0000000-0000-0000-0000-000000000004', 4, 'temp', 1.5);
INSERT INTO devices (id, serial_no, type, firmware) VALUES ('d0000000-0000-0000-0000-000000000004', 4, 'temp', '{1,2}');
INSERT INTO devices (id, serial_no, type, firmware) VALUES ('d0000000-0000-0000-0000-000000000004', 4, 'temp', '{1,two}');
INSERT INTO devices (id, serial_no, type) VALUES ('d0000000-0000-0000-0000-00000000004', 4, 'temp');
INSERT INTO devices (id, serial_no, type) VALUES ('d0000000-0000-0000-0000-000000000004', 3, 'temp');
INSERT INTO devices (id, serial_no, type) VALUES ('d0000000-0000-0000-0000-000000000004', 99999999999999999999, 'temp');
SELECT id, label, firmware, config FROM devices ORDER BY firmware, id;
INSERT INTO readings (device, at, value) SELECT 'd0000000-0000-0000-0000-000000000001', t, 20 + 12 * sin(extract(epoch FROM t - timestamptz '2024-06-01 00:00Z') / 3600 * pi() / 6) FROM generate_series('2024-06-01 00:00Z'::timestamptz, '2024-06-01 12:00Z', '30 minutes') AS t;
INSERT INTO readings VALUES ('d0000000-0000-0000-0000-000000000002', '2024-06-01 00:00Z', 40.25, 90, '\x01ff'), ('d0000000-0000-0000-0000-000000000002', '2024-06-01 02:00+02', 41, DEFAULT, NULL);
INSERT INTO readings VALUES ('d0000000-0000-0000-0000-000000000002', '2024-06-01 00:00Z', 40.25, 90, '\x01ff'), ('d0000000-0000-0000-0000-000000000002', '2024-06-01 02:00+01', 'NaN', 0), ('d0000000-0000-0000-0000-000000000002', '2024-06-01 05:00:00.123456', '-Infinity', 50), ('d0000000-0000-0000-0000-000000000002', '2024-06-01 06:00', NULL, NULL);
INSERT INTO readings VALUES ('d0000000-0000-0000-0000-000000000002', '2024-06-01 07:00', '1e400');
INSERT INTO readings VALUES ('d0000000-0000-0000-0000-000000000002', '2024-06-01 24:01', 1);
INSERT INTO readings VALUES ('d0000000-0000-0000-0000-000000000002', '2024-06-01 07:00', 1, 101);
INSERT INTO readings (device, at, value) VALUES ('d0000000-0000-0000-0000-000000000009', '2024-06-01', 1);
SELECT at, value, quality, raw FROM readings WHERE device = 'd0000000-0000-0000-0000-000000000002' ORDER BY value NULLS FIRST, at;
SELECT to_char(at, 'HH24:MI') AS t, round(value::numeric, 2) AS v, repeat('#', round(value / 4)::int) AS bar FROM readings WHERE device::text LIKE '%1' AND extract(minute FROM at) = 0 ORDER BY at;
-- Keeps one open alert per device, raises its severity, closes it.
CREATE FUNCTION scan_alerts(d uuid) RETURNS SETOF alerts LANGUAGE plpgsql AS $$
DECLARE r record; t device_types%ROWTYPE; open_id alerts.id%TYPE; s severity;
BEGIN
  SELECT dt.* INTO t FROM device_types dt JOIN devices ON devices.type = dt.code WHERE devices.id = d;
  IF NOT FOUND THEN RAISE EXCEPTION 'unknown device %', d USING ERRCODE = 'no_data_found'; END IF;
  FOR r IN SELECT at, value FROM readings WHERE device = d AND value = value ORDER BY at LOOP
    s := CASE WHEN r.value > t.high * 1.05 OR r.value < t.low * 1.05 THEN 'critical' WHEN r.value NOT BETWEEN coalesce(t.low, '-inf') AND coalesce(t.high, 'inf') THEN 'warn' END;
    IF s IS NULL THEN
      UPDATE alerts SET cleared_at = r.at WHERE device = d AND cleared_at IS NULL RETURNING id INTO open_id;
      IF FOUND THEN RAISE NOTICE 'alert % cleared at %', open_id, to_char(r.at, 'HH24:MI'); END IF;
    ELSE
      INSERT INTO alerts (device, severity, raised_at, peak) VALUES (d, s, r.at, r.value)
        ON CONFLICT (device) WHERE cleared_at IS NULL DO UPDATE SET severity = greatest(alerts.severity, EXCLUDED.severity), peak = greatest(alerts.peak, EXCLUDED.peak);
    END IF;
  END LOOP;
  RETURN QUERY SELECT * FROM alerts WHERE device = d ORDER BY id;
  RETURN;
END $$;
SELECT id, severity, raised_at, cleared_at, round(peak) FROM scan_alerts('d0000000-0000-0000-0000-000000000001');
SELECT count(*) FROM scan_alerts('d0000000-0000-0000-0000-000000000003');
SELECT count(*) FROM scan_alerts('d0000000-0000-0000-0000-000000000099');
INSERT INTO alerts (device, severity, raised_at) VALUES ('d0000000-0000-0000-0000-000000000003', 'info', '2024-06-02');
INSERT INTO alerts (device, severity, raised_at) VALUES ('d0000000-0000-0000-0000-000000000003', 'warn', '2024-06-03');
UPDATE alerts SET cleared_at = raised_at - interval '1 second' WHERE severity = 'info';
-- Downsampling, run twice.
INSERT INTO hourly SELECT device, date_trunc('hour', at), count(*), avg(value), min(value), max(value) FROM readings WHERE value < 'Infinity' AND value > '-Infinity' GROUP BY 1, 2 ON CONFLICT (device, hour) DO UPDATE SET n = hourly.n + EXCLUDED.n;
INSERT INTO hourly SELECT device, date_trunc('hour', at), count(*), avg(value), min(value), max(value) FROM readings WHERE value < 'Infinity' AND value > '-Infinity' GROUP BY 1, 2 ON CONFLICT (device, hour) DO UPDATE SET n = EXCLUDED.n, (avg, lo, hi) = (EXCLUDED.avg, least(hourly.lo, EXCLUDED.lo), greatest(hourly.hi, EXCLUDED.hi)) WHERE (hourly.n, hourly.avg) IS DISTINCT FROM (EXCLUDED.n, EXCLUDED.avg);
SELECT right(device::text, 1) AS d, hour AT TIME ZONE 'Europe/Berlin' AS local, n, avg FROM hourly ORDER BY device, hour;
-- Hours without readings.
SELECT h FROM generate_series(timestamptz '2024-06-01 00:00Z', '2024-06-01 06:00Z', '1 hour') AS g (h) LEFT JOIN hourly ON hourly.hour = g.h AND hourly.device = 'd0000000-0000-0000-0000-000000000002' WHERE hourly.device IS NULL ORDER BY h;
SELECT at, at - lag(at) OVER (ORDER BY at) AS gap, count(*) OVER (ORDER BY at) AS nth, value IS NULL OR value = 'NaN' AS bad FROM readings WHERE device = 'd0000000-0000-0000-0000-000000000002' ORDER BY at;
SELECT date_bin('3 hours', at, '2024-01-01') AS bin, count(*), round(avg(value)::numeric, 1) AS mean, round(avg(value) FILTER (WHERE value > 20)::numeric, 1) AS above FROM readings WHERE device = 'd0000000-0000-0000-0000-000000000001' GROUP BY bin ORDER BY bin;
SELECT at, round(avg(value) OVER (ORDER BY at)::numeric, 2) AS moving FROM readings WHERE device = 'd0000000-0000-0000-0000-000000000001' ORDER BY at LIMIT 4;
SELECT d.label, l.at, round(l.value::numeric, 3) FROM devices d LEFT JOIN LATERAL (SELECT at, value FROM readings r WHERE r.device = d.id ORDER BY at DESC FETCH FIRST 1 ROW ONLY) l ON TRUE WHERE d.type <> 'gw' ORDER BY d.serial_no;
SELECT type, count(*) FILTER (WHERE (config ->> 'enabled')::boolean) AS enabled, min((config ->> 'interval')::int), jsonb_object_agg(serial_no, label ORDER BY serial_no) AS labels FROM devices GROUP BY type ORDER BY type;
SELECT array_to_string(firmware, '.') AS version, array_position(firmware, 0), firmware[2:3], firmware >= ARRAY[1,10,0] AS recent FROM devices ORDER BY firmware DESC, serial_no;
UPDATE devices SET config = jsonb_set(config, '{interval}', to_jsonb((config ->> 'interval')::int * 2)) WHERE config ? 'interval' AND type <> 'gw' RETURNING serial_no, config;
UPDATE devices SET firmware[3] = firmware[3] + 1 WHERE type = 'temp';
SELECT firmware FROM devices WHERE type = 'temp' ORDER BY 1;
UPDATE devices SET config = config #- '{offset}' || '{"tags": ["a", null, 3]}' WHERE serial_no = 1 RETURNING config, jsonb_array_length(config -> 'tags'), config -> 'tags' -> -1;
SELECT key, jsonb_typeof(value), value #>> '{}' FROM devices, jsonb_each(config) WHERE serial_no = 1 ORDER BY key;
-- Distance of two positions in kilometres.
CREATE FUNCTION km(lat1 double precision, lon1 double precision, lat2 double precision, lon2 double precision) RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 2 * 6371 * asin(sqrt(power(sin(radians(lat2 - lat1) / 2), 2) + cos(radians(lat1)) * cos(radians(lat2)) * power(sin(radians(lon2 - lon1) / 2), 2))) $$;
SELECT round(km(lat, lon, 52.52, 13.405)::numeric, 1), km(lat, lon, NULL, 0) IS NULL FROM devices WHERE lat IS NOT NULL;
SELECT to_timestamp(1717200000), to_timestamp(1717200000.5) AT TIME ZONE 'America/New_York', extract(epoch FROM timestamptz '2024-06-01 00:00Z'), timestamptz 'epoch' + 1717200000 * interval '1 second';
SELECT width_bucket(value, 0, 40, 4) AS b, count(*) FROM readings WHERE device = 'd0000000-0000-0000-0000-000000000001' GROUP BY b ORDER BY b;
PREPARE latest (uuid, int) AS SELECT at FROM readings WHERE device = $1 ORDER BY at DESC LIMIT $2;
EXECUTE latest ('d0000000-0000-0000-0000-000000000001', 2);
EXECUTE latest ('nonsense', 2);
DEALLOCATE latest;
ALTER TABLE readings ADD COLUMN unit text DEFAULT 'C' NOT NULL;
ALTER TABLE readings ALTER COLUMN value TYPE real, ALTER COLUMN quality SET NOT NULL;
UPDATE readings SET quality = 0 WHERE quality IS NULL;
ALTER TABLE readings ALTER COLUMN value TYPE real, ALTER COLUMN quality SET NOT NULL;
ALTER TABLE alerts ALTER COLUMN severity TYPE text USING upper(severity::text);
DROP TYPE severity;
DROP TYPE severity CASCADE;
DELETE FROM device_types WHERE code = 'gw';
DELETE FROM devices WHERE type = 'gw';
SELECT count(*) FILTER (WHERE gateway IS NULL) FROM devices;
TRUNCATE devices;
TRUNCATE devices, readings, alerts RESTART IDENTITY;
SELECT count(*) FROM readings;
