// What is known of an instruction stands in a site, so that nothing has to be found out: how a site is made,
// how outcomes are counted at it, and accesses of lanes that lie anywhere.
#pragma once

#include "patches/gpu_units.cuh"

namespace cuvein {
namespace gpu {

// A shared access finds in the tag, too, whether it is within its block's memory.
CUVEIN_FAST uint32_t tag_of_site(const Group& group, Space space, uint32_t extent) {
  const uint32_t more = space == Space::kShared           ? extent >> kSharedExtent << kExtentShift
                        : has_no_resident(*group.state()) ? kNoResident
                                                          : 0;
  return family_of(group.data) | more;
}

// Whether a site of this family can be made where there is one with that tag.
CUVEIN_FAST bool makes_way(uint32_t tag, uint32_t family) {
  return family != 0 && family_of_tag(tag) != family && family_of_tag(tag) != kBeingMade;
}

// Sites of barriers are told from those of accesses by this, in `where`.
constexpr uint32_t kBarrierSite = 8;
CUVEIN_FAST uint32_t where_of(const State& state, uint64_t node) {
  const bool barrier = static_cast<Count>(node >> 60) == Count::kBarrier;
  return state.pc_base + (instruction_of(node) << 4) +
         (barrier ? kBarrierSite : static_cast<uint32_t>(node >> 55 & 3));
}

// Remembers what is known of an instruction where `before` is the tag of its site, which makes way. The
// window from `first` holds every byte of one allocation. One lane; whether it has done so. (No more
// arguments than registers, see gpu_group.cuh.)
CUVEIN_SLOW bool make_site(Group group, uint64_t node, uint64_t first, uint32_t before, uint32_t extent) {
  const State& state = *group.state();
  const uint32_t family = family_of(group.data), where = where_of(state, node);
  const uint32_t number = site_of(where, family);
  Site* site = site_at(group.data, number);
  const uint32_t tag = tag_of_site(group, static_cast<Space>(node >> 55 & 3), extent);
  if (atomicCAS(&site->tag, before, kBeingMade) != before) return false;
  const uint32_t unit_shift =
      static_cast<Space>(node >> 55 & 3) == Space::kGlobal ? state.global_shift : state.shared_shift;
  publish(site_node(group.data, number), node);
  const uint32_t size_shift = static_cast<uint32_t>(node >> 57) & 7;
  const uint32_t together = size_shift <= 2 ? 2 : size_shift == 3 ? 1 : 0;
  const bool read = static_cast<AccessType>(node >> 53 & 3) == AccessType::kRead;
  // Copies leave their mark in shared memory only.
  const bool flagged = state.cluster_bits != 0 ||
                       (state.copy_flag != 0 && static_cast<Space>(node >> 55 & 3) == Space::kShared);
  const uint32_t shifts = (flagged ? 1u << 31 : 0) | (size_shift < 2 ? 1u << 30 : 0) |
                          (read && together < 2 ? 1u << 29 : 0) | together << 27 |
                          static_cast<uint32_t>(__popc(state.clock_mask)) << 22 |
                          bits_for(state.pc_limit) << 17 | state.event_bits << 12 | state.block_shift << 6 |
                          (size_shift - unit_shift & 7) << 3 | unit_shift;
  publish_quad(site, where, shifts, kBeingMade, instruction_of(node) << kInstructionShift);
  publish_quad(&site->tag_of_window, family, extent, static_cast<uint32_t>(first),
               static_cast<uint32_t>(first >> 32));
#pragma unroll
  for (uint32_t way = 0; way < kSiteWays; way += 2) publish_quad(site->keys + way, 0, 0, 0, 0);
  keep_site(group.data, number);
  __threadfence();
  publish(&site->tag, tag);
  return true;
}
CUVEIN_FAST Quad head_of_site(uint64_t data, uint32_t number) {
  return fetch(reinterpret_cast<const Quad*>(site_at(data, number)));
}
// The site of a barrier. One that is there was not seen for an old copy in the multiprocessor's cache;
// storing what is there anyway renews it. One lane.
CUVEIN_FAST void make_barrier_site(const Group& group, uint64_t node) {
  const uint32_t family = family_of(group.data), where = where_of(*group.state(), node);
  const uint32_t number = site_of(where, family);
  const Quad head = head_of_site(group.data, number);
  if (head.x == where && head.z == family)
    publish(&site_at(group.data, number)->tag, family);
  else if (makes_way(head.z, family))
    make_site(group, node, 0, head.z, 0);
}

CUVEIN_FAST uint32_t tag_of(uint64_t data) { return static_cast<uint32_t>(data & kSlotMask) + 1; }

// What stands in shadow entries of a warp without a resident.
CUVEIN_FAST uint64_t own_part_of(uint32_t shifts, uint32_t generation) {
  const uint64_t block = static_cast<uint32_t>(block_of_grid());
  return block << (shifts >> 6 & 63) | static_cast<uint64_t>(generation) << kGenerationShift |
         warp_of_block() << 5;
}

// What stands in them of this warp. `tag`: of a site of global memory; 0 for shared memory.
CUVEIN_FAST uint64_t own_part(uint64_t data, uint32_t shifts, uint32_t tag) {
  if ((tag & kNoResident) != 0 && !kFollowsOrder)
    return own_part_of(shifts, pair<kStatesOffset + 8>(state_address(data)).y >> (kGenerationShift - 32));
  const Pair own = pair<kResidentsOffset>(resident_address(data));
  return wide(own.x, own.y);
}

// Counts an outcome of all lanes at the site; false: there is no way for it left. One lane.
CUVEIN_SLOW bool take_outcome(uint64_t data, uint32_t site, uint64_t outcome) {
  const unsigned long long key = outcome;
  // Where all are taken, the outcome is none of them.
  uint32_t way = kSiteWays;
  for (uint32_t i = 0; i < kSiteWays; ++i)
    if (site_at(data, site)->keys[i] == 0) way = 0;
  for (; way < kSiteWays; ++way) {
    unsigned long long found = fresh(&site_at(data, site)->keys[way]);
    if (found == 0) found = atomicCAS(&site_at(data, site)->keys[way], 0ull, key);
    if (found == 0 || found == key) break;
  }
  if (way == kSiteWays) return false;
  publish(&site_at(data, site)->keys[way], key);  // renews an old copy in the multiprocessor's cache
  count_one<kCountsOffset>(site_address(data, site) + count_set() + way * 8);
  return true;
}

// The edge of lanes that met others of their instruction.
CUVEIN_FAST uint32_t edge_of_others(uint64_t site) {
  return edge_key((word<kSitesOffset + 12>(site) >> kInstructionShift) + 1, Label::kWarpSameInst, false);
}

// Facts as in the key of a node, from brief ones.
CUVEIN_FAST uint32_t facts_at_site(uint64_t site, uint32_t facts, bool global) {
  if (global) return facts;
  const uint32_t shifts = word<kSitesOffset + 4>(site), size_shift = (shifts & 7) + (shifts >> 3 & 7);
  const uint32_t addresses = (facts >> kAddressesShift & 31) + 1, extra = (facts >> kExtraShift) + 1;
  const uint32_t ideal = size_shift < 2 ? 1 : extra;
  return shared_facts((facts & 31) + 1, size_shift < 2 ? extra : addresses << (size_shift - 2), ideal, ideal);
}

// Of one lane, units of which are on several edges: their bytes, and the lane once for each edge, ordered or
// not.
CUVEIN_SLOW void count_units(uint64_t data, uint32_t active, uint32_t site, uint32_t edge,
                             uint32_t compared) {
  const Group group{data, active, lane_of_warp()};
  const uint64_t node = fresh(site_node(data, site));
  const uint32_t copy = copy_of(*group.state());
  const uint32_t bytes = (1u << (node >> 57 & 7)) / __popc(compared);
  const bool mine = compared >> group.lane & 1;
  const uint32_t alike = __match_any_sync(active, edge) & compared;
  if (mine && group.lane == static_cast<uint32_t>(__ffs(alike)) - 1)
    add(group, copy, edge_of(node, edge, Count::kBytes), bytes * __popc(alike));
  __syncwarp(active);
  const uint32_t near = __match_any_sync(active, edge >> 1) & compared;
  if (mine && group.lane == static_cast<uint32_t>(__ffs(near)) - 1)
    add(group, copy, edge_of(node, edge & ~1u, Count::kPartLanes), 1);
  __syncwarp(active);
}

// Counts where not all lanes that compared are alike, or where there is no way for the outcome yet:
// `compared` are the lanes that did.
CUVEIN_SLOW void count_apart(uint64_t data, uint32_t active, uint32_t site, uint64_t outcome,
                             uint32_t compared, bool global) {
  const uint32_t facts = static_cast<uint32_t>(outcome) & ((1u << kEdgeShift) - 1);
  uint32_t edge = static_cast<uint32_t>(outcome >> kEdgeShift & kEdgeMask);
  const uint32_t first = first_of(active), of_first = __shfl_sync(active, edge, first);
  const bool alike = __all_sync(active, (compared >> lane_of_warp() & 1) == 0 || edge == of_first);
  if (alike && __ballot_sync(active, lane_of_warp() == first && take_outcome(data, site, outcome)) != 0)
    return;
  // Did each compare for an address of its own, or all for that of the first?
  const bool own = static_cast<uint32_t>(__popc(compared)) == (facts >> kAddressesShift & 31) + 1;
  if (!own && !alike) {
    count_units(data, active, site, edge, compared);
    edge = kNoEdge;
  }
  if (((own ? compared : 1u << first) >> lane_of_warp() & 1) == 0)
    edge = edge_of_others(site_address(data, site));
  count_lanes(data, active, site, edge, facts_at_site(site_address(data, site), facts, global));
}

// Halves of the warp (bits 0 and 1) in which shared memory serves all lanes of a wide load together: those
// where no two lanes next to each other differ in their place, or no two at a distance of two. Pairs of words
// are served together in both halves or in none.
CUVEIN_FAST uint32_t merged_halves_of(uint32_t active, uint32_t block, uint32_t size_shift) {
  // Lanes that are off differ from nobody.
  const uint32_t lane = lane_of_warp();
  const uint32_t next = active >> (lane ^ 1) & 1 ? lane ^ 1 : lane;
  const uint32_t second = active >> (lane ^ 2) & 1 ? lane ^ 2 : lane;
  const bool differs_from_next = __shfl_sync(active, block, next) != block;
  const bool differs_from_second = __shfl_sync(active, block, second) != block;
  const uint32_t by_next = __ballot_sync(active, differs_from_next);
  const uint32_t by_second = __ballot_sync(active, differs_from_second);
  if (size_shift == 3) return by_next == 0 || by_second == 0 ? 3 : 0;
  const bool low = (by_next & 0xffff) == 0 || (by_second & 0xffff) == 0;
  const bool high = by_next >> 16 == 0 || by_second >> 16 == 0;
  return (low ? 1 : 0) | (high ? 2 : 0);
}
CUVEIN_SLOW uint32_t merged_halves(Group group, uint32_t block, uint32_t size_shift) {
  return merged_halves_of(group.active, block, size_shift);
}

// Groups of lanes that shared memory serves together and that have a lane in `lanes`.
CUVEIN_FAST uint32_t groups_with(uint32_t lanes, uint32_t size_shift, uint32_t merged) {
  if (size_shift <= 2) return lanes != 0;
  const uint32_t low = lanes & 0xffff, high = lanes >> 16;
  if (size_shift == 3) return merged != 0 ? lanes != 0 : (low != 0) + (high != 0);
  return (merged & 1 ? low != 0 : ((low & 0xff) != 0) + (low >> 8 != 0)) +
         (merged & 2 ? high != 0 : ((high & 0xff) != 0) + (high >> 8 != 0));
}

// The highest of the lanes' values, which are below 32.
CUVEIN_FAST uint32_t most_of(uint32_t active, uint32_t value) {
  uint32_t most = 0;
#pragma unroll
  for (uint32_t bit = 16; bit != 0; bit /= 2)
    if (__ballot_sync(active, value >= (most | bit)) != 0) most |= bit;
  return most;
}

// Wavefronts where lanes may meet in a bank: the most distinct words in one bank, added up over the groups.
// `block` is the lane's word, or for wider accesses its pair or quadruple of words.
CUVEIN_SLOW uint32_t wavefronts_slow(Group group, uint32_t block, uint32_t size_shift, uint32_t merged) {
  const uint32_t half = group.lane / 16;
  uint32_t together = 0;
  if (size_shift == 3) together = merged != 0 ? 0 : half;
  if (size_shift == 4) together = merged >> half & 1 ? half * 2 : group.lane / 8;
  // One lane for each distinct place of a group of lanes.
  const uint32_t same = __match_any_sync(group.active, block * 4 + together);
  const bool chosen = group.lane == static_cast<uint32_t>(__ffs(same)) - 1;
  const uint32_t chosen_lanes = __ballot_sync(group.active, chosen);
  const uint32_t banks = size_shift <= 2 ? 32 : size_shift == 3 ? 16 : 8;
  const uint32_t rivals = __match_any_sync(group.active, (block % banks) * 4 + together) & chosen_lanes;
  const uint32_t rank = __popc(rivals & below(group.lane));
  if (size_shift <= 2) return most_of(group.active, chosen ? rank : 0) + 1;
  uint32_t wavefronts = 0;
  for (uint32_t round = 0;; ++round) {
    const uint32_t served = __ballot_sync(group.active, chosen && rank == round);
    if (served == 0) return wavefronts;
    wavefronts += groups_with(served, size_shift, merged);
  }
}

// Lanes with a value that no lower lane has.
CUVEIN_FAST uint32_t leaders_of(uint32_t active, uint32_t lane, uint32_t value, uint32_t* same) {
  *same = __match_any_sync(active, value);
  return __ballot_sync(active, lane == static_cast<uint32_t>(__ffs(*same)) - 1);
}

// How lanes lie that are in one window.
struct Spread {
  uint32_t leaders;  // lanes that are the lowest at their address
  uint32_t highest;  // of the lanes at this lane's address
  uint32_t facts;    // as in the key of the node
};

// The steps of analyse_scattered() are calls, each of which needs few registers: what does not fit them costs
// more than all that is computed. In a window the lower half of addresses tells them apart.
CUVEIN_SLOW Spread spread_in_global(uint32_t active, uint32_t address, uint32_t size_shift) {
  Spread spread;
  uint32_t same;
  spread.highest = lane_of_warp();
  // Where all lanes have a sector of their own, they have an address of their own too.
  spread.leaders = leaders_of(active, lane_of_warp(), address >> 5, &same);
  const uint32_t sectors = __popc(spread.leaders);
  if (spread.leaders != active) {
    if (size_shift < 5) spread.leaders = leaders_of(active, lane_of_warp(), address >> size_shift, &same);
    spread.highest = highest_of(same);
  }
  spread.facts = global_facts(__popc(active), __popc(spread.leaders), sectors, 0);
  return spread;
}

CUVEIN_SLOW Spread spread_in_shared(uint64_t data, uint32_t active, uint32_t address, uint32_t size_shift,
                                    bool read) {
  Spread spread;
  uint32_t same;
  const uint32_t word_shift = size_shift < 2 ? 2 : size_shift;
  spread.highest = lane_of_warp();
  spread.leaders = leaders_of(active, lane_of_warp(), address >> word_shift, &same);
  const uint32_t words = __popc(spread.leaders) << (word_shift - 2);
  if (spread.leaders != active) {
    if (size_shift < 2) spread.leaders = leaders_of(active, lane_of_warp(), address >> size_shift, &same);
    spread.highest = highest_of(same);
  }
  uint32_t merged = 0;
  if (read && size_shift >= 3 && spread.leaders != ~0u)
    merged = merged_halves({data, active, lane_of_warp()}, address >> word_shift, size_shift);
  const uint32_t wavefronts =
      wavefronts_slow({data, active, lane_of_warp()}, address >> word_shift, size_shift, merged);
  spread.facts = shared_facts(__popc(active), words, wavefronts, groups_with(active, size_shift, merged));
  return spread;
}

}  // namespace gpu
}  // namespace cuvein
