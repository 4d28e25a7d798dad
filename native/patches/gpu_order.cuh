// What each block barrier orders, as the host engine has it (docs/engine.md, "What exactly is counted"):
// beside the shadow lies a second one, whose entries know of each unit the accesses since the last that a
// barrier was credited with ordering:
//   lane 5 | warp 5 | history 3 | clock | block (block_bits) | generation 6
// It is read and written by itself, so that nothing in the way of other accesses changes. Whatever is seen of
// it is changed as a whole (compare and swap) or, mostly, left as it is.
#pragma once

#include "patches/gpu_barriers.cuh"

namespace cuvein {
namespace gpu {

constexpr uint64_t kWrote = 1 << 10;    // one of the accesses was a write or an atomic
constexpr uint64_t kSeveral = 1 << 11;  // they were of several threads; the entry does not say then of which
constexpr uint64_t kOlder = 1 << 12;    // a barrier or another block's access lies between; no clock then
constexpr uint64_t kHistory = kWrote | kSeveral | kOlder;
constexpr uint64_t kThreadMask = (1 << kInstructionShift) - 1;

// An access, as it meets units.
struct Meeting {
  uint64_t block;  // generation, block and warp, as they stand in entries
  uint32_t clock;
  uint32_t block_shift;
  bool writes;   // atomics too
  bool ordered;  // the warp has passed a barrier
};

// Lanes of the access at one unit: the lowest, the highest, and how many of them there are.
struct Meeters {
  uint32_t lowest, highest, count;
};

struct Met {
  uint64_t left;
  bool ordered;  // the last barrier of the warp is credited
};

// What stays of the history when a barrier is credited: see the host engine's (native/analyzer/origin.h).
CUVEIN_FAST uint64_t after_credit(uint64_t history) {
  return (history & kOlder) != 0 ? (history & kWrote) | kSeveral : 0;
}

CUVEIN_FAST Met meet(const Meeting& meeting, const Meeters& lanes, uint64_t before) {
  const uint64_t own = meeting.writes ? kWrote : 0;
  const uint64_t needed = kSeveral | kOlder | (meeting.writes ? 0 : kWrote);
  const uint64_t difference = before ^ (meeting.block | lanes.lowest);
  const uint64_t clock_mask = (uint64_t{1} << meeting.block_shift) - (uint64_t{1} << kOrderClockShift);
  uint64_t history = 0;
  bool ordered = false;
  if (difference >> kGenerationShift == 0) {
    const bool same_block = difference >> meeting.block_shift == 0;
    const uint64_t then = (before & clock_mask) >> kOrderClockShift;
    history = before & kHistory;
    if (!same_block || (difference & kThreadMask) != 0) history |= kSeveral;
    if (!same_block || then < meeting.clock) history |= kOlder;
    ordered = meeting.ordered && same_block && (history & needed) == needed;
    if (ordered) history = after_credit(before);
  }
  history |= own;
  if (lanes.count > 1) {  // one after the other
    history |= kSeveral;
    if (meeting.ordered && (history & needed) == needed) {
      ordered = true;
      history = own | after_credit(history);
    }
  }
  uint64_t left = meeting.block | history;
  if ((history & kSeveral) != 0)
    left &= ~kThreadMask;
  else
    left |= lanes.highest;
  if ((history & kOlder) == 0) left |= static_cast<uint64_t>(meeting.clock) << kOrderClockShift;
  return {left, ordered};
}

// Whether a barrier is credited with the unit.
CUVEIN_FAST bool meet_at(const Meeting& meeting, const Meeters& lanes, unsigned long long* entry) {
  unsigned long long found = fresh(entry);
  for (;;) {
    const Met met = meet(meeting, lanes, found);
    if (met.left == found) return false;
    const unsigned long long before = atomicCAS(entry, found, static_cast<unsigned long long>(met.left));
    if (before == found) return met.ordered;
    found = before;
    // Reads of what several blocks only read leave nothing behind but who was last: this one was before it.
    if (!meeting.writes && (found & kHistory) == (kSeveral | kOlder) &&
        (found ^ meeting.block) >> kGenerationShift == 0)
      return false;
  }
}

// Where the second shadow of global memory lies: in pages as if it lay far above all addresses.
CUVEIN_FAST unsigned long long* order_entry(const Group& group, uint64_t address, uint32_t unit_shift) {
  return global_entry(group, (kOrderUnits << unit_shift) + address, unit_shift);
}

// Active lanes at the address of this one.
CUVEIN_FAST uint32_t lanes_at(const Group& group, uint64_t address) {
  const uint32_t earlier = group.active & below(group.lane);
  const uint64_t before = __shfl_sync(group.active, address, earlier != 0 ? highest_of(earlier) : group.lane);
  if (__all_sync(group.active, address > before || earlier == 0)) return 1u << group.lane;
  const uint64_t first = __shfl_sync(group.active, address, group.first());
  if (__all_sync(group.active, address == first)) return group.active;
  return __match_any_sync(group.active, address);
}

// Where there was no counter to be remembered. One lane.
CUVEIN_SLOW void add_ordered(uint64_t data, uint32_t bytes) {
  const Group group{data, 0, lane_of_warp()};
  const Warp* const warp =
      in_global(group.engine()->warps) + place_of_lane(group) * kWarpsPerBlock + warp_of_block();
  add(group, copy_of(*group.state()), ordered_count(warp->barrier - 1), bytes);
}

// An access of all lanes, of so many bytes each; `kSizes`: of so many bytes that differ.
template <Space kSpace, bool kSizes>
CUVEIN_FAST void follow(const Group& group, uint64_t address, uint32_t bytes, bool writes) {
  const State& state = *group.state();
  const uint32_t unit_shift = kSpace == Space::kGlobal ? state.global_shift : state.shared_shift;
  const uint32_t place = place_of_block(group);
  const Warp* const warp = warp_at(group, place);
  const uint32_t barrier = warp->barrier;
  const Meeting meeting{entry_of(state, 0, 0), warp->clock, state.block_shift, writes, barrier != 0};
  if (static_cast<uint64_t>(meeting.clock) >> (state.block_shift - kOrderClockShift) != 0)
    find_out(group, kOrderUnknown);
  const uint32_t same = lanes_at(group, address);
  const uint32_t units = (bytes + (1u << unit_shift) - 1) >> unit_shift;
  unsigned long long* entry = nullptr;
  if (kSizes || group.lane == static_cast<uint32_t>(__ffs(same)) - 1) {
    if (kSpace == Space::kGlobal) {
      entry = order_entry(group, address, unit_shift);
    } else if ((address >> unit_shift) + units <= state.shared_stride) {
      entry = in_global<unsigned long long>(reinterpret_cast<uint64_t>(shadow_of_place(state, place))) +
              order_distance(state) + (address >> unit_shift);
    }
  }
  uint32_t ordered = 0;  // units
#pragma unroll 1
  for (uint32_t i = 0; kSizes ? i < 16 : i < units; ++i) {
    const uint32_t members = kSizes ? __ballot_sync(group.active, units > i) & same : same;
    const Meeters lanes{static_cast<uint32_t>(__ffs(members)) - 1, highest_of(members),
                        static_cast<uint32_t>(__popc(members))};
    if ((kSizes && units <= i) || group.lane != lanes.lowest || entry == nullptr) continue;
    ordered += meet_at(meeting, lanes, entry + i);
  }
  __syncwarp(group.active);
  if (__ballot_sync(group.active, ordered != 0) == 0) return;
  const uint32_t alike = __match_any_sync(group.active, ordered);
  if (ordered != 0 && group.lane == static_cast<uint32_t>(__ffs(alike)) - 1)
    add(group, copy_of(state), ordered_count(barrier - 1),
        static_cast<uint64_t>(ordered * __popc(alike)) << unit_shift);
  __syncwarp(group.active);
}

// `packed`: bytes, above them whether it writes.
template <Space kSpace>
CUVEIN_SLOW void follow_access(Group group, uint64_t address, uint32_t packed) {
  if (group.state()->orders != 0)
    follow<kSpace, false>(group, address, packed & 0xff, (packed >> 8 & 1) != 0);
}
CUVEIN_FAST uint32_t pack_following(uint32_t size_shift, bool writes) {
  return 1u << size_shift | (writes ? 1u << 8 : 0);
}

// The same, in few registers, of a usual access: by a warp that is remembered, of one unit a lane, where the
// lanes lie one above the other or at one place. False: it is not one. Its plain part has been seen to.
template <Space kSpace>
CUVEIN_FAST bool follow_usual(uint64_t data, uint64_t address, uint32_t active, uint32_t size_shift,
                              bool writes) {
  constexpr bool kGlobal = kSpace == Space::kGlobal;
  if ((data & kReplay) != 0 || !is_resident(data, active)) return false;
  const uint64_t resident = resident_address(data);
  const Quad where = quad<kOrdersOffset + 16>(resident);
  if (where.z == 0) return true;
  if ((kGlobal ? where.z >> 4 & 15 : where.z & 15) != size_shift) return false;
  const uint32_t low = static_cast<uint32_t>(address);
  const uint32_t earlier = active & below(lane_of_warp());
  const uint32_t previous = earlier != 0 ? highest_of(earlier) : lane_of_warp();
  uint32_t count = 1;
  {
    const uint32_t before = __shfl_sync(active, low, previous);
    if (!together(active, (low > before) | (earlier == 0))) {
      bool same = low == before;
      if (kGlobal) {
        const uint32_t high = static_cast<uint32_t>(address >> 32);
        same = same & (__shfl_sync(active, high, previous) == high);
      }
      if (!together(active, same)) return false;
      count = __popc(active);
    }
  }
  unsigned long long* entry;
  if (kGlobal) {
    const uint64_t key = directory_key((kOrderUnits << size_shift) + address, size_shift);
    const Pair found =
        pair<kDirectoryOffset>(base_of(data) + (mix_page(key) & ((1u << kDirectoryBits) - 1)) * 8);
    const uint32_t page = found.x & static_cast<uint32_t>(kPageNumberMask);
    if (!together(active, (wide(found.x, found.y) >> kDirectoryShift == key) & (page != 0))) return false;
    entry = in_global<unsigned long long>(static_cast<uint64_t>(page) << kPageShift) +
            (static_cast<uint32_t>(address >> size_shift) & ((1u << kPageEntriesBits) - 1));
  } else {
    if (!together(active, low >> size_shift < where.w)) return false;
    entry = in_global<unsigned long long>(wide(where.x, where.y)) + (low >> size_shift);
  }
  const Quad own = quad<kOrdersOffset>(resident);
  bool ordered = false;
  if (count == 1 || earlier == 0) {
    Meeting meeting;
    meeting.block_shift = where.z >> 8 & 63;
    const uint64_t clock_mask = (uint64_t{1} << meeting.block_shift) - (uint64_t{1} << kOrderClockShift);
    meeting.block = wide(own.x, own.y) & ~clock_mask;
    meeting.clock = static_cast<uint32_t>((wide(own.x, own.y) & clock_mask) >> kOrderClockShift);
    meeting.writes = writes;
    meeting.ordered = (where.z >> 30 & 1) != 0;
    ordered =
        meet_at(meeting, {lane_of_warp(), count == 1 ? lane_of_warp() : highest_of(active), count}, entry);
  }
  const uint32_t bytes = __popc(__ballot_sync(active, ordered)) << size_shift;
  if (bytes != 0 && lane_of_warp() == first_of(active)) {
    if ((own.z | own.w) != 0)
      atomicAdd(in_global<unsigned long long>(wide(own.z, own.w)), static_cast<unsigned long long>(bytes));
    else
      add_ordered(data, bytes);
  }
  __syncwarp(active);
  return true;
}

// An asynchronous copy's reads, of so many bytes each.
CUVEIN_SLOW void follow_sizes(Group group, uint64_t address, uint32_t bytes) {
  if (group.state()->orders != 0) follow<Space::kGlobal, true>(group, address, bytes, false);
}

// The bytes were never accessed. One lane at a time.
CUVEIN_SLOW void forget_order(Group group, uint64_t address, uint64_t bytes) {
  if (group.state()->orders == 0) return;
  const uint32_t unit_shift = group.state()->global_shift;
  const uint64_t step = uint64_t{1} << unit_shift;
  for (uint64_t at = address >> unit_shift << unit_shift; at < address + bytes; at += step) {
    unsigned long long* entry = order_entry(group, at, unit_shift);
    if (entry != nullptr) publish(entry, 0ull);
  }
}

}  // namespace gpu
}  // namespace cuvein
