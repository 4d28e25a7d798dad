// The callbacks of gpu_access.cu, and for modules with block barriers a second set of them, after which it is
// followed what barriers order.
#define CUVEIN_ORDER
#include "patches/gpu_access.cu"
#include "patches/gpu_order.cuh"

namespace cuvein {
namespace gpu {
namespace {

// The lanes that run a callback, before it does anything; 0: the launch cannot be on the GPU engine.
CUVEIN_FAST uint32_t candidates(void* userdata) {
  return (reinterpret_cast<uint64_t>(userdata) & kGpuCandidate) != 0 ? active_lanes() : 0;
}

// After the access of the lanes `active`.
template <Space kSpace>
CUVEIN_SLOW void follow_callback(uint64_t data, uint64_t address, uint32_t active, uint32_t size,
                                 uint32_t flags) {
  const Group group{data, active, lane_of_warp()};
  AccessType type;
  if (active == 0 || !classify(flags, &type) || !on_gpu(group)) return;
  follow_access<kSpace>(group, address, pack_following(moved_shift(size), type != AccessType::kRead));
}

template <Space kSpace>
CUVEIN_FAST void follow_after(void* userdata, void* address, uint32_t active, uint32_t size, uint32_t flags) {
  const uint64_t at = place_in_block<kSpace>(address);
  AccessType type;
  if (active == 0 || !classify(flags, &type) ||
      follow_usual<kSpace>(reinterpret_cast<uint64_t>(userdata), at, active, moved_shift(size),
                           type != AccessType::kRead))
    return;
  follow_callback<kSpace>(reinterpret_cast<uint64_t>(userdata), place_in_block<kSpace>(address), active, size,
                          flags);
}

}  // namespace
}  // namespace gpu
}  // namespace cuvein

CUVEIN_PATCH cuvein_global_order(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                                 const void* data) {
  const uint32_t active = cuvein::gpu::candidates(userdata);
  const SanitizerPatchResult result = cuvein_global(userdata, pc, address, size, flags, data);
  cuvein::gpu::follow_after<Space::kGlobal>(userdata, address, active, size, flags);
  return result;
}

CUVEIN_PATCH cuvein_shared_order(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                                 const void* data) {
  const uint32_t active = cuvein::gpu::candidates(userdata);
  const SanitizerPatchResult result = cuvein_shared(userdata, pc, address, size, flags, data);
  cuvein::gpu::follow_after<Space::kShared>(userdata, address, active, size, flags);
  return result;
}

CUVEIN_PATCH cuvein_matrix_order(void* userdata, uint64_t pc, uint32_t address, uint32_t size, uint32_t flags,
                                 uint32_t count, const void* data) {
  uint32_t active = cuvein::gpu::candidates(userdata);
  const SanitizerPatchResult result = cuvein_matrix(userdata, pc, address, size, flags, count, data);
  if (count < 4) active &= (1u << (8 * count)) - 1;
  if ((active >> cuvein::gpu::lane_of_warp() & 1) != 0)
    cuvein::gpu::follow_callback<Space::kShared>(reinterpret_cast<uint64_t>(userdata),
                                                 address & cuvein::kSharedWindow, active, size, flags);
  return result;
}

CUVEIN_PATCH cuvein_copy_order(void* userdata, uint64_t pc, void* source, uint32_t target, uint32_t size,
                               uint32_t zeros) {
  const uint32_t active = cuvein::gpu::candidates(userdata);
  const SanitizerPatchResult result = cuvein_copy(userdata, pc, source, target, size, zeros);
  const cuvein::gpu::Group group{reinterpret_cast<uint64_t>(userdata), active, cuvein::gpu::lane_of_warp()};
  if (active == 0 || !cuvein::gpu::on_gpu(group)) return result;
  const uint32_t bytes = source == nullptr || zeros >= size ? 0 : size - zeros;
  cuvein::gpu::Group readers = group;
  readers.active = __ballot_sync(active, bytes != 0);
  if (bytes != 0) cuvein::gpu::follow_sizes(readers, reinterpret_cast<uint64_t>(source), bytes);
  __syncwarp(active);
  cuvein::gpu::follow_access<Space::kShared>(group, target & cuvein::kSharedWindow,
                                             cuvein::gpu::pack_following(cuvein::moved_shift(size), true));
  return result;
}
