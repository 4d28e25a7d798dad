#include "analyzer/reuse.h"

#include <algorithm>
#include <cstring>

#include "analyzer/async_copies.h"
#include "analyzer/launch.h"
#include "analyzer/slice.h"

namespace cuvein {

namespace {

// Calls visit(address, bytes) for the contiguous pieces of a lane's bytes in the shadow's address space.
// Local memory of a block's warps shares the block's shadow with its shared memory: bit 63 and the warp keep
// them apart.
template <typename Visit>
inline void each_piece(const Access& access, unsigned lane, Visit visit) {
  uint64_t address = access.lane_address(lane);
  unsigned bytes = access.lane_size(lane);
  if (access.space != Space::kLocal) {
    visit(address, bytes);
    return;
  }
  const uint64_t base = uint64_t{1} << 63 | static_cast<uint64_t>(access.warp) << 56;
  while (bytes != 0) {
    const unsigned piece = std::min(bytes, 4 - static_cast<unsigned>(address & 3));
    visit(base | (interleave(address, lane) & ((uint64_t{1} << 56) - 1)), piece);
    address += piece;
    bytes -= piece;
  }
}

// Widest unit, as a shift of at most 2, that fits an offset and a length.
inline unsigned unit_shift(uint64_t offset_and_length) {
  return offset_and_length & 1 ? 0 : offset_and_length & 2 ? 1 : 2;
}

constexpr uint32_t kColdKey = edge_key(0, Label::kCold);

// What an access leaves behind as the most recent one, without the history.
inline uint64_t what_of(const Access& access) {
  const uint32_t events = access.copies ? access.async_copies->commits(access.warp) : access.stamp.events;
  return pack_what(access.node, access.stamp.clock, events) |
         (access.type != AccessType::kRead ? kWrote : 0) | (access.copies ? kAsync : 0);
}

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

void Reuse::start(const Access& access, Shadow& shadow, EdgeTable& table) {
  shadow_ = &shadow;
  table_ = &table;
  geometry_ = &access.launch->geometry();
  partial_syncs_ = access.stamp.partial_syncs;
  who_ = access.who();
  writes_ = access.type != AccessType::kRead;
  async_copies_ = access.async_copies;
  what_ = what_of(access);
  barrier_ = access.stamp.barrier;
  orders_ = barrier_ == 0 ? ~uint64_t{0} : kSeveral | kOlder | (writes_ ? 0 : kWrote);
  node_ = access.node;
  clock_ = access.stamp.clock;
  newer_below_ = clock_ == kMaxClock ? kMaxClock + 1 : clock_;
  full_sync_ = access.stamp.full_sync;
  same_instruction_ = edge_key(access.node + 1, Label::kWarpSameInst);
  edges_.start(&table, access.node);
}

inline Label Reuse::label(uint64_t difference, uint64_t prior_who) const {
  if (difference == 0) return Label::kThread;
  if (difference < 1u << 5) return Label::kWarpDiffInst;
  if (difference < 1u << 10) return Label::kBlock;
  if (geometry_->clusters && geometry_->cluster_of(prior_who >> 10) == geometry_->cluster_of(who_ >> 10))
    return Label::kCluster;
  return Label::kGrid;
}

bool Reuse::unordered_in_warp(uint32_t event, uint64_t prior_who, uint64_t who) const {
  if (event < full_sync_ || event == kMaxClock) return false;
  if (partial_syncs_ != nullptr) {
    const uint32_t both = 1u << (prior_who & 31) | 1u << (who & 31);
    for (const PartialSync& sync : *partial_syncs_)
      if (sync.event > event && (sync.mask & both) == both) return false;
  }
  return true;
}

// An asynchronous copy counts as done by the thread when it has waited for it.
__attribute__((noinline, cold)) bool Reuse::unordered_copy(const Origin& prior, uint64_t who,
                                                           Label scope) const {
  const AsyncCopies::Completion done =
      async_copies_->completion(prior.who >> 5 & 31, prior.who & 31, events_of(prior.what));
  if (done.state != AsyncCopies::Completion::kAt) return done.state == AsyncCopies::Completion::kNone;
  if (scope == Label::kBlock) return done.clock >= clock_ && done.clock != kMaxClock;
  return scope == Label::kWarpDiffInst && unordered_in_warp(done.events, prior.who, who);
}

__attribute__((always_inline)) inline bool Reuse::unordered(const Origin& prior, uint64_t who,
                                                            Label scope) const {
  if (__builtin_expect((prior.what & kAsync) != 0, 0)) return unordered_copy(prior, who, scope);
  if (scope == Label::kBlock) {
    const uint32_t clock = clock_of(prior.what);
    return clock >= clock_ && clock != kMaxClock;
  }
  return scope == Label::kWarpDiffInst && unordered_in_warp(events_of(prior.what), prior.who, who);
}

__attribute__((always_inline)) inline Reuse::Compared Reuse::compare(const Origin& prior,
                                                                     uint64_t who) const {
  if (prior.what == 0) return {kColdKey, false, false, what_};
  const uint64_t difference = prior.who ^ who;
  if (difference - 32 < 992 && (prior.what & kAsync) == 0) {  // another warp of the block, the common case
    const uint32_t clock = clock_of(prior.what);
    const bool newer = clock < newer_below_;
    const uint64_t history = (prior.what & kHistory) | kSeveral | (newer ? kOlder : 0);
    const bool ordered = (history & orders_) == orders_;
    return {edge_key(node_plus_one(prior.what), Label::kBlock), !newer && clock != kMaxClock, ordered,
            ordered ? what_ : what_ | history};
  }
  const Label scope = label(difference, prior.who);
  // The clocks of two blocks have nothing to do with each other.
  const bool same_block = difference < 1u << 10;
  const bool newer = !same_block || clock_of(prior.what) < newer_below_;
  const uint64_t history = (prior.what & kHistory) | (difference != 0 ? kSeveral : 0) | (newer ? kOlder : 0);
  const bool ordered = same_block && (history & orders_) == orders_;
  return {edge_key(node_plus_one(prior.what), scope), unordered(prior, who, scope), ordered,
          ordered ? what_ : what_ | history};
}

// Whether the same `what` of earlier accesses, not of an asynchronous copy, leads to the same outcome for two
// lanes that differ from its lane by so much.
inline bool Reuse::alike(uint64_t difference, uint64_t other) const {
  if (difference - 32 < 992) return other - 32 < 992;
  if (difference >= 1024) return geometry_->clusters ? difference >> 10 == other >> 10 : other >= 1024;
  return other < 32 && (difference == 0) == (other == 0) && partial_syncs_ == nullptr;
}

// A further lane on bytes that the same access has touched; returns what stays.
inline uint64_t Reuse::compare_same_instruction(uint64_t what, unsigned bytes) {
  const uint64_t history = (what & kHistory) | kSeveral;
  if ((history & orders_) != orders_) return what_ | history;
  ordered_ += bytes;
  return what_;
}

// Lanes side by side within one tile, entry by entry; equal neighbours are added up before they are counted.
// True when all are described by the same *what afterwards.
bool Reuse::row(Tile tile, unsigned offset, unsigned size_shift, unsigned lane, unsigned lanes,
                uint64_t* what) {
  const Entries entries = shadow_->entries(tile, std::min(size_shift, 2u));
  const unsigned per_lane = (1u << size_shift) >> entries.shift;
  const unsigned unit = 1u << entries.shift;
  Origin* entry = entries.first + (offset >> entries.shift);
  uint64_t last_what = ~uint64_t{0}, last_difference = 0;
  uint64_t first_what = 0;
  bool uniform = true;
  const auto note = [&](uint64_t left) {
    uniform &= first_what == 0 || first_what == left;
    first_what = left;
  };
  Compared compared{};
  unsigned pending = 0;  // lanes with the same outcome
  const auto settle = [&] {
    if (pending == 0) return;
    const uint32_t bytes = pending << size_shift;
    edges_.add_lanes(compared.key, bytes, compared.unordered ? bytes : 0, pending);
    if (compared.ordered) ordered_ += bytes;
    pending = 0;
  };
  for (const unsigned end = lane + lanes; lane < end; ++lane) {
    const uint64_t who = who_ | lane;
    const Origin prior = entry[0];
    bool equal = true;
    for (unsigned i = 1; i < per_lane; ++i) equal &= entry[i].what == prior.what && entry[i].who == prior.who;
    if (equal) {
      const uint64_t difference = prior.who ^ who;
      const bool same = prior.what == last_what && (prior.what & kAsync) == 0 &&
                        (prior.what == 0 || alike(difference, last_difference));
      if (!same) {
        settle();
        compared = compare(prior, who);
        note(compared.what);
        last_what = prior.what;
        last_difference = difference;
      }
      ++pending;
      for (unsigned i = 0; i < per_lane; ++i) entry[i] = {who, compared.what};
    } else {
      edges_.start_lane(lane);
      for (unsigned i = 0; i < per_lane; ++i) {
        const Compared one = compare(entry[i], who);
        edges_.add(one.key, unit, one.unordered ? unit : 0);
        if (one.ordered) ordered_ += unit;
        note(one.what);
        entry[i] = {who, one.what};
      }
    }
    entry += per_lane;
  }
  settle();
  *what = first_what;
  return uniform;
}

// Lanes side by side. Of a tile that they cover evenly the one origin that is there, if there is one, says
// all; tiles with the same outcome are added up before they are counted.
void Reuse::run(uint64_t address, unsigned size_shift, unsigned lane, unsigned lanes) {
  const unsigned lanes_per_tile = kTileBytes >> size_shift;
  uint64_t last_what = ~uint64_t{0}, last_difference = 0;
  Compared compared{};
  unsigned pending = 0;
  const auto settle = [&] {
    if (pending == 0) return;
    const uint32_t bytes = pending << size_shift;
    edges_.add_lanes(compared.key, bytes, compared.unordered ? bytes : 0, pending);
    if (compared.ordered) ordered_ += bytes;
    pending = 0;
  };
  while (lanes != 0) {
    const Tile tile = shadow_->tile(address);
    const unsigned offset = address & (kTileBytes - 1);
    const unsigned here = std::min(lanes, (kTileBytes - offset) >> size_shift);
    const bool whole = here == lanes_per_tile && size_shift != 0;
    const unsigned state = tile.state() & kTileStateMask;
    const uint64_t who = who_ | lane;
    if (whole && state <= kTileEven16) {
      const Origin prior = state == kTileEmpty ? Origin{} : tile.origin();
      const uint64_t difference = prior.who ^ who;
      // Within one warp the label depends on the lane, unless both accesses dealt the lanes out alike.
      const bool whole_tile = prior.what == 0 || difference >= 32 ||
                              (state == size_shift && (difference == 0 || partial_syncs_ == nullptr));
      // Each lane has its own copies and waits.
      if (whole_tile && (prior.what & kAsync) == 0) {
        if (prior.what != last_what || (prior.what != 0 && !alike(difference, last_difference))) {
          settle();
          compared = compare(prior, who);
          last_what = prior.what;
          last_difference = difference;
        }
        pending += here;
        shadow_->describe_otherwise(tile.chunk);
        tile.origin() = {who, compared.what};
        tile.state() = static_cast<uint8_t>((tile.state() & kDirty) | size_shift);
        address += kTileBytes;
        lane += here;
        lanes -= here;
        continue;
      }
    }
    uint64_t what;
    const bool uniform = row(tile, offset, size_shift, lane, here, &what);
    if (whole && uniform) shadow_->set_even(tile, static_cast<TileState>(size_shift), {who, what});
    address += here << size_shift;
    lane += here;
    lanes -= here;
  }
  settle();
  finish();
}

// Calls visit(entry, bytes it stands for) for exactly these bytes.
template <typename Visit>
inline void Reuse::each_entry(uint64_t address, unsigned bytes, Visit visit) {
  while (bytes != 0) {
    const unsigned offset = address & (kTileBytes - 1);
    const unsigned here = std::min(bytes, kTileBytes - offset);
    const Entries entries = shadow_->entries(shadow_->tile(address), unit_shift(offset | here));
    Origin* entry = entries.first + (offset >> entries.shift);
    for (Origin* end = entry + (here >> entries.shift); entry != end; ++entry)
      visit(*entry, 1u << entries.shift);
    address += here;
    bytes -= here;
  }
}

// One piece of one lane; `mark` is kMark where lanes may overlap.
void Reuse::touch(uint64_t address, unsigned bytes, uint64_t who, uint64_t mark) {
  each_entry(address, bytes, [&](Origin& entry, unsigned unit) {
    if (entry.what & kMark) {
      edges_.add(same_instruction_, unit, 0);
      entry = {who, compare_same_instruction(entry.what, unit) | mark};
      return;
    }
    const Compared compared = compare(entry, who);
    edges_.add(compared.key, unit, compared.unordered ? unit : 0);
    if (compared.ordered) ordered_ += unit;
    entry = {who, compared.what | mark};
  });
}

// The other lanes of a broadcast, `who` the last of them. From the third lane on nothing changes any more.
void Reuse::replace(uint64_t address, unsigned bytes, uint64_t who, unsigned others) {
  each_entry(address, bytes, [&](Origin& entry, unsigned unit) {
    uint64_t what = compare_same_instruction(entry.what, unit);
    if (others > 1) what = compare_same_instruction(what, unit);
    entry = {who, what};
  });
}

void Reuse::finish() {
  edges_.flush();
  if (ordered_ == 0) return;
  table_->add_ordered(barrier_, ordered_);
  ordered_ = 0;
}

void Reuse::unmark(uint64_t address, unsigned bytes) {
  each_entry(address, bytes, [](Origin& entry, unsigned) { entry.what &= ~kMark; });
}

void Reuse::overlapping(const Access& access, uint32_t mask) {
  each_lane(mask, [&](unsigned lane) {
    edges_.start_lane(lane);
    each_piece(access, lane,
               [&](uint64_t address, unsigned bytes) { touch(address, bytes, who_ | lane, kMark); });
  });
  each_lane(mask, [&](unsigned lane) {
    each_piece(access, lane, [&](uint64_t address, unsigned bytes) { unmark(address, bytes); });
  });
}

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
    const uint32_t bytes = near * size;
    edges_.add_lanes(compared.key, bytes, compared.unordered ? bytes : 0, near);
    if (compared.ordered) ordered_ += bytes;
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
        touch(access.lane_address(lane), size, who, 0);
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
        compared = compare(prior, who);
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
    const uint32_t bytes = pending * size;
    edges_.add_lanes(compared.key, bytes, compared.unordered ? bytes : 0, pending);
    if (compared.ordered) ordered_ += bytes;
    pending = 0;
  };
  each_address(access, mask, [&](unsigned lane, uint64_t address) __attribute__((always_inline)) {
    const uint64_t who = who_ | lane;
    Origin* const entry = shadow_->words(address, kWords);
    bool plain = entry != nullptr;
    if (kWords != 1 && plain) plain = all_equal<kWords>(entry);
    if (__builtin_expect(!plain, 0)) {
      edges_.start_lane(lane);
      touch(address, size, who, 0);
      return;
    }
    const Origin prior = *entry;
    const uint64_t difference = prior.who ^ who;
    if (prior.what != last_what || (prior.what & kAsync) != 0 ||
        (prior.what != 0 && !alike(difference, last_difference))) {
      settle();
      compared = compare(prior, who);
      last_what = prior.what;
      last_difference = difference;
    }
    ++pending;
    set_all<kWords>(entry, {who, compared.what});
  });
  settle();
}

void Reuse::apply(const Access& access, uint32_t mask, Shadow& shadow, EdgeTable& table) {
  start(access, shadow, table);
  const unsigned first = __builtin_ctz(mask);
  switch (access.layout) {
    case Layout::kRun:
      each_piece(access, first, [&](uint64_t address, unsigned) {
        run(address, __builtin_ctz(access.size), first, __builtin_popcount(mask));
      });
      return;
    case Layout::kBroadcast: {
      const unsigned others = __builtin_popcount(mask) - 1;
      edges_.start_lane(first);
      // The lowest lane meets the old state, the highest is what stays.
      const uint64_t address = access.lane_address(first);
      touch(address, access.size, who_ | first, 0);
      if (others != 0) {
        edges_.add_lanes(same_instruction_, others * access.size, 0, others);
        replace(address, access.size, who_ | (31 - __builtin_clz(mask)), others);
      }
      break;
    }
    case Layout::kDisjoint:
      if (access.sizes == nullptr && access.size >= 4 && access.space == Space::kShared) {
        if (access.size == 4)
          scattered_near<1>(access, mask);
        else if (access.size == 8)
          scattered_near<2>(access, mask);
        else
          scattered_near<4>(access, mask);
        break;
      }
      each_lane(mask, [&](unsigned lane) {
        edges_.start_lane(lane);
        each_piece(access, lane,
                   [&](uint64_t address, unsigned bytes) { touch(address, bytes, who_ | lane, 0); });
      });
      break;
    case Layout::kOverlapping:
      overlapping(access, mask);
      break;
  }
  finish();
}

void Reuse::apply_split(const Access& access, uint32_t mask, Shadow& shadow, EdgeTable& table,
                        const AddressShare& share, const std::function<void(unsigned, uint32_t)>& report) {
  start(access, shadow, table);
  // A lane has at most 16 bytes, so it reaches into at most two granules.
  const auto each_part = [&](unsigned lane, auto visit) {
    const uint64_t address = access.lane_address(lane);
    const unsigned bytes = access.lane_size(lane);
    constexpr uint64_t granule = AddressShare::kGranule;
    const unsigned here =
        static_cast<unsigned>(std::min<uint64_t>(bytes, granule - (address & (granule - 1))));
    if (share.holds(address)) visit(address, here);
    if (here != bytes && share.holds(address + here)) visit(address + here, bytes - here);
    return here != bytes;
  };
  each_lane(mask, [&](unsigned lane) {
    edges_.flush();
    edges_.start_lane(lane);
    const bool parted =
        each_part(lane, [&](uint64_t address, unsigned bytes) { touch(address, bytes, who_ | lane, kMark); });
    if (parted) edges_.flush_uncounted([&](uint32_t edge) { report(lane, edge); });
  });
  each_lane(mask, [&](unsigned lane) {
    each_part(lane, [&](uint64_t address, unsigned bytes) { unmark(address, bytes); });
  });
  finish();
}

}  // namespace cuvein
