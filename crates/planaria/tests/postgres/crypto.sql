-- Functions of pgcrypto and uuid-ossp.
CREATE EXTENSION pgcrypto;
CREATE EXTENSION "uuid-ossp";
SELECT digest('abc', 'md5');
SELECT digest('abc', 'sha1'), digest('abc'::text, 'SHA1'), digest('\x616263'::bytea, 'sha1');
SELECT digest('abc', 'sha224');
SELECT digest('abc', 'sha256');
SELECT digest('abc', 'sha384');
SELECT digest('abc', 'sha512');
SELECT encode(digest('', 'sha1'), 'hex'), encode(digest(repeat('a', 1000), 'sha1'), 'hex');
SELECT digest('abc', 'crc');
SELECT digest(NULL, 'sha1') IS NULL, digest('abc', NULL) IS NULL;
SELECT hmac('what do ya want for nothing?', 'Jefe', 'md5');
SELECT hmac('what do ya want for nothing?', 'Jefe', 'sha1');
SELECT hmac('what do ya want for nothing?', 'Jefe', 'sha224');
SELECT hmac('what do ya want for nothing?'::text, 'Jefe'::text, 'sha256');
SELECT hmac('what do ya want for nothing?'::bytea, 'Jefe'::bytea, 'sha384');
SELECT hmac('what do ya want for nothing?'::bytea, 'Jefe', 'sha512');
SELECT hmac('data', repeat('key', 70), 'sha1'), hmac('data', repeat('key', 70), 'sha512') = hmac('data', digest(repeat('key', 70), 'sha512'), 'sha512') AS "long";
SELECT hmac('a', 'b', 'foo');
SELECT hmac(1, 'b', 'md5');
-- Passwords.
SELECT crypt('password', '$2a$06$abcdefghijklmnopqrstuu');
SELECT crypt('', '$2a$04$abcdefghijklmnopqrstuu');
SELECT crypt('Ünïcode', '$2a$04$abcdefghijklmnopqrstuu');
SELECT crypt(repeat('x', 72), '$2a$04$abcdefghijklmnopqrstuu'), crypt(repeat('x', 100), '$2a$04$abcdefghijklmnopqrstuu');
SELECT crypt('password', '$2a$04$abcdefghijklmnopqrstuz'), crypt('password', '$2x$04$./ABCDEFGHIJKLMNOPQRS.');
SELECT crypt('password', crypt('password', '$2a$05$abcdefghijklmnopqrstuu')) = crypt('password', '$2a$05$abcdefghijklmnopqrstuu') AS same;
SELECT crypt('wrong', crypt('password', '$2a$05$abcdefghijklmnopqrstuu')) = crypt('password', '$2a$05$abcdefghijklmnopqrstuu') AS same;
SELECT crypt('password', '$2a$03$abcdefghijklmnopqrstuu');
SELECT crypt('password', '$2a$32$abcdefghijklmnopqrstuu');
SELECT crypt('password', '$2a$06$abcdefghijklmnopqrstu');
SELECT crypt('password', '$2a$06$abcdefghij!lmnopqrstuu');
SELECT crypt('password', '');
SELECT crypt('password', '$1$abcdefgh$'), crypt('password', '$1$ab'), crypt('', '$1$x$yy'), crypt('p', '$1$'), crypt('a longer password than sixteen bytes', '$1$abcdefghijk$');
SELECT crypt(NULL, '$1$ab') IS NULL AS nothing;
SELECT gen_salt('md5') ~ '^\$1\$[./0-9A-Za-z]{8}$' AS md5, gen_salt('md5', 1000) ~ '^\$1\$.{8}$' AS rounds, gen_salt('bf') ~ '^\$2a\$06\$[./0-9A-Za-z]{22}$' AS bf, gen_salt('bf', 8) ~ '^\$2a\$08\$' AS bf8, gen_salt('BF', 0) ~ '^\$2a\$06\$' AS upper;
SELECT gen_salt('bf') <> gen_salt('bf') AS differ, count(DISTINCT gen_salt('md5')) FROM generate_series(1, 20);
SELECT crypt('secret', h) = h AS known, crypt('Secret', h) = h AS unknown FROM (SELECT crypt('secret', gen_salt('bf', 4)) AS h) h;
SELECT crypt('secret', h) = h AS known, crypt('Secret', h) = h AS unknown FROM (SELECT crypt('secret', gen_salt('md5')) AS h) h;
SELECT gen_salt('foo');
SELECT gen_salt('bf', 3);
SELECT gen_salt('bf', 32);
SELECT gen_salt('md5', 3);
-- Random bytes.
SELECT length(gen_random_bytes(1)), length(gen_random_bytes(16)), length(gen_random_bytes(100)), length(gen_random_bytes(1024));
SELECT gen_random_bytes(16) <> gen_random_bytes(16) AS differ, count(DISTINCT gen_random_bytes(8)) FROM generate_series(1, 50);
SELECT gen_random_bytes(0);
SELECT gen_random_bytes(1025);
SELECT gen_random_bytes(-1);
SELECT gen_random_uuid() <> gen_random_uuid() AS differ;
-- Ciphers.
SELECT encrypt('abc', 'key', 'aes'), encrypt('abc', 'key', 'aes-cbc/pad:pkcs'), encrypt('abc', 'key', 'AES-CBC'), encrypt('abc', 'key', 'rijndael');
SELECT encrypt('abc', 'key', 'aes-ecb'), encrypt('', '', 'aes');
SELECT encrypt('0123456789abcdef', 'key', 'aes'), encrypt('0123456789abcdef', 'key', 'aes/pad:none'), encrypt('', 'key', 'aes/pad:none');
SELECT encrypt('0123456789abcdef0123456789abcdef!', '0123456789abcdef', 'aes'), encrypt('x', '0123456789abcdef01234567', 'aes'), encrypt('x', '0123456789abcdef0123456789abcdef', 'aes');
SELECT encrypt('x', '0123456789abcdef0', 'aes'), encrypt('x', '0123456789abcdef012345678', 'aes'), encrypt('x', '0123456789abcdef0123456789abcdefX', 'aes');
SELECT encrypt_iv('abc', 'key', '1234', 'aes'), encrypt_iv('abc', 'key', '12345678901234567890', 'aes-cbc'), encrypt_iv('abc', 'key', 'iv', 'aes-ecb');
SELECT convert_from(decrypt(encrypt('some data to hide', 'key', 'aes'), 'key', 'aes'), 'UTF8'), convert_from(decrypt_iv(encrypt_iv('some data to hide', 'key', 'iv', 'aes'), 'key', 'iv', 'aes'), 'UTF8');
SELECT decrypt(encrypt('0123456789abcdef', 'key', 'aes-ecb/pad:none'), 'key', 'aes-ecb/pad:none') = '0123456789abcdef' AS same, decrypt(encrypt('', 'k', 'aes'), 'k', 'aes');
SELECT encrypt('abc', 'key', 'aes/pad:none');
SELECT decrypt('abc', 'key', 'aes');
SELECT decrypt('', 'key', 'aes');
SELECT decrypt('0123456789abcdef', 'key', 'aes');
SELECT decrypt('0123456789abcdef', 'key', 'aes/pad:none');
SELECT decrypt_iv('abc', 'key', 'iv', 'aes');
SELECT encrypt('abc', 'key', 'foo');
SELECT encrypt('abc', 'key', 'aes/foo:bar');
SELECT encrypt('abc', 'key', 'aes/pad:foo');
SELECT encrypt('abc', 'key', 'aes-cfb');
-- Armor.
SELECT armor('abc'), armor('');
SELECT armor(convert_to(repeat('0123456789', 20), 'UTF8'));
SELECT convert_from(dearmor(armor('hello world')), 'UTF8'), dearmor(armor('')), dearmor(armor(digest('a', 'sha512'))) = digest('a', 'sha512') AS same;
SELECT dearmor('abc');
SELECT dearmor(replace(armor('abc'), '=uhx7', '=uhx8'));
-- UUIDs.
SELECT uuid_nil(), uuid_ns_dns(), uuid_ns_url(), uuid_ns_oid(), uuid_ns_x500();
SELECT uuid_generate_v3(uuid_ns_dns(), 'www.widgets.com'), uuid_generate_v5(uuid_ns_dns(), 'www.widgets.com'), uuid_generate_v5(uuid_ns_url(), 'http://www.postgresql.org'), uuid_generate_v3(uuid_nil(), '');
SELECT substr(uuid_generate_v1()::text, 15, 1), substr(uuid_generate_v1mc()::text, 15, 1), substr(uuid_generate_v4()::text, 15, 1), uuid_generate_v1() <> uuid_generate_v1() AS differ;
SELECT substr(uuid_generate_v1mc()::text, 20, 1) IN ('8', '9', 'a', 'b') AS variant, substr(uuid_generate_v1mc()::text, 16, 3) = substr(uuid_generate_v1()::text, 16, 3) AS time;
-- In tables and routines.
CREATE TABLE accounts (id uuid PRIMARY KEY DEFAULT uuid_generate_v1mc(), name text UNIQUE, hash text, token bytea DEFAULT gen_random_bytes(12));
CREATE FUNCTION enroll(who text, secret text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO accounts (name, hash) VALUES (who, crypt(secret, gen_salt('bf', 4)))
$$;
SELECT enroll('ann', 'one'), enroll('bob', 'two');
SELECT name, length(token), hash = crypt('one', hash) AS one FROM accounts ORDER BY name;
SELECT count(DISTINCT id), count(DISTINCT token), count(DISTINCT hash) FROM accounts;
CREATE INDEX ON accounts (digest(name, 'sha1'));
SELECT name FROM accounts WHERE digest(name, 'sha1') = digest('bob', 'sha1');
SELECT gen_salt('bf', 'x');
SELECT crypt('a');
