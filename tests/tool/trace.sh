#!/bin/sh
# hrx run --trace: a file that trace viewers open, with all that an unmodified program ran.
set -eu
B=${B:-build}
hrx=$(realpath "$B/bin/hrx")
program=$(realpath build/tests/apps/streams_events.hipcc-O3 2>/dev/null) || program=
graph=$(realpath build/tests/apps/graph_explicit.hipcc-O3 2>/dev/null) || graph=
[ -x "$program" ] && [ -x "$graph" ] || { echo "streams_events or graph_explicit is not built"; exit 77; }
preload=$(realpath "$B/lib/libhrx_interpose.so")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -std=gnu17 -O1 -Wall -Wextra -Werror tests/tool/trace_check.c -o "$work/check" -ljansson -lm
cc -std=gnu17 -O1 -D__HIP_PLATFORM_AMD__ tests/tool/trace_fork.c -o "$work/fork" -lamdhip64
cd "$work"
fail() { cat out errors 2>/dev/null; echo "FAILED: $*"; exit 1; }
run() { LD_PRELOAD=${SANITIZER_PRELOAD:-} "$hrx" run --gpu soft "$@" >out 2>errors; }
check() { ./check "$1" >tasks 2>errors || fail "$1 is no good trace"; }
has() { grep -q -- "$1" tasks || { cat tasks; fail "no task like: $1"; }; }
count() { grep -c -- "$1" tasks || true; }

run "$program" || fail "without --trace"
[ -z "$(ls -- *.json 2>/dev/null)" ] || fail "a trace that nobody asked for"

run --trace first.json "$program" || fail "with --trace"
grep -q PASS out || fail "the program's own output is gone"
[ ! -s errors ] || fail "something was said"
check first.json
has '^kernel _Z3addPiii done'
has '^kernel _Z4busyPfi done'
has '^copy .* done 16384$'
has '^fill .* done 16384$'
has '^host '
has '^dropped 0$'
[ "$(count '^kernel _Z3addPiii ')" -ge 50 ] || fail "not each of the 50 launches is there"
! grep -q '^flows 0$' tasks || fail "two streams that wait for each other have no edge"

# kernels of a graph have their names too; the file is where the command was, not where the program went
run --trace=second.json sh -c 'cd / && exec "$0"' "$graph" || fail "a graph"
check second.json
has '^kernel _Z[0-9]'

# few events: the newest, the others are counted
HRX_TRACE_EVENTS=10 run --trace few.json "$program" || fail "few events"
grep -q 'only the last 10 events' errors || fail "nobody says that events are missing"
check few.json
[ "$(count ' done')" = 10 ] || fail "not 10 events"
has '^dropped [1-9]'

# by the environment alone; %p is the number of the process
traced() {
  rm -f ./*.json
  env LD_PRELOAD="${SANITIZER_PRELOAD:-}${SANITIZER_PRELOAD:+:}$preload" HRX_GPU=soft HRX_TRACE=of-%p.json "$@" >out 2>errors ||
    fail "$*"
}
# a child of a process that used the GPU writes nothing
traced ./fork
[ "$(ls | grep -c '^of-[0-9]*\.json$')" = 1 ] || fail "not one file: $(ls)"
check of-*.json
has '^fill .* 1000$'
has '^fill .* 3000$'
# one that uses it itself has a trace of its own
traced ./fork early
[ "$(ls | grep -c '^of-[0-9]*\.json$')" = 2 ] || fail "not two files: $(ls)"
for file in of-*.json; do
  check "$file"
  [ "$(count '^fill ')" = 1 ] || fail "$file has not just the work of one process"
done

# what cannot be written is said before the program runs
for path in /nowhere/trace.json "$work" ''; do
  status=0
  run --trace "$path" touch ran || status=$?
  [ $status = "$([ -n "$path" ] && echo 126 || echo 2)" ] || fail "status $status for --trace '$path'"
  [ ! -e ran ] || fail "the program ran although --trace '$path' is no file"
done
echo "trace: passed"
