// Whether records are what record.h says, so that nothing behind this point has to doubt them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "analyzer/launch.h"
#include "model/record.h"

namespace cuvein {

// The open launches, by sequence number.
using LaunchesBySequence = std::unordered_map<uint32_t, std::unique_ptr<Launch>>;

// Looks at record after record. Most are accesses like one before but for who, where and which lanes.
class Validation {
 public:
  explicit Validation(const LaunchesBySequence& launches) : launches_(launches) {}

  // Whether a record that is what record.h says, and fits its launch, begins here; so many bytes are
  // readable.
  bool valid(const RecordHeader& record, size_t bytes) {
    if (bytes >= sizeof(RecordHeader) && launch_ != nullptr && record.launch == sequence_) {
      const uint64_t form = form_of(record);
      if (known_[place_of(form)] == form && record.active != 0 && record.block < blocks_ &&
          record.warp < warps_ && record.length * kRecordUnit <= bytes)
        return true;
    }
    return look_closely(record, bytes);
  }
  // Of the last valid record that is no padding.
  Launch* launch() const { return launch_; }
  // What the last record says of itself, when it is invalid and has all of its header; otherwise empty.
  const std::string& refused() const { return refused_; }

 private:
  static constexpr unsigned kKnownBits = 4;

  // Length, kind, form, flags, space, type and size.
  static uint64_t form_of(const RecordHeader& record) {
    static_assert(offsetof(RecordHeader, warp) == 7);
    uint64_t head;
    std::memcpy(&head, &record, sizeof(head));
    return head & ~uint64_t{0} >> 8;
  }
  static unsigned place_of(uint64_t form) { return form * 0x9e3779b97f4a7c15u >> (64 - kKnownBits); }
  bool look_closely(const RecordHeader& record, size_t bytes);

  const LaunchesBySequence& launches_;
  Launch* launch_ = nullptr;
  uint32_t sequence_ = 0, warps_ = 0;
  uint64_t blocks_ = 0;
  uint64_t known_[1u << kKnownBits] = {};  // forms of valid accesses; no access has the form 0
  std::string refused_;
};

}  // namespace cuvein
