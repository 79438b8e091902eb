#!/bin/sh
# hrx run: exit status, arguments, environment, programs that cannot be started.
set -eu
B=${B:-build}
hrx=$B/bin/hrx
[ -x "$hrx" ] && [ -f "$B/lib/libhrx_interpose.so" ] && [ -d "$B/lib/hip" ] || { echo "hrx is not built"; exit 77; }
hrx=$(realpath "$hrx")
lib=$(realpath "$B/lib")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# the shells and tools that run below leak, which is their business
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export ASAN_OPTIONS
fail() { echo "FAILED: $*"; exit 1; }
status() {
  want=$1; shift
  got=0
  "$@" >"$work/out" 2>&1 || got=$?
  [ "$got" = "$want" ] || { cat "$work/out"; fail "status $got, not $want: $*"; }
}
has() { grep -q -- "$1" "$work/out" || { cat "$work/out"; fail "no line with: $1"; }; }

status 7 "$hrx" run sh -c 'exit 7'
status 0 "$hrx" run -- sh -c '[ "$1" = --stats ] && [ $# = 2 ]' name --stats 'a b'
status 127 "$hrx" run "$work/absent"
has 'No such file'
status 127 "$hrx" run no-program-has-this-name
status 126 "$hrx" run "$work"
status 2 "$hrx" run
status 2 "$hrx" run --gpu cuda true
status 2 "$hrx" run --wrong true
# a GPU that the software one is not: refused before anything runs
for wrong in gfx9 gfx1031 gfx1030x ''; do
  status 2 "$hrx" run --arch "$wrong" sh -c 'echo it ran'
  has "hrx run: --arch: the software GPU executes gfx1030, not \"$wrong\""
  ! grep 'it ran' "$work/out" || fail "--arch $wrong runs the program"
done
# a program that a signal ends: the shell sees 128 + 15
status 143 "$hrx" run sh -c 'kill -TERM $$'

status 0 env LD_PRELOAD= LD_LIBRARY_PATH=/nowhere "$hrx" run --gpu=soft --arch gfx1030 --stats sh -c 'env'
has "^LD_PRELOAD=.*$lib/libhrx_interpose.so"
has "^LD_LIBRARY_PATH=$lib/hip:/nowhere"
has '^HRX_GPU=soft'
has '^HRX_SOFT_ARCH=gfx1030'
has '^HRX_STATS=1'
# without a GPU, auto is soft
if [ ! -e /dev/kfd ]; then
  status 0 env -u HRX_GPU "$hrx" run sh -c 'env'
  has '^HRX_GPU=soft'
  # and so is a name that there is not
  status 0 env HRX_GPU=cuda "$hrx" run sh -c 'env'
  has '^HRX_GPU=soft'
  has '^hrx: HRX_GPU=cuda is ignored: expected auto, hip or soft'
fi
# the same name from the environment: no device, said once, and the program goes on
status 1 env HRX_GPU=soft HRX_SOFT_ARCH=gfx9 "$hrx" doctor
has 'programs cannot run: HRX_SOFT_ARCH'
cat >"$work/count.c" <<'C'
#include <stdio.h>
int hipGetDeviceCount(int *), hipSetDevice(int);
int main(void) {
  int count = -1, first = hipGetDeviceCount(&count), second = hipSetDevice(0);
  printf("errors %d %d\n", first, second);
  return 0;
}
C
cc "$work/count.c" -o "$work/count" -L"$lib/hip" -lamdhip64
status 0 env HRX_SOFT_ARCH=gfx9 "$hrx" run --gpu soft "$work/count"
has 'errors 100 100'
has 'hrx: hipErrorNoDevice: HRX_SOFT_ARCH: the software GPU executes gfx1030, not "gfx9"'
[ "$(grep -c HRX_SOFT_ARCH "$work/out")" = 1 ] || fail "HRX_SOFT_ARCH is not named once"
status 0 env HRX_SOFT_LEVEL=v9 "$hrx" run --gpu soft "$work/count"
has 'errors 100 100'
has 'hrx: hipErrorNoDevice: HRX_SOFT_LEVEL: vector level v9 is unknown'
[ "$(grep -c HRX_SOFT_LEVEL "$work/out")" = 1 ] || fail "HRX_SOFT_LEVEL is not named once"
# a script and a program found by PATH
printf '#!/bin/sh\nexit 5\n' >"$work/script"
chmod +x "$work/script"
status 5 "$hrx" run "$work/script"
status 5 env PATH="$work:$PATH" "$hrx" run script
# a static program runs, and its user is told
echo 'int main(void) { return 3; }' >"$work/static.c"
if cc -static "$work/static.c" -o "$work/static" 2>/dev/null; then
  status 3 "$hrx" run "$work/static"
  has 'statically linked'
fi
# a HIP library that crashes does no harm
echo 'int hipGetDeviceCount(int *count) { __builtin_trap(); return *count = 0; }' >"$work/hip.c"
cc -shared -fPIC "$work/hip.c" -o "$work/libbad.so"
status 0 env HRX_GPU=soft HRX_HIP_LIBRARY="$work/libbad.so" "$hrx" doctor
has 'ended the process that asked it'
status 126 env HRX_HIP_LIBRARY=/nowhere/libamdhip64.so "$hrx" run --gpu hip true
has 'no libamdhip64 is found'
echo "run: passed"
