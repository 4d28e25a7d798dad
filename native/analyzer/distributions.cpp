#include "analyzer/distributions.h"

#include <algorithm>

#include "analyzer/hash.h"

namespace cuvein {

namespace {

// Strides far beyond any address space could wrap around and meet themselves.
constexpr int64_t kLargestStride = int64_t{1} << 56;

bool contiguous(uint32_t mask) {
  const uint32_t shifted = mask >> __builtin_ctz(mask);
  return (shifted & (shifted + 1)) == 0;
}

bool in_shared_memory(Space space) { return space == Space::kShared || space == Space::kDistributedShared; }

// Lanes served together: all for accesses of up to 4 bytes, 16 for 8 bytes, 8 for 16 bytes.
unsigned group_lanes(unsigned size) { return size > 8 ? 8 : size > 4 ? 16 : 32; }

// True when among `lanes` no two next to each other differ in their address, or no two at a distance of two.
bool alike(const Access& access, uint32_t lanes) {
  for (unsigned distance = 1; distance <= 2; ++distance) {
    bool same = true;
    each_lane(access.active & lanes, [&](unsigned lane) {
      const unsigned other = lane ^ distance;
      if (other > lane && access.active >> other & 1)
        same = same && access.lane_address(lane) == access.lane_address(other);
    });
    if (same) return true;
  }
  return false;
}

// The lanes of a wide load are served two groups at a time where both have the same pairs of lanes alike; a
// store's never are. (Measured on an H200, docs/validation.md.)
unsigned lanes_together(const Access& access, unsigned start) {
  const unsigned lanes = group_lanes(access.size);
  if (lanes == kWarpLanes || access.type != AccessType::kRead || start % (2 * lanes) != 0) return lanes;
  const uint32_t both = lanes == 16 ? ~0u : 0xffffu << start;
  return alike(access, both) ? 2 * lanes : lanes;
}

Layout affine_layout(const Access& access) {
  const unsigned size = access.size;
  const bool aligned_run =
      contiguous(access.active) && (size & (size - 1)) == 0 && (access.address & (size - 1)) == 0;
  const bool single = (access.active & (access.active - 1)) == 0;
  if (access.space == Space::kLocal) {
    // Side by side after interleaving; lanes never meet in local memory.
    return access.stride == 0 && size == 4 && aligned_run ? Layout::kRun : Layout::kDisjoint;
  }
  if (aligned_run && (single || access.stride == static_cast<int64_t>(size))) return Layout::kRun;
  if (single) return Layout::kDisjoint;
  if (access.stride == 0) return Layout::kBroadcast;
  const int64_t apart = access.stride < 0 ? -access.stride : access.stride;
  return apart >= static_cast<int64_t>(size) ? Layout::kDisjoint : Layout::kOverlapping;
}

}  // namespace

// A lane takes its turn after all lower lanes in either of its banks, also at the same word. Lanes are served
// together as in ordinary accesses.
unsigned wavefronts_of_copy(const Access& access, uint32_t readers, const uint8_t* sources) {
  const unsigned banks = kRowBytes / access.size;  // as wide as what a lane copies
  const unsigned lanes = group_lanes(access.size);
  unsigned wavefronts = 0;
  for (unsigned start = 0; start < kWarpLanes; start += lanes) {
    uint8_t written[kBanks] = {}, read[kBanks] = {};
    uint8_t most = 0;
    for (unsigned lane = start; lane < start + lanes; ++lane) {
      if ((access.active >> lane & 1) == 0) continue;
      const bool reads = (readers >> lane & 1) != 0;
      uint8_t& to = written[access.lane_address(lane) / access.size % banks];
      uint8_t& from = read[sources[lane] / access.size % banks];
      to = static_cast<uint8_t>(1 + (reads ? std::max(to, from) : to));
      if (reads) from = to;
      most = std::max(most, to);
    }
    wavefronts += most;
  }
  return wavefronts;
}

bool DistinctValues::insert(uint64_t value) {
  size_t at = mix(value) & (kSlots - 1);
  while (slots_[at].epoch == epoch_) {
    if (slots_[at].value == value) return false;
    at = (at + 1) & (kSlots - 1);
  }
  slots_[at] = {value, epoch_};
  return true;
}

const Distribution& Distributions::of(const Access& access) {
  const bool ordinary = access.stride < kLargestStride && access.stride > -kLargestStride;
  if (access.form != AddressForm::kAffine || access.sizes != nullptr || !ordinary) {
    last_ = compute(access);
    return last_;
  }
  const bool shared = in_shared_memory(access.space);
  const bool is_local = access.space == Space::kLocal;
  const uint32_t low = static_cast<uint32_t>(access.address) & (shared ? 127 : is_local ? 15 : 31);
  const bool merges = shared && access.type == AccessType::kRead;
  const uint32_t rest = low | static_cast<uint32_t>(access.size) << 8 |
                        (merges     ? 3u
                         : shared   ? 1u
                         : is_local ? 2u
                                    : 0u)
                            << 16;
  const uint64_t hash = mix(static_cast<uint64_t>(access.stride) ^
                            static_cast<uint64_t>(access.active) << 20 ^ static_cast<uint64_t>(rest) << 36);
  Memo& memo = memo_[hash >> (64 - kMemoBits)];  // all of the key has a say in the high bits
  if (memo.stride != access.stride || memo.active != access.active || memo.rest != rest) {
    memo.stride = access.stride;
    memo.active = access.active;
    memo.rest = rest;
    memo.result = compute(access);
    memo.result.layout = affine_layout(access);
  }
  return memo.result;
}

Distribution Distributions::compute(const Access& access) {
  Distribution result;
  if (in_shared_memory(access.space))
    shared(access, result);
  else if (access.space == Space::kLocal)
    local(access, result);
  else
    global(access, result);
  return result;
}

// `apart`: no two lanes have a sector (or word) in common.
Layout Distributions::layout_of_lanes(const Access& access, bool apart, unsigned* addresses) {
  if (apart) {
    *addresses = __builtin_popcount(access.active);
    return Layout::kDisjoint;
  }
  values_.clear();
  unsigned distinct = 0;
  uint64_t low_bits = 0;
  each_lane(access.active, [&](unsigned lane) {
    const uint64_t address = access.lane_address(lane);
    distinct += values_.insert(address);
    low_bits |= address;
  });
  *addresses = distinct;
  if (access.sizes != nullptr) return Layout::kOverlapping;
  if (distinct == 1) return Layout::kBroadcast;
  const unsigned lanes = __builtin_popcount(access.active);
  return distinct == lanes && (low_bits & (access.size - 1)) == 0 ? Layout::kDisjoint : Layout::kOverlapping;
}

// Most scattered accesses have a sector a lane, each another; true when this is seen to be one of them.
bool Distributions::a_sector_a_lane(const Access& access, Distribution& result) {
  if (++stamp_ == 0) {
    std::fill(filter_.begin(), filter_.end(), 0);
    stamp_ = 1;
  }
  uint8_t* const filter = filter_.data();
  const uint8_t stamp = stamp_;
  uint64_t lowest = ~uint64_t{0}, highest = 0, low_bits = 0;
  each_address(access, access.active, [&](unsigned, uint64_t address) {
    low_bits |= address;
    lowest = std::min(lowest, address);
    highest = std::max(highest, address);
  });
  // Aligned lanes are in one sector each.
  uint8_t seen = (low_bits & (access.size - 1u)) != 0;
  each_address(access, access.active, [&](unsigned, uint64_t address) {
    uint8_t& place = filter[address / kSectorBytes * 0x9e3779b97f4a7c15u >> (64 - kFilterBits)];
    seen |= place == stamp;
    place = stamp;
  });
  result.lowest = lowest;
  result.highest = highest;
  if (seen != 0) return false;
  const unsigned lanes = __builtin_popcount(access.active);
  result.addresses = static_cast<uint16_t>(lanes);
  result.sectors = static_cast<uint16_t>(lanes);
  result.layout = Layout::kDisjoint;
  return true;
}

void Distributions::global(const Access& access, Distribution& result) {
  if (access.form != AddressForm::kAffine && access.sizes == nullptr && a_sector_a_lane(access, result))
    return;
  values_.clear();
  unsigned sectors = 0;
  bool apart = true;
  each_lane(access.active, [&](unsigned lane) {
    const uint64_t address = access.lane_address(lane);
    const uint64_t last = (address + access.lane_size(lane) - 1) / kSectorBytes;
    for (uint64_t sector = address / kSectorBytes;; sector = last) {
      const bool added = values_.insert(sector);
      sectors += added;
      apart &= added;
      if (sector == last) break;
    }
  });
  unsigned addresses;
  result.layout = layout_of_lanes(access, apart, &addresses);
  result.addresses = static_cast<uint16_t>(addresses);
  result.sectors = static_cast<uint16_t>(sectors);
}

void Distributions::local(const Access& access, Distribution& result) {
  values_.clear();
  unsigned sectors = 0;
  each_lane(access.active, [&](unsigned lane) {
    uint64_t offset = access.lane_address(lane) & ~uint64_t{3};
    const uint64_t end = access.lane_address(lane) + access.lane_size(lane);
    for (; offset < end; offset += 4) sectors += values_.insert(interleave(offset, lane) / kSectorBytes);
  });
  result.addresses = static_cast<uint16_t>(__builtin_popcount(access.active));
  result.sectors = static_cast<uint16_t>(sectors);
  result.layout = Layout::kDisjoint;
}

void Distributions::shared(const Access& access, Distribution& result) {
  values_.clear();
  unsigned words = 0, wavefronts = 0, ideal = 0;
  bool apart = true;
  for (unsigned start = 0, lanes; start < kWarpLanes; start += lanes) {
    lanes = lanes_together(access, start);
    const uint32_t group_mask = lanes == kWarpLanes ? ~0u : (1u << lanes) - 1;
    uint8_t banks[kBanks] = {};
    unsigned most = 0, group_words = 0;
    group_values_.clear();
    each_lane(access.active & group_mask << start, [&](unsigned lane) {
      const uint64_t address = access.lane_address(lane);
      const uint64_t last = (address + access.lane_size(lane) - 1) / kBankBytes;
      for (uint64_t word = address / kBankBytes; word <= last; ++word) {
        const bool added = values_.insert(word);
        words += added;
        apart &= added;
        if (!group_values_.insert(word)) continue;
        ++group_words;
        most = std::max<unsigned>(most, ++banks[word % kBanks]);
      }
    });
    wavefronts += most;
    ideal += (group_words + kBanks - 1) / kBanks;
  }
  unsigned addresses;
  result.layout = layout_of_lanes(access, apart, &addresses);
  result.words = static_cast<uint16_t>(words);
  result.wavefronts = static_cast<uint16_t>(wavefronts);
  result.ideal_wavefronts = static_cast<uint16_t>(ideal);
}

}  // namespace cuvein
