// Decoding a column of a table: each code is replaced by its entry in a dictionary.
//
//   PROGRAM [rows [entries]] [--repeat N]     entries of 64 bytes
#pragma once

#include "../case.h"

constexpr int kParts = 4;  // of 16 bytes, an entry

struct Problem {
  int rows, entries;
  int times;
  std::vector<int> codes;
  std::vector<int4> dictionary;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    rows = arguments.number("rows", 1 << 23, 64);
    entries = arguments.number("entries", 3 << 17);
    arguments.done();
    unsigned state = 1;
    for (int row = 0; row < rows; ++row) {
      state = state * 1664525 + 1013904223;
      codes.push_back(static_cast<int>((static_cast<unsigned long long>(state) * entries) >> 32));
    }
    for (int i = 0; i < entries * kParts; ++i) dictionary.push_back(make_int4(i, i ^ 1, i ^ 2, i ^ 3));
  }

  size_t results() const { return static_cast<size_t>(rows) * kParts; }

  int finish(const std::vector<int4>& found) const {
    std::vector<int> first, expected;
    for (size_t i = 0; i < found.size(); ++i) {
      const int4& entry = dictionary[static_cast<size_t>(codes[i / kParts]) * kParts + i % kParts];
      const bool same = std::memcmp(&found[i], &entry, sizeof(entry)) == 0;
      first.push_back(same ? entry.x : ~entry.x);
      expected.push_back(entry.x);
    }
    return ::finish(agree("entries", first, expected));
  }
};
