# A PostgreSQL of one's own, for scripts that source this: `cluster [VERSION]` makes one in a temporary directory and starts
# it; without a version it is the newest of this machine. Then `of_cluster TOOL ARGUMENT...` runs a tool of it there, as its superuser.
# `cluster_restart OPTIONS` starts it again with these, `cluster_stop` ends it and takes it away.

cluster_bin='' cluster_dir=''

cluster() {
    cluster_bin=$(ls -d /usr/lib/postgresql/${1:-*}/bin | sort -V | tail -n 1)
    cluster_dir=$(mktemp -d)
    cluster_as=()
    if [ "$(id -u)" = 0 ]; then
        # PostgreSQL does not run as root.
        id postgres >/dev/null 2>&1 || useradd --system postgres
        chown postgres "$cluster_dir"
        cluster_as=(runuser -u postgres --)
    fi
    "${cluster_as[@]}" "$cluster_bin/initdb" -D "$cluster_dir/data" --locale=C.UTF-8 -A trust -U postgres >/dev/null &&
        cluster_ctl start
}

cluster_ctl() { # start|restart [OPTIONS]
    "${cluster_as[@]}" "$cluster_bin/pg_ctl" -D "$cluster_dir/data" -m fast -w -l "$cluster_dir/log" \
        -o "-c listen_addresses='' -c unix_socket_directories=$cluster_dir -c port=5432 -c fsync=off -c timezone=UTC ${2:-}" \
        "$1" >/dev/null
}

cluster_restart() {
    cluster_ctl restart "$1"
}

of_cluster() {
    "$cluster_bin/$1" -h "$cluster_dir" -p 5432 -U postgres "${@:2}"
}

cluster_stop() {
    [ -n "$cluster_dir" ] || return 0
    "${cluster_as[@]}" "$cluster_bin/pg_ctl" -D "$cluster_dir/data" -m immediate stop >/dev/null 2>&1 || true
    rm -rf "$cluster_dir"
}
