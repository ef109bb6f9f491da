-- Auctions: bids by proxy, extensions at the end, reserve prices, watchers told once, sealed-bid lots, settlement with fees in steps.
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS btree_gist;
CREATE TYPE lot_state AS ENUM ('draft', 'open', 'sold', 'unsold', 'withdrawn');
CREATE TYPE fee_step AS (upto numeric, percent numeric);
CREATE DOMAIN amount AS numeric(12,2) CHECK (VALUE > 0);
CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL UNIQUE, balance numeric(12,2) NOT NULL DEFAULT 0, blocked boolean NOT NULL DEFAULT false);
CREATE TABLE lots (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, seller int NOT NULL REFERENCES people, title text NOT NULL, state lot_state NOT NULL DEFAULT 'draft', during tstzrange NOT NULL, reserve amount, start_price amount NOT NULL DEFAULT 1,
  sealed boolean NOT NULL DEFAULT false, price amount, winner int REFERENCES people, bids int NOT NULL DEFAULT 0, hall int,
  CONSTRAINT sold_has_winner CHECK ((state = 'sold') = (winner IS NOT NULL)), CONSTRAINT reserve_above_start CHECK (reserve >= start_price),
  CONSTRAINT hall_free EXCLUDE USING gist (hall WITH =, during WITH &&) WHERE (hall IS NOT NULL AND state <> 'withdrawn'));
CREATE TABLE bids (lot int NOT NULL REFERENCES lots, n int NOT NULL, bidder int NOT NULL REFERENCES people, at timestamptz NOT NULL, most amount NOT NULL, shown amount, PRIMARY KEY (lot, n));
CREATE INDEX bids_best ON bids (lot, most DESC, at);
CREATE TABLE watchers (lot int REFERENCES lots ON DELETE CASCADE, person int REFERENCES people ON DELETE CASCADE, PRIMARY KEY (lot, person));
CREATE TABLE messages (id serial PRIMARY KEY, person int NOT NULL REFERENCES people ON DELETE CASCADE, lot int, text text NOT NULL);
CREATE TABLE fees (valid daterange PRIMARY KEY, steps fee_step[] NOT NULL);
INSERT INTO fees VALUES ('[2024-01-01,2024-07-01)', ARRAY[(100, 10), (1000, 5), (NULL, 2)]::fee_step[]), ('[2024-07-01,)', '{"(500,8)","(,3)"}');
SELECT valid, steps[1], (steps[2]).percent, array_length(steps, 1) FROM fees ORDER BY valid;
INSERT INTO people (id, name, balance) VALUES (1, 'Sella', 0), (2, 'Bea', 1000), (3, 'Carl', 800), (4, 'Dot', 50), (5, 'Eli', 10000);
CREATE FUNCTION fee_of(price numeric, day date) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
DECLARE s fee_step; below numeric := 0; total numeric := 0; all_steps fee_step[];
BEGIN
  SELECT steps INTO STRICT all_steps FROM fees WHERE valid @> day;
  FOREACH s IN ARRAY all_steps LOOP
    EXIT WHEN price <= below;
    total := total + (least(price, coalesce(s.upto, price)) - below) * s.percent / 100;
    below := coalesce(s.upto, price);
  END LOOP;
  RETURN round(total, 2);
EXCEPTION WHEN no_data_found THEN RAISE EXCEPTION 'no fees on %', day;
END $$;
SELECT p, fee_of(p, '2024-03-01'), fee_of(p, '2024-08-01') FROM unnest(ARRAY[50, 100, 550.5, 5000]) p;
SELECT fee_of(1, '2023-01-01');
CREATE FUNCTION step_of(price numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$ SELECT (ARRAY[1, 5, 10, 50])[width_bucket(price, ARRAY[0, 50, 200, 1000]::numeric[])] $$;
SELECT p, step_of(p) FROM unnest(ARRAY[0.5, 49.99, 50, 199, 1000]) p;
CREATE FUNCTION lot_changes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE moves constant text[][] := '{{draft,open},{draft,withdrawn},{open,sold},{open,unsold},{open,withdrawn}}'; m text[]; ok boolean := OLD.state = NEW.state;
BEGIN
  FOREACH m SLICE 1 IN ARRAY moves LOOP ok := ok OR m = ARRAY[OLD.state::text, NEW.state::text]; END LOOP;
  IF NOT ok THEN RAISE EXCEPTION 'lot % is %', OLD.id, OLD.state USING ERRCODE = 'AU001', TABLE = TG_TABLE_NAME, COLUMN = 'state'; END IF;
  IF OLD.bids > 0 AND (NEW.title, NEW.reserve, NEW.start_price, NEW.sealed) IS DISTINCT FROM (OLD.title, OLD.reserve, OLD.start_price, OLD.sealed) THEN
    RAISE EXCEPTION 'lot % has bids', OLD.id USING ERRCODE = 'AU002', DETAIL = (SELECT string_agg(format('%s: %s -> %s', o.key, o.value, n.value), '; ' ORDER BY o.key) FROM jsonb_each_text(to_jsonb(OLD)) o JOIN jsonb_each_text(to_jsonb(NEW)) n USING (key) WHERE o.value IS DISTINCT FROM n.value);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER lot_changes BEFORE UPDATE ON lots FOR EACH ROW EXECUTE FUNCTION lot_changes();
CREATE FUNCTION tell_watchers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO messages (person, lot, text) SELECT w.person, NEW.id, format('%I is %s%s', NEW.title, NEW.state, ' at ' || NEW.price) FROM watchers w WHERE w.lot = NEW.id ORDER BY w.person;
  RETURN NULL;
END $$;
CREATE TRIGGER tell_watchers AFTER UPDATE OF state ON lots FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.state IN ('sold', 'unsold', 'withdrawn')) EXECUTE FUNCTION tell_watchers();
INSERT INTO lots (seller, title, during, reserve, start_price, hall) VALUES (1, 'Clock', '[2024-03-01 10:00,2024-03-01 12:00)', 80, 20, 1), (1, 'Old map', '[2024-03-01 12:00,2024-03-01 13:00)', NULL, 1, 1), (1, 'Sealed box', '[2024-03-01 10:00,2024-03-02 10:00)', NULL, 5, NULL);
INSERT INTO lots (seller, title, during, hall) VALUES (1, 'Late', '[2024-03-01 12:59,2024-03-01 14:00)', 1);
INSERT INTO lots (seller, title, during, reserve, start_price) VALUES (1, 'Cheap', '[2024-03-01 12:59,2024-03-01 14:00)', 5, 10);
INSERT INTO lots (seller, title, during, state) VALUES (1, 'Sold', '[2024-03-01 12:59,2024-03-01 14:00)', 'sold');
INSERT INTO lots (seller, title, during, start_price) VALUES (1, 'Free', '[2024-03-01 12:59,2024-03-01 14:00)', 0.001);
UPDATE lots SET sealed = true WHERE title LIKE 'Sealed%';
UPDATE lots SET state = 'open' WHERE state = 'draft';
UPDATE lots SET state = 'draft' WHERE id = 1;
INSERT INTO watchers SELECT l, p FROM generate_series(1, 3) l, generate_series(2, 4) p WHERE (l + p) % 2 = 0;
-- A bid: the most that somebody pays; shown is what is needed to be in front.
CREATE FUNCTION bid(p_lot int, p_bidder int, p_most numeric, p_at timestamptz, OUT leader int, OUT price numeric, OUT note text) LANGUAGE plpgsql AS $$
DECLARE l lots; top bids; held numeric;
BEGIN
  SELECT * INTO l FROM lots WHERE id = p_lot FOR UPDATE;
  IF l.id IS NULL OR l.state <> 'open' OR NOT l.during @> p_at THEN RAISE EXCEPTION 'lot % takes no bids', p_lot USING ERRCODE = 'AU003', DETAIL = coalesce('It is ' || l.state || ', from ' || lower(l.during)::text || '.', 'There is none.'); END IF;
  IF l.seller = p_bidder THEN RAISE EXCEPTION 'own lot' USING ERRCODE = 'AU004'; END IF;
  SELECT coalesce(sum(b.most), 0) INTO held FROM (SELECT DISTINCT ON (lot) lot, bidder, most FROM bids JOIN lots ON lots.id = lot AND lots.state = 'open' AND NOT lots.sealed WHERE lot <> p_lot ORDER BY lot, most DESC, at) b WHERE b.bidder = p_bidder;
  IF p_most > (SELECT balance FROM people WHERE id = p_bidder) - held THEN RAISE EXCEPTION 'not enough: % held', held USING ERRCODE = 'AU005'; END IF;
  SELECT * INTO top FROM bids WHERE lot = p_lot ORDER BY most DESC, at LIMIT 1;
  IF NOT l.sealed AND p_most < coalesce(l.price + step_of(l.price), l.start_price) THEN
    note := 'too low'; leader := top.bidder; price := l.price;
    RETURN;
  END IF;
  INSERT INTO bids VALUES (p_lot, l.bids + 1, p_bidder, p_at, p_most);
  IF l.sealed THEN
    note := 'sealed';
  ELSIF top.lot IS NULL THEN
    leader := p_bidder; price := greatest(l.start_price, least(p_most, l.reserve));
  ELSIF top.bidder = p_bidder THEN
    leader := p_bidder; price := l.price; note := 'raised';
  ELSE
    leader := CASE WHEN p_most > top.most THEN p_bidder ELSE top.bidder END;
    price := least(greatest(p_most, top.most), least(p_most, top.most) + step_of(least(p_most, top.most)));
    IF leader = p_bidder THEN
      INSERT INTO messages (person, lot, text) VALUES (top.bidder, p_lot, 'outbid at ' || price);
    END IF;
  END IF;
  UPDATE bids SET shown = bid.price WHERE lot = p_lot AND n = l.bids + 1;
  UPDATE lots SET bids = bids + 1, price = coalesce(bid.price, lots.price),
    during = CASE WHEN upper(during) - p_at < interval '5 min' THEN tstzrange(lower(during), p_at + interval '5 min') ELSE during END WHERE id = p_lot;
EXCEPTION WHEN exclusion_violation THEN
  note := 'the hall is needed';
END $$;
SELECT * FROM bid(1, 2, 50, '2024-03-01 10:01');
SELECT * FROM bid(1, 3, 60, '2024-03-01 10:02');
SELECT * FROM bid(1, 3, 200, '2024-03-01 10:03');
SELECT * FROM bid(1, 2, 200, '2024-03-01 10:04');
SELECT * FROM bid(1, 5, 201, '2024-03-01 11:57');
SELECT * FROM bid(1, 1, 500, '2024-03-01 11:57');
SELECT * FROM bid(1, 4, 500, '2024-03-01 11:57');
SELECT * FROM bid(1, 2, 500, '2024-03-01 12:01');
SELECT * FROM bid(9, 2, 500, '2024-03-01 12:01');
SELECT * FROM bid(1, 2, 202, '2024-03-01 11:50');
SELECT p, (bid(3, p, 10 * p, '2024-03-01 11:00')).note FROM generate_series(2, 4) p;
SELECT * FROM bid(2, 2, 900, '2024-03-01 12:30');
SELECT * FROM bid(2, 2, 700, '2024-03-01 12:30');
SELECT lot, n, bidder, most, shown FROM bids ORDER BY lot, n;
UPDATE lots SET title = 'Grandfather clock', reserve = 10 WHERE id = 1;
CREATE PROCEDURE close_lots(p_at timestamptz, INOUT closed int DEFAULT 0) LANGUAGE plpgsql AS $$
DECLARE c CURSOR FOR SELECT * FROM lots WHERE state = 'open' AND upper(during) <= p_at ORDER BY upper(during), id FOR UPDATE; best record; pay numeric;
BEGIN
  FOR l IN c LOOP
    SELECT bidder, most, lead(most) OVER (ORDER BY most DESC, at) AS second INTO best FROM bids WHERE lot = l.id ORDER BY most DESC, at LIMIT 1;
    pay := CASE WHEN l.sealed THEN coalesce(best.second, l.start_price) ELSE l.price END;
    IF best.bidder IS NULL OR pay < l.reserve THEN
      UPDATE lots SET state = 'unsold' WHERE CURRENT OF c;
    ELSE
      UPDATE lots SET state = 'sold', winner = best.bidder, price = pay WHERE CURRENT OF c;
      UPDATE people SET balance = balance + CASE id WHEN l.seller THEN pay - fee_of(pay, upper(l.during)::date) ELSE -pay END WHERE id IN (l.seller, best.bidder);
    END IF;
    closed := closed + 1;
  END LOOP;
END $$;
CALL close_lots('2024-03-01 12:30');
CALL close_lots('2024-03-03');
SELECT id, title, state, price, winner, bids, during FROM lots ORDER BY id;
SELECT person, lot, text FROM messages ORDER BY id;
SELECT name, balance, sum(balance) OVER () FROM people ORDER BY id;
SELECT title, count(b.*) AS bids, count(DISTINCT bidder) AS bidders, max(most) - min(most) AS spread, (array_agg(name ORDER BY most DESC, at))[:2] AS leaders FROM lots l LEFT JOIN bids b ON b.lot = l.id LEFT JOIN people p ON p.id = b.bidder GROUP BY l.id HAVING count(*) > 1 ORDER BY l.id;
SELECT lot, n, most, most - lag(most, 1, 0) OVER w AS step, max(most) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before, bool_or(shown = most) OVER w FROM bids WINDOW w AS (PARTITION BY lot ORDER BY n) ORDER BY lot, n;
MERGE INTO watchers w USING (SELECT DISTINCT lot, bidder FROM bids) b ON (w.lot, w.person) = (b.lot, b.bidder) WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN INSERT VALUES (b.lot, b.bidder);
SELECT lot, array_agg(person ORDER BY person) FROM watchers GROUP BY lot ORDER BY lot;
UPDATE lots SET winner = NULL WHERE id = 2;
UPDATE lots SET price = -1 WHERE id = 2;
DELETE FROM people WHERE id = 5;
DELETE FROM people WHERE id = 4 RETURNING *;
