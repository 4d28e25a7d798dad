// What makes a record valid, and its one spelling: fields that mean nothing for its kind are 0.
#pragma once

#include "model/record.h"

namespace cuvein::trace {

// Which fields of RecordHeader a kind uses besides block, warp and launch (the table in model/record.h).
struct FieldUse {
  bool pc, active, access, space, address, value;
};

constexpr FieldUse field_use(RecordKind kind) {
  switch (kind) {
    case RecordKind::kAccess:
      return {true, true, true, true, true, true};
    case RecordKind::kBlockBarrier:
    case RecordKind::kDeviceMalloc:
      return {true, true, false, false, true, true};
    case RecordKind::kThreadExit:
      return {false, true, false, false, false, false};
    case RecordKind::kAsyncCommit:
    case RecordKind::kClusterArrive:
    case RecordKind::kClusterWait:
      return {true, true, false, false, false, false};
    case RecordKind::kWarpSync:
    case RecordKind::kAsyncWait:
    case RecordKind::kDeviceFree:
    case RecordKind::kNotAnalysed:
      return {true, true, false, false, true, false};
    case RecordKind::kMbarrier:
      return {true, true, false, true, true, true};
    case RecordKind::kPadding:
    case RecordKind::kLaunchEnd:
      break;
  }
  return {false, false, false, false, false, false};
}

// Why the bytes are not a whole valid record, as a part of a sentence; null when they are. Sets *length.
const char* check_record(const unsigned char* record, size_t bytes, size_t* length);

// A record in its one spelling, aligned and with room for the longest.
struct alignas(16) Record {
  RecordHeader header;
  unsigned char tail[kLongestRecord - sizeof(RecordHeader)];

  int32_t* lanes_32() { return reinterpret_cast<int32_t*>(tail); }
  uint64_t* lanes_64() { return reinterpret_cast<uint64_t*>(tail); }
  uint8_t* lane_sizes() {
    return tail + (header.form == AddressForm::kLanes32   ? kLanes32Bytes
                   : header.form == AddressForm::kLanes64 ? kLanes64Bytes
                                                          : 0);
  }
};

// Copies a valid record and clears what means nothing.
void normalise(const unsigned char* record, size_t length, Record* out);

}  // namespace cuvein::trace
