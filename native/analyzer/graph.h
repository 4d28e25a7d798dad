// PCDepGraph of one launch, as the engines produce it; docs/profile-format.md says what it means.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/record.h"

namespace cuvein {

// Value -> number of executions.
using Histogram = std::map<uint32_t, uint64_t>;

constexpr int64_t kUntracked = -1;  // origin of cold edges
constexpr int64_t kNoAllocation = -1;

struct Node {
  int32_t pc;  // as in the records: from the entry of the kernel, +1 for a shared half
  Space space;
  AccessType type;
  uint8_t size;
  bool asynchronous;
  uint64_t executions;
  uint64_t bytes;
  Histogram lanes, addresses, sectors;                         // global, local (lanes: also shared)
  Histogram words, wavefronts, ideal_wavefronts;               // shared
  std::vector<std::pair<int64_t, uint64_t>> allocation_bytes;  // index in LaunchShape::allocations, bytes
};

struct Edge {
  uint32_t node;
  int64_t origin;  // index of a node, or kUntracked
  Label label;
  uint64_t bytes;
  uint64_t count;
  int64_t unordered;  // bytes no barrier of the label's scope separated; -1: not known
};

// Two reads or two atomics need no order.
constexpr bool order_matters(AccessType a, AccessType b) { return a != b || a == AccessType::kWrite; }

// Bytes of shared memory that `node` touched although no barrier of the block has separated it from `origin`,
// of another warp, and that no edge shows because another access lies in between.
struct HiddenHazard {
  uint32_t node, origin;
  uint64_t bytes;
};

// A barrier instruction, or what else synchronises threads.
struct Barrier {
  int32_t pc;
  BarrierKind kind;
  uint64_t executions;
  int64_t ordered_bytes;  // that it ordered, see docs/engine.md; -1: not known
};

// Nodes sorted by (pc, space, type), edges and hazards by (node, origin) and label, barriers by (pc, kind): a
// graph has one spelling.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<HiddenHazard> hidden_hazards;
  std::vector<Barrier> barriers;
  bool barriers_known = false;  // whether the engine lists barriers
  uint64_t accesses[kSpaceCount] = {};
  uint64_t not_analysed[kInstructionCount] = {};
  uint64_t unknown_bytes = 0;
  bool ended = false;  // the LAUNCH_END record was seen
};

}  // namespace cuvein
