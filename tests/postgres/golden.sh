#!/usr/bin/env bash
# The five suites on a real PostgreSQL print what their golden files say, and so does the binary:
# the files are the common ground.  Makes a cluster of its own in a temporary directory.
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
dir=$(mktemp -d)
run=()
if [ "$(id -u)" = 0 ]; then
    # PostgreSQL does not run as root.
    id postgres >/dev/null 2>&1 || useradd --system postgres
    chown postgres "$dir"
    run=(runuser -u postgres --)
fi
stop() {
    "${run[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$dir"
}
trap stop EXIT

"${run[@]}" "$bin/initdb" -D "$dir/data" --locale=C.UTF-8 -A trust -U postgres >/dev/null
"${run[@]}" "$bin/pg_ctl" -D "$dir/data" -w -l "$dir/log" \
    -o "-c listen_addresses='' -c unix_socket_directories=$dir -c fsync=off -c timezone=UTC" start >/dev/null

psql() { "$bin/psql" -h "$dir" -U postgres -X -q -At -v ON_ERROR_STOP=1 "$@"; }
for suite in smallbank ycsb voter tpcb tpcc; do
    psql -d postgres -c "CREATE DATABASE $suite"
    for file in schema load procedures; do
        psql -d "$suite" -f "crates/workload/sql/$suite/$file.sql" >/dev/null 2>&1
    done
    psql -d "$suite" -f "crates/workload/sql/$suite/golden.sql" 2>/dev/null >"$dir/out"
    cmp "$dir/out" "crates/workload/sql/$suite/golden.expected"
    echo "$suite: the same on $("$bin/postgres" --version)"
done
