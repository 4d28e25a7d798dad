// Counting what synchronises.
#pragma once

#include "patches/gpu_local.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_SLOW void count_barrier(Group group, uint32_t pc, BarrierKind kind, uint32_t executions) {
  const State& state = *group.state();
  if (group.leads())
    add(group, copy_of(state), barrier_count(kind, instruction_at(group, state, pc)), executions);
  __syncwarp(group.active);
}

// Once for each of the addresses.
CUVEIN_SLOW void count_mbarriers(Group group, uint32_t pc, uint64_t address) {
  const uint32_t same = __match_any_sync(group.active, address);
  const uint32_t first = __ballot_sync(group.active, group.lane == static_cast<uint32_t>(__ffs(same)) - 1);
  count_barrier(group, pc, BarrierKind::kMbarrier, __popc(first));
  // It may stand for asynchronous copies too.
  find_out(group, kCopiesUnknown);
}

}  // namespace gpu
}  // namespace cuvein
