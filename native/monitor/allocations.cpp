#include "monitor/allocations.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cuvein {
namespace {

// Merges the allocations of a kind that lie nearest to each other until at most `most` are left.
std::vector<Allocation> merge(const std::vector<Allocation>& sorted, size_t most) {
  constexpr uint64_t kNever = ~uint64_t{0};
  const auto gap = [](const Allocation& left, const Allocation& right) {
    return left.kind == right.kind ? right.address - (left.address + left.size) : kNever;
  };
  std::vector<uint64_t> gaps;
  for (size_t i = 1; i < sorted.size(); ++i) gaps.push_back(gap(sorted[i - 1], sorted[i]));
  const size_t merges = sorted.size() - most;
  std::nth_element(gaps.begin(), gaps.begin() + (merges - 1), gaps.end());
  const uint64_t widest = gaps[merges - 1];
  std::vector<Allocation> merged{sorted.front()};
  for (size_t i = 1; i < sorted.size(); ++i) {
    const uint64_t distance = gap(sorted[i - 1], sorted[i]);
    if (distance != kNever && distance <= widest) {
      merged.back().size = sorted[i].address + sorted[i].size - merged.back().address;
      merged.back().name.clear();
    } else {
      merged.push_back(sorted[i]);
    }
  }
  return merged;
}

}  // namespace

const std::string& AllocationList::json() const {
  std::call_once(once_, [this] {
    nlohmann::json array = nlohmann::json::array();
    for (const Allocation& allocation : allocations_) {
      array.push_back(
          {{"address", allocation.address},
           {"size", allocation.size},
           {"kind", cuvein::name(allocation.kind)},
           {"name", allocation.name.empty() ? nlohmann::json() : nlohmann::json(allocation.name)}});
    }
    json_ = array.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  });
  return json_;
}

void Allocations::add(const Allocation& allocation) {
  if (allocation.size == 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  // Memory that a peer may use is reported once for each device; its owner's report counts.
  if (allocation.kind == AllocationKind::kPeer && alive_.count(allocation.address) != 0) return;
  Allocation& known = alive_[allocation.address];
  // Mapped memory is reported a second time, as device memory, when it is made accessible.
  const bool mapped = known.kind == AllocationKind::kMapped && allocation.kind == AllocationKind::kDevice;
  // So is a managed variable: as memory, and as a variable.
  const bool managed = known.kind == AllocationKind::kManaged && allocation.kind == AllocationKind::kModule;
  const AllocationKind kind = mapped || managed ? known.kind : allocation.kind;
  known = allocation;
  known.kind = kind;
  list_.reset();
}

void Allocations::remove(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (alive_.erase(address) != 0) list_.reset();
}

void Allocations::remove_range(uint64_t address, uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  alive_.erase(alive_.lower_bound(address), alive_.lower_bound(address + size));
  list_.reset();
}

std::shared_ptr<const AllocationList> Allocations::list() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!list_) {
    std::vector<Allocation> all;
    all.reserve(alive_.size());
    for (const auto& [address, allocation] : alive_) all.push_back(allocation);
    list_ = std::make_shared<const AllocationList>(all.size() > kMost ? merge(all, kMost) : std::move(all));
  }
  return list_;
}

}  // namespace cuvein
