// The memory of a GPU engine as the host makes it, and the ring that its counts leave by.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/aggregate.h"
#include "emulated.h"

namespace cuvein {
namespace comparison {

constexpr uint64_t kRing = 8 << 20;
constexpr uint32_t kPages = 256;

template <typename T>
T* zeroed(size_t count) {
  void* memory = mmap(nullptr, count * sizeof(T) + gpu::kPageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  const uint64_t address = reinterpret_cast<uint64_t>(memory);
  return reinterpret_cast<T*>((address + gpu::kPageBytes - 1) / gpu::kPageBytes * gpu::kPageBytes);
}

// The ring and what the host has read from it.
struct Ring {
  struct Launch {
    Aggregate counts;
    bool ended = false;
  };

  Ring() : memory(zeroed<uint8_t>(kRing)) { counters.limit = kRing; }

  void read() {
    while (taken < counters.reserved) {
      RecordHeader record;
      for (unsigned i = 0; i < sizeof record; i += 16)
        std::memcpy(reinterpret_cast<char*>(&record) + i, memory + ((taken + i) & (kRing - 1)), 16);
      taken += sizeof record;
      Launch& launch = launches[{record.launch, record.reserved}];
      if (record.kind == static_cast<RecordKind>(gpu::kCountRecord))
        launch.counts.add(record.address, record.block, static_cast<uint64_t>(record.value));
      else if (record.kind == RecordKind::kLaunchEnd)
        launch.ended = true;
    }
  }

  uint8_t* memory;
  uint64_t taken = 0;
  RingCounters counters = {};
  std::map<std::pair<uint32_t, uint32_t>, Launch> launches;  // by slot and grid
};

// A GPU engine.
struct Device {
  explicit Device(Ring* shared_ring) : ring(shared_ring) {
    char* memory = zeroed<char>(gpu::kMemoryBytes);
    channel = reinterpret_cast<Channel*>(memory);
    channel->ring = ring->memory;
    channel->mask = kRing - 1;
    channel->consumed = &ring->taken;
    channel->counters = &ring->counters;
    engine = reinterpret_cast<gpu::Engine*>(memory + gpu::kEngineOffset);
    parameters = zeroed<gpu::Parameters>(gpu::kParameters + gpu::kNodes);
    engine->parameters = parameters;
    node_keys = zeroed<uint64_t>(gpu::kNodes);
    engine->node_keys = node_keys;
    engine->decisions = zeroed<unsigned long long>(gpu::kParameters + gpu::kNodes);
    auto* shadow = zeroed<uint8_t>(kPages * gpu::kPageBytes);
    for (uint32_t i = 0; i < kPages; ++i)
      pages.push_back(reinterpret_cast<uint64_t>(shadow) + i * gpu::kPageBytes);
    engine->pages = pages.data();
    engine->page_count = &page_count;
    constexpr uint32_t places = gpu::kMultiprocessors * gpu::kBlocksPerMultiprocessor;
    engine->block_states = zeroed<gpu::Block>(places);
    engine->warps = zeroed<gpu::Warp>(places * gpu::kWarpsPerBlock);
    copies = zeroed<gpu::Copies>(places * gpu::kWarpsPerBlock);
    engine->locks = zeroed<uint32_t>(gpu::kMultiprocessors);
    engine->used = zeroed<uint32_t>(gpu::kAllCounters);
    shared_shadow = zeroed<uint64_t>(size_t{2} * gpu::kMultiprocessors * gpu::kSharedBytes);
  }

  // As the host does before generations are used again; it expects few pages to be taken.
  void clear() {
    constexpr uint32_t kExpected = 3;
    cleared = ((cleared >> 16) + 1) << 16 | kExpected;
    for (uint32_t i = 0; i < kExpected; ++i)
      madvise(reinterpret_cast<void*>(pages[i]), gpu::kPageBytes, MADV_DONTNEED);
    madvise(shared_shadow, size_t{gpu::kMultiprocessors} * gpu::kSharedBytes * sizeof(uint64_t),
            MADV_DONTNEED);
  }

  // Families begin anew.
  void clear_sites() {
    char* const memory = reinterpret_cast<char*>(channel);
    std::memset(memory + gpu::kSitesOffset, 0, sizeof(gpu::Site) * gpu::kSites);
    std::memset(memory + gpu::kWaysOffset, 0, sizeof(uint64_t) * gpu::kWays);
    std::memset(memory + gpu::kKeptOffset, 0, sizeof(gpu::Kept) * gpu::kFamilies);
    families.clear();
  }

  // Whether something is counted at a site or a way.
  bool counts() const {
    const char* const memory = reinterpret_cast<const char*>(channel) + gpu::kCountsOffset;
    for (uint64_t at = 0; at < gpu::kCountSets * gpu::kCountSetBytes; at += 8)
      if (*reinterpret_cast<const uint64_t*>(memory + at) != 0) return true;
    return false;
  }

  Ring* ring;
  Channel* channel;
  gpu::Engine* engine;
  uint64_t* node_keys;
  gpu::Parameters* parameters;
  std::vector<uint64_t> pages;
  uint32_t page_count = kPages;
  uint64_t* shared_shadow;
  gpu::Copies* copies;
  uint32_t generation = 0, cleared = 0, begun = 0;
  std::map<std::vector<uint64_t>, uint32_t> families;  // by what they have in common
};

}  // namespace comparison
}  // namespace cuvein
