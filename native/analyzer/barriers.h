// Barrier clocks of one block: what tells ordered reuse from unordered reuse.
//
// A block barrier gives all warps that waited for it the same clock, one more than the highest clock of any
// warp that arrived. Of two warps' accesses, the earlier one is ordered before the later one if its clock is
// smaller. Lanes of one warp are ordered by the warp's block barriers too, and by each __syncwarp whose mask
// has both.
//
// A barrier is complete when the threads it expects have arrived (exited threads are not expected by a
// barrier of the whole block), or when a lane that waits for it turns up in a later record, whichever is seen
// first.
//
// Which barrier has ordered two accesses is said of plain ones only: those that the whole block waits at, at
// one instruction. Whatever else a block does (barriers of some warps, of warps that do not wait, divergent
// ones) orders accesses through third parties, so that no single barrier can be named.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "analyzer/access.h"

namespace cuvein {

class BlockClocks {
 public:
  // `*all_plain` is set to false when a barrier is not plain.
  BlockClocks(uint32_t threads, bool* all_plain)
      : threads_(threads), all_plain_(all_plain), warps_((threads + 31) / 32) {}

  // Takes the records of the block in stream order.
  void barrier(unsigned warp, uint32_t active, unsigned index, uint32_t expected, bool waits,
               uint32_t number);
  void warp_sync(unsigned warp, uint32_t active, uint32_t mask);
  void exit(unsigned warp, uint32_t active);
  void other(unsigned warp, uint32_t active);

  // Fills in what an access of the warp needs to know. Lists of partial syncs are kept in `snapshots`, which
  // lives as long as the round of this number.
  void stamp(unsigned warp, std::deque<PartialSyncs>& snapshots, uint64_t round, Stamp* stamp);

 private:
  struct PendingSync {
    uint32_t mask, arrived;
  };
  struct Warp {
    uint32_t clock = 0, events = 0, full_sync = 0, exited = 0, waiting = 0;
    uint32_t barrier = 0;  // number of the last one that it passed
    std::vector<PendingSync> pending;
    PartialSyncs partial;
    const PartialSyncs* snapshot = nullptr;
    uint64_t snapshot_round = 0;
  };
  struct Barrier {
    uint32_t arrived = 0, clock = 0, warps = 0;  // warps: those that wait, as a mask
    uint32_t number = 0;
    bool whole_block = false;
    uint32_t lanes[32] = {};  // that wait
  };

  uint32_t existing(unsigned warp) const;
  void complete(Barrier& barrier);
  void complete(unsigned warp, uint32_t mask);
  void pass(unsigned warp, uint32_t active);
  void complete_syncs(unsigned warp);

  uint32_t threads_;
  bool* all_plain_;
  uint32_t exited_ = 0;
  std::vector<Warp> warps_;
  std::map<unsigned, Barrier> barriers_;
};

}  // namespace cuvein
