// Adding up the graphs of launches of one kernel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyzer/graph.h"

namespace cuvein {

class MergedGraph {
 public:
  // `allocation`: for each allocation of the launch, its index among those of the result, or kNoAllocation.
  void add(const Graph& graph, const std::vector<int64_t>& allocation);

  // The sum. What is not known of one of the launches is not known of the sum.
  Graph graph() const;

 private:
  using Site = std::tuple<int32_t, Space, AccessType>;  // the order of a graph's nodes
  struct NodeSum {
    Node node;
    std::map<int64_t, uint64_t> allocations;
  };
  struct EdgeSum {
    uint64_t bytes = 0, count = 0;
    int64_t unordered = 0;
  };

  Graph rest_;  // all but nodes, edges, hazards and barriers
  bool any_ = false;
  std::map<Site, NodeSum> nodes_;
  // Node, label, whether there is an origin, and the origin.
  std::map<std::tuple<Site, Label, bool, Site>, EdgeSum> edges_;
  std::map<std::pair<Site, Site>, uint64_t> hidden_hazards_;
  std::map<std::pair<int32_t, BarrierKind>, Barrier> barriers_;
};

}  // namespace cuvein
