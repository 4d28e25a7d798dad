// Accesses as in gpu_wide.cuh, of lanes that lie anywhere.
#pragma once

#include "patches/gpu_wide.cuh"

namespace cuvein {
namespace gpu {

// How lanes lie that access a word or more of shared memory.
template <bool kWhole>
CUVEIN_FAST Spread spread_blocks(uint32_t lanes, uint32_t low, uint32_t size_shift, bool read) {
  const uint32_t active = kWhole ? ~0u : lanes, lane = lane_of_warp();
  const uint32_t block = low >> size_shift, half = lane / 16;
  const uint32_t same = __match_any_sync(active, block);
  Spread spread;
  spread.leaders = __ballot_sync(active, lane == first_of(same));
  spread.highest = highest_of(same);
  uint32_t merged = 0;
  if (read && size_shift >= 3 && spread.leaders != ~0u) merged = merged_halves_of(active, block, size_shift);
  // The lanes that are served together with this one.
  uint32_t mates = ~0u;
  if (size_shift == 3 && merged == 0) mates = 0xffffu << half * 16;
  if (size_shift == 4) mates = merged >> half & 1 ? 0xffffu << half * 16 : 0xffu << (lane & ~7u);
  mates &= active;
  const uint32_t ideal = groups_with(active, size_shift, merged);
  uint32_t wavefronts = ideal;
  // What lies in one row of all banks does not meet in one.
  const uint32_t banks_shift = 7 - size_shift;
  if (!__all_sync(active,
                  block >> banks_shift == __shfl_sync(active, block >> banks_shift, first_of(mates)))) {
    const uint32_t chosen = __ballot_sync(active, lane == first_of(same & mates));
    const uint32_t rivals = __match_any_sync(active, block & ((1u << banks_shift) - 1)) & chosen & mates;
    const uint32_t rank = __popc(rivals & below(lane));
    wavefronts = 0;
#pragma unroll 1
    for (uint32_t round = 0;; ++round) {
      const uint32_t served = __ballot_sync(active, (chosen >> lane & 1) != 0 && rank == round);
      if (served == 0) break;
      wavefronts += groups_with(served, size_shift, merged);
    }
  }
  spread.facts = shared_facts(__popc(active), __popc(spread.leaders) << (size_shift - 2), wavefronts, ideal);
  return spread;
}

// An access to shared memory of a whole warp whose lanes lie anywhere and access a unit of a word or more
// each, in a launch without clusters and copies, as far as it goes without a call.
struct Blocks {
  uint64_t site;
  uint32_t edge, facts;  // to be counted; kNoEdge and 0: nothing
};
CUVEIN_SLOW Blocks analyse_blocks(uint64_t site, uint32_t low) {
  Spread spread;
  {
    const uint32_t shifts = word<kSitesOffset + 4>(site);
    spread = spread_blocks<true>(~0u, low, size_shift_of(shifts), shifts >> 29 & 1);
  }
  again(&site);
  Blocks blocks{site, 0, spread.facts};
  if ((spread.leaders >> lane_of_warp() & 1) != 0) {
    const uint32_t shifts = word<kSitesOffset + 4>(site);
    const uint64_t mine = left_of_warp<Space::kShared>(site, shifts);
    const uint64_t before =
        atomicExch(in_global<unsigned long long>(entry_at_site<Space::kShared>(site, shifts, low)),
                   static_cast<unsigned long long>(mine | spread.highest));
    blocks.edge = compare_usual<Space::kShared>(shifts, before, mine | lane_of_warp());
  } else {
    blocks.edge = edge_of_others(site);
  }
  again(&blocks.site);
  __syncwarp(~0u);
  if (count_ways<true>(blocks.site, ~0u, blocks.edge, blocks.facts)) blocks = {blocks.site, kNoEdge, 0};
  return blocks;
}

// Exchanges the unit of lanes that lie anywhere, and counts.
template <Space kSpace>
CUVEIN_SLOW void exchange_single(uint64_t site, uint64_t where, uint32_t active, uint32_t leaders,
                                 uint32_t highest, uint32_t facts) {
  uint32_t edge = edge_of_others(site);
  if ((leaders >> lane_of_warp() & 1) != 0) {
    const uint32_t shifts = word<kSitesOffset + 4>(site);
    const uint64_t mine = left_at_site<kSpace>(site, shifts);
    const uint64_t before =
        atomicExch(in_global<unsigned long long>(entry_at_site<kSpace>(site, shifts, where)),
                   static_cast<unsigned long long>(mine | highest));
    edge = compare_known<kSpace>(site, shifts, before, mine | lane_of_warp());
  }
  __syncwarp(active);
  count_lanes(data_of_site(site), active, site_number(site), edge, facts);
}

// Counts at the way of a value. One lane's.
CUVEIN_SLOW void count_at_way(uint64_t site, uint32_t value, WayKind kind, uint32_t count) {
  const uint32_t way = find_way(site, value, kind);
  if (way != 0)
    count_several<kWayCountsOffset - 8>(base_of(site) + count_set() + way, count);
  else
    take_way(data_of_site(site), site_number(site), value, count, kind);
}

// Counts lanes, or a unit of each, on their edges; kNoEdge: none. All lanes.
CUVEIN_SLOW void count_alike(uint64_t site, uint32_t active, uint32_t edge, WayKind kind) {
  const uint32_t alike = __match_any_sync(active, edge);
  const uint32_t unit_shift = kind == WayKind::kBytes ? word<kSitesOffset + 4>(site) & 7 : 0;
  if (edge != kNoEdge && lane_of_warp() == first_of(alike))
    count_at_way(site, edge, kind, __popc(alike) << unit_shift);
  __syncwarp(active);
}

// Counts lanes that have several units each, of which those of this lane are on these edges.
CUVEIN_FAST void count_edges(uint64_t site, uint32_t active, const uint32_t* edges, uint32_t facts,
                             bool same) {
  const uint32_t units = 1u << (word<kSitesOffset + 4>(site) >> 3 & 7);
  const uint32_t mixed = __ballot_sync(active, !same);
  if (mixed == 0) {
    count_lanes(data_of_site(site), active, site_number(site), edges[0], facts);
    return;
  }
  // Lanes may be on as many edges as they have units, so they count side by side.
  count_alike(site, active, same ? edges[0] : kNoEdge, WayKind::kLanes);
#pragma unroll 1
  for (uint32_t unit = 0; unit < units; ++unit) {
    const uint32_t edge = same ? kNoEdge : edges[unit];
    count_alike(site, active, edge, WayKind::kBytes);
    // Of one edge, ordered or not, a lane counts once.
    bool first = !same;
#pragma unroll 1
    for (uint32_t i = 0; i < unit; ++i) first = first && (edges[i] ^ edge) >= 2;
    count_alike(site, active, first ? edge & ~1u : kNoEdge, WayKind::kPartLanes);
  }
  if (lane_of_warp() == highest_of(active)) count_at_way(site, kOfFacts | facts, WayKind::kLanes, 1);
  __syncwarp(active);
}

// Exchanges the units of lanes that lie anywhere, each its own, and counts.
CUVEIN_SLOW void exchange_spread(uint64_t site, uint64_t where, uint32_t active, uint32_t leaders,
                                 uint32_t highest, uint32_t facts) {
  const uint32_t units = 1u << (word<kSitesOffset + 4>(site) >> 3 & 7);
  uint32_t edges[16];
  bool same = true;
  edges[0] = edge_of_others(site);
  if ((leaders >> lane_of_warp() & 1) != 0) {
#pragma unroll 1
    for (uint32_t i = 0; i < units; i += 2) {
      const uint32_t shifts = word<kSitesOffset + 4>(site);
      const uint64_t mine = left_at_site(site, shifts);
      const Two before = exchange_two(entry_at_site(site, shifts, where) + i * 8, mine | highest);
      edges[i] = compare_known(site, shifts, before.first, mine | lane_of_warp());
      edges[i + 1] = compare_known(site, shifts, before.second, mine | lane_of_warp());
      same = same && edges[i] == edges[0] && edges[i + 1] == edges[0];
    }
  }
  __syncwarp(active);
  count_edges(site, active, edges, facts, same);
}

// `wavefronts`: of a copy, for which more than its addresses matters; 0: it is none.
template <Space kSpace, bool kWhole>
CUVEIN_SLOW void analyse_spread(uint64_t site, uint64_t where, uint32_t lanes, uint32_t wavefronts) {
  const uint32_t active = kWhole ? ~0u : lanes;
  const uint32_t shifts = word<kSitesOffset + 4>(site), size_shift = size_shift_of(shifts);
  const uint32_t low = static_cast<uint32_t>(where);
  Spread spread;
  if (kSpace == Space::kGlobal) {
    spread = spread_in_global(active, low, size_shift);
  } else {
    // Of loads wider than a word, and of no other access, lanes may be served together with others.
    const bool read = shifts >> 29 & 1;
    spread = size_shift < 2 ? spread_in_shared(data_of_site(site), active, low, size_shift, read)
                            : spread_blocks<kWhole>(active, low, size_shift, read);
    if (wavefronts != 0) spread.facts = with_wavefronts(spread.facts, wavefronts);
  }
  const uint32_t units_shift = shifts >> 3 & 7;
  if (units_shift == 0)
    exchange_single<kSpace>(site, where, active, spread.leaders, spread.highest, spread.facts);
  else
    exchange_spread(site, where, active, spread.leaders, spread.highest, spread.facts);
}

// The calls are the last that is done, so that nothing is kept for what follows them.
template <Space kSpace>
CUVEIN_SLOW void analyse_wide_warp(uint64_t site, uint64_t where) {
  const uint32_t shifts = word<kSitesOffset + 4>(site);
  if (is_row<kSpace, true>(site, where, ~0u)) {
    if (together(~0u, (shifts >> 3 & 7) == 0))
      analyse_single_row<kSpace>(site, where);
    else
      analyse_row(site, where, ~0u);
  } else if (kSpace == Space::kShared &&
             together(~0u, ((shifts & (1u << 31 | 7 << 3)) == 0) & ((shifts & 7) >= 2))) {
    const Blocks blocks = analyse_blocks(site, static_cast<uint32_t>(where));
    if (!together(~0u, (blocks.edge == kNoEdge) & (blocks.facts == 0)))
      count_first(data_of_site(blocks.site), ~0u, site_number(blocks.site), blocks.edge, blocks.facts);
  } else {
    analyse_spread<kSpace, true>(site, where, ~0u, 0);
  }
}
template <Space kSpace>
CUVEIN_SLOW void analyse_wide_lanes(uint64_t site, uint64_t where, uint32_t active, uint32_t wavefronts) {
  if (wavefronts == 0 && is_row<kSpace, false>(site, where, active))
    analyse_row(site, where, active);
  else
    analyse_spread<kSpace, false>(site, where, active, wavefronts);
}

}  // namespace gpu
}  // namespace cuvein
