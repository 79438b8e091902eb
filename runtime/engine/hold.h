/* Holds: a host map, or memory handed to a native stream for a stage. While one lives, work that conflicts with it is refused.
 *
 * A hold is registered first and then waits for the device work that conflicts with it, so later work cannot starve it; holds
 * that conflict with each other are refused at once, so nobody waits for a human. */
#ifndef HRX_ENGINE_HOLD_H
#define HRX_ENGINE_HOLD_H

#include "engine/engine.h"

enum hold_kind { HOLD_READ, HOLD_WRITE, HOLD_HANDOFF };

/* Embedded by the owner; all of it is the engine's from hold_take to hold_drop. */
struct hold {
  enum hold_kind kind;
  const struct access *accesses; /* what is held; valid until hold_drop */
  unsigned access_count;
  const struct stream *stream;   /* HANDOFF: whose own work is allowed meanwhile */
  struct hold *next, *previous;
};

/* Takes the hold. `try_only`: BUSY/DEVICE_WORK instead of waiting for device work. Errors: BUSY/MAPPED or /HANDED_OFF for a conflicting
 * hold; DEVICE_LOST/POISONED; TIMEOUT at `deadline_ns`. Nothing is held after an error. */
hrx_status hold_take(struct engine *engine, struct hold *hold, bool try_only, uint64_t deadline_ns);
void hold_drop(struct engine *engine, struct hold *hold);

/* Whether a live hold conflicts with the accesses, but for holds of `stream`. Costs one load while there is none. */
hrx_status hold_check(struct engine *engine, const struct access *accesses, unsigned count, const struct stream *stream);

#endif
