// What orders accesses, and where threads, allocations and launches end.
#include "patches/emit.cuh"

using cuvein::RecordKind;
using cuvein::Space;
using cuvein::Warp;

namespace {

// One record for each distinct address among the lanes.
__device__ __forceinline__ void emit_each(const Warp& warp, RecordKind kind, uint64_t pc, uint64_t address,
                                          int64_t value, Space space) {
  Warp group = warp;
  for (uint32_t rest = warp.active; rest != 0; rest &= ~group.active) {
    const uint64_t chosen = __shfl_sync(warp.active, address, cuvein::lowest(rest));
    group.active = __ballot_sync(warp.active, address == chosen && (rest >> warp.lane & 1));
    if (group.active >> warp.lane & 1) cuvein::emit(group, kind, pc, address, value, space);
    __syncwarp(warp.active);
  }
}

// One record for each lane.
__device__ __forceinline__ void emit_lanes(const Warp& warp, RecordKind kind, uint64_t pc, uint64_t address,
                                           int64_t value) {
  Warp lane = warp;
  for (uint32_t rest = warp.active; rest != 0; rest &= rest - 1) {
    lane.active = rest & -rest;
    if (lane.active >> warp.lane & 1) cuvein::emit(lane, kind, pc, address, value);
    __syncwarp(warp.active);
  }
}

__device__ __forceinline__ SanitizerPatchResult emit_warp(void* userdata, RecordKind kind, uint64_t pc,
                                                          uint64_t address, int64_t value) {
  Warp warp;
  return cuvein::observe(userdata, &warp) ? cuvein::emit(warp, kind, pc, address, value)
                                          : SANITIZER_PATCH_SUCCESS;
}

}  // namespace

// Called for the lanes that execute an EXIT. The host counts them: a launch has ended when all have.
CUVEIN_PATCH cuvein_exit(void* userdata, uint64_t pc) {
  return emit_warp(userdata, RecordKind::kThreadExit, pc, 0, 0);
}

CUVEIN_PATCH cuvein_barrier(void* userdata, uint64_t pc, uint32_t index, uint32_t threads, uint32_t flags) {
  const bool waits = flags & SANITIZER_BARRIER_FLAG_IS_SYNCHRONIZING;
  return emit_warp(userdata, RecordKind::kBlockBarrier, pc, index,
                   threads | (waits ? 0 : cuvein::kBarrierArriveOnly));
}

CUVEIN_PATCH cuvein_syncwarp(void* userdata, uint64_t pc, uint32_t mask) {
  return emit_warp(userdata, RecordKind::kWarpSync, pc, mask, 0);
}

CUVEIN_PATCH cuvein_commit(void* userdata, uint64_t pc) {
  return emit_warp(userdata, RecordKind::kAsyncCommit, pc, 0, 0);
}

CUVEIN_PATCH cuvein_wait(void* userdata, uint64_t pc, uint32_t groups) {
  return emit_warp(userdata, RecordKind::kAsyncWait, pc, groups, 0);
}

CUVEIN_PATCH cuvein_cluster_arrive(void* userdata, uint64_t pc) {
  return emit_warp(userdata, RecordKind::kClusterArrive, pc, 0, 0);
}

CUVEIN_PATCH cuvein_cluster_wait(void* userdata, uint64_t pc) {
  return emit_warp(userdata, RecordKind::kClusterWait, pc, 0, 0);
}

CUVEIN_PATCH cuvein_mbarrier(void* userdata, uint64_t pc, void* barrier, uint32_t kind, uint32_t, uint32_t,
                             uint32_t, uint32_t) {
  Warp warp;
  // Waits are seen below, when they have succeeded.
  if (kind != SANITIZER_CUDA_BARRIER_WAIT && cuvein::observe(userdata, &warp)) {
    emit_each(warp, RecordKind::kMbarrier, pc, reinterpret_cast<uint64_t>(barrier), kind, Space::kShared);
  }
  return SANITIZER_PATCH_SUCCESS;
}

// A wait that polls: only the poll that succeeds is a wait.
CUVEIN_PATCH cuvein_mbarrier_attempt(void* userdata, uint64_t pc, void* barrier, uint32_t kind, uint32_t,
                                     uint32_t result, uint32_t, uint32_t) {
  Warp warp;
  if (kind == SANITIZER_CUDA_BARRIER_WAIT && result != 0 && cuvein::observe(userdata, &warp)) {
    emit_each(warp, RecordKind::kMbarrier, pc, reinterpret_cast<uint64_t>(barrier), kind, Space::kShared);
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_malloc(void* userdata, uint64_t pc, void* address, uint64_t size) {
  Warp warp;
  if (cuvein::observe(userdata, &warp)) {
    emit_lanes(warp, RecordKind::kDeviceMalloc, pc, reinterpret_cast<uint64_t>(address),
               static_cast<int64_t>(size));
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_free(void* userdata, uint64_t pc, void* address) {
  Warp warp;
  if (cuvein::observe(userdata, &warp)) {
    emit_lanes(warp, RecordKind::kDeviceFree, pc, reinterpret_cast<uint64_t>(address), 0);
  }
  return SANITIZER_PATCH_SUCCESS;
}
