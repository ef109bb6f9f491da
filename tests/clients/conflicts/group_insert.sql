-- Each client counts the rows of a group of its own, then adds one to it: nobody is in anybody's way.
\set id random(1, 1000000000000)
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM grouped WHERE g = :client_id;
\sleep :think ms
INSERT INTO grouped VALUES (:id, :client_id, 0);
COMMIT;
