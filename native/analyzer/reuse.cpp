#include "analyzer/reuse.h"

#include <algorithm>

#include "analyzer/async_copies.h"
#include "analyzer/compare.h"
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

// What an access leaves behind as the most recent one, without the history.
inline uint64_t what_of(const Access& access) {
  const uint32_t events = access.copies ? access.async_copies->commits(access.warp) : access.stamp.events;
  return pack_what(access.node, access.stamp.clock, events) |
         (access.type != AccessType::kRead ? kWrote : 0) | (access.copies ? kAsync : 0);
}

}  // namespace

void Reuse::start(const Access& access, Shadow& shadow, EdgeTable& table) {
  shadow_ = &shadow;
  table_ = &table;
  geometry_ = &access.launch->geometry();
  partial_syncs_ = access.stamp.partial_syncs;
  type_ = access.type;
  covered_from_ = std::max(uint64_t{1} << kCoveredShift, uint64_t{access.stamp.clock} << kCoveredClockShift);
  who_ = access.space == Space::kShared
             ? (access.who() & kThread) | static_cast<uint64_t>(type_) << kTypeShift
             : access.who();
  async_copies_ = access.async_copies;
  what_ = what_of(access);
  barrier_ = access.stamp.barrier;
  orders_ = barrier_ == 0 ? ~uint64_t{0} : kSeveral | kOlder | (type_ != AccessType::kRead ? 0 : kWrote);
  node_ = access.node;
  clock_ = access.stamp.clock;
  newer_below_ = clock_ == kMaxClock ? kMaxClock + 1 : clock_;
  full_sync_ = access.stamp.full_sync;
  same_instruction_ = edge_key(access.node + 1, Label::kWarpSameInst);
  edges_.start(&table, access.node);
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
__attribute__((noinline, cold)) bool Reuse::unordered_copy(Origin prior, uint64_t who, Label scope) const {
  const AsyncCopies::Completion done =
      async_copies_->completion(prior.who >> 5 & 31, prior.who & 31, events_of(prior.what));
  if (done.state != AsyncCopies::Completion::kAt) return done.state == AsyncCopies::Completion::kNone;
  if (scope == Label::kBlock) return done.clock >= clock_ && done.clock != kMaxClock;
  return scope == Label::kWarpDiffInst && unordered_in_warp(done.events, prior.who, who);
}

// The same where the access that the most recent one covers is not ordered: counts the hazard with it, and
// keeps it where it says more than the most recent one. `unordered`: the key of the edge if that shows a
// hazard, too, otherwise 0. What is at hand is passed by value, so that it stays in registers.
__attribute__((noinline)) uint64_t Reuse::covered_still(Origin prior, uint32_t unordered, uint32_t bytes,
                                                        uint64_t met) {
  const AccessType type = type_covered(prior.who);
  const bool racing = order_matters(type_, type);
  const uint32_t node = node_covered(prior.who), warp = who_ >> 5 & 31;
  // Once is enough where the edge tells of the same two instructions.
  if (racing && warp_covered(prior.who) != warp && clock_covered(prior.who) != kMaxClock &&
      unordered != edge_key(node, Label::kBlock))
    table_->add(node_, hidden_key(node), bytes, 0, 0);
  const bool more = racing || (prior.who >> 5 & 31) == warp;
  return type_ != AccessType::kWrite && type_of(prior.who) == type_ && more ? prior.who & kCovered : met;
}

// A copy writes when it is waited for. One that nobody has waited for races with the access that meets it,
// which is enough to be told of.
__attribute__((noinline, cold)) uint64_t Reuse::covered_copy(Origin prior) const {
  if (type_ == AccessType::kWrite) return 0;
  const AsyncCopies::Completion done =
      async_copies_->completion(prior.who >> 5 & 31, prior.who & 31, events_of(prior.what));
  if (done.state != AsyncCopies::Completion::kAt) return 0;
  return pack_covered({prior.who, pack_what(node_plus_one(prior.what) - 1, done.clock, 0)});
}

// A further lane on bytes that the same access has touched; returns what stays.
inline uint64_t Reuse::compare_same_instruction(uint64_t what, unsigned bytes) {
  const uint64_t history = (what & kHistory) | kSeveral;
  if ((history & orders_) != orders_) return what_ | history;
  ordered_ += bytes;
  return what_ | history_after_credit(what);
}

// Lanes side by side within one tile, entry by entry; equal neighbours are added up before they are counted.
// True when all are described by *left afterwards, which is that of the first lane.
template <bool kShared>
bool Reuse::row(Tile tile, unsigned offset, unsigned size_shift, unsigned first, unsigned lanes,
                Origin* left) {
  const Entries entries = shadow_->entries(tile, std::min(size_shift, 2u));
  const unsigned per_lane = (1u << size_shift) >> entries.shift;
  const unsigned unit = 1u << entries.shift;
  Origin* const first_entry = entries.first + (offset >> entries.shift);
  Origin* entry = first_entry;
  uint64_t last_what = ~uint64_t{0}, last_difference = 0;
  uint64_t first_what = 0, first_behind = 0, differences = 0;
  const auto note = [&](uint64_t what) {
    if (first_what == 0) first_what = what;
    differences |= what ^ first_what;
  };
  const auto note_behind = [&](const Origin* at, uint64_t behind) {
    if (at == first_entry) first_behind = behind;
    differences |= behind ^ first_behind;
  };
  Compared compared{};
  unsigned pending = 0;  // lanes with the same outcome
  const auto settle = [&] {
    if (pending == 0) return;
    count_lanes(compared, pending << size_shift, pending);
    pending = 0;
  };
  for (unsigned lane = first; lane < first + lanes; ++lane) {
    const uint64_t who = who_ | lane;
    const Origin prior = entry[0];
    bool equal = true;
    for (unsigned i = 1; i < per_lane; ++i) equal &= entry[i].what == prior.what && entry[i].who == prior.who;
    if (equal) {
      const uint64_t difference = (prior.who ^ who) & kDiffers<kShared>;
      const bool same = prior.what == last_what && (prior.what & kAsync) == 0 &&
                        (prior.what == 0 || alike(difference, last_difference));
      if (!same) {
        settle();
        compared = compare<kShared>(prior, who);
        note(compared.what);
        last_what = prior.what;
        last_difference = difference;
      }
      ++pending;
      const uint64_t behind = covered<kShared>(prior, compared, 1u << size_shift);
      note_behind(entry, behind);
      for (unsigned i = 0; i < per_lane; ++i) entry[i] = {who | behind, compared.what};
    } else {
      edges_.start_lane(lane);
      for (unsigned i = 0; i < per_lane; ++i) {
        const Compared one = compare<kShared>(entry[i], who);
        count(one, unit);
        const uint64_t behind = covered<kShared>(entry[i], one, unit);
        note(one.what);
        note_behind(entry + i, behind);
        entry[i] = {who | behind, one.what};
      }
    }
    entry += per_lane;
  }
  settle();
  *left = {who_ | first | first_behind, first_what};
  return differences == 0;
}

// Lanes side by side. Of a tile that they cover evenly the one origin that is there, if there is one, says
// all; tiles with the same outcome are added up before they are counted.
template <bool kShared>
void Reuse::run(uint64_t address, unsigned size_shift, unsigned lane, unsigned lanes) {
  const unsigned lanes_per_tile = kTileBytes >> size_shift;
  uint64_t last_what = ~uint64_t{0}, last_difference = 0;
  Compared compared{};
  unsigned pending = 0;
  const auto settle = [&] {
    if (pending == 0) return;
    count_lanes(compared, pending << size_shift, pending);
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
      const uint64_t difference = (prior.who ^ who) & kDiffers<kShared>;
      // Within one warp the label depends on the lane, unless both accesses dealt the lanes out alike.
      const bool whole_tile = prior.what == 0 || difference >= 32 ||
                              (state == size_shift && (difference == 0 || partial_syncs_ == nullptr));
      // Each lane has its own copies and waits.
      if (whole_tile && (prior.what & kAsync) == 0) {
        if (prior.what != last_what || (prior.what != 0 && !alike(difference, last_difference))) {
          settle();
          compared = compare<kShared>(prior, who);
          last_what = prior.what;
          last_difference = difference;
        }
        pending += here;
        shadow_->describe_otherwise(tile.chunk);
        tile.origin() = {who | covered<kShared>(prior, compared, here << size_shift), compared.what};
        tile.state() = static_cast<uint8_t>((tile.state() & kDirty) | size_shift);
        address += kTileBytes;
        lane += here;
        lanes -= here;
        continue;
      }
    }
    Origin left;
    const bool uniform = row<kShared>(tile, offset, size_shift, lane, here, &left);
    if (whole && uniform) shadow_->set_even(tile, static_cast<TileState>(size_shift), left);
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
template <bool kShared>
void Reuse::touch(uint64_t address, unsigned bytes, uint64_t who, uint64_t mark) {
  each_entry(address, bytes, [&](Origin& entry, unsigned unit) {
    if (entry.what & kMark) {
      edges_.add(same_instruction_, unit, 0);
      entry = {who | (entry.who & ~kDiffers<kShared>), compare_same_instruction(entry.what, unit) | mark};
      return;
    }
    const Compared compared = compare<kShared>(entry, who);
    count(compared, unit);
    entry = {who | covered<kShared>(entry, compared, unit), compared.what | mark};
  });
}

template void Reuse::touch<false>(uint64_t address, unsigned bytes, uint64_t who, uint64_t mark);
template void Reuse::touch<true>(uint64_t address, unsigned bytes, uint64_t who, uint64_t mark);

// The other lanes of a broadcast, `who` the last of them. From the third lane on nothing changes any more.
template <bool kShared>
void Reuse::replace(uint64_t address, unsigned bytes, uint64_t who, unsigned others) {
  each_entry(address, bytes, [&](Origin& entry, unsigned unit) {
    uint64_t what = compare_same_instruction(entry.what, unit);
    if (others > 1) what = compare_same_instruction(what, unit);
    entry = {who | (entry.who & ~kDiffers<kShared>), what};
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

template <bool kShared>
void Reuse::overlapping(const Access& access, uint32_t mask) {
  each_lane(mask, [&](unsigned lane) {
    edges_.start_lane(lane);
    each_piece(access, lane,
               [&](uint64_t address, unsigned bytes) { touch<kShared>(address, bytes, who_ | lane, kMark); });
  });
  each_lane(mask, [&](unsigned lane) {
    each_piece(access, lane, [&](uint64_t address, unsigned bytes) { unmark(address, bytes); });
  });
}

void Reuse::apply(const Access& access, uint32_t mask, Shadow& shadow, EdgeTable& table) {
  start(access, shadow, table);
  if (access.space == Space::kShared)
    apply_lanes<true>(access, mask);
  else
    apply_lanes<false>(access, mask);
}

template <bool kShared>
void Reuse::apply_lanes(const Access& access, uint32_t mask) {
  const unsigned first = __builtin_ctz(mask);
  switch (access.layout) {
    case Layout::kRun:
      each_piece(access, first, [&](uint64_t address, unsigned) {
        run<kShared>(address, __builtin_ctz(access.size), first, __builtin_popcount(mask));
      });
      return;
    case Layout::kBroadcast: {
      const unsigned others = __builtin_popcount(mask) - 1;
      edges_.start_lane(first);
      // The lowest lane meets the old state, the highest is what stays.
      const uint64_t address = access.lane_address(first);
      touch<kShared>(address, access.size, who_ | first, 0);
      if (others != 0) {
        edges_.add_lanes(same_instruction_, others * access.size, 0, others);
        replace<kShared>(address, access.size, who_ | (31 - __builtin_clz(mask)), others);
      }
      break;
    }
    case Layout::kDisjoint:
      if (kShared && access.sizes == nullptr && access.size >= 4) {
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
                   [&](uint64_t address, unsigned bytes) { touch<kShared>(address, bytes, who_ | lane, 0); });
      });
      break;
    case Layout::kOverlapping:
      overlapping<kShared>(access, mask);
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
    const bool parted = each_part(
        lane, [&](uint64_t address, unsigned bytes) { touch<false>(address, bytes, who_ | lane, kMark); });
    if (parted) edges_.flush_uncounted([&](uint32_t edge) { report(lane, edge); });
  });
  each_lane(mask, [&](unsigned lane) {
    each_part(lane, [&](uint64_t address, unsigned bytes) { unmark(address, bytes); });
  });
  finish();
}

}  // namespace cuvein
