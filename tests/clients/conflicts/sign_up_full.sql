-- Looks whether its name is taken, then takes it. Random names: nearly nobody is in anybody's way.
\set name random(1, 1000000000000)
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT id FROM signed_full WHERE name = 'user' || :name;
\sleep :think ms
INSERT INTO signed_full (name) VALUES ('user' || :name);
COMMIT;
