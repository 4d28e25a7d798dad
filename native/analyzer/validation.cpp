#include "analyzer/validation.h"

#include <algorithm>
#include <cstdio>

#include "analyzer/origin.h"

namespace cuvein {

namespace {

constexpr uint8_t kKnownFlags = kRecordFlagAsync | kRecordFlagMatrix | kRecordFlagLaneSizes;
constexpr uint64_t kBarriersOfABlock = 16;
constexpr unsigned kLargestSize = 16;

bool valid_lane_sizes(const RecordHeader& record) {
  const uint8_t* sizes =
      reinterpret_cast<const uint8_t*>(&record) + record.length * kRecordUnit - kLaneSizesBytes;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    if (record.active >> lane & 1 && (sizes[lane] == 0 || sizes[lane] > record.size)) return false;
  return true;
}

bool valid_access(const RecordHeader& record) {
  if (static_cast<unsigned>(record.form) >= kAddressFormCount || record.flags & ~kKnownFlags) return false;
  if (record.length * kRecordUnit != record_bytes(record.form, record.flags)) return false;
  if (static_cast<unsigned>(record.space) >= kSpaceCount ||
      static_cast<unsigned>(record.type) >= kAccessTypeCount)
    return false;
  if (record.active == 0 || record.size == 0 || record.size > kLargestSize) return false;
  if (record.flags & kRecordFlagLaneSizes) return valid_lane_sizes(record);
  return (record.size & (record.size - 1)) == 0;
}

// For a sentence about the record.
std::string describe(const RecordHeader& record) {
  char text[160];
  std::snprintf(text, sizeof text,
                "kind %u, pc %#x, block %llu, warp %u, lanes %#x, space %u, type %u, %u bytes",
                static_cast<unsigned>(record.kind), static_cast<unsigned>(record.pc),
                static_cast<unsigned long long>(record.block), static_cast<unsigned>(record.warp),
                static_cast<unsigned>(record.active), static_cast<unsigned>(record.space),
                static_cast<unsigned>(record.type), static_cast<unsigned>(record.size));
  return text;
}

bool valid(const RecordHeader& record, const LaunchGeometry& launch) {
  const bool of_a_warp = record.kind != RecordKind::kLaunchEnd;
  if (of_a_warp && (record.block >= launch.blocks || record.block >> kBlockBits != 0 ||
                    record.warp * kWarpLanes >= launch.threads || record.warp >= kWarpLanes))
    return false;
  if (record.kind == RecordKind::kAccess) return valid_access(record);
  if (record.length * kRecordUnit != sizeof(RecordHeader)) return false;
  switch (record.kind) {
    case RecordKind::kBlockBarrier:
      return record.active != 0 && record.address < kBarriersOfABlock;
    case RecordKind::kDeviceMalloc:
      return record.value >= 0 && record.address + static_cast<uint64_t>(record.value) >= record.address;
    case RecordKind::kNotAnalysed:
      return record.address < kInstructionCount;
    default:
      return static_cast<unsigned>(record.kind) < kRecordKindCount;
  }
}

}  // namespace

bool Validation::look_closely(const RecordHeader& record, size_t bytes) {
  if (bytes < kRecordUnit) return false;
  const size_t length = size_t{record.length} * kRecordUnit;
  if (length == 0 || length > bytes) return false;
  if (record.kind == RecordKind::kPadding) return true;
  if (length < sizeof(RecordHeader)) return false;
  if (launch_ == nullptr || record.launch != sequence_) {
    const auto found = launches_.find(record.launch);
    if (found == launches_.end()) return false;
    launch_ = found->second.get();
    sequence_ = record.launch;
    blocks_ = std::min(launch_->geometry().blocks, uint64_t{1} << kBlockBits);
    warps_ = std::min((launch_->geometry().threads + kWarpLanes - 1) / kWarpLanes, kWarpLanes);
  }
  if (!cuvein::valid(record, launch_->geometry())) {
    refused_ = describe(record);
    return false;
  }
  if (record.kind == RecordKind::kAccess && (record.flags & kRecordFlagLaneSizes) == 0) {
    const uint64_t form = form_of(record);
    known_[place_of(form)] = form;
  }
  return true;
}

}  // namespace cuvein
