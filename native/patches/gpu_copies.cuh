// Asynchronous copies into shared memory: an access finds them done once the thread that issued them has
// waited.
#pragma once

#include "patches/gpu_shadow.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_FAST uint32_t place_of_resident(const Group& group, const Warp* warp) {
  return static_cast<uint32_t>(warp - group.engine()->warps) / kWarpsPerBlock;
}

// The place of the block, which has one. One lane's.
CUVEIN_FAST uint32_t place_of_lane(const Group& group) {
  const Resident* resident = resident_at(group.data);
  if (resident->tag == (group.slot() + 1 | warp_of_block() << kWarpShift) &&
      resident->block == static_cast<uint32_t>(block_of_grid()) && resident->warp != nullptr)
    return place_of_resident(group, resident->warp);
  const uint32_t places = group.state()->blocks_per_multiprocessor;
  const uint64_t key = key_of_block(group);
  const uint32_t home = multiprocessor() % kMultiprocessors;
  // Only blocks that found no place at home lie elsewhere.
#pragma unroll 1
  for (uint32_t i = 0; i < kMultiprocessors; ++i) {
    const uint32_t base = (home + i) % kMultiprocessors * kBlocksPerMultiprocessor;
#pragma unroll 1
    for (uint32_t at = 0; at < places; ++at)
      if (fresh(group.block_keys() + base + at) == key) return base + at;
  }
  return 0;
}

// What stands in the clock of entries of copies that are issued now. All lanes.
CUVEIN_FAST uint32_t clock_of_copies(const Group& group, const State& state, uint32_t place) {
  const uint32_t commits = fresh(&copies_of(state, place, warp_of_block())->commits);
  if (commits >= state.clock_mask) find_out(group, kCopiesUnknown);
  return state.copy_flag | (commits < state.clock_mask ? commits : state.clock_mask);
}

CUVEIN_FAST bool is_copy(const State& state, uint64_t entry) {
  return (static_cast<uint32_t>(entry >> state.clock_shift) & state.copy_flag) != 0;
}

// Edge key where the access, or the one before, is an asynchronous copy.
CUVEIN_SLOW uint32_t compare_copy(Group group, uint64_t before, uint64_t now) {
  const State& state = *group.state();
  const uint32_t place = place_of_lane(group);
  if (is_copy(state, now)) {
    // The clock of its warp is what orders it.
    const uint64_t field = static_cast<uint64_t>(state.copy_flag | state.clock_mask) << state.clock_shift;
    const Warp& warp = in_global(group.engine()->warps)[place * kWarpsPerBlock + warp_of_block()];
    const uint64_t clock = state.synchronises != 0 ? clock_of_warp(state, warp) : 0;
    now = (now & ~field) | clock << state.clock_shift;
  }
  const uint32_t key = compare(state, before, now);
  const Label label = static_cast<Label>(key >> 1 & 7);
  const bool near = label == Label::kThread || label == Label::kWarpDiffInst || label == Label::kBlock;
  if (!is_copy(state, before) || !near) return key;
  const uint32_t issued = static_cast<uint32_t>(before >> state.clock_shift) & state.clock_mask;
  const uint32_t clock = static_cast<uint32_t>(now >> state.clock_shift) & state.clock_mask;
  const uint32_t origin_warp = static_cast<uint32_t>(before >> 5) & (kWarpsPerBlock - 1);
  const Copies* copies = copies_of(state, place, origin_warp);
  // The first wait that completed it; mostly that is one of the last.
  const uint32_t waits = fresh(&copies->waits);
  uint32_t first = waits, completed = 0;
#pragma unroll 1
  while (first != 0) {
    const uint32_t earlier = fresh(&copies->wait[first - 1].before);
    if (earlier <= issued) break;
    completed = earlier;
    --first;
  }
  bool unordered = true;
  if (first == 0 && issued < fresh(&copies->forgotten)) {
    unordered = false;
  } else if (first != waits) {
    // Lanes that have ended have not waited since.
    const uint32_t exited =
        fresh(&in_global(group.engine()->warps)[place * kWarpsPerBlock + origin_warp].exited);
    if ((exited >> (before & 31) & 1) == 0 || completed <= fresh(&copies->at_exit)) {
      const uint32_t done = fresh(&copies->wait[first].clock);
      unordered = label == Label::kBlock ? done >> state.event_bits >= clock >> state.event_bits
                                         : label == Label::kWarpDiffInst && done >= clock;
    }
  }
  return (key & ~1u) | static_cast<uint32_t>(unordered);
}

// Of shared memory: what another block has left at the place is of no account.
CUVEIN_FAST uint32_t compare_shared(const Group& group, const State& state, uint64_t before, uint64_t now) {
  if ((before ^ now) >> state.block_shift != 0) return edge_key(0, Label::kCold, false);
  if (state.copy_flag != 0 && (is_copy(state, before) || is_copy(state, now)))
    return compare_copy(group, before, now);
  return compare(state, before, now);
}

// Only warps that commit and wait as a whole are followed.
CUVEIN_FAST bool is_whole(const Group& group, uint32_t place) {
  return (existing_lanes() & ~fresh(&warp_at(group, place)->exited)) == group.active;
}

CUVEIN_SLOW void commit_copies(Group group) {
  const State& state = *group.state();
  if (state.copy_flag == 0) return;
  const uint32_t place = place_of_block(group);
  if (!is_whole(group, place)) find_out(group, kCopiesUnknown);
  if (group.leads()) {
    Copies* copies = copies_of(state, place, warp_of_block());
    publish(&copies->commits, fresh(&copies->commits) + 1);
  }
  __syncwarp(group.active);
}

// Lists the wait. One lane.
CUVEIN_SLOW void remember_wait(Copies* copies, uint32_t pending, uint32_t clock) {
  const uint32_t commits = fresh(&copies->commits);
  const uint32_t before = commits > pending ? commits - pending : 0;
  uint32_t waits = fresh(&copies->waits);
  if (before <= completed(copies)) return;
  publish(&copies->wait[waits].before, before);
  publish(&copies->wait[waits].clock, clock);
  if (++waits == 2 * kWaitsKept) {
    publish(&copies->forgotten, fresh(&copies->wait[kWaitsKept - 1].before));
    for (waits = 0; waits < kWaitsKept; ++waits) {
      publish(&copies->wait[waits].before, fresh(&copies->wait[kWaitsKept + waits].before));
      publish(&copies->wait[waits].clock, fresh(&copies->wait[kWaitsKept + waits].clock));
    }
  }
  see_block();  // only its warps look
  publish(&copies->waits, waits);
}

CUVEIN_SLOW void wait_for_copies(Group group, uint32_t pending) {
  const State& state = *group.state();
  if (state.copy_flag == 0) return;
  const uint32_t place = place_of_block(group);
  if (!is_whole(group, place) || pending >= kGroupsKept) find_out(group, kCopiesUnknown);
  if (group.leads()) {
    const uint32_t clock = state.synchronises != 0 ? clock_of_warp(state, *warp_at(group, place)) : 0;
    remember_wait(copies_of(state, place, warp_of_block()), pending, clock);
  }
  __syncwarp(group.active);
}

}  // namespace gpu
}  // namespace cuvein
