// One record of the access stream. The patches write it into the ring, the trace file stores it, the host
// engine reads it: one layout from the device to the analysis. Plain data, usable from CUDA and C++.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/vocabulary.h"

namespace cuvein {

// Records are multiples of this many bytes, so that `length` fits a byte and lanes stay aligned.
constexpr unsigned kRecordUnit = 16;

// The head of every record. What the fields mean for each RecordKind:
//
//   kind              pc  active  space,type,size  address                    value
//   ACCESS            x   x       x                of the lowest active lane  stride between lanes (affine)
//   BLOCK_BARRIER     x   x                        barrier index              expected threads, 0 = the whole
//   block;
//                                                                             bit 32 set: arrive only, does
//                                                                             not wait
//   WARP_SYNC         x   x                        mask given to __syncwarp
//   THREAD_EXIT           x       (lanes that end here)
//   LAUNCH_END                    (every thread of the launch has ended)
//   ASYNC_COMMIT      x   x
//   ASYNC_WAIT        x   x                        groups that may stay pending
//   CLUSTER_ARRIVE    x   x
//   CLUSTER_WAIT      x   x
//   DEVICE_MALLOC     x   1 lane                   allocated address          size in bytes
//   DEVICE_FREE       x   1 lane                   freed address
//   NOT_ANALYSED      x   x                        an Instruction
//   MBARRIER          x   x       shared           barrier address            action (Sanitizer CUDA barrier
//   kind)
//
// Records of one launch stand in the order in which they reserved their place, which is before the access
// itself executes; whatever happens-before holds in the program therefore holds in the stream.
struct alignas(16) RecordHeader {
  uint8_t length;    // whole record in units of 16 bytes; written last, 0 means not there yet
  RecordKind kind;   //
  AddressForm form;  // ACCESS only
  uint8_t flags;     // RecordFlag bits, ACCESS only
  Space space;       //
  AccessType type;   //
  uint8_t size;      // bytes each lane accesses: 1, 2, 4, 8 or 16 (LANE_SIZES: no lane has more)
  uint8_t warp;      // warp in the block: flat thread id / 32
  uint32_t active;   // lanes that take part, bit 0 = lane 0
  int32_t pc;      // byte offset from the entry of the kernel; +1 for the shared half of an asynchronous copy
  uint64_t block;  // flat block id, x fastest
  uint32_t launch;  // sequence number of the launch within the process, from 1
  uint32_t reserved;
  uint64_t address;
  int64_t value;
};
static_assert(sizeof(RecordHeader) == 48, "the trace format and the patches rely on this size");

// Address of a lane, by form:
//   AFFINE    address + (lane - lowest active lane) * value
//   LANES_32  address + int32_t[32] that follows the header, indexed by lane (0 for inactive lanes)
//   LANES_64  uint64_t[32] that follows the header, indexed by lane (0 for inactive lanes)
// With LANE_SIZES, uint8_t[32] follows after that: the bytes of each lane (0 for inactive lanes).
//
// Shared addresses are offsets in the block's shared window, local addresses offsets in the thread's local
// window; all others are virtual addresses.
constexpr unsigned kLanes32Bytes = 32 * sizeof(int32_t);
constexpr unsigned kLanes64Bytes = 32 * sizeof(uint64_t);
constexpr unsigned kLaneSizesBytes = 32;
constexpr unsigned kLongestRecord = sizeof(RecordHeader) + kLanes64Bytes + kLaneSizesBytes;

constexpr unsigned record_bytes(AddressForm form, uint8_t flags) {
  return static_cast<unsigned>(sizeof(RecordHeader)) +
         (form == AddressForm::kLanes32   ? kLanes32Bytes
          : form == AddressForm::kLanes64 ? kLanes64Bytes
                                          : 0) +
         (flags & kRecordFlagLaneSizes ? kLaneSizesBytes : 0);
}

// BLOCK_BARRIER value: set when the warp arrives without waiting.
constexpr int64_t kBarrierArriveOnly = int64_t{1} << 32;

}  // namespace cuvein
