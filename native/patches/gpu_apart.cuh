// Accesses of which all is known, of lanes that lie anywhere or come out differently: what they did as a
// whole and the edges of their lanes are counted apart.
#pragma once

#include "patches/gpu_usual.cuh"

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

// What is left of an access: to count it, or all of it.
constexpr uint64_t kUncounted = uint64_t{1} << 63, kElsewhere = uint64_t{1} << 62;

// An access like a usual one, of lanes that lie anywhere, each of which accesses one unit. `where`: the lower
// half of the address, above it the page of global memory.
// What is left of it: nothing, or kUncounted and to count_first() the facts and the edge.
template <Space kSpace, bool kWhole>
CUVEIN_FAST uint64_t analyse_apart(uint64_t site, uint64_t where, uint32_t lanes) {
  uint32_t active = kWhole ? ~0u : lanes;
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
  again_lanes<kWhole>(&active), again(&site);
  __syncwarp(active);
  return count_ways<kWhole>(site, active, edge, facts) ? 0 : kUncounted | wide(edge, facts);
}
CUVEIN_FAST void count_rest(uint64_t site, uint64_t rest, uint32_t active) {
  count_first(data_of_site(site), active, site_number(site), static_cast<uint32_t>(rest),
              static_cast<uint32_t>(rest >> 32) & (kOfFacts - 1));
}
template <Space kSpace>
CUVEIN_SLOW void analyse_apart_lanes(uint64_t site, uint64_t where, uint32_t active) {
  const uint64_t rest = analyse_apart<kSpace, false>(site, where, active);
  if (__ballot_sync(active, rest != 0) != 0) count_rest(site, rest, active);
}

// Whether a lane's access is one unit, in a launch without clusters and copies; in shared memory no more than
// a word.
template <Space kSpace>
CUVEIN_FAST bool has_own_units(uint64_t site) {
  const uint32_t shifts = word<kSitesOffset + 4>(site);
  return ((shifts & (1u << 31 | 7 << 3)) == 0) & (kSpace == Space::kGlobal || (shifts & 7) <= 2);
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
    count_apart(data, active, site, rest, one ? ((1u << units) - 1) << first_of(active) : active,
                kSpace == Space::kGlobal);
    return;
  }
  if (has_own_units<kSpace>(address_of_site)) {
    analyse_apart_lanes<kSpace>(address_of_site, rest, active);
    return;
  }
  uint64_t address = static_cast<uint32_t>(rest);
  if (kSpace == Space::kGlobal) {
    const Pair first = pair<kSitesOffset + 24>(address_of_site);
    address = wide(first.x, first.y) + (static_cast<uint32_t>(rest) - first.x);
  }
  analyse_scattered(data, address, active, site, kSpace == Space::kGlobal);
}

}  // namespace gpu
}  // namespace cuvein
