// Sites and residents: what is remembered of an instruction and of a warp, and the outcomes counted there.
#pragma once

#include "patches/gpu_order_warp.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_FAST uint64_t wide(uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; }

CUVEIN_FAST uint32_t family_of(uint64_t data) { return static_cast<uint32_t>(data >> kFamilyShift); }

CUVEIN_FAST uint32_t family_of_tag(uint32_t tag) { return tag & ((1u << kExtentShift) - 1); }

// Which site of the table belongs to an instruction.
template <Space kSpace>
CUVEIN_FAST uint32_t site_of_instruction(uint32_t instruction, uint32_t family) {
  return moved_site(instruction + (kSpace == Space::kShared ? kSites / 2 : 0), family);
}
CUVEIN_FAST uint32_t site_of(uint32_t where, uint32_t family) {
  return (where & 3) == static_cast<uint32_t>(Space::kShared)
             ? site_of_instruction<Space::kShared>(where >> 4, family)
             : site_of_instruction<Space::kGlobal>(where >> 4, family);
}
template <typename T>
CUVEIN_FAST T* at_base(uint64_t base, uint64_t offset, uint32_t number) {
  return in_global<T>(base + number * static_cast<uint32_t>(sizeof(T)) + offset);
}
CUVEIN_FAST uint64_t base_of(uint64_t data) { return channel_address(data); }
// Where the state of the launch is, less the distance of the first of them.
CUVEIN_FAST uint64_t state_address(uint64_t data) {
  return base_of(data) + static_cast<uint32_t>(data) % kStates * static_cast<uint32_t>(sizeof(State));
}
CUVEIN_FAST Site* site_at(uint64_t data, uint32_t site) {
  return at_base<Site>(base_of(data), kSitesOffset, site);
}
// Where this multiprocessor counts, as a distance.
CUVEIN_FAST uint32_t count_set() {
  return (multiprocessor() >> kCountingTogether) % kCountSets * static_cast<uint32_t>(kCountSetBytes);
}
CUVEIN_FAST uint64_t* site_node(uint64_t data, uint32_t site) {
  return at_base<uint64_t>(base_of(data), kNodesOffset, site);
}
CUVEIN_FAST uint32_t resident_of(uint32_t multiprocessor) {
  return (multiprocessor * kWarpsPerMultiprocessor + warp_of_multiprocessor()) % kResidents;
}
// Less the distance of the first of them, for loads to add.
CUVEIN_FAST uint64_t resident_address(uint64_t data) {
  return base_of(data) | resident_of(multiprocessor()) * static_cast<uint32_t>(sizeof(Resident));
}
CUVEIN_FAST uint64_t site_address(uint64_t data, uint32_t site) {
  return base_of(data) + site * static_cast<uint32_t>(sizeof(Site));
}
CUVEIN_FAST Resident* resident_at(uint64_t data) {
  return in_global<Resident>(resident_address(data) + kResidentsOffset);
}

CUVEIN_FAST Kept* kept_at(uint64_t data, uint32_t family) {
  return at_base<Kept>(base_of(data), kKeptOffset, family);
}
// The site, or the way, is the family's from now on. One lane's.
CUVEIN_FAST void keep_site(uint64_t data, uint32_t site) {
  Kept* kept = kept_at(data, family_of(data));
  atomicOr(&kept->sites[site / 32], 1u << site % 32);
  atomicOr(&kept->site_stretches, 1ull << site / kStretch);
}
CUVEIN_FAST void keep_way(uint64_t data, uint32_t way) {
  Kept* kept = kept_at(data, family_of(data));
  atomicOr(&kept->ways[way / 32], 1u << way % 32);
  atomicOr(&kept->way_stretches, 1ull << way / kStretch);
}

// The stamp of this multiprocessor, less the distance of the first of them.
CUVEIN_FAST uint64_t stamp_address(uint64_t data) {
  return base_of(data) + multiprocessor() % kMultiprocessors * static_cast<uint32_t>(sizeof(Stamp));
}
CUVEIN_FAST Stamp* stamp_at(uint64_t data, uint32_t number) {
  return at_base<Stamp>(base_of(data), kStampsOffset, number);
}
CUVEIN_FAST bool has_entered(const Group& group) {
  return word<kStampsOffset>(stamp_address(group.data)) == group.slot() + 1;
}
// The first warp of the launch at this multiprocessor, whose cache has dropped old copies of sites by now.
// One lane.
CUVEIN_FAST void enter_multiprocessor(const Group& group) {
  const uint32_t number = multiprocessor() % kMultiprocessors;
  const uint64_t fixed = group.state()->fixed;
  atomicOr(&group.engine()->ran[number / 32], 1u << number % 32);
  publish_quad(stamp_at(group.data, number), group.slot() + 1, 0, static_cast<uint32_t>(fixed),
               static_cast<uint32_t>(fixed >> 32));
}
CUVEIN_SLOW void enter(Group group) {
  see_all();
  enter_multiprocessor(group);
}

CUVEIN_FAST Resident* resident_number(uint64_t data, uint32_t number) {
  return at_base<Resident>(base_of(data), kResidentsOffset, number);
}

// The hardware may have moved the warp: what stands at the place it had is void. One lane.
CUVEIN_FAST void leave_resident(const Group& group, Warp* warp, uint32_t now) {
  const uint32_t before = warp->resident;
  if (before != 0 && before != now + 1) publish(&resident_number(group.data, before - 1)->tag, 0u);
}

// `warp` is null where nothing is kept of blocks. One lane.
CUVEIN_FAST void make_resident(const Group& group, Warp* warp, uint64_t shadow, uint64_t entry) {
  const uint32_t number = resident_of(multiprocessor());
  if (!has_entered(group)) enter(group);
  Resident* resident = resident_number(group.data, number);
  if (warp != nullptr) {
    leave_resident(group, warp, number);
    warp->resident = number + 1;
  }
  resident->block = static_cast<uint32_t>(block_of_grid());
  resident->entry = entry;
  resident->shadow = shadow;
  resident->warp = warp;
  if (kFollowsOrder) make_order(group, resident, warp, number);
  resident->tag = group.slot() + 1 | warp_of_block() << kWarpShift;
}

// When lanes of the warp end.
CUVEIN_FAST void forget_resident(const Group& group) {
  if (group.leads()) resident_at(group.data)->tag = 0;
}

// After a barrier. One lane.
CUVEIN_FAST void tell_clock(const Group& group, Warp* warp, uint32_t clock) {
  const uint32_t number = resident_of(multiprocessor());
  leave_resident(group, warp, number);
  if (warp->resident != number + 1) return;
  Resident* resident = resident_number(group.data, number);
  if (resident->tag != (group.slot() + 1 | warp_of_block() << kWarpShift) ||
      resident->block != static_cast<uint32_t>(block_of_grid()))
    return;
  const uint64_t mask = static_cast<uint64_t>(group.state()->clock_mask) << group.state()->clock_shift;
  resident->entry = (resident->entry & ~mask) | static_cast<uint64_t>(clock) << group.state()->clock_shift;
  if (kFollowsOrder) make_order(group, resident, warp, number);
}

}  // namespace gpu
}  // namespace cuvein
