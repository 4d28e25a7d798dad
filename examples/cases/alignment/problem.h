// Global alignment (Needleman-Wunsch) of short reads, each with its own window of a genome: all scores, as a
// traceback needs them.
//
//   PROGRAM [pairs] [--repeat N]     pairs of kLength letters
#pragma once

#include "../case.h"

constexpr int kLength = 128;
constexpr int kMatch = 2, kMismatch = -1, kGap = -2;

struct Problem {
  int pairs;
  int times;
  std::vector<char> reads, windows;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    pairs = arguments.number("pairs", 2048);
    arguments.done();
    const size_t letters = static_cast<size_t>(pairs) * kLength;
    unsigned state = 1;
    const auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 16; };
    for (size_t i = 0; i < letters; ++i) {
      windows.push_back("ACGT"[random() % 4]);
      // One letter in ten is read wrongly.
      reads.push_back(random() % 10 ? windows.back() : "ACGT"[random() % 4]);
    }
  }

  size_t scores() const { return static_cast<size_t>(pairs) * kLength * kLength; }

  int finish(const std::vector<int>& found) const {
    std::vector<int> expected(scores());
    for (int pair = 0; pair < pairs; ++pair) {
      const char* read = &reads[static_cast<size_t>(pair) * kLength];
      const char* window = &windows[static_cast<size_t>(pair) * kLength];
      int* matrix = &expected[static_cast<size_t>(pair) * kLength * kLength];
      for (int y = 0; y < kLength; ++y) {
        for (int x = 0; x < kLength; ++x) {
          const int beside = x ? matrix[y * kLength + x - 1] : kGap * (y + 1);
          const int above = y ? matrix[(y - 1) * kLength + x] : kGap * (x + 1);
          const int corner = x && y ? matrix[(y - 1) * kLength + x - 1] : kGap * (x + y);
          matrix[y * kLength + x] =
              std::max(corner + (read[y] == window[x] ? kMatch : kMismatch), std::max(above, beside) + kGap);
        }
      }
    }
    return ::finish(agree("scores", found, expected));
  }
};
