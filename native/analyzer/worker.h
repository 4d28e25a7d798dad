// What one member of the team does with a batch of records, in three steps:
//
//   decode      any worker, any slice of the batch: nodes, distributions; lists the records by who goes on
//   by block    the worker that keeps the block: shared and local memory, barriers, ended threads
//   by address  the worker that keeps the address: global memory
//
// Each step of a batch finishes on all workers before its next begins, and each worker takes batches and
// slices in order. So the accesses to one byte meet the shadow state in the order of the stream, whatever the
// number of workers. What one finds out for another is little, for memory that another has written is slow:
// both read the record.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "analyzer/access.h"
#include "analyzer/address_share.h"
#include "analyzer/distributions.h"
#include "analyzer/launch.h"
#include "analyzer/reuse.h"
#include "analyzer/slice.h"

namespace cuvein {

// A lane whose bytes belong to several workers, which only hand-made (misaligned) addresses make: each of
// them sees part of its edges, so its counts are settled afterwards.
struct SplitLane {
  const RecordHeader* record;
  Launch* launch;
  uint32_t node;
  unsigned lane;
  uint32_t edge;
};

class alignas(kApart) Worker {
 public:
  Worker(unsigned number, unsigned workers)
      : number_(number), workers_(workers), share_(number, workers), lanes_(kRoom + workers + kRoom) {}

  // Before the first step of a round that touches blocks. Lists of partial syncs, which are read until the
  // round is over, are kept in `snapshots`.
  void start_round(std::deque<PartialSyncs>* snapshots, uint64_t round) {
    snapshots_ = snapshots;
    snapshots_->clear();
    round_ = round;
  }
  // The records of the slice, which was started, up to `end`. One worker alone takes the second step at once.
  void decode(const unsigned char* end, Slice& slice);
  void by_block(Slice& slice);
  // Starts to load what the next call of by_address for this slice needs.
  void start_by_address(Slice& slice);
  void by_address(Slice& slice, std::vector<SplitLane>& split);

  Pools& pools() { return pools_; }

 private:
  void decode_access(const RecordHeader& record, Launch& launch, Share& share, Slice& slice);
  void at_block(const RecordHeader& record, Launch& launch, Access* access, Stamp* stamp);
  void share_by_address(const Access& access, Share& share, Slice& slice);
  void share_with_itself(const Access& access, const Share& share, Places& list);
  void share_lanes(const Access& access, Share& share, Slice& slice);

  const unsigned number_, workers_;
  const AddressShare share_;
  Pools pools_;
  Distributions distributions_;
  Reuse reuse_;
  std::deque<PartialSyncs>* snapshots_ = nullptr;
  uint64_t round_ = 0;
  // By worker, from kRoom on, apart from what others write; all zero between accesses.
  static constexpr size_t kRoom = kApart / sizeof(uint32_t);
  std::vector<uint32_t> lanes_;
};

}  // namespace cuvein
