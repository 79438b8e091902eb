/* What a program for the software NPU exports: write one, compile it as a shared object, and give its path or bytes to hrx.
 *
 *   static int run(const hrx_npu_call *call) { ...; return 0; }
 *   static const hrx_npu_binding bindings[] = {{"dst", HRX_NPU_WRITE, 4, 0}, {"src", HRX_NPU_READ, 4, 0}};
 *   static const hrx_npu_entry kernels[] = {{"negate", run, bindings, 2, 0}};
 *   const struct hrx_npu_table hrx_npu_program = HRX_NPU_PROGRAM(kernels, 1);
 *
 *   gcc -shared -fPIC -O3 negate.c -o negate.so
 *
 * In C++ a run function that throws ends the process: catch inside. This header needs no library of hrx.
 * A program is native code with all rights of the process that loads it: load only what you would link. */
#ifndef HRX_NPU_PROGRAM_H
#define HRX_NPU_PROGRAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HRX_NPU_MAGIC UINT64_C(0x31555058524821) /* "!HRXPU1" */
#define HRX_NPU_VERSION 1u

/* Limits of a table; what exceeds one is refused when it is loaded. */
#define HRX_NPU_KERNELS_MAX 1024u
#define HRX_NPU_BINDINGS_MAX 32u
#define HRX_NPU_CONSTANT_BYTES_MAX 4096u
#define HRX_NPU_ALIGNMENT_MAX 4096u

enum { HRX_NPU_READ = 1, HRX_NPU_WRITE = 2 }; /* or both */

/* What the kernel expects of one buffer. hrx checks it before a run, so that `run` need not. */
typedef struct hrx_npu_binding {
  const char *name;   /* for messages */
  uint32_t access;    /* HRX_NPU_READ | HRX_NPU_WRITE; nothing else of the process is read or written */
  uint32_t alignment; /* power of two, of the absolute address */
  uint64_t bytes;     /* exact length; 0: any length of at least 1, which `run` checks */
} hrx_npu_binding;

/* One byte range that belongs to a binding. Ranges of one call may overlap if the caller passed them so. */
typedef struct hrx_npu_range {
  void *pointer;
  uint64_t bytes;
} hrx_npu_range;

/* One run. Everything is the runtime's and valid until `run` returns. Fields are only ever added at the end. */
typedef struct hrx_npu_call {
  uint32_t columns; /* 1..8: the columns that the program was loaded for */
  uint32_t binding_count;
  const hrx_npu_range *bindings; /* in the order of the kernel's bindings */
  const void *constants;         /* aligned to 16; NULL if the kernel has none */
  uint32_t constant_bytes;
  uint32_t message_bytes; /* room in `message`, the terminating zero included */
  char *message;          /* a run that fails may leave a sentence for people here; "" before */
} hrx_npu_call;

/* Does the work and returns 0, or another number, with which the task fails. Called on the NPU's own thread, with all
 * signals blocked, the default floating-point environment and at least 512 KiB of stack; one call at a time for each
 * device, but a process may have several devices. */
typedef int (*hrx_npu_run)(const hrx_npu_call *call);

typedef struct hrx_npu_entry {
  const char *name; /* unique in the program */
  hrx_npu_run run;
  const hrx_npu_binding *bindings;
  uint32_t binding_count;  /* 1..32 */
  uint32_t constant_bytes; /* exact; 0: none */
} hrx_npu_entry;

struct hrx_npu_table {
  uint64_t magic;
  uint32_t version;
  uint32_t kernel_count; /* 1..1024 */
  const hrx_npu_entry *kernels;
};

/* The value of the table for an array of `count` kernels. */
#define HRX_NPU_PROGRAM(kernels, count) {HRX_NPU_MAGIC, HRX_NPU_VERSION, (count), (kernels)}

/* The one symbol that is looked up. The program defines it; it must be visible. */
extern const struct hrx_npu_table hrx_npu_program __attribute__((visibility("default")));

#ifdef __cplusplus
}
#endif
#endif
