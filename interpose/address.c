/* Functions by name, as a version of HIP and a way of treating stream 0 want them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/entrypoints.h"
#include "interpose/table.h"

/* HIP's hipDriverProcAddressQueryResult and hipDriverEntryPointQueryResult, which agree. */
enum { QUERY_FOUND = 0, QUERY_NOT_FOUND = 1, QUERY_TOO_NEW = 2 };

enum { STREAM_DEFAULT = 0, STREAM_OF_LEGACY = 1, STREAM_OF_THREAD = 2, NAME_MOST = 256 };

/* A version as HIP writes it: HIP_VERSION (60240092) or major * 100 + minor (602). In the latter form. */
static int version_short(int version) { return version < 10000 ? version : version / 10000000 * 100 + version / 100000 % 100; }

/* When the row's name appeared, in the same form. */
static int version_of(unsigned row) {
  int earliest = 0;
  for (int hip = 7; hip >= 5; hip--) {
    int major = 0, minor = 0;
    if (sscanf(entry_node(row, hip), "hip_%d.%d", &major, &minor) == 2) earliest = major * 100 + minor;
  }
  return earliest;
}

/* The name that a request means: the layout of HIP 6 for its callers, the per-thread twin where there is one. */
static int row_find(const char *symbol, int version, bool own_stream) {
  char name[NAME_MOST];
  bool renamed = strcmp(symbol, "hipGetDeviceProperties") == 0 || strcmp(symbol, "hipChooseDevice") == 0;
  const char *suffix = renamed && version >= 600 ? "R0600" : own_stream ? "_spt" : "";
  int length = snprintf(name, sizeof name, "%s%s", symbol, suffix);
  int row = length > 0 && (size_t)length < sizeof name ? entry_find(name) : -1;
  return row >= 0 ? row : entry_find(symbol);
}

static hipError_t address(const char *symbol, void **function, int version, uint64_t flags, bool own_stream, int *status) {
  if (symbol == NULL || *symbol == '\0' || function == NULL || version < 0 || flags > STREAM_OF_THREAD) return hipErrorInvalidValue;
  if (flags != STREAM_DEFAULT) own_stream = flags == STREAM_OF_THREAD;
  version = version_short(version);
  int row = row_find(symbol, version, own_stream);
  int query = row < 0 ? QUERY_NOT_FOUND : version_of((unsigned)row) > version ? QUERY_TOO_NEW : QUERY_FOUND;
  if (status != NULL) *status = query;
  *function = query == QUERY_FOUND ? __atomic_load_n(&hrx_hip_entries[row], __ATOMIC_ACQUIRE) : NULL;
  return query == QUERY_FOUND ? hipSuccess : hipErrorInvalidValue;
}

hipError_t entry_hipGetProcAddress(const char *symbol, void **function, int version, uint64_t flags, int *status) {
  ENTRY_RETURN(hipGetProcAddress, address(symbol, function, version, flags, false, status));
}

hipError_t entry_hipGetProcAddress_spt(const char *symbol, void **function, int version, uint64_t flags, int *status) {
  ENTRY_RETURN(hipGetProcAddress_spt, address(symbol, function, version, flags, true, status));
}

/* Nobody says which version: the newest, of whose headers this function is. */
hipError_t entry_hipGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags, int *status) {
  ENTRY_RETURN(hipGetDriverEntryPoint, address(symbol, function, 799, flags, false, status));
}

hipError_t entry_hipGetDriverEntryPoint_spt(const char *symbol, void **function, unsigned long long flags, int *status) {
  ENTRY_RETURN(hipGetDriverEntryPoint_spt, address(symbol, function, 799, flags, true, status));
}
