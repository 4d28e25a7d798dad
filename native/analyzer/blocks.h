// State that lives as long as a block: its shared and local memory, its exited threads, its barrier clocks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/async_copies.h"
#include "analyzer/barriers.h"
#include "analyzer/shadow.h"

namespace cuvein {

struct BlockState {
  explicit BlockState(ShadowPool& pool) : shadow(pool) {}

  uint64_t block = 0;
  uint32_t exited = 0;  // threads
  uint32_t exited_lanes[32] = {};
  std::unique_ptr<BlockClocks> clocks;  // made at the first barrier or warp sync of the launch
  std::unique_ptr<AsyncCopies> copies;  // made at the first asynchronous copy of the block
  Shadow shadow;
};

// Blocks of one worker that are used again by later blocks and launches.
class BlockPool {
 public:
  BlockPool() : shadows_(kChunkBits, false) {}
  BlockState* take(uint64_t block);
  void give(BlockState* state);
  ShadowPool& shadows() { return shadows_; }

 private:
  static constexpr unsigned kChunkBits = 12;
  ShadowPool shadows_;
  std::vector<std::unique_ptr<BlockState>> all_;
  std::vector<BlockState*> free_;
};

// The blocks of one launch that one worker looks after and that have not ended.
class Blocks {
 public:
  Blocks(BlockPool& pool, uint32_t threads) : pool_(pool), threads_(threads), table_(16) {}
  ~Blocks();
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  BlockState& at(uint64_t block) {
    if (last_ != nullptr && last_->block == block) return *last_;
    return find(block);
  }
  BlockClocks& clocks(BlockState& state);
  // Threads of the block have ended; when they all have, the block's state is dropped.
  void exit(BlockState& state, unsigned warp, uint32_t active);
  AsyncCopies& copies(BlockState& state) {
    if (state.copies == nullptr) state.copies = std::make_unique<AsyncCopies>(threads_);
    return *state.copies;
  }
  // Whether every barrier so far was one that the whole block waits at, at one instruction.
  bool all_barriers_plain() const { return all_plain_; }

 private:
  BlockState& find(uint64_t block);
  size_t slot(uint64_t block) const;
  void drop(BlockState& state);

  BlockPool& pool_;
  const uint32_t threads_;
  bool all_plain_ = true;
  BlockState* last_ = nullptr;
  std::vector<BlockState*> table_;  // open addressing, at most half full
  size_t used_ = 0;
};

}  // namespace cuvein
