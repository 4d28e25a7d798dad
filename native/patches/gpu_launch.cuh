// Beginning and end of a launch on the GPU engine, by its first and its last warp.
#pragma once

#include "patches/gpu_counts.cuh"

namespace cuvein {
namespace gpu {

CUVEIN_FAST uint32_t bits_for(uint64_t values) { return values <= 1 ? 0 : 64 - __clzll(values - 1); }

CUVEIN_FAST uint32_t threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

// Fills in the state of a launch whose warps have not seen it. One lane.
CUVEIN_SLOW void describe(Group group) {
  Engine* engine = group.engine();
  const Parameters* given = engine->parameters + group.slot() % kParameters;
  const uint64_t version = fresh(&given->range_version);
  const uint32_t ranges = fresh(&given->range_count);
  if (engine->range_version != version) {
    const Range* from = fresh(&given->ranges);
#pragma unroll 8
    for (uint32_t i = 0; i < ranges; ++i) {
      group.ranges()[i].first = fresh(&from[i].first);
      group.ranges()[i].extent = fresh(&from[i].extent);
    }
    engine->range_version = version;
  }
  State state = {};
  state.pc_base = fresh(&given->pc_base);
  state.fixed = static_cast<uint64_t>(fresh(&given->generation)) << kGenerationShift;
  const uint32_t pc_bits = fresh(&given->pc_bits);
  state.pc_limit = 1u << pc_bits;
  state.synchronises = fresh(&given->synchronises);
  state.global_shift = fresh(&given->global_shift);
  state.shared_shift = fresh(&given->shared_shift);
  state.blocks = static_cast<uint64_t>(gridDim.x) * gridDim.y * gridDim.z;
  state.threads = threads_of_block();
  state.range_count = ranges;
  state.shared_shadow = fresh(&given->shared_shadow);
  state.block_shift = kGenerationShift - bits_for(state.blocks);
  state.clock_shift = kInstructionShift + pc_bits;
  uint32_t clock_bits = 0;
  if (state.synchronises != 0 && state.block_shift > state.clock_shift) {
    clock_bits = state.block_shift - state.clock_shift;
    if (clock_bits > 31) clock_bits = 31;
  }
  state.clock_mask = (1u << clock_bits) - 1;
  state.event_bits = state.synchronises > 1 ? clock_bits / 2 : 0;
  uint32_t copies = 1;
  while (copies < kCopies && copies * 8 < state.blocks) copies *= 2;
  state.copy_mask = copies - 1;
  const bool keeps_shared = fresh(&given->shared) != 0;
  const uint32_t shared = shared_bytes() + kReservedShared;
  const uint32_t unit = (1u << state.shared_shift) - 1;
  state.shared_stride = keeps_shared ? (shared + unit) >> state.shared_shift : 0;
  uint32_t resident = kSharedBytes / shared;
  if (resident > kBlocksPerMultiprocessor) resident = kBlocksPerMultiprocessor;
  state.blocks_per_multiprocessor = resident == 0 ? 1 : resident;
  if (!keeps_shared && state.synchronises == 0) state.blocks_per_multiprocessor = 0;
  state.tag = 0;
  State* target = group.state();
  *target = state;
  __threadfence();
  publish(&target->tag, group.slot() + 1);
  __threadfence();
}

// Decides, once for all warps, whether the launch has the engine. One lane.
CUVEIN_SLOW uint64_t decide(Group group) {
  Engine* engine = group.engine();
  unsigned long long* decision = engine->decisions + group.slot();
  unsigned long long known = fresh(decision);
  if (known == kUndecided) known = atomicCAS(decision, 0ull, static_cast<unsigned long long>(kDeciding));
  if (known == kUndecided) {
    const bool free = atomicCAS(&engine->owner, 0u, group.slot() + 1) == 0;
    if (free) {
      __threadfence();
      describe(group);
    }
    known = free ? kOnGpu : kOnHost;
    publish(decision, known);
  }
  while ((known & kDecisionMask) == kDeciding) {
    pause();
    known = fresh(decision);
  }
  __threadfence();
  return known & kDecisionMask;
}

CUVEIN_SLOW bool on_gpu_slow(Group group) {
  uint32_t decision = 0;
  if (group.leads()) decision = static_cast<uint32_t>(decide(group));
  decision = __shfl_sync(group.active, decision, group.first());
  __threadfence();
  return decision == kOnGpu;
}

// Whether the launch is analysed here. Otherwise its records go to the host.
CUVEIN_FAST bool on_gpu(const Group& group) {
  return __all_sync(group.active, group.state()->tag == group.slot() + 1) || on_gpu_slow(group);
}

// Threads of a launch that was left to the host have ended: with the last of them the decision is forgotten,
// since the slot's number comes back some day. All lanes.
CUVEIN_SLOW void end_on_host(Group group) {
  if (!group.leads()) return;
  unsigned long long* decision = group.engine()->decisions + group.slot();
  const unsigned long long ended =
      (atomicAdd(decision, static_cast<unsigned long long>(group.count()) << 2) >> 2) + group.count();
  const unsigned long long blocks = static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  if (ended == blocks * threads_of_block()) publish(decision, 0ull);
}

// The last block has ended. All lanes that ended last.
CUVEIN_SLOW void finish(Group group) {
  Engine* engine = group.engine();
  __threadfence();
  send_counts(group);
  if (group.leads()) {
    const uint32_t findings = fresh(&engine->findings);
    if (findings != 0) send(group, kCountRecord, static_cast<uint64_t>(Count::kFindings) << 60, findings);
    publish(&engine->findings, 0u);
    publish(&engine->used_count, 0u);
    publish(&engine->spilled, 0u);
    publish(&engine->blocks_ended, 0ull);
    publish(&group.state()->tag, 0u);
    publish(engine->decisions + group.slot(), 0ull);
    __threadfence();
    publish(&engine->owner, 0u);
    send(group, static_cast<uint32_t>(RecordKind::kLaunchEnd), 0, 0);
  }
  __syncwarp(group.active);
}

}  // namespace gpu
}  // namespace cuvein
