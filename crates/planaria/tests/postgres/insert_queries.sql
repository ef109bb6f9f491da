-- Rows of a query are sorted, cut and told apart before they are converted to the columns they go to.
CREATE TABLE texts (v text);
INSERT INTO texts SELECT g FROM generate_series(1, 10) g ORDER BY g DESC LIMIT 1;
INSERT INTO texts SELECT g FROM generate_series(1, 10) g ORDER BY 1 DESC LIMIT 2 OFFSET 1;
INSERT INTO texts VALUES (9), (10), (11) ORDER BY 1 LIMIT 1;
INSERT INTO texts (SELECT 20 UNION ALL SELECT 100) ORDER BY 1 LIMIT 1;
SELECT * FROM texts ORDER BY v;
CREATE TABLE numbers (v int);
INSERT INTO numbers SELECT DISTINCT g / 10.0 FROM generate_series(1, 10) g;
INSERT INTO numbers (SELECT 1.2 UNION SELECT 1.4);
INSERT INTO numbers (SELECT 2.2 EXCEPT SELECT 2.4);
INSERT INTO numbers (SELECT 3.2 INTERSECT SELECT 3.4);
INSERT INTO numbers SELECT DISTINCT ON (g / 4.0) g / 4.0 FROM generate_series(13, 16) g ORDER BY g / 4.0;
SELECT v, count(*) FROM numbers GROUP BY v ORDER BY v;
CREATE TABLE short (n int, v varchar(8));
INSERT INTO short VALUES (1, 'one');
INSERT INTO short (SELECT 0, 'a'::text FROM short WHERE false) EXCEPT (SELECT 0, repeat('x', 32) FROM short);
INSERT INTO short (SELECT 0, 'a'::text FROM short) INTERSECT (SELECT 0, repeat('x', 32) FROM short);
INSERT INTO short SELECT DISTINCT n + 1, v FROM short;
INSERT INTO short (SELECT 7, 'x') UNION (SELECT 7, 'x');
INSERT INTO short SELECT DISTINCT 8, 'y';
SELECT * FROM short ORDER BY n;
-- Sides of a set operation, too.
SELECT * FROM (SELECT DISTINCT 1 UNION ALL (SELECT DISTINCT 1.0) UNION ALL (SELECT g FROM generate_series(9, 10) g ORDER BY g DESC LIMIT 1)) u ORDER BY 1;
(SELECT g FROM generate_series(1, 3) g EXCEPT SELECT 2) UNION ALL SELECT 2.5 ORDER BY 1;
