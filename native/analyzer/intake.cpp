#include "analyzer/intake.h"

#include <algorithm>
#include <cstring>

namespace cuvein {

namespace {

constexpr size_t kPartBytes = size_t{1} << 15;
// Of fewer bytes no parts are made: workers may have to be woken.
constexpr size_t kWorthSharing = 16 * kPartBytes;

const RecordHeader& record_at(const unsigned char* records, size_t at) {
  return *reinterpret_cast<const RecordHeader*>(records + at);
}

bool orders(const RecordHeader& record) {
  return record.kind == RecordKind::kBlockBarrier || record.kind == RecordKind::kWarpSync;
}

}  // namespace

bool Intake::take(const unsigned char* records, size_t bytes, unsigned char* to, Workers& team) {
  refused_.clear();
  stretches_.clear();
  synchronising_.clear();
  parts_.clear();
  records_ = records;
  bytes_ = bytes;
  to_ = to;
  if (to != nullptr && bytes >= kWorthSharing && team.idle() > 1) {
    take_together(team);
  } else {
    parts_.push_back({0, bytes, false, false});
    parts_.front().valid = take_range(0, bytes, &stretches_, &parts_.front().synchronises);
  }
  for (const Part& part : parts_) {
    if (!part.valid) {
      describe_first_invalid(part.from);
      return false;
    }
    if (part.synchronises) note_synchronising(part.from, part.to);
  }
  return true;
}

void Intake::take_together(Workers& team) {
  first_part_ = offered_;
  parts_.reserve(bytes_ / kPartBytes + 1);  // they must stay where they are
  size_t at = 0;
  for (size_t from = 0; at < bytes_;) {
    Stretch stretch{at, 0};
    while (stretch.records < kRecordsOfAStretch && at < bytes_) {
      __builtin_prefetch(records_ + at + 8192);
      const size_t length = size_t{record_at(records_, at).length} * kRecordUnit;
      ++stretch.records;
      at = length == 0 || length > bytes_ - at ? bytes_ : at + length;  // invalid, as will be found
    }
    stretches_.push_back(stretch);
    if (at - from < kPartBytes && at < bytes_) continue;
    parts_.push_back({from, at, false, false});
    from = at;
    ++offered_;
    team.offer();
  }
  team.join_in();
}

void Intake::take_part(uint64_t number) noexcept {
  Part& part = parts_[number - first_part_];
  part.valid = take_range(part.from, part.to, nullptr, &part.synchronises);
}

bool Intake::take_range(size_t from, size_t to, std::vector<Stretch>* stretches, bool* synchronises) const {
  Validation validation(launches_);
  for (size_t at = from; at < to;) {
    Stretch stretch{at, 0};
    for (; stretch.records < kRecordsOfAStretch && at < to; ++stretch.records) {
      const RecordHeader& record = record_at(records_, at);
      // Both come from afar: one from memory, the other from the caches of the workers.
      __builtin_prefetch(records_ + at + 8192);
      if (to_ != nullptr) __builtin_prefetch(to_ + at + 4096, 1);
      if (!validation.valid(record, bytes_ - at)) return false;
      if (orders(record) && !validation.launch()->synchronises.load(std::memory_order_relaxed))
        *synchronises = true;
      at += record.length * kRecordUnit;
    }
    if (stretches != nullptr) stretches->push_back(stretch);
    if (to_ != nullptr) std::memcpy(to_ + stretch.offset, records_ + stretch.offset, at - stretch.offset);
  }
  return true;
}

void Intake::note_synchronising(size_t from, size_t to) {
  for (size_t at = from; at < to; at += record_at(records_, at).length * kRecordUnit) {
    const RecordHeader& record = record_at(records_, at);
    if (!orders(record)) continue;
    Launch* const launch = launches_.find(record.launch)->second.get();
    if (launch->synchronises.load(std::memory_order_relaxed)) continue;
    if (std::find(synchronising_.begin(), synchronising_.end(), launch) == synchronising_.end())
      synchronising_.push_back(launch);
  }
}

void Intake::describe_first_invalid(size_t from) {
  Validation validation(launches_);
  for (size_t at = from; validation.valid(record_at(records_, at), bytes_ - at);)
    at += record_at(records_, at).length * kRecordUnit;
  refused_ = validation.refused();
}

}  // namespace cuvein
