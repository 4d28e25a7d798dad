// Families of launches, which share what is known of instructions on a GPU engine; see model/gpu_engine.h.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

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
  // where few others' do, least of all those of families that have had launches last.
  uint32_t number(const Family& family, uint32_t first, uint32_t instructions);

  // Whether so many more might be too many.
  bool crowded(uint32_t more) const;
  void clear() { *this = Families(); }

 private:
  struct Place {
    uint32_t number;
    uint32_t first, count;  // sites of the code in global memory; those in shared memory lie half a table on
  };
  static constexpr size_t kRecent = 16;
  void use(const Place* place);
  // Adds to what each site of the code is wanted for.
  template <typename Number>
  static void add(const Place& place, Number more, std::vector<Number>* wanted);

  std::map<Family, Place> places_;                                     // whose elements stay where they are
  const Place* recent_[kRecent] = {};                                  // the last comes first
  std::vector<uint32_t> users_ = std::vector<uint32_t>(gpu::kSites);   // families with code there
  std::vector<uint8_t> given_ = std::vector<uint8_t>(gpu::kFamilies);  // numbers
};

}  // namespace cuvein
