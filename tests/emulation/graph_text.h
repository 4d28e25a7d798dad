// Graphs as text, in which every number stands.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "analyzer/merge.h"

namespace cuvein {
namespace comparison {

// `copies`: with what is said of the order of asynchronous copies; `orders`: with what barriers order.
inline std::string text(const Graph& graph, bool copies, bool orders) {
  std::ostringstream out;
  const auto histogram = [&](const char* name, const Histogram& values) {
    out << " " << name;
    for (const auto& [value, count] : values) out << " " << value << ":" << count;
  };
  for (const Node& node : graph.nodes) {
    out << "node " << node.pc << " " << name(node.space) << " " << name(node.type) << " size "
        << int{node.size} << " async " << node.asynchronous << " executions " << node.executions << " bytes "
        << node.bytes;
    histogram("lanes", node.lanes);
    histogram("addresses", node.addresses);
    histogram("sectors", node.sectors);
    histogram("words", node.words);
    histogram("wavefronts", node.wavefronts);
    histogram("ideal", node.ideal_wavefronts);
    out << " allocations";
    for (const auto& [allocation, bytes] : node.allocation_bytes) out << " " << allocation << ":" << bytes;
    out << "\n";
  }
  const auto hidden = [&](const Edge& edge) {
    if (copies || edge.origin == kUntracked) return false;
    const Node& origin = graph.nodes[static_cast<size_t>(edge.origin)];
    return origin.asynchronous && origin.space == Space::kShared && origin.type == AccessType::kWrite;
  };
  for (const Edge& edge : graph.edges)
    out << "edge " << edge.node << " " << edge.origin << " " << name(edge.label) << " bytes " << edge.bytes
        << " count " << edge.count << " unordered " << (hidden(edge) ? -1 : edge.unordered) << "\n";
  for (const Barrier& barrier : graph.barriers)
    out << "barrier " << barrier.pc << " " << static_cast<int>(barrier.kind) << " executions "
        << barrier.executions << " ordered " << (orders ? barrier.ordered_bytes : -1) << "\n";
  for (const uint64_t accesses : graph.accesses) out << "accesses " << accesses << "\n";
  out << "unknown " << graph.unknown_bytes << " ended " << graph.ended << "\n";
  return out.str();
}

// Whether a graph added up with nothing is itself, and with itself the double.
inline bool merges(const Graph& graph, size_t allocations) {
  std::vector<int64_t> same;
  for (size_t i = 0; i < allocations; ++i) same.push_back(static_cast<int64_t>(i));
  MergedGraph sum;
  sum.add(graph, same);
  if (text(sum.graph(), true, true) != text(graph, true, true)) return false;
  sum.add(graph, same);
  const Graph twice = sum.graph();
  bool good = twice.nodes.size() == graph.nodes.size() && twice.edges.size() == graph.edges.size();
  for (size_t i = 0; good && i < graph.nodes.size(); ++i)
    good = twice.nodes[i].bytes == 2 * graph.nodes[i].bytes &&
           twice.nodes[i].executions == 2 * graph.nodes[i].executions;
  for (size_t i = 0; good && i < graph.edges.size(); ++i) {
    const int64_t unordered = graph.edges[i].unordered;
    good = twice.edges[i].origin == graph.edges[i].origin &&
           twice.edges[i].bytes == 2 * graph.edges[i].bytes &&
           twice.edges[i].unordered == (unordered < 0 ? -1 : 2 * unordered);
  }
  for (size_t i = 0; good && i < graph.barriers.size(); ++i) {
    const int64_t ordered = graph.barriers[i].ordered_bytes;
    good = twice.barriers[i].ordered_bytes == (ordered < 0 ? -1 : 2 * ordered);
  }
  return good;
}

}  // namespace comparison
}  // namespace cuvein
