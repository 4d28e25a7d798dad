// The host engine: access records in, PCDepGraphs out. Exact in bytes, and the same graph for any number of
// workers: global memory is divided among them by address, shared and local memory by block, so the accesses
// to one byte are always seen by one worker in the order of the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/graph.h"

namespace cuvein {

struct AllocationRange {
  uint64_t address;
  uint64_t size;
};

// What the analysis needs to know of a launch.
struct LaunchShape {
  uint32_t sequence = 0;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};  // 1,1,1: no clusters
  std::vector<AllocationRange> allocations;
};

// What a worker has spent its time on, in seconds.
struct WorkerTimes {
  double decode = 0, by_block = 0, by_address = 0;  // the steps, see docs/engine.md
  double cleaning = 0;                              // shadow memory of launches that have ended
  double checking = 0;                              // records, for the caller
  double waiting = 0;                               // for other workers
  double starved = 0;                               // nothing was handed over
};

// The same of the thread that calls the engine.
struct CallerTimes {
  double checking = 0;   // and copying records
  double analysing = 0;  // what is too little to be handed over
  double waiting = 0;    // for the workers
  double ending = 0;     // adding up what the workers have counted
};

class Engine {
 public:
  explicit Engine(unsigned workers);  // 0: one for each processor
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Several launches may be open at once; each has its own shadow state. Throws std::invalid_argument when
  // the launch is open already.
  void begin(const LaunchShape& shape);

  // Takes whole records of any open launches, interleaved, in stream order. Returns false and changes nothing
  // when a record is malformed or names a launch that is not open. The memory may be reused on return.
  bool consume(const void* records, size_t bytes);
  // The record for which the last call was refused, for a report of the mistake; empty when it has no place.
  const std::string& refused() const;

  // Waits for the records consumed so far and closes the launch. Throws std::invalid_argument when it is not
  // open. Like consume, it throws what stopped the analysis of records consumed before: std::bad_alloc,
  // std::length_error.
  Graph end(uint32_t launch);

  // Since the engine was made. One for each worker.
  std::vector<WorkerTimes> worker_times();
  CallerTimes caller_times() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace cuvein
