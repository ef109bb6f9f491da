#!/usr/bin/env bash
# Whether the Debian package is what it is to be: its files, its scripts, its server. It is installed into a temporary root; of
# this machine nothing changes.
#
#   contrib/test-package.sh [FILE.deb]
#
# Without a file it is built, of the binary that PLANARIA names, or of a release. What cannot be tested here is named in lines
# that begin with "skipped: ".
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v dpkg-deb >/dev/null; then
    echo "skipped: dpkg-deb is not installed"
    exit 0
fi
work=$(mktemp -d)
chmod 755 "$work"
server=
end() {
    if [ -n "$server" ]; then
        kill -KILL "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap end EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}

deb=${1:-}
if [ -z "$deb" ]; then
    deb=$(OUT=$work/package contrib/package.sh | tail -n 1)
fi

# What it says of itself, and what it has.
dpkg-deb -I "$deb" >"$work/info"
grep -q '^ Package: planaria$' "$work/info" || fail "the name in $(cat "$work/info")"
grep -Eq '^ Depends: libc6 \(>= 2\.[0-9]+\), ' "$work/info" || fail "the dependencies in $(cat "$work/info")"
dpkg-deb -c "$deb" >"$work/files"
for file in usr/bin/planaria usr/lib/systemd/system/planaria.service etc/planaria/planaria.toml \
    usr/share/man/man1/planaria.1.gz usr/share/man/man1/planaria-serve.1.gz usr/share/man/man1/planaria-log-inspect.1.gz \
    usr/share/bash-completion/completions/planaria usr/share/zsh/vendor-completions/_planaria \
    usr/share/fish/vendor_completions.d/planaria.fish usr/share/doc/planaria/copyright usr/share/doc/planaria/changelog.gz; do
    grep -Eq "^-rw[-rx]+ root/root .* \./$file\$" "$work/files" || fail "$file is not in the package"
done
if grep -q 'demo-victim' "$work/files"; then
    fail "a hidden command has a manual page"
fi

# Into a root of its own, with the scripts; that takes root's rights, for there are owners.
root=$work/root
mkdir -p "$root/etc" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/triggers"
touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
into_root() {
    dpkg --root="$root" --log="$work/dpkg.log" --force-script-chrootless --force-depends "$@" >"$work/dpkg.out" 2>&1 ||
        fail "dpkg $*: $(cat "$work/dpkg.out")"
}
as=()
if [ "$(id -u)" = 0 ]; then
    into_root --install "$deb"
    user=$(awk -F: '$1 == "planaria" { print $3 " " $4 }' "$root/etc/passwd")
    [ -n "$user" ] || fail "there is no user"
    [ "$(stat -c '%u %g %a' "$root/var/lib/planaria")" = "$user 700" ] || fail "the directory of the database"
    as=(setpriv "--reuid=${user% *}" "--regid=${user#* }" --clear-groups)
else
    echo "skipped: its scripts, for want of root's rights"
    dpkg-deb -x "$deb" "$root"
    mkdir -p "$root/var/lib/planaria"
fi

unit=$root/usr/lib/systemd/system/planaria.service
grep -q '^User=planaria$' "$unit" || fail "the user of the unit"
if command -v systemd-analyze >/dev/null; then
    # It looks for the binary where it will be: that line is true of a root only.
    systemd-analyze verify --man=no "$unit" 2>&1 | grep -i 'planaria' | grep -v 'is not executable: No such file' >"$work/unit" || true
    [ ! -s "$work/unit" ] || fail "the unit: $(cat "$work/unit")"
fi
if command -v man >/dev/null; then
    MANWIDTH=80 man -l "$root/usr/share/man/man1/planaria-serve.1.gz" >"$work/page" 2>&1 || fail "the manual page"
    grep -q -e '--config' "$work/page" || fail "the manual page of serve says nothing of --config"
fi
# shellcheck disable=SC1091
(
    source "$root/usr/share/bash-completion/completions/planaria"
    COMP_WORDS=(planaria ser) COMP_CWORD=1
    _planaria planaria ser planaria
    [ "${COMPREPLY[*]}" = serve ]
) || fail "completion in bash"

# The server as the unit starts it, but for its place and its ports.
start=$(sed -n 's/^ExecStart=//p' "$unit")
read -ra command <<<"$start"
for at in "${!command[@]}"; do
    case ${command[at]} in /*) command[at]=$root${command[at]} ;; esac
done
serve() {
    : >"$work/log"
    chmod 666 "$work/log"
    env PLANARIA_LISTEN=127.0.0.1:0 PLANARIA_METRICS=off "${as[@]}" "${command[@]}" 2>"$work/log" &
    server=$!
    for _ in $(seq 300); do
        url=$(sed -n 's,.* listens at \(127\.0\.0\.1:[0-9]*\).*,postgres://postgres@\1/test,p' "$work/log")
        [ -z "$url" ] || return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    fail "the server did not start: $(cat "$work/log")"
}
stop() {
    kill -TERM "$server"
    wait "$server" || fail "the server ended with status $?: $(cat "$work/log")"
    server=
}
ask() {
    "$root/usr/bin/planaria" shell "$url" "$@"
}
serve
ask -c "CREATE TABLE t (k int PRIMARY KEY)" -c "INSERT INTO t VALUES (7)" >/dev/null
stop
serve
ask -c "SELECT k AS seven FROM t" | grep -q '^     7$' || fail "what was committed is not there after a restart"
stop

# Again over itself, removed, purged.
if [ "$(id -u)" = 0 ]; then
    echo '# of the administrator' >>"$root/etc/planaria/planaria.toml"
    into_root --install "$deb"
    grep -q 'of the administrator' "$root/etc/planaria/planaria.toml" || fail "settings have been overwritten"
    into_root --remove planaria
    [ ! -e "$root/usr/bin/planaria" ] || fail "the binary is there after its removal"
    [ -e "$root/var/lib/planaria/manifest" ] || fail "removing has deleted the database"
    [ -e "$root/etc/planaria/planaria.toml" ] || fail "removing has deleted the settings"
    into_root --purge planaria
    [ ! -e "$root/var/lib/planaria" ] || fail "purging has left the database"
    [ ! -e "$root/etc/planaria" ] || fail "purging has left the settings"
    ! grep -q '^planaria:' "$root/etc/passwd" || fail "purging has left the user"
fi
echo "the package is as it is to be: $(basename "$deb"), $(stat -c %s "$deb") bytes"
