CREATE INDEX CONCURRENTLY users_name ON users (lower(name));
