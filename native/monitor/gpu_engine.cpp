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
constexpr uint32_t kSparePages = 32;  // for memory that nobody told of
constexpr uint32_t kPagesAtATime = 32;
constexpr size_t kRangeLists = 64;
constexpr unsigned kFewestClockBits = 8;

constexpr const char* kNoMemory = "its memory did not suffice";

CUstream normal(CUstream stream) { return stream == CU_STREAM_LEGACY ? nullptr : stream; }

unsigned bits_for(uint64_t values) {
  return values <= 1 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(values - 1));
}

uint64_t blocks_of(const Launch& launch) {
  return uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
}

}  // namespace

bool GpuEngine::allocate(uint64_t bytes, void** memory, bool zero, Sanitizer_StreamHandle stream) {
  Sanitizer& api = sanitizer();
  if (api.Alloc(context_, memory, bytes) != SANITIZER_SUCCESS) return false;
  allocated_ += bytes;
  return !zero || api.Memset(*memory, 0, bytes, stream) == SANITIZER_SUCCESS;
}

// Memory that does not depend on the program, at the first launch.
bool GpuEngine::prepare(Sanitizer_StreamHandle stream, std::string* reason) {
  if (prepared_) return true;
  *reason = kNoMemory;
  if (failed_) return false;
  failed_ = true;
  Sanitizer& api = sanitizer();
  void* host = nullptr;
  constexpr uint64_t places = uint64_t{kMultiprocessors} * gpu::kBlocksPerMultiprocessor;
  constexpr uint64_t counters = uint64_t{gpu::kCopies} * gpu::kCounters;
  constexpr uint64_t kParameterBytes = sizeof(gpu::Parameters) * gpu::kParameters;
  constexpr uint64_t kPageListBytes = kMostPages * sizeof(uint64_t);
  constexpr uint64_t kRangeBytes = sizeof(gpu::Range) * gpu::kMostRanges * kRangeLists;
  const uint64_t host_bytes = kParameterBytes + kPageListBytes + kRangeBytes + 128;
  if (api.AllocHost(context_, &host, host_bytes) != SANITIZER_SUCCESS) return false;
  std::memset(host, 0, host_bytes);
  char* at = static_cast<char*>(host);
  parameters_ = reinterpret_cast<gpu::Parameters*>(at);
  pages_ = reinterpret_cast<uint64_t*>(at += kParameterBytes);
  range_memory_ = reinterpret_cast<gpu::Range*>(at += kPageListBytes);
  page_count_ = reinterpret_cast<uint32_t*>(at += kRangeBytes);
  ranges_.resize(kRangeLists);
  described_.resize(gpu::kParameters);

  gpu::Engine engine = {};
  engine.parameters = parameters_;
  engine.pages = pages_;
  engine.page_count = page_count_;
  const auto device = [&](auto** pointer, uint64_t count) {
    void* memory = nullptr;
    if (!allocate(count * sizeof(**pointer), &memory, true, stream)) return false;
    *pointer = static_cast<std::remove_reference_t<decltype(*pointer)>>(memory);
    return true;
  };
  if (!device(&engine.decisions, kLaunchSlots) || !device(&engine.block_states, places) ||
      !device(&engine.warps, places * gpu::kWarpsPerBlock) || !device(&engine.locks, kMultiprocessors) ||
      !device(&engine.used, counters))
    return false;
  void* memory = reinterpret_cast<void*>(channel_ + gpu::kEngineOffset);
  if (api.Memset(memory, 0, gpu::kMemoryBytes - gpu::kEngineOffset, stream) != SANITIZER_SUCCESS ||
      api.MemcpyHostToDeviceAsync(reinterpret_cast<void*>(channel_ + gpu::kEngineOffset), &engine,
                                  sizeof engine, stream) != SANITIZER_SUCCESS)
    return false;
  reason->clear();
  failed_ = false;
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
  Span span{launch.entry, 0, 0, {}};
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
  span.bits = self == nullptr ? 64 : bits_for(static_cast<uint64_t>(high - low + 15) / 16);
  return spans_.emplace(launch.entry.get(), span).first->second;
}

// Whether no admitted launch may run beside this one.
bool GpuEngine::alone(const Launch& launch) const {
  return open_.empty() || (open_.size() == 1 && open_.begin()->first == normal(launch.stream_handle));
}

bool GpuEngine::provide_pages(const Launch& launch, unsigned shift, Sanitizer_StreamHandle stream,
                              std::string* reason) {
  if (known_list_ != launch.allocations.get() || known_shift_ != shift) {
    const uint64_t reach = uint64_t{1} << (gpu::kPageEntriesBits + shift);
    for (const Allocation& allocation : launch.allocations->allocations()) {
      if (allocation.parent >= 0) continue;
      for (uint64_t at = allocation.address / reach * reach; at < allocation.address + allocation.size;
           at += reach) {
        known_pages_.insert(gpu::directory_key(at, shift));
        if (known_pages_.size() > kMostPages) {
          *reason = kNoMemory;
          return false;
        }
      }
    }
    known_list_ = launch.allocations.get();
    known_shift_ = shift;
  }
  const uint64_t wanted = known_pages_.size() + kSparePages;
  const uint32_t there = *page_count_;
  if (there >= wanted) return true;
  *reason = kNoMemory;
  const uint64_t more = std::max<uint64_t>(wanted - there, kPagesAtATime);
  const uint64_t bytes = (more + 1) * gpu::kPageBytes;
  if (there + more > kMostPages || allocated_ + bytes > budget_) return false;
  if (!alone(launch)) {
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
  if (!alone(launch)) {
    *reason = "its memory had to be cleared while another stream used it";
    return false;
  }
  uint64_t left = (known_pages_.size() + kSparePages) * gpu::kPageBytes;
  for (const auto& [address, bytes] : page_regions_) {
    const uint64_t here = std::min(bytes, left);
    if (here != 0 &&
        sanitizer().Memset(reinterpret_cast<void*>(address), 0, here, stream) != SANITIZER_SUCCESS) {
      *reason = "its memory could not be cleared";
      return false;
    }
    left -= here;
  }
  cleared_on_ = normal(launch.stream_handle);
  cleared_before_ = launch.sequence;
  generation_ = 1;
  return true;
}

// Number of the list of ranges in pinned memory; -1: all are in use.
int GpuEngine::provide_ranges(const Launch& launch) {
  int free = -1;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].list == launch.allocations) return static_cast<int>(i);
    if (ranges_[i].users == 0 &&
        (free < 0 || ranges_[i].version < ranges_[static_cast<size_t>(free)].version))
      free = static_cast<int>(i);
  }
  if (free < 0) return -1;
  Ranges& ranges = ranges_[static_cast<size_t>(free)];
  gpu::Range* target = range_memory_ + static_cast<size_t>(free) * gpu::kMostRanges;
  ranges.list = launch.allocations;
  ranges.version = ++range_version_;
  ranges.count = 0;
  for (const MemoryRange& range : disjoint(launch.shape().allocations)) {
    if (ranges.count == gpu::kMostRanges) break;
    target[ranges.count++] = {range.first, (range.last - range.first + 1) << gpu::kRangeShift |
                                               static_cast<uint64_t>(range.index + 1)};
  }
  return free;
}

void* GpuEngine::provide_shared(unsigned shift, Sanitizer_StreamHandle stream) {
  void*& memory = shared_[std::min(shift, 2u)];
  if (memory == nullptr) {
    const uint64_t bytes = uint64_t{kMultiprocessors} * (gpu::kSharedBytes >> std::min(shift, 2u)) * 8;
    if (allocated_ + bytes > budget_ || !allocate(bytes, &memory, false, stream)) memory = nullptr;
  }
  return memory;
}

std::string GpuEngine::admit(Launch* launch, uint32_t slot, Sanitizer_StreamHandle stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (launch->graph) return "it is part of a CUDA graph";
  if (uint64_t{launch->cluster[0]} * launch->cluster[1] * launch->cluster[2] > 1)
    return "its blocks form clusters";
  const Span& code = span(*launch);
  if (code.facts.local) return "it uses local memory";
  if (code.bits > gpu::kMostInstructionBits) return "its code is spread too widely";
  const unsigned block_bits = bits_for(blocks_of(*launch));
  const bool synchronises = code.facts.barriers || code.facts.warp_syncs;
  if (gpu::kInstructionShift + code.bits + block_bits + (synchronises ? kFewestClockBits : 0) >
      gpu::kGenerationShift)
    return "it has too many blocks for its code";
  if (!launch->allocations) return "allocations are not known";
  std::string reason;
  if (!prepare(stream, &reason)) return reason;
  const uint32_t place = slot % gpu::kParameters;
  if (described_[place]) return "too many launches were under way";
  const CUstream own = normal(launch->stream_handle);
  if (cleared_before_ != 0 && cleared_on_ != own) return "its memory was being prepared on another stream";
  const unsigned global_shift = unit_shift(code.facts.global_sizes);
  const unsigned shared_shift = unit_shift(code.facts.shared_sizes);
  void* shared = provide_shared(shared_shift, stream);
  if (shared == nullptr) return kNoMemory;
  const int ranges = provide_ranges(*launch);
  if (ranges < 0) return "memory was allocated and freed too often while launches were under way";
  if (!provide_pages(*launch, global_shift, stream, &reason) || !provide_generation(*launch, stream, &reason))
    return reason;

  gpu::Parameters& given = parameters_[place];
  given.pc_base = static_cast<uint32_t>(launch->entry->pc + static_cast<uint64_t>(code.base));
  given.generation = generation_;
  given.pc_bits = static_cast<uint8_t>(code.bits);
  given.global_shift = static_cast<uint8_t>(global_shift);
  given.shared_shift = static_cast<uint8_t>(shared_shift);
  given.shared = code.facts.shared_sizes != 0;
  given.synchronises = code.facts.warp_syncs ? 2 : code.facts.barriers ? 1 : 0;
  Ranges& used = ranges_[static_cast<size_t>(ranges)];
  given.range_count = used.count;
  given.ranges = range_memory_ + static_cast<size_t>(ranges) * gpu::kMostRanges;
  given.range_version = used.version;
  given.shared_shadow = reinterpret_cast<uint64_t>(shared);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  ++used.users;
  described_[place] = true;
  ++open_[own];
  launch->code_base = code.base;
  launch->ranges_used = ranges;
  return "";
}

void GpuEngine::ended(const Launch& launch) {
  std::lock_guard<std::mutex> lock(mutex_);
  described_[launch.slot % gpu::kParameters] = false;
  --ranges_[static_cast<size_t>(launch.ranges_used)].users;
  const CUstream own = normal(launch.stream_handle);
  const auto found = open_.find(own);
  if (found != open_.end() && --found->second == 0) open_.erase(found);
  if (cleared_before_ != 0 && own == cleared_on_ && launch.sequence >= cleared_before_) cleared_before_ = 0;
}

}  // namespace cuvein
