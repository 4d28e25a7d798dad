// From what the Sanitizer API passes to the GPU engine, or past it.
#pragma once

#include "patches/emit.cuh"
#include "patches/gpu_order.cuh"

namespace cuvein {
namespace gpu {

enum class Engines { kNone, kGpu, kHost };

// Which engine the launch has: none when it is not observed.
CUVEIN_FAST Engines engine_of(void* userdata, Group* group) {
  const uint64_t data = reinterpret_cast<uint64_t>(userdata);
  if (data == 0) return Engines::kNone;
  if ((data & kGpuCandidate) == 0) return Engines::kHost;
  group->data = data;
  group->active = __activemask();
  group->lane = lane_of_warp();
  return on_gpu(*group) ? Engines::kGpu : Engines::kHost;
}

}  // namespace gpu
}  // namespace cuvein
