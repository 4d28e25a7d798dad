// One access of a warp: its distributions, its reuse, its counts.
#pragma once

#include "patches/gpu_apart.cuh"

namespace cuvein {
namespace gpu {

// `before` is the address of the active lane before this one; of the first lane, its own.
template <typename Address>
CUVEIN_FAST Lanes lay_out(const Group& group, Address address, Address before) {
  Lanes lanes;
  lanes.ordered = __all_sync(group.active, address >= before) || __all_sync(group.active, address <= before);
  if (lanes.ordered) {
    lanes.leaders = __ballot_sync(group.active, address != before || group.leads());
    const uint32_t later = lanes.leaders & ~below(group.lane) & ~(1u << group.lane);
    lanes.highest = highest_of(later != 0 ? group.active & ((later & (0 - later)) - 1) : group.active);
  } else {
    const uint32_t same = __match_any_sync(group.active, address);
    lanes.leaders = __ballot_sync(group.active, group.lane == static_cast<uint32_t>(__ffs(same)) - 1);
    lanes.highest = highest_of(same);
  }
  return lanes;
}

// Distinct values among lanes in order or not.
template <typename Value>
CUVEIN_FAST uint32_t distinct(const Group& group, Value value, Value before, bool ordered) {
  if (ordered) return __popc(__ballot_sync(group.active, value != before || group.leads()));
  const uint32_t same = __match_any_sync(group.active, value);
  return __popc(__ballot_sync(group.active, group.lane == static_cast<uint32_t>(__ffs(same)) - 1));
}

// Index of the first range that starts above the address.
CUVEIN_FAST uint32_t range_above(const Range* ranges, uint32_t count, uint64_t address) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (ranges[middle].first <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Index of the range that holds the address, or the number of ranges.
CUVEIN_SLOW uint32_t find_range(const Range* ranges, uint32_t count, uint64_t address) {
  const uint32_t low = range_above(ranges, count, address);
  if (low == 0) return count;
  const Range& range = ranges[low - 1];
  return address - range.first < range.extent >> kRangeShift ? low - 1 : count;
}

// Number + 1 of the allocation that all lanes are in; kManyAllocations when they are not in one, whose bytes
// are counted here then.
CUVEIN_SLOW uint32_t allocation_slow(Group group, uint64_t address, Access access, uint32_t instruction,
                                     uint32_t bytes) {
  const uint32_t copy = copy_of(*group.state());
  const uint32_t count = group.state()->range_count;
  const uint32_t range = find_range(group.ranges(), count, address);
  const uint32_t mine =
      range == count ? 0 : static_cast<uint32_t>(group.ranges()[range].extent) & ((1u << kRangeShift) - 1);
  if (range != count) group.hints()[instruction % kHints] = range;
  const uint32_t first = __shfl_sync(group.active, mine, group.first());
  if (__all_sync(group.active, mine == first)) return mine;
  add(group, copy,
      node_count(Count::kAllocation, Space::kGlobal, access.type, false, false, instruction, 0,
                 global_facts(1, 1, 1, mine)),
      bytes);
  __syncwarp(group.active);
  return kManyAllocations;
}

CUVEIN_FAST uint32_t allocation_of(const Group& group, const Access& access, uint32_t instruction,
                                   uint64_t address, uint32_t bytes) {
  const uint32_t hint = group.hints()[instruction % kHints];
  const bool hinted = hint < group.state()->range_count;
  const Range range = group.ranges()[hinted ? hint : 0];
  if (__all_sync(group.active, hinted && address - range.first < range.extent >> kRangeShift))
    return static_cast<uint32_t>(range.extent) & ((1u << kRangeShift) - 1);
  return allocation_slow(group, address, access, instruction, bytes);
}

CUVEIN_FAST uint32_t shared_distribution(const Group& group, const Lanes& lanes, uint32_t address,
                                         uint32_t before, uint32_t size_shift, bool read) {
  const uint32_t word_shift = size_shift < 2 ? 2 : size_shift;
  const uint32_t block = address >> word_shift;
  const uint32_t words = size_shift < 2 ? distinct(group, block, before >> word_shift, lanes.ordered)
                                        : static_cast<uint32_t>(__popc(lanes.leaders)) << (size_shift - 2);
  // Where every lane has neighbours and all are elsewhere, nothing merges.
  uint32_t merged = 0;
  if (read && size_shift >= 3 && lanes.leaders != ~0u) merged = merged_halves(group, block, size_shift);
  // Merged or not, a group has no more words than there are banks.
  const uint32_t ideal = groups_with(group.active, size_shift, merged);
  // As many words as there are banks, side by side, cannot conflict.
  const uint32_t first = __shfl_sync(group.active, block, group.first());
  const uint32_t last = __shfl_sync(group.active, block, highest_of(group.active));
  const uint32_t reach = first < last ? last - first : first - last;
  const bool apart = lanes.ordered && reach < (32u >> (word_shift - 2));
  const uint32_t wavefronts = apart ? ideal : wavefronts_slow(group, block, size_shift, merged);
  return shared_facts(group.count(), words, wavefronts, ideal);
}

// The current part of shadow entries, without the lane.
CUVEIN_FAST uint64_t entry_of(const State& state, uint32_t instruction, uint32_t clock) {
  uint64_t entry = state.fixed | static_cast<uint64_t>(clock) << state.clock_shift |
                   static_cast<uint64_t>(instruction) << kInstructionShift | warp_of_block() << 5;
  if (state.block_shift != kGenerationShift)
    entry |= (state.cluster_bits == 0 ? block_of_grid() : block_by_cluster(&state)) << state.block_shift;
  return entry;
}

// Adds edges of leaders that are not alike.
CUVEIN_SLOW void add_apart(Group group, uint32_t copy, uint32_t leaders, uint64_t edge) {
  const uint32_t alike = __match_any_sync(group.active, edge) & leaders;
  if (group.lane == static_cast<uint32_t>(__ffs(alike)) - 1) add(group, copy, edge, __popc(alike));
  __syncwarp(group.active);
}

CUVEIN_FAST bool instruction_known(const State& state, uint64_t pc) {
  return (static_cast<uint32_t>(pc) - state.pc_base) >> 4 < state.pc_limit;
}

// Where the instruction stands; out of the known code, wherever.
CUVEIN_FAST uint32_t instruction_at(const Group& group, const State& state, uint64_t pc) {
  const uint32_t instruction = (static_cast<uint32_t>(pc) - state.pc_base) >> 4;
  if (instruction < state.pc_limit) return instruction;
  find_out(group, kFarCode);
  return instruction & (state.pc_limit - 1);
}

// Makes the site of a global access, see make_site(). Its window is the range around the address, or the gap
// between ranges.
CUVEIN_SLOW bool make_global_site(Group group, uint64_t address, uint64_t node, uint32_t before) {
  const uint32_t count = group.state()->range_count;
  const Range* ranges = group.ranges();
  const uint32_t low = range_above(ranges, count, address);
  uint64_t first = 0, end = low < count ? ranges[low].first : ~uint64_t{0};
  if (low != 0) {
    const uint64_t last = ranges[low - 1].first + (ranges[low - 1].extent >> kRangeShift);
    if (address < last) {
      first = ranges[low - 1].first;
      end = last;
      node |=
          global_facts(1, 1, 1, static_cast<uint32_t>(ranges[low - 1].extent) & ((1u << kRangeShift) - 1));
    } else {
      first = last;
    }
  }
  first += (address - first) >> 31 << 31;
  return make_site(group, node, first, before,
                   static_cast<uint32_t>(end - first < kMostExtent ? end - first : kMostExtent));
}

// Whether there is a site for the access.
CUVEIN_FAST bool has_site(const State& state, Space space, const Access& access, uint32_t pc) {
  const uint32_t unit_shift = space == Space::kGlobal ? state.global_shift : state.shared_shift;
  const bool followed = !access.asynchronous || space == Space::kGlobal || state.copy_flag != 0;
  return access.size_shift >= unit_shift && followed && instruction_known(state, pc) &&
         state.blocks >> 32 == 0;
}

// Makes the site of an access where `before` is the tag, if it can be made there. One lane; whether it has
// done so.
template <Space kSpace>
CUVEIN_FAST bool make_access_site(const Group& group, const State& state, uint64_t address,
                                  const Access& access, uint32_t pc, uint32_t before) {
  if (!makes_way(before, family_of(group.data))) return false;
  const uint64_t node = node_count(Count::kExecutions, kSpace, access.type, access.asynchronous, false,
                                   instruction_at(group, state, pc), access.size_shift,
                                   kSpace == Space::kGlobal ? 0 : shared_facts(1, 1, 1, 1));
  if (kSpace == Space::kGlobal) return make_global_site(group, address, node, before);
  return make_site(group, node, 0, before, state.shared_stride << state.shared_shift);
}

// `wavefronts`: of an access to shared memory for which more than its addresses matters; 0: it is none.
template <Space kSpace>
CUVEIN_FAST void analyse(const Group& group, const Access& access, uint64_t pc, uint64_t wide_address,
                         uint32_t wavefronts = 0) {
  constexpr bool kGlobal = kSpace == Space::kGlobal;
  const State& state = *group.state();
  const uint32_t copy = copy_of(state);
  const uint32_t instruction = instruction_at(group, state, pc);
  const uint32_t size_shift = access.size_shift;
  const uint32_t unit_shift = kGlobal ? state.global_shift : state.shared_shift;

  uint32_t place = kNoPlace, clock = 0;
  if (!kGlobal || state.synchronises != 0 || state.shared_stride != 0) {
    place = place_of_block(group);
    if (state.synchronises != 0) clock = clock_of_warp(state, *warp_at(group, place));
    if (!kGlobal && access.asynchronous) {
      if (state.copy_flag != 0)
        clock = clock_of_copies(group, state, place);
      else
        find_out(group, kCopiesUnknown);
    }
  }
  const uint64_t mine = entry_of(state, instruction, clock);

  const uint32_t earlier = group.active & below(group.lane);
  const uint32_t previous = earlier != 0 ? highest_of(earlier) : group.lane;
  Lanes lanes;
  uint32_t facts;
  unsigned long long* entry;
  const bool fine = size_shift < unit_shift;
  if (kGlobal) {
    const uint64_t before = __shfl_sync(group.active, wide_address, previous);
    lanes = lay_out(group, wide_address, before);
    const uint32_t sectors = distinct(group, wide_address >> 5, before >> 5, lanes.ordered);
    const uint32_t allocation = allocation_of(group, access, instruction, wide_address, 1u << size_shift);
    facts = global_facts(group.count(), __popc(lanes.leaders), sectors, allocation);
    entry = nullptr;
    if (lanes.leaders >> group.lane & 1) entry = global_entry(group, wide_address, unit_shift);
  } else {
    const uint32_t address = static_cast<uint32_t>(wide_address);
    const uint32_t before = __shfl_sync(group.active, address, previous);
    lanes = lay_out(group, address, before);
    facts = shared_distribution(group, lanes, address, before, size_shift, access.type == AccessType::kRead);
    if (wavefronts != 0) facts = with_wavefronts(facts, wavefronts);
    const uint32_t unit = address >> unit_shift;
    entry = in_global<unsigned long long>(reinterpret_cast<uint64_t>(shadow_of_place(state, place))) + unit;
    if (unit + (fine ? 0 : (1u << (size_shift - unit_shift)) - 1) >= state.shared_stride) {
      entry = nullptr;
      find_out(group, kSharedOverrun);
    }
  }
  if (fine) find_out(group, kFineAccess);
  const uint32_t low = static_cast<uint32_t>(pc);
  const bool copies = !kGlobal && access.asynchronous;  // have another clock
  if (group.leads() && !copies && has_site(state, kSpace, access, low)) {
    const uint32_t number = site_of(low + static_cast<uint32_t>(kSpace), family_of(group.data));
    make_access_site<kSpace>(group, state, wide_address, access, low, head_of_site(group.data, number).z);
    if (!has_no_resident(state))
      make_resident(group, place == kNoPlace ? nullptr : warp_at(group, place),
                    place == kNoPlace ? 0 : reinterpret_cast<uint64_t>(shadow_of_place(state, place)),
                    entry_of(state, 0, clock));
  }
  uint32_t alike = 0;  // leaders on one edge, which is `edge` for the first lane
  const uint64_t of_edge = edge_count(Count::kLanes, kSpace, instruction, 0, size_shift);
  uint32_t edge = 0;
  if (size_shift <= unit_shift) {
    const bool leader = lanes.leaders >> group.lane & 1;
    if (leader && entry != nullptr) {
      const uint64_t before = atomicExch(entry, static_cast<unsigned long long>(mine | lanes.highest));
      edge = kGlobal ? compare(state, before, mine | group.lane)
                     : compare_shared(group, state, before, mine | group.lane);
    }
    const uint32_t first = __shfl_sync(group.active, edge, group.first());
    if (__all_sync(group.active, edge == first || !leader))
      alike = __popc(lanes.leaders);
    else
      add_apart(group, copy, lanes.leaders, of_edge | edge);
  } else {
    exchange_units(group, entry, mine, lanes.leaders, pack_reuse(lanes.highest, size_shift, kSpace));
  }

  // The edge, the node and the lanes that met others of the same instruction: side by side, by as many lanes.
  const uint32_t others = group.count() - __popc(lanes.leaders);
#pragma unroll 1
  for (uint32_t task = group.rank(); task < 3; task += group.count()) {
    uint64_t key = of_edge | edge;
    uint32_t count = alike;
    if (task == 1) {
      key = node_count(Count::kExecutions, kSpace, access.type, access.asynchronous, false, instruction,
                       size_shift, facts);
      count = 1;
    } else if (task == 2) {
      key = of_edge | edge_key(instruction + 1, Label::kWarpSameInst, false);
      count = others;
    }
    if (count != 0) add(group, copy, key, count);
  }
  __syncwarp(group.active);
}

// The type of an access, the log2 of its size and whether it is asynchronous, in a word.
CUVEIN_FAST uint32_t pack_access(const Access& access) {
  return static_cast<uint32_t>(access.type) | access.size_shift << 8 | (access.asynchronous ? 1u << 16 : 0);
}
CUVEIN_FAST Access unpack_access(uint32_t packed) {
  return {static_cast<AccessType>(packed & 0xff), (packed >> 16 & 1) != 0, packed >> 8 & 0xff};
}

constexpr unsigned kWavefrontsAt = 24;  // above those, see analyse()

template <Space kSpace>
CUVEIN_SLOW void analyse_slow(Group group, uint64_t address, uint32_t pc, uint32_t packed) {
  analyse<kSpace>(group, unpack_access(packed), pc, address, packed >> kWavefrontsAt);
}

// Remembers what accesses need to know of this warp. All lanes.
CUVEIN_SLOW void settle_warp(Group group) {
  const State& state = *group.state();
  if (has_no_resident(state)) {
    if (group.leads()) enter(group);
    __syncwarp(group.active);
    return;
  }
  uint32_t place = kNoPlace, clock = 0;
  if (state.blocks_per_multiprocessor != 0) {
    place = place_of_block(group);
    if (state.synchronises != 0) clock = clock_of_warp(state, *warp_at(group, place));
  }
  if (group.leads() && state.blocks >> 32 == 0)
    make_resident(group, place == kNoPlace ? nullptr : warp_at(group, place),
                  place == kNoPlace || state.shared_stride == 0
                      ? 0
                      : reinterpret_cast<uint64_t>(shadow_of_place(state, place)),
                  entry_of(state, 0, clock));
  __syncwarp(group.active);
}

// Makes what the short way needs to know of an access, or has the multiprocessor's cache see it, which may
// have an old copy. The same for all lanes; false: it was not that.
template <Space kSpace>
CUVEIN_SLOW bool prepare_access(Group group, uint64_t address, uint32_t pc, uint32_t packed) {
  const State& state = *group.state();
  const uint32_t family = family_of(group.data);
  const uint32_t where = pc + static_cast<uint32_t>(kSpace);
  const uint32_t number = site_of(where, family);
  bool seen;
  {
    const Quad head = quad<kSitesOffset>(site_address(group.data, number));
    seen = (head.x == where) & (family_of_tag(head.z) == family);
  }
  if (kSpace == Space::kGlobal) {
    const uint64_t key = directory_key(address, state.global_shift);
    const uint64_t found = group.directory()[mix_page(key) & ((1u << kDirectoryBits) - 1)];
    if (found >> kDirectoryShift != key || (found & kPageNumberMask) == 0) {
      global_entry(group, address, state.global_shift);
      seen = false;
    }
    __syncwarp(group.active);
  }
  if (__all_sync(group.active, seen)) return false;
  bool made = false;
  if (group.leads()) {
    const Access access = unpack_access(packed);
    Quad head = head_of_site(group.data, number);
    made = has_site(state, kSpace, access, pc) &&
           make_access_site<kSpace>(group, state, address, access, pc, head.z);
    if (!made) {
      // Another warp may be making it, or have made it meanwhile.
      for (uint32_t i = 0; i < 100; ++i) {
        head = head_of_site(group.data, number);
        if (family_of_tag(head.z) != kBeingMade) break;
        pause();
      }
      made = head.x == where && family_of_tag(head.z) == family;
      if (made) __threadfence();
    }
  }
  return __ballot_sync(group.active, made) != 0;
}

// The short way of any lanes. False: not all is known of the access, nothing has been done of it.
template <Space kSpace>
CUVEIN_FAST bool analyse_lanes(uint64_t data, uint64_t address, uint32_t where, uint32_t active) {
  const Left left = analyse_known<kSpace, false>(&data, active, where, &address);
  if (left == Left::kScattered || left == Left::kCounts) finish_usual<kSpace>(data, address, active, left);
  return left != Left::kAll;
}

// An access of which the short way did not know all. Where it is the warp or the instruction, it may do so
// soon; where it was the launch, of which this warp was the first here, it does by now.
template <Space kSpace>
CUVEIN_SLOW void analyse_first(Group group, uint64_t address, uint32_t pc, uint32_t packed) {
  if (!replayed(group)) {
#pragma unroll 1
    for (uint32_t attempt = 0; attempt < 2; ++attempt) {
      const bool known =
          has_no_resident(*group.state()) ? has_entered(group) : is_resident(group.data, group.active);
      if (!__all_sync(group.active, known))
        settle_warp(group);
      else if (prepare_access<kSpace>(group, address, pc, packed))
        ++attempt;
      else if (attempt != 0)
        break;
      if (analyse_lanes<kSpace>(group.data, address, pc + static_cast<uint32_t>(kSpace), group.active))
        return;
    }
  }
  analyse_slow<kSpace>(group, address, pc, packed);
}

// The place of the block of these lanes, each of which looks at one, or if they are a whole warp one that
// they find for it; kNoPlace: that is for settle(), which goes about it in the same way.
CUVEIN_SLOW uint32_t place_soon(Group group) {
  const uint64_t key = key_of_block(group);
  const uint32_t own = multiprocessor() % kMultiprocessors, lane = lane_of_warp();
  const uint32_t places = group.state()->blocks_per_multiprocessor, lock = 1u << home_of(key, 32);
  unsigned long long* keys = group.block_keys() + own * kBlocksPerMultiprocessor;
  bool locked = false;
  uint32_t place = kNoPlace;
#pragma unroll 1
  for (uint32_t attempt = 0; attempt < 100; ++attempt) {
    const uint64_t here = lane < places ? fresh(keys + lane) : ~uint64_t{0};
    const uint32_t found = __ballot_sync(group.active, here == key);
    const uint32_t free = __ballot_sync(group.active, here == 0);
    if (found != 0) place = own * kBlocksPerMultiprocessor + first_of(found);
    if (found != 0 || free == 0 || group.active != ~0u) break;
    if (!locked) {
      const bool locks = lane == 0 && (atomicOr(group.engine()->locks + own, lock) & lock) == 0;
      locked = __ballot_sync(~0u, locks) != 0;
      if (!locked) pause();
      continue;
    }
    if (__ballot_sync(~0u, lane == 0 && fresh(&group.engine()->spilled) != 0) != 0) break;
    const uint32_t near = free & ~0u << home_of(key, places);
    const uint32_t at = first_of(near != 0 ? near : free);
    if (__ballot_sync(~0u, lane == 0 && atomicCAS(keys + at, 0ull, key | kClaimed) == 0) == 0) continue;
    place = own * kBlocksPerMultiprocessor + at;
    occupy(group, place, key);
    break;
  }
  if (locked && lane == 0) and_after(group.engine()->locks + own, ~lock);
  __syncwarp(group.active);
  return place;
}

// Remembers this warp, if nothing is kept of blocks or its block has a place that these lanes find, which
// look at one each. The same for all lanes; false: nothing has been done.
CUVEIN_SLOW bool settle_soon(uint64_t data, uint32_t active) {
  const Group group{data, active, lane_of_warp()};
  const State* state = group.state();
  if (!together(active,
                (state->tag == tag_of(data)) & (state->blocks >> 32 == 0) & (state->cluster_bits == 0)))
    return false;
  if (has_no_resident(*state)) {
    if (together(active, has_entered(group))) return false;
    if (lane_of_warp() == first_of(active)) enter(group);
    __syncwarp(active);
    return true;
  }
  uint32_t place = kNoPlace;
  if (state->blocks_per_multiprocessor != 0) {
    const uint32_t first = multiprocessor() % kMultiprocessors * kBlocksPerMultiprocessor;
    const bool exists = lane_of_warp() < state->blocks_per_multiprocessor;
    const uint64_t here = exists ? fresh(group.block_keys() + first + lane_of_warp()) : 0;
    const uint32_t found = __ballot_sync(active, here == key_of_block(group));
    place = found != 0 ? first + first_of(found) : place_soon(group);
    if (place == kNoPlace) return false;
  }
  if (lane_of_warp() == first_of(active)) {
    uint64_t entry = state->fixed | warp_of_block() << 5;
    if (state->block_shift != kGenerationShift) entry |= block_of_grid() << state->block_shift;
    Warp* warp = nullptr;
    uint64_t shadow = 0;
    if (place != kNoPlace) {
      warp = warp_at(group, place);
      if (state->synchronises != 0)
        entry |= static_cast<uint64_t>(clock_of_warp(*state, *warp)) << state->clock_shift;
      if (state->shared_stride != 0) shadow = reinterpret_cast<uint64_t>(shadow_of_place(*state, place));
    }
    make_resident(group, warp, shadow, entry);
  }
  __syncwarp(active);
  return true;
}

// An access of which the short way did not know all. Where it was the warp it may do so now. False: nothing
// has been done of the access.
template <Space kSpace>
CUVEIN_FAST bool try_again(uint64_t data, uint64_t address, uint32_t where, uint32_t active) {
  if ((data & (kGpuCandidate | kReplay)) != kGpuCandidate) return false;
  if (is_resident(data, active) || !settle_soon(data, active)) return false;
  return analyse_lanes<kSpace>(data, address, where, active);
}

template <Space kSpace>
CUVEIN_FAST void analyse_any(const Group& group, const Access& access, uint64_t pc, uint64_t address) {
  const uint32_t low = static_cast<uint32_t>(pc);
  const uint32_t where = low + static_cast<uint32_t>(kSpace);
  uint64_t rest = address, handle = group.data;
  const Left left =
      group.active == ~0u ? analyse_known<kSpace, true>(&handle, ~0u, where, &rest) : Left::kAll;
  if (left == Left::kAll) {
    if (group.active != ~0u && analyse_lanes<kSpace>(group.data, address, where, group.active)) return;
    if (!try_again<kSpace>(group.data, address, where, group.active))
      analyse_first<kSpace>(group, address, low, pack_access(access));
  } else if (left != Left::kNothing) {
    finish_usual<kSpace>(handle, rest, group.active, left);
  }
}

// The bytes were never accessed. One lane at a time.
CUVEIN_SLOW void forget(Group group, uint64_t address, uint64_t bytes) {
  const uint32_t unit_shift = group.state()->global_shift;
  const uint64_t step = uint64_t{1} << unit_shift;
  for (uint64_t at = address >> unit_shift << unit_shift; at < address + bytes; at += step) {
    unsigned long long* entry = global_entry(group, at, unit_shift);
    if (entry != nullptr) publish(entry, 0ull);
  }
}

}  // namespace gpu
}  // namespace cuvein
