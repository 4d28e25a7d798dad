// Beginning and end of a launch on the GPU engine, by its first and its last warp.
#pragma once

#include "patches/gpu_fold.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_FAST uint32_t bits_for(uint64_t values) { return values <= 1 ? 0 : 64 - __clzll(values - 1); }

// Of a block, with the lanes of its last warp that it has not.
CUVEIN_FAST uint32_t threads_of_warps(uint32_t threads) {
  return (threads + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
}

CUVEIN_FAST uint32_t threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

// Number of the block in shadow entries of a launch with clusters.
CUVEIN_SLOW uint64_t block_by_cluster(const State* state) {
  const uint32_t x = state->cluster[0], y = state->cluster[1], z = state->cluster[2];
  const uint64_t cluster =
      blockIdx.x / x + static_cast<uint64_t>(gridDim.x / x) *
                           (blockIdx.y / y + static_cast<uint64_t>(gridDim.y / y) * (blockIdx.z / z));
  return cluster << state->cluster_bits | (blockIdx.x % x + x * (blockIdx.y % y + y * (blockIdx.z % z)));
}

template <typename Shape>
CUVEIN_FAST Label label_of_other_block(const Shape& state, uint64_t difference) {
  const bool near = state.cluster_bits != 0 && difference >> state.block_shift >> state.cluster_bits == 0;
  return near ? Label::kCluster : Label::kGrid;
}

// Whether the launch is a kernel of a graph.
CUVEIN_FAST bool replayed(const Group& group) { return (group.data & kReplay) != 0; }

constexpr uint32_t kNotDescribed = ~0u;

// Where the host describes the launch; kNotDescribed: nowhere, so it is the host's. One lane.
CUVEIN_SLOW uint32_t place_of_description(Group group) {
  if (!replayed(group)) return group.slot() % kParameters;
  const uint32_t grid = grid_of_launch(), first = first_node_place(group.slot(), grid);
  const uint64_t* keys = group.engine()->node_keys + first;
  uint32_t place = kNotDescribed;
#pragma unroll
  for (uint32_t i = 0; i < kNodePlaces; ++i)
    if (fresh(keys + i) == node_key(group.slot(), grid)) place = kParameters + first + i;
  return place;
}

// Pages for memory that nobody reported have not been cleared by the host, which need not know that they were
// taken. One lane.
CUVEIN_SLOW void clear_pages(Group group, uint32_t first) {
  const Engine* engine = group.engine();
  const uint32_t taken = fresh(&engine->pages_taken), there = fresh(engine->page_count);
#pragma unroll 1
  for (uint32_t i = first; i < taken && i < there; ++i) {
    const uint64_t page = fresh(engine->pages + i);
#pragma unroll 4
    for (uint32_t at = 0; at < kPageBytes; at += 16) publish_quad(in_global<Quad>(page + at), 0, 0, 0, 0);
  }
}

// Fills in the state of a launch whose warps have not seen it. One lane.
CUVEIN_FAST void describe(const Group& group, uint32_t place, const Parameters& given) {
  Engine* engine = group.engine();
  const uint64_t version = given.range_version;
  const uint32_t ranges = given.range_count;
  const uint64_t known = fresh(&engine->range_version);
  const uint32_t cleared = given.cleared, cleared_before = fresh(&engine->cleared);
  if (known != version) {
#pragma unroll 8
    for (uint32_t i = 0; i < ranges; ++i) {
      group.ranges()[i].first = fresh(&given.ranges[i].first);
      group.ranges()[i].extent = fresh(&given.ranges[i].extent);
    }
    engine->range_version = version;
  }
  if (cleared_before != cleared) {
    clear_pages(group, cleared & 0xffff);
    engine->cleared = cleared;
  }
  State state = {};
  state.pc_base = given.pc_base;
  state.fixed = static_cast<uint64_t>(given.generation) << kGenerationShift;
  const uint32_t pc_bits = given.pc_bits;
  state.pc_limit = 1u << pc_bits;
  state.synchronises = given.synchronises;
  state.global_shift = given.global_shift;
  state.shared_shift = given.shared_shift;
  state.blocks = static_cast<uint64_t>(gridDim.x) * gridDim.y * gridDim.z;
  state.threads = threads_of_block();
  state.range_count = ranges;
  state.shared_shadow = given.shared_shadow;
  state.orders = given.orders;
  uint64_t numbers = state.blocks;
  for (uint32_t i = 0; i < 3; ++i) state.cluster[i] = given.cluster[i];
  const uint32_t cluster = state.cluster[0] * state.cluster[1] * state.cluster[2];
  if (cluster > 1) {
    state.cluster_bits = bits_for(cluster);
    numbers = state.blocks / cluster << state.cluster_bits;
  }
  const bool spares = given.synchronises < 2 && given.copies == 0;
  state.block_shift = kGenerationShift - block_bits_of(bits_for(numbers), pc_bits, spares);
  state.clock_shift = kInstructionShift + pc_bits;
  uint32_t clock_bits = 0;
  state.copies = given.copies;
  if ((state.synchronises != 0 || state.copies != 0) && state.block_shift > state.clock_shift) {
    clock_bits = state.block_shift - state.clock_shift;
    if (clock_bits > 31) clock_bits = 31;
  }
  if (state.copies != 0 && clock_bits != 0) state.copy_flag = 1u << --clock_bits;
  state.clock_mask = (1u << clock_bits) - 1;
  state.event_bits = state.synchronises > 1 ? clock_bits / 2 : 0;
  uint32_t copies = 1;
  // Each copy is to be sent when the launch ends.
  while (copies < kCopies && copies * 32 < state.blocks) copies *= 2;
  state.copy_mask = copies - 1;
  const bool keeps_shared = given.shared != 0;
  const uint32_t shared = shared_bytes() + kReservedShared;
  const uint32_t unit = (1u << state.shared_shift) - 1;
  state.shared_stride = keeps_shared ? (shared + unit) >> state.shared_shift : 0;
  uint32_t resident = kSharedBytes / shared;
  if (resident > kBlocksPerMultiprocessor) resident = kBlocksPerMultiprocessor;
  state.blocks_per_multiprocessor = resident == 0 ? 1 : resident;
  state.local = given.local;
  state.local_shift = given.local_shift;
  if (!keeps_shared && state.synchronises == 0 && state.local == 0) state.blocks_per_multiprocessor = 0;
  state.grid = grid_of_launch();
  state.place = place;
  state.tag = 0;
  State* target = group.state();
  *target = state;
  see_all();
  publish(&target->tag, group.slot() + 1);
}

// The undecided decision about the launch.
CUVEIN_FAST unsigned long long decision_of_mine(const Group& group) {
  return replayed(group) ? node_key(group.slot(), grid_of_launch()) << 2 : kUndecided;
}

// Decides, once for all warps, whether the launch has the engine. One lane.
CUVEIN_SLOW uint64_t decide(Group group) {
  Engine* engine = group.engine();
  const uint32_t place = place_of_description(group);
  if (place == kNotDescribed) return kOnHost;
  unsigned long long* decision = engine->decisions + place;
  const unsigned long long mine = decision_of_mine(group);
  // Most are not first, but a warp of the first block may well be.
  unsigned long long known = kUndecided;
  if (replayed(group) || block_of_grid() != 0) known = fresh(decision);
  // What was decided of another kernel of a graph is past.
  const bool open = replayed(group) ? (known & ~kDecisionMask) != mine : known == kUndecided;
  bool decides = false;
  if (open) {
    const unsigned long long before = atomicCAS(decision, known, mine | kDeciding);
    decides = before == known;
    known = decides ? mine | kDeciding : before;
  }
  if (decides) {
    // Memory of the host is far away, so it is asked for first.
    const Parameters given = fetch(engine->parameters + place);
    const bool free = atomicCAS(&engine->owner, 0u, group.slot() + 1) == 0;
    if (free) describe(group, place, given);
    known = mine | (free ? kOnGpu : kOnHost);
    publish(decision, known);
  }
  while ((known & kDecisionMask) == kDeciding) {
    pause();
    known = fresh(decision);
  }
  return known & kDecisionMask;
}

CUVEIN_SLOW bool on_gpu_slow(Group group) {
  uint32_t decision = 0;
  if (group.leads()) decision = static_cast<uint32_t>(decide(group));
  decision = __shfl_sync(group.active, decision, group.first());
  see_all();
  if (decision == kOnGpu && group.leads()) enter_multiprocessor(group);
  __syncwarp(group.active);
  return decision == kOnGpu;
}

// Whether the launch is analysed here. Otherwise its records go to the host.
CUVEIN_FAST bool on_gpu(const Group& group) {
  bool known = group.state()->tag == group.slot() + 1;
  if (replayed(group)) known = known && group.state()->grid == grid_of_launch();
  return __all_sync(group.active, known) || on_gpu_slow(group);
}

// Threads of a launch that was left to the host have ended: with the last of them the decision is forgotten,
// since the slot's number comes back some day. All lanes.
CUVEIN_SLOW void end_on_host(Group group) {
  if (!group.leads() || replayed(group)) return;
  unsigned long long* decision = group.engine()->decisions + place_of_description(group);
  const unsigned long long ended =
      (atomicAdd(decision, static_cast<unsigned long long>(group.count()) << 2) >> 2) + group.count();
  const unsigned long long blocks = static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  if (ended == blocks * threads_of_block()) publish(decision, 0ull);
}

// The last block has ended. All lanes that ended last.
CUVEIN_SLOW void finish(Group group) {
  Engine* engine = group.engine();
  see_all();
  const uint32_t findings = fresh(&engine->findings), used = fresh(&engine->used_count);
  const uint64_t reserved = send_sites(group, (findings | used) == 0);
  send_counts(group, used);
  leave_multiprocessors(group);
  if (group.leads()) {
    if (findings != 0) send(group, kCountRecord, static_cast<uint64_t>(Count::kFindings) << 60, findings);
    publish(&engine->findings, 0u);
    publish(&engine->used_count, 0u);
    publish(&engine->spilled, 0u);
    publish(&engine->blocks_ended, 0ull);
    publish(&group.state()->tag, 0u);
    // A kernel of a graph that is run again in the same replay is not described anew.
    publish(engine->decisions + group.state()->place,
            replayed(group) ? decision_of_mine(group) | kOnHost : uint64_t{kUndecided});
  }
  // What the lanes have cleared is so before the next launch has the engine.
  see_all();
  __syncwarp(group.active);
  if (group.leads()) {
    publish(&engine->owner, 0u);
    constexpr uint32_t kEnd = static_cast<uint32_t>(RecordKind::kLaunchEnd);
    if (reserved == kNotReserved)
      send(group, kEnd, 0, 0);
    else if (reserved != kNoRoom)
      write_record(group, reserved, kEnd, 0, 0);
  }
  __syncwarp(group.active);
}

}  // namespace gpu
}  // namespace cuvein
