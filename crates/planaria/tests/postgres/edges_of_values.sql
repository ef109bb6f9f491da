-- Aggregates with an order beside ones without, dates behind the last timestamp, what NULL makes of what fails.
SELECT array_agg(a), array_agg(a ORDER BY a DESC), string_agg(a::text, ','), sum(a) FROM (VALUES (1), (3), (2)) v(a);
SELECT k, array_agg(a), array_agg(a ORDER BY a), string_agg(a::text, '' ORDER BY a DESC), json_agg(a) FROM (VALUES (1, 3), (2, 1), (1, 1), (1, 2), (2, 0)) v(k, a) GROUP BY k ORDER BY k;
SELECT array_agg(a ORDER BY a), count(*), max(a) FROM (VALUES (1), (3), (2)) v(a);
CREATE TABLE gathered (all_of int[], sorted int[], texts text);
CREATE FUNCTION gather() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO gathered SELECT array_agg(a), array_agg(a ORDER BY a), string_agg(a::text, '' ORDER BY -a) FROM (VALUES (2), (3), (1)) v(a);
END $$;
SELECT gather();
SELECT * FROM gathered;
CREATE TABLE moments (d date, t timestamp, z timestamptz);
INSERT INTO moments VALUES ('5874897-12-31', '294276-12-31', '294276-12-31'), ('2024-01-01', '2024-01-01', '2024-01-01'), ('infinity', 'infinity', 'infinity'), ('5874897-12-31', 'infinity', '-infinity');
SELECT d = t, d < t, d > t, d <> z, d >= z, t <= d, z < d FROM moments;
CREATE INDEX ON moments (t);
SELECT count(*) FROM moments m JOIN moments n ON n.t = m.d;
SELECT d FROM moments WHERE d BETWEEN '2024-01-01'::timestamp AND '294000-01-01'::timestamp;
SELECT d::timestamp FROM moments WHERE d > '294276-12-31'::timestamp;
SELECT extract(timezone_hour FROM d) FROM moments WHERE d = 'infinity';
SELECT extract(hour FROM d) FROM moments WHERE d = 'infinity';
SELECT extract(day FROM d), extract(year FROM d), extract(epoch FROM d) FROM moments WHERE d = 'infinity';
SELECT (m * 3) - NULL::money, NULL::int + (1 / (x - 1)), abs(NULL::int / (x - 1)) FROM (VALUES (1, '92233720368547758.07'::money), (1, '1')) v(x, m);
SELECT count(*) FROM (VALUES (1), (1)) v(x) WHERE x = NULL::int + 1 / (x - 1);
SELECT '{"a":1'::jsonb FROM moments WHERE false;
SELECT no_such('2024-01-01'::date, '{"a":1'::jsonb);
SELECT '\x1'::bytea FROM moments WHERE false;
