#!/usr/bin/env bash
# pg_dump and pg_restore of PostgreSQL 15, and planaria dump and load, both ways: dump.sh PORT PORT PORT PORT, of four servers
# with empty databases. Where PostgreSQL 15 is installed, not its tools alone, what planaria dump wrote is loaded into one, too.
# PLANARIA is the binary.
#
# dump/app.postgres.sql is what PostgreSQL 15 dumps of dump/app.sql. It goes into the first server, whose dump must be
# dump/app.out; that goes into the second, and the first one's archive by pg_restore into the third, whose dumps must be
# the same once more: what PostgreSQL dumped.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)/dump
work=$(mktemp -d)
source "$here/../../postgres/cluster.sh"
trap 'cluster_stop; rm -rf "$work"' EXIT
bin=$(dirname "$(command -v pg_dump || ls /usr/lib/postgresql/15/bin/pg_dump)")
unset PGDATABASE
failed=0

bare() { # Without what differs each time.
    grep -v '^\\\(un\)\?restrict \|^-- Dumped '
}
dump() { # PORT OPTION...
    "$bin/pg_dump" -p "$1" -d app "${@:2}" | bare
}
check() { # NAME PORT
    dump "$2" >"$work/out" && diff "$here/app.out" "$work/out" || {
        echo "$1 differs"
        failed=1
    }
}
load() { # PORT FILE
    psql -p "$1" -d app -X -q -v ON_ERROR_STOP=1 -f "$2" >"$work/said" || {
        echo "$2 is not loaded"
        failed=1
    }
}

load "$1" "$here/app.postgres.sql"
check "PostgreSQL's dump, loaded and dumped" "$1"
load "$2" "$here/app.out"
check "a dump of its own, loaded and dumped" "$2"
"$bin/pg_dump" -p "$1" -d app -Fc -f "$work/archive" && "$bin/pg_restore" -p "$3" -d app "$work/archive" || failed=1
check "an archive, restored and dumped" "$3"
# Two workers read the state of whoever began them; and a snapshot that somebody else exports is what it was.
"$bin/pg_dump" -p "$1" -d app -Fd -j 2 -f "$work/folder" && "$bin/pg_restore" -f - "$work/folder" | bare >"$work/out" &&
    diff "$here/app.out" "$work/out" || {
    echo "a dump by two workers differs"
    failed=1
}
change="psql -p $1 -d app -XAtqc" dump="$bin/pg_dump -p $1 -d app" out="$work/snapshot" psql -p "$1" -d app -Xq <<'END'
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT pg_export_snapshot() AS name \gset
\setenv snapshot :name
\! $change "CREATE TABLE later (id int); DELETE FROM \"Order\" WHERE id = 2"
\! $dump --snapshot="$snapshot" >"$out.sql" && $dump --snapshot="$snapshot" -Fd -j 2 -f "$out"
COMMIT;
END
{ bare <"$work/snapshot.sql" && "$bin/pg_restore" -f - "$work/snapshot" | bare; } >"$work/out"
diff <(cat "$here/app.out" "$here/app.out") "$work/out" || {
    echo "dumps of an exported snapshot differ"
    failed=1
}
# What was loaded works.
answer=$(psql -p "$3" -d app -XAtq -c "SELECT total_of(1), count(*) FROM names()" -c "INSERT INTO \"Order\" (customer_id) VALUES (1) RETURNING id" -c "DELETE FROM \"Order\" WHERE id = 2" -c "SELECT count(*) FROM \"Order\"")
[ "$answer" = $'12.50|2\n4\n3' ] || {
    echo "after the restore: $answer"
    failed=1
}

# `planaria load` takes what pg_dump wrote; what `planaria dump` makes of that is the same from a directory and from a server,
# psql loads it, and pg_dump sees nothing of all this.
planaria=${PLANARIA:-$here/../../../target/release/planaria}
own() { # PLACE FILE
    "$planaria" dump "$1" -o "$2" || failed=1
}
"$planaria" load "$work/data" "$here/app.postgres.sql" >"$work/said" || failed=1
grep -q '^loaded 5 tables, 10 rows in ' "$work/said" || {
    echo "planaria load says: $(cat "$work/said")"
    failed=1
}
own "$work/data" "$work/own.sql"
own "postgres://postgres@127.0.0.1:$2/app" "$work/served.sql"
diff "$work/own.sql" "$work/served.sql" || {
    echo "a directory's dump and a server's differ"
    failed=1
}
load "$4" "$work/own.sql"
check "a dump of planaria's, loaded by psql and dumped" "$4"
if [ -x /usr/lib/postgresql/15/bin/initdb ]; then
    {
        cluster 15 && of_cluster createdb app &&
            of_cluster psql -d app -X -q -v ON_ERROR_STOP=1 -f "$work/own.sql" >"$work/said" &&
            of_cluster pg_dump -d app | bare >"$work/out"
    } || {
        echo "a dump of planaria's is not loaded into PostgreSQL"
        failed=1
    }
    diff <(bare <"$here/app.postgres.sql") "$work/out" || {
        echo "a dump of planaria's in PostgreSQL differs"
        failed=1
    }
fi
exit $failed
