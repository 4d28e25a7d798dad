// How addresses and blocks are divided among the workers.
//
// Workers take turns: of each row of as many granules of the address space (or blocks) as there are workers,
// each has one, in another order in every row, so that neighbours are spread evenly and no stride favours a
// worker. An address's local address is where it would be if the granules of the others between a worker's
// own were left out; shadow memory is laid out by it, so that it takes the same room for any number of
// workers.
#pragma once

#include <cstdint>

#include "analyzer/hash.h"

namespace cuvein {

class AddressShare {
 public:
  // Small, for a few hot counters are to be shared out, too.
  static constexpr unsigned kGranuleBits = 11;
  static constexpr uint64_t kGranule = uint64_t{1} << kGranuleBits;

  // Of everything, by one worker.
  constexpr AddressShare() : AddressShare(0, 1) {}
  constexpr AddressShare(unsigned worker, unsigned workers)
      : worker_(worker), workers_(workers), reciprocal_(workers == 1 ? 0 : ~uint64_t{0} / workers + 1) {}

  unsigned owner(uint64_t address) const { return turn(address >> kGranuleBits); }
  bool holds(uint64_t address) const { return owner(address) == worker_; }
  unsigned owner_of_block(uint64_t block) const { return turn(block); }

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
  unsigned turn(uint64_t number) const {
    const uint64_t row = this->row(number);
    const uint64_t place = number - row * workers_ + share(row, workers_);
    return static_cast<unsigned>(place >= workers_ ? place - workers_ : place);
  }
  uint64_t row(uint64_t number) const {
    if (workers_ == 1) return number;
    __extension__ using Wide = unsigned __int128;
    const uint64_t quotient = static_cast<uint64_t>(Wide{number} * reciprocal_ >> 64);
    return quotient * workers_ > number ? quotient - 1 : quotient;
  }

  unsigned worker_, workers_;
  uint64_t reciprocal_;  // 2^64 / workers, rounded up, so that a quotient is at most one too large
};

}  // namespace cuvein
