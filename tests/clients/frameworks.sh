#!/usr/bin/env bash
# Frameworks as an application has them (ORMs, migration tools, drivers, a pooler, postgres_fdw; frameworks/README.md)
# against servers of this build, one for each; what they print is held against what they print with PostgreSQL 15.
#   frameworks.sh [CLIENT...]         compares; all of them without a name; PLANARIA is the binary
#   WITHOUT="CLIENT..." frameworks.sh  all but these
#   frameworks.sh bless [CLIENT...]   keeps what the PostgreSQL of PLANARIA_DSN answers; its database "frameworks" is made anew
# Each client is fetched by its own package manager, in the versions that its directory pins, into a directory that is
# thrown away; what cannot be had is named in a line that begins with "skipped: ".
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../postgres/cluster.sh"
planaria=$(realpath -m "${PLANARIA:-$here/../../target/release/planaria}")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
export TZ=UTC NODE_NO_WARNINGS=1 NO_COLOR=1 PGCONNECT_TIMEOUT=10
bless='' failed=0
[ "${1:-}" = bless ] && bless=yes && shift
clients=("$@")
[ $# -gt 0 ] || clients=(pgx gorm sqlx diesel drizzle drizzle_kit prisma knex typeorm sequelize postgres_fdw pgbouncer hibernate flyway liquibase)
for name in ${WITHOUT:-}; do
    for at in "${!clients[@]}"; do
        [ "${clients[$at]}" != "$name" ] || unset "clients[$at]"
    done
done
[ -n "$bless" ] && admin=${PLANARIA_DSN:?names the PostgreSQL that answers}

serve() { # NAME: an empty database, of which host, port and PLANARIA_DSN tell
    if [ -n "$bless" ]; then
        psql "$admin" -Xq -c "SET client_min_messages = error" -c "DROP DATABASE IF EXISTS frameworks WITH (FORCE)" \
            -c "CREATE DATABASE frameworks TEMPLATE template0" || exit 1
        read -r host port < <(psql "$admin" -XAt -F ' ' -c "SELECT host(inet_server_addr()), inet_server_port()")
    else
        host=127.0.0.1 port=''
        "$planaria" serve --listen 127.0.0.1:0 "$work/$1.db" 2>"$work/$1.log" &
        server=$!
        for _ in $(seq 100); do
            port=$(sed -n 's/.* listens at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/$1.log")
            [ -n "$port" ] && break
            kill -0 $server 2>/dev/null || break
            sleep 0.1
        done
        [ -n "$port" ] || { echo "the server did not start:" && cat "$work/$1.log" && exit 1; }
    fi
    export PLANARIA_DSN=postgresql://postgres@$host:$port/frameworks
}

served() { # NAME: the server of this name has done its work
    [ -z "$bless" ] || return 0
    kill $server && wait $server 2>/dev/null
    rm -rf "$work/$1.db"
}

node_client() { # [ARGUMENT...]
    timeout 180 node agree.js "$@" 2>&1 |
        sed -E "s,$work,DIR,g"'; s/"id":"[0-9a-f-]{36}"/"id":"UUID"/g'
}

fetched() { # NAME COMMAND...: in the client's directory; says what went wrong
    local name=$1
    shift
    (cd "$work/$name" && timeout 900 "$@") >"$work/$name.fetch" 2>&1
}

fetch() { # NAME: its directory, with what it needs; names in `needs` what is not there
    needs=''
    local tools=psql
    case $1 in
    pgx | gorm) tools=go ;;
    sqlx) tools="cargo cc" ;;
    diesel) tools="cargo cc pg_config" ;;
    postgres_fdw) [ -f /usr/lib/postgresql/15/lib/postgres_fdw.so ] || needs="PostgreSQL 15" ;;
    pgbouncer) tools="psql pgbouncer" ;;
    hibernate | flyway | liquibase) tools="javac mvn" ;;
    *) tools="npm node" ;;
    esac
    for tool in $tools; do
        command -v $tool >/dev/null || needs+=" $tool"
    done
    [ -z "$needs" ] || return
    cp -r "$here/frameworks/$1" "$work/"
    case $tools in
    go) fetched $1 env GOFLAGS=-mod=readonly go build -o client . || needs="its modules" ;;
    cargo*)
        fetched $1 cargo fetch --locked || { needs="its crates" && return; }
        fetched $1 env CARGO_TARGET_DIR="$work/target" nice -n 19 cargo build --quiet --locked --offline || needs="what builds it"
        cp "$work/target/debug/client" "$work/$1/" 2>/dev/null
        ;;
    "javac mvn")
        fetched $1 mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies -DoutputDirectory=lib &&
            fetched $1 bash -c 'javac -nowarn -proc:none -cp "lib/*" -d classes *.java' || needs="its artifacts"
        ;;
    "npm node")
        fetched $1 npm ci --silent --ignore-scripts --no-audit --no-fund || needs="its packages"
        [ $1 != drizzle_kit ] || cp "$here/frameworks/drizzle/schema.js" "$work/$1/"
        [ $1 != prisma ] || fetched $1 env PRISMA_SCHEMA_ENGINE_BINARY=/bin/true CHECKPOINT_DISABLE=1 npx --no-install prisma generate || needs="prisma generate"
        ;;
    esac
}

client() { # NAME: in its directory
    local jdbc=jdbc:postgresql://$host:$port/frameworks
    case $1 in
    pgx | gorm | sqlx | diesel) timeout 180 ./client "$PLANARIA_DSN" ;;
    drizzle) node_client migrations ;;
    drizzle_kit) timeout 180 ./kit.sh ;;
    postgres_fdw)
        trap cluster_stop EXIT
        cluster 15 >/dev/null 2>&1 || return
        PGOPTIONS='-c client_min_messages=warning' timeout 60 psql "$PLANARIA_DSN" -Xq -f remote.sql
        timeout 120 "$cluster_bin/psql" -h "$cluster_dir" -p 5432 -U postgres -d postgres -X -q -a \
            -v fhost=$host -v fport=$port -v fdb=frameworks -f fdw.sql 2>&1 |
            sed -E 's/^psql:[^ ]*: //; /^LOCATION:/d'
        ;;
    pgbouncer) timeout 120 ./pgbouncer.sh "$host" "$port" ;;
    hibernate) timeout 180 java -cp "classes:lib/*" HibernateAgree "$jdbc" 2>stderr ;;
    flyway)
        timeout 120 java -cp "classes:lib/*" FlywayAgree "$jdbc" 2>stderr
        timeout 20 java -cp "classes:lib/*" FlywayAgree "$jdbc" defaults 2>stderr || echo "stopped after 20 seconds"
        ;;
    liquibase) timeout 180 java -cp "classes:lib/*" LiquibaseAgree "$jdbc" 2>stderr ;;
    *) node_client ;;
    esac
}

for name in "${clients[@]}"; do
    [ -d "$here/frameworks/$name" ] || { echo "no client $name" && exit 2; }
    fetch $name
    if [ -n "$needs" ]; then
        echo "skipped: $name ($(echo $needs))"
        continue
    fi
    kept=$here/frameworks/$name/$name
    serve $name
    chmod 755 "$work"
    (cd "$work/$name" && client $name) >"$work/out" 2>&1
    served $name
    if [ -n "$bless" ]; then
        cp "$work/out" "$kept.out"
        echo "kept: $name"
    else
        diff "$kept.out" "$work/out" | grep '^[<>]' >"$work/diff"
        grep -hv '^#' "$kept.known" >"$work/known" 2>/dev/null
        if diff "$work/known" "$work/diff" >"$work/news"; then
            echo "$name: ok"
        else
            failed=$((failed + 1))
            head -n 40 "$work/news"
            grep -i panic "$work/$name.log"
            echo "$name: FAILED"
        fi
        [ -z "${KEEP:-}" ] || cp "$work/out" "$KEEP/$name.out"
    fi
    rm -rf "${work:?}/$name" "$work/target"
done
[ -z "$bless" ] || psql "$admin" -Xq -c "DROP DATABASE IF EXISTS frameworks WITH (FORCE)"
exit $((failed > 0))
