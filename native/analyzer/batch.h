// Records on their way through the engine, and what the workers need to work them off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "analyzer/access.h"
#include "analyzer/slice.h"
#include "analyzer/worker.h"

namespace cuvein {

// A batch is cut into stretches of about this many records: what one worker alone takes through all steps
// while it is in the cache, and the grain in which several share out a batch.
constexpr unsigned kRecordsOfAStretch = 256;

struct Stretch {
  size_t offset;
  unsigned records;
};

class Batch {
 public:
  // What the workers say of the batch to one another. Each writes its own.
  struct alignas(kApart) OfAWorker {
    std::deque<PartialSyncs> snapshots;
    std::vector<SplitLane> split;
  };
  struct Records {
    const unsigned char *begin, *end;
  };

  Batch(size_t capacity, unsigned workers, unsigned slice_count)
      : records(new unsigned char[capacity]), of_workers_(workers) {
    for (unsigned i = 0; i < slice_count; ++i) slices.emplace_back(workers);
  }

  void clear() {
    bytes = 0;
    stretches.clear();
  }
  void add(const Stretch& stretch) {
    if (!stretches.empty() && stretches.back().records + stretch.records <= kRecordsOfAStretch)
      stretches.back().records += stretch.records;
    else
      stretches.push_back(stretch);
  }
  // Waking a team takes longer than working off so few records.
  bool little() const {
    constexpr unsigned few = 512;
    unsigned count = 0;
    for (const Stretch& stretch : stretches) {
      count += stretch.records;
      if (count > few) return false;
    }
    return true;
  }

  Records records_of(size_t first, size_t behind_last) const {  // stretches
    if (first == behind_last) return {records.get(), records.get()};
    return {records.get() + stretches[first].offset,
            records.get() + (behind_last < stretches.size() ? stretches[behind_last].offset : bytes)};
  }
  Records records_of(unsigned slice) const {
    return records_of(stretches.size() * slice / slices.size(),
                      stretches.size() * (slice + 1) / slices.size());
  }
  OfAWorker& of(size_t worker) { return of_workers_[worker]; }

  std::unique_ptr<unsigned char[]> records;
  size_t bytes = 0;
  std::vector<Stretch> stretches;
  OpenLaunches launches;
  uint64_t round = 0;  // of all batches
  std::vector<Slice> slices;

 private:
  std::vector<OfAWorker> of_workers_;
};

// new[] aligns to 16 bytes, which is what records need.
static_assert(alignof(std::max_align_t) >= alignof(RecordHeader));

}  // namespace cuvein
