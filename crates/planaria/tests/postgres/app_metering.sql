-- Meters that report every quarter of an hour; tariffs, invoices, gaps, roll-ups.
CREATE TABLE meters (serial text PRIMARY KEY, kind text NOT NULL CHECK (kind IN ('power', 'gas', 'water')), installed date NOT NULL, location jsonb, decimals smallint NOT NULL DEFAULT 1);
CREATE TABLE readings (meter text NOT NULL REFERENCES meters, at timestamptz NOT NULL, value double precision NOT NULL, quality "char" NOT NULL DEFAULT 'o', PRIMARY KEY (meter, at));
CREATE TABLE tariffs (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, from_hour smallint NOT NULL, to_hour smallint NOT NULL, per_unit numeric(10,6) NOT NULL, valid_from date NOT NULL, CHECK (from_hour >= 0 AND from_hour < to_hour AND to_hour <= 24));
CREATE TABLE hourly (meter text REFERENCES meters, hour timestamptz, used numeric(12,3), cost numeric(12,4), PRIMARY KEY (meter, hour));
CREATE TABLE invoices (id serial PRIMARY KEY, meter text REFERENCES meters, month date NOT NULL, used numeric NOT NULL, net numeric(12,2) NOT NULL, vat numeric(12,2) NOT NULL, gross numeric(12,2) NOT NULL, lines jsonb NOT NULL, UNIQUE (meter, month), CHECK (gross = net + vat), CHECK (month = date_trunc('month', month)::date));
INSERT INTO meters VALUES ('P-1', 'power', '2023-12-01', '{"street": "Main", "no": 5, "geo": [52.5, 13.4]}', DEFAULT), ('G-1', 'gas', '2023-12-01', NULL, 3);
INSERT INTO meters VALUES ('X-1', 'steam', '2023-12-01');
INSERT INTO tariffs (kind, from_hour, to_hour, per_unit, valid_from) VALUES ('power', 0, 6, 0.20, '2024-01-01'), ('power', 6, 22, 0.35125, '2024-01-01'), ('power', 22, 24, 0.20, '2024-01-01'), ('gas', 0, 24, 0.09, '2024-01-01');
INSERT INTO tariffs (kind, from_hour, to_hour, per_unit, valid_from) VALUES ('gas', 5, 5, 1, '2024-01-01');
INSERT INTO readings (meter, at, value) SELECT 'P-1', t, 1000 + extract(epoch FROM t - timestamptz '2024-01-31 20:00+00') / 3600 * 0.75 FROM generate_series(timestamptz '2024-01-31 20:00+00', timestamptz '2024-02-01 04:00+00', interval '15 min') AS t;
INSERT INTO readings (meter, at, value) SELECT 'G-1', t, 50 + (n - 1) * 0.125 FROM generate_series(timestamptz '2024-01-31 20:00+00', timestamptz '2024-02-01 04:00+00', interval '1 hour') WITH ORDINALITY AS g(t, n);
DELETE FROM readings WHERE meter = 'P-1' AND at BETWEEN '2024-02-01 01:10+00' AND '2024-02-01 01:50+00';
CREATE PROCEDURE roll_up(m text, since timestamptz, until timestamptz) LANGUAGE plpgsql AS $$
DECLARE h timestamptz; a double precision; b double precision; k text; c numeric;
BEGIN
  SELECT kind INTO STRICT k FROM meters WHERE serial = m;
  h := date_trunc('hour', since);
  WHILE h < until LOOP
    SELECT value INTO a FROM readings WHERE meter = m AND at <= h ORDER BY at DESC LIMIT 1;
    SELECT value INTO b FROM readings WHERE meter = m AND at <= h + interval '1 hour' ORDER BY at DESC LIMIT 1;
    IF a IS NOT NULL AND b IS NOT NULL THEN
      SELECT t.per_unit INTO c FROM tariffs t WHERE t.kind = k AND extract(hour FROM h AT TIME ZONE 'UTC') >= t.from_hour AND extract(hour FROM h AT TIME ZONE 'UTC') < t.to_hour ORDER BY t.valid_from DESC LIMIT 1;
      INSERT INTO hourly VALUES (m, h, round((b - a)::numeric, 3), round((b - a)::numeric * c, 4))
        ON CONFLICT (meter, hour) DO UPDATE SET used = excluded.used, cost = excluded.cost WHERE hourly.used IS DISTINCT FROM excluded.used;
    END IF;
    h := h + interval '1 hour';
  END LOOP;
END $$;
CREATE FUNCTION invoice(m text, mo date, rate numeric DEFAULT 19) RETURNS invoices LANGUAGE plpgsql AS $$
DECLARE i invoices%ROWTYPE;
BEGIN
  i.meter := m; i.month := mo;
  SELECT coalesce(sum(used), 0), coalesce(sum(cost), 0), coalesce(jsonb_agg(jsonb_build_object('hour', to_char(hour AT TIME ZONE 'UTC', 'DD HH24'), 'used', used) ORDER BY hour), '[]')
    INTO i.used, i.net, i.lines FROM hourly WHERE meter = m AND hour >= mo AND hour < mo + interval '1 month';
  i.vat := round(i.net * rate / 100, 2); i.gross := i.net + i.vat;
  INSERT INTO invoices (meter, month, used, net, vat, gross, lines) VALUES (i.meter, i.month, i.used, i.net, i.vat, i.gross, i.lines) RETURNING id INTO i.id;
  RETURN i;
END $$;
CALL roll_up('P-1', '2024-01-31 20:00+00', '2024-02-01 04:00+00');
CALL roll_up('G-1', '2024-01-31 20:00+00', '2024-02-01 04:00+00');
CALL roll_up('Z-1', '2024-01-31 20:00+00', '2024-02-01 04:00+00');
SELECT meter, hour, used, cost FROM hourly ORDER BY meter, hour;
SELECT id, meter, month, used, net, vat, gross, jsonb_array_length(lines) FROM invoice('P-1', '2024-01-01');
SELECT gross, lines -> 0 FROM invoice('G-1', '2024-02-01', 7);
SELECT gross FROM invoice('P-1', '2024-02-01');
SELECT gross FROM invoice('P-1', '2024-02-15');
SELECT meter, sum(used), count(*), min(hour), max(hour) - min(hour) FROM hourly GROUP BY meter ORDER BY meter;
SELECT at, at - lag(at) OVER (ORDER BY at) AS gap FROM readings WHERE meter = 'P-1' ORDER BY at LIMIT 3;
SELECT * FROM (SELECT at, at - lag(at) OVER (ORDER BY at) AS gap FROM readings WHERE meter = 'P-1') g WHERE gap > interval '15 min';
SELECT h AS missing FROM generate_series(timestamptz '2024-02-01 01:00+00', timestamptz '2024-02-01 02:00+00', interval '15 min') AS h WHERE NOT EXISTS (SELECT 1 FROM readings r WHERE r.meter = 'P-1' AND r.at = h) ORDER BY 1;
SELECT date_bin('2 hours', at, timestamptz '2024-01-01 00:00+00') AS bin, round(avg(value)::numeric, 2), count(*) FROM readings WHERE meter = 'P-1' GROUP BY bin ORDER BY bin;
SELECT to_char(hour AT TIME ZONE 'America/New_York', 'YYYY-MM-DD HH12 AM'), sum(used) OVER (PARTITION BY meter ORDER BY hour) FROM hourly WHERE meter = 'G-1' ORDER BY hour;
SELECT m.serial, location ->> 'street', (location -> 'geo' ->> 0)::numeric + 1, location #>> '{geo,1}' FROM meters m ORDER BY 1;
SELECT kind, sum(used) FILTER (WHERE extract(hour FROM hour AT TIME ZONE 'UTC') < 6) AS night, sum(used) AS total FROM hourly JOIN meters ON serial = meter GROUP BY kind ORDER BY kind;
SELECT quality, count(*) FROM readings GROUP BY quality;
UPDATE readings SET value = 'NaN' WHERE meter = 'G-1' AND at = '2024-01-31 20:00+00' RETURNING value;
SELECT max(value), min(value) FROM readings WHERE meter = 'G-1';
