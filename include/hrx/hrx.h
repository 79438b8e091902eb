/* hrx: everything. Each header can also be included alone. */
#ifndef HRX_H
#define HRX_H

#include <hrx/buffer.h>
#include <hrx/contract.h>
#include <hrx/gpu_graph.h>
#include <hrx/graph.h>
#include <hrx/kernel.h>
#include <hrx/npu.h>
#include <hrx/runtime.h>
#include <hrx/status.h>
#include <hrx/stream.h>
#include <hrx/trace.h>

#endif
