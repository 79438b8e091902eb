#!/bin/sh
# The C program in README.md builds with the command in README.md, in either order of its arguments, and prints what it should.
set -eu
B=${B:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$work/square.c"
grep -q 'int main' "$work/square.c" || fail "README.md has no C program"
[ "$B" = build ] || sed -i "s,build/lib/npu,$B/lib/npu," "$work/square.c"
flags=$(PKG_CONFIG_PATH=$B/lib/pkgconfig pkg-config --cflags --libs hrx)
# shellcheck disable=SC2086
for order in "$work/square.c $flags" "$flags $work/square.c"; do
  gcc -Wall -Wextra -Wno-parentheses -Werror ${SANITIZER:+-fsanitize=$SANITIZER} $order -o "$work/square" || fail "gcc $order"
  ASAN_OPTIONS=detect_leaks=0 "$work/square" >"$work/out" 2>&1 || { cat "$work/out"; fail "the program"; }
  grep -qx '1000 squared is 1000000' "$work/out" || { cat "$work/out"; fail "the result"; }
done
echo "readme: passed"
