#!/bin/sh
# What a program gets that asks for what cannot be: a HIP error, one line that names the thing, and it goes on.
set -eu
B=${B:-build}
hrx=$(realpath "$B/bin/hrx")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; cat "$work/out"; exit 1; }
has() { grep -q -- "$1" "$work/out" || fail "no line with: $1"; }
count() { [ "$(grep -c -- "$1" "$work/out")" = "$2" ] || fail "not $2 lines with: $1"; }
# run WANTED_STATUS [NAME=VALUE...] PROGRAM ARGUMENTS
run() {
  want=$1; shift
  got=0
  LD_PRELOAD=${SANITIZER_PRELOAD:-} timeout -k 5 240 "$@" >"$work/out" 2>&1 </dev/null || got=$?
  [ "$got" = "$want" ] || fail "status $got, not $want: $*"
}

hipcc --offload-arch=gfx1030 -O2 tests/tool/bad_input.hip -o "$work/bad" 2>"$work/out" || fail "it does not build"
hipcc --offload-arch=gfx90a --offload-arch=gfx906 -O2 tests/tool/bad_input.hip -o "$work/other" 2>"$work/out" || fail "it does not build"

# a binary without a matching target: the launch fails, nothing before it
run 0 "$hrx" run "$work/other" target
has 'malloc 0'
has 'error 209'
has 'hrx: .*gfx906.*gfx90a\|hrx: .*gfx90a.*gfx906'

# a function that is not there
run 0 "$hrx" run "$work/bad" unsupported
has 'error 801'
count 'hrx: .*hipImportExternalMemory' 1
has 'goes on: yes'

# a pointer that is no kernel: one line each. A forked child: one line.
run 0 "$hrx" run "$work/bad" unregistered
has 'error 98'
count 'hrx: a launch names 0x[0-9a-f]*, which no kernel was registered for: .*loaded' 2
has 'goes on: yes'
run 0 "$hrx" run "$work/bad" child
count 'hrx: .*fork' 1
has 'goes on: yes'

# no memory left
run 0 env HRX_SOFT_MEMORY=64M "$hrx" run "$work/bad" memory
has 'error 2$'
has 'total 67108864, full'
has 'goes on: yes'

# a kernel that never ends: the time limit, and Ctrl-C
run 0 env HRX_TIMEOUT=0.5 "$hrx" run "$work/bad" endless
has 'error 702'
has 'hrx: .*endless'
has 'goes on: yes'
run 0 env HRX_TIMEOUT=0.5 "$hrx" run "$work/bad" graph
has 'error 702'
count 'hrx: kernel .*endless.* longer than' 1
has 'goes on: yes'
# interrupt WANTED_STATUS PROGRAM ARGUMENTS: Ctrl-C as soon as it says that it has started
interrupt() {
  want=$1; shift
  got=0
  : >"$work/out"
  LD_PRELOAD=${SANITIZER_PRELOAD:-} timeout -k 5 240 env --default-signal=INT "$@" >"$work/out" 2>&1 </dev/null &
  guard=$!
  until grep -q started "$work/out" || ! kill -0 $guard 2>/dev/null; do :; done
  kill -INT $guard
  wait $guard || got=$?
  [ "$got" = "$want" ] || fail "status $got, not $want: $*"
}
interrupt 130 "$hrx" run "$work/bad" endless
has started
count 'hrx: kernel .*endless.*Ctrl-C' 1
has 'hrx: kernel .*endless.*: workgroup ([0-3],0,0) wave [01] runs at +0x[0-9a-f]*: [a-z]'
if grep -q '^error' "$work/out"; then fail "the program went on after Ctrl-C"; fi
interrupt 130 "$hrx" run "$work/bad" graph
count 'hrx: kernel .*endless.*Ctrl-C' 1
interrupt 130 "$hrx" run "$work/bad" idle
if grep -q 'hrx: kernel' "$work/out"; then fail "no kernel runs, and one is reported"; fi
interrupt 130 "$hrx" run "$work/bad" forked
has started
for handler in early late; do
  interrupt 7 "$hrx" run "$work/bad" $handler
  has started
  if grep -q 'hrx: kernel' "$work/out"; then fail "the program has a handler ($handler) of its own"; fi
done

# damaged fat binaries: an error, never a crash. The bundle begins at its magic.
offset=$(grep -abo __CLANG_OFFLOAD_BUNDLE__ "$work/bad" | head -n 1 | cut -d: -f1)
for damage in 0 30 70 4100 4200 4300; do
  cp "$work/bad" "$work/damaged"
  printf '\377\377\377\377\377\377\377\377' | dd of="$work/damaged" bs=1 seek=$((offset + damage)) conv=notrunc 2>/dev/null
  got=0
  timeout -k 5 240 env LD_PRELOAD="${SANITIZER_PRELOAD:-}" "$hrx" run "$work/damaged" launch >"$work/out" 2>&1 </dev/null || got=$?
  [ "$got" = 0 ] || fail "damage at $damage: status $got"
  has '^error '
done
has_error=0
for damage in 0 30; do
  cp "$work/bad" "$work/damaged"
  printf '\377\377\377\377\377\377\377\377' | dd of="$work/damaged" bs=1 seek=$((offset + damage)) conv=notrunc 2>/dev/null
  run 0 "$hrx" run "$work/damaged" launch
  if grep -q '^error 0' "$work/out"; then fail "damage at $damage was not noticed"; fi
  grep -q 'hrx: .*offset' "$work/out" && has_error=1
done
[ $has_error = 1 ] || fail "no message named an offset"
