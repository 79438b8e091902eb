/* Runtimes: a domain of memory, devices and order.
 *
 * Everything that a runtime makes belongs to its domain, and only to it: what one graph must wait for is inferred from what
 * it and everything before it in the domain read and write. Devices are opened at first use. Every function of the library
 * may be called from any thread unless it says otherwise; handles are counted: create or retain, and release. */
#ifndef HRX_RUNTIME_H
#define HRX_RUNTIME_H

#include <hrx/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct hrx_runtime hrx_runtime;
typedef struct hrx_buffer hrx_buffer; /* buffer.h */
typedef struct hrx_stream hrx_stream; /* stream.h */
typedef struct hrx_npu hrx_npu;       /* npu.h */

/* A byte range of a buffer. Plain data; does not keep the buffer alive. */
typedef struct hrx_view {
  hrx_buffer *buffer;
  size_t offset, bytes;
} hrx_view;

/* What an operation does to the bytes of a view. Two atomic accesses do not conflict. */
typedef enum hrx_access { HRX_READ = 1, HRX_WRITE = 2, HRX_READ_WRITE = 3, HRX_ATOMIC = 4 } hrx_access;

typedef struct hrx_view_access {
  hrx_view view;
  hrx_access access;
} hrx_view_access;

typedef enum hrx_gpu_kind { HRX_GPU_AUTO = 0, HRX_GPU_HIP, HRX_GPU_SOFT } hrx_gpu_kind;
typedef enum hrx_npu_kind { HRX_NPU_AUTO = 0, HRX_NPU_XRT, HRX_NPU_SOFT } hrx_npu_kind;

/* INFERRED: work waits for what it conflicts with. SUBMISSION: also for everything submitted before it. */
typedef enum hrx_order { HRX_ORDER_INFERRED = 0, HRX_ORDER_SUBMISSION } hrx_order;

/* Zero in a field is its default. `size` is sizeof(hrx_runtime_options): newer fields come last. */
typedef struct hrx_runtime_options {
  size_t size;
  uint64_t memory_budget;   /* bytes of all buffers together; 0: none */
  unsigned gpu_index;       /* which GPU */
  unsigned max_submissions; /* in flight at once, up to 2^20; 0: 64 */
  unsigned graph_slots;     /* submissions of one executable in flight at once, up to 1024; 0: 2 */
  unsigned compute_lanes;   /* GPU lanes of one submission, up to 64; 0: 4 */
  hrx_order order;
  hrx_gpu_kind gpu;
  hrx_npu_kind npu;
} hrx_runtime_options;

/* NULL options: all defaults. Errors: INVALID/ARGUMENT naming the field; OUT_OF_MEMORY. */
hrx_status hrx_runtime_create(const hrx_runtime_options *options, hrx_runtime **out_runtime);

/* The runtime that this process's HIP calls use, made at the first question (threads that ask at once get the same one; a
 * failed try can be tried again). Released like any other, but the domain lives on. No budget. */
hrx_status hrx_runtime_shared(hrx_runtime **out_runtime);

/* The same runtime once more. Returns its argument. */
hrx_runtime *hrx_runtime_retain(hrx_runtime *runtime);

/* The last release lets go of the domain once no buffer, graph, stream or work of it is left, on a thread of the library: its memory
 * may go a little later. NULL is accepted. */
void hrx_runtime_release(hrx_runtime *runtime);

/* Whether the view lies in a live buffer of this runtime's domain. */
bool hrx_runtime_owns(const hrx_runtime *runtime, hrx_view view);
bool hrx_runtime_same_domain(const hrx_runtime *one, const hrx_runtime *other);

/* The ceiling chosen at creation; 0: none. */
uint64_t hrx_runtime_memory_budget(const hrx_runtime *runtime);

/* Opens the GPU; its LLVM name ("gfx1030"), valid as long as the runtime. Errors: UNSUPPORTED if there is none of that kind or
 * index; they can be tried again. */
hrx_status hrx_runtime_gpu(hrx_runtime *runtime, const char **out_target);

/* Opens NPU number `index`; belongs to the runtime. Errors as above. */
hrx_status hrx_runtime_npu(hrx_runtime *runtime, unsigned index, hrx_npu **out_npu);

/* The buffer and offset behind an address that HIP (hipMalloc, hipHostMalloc, hipHostRegister, hipMallocManaged) or this
 * library knows, as a view of `bytes`. The view's buffer is retained: release it with hrx_buffer_release. Its memory stays the
 * program's to free, after all work on it is over. Only for hrx_runtime_shared. Errors: INVALID/POINTER; INVALID/RANGE if
 * the range leaves its allocation. */
hrx_status hrx_runtime_view(hrx_runtime *runtime, const void *pointer, size_t bytes, hrx_view *out_view);

/* A HIP stream (hipStream_t, 0 for the default stream) as a native one: the same queue, the same order. Only for
 * hrx_runtime_shared in a process whose HIP calls hrx handles. Errors: INVALID/HANDLE. */
hrx_status hrx_runtime_stream(hrx_runtime *runtime, void *hip_stream, hrx_stream **out_stream);

/* Runs on the calling thread; its status is the stage's. */
typedef hrx_status (*hrx_stage)(void *context, hrx_stream *stream);

/* Hands the buffers of `accesses` as a whole to `stream` for one stage: waits for work that conflicts, calls `stage`, which
 * may use them on the stream as it likes, then waits for the stream, also if the stage failed, and takes them back.
 * Errors: BUSY/MAPPED for a live host map; BUSY/HANDED_OFF for another stage on them, also one further up this thread's
 * stack; the stage's own. */
hrx_status hrx_runtime_with_gpu_access(hrx_runtime *runtime, hrx_stream *stream, const hrx_view_access *accesses, size_t count,
                                       hrx_stage stage, void *context);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
