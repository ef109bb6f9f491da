CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN email AS varchar(80) DEFAULT 'nobody' CHECK (VALUE LIKE '%@%' OR VALUE = 'nobody') CONSTRAINT long CHECK (length(VALUE) > 3 and value not in ('abc', 'def'));
CREATE DOMAIN percent AS numeric(5,2) DEFAULT 0 CHECK (VALUE BETWEEN 0 AND 100);
CREATE TYPE place AS (street text, city varchar(20), zip integer);
CREATE SEQUENCE numbers;
CREATE SEQUENCE "Odd numbers";
CREATE FUNCTION doubled(n integer, by integer DEFAULT 2) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT n * by $$;
CREATE FUNCTION named(first text, last text DEFAULT 'x''y', at timestamp DEFAULT NULL, b boolean DEFAULT 't') RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT first || last $$;
CREATE TABLE d (
    id bigint DEFAULT nextval('numbers'),
    id2 bigint DEFAULT nextval('public."Odd numbers"'::regclass),
    a integer DEFAULT 1, b integer DEFAULT -1, c smallint DEFAULT 3, e bigint DEFAULT 5000000000, f bigint DEFAULT -7,
    g numeric DEFAULT 1.50, h numeric(10,2) DEFAULT 0, i numeric(10,2) DEFAULT '1.5', j numeric DEFAULT -2.5, k numeric DEFAULT 1e5,
    l real DEFAULT 1.5, m double precision DEFAULT '0.1', n boolean DEFAULT 'yes', o boolean DEFAULT false,
    p text DEFAULT 'it''s', q varchar(10) DEFAULT 'low', r char(3) DEFAULT 'a', t text DEFAULT '',
    u date DEFAULT '2024-02-29', v timestamp DEFAULT '2024-01-01 10:00', w timestamptz DEFAULT now(), x time DEFAULT '12:30',
    y interval DEFAULT '1 day 2 hours', z uuid DEFAULT gen_random_uuid(), aa jsonb DEFAULT '{"b":1,"a":[true]}', ab json DEFAULT '{"b":1}',
    ac text[] DEFAULT '{a,b}', ad integer[] DEFAULT ARRAY[1,2], ae text[] DEFAULT ARRAY[]::text[], af mood DEFAULT 'ok', ag email DEFAULT 'a@b',
    ah percent DEFAULT 50, ai bytea DEFAULT '\x00ff', aj date DEFAULT current_date, ak timestamptz DEFAULT CURRENT_TIMESTAMP, al timestamp(3) DEFAULT localtimestamp(3),
    am text DEFAULT current_user, an integer DEFAULT (1 + 2) * 3, ao text DEFAULT 'a' || 'b', ap varchar DEFAULT upper('x'), aq timestamptz DEFAULT now() + interval '1 day',
    ar text DEFAULT md5(random()::text), "as" inet DEFAULT '10.0.0.1', at text DEFAULT E'back\\slash', au int4range DEFAULT '[1,5)', av money DEFAULT '12.50',
    aw integer DEFAULT doubled(2), ax integer DEFAULT doubled(by => 3, n => 4), ay timestamp DEFAULT (now() AT TIME ZONE 'utc'), az bit(3) DEFAULT B'101',
    ba double precision DEFAULT 1, bb varchar(10)[] DEFAULT '{x}', bc numeric(6,2)[] DEFAULT ARRAY[1.5, 2], bd text DEFAULT '1'::integer, be integer DEFAULT '7', bf bigint DEFAULT '7', bg smallint DEFAULT '-7', bh mood[] DEFAULT '{sad,ok}', bi text DEFAULT 'x'::varchar(5), bj date DEFAULT (now())::date, bk integer DEFAULT extract(year FROM now()), bl text DEFAULT to_char(now(), 'YYYY')
);
SELECT a.attname, pg_get_expr(ad.adbin, ad.adrelid) FROM pg_attrdef ad JOIN pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum WHERE ad.adrelid = 'd'::regclass ORDER BY a.attnum;
SELECT a.attname, pg_get_expr(ad.adbin, ad.adrelid, true) FROM pg_attrdef ad JOIN pg_attribute a ON a.attrelid = ad.adrelid AND a.attnum = ad.adnum WHERE ad.adrelid = 'd'::regclass AND pg_get_expr(ad.adbin, ad.adrelid, true) <> pg_get_expr(ad.adbin, ad.adrelid) ORDER BY a.attnum;
SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'd' AND column_name IN ('a', 'q', 'aa') ORDER BY ordinal_position;
SELECT conname, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint WHERE contypid >= 16384 ORDER BY conname;
SELECT typname, typdefault, pg_get_expr(typdefaultbin, 0) FROM pg_type WHERE typname IN ('email', 'percent') ORDER BY typname;
SELECT pg_get_function_arguments('named'::regproc), pg_get_function_arg_default('named'::regproc, 2);
CREATE TABLE t (
    i integer, s smallint, l bigint, n numeric(10,2), r real, f double precision, t text, v varchar(20), c char(5), b boolean, d date, ts timestamp, tz timestamptz,
    iv interval, ti time, j jsonb, js json, u uuid, ta text[], ia integer[], va varchar(10)[], m mood, em email, pc percent, pl place, ip inet, ir int4range, by bytea, "Odd" integer, "select" text
);
CREATE PROCEDURE check_all(conditions text[]) LANGUAGE plpgsql AS $$
DECLARE
    n integer := 0;
    condition text;
BEGIN
    FOREACH condition IN ARRAY conditions LOOP
        n := n + 1;
        EXECUTE 'ALTER TABLE t ADD CONSTRAINT ' || 'c' || lpad(n::text, 3, '0') || ' CHECK (' || condition || ')';
    END LOOP;
END $$;
CALL check_all(ARRAY[
    'i > 0',
    'i >= -1 and i <= 10',
    'i > 0 or s > 0 and l > 0',
    'not b',
    'not (i > 0 and b)',
    'i > 0 and (s > 0 and l > 0)',
    '(i > 0 and s > 0) and l > 0',
    'i > 0 and (s > 0 or l > 0)',
    'n >= 0',
    'n >= -100',
    'n > 1.5',
    'n = 1',
    'r > 1.5',
    'f > 1',
    'f > 1.5',
    'l > 3',
    'l > 5000000000',
    's > 3',
    's = 3::smallint',
    's = ''3''',
    't = ''x''',
    'v = ''x''',
    'c = ''x''',
    'v <> ''''',
    'v = t',
    'c = v',
    't || v = ''ab''',
    't || i <> ''''',
    'v || ''x'' = ''y''',
    'length(v) < 50',
    'lower(v) = v',
    'lower(t) = t',
    'upper(c) = ''X''',
    'length(c) > 2',
    't in (''a'', ''b'')',
    't not in (''a'', ''b'')',
    'v in (''a'', ''b'')',
    'v not in (''low'', ''high'')',
    'c in (''a'', ''b'')',
    'i in (1, 2, 3)',
    'i in (1)',
    'i not in (1)',
    'l in (1, 2)',
    'n in (1, 2.5)',
    'i in (s, 1, 2)',
    'm in (''sad'', ''ok'')',
    'm = ''happy''',
    'm <> ''sad''::mood',
    'em = ''a@b''',
    'em in (''a@b'', ''c@d'')',
    'length(em) > 3',
    'pc > 10',
    'i between 1 and 10',
    'i not between 1 and 10',
    'i between symmetric 10 and 1',
    'n between 0 and 1',
    't like ''a%''',
    't not like ''a%''',
    'v like ''%x''',
    't ilike ''A%''',
    't not ilike ''A%''',
    't ~ ''^[a-z]+$''',
    'v ~* ''^\w+$''',
    't !~ ''x''',
    'v !~* ''x''',
    't similar to ''a|b''',
    'v similar to ''(a|b)%''',
    'i is null',
    'i is not null',
    'b is true',
    'b is not true',
    'b is false',
    'b is not false',
    'b is unknown',
    'b is not unknown',
    '(i > 0) is true',
    'i is distinct from 1',
    'i is not distinct from s',
    't is distinct from ''x''',
    'v is distinct from t',
    'coalesce(i, 0) > 0',
    'coalesce(v, ''x'') = ''x''',
    'coalesce(t, v, ''x'') = ''x''',
    'nullif(i, 0) is null',
    'nullif(t, '''') is not null',
    'nullif(v, '''') is not null',
    'greatest(i, s, 1) > 0',
    'least(n, 1) > 0',
    'case when i > 0 then true else false end',
    'case when i > 0 then t = ''a'' when i < 0 then v = ''b'' end',
    'case i when 1 then b when 2 then not b else null end',
    'case v when ''a'' then 1 else 2 end = 1',
    'case when b then ''x'' else v end = ''x''',
    'i::text = ''1''',
    'i::numeric > 1.5',
    'cast(t as integer) > 1',
    't::varchar(5) = ''x''',
    'v::text = ''x''',
    'n::integer = 1',
    'n::numeric(5,1) = 1',
    'f::integer = 1',
    'ts::date = ''2024-01-01''',
    '''2024-01-01''::date < d',
    'date ''2024-01-01'' < d',
    'd > ''2024-01-01''',
    'ts > ''2024-01-01''',
    'ts < ''2024-01-01 10:00:00''::timestamp',
    'd + 1 > ''2024-01-01''',
    'd - d > 3',
    'ts + interval ''1 day'' > ''2024-01-01''',
    'ts - ''1 hour''::interval > ts',
    'iv > ''1 day''',
    'iv * 2 > ''1 hour 30 minutes''',
    'ti < ''12:00''',
    'extract(year from d) > 2000',
    'extract(epoch from ts) > 0',
    'extract(''month'' from ts) > 1',
    'date_part(''year'', d) > 2000',
    'date_trunc(''day'', ts) = ts',
    'substring(t from 1 for 2) = ''ab''',
    'substring(t from 2) = ''ab''',
    'substring(t, 1, 2) = ''ab''',
    'substring(v from 1 for 2) = ''ab''',
    'substr(t, 1) = ''x''',
    'position(''a'' in t) > 0',
    'position(v in t) > 0',
    'trim(t) = t',
    'trim(both from v) = v',
    'trim(leading ''x'' from t) = t',
    'trim(trailing from t) = t',
    'btrim(t) = t',
    'overlay(t placing ''x'' from 1 for 2) = ''x''',
    '"left"(t, 2) = ''ab''',
    'left(v, 2) = ''ab''',
    'right(t, 1) = ''x''',
    'replace(t, ''a'', ''b'') = t',
    'char_length(v) > 0',
    'concat(t, ''x'', i) = ''x''',
    'concat_ws('','', t, v) = ''x''',
    'format(''%s-%s'', t, i) = ''x''',
    '-i > 0',
    '- i + 1 > 0',
    '+ i > 0',
    '~ i > 0',
    '@ i > 0',
    'i + s * 2 > 0',
    '(i + s) * 2 > 0',
    'i - s - 1 > 0',
    'i - (s - 1) > 0',
    'i * s / 2 > 0',
    'i * (s / 2) > 0',
    'i % 2 = 0',
    'i ^ 2 > 4',
    'i & 1 = 1',
    'i | 1 = 1',
    'i # 1 = 1',
    'i << 1 > 1',
    'i >> 1 > 1',
    '2 * (i + 1) - 3 * l > n',
    'i + l > 0',
    'i * n > 0',
    'i / 2.0 > 1',
    'f * i > 1',
    'n * 1.1 > f',
    'round(n) = n',
    'round(n, 2) = n',
    'round(f::numeric, 2) = 1',
    'abs(i) > 0',
    'mod(i, 2) = 1',
    'power(i, 2) > 1',
    'sqrt(n) > 1',
    'floor(f) = 1',
    'j -> ''a'' is not null',
    'j ->> ''a'' = ''x''',
    'j #>> ''{a,b}'' = ''x''',
    'j ? ''a''',
    'j @> ''{"a":1}''',
    'j @> ''{"b":1, "a":[1,2]}''::jsonb',
    'jsonb_typeof(j) = ''object''',
    'jsonb_typeof(j -> ''a'') = ''array''',
    '(j ->> ''n'')::integer > 0',
    'jsonb_array_length(j) > 0',
    'j[''a''] is not null',
    'js ->> ''a'' = ''x''',
    'j = ''[]''',
    'j <> ''{}''::jsonb',
    'i = any(ia)',
    't = any(ta)',
    'v = any(ta)',
    'v = any(va)',
    '''x'' = any(ta)',
    'i = any(''{1,2}'')',
    'i = any(array[1,2])',
    'i <> all(array[1,2])',
    'i > all(ia)',
    't = any(array[''a'',''b''])',
    't = any(''{a,b}''::text[])',
    'v = any(array[''a'',''b''])',
    'v = any(array[''a'',''b'']::text[])',
    'v::text = any(array[''a''::varchar, ''b'']::text[])',
    't like any(array[''a%'',''b%''])',
    'ta @> array[''a'']',
    'ta @> ''{a}''',
    'ta && array[''a'',''b'']',
    'ia <@ array[1,2,3]',
    'array_length(ta, 1) > 0',
    'cardinality(ia) < 5',
    'ta[1] = ''a''',
    'ia[1] > 0',
    'ia[1:2] = array[1,2]',
    'ia[:2] = ''{1,2}''',
    '(array[1,2,3])[1] = 1',
    '(string_to_array(t, '',''))[1] = ''a''',
    'ta || ''x''::text = ta',
    'ta || array[''x''] = ta',
    'array_append(ta, ''x'') = ta',
    'array_position(ta, ''x'') > 0',
    'array_remove(ta, ''x'') = ta',
    'array[i, s] = ia',
    'array[[1,2],[3,4]] = ia',
    'array[t, v] = ta',
    '(pl).city = ''x''',
    '(pl).zip > 0',
    '(pl).street is not null',
    'u = ''00000000-0000-0000-0000-000000000001''',
    'ip << ''10.0.0.0/8''',
    'ip = ''10.0.0.1''',
    'ir @> 5',
    'ir && ''[1,5)''',
    'lower(ir) > 0',
    'int4range(i, s) && ir',
    'by = ''\x00''',
    '"Odd" > 0',
    '"select" = ''x''',
    '(i, s) = (1, 2)',
    '(i, s) <> (1, 2)',
    '(i, s) < (1, 2)',
    'row(i, t) = row(1, ''x'')',
    '(ts, ts) overlaps (ts, ts)',
    'tz at time zone ''UTC'' > ''2024-01-01''',
    'ts at time zone ''UTC'' > tz',
    't collate "C" < ''x''',
    'v collate "C" = ''x''',
    'doubled(i) > 0',
    'doubled(i, 3) > 0',
    'doubled(n => i) > 0',
    'named(t) = ''x''',
    'named(v, ''y'') = ''x''',
    'b and i > 0',
    'b = true',
    'b <> false',
    'b or not b',
    'not b and not (b or i > 0)',
    'not (not b)',
    '(b and b) or (b and i > 0)',
    'num_nulls(i, s) = 0',
    'num_nonnulls(i, s, t) > 1',
    'true',
    'false or b',
    'null',
    'null or b',
    'i = null',
    't = null::text',
    'length(t || v) between 1 and 100',
    '(i > 0) = (s > 0)',
    '(i > 0) <> b',
    '(t = ''a'') is not null',
    'i > 0 is true',
    'i::bigint = l',
    's::integer = i',
    'i = l',
    'n = f',
    'r = f',
    'r = 1.5::real',
    'n::text = t',
    'b::integer = 1',
    'b::text = ''true''',
    'm::text = ''ok''',
    't::mood = ''ok''',
    'em::text = ''x''',
    'pc::integer = 1',
    'ia::text[] = ta',
    'ta = ''{}''',
    'ta <> ''{}''::text[]',
    'ta = array[]::text[]',
    'age(ts) > ''1 day''',
    'to_char(ts, ''YYYY'') = ''2024''',
    'to_date(t, ''YYYY'') = d',
    'make_date(2024, i, 1) = d',
    'regexp_replace(t, ''a'', ''b'') = t',
    't > ''a'' and t < ''b'' and t <> ''c'' and length(t) = 1',
    'upper(t) || lower(t) || ''x'' = ''y''',
    'encode(by, ''hex'') = ''ff''',
    'md5(t) = t',
    'trim(lower(v)) = v',
    'coalesce(trim(v), '''') <> ''''',
    'char_length(trim(v)) > 0',
    'lower(trim(t)) = t',
    'concat(v, v) <> '''''
]);
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY conname;
SELECT conname, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY conname;
SELECT conname, pg_get_expr(conbin, conrelid, true) FROM pg_constraint WHERE conrelid = 't'::regclass AND conname < 'c020' ORDER BY conname;
SELECT check_clause FROM information_schema.check_constraints WHERE constraint_name IN ('c001', 'c007', 'c120') ORDER BY constraint_name;
CREATE TABLE twice (LIKE t INCLUDING CONSTRAINTS);
SELECT count(*) FROM pg_constraint a JOIN pg_constraint b USING (conname) WHERE a.conrelid = 't'::regclass AND b.conrelid = 'twice'::regclass AND pg_get_constraintdef(a.oid) <> pg_get_constraintdef(b.oid);
CREATE TABLE changed (n serial, what text);
CREATE FUNCTION again() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    named record;
    shown text;
BEGIN
    FOR named IN SELECT conname, pg_get_constraintdef(oid) AS def, pg_get_constraintdef(oid, true) AS pretty FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY conname LOOP
        EXECUTE 'ALTER TABLE twice DROP CONSTRAINT ' || named.conname;
        EXECUTE 'ALTER TABLE twice ADD CONSTRAINT ' || named.conname || ' ' || named.def;
        SELECT pg_get_constraintdef(oid) INTO shown FROM pg_constraint WHERE conrelid = 'twice'::regclass AND conname = named.conname;
        IF shown <> named.def THEN
            INSERT INTO changed (what) VALUES (named.def || ' became ' || shown);
        END IF;
        EXECUTE 'ALTER TABLE twice DROP CONSTRAINT ' || named.conname;
        EXECUTE 'ALTER TABLE twice ADD CONSTRAINT ' || named.conname || ' ' || named.pretty;
        SELECT pg_get_constraintdef(oid) INTO shown FROM pg_constraint WHERE conrelid = 'twice'::regclass AND conname = named.conname;
        IF shown <> named.def THEN
            INSERT INTO changed (what) VALUES (named.def || ' became by ' || named.pretty || ' ' || shown);
        END IF;
    END LOOP;
END $$;
SELECT again();
SELECT what FROM changed ORDER BY n;
CREATE TABLE g (
    title varchar(50), price numeric(10,2), qty integer, tags text[],
    slug text GENERATED ALWAYS AS (lower(title)) STORED,
    total numeric GENERATED ALWAYS AS (price * qty) STORED,
    doubled integer GENERATED ALWAYS AS (qty * 2) STORED,
    short varchar(5) GENERATED ALWAYS AS (substring(title from 1 for 5)) STORED,
    n bigint GENERATED ALWAYS AS (qty) STORED,
    label text GENERATED ALWAYS AS (CASE WHEN qty > 10 THEN 'many' WHEN qty IS NULL THEN NULL ELSE 'few' END) STORED
);
SELECT a.attname, pg_get_expr(d.adbin, d.adrelid), pg_get_expr(d.adbin, d.adrelid, true) FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = 'g'::regclass ORDER BY a.attnum;
CREATE INDEX g1 ON g (lower(title));
CREATE INDEX g2 ON g ((price * qty));
CREATE INDEX g3 ON g (title, lower(title) DESC) WHERE qty > 0;
CREATE INDEX g4 ON g (qty) WHERE title IS NOT NULL AND price > 1;
CREATE INDEX g5 ON g (coalesce(title, 'x'), (title || 'y'));
CREATE INDEX g6 ON g (((title)::text)) WHERE title = 'x' OR qty IN (1, 2);
CREATE UNIQUE INDEX g7 ON g (upper(slug)) INCLUDE (qty) WHERE lower(slug) = 'x';
CREATE INDEX g8 ON g ((tags[1]), (qty + 1) DESC NULLS LAST);
CREATE INDEX g9 ON g (title) WHERE (qty > 0) IS TRUE;
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'g' ORDER BY indexname;
SELECT i.indexrelid::regclass, pg_get_indexdef(i.indexrelid, 0, true), pg_get_indexdef(i.indexrelid, 1, false), pg_get_indexdef(i.indexrelid, 1, true), pg_get_indexdef(i.indexrelid, 2, true), pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid), pg_get_expr(indpred, indrelid, true) FROM pg_index i WHERE i.indrelid = 'g'::regclass ORDER BY 1::text;
ALTER TABLE g RENAME COLUMN title TO name;
ALTER TABLE g RENAME TO goods;
SELECT indexdef FROM pg_indexes WHERE tablename = 'goods' ORDER BY indexname;
SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = 'goods'::regclass ORDER BY d.adnum;
CREATE FUNCTION fires() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER tr1 BEFORE UPDATE ON goods FOR EACH ROW WHEN (old.name IS DISTINCT FROM new.name) EXECUTE FUNCTION fires();
CREATE TRIGGER tr2 AFTER UPDATE OF price ON goods FOR EACH ROW WHEN (new.price > 1 AND old.name = 'x') EXECUTE FUNCTION fires('a', 'b');
CREATE TRIGGER tr3 BEFORE INSERT ON goods FOR EACH ROW WHEN (NOT new.qty IN (1, 2)) EXECUTE FUNCTION fires();
SELECT pg_get_triggerdef(oid), pg_get_triggerdef(oid, true) FROM pg_trigger WHERE tgrelid = 'goods'::regclass ORDER BY tgname;
CREATE TABLE owners (id integer, login text, boss integer);
CREATE TABLE docs (id integer, owner text, title varchar(20), public boolean);
CREATE POLICY p1 ON docs USING (owner = current_user);
CREATE POLICY p2 ON docs FOR INSERT WITH CHECK (title <> '' AND length(title) > 2);
CREATE POLICY p3 ON docs USING (public OR owner IN (SELECT login FROM owners WHERE id = docs.id));
CREATE POLICY p4 ON docs USING (EXISTS (SELECT 1 FROM owners o WHERE o.login = owner AND o.boss IS NULL));
CREATE POLICY p5 ON docs USING (id > (SELECT max(boss) FROM owners));
CREATE POLICY p6 ON docs USING (true) WITH CHECK (public);
CREATE POLICY p7 ON docs USING (EXISTS (SELECT 1 FROM docs d JOIN docs e ON d.id = e.id WHERE d.owner = docs.owner));
CREATE POLICY p8 ON docs USING (owner = current_setting('app.user', true));
SELECT policyname, qual, with_check FROM pg_policies WHERE tablename = 'docs' ORDER BY policyname;
SELECT polname, pg_get_expr(polqual, polrelid, true) FROM pg_policy WHERE polrelid = 'docs'::regclass ORDER BY polname;
CREATE TABLE parts (a integer, b varchar(10), c date) PARTITION BY RANGE (a, lower(b), (a + 1));
SELECT pg_get_partkeydef('parts'::regclass);
