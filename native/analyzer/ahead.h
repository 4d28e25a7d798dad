// Looks ahead in a worker's list of accesses: where scattered lanes lie is found some lanes before they are
// applied, so that what they need is on its way from memory meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/access.h"
#include "analyzer/shadow.h"

namespace cuvein {

// Lanes of a decoded access (its place in the slice) that a worker looks after.
struct Share {
  uint32_t index;
  uint32_t lanes;
};

// Whether the lanes of an access to global memory are taken one by one, each at its first word.
inline bool scattered(const Access& access) {
  return access.layout == Layout::kDisjoint && access.sizes == nullptr && access.size >= 4 &&
         access.space == Space::kGlobal && access.kind == RecordKind::kAccess && !access.split;
}

class Ahead {
 public:
  // `most`: lanes that are looked at and not taken yet, a power of two.
  explicit Ahead(size_t most) : mask_(static_cast<unsigned>(most - 1)), ring_(most, kOther) {}

  // From here on accesses of this launch are looked at.
  void start(const Launch* launch, const Shadow* shadow) {
    launch_ = launch;
    shadow_ = shadow;
    taken_ = found_ = 0;
    version_ = shadow->version();
  }
  void stop() { launch_ = nullptr; }
  const Launch* launch() const { return launch_; }

  // Lanes that are looked at and not taken yet.
  unsigned ready() const { return found_ - taken_; }

  // Looks at an access of the launch. Of the lanes `at_once` the entries are loaded from here on, of the
  // others when they are kDistance lanes away from being taken.
  void look(const Access& access, uint32_t lanes, uint32_t at_once) {
    check();
    if (scattered(access)) {
      const unsigned size = access.size;
      unsigned found = found_;
      each_address(access, lanes, [&](unsigned lane, uint64_t address) __attribute__((always_inline)) {
        const uintptr_t place = find(address, size);
        ring_[found++ & mask_] = place;
        if (at_once >> lane & 1) __builtin_prefetch(reinterpret_cast<const void*>(place));
      });
      found_ = found;
    } else if (access.layout == Layout::kBroadcast && access.kind == RecordKind::kAccess &&
               access.space == Space::kGlobal) {
      __builtin_prefetch(reinterpret_cast<const void*>(find(access.lane_address(access.first), 4)));
    }
  }

  // Where the lanes of the scattered accesses, in their order, have their first words. A place is `sure` when
  // all that there is to know about it is that the tile has an entry a word.
  class Lanes {
   public:
    uintptr_t next() {
      __builtin_prefetch(reinterpret_cast<const void*>(ring_[(at_ + kDistance) & mask_]));
      return ring_[at_++ & mask_];
    }

   private:
    friend Ahead;
    Lanes(const Ahead& ahead) : ring_(ahead.ring_.data()), mask_(ahead.mask_), at_(ahead.taken_) {}
    const uintptr_t* ring_;
    unsigned mask_, at_;
  };
  Lanes lanes() const { return Lanes(*this); }
  void took(const Lanes& lanes) { taken_ = lanes.at_; }
  static bool sure(uintptr_t place) { return (place & kOther) == 0; }

  // To be called when tiles may have changed.
  void check() {
    if (launch_ == nullptr || version_ == shadow_->version()) return;
    version_ = shadow_->version();
    for (unsigned lane = taken_; lane != found_; ++lane) ring_[lane & mask_] |= kOther;
  }

  static constexpr unsigned kDistance = 48;  // lanes

 private:
  // The tile may be described otherwise: the address is for loading only.
  static constexpr uintptr_t kOther = 1;

  // Mostly a word of a chunk that has nothing but words.
  __attribute__((always_inline)) uintptr_t find(uint64_t address, unsigned size) const {
    const Origin* const word = shadow_->word(address);
    return word != nullptr && (address & (size - 1)) == 0 ? reinterpret_cast<uintptr_t>(word)
                                                          : other(address);
  }
  __attribute__((noinline)) uintptr_t other(uint64_t address) const {
    return reinterpret_cast<uintptr_t>(shadow_->load(address)) | kOther;
  }

  const unsigned mask_;
  const Launch* launch_ = nullptr;
  const Shadow* shadow_ = nullptr;
  unsigned taken_ = 0, found_ = 0;  // lanes
  uint64_t version_ = 0;            // of the shadow, when what was found was so
  std::vector<uintptr_t> ring_;
};

}  // namespace cuvein
