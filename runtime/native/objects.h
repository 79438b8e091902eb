/* What is behind the public handles; for the files of this folder and for tests.
 *
 * A backing is the memory; buffers are handles to it. Runtimes live as long as anything of theirs: each object holds a reference
 * to its runtime, a submission to its executable, an executable to its buffers and kernels. */
#ifndef HRX_NATIVE_OBJECTS_H
#define HRX_NATIVE_OBJECTS_H

#include <hrx/hrx.h>
#include <pthread.h>
#include <stdatomic.h>

#include "engine/engine.h"
#include "engine/graph.h"
#include "engine/hold.h"
#include "gpu/domain.h"
#include "gpu/gpu.h"
#include "npu/npu.h"

enum { RUNTIME_NPUS = 8, BINDINGS_MOST = 64, GPU_BLOCK_MOST = 1024 };

struct hrx_npu {
  struct hrx_runtime *runtime; /* not counted: an NPU is part of its runtime */
  struct npu_device *device;
  unsigned index;
};

/* Memory whose last reference went while work on it was queued: freed when that is over (retire.c). */
struct retirement {
  pthread_mutex_t lock;
  struct backing *first;
  struct stream *stream; /* its host task frees them; made at the first need */
  bool running;
};

/* The open streams of a runtime, for those that want scratch back (stream_scratch.c). */
struct stream_list {
  pthread_mutex_t lock;
  struct hrx_stream *first;
};

struct hrx_runtime {
  _Atomic uint32_t references;
  struct hrx_runtime_options options; /* defaults filled in */
  struct domain *domain;
  bool shared;             /* the process's domain: never destroyed */
  pthread_mutex_t opening; /* guards the lazy opening of devices and the first creation of `ordered` */
  struct gpu_device *_Atomic gpu;
  struct hrx_npu npus[RUNTIME_NPUS];
  _Atomic uint64_t charged;         /* bytes against options.memory_budget */
  struct graph_capacity capacity;   /* max_submissions */
  struct retirement retirement;
  struct stream_list streams;
  struct run *last;                 /* ORDER_SUBMISSION: what the next submission follows; a reference; under `opening` */
  struct {
    _Atomic uint64_t allocations, imports, submissions, graphs, copy_streams, copied, uploaded,
        downloaded, live, peak, staging, edges_inferred, edges_reduced; /* the last two: of prepared graphs */
  } statistics;
};

/* Memory of a domain, whoever made it. */
struct backing {
  _Atomic uint32_t references;
  struct hrx_runtime *runtime; /* counted */
  struct allocation *allocation;
  uint64_t serial;             /* of the allocation: another one means that HIP freed it */
  uint64_t charged;            /* bytes of the budget that it holds */
  bool owned;                  /* false: HIP's; it is not freed here */
  struct npu_device *npu;      /* NPU_LOCAL, SHARED */
  struct npu_import *import;   /* SHARED: made once */
  struct backing *next;        /* retired */
};

struct hrx_buffer {
  _Atomic uint32_t references;
  struct backing *backing;
  struct hrx_stream *stream;   /* counted; a stream's buffer that was not adopted; NULL otherwise */
  hrx_placement placement;
  unsigned npu;
  struct hrx_buffer *next;     /* in a stream's scratch */
};

struct hrx_contract {
  _Atomic uint32_t references;
  _Atomic bool sealed; /* a kernel was made of it */
  struct hrx_binding *bindings; /* layouts owned */
  size_t binding_count;
  uint8_t *constants;  /* pushes so far, packed */
  size_t constant_bytes;
  uint64_t *indices;   /* pushed at the kernel's width: behind the typed ones */
  size_t index_count;
};

/* Loaded code, shared by kernels of it. */
struct code_module {
  _Atomic uint32_t references;
  struct hrx_runtime *runtime; /* counted */
  struct gpu_module *module;
};

struct hrx_stream_kernel {
  _Atomic uint32_t references;
  struct code_module *code;
  struct gpu_kernel *kernel;
};

struct hrx_gpu_kernel {
  _Atomic uint32_t references;
  struct code_module *code;
  struct gpu_kernel *kernel;
  struct hrx_contract *contract;
  uint8_t *constants; /* final, with indices widened */
  size_t constant_bytes;
  struct gpu_launch launch; /* arguments NULL: kernel_arguments_write makes them */
};

struct hrx_npu_kernel {
  _Atomic uint32_t references;
  struct hrx_npu *npu;
  struct hrx_runtime *runtime; /* counted */
  struct npu_program *program;
  struct hrx_contract *contract;
  uint8_t *constants;
  size_t constant_bytes;
};

/* --- runtimes: runtime.c --- */

/* The GPU, opened by whoever asks first; a failure can be tried again. One load once it is open. Errors: UNSUPPORTED. */
hrx_status runtime_gpu(struct hrx_runtime *runtime, struct gpu_device **out_device);

/* For tests: this device, made on the domain's memory, is the GPU from now on, and belongs to the domain. Nothing was opened yet. */
hrx_status runtime_gpu_use(struct hrx_runtime *runtime, struct gpu_device *device);

/* --- memory: buffer.c, budget.c, view.c --- */

/* A backing with `bytes` of fresh memory; zeroed if asked. `charge`: against the budget. Errors: BUSY/BUDGET, OUT_OF_MEMORY. */
hrx_status backing_create(struct hrx_runtime *runtime, size_t bytes, hrx_placement placement, unsigned npu, bool zeroed,
                          bool charge, struct backing **out_backing);
struct backing *backing_retain(struct backing *backing);
void backing_release(struct backing *backing); /* at the last: backing_retire */
void backing_free(struct backing *backing);    /* frees memory and structure and lets go of the runtime: no work on it is left */

/* Nobody refers to it any more: backing_free now, or when the work that touches it is over. Never waits. retire.c */
void backing_retire(struct backing *backing);
/* Called by runtime creation and destruction. No stream and no backing is left by then. */
void retirement_init(struct hrx_runtime *runtime);
void retirement_finish(struct hrx_runtime *runtime);

/* A handle that takes over the caller's reference to the backing. */
hrx_status buffer_wrap(struct backing *backing, hrx_placement placement, unsigned npu, hrx_buffer **out_buffer);

/* Charges; BUSY/BUDGET if it does not fit after scratch of the runtime's streams was given up. */
hrx_status budget_charge(struct hrx_runtime *runtime, uint64_t bytes);
void budget_discharge(struct hrx_runtime *runtime, uint64_t bytes);

/* Checks that the view lies in a buffer of this domain and is not empty. `what` names it in messages ("copy source").
 * Errors: INVALID/FOREIGN, /EMPTY, /RANGE, /ARGUMENT. */
hrx_status view_check(const struct hrx_runtime *runtime, hrx_view view, const char *what);
/* Whether two views show a byte in common, also through different allocations of one storage. */
bool view_overlap(hrx_view one, hrx_view other);
static inline struct access view_access(hrx_view view, hrx_access access) {
  return (struct access){view.buffer->backing->allocation, view.offset, view.bytes, (enum access_kind)access};
}
static inline uintptr_t view_address(hrx_view view) { return view.buffer->backing->allocation->address + view.offset; }

/* --- kernels: kernel.c, npu_kernel.c --- */

/* Code for the runtime's GPU out of a code object, bundle or fat binary. The last release ends it: no work of it is left. */
hrx_status code_module_load(struct hrx_runtime *runtime, const void *bytes, size_t size, struct code_module **out_code);
hrx_status code_module_load_file(struct hrx_runtime *runtime, const char *path, struct code_module **out_code);
struct code_module *code_module_retain(struct code_module *code);
void code_module_release(struct code_module *code);

/* A kernel whose arguments hrx can pass and whose instructions are there. Errors: as hrx_gpu_kernel_load. */
hrx_status code_module_kernel(struct code_module *code, const char *symbol, struct gpu_kernel **out_kernel);

/* Grid in work-items, block, LDS; no arguments. A zero axis is 1 if `zero_is_one`, else refused. Errors: INVALID/LAUNCH_GEOMETRY. */
hrx_status kernel_launch_make(const struct kernel_code *code, hrx_dimensions grid, hrx_dimensions block, uint32_t dynamic_lds,
                              bool zero_is_one, struct gpu_launch *out_launch);

/* How many pointer arguments; bytes of the by-value ones, packed. */
unsigned kernel_binding_count(const struct kernel_code *code);
size_t kernel_constant_bytes(const struct kernel_code *code);

/* The explicit argument segment of a launch: pointers from `addresses`, values from the packed constants. `out_segment` has
 * kernel_code->explicit_bytes. Errors: INVALID/CONTRACT for other counts. */
hrx_status kernel_arguments_write(const struct kernel_code *code, const uintptr_t *addresses, size_t count, const void *constants,
                                  size_t constant_bytes, void *out_segment);

/* Views against a contract: counts, lengths, alignment of the absolute address, aliasing, placement (`npu` NULL: for the GPU).
 * Errors as in graph.h. */
hrx_status contract_check(const struct hrx_contract *contract, const struct hrx_runtime *runtime, const struct npu_device *npu,
                          const hrx_view *views, size_t count, bool aliasing, const char *kernel);

#endif
