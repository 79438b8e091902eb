/* The makespan of two chains that were recorded one after the other, over the time that one takes after the other, on the device of
 * virtual time: what the schedule alone is worth, exact on every machine. */
#include "gpu/sim/sim.h"
#include "native/objects.h"
#include "tests/native/native.h"

enum { LENGTH = 32, BYTES = 4096 };

static hrx_runtime *runtime;
static struct gpu_device *device;
static hrx_gpu_kernel *work;
static hrx_buffer *buffers[2];

/* A kernel without code, with one pointer. */
static void kernel_make(void) {
  struct kernel_argument argument = {.offset = 0, .bytes = 8, .kind = ARGUMENT_GLOBAL_BUFFER, .name = "words"};
  struct gpu_kernel *kernel;
  OK(sim_kernel_create(device, "work", 1000, &kernel));
  OK(sim_kernel_layout(kernel, &argument, 1));
  struct code_module *code = calloc(1, sizeof *code);
  struct hrx_stream_kernel *loaded = calloc(1, sizeof *loaded);
  RIGHT(code != NULL && loaded != NULL, "no memory");
  OK(gpu_module_load(device, "", 0, &code->module));
  code->references = loaded->references = 1;
  code->runtime = hrx_runtime_retain(runtime);
  loaded->code = code;
  loaded->kernel = kernel;
  hrx_contract *contract = contract_of((hrx_binding[]){{BYTES, 4, HRX_READ_WRITE, NULL}}, 1);
  OK(hrx_gpu_kernel_adopt(runtime, loaded, (hrx_dimensions){1, 1, 1}, (hrx_dimensions){64, 1, 1}, 0, contract, &work));
  hrx_contract_release(contract);
  hrx_stream_kernel_release(loaded);
}

static double makespan(unsigned first, unsigned end) {
  hrx_graph *graph = graph_new(runtime);
  for (unsigned chain = first; chain < end; chain++) {
    hrx_view view = hrx_buffer_view(buffers[chain]);
    for (unsigned i = 0; i < LENGTH; i++) OK(hrx_graph_gpu(graph, work, &view, 1, NULL));
  }
  hrx_executable *executable = prepared(graph);
  hrx_completion *completion;
  struct sim_statistics before;
  sim_statistics(device, &before);
  OK(hrx_executable_submit(executable, &completion));
  uint64_t now = sim_run(device);
  RIGHT(hrx_completion_is_complete(completion), "the kernels have run, and the submission is not complete");
  finish(completion);
  hrx_executable_release(executable);
  return (double)(now - before.now_ns);
}

int main(void) {
  hrx_runtime_options options = {.size = sizeof options, .gpu = HRX_GPU_SOFT, .npu = HRX_NPU_SOFT};
  OK(hrx_runtime_create(&options, &runtime));
  OK(sim_device_create(runtime->domain->memory, &device));
  OK(runtime_gpu_use(runtime, device));
  kernel_make();
  for (unsigned i = 0; i < 2; i++) buffers[i] = buffer_new(runtime, BYTES, HRX_GPU_LOCAL);
  double serial = makespan(0, 1) + makespan(1, 2);
  figure("chains_sim_to_serial", makespan(0, 2) / serial);
  for (unsigned i = 0; i < 2; i++) hrx_buffer_release(buffers[i]);
  hrx_gpu_kernel_release(work);
  hrx_runtime_release(runtime);
  return 0;
}
