// Counting what synchronises.
#pragma once

#include "patches/gpu_local.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_SLOW void count_barrier(Group group, uint32_t pc, BarrierKind kind, uint32_t executions) {
  const State& state = *group.state();
  if (group.leads()) {
    const uint64_t key = barrier_count(kind, instruction_at(group, state, pc));
    add(group, copy_of(state), key, executions);
    // Where it is followed what barriers order, there is no short way for them.
    if (kind == BarrierKind::kBlock && state.synchronises != 0 && instruction_known(state, pc) &&
        !(kFollowsOrder && state.orders != 0))
      make_barrier_site(group, key);
  }
  __syncwarp(group.active);
}

// All lanes that a warp has arrive at a barrier of its block and wait, about which everything is known. The
// same for all lanes; false: nothing has been done.
template <bool kWhole>
CUVEIN_FAST bool arrive_known(uint64_t data, uint32_t where) {
  const uint32_t active = kWhole ? ~0u : existing_lanes();
  if (!is_resident(data, active)) return false;
  const uint64_t site = known_address<Space::kGlobal>(data, where);
  uint32_t above, most;  // where in entries barriers are counted, and how far
  {
    const Quad head = quad<kSitesOffset>(site);
    if (!together(active, (head.x == where) & (head.z == family_of(data)))) return false;
    const uint32_t event_bits = head.y >> 12 & 31;
    above = kInstructionShift + (head.y >> 17 & 31) + event_bits;
    most = (1u << ((head.y >> 22 & 31) - event_bits)) - 1;
  }
  const Pair own = pair<kResidentsOffset>(resident_address(data));
  const uint64_t counted = wide(own.x, own.y) >> above;
  const uint32_t barriers = static_cast<uint32_t>(counted) & most;
  if (!together(active, barriers + 1 < most)) return false;
  if (lane_of_warp() == 0) {
    // No lane is at a barrier or has ended, or not all would be here.
    Resident* resident = resident_at(data);
    resident->entry = (counted + 1) << above | (own.x & ((1u << kInstructionShift) - 1));
    Warp* warp = in_global(resident->warp);
    warp->clock = barriers + 1;
    warp->events = 0;
    count_one<kCountsOffset>(site + count_set());
  }
  return true;
}

// Before lanes arrive at a barrier: which one it is that the warp will have passed.
CUVEIN_SLOW void note_barrier(Group group, uint32_t pc) {
  const State& state = *group.state();
  if (state.orders == 0) return;
  const uint32_t place = place_of_block(group);
  if (group.leads()) {
    Warp* warp = warp_at(group, place);
    const uint32_t barrier = instruction_at(group, state, pc) + 1;
    publish(&warp->arriving, barrier);
    // All that meet at one barrier come to it at one instruction, or it cannot be said which has ordered
    // what.
    const unsigned long long mine = static_cast<unsigned long long>(fresh(&warp->clock) + 1) << 32 | barrier;
    const unsigned long long before =
        atomicExch(&in_global(group.engine()->block_states)[place].barrier, mine);
    find_out(group, before != mine && before >> 32 == mine >> 32 ? kOrderUnknown : kOrderFollowed);
  }
  __syncwarp(group.active);
}

CUVEIN_SLOW void arrive_slow(Group group, uint32_t pc, uint32_t number, uint32_t threads, bool waits) {
  count_barrier(group, pc, BarrierKind::kBlock, 1);
  if (kFollowsOrder) note_barrier(group, pc);
  arrive_at_barrier(group, number, threads, waits);
}

CUVEIN_FAST void arrive(const Group& group, uint32_t pc, uint32_t number, uint32_t threads, bool waits) {
  const bool usual = (number | threads | !waits) == 0 && !replayed(group);
  if (usual && group.active == ~0u && arrive_known<true>(group.data, pc + kBarrierSite)) return;
  if (usual && group.active != ~0u && group.active == existing_lanes() &&
      arrive_known<false>(group.data, pc + kBarrierSite))
    return;
  arrive_slow(group, pc, number, threads, waits);
}

// What a warp that ends has left to do.
enum class Ending : uint32_t { kNothing, kAll, kBlock, kLaunch };

// All lanes that a warp has end, or lanes of a block of which nothing is kept. The same for all lanes; kAll:
// nothing has been done.
CUVEIN_FAST Ending end_known(uint64_t data, uint32_t active) {
  if ((data & (kGpuCandidate | kReplay)) != kGpuCandidate) return Ending::kAll;
  bool places;
  {
    const State& state = *Group{data, active, 0}.state();
    places = state.blocks_per_multiprocessor != 0;
    const bool whole = (active == existing_lanes()) & (state.copy_flag == 0);
    if (!together(active, (state.tag == tag_of(data)) & (state.blocks >> 32 == 0) & (whole | !places)))
      return Ending::kAll;
  }
  bool last = false;
  if (!places && !kFollowsOrder) {
    __syncwarp(active);
    if (lane_of_warp() == first_of(active)) last = end_without_place(data, __popc(active));
    return together(active, !last) ? Ending::kNothing : Ending::kLaunch;
  }
  if (!is_resident(data, active)) return Ending::kAll;
  if (!together(active, !places | (resident_at(data)->warp != nullptr))) return Ending::kAll;
  __syncwarp(active);
  if (lane_of_warp() == first_of(active)) {
    resident_at(data)->tag = 0;
    if (places) {
      const Group group{data, active, lane_of_warp()};
      Block* block = block_of_warp(group, in_global(resident_at(data)->warp));
      last = add_in_block(&block->exited, __popc(active)) + __popc(active) == group.state()->threads;
    } else {
      last = end_without_place(data, __popc(active));
    }
  }
  return together(active, !last) ? Ending::kNothing : places ? Ending::kBlock : Ending::kLaunch;
}

CUVEIN_SLOW void end_slow(Group group, Ending ending) {
  if (ending == Ending::kAll)
    end_threads(group);
  else if (ending == Ending::kBlock)
    end_block(group, place_of_block(group));
  else
    finish(group);
}

CUVEIN_FAST void end(const Group& group) {
  const Ending ending = end_known(group.data, group.active);
  if (ending != Ending::kNothing) end_slow(group, ending);
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
