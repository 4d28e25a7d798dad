#include "analyzer/ranges.h"

#include <queue>
#include <tuple>

namespace cuvein {
namespace {

struct Later {
  bool operator()(const MemoryRange& a, const MemoryRange& b) const {
    return std::make_tuple(a.first, ~a.last, a.index) > std::make_tuple(b.first, ~b.last, b.index);
  }
};

}  // namespace

std::vector<MemoryRange> disjoint(const std::vector<AllocationRange>& allocations) {
  std::priority_queue<MemoryRange, std::vector<MemoryRange>, Later> waiting;
  for (size_t i = 0; i < allocations.size(); ++i) {
    const uint64_t last = allocations[i].address + (allocations[i].size - 1);
    if (allocations[i].size != 0 && last >= allocations[i].address)
      waiting.push({allocations[i].address, last, static_cast<int64_t>(i)});
  }
  std::vector<MemoryRange> result;
  std::vector<MemoryRange> open;  // each within the one before; `first` is where its bytes go on
  const auto close = [&] {
    const MemoryRange ended = open.back();
    open.pop_back();
    if (ended.first <= ended.last) result.push_back(ended);
    // At the very end of memory there is nothing to go on with.
    if (!open.empty() && ended.last != ~uint64_t{0}) open.back().first = ended.last + 1;
    if (!open.empty() && ended.last == ~uint64_t{0}) open.clear();
  };
  while (!waiting.empty()) {
    MemoryRange range = waiting.top();
    waiting.pop();
    while (!open.empty() && open.back().last < range.first) close();
    if (!open.empty()) {
      MemoryRange& around = open.back();
      if (range.last > around.last) {
        range.first = around.last + 1;
        waiting.push(range);
        continue;
      }
      if (around.first < range.first) result.push_back({around.first, range.first - 1, around.index});
      around.first = range.first;
    }
    open.push_back(range);
  }
  while (!open.empty()) close();
  return result;
}

}  // namespace cuvein
