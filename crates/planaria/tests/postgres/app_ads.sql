-- with contexts
-- Advertising: campaigns with budgets by day, targeting in jsonb, second-price auctions, pacing, hourly roll-ups by upsert, attribution of the last click, caps by user, reports with medians and holes filled.
CREATE SCHEMA ads;
SET search_path = ads;
CREATE TYPE pricing AS ENUM ('cpc', 'cpm', 'cpa');
CREATE TABLE advertisers (id int PRIMARY KEY, name text NOT NULL, balance numeric(12,4) NOT NULL DEFAULT 0, tz text NOT NULL DEFAULT 'UTC');
CREATE TABLE campaigns (id int PRIMARY KEY, advertiser int NOT NULL REFERENCES advertisers, name text NOT NULL, model pricing NOT NULL, bid numeric(8,4) NOT NULL CHECK (bid > 0), daily numeric(10,2), flight daterange NOT NULL, targeting jsonb NOT NULL DEFAULT '{}', cap_per_user int, status text NOT NULL DEFAULT 'live', CONSTRAINT flight_bounded CHECK (NOT lower_inf(flight) AND NOT isempty(flight)));
CREATE INDEX campaigns_live ON campaigns USING gist (flight) WHERE status = 'live';
CREATE TABLE creatives (id int PRIMARY KEY, campaign int NOT NULL REFERENCES campaigns ON DELETE CASCADE, size int[] NOT NULL CHECK (array_length(size, 1) = 2), weight real NOT NULL DEFAULT 1, quality numeric(3,2) NOT NULL DEFAULT 1.00);
CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY, kind "char" NOT NULL CHECK (kind IN ('i', 'c', 'a')), campaign int NOT NULL, creative int, person text NOT NULL, at timestamptz NOT NULL, price numeric(10,6) NOT NULL DEFAULT 0, revenue numeric(10,2), PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE events_0601 PARTITION OF events FOR VALUES FROM ('2024-06-01 00:00+00') TO ('2024-06-02 00:00+00');
CREATE TABLE events_0602 PARTITION OF events FOR VALUES FROM ('2024-06-02 00:00+00') TO ('2024-06-03 00:00+00');
CREATE INDEX ON events (person, at DESC);
CREATE TABLE hourly (campaign int, hour timestamptz, impressions int NOT NULL DEFAULT 0, clicks int NOT NULL DEFAULT 0, actions int NOT NULL DEFAULT 0, spend numeric(12,6) NOT NULL DEFAULT 0, ctr numeric GENERATED ALWAYS AS (round(clicks::numeric / nullif(impressions, 0), 4)) STORED, PRIMARY KEY (campaign, hour)) WITH (fillfactor = 70);
CREATE UNIQUE INDEX hourly_clicky ON hourly (hour, campaign) WHERE ctr > 0.1;
INSERT INTO advertisers VALUES (1, 'Shoes', 50, 'Europe/Rome'), (2, 'Soap', 20, DEFAULT), (3, 'Trips', 0.01, 'America/Lima');
INSERT INTO campaigns VALUES (10, 1, 'Run', 'cpc', 0.5, 5, '[2024-06-01,2024-06-30]', '{"country": ["IT", "FR"], "device": ["mobile"]}', 2), (11, 1, 'Walk', 'cpm', 4, NULL, '[2024-05-01,2024-06-02)', '{"age": {"min": 30}}', NULL), (20, 2, 'Clean', 'cpm', 6.5, 0.02, '[2024-06-01,2024-06-03)', '{}', NULL), (30, 3, 'Fly', 'cpa', 10, NULL, '[2024-06-01,)', '{"interest": ["travel"]}', 1);
INSERT INTO campaigns VALUES (40, 3, 'Never', 'cpc', 1, NULL, '(,2024-06-01)');
INSERT INTO campaigns VALUES (40, 3, 'Free', 'cpc', 0, NULL, '[2024-06-01,2024-07-01)');
INSERT INTO creatives VALUES (1, 10, '{300,250}', 1, 0.9), (2, 10, '{300,250}', 2, 1), (3, 11, '{728,90}', DEFAULT, 1.2), (4, 20, '{300,250}', DEFAULT, 0.8), (5, 30, '{300,250}', DEFAULT, 1.5);
INSERT INTO creatives VALUES (6, 30, '{300}');
INSERT INTO creatives VALUES (6, 30, '{{300,250}}', 1, 10);
CREATE FUNCTION matches(t jsonb, p jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(bool_and(CASE jsonb_typeof(v) WHEN 'array' THEN CASE jsonb_typeof(p -> k) WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(v) x WHERE (p -> k) @> jsonb_build_array(x)) ELSE v @> (p -> k) END WHEN 'object' THEN coalesce((p ->> k)::numeric BETWEEN coalesce((v ->> 'min')::numeric, 0) AND coalesce((v ->> 'max')::numeric, 'Infinity'), false) ELSE v = p -> k END), true)
  FROM jsonb_each(t) AS e(k, v)
$$;
SELECT matches('{}', '{"x": 1}'), matches('{"country": ["IT"]}', '{"country": "IT"}'), matches('{"interest": ["travel"]}', '{"interest": ["food", "travel"]}'), matches('{"age": {"min": 30}}', '{"age": 29.5}'), matches('{"age": {"min": 30}}', '{}');
CREATE FUNCTION spent(c int, day date) RETURNS numeric LANGUAGE sql STABLE AS $$ SELECT coalesce(sum(spend), 0) FROM hourly WHERE campaign = c AND hour >= day AND hour < day + 1 $$;
CREATE FUNCTION roll_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO hourly AS h (campaign, hour, impressions, clicks, actions, spend)
    SELECT campaign, date_trunc('hour', at), count(*) FILTER (WHERE kind = 'i'), count(*) FILTER (WHERE kind = 'c'), count(*) FILTER (WHERE kind = 'a'), sum(price) FROM fresh GROUP BY 1, 2
  ON CONFLICT (campaign, hour) DO UPDATE SET impressions = h.impressions + excluded.impressions, clicks = h.clicks + excluded.clicks, actions = h.actions + excluded.actions, spend = h.spend + excluded.spend;
  UPDATE advertisers a SET balance = balance - s.total FROM (SELECT c.advertiser, sum(f.price) AS total FROM fresh f JOIN campaigns c ON c.id = f.campaign GROUP BY 1) s WHERE s.advertiser = a.id AND s.total > 0;
  RETURN NULL;
END $$;
CREATE TRIGGER roll_up AFTER INSERT ON events REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION roll_up();
-- An auction: expected value of a thousand, the winner pays what the second would, a cent more.
CREATE FUNCTION auction(person text, profile jsonb, slot int[], t timestamptz, OUT campaign int, OUT creative int, OUT price numeric, OUT why jsonb) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE r record; best campaigns; second numeric := 0.1; n int := 0; tried jsonb := '[]';
BEGIN
  FOR r IN SELECT c.*, x.id AS creative, x.quality, CASE c.model WHEN 'cpm' THEN c.bid WHEN 'cpc' THEN c.bid * 1000 * 0.02 ELSE c.bid * 1000 * 0.001 END * x.quality AS ecpm FROM campaigns c JOIN creatives x ON x.campaign = c.id AND x.size = slot JOIN advertisers a ON a.id = c.advertiser WHERE c.status = 'live' AND c.flight @> (t AT TIME ZONE a.tz)::date AND a.balance > 0 ORDER BY ecpm DESC, x.weight DESC, x.id LOOP
    IF NOT matches(r.targeting, profile) THEN tried := tried || jsonb_build_array(r.name, 'target'); CONTINUE; END IF;
    IF r.cap_per_user <= (SELECT count(*) FROM events e WHERE e.person = auction.person AND e.campaign = r.id AND e.kind = 'i' AND e.at > t - interval '1 day') THEN tried := tried || jsonb_build_array(r.name, 'cap'); CONTINUE; END IF;
    IF spent(r.id, (t AT TIME ZONE 'UTC')::date) >= r.daily THEN tried := tried || jsonb_build_array(r.name, 'budget'); CONTINUE; END IF;
    n := n + 1;
    IF n = 1 THEN SELECT * INTO best FROM campaigns c WHERE c.id = r.id; creative := r.creative;
    ELSIF r.id <> best.id THEN second := r.ecpm; EXIT;
    END IF;
  END LOOP;
  why := tried;
  IF n = 0 THEN RETURN; END IF;
  campaign := best.id;
  price := CASE best.model WHEN 'cpm' THEN least(best.bid, second + 0.01) / 1000 ELSE 0 END;
  INSERT INTO events (kind, campaign, creative, person, at, price) VALUES ('i', best.id, creative, auction.person, t, price);
END $$;
SELECT * FROM auction('p1', '{"country": "IT", "device": "mobile", "age": 40}', '{300,250}', '2024-06-01 08:00+00');
SELECT * FROM auction('p1', '{"country": "IT", "device": "mobile"}', '{300,250}', '2024-06-01 08:10+00');
SELECT * FROM auction('p1', '{"country": "IT", "device": "mobile"}', '{300,250}', '2024-06-01 08:20+00');
SELECT * FROM auction('p2', '{"country": "DE", "interest": ["travel"]}', '{300,250}', '2024-06-01 09:00+00');
SELECT * FROM auction('p2', '{"country": "DE", "interest": ["travel"]}', '{300,250}', '2024-06-01 09:05+00');
SELECT * FROM auction('p3', '{"age": "old"}', '{728,90}', '2024-06-01 09:05+00');
SELECT * FROM auction('p3', '{"age": 31}', '{728,90}', '2024-06-01 23:59+00');
SELECT * FROM auction('p3', '{"age": 31}', '{728,90}', '2024-06-02 23:59+00');
SELECT n, (auction('q' || n, '{}', ARRAY[300,250], timestamptz '2024-06-01 10:00+00' + n * interval '3 min')).price FROM generate_series(1, 4) n;
SELECT * FROM auction('q9', '{}', '{300,250}', '2024-06-03 10:00+00');
SELECT campaign, count(*), sum(price) FROM events GROUP BY 1 ORDER BY 1;
-- Clicks and actions: attributed to the last click within a window, else to the last view.
INSERT INTO events (kind, campaign, person, at, price) SELECT 'c', campaign, person, at + interval '2 min', CASE WHEN c.model = 'cpc' THEN c.bid ELSE 0 END FROM events e JOIN campaigns c ON c.id = e.campaign WHERE e.kind = 'i' AND e.person IN ('p1', 'p2');
CREATE FUNCTION attribute(who text, t timestamptz, value numeric) RETURNS text LANGUAGE plpgsql AS $$
DECLARE e events;
BEGIN
  SELECT * INTO e FROM events WHERE person = who AND kind IN ('c', 'i') AND at BETWEEN t - CASE kind WHEN 'c' THEN interval '7 days' ELSE interval '1 hour' END AND t ORDER BY (kind = 'c') DESC, at DESC LIMIT 1;
  IF e.id IS NULL THEN RETURN 'organic'; END IF;
  INSERT INTO events (kind, campaign, creative, person, at, price, revenue) SELECT 'a', e.campaign, e.creative, who, t, CASE c.model WHEN 'cpa' THEN c.bid ELSE 0 END, value FROM campaigns c WHERE c.id = e.campaign;
  RETURN format('%s by %s after %s', e.campaign, CASE e.kind WHEN 'c' THEN 'click' ELSE 'view' END, t - e.at);
END $$;
SELECT attribute('p1', '2024-06-01 20:00+00', 89.9), attribute('p2', '2024-06-01 09:30+00', 450), attribute('q1', '2024-06-01 10:30+00', 5), attribute('q1', '2024-06-01 12:30+00', 5), attribute('zz', '2024-06-01 12:30+00', 5);
SELECT attribute('p1', '2024-06-05 20:00+00', 10);
SELECT id, name, balance, CASE WHEN balance < 0 THEN 'owes ' || to_char(-balance, 'FM990.00') END FROM advertisers ORDER BY id;
TABLE hourly ORDER BY 1, 2;
SELECT hour, campaign FROM hourly WHERE ctr > 0.1 AND hour = '2024-06-01 09:00+00' ORDER BY campaign;
INSERT INTO hourly (campaign, hour, ctr) VALUES (10, '2024-06-01 09:00+00', 1);
-- Reports.
SELECT c.name, g::time AS hour, coalesce(h.impressions, 0) AS i, sum(coalesce(h.impressions, 0)) OVER w AS upto, max(h.hour) OVER w AS last FROM campaigns c CROSS JOIN generate_series(timestamptz '2024-06-01 08:00+00', '2024-06-01 11:00+00', '1 hour') g LEFT JOIN hourly h ON h.campaign = c.id AND h.hour = g WHERE c.id IN (10, 20) WINDOW w AS (PARTITION BY c.id ORDER BY g) ORDER BY c.id, g;
SELECT a.id, a.name, c.model, sum(h.spend) AS spend, sum(h.actions) AS actions, round(sum(h.spend) / nullif(sum(h.actions), 0), 3) AS cpa, grouping(c.model) AS g FROM advertisers a JOIN campaigns c ON c.advertiser = a.id JOIN hourly h ON h.campaign = c.id GROUP BY a.id, ROLLUP (c.model) ORDER BY a.id, c.model;
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n) AS median, max(n), mode() WITHIN GROUP (ORDER BY n DESC), round(avg(n), 2) FROM (SELECT person, count(*) AS n FROM events WHERE kind = 'i' GROUP BY person) x;
SELECT person, string_agg(kind::text || campaign, '>' ORDER BY at, id) AS path, max(at) - min(at) AS span FROM events GROUP BY person HAVING bool_or(kind = 'a') ORDER BY person;
SELECT to_char(at AT TIME ZONE a.tz, 'Dy HH24') AS local, count(*) FROM events e JOIN campaigns c ON c.id = e.campaign JOIN advertisers a ON a.id = c.advertiser GROUP BY a.tz, 1 ORDER BY a.tz, min(at);
SELECT corr(impressions, clicks)::numeric(6,4), regr_slope(clicks, impressions)::numeric(6,4), covar_pop(impressions, spend)::numeric(8,4) FROM hourly;
WITH RECURSIVE pacing (hour, left_over, rate) AS (SELECT 0, 5.0::numeric, round(5.0 / 24, 4) UNION ALL SELECT hour + 6, left_over - rate * 6 * (1 + hour / 24.0), round((left_over - rate * 6 * (1 + hour / 24.0)) / (24 - hour - 6), 4) FROM pacing WHERE hour < 18 AND left_over > 0) SELECT hour, round(left_over, 3), rate FROM pacing;
UPDATE campaigns SET flight = flight * '[2024-06-02,2024-06-10)', targeting = targeting - 'device' || '{"os": "any"}' WHERE id IN (10, 30) RETURNING id, flight, targeting;
UPDATE campaigns SET flight = flight - '[2024-06-04,2024-06-06)' WHERE id = 10;
UPDATE campaigns SET flight = flight * '[2025-01-01,2025-02-01)' WHERE id = 11;
DELETE FROM campaigns WHERE id = 30 RETURNING name, model;
SELECT count(*) FROM creatives;
TRUNCATE events_0601;
SELECT (SELECT count(*) FROM events), (SELECT sum(impressions) FROM hourly);
