// Layer normalisation of each row: mean 0, variance 1, then the layer's own scale and shift.
//
//   PROGRAM [rows] [--repeat N]     rows of kColumns floats
#pragma once

#include "../case.h"

constexpr int kColumns = 12288;
constexpr float kEpsilon = 1e-5f;

struct Problem {
  int rows, times;
  std::vector<float> values, scale, shift;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    rows = arguments.number("rows", 4096);
    arguments.done();
    values.resize(static_cast<size_t>(rows) * kColumns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 100;
    scale.resize(kColumns);
    shift.resize(kColumns);
    for (int i = 0; i < kColumns; ++i) {
      scale[i] = static_cast<float>(i % 7) / 4;
      shift[i] = static_cast<float>(i % 11) / 8;
    }
  }

  int finish(const std::vector<float>& output) const {
    std::vector<float> expected(values.size());
    for (size_t row = 0; row < values.size(); row += kColumns) {
      double sum = 0, squares = 0;
      for (int column = 0; column < kColumns; ++column) sum += values[row + column];
      const double mean = sum / kColumns;
      for (int column = 0; column < kColumns; ++column) {
        squares += (values[row + column] - mean) * (values[row + column] - mean);
      }
      const double norm = 1 / std::sqrt(squares / kColumns + kEpsilon);
      for (int column = 0; column < kColumns; ++column) {
        expected[row + column] =
            static_cast<float>((values[row + column] - mean) * norm * scale[column] + shift[column]);
      }
    }
    return ::finish(agree("output", output, expected, 1e-4));
  }
};
