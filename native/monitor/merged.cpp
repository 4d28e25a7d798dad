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

std::unique_ptr<Launch> described(const Launch& launch) {
  auto copy = std::make_unique<Launch>();
  copy->sequence = launch.sequence;
  copy->entry = launch.entry;
  for (unsigned i = 0; i < 3; ++i) {
    copy->grid[i] = launch.grid[i];
    copy->block[i] = launch.block[i];
    copy->cluster[i] = launch.cluster[i];
  }
  copy->dynamic_shared = launch.dynamic_shared;
  copy->context = launch.context;
  copy->stream = launch.stream;
  copy->graph = launch.graph;
  copy->allocations = launch.allocations;
  copy->site = launch.site;
  copy->device = launch.device;
  return copy;
}

}  // namespace

void Merging::add(const Launch& launch, const Graph& graph, const char* engine) {
  std::array<uint64_t, 11> shape{};
  for (unsigned i = 0; i < 3; ++i) {
    shape[i] = launch.grid[i];
    shape[3 + i] = launch.block[i];
    shape[6 + i] = launch.cluster[i];
  }
  shape[9] = launch.dynamic_shared;
  shape[10] = static_cast<uint64_t>(launch.context);
  MergedLaunches& merged = launches_[{launch.entry.get(), shape, engine}];
  if (!merged.first) merged.first = described(launch);
  const std::shared_ptr<const AllocationList>& known = merged.first->allocations;
  std::vector<int64_t> allocation;
  if (launch.allocations && known) {
    if (launch.allocations == known) {
      for (size_t i = 0; i < launch.allocations->allocations().size(); ++i)
        allocation.push_back(static_cast<int64_t>(i));
    } else {
      allocation = indices(*launch.allocations, *known);
    }
  }
  merged.graph.add(graph, allocation);
  ++merged.count;
  merged.changed = true;
}

}  // namespace cuvein
