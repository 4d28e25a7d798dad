// The lanes that run a callback of the GPU engine together, and the launch they belong to.
#pragma once

#include "patches/gpu_device.cuh"

namespace cuvein {
namespace gpu {

// 16 bytes, and functions that are called take little besides: beyond register R13 the compiler (ptxas 13.5)
// loses arguments of patches to votes and shuffles before the call.
struct Group {
  uint64_t data;  // the userdata: channel, kGpuCandidate, slot, family
  uint32_t active;
  uint32_t lane;

  CUVEIN_METHOD uint64_t base() const { return channel_address(data); }
  CUVEIN_METHOD Channel* channel() const { return in_global<Channel>(base()); }
  CUVEIN_METHOD uint32_t slot() const { return static_cast<uint32_t>(data & kSlotMask); }
  CUVEIN_METHOD Engine* engine() const { return at<Engine>(kEngineOffset); }
  CUVEIN_METHOD State* state() const { return at<State>(kStatesOffset) + slot() % kStates; }
  template <typename T>
  CUVEIN_METHOD T* at(uint64_t offset) const {
    return in_global<T>(base() + offset);
  }
  CUVEIN_METHOD uint32_t* hints() const { return at<uint32_t>(kHintsOffset); }
  CUVEIN_METHOD Range* ranges() const { return at<Range>(kRangesOffset); }
  CUVEIN_METHOD unsigned long long* block_keys() const { return at<unsigned long long>(kKeysOffset); }
  CUVEIN_METHOD unsigned long long* directory() const { return at<unsigned long long>(kDirectoryOffset); }
  CUVEIN_METHOD Counter* counters() const { return at<Counter>(kCountersOffset); }
  CUVEIN_METHOD uint32_t first() const { return __ffs(active) - 1; }
  CUVEIN_METHOD uint32_t count() const { return __popc(active); }
  CUVEIN_METHOD uint32_t rank() const { return __popc(active & ((1u << lane) - 1)); }
  CUVEIN_METHOD bool leads() const { return lane == first(); }
};

CUVEIN_FAST uint32_t below(uint32_t lane) { return (1u << lane) - 1; }
CUVEIN_FAST uint32_t highest_of(uint32_t lanes) { return 31 - __clz(lanes); }

CUVEIN_FAST uint64_t block_of_grid() {
  return blockIdx.x +
         static_cast<uint64_t>(gridDim.x) * (blockIdx.y + static_cast<uint64_t>(gridDim.y) * blockIdx.z);
}

CUVEIN_FAST uint32_t warp_of_block() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / kWarpLanes;
}

CUVEIN_SLOW void find_out(Group group, Finding finding) {
  uint32_t* findings = &group.engine()->findings;
  if ((fresh(findings) & finding) == 0) atomicOr(findings, static_cast<uint32_t>(finding));
}

}  // namespace gpu
}  // namespace cuvein
