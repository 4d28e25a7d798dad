// A part of a batch on its way through the three steps: its records and who goes on with which.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/access.h"
#include "analyzer/launch.h"
#include "analyzer/places.h"

namespace cuvein {

// The open launches, by sequence number.
using OpenLaunches = std::vector<std::pair<uint32_t, Launch*>>;

inline Launch& find(const OpenLaunches& launches, uint32_t sequence) {
  return *std::find_if(launches.begin(), launches.end(), [&](const auto& open) {
            return open.first == sequence;
          })->second;
}

// A worker's list; its neighbours are other workers'.
struct alignas(kApart) Shares {
  std::vector<Share> list;
};

class alignas(kApart) Slice {
 public:
  explicit Slice(unsigned workers) : by_block(workers), by_address(workers) {}

  // Both must live, and stay, until the slice is worked off.
  void start(const unsigned char* records, const OpenLaunches& launches) {
    records_ = records;
    launches_ = &launches;
    stamps.clear();
    for (Shares& shares : by_block) shares.list.clear();
    for (Places& list : by_address) list.clear();
    only_ = nullptr;
    several_ = false;
  }

  const unsigned char* records() const { return records_; }
  const OpenLaunches& launches() const { return *launches_; }
  const RecordHeader& record(const Share& share) const {
    return *reinterpret_cast<const RecordHeader*>(records_ + size_t{share.record} * kRecordUnit);
  }
  // Starts to load a record that will be asked for.
  __attribute__((always_inline)) void load(const Share& share) const {
    const char* const record = reinterpret_cast<const char*>(&this->record(share));
    __builtin_prefetch(record);
    __builtin_prefetch(record + sizeof(RecordHeader) - 1);
  }

  // The launch of all accesses to global memory so far; null when there are several, or none.
  Launch* launch() const { return several_ ? nullptr : only_; }
  void note(Launch* launch) {
    several_ |= only_ != nullptr && only_ != launch;
    only_ = launch;
  }
  Launch& launch_of(const Share& share) const {
    return launch() != nullptr ? *only_ : find(*launches_, record(share).launch);
  }

  // The access again, with what decoding has found out and its stamp.
  Access access(const Share& share, Launch& launch) const {
    Access access = access_of(record(share), launch);
    access.node = share.node();
    access.layout = share.layout();
    access.split = share.split();
    if (share.stamp != 0) access.stamp = stamps[share.stamp - 1];
    return access;
  }

  std::vector<Stamp> stamps;  // of accesses to global memory, once their launch synchronises
  std::vector<Shares> by_block;
  std::vector<Places> by_address;

 private:
  const unsigned char* records_ = nullptr;
  const OpenLaunches* launches_ = nullptr;
  Launch* only_ = nullptr;
  bool several_ = false;
};

}  // namespace cuvein
