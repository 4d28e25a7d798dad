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

// Reuse of lanes of several units each. `entry` is null for lanes without a shadow.
template <unsigned kMostUnits>
CUVEIN_FAST void exchange_units(const Group& group, const State& state, uint32_t copy, Space space,
                                uint32_t instruction, const Lanes& lanes, unsigned long long* entry,
                                uint64_t mine, uint32_t size_shift, uint32_t unit_shift) {
  const uint32_t units = 1u << (size_shift - unit_shift);
  if ((lanes.leaders >> group.lane & 1) == 0) return;
  uint32_t keys[kMostUnits];
  const uint64_t compared = mine | group.lane, left = mine | lanes.highest;
  for (uint32_t i = 0; i < kMostUnits; ++i) {
    if (i >= units) break;
    keys[i] = 0;
    if (entry != nullptr) {
      const uint64_t before = atomicExch(entry + i, static_cast<unsigned long long>(left));
      keys[i] = space == Space::kShared ? compare_shared(group, state, before, compared)
                                        : compare(state, before, compared);
    }
  }
  bool same = true;
  for (uint32_t i = 1; i < kMostUnits; ++i) {
    if (i >= units) break;
    same = same && keys[i] == keys[0];
  }
  const uint32_t even = __ballot_sync(lanes.leaders, same);
  if (same) {
    const uint32_t alike = __match_any_sync(even, keys[0]);
    if (group.lane == static_cast<uint32_t>(__ffs(alike)) - 1)
      add(group, copy, edge_count(Count::kLanes, space, instruction, keys[0], size_shift), __popc(alike));
  } else {
    add_mixed(group, keys, space, instruction, unit_shift, units);
  }
}

// What these need besides, in one register.
CUVEIN_FAST uint32_t pack_reuse(uint32_t highest, uint32_t size_shift, Space space) {
  return highest | size_shift << 8 | static_cast<uint32_t>(space) << 16;
}

template <unsigned kMostUnits>
CUVEIN_FAST void unpack_and_exchange(const Group& group, unsigned long long* entry, uint64_t mine,
                                     uint32_t leaders, uint32_t packed) {
  const State& state = *group.state();
  const Space space = static_cast<Space>(packed >> 16);
  const uint32_t instruction = static_cast<uint32_t>(mine >> kInstructionShift) & (state.pc_limit - 1);
  if (entry != nullptr) entry = in_global(entry);
  exchange_units<kMostUnits>(group, state, copy_of(state), space, instruction, {leaders, packed & 31, false},
                             entry, mine, packed >> 8 & 0xff,
                             space == Space::kGlobal ? state.global_shift : state.shared_shift);
}

CUVEIN_SLOW void exchange_few(Group group, unsigned long long* entry, uint64_t mine, uint32_t leaders,
                              uint32_t packed) {
  unpack_and_exchange<4>(group, entry, mine, leaders, packed);
}

CUVEIN_SLOW void exchange_many(Group group, unsigned long long* entry, uint64_t mine, uint32_t leaders,
                               uint32_t packed) {
  unpack_and_exchange<16>(group, entry, mine, leaders, packed);
}

}  // namespace gpu
}  // namespace cuvein
