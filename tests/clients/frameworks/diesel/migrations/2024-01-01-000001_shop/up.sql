CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE TYPE place AS (city text, number int);
CREATE TABLE users (
    id serial PRIMARY KEY,
    name varchar(40) NOT NULL,
    email text,
    mood mood NOT NULL DEFAULT 'sad',
    home place,
    updated_at timestamp NOT NULL DEFAULT '2024-01-01',
    CONSTRAINT users_email_key UNIQUE (email),
    CONSTRAINT users_name_check CHECK (name <> '')
);
SELECT diesel_manage_updated_at('users');
CREATE TABLE posts (
    id bigserial PRIMARY KEY,
    user_id int NOT NULL REFERENCES users ON DELETE CASCADE DEFERRABLE,
    title text NOT NULL,
    tags text[] NOT NULL DEFAULT '{}',
    doc jsonb,
    price numeric(12, 2),
    at timestamptz NOT NULL DEFAULT '2024-01-01 00:00Z',
    during tstzrange,
    pages int4range,
    EXCLUDE USING gist (during WITH &&)
);
CREATE TABLE tags (post_id bigint REFERENCES posts, label text, PRIMARY KEY (post_id, label));
