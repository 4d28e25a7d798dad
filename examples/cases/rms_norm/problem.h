// Root-mean-square normalisation of each row, as in front of every layer of a language model.
//
//   PROGRAM [rows] [--repeat N]     rows of kColumns floats
#pragma once

#include "../case.h"

constexpr int kColumns = 8192;
constexpr float kEpsilon = 1e-6f;

struct Problem {
  int rows, times;
  std::vector<float> values, weights;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    rows = arguments.number("rows", 4096);
    arguments.done();
    values.resize(static_cast<size_t>(rows) * kColumns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 100 - 5;
    weights.resize(kColumns);
    for (int i = 0; i < kColumns; ++i) weights[i] = static_cast<float>(i % 7) / 4;
  }

  int finish(const std::vector<float>& output) const {
    std::vector<float> expected(values.size());
    for (size_t row = 0; row < values.size(); row += kColumns) {
      double squares = 0;
      for (int column = 0; column < kColumns; ++column) {
        squares += static_cast<double>(values[row + column]) * values[row + column];
      }
      const double scale = 1 / std::sqrt(squares / kColumns + kEpsilon);
      for (int column = 0; column < kColumns; ++column) {
        expected[row + column] = static_cast<float>(values[row + column] * scale * weights[column]);
      }
    }
    return ::finish(agree("output", output, expected, 1e-4));
  }
};
