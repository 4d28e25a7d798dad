// The PCDepGraph of a launch from the counts that the GPU engine keeps of it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "analyzer/graph.h"
#include "model/gpu_engine.h"

namespace cuvein {

class Aggregate {
 public:
  // Counts of one key add up.
  void add(uint64_t key, uint64_t count) { counts_[key] += count; }
  // The same of a record: `outcome` is 0, or counted at a site whose node is `key`; nothing, where 0 is
  // counted.
  void add(uint64_t key, uint64_t outcome, uint64_t count);
  const std::unordered_map<uint64_t, uint64_t>& counts() const { return counts_; }  // by key

  // What the GPU found that makes the graph not exact, or a part of it not known.
  uint32_t findings() const;

  // `base`: the lowest known address of code, from the entry of the kernel. `host` is the host engine's graph
  // of the launch, whose instructions that were not analysed are taken over. Throws std::runtime_error when
  // the counts contradict one another.
  Graph graph(int64_t base, const Graph& host) const;

 private:
  // Of a barrier, by the key of its executions; -1: not known.
  int64_t ordered_bytes(uint64_t barrier, uint32_t findings) const;

  std::unordered_map<uint64_t, uint64_t> counts_;
};

// A sentence for findings that make the graph incomplete; empty: none of them.
std::string why_incomplete(uint32_t findings);

}  // namespace cuvein
