-- A game: players, scores by upsert, seasons, ranks, badges given by triggers, rooms under advisory locks.
SET timezone = 'Asia/Tokyo';
CREATE TABLE player (player_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, nick varchar(16) NOT NULL CONSTRAINT nick_taken UNIQUE CONSTRAINT nick_form CHECK (nick ~ '^\w{3,}$'), xp bigint NOT NULL DEFAULT 0, level int GENERATED ALWAYS AS (floor(sqrt(xp / 100.0))::int + 1) STORED, coins int NOT NULL DEFAULT 100, streak smallint NOT NULL DEFAULT 0, seen timestamptz);
CREATE TABLE match (match_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, played timestamptz NOT NULL, mode text NOT NULL CHECK (mode IN ('duel', 'team')), duration interval NOT NULL CHECK (duration BETWEEN interval '1 second' AND interval '2 hours'));
CREATE TABLE result (match_id int NOT NULL REFERENCES match, nick varchar(16) NOT NULL REFERENCES player (nick) ON UPDATE CASCADE ON DELETE CASCADE, points int NOT NULL, won boolean, PRIMARY KEY (match_id, nick));
CREATE TABLE ladder (season date, nick varchar(16) REFERENCES player (nick) ON UPDATE CASCADE ON DELETE CASCADE, wins int NOT NULL DEFAULT 0, losses int NOT NULL DEFAULT 0, best int, elo real NOT NULL DEFAULT 1000, PRIMARY KEY (season, nick)) WITH (fillfactor = 70);
CREATE TABLE badge (code text PRIMARY KEY, title text NOT NULL, rule text NOT NULL, needs int NOT NULL);
CREATE TABLE badge_of (nick varchar(16) REFERENCES player (nick) ON UPDATE CASCADE ON DELETE CASCADE, code text REFERENCES badge, given timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (nick, code));
CREATE TABLE purse (id bigserial, nick varchar(16) NOT NULL, delta int NOT NULL CHECK (delta <> 0), why text);
INSERT INTO badge VALUES ('first', 'First win', 'wins', 1), ('three', 'Three wins', 'wins', 3), ('lvl3', 'Level three', 'level', 3), ('rich', 'Rich', 'coins', 200);
INSERT INTO player (nick, seen) VALUES ('ann', '2024-05-01 00:00+09'), ('bob_99', NULL), ('cyd', timestamptz '2024-05-02' - interval '1 day') RETURNING nick, level, coins, seen;
INSERT INTO player (nick) VALUES ('ab');
INSERT INTO player (nick) VALUES ('a name with spaces');
INSERT INTO player (nick) VALUES ('ann');
INSERT INTO player (nick, level) VALUES ('dee', 5);
CREATE FUNCTION give_badges() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE b badge; has int; w int;
BEGIN
  FOR b IN SELECT * FROM badge x WHERE NOT EXISTS (SELECT 1 FROM badge_of o WHERE o.nick = NEW.nick AND o.code = x.code) ORDER BY code LOOP
    has := CASE b.rule WHEN 'level' THEN NEW.level WHEN 'coins' THEN NEW.coins ELSE (SELECT sum(wins)::int FROM ladder WHERE nick = NEW.nick) END;
    IF has >= b.needs THEN
      INSERT INTO badge_of (nick, code, given) VALUES (NEW.nick, b.code, '2024-05-05 Asia/Tokyo');
      RAISE NOTICE '% earns "%" (% %)', NEW.nick, b.title, has, b.rule;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER give_badges AFTER UPDATE ON player FOR EACH ROW WHEN (OLD.xp <> NEW.xp OR OLD.coins IS DISTINCT FROM NEW.coins) EXECUTE FUNCTION give_badges();
CREATE FUNCTION record_match(p_mode text, p_at timestamptz, p_took interval, VARIADIC p_who text[]) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION record_match(p_mode text, p_at timestamptz, p_took interval, p_who text[], p_points int[]) RETURNS int LANGUAGE plpgsql AS $$
DECLARE m int; top int; s date := date_trunc('month', p_at AT TIME ZONE 'Asia/Tokyo'); i int; n int; e real;
BEGIN
  IF array_length(p_who, 1) IS DISTINCT FROM array_length(p_points, 1) THEN RAISE EXCEPTION '% players, % scores', coalesce(array_length(p_who, 1), 0), coalesce(array_length(p_points, 1), 0) USING ERRCODE = 'array_subscript_error'; END IF;
  PERFORM pg_advisory_xact_lock(hashtext(p_mode));
  INSERT INTO match (played, mode, duration) VALUES (p_at, p_mode, p_took) RETURNING match_id INTO m;
  SELECT max(x) INTO top FROM unnest(p_points) x;
  FOR i IN 1 .. cardinality(p_who) LOOP
    INSERT INTO result VALUES (m, p_who[i], p_points[i], p_points[i] = top);
    INSERT INTO ladder AS l (season, nick, wins, losses, best, elo) VALUES (s, p_who[i], (p_points[i] = top)::int, (p_points[i] < top)::int, p_points[i], 1000 + CASE WHEN p_points[i] = top THEN 16 ELSE -16 END)
      ON CONFLICT (season, nick) DO UPDATE SET wins = l.wins + EXCLUDED.wins, losses = l.losses + EXCLUDED.losses, best = greatest(l.best, EXCLUDED.best), elo = l.elo + EXCLUDED.elo - 1000;
    UPDATE player SET xp = xp + 10 + p_points[i], coins = coins + CASE WHEN p_points[i] = top THEN 25 ELSE 5 END, streak = CASE WHEN p_points[i] = top THEN streak + 1 ELSE 0 END, seen = greatest(seen, p_at + p_took) WHERE nick = p_who[i];
    GET DIAGNOSTICS n := ROW_COUNT;
    IF n <> 1 THEN RAISE NO_DATA_FOUND; END IF;
  END LOOP;
  RETURN m;
END $$;
SELECT record_match('duel', '2024-05-01 20:00', '00:10:30', '{ann,bob_99}', '{120,80}');
SELECT record_match('team', '2024-05-02 20:00', '45 min', ARRAY['ann', 'bob_99', 'cyd'], ARRAY[150, 151, 90]);
SELECT record_match('duel', '2024-05-31 23:59', '90 sec', '{cyd,ann}', '{7,300}'), record_match('duel', '2024-05-31 16:00+00', '1:2', '{cyd,ann}', '{8,80}');
SELECT record_match('duel', '2024-05-31 23:59', '90 sec', '{cyd,ann}', '{7}');
SELECT record_match('duel', '2024-05-31 23:59', '90 sec', '{cyd,zoe}', '{7,8}');
SELECT record_match('duel', '2024-05-31 23:59', '3 hours', '{cyd,ann}', '{7,8}');
SELECT record_match('solo', '2024-05-31 23:59', '3 min', '{cyd}', '{7}');
SELECT record_match('duel', '2024-05-31 23:59', '3 min', '{cyd,cyd}', '{7,8}');
SELECT record_match('duel', '2024-05-31 23:59', '3 min', NULL, NULL);
SELECT nick, xp, level, coins, streak, seen FROM player ORDER BY nick;
SELECT season, nick, wins, losses, best, elo, rank() OVER (PARTITION BY season ORDER BY elo DESC, nick) AS place, elo - first_value(elo) OVER (PARTITION BY season ORDER BY elo DESC) AS behind, round((wins::numeric / (wins + losses)) * 100) || '%' AS rate FROM ladder ORDER BY season, place;
SELECT DISTINCT ON (nick) nick, points, played, mode FROM result JOIN match USING (match_id) ORDER BY nick, points DESC, played;
SELECT DISTINCT ON (mode) mode, nick, points FROM result NATURAL JOIN match ORDER BY mode, points;
SELECT DISTINCT ON (mode) nick FROM result NATURAL JOIN match ORDER BY nick;
-- Streaks by gaps and islands.
SELECT nick, count(*) AS streak, min(match_id) AS first, max(match_id) AS last FROM (SELECT nick, match_id, won, row_number() OVER (PARTITION BY nick ORDER BY match_id) - row_number() OVER (PARTITION BY nick, won ORDER BY match_id) AS g FROM result) x WHERE won GROUP BY nick, g ORDER BY nick, first;
-- The purse: spends are held to what is there.
CREATE FUNCTION spend(p text, amount int, INOUT what text DEFAULT 'something', OUT rest int) LANGUAGE plpgsql AS $$
BEGIN
  WITH u AS (UPDATE player SET coins = coins - amount WHERE nick = p AND coins >= amount RETURNING coins), l AS (INSERT INTO purse (nick, delta, why) SELECT p, -amount, what FROM u RETURNING id) SELECT coins INTO rest FROM u;
  IF rest IS NULL THEN
    RAISE EXCEPTION '% cannot pay %', p, amount USING ERRCODE = 'GM402', DETAIL = coalesce('Has ' || (SELECT coins FROM player WHERE nick = p) || '.', 'Who?');
  END IF;
  what := upper(what);
END $$;
SELECT * FROM spend('ann', 50, 'sword');
SELECT rest FROM spend('bob_99', 1);
SELECT spend('bob_99', 1000);
SELECT spend('nobody', 1);
SELECT spend('ann', 0);
SELECT nick, delta, why FROM purse ORDER BY id;
-- Rooms under locks.
SELECT pg_try_advisory_lock(42), pg_try_advisory_lock(42), pg_try_advisory_lock_shared(7, 1);
SELECT locktype, classid, objid, objsubid, mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
SELECT pg_advisory_unlock(42), pg_advisory_unlock(42), pg_advisory_unlock(42);
SELECT pg_advisory_unlock_shared(7, 1), pg_advisory_unlock_all();
BEGIN;
SELECT pg_try_advisory_xact_lock(1, 2);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
COMMIT;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
UPDATE player SET nick = 'anna' WHERE nick = 'ann' RETURNING nick;
SELECT nick, array_agg(code ORDER BY code), min(given) FROM badge_of GROUP BY nick ORDER BY nick;
UPDATE player SET coins = 500, xp = 0 WHERE nick = 'cyd' RETURNING level;
UPDATE player SET nick = 'x' WHERE nick = 'cyd';
WITH best AS (SELECT nick FROM ladder ORDER BY elo DESC LIMIT 1) INSERT INTO purse (nick, delta, why) SELECT nick, 1000, 'prize' FROM best RETURNING *;
WITH moved AS (DELETE FROM ladder WHERE season < '2024-06-01' RETURNING *), kept AS (SELECT nick, sum(wins) AS w FROM moved GROUP BY nick) UPDATE player p SET coins = coins + 10 * k.w FROM kept k WHERE k.nick = p.nick;
DELETE FROM player WHERE nick = 'bob_99' RETURNING nick, level;
SELECT count(*), count(DISTINCT nick), sum(points) FROM result;
SELECT played::date AS day, to_char(played, 'HH24:MI') AS at, duration, duration * 2 AS double, extract(minute FROM duration) AS m, played + duration AS ends, played AT TIME ZONE 'UTC' AS utc, date_part('hour', played) FROM match ORDER BY match_id;
SELECT generate_series(1, 3) AS n, nick FROM player ORDER BY nick, n DESC;
SELECT g.n, random() < 1, gen_random_uuid() <> gen_random_uuid(), 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' = 'A0EEBC999C0B4EF8BB6D6BB9BD380A11'::uuid FROM generate_series(1, 1) g(n);
SELECT least(3, NULL, 1), greatest('a', 'B'), 7 / 2, -7 / 2, -7 % 3, 7.0 / 2, 2 ^ 10, sqrt(16), @ -3, 5 # 3, ~1, 1 << 4, power(2, -1), mod(-7, 3), div(7, 2), sign(-2.5), trunc(-2.5), round(2.5), round(-2.5::float8), ceil(1.1), gcd(12, 18), lcm(4, 6), factorial(5);
