// Ways to count at that all sites share: what accesses did as a whole, and the edges of their lanes, apart
// from each other. The keys are the same for all multiprocessors, each of which counts for itself.
#pragma once

#include "patches/gpu_outcome.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_FAST uint32_t first_of(uint32_t active) { return __ffs(active) - 1; }

// What a key says of its value: an edge key, or facts as in the key of a node.
constexpr uint32_t kOfFacts = 1u << kWayValueBits;
constexpr uint32_t kNoEdge = kOfFacts - 1;  // no edge is this one

// What is counted of an edge: lanes all of whose bytes are on it; bytes of other lanes; those lanes.
enum class WayKind : uint32_t { kLanes, kBytes, kPartLanes };

// `site`: its address, or what it has of the site's number.
CUVEIN_FAST uint64_t way_key(uint64_t site, uint32_t tag, uint32_t value, WayKind kind = WayKind::kLanes) {
  const uint32_t number = static_cast<uint32_t>(site) / static_cast<uint32_t>(sizeof(Site)) % kSites;
  return wide(number << kWaySiteShift | value, tag << (kWayTagShift - 32) |
                                                   static_cast<uint32_t>(kind) << (kWayKindShift - 32) |
                                                   number >> (32 - kWaySiteShift));
}

// The first of the ways that a key may have.
CUVEIN_FAST uint32_t ways_of(uint64_t key) {
  const uint32_t mixed = static_cast<uint32_t>(key) + static_cast<uint32_t>(key >> 32) * 0x85ebca6bu;
  return mixed * 0x9e3779b1u >> (32 - kWaysBits + kTogetherBits) << kTogetherBits;
}

CUVEIN_FAST uint32_t tag_at_site(uint64_t site) {
  return word<kSitesOffset + 8>(site) & ((1u << kExtentShift) - 1);
}

// The distance of the key's way + 8, as far as this multiprocessor's cache knows; 0: none.
CUVEIN_FAST uint32_t find_way(uint64_t site, uint32_t value, WayKind kind = WayKind::kLanes) {
  const uint64_t key = way_key(site, tag_at_site(site), value, kind);
  const uint32_t first = ways_of(key) * 8;
  const uint64_t ways = base_of(site) + first;
  uint32_t found = 0;
  {
    const Quad keys = quad<kWaysOffset>(ways);
    if (wide(keys.x, keys.y) == key) found = first + 8;
    if (wide(keys.z, keys.w) == key) found = first + 16;
  }
  if (found == 0) {
    const Quad keys = quad<kWaysOffset + 16>(ways);
    if (wide(keys.x, keys.y) == key) found = first + 24;
    if (wide(keys.z, keys.w) == key) found = first + 32;
  }
  return found;
}

// What the tables have for a way's key.
CUVEIN_FAST uint64_t counter_of_way(uint64_t data, uint64_t key) {
  const uint32_t low = static_cast<uint32_t>(key);
  const uint64_t node = fresh(site_node(data, static_cast<uint32_t>(key >> kWaySiteShift) % kSites));
  if ((low & kOfFacts) != 0) return node | (low & (kOfFacts - 1));
  const uint32_t kind = static_cast<uint32_t>(key >> kWayKindShift) & 3;
  return edge_of(node, low & (kOfFacts - 1), static_cast<Count>(static_cast<uint32_t>(Count::kLanes) + kind));
}

// Counts at the way of the value, which becomes its if it has none yet; or where there is none left, in the
// tables. One lane's.
CUVEIN_SLOW void take_way(uint64_t data, uint32_t site, uint32_t value, uint32_t count,
                          WayKind kind = WayKind::kLanes) {
  const unsigned long long key =
      way_key(site * sizeof(Site), tag_at_site(site_address(data, site)), value, kind);
  const uint32_t first = ways_of(key);
#pragma unroll 1
  for (uint32_t i = 0; i < 1u << kTogetherBits; ++i) {
    unsigned long long* way = at_base<unsigned long long>(base_of(data), kWaysOffset, first + i);
    unsigned long long found = *way;
    if (found >> kWayTagShift != key >> kWayTagShift) {
      // Free or another family's, or so it seemed from an old copy in the multiprocessor's cache.
      found = fresh(way);
      if (found >> kWayTagShift != key >> kWayTagShift) {
        const unsigned long long before = atomicCAS(way, found, key);
        if (before == found) keep_way(data, first + i);
        found = before == found ? key : before;
      }
      if (found == key) publish(way, key);  // the copy in the cache is renewed
    }
    if (found == key) {
      count_several<kWayCountsOffset>(base_of(data) + count_set() + (first + i) * 8, count);
      return;
    }
  }
  const Group group{data, 0, lane_of_warp()};
  add(group, multiprocessor() & group.state()->copy_mask, counter_of_way(data, key), count);
}

// Counts where not all have ways: the edges of lanes, and what the access did as a whole. kNoEdge: none.
CUVEIN_SLOW void count_first(uint64_t data, uint32_t active, uint32_t site, uint32_t edge, uint32_t facts) {
  const uint32_t alike = __match_any_sync(active, edge);
  // By two lanes side by side, as a rule: the lowest of those on an edge, and the highest of all.
  uint32_t tasks = edge != kNoEdge && lane_of_warp() == first_of(alike) ? 1 : 0;
  if (lane_of_warp() == 31 - __clz(active)) tasks |= 2;
#pragma unroll 1
  while (tasks != 0) {
    const bool of_edge = (tasks & 1) != 0;
    tasks &= of_edge ? ~1u : 0u;
    take_way(data, site, of_edge ? edge : kOfFacts | facts, of_edge ? __popc(alike) : 1);
  }
  __syncwarp(active);
}

// Counts the edges of lanes and what their access did as a whole, if there are ways for all.
template <bool kWhole>
CUVEIN_FAST bool count_ways(uint64_t site, uint32_t lanes, uint32_t edge, uint32_t facts) {
  constexpr uint32_t kIdle = 1;
  uint32_t active = kWhole ? ~0u : lanes;
  const uint32_t of_edge = edge == kNoEdge ? kIdle : find_way(site, edge);
  if (!together(active, of_edge != 0)) return false;
  again(&site);
  const uint32_t of_all = find_way(site, kOfFacts | facts);
  if (!together(active, of_all != 0)) return false;
  if (!kWhole) again(&active);
  const uint32_t alike = __match_any_sync(active, of_edge);
  if (!kWhole) again(&active);
  again(&site);
  const uint64_t counts = base_of(site) + count_set();
  if ((of_edge != kIdle) & (lane_of_warp() == first_of(alike)))
    count_several<kWayCountsOffset - 8>(counts + of_edge, __popc(alike));
  if (lane_of_warp() == first_of(active)) count_one<kWayCountsOffset - 8>(counts + of_all);
  return true;
}

// The same where it may be either.
CUVEIN_SLOW void count_lanes(uint64_t data, uint32_t active, uint32_t site, uint32_t edge, uint32_t facts) {
  if (!count_ways<false>(site_address(data, site), active, edge, facts))
    count_first(data, active, site, edge, facts);
}

}  // namespace gpu
}  // namespace cuvein
