/* The machine state of the software GPU: a wave, its workgroup, and what both see of the dispatch.
 *
 * A wave is one vector: a VGPR is an array of lanes, EXEC is a mask. Handlers (operation.h) get the wave as their only
 * state. A wave belongs to the thread that runs it just now; nothing in it is shared, LDS and global memory are. */
#ifndef HRX_GPU_SOFT_MACHINE_H
#define HRX_GPU_SOFT_MACHINE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "code/instruction.h"

/* Functions that touch memory on behalf of a kernel: its races and overruns are its own. */
#define SOFT_GUEST __attribute__((no_sanitize("address", "thread", "undefined")))

/* Lanes of a wave. Wave64 is the same sources compiled once more with 64. */
#ifndef SOFT_LANES
#define SOFT_LANES 32
#endif

struct operation;
struct soft_program; /* program.h: a kernel's operations */
struct soft_dispatch;

enum wave_state {
  WAVE_RUNNING,   /* may run */
  WAVE_BARRIER,   /* waits for its workgroup at s_barrier */
  WAVE_YIELDED,   /* its quantum is over, or it slept: runs again later */
  WAVE_ENDED,     /* s_endpgm */
  WAVE_FAULTED    /* wave->fault says why */
};

/* Why a wave stopped in failure. */
enum fault_kind { FAULT_NONE, FAULT_ADDRESS, FAULT_TRAP, FAULT_OPCODE, FAULT_BRANCH, FAULT_CANCELLED };

struct fault {
  enum fault_kind kind;
  bool write;
  uint8_t lane;
  uint64_t address; /* of the access, or the trap number */
  uint32_t bytes;
  const struct operation *operation; /* where */
};

/* A checked range of memory: [low, high) may be read (and written if `writable`). */
struct span {
  uint64_t low, high;
  bool writable;
};

enum { SPAN_CACHE = 4, FLAT_SHARED_HIGH = 0x00010000, FLAT_PRIVATE_HIGH = 0x00020000 };
/* Flat apertures (hwreg SH_MEM_BASES holds the high 16 bits of each: shared in bits 31:16, private in 15:0): addresses with
 * high dword FLAT_SHARED_HIGH are LDS, FLAT_PRIVATE_HIGH scratch. mmap never returns these (the kernel's lowest mappings are
 * below, and hrx reserves nothing there: they are above 2^48 and so not canonical user addresses). */

struct workgroup {
  uint32_t id[3];
  uint32_t wave_count, waves_ended, waves_at_barrier;
  uint8_t *lds;          /* lds_bytes of it, 64-byte aligned, then 64 bytes of slack */
  uint32_t lds_bytes;
  struct soft_dispatch *dispatch;
};

struct wave {
  alignas(64) uint32_t v[256][SOFT_LANES]; /* VGPRs */
  /* Scalar registers by gfx10 number: 0..105 SGPRs, VCC, TTMPs, M0 at 124, EXEC at 126. s[SREG_NULL] is never read or
   * written: the builder maps reads to constant 0 and writes to s[SREG_FILE] and up, which is scrap. Wave32 keeps the
   * high halves of EXEC and VCC zero as far as masks are concerned; s[107] is an ordinary register. */
  uint32_t s[SREG_FILE + 16];
  uint32_t scc;          /* 0 or 1 */
  uint32_t mode;         /* hwreg MODE: bits 3:0 round (f32, f64/f16), 7:4 denormals, 8 DX10_CLAMP, 9 IEEE */
  uint32_t status_priv;  /* other hwreg bits that s_setreg can change */
  uint32_t flat_scratch_low, flat_scratch_high;
  uint32_t quantum;      /* branches backward left until it must give way */
  enum wave_state state;
  uint32_t index;        /* in its workgroup */
  uint32_t sync_generation; /* 1 + the generation of the global barrier that it waits at; 0: none */
  const struct operation *next; /* where it goes on */
  const struct soft_program *program;
  struct workgroup *group;
  uint8_t *lds;          /* == group->lds */
  uint32_t lds_bytes;
  /* scratch of this wave, swizzled as the hardware does it: dword d of lane l is at scratch[(d * lanes + l) * 4].
   * Kernels of gfx10 get it as a swizzled buffer resource whose base is `scratch` itself: the wave's own offset is 0. */
  uint8_t *scratch;
  uint32_t scratch_bytes_lane; /* per lane */
  struct span spans[SPAN_CACHE]; /* recently checked ranges, access.h */
  struct span scalar_span;       /* the same for scalar loads */
  uint64_t span_generation;
  unsigned span_next;
  const struct memory *memory; /* where spans come from */
  struct fault fault;
};

/* EXEC as a mask. */
static inline uint64_t wave_exec(const struct wave *wave) {
  return SOFT_LANES == 32 ? wave->s[SREG_EXEC_LO]
                          : (uint64_t)wave->s[SREG_EXEC_HI] << 32 | wave->s[SREG_EXEC_LO];
}

#endif
