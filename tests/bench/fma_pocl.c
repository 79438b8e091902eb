/* fma.h through OpenCL on the CPU, which on Debian is PoCL: a compiler for kernels instead of an interpreter of machine code. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdlib.h>

#include "fma.h"
#include "timing.h"

#define NAME "fma_pocl"

static const char source[] =
    "#define CHAINS 8\n"
    "__kernel void fma_chains(__global float *out, float scale, float add, int rounds) {\n"
    "  int item = get_global_id(0);\n"
    "  float x[CHAINS];\n"
    "  for (int c = 0; c < CHAINS; c++) x[c] = (float)(item + c);\n"
    "  for (int round = 0; round < rounds; round++)\n"
    "    for (int c = 0; c < CHAINS; c++) x[c] = fma(x[c], scale, add);\n"
    "  float sum = 0;\n"
    "  for (int c = 0; c < CHAINS; c++) sum += x[c];\n"
    "  out[item] = sum;\n"
    "}\n";
_Static_assert(FMA_CHAINS == 8, "CHAINS in the kernel");

/* The first CPU of any platform. */
static cl_device_id device_find(void) {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) return NULL;
  for (cl_uint i = 0; i < count && i < 8; i++) {
    cl_device_id device;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL) == CL_SUCCESS) return device;
  }
  return NULL;
}

static void check(cl_int code, const char *call) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, NAME ": %s: OpenCL error %d\n", call, (int)code);
  exit(1);
}

int main(void) {
  cl_device_id device = device_find();
  if (device == NULL) {
    figure_absent(NAME, "no OpenCL CPU device (Debian: pocl-opencl-icd)");
    return 0;
  }
  cl_int code;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  const char *text = source;
  cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
  check(code, "clCreateProgramWithSource");
  check(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, "fma_chains", &code);
  check(code, "clCreateKernel");
  cl_mem out = clCreateBuffer(context, CL_MEM_WRITE_ONLY, FMA_ITEMS * sizeof(cl_float), NULL, &code);
  check(code, "clCreateBuffer");
  cl_float scale = FMA_SCALE, add = FMA_ADD;
  cl_int rounds = FMA_ROUNDS;
  check(clSetKernelArg(kernel, 0, sizeof out, &out), "clSetKernelArg");
  check(clSetKernelArg(kernel, 1, sizeof scale, &scale), "clSetKernelArg");
  check(clSetKernelArg(kernel, 2, sizeof add, &add), "clSetKernelArg");
  check(clSetKernelArg(kernel, 3, sizeof rounds, &rounds), "clSetKernelArg");

  double best = 0;
  for (int run = 0; run <= FMA_RUNS; run++) { /* the first one compiles for this block */
    size_t items = FMA_ITEMS, block = FMA_BLOCK;
    double began = now_ns();
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &block, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    check(clFinish(queue), "clFinish");
    double rate = FMA_FLOP / (now_ns() - began);
    if (run > 0 && rate > best) best = rate;
  }
  figure(NAME, best);
  clReleaseMemObject(out);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
