CREATE TYPE mood AS ENUM ('sad', 'so_so', 'glad');
CREATE TYPE place AS (city text, number int);
CREATE DOMAIN code AS text CHECK (value ~ '^[a-z]+$');
CREATE TABLE customer (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    email text UNIQUE,
    mood mood NOT NULL DEFAULT 'so_so',
    home place,
    balance numeric(20, 4) NOT NULL DEFAULT 0 CHECK (balance >= 0),
    tags text[] NOT NULL DEFAULT '{}',
    doc jsonb NOT NULL DEFAULT '{}',
    seen timestamptz NOT NULL DEFAULT '2024-01-01 00:00Z'
);
CREATE TABLE purchase (
    id serial PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customer ON DELETE CASCADE DEFERRABLE,
    during tstzrange,
    total numeric,
    CONSTRAINT purchase_apart EXCLUDE USING gist (during WITH &&)
);
