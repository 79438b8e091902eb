/* Peer access: devices of hrx share one memory, so access always works; HIP's bookkeeping of who enabled it is kept. */
#include "interpose/context.h"
#include "interpose/entry.h"
#include "interpose/state.h"

static hipError_t pair(int first, int second, struct hip_device **out_first) {
  struct hip_device *other = NULL;
  hipError_t error = state_device(first, out_first);
  return error == hipSuccess ? state_device(second, &other) : error;
}

hipError_t entry_hipDeviceCanAccessPeer(int *can, int device, int peer) {
  struct hip_device *found = NULL;
  hipError_t error = can != NULL ? pair(device, peer, &found) : hipErrorInvalidValue;
  if (error == hipSuccess) *can = device != peer;
  ENTRY_RETURN(hipDeviceCanAccessPeer, error);
}

static hipError_t enable(int peer, unsigned flags) {
  struct hip_device *device = NULL;
  if (flags != 0) return hipErrorInvalidValue;
  hipError_t error = pair(thread_device(), peer, &device);
  if (error != hipSuccess) return error;
  if (peer == device->ordinal) return hipErrorInvalidDevice;
  unsigned bit = 1u << peer;
  return (atomic_fetch_or(&device->peers, bit) & bit) == 0 ? hipSuccess : hipErrorPeerAccessAlreadyEnabled;
}

static hipError_t disable(int peer) {
  struct hip_device *device = NULL;
  hipError_t error = pair(thread_device(), peer, &device);
  if (error != hipSuccess) return error;
  unsigned bit = 1u << peer;
  return (atomic_fetch_and(&device->peers, ~bit) & bit) != 0 ? hipSuccess : hipErrorPeerAccessNotEnabled;
}

hipError_t entry_hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  ENTRY_RETURN(hipDeviceEnablePeerAccess, enable(peer, flags));
}

hipError_t entry_hipDeviceDisablePeerAccess(int peer) { ENTRY_RETURN(hipDeviceDisablePeerAccess, disable(peer)); }

hipError_t entry_hipCtxEnablePeerAccess(hipCtx_t context, unsigned flags) {
  int peer = context_device(context);
  ENTRY_RETURN(hipCtxEnablePeerAccess, peer >= 0 ? enable(peer, flags) : hipErrorInvalidContext);
}

hipError_t entry_hipCtxDisablePeerAccess(hipCtx_t context) {
  int peer = context_device(context);
  ENTRY_RETURN(hipCtxDisablePeerAccess, peer >= 0 ? disable(peer) : hipErrorInvalidContext);
}

hipError_t entry_hipDeviceGetP2PAttribute(int *value, hipDeviceP2PAttr attribute, int source, int destination) {
  struct hip_device *found = NULL;
  hipError_t error = value != NULL ? pair(source, destination, &found) : hipErrorInvalidValue;
  if (error == hipSuccess && source == destination) error = hipErrorInvalidDevice;
  if (error == hipSuccess && (unsigned)attribute > hipDevP2PAttrHipArrayAccessSupported) error = hipErrorInvalidValue;
  if (error == hipSuccess) *value = attribute == hipDevP2PAttrPerformanceRank ? 0 : 1;
  ENTRY_RETURN(hipDeviceGetP2PAttribute, error);
}

hipError_t entry_hipExtGetLinkTypeAndHopCount(int device, int peer, uint32_t *type, uint32_t *hops) {
  enum { LINK_TYPE_PCIE = 2 }; /* HSA_AMD_LINK_INFO_TYPE_PCIE */
  struct hip_device *found = NULL;
  hipError_t error = type != NULL && hops != NULL ? pair(device, peer, &found) : hipErrorInvalidValue;
  if (error == hipSuccess && device == peer) error = hipErrorInvalidValue;
  if (error == hipSuccess) {
    *type = LINK_TYPE_PCIE;
    *hops = 1;
  }
  ENTRY_RETURN(hipExtGetLinkTypeAndHopCount, error);
}
