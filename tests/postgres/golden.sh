#!/usr/bin/env bash
# The five suites on a real PostgreSQL print what their golden files say, and so does the binary:
# the files are the common ground.  Makes a cluster of its own in a temporary directory.
set -euo pipefail
cd "$(dirname "$0")/../.."

source tests/postgres/cluster.sh
trap cluster_stop EXIT
cluster

psql() { of_cluster psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }
for suite in smallbank ycsb voter tpcb tpcc; do
    psql -d postgres -c "CREATE DATABASE $suite"
    for file in schema load procedures; do
        psql -d "$suite" -f "crates/workload/sql/$suite/$file.sql" >/dev/null 2>&1
    done
    psql -d "$suite" -f "crates/workload/sql/$suite/golden.sql" 2>/dev/null >"$cluster_dir/out"
    cmp "$cluster_dir/out" "crates/workload/sql/$suite/golden.expected"
    echo "$suite: the same on $("$cluster_bin/postgres" --version)"
done
