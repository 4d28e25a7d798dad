// Launches of one kernel, with one shape, as one profile (--merge-launches).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "analyzer/merge.h"
#include "monitor/launch.h"

namespace cuvein {

struct MergedLaunches {
  std::unique_ptr<Launch> first;  // what is said of it in its document
  MergedGraph graph;
  uint64_t count = 0;
  bool changed = false;
};

class Merging {
 public:
  // `engine` is what analysed the launch.
  void add(std::unique_ptr<Launch> launch, const Graph& graph, const char* engine);

  // Calls visit(launches, engine) for those that have changed since the last time.
  template <typename Visit>
  void each_changed(Visit visit) {
    for (auto& [key, merged] : launches_) {
      if (!merged.changed) continue;
      merged.changed = false;
      visit(merged, std::get<std::string>(key));
    }
  }

 private:
  // The kernel where it was launched from; grid, block, cluster, dynamic shared memory, context; engine.
  using Key = std::tuple<const Entry*, std::array<uint64_t, 11>, std::string>;

  std::map<Key, MergedLaunches> launches_;
};

}  // namespace cuvein
