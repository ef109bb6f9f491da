#!/usr/bin/env bash
# Drivers and tools of PostgreSQL against a server of this build: psql, pgbench, pg_dump, psycopg, asyncpg, SQLAlchemy,
# Alembic, Django, node-postgres, JDBC; in the clear and encrypted, with passwords; their answers held against PostgreSQL's
# (agree/). What is not installed is fetched by its own package manager into a directory that is thrown away;
# what cannot be had is named, each in a line that begins with "skipped: ", which ./test counts.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
planaria=$(realpath "${PLANARIA:-$here/../../target/release/planaria}")
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; wait "${servers[@]}" 2>/dev/null; rm -rf "$work"' EXIT

serve() { # NAME OPTION...: a server at a free port, which it prints to its log; `port` is that
    local log=$work/$1.log
    "$planaria" serve --listen 127.0.0.1:0 "${@:2}" 2>"$log" &
    servers+=($!)
    for _ in $(seq 100); do
        port=$(sed -n 's/.* listens at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$log")
        [ -n "$port" ] && return
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    echo "the server did not start:" && cat "$log" && exit 1
}

logs() { # What the servers have said since they were asked last.
    for log in "$work"/*.log; do
        tail -c +$((${seen[$log]:-0} + 1)) "$log" | sed "s,^,  $(basename "$log" .log) server: ,"
        seen[$log]=$(stat -c %s "$log")
    done
}

declare -A seen
serve main "$work/db" --socket-dir "$work"
main=$port
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
        logs
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
    for driver in psycopg asyncpg sqlalchemy alembic django; do
        package=$driver
        [ $driver = psycopg ] && package="psycopg[binary]"
        # What inspectdb prints differs between versions.
        [ $driver = django ] && package="django==5.2.*"
        if "$work/venv/bin/pip" install -q "$package" >/dev/null 2>&1; then
            [ -f "$here/${driver}_client.py" ] && run $driver "$work/venv/bin/python" "$here/${driver}_client.py"
        else
            skipped+=("$driver")
        fi
    done
else
    skipped+=(psycopg asyncpg sqlalchemy alembic django)
fi
if command -v npm >/dev/null && (cd "$work" && npm install --silent pg pg-cursor >/dev/null 2>&1); then
    cp "$here/pg_client.js" "$work/"
    run node-postgres node "$work/pg_client.js"
else
    skipped+=(node-postgres)
fi
jar=/usr/share/java/postgresql.jar
if [ ! -f $jar ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get install -y libpostgresql-jdbc-java || (apt-get update && apt-get install -y libpostgresql-jdbc-java)) >/dev/null 2>&1
fi
[ -f $jar ] || jar=
if command -v java >/dev/null && [ -n "$jar" ]; then
    run JDBC java -cp "$jar" "$here/JdbcClient.java" "jdbc:postgresql://127.0.0.1:$main/test"
else
    skipped+=("JDBC (libpostgresql-jdbc-java)")
fi

# Dumps, both ways. What pg_dump prints differs between versions.
if ls /usr/lib/postgresql/15/bin/pg_dump >/dev/null 2>&1 && command -v psql >/dev/null; then
    ports=()
    for name in first second third fourth; do
        serve $name "$work/$name"
        ports+=("$port")
    done
    PLANARIA=$planaria run "pg_dump, pg_restore, planaria dump and load" "$here/dump.sh" "${ports[@]}"
    [ -x /usr/lib/postgresql/15/bin/initdb ] || skipped+=("planaria dump, loaded into PostgreSQL 15")
else
    skipped+=("pg_dump (PostgreSQL 15)")
fi
if [ -x /usr/lib/postgresql/15/bin/initdb ] && command -v openssl >/dev/null; then
    PLANARIA=$planaria run "planaria shell on an encrypted PostgreSQL" "$here/shell_postgres.sh"
else
    skipped+=("planaria shell on an encrypted PostgreSQL (PostgreSQL 15, openssl)")
fi

# Against what PostgreSQL 15 answers, of an empty database.
serve empty "$work/empty"
export PLANARIA_DSN="postgresql://postgres@127.0.0.1:$port/test"
PYTHON="$work/venv/bin/python" NODE_DIR="$work" JDBC_JAR="$jar" "$here/agree.sh" || {
    failed=$((failed + 1))
    logs
}

# Encrypted, with a certificate that is verified, and with passwords: SCRAM-SHA-256.
if command -v openssl >/dev/null && command -v psql >/dev/null; then
    (
        cd "$work" &&
            openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj "/CN=test CA" &&
            openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj "/CN=localhost" &&
            printf 'subjectAltName=DNS:localhost\n' >ext &&
            openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile ext
    ) >/dev/null 2>&1
    serve secure --tls-cert "$work/server.pem" --tls-key "$work/server.key"
    secure=$port
    psql -Xq -p $secure -c "ALTER ROLE postgres PASSWORD 'a secret'; CREATE ROLE shop LOGIN PASSWORD 'größer'" >/dev/null
    PLANARIA_DSN="postgresql://postgres:a%20secret@localhost:$secure/test?sslmode=verify-full&sslrootcert=$work/ca.pem"
    export PLANARIA_DSN PLANARIA_CA="$work/ca.pem"
    answer="SELECT current_user, 6 * 7"
    run "psql, verify-full" bash -c "[ \"\$(psql '$PLANARIA_DSN' -XAt -c '$answer')\" = 'postgres|42' ]"
    run "psql, bound to the certificate" bash -c "[ \"\$(psql '$PLANARIA_DSN&channel_binding=require' -XAt -c '$answer')\" = 'postgres|42' ]"
    run "psql, a password beyond ASCII" bash -c "[ \"\$(PGPASSWORD=größer psql 'host=localhost port=$secure user=shop sslmode=require' -XAt -c '$answer')\" = 'shop|42' ]"
    run "psql, a wrong password" bash -c "! PGPASSWORD=wrong psql -h localhost -p $secure -XAt -c '$answer' 2>'$work/err' && grep -q 'password authentication failed' '$work/err'"
    run "psql, another certificate's name" bash -c "! psql 'host=127.0.0.1 port=$secure user=postgres password=x sslmode=verify-full sslrootcert=$work/ca.pem' -XAt -c '$answer' 2>/dev/null"
    if "$work/venv/bin/python" -c "import psycopg, asyncpg" 2>/dev/null; then
        run "psycopg and asyncpg, verify-full" "$work/venv/bin/python" "$here/secure_client.py"
    else
        skipped+=("psycopg and asyncpg, verify-full")
    fi
    if [ -d "$work/node_modules/pg" ]; then
        cp "$here/secure_client.js" "$work/"
        run "node-postgres, verified" node "$work/secure_client.js"
    else
        skipped+=("node-postgres, verified")
    fi
    if command -v java >/dev/null && [ -n "$jar" ]; then
        run "JDBC, verify-full" java -cp "$jar" "$here/JdbcSecure.java" "jdbc:postgresql://localhost:$secure/test?sslmode=verify-full&sslrootcert=$work/ca.pem"
    else
        skipped+=("JDBC, verify-full (libpostgresql-jdbc-java)")
    fi
else
    skipped+=("encryption (openssl, psql)")
fi
unset PLANARIA_DSN
command -v psql >/dev/null && run "psql, Unix domain socket" bash -c "[ \"\$(psql -h '$work' -p $main -XAt -c 'SELECT client_addr IS NULL FROM pg_stat_activity WHERE pid = pg_backend_pid()')\" = t ]"
for what in "${skipped[@]}"; do
    echo "skipped: $what"
done
exit $((failed > 0))
