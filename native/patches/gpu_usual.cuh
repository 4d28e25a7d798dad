// The usual access: lanes without a gap that touch one place, or places side by side. What is known of its
// instruction stands in a site, what is known of its warp in a resident. Whatever is not usual goes the long
// way of gpu_access.cuh, which also makes sites and residents.
#pragma once

#include "patches/gpu_site.cuh"

namespace cuvein {
namespace gpu {

// What is left to do of an access.
enum class Left : uint32_t { kAll, kScattered, kCounts, kNothing };

// The short way is written for the few registers of a callback, of which 14 need not be saved first: what is
// put on the stack costs more than all that is computed. So what is loaded is looked at at once, and loaded
// or computed again rather than kept, and branches stand where the compiler is not to be ahead of itself.

template <Space kSpace>
CUVEIN_FAST uint64_t known_address(uint64_t data, uint32_t where) {
  uint32_t site =
      site_of_instruction<kSpace>(where >> 4, family_of(data)) * static_cast<uint32_t>(sizeof(Site));
  // Else the compiler puts one value more on the stack; of shared memory it does so with this.
  if (kSpace == Space::kGlobal) again(&site);
  return base_of(data) + site;
}

// Whether this warp's resident is remembered.
CUVEIN_FAST bool is_resident(uint64_t data, uint32_t active) {
  const Pair own = pair<kResidentsOffset + 8>(resident_address(data));
  if (!together(active, own.x == (tag_of(data) | warp_of_block() << kWarpShift))) return false;
  return together(active, own.y == static_cast<uint32_t>(block_of_grid()));
}

// A site's shifts of an access to global memory, as it is analysed: what is for barriers and for shared
// memory gives way to what is of the launch, where there are no residents: 1 at 28, and the generation 6
// at 22.
constexpr uint32_t kOfLaunch = 0xffu << 22, kNoResidentShift = 28, kGenerationAt = 22;

// Whether the launch has warps at this multiprocessor, and the generation.
CUVEIN_FAST bool is_launch(uint64_t data, uint32_t* shifts) {
  const Quad stamp = quad<kStampsOffset>(stamp_address(data));
  *shifts |= stamp.w >> (kGenerationShift - 32) << kGenerationAt;
  return stamp.x == tag_of(data);
}

// Whether the site is that of the instruction; in shared memory, whether the address is within the block's,
// too.
template <Space kSpace>
CUVEIN_FAST bool is_site(uint64_t data, uint64_t site, uint32_t where, uint32_t low, uint32_t* shifts) {
  const Quad head = quad<kSitesOffset>(site);
  *shifts = head.y;
  if (kSpace == Space::kGlobal) {
    *shifts = (head.y & ~kOfLaunch) | (kFollowsOrder ? 0 : (head.z & kNoResident) >> 3);
    return (head.x == where) & (family_of_tag(head.z) == family_of(data));
  }
  return (head.x == where) & (family_of_tag(head.z) == family_of(data)) &
         (low < head.z >> kExtentShift << kSharedExtent);
}

// Whether a global access lies in the window of its site, and where its page is.
CUVEIN_FAST bool is_in_window(uint64_t data, uint64_t site, uint64_t address, uint32_t shifts,
                              uint32_t* page) {
  bool known;
  {
    const Quad window = quad<kSitesOffset + 16>(site);
    known = (window.x == family_of(data)) & (address - wide(window.z, window.w) < window.y);
  }
  again(&data);
  const uint64_t key = directory_key(address, shifts & 7);
  const Pair found =
      pair<kDirectoryOffset>(base_of(data) + (mix_page(key) & ((1u << kDirectoryBits) - 1)) * 8);
  *page = found.x & static_cast<uint32_t>(kPageNumberMask);
  return known & (wide(found.x, found.y) >> kDirectoryShift == key) & (*page != 0);
}

// Edge key of a unit, as compare() and compare_shared() have it, without branches and without clusters.
template <Space kSpace>
CUVEIN_FAST uint32_t compare_usual(uint32_t shifts, uint64_t before, uint64_t now) {
  // One after the other, which needs the fewest registers.
  const bool other_block = (before ^ now) >> (shifts >> 6 & 63) != 0;
  again(&shifts);
  const uint32_t pc_bits = shifts >> 17 & 31;
  const uint32_t lanes =
      (static_cast<uint32_t>(before) ^ static_cast<uint32_t>(now)) & ((1u << kInstructionShift) - 1);
  const bool in_warp = lanes < kWarpLanes;
  // Barriers, and within the warp its syncs. What stands above them is the same, where it matters.
  const uint32_t shift = kInstructionShift + pc_bits + (in_warp ? 0 : shifts >> 12 & 31);
  const bool unordered = static_cast<uint32_t>(before >> shift) >= static_cast<uint32_t>(now >> shift);
  uint32_t label = static_cast<uint32_t>(in_warp ? Label::kWarpDiffInst : Label::kBlock) << 1 |
                   static_cast<uint32_t>(unordered);
  if (lanes == 0) label = static_cast<uint32_t>(Label::kThread) << 1;
  if (kSpace == Space::kGlobal && other_block) label = static_cast<uint32_t>(Label::kGrid) << 1;
  const uint32_t key =
      ((static_cast<uint32_t>(before >> kInstructionShift) & ((1u << pc_bits) - 1)) + 1) << 4 | label;
  return (kSpace == Space::kShared ? other_block : (before ^ now) >> kGenerationShift != 0) ? 0 : key;
}

template <bool kWhole>
CUVEIN_FAST void again_lanes(uint32_t* active) {
  if (!kWhole) again(active);
}

// Counts the outcome at the site, if all lanes have it that are not idle and there is a way for it.
template <bool kWhole>
CUVEIN_FAST bool count_way(uint64_t site, uint32_t active, bool idle, uint64_t key) {
  uint64_t counts = site;
  const Quad ways = quad<kSitesOffset + 32>(counts);
  if (!together(active, idle | (key == wide(ways.x, ways.y)))) {
    counts += 8;
    if (!together(active, idle | (key == wide(ways.z, ways.w)))) {
      counts += 8;
      const Quad others = quad<kSitesOffset + 32>(counts);
      if (!together(active, idle | (key == wide(others.x, others.y)))) {
        counts += 8;
        if (!together(active, idle | (key == wide(others.z, others.w)))) return false;
      }
    }
  }
  again_lanes<kWhole>(&active);
  if (lane_of_warp() == first_of(active)) count_one<kCountsOffset>(counts + count_set());
  return true;
}

// The userdata: the launch is the one that has the engine.
CUVEIN_FAST uint64_t data_of_site(uint64_t site) {
  return base_of(site) | kGpuCandidate | (word<kEngineOffset + offsetof(Engine, owner)>(base_of(site)) - 1) |
         static_cast<uint64_t>(family_of_tag(word<kSitesOffset + 8>(site))) << kFamilyShift;
}
CUVEIN_FAST uint32_t site_number(uint64_t site) {
  return static_cast<uint32_t>(site - base_of(site)) / static_cast<uint32_t>(sizeof(Site));
}

// One access of which everything is known, if it is usual. The same is left for all lanes. `site` is the
// address of the site. `rest`: in, the lower half of the address; out, the same or the outcome.
// kWhole: all lanes of the warp are active, as is most usual, which spares much.
template <Space kSpace, bool kWhole>
CUVEIN_FAST Left analyse_usual(uint64_t site, uint32_t lanes, uint32_t low, uint32_t shifts, uint32_t page,
                               uint64_t* rest) {
  constexpr bool kGlobal = kSpace == Space::kGlobal;
  uint32_t active = kWhole ? ~0u : lanes, facts;
  {
    // Places side by side, or one. In the window the lower half of addresses tells them apart.
    const uint32_t start = __shfl_sync(active, low, first_of(active));
    again_lanes<kWhole>(&active), again(&shifts);
    uint32_t stride = 1u << ((shifts & 7) + (shifts >> 3 & 7)), one = 0;
    // Lanes without a gap, of a launch without copies.
    bool solid = (((active + (active & (0 - active))) & active) == 0) & (shifts >> 31 == 0);
    // Of how few lanes a wide load is served together is not for here.
    if (!kGlobal) solid = solid & ((active == ~0u) | ((shifts >> 27 & 3) == 2));
    const uint32_t distance = (lane_of_warp() - first_of(active)) * stride;
    if (!together(active, solid & ((shifts >> 3 & 7) == 0) & (low == start + distance))) {
      stride = 0;
      one = 1;
      const uint32_t reach = highest_of(active) - first_of(active);
      if (!together(active, solid & (low == start) & (reach >> (shifts >> 3 & 7) != 0))) {
        *rest = wide(low, page);
        return Left::kScattered;
      }
    }
    again_lanes<kWhole>(&active), again(&shifts);
    const uint32_t more = highest_of(active) - first_of(active);  // lanes
    uint32_t extra;
    if (kGlobal) {
      extra = (start % 32 + more * stride + (one == 0 ? stride - 1 : 0)) >> 5;
    } else {
      // Wide loads of one place by all lanes are served twice as many together.
      const uint32_t group_shift = 3 + (shifts >> 27 & 3) + (one & shifts >> 29);
      extra = (highest_of(active) >> group_shift) - (first_of(active) >> group_shift);
      if ((shifts >> 30 & 1) != 0) extra = ((start & 3) + more * stride) >> 2;
    }
    facts = extra << kExtraShift | (one == 0 ? more << kAddressesShift : 0) | more;
  }
  again_lanes<kWhole>(&active), again(&shifts), again(&facts);

  // Of one place, as many lanes as it has units.
  const bool idle = (((facts >> kAddressesShift ^ facts) & 31) != 0) &
                    ((lane_of_warp() - first_of(active)) >> (shifts >> 3 & 7) != 0);
  uint32_t edge = 0;
  if (!idle) {
    const bool one = ((facts >> kAddressesShift ^ facts) & 31) != 0;
    uint64_t entry;
    if (kGlobal) {
      entry = (static_cast<uint64_t>(page) << kPageShift) +
              ((low >> (shifts & 7)) & ((1u << kPageEntriesBits) - 1)) * 8;
    } else {
      const Pair shadow = pair<kResidentsOffset + 16>(resident_address(site));
      entry = wide(shadow.x, shadow.y) + (low >> (shifts & 7)) * 8;
    }
    if (one) entry += (lane_of_warp() - first_of(active)) * 8;
    again_lanes<kWhole>(&active), again(&site);
    uint64_t mine;
    if (kGlobal && (shifts >> kNoResidentShift & 1) != 0) {
      mine = own_part_of(shifts, shifts >> kGenerationAt & ((1u << (64 - kGenerationShift)) - 1));
    } else {
      const Pair own = pair<kResidentsOffset>(resident_address(site));
      mine = wide(own.x, own.y);
    }
    mine |= word<kSitesOffset + 12>(site);
    const uint64_t before =
        atomicExch(in_global<unsigned long long>(entry),
                   static_cast<unsigned long long>(mine | (one ? highest_of(active) : lane_of_warp())));
    again_lanes<kWhole>(&active), again(&shifts);
    edge = compare_usual<kSpace>(shifts, before, mine | (one ? first_of(active) : lane_of_warp()));
  }
  again_lanes<kWhole>(&active), again(&site);
  const uint64_t key = outcome(word<kSitesOffset + 8>(site) & ((1u << kExtentShift) - 1), edge, facts);
  *rest = key;  // in any case: what was there need not be kept
  return count_way<kWhole>(site, active, idle, key) ? Left::kNothing : Left::kCounts;
}

// Whether all is known of an access of a launch that may be on the GPU engine. `handle`: in, the userdata;
// out, the same or the address of the site.
template <Space kSpace, bool kWhole>
CUVEIN_FAST bool find_site(uint64_t* handle, uint32_t lanes, uint32_t where, uint64_t address,
                           uint32_t* shifts, uint32_t* page) {
  uint64_t data = *handle;
  const uint32_t active = kWhole ? ~0u : lanes;
  *page = 0;
  if ((data & (kGpuCandidate | kReplay)) != kGpuCandidate) return false;
  if (kSpace == Space::kShared && !is_resident(data, active)) return false;
  const uint64_t site = known_address<kSpace>(data, where);
  if (!together(active, is_site<kSpace>(data, site, where, static_cast<uint32_t>(address), shifts)))
    return false;
  if (kSpace == Space::kGlobal) {
    again(&data);
    if ((*shifts >> kNoResidentShift & 1) != 0) {
      if (!together(active, is_launch(data, shifts))) return false;
    } else if (!is_resident(data, active)) {
      return false;
    }
    again(&data);
  }
  if (kSpace == Space::kGlobal) {
    again(&where);
    if (!together(active, is_in_window(data, known_address<kSpace>(data, where), address, *shifts, page)))
      return false;
  }
  // Computed again, which costs less than to keep it.
  if (kSpace == Space::kGlobal) again(&data), again(&where);
  *handle = known_address<kSpace>(data, where);
  return true;
}

// The short way.
template <Space kSpace, bool kWhole>
CUVEIN_FAST Left analyse_known(uint64_t* handle, uint32_t lanes, uint32_t where, uint64_t* rest) {
  uint32_t shifts, page;
  if (!find_site<kSpace, kWhole>(handle, lanes, where, *rest, &shifts, &page)) return Left::kAll;
  return analyse_usual<kSpace, kWhole>(*handle, lanes, static_cast<uint32_t>(*rest), shifts, page, rest);
}

}  // namespace gpu
}  // namespace cuvein
