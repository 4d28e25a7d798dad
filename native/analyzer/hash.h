// Integer mixing for the engine's open-addressing tables and for dividing work among workers.
#pragma once

#include <cstdint>

namespace cuvein {

constexpr uint64_t mix(uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 32;
}

// So far apart must lie what different threads write: processors fetch cache lines by twos.
constexpr unsigned kApart = 128;

// 0..count-1, evenly for mixed values.
constexpr unsigned share(uint64_t value, unsigned count) {
  return static_cast<unsigned>((mix(value) & 0xffffffffu) * count >> 32);
}

}  // namespace cuvein
