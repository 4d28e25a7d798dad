// Memory by the allocation that its bytes belong to.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/engine.h"

namespace cuvein {

// Bytes first to last, all of allocation number `index`.
struct MemoryRange {
  uint64_t first, last;
  int64_t index;
};

// Cuts allocations into ranges without overlap, ascending. A byte in two of them belongs to the one that lies
// within the other, of equal ones to the later in the list; where two only overlap, the lower one keeps the
// bytes.
std::vector<MemoryRange> disjoint(const std::vector<AllocationRange>& allocations);

}  // namespace cuvein
