// Families of launches, which share what is known of instructions on a GPU engine; see model/gpu_engine.h.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "model/gpu_engine.h"

namespace cuvein {

struct Entry;

// What launches of a family have in common.
struct Family {
  const Entry* entry;  // of the kernel, which stays
  unsigned block_bits;
  uint32_t cluster[3];
  uint64_t dynamic_shared;
  uint64_t range_version;
  bool orders;

  bool operator<(const Family& other) const {
    const auto all = [](const Family& family) {
      return std::tie(family.entry, family.block_bits, family.cluster[0], family.cluster[1],
                      family.cluster[2], family.dynamic_shared, family.range_version, family.orders);
    };
    return all(*this) < all(other);
  }
};

class Families {
 public:
  // The number of the family, from 1; 0 when there are no more. The code lies at `first`, counted in
  // instructions as all addresses are, and has so many: new families get numbers by which their sites lie
  // where few others' do.
  uint32_t number(const Family& family, uint32_t first, uint32_t instructions);

  // Whether so many more might be too many.
  bool crowded(uint32_t more) const;
  void clear() { *this = Families(); }

 private:
  // A number's upper bits move the sites of its code by parts of the table; its lower ones tell those apart
  // that have these in common.
  static constexpr uint32_t kPartBits = 6;
  static constexpr uint32_t kPartSites = 1 << kPartBits;
  static constexpr uint32_t kParts = gpu::kSites / kPartSites;
  static_assert(kParts * kPartSites == gpu::kFamilies);

  std::map<Family, uint32_t> numbers_;
  uint32_t given_[kParts] = {};  // numbers with these upper bits
  uint32_t users_[kParts] = {};  // families with code in this part of the table
};

}  // namespace cuvein
