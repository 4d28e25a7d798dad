// The shadow: for each tracking unit the most recent access, exchanged atomically by the next.
#pragma once

#include "patches/gpu_block.cuh"

namespace cuvein {
namespace gpu {

constexpr uint64_t kPageNumberMask = (uint64_t{1} << kDirectoryShift) - 1;

CUVEIN_FAST uint32_t mix_page(uint64_t key) {
  return static_cast<uint32_t>(key >> 3) * 0x9e3779b1u >> 8 ^ static_cast<uint32_t>(key);
}

// The number of the page, which is made if there is none; 0 when no memory is left. One lane.
CUVEIN_SLOW uint64_t make_page(Group group, uint64_t key) {
  Engine* engine = group.engine();
  constexpr uint32_t mask = (1u << kDirectoryBits) - 1;
  uint32_t at = mix_page(key) & mask;
  for (uint32_t probe = 0; probe <= mask; ++probe, at = (at + 1) & mask) {
    unsigned long long* entry = group.directory() + at;
    unsigned long long found = fresh(entry);
    if (found == 0) {
      if (fresh(&engine->pages_taken) >= fresh(engine->page_count)) break;
      const unsigned long long making = key << kDirectoryShift;
      found = atomicCAS(entry, 0ull, making);
      if (found == 0) {
        const uint32_t number = atomicAdd(&engine->pages_taken, 1u);
        const bool there = number < fresh(engine->page_count);
        const uint64_t page = there ? fresh(engine->pages + number) >> kPageShift : 0;
        // Without a page the place is given back, under a key that nobody looks for.
        publish(entry, page != 0 ? making | page : (~0ull << kDirectoryShift | 1));
        if (page == 0) break;
        return page;
      }
    }
    if (found >> kDirectoryShift != key) continue;
    while ((found & kPageNumberMask) == 0 && found >> kDirectoryShift == key) {
      pause();
      found = fresh(entry);
    }
    if (found >> kDirectoryShift == key) return found & kPageNumberMask;
    break;
  }
  find_out(group, kOutOfPages);
  return 0;
}

// Where the entry of a unit of global memory lies; null when there is no shadow left.
CUVEIN_FAST unsigned long long* global_entry(const Group& group, uint64_t address, uint32_t unit_shift) {
  const uint64_t key = directory_key(address, unit_shift);
  const unsigned long long found = group.directory()[mix_page(key) & ((1u << kDirectoryBits) - 1)];
  uint64_t page = found & kPageNumberMask;
  if (found >> kDirectoryShift != key || page == 0) {
    page = make_page(group, key);
    if (page == 0) return nullptr;
  }
  const uint64_t in_page = (address >> unit_shift) & ((1u << kPageEntriesBits) - 1);
  return in_global<unsigned long long>(page << kPageShift) + in_page;
}

// Edge key of a unit, from what was there and what is put there.
template <typename Shape>
CUVEIN_FAST uint32_t compare(const Shape& state, uint64_t before, uint64_t now) {
  const uint64_t difference = before ^ now;
  if (difference >> kGenerationShift != 0) return edge_key(0, Label::kCold, false);
  const uint32_t origin = (static_cast<uint32_t>(before >> kInstructionShift) & (state.pc_limit - 1)) + 1;
  if (difference >> state.block_shift != 0)
    return edge_key(origin, label_of_other_block(state, difference), false);
  const uint32_t lanes = static_cast<uint32_t>(difference) & ((1u << kInstructionShift) - 1);
  if (lanes == 0) return edge_key(origin, Label::kThread, false);
  // Where a clock has run out of bits, that is a finding, and then order is not known anyway.
  const uint32_t then = static_cast<uint32_t>(before >> state.clock_shift) & state.clock_mask;
  const uint32_t clock = static_cast<uint32_t>(now >> state.clock_shift) & state.clock_mask;
  if (lanes >= kWarpLanes)
    return edge_key(origin, Label::kBlock, then >> state.event_bits >= clock >> state.event_bits);
  return edge_key(origin, Label::kWarpDiffInst, then >= clock);
}

}  // namespace gpu
}  // namespace cuvein
