// Loads, stores, atomics and copies on the GPU engine; of launches that it does not have, the callbacks of
// the host engine.
#define cuvein_global host_global
#define cuvein_shared host_shared
#define cuvein_local host_local
#define cuvein_matrix host_matrix
#define cuvein_copy host_copy
#include "patches/access.cu"
#undef cuvein_global
#undef cuvein_shared
#undef cuvein_local
#undef cuvein_matrix
#undef cuvein_copy

#include "patches/gpu_callback.cuh"

namespace cuvein {
namespace gpu {
namespace {

template <Space kSpace>
CUVEIN_FAST void analyse_access(const Group& group, uint64_t pc, uint64_t address, uint32_t size,
                                uint32_t flags) {
  Access access{AccessType::kRead, false, moved_shift(size)};
  if (classify(flags, &access.type)) analyse<kSpace>(group, access, pc, address);
}

}  // namespace
}  // namespace gpu
}  // namespace cuvein

using cuvein::gpu::Engines;

namespace {

// An access of the lanes `active`, which the short way saw together. `packed`: size and flags.
template <Space kSpace>
CUVEIN_SLOW SanitizerPatchResult go_on(uint64_t data, uint64_t address, uint32_t pc, uint32_t packed,
                                       uint32_t active) {
  const uint32_t size = packed >> 16, flags = packed & 0xffff;
  const cuvein::gpu::Group group{data, active, cuvein::gpu::lane_of_warp()};
  if ((data & cuvein::kGpuCandidate) == 0 || !cuvein::gpu::on_gpu(group)) {
    void* const userdata = reinterpret_cast<void*>(data);
    void* const at = reinterpret_cast<void*>(address);
    return kSpace == Space::kGlobal ? host_global(userdata, pc, at, size, flags, nullptr)
                                    : host_shared(userdata, pc, at, size, flags, nullptr);
  }
  cuvein::gpu::analyse_access<kSpace>(group, pc, address, size, flags);
  return SANITIZER_PATCH_SUCCESS;
}

template <Space kSpace>
CUVEIN_FAST SanitizerPatchResult go(void* userdata, uint64_t pc, void* address, uint32_t size,
                                    uint32_t flags) {
  const uint64_t data = reinterpret_cast<uint64_t>(userdata), at = reinterpret_cast<uint64_t>(address);
  if (data == 0) return SANITIZER_PATCH_SUCCESS;
  const uint32_t active = cuvein::gpu::active_lanes(), low = static_cast<uint32_t>(pc);
  uint32_t packed;
  asm volatile("shl.b32 %0, %1, 16;\n\tor.b32 %0, %0, %2;" : "=&r"(packed) : "r"(size), "r"(flags));
  cuvein::gpu::Outcome outcome;
  const cuvein::gpu::Left left = cuvein::gpu::analyse_usual<kSpace>(data, active, low, at, &outcome);
  if (left == cuvein::gpu::Left::kNothing) return SANITIZER_PATCH_SUCCESS;
  if (left == cuvein::gpu::Left::kCounts) {
    cuvein::gpu::count_outcome_left<kSpace>(data, active, low, outcome);
    return SANITIZER_PATCH_SUCCESS;
  }
  if (left == cuvein::gpu::Left::kScattered) {
    cuvein::gpu::analyse_known<kSpace>(data, at, active, low);
    return SANITIZER_PATCH_SUCCESS;
  }
  return go_on<kSpace>(data, at, low, packed, active);
}

}  // namespace

CUVEIN_PATCH cuvein_global(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                           const void*) {
  return go<Space::kGlobal>(userdata, pc, address, size, flags);
}

CUVEIN_PATCH cuvein_shared(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                           const void*) {
  return go<Space::kShared>(userdata, pc, address, size, flags);
}

CUVEIN_PATCH cuvein_local(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                          const void* data) {
  cuvein::gpu::Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_local(userdata, pc, address, size, flags, data);
  if (engine == Engines::kGpu) {
    AccessType type;
    if (cuvein::classify(flags, &type))
      cuvein::gpu::analyse_local(group, static_cast<uint32_t>(reinterpret_cast<uint64_t>(address)),
                                 static_cast<uint32_t>(pc),
                                 cuvein::gpu::pack_kind(type, cuvein::moved_shift(size)));
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_matrix(void* userdata, uint64_t pc, uint32_t address, uint32_t size, uint32_t flags,
                           uint32_t count, const void* data) {
  cuvein::gpu::Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_matrix(userdata, pc, address, size, flags, count, data);
  if (engine == Engines::kGpu) {
    if (count < 4) group.active &= (1u << (8 * count)) - 1;
    if (group.active >> group.lane & 1)
      cuvein::gpu::analyse_access<Space::kShared>(group, pc, address, size, flags);
  }
  return SANITIZER_PATCH_SUCCESS;
}

CUVEIN_PATCH cuvein_copy(void* userdata, uint64_t pc, void* source, uint32_t target, uint32_t size,
                         uint32_t zeros) {
  cuvein::gpu::Group group;
  const Engines engine = cuvein::gpu::engine_of(userdata, &group);
  if (engine == Engines::kHost) return host_copy(userdata, pc, source, target, size, zeros);
  if (engine == Engines::kNone) return SANITIZER_PATCH_SUCCESS;
  const uint32_t bytes = source == nullptr || zeros >= size ? 0 : size - zeros;
  const uint64_t address = reinterpret_cast<uint64_t>(source);
  cuvein::gpu::Group readers = group;
  readers.active = __ballot_sync(group.active, bytes != 0);
  if (bytes != 0) {
    const cuvein::gpu::Access access{AccessType::kRead, true, cuvein::moved_shift(size)};
    if (__all_sync(readers.active, bytes == size))
      cuvein::gpu::analyse<Space::kGlobal>(readers, access, pc, address);
    else
      cuvein::gpu::analyse_sizes(readers, address, access, static_cast<uint32_t>(pc), bytes);
  }
  __syncwarp(group.active);
  const cuvein::gpu::Access access{AccessType::kWrite, true, cuvein::moved_shift(size)};
  cuvein::gpu::analyse<Space::kShared>(group, access, pc, target);
  return SANITIZER_PATCH_SUCCESS;
}
