// One asynchronous copy of a warp: it reads global memory and writes shared memory.
#pragma once

#include "patches/gpu_access.cuh"

namespace cuvein {
namespace gpu {

// An asynchronous copy whose lanes read different numbers of bytes: units that some lanes leave out belong to
// the lowest of the others.
CUVEIN_SLOW void analyse_sizes(Group group, uint64_t address, Access access, uint32_t pc, uint32_t bytes) {
  const State& state = *group.state();
  const uint32_t copy = copy_of(state);
  const uint32_t instruction = instruction_at(group, state, pc);
  const uint32_t unit_shift = state.global_shift;
  uint32_t clock = 0;
  if (state.synchronises != 0) clock = clock_of_warp(state, *warp_at(group, place_of_block(group)));
  const uint64_t mine = entry_of(state, instruction, clock);
  const uint32_t same = __match_any_sync(group.active, address);
  const uint32_t addresses =
      __popc(__ballot_sync(group.active, group.lane == static_cast<uint32_t>(__ffs(same)) - 1));
  const uint32_t sector = __match_any_sync(group.active, address >> 5);
  const uint32_t sectors =
      __popc(__ballot_sync(group.active, group.lane == static_cast<uint32_t>(__ffs(sector)) - 1));
  const uint32_t allocation = allocation_slow(group, address, access, instruction, bytes);
  if (bytes & ((1u << unit_shift) - 1)) find_out(group, kFineAccess);
  const uint32_t units = (bytes + (1u << unit_shift) - 1) >> unit_shift;
  unsigned long long* entry = global_entry(group, address, unit_shift);
  uint32_t keys[16];
  for (uint32_t i = 0; i < 16; ++i) {
    const uint32_t members = __ballot_sync(group.active, units > i) & same;
    if (units <= i) continue;
    if (group.lane != static_cast<uint32_t>(__ffs(members)) - 1) {
      keys[i] = edge_key(instruction + 1, Label::kWarpSameInst, false);
    } else {
      keys[i] = 0;
      if (entry != nullptr)
        keys[i] =
            compare(state, atomicExch(entry + i, static_cast<unsigned long long>(mine | highest_of(members))),
                    mine | group.lane);
    }
  }
  __syncwarp(group.active);
  for (uint32_t i = 0; i < units; ++i) {
    bool first_edge = true;
    for (uint32_t j = 0; j < i; ++j) first_edge = first_edge && keys[j] >> 1 != keys[i] >> 1;
    const uint32_t here = i + 1 == units ? bytes - (i << unit_shift) : 1u << unit_shift;
    add(group, copy, edge_count(Count::kBytes, Space::kGlobal, instruction, keys[i], 0), here);
    if (first_edge)
      add(group, copy, edge_count(Count::kPartLanes, Space::kGlobal, instruction, keys[i] & ~1u, 0), 1);
  }
  __syncwarp(group.active);
  const uint32_t facts = global_facts(group.count(), addresses, sectors, allocation);
  if (group.leads())
    add(group, copy,
        node_count(Count::kExecutions, Space::kGlobal, access.type, true, true, instruction,
                   access.size_shift, facts),
        1);
  add(group, copy,
      node_count(Count::kLaneBytes, Space::kGlobal, access.type, true, true, instruction, access.size_shift,
                 global_facts(1, 1, 1, allocation)),
      bytes);
  __syncwarp(group.active);
}

// Wavefronts of a copy through L1, where what lanes read lies in banks as what they write does in shared
// memory: a lane takes its turn after all lower lanes in either of its banks. As in the host engine.
CUVEIN_SLOW uint32_t wavefronts_of_copy(Group group, uint32_t source, uint32_t target, uint32_t size_shift,
                                        uint32_t reads) {
  // Lanes that are served together, and banks as wide as what a lane copies.
  const uint32_t banks = 128u >> size_shift;
  const uint32_t together = group.lane & ~(banks - 1);
  uint32_t earlier = __match_any_sync(group.active, (target >> size_shift & (banks - 1)) | together);
  const uint32_t readers = __ballot_sync(group.active, reads != 0);
  if (reads != 0) earlier |= __match_any_sync(readers, (source >> size_shift & (banks - 1)) | together);
  __syncwarp(group.active);
  earlier &= below(group.lane);
  uint32_t wavefronts = 0;
  for (uint32_t waiting = group.active; waiting != 0;
       waiting = __ballot_sync(group.active, (earlier & waiting) != 0))
    wavefronts += groups_with(waiting, size_shift, 0);
  return wavefronts;
}

// What the copy reads, as many bytes for all lanes.
CUVEIN_SLOW void analyse_source(Group readers, uint64_t source, uint32_t pc, uint32_t packed) {
  analyse_any<Space::kGlobal>(readers, unpack_access(packed), pc, source);
}

// What the copy writes. `wavefronts`: 0, as of other accesses.
CUVEIN_SLOW void analyse_target(Group group, uint32_t pc, uint32_t target, uint32_t size_shift,
                                uint32_t wavefronts) {
  const Access access{AccessType::kWrite, true, size_shift};
#pragma unroll 1
  for (uint32_t attempt = 0; attempt < 3; ++attempt) {
    uint64_t handle = group.data;
    uint32_t shifts, page;
    if (find_site<Space::kShared, false>(&handle, group.active, pc + static_cast<uint32_t>(Space::kShared),
                                         target, &shifts, &page)) {
      if (group.active == ~0u && wavefronts == 0)
        analyse_wide_warp<Space::kShared>(handle, target);
      else
        analyse_wide_lanes<Space::kShared>(handle, target, group.active, wavefronts);
      return;
    }
    if (replayed(group) || attempt == 2) break;
    if (!__all_sync(group.active, is_resident(group.data, group.active)))
      settle_warp(group);
    else if (!prepare_access<Space::kShared>(group, target, pc, pack_access(access)))
      break;
  }
  analyse_slow<Space::kShared>(group, target, pc, pack_access(access) | wavefronts << kWavefrontsAt);
}

// `bytes`: that the lane does not fill with zeros.
CUVEIN_FAST void analyse_copy(const Group& group, uint64_t pc, uint64_t source, uint32_t target,
                              uint32_t size_shift, uint32_t bytes) {
  Group readers = group;
  readers.active = __ballot_sync(group.active, bytes != 0);
  if (bytes != 0) {
    const Access access{AccessType::kRead, true, size_shift};
    if (__all_sync(readers.active, bytes == 1u << size_shift))
      analyse_source(readers, source, static_cast<uint32_t>(pc), pack_access(access));
    else
      analyse_sizes(readers, source, access, static_cast<uint32_t>(pc), bytes);
  }
  __syncwarp(group.active);
  // Only copies of 16 bytes go past L1.
  const uint32_t wavefronts =
      size_shift < 4 ? wavefronts_of_copy(group, static_cast<uint32_t>(source), target, size_shift, bytes)
                     : 0;
  analyse_target(group, static_cast<uint32_t>(pc), target, size_shift, wavefronts);
}

}  // namespace gpu
}  // namespace cuvein
