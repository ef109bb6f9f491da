#!/usr/bin/env bash
# The Debian package: target/package/planaria_VERSION_ARCH.deb, whose path is the last line printed.
#
#   contrib/package.sh
#
# PLANARIA names a binary that is there already; without it a release is built. OUT is another directory to write to.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=${PLANARIA:-}
if [ -z "$binary" ]; then
    cargo build --release --locked --package planaria-cli
    binary=${CARGO_TARGET_DIR:-target}/release/planaria
fi
out=${OUT:-target/package}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

root=$work/root
install -D -m 755 "$binary" "$root/usr/bin/planaria"
if command -v strip >/dev/null; then
    strip --strip-unneeded "$root/usr/bin/planaria"
fi

# The unit, with the paths and the user that the package has.
mkdir -p "$root/usr/lib/systemd/system"
sed -e '1,/^\[Unit\]$/{ /^#/d }' -e 's,/usr/local/bin/,/usr/bin/,' \
    -e 's/^DynamicUser=yes$/User=planaria\nGroup=planaria/' \
    contrib/planaria.service >"$root/usr/lib/systemd/system/planaria.service"
install -D -m 644 contrib/planaria.toml "$root/etc/planaria/planaria.toml"

# What the binary knows of itself.
"$binary" generate "$work/generated"
mkdir -p "$root/usr/share/man/man1"
for page in "$work"/generated/man/*.1; do
    gzip -9n <"$page" >"$root/usr/share/man/man1/$(basename "$page").gz"
done
install -D -m 644 "$work/generated/completions/planaria.bash" "$root/usr/share/bash-completion/completions/planaria"
install -D -m 644 "$work/generated/completions/_planaria" "$root/usr/share/zsh/vendor-completions/_planaria"
install -D -m 644 "$work/generated/completions/planaria.fish" "$root/usr/share/fish/vendor_completions.d/planaria.fish"

doc=$root/usr/share/doc/planaria
mkdir -p "$doc"
# A paragraph of the file: a line begins with a space, an empty one has a point.
sed -e 's/^$/./' -e 's/^/ /' LICENSE-MIT >"$work/mit"
sed -e "/^@MIT@$/{ r $work/mit
d }" contrib/debian/copyright >"$doc/copyright"
gzip -9n <CHANGELOG.md >"$doc/changelog.gz"

# The newest C library that a symbol of the binary asks for.
glibc=$(grep -aoE 'GLIBC_[0-9]+\.[0-9]+' "$binary" | sort -Vu | tail -n 1)
mkdir "$root/DEBIAN"
echo /etc/planaria/planaria.toml >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "contrib/debian/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
cat >"$root/DEBIAN/control" <<CONTROL
Package: planaria
Version: $version
Architecture: $arch
Maintainer: The authors of Planaria <planaria@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= ${glibc#GLIBC_}), libgcc-s1, passwd
Section: database
Priority: optional
Description: main-memory SQL database
 Planaria keeps tables in memory, runs stored procedures serializably, logs
 commands, and is recovered in parallel. It speaks PostgreSQL's protocol.
 .
 The package has the server, its shell and tools, a unit for systemd, and
 settings in /etc/planaria.
CONTROL

mkdir -p "$out"
deb=$out/planaria_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$deb" >/dev/null
echo "$deb"
