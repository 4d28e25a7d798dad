// Sites and residents: what is remembered of an instruction and of a warp, and the outcomes counted there.
#pragma once

#include "patches/gpu_order_warp.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_FAST uint64_t wide(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

// Which site of the table belongs to an instruction.
CUVEIN_FAST uint32_t site_of(uint32_t where, uint32_t tag) {
  return (where >> 4 ^ where << 9 ^ tag) % kSites;
}
template <typename T>
CUVEIN_FAST T* at_base(uint64_t base, uint64_t offset, uint32_t number) {
  return in_global<T>(base + number * static_cast<uint32_t>(sizeof(T)) + offset);
}
CUVEIN_FAST uint64_t base_of(uint64_t data) { return data & ~(kChannelAlignment - 1); }
// Where the state of the launch is, less the distance of the first of them.
CUVEIN_FAST uint64_t state_address(uint64_t data) {
  return base_of(data) + static_cast<uint32_t>(data) % kStates * static_cast<uint32_t>(sizeof(State));
}
CUVEIN_FAST Site* site_at(uint64_t data, uint32_t site) {
  return at_base<Site>(base_of(data), kSitesOffset, site);
}
// Where this multiprocessor counts, as a distance.
CUVEIN_FAST uint32_t count_set() {
  return multiprocessor() % kMultiprocessors * static_cast<uint32_t>(kCountSetBytes);
}
// What has been counted at each `step`th multiprocessor; no more of it is left there. One lane. Several
// counts are asked for before any of them is there. `counts`: of the multiprocessor 0.
CUVEIN_SLOW uint64_t take_counts(uint64_t counts, uint32_t first, uint32_t step) {
  constexpr uint32_t kTogether = 4;
  uint64_t sum = 0;
  const uint32_t end = multiprocessors();
#pragma unroll 1
  for (uint32_t i = first; i < end; i += kTogether * step) {
    uint64_t here[kTogether];
#pragma unroll
    for (uint32_t k = 0; k < kTogether; ++k) {
      const uint32_t at = i + k * step < end ? i + k * step : i;
      here[k] = fresh(in_global<uint64_t>(counts + at * kCountSetBytes));
      if (at == i && k != 0) here[k] = 0;
    }
#pragma unroll
    for (uint32_t k = 0; k < kTogether; ++k) {
      if (here[k] != 0) publish(in_global<uint64_t>(counts + (i + k * step) * kCountSetBytes), uint64_t{0});
      sum += here[k];
    }
  }
  return sum;
}
CUVEIN_FAST uint64_t counts_of_way(uint64_t data, uint32_t site, uint32_t way) {
  return base_of(data) + kCountsOffset + site * static_cast<uint32_t>(sizeof(Site)) + way * 8;
}

CUVEIN_FAST uint64_t* site_node(uint64_t data, uint32_t site) {
  return at_base<uint64_t>(base_of(data), kNodesOffset, site);
}
CUVEIN_FAST uint32_t resident_of(uint32_t multiprocessor) {
  return (multiprocessor * kWarpsPerMultiprocessor + warp_of_multiprocessor()) % kResidents;
}
// Less the distance of the first of them, for loads to add.
CUVEIN_FAST uint64_t resident_address(uint64_t data) {
  return base_of(data) | resident_of(multiprocessor()) * static_cast<uint32_t>(sizeof(Resident));
}
CUVEIN_FAST uint64_t site_address(uint64_t data, uint32_t site) {
  return base_of(data) + site * static_cast<uint32_t>(sizeof(Site));
}
CUVEIN_FAST Resident* resident_at(uint64_t data) {
  return in_global<Resident>(resident_address(data) + kResidentsOffset);
}

constexpr uint32_t kFoldLanes = 8;
constexpr unsigned kExtraShift = 10, kAddressesShift = 5, kEdgeShift = 15, kTagShift = 40;
constexpr uint64_t kEdgeMask = (1u << (kTagShift - kEdgeShift)) - 1;

CUVEIN_FAST uint64_t outcome(uint32_t tag, uint32_t edge, uint32_t facts) {
  return static_cast<uint64_t>(tag) << kTagShift | static_cast<uint64_t>(edge) << kEdgeShift | facts;
}

// The key of the node, with all facts.
CUVEIN_FAST uint64_t node_of(uint64_t node, uint32_t facts) {
  const uint32_t lanes = (facts & 31) + 1, addresses = (facts >> kAddressesShift & 31) + 1;
  const uint32_t extra = (facts >> kExtraShift) + 1;
  const uint32_t size_shift = node >> 57 & 7;
  if (static_cast<Space>(node >> 55 & 3) == Space::kGlobal)
    return node | global_facts(lanes, addresses, extra, 0);
  const uint32_t words = size_shift < 2 ? extra : addresses << (size_shift - 2);
  const uint32_t ideal = size_shift < 2 ? 1 : extra;
  return node | shared_facts(lanes, words, ideal, ideal);
}
CUVEIN_FAST uint64_t edge_of(uint64_t node, uint32_t edge, Count count) {
  const bool sized = count == Count::kLanes;
  return edge_count(count, static_cast<Space>(node >> 55 & 3),
                    static_cast<uint32_t>(node >> 31) & ((1u << kMostInstructionBits) - 1), edge,
                    sized ? node >> 57 & 7 : 0);
}
// The edge of lanes that met others of their instruction.
CUVEIN_FAST uint64_t others_of(uint64_t node) {
  const uint32_t instruction = static_cast<uint32_t>(node >> 31) & ((1u << kMostInstructionBits) - 1);
  return edge_of(node, edge_key(instruction + 1, Label::kWarpSameInst, false), Count::kLanes);
}

// Counts an outcome, or a part of one. One lane; or several, which share what there is to do: each `step`th
// counter from `first`.
CUVEIN_SLOW void count_outcome(Group group, uint64_t node, uint64_t key, uint64_t times, uint32_t first,
                               uint32_t step) {
  const uint32_t facts = static_cast<uint32_t>(key) & ((1u << kEdgeShift) - 1);
  const uint32_t edge = static_cast<uint32_t>(key >> kEdgeShift & kEdgeMask);
  const uint32_t lanes = (facts & 31) + 1, addresses = (facts >> kAddressesShift & 31) + 1;
  const uint32_t copy = multiprocessor() & group.state()->copy_mask;
#pragma unroll 1
  for (uint32_t task = first; task < 3; task += step) {
    const uint64_t count = task == 0 ? addresses : task == 1 ? 1 : lanes - addresses;
    if (count != 0)
      add(group, copy,
          task == 0   ? edge_of(node, edge, Count::kLanes)
          : task == 1 ? node_of(node, facts)
                      : others_of(node),
          count * times);
  }
}

// The sum of the lanes' values.
CUVEIN_FAST uint64_t together_of(uint64_t value, uint32_t lanes) {
  for (uint32_t distance = 1; distance < static_cast<uint32_t>(__popc(lanes)); distance *= 2)
    value += __shfl_sync(lanes, value, lane_of_warp() ^ distance);
  return value;
}

// Moves what was counted at the sites to the tables, and frees the sites. By the last warp of the launch: a
// few of its lanes for each site, since what takes long is to wait for memory.
CUVEIN_SLOW void fold_sites(Group group) {
  Engine* engine = group.engine();
  const uint32_t used = fresh(&engine->used_sites);
  const uint32_t team = group.active != ~0u ? 1 : kFoldLanes, teams = group.count() / team;
  const uint32_t member = group.rank() % team;
  // Lanes of a team are side by side where there are teams of several, since then the warp is whole.
  const uint32_t mates = team == 1 ? 1u << group.lane : ((1u << kFoldLanes) - 1) << (group.lane - member);
#pragma unroll 1
  for (uint32_t i = group.rank() / team; i < used; i += teams) {
    if (group.rank() / team >= teams) break;
    const uint32_t number = fresh(&engine->used[kAllCounters + i]);
    Site* site = site_at(group.data, number);
    const uint64_t node = fresh(site_node(group.data, number));
    if (static_cast<Count>(node >> 60) == Count::kBarrier) {
      const uint64_t count =
          together_of(take_counts(counts_of_way(group.data, number, 0), member, team), mates);
      if (member == 0 && count != 0) add(group, multiprocessor() & group.state()->copy_mask, node, count);
    }
#pragma unroll 1
    for (uint32_t way = 0; way < kSiteWays; ++way) {
      const uint64_t key = fresh(&site->keys[way]);
      if (key == 0) break;
      const uint64_t count =
          together_of(take_counts(counts_of_way(group.data, number, way), member, team), mates);
      if (member < 3) count_outcome(group, node, key, count, member, team);
      __syncwarp(mates);
    }
  }
  __syncwarp(group.active);
#pragma unroll 1
  for (uint32_t i = group.rank(); i < used; i += group.count()) {
    const uint32_t number = fresh(&engine->used[kAllCounters + i]);
    Site* site = site_at(group.data, number);
    for (uint32_t way = 0; way < kSiteWays; ++way) publish(&site->keys[way], 0ull);
    publish(&site->tag_of_window, 0u);
    publish(&site->where, 0u);
    publish(&site->tag, 0u);
  }
  __syncwarp(group.active);
  if (group.leads()) publish(&engine->used_sites, 0u);
  __threadfence();
  __syncwarp(group.active);
}

CUVEIN_FAST Resident* resident_number(uint64_t data, uint32_t number) {
  return at_base<Resident>(base_of(data), kResidentsOffset, number);
}

// The hardware may have moved the warp: what stands at the place it had is void. One lane.
CUVEIN_FAST void leave_resident(const Group& group, Warp* warp, uint32_t now) {
  const uint32_t before = warp->resident;
  if (before != 0 && before != now + 1) publish(&resident_number(group.data, before - 1)->tag, 0u);
}

// `warp` is null where nothing is kept of blocks. One lane.
CUVEIN_FAST void make_resident(const Group& group, Warp* warp, uint64_t shadow, uint64_t entry) {
  const uint32_t number = resident_of(multiprocessor());
  Resident* resident = resident_number(group.data, number);
  if (warp != nullptr) {
    leave_resident(group, warp, number);
    warp->resident = number + 1;
  }
  resident->block = static_cast<uint32_t>(block_of_grid());
  resident->entry = entry;
  resident->shadow = shadow;
  resident->warp = warp;
  if (kFollowsOrder) make_order(group, resident, warp, number);
  resident->tag = group.slot() + 1 | warp_of_block() << kWarpShift;
}

// When lanes of the warp end.
CUVEIN_FAST void forget_resident(const Group& group) {
  if (group.leads()) resident_at(group.data)->tag = 0;
}

// After a barrier. One lane.
CUVEIN_FAST void tell_clock(const Group& group, Warp* warp, uint32_t clock) {
  const uint32_t number = resident_of(multiprocessor());
  leave_resident(group, warp, number);
  if (warp->resident != number + 1) return;
  Resident* resident = resident_number(group.data, number);
  if (resident->tag != (group.slot() + 1 | warp_of_block() << kWarpShift) ||
      resident->block != static_cast<uint32_t>(block_of_grid()))
    return;
  const uint64_t mask = static_cast<uint64_t>(group.state()->clock_mask) << group.state()->clock_shift;
  resident->entry = (resident->entry & ~mask) | static_cast<uint64_t>(clock) << group.state()->clock_shift;
  if (kFollowsOrder) make_order(group, resident, warp, number);
}

}  // namespace gpu
}  // namespace cuvein
