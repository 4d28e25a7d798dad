// Writing records into the channel, from within a patch. Everything here is inlined: a call would cost a
// frame.
#pragma once

#include <sanitizer_patching.h>

#include <cstdint>

#include "patches/channel.h"

// Patches are found by name.
#define CUVEIN_PATCH extern "C" __device__ __noinline__ SanitizerPatchResult

namespace cuvein {

// The lanes that run a patch together.
struct Warp {
  Channel* channel;
  uint32_t slot;
  uint32_t active;
  uint32_t lane;
};

// False when this launch is not observed.
static __device__ __forceinline__ bool observe(void* userdata, Warp* warp) {
  const uint64_t data = reinterpret_cast<uint64_t>(userdata);
  if (data == 0) return false;
  warp->channel = reinterpret_cast<Channel*>(channel_address(data));
  warp->slot = static_cast<uint32_t>(data & kSlotMask);
  warp->active = __activemask();
  asm("mov.u32 %0, %%laneid;" : "=r"(warp->lane));
  return true;
}

static __device__ __forceinline__ uint64_t flat_block() {
  return blockIdx.x +
         static_cast<uint64_t>(gridDim.x) * (blockIdx.y + static_cast<uint64_t>(gridDim.y) * blockIdx.z);
}

static __device__ __forceinline__ uint32_t flat_warp() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / kWarpLanes;
}

// Tells the kernels of a graph apart.
static __device__ __forceinline__ uint32_t grid_id() {
  uint64_t id;
  asm("mov.u64 %0, %%gridid;" : "=l"(id));
  return static_cast<uint32_t>(id);
}

static __device__ __forceinline__ uint32_t lowest(uint32_t lanes) { return __ffs(lanes) - 1; }

constexpr uint64_t kNowhere = ~uint64_t{0};

// Reserves the next `bytes` of the ring for the warp and returns where they start; kNowhere when the warp is
// to end. Waits while the host has not yet given them back; reservations are served in their order, so the
// oldest always has room.
static __device__ __forceinline__ uint64_t reserve(const Warp& warp, uint32_t bytes) {
  unsigned long long position = 0;
  const uint32_t leader = lowest(warp.active);
  if (warp.lane == leader) {
    const Channel* channel = warp.channel;
    RingCounters* counters = channel->counters;
    const unsigned long long limit = *const_cast<volatile unsigned long long*>(&counters->limit);
    position = atomicAdd(&counters->reserved, static_cast<unsigned long long>(bytes));
    if (position + bytes > limit) {
      const volatile uint64_t* consumed = channel->consumed;
      uint64_t taken = *consumed;
      while (position + bytes > taken + channel->mask + 1 && taken != kNoMore) {
        __nanosleep(1000);
        taken = *consumed;
      }
      if (taken == kNoMore) {
        position = kNowhere;
      } else {
        atomicMax(&counters->limit, static_cast<unsigned long long>(taken + channel->mask + 1));
      }
    }
  }
  return __shfl_sync(warp.active, position, leader);
}

static __device__ __forceinline__ uint8_t* place(const Warp& warp, uint64_t position) {
  return warp.channel->ring + (position & warp.channel->mask);
}

struct Head {
  RecordKind kind;
  AddressForm form;
  uint8_t flags;
  Space space;
  AccessType type;
  uint32_t size;
};

// Writes the header as three 16-byte words, side by side where there are lanes enough.
static __device__ __forceinline__ void write_header(const Warp& warp, uint64_t position, uint32_t bytes,
                                                    const Head& head, uint32_t pc, uint64_t address,
                                                    int64_t value) {
  const uint64_t block = flat_block();
  const uint32_t rank = __popc(warp.active & ((1u << warp.lane) - 1));
  const uint32_t step = __popc(warp.active);
  for (uint32_t word = rank; word < sizeof(RecordHeader) / 16; word += step) {
    uint32_t x, y, z, w;
    if (word == 0) {
      x = bytes / kRecordUnit | static_cast<uint32_t>(head.kind) << 8 |
          static_cast<uint32_t>(head.form) << 16 | static_cast<uint32_t>(head.flags) << 24;
      y = static_cast<uint32_t>(head.space) | static_cast<uint32_t>(head.type) << 8 | head.size << 16 |
          flat_warp() << 24;
      z = warp.active;
      w = pc;
    } else if (word == 1) {
      x = static_cast<uint32_t>(block);
      y = static_cast<uint32_t>(block >> 32);
      z = warp.slot;
      w = grid_id();
    } else {
      x = static_cast<uint32_t>(address);
      y = static_cast<uint32_t>(address >> 32);
      z = static_cast<uint32_t>(value);
      w = static_cast<uint32_t>(value >> 32);
    }
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(place(warp, position + 16 * word)),
                 "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
  }
}

// What every emitter returns is for the patch to return.

// A record about the warp as a whole, or about memory described by one address.
static __device__ __forceinline__ SanitizerPatchResult emit(const Warp& warp, RecordKind kind, uint64_t pc,
                                                            uint64_t address, int64_t value,
                                                            Space space = Space::kGlobal) {
  const uint64_t position = reserve(warp, sizeof(RecordHeader));
  if (position == kNowhere) return SANITIZER_PATCH_ERROR;
  write_header(warp, position, sizeof(RecordHeader),
               {kind, AddressForm::kAffine, 0, space, AccessType::kRead, 0}, static_cast<uint32_t>(pc),
               address, value);
  return SANITIZER_PATCH_SUCCESS;
}

struct Access {
  Space space;
  AccessType type;
  uint8_t flags;
  uint32_t size;
};

// One access of the warp's active lanes. `lane_size` counts with kRecordFlagLaneSizes only. Offsets in shared
// and local memory have 32 bits, which makes the search for the form of the addresses cheaper.
template <bool kWide>
static __device__ __forceinline__ SanitizerPatchResult emit_access(const Warp& warp, const Access& access,
                                                                   uint64_t pc, uint64_t address,
                                                                   uint32_t lane_size = 0) {
  const uint32_t first = lowest(warp.active);
  const uint32_t others = warp.active & (warp.active - 1);
  const uint32_t distance = warp.lane - first;
  AddressForm form = AddressForm::kAffine;
  uint64_t base;
  int64_t stride = 0;
  int64_t offset = 0;
  if (kWide) {
    base = __shfl_sync(warp.active, address, first);
    offset = static_cast<int64_t>(address - base);
    if (others != 0) {
      const uint32_t second = lowest(others);
      stride = __shfl_sync(warp.active, offset, second);
      const uint32_t gap = second - first;
      if (gap != 1) {
        // A stride of more than 31 bits over a gap between lanes is left to the other forms.
        stride = stride == static_cast<int32_t>(stride)
                     ? static_cast<int32_t>(stride) / static_cast<int32_t>(gap)
                     : 0;
      }
      if (!__all_sync(warp.active, offset == stride * static_cast<int64_t>(distance))) {
        const bool narrow =
            offset == static_cast<int32_t>(offset) && static_cast<uint32_t>(offset) != kAbsent32;
        form = __all_sync(warp.active, narrow) ? AddressForm::kLanes32 : AddressForm::kLanes64;
      }
    }
  } else {
    const uint32_t low = static_cast<uint32_t>(address);
    const uint32_t start = __shfl_sync(warp.active, low, first);
    const int32_t narrow = static_cast<int32_t>(low - start);
    int32_t step = 0;
    if (others != 0) {
      const uint32_t second = lowest(others);
      step = __shfl_sync(warp.active, narrow, second);
      const uint32_t gap = second - first;
      if (gap != 1) step = step / static_cast<int32_t>(gap);
      if (!__all_sync(warp.active, narrow == step * static_cast<int32_t>(distance)))
        form = AddressForm::kLanes32;
    }
    base = start;
    offset = narrow;
    stride = step;
  }

  const bool sizes = access.flags & kRecordFlagLaneSizes;
  const uint32_t bytes = record_bytes(form, access.flags);
  const uint64_t position = reserve(warp, bytes);
  if (position == kNowhere) return SANITIZER_PATCH_ERROR;
  write_header(warp, position, bytes,
               {RecordKind::kAccess, form, access.flags, access.space, access.type, access.size},
               static_cast<uint32_t>(pc), base, form == AddressForm::kAffine ? stride : 0);
  uint64_t lanes = position + sizeof(RecordHeader);
  if (form == AddressForm::kLanes32) {
    asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(place(warp, lanes + 4 * warp.lane)),
                 "r"(static_cast<uint32_t>(offset))
                 : "memory");
    lanes += kLanes32Bytes;
  } else if (kWide && form == AddressForm::kLanes64) {
    asm volatile("st.volatile.global.u64 [%0], %1;" ::"l"(place(warp, lanes + 8 * warp.lane)), "l"(address)
                 : "memory");
    lanes += kLanes64Bytes;
  }
  if (sizes) {
    asm volatile("st.volatile.global.u8 [%0], %1;" ::"l"(place(warp, lanes + warp.lane)), "r"(lane_size)
                 : "memory");
  }
  return SANITIZER_PATCH_SUCCESS;
}

}  // namespace cuvein
