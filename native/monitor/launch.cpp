#include "monitor/launch.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "monitor/json_text.h"
#include "patches/channel.h"
#include "profile/counted.h"

namespace cuvein {
namespace {

constexpr size_t kSlots = kLaunchSlots;
constexpr size_t kMostFunctionBytes = 32 << 10;

}  // namespace

LaunchShape Launch::shape() const {
  LaunchShape shape;
  shape.sequence = sequence;
  for (int i = 0; i < 3; ++i) {
    shape.grid[i] = grid[i];
    shape.block[i] = block[i];
    shape.cluster[i] = cluster[i];
  }
  if (allocations) {
    for (const Allocation& allocation : allocations->allocations()) {
      shape.allocations.push_back({allocation.address, allocation.size});
    }
  }
  return shape;
}

// Of the Launch document, but for the lists. Put together from texts, since it is made for each launch.
std::string Launch::members() const {
  const Kernel& kernel = *entry->kernel;
  const bool clustered = static_cast<uint64_t>(cluster[0]) * cluster[1] * cluster[2] > 1;
  std::string text;
  const auto list = [&text](const auto& numbers) {
    char mark = '[';
    for (const auto number : numbers) (text += mark) += std::to_string(number), mark = ',';
    text += ']';
  };
  text += "\"block\":", list(block);
  text += ",\"cluster\":";
  if (clustered)
    list(cluster);
  else
    text += "null";
  text += ",\"context\":" + std::to_string(context) + ",\"device\":{\"compute_capability\":";
  list(std::array<int, 2>{device.major, device.minor});
  text += ",\"multiprocessors\":" + std::to_string(device.multiprocessors) +
          ",\"name\":" + cuvein::text(device.name) + ",\"ordinal\":" + std::to_string(device.ordinal) +
          "},\"graph\":";
  if (graph)
    list(*graph);
  else
    text += "null";
  text += ",\"grid\":", list(grid);
  const std::string& module_hash = entry->code->sha256;
  text += ",\"kernel\":{\"mangled\":" + kernel.mangled_text +
          ",\"module\":" + (module_hash.empty() ? "null" : '"' + module_hash + '"') +
          ",\"name\":" + kernel.name_text + "},\"sequence\":" + std::to_string(sequence) +
          ",\"shared_bytes\":";
  list(std::array<uint64_t, 2>{entry->static_shared, dynamic_shared});
  return text + ",\"stream\":" + std::to_string(stream);
}

bool Launch::parts(const std::vector<bool>& wanted, uint64_t merged, LaunchParts* parts) const {
  if (site) return false;
  parts->sequence = sequence;
  parts->before = members();
  parts->after = merged != 0 ? ",\"merged\":" + std::to_string(merged) : "";
  parts->functions = &entry->functions;
  parts->allocations.resize(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    const Allocation& allocation = allocations->allocations()[i];
    if (allocation.site || allocation.tensor || allocation.parent >= 0) return false;
    parts->allocations[i] = allocation_text(allocation);
  }
  return true;
}

std::string Launch::counted(const ProcessParts& process, const std::string& incomplete) const {
  static const std::string& no_allocations = *new std::string(packed(std::vector<std::string>()));
  if (site || entry->packed_functions.size() > kMostFunctionBytes) return "";
  const std::string& list = allocations ? allocations->packed() : no_allocations;
  if (list.empty()) return "";
  static const Aggregate& none = *new Aggregate();
  return packed({&process, sequence, members(), &entry->packed_functions, &list, code_base, incomplete},
                aggregate ? *aggregate : none);
}

std::string Launch::document(const std::vector<bool>* wanted) const {
  std::string text = "{" + members() + ",\"functions\":";
  char mark = '[';
  for (const FunctionParts& function : entry->functions) (text += mark) += function.document, mark = ',';
  text += ']';
  CallSiteTable sites;
  std::string list = "[]";
  if (allocations && wanted != nullptr) {
    list = allocations->json(&sites, wanted);
  } else if (allocations) {
    list = allocations->json();
    sites = allocations->sites();
  }
  text += ",\"allocations\":" + list;
  const int number = sites.add(site);
  if (number >= 0) text += ",\"site\":" + std::to_string(number);
  if (!sites.empty()) text += "," + sites.json();
  return text + "}";
}

LaunchSlots::LaunchSlots() {
  void* memory = mmap(nullptr, kSlots * sizeof(*slots_), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  slots_ = static_cast<std::atomic<uintptr_t>*>(memory);
}

LaunchSlots::~LaunchSlots() {
  for (uint32_t number = 0; number < next_; ++number) delete slot(number);
  munmap(slots_, kSlots * sizeof(*slots_));
}

uint32_t LaunchSlots::take(std::unique_ptr<Slot> taken) {
  uint32_t number;
  if (next_ < kSlots) {
    number = next_++;
  } else if (!free_.empty()) {
    number = free_.front();
    free_.pop_front();
  } else {
    return kNone;
  }
  for (const auto& launch : taken->launches) launch->slot = number;
  const uintptr_t mark = taken->replay ? kReplay : 0;
  slots_[number].store(reinterpret_cast<uintptr_t>(taken.release()) | mark, std::memory_order_release);
  return number;
}

void LaunchSlots::count(const Launch& launch) {
  ++by_stream_[launch.stream_handle];
  ++count_;
}

uint32_t LaunchSlots::open(std::unique_ptr<Launch> launch) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (next_ == kSlots && free_.empty()) return kNone;
  count(*launch);
  auto slot = std::make_unique<Slot>();
  slot->launches.push_back(std::move(launch));
  return take(std::move(slot));
}

uint32_t LaunchSlots::open_replay() {
  std::lock_guard<std::mutex> lock(mutex_);
  auto slot = std::make_unique<Slot>();
  slot->replay = true;
  slot->sealed = false;
  return take(std::move(slot));
}

void LaunchSlots::add(uint32_t number, std::unique_ptr<Launch> launch) {
  std::lock_guard<std::mutex> lock(mutex_);
  launch->slot = number;
  count(*launch);
  slot(number)->launches.push_back(std::move(launch));
}

void LaunchSlots::seal(uint32_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  slot(number)->sealed = true;
  release(number);
}

Launch* LaunchSlots::find(uint32_t number, uint32_t grid_id) {
  const uintptr_t value = slots_[number].load(std::memory_order_acquire);
  if (value == 0) return nullptr;
  if ((value & kReplay) == 0) return reinterpret_cast<Slot*>(value)->launches.front().get();
  std::lock_guard<std::mutex> lock(mutex_);
  const Slot* replay = slot(number);
  if (replay == nullptr) return nullptr;
  for (const auto& launch : replay->launches) {
    if (launch->grid_id == grid_id) return launch.get();
  }
  return nullptr;
}

void LaunchSlots::release(uint32_t number) {
  Slot* released = slot(number);
  if (!released->sealed || !released->launches.empty()) return;
  if (!released->given_up) free_.push_back(number);
  slots_[number].store(0, std::memory_order_release);
  delete released;
}

std::unique_ptr<Launch> LaunchSlots::close(Launch* closed) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t number = closed->slot;
  Slot* holder = slot(number);
  const auto found = std::find_if(holder->launches.begin(), holder->launches.end(),
                                  [closed](const auto& candidate) { return candidate.get() == closed; });
  std::unique_ptr<Launch> launch = std::move(*found);
  holder->launches.erase(found);
  holder->given_up = holder->given_up || launch->ended < launch->threads;
  release(number);
  const auto stream = by_stream_.find(launch->stream_handle);
  if (--stream->second == 0) by_stream_.erase(stream);
  --count_;
  return launch;
}

std::vector<Launch*> LaunchSlots::open_launches() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Launch*> launches;
  for (uint32_t number = 0; number < next_; ++number) {
    const Slot* holder = slot(number);
    if (holder == nullptr) continue;
    for (const auto& launch : holder->launches) launches.push_back(launch.get());
  }
  return launches;
}

uint64_t LaunchSlots::open_count(const CUstream* stream) {
  if (stream == nullptr) return count_;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_stream_.find(*stream);
  return found == by_stream_.end() ? 0 : found->second;
}

}  // namespace cuvein
