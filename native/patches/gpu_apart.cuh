// Accesses of which all is known, of lanes that lie anywhere or come out differently: what they did as a
// whole and the edges of their lanes are counted apart.
#pragma once

#include "patches/gpu_several.cuh"

namespace cuvein {
namespace gpu {

// How lanes lie that access one unit each. In a window the lower half of addresses tells them apart.
struct Apart {
  uint32_t leaders;  // lanes that are the lowest at their address
  uint32_t highest;  // of the lanes at this lane's address; holds for leaders
  uint32_t facts;    // as in the key of a node
};

// Lanes whose value is not that of the active lane before them.
CUVEIN_FAST uint32_t starts_of(uint32_t active, bool differs) {
  return __ballot_sync(active, differs | (lane_of_warp() == first_of(active)));
}

// Whether addresses rise or fall with the lanes, so that those at one place are neighbours. `before`: the
// address of the active lane before this one.
template <bool kWhole>
CUVEIN_FAST bool are_ordered(uint32_t active, uint32_t low, uint32_t* before) {
  const uint32_t lane = lane_of_warp(), earlier = active & below(lane);
  *before = __shfl_sync(active, low, earlier == 0 ? lane : kWhole ? lane - 1 : highest_of(earlier));
  return together(active, low >= *before) || together(active, low <= *before);
}

// The last lane of those that start with this one.
CUVEIN_FAST uint32_t end_of(uint32_t active, uint32_t starts) {
  const uint32_t later = starts & ~1u << lane_of_warp();
  return highest_of(later != 0 ? active & ((later & (0 - later)) - 1) : active);
}

// Whether all lanes have a unit of their own; seen only of lanes that are exchanged for one another, with
// their neighbours for instance.
CUVEIN_FAST bool are_exchanged(uint32_t active, uint32_t unit) {
  const uint32_t first = first_of(active), start = __shfl_sync(active, unit, first);
  return together(active, (unit ^ lane_of_warp()) == (start ^ first));
}

// In global memory.
template <bool kWhole>
CUVEIN_FAST Apart spread_units(uint64_t site, uint32_t active, uint32_t low) {
  Apart apart;
  apart.highest = lane_of_warp();
  uint32_t before, sectors;
  if (are_ordered<kWhole>(active, low, &before)) {
    sectors = starts_of(active, (low ^ before) >> 5 != 0);
    apart.leaders = starts_of(active, low != before);
    apart.highest = end_of(active, apart.leaders);
  } else {
    // Where all lanes have a sector of their own, they have an address of their own too.
    uint32_t same = __match_any_sync(active, low >> 5);
    sectors = apart.leaders = __ballot_sync(active, lane_of_warp() == first_of(same));
    if (sectors != active) {
      const uint32_t unit = low >> (word<kSitesOffset + 4>(site) & 7);
      if (are_exchanged(active, unit)) {
        apart.leaders = active;
      } else {
        same = __match_any_sync(active, unit);
        apart.leaders = __ballot_sync(active, lane_of_warp() == first_of(same));
        apart.highest = highest_of(same);
      }
    }
  }
  apart.facts = global_facts(__popc(active), __popc(apart.leaders), __popc(sectors), 0);
  return apart;
}

// In shared memory, a word each or a part of one.
template <bool kWhole>
CUVEIN_FAST Apart spread_words(uint64_t site, uint32_t active, uint32_t low) {
  Apart apart;
  apart.highest = lane_of_warp();
  {
    // Lanes without a gap, whole words apart, all by the same: a column of a matrix.
    const uint32_t first = first_of(active), count = __popc(active);
    const uint32_t start = __shfl_sync(active, low, first);
    const uint32_t step = __shfl_sync(active, low, count > 1 ? first + 1 : first) - start;
    const bool solid = (active + (1u << first) & active) == 0;
    if (together(active,
                 solid & (step != 0) & (step % 4 == 0) & (low == start + (lane_of_warp() - first) * step))) {
      apart.leaders = active;
      const uint32_t banks = 5 - first_of(step >> 2 | 32);  // that the lanes meet, log2
      apart.facts = shared_facts(count, count, (count + (1u << banks) - 1) >> banks, 1);
      return apart;
    }
  }
  uint32_t before, words;
  if (are_ordered<kWhole>(active, low, &before)) {
    words = starts_of(active, (low ^ before) >> 2 != 0);
    apart.leaders = starts_of(active, low != before);
    apart.highest = end_of(active, apart.leaders);
  } else {
    uint32_t same = __match_any_sync(active, low >> 2);
    words = apart.leaders = __ballot_sync(active, lane_of_warp() == first_of(same));
    if (words != active) {
      if ((word<kSitesOffset + 4>(site) & 7) < 2) {
        same = __match_any_sync(active, low >> (word<kSitesOffset + 4>(site) & 7));
        apart.leaders = __ballot_sync(active, lane_of_warp() == first_of(same));
      }
      apart.highest = highest_of(same);
    }
  }
  uint32_t wavefronts = 1;
  // Words that lie within as many as there are banks do not meet in one.
  if (!together(active, (low >> 2) - (__shfl_sync(active, low, first_of(active)) >> 2) < 32)) {
    const uint32_t rivals = __match_any_sync(active, low >> 2 & 31) & words;
    const bool chosen = words >> lane_of_warp() & 1;
    wavefronts = most_of(active, chosen ? __popc(rivals & below(lane_of_warp())) : 0) + 1;
  }
  apart.facts = shared_facts(__popc(active), __popc(words), wavefronts, 1);
  return apart;
}

// Of what is left of an access: it is to be counted only.
constexpr uint64_t kUncounted = uint64_t{1} << 63;

// What an access came out as: the edge of this lane, and what all did as in the key of a node.
struct Result {
  uint32_t edge, facts;
};

// An access like a usual one, of lanes that lie anywhere, each of which accesses one unit. `where`: the lower
// half of the address, above it the page of global memory.
template <Space kSpace, bool kWhole>
CUVEIN_FAST Result analyse_apart(uint64_t site, uint64_t where, uint32_t active) {
  const uint32_t low = static_cast<uint32_t>(where);
  const Apart apart = kSpace == Space::kGlobal ? spread_units<kWhole>(site, active, low)
                                               : spread_words<kWhole>(site, active, low);
  const uint32_t facts = apart.facts;
  uint32_t edge;
  if ((apart.leaders >> lane_of_warp() & 1) != 0) {
    const uint32_t shifts = word<kSitesOffset + 4>(site);
    uint64_t entry;
    if (kSpace == Space::kGlobal) {
      entry = (where >> 32 << kPageShift) + (low >> (shifts & 7) & ((1u << kPageEntriesBits) - 1)) * 8;
    } else {
      const Pair shadow = pair<kResidentsOffset + 16>(resident_address(site));
      entry = wide(shadow.x, shadow.y) + (low >> (shifts & 7)) * 8;
    }
    const uint32_t tag = kSpace == Space::kGlobal ? word<kSitesOffset + 8>(site) : 0;
    const uint64_t mine = own_part(data_of_site(site), shifts, tag) | word<kSitesOffset + 12>(site);
    const uint64_t before = atomicExch(in_global<unsigned long long>(entry),
                                       static_cast<unsigned long long>(mine | apart.highest));
    edge = compare_usual<kSpace>(shifts, before, mine | lane_of_warp());
  } else {
    edge = edge_of_others(site);
  }
  __syncwarp(active);
  return {edge, facts};
}

// Whether a lane's access is one unit, in a launch without clusters and copies; in shared memory no more than
// a word.
template <Space kSpace>
CUVEIN_FAST bool has_own_units(uint64_t site) {
  const uint32_t shifts = word<kSitesOffset + 4>(site);
  return ((shifts & (1u << 31 | 7 << 3)) == 0) & (kSpace == Space::kGlobal || (shifts & 7) <= 2);
}

// What a usual access came out as for which its site has no way left, or whose lanes came out differently.
// False: that is not for here.
template <Space kSpace, bool kWhole>
CUVEIN_FAST bool result_of(uint64_t site, uint32_t lanes, uint64_t outcome, Result* result) {
  uint32_t active = kWhole ? ~0u : lanes;
  const uint32_t facts = static_cast<uint32_t>(outcome) & ((1u << kEdgeShift) - 1);
  uint32_t edge = static_cast<uint32_t>(outcome >> kEdgeShift & kEdgeMask);
  const bool one = ((facts >> kAddressesShift ^ facts) & 31) != 0;
  // Of one place, as many lanes compared as it has units.
  const uint32_t number = one ? lane_of_warp() - first_of(active) : 0;
  const uint32_t of_first = __shfl_sync(active, edge, first_of(active));
  again_lanes<kWhole>(&active), again(&site);
  const bool idle = number >> (word<kSitesOffset + 4>(site) >> 3 & 7) != 0;
  if (together(active, idle | (edge == of_first))) {
    // Ways of the site are taken in turn.
    const bool taken =
        word<kSitesOffset + 32 + kSiteWays * 8 - 4>(site) >> (kTagShift - 32) == tag_at_site(site);
    if (!together(active, taken)) return false;
  } else if (one) {
    return false;
  }
  if (number != 0) edge = edge_of_others(site);
  *result = {edge, facts_at_site(site, facts, kSpace == Space::kGlobal)};
  return true;
}

// What is left of a usual access, see analyse_usual(), as far as it goes without a call; and what then.
template <Space kSpace, bool kWhole>
CUVEIN_FAST Further go_further(uint64_t site, uint32_t lanes, uint64_t rest, Left left) {
  uint32_t active = kWhole ? ~0u : lanes;
  Further further{rest, 0, 0, static_cast<uint32_t>(left)};
  Result result;
  if (left == Left::kScattered && has_own_units<kSpace>(site)) {
    result = analyse_apart<kSpace, kWhole>(site, rest, active);
  } else if (left == Left::kScattered) {
    if ((word<kSitesOffset + 4>(site) >> 3 & 7) != 0) further.left |= kToExchange;
    return further;
  } else if (left != Left::kCounts || !result_of<kSpace, kWhole>(site, active, rest, &result)) {
    return further;
  }
  again_lanes<kWhole>(&active), again(&site);
  const bool counted = count_ways<kWhole>(site, active, result.edge, result.facts);
  further.rest = counted ? 0 : kUncounted | wide(result.edge, result.facts);
  further.left = static_cast<uint32_t>(counted ? Left::kNothing : Left::kScattered);
  return further;
}
template <Space kSpace>
CUVEIN_SLOW Further go_further_slow(uint64_t site, uint64_t rest, uint32_t active, uint32_t left) {
  const Further further = go_further<kSpace, false>(site, active, rest, static_cast<Left>(left));
  if ((further.left & kToExchange) == 0) return further;
  const Further exchanged = exchange_several<kSpace, false>(site, active, rest);
  return (exchanged.left & kToCount) == 0 ? exchanged : count_tasks<false>(site, active, exchanged.rest);
}

// What is left after that.
template <Space kSpace>
CUVEIN_FAST void finish_rest(uint64_t address_of_site, uint64_t rest, uint32_t active, uint32_t what,
                             uint32_t left) {
  constexpr bool kGlobal = kSpace == Space::kGlobal;
  const uint64_t data = data_of_site(address_of_site);
  const uint32_t site = site_number(address_of_site);
  if (static_cast<Left>(left & 3) == Left::kCounts) {
    // Of one place, as many lanes compared as it has units.
    const uint32_t facts = static_cast<uint32_t>(rest);
    const bool one = ((facts >> kAddressesShift ^ facts) & 31) != 0;
    const uint32_t units = 1u << (word<kSitesOffset + 4>(address_of_site) >> 3 & 7);
    count_apart(data, active, site, rest, one ? ((1u << units) - 1) << first_of(active) : active, kGlobal);
  } else if (together(active, (rest & kUncounted) != 0)) {
    count_first(data, active, site, static_cast<uint32_t>(rest),
                static_cast<uint32_t>(rest >> 32) & (kOfFacts - 1));
  } else if (together(active, (left & kMoreWays) != 0)) {
    finish_tasks(address_of_site, rest, active, what >> kTaskAt & 7);
  } else if (active == ~0u) {
    analyse_wide_warp<kSpace>(address_of_site, rest);
  } else {
    analyse_wide_lanes<kSpace>(address_of_site, rest, active, 0);
  }
}

// All that is left of a usual access.
template <Space kSpace>
CUVEIN_FAST void finish_usual(uint64_t site, uint64_t rest, uint32_t active, Left left) {
  const Further further = go_further_slow<kSpace>(site, rest, active, static_cast<uint32_t>(left));
  if ((further.left & kMoreEdges) != 0)
    finish_edges(site, further.rest, further.entry, active, further.what, further.left);
  else if (further.left != static_cast<uint32_t>(Left::kNothing))
    finish_rest<kSpace>(site, further.rest, active, further.what, further.left);
}

}  // namespace gpu
}  // namespace cuvein
