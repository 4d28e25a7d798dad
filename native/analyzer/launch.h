// One open launch: its nodes, what each worker has counted of it, and each worker's part of its shadow state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "analyzer/access.h"
#include "analyzer/blocks.h"
#include "analyzer/distributions.h"
#include "analyzer/edges.h"
#include "analyzer/engine.h"
#include "analyzer/launch_shape.h"
#include "analyzer/ranges.h"
#include "analyzer/shadow.h"

namespace cuvein {

// Identity of a node: space, type and PC, packed so that a launch's order is (pc, space, type).
struct NodeKey {
  int32_t pc;
  Space space;
  AccessType type;
};

// Gives nodes their numbers, in whatever order the workers meet them.
class NodeNumbers {
 public:
  uint32_t number(const NodeKey& key);
  const std::vector<NodeKey>& keys() const { return keys_; }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> numbers_;
  std::vector<NodeKey> keys_;
};

struct BarrierKey {
  int32_t pc;
  BarrierKind kind;
};

// The same for barriers, from 1.
class BarrierNumbers {
 public:
  uint32_t number(const BarrierKey& key);
  const std::vector<BarrierKey>& keys() const { return keys_; }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, uint32_t> numbers_;
  std::vector<BarrierKey> keys_;
};

// Known allocations, by address.
class Allocations {
 public:
  explicit Allocations(const std::vector<AllocationRange>& allocations) : ranges_(disjoint(allocations)) {}

  // The range around an address in which every byte belongs to one allocation, or to none (kNoAllocation).
  using Range = MemoryRange;
  Range at(uint64_t address) const;

 private:
  std::vector<Range> ranges_;  // disjoint, ascending
};

// Counts of one node by one worker.
struct NodeCounts {
  NodeCounts(uint32_t number, bool shared);
  void add(const Access& access, const Distribution& distribution, bool asynchronous);

  uint32_t number;
  uint8_t size = 0;
  bool asynchronous = false;
  bool shared;
  uint64_t bytes = 0;
  Allocations::Range range{1, 0, kNoAllocation};  // where it was last; none yet
  uint64_t* range_bytes = nullptr;
  std::unordered_map<int64_t, uint64_t> allocation_bytes;
  uint64_t lanes[33] = {};
  std::vector<uint64_t> first, second, third;  // addresses, sectors; or words, wavefronts, ideal wavefronts
};

// What one worker has counted of one launch.
class Counts {
 public:
  Counts(NodeNumbers& numbers, BarrierNumbers& barriers, const Allocations& allocations)
      : numbers_(numbers), barrier_numbers_(barriers), allocations_(allocations) {}

  // Adds a decoded access but for its reuse; sets its node and layout. What copies through L1 take is added
  // with the block, where their two accesses meet.
  void add(Access& access, int32_t pc, bool asynchronous, Distributions& distributions);

  void add_wavefronts(const Access& access, int32_t pc, unsigned wavefronts) {
    ++node(pc, access.space, access.type).second[wavefronts];
  }

  // Counts an execution of a barrier and returns its number.
  uint32_t add_barrier(int32_t pc, BarrierKind kind);

  EdgeTable edges;
  struct BarrierCount {
    uint32_t number;
    uint64_t executions;
  };
  const std::unordered_map<uint64_t, BarrierCount>& barriers() const { return barriers_; }
  uint64_t accesses[kSpaceCount] = {};
  uint64_t not_analysed[kInstructionCount] = {};
  bool ended = false;
  const std::vector<std::unique_ptr<NodeCounts>>& nodes() const { return nodes_; }

 private:
  NodeCounts& node(int32_t pc, Space space, AccessType type);
  void add_allocations(NodeCounts& node, const Access& access, const Distribution& distribution);
  void add_range(NodeCounts& node, uint64_t address, uint64_t bytes);

  NodeNumbers& numbers_;
  BarrierNumbers& barrier_numbers_;
  const Allocations& allocations_;
  std::unordered_map<uint64_t, BarrierCount> barriers_;
  std::pair<const uint64_t, BarrierCount>* last_barrier_ = nullptr;
  std::vector<std::unique_ptr<NodeCounts>> nodes_;
  std::vector<std::pair<uint64_t, NodeCounts*>> table_;  // open addressing
};

// State that a worker keeps from launch to launch.
struct Pools {
  Pools() : global(kChunkBits, true) {}
  static constexpr unsigned kChunkBits = 19;
  ShadowPool global;
  BlockPool blocks;
};

// One worker's part of a launch's shadow state.
struct Part {
  Part(Pools& worker_pools, AddressShare share, uint32_t threads)
      : pools(worker_pools), global(worker_pools.global, share), blocks(worker_pools.blocks, threads) {}

  Pools& pools;
  Shadow global;
  Blocks blocks;
  std::unordered_map<uint64_t, std::unique_ptr<Shadow>> clusters;  // distributed shared memory
};

class Launch {
 public:
  Launch(const LaunchShape& shape, unsigned workers)
      : geometry_(shape), allocations_(shape.allocations), counts_(workers), parts_(workers) {}

  const LaunchGeometry& geometry() const { return geometry_; }
  // Of a worker, made when it is first asked for; only that worker may.
  Counts& counts(unsigned worker) {
    if (counts_[worker] == nullptr)
      counts_[worker] = std::make_unique<Counts>(numbers_, barriers_, allocations_);
    return *counts_[worker];
  }
  Part& part(unsigned worker, Pools& pools, AddressShare share) {
    if (parts_[worker] == nullptr) parts_[worker] = std::make_unique<Part>(pools, share, geometry_.threads);
    return *parts_[worker];
  }
  void drop_part(unsigned worker) { parts_[worker].reset(); }
  // Whether the shadow state is so large that cleaning it up is work.
  bool large() const {
    for (const std::unique_ptr<Part>& part : parts_)
      if (part != nullptr && part->global.chunks() > 32) return true;
    return false;
  }

  // Adds up what the workers have counted. No worker may be at work on the launch.
  Graph graph() const;

  // Whether a record was seen that orders accesses; until then there are no clocks to keep. Set by the thread
  // that hands out the work.
  std::atomic<bool> synchronises{false};

 private:
  LaunchGeometry geometry_;
  Allocations allocations_;
  void add_barriers(Graph& graph) const;

  NodeNumbers numbers_;
  BarrierNumbers barriers_;
  std::vector<std::unique_ptr<Counts>> counts_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace cuvein
