/* What a runtime did, in numbers. */
#include <hrx/trace.h>

#include <string.h>

#include "native/objects.h"
#include "trace/output.h"
#include "trace/statistics.h"

/* Only NPUs that are open: asking opens none. */
static uint64_t maintained_bytes(struct hrx_runtime *runtime) {
  uint64_t bytes = 0;
  pthread_mutex_lock(&runtime->opening);
  for (unsigned i = 0; i < RUNTIME_NPUS; i++) {
    struct npu_statistics statistics = {0};
    if (runtime->npus[i].device != NULL) npu_statistics(runtime->npus[i].device, &statistics);
    bytes += statistics.maintained_bytes;
  }
  pthread_mutex_unlock(&runtime->opening);
  return bytes;
}

static void collect(struct hrx_runtime *runtime, hrx_statistics *out_statistics) {
  struct engine_statistics engine;
  engine_statistics(runtime->domain->engine, &engine);
  uint64_t uploaded = atomic_load(&runtime->statistics.uploaded), downloaded = atomic_load(&runtime->statistics.downloaded);
  *out_statistics = (hrx_statistics){
      .allocations = atomic_load(&runtime->statistics.allocations),
      .imports = atomic_load(&runtime->statistics.imports),
      .submissions = atomic_load(&runtime->statistics.submissions),
      .completions = atomic_load(&runtime->capacity.over),
      .completions_failed = atomic_load(&runtime->capacity.failed),
      .completions_cancelled = atomic_load(&runtime->capacity.cancelled),
      .native_graphs = atomic_load(&runtime->statistics.graphs),
      .copy_streams = atomic_load(&runtime->statistics.copy_streams),
      .copied_bytes = engine.copied_bytes,
      .uploaded_bytes = uploaded,
      .downloaded_bytes = downloaded,
      .device_copied_bytes = engine.copied_bytes > uploaded + downloaded ? engine.copied_bytes - uploaded - downloaded : 0,
      .cache_maintained_bytes = maintained_bytes(runtime),
      .live_bytes = atomic_load(&runtime->statistics.live),
      .peak_bytes = atomic_load(&runtime->statistics.peak),
      .staging_bytes = atomic_load(&runtime->statistics.staging),
      .tasks = engine.tasks,
      .edges_inferred = engine.edges + atomic_load(&runtime->statistics.edges_inferred),
      .edges_reduced = atomic_load(&runtime->statistics.edges_reduced),
  };
}

hrx_status hrx_runtime_statistics(hrx_runtime *runtime, hrx_statistics *io_statistics) {
  if (runtime == NULL || io_statistics == NULL || io_statistics->size < sizeof io_statistics->size || io_statistics->size > 4096)
    return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime or io_statistics is NULL, or its size is not set");
  hrx_statistics statistics;
  size_t size = io_statistics->size;
  collect(runtime, &statistics);
  statistics.size = size;
  memcpy(io_statistics, &statistics, size < sizeof statistics ? size : sizeof statistics);
  return HRX_OK;
}

hrx_status hrx_runtime_statistics_json(hrx_runtime *runtime, char **out_text) {
  if (runtime == NULL || out_text == NULL) return hrx_fail_reason(HRX_INVALID, HRX_REASON_ARGUMENT, "runtime or out_text is NULL");
  hrx_statistics of;
  collect(runtime, &of);
  const struct statistic values[] = {
#define VALUE(name) {#name, of.name}
      VALUE(allocations),         VALUE(imports),          VALUE(submissions),
      VALUE(completions),         VALUE(completions_failed), VALUE(completions_cancelled),
      VALUE(native_graphs),       VALUE(copy_streams),     VALUE(copied_bytes),
      VALUE(uploaded_bytes),      VALUE(downloaded_bytes), VALUE(device_copied_bytes),
      VALUE(cache_maintained_bytes), VALUE(live_bytes),    VALUE(peak_bytes),
      VALUE(staging_bytes),       VALUE(tasks),            VALUE(edges_inferred),
      VALUE(edges_reduced)
#undef VALUE
  };
  struct output output;
  hrx_status status = output_create(NULL, &output);
  if (status != HRX_OK) return status;
  statistics_write(output.file, values, sizeof values / sizeof *values);
  size_t size = 0;
  return output_finish(&output, out_text, &size);
}
