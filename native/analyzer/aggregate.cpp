#include "analyzer/aggregate.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace cuvein {
namespace {

using gpu::Count;

// The fields of a key; see gpu_engine.h.
struct Key {
  explicit Key(uint64_t key) : bits(key) {}
  uint64_t field(unsigned at, unsigned width) const { return bits >> at & ((uint64_t{1} << width) - 1); }

  Count count() const { return static_cast<Count>(field(60, 4)); }
  bool of_edge() const { return count() <= Count::kPartLanes; }
  unsigned size() const { return 1u << field(57, 3); }
  Space space() const { return static_cast<Space>(field(55, 2)); }
  BarrierKind barrier() const { return static_cast<BarrierKind>(field(55, 2)); }
  AccessType type() const { return static_cast<AccessType>(field(53, 2)); }
  bool asynchronous() const { return field(52, 1) != 0; }
  bool sizes() const { return field(51, 1) != 0; }
  uint32_t instruction() const { return static_cast<uint32_t>(of_edge() ? field(25, 20) : field(31, 20)); }

  uint32_t edge() const { return static_cast<uint32_t>(field(0, 25)); }
  uint32_t lanes() const { return static_cast<uint32_t>(field(0, 5)) + 1; }
  uint32_t addresses() const { return static_cast<uint32_t>(field(5, 5)) + 1; }
  uint32_t sectors() const { return static_cast<uint32_t>(field(10, 9)) + 1; }
  uint32_t allocation() const { return static_cast<uint32_t>(field(19, 12)); }
  uint32_t words() const { return static_cast<uint32_t>(field(5, 7)) + 1; }
  uint32_t wavefronts() const { return static_cast<uint32_t>(field(12, 5)) + 1; }
  uint32_t ideal() const { return static_cast<uint32_t>(field(17, 2)) + 1; }

  uint64_t bits;
};

// Of one space, type and instruction: a number that goes up as nodes do in a graph. `second`: the shared half
// of an asynchronous copy.
uint64_t node_order(const Key& key, bool second) {
  return uint64_t{key.instruction()} << 5 | static_cast<uint64_t>(second) << 4 |
         static_cast<uint64_t>(key.space()) << 2 | static_cast<uint64_t>(key.type());
}

template <typename Value>
std::vector<uint64_t> sorted_keys(const std::unordered_map<uint64_t, Value>& map) {
  std::vector<uint64_t> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

struct NodeSum {
  Node node{};
  std::map<int64_t, uint64_t> allocations;
};

struct EdgeSum {
  uint64_t bytes = 0, count = 0, unordered = 0;
};

void add_node(const Key& key, uint64_t count, NodeSum* sum) {
  Node& node = sum->node;
  const auto in_allocation = [&](uint64_t bytes) {
    if (key.space() == Space::kGlobal && key.allocation() != gpu::kManyAllocations)
      sum->allocations[static_cast<int64_t>(key.allocation()) - 1] += bytes;
  };
  switch (key.count()) {
    case Count::kExecutions:
      node.size = std::max(node.size, static_cast<uint8_t>(key.size()));
      node.asynchronous |= key.asynchronous();
      node.executions += count;
      node.lanes[key.lanes()] += count;
      if (key.space() == Space::kShared) {
        node.words[key.words()] += count;
        node.wavefronts[key.wavefronts()] += count;
        node.ideal_wavefronts[key.ideal()] += count;
      } else {
        node.addresses[key.addresses()] += count;
        node.sectors[key.sectors()] += count;
      }
      if (!key.sizes()) {
        const uint64_t bytes = count * key.lanes() * key.size();
        node.bytes += bytes;
        in_allocation(bytes);
      }
      break;
    case Count::kLaneBytes:
      node.bytes += count;
      in_allocation(count);
      break;
    case Count::kAllocation:
      in_allocation(count);
      break;
    default:
      break;
  }
}

}  // namespace

void Aggregate::add(uint64_t key, uint64_t outcome, uint64_t count) {
  if (count == 0) return;
  if (outcome == 0) return add(key, count);
  for (uint32_t i = 0; i < gpu::kParts; ++i) {
    const gpu::Part part = gpu::part_of(key, outcome, i);
    if (part.count != 0) add(part.key, part.count * count);
  }
}

uint32_t Aggregate::findings() const {
  uint32_t findings = 0;
  for (const auto& [bits, count] : counts_)
    if (Key(bits).count() == Count::kFindings) findings |= static_cast<uint32_t>(count);
  return findings;
}

int64_t Aggregate::ordered_bytes(uint64_t barrier, uint32_t findings) const {
  const Key key(barrier);
  constexpr uint32_t kUnknown = gpu::kOrderUnknown | gpu::kNamedBarrier;
  if (key.barrier() != BarrierKind::kBlock ||
      (findings & (gpu::kOrderFollowed | kUnknown)) != gpu::kOrderFollowed)
    return -1;
  const auto found = counts_.find(gpu::ordered_count(key.instruction()));
  return found == counts_.end() ? 0 : static_cast<int64_t>(found->second);
}

Graph Aggregate::graph(int64_t base, const Graph& host) const {
  Graph graph;
  std::copy(std::begin(host.not_analysed), std::end(host.not_analysed), std::begin(graph.not_analysed));
  graph.ended = true;
  graph.barriers_known = true;

  const uint32_t found = findings();
  std::unordered_map<uint64_t, NodeSum> sums;
  for (const auto& [bits, count] : counts_) {
    const Key key(bits);
    if (key.of_edge() || key.count() == Count::kFindings || key.count() == Count::kOrdered) continue;
    if (key.count() == Count::kBarrier) {
      const int32_t pc = static_cast<int32_t>(base + int64_t{16} * key.instruction());
      graph.barriers.push_back({pc, key.barrier(), count, ordered_bytes(bits, found)});
      continue;
    }
    const bool second = key.space() == Space::kShared && key.asynchronous();
    add_node(key, count, &sums[node_order(key, second)]);
  }
  std::sort(graph.barriers.begin(), graph.barriers.end(), [](const Barrier& a, const Barrier& b) {
    return std::tie(a.pc, a.kind) < std::tie(b.pc, b.kind);
  });
  std::unordered_map<uint64_t, uint32_t> numbers;  // of nodes, by instruction and space
  for (const uint64_t order : sorted_keys(sums)) {
    NodeSum& sum = sums[order];
    Node& node = sum.node;
    const bool second = order >> 4 & 1;
    node.pc = static_cast<int32_t>(base + int64_t{16} * static_cast<int64_t>(order >> 5) + (second ? 1 : 0));
    node.space = static_cast<Space>(order >> 2 & 3);
    node.type = static_cast<AccessType>(order & 3);
    node.allocation_bytes.assign(sum.allocations.begin(), sum.allocations.end());
    if (!sum.allocations.empty() && sum.allocations.begin()->first == kNoAllocation)
      graph.unknown_bytes += sum.allocations.begin()->second;
    graph.accesses[static_cast<unsigned>(node.space)] += node.executions;
    numbers.emplace(order >> 5 << 2 | (order >> 2 & 3), static_cast<uint32_t>(graph.nodes.size()));
    graph.nodes.push_back(std::move(node));
  }

  const auto number = [&](Space space, uint32_t instruction) {
    const auto found = numbers.find(uint64_t{instruction} << 2 | static_cast<uint64_t>(space));
    if (found == numbers.end())
      throw std::runtime_error("the counts of the GPU engine contradict one another");
    return found->second;
  };
  // By node, origin + 1 and label: the order of a graph's edges.
  constexpr unsigned kNodeBits = gpu::kMostInstructionBits + 5;
  std::unordered_map<uint64_t, EdgeSum> edges;
  for (const auto& [bits, count] : counts_) {
    const Key key(bits);
    if (!key.of_edge()) continue;
    const uint32_t origin = key.edge() >> 4;
    const Label label = static_cast<Label>(key.edge() >> 1 & 7);
    EdgeSum& sum = edges[uint64_t{number(key.space(), key.instruction())} << (kNodeBits + 3) |
                         uint64_t{origin == 0 ? 0 : number(key.space(), origin - 1) + 1} << 3 |
                         static_cast<uint64_t>(label)];
    const uint64_t bytes = key.count() == Count::kLanes       ? count * key.size()
                           : key.count() == Count::kPartLanes ? 0
                                                              : count;
    sum.bytes += bytes;
    if (key.edge() & 1) sum.unordered += bytes;
    if (key.count() != Count::kBytes) sum.count += count;
  }
  const bool no_block_order = found & (gpu::kNamedBarrier | gpu::kClockSaturated);
  const bool no_warp_order = no_block_order || found & gpu::kPartialSync;
  for (const uint64_t at : sorted_keys(edges)) {
    const EdgeSum& sum = edges[at];
    const auto node = static_cast<uint32_t>(at >> (kNodeBits + 3));
    const int64_t origin = static_cast<int64_t>(at >> 3 & ((uint64_t{1} << kNodeBits) - 1)) - 1;
    const auto label = static_cast<Label>(at & 7);
    const bool ordered =
        (label == Label::kWarpDiffInst && !no_warp_order) || (label == Label::kBlock && !no_block_order);
    const auto copied = [](const Node& prior) {
      return prior.asynchronous && prior.space == Space::kShared && prior.type == AccessType::kWrite;
    };
    const auto is_known = [&] {
      if (label == Label::kCold) return false;
      const Node& prior = graph.nodes[static_cast<size_t>(origin)];
      const bool copy = copied(prior);
      if (copy && (found & gpu::kCopiesUnknown) != 0) return false;
      if (label == Label::kThread) return copy;
      return ordered && order_matters(graph.nodes[node].type, prior.type);
    };
    const bool known = is_known();
    graph.edges.push_back(
        {node, origin, label, sum.bytes, sum.count, known ? static_cast<int64_t>(sum.unordered) : -1});
  }
  return graph;
}

std::string why_incomplete(uint32_t findings) {
  if (findings & gpu::kOutOfPages) return "the GPU engine's memory did not suffice; use --engine host";
  if (findings & gpu::kFineAccess)
    return "an access was finer than the kernel's code lets expect; use --engine host";
  if (findings & gpu::kFarCode) return "the kernel ran code of another module; use --engine host";
  if (findings & gpu::kSharedOverrun)
    return "the kernel used more shared memory than was known of; use --engine host";
  if (findings & gpu::kLocalAccess) return "the kernel used local memory unexpectedly; use --engine host";
  return "";
}

}  // namespace cuvein
