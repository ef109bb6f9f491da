CREATE TABLE p (id integer PRIMARY KEY)
;
CREATE TABLE c (id serial PRIMARY KEY, p_id integer REFERENCES p, n integer NOT NULL CHECK (n < 5), u integer UNIQUE)
;
INSERT INTO c (p_id, n) VALUES (1, 1), (2, 2), (3, 3)
;
INSERT INTO c (p_id, n) VALUES (1, 1), (NULL, NULL)
;
INSERT INTO c (p_id, n) VALUES (1, 1), (NULL, 7)
;
INSERT INTO c (p_id, n, u) VALUES (1, 1, 1), (NULL, 1, 1)
;
INSERT INTO c (p_id, n) SELECT NULL, 1 UNION ALL SELECT 9, 1
;
INSERT INTO c (p_id, n) VALUES (NULL, 1) RETURNING id
