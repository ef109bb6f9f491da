#!/usr/bin/env bash
# Memory safety and races, beyond what the compiler proves: by command, for an hour or a night.
#
#   tests/sanitizers/run.sh            everything that can be run here; says what it had to skip
#   tests/sanitizers/run.sh miri       the unsafe room (storage) under Miri: Stacked Borrows, uninitialised memory, races
#   tests/sanitizers/run.sh address    AddressSanitizer: storage, protocol, exec, recovery, log
#   tests/sanitizers/run.sh thread     ThreadSanitizer: the stress tests of storage, protocol, log, and the engine
#   tests/sanitizers/run.sh memcheck   valgrind's memcheck, with the stable toolchain: storage, protocol
#   tests/sanitizers/run.sh fuzz [SECONDS]  libFuzzer on SQL text, messages, files
#
# Miri, the sanitizers and libFuzzer need a nightly toolchain: `rustup toolchain install nightly -c miri -c rust-src`,
# `cargo install cargo-fuzz`.
set -uo pipefail
cd "$(dirname "$0")/../.."

target=x86_64-unknown-linux-gnu
targets=$(realpath -m "${CARGO_TARGET_DIR:-target}")
passed=0 failed=0
skipped=()

check() { # NAME COMMAND...
    local name=$1 start=$SECONDS
    shift
    echo "== $name"
    if "$@"; then
        passed=$((passed + 1))
        echo "   ok, $((SECONDS - start)) s"
    else
        failed=$((failed + 1))
        echo "   FAILED: $name"
    fi
}

nightly() { # COMPONENT: whether a nightly toolchain has it
    rustup component list --toolchain nightly --installed 2>/dev/null | grep -q "^$1"
}

under_miri() {
    nightly miri || { skipped+=("Miri: no nightly toolchain with it"); return; }
    # Words of the tree are addresses too, so provenance is exposed and taken up again (`storage::btree::node`).
    # Keys, rows and arenas are safe code all through; their tests would take most of the time.
    local flags="-Zmiri-disable-isolation -Zmiri-permissive-provenance"
    check "storage under Miri" env MIRIFLAGS="$flags" PROPTEST_CASES=4 \
        cargo +nightly miri test -p planaria-storage --lib -- --skip key:: --skip row:: --skip arena::
    # Again with each block by itself, where blocks are used.
    check "records under Miri, each in a block of the allocator" env MIRIFLAGS="$flags" RUSTFLAGS="--cfg blocks_apart" \
        CARGO_TARGET_DIR="$targets/miri-apart" cargo +nightly miri test -p planaria-storage --lib -- table:: restore::
}

under() { # SANITIZER ROOMS...
    local sanitizer=$1
    shift
    nightly rust-src || { skipped+=("$sanitizer sanitizer: no nightly toolchain with rust-src"); return; }
    local rooms=()
    for room in "$@"; do rooms+=(-p "$room"); done
    # With the standard library built alike: what it does not tell the sanitizer would be taken for a race.
    check "$* under the $sanitizer sanitizer" env \
        RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer --cfg blocks_apart" \
        ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS="suppressions=$PWD/tests/sanitizers/tsan.supp halt_on_error=1" \
        PROPTEST_CASES=16 CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$targets/$sanitizer" \
        cargo +nightly test -Zbuild-std --target "$target" "${rooms[@]}" --lib --tests --no-fail-fast
}

under_memcheck() {
    command -v valgrind >/dev/null || { skipped+=("memcheck: no valgrind"); return; }
    local memcheck=(env PROPTEST_CASES=8 RUSTFLAGS="--cfg blocks_apart"
        CARGO_INCREMENTAL=0 CARGO_TARGET_DIR="$targets/memcheck"
        CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=9 --fair-sched=yes"
        cargo test --target "$target")
    check "storage under memcheck" "${memcheck[@]}" -p planaria-storage --lib
    # The stress tests are for ThreadSanitizer: memcheck runs one thread at a time.
    check "protocol under memcheck" "${memcheck[@]}" -p planaria-protocol --lib --tests -- --skip stress
}

fuzzed() { # SECONDS
    command -v cargo-fuzz >/dev/null && nightly rustc || { skipped+=("libFuzzer: no cargo-fuzz, or no nightly toolchain"); return; }
    # Texts of the golden scripts, messages, changes of files, and the words of SQL: what it finds by itself is slow to
    # come. What it adds stays in fuzz/corpus, which is not checked in, for the next time.
    check "seeds" cargo run --quiet -p planaria-fuzz --example seeds -- fuzz/corpus
    for kind in sql wire files; do
        local words=()
        [ -f "fuzz/corpus/$kind.dict" ] && words=(-dict="fuzz/corpus/$kind.dict")
        # What is static, or a thread that waits, has its memory until the process ends: that is no leak.
        check "$1 seconds of $kind" env CARGO_TARGET_DIR="$targets/fuzz" cargo +nightly fuzz run "$kind" -- \
            -max_total_time="$1" -timeout=30 -rss_limit_mb=6000 -detect_leaks=0 -print_final_stats=1 "${words[@]}"
    done
}

case ${1:-all} in
miri) under_miri ;;
address) under address planaria-storage planaria-protocol planaria-log planaria-exec planaria-recovery ;;
thread) under thread planaria-storage planaria-protocol planaria-log planaria ;;
memcheck) under_memcheck ;;
fuzz) fuzzed "${2:-600}" ;;
all)
    under_miri
    under address planaria-storage planaria-protocol planaria-log planaria-exec planaria-recovery
    under thread planaria-storage planaria-protocol planaria-log planaria
    under_memcheck
    fuzzed 300
    ;;
*) sed -n '2,/^set/p' "$0" | grep '^#' && exit 2 ;;
esac

echo
for what in "${skipped[@]}"; do echo "skipped: $what"; done
echo "$passed passed, $failed failed, ${#skipped[@]} skipped"
[ "$failed" -eq 0 ]
