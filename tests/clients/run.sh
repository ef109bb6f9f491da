#!/usr/bin/env bash
# Drivers and tools of PostgreSQL against a server of this build: psql, pgbench, psycopg, asyncpg,
# node-postgres, JDBC. What is not installed is fetched by its own package manager into a directory that is
# thrown away; what cannot be had is named.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
planaria=${PLANARIA:-$here/../../target/release/planaria}
port=${PLANARIA_TEST_PORT:-57417}
work=$(mktemp -d)
"$planaria" serve "$work/db" --listen "127.0.0.1:$port" 2>"$work/server.log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    sleep 0.1
done
export PLANARIA_DSN="postgresql://postgres@127.0.0.1:$port/test"
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=test
failed=0 skipped=()

run() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        echo "$name: ok"
    else
        failed=$((failed + 1))
        cat "$work/out"
        echo "$name: FAILED"
    fi
}

if command -v psql >/dev/null; then
    run psql bash -c "cd '$here' && diff <(psql -X -At -f psql.sql 2>&1) psql.out"
else
    skipped+=(psql)
fi
pgbench=$(command -v pgbench || ls /usr/lib/postgresql/*/bin/pgbench 2>/dev/null | head -n 1)
if [ -n "$pgbench" ]; then
    run "pgbench -i" "$pgbench" -i -s 1 -q
    for mode in simple extended prepared; do
        run "pgbench -M $mode" "$pgbench" -M "$mode" -S -n -c 4 -t 200
        # Everybody meets on the one branch, and nobody fails.
        run "pgbench -M $mode, updates" bash -c "set -o pipefail
            '$pgbench' -M $mode -n -c 4 -t 50 2>&1 | tee '$work/pgbench' && grep -q 'failed transactions: 0 ' '$work/pgbench'"
    done
else
    skipped+=(pgbench)
fi
if command -v python3 >/dev/null && python3 -m venv "$work/venv" >/dev/null 2>&1; then
    for driver in psycopg asyncpg; do
        package=$driver
        [ $driver = psycopg ] && package="psycopg[binary]"
        if "$work/venv/bin/pip" install -q "$package" >/dev/null 2>&1; then
            run $driver "$work/venv/bin/python" "$here/${driver}_client.py"
        else
            skipped+=($driver)
        fi
    done
else
    skipped+=(psycopg asyncpg)
fi
if command -v npm >/dev/null && (cd "$work" && npm install --silent pg >/dev/null 2>&1); then
    cp "$here/pg_client.js" "$work/"
    run node-postgres node "$work/pg_client.js"
else
    skipped+=(node-postgres)
fi
jar=$(ls /usr/share/java/postgresql.jar 2>/dev/null)
if command -v java >/dev/null && [ -n "$jar" ]; then
    run JDBC java -cp "$jar" "$here/JdbcClient.java" "jdbc:postgresql://127.0.0.1:$port/test"
else
    skipped+=("JDBC (libpostgresql-jdbc-java)")
fi
[ ${#skipped[@]} -gt 0 ] && echo "skipped: ${skipped[*]}"
exit $((failed > 0))
