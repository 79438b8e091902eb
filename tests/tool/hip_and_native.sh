#!/bin/sh
# A HIP program that also uses the native library, on the same memory and in the same streams: by preload and under `hrx run`.
set -eu
B=${B:-build}
HIPCC=${HIPCC:-hipcc}
[ -z "${SANITIZER:-}" ] || { echo "the rule is the same without a sanitizer"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
PKG_CONFIG_PATH=$B/lib/pkgconfig
export PKG_CONFIG_PATH
$HIPCC --offload-arch=gfx1030 -O2 tests/tool/hip_and_native.hip $(pkg-config --cflags --libs hrx) -o "$work/program" 2>"$work/log" ||
  { cat "$work/log"; fail "hipcc"; }
LD_PRELOAD=$B/lib/libhrx_interpose.so HRX_GPU=soft "$work/program" >"$work/out" 2>&1 || { cat "$work/out"; fail "preloaded"; }
grep -q PASS "$work/out" || fail "preloaded: no PASS"
"$B/bin/hrx" run --gpu soft "$work/program" >"$work/out" 2>&1 || { cat "$work/out"; fail "under hrx run"; }
grep -q PASS "$work/out" || fail "under hrx run: no PASS"
echo "hip_and_native: passed"
