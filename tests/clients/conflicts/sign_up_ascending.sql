-- Looks whether its name is taken, then takes it. Ascending names: all meet at the end of the index.
\set turn :turn + 1
\set name :start + :turn * 64 + :client_id
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT id FROM ascending WHERE name = 'user' || :name;
\sleep :think ms
INSERT INTO ascending (name) VALUES ('user' || :name);
COMMIT;
