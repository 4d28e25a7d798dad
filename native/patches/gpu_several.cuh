// Accesses of which all is known, of lanes side by side that access several units each, which most are on one
// edge or two: as far as that goes without a call. Each lane exchanges its own units, two at a time.
#pragma once

#include "patches/gpu_spread.cuh"

namespace cuvein {
namespace gpu {

// What lanes have found: at most two edges, of the units so far.
struct Several {
  uint32_t edge, other;  // kNoEdge: all are on the first
  uint32_t on_edge;      // units on the first
};

// What is counted of lanes that are not all alike, one after another: what all did as a whole; the edge of
// lanes that are on one; the bytes of others on their first edge and on the other; these lanes, on the first
// and on the other. Of one edge, ordered or not, a lane counts once.
constexpr uint32_t kTaskFacts = 0, kTaskEdge = 1, kTaskOther = 2, kTaskPart = 3, kTaskOtherPart = 4,
                   kTasks = 5;
struct Task {
  uint32_t value, count;  // 0: nothing of this lane
  WayKind kind;
};
CUVEIN_FAST Task task_of(uint32_t number, uint64_t site, uint32_t active, const Several& several,
                         uint32_t facts) {
  const uint32_t shifts = word<kSitesOffset + 4>(site), units = 1u << (shifts >> 3 & 7);
  const bool mixed = several.other != kNoEdge;
  Task task{several.edge, 1, WayKind::kLanes};
  if (number == kTaskFacts) {
    task.value = kOfFacts | facts_at_site(site, facts, is_global(site));
    task.count = lane_of_warp() == first_of(active);
  } else if (number == kTaskEdge) {
    if (mixed) task = {several.edge, several.on_edge << (shifts & 7), WayKind::kBytes};
  } else if (number == kTaskOther) {
    task = {several.other, mixed ? (units - several.on_edge) << (shifts & 7) : 0, WayKind::kBytes};
  } else if (number == kTaskPart) {
    task = {several.edge & ~1u, mixed, WayKind::kPartLanes};
  } else {
    task = {several.other & ~1u, mixed && (several.edge ^ several.other) >= 2, WayKind::kPartLanes};
  }
  return task;
}

// What is left of such an access, in a word, for which a Left leaves the higher bits: it has to be exchanged;
// to be counted by tasks; to be exchanged further, since lanes have met more than two edges, of which the
// next stands above; not all has ways.
constexpr uint32_t kToExchange = 1u << 2, kToCount = 1u << 3, kMoreWays = 1u << 30, kMoreEdges = 1u << 31;
constexpr unsigned kEdgeAt = 4;
struct Further {
  uint64_t rest, entry;  // `entry`: of the next units, where there are more edges
  uint32_t what, left;   // a Left, and that
};

// What lanes have found takes 60 bits, in which the rest of their units is on no more than these edges;
CUVEIN_FAST uint64_t pack_several(const Several& several, uint32_t extra) {
  return several.edge | static_cast<uint64_t>(several.other) << 25 |
         static_cast<uint64_t>(several.on_edge | extra << 5) << 50;
}
CUVEIN_FAST Several unpack_several(uint64_t rest) {
  return {static_cast<uint32_t>(rest) & kNoEdge, static_cast<uint32_t>(rest >> 25) & kNoEdge,
          static_cast<uint32_t>(rest >> 50) & 31};
}
CUVEIN_FAST uint32_t unpack_facts(uint64_t rest, uint32_t active) {
  const uint32_t more = __popc(active) - 1;
  return (static_cast<uint32_t>(rest >> 55) & 31) << kExtraShift | more << kAddressesShift | more;
}
// a word more the first task that has not been counted, or an edge and how many pairs of units have been
// exchanged.
constexpr unsigned kTaskAt = 25, kExchangedAt = 28;

// Exchanges the units of lanes side by side, and counts if they are all alike. Scattered without anything
// else: nothing has been done.
template <Space kSpace, bool kWhole>
CUVEIN_FAST Further exchange_several(uint64_t site, uint32_t lanes, uint64_t where) {
  constexpr uint32_t kScattered = static_cast<uint32_t>(Left::kScattered);
  uint32_t active = kWhole ? ~0u : lanes;
  uint32_t counts;  // extra 5 at 16 | units on the first edge 5 at 8 | pairs exchanged 5
  {
    const uint32_t shifts = word<kSitesOffset + 4>(site), first = first_of(active);
    const uint32_t low = static_cast<uint32_t>(where), start = __shfl_sync(active, low, first);
    bool row = (low == start + ((lane_of_warp() - first) << size_shift_of(shifts))) & (shifts >> 31 == 0);
    if (!kWhole) {
      row &= ((active + (1u << first)) & active) == 0;
      // Of how few lanes a wide load is served together is not for here.
      if (kSpace == Space::kShared) row &= (shifts >> 27 & 3) == 2;
    }
    if (!together(active, row)) return {where, 0, 0, kScattered};
    again_lanes<kWhole>(&active);
    counts = facts_of_row<kWhole>(kSpace == Space::kGlobal, active, shifts, low) >> kExtraShift << 16;
  }
  uint32_t first_edge = 0, other = kNoEdge;
  again(&site);
  uint64_t entry = entry_at_site<kSpace>(site, word<kSitesOffset + 4>(site), where);
  again(&site);
  uint64_t mine = left_of_warp<kSpace>(site, word<kSitesOffset + 4>(site)) | lane_of_warp();
#pragma unroll 1
  for (;;) {
    again(&mine);
    Two before = exchange_two(entry, mine);
    entry += 16;
    again(&site);
    uint32_t shifts = word<kSitesOffset + 4>(site);
    uint32_t edge = compare_usual<kSpace>(shifts, before.first, mine);
    again(&shifts), again(&before.second), again(&edge);
    const uint32_t next = compare_usual<kSpace>(shifts, before.second, mine);
    if ((counts & 0xff) == 0) first_edge = edge;
    const uint32_t maybe = other != kNoEdge     ? other
                           : edge != first_edge ? edge
                           : next != first_edge ? next
                                                : kNoEdge;
    ++counts;
    if (!together(active,
                  ((edge == first_edge) | (edge == maybe)) & ((next == first_edge) | (next == maybe))))
      return {pack_several({first_edge, other, counts >> 8 & 31}, counts >> 16), entry,
              edge | (counts & 15) << kExchangedAt, kScattered | kMoreEdges | next << kEdgeAt};
    other = maybe;
    counts += ((edge == first_edge) + (next == first_edge)) << 8;
    if ((counts & 15) * 2 >> (shifts >> 3 & 7) != 0) break;
  }
  again_lanes<kWhole>(&active), again(&site);
  const uint64_t rest = pack_several({first_edge, other, counts >> 8 & 31}, counts >> 16);
  const uint32_t of_first = __shfl_sync(active, first_edge, first_of(active));
  if (together(active, (other == kNoEdge) & (first_edge == of_first))) {
    if (count_way<kWhole>(site, active, false,
                          outcome(tag_at_site(site), first_edge, unpack_facts(rest, active))))
      return {0, 0, 0, static_cast<uint32_t>(Left::kNothing)};
    again(&site);
    // Ways of the site are taken in turn.
    const bool taken =
        word<kSitesOffset + 32 + kSiteWays * 8 - 4>(site) >> (kTagShift - 32) == tag_at_site(site);
    if (!together(active, taken)) return {rest, 0, 0, kScattered | kMoreWays};
  }
  return {rest, 0, 0, kScattered | kToCount};
}

// Counts by tasks what was exchanged.
template <bool kWhole>
CUVEIN_FAST Further count_tasks(uint64_t site, uint32_t lanes, uint64_t rest) {
  constexpr uint32_t kIdle = 1;
  const uint32_t active = kWhole ? ~0u : lanes;
  uint32_t task = 0;
#pragma unroll 1
  for (; task < kTasks; ++task) {
    again(&site), again(&rest);
    if (task == kTaskOther && together(active, unpack_several(rest).other == kNoEdge)) task = kTasks - 1;
    const Task mine = task_of(task, site, active, unpack_several(rest), unpack_facts(rest, active));
    uint32_t count = mine.count;
    const uint32_t way = count == 0 ? kIdle : find_way(site, mine.value, mine.kind);
    if (!together(active, way != 0)) break;
    again(&site), again(&count);
    const uint32_t same = __match_any_sync(active, way | count << 20);
    if (count != 0 && lane_of_warp() == first_of(same))
      count_several<kWayCountsOffset - 8>(base_of(site) + count_set() + way, __popc(same) * count);
    __syncwarp(active);
  }
  if (task == kTasks) return {0, 0, 0, static_cast<uint32_t>(Left::kNothing)};
  return {rest, 0, task << kTaskAt, static_cast<uint32_t>(Left::kScattered) | kMoreWays};
}

// What is left where lanes have met more than two edges.
CUVEIN_SLOW void finish_edges(uint64_t site, uint64_t rest, uint64_t entry, uint32_t active, uint32_t what,
                              uint32_t left) {
  const Several several = unpack_several(rest);
  uint32_t edges[16];
  const uint32_t units = 1u << (word<kSitesOffset + 4>(site) >> 3 & 7), next = (what >> kExchangedAt) * 2;
#pragma unroll 1
  for (uint32_t i = 0; i < next - 2; ++i) edges[i] = i < several.on_edge ? several.edge : several.other;
  edges[next - 2] = what & kNoEdge;
  edges[next - 1] = left >> kEdgeAt & kNoEdge;
#pragma unroll 1
  for (uint32_t i = next; i < units; i += 2) {
    const uint32_t shifts = word<kSitesOffset + 4>(site);
    const uint64_t mine = left_at_site(site, shifts) | lane_of_warp();
    const Two before = exchange_two(entry + (i - next) * 8, mine);
    edges[i] = compare_known(site, shifts, before.first, mine);
    edges[i + 1] = compare_known(site, shifts, before.second, mine);
  }
  bool same = true;
#pragma unroll 1
  for (uint32_t i = 1; i < units; ++i) same = same && edges[i] == edges[0];
  __syncwarp(active);
  count_edges(site, active, edges, facts_at_site(site, unpack_facts(rest, active), is_global(site)), same);
}

// What is left where not all has ways.
CUVEIN_SLOW void finish_tasks(uint64_t site, uint64_t rest, uint32_t active, uint32_t task) {
  const Several several = unpack_several(rest);
  const uint32_t facts = unpack_facts(rest, active);
  if (task == 0) {
    const uint32_t of_first = __shfl_sync(active, several.edge, first_of(active));
    if (__all_sync(active, (several.other == kNoEdge) & (several.edge == of_first)) &&
        __ballot_sync(active, lane_of_warp() == first_of(active) &&
                                  take_outcome(data_of_site(site), site_number(site),
                                               outcome(tag_at_site(site), several.edge, facts))) != 0)
      return;
  }
#pragma unroll 1
  for (; task < kTasks; ++task) {
    const Task mine = task_of(task, site, active, several, facts);
    const uint32_t same = __match_any_sync(active, mine.value) & __match_any_sync(active, mine.count) &
                          __match_any_sync(active, static_cast<uint32_t>(mine.kind));
    if (mine.count != 0 && lane_of_warp() == first_of(same))
      take_way(data_of_site(site), site_number(site), mine.value, __popc(same) * mine.count, mine.kind);
    __syncwarp(active);
  }
}

}  // namespace gpu
}  // namespace cuvein
