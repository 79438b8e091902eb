#!/bin/sh
# hrx inspect: code objects, fat binaries, programs with their libraries, JSON, --require, damaged files.
set -eu
B=${B:-build}
hrx=$B/bin/hrx
[ -x "$hrx" ] || { echo "$hrx is not built"; exit 77; }
[ -f "$B/tests/fixtures/bundle.hipfb" ] || { echo "fixtures are not built"; exit 77; }
hrx=$(realpath "$hrx")
fixtures=$(realpath "$B/tests/fixtures")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
has() { grep -q -- "$1" "$work/out" || { cat "$work/out"; fail "no line with: $1"; }; }
lacks() { ! grep -q -- "$1" "$work/out" || { cat "$work/out"; fail "a line with: $1"; }; }
# status WANTED COMMAND...: output in $work/out
status() {
  want=$1; shift
  got=0
  "$@" >"$work/out" 2>&1 || got=$?
  [ "$got" = "$want" ] || { cat "$work/out"; fail "status $got, not $want: $*"; }
}

status 0 "$hrx" inspect "$fixtures/v5.co"
has 'code object v5, 2 kernels'
has 'kernel add'
has '256 bytes of LDS'
has 'argument 1: global_buffer, 8 bytes at 8, read only'
has 'and 13 hidden arguments'

status 0 "$hrx" inspect "$fixtures/bundle.hipfb"
has 'fat binary'
has 'code for gfx1030'
has 'code for gfx90a:xnack-'

status 0 "$hrx" inspect --json "$fixtures/bundle.hipfb"
has '"target": "gfx90a:xnack-"'
has '"lds_bytes": 256'
if command -v python3 >/dev/null; then python3 -m json.tool "$work/out" >/dev/null || fail "not JSON"; fi

# an architecture that the file has no code for
status 1 env HRX_SOFT_ARCH=gfx1151 "$hrx" inspect --require "$fixtures/v5.co"
has 'there is no code for gfx1151'

# an instruction that is not implemented: where a wave can come, and only there
status 1 "$hrx" inspect --require "$fixtures/lacking.co"
has 's_subvector_loop_begin is not implemented (kernel lacking_branch and 2 more)'
has 'missing to run it on gfx1030: 1$'
[ "$(grep -c 'NOT IMPLEMENTED: s_subvector_loop_begin (bd800001), 1 times' "$work/out")" = 3 ] || fail "not 3 kernels lack it"
# kernels that no launch accepts as a whole
status 1 "$hrx" inspect --require "$fixtures/wave64.co"
has 'CANNOT RUN: kernel whole is built for waves of 64 lanes, gfx1030 executes 32'
has 'missing to run it on gfx1030: 4$'
status 1 "$hrx" inspect --require --json "$fixtures/wave64.co"
has '"refusal": "kernel whole is built for waves of 64'

# damaged
head -c 3000 "$fixtures/v5.co" >"$work/cut.co"
status 2 "$hrx" inspect "$work/cut.co"
has 'offset'
status 2 "$hrx" inspect "$work/absent"
has 'No such file'
status 2 "$hrx" inspect
: >"$work/empty"
status 2 "$hrx" inspect "$work/empty"

# a program, its library by RUNPATH, and what both import from HIP
cd "$work"
cat >hip.c <<'C'
int hipMalloc(void) { return 0; }
int hipGetLastError(void) { return 0; }
int hipGLGetDevices(void) { return 0; }
int hipOfTheFuture(void) { return 0; }
int hipblasThing(void) { return 0; }
C
echo 'int hipMalloc(void); int middle(void); int main(void) { return hipMalloc() + middle(); }' >main.c
mkdir lib
cc -shared -fPIC -Wl,-soname,libamdhip64.so.5 hip.c -o lib/libamdhip64.so.5
echo 'int hipGetLastError(void); int middle(void) { return hipGetLastError(); }' >good.c
cc -shared -fPIC -Wl,-soname,libmiddle.so good.c lib/libamdhip64.so.5 -o lib/libmiddle.so
cc main.c lib/libmiddle.so lib/libamdhip64.so.5 -Wl,-rpath-link,lib '-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib' -o program
status 0 "$hrx" inspect --require program
has 'program: program'
has 'needs libamdhip64.so.5: hrx stands in'
has 'imports hipMalloc: handled'
has 'imports hipGetLastError: handled, for libmiddle.so'
has 'nothing is missing'

# the library now needs a refused function and one that nobody knows; another library's names are not HIP's
echo 'int hipGLGetDevices(void); int hipOfTheFuture(void); int hipblasThing(void);
int middle(void) { return hipGLGetDevices() + hipOfTheFuture() + hipblasThing(); }' >bad.c
cc -shared -fPIC -Wl,-soname,libmiddle.so bad.c lib/libamdhip64.so.5 -o lib/libmiddle.so
status 1 "$hrx" inspect --require program
has 'function hipGLGetDevices is refused'
has 'function hipOfTheFuture is unknown'
lacks hipblasThing
status 0 "$hrx" inspect program
status 1 "$hrx" inspect --require --json program
has '"policy": "refused"'

rm lib/libmiddle.so
status 1 "$hrx" inspect --require program
has 'library libmiddle.so is not found'
echo "inspect: passed"
