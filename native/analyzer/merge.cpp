#include "analyzer/merge.h"

#include <algorithm>

namespace cuvein {
namespace {

void add(const Histogram& from, Histogram* to) {
  for (const auto& [value, count] : from) (*to)[value] += count;
}

// Known only where both are.
void add(int64_t from, int64_t* to) { *to = from < 0 || *to < 0 ? -1 : *to + from; }

}  // namespace

void MergedGraph::add(const Graph& graph, const std::vector<int64_t>& allocation) {
  const auto site = [&](size_t number) {
    const Node& node = graph.nodes[number];
    return Site{node.pc, node.space, node.type};
  };
  for (size_t number = 0; number < graph.nodes.size(); ++number) {
    const Node& node = graph.nodes[number];
    NodeSum& sum = nodes_[site(number)];
    Node& total = sum.node;
    total.pc = node.pc;
    total.space = node.space;
    total.type = node.type;
    total.size = std::max(total.size, node.size);
    total.asynchronous |= node.asynchronous;
    total.executions += node.executions;
    total.bytes += node.bytes;
    cuvein::add(node.lanes, &total.lanes);
    cuvein::add(node.addresses, &total.addresses);
    cuvein::add(node.sectors, &total.sectors);
    cuvein::add(node.words, &total.words);
    cuvein::add(node.wavefronts, &total.wavefronts);
    cuvein::add(node.ideal_wavefronts, &total.ideal_wavefronts);
    for (const auto& [index, bytes] : node.allocation_bytes) {
      const bool known = index >= 0 && static_cast<size_t>(index) < allocation.size();
      const int64_t target = known ? allocation[static_cast<size_t>(index)] : kNoAllocation;
      sum.allocations[target] += bytes;
      if (target == kNoAllocation) rest_.unknown_bytes += bytes;
    }
  }
  for (const Edge& edge : graph.edges) {
    const bool tracked = edge.origin != kUntracked;
    const Site origin = tracked ? site(static_cast<size_t>(edge.origin)) : Site{};
    EdgeSum& sum = edges_[{site(edge.node), edge.label, tracked, origin}];
    const bool first = sum.count == 0;
    sum.bytes += edge.bytes;
    sum.count += edge.count;
    if (first)
      sum.unordered = edge.unordered;
    else
      cuvein::add(edge.unordered, &sum.unordered);
  }
  for (const HiddenHazard& hazard : graph.hidden_hazards)
    hidden_hazards_[{site(hazard.node), site(hazard.origin)}] += hazard.bytes;
  for (const Barrier& barrier : graph.barriers) {
    const auto [found, added] = barriers_.try_emplace({barrier.pc, barrier.kind}, barrier);
    if (added) continue;
    found->second.executions += barrier.executions;
    cuvein::add(barrier.ordered_bytes, &found->second.ordered_bytes);
  }
  rest_.barriers_known = graph.barriers_known && (rest_.barriers_known || !any_);
  rest_.ended = graph.ended && (rest_.ended || !any_);
  any_ = true;
  for (unsigned i = 0; i < kSpaceCount; ++i) rest_.accesses[i] += graph.accesses[i];
  for (unsigned i = 0; i < kInstructionCount; ++i) rest_.not_analysed[i] += graph.not_analysed[i];
}

Graph MergedGraph::graph() const {
  Graph graph = rest_;
  std::map<Site, uint32_t> numbers;
  for (const auto& [site, sum] : nodes_) {
    numbers.emplace(site, static_cast<uint32_t>(graph.nodes.size()));
    graph.nodes.push_back(sum.node);
    graph.nodes.back().allocation_bytes.assign(sum.allocations.begin(), sum.allocations.end());
  }
  for (const auto& [at, sum] : edges_) {
    const auto& [site, label, tracked, origin] = at;
    graph.edges.push_back({numbers.at(site), tracked ? int64_t{numbers.at(origin)} : kUntracked, label,
                           sum.bytes, sum.count, sum.unordered});
  }
  std::sort(graph.edges.begin(), graph.edges.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.node, a.origin, a.label) < std::tie(b.node, b.origin, b.label);
  });
  for (const auto& [at, bytes] : hidden_hazards_)
    graph.hidden_hazards.push_back({numbers.at(at.first), numbers.at(at.second), bytes});
  if (graph.barriers_known)
    for (const auto& [_, barrier] : barriers_) graph.barriers.push_back(barrier);
  return graph;
}

}  // namespace cuvein
