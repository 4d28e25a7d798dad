#include "monitor/merged.h"

namespace cuvein {
namespace {

// For each allocation of the list, where the other one has it.
std::vector<int64_t> indices(const AllocationList& list, const AllocationList& in) {
  std::map<std::tuple<uint64_t, uint64_t, bool>, int64_t> known;
  int64_t index = 0;
  for (const Allocation& allocation : in.allocations())
    known.emplace(std::make_tuple(allocation.address, allocation.size, allocation.parent >= 0), index++);
  std::vector<int64_t> result;
  for (const Allocation& allocation : list.allocations()) {
    const auto found = known.find({allocation.address, allocation.size, allocation.parent >= 0});
    result.push_back(found == known.end() ? kNoAllocation : found->second);
  }
  return result;
}

}  // namespace

void Merging::add(std::unique_ptr<Launch> launch, const Graph& graph, const char* engine) {
  std::array<uint64_t, 11> shape{};
  for (unsigned i = 0; i < 3; ++i) {
    shape[i] = launch->grid[i];
    shape[3 + i] = launch->block[i];
    shape[6 + i] = launch->cluster[i];
  }
  shape[9] = launch->dynamic_shared;
  shape[10] = static_cast<uint64_t>(launch->context);
  MergedLaunches& merged = launches_[{launch->entry.get(), shape, engine}];
  const std::shared_ptr<const AllocationList> list = launch->allocations;
  if (!merged.first) {
    // What it was needed for is over.
    launch->aggregate.reset();
    launch->gpu.reset();
    launch->module.reset();
    merged.first = std::move(launch);
  }
  const std::shared_ptr<const AllocationList>& known = merged.first->allocations;
  std::vector<int64_t> allocation;
  if (list && known) {
    if (list == known) {
      for (size_t i = 0; i < list->allocations().size(); ++i) allocation.push_back(static_cast<int64_t>(i));
    } else {
      allocation = indices(*list, *known);
    }
  }
  merged.graph.add(graph, allocation);
  ++merged.count;
  merged.changed = true;
}

}  // namespace cuvein
