/* Memory whose last handle went. Streams and graphs do not hold buffers task by task; the frontier of the storage knows who still
 * works on it. What is busy goes on a list, and a host task of the engine frees it when it is quiet. */
#include "base/clocktime.h"
#include "native/objects.h"

static const uint64_t PATIENCE_NS = 10000000;

void retirement_init(struct hrx_runtime *runtime) {
  pthread_mutex_init(&runtime->retirement.lock, NULL);
  pthread_mutex_init(&runtime->streams.lock, NULL);
}

void retirement_finish(struct hrx_runtime *runtime) {
  stream_release(runtime->retirement.stream);
  runtime->retirement.stream = NULL;
  pthread_mutex_destroy(&runtime->retirement.lock);
  pthread_mutex_destroy(&runtime->streams.lock);
}

/* Whether the work on it is over; waits for that up to `deadline_ns`. In a forked child nothing runs and nothing is waited for. */
static bool quiet(const struct backing *backing, uint64_t deadline_ns) {
  struct engine *engine = backing->runtime->domain->engine;
  struct clock busy = {0};
  hrx_status status = engine_storage_clock(engine, backing->allocation->storage, &busy);
  if (status == HRX_OK && deadline_ns != 0 && busy.count != 0) engine_clock_wait(engine, &busy, deadline_ns);
  bool result = engine_forked(engine) || (status == HRX_OK && engine_clock_over(engine, &busy));
  clock_finish(&busy);
  return result;
}

static struct backing *first_take(struct hrx_runtime *runtime) {
  pthread_mutex_lock(&runtime->retirement.lock);
  struct backing *all = runtime->retirement.first;
  runtime->retirement.first = NULL;
  if (all == NULL) runtime->retirement.running = false;
  pthread_mutex_unlock(&runtime->retirement.lock);
  return all;
}

static void put_back(struct hrx_runtime *runtime, struct backing *backing) {
  pthread_mutex_lock(&runtime->retirement.lock);
  backing->next = runtime->retirement.first;
  runtime->retirement.first = backing;
  pthread_mutex_unlock(&runtime->retirement.lock);
}

/* Frees what is quiet, waits a little for one of the others, and looks again: a kernel that never ends keeps only its own. */
static hrx_status retire_run(void *context) {
  struct hrx_runtime *runtime = context;
  for (struct backing *all; (all = first_take(runtime)) != NULL;) {
    for (struct backing *backing = all, *next; backing != NULL; backing = next) {
      next = backing->next;
      uint64_t deadline_ns = next != NULL ? 0 : time_after(time_now_ns(), PATIENCE_NS); /* for the last one */
      if (quiet(backing, deadline_ns))
        backing_free(backing);
      else
        put_back(runtime, backing);
    }
  }
  return HRX_OK;
}

static void runtime_let_go(void *context) { hrx_runtime_release(context); }

static hrx_status retire_start(struct hrx_runtime *runtime) {
  struct engine *engine = runtime->domain->engine;
  struct task task = {.kind = TASK_HOST, .run_always = true, .label = "release of memory",
                      .host = {.call = retire_run, .context = runtime, .release = runtime_let_go}};
  struct point point;
  hrx_status status = runtime->retirement.stream != NULL ? HRX_OK : stream_create(engine, 0, &runtime->retirement.stream);
  if (status != HRX_OK) return status;
  hrx_runtime_retain(runtime);
  status = stream_submit(runtime->retirement.stream, &task, &point);
  if (status != HRX_OK) hrx_runtime_release(runtime); /* the backing at hand has another reference */
  return status;
}

void backing_retire(struct backing *backing) {
  if (!backing->owned || quiet(backing, 0)) {
    backing_free(backing);
    return;
  }
  struct hrx_runtime *runtime = hrx_runtime_retain(backing->runtime);
  pthread_mutex_lock(&runtime->retirement.lock);
  backing->next = runtime->retirement.first;
  runtime->retirement.first = backing;
  bool start = !runtime->retirement.running;
  runtime->retirement.running = true;
  hrx_status status = start ? retire_start(runtime) : HRX_OK;
  pthread_mutex_unlock(&runtime->retirement.lock);
  if (status != HRX_OK) retire_run(runtime); /* without memory for a task, waiting is what is left */
  hrx_runtime_release(runtime);
}
