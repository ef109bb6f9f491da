#!/usr/bin/env bash
# `planaria shell` on a PostgreSQL 15 of its own, encrypted: certificates of clients, and SCRAM bound to the connection.
# PLANARIA is the binary.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../postgres/cluster.sh"
trap cluster_stop EXIT
planaria=${PLANARIA:-$here/../../target/release/planaria}
cluster 15 || exit 1
cd "$cluster_dir" || exit 1
(
    openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj "/CN=test CA"
    printf 'subjectAltName=DNS:localhost\n' >ext
    for name in localhost alice; do
        openssl req -newkey rsa:2048 -nodes -keyout $name.key -out $name.csr -subj "/CN=$name"
        openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $name.pem -days 2 -extfile ext
    done
) >/dev/null 2>&1
chmod 600 ./*.key
[ "$(id -u)" != 0 ] || chown postgres localhost.key
of_cluster psql -d postgres -qc "SET password_encryption = 'scram-sha-256'" -c "CREATE ROLE alice LOGIN" -c "CREATE ROLE bob LOGIN PASSWORD 'of a test'"
cat >data/pg_hba.conf <<'HBA'
local all all trust
hostssl all alice 127.0.0.1/32 cert
host all bob 127.0.0.1/32 scram-sha-256
HBA
while port=$((20000 + RANDOM % 12000)) && (: </dev/tcp/127.0.0.1/$port) 2>/dev/null; do :; done
cat >>data/postgresql.conf <<CONF
ssl = on
ssl_cert_file = '$cluster_dir/localhost.pem'
ssl_key_file = '$cluster_dir/localhost.key'
ssl_ca_file = '$cluster_dir/ca.pem'
CONF
cluster_restart "-c listen_addresses=127.0.0.1 -c port=$port" || {
    cat "$cluster_dir/log"
    exit 1
}

failed=0
ask() { # USER PARAMETERS WANTED: what the shell prints has that in it
    local said
    said=$(HOME=/nowhere PGPASSWORD='of a test' "$planaria" shell "postgres://$1@localhost:$port/postgres?$2" -X -At \
        -c "SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()" 2>&1)
    [[ $said == *"$3"* ]] || {
        echo "$1, $2: $said"
        failed=1
    }
}
certificate="sslcert=$cluster_dir/alice.pem&sslkey=$cluster_dir/alice.key"
ask alice "sslmode=verify-full&sslrootcert=$cluster_dir/ca.pem&$certificate" 'alice|t'
ask alice "sslmode=require" 'connection requires a valid client certificate'
ask alice "sslmode=require&channel_binding=require&$certificate" 'server authenticated client without channel binding'
for binding in disable prefer require; do
    ask bob "sslmode=require&channel_binding=$binding" 'bob|t'
done
ask bob "sslmode=disable" 'bob|f'
ask bob "sslmode=disable&channel_binding=require" 'channel binding is required'
exit $failed
