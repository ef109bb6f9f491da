-- Words for moments, as constants; in one transaction, which has one day.
BEGIN;
SELECT 'now'::timestamptz = now(), timestamp 'now' = localtimestamp, date 'now' = current_date, time 'now' = localtime, timetz 'now' = current_time;
SELECT 'today'::date = current_date, 'tomorrow'::date - current_date, 'yesterday'::date - current_date, ' TODAY '::date = current_date, 'Tomorrow'::timestamp = current_date + 1, 'yesterday'::timestamptz = current_date - 1, 'today'::timestamptz = current_date;
SELECT 'now'::timestamp(0) = localtimestamp(0), 'allballs'::time, 'allballs'::timetz, 'epoch'::date, 'epoch'::timestamp, 'infinity'::date;
CREATE TABLE moments (id int PRIMARY KEY, d date, t timestamp, z timestamptz);
INSERT INTO moments VALUES (1, 'today', 'today', 'today'), (2, 'tomorrow', 'tomorrow', 'tomorrow');
SELECT id, d - current_date, t = d, z = d FROM moments ORDER BY id;
UPDATE moments SET d = 'yesterday' WHERE d = 'today';
SELECT id, d - current_date FROM moments WHERE d >= 'yesterday' AND z < 'tomorrow' ORDER BY id;
CREATE PROCEDURE put_moment(p_id int) LANGUAGE plpgsql AS $$
DECLARE x date := 'today';
BEGIN
    INSERT INTO moments VALUES (p_id, x, 'today', 'now');
END $$;
CALL put_moment(3);
SELECT d = current_date, t = current_date, z <= now() FROM moments WHERE id = 3;
SELECT now() - 'now' = interval '0';
SELECT 'today'::text, 'now' || '!';
COMMIT;
SELECT 'nowhere'::date;
SELECT 'now and then'::timestamp;
