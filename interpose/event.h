/* HIP events: a clock, and for timed ones the moment when the recorded task was over. */
#ifndef HRX_INTERPOSE_EVENT_H
#define HRX_INTERPOSE_EVENT_H

#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "interpose/stream.h"

/* One recording. The engine writes the times while it runs, so a stamp outlives its event until its task is over. */
struct event_stamp {
  uint64_t started_ns, finished_ns;
  struct clock clock; /* over: the stamp can be used again */
  struct event_stamp *next;
};

struct ihipEvent_t {
  struct hip_device *device; /* where it was created */
  unsigned flags;
  pthread_mutex_t lock;         /* of everything below */
  bool recorded;
  struct clock clock;           /* what the last record stands for */
  struct event_stamp *stamps;   /* of timed records, the newest first */
  struct ihipStream_t *stream;  /* of the last record: where its failure is asked for; may be dead */
  struct ipc_event *ipc;        /* hipEventInterprocess: what other processes see of it (ipc_event.h); set once */
  uint32_t ipc_record;          /* the last record of this process among all */
  uint64_t capture_id;          /* not 0: last recorded in that capture, with these frontier nodes */
  struct hipGraphNode **nodes;
  size_t node_count;
};

/* Records the event behind `stream`, which is not capturing. */
hipError_t event_record(struct ihipEvent_t *event, struct ihipStream_t *stream);

/* All later work of `stream`, which is not capturing, follows the event's last record (if it has one). */
hipError_t event_wait(struct ihipStream_t *stream, struct ihipEvent_t *event);

#endif
