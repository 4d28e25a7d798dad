#include "monitor/gpu_engine.h"

#include <algorithm>
#include <cstring>

#include "analyzer/ranges.h"
#include "monitor/sanitizer.h"
#include "patches/channel.h"

namespace cuvein {
namespace {

using gpu::kMultiprocessors;
constexpr uint32_t kMostPages = 1u << (gpu::kDirectoryBits - 1);
constexpr uint32_t kSparePages = 32;
constexpr uint32_t kPagesAtATime = 32;
constexpr size_t kRangeLists = 64;
constexpr unsigned kFewestClockBits = 9;
constexpr uint32_t kNoPlace = ~0u;
constexpr uint64_t kMostMemory = uint64_t{32} << 30;
constexpr uint64_t kUnknownMemory = uint64_t{4} << 30;

constexpr const char* kNoMemory = "its memory did not suffice";

CUstream normal(CUstream stream) { return stream == CU_STREAM_LEGACY ? nullptr : stream; }

unsigned bits_for(uint64_t values) {
  return values <= 1 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(values - 1));
}

uint64_t product(const uint32_t (&size)[3]) { return uint64_t{size[0]} * size[1] * size[2]; }

constexpr uint64_t shared_shadow_bytes(unsigned shift) {
  return uint64_t{kMultiprocessors} * (gpu::kSharedBytes >> shift) * 8;
}

// Of the numbers of blocks in shadow entries.
unsigned block_bits(const Launch& launch) {
  const uint64_t cluster = product(launch.cluster);
  return bits_for((product(launch.grid) / cluster) << bits_for(cluster));
}

}  // namespace

// The program needs memory, too: half of it is left alone where the user does not say.
bool Budget::has(uint64_t bytes) const {
  uint64_t most = asked_;
  if (most == 0) {
    const uint64_t memory = *device_;
    most = memory == 0 ? kUnknownMemory : std::min(memory / 2, kMostMemory);
  }
  return taken_ + bytes <= most;
}

void GpuEngine::claim(CUstream stream) {
  std::lock_guard<std::mutex> lock(open_mutex_);
  ++open_[normal(stream)];
}

void GpuEngine::unclaim(CUstream stream) {
  std::lock_guard<std::mutex> lock(open_mutex_);
  release(stream);
}

// With open_mutex_.
void GpuEngine::release(CUstream stream) {
  const auto found = open_.find(normal(stream));
  if (found != open_.end() && --found->second == 0) open_.erase(found);
}

bool GpuEngine::serves_only(CUstream stream) const {
  std::lock_guard<std::mutex> lock(open_mutex_);
  return open_.size() == 1 && open_.begin()->first == normal(stream);
}

bool GpuEngine::idle() const {
  std::lock_guard<std::mutex> lock(open_mutex_);
  return open_.empty();
}

bool GpuEngine::allocate(uint64_t bytes, void** memory, bool zero, Sanitizer_StreamHandle stream) {
  Sanitizer& api = sanitizer();
  if (!budget_->has(bytes) || api.Alloc(context_, memory, bytes) != SANITIZER_SUCCESS) return false;
  budget_->take(bytes);
  return !zero || api.Memset(*memory, 0, bytes, stream) == SANITIZER_SUCCESS;
}

std::string GpuEngine::prepare(Sanitizer_StreamHandle stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!prepared_ && !failed_) failed_ = !make(stream);
  return failed_ ? kNoMemory : "";
}

// Memory that does not depend on the program, at the first launch.
bool GpuEngine::make(Sanitizer_StreamHandle stream) {
  Sanitizer& api = sanitizer();
  if (base_ == 0) {
    void* memory = nullptr;
    if (!allocate(kChannelAlignment + gpu::kMemoryBytes, &memory, false, stream)) return false;
    const uint64_t address = reinterpret_cast<uint64_t>(memory);
    base_ = (address + kChannelAlignment - 1) / kChannelAlignment * kChannelAlignment;
    if (base_ >> kFamilyShift != 0) return false;
    if (api.MemcpyHostToDeviceAsync(reinterpret_cast<void*>(base_), const_cast<Channel*>(&channel_),
                                    sizeof channel_, stream) != SANITIZER_SUCCESS)
      return false;
  }
  void* host = nullptr;
  constexpr uint64_t places = uint64_t{kMultiprocessors} * gpu::kBlocksPerMultiprocessor;
  constexpr uint32_t kDescribed = gpu::kParameters + gpu::kNodes;
  constexpr uint64_t kParameterBytes = sizeof(gpu::Parameters) * kDescribed;
  constexpr uint64_t kKeyBytes = sizeof(uint64_t) * gpu::kNodes;
  constexpr uint64_t kPageListBytes = kMostPages * sizeof(uint64_t);
  constexpr uint64_t kRangeBytes = sizeof(gpu::Range) * gpu::kMostRanges * kRangeLists;
  const uint64_t host_bytes = kParameterBytes + kKeyBytes + kPageListBytes + kRangeBytes + 128;
  if (api.AllocHost(context_, &host, host_bytes) != SANITIZER_SUCCESS) return false;
  std::memset(host, 0, host_bytes);
  char* at = static_cast<char*>(host);
  parameters_ = reinterpret_cast<gpu::Parameters*>(at);
  node_keys_ = reinterpret_cast<uint64_t*>(at += kParameterBytes);
  pages_ = reinterpret_cast<uint64_t*>(at += kKeyBytes);
  range_memory_ = reinterpret_cast<gpu::Range*>(at += kPageListBytes);
  page_count_ = reinterpret_cast<uint32_t*>(at += kRangeBytes);
  ranges_.resize(kRangeLists);
  described_.resize(kDescribed);

  gpu::Engine engine = {};
  engine.parameters = parameters_;
  engine.node_keys = node_keys_;
  engine.pages = pages_;
  engine.page_count = page_count_;
  const auto device = [&](auto** pointer, uint64_t count) {
    void* memory = nullptr;
    if (!allocate(count * sizeof(**pointer), &memory, true, stream)) return false;
    *pointer = static_cast<std::remove_reference_t<decltype(*pointer)>>(memory);
    return true;
  };
  if (!device(&engine.decisions, kDescribed) || !device(&engine.block_states, places) ||
      !device(&engine.warps, places * gpu::kWarpsPerBlock) || !device(&engine.locks, kMultiprocessors) ||
      !device(&engine.used, gpu::kAllCounters))
    return false;
  void* memory = reinterpret_cast<void*>(base_ + gpu::kEngineOffset);
  if (api.Memset(memory, 0, gpu::kMemoryBytes - gpu::kEngineOffset, stream) != SANITIZER_SUCCESS ||
      api.MemcpyHostToDeviceAsync(memory, &engine, sizeof engine, stream) != SANITIZER_SUCCESS)
    return false;
  prepared_ = true;
  return true;
}

const GpuEngine::Span& GpuEngine::span(const Launch& launch) {
  const auto found = spans_.find(launch.entry.get());
  if (found != spans_.end()) return found->second;
  const Entry& entry = *launch.entry;
  const Code& code = *entry.code;
  const CubinFunction* self = nullptr;
  for (const CubinFunction& function : code.cubin.functions)
    if (function.symbol == entry.kernel->mangled) self = &function;
  Span span{launch.entry, 0, 0, 0, {}, code.cubin.stack_of(entry.kernel->mangled)};
  int64_t low = 0, high = 0;
  const auto include = [&](const CubinFunction& function, int64_t start) {
    low = std::min(low, start);
    high = std::max(high, start + static_cast<int64_t>(function.size));
    if (function.section < code.facts.size()) span.facts |= code.facts[function.section];
  };
  for (const CubinFunction& function : code.cubin.functions) {
    if (self != nullptr && function.section == self->section) {
      include(function, static_cast<int64_t>(function.offset) - static_cast<int64_t>(self->offset));
      continue;
    }
    if (function.kernel) continue;
    uint64_t pc = 0, size = 0;
    if (sanitizer().GetFunctionPcAndSize(launch.module->handle, function.symbol.c_str(), &pc, &size) ==
        SANITIZER_SUCCESS)
      include(function, static_cast<int64_t>(pc - entry.pc));
  }
  span.base = low;
  const uint64_t instructions = static_cast<uint64_t>(high - low + 15) / 16;
  span.bits = self == nullptr ? 64 : bits_for(instructions);
  span.instructions = static_cast<uint32_t>(std::min<uint64_t>(instructions, ~uint32_t{0}));
  return spans_.emplace(launch.entry.get(), span).first->second;
}

// Pages that launches so far may have taken, without those for memory that nobody told of.
uint64_t GpuEngine::expected_pages() const { return known_pages_.size() + local_pages_; }

// With some for memory that nobody told of.
uint64_t GpuEngine::wanted_pages() const { return expected_pages() + kSparePages; }

// Where in its window a thread's local memory lies is not known, so each kernel may need pages of its own.
void GpuEngine::count_local_pages(const Launch& launch, const Span& code) {
  const unsigned shift = unit_shift(code.facts.local_sizes);
  const uint64_t warps = (product(launch.block) + 31) / 32;
  const uint64_t shared = launch.entry->static_shared + launch.dynamic_shared + gpu::kReservedShared;
  const uint64_t blocks = std::clamp<uint64_t>(gpu::kSharedBytes / shared, 1, gpu::kBlocksPerMultiprocessor);
  const uint64_t threads = kMultiprocessors * blocks * 32 * warps;
  if (!known_stacks_.emplace(launch.entry.get(), threads).second) return;
  const uint64_t units = (code.stack >> shift) + 1;
  local_pages_ += (units * threads >> gpu::kPageEntriesBits) + 2;
}

// Pages for the allocations, `orders`: also for what barriers order there. False when there are too many.
bool GpuEngine::know_pages(const std::shared_ptr<const AllocationList>& list, unsigned shift, bool orders) {
  const bool known = known_list_ == list && known_shift_ == shift;
  if (known && (known_orders_ || !orders)) return true;
  const uint64_t reach = uint64_t{1} << (gpu::kPageEntriesBits + shift);
  for (const Allocation& allocation : list->allocations()) {
    if (allocation.parent >= 0) continue;
    for (uint64_t at = allocation.address / reach * reach; at < allocation.address + allocation.size;
         at += reach) {
      known_pages_.insert(gpu::directory_key(at, shift));
      const uint64_t order = gpu::directory_key((gpu::kOrderUnits << shift) + at, shift);
      if (orders && known_pages_.insert(order).second) added_pages_.push_back(order);
      if (known_pages_.size() > kMostPages) return false;
    }
  }
  known_list_ = list;
  known_shift_ = shift;
  known_orders_ = orders;  // or they would have been known already
  return true;
}

// The launch goes without what barriers order.
void GpuEngine::forget_pages() {
  for (const uint64_t key : added_pages_) known_pages_.erase(key);
  added_pages_.clear();
  known_orders_ = false;
}

bool GpuEngine::provide_pages(const Launch& launch, unsigned shift, bool orders,
                              Sanitizer_StreamHandle stream, std::string* reason) {
  added_pages_.clear();
  if (!know_pages(launch.allocations, shift, orders)) {
    *reason = kNoMemory;
    return false;
  }
  const uint64_t wanted = wanted_pages();
  const uint32_t there = *page_count_;
  if (there >= wanted) return true;
  *reason = kNoMemory;
  const uint64_t more = std::max<uint64_t>(wanted - there, kPagesAtATime);
  const uint64_t bytes = (more + 1) * gpu::kPageBytes;
  if (there + more > kMostPages || !budget_->has(bytes)) return false;
  if (!serves_only(launch.stream_handle)) {
    *reason = "its memory had to grow while another stream used it";
    return false;
  }
  void* memory = nullptr;
  if (!allocate(bytes, &memory, true, stream)) return false;
  const uint64_t first =
      (reinterpret_cast<uint64_t>(memory) + gpu::kPageBytes - 1) / gpu::kPageBytes * gpu::kPageBytes;
  page_regions_.emplace_back(first, more * gpu::kPageBytes);
  for (uint64_t i = 0; i < more; ++i) pages_[there + i] = first + i * gpu::kPageBytes;
  __atomic_store_n(page_count_, there + static_cast<uint32_t>(more), __ATOMIC_RELEASE);
  cleared_on_ = normal(launch.stream_handle);
  cleared_before_ = launch.sequence;
  reason->clear();
  return true;
}

// When all generations are used up, the shadow is cleared and they begin anew.
bool GpuEngine::provide_generation(const Launch& launch, Sanitizer_StreamHandle stream, std::string* reason) {
  if (generation_ < gpu::kGenerations) {
    ++generation_;
    return true;
  }
  if (!serves_only(launch.stream_handle)) {
    *reason = "its memory had to be cleared while another stream used it";
    return false;
  }
  // The device clears what has been taken beyond these.
  const uint64_t expected = std::min<uint64_t>(expected_pages(), 0xffff);
  uint64_t left = expected * gpu::kPageBytes;
  for (const auto& [address, bytes] : page_regions_) {
    const uint64_t here = std::min(bytes, left);
    if (here != 0 &&
        sanitizer().Memset(reinterpret_cast<void*>(address), 0, here, stream) != SANITIZER_SUCCESS) {
      *reason = "its memory could not be cleared";
      return false;
    }
    left -= here;
  }
  for (unsigned shift = 0; shift < std::size(shared_); ++shift) {
    if (shared_used_[shift] &&
        sanitizer().Memset(shared_[shift], 0, shared_shadow_bytes(shift), stream) != SANITIZER_SUCCESS) {
      *reason = "its memory could not be cleared";
      return false;
    }
    shared_used_[shift] = false;
  }
  if (families_.crowded(gpu::kGenerations) && !clear_sites(stream)) {
    *reason = "its memory could not be cleared";
    return false;
  }
  cleared_on_ = normal(launch.stream_handle);
  cleared_before_ = launch.sequence;
  cleared_ = ((cleared_ >> 16) + 1) << 16 | static_cast<uint32_t>(expected);
  generation_ = 1;
  return true;
}

// Families begin anew: no site is anybody's.
bool GpuEngine::clear_sites(Sanitizer_StreamHandle stream) {
  const auto clear = [&](uint64_t offset, uint64_t bytes) {
    return sanitizer().Memset(reinterpret_cast<void*>(base_ + offset), 0, bytes, stream) == SANITIZER_SUCCESS;
  };
  families_.clear();
  return clear(gpu::kSitesOffset, sizeof(gpu::Site) * gpu::kSites) &&
         clear(gpu::kWaysOffset, sizeof(uint64_t) * gpu::kWays) &&
         clear(gpu::kKeptOffset, sizeof(gpu::Kept) * gpu::kFamilies);
}

// What sites depend on beside the kernel's code, see gpu_engine.h.
uint32_t GpuEngine::provide_family(const Launch& launch, uint64_t range_version, bool orders) {
  const Span& code = span(launch);
  Family family;
  family.entry = launch.entry.get();
  family.block_bits =
      gpu::block_bits_of(block_bits(launch), code.bits, !code.facts.warp_syncs && !code.facts.copies);
  for (int i = 0; i < 3; ++i) family.cluster[i] = launch.cluster[i];
  family.dynamic_shared = launch.dynamic_shared;
  family.range_version = range_version;
  family.orders = orders;
  const uint64_t first = launch.entry->pc + static_cast<uint64_t>(code.base);
  return families_.number(family, static_cast<uint32_t>(first >> 4), code.instructions);
}

// Number of the list of ranges in pinned memory; -1: all are in use.
int GpuEngine::provide_ranges(const Launch& launch) {
  for (size_t i = 0; i < ranges_.size(); ++i)
    if (ranges_[i].list == launch.allocations) return static_cast<int>(i);
  std::vector<gpu::Range> wanted;
  for (const MemoryRange& range : disjoint(launch.shape().allocations)) {
    if (wanted.size() == gpu::kMostRanges) break;
    wanted.push_back({range.first, (range.last - range.first + 1) << gpu::kRangeShift |
                                       static_cast<uint64_t>(range.index + 1)});
  }
  const auto equal = [](const gpu::Range& a, const gpu::Range& b) {
    return a.first == b.first && a.extent == b.extent;
  };
  int free = -1;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    Ranges& known = ranges_[i];
    // A framework gives out the same memory again and again, and each time there is a list anew.
    if (known.version != 0 &&
        std::equal(known.given.begin(), known.given.end(), wanted.begin(), wanted.end(), equal)) {
      known.list = launch.allocations;
      return static_cast<int>(i);
    }
    if (known.users == 0 && (free < 0 || known.version < ranges_[static_cast<size_t>(free)].version))
      free = static_cast<int>(i);
  }
  if (free < 0) return -1;
  Ranges& ranges = ranges_[static_cast<size_t>(free)];
  std::copy(wanted.begin(), wanted.end(), range_memory_ + static_cast<size_t>(free) * gpu::kMostRanges);
  ranges.list = launch.allocations;
  ranges.version = ++range_version_;
  ranges.given = std::move(wanted);
  return free;
}

// For those who issue asynchronous copies.
void* GpuEngine::provide_copies(Sanitizer_StreamHandle stream) {
  if (copies_ == nullptr) {
    constexpr uint64_t places = uint64_t{kMultiprocessors} * gpu::kBlocksPerMultiprocessor;
    constexpr uint64_t bytes = places * gpu::kWarpsPerBlock * sizeof(gpu::Copies);
    if (!allocate(bytes, &copies_, false, stream)) copies_ = nullptr;
  }
  return copies_;
}

void* GpuEngine::provide_shared(const Launch& launch, unsigned shift, Sanitizer_StreamHandle stream) {
  void*& memory = shared_[std::min(shift, 2u)];
  if (memory != nullptr) return memory;
  const uint64_t bytes = shared_shadow_bytes(std::min(shift, 2u)) * (barrier_order_ ? 2 : 1);
  if (!allocate(bytes, &memory, true, stream)) return memory = nullptr;
  cleared_on_ = normal(launch.stream_handle);
  cleared_before_ = launch.sequence;
  return memory;
}

// Where the launch can be described; kNoPlace: nowhere.
uint32_t GpuEngine::find_place(const Launch& launch, uint32_t slot) const {
  if (!launch.graph) {
    const uint32_t place = slot % gpu::kParameters;
    return described_[place] ? kNoPlace : place;
  }
  const uint32_t first = gpu::kParameters + gpu::first_node_place(slot, launch.grid_id);
  for (uint32_t place = first; place < first + gpu::kNodePlaces; ++place)
    if (!described_[place]) return place;
  return kNoPlace;
}

// Takes notice of launches that have ended.
void GpuEngine::settle() {
  std::vector<Past> past;
  {
    std::lock_guard<std::mutex> lock(open_mutex_);
    past.swap(past_);
  }
  for (const Past& launch : past) {
    described_[launch.place] = false;
    if (launch.place >= gpu::kParameters)
      __atomic_store_n(node_keys_ + (launch.place - gpu::kParameters), 0, __ATOMIC_RELEASE);
    --ranges_[static_cast<size_t>(launch.ranges)].users;
    if (cleared_before_ != 0 && launch.stream == cleared_on_ && launch.sequence >= cleared_before_)
      cleared_before_ = 0;
  }
}

std::string GpuEngine::admit(Launch* launch, uint32_t slot, Sanitizer_StreamHandle stream) {
  std::string reason = prepare(stream);
  if (reason.empty()) {
    std::lock_guard<std::mutex> lock(mutex_);
    settle();
    reason = describe(launch, slot, stream);
  }
  if (!reason.empty()) unclaim(launch->stream_handle);
  return reason;
}

std::string GpuEngine::describe(Launch* launch, uint32_t slot, Sanitizer_StreamHandle stream) {
  const Span& code = span(*launch);
  const bool local = code.facts.local_sizes != 0 && code.stack != 0;
  if (local && code.stack == kUnknownStack) return "the size of its stack is not known";
  if (code.bits > gpu::kMostInstructionBits) return "its code is spread too widely";
  const bool clocked = code.facts.barriers || code.facts.warp_syncs || code.facts.copies;
  if (gpu::kInstructionShift + code.bits + block_bits(*launch) + (clocked ? kFewestClockBits : 0) >
      gpu::kGenerationShift)
    return "it has too many blocks for its code";
  if (!launch->allocations) return "allocations are not known";
  const uint32_t place = find_place(*launch, slot);
  if (place == kNoPlace) return "too many launches were under way";
  const CUstream own = normal(launch->stream_handle);
  if (cleared_before_ != 0 && cleared_on_ != own) return "its memory was being prepared on another stream";
  const unsigned global_shift = unit_shift(code.facts.global_sizes);
  const unsigned shared_shift = unit_shift(code.facts.shared_sizes);
  void* shared = provide_shared(*launch, shared_shift, stream);
  void* copies = code.facts.copies ? provide_copies(stream) : nullptr;
  if (shared == nullptr || (code.facts.copies && copies == nullptr)) return kNoMemory;
  const int ranges = provide_ranges(*launch);
  if (ranges < 0) return "memory was allocated and freed too often while launches were under way";
  std::string reason;
  if (local) count_local_pages(*launch, code);
  bool orders = barrier_order_ && code.facts.barriers && refused_list_ != launch->allocations;
  bool provided = provide_pages(*launch, global_shift, orders, stream, &reason);
  if (!provided && orders && reason == kNoMemory) {
    orders = false;
    forget_pages();
    refused_list_ = launch->allocations;
    provided = provide_pages(*launch, global_shift, orders, stream, &reason);
  }
  if (!provided || !provide_generation(*launch, stream, &reason)) return reason;

  gpu::Parameters& given = parameters_[place];
  given.pc_base = static_cast<uint32_t>(launch->entry->pc + static_cast<uint64_t>(code.base));
  given.generation = generation_;
  given.cleared = cleared_;
  given.pc_bits = static_cast<uint8_t>(code.bits);
  given.global_shift = static_cast<uint8_t>(global_shift);
  given.shared_shift = static_cast<uint8_t>(shared_shift);
  given.local_shift = static_cast<uint8_t>(unit_shift(code.facts.local_sizes));
  given.local = local;
  for (int i = 0; i < 3; ++i) given.cluster[i] = static_cast<uint16_t>(launch->cluster[i]);
  given.shared = code.facts.shared_sizes != 0;
  if (given.shared != 0) shared_used_[std::min(shared_shift, 2u)] = true;
  given.orders = orders;
  given.synchronises = code.facts.warp_syncs ? 2 : code.facts.barriers ? 1 : 0;
  Ranges& used = ranges_[static_cast<size_t>(ranges)];
  given.range_count = static_cast<uint32_t>(used.given.size());
  given.ranges = range_memory_ + static_cast<size_t>(ranges) * gpu::kMostRanges;
  given.range_version = used.version;
  given.copies = reinterpret_cast<uint64_t>(copies);
  given.shared_shadow = reinterpret_cast<uint64_t>(shared);
  if (launch->graph)
    __atomic_store_n(node_keys_ + (place - gpu::kParameters), gpu::node_key(slot, launch->grid_id),
                     __ATOMIC_RELEASE);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  ++used.users;
  described_[place] = true;
  launch->code_base = code.base;
  launch->ranges_used = ranges;
  launch->described_at = place;
  // The kernels of a replay have one userdata for all of them.
  launch->family = launch->graph ? 0 : provide_family(*launch, used.version, orders);
  return "";
}

void GpuEngine::ended(const Launch& launch) {
  const CUstream own = normal(launch.stream_handle);
  std::lock_guard<std::mutex> lock(open_mutex_);
  past_.push_back({launch.described_at, launch.ranges_used, own, launch.sequence});
  release(own);
}

}  // namespace cuvein
