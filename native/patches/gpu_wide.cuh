// Accesses of which all is known, but which are of launches with clusters or asynchronous copies; and what
// those of lanes with several units each need.
#pragma once

#include "patches/gpu_usual.cuh"

namespace cuvein {
namespace gpu {

// Where a launch has clusters or copies, the usual comparison is not the whole truth about other blocks in
// global memory, and about entries that copies have left in shared memory.
template <Space kSpace>
CUVEIN_SLOW uint32_t compare_flagged(uint64_t site, uint64_t before, uint64_t now) {
  const Group group{data_of_site(site), 0, lane_of_warp()};
  return kSpace == Space::kGlobal ? compare(*group.state(), before, now)
                                  : compare_shared(group, *group.state(), before, now);
}

template <Space kSpace>
CUVEIN_FAST uint32_t compare_known(uint64_t site, uint32_t shifts, uint64_t before, uint64_t now) {
  const uint32_t edge = compare_usual<kSpace>(shifts, before, now);
  if (shifts >> 31 == 0) return edge;
  if (kSpace == Space::kGlobal) {
    if ((edge >> 1 & 7) != static_cast<uint32_t>(Label::kGrid)) return edge;
  } else {
    // The mark of copies stands above the clock. Where there are none, the block may.
    const uint32_t mark = kInstructionShift + (shifts >> 17 & 31) + (shifts >> 22 & 31);
    if (edge == 0 || mark >= (shifts >> 6 & 63) || ((before | now) >> mark & 1) == 0) return edge;
  }
  return compare_flagged<kSpace>(site, before, now);
}

// What a copy leaves of its warp's part of entries: another clock.
CUVEIN_SLOW uint64_t left_by_copy(uint64_t site, uint64_t mine) {
  const uint64_t data = data_of_site(site);
  const uint64_t node = fresh(site_node(data, site_number(site)));
  if ((node >> 52 & 1) == 0) return mine;
  const Group group{data, 0, lane_of_warp()};
  const State& state = *group.state();
  const uint64_t field = static_cast<uint64_t>(state.copy_flag | state.clock_mask) << state.clock_shift;
  const uint64_t clock = clock_of_copies(group, state, place_of_resident(group, resident_at(data)->warp));
  return (mine & ~field) | clock << state.clock_shift;
}

// The part of entries that an access leaves, without the lane.
template <Space kSpace>
CUVEIN_FAST uint64_t left_of_warp(uint64_t site, uint32_t shifts) {
  const uint32_t tag = kSpace == Space::kGlobal ? word<kSitesOffset + 8>(site) : 0;
  return own_part(data_of_site(site), shifts, tag) | word<kSitesOffset + 12>(site);
}
template <Space kSpace>
CUVEIN_FAST uint64_t left_at_site(uint64_t site, uint32_t shifts) {
  const uint64_t mine = left_of_warp<kSpace>(site, shifts);
  return kSpace == Space::kShared && shifts >> 31 != 0 ? left_by_copy(site, mine) : mine;
}

// Address of the first entry of a lane. `where`: the lower half of its address, above it the page of global
// memory.
template <Space kSpace>
CUVEIN_FAST uint64_t entry_at_site(uint64_t site, uint32_t shifts, uint64_t where) {
  const uint32_t unit = static_cast<uint32_t>(where) >> (shifts & 7);
  if (kSpace == Space::kGlobal)
    return (where >> 32 << kPageShift) + (unit & ((1u << kPageEntriesBits) - 1)) * 8;
  const Pair shadow = pair<kResidentsOffset + 16>(resident_address(site));
  return wide(shadow.x, shadow.y) + unit * 8;
}

// The same where it is seen of the site which space it is of. What is rare is so, for the sake of the stack.
CUVEIN_FAST bool is_global(uint64_t site) {
  return (word<kSitesOffset>(site) & 3) == static_cast<uint32_t>(Space::kGlobal);
}
CUVEIN_FAST uint32_t compare_known(uint64_t site, uint32_t shifts, uint64_t before, uint64_t now) {
  return is_global(site) ? compare_known<Space::kGlobal>(site, shifts, before, now)
                         : compare_known<Space::kShared>(site, shifts, before, now);
}
CUVEIN_FAST uint64_t left_at_site(uint64_t site, uint32_t shifts) {
  return is_global(site) ? left_at_site<Space::kGlobal>(site, shifts)
                         : left_at_site<Space::kShared>(site, shifts);
}
CUVEIN_FAST uint64_t entry_at_site(uint64_t site, uint32_t shifts, uint64_t where) {
  return is_global(site) ? entry_at_site<Space::kGlobal>(site, shifts, where)
                         : entry_at_site<Space::kShared>(site, shifts, where);
}

CUVEIN_FAST uint32_t size_shift_of(uint32_t shifts) { return (shifts & 7) + (shifts >> 3 & 7); }

// What is counted on the edges of an access, an edge a lane.
struct Tally {
  uint32_t edge = kNoEdge;
  uint32_t sums = 0;   // lanes | lanes that have other units elsewhere 8 | units of those 16
  uint32_t edges = 0;  // that have been given to lanes
};
constexpr unsigned kPartLanesAt = 8, kUnitsAt = 16;

// Counts what a lane has of a tally, and beside that the facts, if they are not 0. One lane's.
CUVEIN_SLOW void count_sums(uint64_t site, uint32_t edge, uint32_t sums, uint32_t facts) {
#pragma unroll 1
  for (uint32_t task = edge == kNoEdge ? 3 : 0; task < 4; ++task) {
    uint32_t value = edge, count = sums & 0xff;
    WayKind kind = WayKind::kLanes;
    if (task == 1) {
      count = sums >> kUnitsAt << (word<kSitesOffset + 4>(site) & 7);
      kind = WayKind::kBytes;
    } else if (task == 2) {
      value &= ~1u;
      count = sums >> kPartLanesAt & 0xff;
      kind = WayKind::kPartLanes;
    } else if (task == 3) {
      value = facts;
      count = facts != 0;
    }
    if (count == 0) continue;
    const uint32_t way = find_way(site, value, kind);
    if (way != 0)
      count_several<kWayCountsOffset - 8>(base_of(site) + count_set() + way, count);
    else
      take_way(data_of_site(site), site_number(site), value, count, kind);
  }
}

// Notes lanes and units of an edge. All lanes; the edge and the sums are the same for all.
CUVEIN_FAST void note(uint64_t site, uint32_t active, Tally* tally, uint32_t edge, uint32_t sums) {
  if (__ballot_sync(active, tally->edge == edge) == 0) {
    if (tally->edges == static_cast<uint32_t>(__popc(active))) {
      count_sums(site, tally->edge, tally->sums, 0);
      __syncwarp(active);
      *tally = {};
    }
    if (static_cast<uint32_t>(__popc(active & below(lane_of_warp()))) == tally->edges) {
      tally->edge = edge;
      tally->sums = 0;
    }
    ++tally->edges;
  }
  if (tally->edge == edge) tally->sums += sums;
}

// Counts what was noted, and what the access did as a whole.
CUVEIN_FAST void count_tally(uint64_t site, uint32_t active, const Tally& tally, uint32_t facts) {
  const bool leads = lane_of_warp() == highest_of(active);
  if (leads || tally.edge != kNoEdge) count_sums(site, tally.edge, tally.sums, leads ? kOfFacts | facts : 0);
  __syncwarp(active);
}

// Lanes side by side exchange the units in turns: in each, lanes next to each other those next to each other.
// So no unit is its lane's own, but the units of a lane come in one turn. Two turns at once.
struct Turns {
  uint32_t edge, next_edge;
};
CUVEIN_FAST Turns exchange_row(uint64_t site, uint64_t entry, uint32_t active, uint32_t shifts,
                               uint32_t turn) {
  const uint32_t units_shift = shifts >> 3 & 7, count = __popc(active), first = first_of(active);
  const uint64_t mine = left_at_site(site, shifts);
  const uint32_t unit = turn * count + lane_of_warp() - first, next = unit + count;
  const uint64_t now = mine | (first + (unit >> units_shift));
  const uint64_t before =
      atomicExch(in_global<unsigned long long>(entry + unit * 8), static_cast<unsigned long long>(now));
  Turns turns;
  if (units_shift != 0) {
    const uint64_t later = mine | (first + (next >> units_shift));
    const uint64_t further =
        atomicExch(in_global<unsigned long long>(entry + next * 8), static_cast<unsigned long long>(later));
    turns.edge = compare_known(site, shifts, before, now);
    turns.next_edge = compare_known(site, shifts, further, later);
  } else {
    turns.edge = turns.next_edge = compare_known(site, shifts, before, now);
  }
  return turns;
}

// Entries of the lanes' first unit, where they lie side by side.
CUVEIN_FAST uint64_t entry_of_row(uint64_t site, uint32_t active, uint32_t shifts, uint64_t where) {
  const uint32_t first = first_of(active);
  const uint32_t low = __shfl_sync(active, static_cast<uint32_t>(where), first);
  return entry_at_site(site, shifts, is_global(site) ? where >> 32 << 32 | low : low);
}

CUVEIN_SLOW Turns exchange_row_slow(uint64_t site, uint64_t where, uint32_t active, uint32_t turn) {
  const uint32_t shifts = word<kSitesOffset + 4>(site);
  const uint64_t entry = entry_of_row(site, active, shifts, where);
  const Turns turns = exchange_row(site, entry, active, shifts, turn);
  __syncwarp(active);
  return turns;
}

// Notes the edges of a turn.
CUVEIN_SLOW Tally note_turn(uint64_t site, uint32_t active, Tally tally, uint32_t edge) {
  const uint32_t units_shift = word<kSitesOffset + 4>(site) >> 3 & 7;
  // The first unit of each lane, as lanes of the turn.
  uint32_t starts = 0x00010001;
  if (units_shift <= 3) starts |= starts << 8;
  if (units_shift <= 2) starts |= starts << 4;
  if (units_shift <= 1) starts |= starts << 2;
  if (units_shift == 0) starts |= starts << 1;
  const uint32_t first = first_of(active);
#pragma unroll 1
  for (uint32_t waiting = active; waiting != 0;) {
    const uint32_t one = __shfl_sync(active, edge, first_of(waiting));
    const uint32_t on = __ballot_sync(active, edge == one);
    const uint32_t near = __ballot_sync(active, (edge ^ one) < 2);
    waiting &= ~on;
    uint32_t all = on >> first, all_others = (near & ~on) >> first, some = near >> first;
    for (uint32_t step = 1; step < 1u << units_shift; step *= 2) {
      all &= all >> step;
      all_others &= all_others >> step;
      some |= some >> step;
    }
    all &= starts;
    const uint32_t lanes = __popc(all), units = __popc(on) - (lanes << units_shift);
    // Of one edge, ordered or not, a lane counts once.
    const bool counts = near == on || (one & 1) == 0;
    const uint32_t parts = counts ? __popc(some & starts & ~(all | all_others)) : 0;
    note(site, active, &tally, one, lanes | parts << kPartLanesAt | units << kUnitsAt);
  }
  return tally;
}

// What lanes side by side did as a whole, in brief. `low`: the lower half of an address, which is that of the
// lowest lane or of this one.
template <bool kWhole>
CUVEIN_FAST uint32_t facts_of_row(bool global, uint32_t lanes, uint32_t shifts, uint32_t low) {
  const uint32_t active = kWhole ? ~0u : lanes;
  const uint32_t more = __popc(active) - 1, first = first_of(active), size_shift = size_shift_of(shifts);
  const uint32_t start = __shfl_sync(active, low, first);
  uint32_t extra;
  if (global) {
    extra = (start % 32 + (__popc(active) << size_shift) - 1) >> 5;
  } else {
    const uint32_t group_shift = 3 + (shifts >> 27 & 3);
    extra = (highest_of(active) >> group_shift) - (first >> group_shift);
    if ((shifts >> 30 & 1) != 0) extra = ((start & 3) + (more << size_shift)) >> 2;
  }
  return extra << kExtraShift | more << kAddressesShift | more;
}

// What is left of lanes side by side that are not all on one edge, or on one that has no way yet: `turn`
// turns before, in which all were on the edge `run`; and if there are more, the edges of the next two.
CUVEIN_SLOW void finish_row(uint64_t site, uint64_t where, uint32_t active, uint32_t turn, uint32_t run,
                            uint32_t edge, uint32_t next_edge) {
  const uint32_t units_shift = word<kSitesOffset + 4>(site) >> 3 & 7, turns = 1u << units_shift;
  const uint32_t facts = facts_of_row<false>(is_global(site), active, word<kSitesOffset + 4>(site),
                                             static_cast<uint32_t>(where));
  if (turn >= turns) {
    const uint64_t key = outcome(tag_at_site(site), run, facts);
    if (__ballot_sync(active, lane_of_warp() == first_of(active) &&
                                  take_outcome(data_of_site(site), site_number(site), key)) != 0)
      return;
  }
  Tally tally;
  // All lanes, if there was one turn of one.
  if (turn != 0)
    note(site, active, &tally, run, (turn < turns ? turn : turns) * __popc(active) >> units_shift);
#pragma unroll 1
  while (turn < turns) {
    tally = note_turn(site, active, tally, edge);
    if (turns != 1) tally = note_turn(site, active, tally, next_edge);
    turn += 2;
    if (turn < turns) {
      const Turns both = exchange_row_slow(site, where, active, turn);
      edge = both.edge;
      next_edge = both.next_edge;
    }
  }
  count_tally(site, active, tally, facts_at_site(site, facts, is_global(site)));
}

// Whether lanes without a gap lie side by side, in one page.
template <Space kSpace, bool kWhole>
CUVEIN_FAST bool is_row(uint64_t site, uint64_t where, uint32_t active) {
  const uint32_t shifts = word<kSitesOffset + 4>(site), first = first_of(active);
  const uint32_t start = __shfl_sync(active, static_cast<uint32_t>(where), first);
  bool row = static_cast<uint32_t>(where) == start + ((lane_of_warp() - first) << size_shift_of(shifts));
  if (kSpace == Space::kGlobal)
    row &=
        static_cast<uint32_t>(where >> 32) == __shfl_sync(active, static_cast<uint32_t>(where >> 32), first);
  if (!kWhole) {
    // All units of a lane are to be in one turn; of how few lanes a wide load is served together is not for
    // here.
    row &= ((active + (1u << first)) & active) == 0;
    row &= (__popc(active) & ((1u << (shifts >> 3 & 7)) - 1)) == 0;
    if (kSpace == Space::kShared) row &= (shifts >> 27 & 3) == 2;
  }
  return together(active, row);
}

// Lanes side by side in a launch that may have clusters and copies, or a part of the warp.
CUVEIN_SLOW void analyse_row(uint64_t site, uint64_t where, uint32_t active) {
  uint32_t shifts = word<kSitesOffset + 4>(site);
  const uint64_t entry = entry_of_row(site, active, shifts, where);
  Turns turns;
  uint32_t run = 0, turn = 0;
#pragma unroll 1
  for (;;) {
    turns = exchange_row(site, entry, active, shifts, turn);
    if (turn == 0) run = __shfl_sync(active, turns.edge, first_of(active));
    if (!together(active, (turns.edge == run) & (turns.next_edge == run))) break;
    turn += 2;
    if (turn >> (shifts >> 3 & 7) != 0) {
      const uint32_t facts =
          facts_of_row<false>(is_global(site), active, shifts, static_cast<uint32_t>(where));
      if (count_way<false>(site, active, false, outcome(tag_at_site(site), run, facts))) return;
      break;
    }
  }
  finish_row(site, where, active, turn, run, turns.edge, turns.next_edge);
}

// Of a whole warp whose lanes access one unit each.
template <Space kSpace>
CUVEIN_SLOW void analyse_single_row(uint64_t site, uint64_t where) {
  uint64_t before, now;
  {
    const uint32_t shifts = word<kSitesOffset + 4>(site);
    now = left_at_site<kSpace>(site, shifts) | lane_of_warp();
    before = atomicExch(in_global<unsigned long long>(entry_at_site<kSpace>(site, shifts, where)),
                        static_cast<unsigned long long>(now));
  }
  again(&site);
  const uint32_t edge = compare_known<kSpace>(site, word<kSitesOffset + 4>(site), before, now);
  __syncwarp(~0u);
  again(&site);
  const uint32_t facts = facts_of_row<true>(kSpace == Space::kGlobal, ~0u, word<kSitesOffset + 4>(site),
                                            static_cast<uint32_t>(where));
  if (count_way<true>(site, ~0u, false, outcome(tag_at_site(site), edge, facts))) return;
  const uint32_t run = __shfl_sync(~0u, edge, 0);
  finish_row(site, where, ~0u, together(~0u, edge == run) ? 1 : 0, run, edge, edge);
}

}  // namespace gpu
}  // namespace cuvein
