// How the address space is divided among the workers.
//
// In granules, of which each worker has one of every row: `workers` granules that lie side by side. Which one
// differs from row to row, so that no stride favours a worker. Where a worker's granules would lie without
// those of the others between them is an address's local address; shadow memory is laid out by it, so that it
// takes the same room for any number of workers.
#pragma once

#include <cstdint>

#include "analyzer/hash.h"

namespace cuvein {

class AddressShare {
 public:
  static constexpr unsigned kGranuleBits = 13;
  static constexpr uint64_t kGranule = uint64_t{1} << kGranuleBits;

  // Of everything, by one worker.
  constexpr AddressShare() : AddressShare(0, 1) {}
  constexpr AddressShare(unsigned worker, unsigned workers)
      : worker_(worker), workers_(workers), reciprocal_(workers == 1 ? 0 : ~uint64_t{0} / workers + 1) {}

  unsigned owner(uint64_t address) const {
    const uint64_t granule = address >> kGranuleBits, row = this->row(granule);
    const uint64_t place = granule - row * workers_ + share(row, workers_);
    return static_cast<unsigned>(place >= workers_ ? place - workers_ : place);
  }
  bool holds(uint64_t address) const { return owner(address) == worker_; }

  uint64_t local(uint64_t address) const {
    if (workers_ == 1) return address;
    return row(address >> kGranuleBits) << kGranuleBits | (address & (kGranule - 1));
  }
  // Where the worker's granule of a row begins.
  uint64_t granule_of_row(uint64_t row) const {
    const unsigned turned = share(row, workers_);
    return (row * workers_ + (worker_ >= turned ? worker_ - turned : worker_ + workers_ - turned))
           << kGranuleBits;
  }

 private:
  // Exact, since a granule has 51 bits and there are fewer than 2^13 workers.
  uint64_t row(uint64_t granule) const {
    __extension__ using Wide = unsigned __int128;
    return workers_ == 1 ? granule : static_cast<uint64_t>(Wide{granule} * reciprocal_ >> 64);
  }

  unsigned worker_, workers_;
  uint64_t reciprocal_;  // 2^64 / workers, rounded up
};

}  // namespace cuvein
