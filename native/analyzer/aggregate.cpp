#include "analyzer/aggregate.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

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

// Of one space, type and instruction, in the order of a graph's nodes.
struct Site {
  uint32_t instruction;
  bool second;  // the shared half of an asynchronous copy
  Space space;
  AccessType type;

  bool operator<(const Site& other) const {
    return std::tie(instruction, second, space, type) <
           std::tie(other.instruction, other.second, other.space, other.type);
  }
};

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

// Two reads or two atomics need no order.
bool order_matters(AccessType a, AccessType b) { return a != b || a == AccessType::kWrite; }

}  // namespace

uint32_t Aggregate::findings() const {
  uint32_t findings = 0;
  for (const auto& [bits, count] : counts_)
    if (Key(bits).count() == Count::kFindings) findings |= static_cast<uint32_t>(count);
  return findings;
}

Graph Aggregate::graph(int64_t base, const Graph& host) const {
  Graph graph;
  std::copy(std::begin(host.not_analysed), std::end(host.not_analysed), std::begin(graph.not_analysed));
  graph.ended = true;
  graph.barriers_known = true;

  std::map<Site, NodeSum> sums;
  for (const auto& [bits, count] : counts_) {
    const Key key(bits);
    if (key.of_edge() || key.count() == Count::kFindings) continue;
    if (key.count() == Count::kBarrier) {
      const int32_t pc = static_cast<int32_t>(base + int64_t{16} * key.instruction());
      // Which barrier ordered what is not followed.
      graph.barriers.push_back({pc, key.barrier(), count, -1});
      continue;
    }
    const bool second = key.space() == Space::kShared && key.asynchronous();
    add_node(key, count, &sums[{key.instruction(), second, key.space(), key.type()}]);
  }
  std::sort(graph.barriers.begin(), graph.barriers.end(), [](const Barrier& a, const Barrier& b) {
    return std::tie(a.pc, a.kind) < std::tie(b.pc, b.kind);
  });
  std::map<std::pair<Space, uint32_t>, uint32_t> numbers;  // of nodes, by space and instruction
  for (auto& [site, sum] : sums) {
    Node& node = sum.node;
    node.pc = static_cast<int32_t>(base + int64_t{16} * site.instruction + (site.second ? 1 : 0));
    node.space = site.space;
    node.type = site.type;
    node.allocation_bytes.assign(sum.allocations.begin(), sum.allocations.end());
    if (!sum.allocations.empty() && sum.allocations.begin()->first == kNoAllocation)
      graph.unknown_bytes += sum.allocations.begin()->second;
    graph.accesses[static_cast<unsigned>(site.space)] += node.executions;
    numbers.emplace(std::make_pair(site.space, site.instruction), static_cast<uint32_t>(graph.nodes.size()));
    graph.nodes.push_back(std::move(node));
  }

  const auto number = [&](Space space, uint32_t instruction) {
    const auto found = numbers.find({space, instruction});
    if (found == numbers.end())
      throw std::runtime_error("the counts of the GPU engine contradict one another");
    return found->second;
  };
  std::map<std::tuple<uint32_t, int64_t, Label>, EdgeSum> edges;
  for (const auto& [bits, count] : counts_) {
    const Key key(bits);
    if (!key.of_edge()) continue;
    const uint32_t origin = key.edge() >> 4;
    const Label label = static_cast<Label>(key.edge() >> 1 & 7);
    EdgeSum& sum = edges[{number(key.space(), key.instruction()),
                          origin == 0 ? kUntracked : number(key.space(), origin - 1), label}];
    const uint64_t bytes = key.count() == Count::kLanes       ? count * key.size()
                           : key.count() == Count::kPartLanes ? 0
                                                              : count;
    sum.bytes += bytes;
    if (key.edge() & 1) sum.unordered += bytes;
    if (key.count() != Count::kBytes) sum.count += count;
  }
  const uint32_t found = findings();
  const bool no_block_order = found & (gpu::kNamedBarrier | gpu::kClockSaturated);
  const bool no_warp_order = no_block_order || found & gpu::kPartialSync;
  for (const auto& [at, sum] : edges) {
    const auto& [node, origin, label] = at;
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
