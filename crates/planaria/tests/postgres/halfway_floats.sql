SELECT m, string_agg((k * m)::real::text, ' ' ORDER BY k) FROM generate_series(1, 300) k, (VALUES (1::bigint), (65536), (1000000), (50000000), (500000000), (12500000000), (1000000000000)) v(m) GROUP BY m ORDER BY m;
SELECT m, string_agg((k * m)::double precision::text, ' ' ORDER BY k) FROM generate_series(1, 200) k, (VALUES (1000000000000000::bigint), (9007199254740993), (45035996273704960), (2251799813685249)) v(m) GROUP BY m ORDER BY m;
SELECT (-5500000000::bigint)::real, 16777217::real, 33554431::real, 8388609::real, 0.1::real, 1e-10::real, 3e38::float8::real;
CREATE TABLE at (id int, t time);
INSERT INTO at VALUES (1, '00:10'), (2, '00:30'), (3, '12:00'), (4, '23:40'), (5, '23:55');
SELECT id, count(*) OVER (ORDER BY t RANGE BETWEEN interval '30 minutes' PRECEDING AND interval '30 minutes' FOLLOWING) FROM at ORDER BY id;
