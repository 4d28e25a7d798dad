// Accesses of which all is known, of lanes that lie anywhere or come out differently: what they did as a
// whole and the edges of their lanes are counted apart.
#pragma once

#include "patches/gpu_usual.cuh"

namespace cuvein {
namespace gpu {

// Whether ways kFirst and the next are those of the keys.
template <uint32_t kFirst>
CUVEIN_FAST void apart_ways(uint64_t site, uint64_t of_edge, uint64_t of_all, uint32_t* edge_way,
                            uint32_t* all_way) {
  const Quad ways = quad<kApartOffset + kFirst * 8>(site);
  if (wide(ways.x, ways.y) == of_edge) *edge_way = kFirst * 8 + 8;
  if (wide(ways.z, ways.w) == of_edge) *edge_way = kFirst * 8 + 16;
  if (wide(ways.x, ways.y) == of_all) *all_way = kFirst * 8 + 8;
  if (wide(ways.z, ways.w) == of_all) *all_way = kFirst * 8 + 16;
}

// Counts `count` at the way for apart accesses that the key has, or where there is none left, in the tables.
// One lane.
CUVEIN_SLOW void take_apart(uint64_t data, uint32_t site, uint64_t outcome, uint32_t count) {
  const unsigned long long key = outcome;
  unsigned long long* keys = apart_at(data, site)->keys;
  uint32_t way = 0;
  while (way < kApartWays && keys[way] != key) ++way;
  if (way == kApartWays) {
    // Not there, or there is an old copy in the multiprocessor's cache, which is dropped then.
    for (way = 0; way < kApartWays; ++way) {
      unsigned long long found = fresh(keys + way);
      if (found == 0) found = atomicCAS(keys + way, 0ull, key);
      if (found == 0 || found == key) break;
    }
    if (way < kApartWays) __threadfence();
  }
  if (way < kApartWays)
    count_several<kApartCountsOffset>(site_address(data, site) + count_set() + way * 8, count);
  else
    count_outcome({data, 0, lane_of_warp()}, fresh(site_node(data, site)), key, count, 0, 1);
}
// Where not all ways are known. `edge`: of lanes that compared, else kNoEdge.
CUVEIN_SLOW void count_apart_first(uint64_t data, uint32_t active, uint32_t site, uint32_t edge,
                                   uint32_t facts) {
  const uint32_t alike = __match_any_sync(active, edge);
  uint32_t tasks = edge != kNoEdge && lane_of_warp() == first_of(alike) ? 1 : 0;
  if (lane_of_warp() == first_of(active)) tasks |= 2;
#pragma unroll 1
  for (uint32_t task = 1; task <= 2; ++task)
    if ((tasks & task) != 0)
      take_apart(data, site, outcome(tag_of(data), task == 1 ? edge : kNoEdge, task == 1 ? kNoFacts : facts),
                 task == 1 ? __popc(alike) : 1);
  __syncwarp(active);
}

// Counts what an access of lanes that lie anywhere did and the edges of its lanes, if there are ways for all.
// `edge`: of lanes that compared, else kNoEdge.
CUVEIN_FAST bool count_ways(uint64_t site, uint32_t active, uint32_t edge, uint32_t facts) {
  const uint32_t tag = word<kSitesOffset + 8>(site) & ((1u << kExtentShift) - 1);
  const uint64_t of_edge = outcome(tag, edge, kNoFacts), of_all = outcome(tag, kNoEdge, facts);
  // A way's distance + 8; 0: none.
  constexpr uint32_t kIdle = 1;
  uint32_t edge_way = edge == kNoEdge ? kIdle : 0, all_way = 0;
  apart_ways<0>(site, of_edge, of_all, &edge_way, &all_way);
  apart_ways<2>(site, of_edge, of_all, &edge_way, &all_way);
  apart_ways<4>(site, of_edge, of_all, &edge_way, &all_way);
  apart_ways<6>(site, of_edge, of_all, &edge_way, &all_way);
  if (!together(active, (edge_way != 0) & (all_way != 0))) return false;
  const uint32_t alike = __match_any_sync(active, edge_way);
  again(&site);
  const uint64_t counts = site + count_set();
  if ((edge_way != kIdle) & (lane_of_warp() == first_of(alike)))
    count_several<kApartCountsOffset - 8>(counts + edge_way, __popc(alike));
  if (lane_of_warp() == first_of(active)) count_one<kApartCountsOffset - 8>(counts + all_way);
  return true;
}

// Whether all lanes have a unit of their own; seen only of lanes that are exchanged for one another (with
// their neighbours, for instance), or in falling order.
CUVEIN_FAST bool are_apart(uint32_t active, uint32_t unit) {
  const uint32_t lane = lane_of_warp(), first = first_of(active);
  const uint32_t start = __shfl_sync(active, unit, first);
  return together(active, (unit ^ lane) == (start ^ first)) || together(active, unit + lane == start + first);
}

// A global access like a usual one, of lanes that lie anywhere. `where`: the lower half of the address, above
// it the page.
template <bool kWhole>
CUVEIN_FAST void analyse_apart(uint64_t site, uint64_t where, uint32_t lanes) {
  uint32_t active = kWhole ? ~0u : lanes, leaders, highest = lane_of_warp(), facts;
  {
    // Where all lanes have a sector of their own, they have an address of their own too.
    uint32_t same = __match_any_sync(active, static_cast<uint32_t>(where) >> 5);
    leaders = __ballot_sync(active, lane_of_warp() == first_of(same));
    facts = (__popc(leaders) - 1) << kExtraShift | (__popc(active) - 1);
    if (leaders != active) {
      const uint32_t unit = static_cast<uint32_t>(where) >> (word<kSitesOffset + 4>(site) & 7);
      if (are_apart(active, unit)) {
        leaders = active;
      } else {
        same = __match_any_sync(active, unit);
        leaders = __ballot_sync(active, lane_of_warp() == first_of(same));
        highest = highest_of(same);
      }
    }
    facts |= (__popc(leaders) - 1) << kAddressesShift;
  }
  uint32_t edge = kNoEdge;
  if ((leaders >> lane_of_warp() & 1) != 0) {
    const uint32_t shifts = word<kSitesOffset + 4>(site);
    const uint64_t entry =
        (where >> 32 << kPageShift) +
        ((static_cast<uint32_t>(where) >> (shifts & 7)) & ((1u << kPageEntriesBits) - 1)) * 8;
    const Pair own = pair<kResidentsOffset>(resident_address(site));
    const uint64_t mine = wide(own.x | word<kSitesOffset + 12>(site), own.y);
    const uint64_t before =
        atomicExch(in_global<unsigned long long>(entry), static_cast<unsigned long long>(mine | highest));
    edge = compare_usual<Space::kGlobal>(shifts, before, mine | lane_of_warp());
  }
  again_lanes<kWhole>(&active), again(&site);
  __syncwarp(active);
  if (!count_ways(site, active, edge, facts))
    count_apart_first(data_of_site(site), active, site_number(site), edge, facts);
}
CUVEIN_SLOW void analyse_apart_lanes(uint64_t site, uint64_t where, uint32_t active) {
  analyse_apart<false>(site, where, active);
}

// Whether a lane's access is one unit, in a launch without clusters and copies.
CUVEIN_FAST bool has_own_units(uint64_t site) {
  return (word<kSitesOffset + 4>(site) & (1u << 31 | 7 << 3)) == 0;
}

// What is left of a usual access, see analyse_usual().
template <Space kSpace>
CUVEIN_FAST void finish_usual(uint64_t address_of_site, uint64_t rest, uint32_t active, Left left) {
  const uint64_t data = data_of_site(address_of_site);
  const uint32_t site = site_number(address_of_site);
  if (left == Left::kCounts) {
    // Of one place, as many lanes compared as it has units.
    const uint32_t facts = static_cast<uint32_t>(rest);
    const bool one = ((facts >> kAddressesShift ^ facts) & 31) != 0;
    const uint32_t units = 1u << (word<kSitesOffset + 4>(address_of_site) >> 3 & 7);
    count_apart(data, active, site, rest, one ? ((1u << units) - 1) << first_of(active) : active);
    return;
  }
  uint64_t address = static_cast<uint32_t>(rest);
  if (kSpace == Space::kGlobal) {
    if (has_own_units(address_of_site)) {
      analyse_apart_lanes(address_of_site, rest, active);
      return;
    }
    const Pair first = pair<kSitesOffset + 24>(address_of_site);
    address = wide(first.x, first.y) + (static_cast<uint32_t>(rest) - first.x);
  }
  analyse_scattered(data, address, active, site, kSpace == Space::kGlobal);
}

}  // namespace gpu
}  // namespace cuvein
