// State of resident blocks: their shared memory's shadow, the barrier clocks of their warps, their ended
// threads. Each multiprocessor has places for as many blocks as it can hold.
#pragma once

#include "patches/gpu_launch.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_FAST uint64_t key_of_block(const Group& group) {
  return static_cast<uint64_t>(group.slot() + 1) << 40 | (block_of_grid() + 1);
}

CUVEIN_FAST uint32_t next_place(uint32_t place, uint32_t places) {
  return place + 1 == places ? 0 : place + 1;
}

constexpr uint32_t kNoPlace = ~0u;

// Whether what stands in entries of a warp is the same all along, so that it is computed and not remembered.
CUVEIN_FAST bool has_no_resident(const State& state) {
  return !kFollowsOrder && state.blocks_per_multiprocessor == 0 && state.cluster_bits == 0;
}

CUVEIN_FAST uint32_t home_of(uint64_t key, uint32_t places) {
  return static_cast<uint32_t>(static_cast<uint64_t>(static_cast<uint32_t>(key) * 0x9e3779b1u) * places >>
                               32);
}

// The place of a block at a multiprocessor, or a free one, or none. All lanes, which look side by side.
struct Sought {
  uint32_t at;
  bool found;
};
CUVEIN_FAST Sought seek(const Group& group, const unsigned long long* keys, uint64_t key, uint32_t places) {
  const uint32_t home = home_of(key, places);
  Sought sought{kNoPlace, false};
#pragma unroll 1
  for (uint32_t start = 0; start < places && !sought.found; start += group.count()) {
    const uint32_t distance = start + group.rank();
    const uint32_t at = home + distance < places ? home + distance : home + distance - places;
    const bool exists = distance < places;
    const unsigned long long here = exists ? fresh(keys + at) : ~0ull;
    const uint32_t mine = __ballot_sync(group.active, exists && here == key);
    const uint32_t free = __ballot_sync(group.active, exists && here == 0);
    sought.found = mine != 0;
    const uint32_t best = mine != 0 ? mine : sought.at == kNoPlace ? free : 0;
    const uint32_t chosen = __shfl_sync(group.active, at, best != 0 ? __ffs(best) - 1 : group.first());
    if (best != 0) sought.at = chosen;
  }
  return sought;
}

CUVEIN_FAST uint64_t* shadow_of_place(const State& state, uint32_t place) {
  const uint64_t at_multiprocessor = place / kBlocksPerMultiprocessor;
  const uint32_t at = place % kBlocksPerMultiprocessor;
  return in_global<uint64_t>(state.shared_shadow) + at_multiprocessor * (kSharedBytes >> state.shared_shift) +
         at * state.shared_stride;
}

// Makes a place that of the block. What other blocks have left in its shadow counts as cold.
CUVEIN_FAST void occupy(const Group& group, uint32_t place, uint64_t key) {
  Engine* engine = group.engine();
  const State& state = *group.state();
  if (kFollowsOrder && state.orders != 0) {
    uint64_t* order = shadow_of_place(state, place) + order_distance(state);
    for (uint32_t i = group.rank(); i < state.shared_stride; i += group.count()) order[i] = 0;
  }
  const uint32_t warps = (state.threads + kWarpLanes - 1) / kWarpLanes;
  for (uint32_t i = group.rank(); i < warps; i += group.count()) {
    in_global(engine->warps)[place * kWarpsPerBlock + i] = Warp{};
    if (state.copy_flag != 0) {
      Copies* copies = in_global<Copies>(state.copies) + place * kWarpsPerBlock + i;
      copies->commits = copies->waits = copies->forgotten = 0;
    }
  }
  if (group.leads()) engine->block_states[place] = Block{};
  __syncwarp(group.active);
  if (group.leads()) publish_after(group.block_keys() + place, static_cast<unsigned long long>(key));
}

// In a key: a warp is about to make the place that of its block.
constexpr unsigned long long kClaimed = 1ull << 63;

// Finds a place for the block of these lanes, or the one that another of its warps has found.
CUVEIN_SLOW uint32_t settle(Group group) {
  Engine* engine = group.engine();
  const uint64_t key = key_of_block(group);
  const uint32_t places = group.state()->blocks_per_multiprocessor;
  const uint32_t own = multiprocessor() % kMultiprocessors;
  // Warps of a block are to find one place for it, so they take turns; those of other blocks need not wait
  // for them, as a rule.
  const uint32_t lock = 1u << home_of(key, 32);
  uint32_t home = own;
  if (__ballot_sync(group.active, group.leads() && fresh(&engine->spilled) != 0) != 0) {
    // Blocks lie also where they do not belong: look everywhere first.
    for (uint32_t i = 0; i < kMultiprocessors; ++i)
      if (seek(group, group.block_keys() + i * kBlocksPerMultiprocessor, key, places).found) home = i;
  }
  for (;;) {
    unsigned long long* keys = group.block_keys() + home * kBlocksPerMultiprocessor;
    Sought sought = seek(group, keys, key, places);
    if (!sought.found) {
      const bool locks = group.leads() && (atomicOr(engine->locks + home, lock) & lock) == 0;
      // Others wait for the place that one of them has found, not for the lock.
      if (__ballot_sync(group.active, locks) == 0) {
        pause();
        continue;
      }
      for (;;) {
        sought = seek(group, keys, key, places);
        if (sought.found || sought.at == kNoPlace) break;
        const bool claims = group.leads() && atomicCAS(keys + sought.at, 0ull, key | kClaimed) == 0;
        if (__ballot_sync(group.active, claims) == 0) continue;
        occupy(group, home * kBlocksPerMultiprocessor + sought.at, key);
        break;
      }
      if (group.leads()) {
        if (sought.at == kNoPlace) atomicAdd(&engine->spilled, 1u);  // full: a block has moved here
        and_after(engine->locks + home, ~lock);
      }
    }
    if (sought.at != kNoPlace) {
      // At its own multiprocessor all has been written through one cache. What drops that, others pay for.
      if (home != own) __threadfence();
      __syncwarp(group.active);
      return home * kBlocksPerMultiprocessor + sought.at;
    }
    home = home + 1 == kMultiprocessors ? 0 : home + 1;
  }
}

// The place of the block of these lanes.
CUVEIN_FAST uint32_t place_of_block(const Group& group) {
  const uint32_t places = group.state()->blocks_per_multiprocessor;
  const uint64_t key = key_of_block(group);
  const uint32_t base = multiprocessor() % kMultiprocessors * kBlocksPerMultiprocessor;
  uint32_t at = home_of(key, places);
#pragma unroll 1
  for (uint32_t i = 0; i < places; ++i) {
    if (__all_sync(group.active, group.block_keys()[base + at] == key)) return base + at;
    at = next_place(at, places);
  }
  return settle(group);
}

CUVEIN_FAST Warp* warp_at(const Group& group, uint32_t place) {
  return in_global(group.engine()->warps) + place * kWarpsPerBlock + warp_of_block();
}

// Lanes that the warp has at all.
CUVEIN_FAST uint32_t existing_lanes() {
  const uint32_t threads = threads_of_block(), before = warp_of_block() * kWarpLanes;
  return threads - before >= kWarpLanes ? ~0u : (1u << (threads - before)) - 1;
}

// Clock of the warp as it stands in shadow entries: block barriers above, syncs of the warp since below.
CUVEIN_FAST uint32_t clock_of_warp(const State& state, const Warp& warp) {
  const uint32_t most_events = (1u << state.event_bits) - 1;
  const uint32_t most = state.clock_mask >> state.event_bits;
  const uint32_t clock = warp.clock < most ? warp.clock : most;
  const uint32_t events = warp.events < most_events ? warp.events : most_events;
  return clock << state.event_bits | events;
}

// One lane, when a lane of the warp has arrived at a barrier or ended.
CUVEIN_FAST void complete(const Group& group, Warp* warp) {
  const State& state = *group.state();
  const uint32_t expected = existing_lanes() & ~fresh(&warp->exited);
  const uint32_t at_barrier = fresh(&warp->at_barrier), at_sync = fresh(&warp->at_sync);
  if (at_barrier != 0 && (expected & ~at_barrier) == 0) {
    const uint32_t clock = warp->clock + 1;
    warp->clock = clock;
    warp->events = 0;
    if (kFollowsOrder) warp->barrier = fresh(&warp->arriving);
    publish(&warp->at_barrier, 0u);
    if (clock >= state.clock_mask >> state.event_bits) find_out(group, kClockSaturated);
  }
  if (at_sync != 0 && (expected & ~at_sync) == 0) {
    const uint32_t events = warp->events + 1;
    warp->events = events;
    publish(&warp->at_sync, 0u);
    if (events >= (1u << state.event_bits) - 1) find_out(group, kClockSaturated);
  }
  tell_clock(group, warp, clock_of_warp(state, *warp));
}

CUVEIN_FAST void arrive_at_barrier(const Group& group, uint32_t number, uint32_t threads, bool waits) {
  if (group.state()->synchronises == 0) {
    if (group.leads()) find_out(group, kNamedBarrier);
    return;
  }
  if (number != 0 || !waits || (threads != 0 && threads < threads_of_block())) find_out(group, kNamedBarrier);
  Warp* warp = warp_at(group, place_of_block(group));
  if (group.leads() && waits) {
    atomicOr(&warp->at_barrier, group.active);
    complete(group, warp);
  }
  __syncwarp(group.active);
}

CUVEIN_FAST void arrive_at_sync(const Group& group, uint32_t mask) {
  const uint32_t existing = existing_lanes();
  if (group.state()->synchronises < 2 || (existing & ~mask) != 0) {
    find_out(group, kPartialSync);
    return;
  }
  Warp* warp = warp_at(group, place_of_block(group));
  if (group.leads()) {
    atomicOr(&warp->at_sync, group.active);
    complete(group, warp);
  }
  __syncwarp(group.active);
}

CUVEIN_FAST Copies* copies_of(const State& state, uint32_t place, uint32_t warp) {
  return in_global<Copies>(state.copies) + place * kWarpsPerBlock + warp;
}

// Copies that the warp's waits so far have completed: those issued before so many commits.
CUVEIN_FAST uint32_t completed(const Copies* copies) {
  const uint32_t waits = fresh(&copies->waits);
  return waits == 0 ? fresh(&copies->forgotten) : fresh(&copies->wait[waits - 1].before);
}

// Lanes are about to end. One lane.
CUVEIN_SLOW void leave_copies(Group group, uint32_t place, const Warp* warp) {
  Copies* copies = copies_of(*group.state(), place, warp_of_block());
  const uint32_t now = completed(copies);
  if (fresh(&warp->exited) != 0 && fresh(&copies->at_exit) != now) find_out(group, kCopiesUnknown);
  publish(&copies->at_exit, now);
}

// All threads of the block at this place have ended.
CUVEIN_FAST void end_block(const Group& group, uint32_t place) {
  uint32_t last = 0;
  if (group.leads()) {
    see_block();
    publish_after(group.block_keys() + place, 0ull);
    last = add_after(&group.engine()->blocks_ended, 1ull) + 1 == group.state()->blocks;
  }
  last = __shfl_sync(group.active, last, group.first());
  if (last) finish(group);
}

CUVEIN_FAST Block* block_of_warp(const Group& group, const Warp* warp) {
  const uint64_t place = static_cast<uint64_t>(warp - in_global(group.engine()->warps)) / kWarpsPerBlock;
  return in_global(group.engine()->block_states) + place;
}

// Threads have ended of a block of which nothing is kept; whether they were the last of the launch. One lane.
// What the launch's last threads read, all others have written before: those of a block before the last of
// them adds to what is counted of all blocks, for which there need be only one fence.
CUVEIN_FAST bool end_without_place(uint64_t data, uint32_t lanes) {
  const uint64_t state = state_address(data);
  const uint32_t last_block = word<kStatesOffset + offsetof(State, blocks)>(state) - 1;
  const uint32_t at = static_cast<uint32_t>(block_of_grid()) % kEndedBlocks;
  const uint32_t sharing = (last_block - at) / kEndedBlocks;  // other blocks
  const uint32_t threads = word<kStatesOffset + offsetof(State, threads)>(state);
  // A block that ends at once needs no count.
  if (sharing != 0 || lanes != threads) {
    uint32_t* ended = at_base<uint32_t>(base_of(data), kEndedOffset, at);
    const uint32_t now = (sharing != 0 ? add_after(ended, lanes) : add_in_block(ended, lanes)) + lanes;
    if (now != (sharing + 1) * threads) return false;
    if (sharing != 0)
      __threadfence();
    else
      see_block();
    publish(ended, 0u);
  }
  uint32_t last = last_block < kEndedBlocks ? last_block : kEndedBlocks - 1;
  if (last >= kFewBlocks) {
    constexpr uint64_t kPartsOffset = kEngineOffset + offsetof(Engine, parts);
    const uint32_t part = at % kEndedParts;
    uint32_t* const in_part = at_base<uint32_t>(base_of(data) + part * 128, kPartsOffset, 0);
    if (add_after(in_part, 1u) != (last - part) / kEndedParts) return false;
    see_all();
    publish(in_part, 0u);
    last = kEndedParts - 1;
  }
  uint32_t* const blocks =
      at_base<uint32_t>(base_of(data), kEngineOffset + offsetof(Engine, blocks_ended), 0);
  return add_after(blocks, 1u) == last;
}

// Threads have ended; with the last of a block its place is free, with the last block the launch is over.
CUVEIN_FAST void end_threads(const Group& group) {
  const State& state = *group.state();
  const bool places = state.blocks_per_multiprocessor != 0;
  const uint32_t place = places ? place_of_block(group) : kNoPlace;
  forget_resident(group);
  __threadfence();
  __syncwarp(group.active);
  uint32_t last = 0;
  if (!places) {
    if (group.leads()) {
      if (state.blocks >> 32 == 0) {
        last = end_without_place(group.data, group.count());
      } else {
        const unsigned long long count = group.count();
        last = add_after(&group.engine()->blocks_ended, count) + count == state.blocks * state.threads;
      }
    }
  } else if (group.leads()) {
    Warp* warp = warp_at(group, place);
    if (state.copy_flag != 0) leave_copies(group, place, warp);
    if (state.synchronises != 0 || state.copy_flag != 0) {
      atomicOr(&warp->exited, group.active);
      complete(group, warp);
    }
    Block* block = in_global(group.engine()->block_states) + place;
    last = add_in_block(&block->exited, group.count()) + group.count() == state.threads;
  }
  last = __shfl_sync(group.active, last, group.first());
  if (last == 0) return;
  if (places)
    end_block(group, place);
  else
    finish(group);
}

}  // namespace gpu
}  // namespace cuvein
