-- with contexts
-- Taxis without PostGIS: positions on a grid of cells, great circles by formula, the nearest car by rings of cells, zones as polygons, fares by rules, surge by supply and demand, pings in partitions.
CREATE TYPE spot AS (lat double precision, lon double precision);
CREATE DOMAIN lat AS double precision CHECK (VALUE BETWEEN -90 AND 90);
CREATE DOMAIN lon AS double precision CHECK (VALUE BETWEEN -180 AND 180);
CREATE OR REPLACE FUNCTION km(a spot, b spot) RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 50 AS $function$
  SELECT 2 * 6371.0088 * asin(least(1, sqrt(power(sind((b.lat - a.lat) / 2), 2) + cosd(a.lat) * cosd(b.lat) * power(sind((b.lon - a.lon) / 2), 2))))
$function$;
CREATE FUNCTION bearing(a spot, b spot) RETURNS int LANGUAGE sql IMMUTABLE AS $$
  SELECT (degrees(atan2(sin(radians(b.lon - a.lon)) * cos(radians(b.lat)), cos(radians(a.lat)) * sin(radians(b.lat)) - sin(radians(a.lat)) * cos(radians(b.lat)) * cos(radians(b.lon - a.lon))))::int + 360) % 360
$$;
CREATE FUNCTION cell(lat float8, lon float8, step numeric DEFAULT 0.01) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT floor((lat + 90)::numeric / step)::bigint * 100000 + floor((lon + 180)::numeric / step)::bigint $$;
SELECT round(km((52.52, 13.405)::spot, ROW(48.8566, 2.3522)::spot)::numeric, 3), bearing((52.52, 13.405), (48.8566, 2.3522)), km(NULL, (0,0)) IS NULL, cell(52.52, 13.405), cell(-0.001, -0.001, 1);
SELECT km((1,2), (3,4), 5);
CREATE FUNCTION geohash(lat float8, lon float8, len int DEFAULT 7) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  abc constant text := '0123456789bcdefghjkmnpqrstuvwxyz';
  lo float8[] := '{-180,-90}';
  hi float8[] := '{180,90}';
  v float8[] := ARRAY[lon, lat];
  bits int := 0;
  mid float8;
  out text := '';
BEGIN
  FOR i IN 0 .. len * 5 - 1 LOOP
    mid := (lo[1 + i % 2] + hi[1 + i % 2]) / 2;
    bits := bits << 1;
    IF v[1 + i % 2] >= mid THEN
      bits := bits | 1;
      lo[1 + i % 2] := mid;
    ELSE
      hi[1 + i % 2] := mid;
    END IF;
    IF i % 5 = 4 THEN
      out := out || substr(abc, bits + 1, 1);
      bits := 0;
    END IF;
  END LOOP;
  RETURN out;
END $$;
SELECT geohash(57.64911, 10.40744, 11), geohash(48.8566, 2.3522), geohash(-25.38, -49.27, 3);
CREATE TABLE zones (id serial PRIMARY KEY, name text NOT NULL UNIQUE, ring double precision[][] NOT NULL, box spot[] NOT NULL, extra numeric(5,2) NOT NULL DEFAULT 0, CHECK (array_length(ring, 2) = 2), CONSTRAINT closed CHECK (ring[1:1] = ring[array_upper(ring, 1):array_upper(ring, 1)]));
CREATE FUNCTION inside(ring float8[], lat float8, lon float8) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE p float8[]; q float8[]; within boolean := false;
BEGIN
  FOREACH p SLICE 1 IN ARRAY ring LOOP
    IF q IS NOT NULL AND (p[1] > lat) <> (q[1] > lat) AND lon < (q[2] - p[2]) * (lat - p[1]) / (q[1] - p[1]) + p[2] THEN
      within := NOT within;
    END IF;
    q := p;
  END LOOP;
  RETURN within;
END $$;
CREATE FUNCTION zone_box() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT ARRAY[(min(r.lat), min(r.lon))::spot, (max(r.lat), max(r.lon))::spot] INTO NEW.box FROM (SELECT NEW.ring[i][1] AS lat, NEW.ring[i][2] AS lon FROM generate_subscripts(NEW.ring, 1) i) r;
  RETURN NEW;
END $$;
CREATE TRIGGER zone_box BEFORE INSERT OR UPDATE OF ring ON zones FOR EACH ROW EXECUTE FUNCTION zone_box();
INSERT INTO zones (name, ring, extra) VALUES ('airport', '{{52.34,13.46},{52.34,13.56},{52.39,13.56},{52.39,13.46},{52.34,13.46}}', 7.5), ('centre', '{{52.50,13.36},{52.54,13.36},{52.53,13.43},{52.50,13.43},{52.50,13.36}}', 1.2) RETURNING name, box, (box[1]).lat;
INSERT INTO zones (name, ring) VALUES ('open', '{{1,1},{2,2},{3,1}}');
INSERT INTO zones (name, ring) VALUES ('flat', '{1,2,3}');
INSERT INTO zones (name, ring) VALUES ('torn', '{{1,2},{3}}');
SELECT name, inside(ring, 52.52, 13.405) AS alex, inside(ring, 52.365, 13.5) AS ber, inside(ring, 52.535, 13.425) FROM zones ORDER BY id;
CREATE TABLE cars (plate text PRIMARY KEY, class text NOT NULL DEFAULT 'eco' CHECK (class IN ('eco', 'van', 'lux')), state text NOT NULL DEFAULT 'free', lat lat, lon lon, cell bigint GENERATED ALWAYS AS (cell(lat::float8, lon::float8)) STORED, seen timestamptz);
CREATE INDEX cars_free ON cars (cell) WHERE state = 'free';
CREATE TABLE pings (plate text NOT NULL, at timestamptz NOT NULL, lat lat NOT NULL, lon lon NOT NULL, speed smallint, PRIMARY KEY (plate, at)) PARTITION BY RANGE (at);
CREATE TABLE pings_d1 PARTITION OF pings FOR VALUES FROM ('2024-05-01 00:00+00') TO ('2024-05-02 00:00+00');
CREATE TABLE pings_d2 PARTITION OF pings FOR VALUES FROM ('2024-05-02 00:00+00') TO ('2024-05-03 00:00+00');
INSERT INTO cars (plate, class, lat, lon) VALUES ('B-1', 'eco', 52.521, 13.41), ('B-2', 'van', 52.505, 13.37), ('B-3', 'eco', 52.53, 13.39), ('B-4', 'lux', 52.366, 13.503), ('B-5', 'eco', 52.45, 13.3), ('B-6', 'eco', NULL, NULL) RETURNING plate, cell;
INSERT INTO cars (plate, lat, lon) VALUES ('B-7', 91, 0);
INSERT INTO cars (plate, lat, lon, cell) VALUES ('B-7', 9, 0, 1);
UPDATE cars SET lon = lon + 360 WHERE plate = 'B-1';
-- The nearest: rings of cells around the caller, wider until something is found.
CREATE FUNCTION nearest(at spot, want text DEFAULT NULL, most int DEFAULT 2, rings int DEFAULT 8) RETURNS TABLE (plate text, away numeric, ring int) LANGUAGE plpgsql STABLE AS $$
DECLARE r int := 0; found_any boolean := false;
BEGIN
  WHILE r <= rings LOOP
    RETURN QUERY SELECT c.plate, round(km(at, ROW(c.lat, c.lon)::spot)::numeric, 2) AS d, r FROM generate_series(-r, r) dy, generate_series(-r, r) dx, cars c WHERE greatest(abs(dy), abs(dx)) = r AND c.state = 'free' AND c.cell = cell(at.lat + dy * 0.01, at.lon + dx * 0.01) AND (want IS NULL OR c.class = want) ORDER BY d LIMIT most;
    IF FOUND THEN found_any := true; END IF;
    EXIT WHEN found_any AND r > 0;
    r := r + 1;
  END LOOP;
  IF NOT found_any THEN
    RAISE NOTICE 'nobody within % rings', rings USING HINT = 'Try another class.';
  END IF;
END $$;
SELECT * FROM nearest((52.52, 13.405));
SELECT * FROM nearest((52.52, 13.405), 'lux');
SELECT * FROM nearest(most => 1, at => ROW(52.36, 13.50)::spot, want => 'lux', rings => 1);
SELECT c.plate, n.plate AS other, n.away FROM cars c CROSS JOIN LATERAL (SELECT o.plate, round(km((c.lat, c.lon)::spot, (o.lat, o.lon)::spot)::numeric, 1) AS away FROM cars o WHERE o.plate <> c.plate AND o.lat IS NOT NULL ORDER BY 2 LIMIT 1) n WHERE c.lat IS NOT NULL ORDER BY 1;
-- Rides: a fare by rules in jsonb, zones, surge; what was charged is kept as it was computed.
CREATE TABLE tariffs (class text, valid tstzrange NOT NULL, rules jsonb NOT NULL, CHECK (rules ?& ARRAY['base', 'km', 'min']));
INSERT INTO tariffs VALUES ('eco', '[2024-01-01, 2024-05-02)', '{"base": 3.5, "km": [[7, 2.1], [null, 1.6]], "min": 0.4}'), ('eco', '[2024-05-02,)', '{"base": 3.9, "km": [[7, 2.3], [null, 1.65]], "min": 0.45, "night": 1.2}'), ('lux', '[2024-01-01,)', '{"base": 9, "km": [[null, 3.5]], "min": 0.9}');
INSERT INTO tariffs VALUES ('van', '[2024-01-01,)', '{"base": 9, "km": []}');
CREATE TABLE rides (id serial PRIMARY KEY, plate text REFERENCES cars, rider text NOT NULL, from_spot spot NOT NULL, to_spot spot, asked timestamptz NOT NULL, ended timestamptz, state text NOT NULL DEFAULT 'asked', fare numeric(8,2), parts jsonb, CONSTRAINT ends_after CHECK (ended > asked), CONSTRAINT paid CHECK ((state = 'done') = (fare IS NOT NULL)));
CREATE UNIQUE INDEX one_ride_a_car ON rides (plate) WHERE state IN ('asked', 'driving');
CREATE FUNCTION fare(p_class text, d numeric, minutes numeric, at timestamptz, zone_extra numeric DEFAULT 0, surge numeric DEFAULT 1) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE t jsonb; s jsonb; rest numeric := d; total numeric; dist numeric := 0; chunk numeric; night numeric := 1;
BEGIN
  SELECT rules INTO STRICT t FROM tariffs WHERE class = p_class AND valid @> at;
  FOR s IN SELECT value FROM jsonb_array_elements(t -> 'km') LOOP
    chunk := least(rest, coalesce((s ->> 0)::numeric, rest));
    dist := dist + chunk * (s ->> 1)::numeric;
    rest := rest - chunk;
    EXIT WHEN rest <= 0;
  END LOOP;
  IF extract(hour FROM at AT TIME ZONE 'Europe/Berlin') NOT BETWEEN 6 AND 21 THEN night := coalesce((t ->> 'night')::numeric, 1); END IF;
  total := round(((t ->> 'base')::numeric + dist + minutes * (t ->> 'min')::numeric) * night * surge + zone_extra, 2);
  RETURN jsonb_strip_nulls(jsonb_build_object('base', t -> 'base', 'distance', round(dist, 2), 'time', round(minutes * (t ->> 'min')::numeric, 2), 'night', nullif(night, 1), 'surge', nullif(surge, 1), 'zone', nullif(zone_extra, 0), 'total', total));
EXCEPTION
  WHEN no_data_found THEN RAISE EXCEPTION 'no tariff for % at %', p_class, at AT TIME ZONE 'UTC' USING ERRCODE = 'TX001';
  WHEN too_many_rows THEN RAISE EXCEPTION 'tariffs of % overlap', p_class USING ERRCODE = 'TX002';
END $$;
SELECT fare('eco', 10, 20, '2024-05-01 12:00+02'), fare('eco', 10, 20, '2024-05-02 23:00+02', 7.5, 1.5);
SELECT fare('van', 1, 1, '2024-05-01 12:00+02');
CREATE FUNCTION ask(who text, a spot, at timestamptz, want text DEFAULT 'eco') RETURNS rides LANGUAGE plpgsql AS $$
DECLARE r rides; c text;
BEGIN
  SELECT n.plate INTO c FROM nearest(a, want, 1) n;
  IF c IS NULL THEN
    RAISE EXCEPTION USING MESSAGE = 'no car for ' || who, ERRCODE = 'TX404', DETAIL = format('(%s, %s) is in cell %s', a.lat, a.lon, cell(a.lat, a.lon));
  END IF;
  PERFORM 1 FROM cars WHERE plate = c FOR UPDATE;
  UPDATE cars SET state = 'taken' WHERE plate = c;
  INSERT INTO rides (plate, rider, from_spot, asked) VALUES (c, who, a, at) RETURNING * INTO r;
  RETURN r;
END $$;
CREATE PROCEDURE finish(p_ride int, b spot, at timestamptz) LANGUAGE plpgsql AS $$
DECLARE r rides%ROWTYPE; f jsonb; z numeric; s numeric;
BEGIN
  SELECT * INTO r FROM rides WHERE id = p_ride FOR UPDATE;
  IF r.state <> 'asked' THEN RAISE EXCEPTION 'ride % is %', p_ride, r.state USING ERRCODE = 'TX409'; END IF;
  SELECT coalesce(sum(extra), 0) INTO z FROM zones WHERE inside(ring, (r.from_spot).lat, (r.from_spot).lon) OR inside(ring, b.lat, b.lon);
  SELECT least(2, 1 + (count(*) FILTER (WHERE state = 'taken'))::numeric / nullif(count(*), 0) / 2) INTO s FROM cars WHERE class = (SELECT class FROM cars WHERE plate = r.plate);
  f := fare((SELECT class FROM cars WHERE plate = r.plate), (km(r.from_spot, b) * 1.3)::numeric, extract(epoch FROM at - r.asked) / 60, r.asked, z, round(s, 1));
  UPDATE rides SET to_spot = b, ended = at, state = 'done', fare = (f ->> 'total')::numeric, parts = f WHERE id = p_ride;
  UPDATE cars SET (state, lat, lon, seen) = ('free', b.lat, b.lon, at) WHERE plate = r.plate;
END $$;
SELECT id, plate, from_spot, state FROM ask('ann', (52.52, 13.405), '2024-05-01 17:55+02');
SELECT id, plate FROM ask('bob', (52.525, 13.4), '2024-05-01 18:00+02');
SELECT (ask('cyd', (52.36, 13.5), '2024-05-01 18:00+02', 'lux')).plate;
SELECT (ask('dee', (52.36, 13.5), '2024-05-01 18:00+02', 'lux')).plate;
CALL finish(1, (52.365, 13.5), '2024-05-01 18:40+02');
CALL finish(1, (52.365, 13.5), '2024-05-01 18:40+02');
CALL finish(2, (52.53, 13.42), '2024-05-01 17:40+02');
CALL finish(2, (52.53, 13.42), '2024-05-01 18:14:30+02');
CALL finish(3, '(52.4,13.6)', '2024-05-01 18:20+02');
SELECT id, plate, rider, fare, parts - 'total' AS parts, ended - asked AS took FROM rides ORDER BY id;
SELECT plate, state, round(lat::numeric, 3), cell FROM cars WHERE seen IS NOT NULL ORDER BY plate;
UPDATE rides SET fare = NULL WHERE id = 1;
INSERT INTO rides (plate, rider, from_spot, asked) VALUES ('B-3', 'x', '(1,2,3)', '2024-05-01');
INSERT INTO rides (plate, rider, from_spot, asked) VALUES ('B-3', 'x', (1, 'a'), '2024-05-01');
-- Pings: the way driven, stops, the speed between points.
INSERT INTO pings SELECT 'B-' || c, timestamptz '2024-05-01 10:00+00' + n * interval '90 s', 52.5 + c * 0.01 + n * 0.002, 13.3 + sind(n * 20) * 0.02, CASE WHEN n % 5 = 3 THEN 0 ELSE 30 + n END FROM generate_series(1, 2) c, generate_series(0, 9) n;
INSERT INTO pings VALUES ('B-1', '2024-05-02 23:59:59.9+00', 52.5, 13.3, 10);
INSERT INTO pings VALUES ('B-1', '2024-05-03 00:00+00', 52.5, 13.3, 10);
INSERT INTO pings VALUES ('B-1', '2024-05-02 03:00+00', 52.5, 181, 10);
SELECT plate, to_char(at AT TIME ZONE 'Europe/Berlin', 'HH24:MI:SS') AS at, round(km(lag((lat, lon)::spot) OVER w, (lat, lon)::spot)::numeric, 3) AS step, round(sum(km(prev, (lat, lon)::spot)) OVER w::numeric, 2) AS way FROM (SELECT *, lag((lat, lon)::spot) OVER (PARTITION BY plate ORDER BY at) AS prev FROM pings) p WHERE plate = 'B-2' WINDOW w AS (PARTITION BY plate ORDER BY at);
SELECT plate, to_char(at, 'HH24:MI') AS at, round(d::numeric, 3) AS step, round(sum(d::numeric) OVER (PARTITION BY plate ORDER BY at), 2) AS way FROM (SELECT plate, at, km(ROW(lag(lat) OVER w, lag(lon) OVER w)::spot, ROW(lat, lon)::spot) AS d FROM pings WINDOW w AS (PARTITION BY plate ORDER BY at)) x WHERE plate = 'B-2' AND at < '2024-05-01 10:08+00';
SELECT plate, grp, count(*), min(at)::time AS since, max(speed) FROM (SELECT *, count(*) FILTER (WHERE speed = 0) OVER (PARTITION BY plate ORDER BY at) AS grp FROM pings) x GROUP BY plate, grp ORDER BY 1, 2;
SELECT date_bin('5 minutes', at, '2024-05-01 00:02+00') AS bin, count(*), round(avg(speed), 1), percentile_cont(0.5) WITHIN GROUP (ORDER BY speed) FROM pings WHERE at < '2024-05-02' GROUP BY 1 ORDER BY 1;
SELECT geohash(lat, lon, 6) AS gh, count(*) FROM pings GROUP BY 1 HAVING count(*) > 1 ORDER BY 2 DESC, 1 LIMIT 3;
SELECT y, string_agg(coalesce(n::text, '.'), '' ORDER BY x) FROM generate_series(0, 3) y CROSS JOIN generate_series(0, 4) x LEFT JOIN (SELECT floor((lat - 52.5) * 100)::int AS y, floor((lon - 13.28) * 100)::int AS x, count(*) AS n FROM pings GROUP BY 1, 2) p USING (y, x) GROUP BY y ORDER BY y DESC;
ALTER TABLE pings DETACH PARTITION pings_d1;
DROP TABLE pings_d1;
SELECT count(*) FROM pings;
SELECT jsonb_build_object('type', 'FeatureCollection', 'features', jsonb_agg(jsonb_build_object('type', 'Feature', 'geometry', jsonb_build_object('type', 'Polygon', 'coordinates', jsonb_build_array(ring)), 'properties', jsonb_build_object('name', name)) ORDER BY id)) FROM zones;
