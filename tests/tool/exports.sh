#!/bin/sh
# The public headers, runtime/hrx.map and libhrx.so agree about every name; each header can be included alone, from C and C++; a program
# builds with what pkg-config says.
set -eu
B=${B:-build}
CC=${CC:-gcc} CXX=${CXX:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

scripts/public-names >"$work/declared"
sed -n '/^HRX_[0-9]/,/^}/p' runtime/hrx.map | grep -oE '^ +hrx_[a-z0-9_]+;' | tr -d ' ;' >"$work/listed"
sort -u "$work/listed" >"$work/map"
[ "$(wc -l <"$work/listed")" = "$(wc -l <"$work/map")" ] || fail "a name is twice in runtime/hrx.map"
diff "$work/declared" "$work/map" >"$work/diff" || { cat "$work/diff"; fail "the headers (<) and runtime/hrx.map (>) differ"; }
nm -D --defined-only "$B/lib/libhrx.so" | awk '$2 == "T" {print $3}' | sed 's/@.*//' | sort -u >"$work/exported"
diff "$work/declared" "$work/exported" >"$work/diff" || { cat "$work/diff"; fail "the headers (<) and libhrx.so (>) differ"; }

for header in include/hrx/*.h; do
  name=$(basename "$header")
  echo "#include <hrx/$name>" >"$work/one.c"
  $CC -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only "$work/one.c" || fail "$name alone, in C"
  $CXX -x c++ -std=c++17 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$work/one.c" || fail "$name alone, in C++"
done

[ -z "${SANITIZER:-}" ] || { echo "exports: passed, without the program"; exit 0; }
cat >"$work/program.c" <<'C'
#include <hrx/hrx.h>
#include <stdio.h>
int main(void) {
  hrx_runtime *runtime = NULL;
  hrx_buffer *buffer = NULL;
  hrx_status status = hrx_runtime_create(NULL, &runtime);
  if (status == HRX_OK) status = hrx_buffer_create(runtime, 4096, HRX_HOST_VISIBLE, 0, &buffer);
  if (status != HRX_OK) fprintf(stderr, "%s\n", hrx_last_message());
  hrx_buffer_release(buffer);
  hrx_runtime_release(runtime);
  return status != HRX_OK;
}
C
# as it is used before it is installed
PKG_CONFIG_PATH=$B/lib/pkgconfig
export PKG_CONFIG_PATH
$CC "$work/program.c" -o "$work/program" $(pkg-config --cflags --libs hrx) || fail "a program built with pkg-config"
env -u LD_LIBRARY_PATH "$work/program" || fail "the program"
echo "exports: passed"
