-- no-transaction
CREATE INDEX CONCURRENTLY IF NOT EXISTS customer_name ON customer (lower(name));
