// What orders accesses, and where threads, allocations and launches end, on the GPU engine; of launches that
// it does not have, the callbacks of the host engine.
#define cuvein_exit host_exit
#define cuvein_barrier host_barrier
#define cuvein_syncwarp host_syncwarp
#define cuvein_commit host_commit
#define cuvein_wait host_wait
#define cuvein_cluster_arrive host_cluster_arrive
#define cuvein_cluster_wait host_cluster_wait
#define cuvein_mbarrier host_mbarrier
#define cuvein_mbarrier_attempt host_mbarrier_attempt
#define cuvein_malloc host_malloc
#define cuvein_free host_free
#include "patches/synchronization.cu"
#undef cuvein_exit
#undef cuvein_barrier
#undef cuvein_syncwarp
#undef cuvein_commit
#undef cuvein_wait
#undef cuvein_cluster_arrive
#undef cuvein_cluster_wait
#undef cuvein_mbarrier
#undef cuvein_mbarrier_attempt
#undef cuvein_malloc
#undef cuvein_free

#include "patches/gpu_callback.cuh"

using cuvein::BarrierKind;
using cuvein::gpu::Engines;
using cuvein::gpu::Group;

namespace {

// What is left of an exit and of a barrier by the short way.
CUVEIN_SLOW SanitizerPatchResult exit_slow(void* userdata, uint32_t pc, cuvein::gpu::Ending ending) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kGpu) cuvein::gpu::end_slow(group, ending);
  if (engine != Engines::kHost) return SANITIZER_PATCH_SUCCESS;
  if (reinterpret_cast<uint64_t>(userdata) & cuvein::kGpuCandidate) cuvein::gpu::end_on_host(group);
  return host_exit(userdata, pc);
}

CUVEIN_SLOW SanitizerPatchResult barrier_slow(void* userdata, uint32_t pc, uint32_t index, uint32_t threads,
                                              uint32_t flags) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_barrier(userdata, pc, index, threads, flags);
  if (engine == Engines::kGpu)
    cuvein::gpu::arrive_slow(group, pc, index, threads, flags & SANITIZER_BARRIER_FLAG_IS_SYNCHRONIZING);
  return SANITIZER_PATCH_SUCCESS;
}

}  // namespace

CUVEIN_PATCH cuvein_exit(void* userdata, uint64_t pc) {
  const cuvein::gpu::Ending ending =
      cuvein::gpu::end_known(reinterpret_cast<uint64_t>(userdata), cuvein::gpu::active_lanes());
  if (ending == cuvein::gpu::Ending::kNothing) return SANITIZER_PATCH_SUCCESS;
  return exit_slow(userdata, static_cast<uint32_t>(pc), ending);
}

CUVEIN_PATCH cuvein_barrier(void* userdata, uint64_t pc, uint32_t index, uint32_t threads, uint32_t flags) {
  const uint64_t data = reinterpret_cast<uint64_t>(userdata);
  const bool candidate = (data & (cuvein::kGpuCandidate | cuvein::kReplay)) == cuvein::kGpuCandidate;
  const uint32_t unusual = index | threads | (~flags & SANITIZER_BARRIER_FLAG_IS_SYNCHRONIZING);
  if (cuvein::gpu::together(~0u, candidate & (unusual == 0))) {
    if (cuvein::gpu::arrive_known<true>(data, static_cast<uint32_t>(pc) + cuvein::gpu::kBarrierSite))
      return SANITIZER_PATCH_SUCCESS;
    // Known, so that nothing is kept.
    index = threads = 0;
    flags = SANITIZER_BARRIER_FLAG_IS_SYNCHRONIZING;
  } else if (cuvein::gpu::together(cuvein::gpu::existing_lanes(), candidate & (unusual == 0))) {
    if (cuvein::gpu::arrive_known<false>(data, static_cast<uint32_t>(pc) + cuvein::gpu::kBarrierSite))
      return SANITIZER_PATCH_SUCCESS;
    index = threads = 0;
    flags = SANITIZER_BARRIER_FLAG_IS_SYNCHRONIZING;
  }
  return barrier_slow(userdata, static_cast<uint32_t>(pc), index, threads, flags);
}

CUVEIN_PATCH cuvein_syncwarp(void* userdata, uint64_t pc, uint32_t mask) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_syncwarp(userdata, pc, mask);
  if (engine == Engines::kGpu) {
    cuvein::gpu::count_barrier(group, static_cast<uint32_t>(pc), BarrierKind::kWarp, 1);
    cuvein::gpu::arrive_at_sync(group, mask);
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_commit(void* userdata, uint64_t pc) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_commit(userdata, pc);
  if (engine == Engines::kGpu) cuvein::gpu::commit_copies(group);
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_wait(void* userdata, uint64_t pc, uint32_t groups) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_wait(userdata, pc, groups);
  if (engine == Engines::kGpu) cuvein::gpu::wait_for_copies(group, groups);
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_cluster_arrive(void* userdata, uint64_t pc) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_cluster_arrive(userdata, pc);
  if (engine == Engines::kGpu)
    cuvein::gpu::count_barrier(group, static_cast<uint32_t>(pc), BarrierKind::kCluster, 1);
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_cluster_wait(void* userdata, uint64_t pc) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_cluster_wait(userdata, pc);
  if (engine == Engines::kGpu)
    cuvein::gpu::count_barrier(group, static_cast<uint32_t>(pc), BarrierKind::kCluster, 1);
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_mbarrier(void* userdata, uint64_t pc, void* barrier, uint32_t kind, uint32_t a,
                             uint32_t b, uint32_t c, uint32_t d) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_mbarrier(userdata, pc, barrier, kind, a, b, c, d);
  // Waits are seen below, when they have succeeded.
  if (engine == Engines::kGpu && kind != SANITIZER_CUDA_BARRIER_WAIT)
    cuvein::gpu::count_mbarriers(group, static_cast<uint32_t>(pc), reinterpret_cast<uint64_t>(barrier));
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_mbarrier_attempt(void* userdata, uint64_t pc, void* barrier, uint32_t kind, uint32_t a,
                                     uint32_t result, uint32_t b, uint32_t c) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_mbarrier_attempt(userdata, pc, barrier, kind, a, result, b, c);
  if (engine == Engines::kGpu) {
    const bool waited = kind == SANITIZER_CUDA_BARRIER_WAIT && result != 0;
    group.active = __ballot_sync(group.active, waited);
    if (waited)
      cuvein::gpu::count_mbarriers(group, static_cast<uint32_t>(pc), reinterpret_cast<uint64_t>(barrier));
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_malloc(void* userdata, uint64_t pc, void* address, uint64_t size) {
  Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_malloc(userdata, pc, address, size);
  if (engine == Engines::kGpu && address != nullptr) {
    cuvein::gpu::forget(group, reinterpret_cast<uint64_t>(address), size);
    if (cuvein::gpu::kFollowsOrder)
      cuvein::gpu::forget_order(group, reinterpret_cast<uint64_t>(address), size);
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_free(void* userdata, uint64_t pc, void* address) {
  Group group;
  return cuvein::gpu::engine_of(userdata, &group) == Engines::kHost ? host_free(userdata, pc, address)
                                                                    : SANITIZER_PATCH_SUCCESS;
}
