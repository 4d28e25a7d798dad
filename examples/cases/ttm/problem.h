// Sparse tensor times matrix: Y(i, j, r) = sum over k of X(i, j, k) * U(k, r). The nonzeros of X lie fiber
// after fiber, as (k, value).
//
//   PROGRAM [fibers] [--repeat N]     fibers of 16 to 47 nonzeros
#pragma once

#include "../case.h"

constexpr int kDepth = 128;  // of k
constexpr int kRank = 32;    // of r

struct Problem {
  int fibers;
  int times;
  std::vector<int> starts{0}, indices;
  std::vector<float> values, matrix;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    fibers = arguments.number("fibers", 131072);
    arguments.done();
    unsigned state = 1;
    const auto random = [&state] { return (state = state * 1664525 + 1013904223) >> 16; };
    for (int fiber = 0; fiber < fibers; ++fiber) {
      const int nonzeros = 16 + random() % 32;
      for (int i = 0; i < nonzeros; ++i) {
        indices.push_back(i * kDepth / nonzeros + random() % (kDepth / nonzeros));
        values.push_back(static_cast<float>(random() % 1009) / 1009);
      }
      starts.push_back(static_cast<int>(indices.size()));
    }
    for (int i = 0; i < kDepth * kRank; ++i) matrix.push_back(static_cast<float>(random() % 1009) / 1009);
  }

  size_t results() const { return static_cast<size_t>(fibers) * kRank; }

  int finish(const std::vector<float>& found) const {
    std::vector<float> expected(results());
    for (int fiber = 0; fiber < fibers; ++fiber) {
      for (int i = starts[fiber]; i < starts[fiber + 1]; ++i) {
        for (int r = 0; r < kRank; ++r) {
          expected[static_cast<size_t>(fiber) * kRank + r] += values[i] * matrix[indices[i] * kRank + r];
        }
      }
    }
    return ::finish(agree("Y", found, expected, 1e-5));
  }
};
