// The numbers of one warp-level access (docs/engine.md, "What exactly is counted"): distinct addresses and
// 32-byte sectors in global and local memory; distinct words, wavefronts and ideal wavefronts in shared
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/access.h"

namespace cuvein {

struct Distribution {
  uint16_t addresses = 0, sectors = 0;
  uint16_t words = 0, wavefronts = 0, ideal_wavefronts = 0;
  Layout layout = Layout::kOverlapping;
  uint64_t lowest = ~uint64_t{0}, highest = 0;  // addresses of lanes; lowest > highest: not known
};

// Asynchronous copies of 4 and 8 bytes a lane go through L1, others past it (PTX: cp.async.cg has 16 bytes).
inline bool through_l1(const Access& access) {
  return access.copies && (access.size == 4 || access.size == 8);
}

// Wavefronts of such a copy; `access` is that to shared memory. What the lanes `readers` read lies in banks
// of L1 as what all lanes write does in shared memory; `sources` are the addresses there, modulo kRowBytes.
// (Measured on an H200, benchmarks/passes.py.)
constexpr unsigned kRowBytes = kBanks * kBankBytes;
unsigned wavefronts_of_copy(const Access& access, uint32_t readers, const uint8_t* sources);

// Counts distinct values, a few hundred at most, starting anew in no time.
class DistinctValues {
 public:
  DistinctValues() : slots_(kSlots) {}
  void clear() { ++epoch_; }
  bool insert(uint64_t value);

 private:
  static constexpr size_t kSlots = 1024;
  struct Slot {
    uint64_t value, epoch;
  };
  std::vector<Slot> slots_;
  uint64_t epoch_ = 1;
};

class Distributions {
 public:
  Distributions() : memo_(size_t{1} << kMemoBits), filter_(size_t{1} << kFilterBits) {}

  // The access's layout is not needed for it and not set.
  const Distribution& of(const Access& access);

 private:
  // Accesses with a constant stride repeat themselves: all that matters of the address are its low bits.
  static constexpr unsigned kMemoBits = 10;
  struct Memo {
    int64_t stride = 0;
    uint32_t active = 0;  // 0: free
    uint32_t rest = 0;    // low bits of the address, size, space
    Distribution result;
  };

  // Bytes that say which hashed values the access at hand has had: what finds its byte unset is new for sure.
  static constexpr unsigned kFilterBits = 13;

  Distribution compute(const Access& access);
  bool a_sector_a_lane(const Access& access, Distribution& result);
  void global(const Access& access, Distribution& result);
  void local(const Access& access, Distribution& result);
  void shared(const Access& access, Distribution& result);
  Layout layout_of_lanes(const Access& access, bool apart, unsigned* addresses);

  std::vector<Memo> memo_;
  std::vector<uint8_t> filter_;
  uint8_t stamp_ = 0;
  Distribution last_;
  DistinctValues values_, group_values_;
};

}  // namespace cuvein
