#!/bin/sh
# Three objects in one process, linked to the libraries of HIP 5, 6 and 7: each gets the structures, numbers and rules of its version.
# HIP 5 is compiled with Debian's header; 6 and 7 with declarations of their own. Then what HRX_LOG=trace shows.
set -eu
B=${B:-build}
CC=${CC:-gcc}
[ -f "$B/lib/libhrx_interpose.so" ] && [ -d "$B/lib/hip" ] || { echo "hrx is not built"; exit 77; }
lib=$(realpath "$B/lib")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

cat >"$work/check.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if VERSION == 5
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#define LAYOUT hipDeviceProp_t
#define PROPERTIES hipGetDeviceProperties
#define ARCH_OF(p) ((p)->gcnArchName)
#define DEVICE_TYPE 1
#define MEMSET_SHOWN 3
static hipMemsetParams fill_of(void *at) { return (hipMemsetParams){at, 1, 1, 64, 7, 64}; }
#else
typedef int hipError_t;
typedef struct { int type, device; void *devicePointer, *hostPointer; int isManaged; unsigned allocationFlags; } hipPointerAttribute_t;
typedef struct { char bytes[1472]; } LAYOUT; /* hipDeviceProp_tR0600: gcnArchName is at 1160 */
#define PROPERTIES hipGetDevicePropertiesR0600
#define ARCH_OF(p) ((p)->bytes + 1160)
#define DEVICE_TYPE 2
#define MEMSET_SHOWN 2
typedef void *hipGraph_t, *hipGraphNode_t;
#if VERSION == 6
typedef struct { void *dst; unsigned elementSize; size_t height, pitch; unsigned value; size_t width; } hipMemsetParams;
static hipMemsetParams fill_of(void *at) { return (hipMemsetParams){at, 1, 1, 64, 7, 64}; }
#else
typedef struct { void *dst; size_t pitch; unsigned value, elementSize; size_t width, height; } hipMemsetParams;
static hipMemsetParams fill_of(void *at) { return (hipMemsetParams){at, 64, 7, 1, 64, 1}; }
#endif
hipError_t PROPERTIES(LAYOUT *, int), hipMalloc(void **, size_t), hipFree(void *), hipGetLastError(void), hipExtGetLastError(void);
hipError_t hipPointerGetAttributes(hipPointerAttribute_t *, const void *), hipRuntimeGetVersion(int *), hipSetDevice(int);
hipError_t hipGraphCreate(hipGraph_t *, unsigned), hipGraphDestroy(hipGraph_t), hipGraphNodeGetType(hipGraphNode_t, int *);
hipError_t hipGraphAddMemsetNode(hipGraphNode_t *, hipGraph_t, const hipGraphNode_t *, size_t, const hipMemsetParams *);
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t, hipMemsetParams *);
#endif
#define EXPECT(what) if (!(what)) return printf("HIP %d: line %d: %s\n", VERSION, __LINE__, #what), 1
int NAME(void) {
  int version = 0, type = -1;
  void *memory = NULL;
  struct { LAYOUT properties; unsigned char canary[64]; } *guarded = malloc(sizeof *guarded);
  memset(guarded, 0x5a, sizeof *guarded);
  EXPECT(hipRuntimeGetVersion(&version) == 0 && version / 10000000 == VERSION);
  EXPECT(PROPERTIES(&guarded->properties, 0) == 0);
  EXPECT(strncmp(ARCH_OF(&guarded->properties), "gfx1030", 7) == 0);
  for (int i = 0; i < 64; i++) EXPECT(guarded->canary[i] == 0x5a);
  EXPECT(hipMalloc(&memory, 64) == 0);
  hipPointerAttribute_t attributes;
  EXPECT(hipPointerGetAttributes(&attributes, memory) == 0);
  memcpy(&type, &attributes, sizeof type);
  EXPECT(type == DEVICE_TYPE);
  /* a pointer that HIP does not know: an error once, a kind of memory since 6 */
  EXPECT((hipPointerGetAttributes(&attributes, guarded) == 0) == (VERSION >= 6));
  (void)hipGetLastError();
  hipGraph_t graph;
  hipGraphNode_t node;
  hipMemsetParams fill = fill_of(memory), got;
  memset(&got, 0, sizeof got);
  EXPECT(hipGraphCreate(&graph, 0) == 0);
  EXPECT(hipGraphAddMemsetNode(&node, graph, NULL, 0, &fill) == 0);
  EXPECT(hipGraphMemsetNodeGetParams(node, &got) == 0);
  EXPECT(got.dst == memory && got.elementSize == 1 && got.value == 7 && got.width == 64 && got.height == 1 && got.pitch == 64);
  EXPECT(hipGraphNodeGetType(node, (void *)&type) == 0 && type == MEMSET_SHOWN);
  EXPECT(hipGraphDestroy(graph) == 0);
  /* an error, then a success */
  (void)hipGetLastError();
  EXPECT(hipSetDevice(99) == 101);
  EXPECT(hipSetDevice(0) == 0);
  EXPECT(hipGetLastError() == (VERSION >= 7 ? 101 : 0));
  EXPECT(hipGetLastError() == 0);
#if VERSION >= 6
  EXPECT(hipSetDevice(99) == 101 && hipExtGetLastError() == 101);
  EXPECT(hipSetDevice(0) == 0 && hipExtGetLastError() == 0);
#endif
  EXPECT(hipFree(memory) == 0);
  free(guarded);
  return 0;
}
C
cat >"$work/main.c" <<'C'
#include <stdio.h>
int check5(void), check6(void), check7(void);
int main(void) {
  for (int round = 0; round < 3; round++)
    if (check5() || check7() || check6() || check7() || check5()) return 1;
  puts("PASS");
  return 0;
}
C
for version in 5 6 7; do
  # what the object is linked to is a name: at run time hrx stands behind all three
  sed -n 's/^#define PROPERTIES \(.*\)/int \1(void) { return 0; }/p' "$work/check.c" >"$work/stub.c"
  $CC -shared -fPIC -Wl,-soname,libamdhip64.so.$version "$work/stub.c" -o "$work/libstub$version.so"
  $CC -DVERSION=$version -DNAME=check$version -shared -fPIC "$work/check.c" -o "$work/libcheck$version.so" \
    -Wl,--no-as-needed "$work/libstub$version.so" || fail "compiling for HIP $version"
done
$CC "$work/main.c" -o "$work/main" -L"$work" -lcheck5 -lcheck6 -lcheck7 -Wl,-rpath,"$work" -Wl,--unresolved-symbols=ignore-in-shared-libs
P=${SANITIZER_PRELOAD:-}
LD_PRELOAD=$P LD_LIBRARY_PATH="$lib/hip" "$work/main" >"$work/out" 2>&1 || { cat "$work/out"; fail "by stand-in"; }
LD_PRELOAD="$P${P:+:}$lib/libhrx_interpose.so" LD_LIBRARY_PATH="$lib/hip" "$work/main" >"$work/out" 2>&1 || { cat "$work/out"; fail "by preload"; }
# traced, each call still knows its caller
LD_PRELOAD=$P LD_LIBRARY_PATH="$lib/hip" HRX_LOG=trace HRX_LOG_FILE="$work/log" "$work/main" >"$work/out" 2>&1 || { cat "$work/out"; fail "traced"; }
grep -qE '^hrx: hipMalloc\(ptr=0x[0-9a-f]+, size=64\) = hipSuccess$' "$work/log" || fail "hipMalloc is not shown"
grep -qE '^hrx: hipSetDevice\(deviceId=99\) = hipErrorInvalidDevice$' "$work/log" || fail "hipSetDevice is not shown"
grep -qE '^hrx: hipGraphCreate\(pGraph=0x[0-9a-f]+, flags=0\) = hipSuccess$' "$work/log" || fail "hipGraphCreate is not shown"
[ -s "$work/out" ] && [ "$(cat "$work/out")" = PASS ] || fail "the log went elsewhere"

# every refused name has its reason in interpose/README.md: a row "| names | reason |" whose names are patterns of the shell
"$B/bin/hrx" doctor --coverage | awk -F'\t' '$2 == "refused" {print $1}' >"$work/refused"
sed -n '/^## Refused/,/^## /s/^| *`\([^|]*\)` *|.*/\1/p' interpose/README.md | tr -d '`,' >"$work/patterns"
while read -r name; do
  found=
  for pattern in $(set -f; cat "$work/patterns"); do
    case $name in $pattern) found=1 ;; esac
  done
  [ -n "$found" ] || fail "$name is refused without a reason in interpose/README.md"
done <"$work/refused"
echo "versions: passed"
