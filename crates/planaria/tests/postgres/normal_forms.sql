-- Normal forms of Unicode, and other small things.
select normalize(U&'\0061\0308'), length(normalize(U&'\00e4', nfd)), normalize(U&'\FB01x', NFKC), normalize('abc', nfkd), normalize(null), length(normalize(U&'\0061\0308', nfd)), normalize(U&'\1E9B\0323', nfkc);
select U&'\00e4' is normalized, U&'\0061\0308' is normalized, U&'\0061\0308' is nfc normalized, U&'\0061\0308' is not nfc normalized, U&'\0061\0308' is nfd normalized, U&'\FB01' is nfkc normalized, 'x' is nfkd normalized, null is normalized, not 'a' is normalized, 'a' is not normalized;
select "normalize"('a', 'NFC'), pg_catalog.normalize('a', 'nfd'), pg_catalog.is_normalized('a', 'nfc'), pg_catalog.is_normalized('a');
select pg_catalog.normalize('a', 'xyz');
select normalize('a', 'nfc');
select normalize('a', abc);
select count(*) from (values ('a'), (U&'\0061\0308'), (null)) v(t) where t is not normalized;
create table names (n text check (n is nfc normalized), plain text generated always as (normalize(n, nfd)) stored);
insert into names values (U&'\00e4');
insert into names values (U&'\0061\0308');
create index on names (normalize(n, nfkc));
select n, length(plain), n = plain, n = normalize(plain, nfc) from names where normalize(n, nfkc) = U&'\00e4';
select ('2020-01-01', '2020-02-01') overlaps ('2020-01-01', '2020-02-01');
select ('2020-01-01'::date, '2020-02-01') overlaps ('2020-01-01', '2020-02-01');
select get_current_ts_config(), pg_typeof(get_current_ts_config());
set default_text_search_config = 'simple';
select get_current_ts_config();
