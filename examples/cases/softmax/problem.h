// Softmax of each row.
//
//   PROGRAM [rows] [--repeat N]     rows of kColumns floats
#pragma once

#include "../case.h"

constexpr int kColumns = 4096;

struct Problem {
  int rows;
  int times;
  std::vector<float> values;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    rows = arguments.number("rows", 8192);
    arguments.done();
    values.resize(static_cast<size_t>(rows) * kColumns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 100;
  }

  int finish(std::vector<float> output) const {
    std::vector<float> expected(values.size());
    for (size_t row = 0; row < values.size(); row += kColumns) {
      float greatest = values[row];
      for (int column = 0; column < kColumns; ++column) greatest = std::fmax(greatest, values[row + column]);
      double sum = 0;
      for (int column = 0; column < kColumns; ++column) {
        expected[row + column] = std::exp(values[row + column] - greatest);
        sum += expected[row + column];
      }
      // As multiples of what each would be if all were equal, so that differences show.
      for (int column = 0; column < kColumns; ++column) {
        expected[row + column] *= static_cast<float>(kColumns / sum);
        output[row + column] *= kColumns;
      }
    }
    return ::finish(agree("output", output, expected, 1e-4));
  }
};
