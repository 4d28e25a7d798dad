// Lanes that lie here and there in memory, taken one by one.
#include <cstring>

#include "analyzer/compare.h"
#include "analyzer/launch.h"
#include "analyzer/slice.h"

namespace cuvein {

namespace {

// Several origins side by side, whole ones at a time.
using Halves = uint64_t __attribute__((vector_size(sizeof(Origin))));

template <unsigned kCount>
inline bool all_equal(const Origin* origins) {
  Halves first, other, difference = {};
  std::memcpy(&first, origins, sizeof(first));
  for (unsigned i = 1; i < kCount; ++i) {
    std::memcpy(&other, origins + i, sizeof(other));
    difference |= first ^ other;
  }
  return (difference[0] | difference[1]) == 0;
}

template <unsigned kCount>
inline void set_all(Origin* origins, const Origin& origin) {
  const Halves halves = {origin.who, origin.what};
  for (unsigned i = 0; i < kCount; ++i) std::memcpy(origins + i, &halves, sizeof(halves));
}

}  // namespace

// What such lanes mostly find, nothing or another block's access, is told apart without branches that depend
// on the data, and added up as long as the instruction stays the same; everything else takes the general way,
// for which the access is made from its record again.
template <unsigned kWords>
size_t Reuse::singles(const Slice& slice, Places& places, size_t at, Shadow& shadow, EdgeTable& table) {
  constexpr unsigned size = kWords * 4;
  Launch& launch = slice.launch_of(places[at]);
  const bool one_launch = slice.launch() != nullptr;
  // With clusters another block may be near; nobody is far off then.
  const unsigned near_bits = launch.geometry().clusters ? 63 : 10;
  Access access;
  bool made = false;
  uint32_t node = 0;
  uint64_t cold = 0, far = 0;
  uint32_t far_key = 0;
  const auto add = [&] {
    if (far != 0) table.add(node, far_key, far * size, far, 0);
    if (cold != 0) table.add(node, kColdKey, cold * size, cold, 0);
    cold = far = 0;
  };
  const auto make = [&] {
    if (!made) access = slice.access(places[at], launch);
    made = true;
  };
  // For lanes of the access at hand that take the general way.
  bool started = false;
  uint64_t last_what = 0, last_difference = 0;
  Compared compared{};
  unsigned near = 0;  // lanes with the same outcome
  const auto settle = [&] {
    if (near == 0) return;
    count_lanes(compared, near * size, near);
    near = 0;
  };
  const auto begin = [&] {
    if (started) return;
    make();
    start(access, shadow, table);
    started = true;
    last_what = ~uint64_t{0};
  };
  const auto leave = [&] {
    made = false;
    if (!started) return;
    settle();
    finish();
    started = false;
  };
  places.check();
  for (; at < places.size() && places[at].way() == Way::kSingles; ++at) {
    const Share& share = places[at];
    if (1u << share.size_shift() != size || (!one_launch && &slice.launch_of(share) != &launch)) break;
    if (share.node() != node) {
      add();
      node = share.node();
    }
    Origin left = places.next_left();
    if (share.stamp != 0) {
      const Stamp& stamp = slice.stamps[share.stamp - 1];
      left.what |= pack_clocks(stamp.clock, stamp.events);
    }
    for (uint32_t rest = share.lanes; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(rest));
      const uint64_t who = left.who | lane;
      Origin* entry = places.next();
      if (__builtin_expect(entry == nullptr, 0)) {
        make();
        entry = shadow.words(access.lane_address(lane), kWords);
      }
      bool plain = entry != nullptr;
      if (kWords != 1 && plain) plain = all_equal<kWords>(entry);
      if (__builtin_expect(!plain, 0)) {
        begin();
        edges_.start_lane(lane);
        touch<false>(access.lane_address(lane), size, who, 0);
        places.check();
        continue;
      }
      const Origin prior = *entry;
      const uint64_t is_cold = (prior.what - 1) >> 63;  // no marks are set between two accesses
      const uint64_t met = is_cold - 1;                 // a mask
      const uint64_t what = left.what | (prior.what & kHistory) | (met & (kSeveral | kOlder));
      set_all<kWords>(entry, {who, what});
      const uint64_t difference = prior.who ^ who;
      const uint32_t key = edge_key(node_plus_one(prior.what), Label::kGrid);
      const uint64_t is_near = ((difference >> near_bits) - 1) >> 63;
      cold += is_cold;
      far -= met;
      // Not with && and ==, of which compilers make branches.
      if (__builtin_expect((((key ^ far_key) | is_near) & met) == 0, 1)) continue;
      --far;
      if (is_near == 0) {
        if (far != 0) table.add(node, far_key, far * size, far, 0);
        far_key = key;
        far = 1;
        continue;
      }
      begin();
      if (prior.what != last_what || (prior.what & kAsync) != 0 || !alike(difference, last_difference)) {
        settle();
        compared = compare<false>(prior, who);
        last_what = prior.what;
        last_difference = difference;
      }
      ++near;
      for (unsigned i = 0; i < kWords; ++i) entry[i].what = compared.what;
    }
    leave();
  }
  add();
  return at;
}

size_t Reuse::apply_singles(const Slice& slice, Places& places, size_t at, Shadow& shadow, EdgeTable& table) {
  switch (places[at].size_shift()) {
    case 2:
      return singles<1>(slice, places, at, shadow, table);
    case 3:
      return singles<2>(slice, places, at, shadow, table);
    default:
      return singles<4>(slice, places, at, shadow, table);
  }
}

// Lanes here and there in memory that one block has for itself, each of so many words.
template <unsigned kWords>
void Reuse::scattered_near(const Access& access, uint32_t mask) {
  constexpr unsigned size = kWords * 4;
  uint64_t last_what = ~uint64_t{0}, last_difference = 0;
  Compared compared{};
  unsigned pending = 0;  // lanes with the same outcome
  const auto settle = [&] {
    if (pending == 0) return;
    count_lanes(compared, pending * size, pending);
    pending = 0;
  };
  each_address(access, mask, [&](unsigned lane, uint64_t address) __attribute__((always_inline)) {
    const uint64_t who = who_ | lane;
    Origin* const entry = shadow_->words(address, kWords);
    bool plain = entry != nullptr;
    if (kWords != 1 && plain) plain = all_equal<kWords>(entry);
    if (__builtin_expect(!plain, 0)) {
      edges_.start_lane(lane);
      touch<true>(address, size, who, 0);
      return;
    }
    const Origin prior = *entry;
    const uint64_t difference = (prior.who ^ who) & kDiffers<true>;
    if (prior.what != last_what || (prior.what & kAsync) != 0 ||
        (prior.what != 0 && !alike(difference, last_difference))) {
      settle();
      compared = compare<true>(prior, who);
      last_what = prior.what;
      last_difference = difference;
    }
    ++pending;
    set_all<kWords>(entry, {who | covered<true>(prior, compared, size), compared.what});
  });
  settle();
}

template void Reuse::scattered_near<1>(const Access& access, uint32_t mask);
template void Reuse::scattered_near<2>(const Access& access, uint32_t mask);
template void Reuse::scattered_near<4>(const Access& access, uint32_t mask);

}  // namespace cuvein
