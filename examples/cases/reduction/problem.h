// Sum and sum of squares of each row, for the mean and variance of channels.
//
//   PROGRAM [rows] [--repeat N]     rows of kColumns floats
#pragma once

#include "../case.h"

constexpr int kColumns = 1024;
constexpr int kThreads = 256;

struct Problem {
  int rows, times;
  std::vector<float> values;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    rows = arguments.number("rows", 32768);
    arguments.done();
    values.resize(static_cast<size_t>(rows) * kColumns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 1009;
  }

  int finish(const std::vector<float2>& output) const {
    std::vector<float> found, expected;
    for (int row = 0; row < rows; ++row) {
      double sum = 0, square = 0;
      for (int column = 0; column < kColumns; ++column) {
        const double value = values[static_cast<size_t>(row) * kColumns + column];
        sum += value;
        square += value * value;
      }
      found.insert(found.end(), {output[row].x, output[row].y});
      expected.insert(expected.end(), {static_cast<float>(sum), static_cast<float>(square)});
    }
    return ::finish(agree("sums", found, expected, 1e-4));
  }
};
