// LU factors of many small matrices, as a block-Jacobi preconditioner needs them.
//
//   PROGRAM [matrices] [--repeat N]     matrices of kSize x kSize floats
#pragma once

#include "../case.h"

constexpr int kSize = 32;

struct Problem {
  int matrices;
  int times;
  std::vector<float> values;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    matrices = arguments.number("matrices", 4096);
    arguments.done();
    values.resize(static_cast<size_t>(matrices) * kSize * kSize);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t row = i / kSize % kSize, column = i % kSize;
      // A dominant diagonal, so that no row needs to change its place.
      values[i] = static_cast<float>(i * 7919 % 1009) / 1009 + (row == column ? kSize : 0);
    }
  }

  int finish(const std::vector<float>& found) const {
    std::vector<float> expected(values);
    for (size_t start = 0; start < values.size(); start += kSize * kSize) {
      float* matrix = &expected[start];
      for (int k = 0; k < kSize; ++k) {
        for (int row = k + 1; row < kSize; ++row) {
          matrix[row * kSize + k] /= matrix[k * kSize + k];
          for (int column = k + 1; column < kSize; ++column) {
            matrix[row * kSize + column] -= matrix[row * kSize + k] * matrix[k * kSize + column];
          }
        }
      }
    }
    return ::finish(agree("factors", found, expected, 1e-4));
  }
};
