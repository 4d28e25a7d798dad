// Temperature of a chip: heat spreads to the four neighbours and flows off while each cell takes up power.
// Several steps in one launch; a block computes a tile and as many cells around it as there are steps.
//
//   PROGRAM [n] [--repeat N]     n x n cells
#pragma once

#include <algorithm>

#include "../case.h"

constexpr int kTile = 32;
constexpr int kSteps = 4;
constexpr int kInside = kTile - 2 * kSteps;
constexpr float kSpread = 0.2f, kFlow = 0.05f, kAround = 80.0f;

struct Problem {
  int n, times;
  std::vector<float> temperature, power;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    n = arguments.number("n", 2048);
    arguments.done();
    const size_t size = static_cast<size_t>(n) * n;
    temperature.resize(size);
    power.resize(size);
    for (size_t i = 0; i < size; ++i) {
      temperature[i] = 80 + static_cast<float>(i * 7919 % 1009) / 100;
      power[i] = static_cast<float>(i * 104729 % 997) / 500;
    }
  }

  dim3 grid() const { return dim3((n + kInside - 1) / kInside, (n + kInside - 1) / kInside); }

  int finish(const std::vector<float>& output) const {
    std::vector<float> now = temperature, next(now.size());
    for (int step = 0; step < kSteps; ++step) {
      for (int y = 0; y < n; ++y) {
        for (int x = 0; x < n; ++x) {
          const auto at = [&](int row, int column) {
            return now[static_cast<size_t>(std::clamp(row, 0, n - 1)) * n + std::clamp(column, 0, n - 1)];
          };
          const float here = at(y, x);
          const float around = at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1);
          next[static_cast<size_t>(y) * n + x] = here + kSpread * (around - 4 * here) +
                                                 kFlow * (kAround - here) +
                                                 power[static_cast<size_t>(y) * n + x];
        }
      }
      now.swap(next);
    }
    return ::finish(agree("temperature", output, now, 1e-5));
  }
};
