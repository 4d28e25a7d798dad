// What is remembered of a warp where it is followed what barriers order; see gpu_order.cuh.
#pragma once

#include "patches/gpu_counts.cuh"

namespace cuvein {
namespace gpu {

// Whether these patches can follow that.
#ifdef CUVEIN_ORDER
constexpr bool kFollowsOrder = true;
#else
constexpr bool kFollowsOrder = false;
#endif

// How far above the entries of shared memory those of its order lie.
CUVEIN_FAST uint32_t order_distance(const State& state) {
  return kMultiprocessors * (kSharedBytes >> state.shared_shift);
}

// In the entries of order: the clock, above what is known of the accesses.
constexpr unsigned kOrderClockShift = 13;

// The counter of a key in the copy; null: none is free. One lane.
CUVEIN_SLOW unsigned long long* counter_of(Group group, uint32_t copy, uint64_t key) {
  Counter* const table = group.counters();
  uint32_t at = mix_key(key) >> (32 - kCountersBits);
#pragma unroll 1
  for (uint32_t probe = 0; probe < kMostProbes; ++probe) {
    const uint32_t number = copy << kCountersBits | at;
    const unsigned long long found = table[number].key;
    if (found == key || (found == 0 && claim_counter(group, number, key))) return &table[number].count;
    at = (at + 1) & (kCounters - 1);
  }
  return nullptr;
}

// `number` is that of the resident, which is known. One lane.
CUVEIN_SLOW void make_order(Group group, const Resident* resident, const Warp* warp, uint32_t number) {
  const State& state = *group.state();
  ResidentOrder* order = group.at<ResidentOrder>(kOrdersOffset) + number;
  uint32_t shifts = 0;
  if (warp != nullptr && state.orders != 0) {
    const uint64_t others = (uint64_t{1} << state.block_shift) - (uint64_t{1} << kInstructionShift);
    const uint64_t clock = warp->clock;
    const uint32_t barrier = warp->barrier;
    if (clock >> (state.block_shift - kOrderClockShift) != 0) find_out(group, kOrderUnknown);
    order->entry = (resident->entry & ~others) | (clock << kOrderClockShift & others);
    unsigned long long* counter = nullptr;
    if (barrier != 0)
      counter = counter_of(group, multiprocessor() & state.copy_mask, ordered_count(barrier - 1));
    order->counter = reinterpret_cast<uint64_t>(counter);
    order->shadow = resident->shadow + order_distance(state) * sizeof(uint64_t);
    order->stride = resident->shadow == 0 ? 0 : state.shared_stride;
    shifts = 1u << 31 | (barrier != 0 ? 1u << 30 : 0) | state.block_shift << 8 | state.global_shift << 4 |
             state.shared_shift;
  }
  order->shifts = shifts;
}

}  // namespace gpu
}  // namespace cuvein
