#include "analyzer/barriers.h"

#include <algorithm>

#include "analyzer/origin.h"

namespace cuvein {

namespace {

constexpr size_t kManyPartialSyncs = 64;

void advance(uint32_t& counter) {
  if (counter < kMaxClock) ++counter;
}

// Drops the syncs that separate no pair of lanes which a later one does not separate as well. At most one for
// each of the 496 pairs stays.
void prune(PartialSyncs& syncs) {
  uint32_t covered[32] = {};
  PartialSyncs kept;
  for (size_t i = syncs.size(); i-- > 0;) {
    const uint32_t mask = syncs[i].mask;
    bool news = false;
    each_lane(mask, [&](unsigned lane) {
      news |= (mask & ~covered[lane] & ~(1u << lane)) != 0;
      covered[lane] |= mask;
    });
    if (news) kept.push_back(syncs[i]);
  }
  std::reverse(kept.begin(), kept.end());
  syncs.swap(kept);
}

}  // namespace

// Lanes that the warp has at all: the last warp of a block may have fewer than 32.
uint32_t BlockClocks::existing(unsigned warp) const {
  const uint32_t before = warp * kWarpLanes;
  if (threads_ <= before) return ~0u;
  const uint32_t lanes = threads_ - before;
  return lanes >= kWarpLanes ? ~0u : (1u << lanes) - 1;
}

void BlockClocks::complete(Barrier& barrier) {
  uint32_t clock = barrier.clock;
  advance(clock);
  each_lane(barrier.warps, [&](unsigned index) {
    Warp& warp = warps_[index];
    warp.clock = clock;
    warp.barrier = barrier.number;
    advance(warp.events);
    warp.full_sync = warp.events;
    warp.partial.clear();
    warp.snapshot = nullptr;
    warp.waiting &= ~barrier.lanes[index];
  });
  barrier = Barrier{};
}

void BlockClocks::complete(unsigned index, uint32_t mask) {
  Warp& warp = warps_[index];
  advance(warp.events);
  warp.snapshot = nullptr;
  const uint32_t all = existing(index);
  if ((mask & all) == all) {
    warp.full_sync = warp.events;
    warp.partial.clear();
    return;
  }
  PartialSyncs& partial = warp.partial;
  partial.erase(std::remove_if(partial.begin(), partial.end(),
                               [&](const PartialSync& sync) { return (sync.mask & ~mask) == 0; }),
                partial.end());
  partial.push_back({warp.events, mask});
  if (partial.size() > kManyPartialSyncs) prune(partial);
}

// Lanes that turn up again have passed what they waited for.
void BlockClocks::pass(unsigned index, uint32_t active) {
  Warp& warp = warps_[index];
  if (warp.waiting & active)
    for (auto& [_, barrier] : barriers_)
      if (barrier.lanes[index] & active) {
        *all_plain_ = false;
        complete(barrier);
      }
  for (size_t i = 0; i < warp.pending.size();) {
    if (!(warp.pending[i].arrived & active)) {
      ++i;
      continue;
    }
    const uint32_t mask = warp.pending[i].mask;
    warp.pending.erase(warp.pending.begin() + static_cast<std::ptrdiff_t>(i));
    complete(index, mask);
  }
}

void BlockClocks::complete_syncs(unsigned index) {
  Warp& warp = warps_[index];
  for (size_t i = 0; i < warp.pending.size();) {
    const PendingSync sync = warp.pending[i];
    if (sync.mask & existing(index) & ~warp.exited & ~sync.arrived) {
      ++i;
      continue;
    }
    warp.pending.erase(warp.pending.begin() + static_cast<std::ptrdiff_t>(i));
    complete(index, sync.mask);
  }
}

void BlockClocks::barrier(unsigned index, uint32_t active, unsigned barrier_index, uint32_t expected,
                          bool waits, uint32_t number) {
  pass(index, active);
  Barrier& barrier = barriers_[barrier_index];
  Warp& warp = warps_[index];
  if (barrier.number == 0) barrier.number = number;
  if (!waits || (expected != 0 && expected != threads_) || barrier.number != number) *all_plain_ = false;
  barrier.clock = std::max(barrier.clock, warp.clock);
  barrier.arrived += __builtin_popcount(active);
  barrier.whole_block |= expected == 0;
  if (waits) {
    barrier.warps |= 1u << index;
    barrier.lanes[index] |= active;
    warp.waiting |= active;
  }
  if (barrier.arrived >= (expected != 0 ? expected : threads_ - std::min(threads_, exited_)))
    complete(barrier);
}

void BlockClocks::warp_sync(unsigned index, uint32_t active, uint32_t mask) {
  pass(index, active);
  std::vector<PendingSync>& pending = warps_[index].pending;
  const auto same = std::find_if(pending.begin(), pending.end(),
                                 [&](const PendingSync& sync) { return sync.mask == mask; });
  if (same != pending.end())
    same->arrived |= active;
  else
    pending.push_back({mask, active});
  complete_syncs(index);
}

void BlockClocks::exit(unsigned index, uint32_t active) {
  pass(index, active);
  Warp& warp = warps_[index];
  exited_ += __builtin_popcount(active & ~warp.exited);
  warp.exited |= active;
  complete_syncs(index);
  for (auto& [_, barrier] : barriers_)
    if (barrier.whole_block && barrier.arrived >= threads_ - std::min(threads_, exited_)) complete(barrier);
}

void BlockClocks::other(unsigned index, uint32_t active) {
  const Warp& warp = warps_[index];
  if (warp.waiting & active || !warp.pending.empty()) pass(index, active);
}

void BlockClocks::stamp(unsigned index, std::deque<PartialSyncs>& snapshots, uint64_t round, Stamp* stamp) {
  Warp& warp = warps_[index];
  stamp->barrier = warp.barrier;
  stamp->clock = warp.clock;
  stamp->events = warp.events;
  stamp->full_sync = warp.full_sync;
  if (warp.partial.empty()) return;
  if (warp.snapshot == nullptr || warp.snapshot_round != round) {
    snapshots.push_back(warp.partial);
    warp.snapshot = &snapshots.back();
    warp.snapshot_round = round;
  }
  stamp->partial_syncs = warp.snapshot;
}

}  // namespace cuvein
