#!/usr/bin/env bash
# Builds the image of contrib/Dockerfile and tries it: a password is set, the server is started, asked by its own shell, and is
# healthy; what was committed is there after a restart.
#
#   contrib/container.sh [NAME]         the image is called NAME, or planaria
#
# Where there is neither docker nor podman that works, one line says so that begins with "skipped: ".
set -euo pipefail
cd "$(dirname "$0")/.."
image=${1:-planaria}

engine=
for candidate in docker podman; do
    if command -v "$candidate" >/dev/null && "$candidate" info >/dev/null 2>&1; then
        engine=$candidate
        break
    fi
done
if [ -z "$engine" ]; then
    echo "skipped: the container: neither docker nor podman works here"
    exit 0
fi

"$engine" build --file contrib/Dockerfile --tag "$image" .
name=planaria-test-$$
end() {
    "$engine" rm --force "$name" >/dev/null 2>&1 || true
    "$engine" volume rm "$name" >/dev/null 2>&1 || true
}
trap end EXIT
"$engine" volume create "$name" >/dev/null
"$engine" run --rm --volume "$name:/var/lib/planaria" "$image" shell /var/lib/planaria \
    --command "ALTER ROLE postgres PASSWORD 'of a test'"
"$engine" run --detach --name "$name" --volume "$name:/var/lib/planaria" "$image" >/dev/null

ask() { # Waits until the server answers.
    for _ in $(seq 60); do
        if "$engine" exec --env PGPASSWORD='of a test' "$name" planaria shell postgres://postgres@127.0.0.1:5432/test "$@"; then
            return 0
        fi
        sleep 1
    done
    "$engine" logs "$name"
    return 1
}
ask --command "CREATE TABLE t AS SELECT 7 AS k"
"$engine" exec "$name" planaria status
"$engine" stop "$name" >/dev/null
"$engine" start "$name" >/dev/null
ask --command "SELECT k AS seven FROM t" | grep -q '^     7$'
echo "the image $image serves, stops and goes on"
