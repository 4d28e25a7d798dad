#include "analyzer/blocks.h"

#include <algorithm>

#include "analyzer/hash.h"

namespace cuvein {

BlockState* BlockPool::take(uint64_t block) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<BlockState>(shadows_));
    free_.push_back(all_.back().get());
  }
  BlockState* state = free_.back();
  free_.pop_back();
  state->block = block;
  return state;
}

void BlockPool::give(BlockState* state) {
  state->shadow.clear();
  state->clocks.reset();
  state->copies.reset();
  state->exited = 0;
  std::fill(std::begin(state->exited_lanes), std::end(state->exited_lanes), 0);
  free_.push_back(state);
}

Blocks::~Blocks() {
  for (BlockState* state : table_)
    if (state != nullptr) pool_.give(state);
}

// Where the block is, or the free slot where it would be.
size_t Blocks::slot(uint64_t block) const {
  const size_t mask = table_.size() - 1;
  size_t at = mix(block) & mask;
  while (table_[at] != nullptr && table_[at]->block != block) at = (at + 1) & mask;
  return at;
}

BlockState& Blocks::find(uint64_t block) {
  size_t at = slot(block);
  if (table_[at] == nullptr) {
    if (++used_ * 2 > table_.size()) {
      std::vector<BlockState*> old(table_.size() * 2);
      old.swap(table_);
      for (BlockState* state : old)
        if (state != nullptr) table_[slot(state->block)] = state;
      at = slot(block);
    }
    table_[at] = pool_.take(block);
  }
  return *(last_ = table_[at]);
}

BlockClocks& Blocks::clocks(BlockState& state) {
  if (state.clocks == nullptr) {
    state.clocks = std::make_unique<BlockClocks>(threads_, &all_plain_);
    for (unsigned warp = 0; warp < (threads_ + 31) / 32; ++warp)
      if (state.exited_lanes[warp] != 0) state.clocks->exit(warp, state.exited_lanes[warp]);
  }
  return *state.clocks;
}

void Blocks::exit(BlockState& state, unsigned warp, uint32_t active) {
  state.exited += __builtin_popcount(active & ~state.exited_lanes[warp]);
  state.exited_lanes[warp] |= active;
  if (state.exited >= threads_)
    drop(state);
  else if (state.clocks != nullptr)
    state.clocks->exit(warp, active);
}

void Blocks::drop(BlockState& state) {
  const size_t mask = table_.size() - 1;
  size_t hole = slot(state.block);
  // Close the gap: whatever was pushed past it moves back.
  for (size_t at = (hole + 1) & mask; table_[at] != nullptr; at = (at + 1) & mask) {
    const size_t home = mix(table_[at]->block) & mask;
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      table_[hole] = table_[at];
      hole = at;
    }
  }
  table_[hole] = nullptr;
  --used_;
  last_ = nullptr;
  pool_.give(&state);
}

}  // namespace cuvein
