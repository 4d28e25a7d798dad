// Inclusive cumulative sum of each row.
//
//   PROGRAM [rows] [--repeat N]     rows of kColumns floats
#pragma once

#include "../case.h"

constexpr int kColumns = 16384;

struct Problem {
  int rows, times;
  std::vector<float> values;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    rows = arguments.number("rows", 2048);
    arguments.done();
    values.resize(static_cast<size_t>(rows) * kColumns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 1024;
  }

  int finish(const std::vector<float>& output) const {
    std::vector<float> expected(values.size());
    for (size_t row = 0; row < values.size(); row += kColumns) {
      double sum = 0;
      for (int column = 0; column < kColumns; ++column) {
        sum += values[row + column];
        expected[row + column] = static_cast<float>(sum);
      }
    }
    return ::finish(agree("output", output, expected, 1e-4));
  }
};
