/* Empty tables of families that are not in the tree yet. Who adds a family deletes its row here. */
#include "gpu/soft/operation.h"

#define ABSENT(name) const struct binding_table SOFT_NAME(name##_table) = {0};
ABSENT(memory_image)
