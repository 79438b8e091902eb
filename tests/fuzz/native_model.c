/* Bytes as a program of the public interface, against the same operations done one after the other (unit/include/native_program.h).
 * The first byte chooses one of a few runtimes, which live on from input to input. */
#include "tests/unit/include/native_program.h"

enum { MACHINES = 6, CAPACITY = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static struct machine machines[MACHINES];
  static struct world worlds[MACHINES];
  if (size == 0) return 0;
  struct machine *machine = &machines[data[0] % MACHINES];
  struct world *world = &worlds[data[0] % MACHINES];
  if (machine->runtime == NULL) {
    world->decisions = (struct decisions){.state = (data[0] % MACHINES + 1) * UINT64_C(0x9e3779b97f4a7c15)};
    machine_init(machine, world, CAPACITY);
    world_init(world, machine);
  }
  world->decisions = (struct decisions){.bytes = data + 1, .left = size - 1};
  program_run(world);
  return 0;
}
