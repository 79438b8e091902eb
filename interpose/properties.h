/* What the device says of itself, in the layout of HIP 6; the older layout and the attributes are made from it. */
#ifndef HRX_INTERPOSE_PROPERTIES_H
#define HRX_INTERPOSE_PROPERTIES_H

#include "interpose/abi.h"
#include "interpose/state.h"

/* Fills every byte of `out_properties`. */
void properties_fill(const struct hip_device *device, hipDeviceProp_tR0600 *out_properties);

/* The layout of HIP 5 and before. */
void properties_narrow(const hipDeviceProp_tR0600 *properties, hipDeviceProp_t *out_properties);

/* The value of a hipDeviceAttribute_t (the numbers of HIP 5.2 and 6 agree). False for one that has no integer value. */
bool properties_attribute(const hipDeviceProp_tR0600 *properties, int attribute, int *out_value);

#endif
