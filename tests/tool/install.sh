#!/bin/sh
# make install: the installed tree runs a program, through a link to the command too, and `hrx doctor` finds its own libraries.
set -eu
B=${B:-build}
program=build/tests/apps/vector_add.hipcc-O3
[ -z "${SANITIZER:-}" ] || { echo "the rule is the same without a sanitizer"; exit 77; }
[ -x "$program" ] || { echo "$program is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

make --no-print-directory install DESTDIR="$work/tree" PREFIX=/opt/hrx >"$work/log" 2>&1 || { cat "$work/log"; fail "make install"; }
hrx=$work/tree/opt/hrx/bin/hrx
ln -s "$hrx" "$work/command"
for command in "$hrx" "$work/command"; do
  env -u LD_LIBRARY_PATH -u LD_PRELOAD "$command" run --gpu soft "$program" >"$work/out" 2>&1 || { cat "$work/out"; fail "$command run"; }
  grep -q PASS "$work/out" || fail "$command run printed no PASS"
done
HRX_GPU=soft "$hrx" doctor >"$work/out" || fail "hrx doctor"
grep -q "$work/tree/opt/hrx/lib" "$work/out" || { cat "$work/out"; fail "hrx doctor uses other libraries"; }
LD_LIBRARY_PATH=$work/tree/opt/hrx/lib/hip "$program" >"$work/out" 2>&1 || { cat "$work/out"; fail "the stand-in folder"; }
LD_PRELOAD=$work/tree/opt/hrx/lib/libhrx_interpose.so "$program" >"$work/out" 2>&1 || { cat "$work/out"; fail "the preload"; }
[ -f "$work/tree/opt/hrx/include/hrx/hrx.h" ] || fail "no headers"
grep -q '^prefix=/opt/hrx$' "$work/tree/opt/hrx/lib/pkgconfig/hrx.pc" || fail "hrx.pc says another prefix"
[ "$(PKG_CONFIG_PATH=$work/tree/opt/hrx/lib/pkgconfig pkg-config --variable=libdir hrx)" = /opt/hrx/lib ] || fail "hrx.pc says another libdir"
echo "install: passed"
