/* hrx: everything. Each header can also be included alone. */
#ifndef HRX_H
#define HRX_H

#include <hrx/status.h>

#endif
