CREATE TABLE orders (id integer, at date, customer integer, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)
;
CREATE TABLE orders_24 PARTITION OF orders FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY LIST (customer)
;
CREATE TABLE orders_24 PARTITION OF orders FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY LIST (id)
;
CREATE TABLE orders_25 (id integer NOT NULL, at date NOT NULL, customer integer) PARTITION BY LIST (customer)
;
ALTER TABLE orders ATTACH PARTITION orders_25 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')
;
CREATE TABLE orders_26 (id integer NOT NULL, at date NOT NULL, customer integer) PARTITION BY HASH (id)
;
ALTER TABLE orders ATTACH PARTITION orders_26 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')
;
SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class WHERE relispartition AND relkind IN ('r', 'p')
