/* For tests of two devices with 64 MiB each: set before the library's own constructors, which read the environment. */
#ifndef HRX_TESTS_UNIT_TWO_DEVICES_H
#define HRX_TESTS_UNIT_TWO_DEVICES_H

#include <stdlib.h>

__attribute__((constructor(101))) static void two_devices(void) {
  setenv("HRX_SOFT_DEVICES", "2", 1);
  setenv("HRX_SOFT_MEMORY", "64M", 1);
}

#endif
