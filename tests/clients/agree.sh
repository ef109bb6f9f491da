#!/usr/bin/env bash
# Runs the scripts of agree/ against the server of PLANARIA_DSN and compares what they print with what they print
# with PostgreSQL 15; `bless` keeps what they print instead. PYTHON, NODE_DIR (with pg and pg-cursor) and JDBC_JAR
# say where the drivers are; scripts of drivers that are not there are skipped, which is said.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)/agree
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

agree() { # NAME COMMAND...
    local name=$1
    shift
    [ "$(type -t "$1")" = function ] || set -- timeout 120 "$@"
    "$@" >"$work/out" 2>&1
    if [ "${bless:-}" = yes ]; then
        cp "$work/out" "$here/$name.out"
        return
    fi
    diff "$here/$name.out" "$work/out" | grep '^[<>]' >"$work/diff"
    grep -hv '^#' "$here/$name.known" >"$work/known" 2>/dev/null
    if diff "$work/known" "$work/diff" >"$work/news"; then
        echo "agree, $name: ok"
    else
        failed=$((failed + 1))
        head -n 40 "$work/news"
        echo "agree, $name: FAILED"
    fi
}

[ "${1:-}" = bless ] && bless=yes
python=${PYTHON:-python3}
for script in psycopg locks sqlalchemy sqlalchemy_schema alembic django asyncpg; do
    driver=${script%_schema}
    [ $script = locks ] && driver=psycopg
    if "$python" -c "import $driver" 2>/dev/null; then
        agree $script "$python" "$here/${script}_agree.py"
    else
        echo "skipped: agree, $script"
    fi
done
if "$python" -c "import psycopg" 2>/dev/null; then
    agree psql_completion "$python" "$here/psql_completion.py"
else
    echo "skipped: agree, psql_completion (psycopg)"
fi
# Sizes, names, ports and the widths that follow from them are each server's own.
commands() {
    psql "$PLANARIA_DSN" -X -a -f "$here/psql_commands.sql" 2>&1 |
        sed -E 's/^psql:[^ ]*: //; s/[0-9]+ (bytes|kB|MB)/SIZE/g; s/(database|port) "[a-z0-9]+"/\1 "IT"/g; s/ +/ /g; s/--+/--/g; /^LOCATION:/d'
}
if command -v psql >/dev/null; then
    agree psql_commands commands
else
    echo "skipped: agree, psql_commands (psql)"
fi
if [ -d "${NODE_DIR:-}/node_modules/pg-cursor" ]; then
    cp "$here/pool_agree.js" "$NODE_DIR/"
    agree pool node "$NODE_DIR/pool_agree.js"
else
    echo "skipped: agree, pool (pg-cursor)"
fi
if [ -f "${JDBC_JAR:-/usr/share/java/postgresql.jar}" ] && command -v java >/dev/null; then
    agree jdbc java -cp "${JDBC_JAR:-/usr/share/java/postgresql.jar}" "$here/JdbcMetadata.java" "jdbc:$(echo "$PLANARIA_DSN" | sed 's,//[^@]*@,//,')"
else
    echo "skipped: agree, jdbc (libpostgresql-jdbc-java)"
fi
exit $((failed > 0))
