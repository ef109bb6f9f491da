-- Everybody counts all rows, then adds one: of those that overlap one commits.
\set id random(1, 1000000000000)
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM counted;
\sleep :think ms
INSERT INTO counted VALUES (:id, 0);
COMMIT;
