// What was counted at sites and ways leaves the GPU at the end of a launch, by the lanes that ended last.
// What takes long is to wait for memory, so whatever can be asked for at a time is.
#pragma once

#include "patches/gpu_ways.cuh"

namespace cuvein {
namespace gpu {

constexpr uint32_t kNone = ~0u;
constexpr uint64_t kNotReserved = ~uint64_t{0};
constexpr uint64_t kNoRoom = kNotReserved - 1;  // the kernel is to end

// Place of the set bit that has so many below it.
CUVEIN_FAST uint32_t nth_bit(uint32_t bits, uint32_t rank) {
  uint32_t at = 0;
#pragma unroll
  for (uint32_t width = 16; width != 0; width /= 2) {
    const uint32_t here = __popc(bits >> at & ((1u << width) - 1));
    if (rank >= here) {
      rank -= here;
      at += width;
    }
  }
  return at;
}

// Sites or ways of a family that are left, for all lanes the same.
struct Rest {
  unsigned long long stretches;
  const uint32_t* words;       // of all stretches
  uint32_t bits, at;           // of a word, and the number of the lowest
  uint32_t next, third, last;  // words of the stretch

  CUVEIN_METHOD bool any() const { return stretches != 0 || (bits | next | third | last) != 0; }
};

// The next of them, one for each lane as far as there are so many; for the others kNone. All lanes.
CUVEIN_SLOW uint32_t take_numbers(Group group, Rest* rest) {
  const uint32_t lanes = group.count(), rank = group.rank();
  uint32_t mine = kNone, filled = 0;
#pragma unroll 1
  while (filled < lanes && rest->any()) {
    if (rest->bits == 0 && (rest->next | rest->third | rest->last) != 0) {
      rest->bits = rest->next;
      rest->next = rest->third;
      rest->third = rest->last;
      rest->last = 0;
      rest->at += 32;
      continue;
    }
    if (rest->bits == 0) {
      const uint32_t low = static_cast<uint32_t>(rest->stretches);
      const uint32_t stretch =
          low != 0 ? __ffs(low) - 1 : 31 + __ffs(static_cast<uint32_t>(rest->stretches >> 32));
      rest->stretches &= rest->stretches - 1;
      const Quad words = quad<0>(reinterpret_cast<uint64_t>(rest->words + stretch * (kStretch / 32)));
      rest->bits = words.x;
      rest->next = words.y;
      rest->third = words.z;
      rest->last = words.w;
      rest->at = stretch * kStretch;
      continue;
    }
    const uint32_t here = __popc(rest->bits);
    const uint32_t taken = here < lanes - filled ? here : lanes - filled;
    if (rank >= filled && rank < filled + taken) mine = rest->at + nth_bit(rest->bits, rank - filled);
    filled += taken;
    rest->bits = taken == here ? 0 : rest->bits & ~below(nth_bit(rest->bits, taken));
  }
  __syncwarp(group.active);  // all have seen the words, which may change now
  return mine;
}

// The sum of the lanes' values.
CUVEIN_FAST uint64_t sum_of(const Group& group, uint64_t value) {
  if (group.active == ~0u) {
#pragma unroll
    for (uint32_t distance = 1; distance < kWarpLanes; distance *= 2)
      value += __shfl_sync(~0u, value, group.lane ^ distance);
    return value;
  }
  uint64_t sum = 0;
#pragma unroll 1
  for (uint32_t rest = group.active; rest != 0; rest &= rest - 1)
    sum += __shfl_sync(group.active, value, __ffs(rest) - 1);
  return sum;
}

// Sets of counts that multiprocessors of the launch may have counted in, a bit for each.
CUVEIN_FAST uint32_t sets_of(const Engine* engine) {
  constexpr uint32_t kInWord = 32 >> kCountingTogether, kTogether = 1u << kCountingTogether;
  uint32_t sets = 0;
#pragma unroll
  for (uint32_t set = 0; set < kCountSets; ++set)
    if ((engine->ran[set / kInWord] >> set % kInWord * kTogether & ((1u << kTogether) - 1)) != 0)
      sets |= 1u << set;
  return sets;
}

// What has been counted in a set; no more of it is left there. `counts`: where it is in the first set.
CUVEIN_FAST uint64_t counted_in(uint64_t counts, uint32_t set) {
  return fresh(in_global<uint64_t>(counts + set * kCountSetBytes));
}
CUVEIN_FAST void take_from(uint64_t counts, uint32_t set, uint64_t counted) {
  if (counted != 0) publish(in_global<uint64_t>(counts + set * kCountSetBytes), uint64_t{0});
}

constexpr uint32_t kTakenTogether = 5;

// What has been counted in all of the sets, of a way of each lane; 0: it has none. Each lane looks for
// itself.
CUVEIN_FAST uint64_t take_by_lanes(uint64_t counts, uint32_t sets) {
  uint64_t sum = 0;
#pragma unroll 1
  while (sets != 0) {
    uint64_t here[kTakenTogether];
    uint32_t left = sets;
#pragma unroll
    for (uint32_t k = 0; k < kTakenTogether; ++k) {
      here[k] = left != 0 && counts != 0 ? counted_in(counts, __ffs(left) - 1) : 0;
      left &= left - 1;
    }
#pragma unroll
    for (uint32_t k = 0; k < kTakenTogether; ++k) {
      take_from(counts, __ffs(sets) - 1, here[k]);
      sum += here[k];
      sets &= sets - 1;
    }
  }
  return sum;
}

// The same, all lanes for one after the other. `wanted`: lanes that have one.
CUVEIN_FAST uint64_t take_by_turns(const Group& group, uint64_t counts, uint32_t sets, uint32_t wanted) {
  uint64_t mine = 0;
#pragma unroll 1
  for (; wanted != 0; wanted &= wanted - 1) {
    const uint32_t owner = __ffs(wanted) - 1;
    const uint64_t from = __shfl_sync(group.active, counts, owner);
    uint64_t sum = 0;
#pragma unroll 1
    for (uint32_t set = group.rank(); set < kCountSets; set += group.count()) {
      const uint64_t here = (sets >> set & 1) != 0 ? counted_in(from, set) : 0;
      take_from(from, set, here);
      sum += here;
    }
    sum = sum_of(group, sum);
    if (group.lane == owner) mine = sum;
  }
  return mine;
}

CUVEIN_FAST void forget_number(uint32_t* words, uint32_t number) {
  atomicAnd(words + number / 32, ~(1u << number % 32));
}

// Outcomes of the site that may have counts, a bit for each. A barrier has one without a key.
CUVEIN_FAST uint32_t outcomes_of(uint64_t data, uint32_t number, uint32_t family, uint64_t* node) {
  const Site* site = site_at(data, number);
  const uint32_t tag = fresh(&site->tag);
  *node = fresh(site_node(data, number));
  const Quad first = fetch(reinterpret_cast<const Quad*>(site->keys));
  const Quad second = fetch(reinterpret_cast<const Quad*>(site->keys + 2));
  if (family_of_tag(tag) != family) {
    forget_number(kept_at(data, family)->sites, number);  // it has made way
    return 0;
  }
  if (static_cast<Count>(*node >> 60) == Count::kBarrier) return 1;
  return ((first.x | first.y) != 0 ? 1 : 0) | ((first.z | first.w) != 0 ? 2 : 0) |
         ((second.x | second.y) != 0 ? 4 : 0) | ((second.z | second.w) != 0 ? 8 : 0);
}

// Sends what has been counted at the sites of the launch's family, or at its ways, and leaves no count there.
// `alone`: the launch's end is all that comes after; its place in the ring then, or kNotReserved.
CUVEIN_SLOW uint64_t send_kept(Group group, bool ways, bool alone) {
  const uint32_t family = family_of(group.data);
  Kept* const kept = kept_at(group.data, family);
  Rest rest = {};
  rest.stretches = fresh(ways ? &kept->way_stretches : &kept->site_stretches);
  rest.words = ways ? kept->ways : kept->sites;
  // So that the words are in the cache by the time that they are needed.
  if (group.count() >= 8)
    for (uint32_t i = group.rank(); i < 64; i += group.count())
      if ((rest.stretches >> i & 1) != 0)
        quad<0>(reinterpret_cast<uint64_t>(rest.words + i * (kStretch / 32)));
  const uint32_t sets = sets_of(group.engine());
  uint64_t end = kNotReserved;
#pragma unroll 1
  while (rest.any()) {
    const uint32_t number = take_numbers(group, &rest);
    uint64_t node = 0, key = 0;
    uint32_t outcomes = 0;
    if (number != kNone) {
      if (!ways) {
        outcomes = outcomes_of(group.data, number, family, &node);
      } else {
        key = fresh(at_base<unsigned long long>(group.base(), kWaysOffset, number));
        outcomes = key >> kWayTagShift == family;
        if (outcomes == 0) forget_number(kept->ways, number);
      }
    }
    uint32_t records = 0;
#pragma unroll
    for (uint32_t i = 0; i < kSiteWays; ++i)
      records += __popc(__ballot_sync(group.active, (outcomes >> i & 1) != 0));
    const bool ends = alone && !rest.any();
    if (records == 0 && !ends) continue;
    const uint32_t bytes = (records + (ends ? 1 : 0)) * static_cast<uint32_t>(sizeof(RecordHeader));
    Reservation asked = {};
    if (group.leads()) asked = ask_ring(group.channel(), bytes);
    uint64_t position = kNotReserved;
    uint32_t written = 0;
#pragma unroll 1
    for (uint32_t i = 0; i <= kSiteWays; ++i) {
      const bool mine = (outcomes >> i & 1) != 0;
      const uint32_t wanted = __ballot_sync(group.active, mine);
      if (wanted == 0 && (i < kSiteWays || position != kNotReserved)) continue;
      uint64_t counts = 0, count = 0;
      if (mine && ways) {
        counts = group.base() + kWayCountsOffset + number * 8;
        node = counter_of_way(group.data, key);
      } else if (mine) {
        counts = site_address(group.data, number) + kCountsOffset + i * 8;
        key = static_cast<Count>(node >> 60) == Count::kBarrier
                  ? 0
                  : fresh(&site_at(group.data, number)->keys[i]);
      }
      if (wanted != 0)
        // Turns are for few that are wanted by many.
        count = group.count() < kCountSets || __popc(wanted) * kTakenTogether >= __popc(sets)
                    ? take_by_lanes(counts, sets)
                    : take_by_turns(group, counts, sets, wanted);
      if (position == kNotReserved) {
        if (group.leads() && !await_ring(group.channel(), bytes, asked)) asked.start = kNoRoom;
        position = __shfl_sync(group.active, static_cast<uint64_t>(asked.start), group.first());
      }
      if (mine) {
        if (position != kNoRoom)
          write_record(group,
                       position + (written + __popc(wanted & below(group.lane))) * sizeof(RecordHeader),
                       kCountRecord, node, count, ways ? 0 : key);
        // What did not occur makes room for what may.
        if (count == 0 && ways) {
          publish(at_base<unsigned long long>(group.base(), kWaysOffset, number), 0ull);
          forget_number(kept->ways, number);
        } else if (count == 0 && outcomes == (1 << kSiteWays) - 1) {
          publish(&site_at(group.data, number)->keys[i], 0ull);
        }
      }
      written += __popc(wanted);
    }
    if (ends) end = position == kNoRoom ? kNoRoom : position + records * sizeof(RecordHeader);
  }
  return end;
}

// The same of both.
CUVEIN_FAST uint64_t send_sites(const Group& group, bool alone) {
  const uint32_t family = family_of(group.data);
  if (family == 0) return kNotReserved;
  const bool ways = __ballot_sync(group.active, fresh(&kept_at(group.data, family)->way_stretches) != 0) != 0;
  const uint64_t end = send_kept(group, false, alone && !ways);
  return ways ? send_kept(group, true, alone) : end;
}

// The launch has warps nowhere any more.
CUVEIN_FAST void leave_multiprocessors(const Group& group) {
  Engine* engine = group.engine();
#pragma unroll 1
  for (uint32_t i = group.rank(); i < kMultiprocessors; i += group.count())
    if ((engine->ran[i / 32] >> i % 32 & 1) != 0) publish(&stamp_at(group.data, i)->tag, 0u);
  __syncwarp(group.active);
  if (group.leads())
    for (uint32_t i = 0; i < kMultiprocessors / 32; ++i) publish(&engine->ran[i], 0u);
}

}  // namespace gpu
}  // namespace cuvein
