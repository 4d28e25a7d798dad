// Local memory: what a thread accessed before it was itself or nobody.
#pragma once

#include "patches/gpu_access.cuh"

namespace cuvein {
namespace gpu {

// What is done with the address in global_entry() is undone here: the number of the unit counts.
CUVEIN_FAST unsigned long long* local_entry(const Group& group, uint64_t unit, uint32_t threads,
                                            uint32_t thread, uint32_t unit_shift) {
  const uint64_t number = unit * kMultiprocessors * threads + thread;
  return global_entry(group, (kLocalUnits + number) << unit_shift, unit_shift);
}

// Edge key of a unit. Entries of other blocks, whose threads were at the same place, are cold.
CUVEIN_FAST uint32_t compare_local(const State& state, uint64_t before, uint64_t now) {
  const uint64_t difference = before ^ now;
  if (difference >> state.block_shift != 0) return edge_key(0, Label::kCold, false);
  const uint32_t origin = (static_cast<uint32_t>(before >> kInstructionShift) & (state.pc_limit - 1)) + 1;
  return edge_key(origin, Label::kThread, false);
}

// `kind`: the type of the access, and above it the log2 of its size.
CUVEIN_FAST uint32_t pack_kind(AccessType type, uint32_t size_shift) {
  return static_cast<uint32_t>(type) | size_shift << 8;
}

CUVEIN_SLOW void analyse_local(Group group, uint32_t offset, uint32_t pc, uint32_t kind) {
  offset &= kLocalWindow - 1;
  const State& state = *group.state();
  if (state.local == 0) {
    find_out(group, kLocalAccess);
    return;
  }
  const AccessType type = static_cast<AccessType>(kind & 0xff);
  const uint32_t size_shift = kind >> 8, unit_shift = state.local_shift;
  const uint32_t instruction = instruction_at(group, state, pc);
  const uint32_t place = place_of_block(group);
  // Threads that have places at a multiprocessor, and which of all those this one is.
  const uint32_t of_block = threads_of_warps(state.threads);
  const uint32_t threads = state.blocks_per_multiprocessor * of_block;
  const uint32_t thread = place / kBlocksPerMultiprocessor * threads +
                          place % kBlocksPerMultiprocessor * of_block + warp_of_block() * kWarpLanes +
                          group.lane;
  const uint64_t mine = entry_of(state, instruction, 0) | group.lane;
  const bool fine = size_shift < unit_shift;
  if (fine) find_out(group, kFineAccess);
  const uint32_t units = fine ? 1 : 1u << (size_shift - unit_shift);
  uint32_t keys[16];
  bool same = true;
#pragma unroll 1
  for (uint32_t i = 0; i < units; ++i) {
    unsigned long long* entry = local_entry(group, (offset >> unit_shift) + i, threads, thread, unit_shift);
    keys[i] = 0;
    if (entry != nullptr)
      keys[i] = compare_local(state, atomicExch(entry, static_cast<unsigned long long>(mine)), mine);
    same = same && keys[i] == keys[0];
  }
  __syncwarp(group.active);
  const uint32_t even = __ballot_sync(group.active, same);
  if (same) {
    const uint32_t alike = __match_any_sync(even, keys[0]);
    if (group.lane == static_cast<uint32_t>(__ffs(alike)) - 1)
      add(group, copy_of(state), edge_count(Count::kLanes, Space::kLocal, instruction, keys[0], size_shift),
          __popc(alike));
  } else {
    add_mixed(group, keys, Space::kLocal, instruction, unit_shift, units);
  }
  __syncwarp(group.active);
  // The hardware lays the words at one offset of the lanes side by side, eight of them to a sector.
  const uint32_t word_shift = size_shift < 2 ? 2 : size_shift;
  const uint32_t near = __match_any_sync(group.active, offset >> word_shift << 2 | group.lane / 8);
  const uint32_t sectors =
      __popc(__ballot_sync(group.active, group.lane == static_cast<uint32_t>(__ffs(near)) - 1))
      << (word_shift - 2);
  if (group.leads())
    add(group, copy_of(state),
        node_count(Count::kExecutions, Space::kLocal, type, false, false, instruction, size_shift,
                   global_facts(group.count(), group.count(), sectors, 0)),
        1);
  __syncwarp(group.active);
}

}  // namespace gpu
}  // namespace cuvein
