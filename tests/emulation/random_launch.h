// What a random launch is like: its shape, its code, the memory it is given.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "analyzer/engine.h"
#include "emulated.h"

namespace cuvein {
namespace comparison {

constexpr uint32_t kMultiprocessorsUsed = 3;
constexpr int64_t kBase = -4096;

struct Instruction {
  int32_t pc;
  Space space;
  AccessType type;
  uint32_t size_shift;
  bool copy;  // asynchronous: reads global memory, writes shared memory
  bool matrix;
};

struct Settings {
  uint32_t code;  // number of the kernel
  uint32_t blocks, threads, shared;
  uint32_t grid[3], cluster[3];
  uint32_t global_shift, shared_shift, local_shift, synchronises;
  bool copies;  // asynchronous ones
  bool usual;   // mostly accesses whose lanes lie side by side or at one place
  bool orders;  // what barriers order is followed
  bool mixed;   // warps may meet at one barrier from several places
  std::vector<Instruction> instructions;
  std::vector<AllocationRange> allocations;
};

constexpr int32_t kSyncPc = 32;
constexpr int32_t kBarrierPcs[] = {16, 48, 64};
constexpr uint64_t kEntry = 0x7fe123450000, kMemory = 0x7f3000000000;

inline uint32_t existing(const Settings& settings, uint32_t warp) {
  const uint32_t threads = settings.threads - warp * 32;
  return threads >= 32 ? ~0u : (1u << threads) - 1;
}

// A launch's shape and what memory there is.
inline void draw_shape(std::mt19937& random, Settings* settings) {
  settings->blocks = 1 + random() % 7;
  settings->threads = 1 + random() % 100;
  // With much shared memory a multiprocessor has room for one block only, so that blocks move on to others.
  settings->shared = random() % 6 == 0 ? 200 * 1024 : 64 + random() % 4000;
  if (settings->shared > 100 * 1024) settings->blocks = std::min(settings->blocks, kMultiprocessorsUsed);
  settings->grid[0] = settings->blocks;
  settings->grid[1] = settings->grid[2] = 1;
  for (uint32_t& size : settings->cluster) size = 1;
  if (settings->shared <= 100 * 1024 && random() % 3 == 0) {
    settings->blocks = 1;
    for (int i = 0; i < 3; ++i) {
      settings->cluster[i] = 1 + random() % 3;
      settings->grid[i] = settings->cluster[i] * (1 + random() % 2);
      settings->blocks *= settings->grid[i];
    }
  }
}
inline void draw_memory(std::mt19937& random, Settings* settings) {
  settings->allocations = {{kMemory, 512}, {kMemory + 512, 256}, {kMemory + 1024, 128}};
  if (settings->usual) settings->allocations = {{kMemory, 4096}};
  if (random() % 2) settings->allocations.push_back({kMemory + (uint64_t{2} << 21), 1 << 20});
}

inline Settings settings_for(std::mt19937& random) {
  static uint32_t kernels = 0;
  Settings settings;
  settings.code = ++kernels;
  draw_shape(random, &settings);
  settings.synchronises = random() % 3;
  settings.usual = random() % 2;
  // Sizes that occur: any, or few, so that accesses come by whose lanes have as many units.
  const auto sizes = [&] {
    return static_cast<uint32_t>(random() % 2 ? 1 + random() % 31 : 1u << random() % 5 | 1u << random() % 5);
  };
  const uint32_t global = sizes(), shared = sizes(), local = sizes();
  settings.global_shift = static_cast<uint32_t>(__builtin_ctz(global));
  settings.shared_shift = static_cast<uint32_t>(__builtin_ctz(shared));
  settings.local_shift = static_cast<uint32_t>(__builtin_ctz(local));
  const auto pick = [&](uint32_t sizes) {
    for (;;) {
      const uint32_t shift = random() % 5;
      if (sizes >> shift & 1) return shift;
    }
  };
  const bool no_shared = random() % 4 == 0;
  for (int32_t i = 0; i < (settings.usual ? 4 : 10); ++i) {
    const bool in_shared = !no_shared && random() % 2;
    settings.instructions.push_back(
        {static_cast<int32_t>(kBase) + 16 * (i * 7 + 1), in_shared ? Space::kShared : Space::kGlobal,
         static_cast<AccessType>(random() % 3), pick(in_shared ? shared : global), false, false});
  }
  if (random() % 3 == 0)
    for (int32_t i = 0; i < 4; ++i)
      settings.instructions.push_back({static_cast<int32_t>(kBase) + 16 * (i * 5 + 200), Space::kLocal,
                                       static_cast<AccessType>(random() % 2), pick(local), false, false});
  const uint32_t copied = no_shared ? 0 : global & shared & (4 | 8 | 16);
  settings.copies = copied != 0;
  for (uint32_t shift = 2; shift <= 4; ++shift)
    if (copied >> shift & 1)
      settings.instructions.push_back(
          {static_cast<int32_t>(kBase) + 16 * (300 + 2 * static_cast<int32_t>(shift)), Space::kGlobal,
           AccessType::kRead, shift, true, false});
  if (!no_shared && shared & 16)
    settings.instructions.push_back(
        {static_cast<int32_t>(kBase) + 16 * 320, Space::kShared, AccessType::kRead, 4, false, true});
  draw_memory(random, &settings);
  settings.orders = settings.synchronises != 0 && random() % 4 != 0;
  settings.mixed = random() % 8 == 0;
  return settings;
}

// The same kernel again, more or less as before.
inline void vary(std::mt19937& random, Settings* settings) {
  const uint32_t shared = settings->shared;
  if (random() % 2) draw_shape(random, settings);
  if (random() % 2 && shared <= 100 * 1024) settings->shared = shared;
  if (random() % 4) return;
  draw_memory(random, settings);
  // What was in one allocation may be in another by now, or in none.
  settings->allocations.front().size = 64u << random() % 4;
  settings->allocations.push_back({kMemory + 896, 32});
  if (random() % 2) std::swap(settings->allocations.front(), settings->allocations.back());
}

}  // namespace comparison
}  // namespace cuvein
