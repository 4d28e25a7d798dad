// Reuse of lanes that access several units each.
#pragma once

#include "patches/gpu_copies.cuh"

namespace cuvein {
namespace gpu {

struct Access {
  AccessType type;
  bool asynchronous;
  uint32_t size_shift;  // log2 of the bytes a lane
};

// How the lanes lie to one another. Accesses are naturally aligned and of one size, so lanes touch the same
// bytes or none in common.
struct Lanes {
  uint32_t leaders;  // lanes that are the lowest at their address
  uint32_t highest;  // of the lanes at this lane's address; holds for leaders
  bool ordered;      // addresses rise or fall with the lanes, so those at one address are neighbours
};

// The copy of the counters that this multiprocessor uses.
CUVEIN_FAST uint32_t copy_of(const State& state) { return multiprocessor() & state.copy_mask; }

// Adds the edges of a lane whose units differ: bytes of each, and the lane once for each edge.
CUVEIN_SLOW void add_mixed(Group group, const uint32_t* keys, Space space, uint32_t instruction,
                           uint32_t unit_shift, uint32_t units) {
  const uint32_t copy = copy_of(*group.state());
#pragma unroll 1
  for (uint32_t i = 0; i < units; ++i) {
    bool first = true;       // of the units with this key
    bool first_edge = true;  // of the units on this edge, ordered or not
    uint32_t same = 1;
#pragma unroll 1
    for (uint32_t j = 0; j < units; ++j) {
      if (j < i) {
        first = first && keys[j] != keys[i];
        first_edge = first_edge && keys[j] >> 1 != keys[i] >> 1;
      } else if (j > i) {
        same += keys[j] == keys[i];
      }
    }
    if (first)
      add(group, copy, edge_count(Count::kBytes, space, instruction, keys[i], 0), same << unit_shift);
    if (first_edge) add(group, copy, edge_count(Count::kPartLanes, space, instruction, keys[i] & ~1u, 0), 1);
  }
}

// What these need besides, in one register.
CUVEIN_FAST uint32_t pack_reuse(uint32_t highest, uint32_t size_shift, Space space) {
  return highest | size_shift << 8 | static_cast<uint32_t>(space) << 16;
}

// Reuse of lanes of several units each. `entry` is null for lanes without a shadow.
CUVEIN_SLOW void exchange_units(Group group, unsigned long long* entry, uint64_t mine, uint32_t leaders,
                                uint32_t packed) {
  const State& state = *group.state();
  const Space space = static_cast<Space>(packed >> 16);
  const uint32_t size_shift = packed >> 8 & 0xff;
  const uint32_t unit_shift = space == Space::kGlobal ? state.global_shift : state.shared_shift;
  const uint32_t units = 1u << (size_shift - unit_shift);
  const uint32_t instruction = static_cast<uint32_t>(mine >> kInstructionShift) & (state.pc_limit - 1);
  if ((leaders >> group.lane & 1) == 0) return;
  uint32_t keys[16];
  bool same = true;
#pragma unroll 1
  for (uint32_t i = 0; i < units; ++i) {
    keys[i] = 0;
    if (entry != nullptr) {
      const uint64_t before =
          atomicExch(in_global(entry) + i, static_cast<unsigned long long>(mine | (packed & 31)));
      keys[i] = space == Space::kShared ? compare_shared(group, state, before, mine | group.lane)
                                        : compare(state, before, mine | group.lane);
    }
    same = same && keys[i] == keys[0];
  }
  const uint32_t even = __ballot_sync(leaders, same);
  if (same) {
    const uint32_t alike = __match_any_sync(even, keys[0]);
    if (group.lane == static_cast<uint32_t>(__ffs(alike)) - 1)
      add(group, copy_of(state), edge_count(Count::kLanes, space, instruction, keys[0], size_shift),
          __popc(alike));
  } else {
    add_mixed(group, keys, space, instruction, unit_shift, units);
  }
}

}  // namespace gpu
}  // namespace cuvein
