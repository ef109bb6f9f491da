#!/usr/bin/env bash
# A PgBouncer of its own (transaction pooling) in front of the server: session state, COPY, errors.
set -uo pipefail
while port=$((20000 + RANDOM % 12000)) && (: </dev/tcp/127.0.0.1/$port) 2>/dev/null; do :; done
dir=$(mktemp -d)
sed "s/HOST/$1/; s/TARGET/$2/; s/LISTEN/$port/" pgbouncer.ini >"$dir/pgbouncer.ini"
as=()
if [ "$(id -u)" = 0 ]; then # PgBouncer does not run as root.
    as=(runuser -u nobody --)
    chmod 755 "$dir"
fi
"${as[@]}" "$(command -v pgbouncer)" -q "$dir/pgbouncer.ini" 2>"$dir/log" &
trap 'kill $!; wait; rm -rf "$dir"' EXIT
for _ in $(seq 50); do
    (: </dev/tcp/127.0.0.1/$port) 2>/dev/null && break
    sleep 0.1
done
psql "postgresql://postgres@127.0.0.1:$port/frameworks" -X -q -At <<'S' 2>&1
\set VERBOSITY terse
select current_setting('server_version_num')::int / 10000;
show application_name;
set application_name = 'me'; show application_name;
set timezone = 'Europe/Berlin'; show timezone; set datestyle = 'sql, dmy'; select date '2024-02-01';
set client_encoding = 'latin1'; show client_encoding; reset client_encoding;
begin; set local work_mem = '5MB'; show work_mem; create temp table tmp (i int) on commit drop; insert into tmp values (1); select * from tmp; commit;
select 1/0;
begin; select 1/0; select 1; rollback;
select pg_backend_pid() > 0;
drop table if exists pb; create table pb (id int primary key, v text);
copy pb from stdin;
1	a
2	b
\.
copy pb to stdout;
prepare p as select count(*) from pb; execute p; deallocate all;
discard all;
drop table pb;
S
