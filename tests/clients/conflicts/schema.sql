-- Tables for blocks that look before they insert.
CREATE TABLE counted (id bigint PRIMARY KEY, v int);
CREATE TABLE grouped (id bigint PRIMARY KEY, g int NOT NULL, v int);
CREATE INDEX grouped_by_g ON grouped (g);
CREATE TABLE signed (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE signed_full (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
INSERT INTO signed_full (name) SELECT 'user' || n FROM generate_series(1, 20000) n;
CREATE TABLE ascending (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE ascending_full (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);
INSERT INTO ascending_full (name) SELECT 'user' || n FROM generate_series(1000000000000001, 1000000000020000) n;
