/* What a recorder keeps and what an executable takes over; for the files of this folder and for tests. */
#ifndef HRX_NATIVE_RECORD_H
#define HRX_NATIVE_RECORD_H

#include "native/stream.h"

enum record_kind { RECORD_FILL, RECORD_COPY, RECORD_GPU, RECORD_NPU, RECORD_HOST, RECORD_JOIN };

/* A host function, shared by the graph and its executables. */
struct host_part {
  _Atomic uint32_t references;
  hrx_host_function function;
  void *context;
  void (*release)(void *context);
};

/* One operation. Its views are accesses[first] up to first + count of the list, in the order of the call. */
struct record {
  uint8_t kind; /* enum record_kind */
  uint8_t lane; /* engine's lane class */
  uint8_t byte; /* RECORD_FILL */
  bool aliasing;
  uint32_t first, count;
  union {
    struct hrx_gpu_kernel *gpu;
    struct hrx_npu_kernel *npu;
    struct host_part *host;
  };
  uint8_t *constants; /* NULL: the kernel's; owned */
};

/* Records with a reference to each buffer, kernel and host function in them. */
struct record_list {
  struct record *records;
  size_t count, capacity;
  struct hrx_view_access *accesses;
  size_t access_count, access_capacity;
};

struct hrx_graph {
  struct hrx_runtime *runtime; /* counted */
  struct record_list list;
};

/* Makes room for one more record with `accesses` views. Errors: OUT_OF_MEMORY, nothing changed. */
hrx_status record_list_reserve(struct record_list *list, size_t accesses);

/* Adds it; its kernel or host function is retained by the call, as are the buffers. There is room. */
void record_list_add(struct record_list *list, const struct record *record, const struct hrx_view_access *accesses, size_t count);

/* Errors: OUT_OF_MEMORY; `out_copy` is empty then. */
hrx_status record_list_copy(const struct record_list *list, struct record_list *out_copy);
void record_list_finish(struct record_list *list);

/* The views' accesses as the engine wants them: disjoint, each byte with all that is done to it. `out` has room for `count`. */
size_t accesses_merge(const struct hrx_view_access *views, size_t count, struct access *out);

/* Two accesses to one byte as one. */
hrx_access access_join(hrx_access one, hrx_access other);

/* The name of a record's kernel, or of its kind. */
const char *record_label(const struct record *record);

#endif
