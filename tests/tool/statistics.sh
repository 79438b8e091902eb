#!/bin/sh
# hrx run --stats: a summary on stderr when the program has ended, and none without it.
set -eu
B=${B:-build}
program=build/tests/apps/vector_add.hipcc-O3
[ -x "$program" ] || { echo "$program is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() { LD_PRELOAD=${SANITIZER_PRELOAD:-} "$B/bin/hrx" run --gpu soft "$@" "$program" >"$work/out" 2>"$work/errors"; }
fail() { cat "$work/errors"; echo "FAILED: $*"; exit 1; }

run || fail "without --stats"
! grep -q statistics "$work/errors" || fail "a summary that nobody asked for"
HRX_LOG=error run --stats || fail "with --stats"
grep -q '^hrx: statistics: .* 1 kernels' "$work/errors" || fail "no line that counts the one kernel"
# the program's three buffers at least
grep -q '^hrx: statistics: [1-9][0-9]* allocations, ' "$work/errors" || fail "no line about memory"
! grep -q statistics "$work/out" || fail "the summary went to stdout"
echo "statistics: passed"
