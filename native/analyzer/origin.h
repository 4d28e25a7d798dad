// What the shadow state remembers of the most recent access to some bytes, packed into 16 bytes.
#pragma once

#include <cstdint>

#include "model/vocabulary.h"

namespace cuvein {

// Limits of the packing. Records beyond the first two are refused; clocks beyond the last saturate, and from
// there on everything counts as ordered, so that a saturated clock never raises a false alarm.
constexpr unsigned kBlockBits = 54;
constexpr uint32_t kMaxNodes = (1u << 19) - 2;
constexpr uint32_t kMaxClock = (1u << 20) - 1;

struct Origin {
  // block << 10 | warp << 5 | lane; in a block's shared memory, whose block is known, there stands in its
  // place what is known of the access that this one covers (see below)
  uint64_t who;
  // mark << 63 | (node + 1) << 44 | barrier clock << 24 | warp events << 4 | history; 0: never accessed
  uint64_t what;
};
static_assert(sizeof(Origin) == 16, "the shadow's size follows from this");

// Set while one access is being applied, on what an earlier lane of the same access has touched.
constexpr uint64_t kMark = uint64_t{1} << 63;

// History: what is known of the accesses since the last that a block barrier was credited with ordering, the
// most recent one among them (see docs/engine.md, "What exactly is counted").
constexpr uint64_t kWrote = 1;    // one of them was a write or an atomic
constexpr uint64_t kSeveral = 2;  // they were of several threads
constexpr uint64_t kOlder = 4;    // a barrier, or a change of block, lies between the first and the last
// Not part of the history: the most recent access is an asynchronous copy into shared memory. In the place of
// the warp events stands how many groups of copies its warp had committed.
constexpr uint64_t kAsync = 8;
constexpr uint64_t kHistory = kWrote | kSeveral | kOlder;

// What stays of the history when a barrier is credited. If all accesses came before it, nothing; but where
// they lay on both sides of a barrier already, nobody knows which of them came after this one, so that all
// may need the next.
constexpr uint64_t history_after_credit(uint64_t what) {
  return (what & kOlder) != 0 ? (what & kWrote) | kSeveral : 0;
}

constexpr uint64_t kThread = (1u << 10) - 1;  // the bits of `who` for warp and lane

// In shared memory, beside the most recent access to a byte: its own type, and the access that it covers. A
// later one may race with that although it meets only the most recent one. In `who`:
// clock << 44 | (node + 1) << 25 | type << 23 | warp << 18 of the access that is covered | type << 10 | ...
constexpr unsigned kTypeShift = 10, kCoveredShift = 12, kCoveredClockShift = 44;
constexpr uint64_t kCovered = ~uint64_t{0} << kCoveredShift;

constexpr uint64_t pack_clocks(uint32_t clock, uint32_t events) {
  return static_cast<uint64_t>(clock) << 24 | static_cast<uint64_t>(events) << 4;
}
constexpr uint64_t pack_what(uint32_t node, uint32_t clock, uint32_t events) {
  return static_cast<uint64_t>(node + 1) << 44 | pack_clocks(clock, events);
}
constexpr uint32_t node_plus_one(uint64_t what) { return static_cast<uint32_t>(what >> 44) & 0x7ffff; }
constexpr uint32_t clock_of(uint64_t what) { return static_cast<uint32_t>(what >> 24) & kMaxClock; }
constexpr uint32_t events_of(uint64_t what) { return static_cast<uint32_t>(what >> 4) & kMaxClock; }

constexpr AccessType type_of(uint64_t who) { return static_cast<AccessType>(who >> kTypeShift & 3); }
// An access in shared memory as the one that is covered.
constexpr uint64_t pack_covered(const Origin& origin) {
  return static_cast<uint64_t>(clock_of(origin.what)) << kCoveredClockShift |
         static_cast<uint64_t>(node_plus_one(origin.what)) << 25 | (origin.who & 0xfe0) << 13;
}
constexpr uint32_t clock_covered(uint64_t who) { return static_cast<uint32_t>(who >> kCoveredClockShift); }
constexpr uint32_t node_covered(uint64_t who) { return static_cast<uint32_t>(who >> 25) & 0x7ffff; }
constexpr AccessType type_covered(uint64_t who) { return static_cast<AccessType>(who >> 23 & 3); }
constexpr uint32_t warp_covered(uint64_t who) { return static_cast<uint32_t>(who >> 18) & 31; }

}  // namespace cuvein
