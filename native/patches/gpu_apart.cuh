// Accesses of which all is known, of lanes that lie anywhere or come out differently: what they did as a
// whole and the edges of their lanes are counted apart.
#pragma once

#include "patches/gpu_usual.cuh"

namespace cuvein {
namespace gpu {

// Whether all lanes have a unit of their own; seen only of lanes that are exchanged for one another (with
// their neighbours, for instance), or in falling order.
CUVEIN_FAST bool are_apart(uint32_t active, uint32_t unit) {
  const uint32_t lane = lane_of_warp(), first = first_of(active);
  const uint32_t start = __shfl_sync(active, unit, first);
  return together(active, (unit ^ lane) == (start ^ first)) || together(active, unit + lane == start + first);
}

// How the lanes of a global access lie: the lowest at their units, the highest at this lane's; the facts.
template <bool kWhole>
CUVEIN_FAST uint32_t spread_units(uint64_t site, uint32_t active, uint32_t low, uint32_t* leaders,
                                  uint32_t* highest) {
  // Where all lanes have a sector of their own, they have an address of their own too.
  uint32_t same = __match_any_sync(active, low >> 5);
  *leaders = __ballot_sync(active, lane_of_warp() == first_of(same));
  const uint32_t facts = (__popc(*leaders) - 1) << kExtraShift | (__popc(active) - 1);
  if (*leaders != active) {
    const uint32_t unit = low >> (word<kSitesOffset + 4>(site) & 7);
    if (are_apart(active, unit)) {
      *leaders = active;
    } else {
      same = __match_any_sync(active, unit);
      *leaders = __ballot_sync(active, lane_of_warp() == first_of(same));
      *highest = highest_of(same);
    }
  }
  return facts | (__popc(*leaders) - 1) << kAddressesShift;
}

// The same in shared memory, of lanes that access a word or a part of it.
template <bool kWhole>
CUVEIN_FAST uint32_t spread_words(uint64_t site, uint32_t active, uint32_t low, uint32_t* leaders,
                                  uint32_t* highest) {
  const uint32_t lane = lane_of_warp(), first = first_of(active), count = __popc(active);
  {
    // Lanes without a gap, whole words apart, all by the same: a column of a matrix.
    const uint32_t start = __shfl_sync(active, low, first);
    const uint32_t step = __shfl_sync(active, low, count > 1 ? first + 1 : first) - start;
    const bool solid = (active + (1u << first) & active) == 0;
    if (together(active, solid & (step != 0) & (step % 4 == 0) & (low == start + (lane - first) * step))) {
      *leaders = active;
      const uint32_t banks_shift = first_of(step >> 2 | 32);  // of 32 banks, lanes meet each 2^this-th
      const uint32_t wavefronts = (count + (32u >> banks_shift) - 1) >> (5 - banks_shift);
      return shared_facts(count, count, wavefronts, 1);
    }
  }
  uint32_t same = __match_any_sync(active, low >> 2);
  const uint32_t words = __ballot_sync(active, lane == first_of(same));
  const bool chosen = words >> lane & 1;
  *leaders = words;
  if (words != active) {
    if ((word<kSitesOffset + 4>(site) & 7) < 2) {
      same = __match_any_sync(active, low >> (word<kSitesOffset + 4>(site) & 7));
      *leaders = __ballot_sync(active, lane == first_of(same));
    }
    *highest = highest_of(same);
  }
  uint32_t wavefronts = 1;
  // Words that lie within as many as there are banks do not meet in one.
  if (!together(active, (low >> 2) - (__shfl_sync(active, low, first) >> 2) < 32)) {
    const uint32_t rivals = __match_any_sync(active, low >> 2 & 31) & words;
    wavefronts = most_of(active, chosen ? __popc(rivals & below(lane)) : 0) + 1;
  }
  return shared_facts(count, __popc(words), wavefronts, 1);
}

constexpr uint64_t kUncounted = uint64_t{1} << 63;

// An access like a usual one, of lanes that lie anywhere, each of which accesses one unit. `where`: the lower
// half of the address, above it the page of global memory.
// What is left of it: nothing, or kUncounted and to count_first() the facts and the edge.
template <Space kSpace, bool kWhole>
CUVEIN_FAST uint64_t analyse_apart(uint64_t site, uint64_t where, uint32_t lanes) {
  uint32_t active = kWhole ? ~0u : lanes, leaders, highest = lane_of_warp();
  const uint32_t facts =
      kSpace == Space::kGlobal
          ? spread_units<kWhole>(site, active, static_cast<uint32_t>(where), &leaders, &highest)
          : spread_words<kWhole>(site, active, static_cast<uint32_t>(where), &leaders, &highest);
  uint32_t edge;
  if ((leaders >> lane_of_warp() & 1) != 0) {
    const uint32_t shifts = word<kSitesOffset + 4>(site);
    uint64_t entry;
    if (kSpace == Space::kGlobal) {
      entry = (where >> 32 << kPageShift) +
              ((static_cast<uint32_t>(where) >> (shifts & 7)) & ((1u << kPageEntriesBits) - 1)) * 8;
    } else {
      const Pair shadow = pair<kResidentsOffset + 16>(resident_address(site));
      entry = wide(shadow.x, shadow.y) + (static_cast<uint32_t>(where) >> (shifts & 7)) * 8;
    }
    const Pair own = pair<kResidentsOffset>(resident_address(site));
    const uint64_t mine = wide(own.x | word<kSitesOffset + 12>(site), own.y);
    const uint64_t before =
        atomicExch(in_global<unsigned long long>(entry), static_cast<unsigned long long>(mine | highest));
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
