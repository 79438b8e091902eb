#include "interpose/capture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "interpose/graph.h"
#include "interpose/handle.h"

struct capture_member {
  struct ihipStream_t *stream;
  struct node_list frontier;
  struct capture_member *next;
};

struct capture {
  uint64_t id;
  struct hip_device *device;
  struct ihipStream_t *origin;
  pthread_t thread;
  hipStreamCaptureMode mode;
  bool invalid;
  struct ihipGraph *graph;
  struct capture_member *members; /* the origin is the last */
  struct capture *next;
};

static pthread_mutex_t captures_lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures;
static uint64_t last_id;

static struct capture *capture_of_locked(const struct ihipStream_t *stream) {
  return atomic_load_explicit(&stream->capture, memory_order_relaxed);
}

static struct capture *capture_by_id_locked(uint64_t id) {
  struct capture *capture = captures;
  while (capture != NULL && capture->id != id) capture = capture->next;
  return capture;
}

static struct capture_member *member_of_locked(struct capture *capture, const struct ihipStream_t *stream) {
  struct capture_member *member = capture->members;
  while (member != NULL && member->stream != stream) member = member->next;
  return member;
}

static hipError_t member_add_locked(struct capture *capture, struct ihipStream_t *stream,
                                    struct capture_member **out_member) {
  struct capture_member *member = calloc(1, sizeof *member);
  if (member == NULL) return hipErrorOutOfMemory;
  member->stream = stream;
  member->next = capture->members;
  capture->members = member;
  atomic_store_explicit(&stream->capture, capture, memory_order_release);
  *out_member = member;
  return hipSuccess;
}

/* Unlinks the capture and frees all but its graph, which it returns. Every member stream is an ordinary one again. */
static struct ihipGraph *capture_end_locked(struct capture *capture) {
  struct ihipGraph *graph = capture->graph;
  for (struct capture **at = &captures; *at != NULL; at = &(*at)->next)
    if (*at == capture) {
      *at = capture->next;
      break;
    }
  while (capture->members != NULL) {
    struct capture_member *member = capture->members;
    capture->members = member->next;
    atomic_store_explicit(&member->stream->capture, NULL, memory_order_release);
    node_list_finish(&member->frontier);
    free(member);
  }
  atomic_fetch_sub(&capture->device->captures, 1);
  free(capture);
  return graph;
}

static hipError_t begin(hipError_t found, struct ihipStream_t *stream, hipStreamCaptureMode mode) {
  if (mode != hipStreamCaptureModeGlobal && mode != hipStreamCaptureModeThreadLocal && mode != hipStreamCaptureModeRelaxed)
    return hipErrorInvalidValue;
  if (found != hipSuccess) return found;
  if (stream->legacy) return hipErrorStreamCaptureUnsupported;
  struct capture *capture = calloc(1, sizeof *capture);
  if (capture == NULL) return hipErrorOutOfMemory;
  hipError_t error = graph_create(&capture->graph);
  if (error != hipSuccess) {
    free(capture);
    return error;
  }
  capture->device = stream->device;
  capture->origin = stream;
  capture->thread = pthread_self();
  capture->mode = mode;
  pthread_mutex_lock(&captures_lock);
  struct capture_member *member = NULL;
  error = capture_of_locked(stream) != NULL ? hipErrorIllegalState : member_add_locked(capture, stream, &member);
  if (error == hipSuccess) {
    capture->id = ++last_id;
    capture->next = captures;
    captures = capture;
    atomic_fetch_add(&capture->device->captures, 1);
  }
  pthread_mutex_unlock(&captures_lock);
  if (error != hipSuccess) {
    hip_graph_release(capture->graph);
    free(capture);
  }
  return error;
}

hipError_t entry_hipStreamBeginCapture(hipStream_t handle, hipStreamCaptureMode mode) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamBeginCapture, begin(found, stream, mode));
}

hipError_t entry_hipStreamBeginCapture_spt(hipStream_t handle, hipStreamCaptureMode mode) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamBeginCapture_spt, begin(found, stream, mode));
}

/* Whether every member's frontier is among the origin's frontier and its ancestors. Nodes are older than what follows
 * them, so one walk backward by index is enough. */
static bool joined_locked(struct capture *capture) {
  struct node_list *nodes = &capture->graph->nodes;
  for (size_t i = 0; i < nodes->count; i++) nodes->nodes[i]->mark = 0;
  const struct capture_member *origin = member_of_locked(capture, capture->origin);
  for (size_t i = 0; i < origin->frontier.count; i++) origin->frontier.nodes[i]->mark = 1;
  for (size_t i = nodes->count; i-- > 0;) {
    const struct hipGraphNode *node = nodes->nodes[i];
    for (size_t d = 0; node->mark != 0 && d < node->dependencies.count; d++) node->dependencies.nodes[d]->mark = 1;
  }
  for (const struct capture_member *member = capture->members; member != NULL; member = member->next)
    for (size_t i = 0; i < member->frontier.count; i++)
      if (member->frontier.nodes[i]->mark == 0) return false;
  return true;
}

static hipError_t end(hipError_t found, struct ihipStream_t *stream, hipGraph_t *out_graph) {
  if (out_graph == NULL) return hipErrorInvalidValue;
  if (found != hipSuccess) return found;
  struct ihipGraph *graph = NULL;
  hipError_t error = hipSuccess;
  pthread_mutex_lock(&captures_lock);
  struct capture *capture = capture_of_locked(stream);
  if (capture == NULL) error = hipErrorIllegalState;
  else if (capture->origin != stream) error = hipErrorStreamCaptureUnmatched;
  else if (capture->mode != hipStreamCaptureModeRelaxed && !pthread_equal(capture->thread, pthread_self()))
    error = hipErrorStreamCaptureWrongThread;
  else {
    if (capture->invalid) error = hipErrorStreamCaptureInvalidated;
    else if (!joined_locked(capture)) error = hipErrorStreamCaptureUnjoined;
    graph = capture_end_locked(capture);
  }
  pthread_mutex_unlock(&captures_lock);
  if (error == hipSuccess) {
    *out_graph = graph;
  } else if (graph != NULL) {
    hip_graph_release(graph);
    *out_graph = NULL; /* HIP: an ended but failed capture leaves a NULL graph */
  }
  return error;
}

hipError_t entry_hipStreamEndCapture(hipStream_t handle, hipGraph_t *graph) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamEndCapture, end(found, stream, graph));
}

hipError_t entry_hipStreamEndCapture_spt(hipStream_t handle, hipGraph_t *graph) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamEndCapture_spt, end(found, stream, graph));
}

/* A new node of `type` behind the stream's frontier, filled by one of the node_set functions; the lock is held. */
struct content {
  hipGraphNodeType type;
  const struct copy_operation *copy;
  const hipMemsetParams *fill;
  const struct task_fill *task_fill;
  const struct launch_operation *launch;
  const hipHostNodeParams *host;
};

static hipError_t content_set(struct hipGraphNode *node, const struct content *content) {
  if (content->launch != NULL) return node_set_launch(node, content->launch);
  if (content->copy != NULL) return node_set_copy(node, content->copy);
  if (content->host != NULL) return node_set_host(node, content->host);
  node->fill.fill = *content->task_fill;
  node->fill.parameters = *content->fill;
  return hipSuccess;
}

static hipError_t append_locked(struct ihipStream_t *stream, const struct content *content) {
  struct capture *capture = capture_of_locked(stream);
  if (capture == NULL) return hipErrorIllegalState; /* ended by another thread meanwhile */
  if (capture->invalid) return hipErrorStreamCaptureInvalidated;
  struct capture_member *member = member_of_locked(capture, stream);
  struct hipGraphNode *node = NULL;
  hipError_t error =
      graph_node_add(capture->graph, content->type, member->frontier.nodes, member->frontier.count, &node);
  if (error != hipSuccess) return error;
  error = content_set(node, content);
  if (error != hipSuccess) {
    graph_node_remove(node);
    return error;
  }
  member->frontier.count = 0;
  return node_list_add(&member->frontier, node) ? hipSuccess : hipErrorOutOfMemory;
}

static hipError_t append(struct ihipStream_t *stream, const struct content *content) {
  pthread_mutex_lock(&captures_lock);
  hipError_t error = append_locked(stream, content);
  pthread_mutex_unlock(&captures_lock);
  return error;
}

hipError_t capture_copy(struct ihipStream_t *stream, const struct copy_operation *operation) {
  if (operation->copy.width == 0 || operation->copy.height == 0 || operation->copy.depth == 0) return hipSuccess;
  bool linear = operation->copy.height == 1 && operation->copy.depth == 1;
  struct content content = {.type = linear ? hipGraphNodeTypeMemcpy1D : hipGraphNodeTypeMemcpy, .copy = operation};
  return append(stream, &content);
}

hipError_t capture_fill(struct ihipStream_t *stream, const struct task_fill *fill) {
  if (fill->width == 0 || fill->height == 0 || fill->depth == 0) return hipSuccess;
  hipMemsetParams shown = {.dst = fill->destination,
                           .elementSize = fill->element_bytes,
                           .height = fill->height,
                           .pitch = fill->pitch,
                           .value = fill->pattern,
                           .width = fill->width / fill->element_bytes};
  struct content content = {.type = hipGraphNodeTypeMemset, .fill = &shown, .task_fill = fill};
  return append(stream, &content);
}

hipError_t capture_launch(struct ihipStream_t *stream, const struct launch_operation *operation) {
  struct content content = {.type = hipGraphNodeTypeKernel, .launch = operation};
  return append(stream, &content);
}

hipError_t capture_host(struct ihipStream_t *stream, hipHostFn_t call, void *data) {
  hipHostNodeParams host = {.fn = call, .userData = data};
  struct content content = {.type = hipGraphNodeTypeHost, .host = &host};
  return append(stream, &content);
}

hipError_t capture_event_record(struct ihipStream_t *stream, struct ihipEvent_t *event) {
  hipError_t error = hipSuccess;
  pthread_mutex_lock(&captures_lock);
  struct capture *capture = capture_of_locked(stream);
  if (capture == NULL) error = hipErrorIllegalState;
  else if (capture->invalid) error = hipErrorStreamCaptureInvalidated;
  else {
    const struct node_list *frontier = &member_of_locked(capture, stream)->frontier;
    struct hipGraphNode **nodes = malloc((frontier->count + 1) * sizeof(struct hipGraphNode *));
    if (nodes == NULL) error = hipErrorOutOfMemory;
    else {
      if (frontier->count != 0) memcpy(nodes, frontier->nodes, frontier->count * sizeof *nodes);
      pthread_mutex_lock(&event->lock);
      free(event->nodes);
      event->nodes = nodes;
      event->node_count = frontier->count;
      event->capture_id = capture->id;
      pthread_mutex_unlock(&event->lock);
    }
  }
  pthread_mutex_unlock(&captures_lock);
  return error;
}

static hipError_t frontier_extend(struct node_list *frontier, const struct ihipEvent_t *event) {
  for (size_t i = 0; i < event->node_count; i++)
    if (!node_list_has(frontier, event->nodes[i]) && !node_list_add(frontier, event->nodes[i])) return hipErrorOutOfMemory;
  return hipSuccess;
}

static hipError_t event_wait_locked(struct ihipStream_t *stream, struct ihipEvent_t *event) {
  struct capture *own = capture_of_locked(stream);
  struct capture *other = event->capture_id != 0 ? capture_by_id_locked(event->capture_id) : NULL;
  if (own != NULL && own->invalid) return hipErrorStreamCaptureInvalidated;
  if (event->capture_id == 0) {
    if (!event->recorded) return hipSuccess;
    own->invalid = true; /* own is not NULL: the caller saw a capture or a tag */
    return hipErrorStreamCaptureIsolation;
  }
  if (other == NULL) {
    if (own != NULL) own->invalid = true;
    return hipErrorCapturedEvent;
  }
  if (own != NULL && own != other) {
    own->invalid = other->invalid = true;
    return hipErrorStreamCaptureMerge;
  }
  if (other->invalid) return hipErrorStreamCaptureInvalidated;
  if (stream->legacy) {
    other->invalid = true;
    return hipErrorStreamCaptureImplicit;
  }
  struct capture_member *member = member_of_locked(other, stream);
  hipError_t error = member != NULL ? hipSuccess : member_add_locked(other, stream, &member);
  return error == hipSuccess ? frontier_extend(&member->frontier, event) : error;
}

hipError_t capture_event_wait(struct ihipStream_t *stream, struct ihipEvent_t *event) {
  pthread_mutex_lock(&captures_lock);
  pthread_mutex_lock(&event->lock);
  bool ordinary = event->capture_id == 0 && capture_of_locked(stream) == NULL; /* it ended meanwhile */
  hipError_t error = ordinary ? hipSuccess : event_wait_locked(stream, event);
  pthread_mutex_unlock(&event->lock);
  pthread_mutex_unlock(&captures_lock);
  return ordinary ? event_wait(stream, event) : error;
}

void capture_forget(struct ihipStream_t *stream) {
  if (!capture_active(stream)) return;
  struct ihipGraph *graph = NULL;
  pthread_mutex_lock(&captures_lock);
  struct capture *capture = capture_of_locked(stream);
  if (capture != NULL && capture->origin == stream) {
    graph = capture_end_locked(capture);
  } else if (capture != NULL) {
    capture->invalid = true;
    for (struct capture_member **at = &capture->members; *at != NULL; at = &(*at)->next) {
      struct capture_member *member = *at;
      if (member->stream != stream) continue;
      *at = member->next;
      node_list_finish(&member->frontier);
      free(member);
      break;
    }
    atomic_store_explicit(&stream->capture, NULL, memory_order_release);
  }
  pthread_mutex_unlock(&captures_lock);
  hip_graph_release(graph);
}

/* Whether a call that might synchronise behind the scenes (hipMalloc and its kind) is unsafe for this thread now. */
static bool mode_protects(const struct capture *capture) {
  if (thread_state.capture_mode == hipStreamCaptureModeRelaxed || capture->mode == hipStreamCaptureModeRelaxed) return false;
  bool own = pthread_equal(capture->thread, pthread_self());
  if (thread_state.capture_mode == hipStreamCaptureModeThreadLocal && !own) return false;
  return own || capture->mode == hipStreamCaptureModeGlobal;
}

hipError_t capture_refuses(struct hip_device *device, struct ihipStream_t *stream) {
  if (atomic_load_explicit(&device->captures, memory_order_relaxed) == 0) return hipSuccess;
  hipError_t error = hipSuccess;
  pthread_mutex_lock(&captures_lock);
  struct capture *own = stream != NULL ? capture_of_locked(stream) : NULL;
  if (own != NULL) {
    own->invalid = true;
    error = hipErrorStreamCaptureUnsupported;
  }
  for (struct capture *capture = captures; own == NULL && capture != NULL; capture = capture->next) {
    if (capture->device != device || !mode_protects(capture)) continue;
    if (stream == NULL) error = hipErrorStreamCaptureUnsupported;
    else if (stream->legacy && capture->origin->blocking) error = hipErrorStreamCaptureImplicit;
    else continue;
    capture->invalid = true;
  }
  pthread_mutex_unlock(&captures_lock);
  return error;
}

static void describe_locked(const struct ihipStream_t *stream, hipStreamCaptureStatus *out_status, unsigned long long *out_id) {
  const struct capture *capture = capture_of_locked(stream);
  *out_status = capture == NULL       ? hipStreamCaptureStatusNone
                : capture->invalid    ? hipStreamCaptureStatusInvalidated
                                      : hipStreamCaptureStatusActive;
  if (out_id != NULL && capture != NULL) *out_id = capture->id;
}

static hipError_t describe(hipError_t found, const struct ihipStream_t *stream, hipStreamCaptureStatus *out_status,
                           unsigned long long *out_id) {
  if (out_status == NULL) return hipErrorInvalidValue;
  if (found != hipSuccess) return found;
  pthread_mutex_lock(&captures_lock);
  describe_locked(stream, out_status, out_id);
  pthread_mutex_unlock(&captures_lock);
  return hipSuccess;
}

hipError_t entry_hipStreamIsCapturing(hipStream_t handle, hipStreamCaptureStatus *status) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamIsCapturing, describe(found, stream, status, NULL));
}

hipError_t entry_hipStreamIsCapturing_spt(hipStream_t handle, hipStreamCaptureStatus *status) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamIsCapturing_spt, describe(found, stream, status, NULL));
}

hipError_t entry_hipStreamGetCaptureInfo(hipStream_t handle, hipStreamCaptureStatus *status, unsigned long long *id) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find(handle, &stream);
  ENTRY_RETURN(hipStreamGetCaptureInfo, describe(found, stream, status, id));
}

hipError_t entry_hipStreamGetCaptureInfo_spt(hipStream_t handle, hipStreamCaptureStatus *status, unsigned long long *id) {
  struct ihipStream_t *stream = NULL;
  hipError_t found = hip_stream_find_spt(handle, &stream);
  ENTRY_RETURN(hipStreamGetCaptureInfo_spt, describe(found, stream, status, id));
}

hipError_t entry_hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode *mode) {
  hipError_t error = hipErrorInvalidValue;
  if (mode != NULL && *mode >= hipStreamCaptureModeGlobal && *mode <= hipStreamCaptureModeRelaxed) {
    hipStreamCaptureMode before = (hipStreamCaptureMode)thread_state.capture_mode;
    thread_state.capture_mode = (int)*mode;
    *mode = before;
    error = hipSuccess;
  }
  ENTRY_RETURN(hipThreadExchangeStreamCaptureMode, error);
}
