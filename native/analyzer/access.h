// A decoded record on its way through the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "model/record.h"

namespace cuvein {

class Launch;

// How the lanes of an access lie to one another.
enum class Layout : uint8_t {
  kRun,          // side by side in lane order, no lane missing, each aligned to its size
  kBroadcast,    // all on the same bytes
  kDisjoint,     // no byte belongs to two lanes
  kOverlapping,  // anything else
};

// A __syncwarp of some lanes, as number `event` of its warp.
struct PartialSync {
  uint32_t event;
  uint32_t mask;
};
using PartialSyncs = std::vector<PartialSync>;

class AsyncCopies;

// What orders an access among others of its block, as the block's barrier clocks tell it.
struct Stamp {
  const PartialSyncs* partial_syncs;  // of the warp since its last full one, or null
  uint32_t barrier;                   // number of the last block barrier that the warp passed, 0: none
  uint32_t clock;                     // barrier clock of the warp
  uint32_t events;                    // barriers and syncs of the warp so far
  uint32_t full_sync;                 // the last of them that covered every lane
};

struct Access {
  uint64_t address;  // as in the record
  int64_t stride;    // the record's value
  uint64_t block;
  const unsigned char* addresses;  // per lane, after the record's form
  const uint8_t* sizes;            // per lane, or null: `size` for all
  Launch* launch;
  const AsyncCopies* async_copies;  // of the block, or null; set while it is applied to shared memory
  Stamp stamp;
  uint32_t active;
  uint32_t node;
  AddressForm form;
  Space space;
  AccessType type;
  uint8_t size;
  uint8_t warp;
  uint8_t first;  // lowest active lane
  Layout layout;
  bool copies;  // asynchronously into shared memory
  bool split;   // a lane reaches into the share of another worker

  uint64_t lane_address(unsigned lane) const {
    switch (form) {
      case AddressForm::kAffine:
        return address + static_cast<uint64_t>(stride) * (lane - first);
      case AddressForm::kLanes32: {
        int32_t offset;
        std::memcpy(&offset, addresses + lane * sizeof(offset), sizeof(offset));
        return address + static_cast<uint64_t>(static_cast<int64_t>(offset));
      }
      case AddressForm::kLanes64: {
        uint64_t value;
        std::memcpy(&value, addresses + lane * sizeof(value), sizeof(value));
        return value;
      }
    }
    return 0;
  }
  unsigned lane_size(unsigned lane) const { return sizes != nullptr ? sizes[lane] : size; }
  uint64_t who() const { return block << 10 | static_cast<uint64_t>(warp) << 5; }
};

// An access as its record tells it; node and layout are not known yet.
inline Access access_of(const RecordHeader& record, Launch& launch) {
  const unsigned char* const behind = reinterpret_cast<const unsigned char*>(&record + 1);
  Access access;
  access.address = record.address;
  access.stride = record.value;
  access.block = record.block;
  access.addresses = record.form != AddressForm::kAffine ? behind : nullptr;
  access.sizes = record.flags & kRecordFlagLaneSizes
                     ? behind + record_bytes(record.form, 0) - sizeof(RecordHeader)
                     : nullptr;
  access.launch = &launch;
  access.async_copies = nullptr;
  access.stamp = {};
  access.active = record.active;
  access.node = 0;
  access.form = record.form;
  access.space = record.space;
  access.type = record.type;
  access.size = record.size;
  access.warp = record.warp;
  access.first = static_cast<uint8_t>(__builtin_ctz(record.active));
  access.layout = Layout::kOverlapping;
  access.copies = record.space == Space::kShared && record.type == AccessType::kWrite &&
                  (record.flags & kRecordFlagAsync) != 0;
  access.split = false;
  return access;
}

// Calls visit(lane) for each lane of the mask, lowest first.
template <typename Visit>
inline void each_lane(uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<unsigned>(__builtin_ctz(mask)));
}

// Calls visit(lane, address) for each lane of the mask, lowest first; what form the addresses have is asked
// once.
template <typename Visit>
inline void each_address(const Access& access, uint32_t mask, Visit visit) {
  switch (access.form) {
    case AddressForm::kLanes32: {
      const auto visit_lane = [&](unsigned lane) {
        int32_t offset;
        std::memcpy(&offset, access.addresses + lane * sizeof(offset), sizeof(offset));
        visit(lane, access.address + static_cast<uint64_t>(static_cast<int64_t>(offset)));
      };
      if (mask == ~0u)
        for (unsigned lane = 0; lane < kWarpLanes; ++lane) visit_lane(lane);
      else
        each_lane(mask, visit_lane);
      return;
    }
    default:
      each_lane(mask, [&](unsigned lane) { visit(lane, access.lane_address(lane)); });
  }
}

// Local memory as the hardware lays it out: the 4-byte words of the warp's lanes side by side.
constexpr uint64_t interleave(uint64_t offset, unsigned lane) {
  return (offset >> 2) * 128 + lane * 4 + (offset & 3);
}

}  // namespace cuvein
