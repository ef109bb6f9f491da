#!/usr/bin/env bash
# Builds the image of contrib/Dockerfile and tests it: the server runs as a user that is not root, is healthy, lets in who has the
# password, ends in order at SIGTERM, and what was committed is in the volume when another container starts with it.
#
#   contrib/container.sh [NAME]                    with docker or podman, from source and public images; the image is kept as NAME,
#                                                  or planaria
#   PLANARIA=FILE contrib/container.sh             with podman, of that binary and Debian packages of this machine's release:
#                                                  no registry and no daemon is needed. What is made is thrown away, but for
#                                                  the root made of the packages: BASE names its file (target/container/SUITE.tar)
#
# Where it cannot run, one line says why, beginning with "skipped: ".
set -euo pipefail
cd "$(dirname "$0")/.."
skip() {
    echo "skipped: the container: $*"
    exit 0
}
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
work=$(mktemp -d)
name=planaria-test-$$
engine=()
end() {
    if [ "${#engine[@]}" != 0 ]; then
        "${engine[@]}" rm --force "$name" >/dev/null 2>&1 || true
        "${engine[@]}" volume rm "$name" >/dev/null 2>&1 || true
    fi
    rm -rf "$work"
}
trap end EXIT

options=()
if [ -z "${PLANARIA:-}" ]; then
    image=${1:-planaria}
    for candidate in docker podman; do
        if command -v "$candidate" >/dev/null && "$candidate" info >/dev/null 2>&1; then
            engine=("$candidate")
            break
        fi
    done
    [ "${#engine[@]}" != 0 ] || skip "neither docker nor podman works here"
    build=()
    [ "${engine[0]}" = docker ] || build=(--format docker)
    "${engine[@]}" build "${build[@]}" --file contrib/Dockerfile --tag "$image" .
else
    [ "$(id -u)" = 0 ] || skip "root's rights are needed to make its root"
    for tool in podman mmdebstrap; do
        command -v "$tool" >/dev/null || skip "$tool is not installed"
    done
    suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_CODENAME:-}") || true
    [ -n "$suite" ] || skip "this machine is not Debian, for which the binary was built"
    base=${BASE:-${CARGO_TARGET_DIR:-target}/container/$suite.tar}
    if [ ! -e "$base" ]; then
        # Unpacked, not installed: no script of a package runs but what the hooks do.
        mkdir -p "$(dirname "$base")"
        mmdebstrap --quiet --variant=extract --include=base-files,base-passwd,coreutils,dash,libc6,libgcc-s1,passwd \
            --customize-hook='cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"' \
            --customize-hook='cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"' \
            --customize-hook='chroot "$1" ldconfig' "$suite" "$work/base.tar" ||
            skip "Debian's packages cannot be had"
        mv "$work/base.tar" "$base"
    fi

    # Images and containers of its own, which need no service of this machine.
    engine=(podman --root "$work/storage" --runroot "$work/run" --storage-driver vfs --cgroup-manager cgroupfs --events-backend file
        --log-level fatal)
    # podman wants to raise limits, which root may not do everywhere.
    options=(--network host --ulimit nofile=1024:1024 --ulimit nproc=1024:1024)
    image=localhost/planaria
    "${engine[@]}" import "$base" localhost/base >/dev/null 2>&1
    for runtime in crun runc none; do
        [ $runtime != none ] || skip "neither crun nor runc can start one here: $(cat "$work/why")"
        if "${engine[@]}" --runtime "$runtime" run --rm "${options[@]}" localhost/base true 2>>"$work/why"; then
            engine+=(--runtime "$runtime")
            break
        fi
    done
    install -D "$PLANARIA" "$work/built/src/target/release/planaria"
    ! command -v strip >/dev/null || strip --strip-unneeded "$work/built/src/target/release/planaria"
    mkdir "$work/nothing"
    "${engine[@]}" build --format docker --isolation chroot --layers=false --build-arg BASE=localhost/base \
        --build-context build="$work/built" --file contrib/Dockerfile --tag "$image" "$work/nothing"
fi

# Ports that are free; inside of a network of its own that is not asked for.
free() {
    while port=$((20000 + RANDOM % 12000)) && (: </dev/tcp/127.0.0.1/$port) 2>/dev/null; do :; done
    echo "$port"
}
port=5432
if [ "${#options[@]}" != 0 ]; then
    port=$(free)
    options+=(--env "PLANARIA_LISTEN=127.0.0.1:$port" --env "PLANARIA_METRICS=127.0.0.1:$(free)")
fi
start() {
    "${engine[@]}" run --detach --name "$name" --volume "$name:/var/lib/planaria" "${options[@]}" "$image" >/dev/null
    for _ in $(seq 60); do
        ! healthy || return 0
        sleep 0.5
    done
    fail "it is not healthy: $("${engine[@]}" logs "$name" 2>&1)"
}
healthy() { # By the image's HEALTHCHECK.
    if [ "${engine[0]}" = podman ]; then
        "${engine[@]}" healthcheck run "$name" >/dev/null 2>&1
    else
        [ "$("${engine[@]}" inspect --format '{{.State.Health.Status}}' "$name")" = healthy ]
    fi
}
stop() {
    "${engine[@]}" stop --time 30 "$name" >/dev/null
    local status
    status=$("${engine[@]}" inspect --format '{{.State.ExitCode}}' "$name")
    [ "$status" = 0 ] || fail "it ended with status $status: $("${engine[@]}" logs "$name" 2>&1)"
}
ask() { # PASSWORD STATEMENT: from outside by psql where that can be
    if [ "${#options[@]}" != 0 ] && command -v psql >/dev/null; then
        PGPASSWORD=$1 psql -h 127.0.0.1 -p "$port" -U postgres -d test -XAtq -v ON_ERROR_STOP=1 -c "$2"
    else
        "${engine[@]}" exec --env PGPASSWORD="$1" "$name" planaria shell "postgres://postgres@127.0.0.1:$port/test" -c "$2"
    fi
}

"${engine[@]}" volume create "$name" >/dev/null
"${engine[@]}" run --rm --volume "$name:/var/lib/planaria" "${options[@]}" "$image" shell /var/lib/planaria \
    --command "ALTER ROLE postgres PASSWORD 'of a test'"
start
user=$("${engine[@]}" exec "$name" id -un)
[ "$user" = planaria ] || fail "the server runs as $user"
ask 'of a test' "CREATE TABLE t AS SELECT 7 AS k" >/dev/null
! ask 'another' "SELECT 1" >/dev/null 2>"$work/refused" || fail "a wrong password is let in"
grep -q 'password authentication failed' "$work/refused" || fail "a wrong password: $(cat "$work/refused")"
stop
"${engine[@]}" start "$name" >/dev/null
"${engine[@]}" rm --force "$name" >/dev/null # Killed: what was committed is on the disk.
start
ask 'of a test' "SELECT k AS seven FROM t" | grep -Eq '^ *7$' || fail "what was committed is not there in another container"
stop
echo "the image $image is as it is to be: it serves, stops and goes on; $("${engine[@]}" image inspect --format '{{.Size}}' "$image") bytes"
