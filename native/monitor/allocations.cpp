#include "monitor/allocations.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "monitor/json_text.h"
#include "profile/counted.h"

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
      merged.back().site.reset();
      merged.back().tensor.reset();
    } else {
      merged.push_back(sorted[i]);
    }
  }
  return merged;
}

nlohmann::json allocation_json(const Allocation& allocation) {
  return {{"address", allocation.address},
          {"size", allocation.size},
          {"kind", cuvein::name(allocation.kind)},
          {"name", allocation.name.empty() ? nlohmann::json() : nlohmann::json(allocation.name)}};
}

}  // namespace

void Tensor::name(const std::string& dtype, const std::vector<int64_t>& shape) {
  const nlohmann::json facts = {{"shape", shape}, {"dtype", dtype}};
  std::lock_guard<std::mutex> lock(mutex_);
  if (facts_.empty()) facts_ = text(facts);
}

void Tensor::expect(const std::string& dtype, const std::vector<int64_t>& shape) {
  std::lock_guard<std::mutex> lock(mutex_);
  expected_ = text({{"shape", shape}, {"dtype", dtype}});
  expected_at_ = Patience::Clock::now();
}

void Tensor::expect(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  expected_ = text({{"name", name}});
  expected_at_ = Patience::Clock::now();
}

void Tensor::await(const Patience& patience) const {
  const auto open = [&] {
    std::lock_guard<std::mutex> lock(mutex_);
    if (expected_.empty() || !facts_.empty() || in_vain_) return false;
    in_vain_ = !patience.lasts(expected_at_);
    return !in_vain_;
  };
  while (open()) Patience::pause();
}

void Tensor::keep() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (facts_.empty()) facts_ = expected_;
}

void Tensor::gone(const std::string& op) {
  std::lock_guard<std::mutex> lock(mutex_);
  expected_.clear();
  if (facts_.empty() && !op.empty()) facts_ = text({{"name", "temporary of " + op}});
}

std::string Tensor::facts() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return facts_;
}

// Like allocation_json, which takes longer.
std::string allocation_text(const Allocation& allocation) {
  return "{\"address\":" + std::to_string(allocation.address) + ",\"kind\":\"" +
         cuvein::name(allocation.kind) +
         "\",\"name\":" + (allocation.name.empty() ? "null" : text(allocation.name)) +
         ",\"size\":" + std::to_string(allocation.size) + "}";
}

const std::string& AllocationList::packed() const {
  std::call_once(packed_once_, [this] {
    if (allocations_.size() > kMostPacked) return;
    std::vector<std::string> texts;
    for (const Allocation& allocation : allocations_) {
      if (allocation.site || allocation.tensor || allocation.parent >= 0) return;
      texts.push_back(allocation_text(allocation));
    }
    packed_ = cuvein::packed(texts);
  });
  return packed_;
}

std::string AllocationList::json(CallSiteTable* sites, const std::vector<bool>* wanted) const {
  std::string result = "[";
  for (size_t i = 0; i < allocations_.size(); ++i) {
    if (i != 0) result += ',';
    if (wanted != nullptr && !(*wanted)[i]) {
      result += "null";
      continue;
    }
    const Allocation& allocation = allocations_[i];
    nlohmann::json document = allocation_json(allocation);
    if (allocation.parent >= 0) document["parent"] = allocation.parent;
    const int site = sites->add(allocation.site);
    if (site >= 0) document["site"] = site;
    const std::string facts = allocation.tensor ? allocation.tensor->facts() : "";
    if (!facts.empty()) document.update(nlohmann::json::parse(facts));
    result += text(document);
  }
  return result + "]";
}

const std::string& AllocationList::json() const {
  std::call_once(once_, [this] {
    // Before the text is made, so that a name that comes meanwhile is told twice rather than never.
    for (size_t i = 0; i < allocations_.size(); ++i) {
      const auto& tensor = allocations_[i].tensor;
      if (tensor && tensor->facts().empty()) unnamed_.push_back(static_cast<int>(i));
    }
    json_ = json(&sites_, nullptr);
  });
  return json_;
}

void AllocationList::await_names(const Patience& patience) const {
  for (const Allocation& allocation : allocations_)
    if (allocation.tensor) allocation.tensor->await(patience);
}

std::string AllocationList::amendments() const {
  nlohmann::json list = nlohmann::json::array();
  for (const int index : unnamed_) {
    const std::string facts = allocations_[static_cast<size_t>(index)].tensor->facts();
    if (facts.empty()) continue;
    list.push_back(nlohmann::json::parse(facts));
    list.back()["allocation"] = index;
  }
  return list.empty() ? "" : text(list);
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
  // An array may fill it, and with call sites its framework tells.
  if (known.site) known.tensor = std::make_shared<Tensor>();
  list_.reset();
}

void Allocations::remove(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = alive_.find(address);
  if (found == alive_.end()) return;
  forget_tensors(address, found->second.size);
  alive_.erase(found);
  list_.reset();
}

void Allocations::remove_range(uint64_t address, uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  forget_tensors(address, size);
  alive_.erase(alive_.lower_bound(address), alive_.lower_bound(address + size));
  list_.reset();
}

// Those that a byte of the range lies in.
void Allocations::forget_tensors(uint64_t address, uint64_t size) {
  auto first = tensors_.lower_bound(address);
  if (first != tensors_.begin()) {
    const auto before = std::prev(first);
    if (before->first + before->second.size > address) first = before;
  }
  tensors_.erase(first, tensors_.lower_bound(address + size));
}

void Allocations::create_tensor(uint64_t address, uint64_t size, std::shared_ptr<const CallSite> site) {
  if (size == 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  forget_tensors(address, size);
  tensors_[address] = {
      address, size, AllocationKind::kTensor, "", std::move(site), std::make_shared<Tensor>()};
  list_.reset();
}

bool Allocations::name_tensor(uint64_t address, uint64_t size, const std::string& dtype,
                              const std::vector<int64_t>& shape) {
  const std::shared_ptr<Tensor> found = tensor(address, size);
  if (found) found->name(dtype, shape);
  return found != nullptr;
}

std::shared_ptr<Tensor> Allocations::tensor(uint64_t address, uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tensors_.find(address);
  return found != tensors_.end() && found->second.size == size ? found->second.tensor : nullptr;
}

bool Allocations::name_allocation(uint64_t address, uint64_t size, const std::string& dtype,
                                  const std::vector<int64_t>& shape) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = alive_.find(address);
  if (found == alive_.end() || found->second.size != size || !found->second.tensor) return false;
  found->second.tensor->name(dtype, shape);
  return true;
}

std::shared_ptr<const CallSite> Allocations::maker_of_unnamed(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tensors_.find(address);
  return found != tensors_.end() && found->second.tensor->facts().empty() ? found->second.site : nullptr;
}

void Allocations::destroy_tensor(uint64_t address, const std::string& op) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tensors_.find(address);
  if (found == tensors_.end()) return;
  found->second.tensor->gone(op);
  tensors_.erase(found);
  list_.reset();
}

// Each may cut what it lies in into two, and the GPU engine knows so many ranges.
void Allocations::add_tensors(std::vector<Allocation>* all) const {
  const size_t most = (kMost - all->size()) / 2;
  std::vector<const Allocation*> chosen;
  chosen.reserve(tensors_.size());
  for (const auto& [address, tensor] : tensors_) chosen.push_back(&tensor);
  if (chosen.size() > most) {
    const auto larger = [](const Allocation* a, const Allocation* b) { return a->size > b->size; };
    std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(most), chosen.end(),
                     larger);
    chosen.resize(most);
    std::sort(chosen.begin(), chosen.end(),
              [](const Allocation* a, const Allocation* b) { return a->address < b->address; });
  }
  std::vector<Allocation> merged;
  merged.reserve(all->size() + chosen.size());
  auto next = chosen.begin();
  for (size_t i = 0; i < all->size(); ++i) {
    const size_t index = merged.size();
    merged.push_back(std::move((*all)[i]));
    const uint64_t first = merged[index].address;
    uint64_t last = first + merged[index].size;
    while (next != chosen.end() && (*next)->address < first) ++next;
    for (; next != chosen.end() && (*next)->address < last; ++next) {
      const uint64_t end = (*next)->address + (*next)->size;
      // Memory that is mapped piece by piece is one to those who use it.
      while (end > last && i + 1 < all->size() && (*all)[i + 1].address == last &&
             (*all)[i + 1].kind == AllocationKind::kMapped && merged[index].kind == AllocationKind::kMapped) {
        last += (*all)[++i].size;
        merged[index].size = last - first;
      }
      if (end > last) continue;  // from another time
      merged.push_back(**next);
      merged.back().parent = static_cast<int>(index);
    }
  }
  all->swap(merged);
}

std::shared_ptr<const AllocationList> Allocations::list() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!list_) {
    std::vector<Allocation> all;
    all.reserve(alive_.size());
    for (const auto& [address, allocation] : alive_) all.push_back(allocation);
    if (all.size() > kMost) all = merge(all, kMost);
    if (!tensors_.empty()) add_tensors(&all);
    list_ = std::make_shared<const AllocationList>(std::move(all));
  }
  return list_;
}

}  // namespace cuvein
