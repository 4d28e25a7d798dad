// What a worker has to do to global memory: whole accesses, and single lanes of those whose lanes lie here
// and there. Where those lie in the shadow memory is found some time before they are applied, so that it is
// on its way from memory meanwhile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/access.h"
#include "analyzer/shadow.h"

namespace cuvein {

// Whether the lanes of an access to global memory are taken one by one. All are aligned, so each lies in one
// tile and, where there are several workers, with one of them.
inline bool scattered(const Access& access) {
  if (access.layout != Layout::kDisjoint || access.sizes != nullptr || access.size < 4 ||
      access.space != Space::kGlobal)
    return false;
  uint64_t low_bits = 0;
  if (access.form == AddressForm::kAffine)
    low_bits = access.address | static_cast<uint64_t>(access.stride);
  else
    each_address(access, access.active, [&](unsigned, uint64_t address) { low_bits |= address; });
  return (low_bits & (access.size - 1u)) == 0;
}

// What is done with a share.
enum class Way : uint8_t {
  kWhole,        // an access, or the lanes of it that the worker looks after
  kWholePlaced,  // the same, with a place
  kSingles,      // lanes that are taken one by one, with a place each
};

// What a worker has to do with a record, and what decoding it has found out, so that it is not read again
// where that can be helped.
struct Share {
  uint32_t record;  // in units from the first record of the slice
  uint32_t lanes;
  uint32_t stamp;   // place among the slice's stamps plus one, 0: none
  uint32_t detail;  // of an access: node << 12 | log2 of the size << 6 | split << 4 | layout << 2 | way

  // What is known of an access from the start. The logarithm is right where the size is a power of two.
  void describe(const Access& access) {
    detail = access.node << 12 | static_cast<uint32_t>(__builtin_ctz(access.size)) << 6 |
             static_cast<uint32_t>(access.layout) << 2;
  }
  void set_split() { detail |= 1u << 4; }

  uint32_t node() const { return detail >> 12; }
  unsigned size_shift() const { return detail >> 6 & 7; }
  bool split() const { return (detail >> 4 & 1) != 0; }
  Layout layout() const { return static_cast<Layout>(detail >> 2 & 3); }
  Way way() const { return static_cast<Way>(detail & 3); }
};
static_assert(kMaxNodes < 1u << 20, "node numbers fit");

// A worker's list for one slice, in the order of the stream. Its neighbours are other workers'.
class alignas(kApart) Places {
 public:
  void clear() {
    shares_.clear();
    places_.clear();
    left_.clear();
  }
  void add(const Share& share, uint32_t lanes, Way way) {
    // Field by field: they were just written that way, and are not at hand as a whole yet.
    shares_.push_back({share.record, lanes, share.stamp, share.detail | static_cast<uint32_t>(way)});
  }
  // Lanes that are taken one by one. `left`: what they leave behind, for lane 0 and without a stamp.
  void add_singles(const Share& share, uint32_t lanes, const Origin& left) {
    add(share, lanes, Way::kSingles);
    left_.push_back(left);
  }
  // A lane of a whole access, of which the list may have others already.
  void add_lane(const Share& share, unsigned lane) {
    if (!shares_.empty() && shares_.back().record == share.record && shares_.back().way() == Way::kWhole)
      shares_.back().lanes |= 1u << lane;
    else
      add(share, 1u << lane, Way::kWhole);
  }
  // Room for so many places.
  uint64_t* add_places(size_t count) {
    places_.resize(places_.size() + count);
    return places_.data() + (places_.size() - count);
  }
  void add_place(uint64_t place) { places_.push_back(place); }

  size_t size() const { return shares_.size(); }
  const Share& operator[](size_t at) const { return shares_[at]; }
  // Of the next share of single lanes.
  const Origin& next_left() { return left_[left_taken_++]; }

  // Before the list is worked off. `shadow`: that of all accesses, or null when there are several. `found`:
  // the places are not addresses but what `find` says of them.
  void start(const Shadow* shadow, bool found) {
    shadow_ = shadow;
    taken_ = left_taken_ = 0;
    count_ = places_.size();
    looked_at_ = found || shadow == nullptr ? count_ : 0;
    // So that there is always one ahead.
    places_.insert(places_.end(), kDistance, kUnsure);
    if (shadow == nullptr) {
      std::fill(places_.begin(), places_.end(), kUnsure);
      return;
    }
    version_ = shadow->version();
    for (const size_t end = std::min(count_, kDistance); looked_at_ < end;) look();
  }

  // Takes the next place: the entry of a word when its tile is known to have an entry a word, or null. Starts
  // to load one that comes later.
  __attribute__((always_inline)) Origin* next() {
    if (looked_at_ < count_)
      look();
    else
      __builtin_prefetch(reinterpret_cast<const void*>(places_[taken_ + kDistance]));
    const uint64_t place = places_[taken_++];
    return (place & kUnsure) == 0 ? reinterpret_cast<Origin*>(place) : nullptr;
  }

  // When tiles may have changed: what was found may no longer be so.
  void check() {
    if (shadow_ == nullptr || version_ == shadow_->version()) return;
    version_ = shadow_->version();
    for (size_t at = taken_; at < looked_at_; ++at) places_[at] |= kUnsure;
  }

  // What is known of the word at an address: the entry, or with kUnsure at most where to load from.
  __attribute__((always_inline)) static uint64_t find(const Shadow& shadow, uint64_t address) {
    const Origin* const entry = shadow.word(address);
    if (__builtin_expect(entry != nullptr, 1)) return reinterpret_cast<uintptr_t>(entry);
    return reinterpret_cast<uintptr_t>(shadow.load(address)) | kUnsure;
  }

 private:
  static constexpr size_t kDistance = 48;
  static constexpr uint64_t kUnsure = 1;

  // Inlined in any case: GCC takes a function that does little but prefetch for one without effect.
  __attribute__((always_inline)) void look() {
    const uint64_t place = find(*shadow_, places_[looked_at_]);
    places_[looked_at_++] = place;
    __builtin_prefetch(reinterpret_cast<const void*>(place));
  }

  std::vector<Share> shares_;
  std::vector<uint64_t> places_;  // up to looked_at_ found, from there on addresses
  std::vector<Origin> left_;      // by the single lanes of an access
  const Shadow* shadow_ = nullptr;
  size_t taken_ = 0, looked_at_ = 0, count_ = 0, left_taken_ = 0;
  uint64_t version_ = 0;  // of the shadow, when what was found was so
};

}  // namespace cuvein
