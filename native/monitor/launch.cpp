#include "monitor/launch.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "patches/channel.h"

namespace cuvein {
namespace {

constexpr size_t kSlots = kLaunchSlots;

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

std::string Launch::document(const std::vector<bool>* wanted) const {
  const Kernel& kernel = *entry->kernel;
  const bool clustered = static_cast<uint64_t>(cluster[0]) * cluster[1] * cluster[2] > 1;
  nlohmann::json document = {
      {"sequence", sequence},
      {"kernel",
       {{"name", kernel.name},
        {"mangled", kernel.mangled},
        {"module", entry->code->sha256.empty() ? nlohmann::json() : nlohmann::json(entry->code->sha256)}}},
      {"grid", {grid[0], grid[1], grid[2]}},
      {"block", {block[0], block[1], block[2]}},
      {"cluster", clustered ? nlohmann::json{cluster[0], cluster[1], cluster[2]} : nlohmann::json()},
      {"shared_bytes", {entry->static_shared, dynamic_shared}},
      {"device",
       {{"ordinal", device.ordinal},
        {"name", device.name},
        {"compute_capability", {device.major, device.minor}},
        {"multiprocessors", device.multiprocessors}}},
      {"context", context},
      {"stream", stream},
      {"graph", graph ? nlohmann::json(*graph) : nlohmann::json()}};
  std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // The long lists are spelled once and shared by launches, so they are put in as text.
  text.pop_back();
  text += ",\"functions\":" + entry->functions;
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
