// What one member of the team does with a batch of records, in three steps:
//
//   decode     any worker, any slice of the batch: nodes, distributions; sorts the accesses by who goes on
//   with them by block   the worker that keeps the block: shared and local memory, barriers, ended threads by
//   address the worker that keeps the address: global memory
//
// Each step finishes on all workers before the next begins, and each worker takes the slices in order. So the
// accesses to one byte meet the shadow state in the order of the stream, whatever the number of workers.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "analyzer/access.h"
#include "analyzer/address_share.h"
#include "analyzer/distributions.h"
#include "analyzer/launch.h"
#include "analyzer/places.h"
#include "analyzer/reuse.h"

namespace cuvein {

// The open launches, by sequence number.
using OpenLaunches = std::vector<std::pair<uint32_t, Launch*>>;

struct alignas(kApart) Shares {
  std::vector<Share> list;
};

struct alignas(kApart) Slice {
  explicit Slice(unsigned workers) : by_block(workers), by_address(workers) {}
  void clear();

  // The launch of all accesses to global memory so far; null when there are several, or none.
  Launch* launch() const { return several_ ? nullptr : launch_; }
  void note(Launch* launch) {
    several_ |= launch_ != nullptr && launch_ != launch;
    launch_ = launch;
  }

  std::vector<Access> accesses;
  std::vector<Shares> by_block;  // a list a worker
  std::vector<Places> by_address;

 private:
  Launch* launch_ = nullptr;
  bool several_ = false;
};

class alignas(kApart) Worker {
 public:
  // One worker alone takes so many records through all steps before it goes on to the next.
  static constexpr unsigned kRecordsOfAStretch = 256;

  Worker(unsigned number, unsigned workers)
      : number_(number), workers_(workers), share_(number, workers), lanes_(kRoom + workers + kRoom) {}

  void decode(const unsigned char* records, const unsigned char* end, const OpenLaunches& launches,
              Slice& slice);
  void by_block(Slice& slice, uint64_t round);
  void by_address(Slice& slice);
  // Before the first by_block of a round: what the round before has left to the other workers is no longer
  // read.
  void start_round() { snapshots_.clear(); }

  Pools& pools() { return pools_; }
  std::vector<SplitLane>& split_lanes() { return split_lanes_; }

 private:
  void decode_access(const RecordHeader& record, Launch& launch, Slice& slice);
  void share_by_address(Access& access, Slice& slice);
  void share_with_itself(const Access& access, uint32_t index, Places& list);

  const unsigned number_, workers_;
  const AddressShare share_;
  Pools pools_;
  Distributions distributions_;
  Reuse reuse_;
  std::deque<PartialSyncs> snapshots_;
  std::vector<SplitLane> split_lanes_;
  // By worker, from kRoom on, apart from what others write; all zero between accesses.
  static constexpr size_t kRoom = kApart / sizeof(uint32_t);
  std::vector<uint32_t> lanes_;
};

}  // namespace cuvein
