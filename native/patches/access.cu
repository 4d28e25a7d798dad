// Loads, stores, atomics and copies: what the analysis is about.
#include "patches/emit.cuh"

namespace cuvein {
namespace {

// False for what touches no data: prefetches.
__device__ __forceinline__ bool classify(uint32_t flags, AccessType* type) {
  if (flags & SANITIZER_MEMORY_DEVICE_FLAG_PREFETCH) return false;
  const bool reads = flags & SANITIZER_MEMORY_DEVICE_FLAG_READ;
  const bool writes = flags & SANITIZER_MEMORY_DEVICE_FLAG_WRITE;
  const bool reduces = flags & SANITIZER_MEMORY_DEVICE_FLAG_ATOMIC_WRITE_ONLY;
  *type = reduces || (reads && writes) || (flags & SANITIZER_MEMORY_DEVICE_FLAG_ATOMSYS) ? AccessType::kAtomic
          : writes                                                                       ? AccessType::kWrite
                                                                                         : AccessType::kRead;
  return true;
}

// log2 of the bytes that an instruction moves for each lane. The Sanitizer API tells those that the program
// uses: 12 for a vector load of 16 whose last word nobody reads (nv.info's EIATTR_UNUSED_LOAD_BYTE_OFFSET;
// parts left out in front or in the middle are not deducted). The memory system serves the instruction all
// the same.
__device__ __forceinline__ uint32_t moved_shift(uint32_t used) { return 32 - __clz(used - 1); }

// Code for GPUs with clusters puts the block's rank in its cluster above the offset in its shared memory.
// These instructions reach no other block's.
constexpr uint32_t kSharedWindow = (1u << 24) - 1;

template <Space kSpace>
__device__ __forceinline__ uint64_t place_in_block(void* address) {
  const uint64_t place = reinterpret_cast<uint64_t>(address);
  return kSpace == Space::kShared ? place & kSharedWindow : place;
}

template <Space kSpace>
__device__ __forceinline__ SanitizerPatchResult access(void* userdata, uint64_t pc, void* address,
                                                       uint32_t size, uint32_t flags) {
  Warp warp;
  Access what{kSpace, AccessType::kRead, 0, 1u << moved_shift(size)};
  if (!observe(userdata, &warp) || !classify(flags, &what.type)) return SANITIZER_PATCH_SUCCESS;
  return emit_access < kSpace == Space::kGlobal > (warp, what, pc, place_in_block<kSpace>(address));
}

}  // namespace
}  // namespace cuvein

using cuvein::AccessType;
using cuvein::Space;

CUVEIN_PATCH cuvein_global(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                           const void*) {
  return cuvein::access<Space::kGlobal>(userdata, pc, address, size, flags);
}

CUVEIN_PATCH cuvein_shared(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                           const void*) {
  return cuvein::access<Space::kShared>(userdata, pc, address, size, flags);
}

CUVEIN_PATCH cuvein_local(void* userdata, uint64_t pc, void* address, uint32_t size, uint32_t flags,
                          const void*) {
  return cuvein::access<Space::kLocal>(userdata, pc, address, size, flags);
}

// Matrix loads and stores move 8x8 matrices whose rows of 16 bytes are addressed by 8 lanes each.
CUVEIN_PATCH cuvein_matrix(void* userdata, uint64_t pc, uint32_t address, uint32_t size, uint32_t flags,
                           uint32_t count, const void*) {
  cuvein::Warp warp;
  cuvein::Access what{Space::kShared, AccessType::kRead, 0, size};
  if (!cuvein::observe(userdata, &warp) || !cuvein::classify(flags, &what.type)) {
    return SANITIZER_PATCH_SUCCESS;
  }
  what.flags |= cuvein::kRecordFlagMatrix;
  if (count < 4) warp.active &= (1u << (8 * count)) - 1;
  if ((warp.active >> warp.lane & 1) == 0) return SANITIZER_PATCH_SUCCESS;
  return cuvein::emit_access<false>(warp, what, pc, address & cuvein::kSharedWindow);
}

// An asynchronous copy reads global memory (only the bytes that are not filled with zeros) and writes shared
// memory.
CUVEIN_PATCH cuvein_copy(void* userdata, uint64_t pc, void* source, uint32_t target, uint32_t size,
                         uint32_t zeros) {
  cuvein::Warp warp;
  if (!cuvein::observe(userdata, &warp)) return SANITIZER_PATCH_SUCCESS;
  const uint32_t bytes = source == nullptr || zeros >= size ? 0 : size - zeros;
  cuvein::Warp readers = warp;
  readers.active = __ballot_sync(warp.active, bytes != 0);
  if (bytes != 0) {
    cuvein::Access what{Space::kGlobal, AccessType::kRead, cuvein::kRecordFlagAsync, size};
    if (!__all_sync(readers.active, bytes == size)) what.flags |= cuvein::kRecordFlagLaneSizes;
    cuvein::emit_access<true>(readers, what, pc, reinterpret_cast<uint64_t>(source), bytes);
  }
  __syncwarp(warp.active);
  const cuvein::Access what{Space::kShared, AccessType::kWrite, cuvein::kRecordFlagAsync, size};
  return cuvein::emit_access<false>(warp, what, pc + 1, target & cuvein::kSharedWindow);
}
