// A fully connected layer applied to one input, as when a network answers a single request: the sums of
// weighted inputs. Blocks divide the inputs, too, and leave partial sums.
//
//   PROGRAM [inputs [outputs]] [--repeat N]     weights[input][output]
#pragma once

#include "../case.h"

constexpr int kThreads = 256;  // outputs a block
constexpr int kInputs = 256;   // inputs a block

struct Problem {
  int inputs, outputs, times;
  std::vector<float> weights, values;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    inputs = arguments.number("inputs", 16384, kInputs);
    outputs = arguments.number("outputs", 4096, kThreads);
    arguments.done();
    weights.resize(static_cast<size_t>(inputs) * outputs);
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(i * 7919 % 1009) / 1009 - 0.5f;
    values.resize(inputs);
    for (int i = 0; i < inputs; ++i) values[i] = static_cast<float>(i % 13) / 13;
  }

  int parts() const { return inputs / kInputs; }
  dim3 grid() const { return dim3(outputs / kThreads, parts()); }

  int finish(const std::vector<float>& partial) const {
    std::vector<float> expected(partial.size());
    for (int part = 0; part < parts(); ++part) {
      float* sums = &expected[static_cast<size_t>(part) * outputs];
      for (int input = part * kInputs; input < (part + 1) * kInputs; ++input) {
        const float* row = &weights[static_cast<size_t>(input) * outputs];
        for (int output = 0; output < outputs; ++output) sums[output] += values[input] * row[output];
      }
    }
    return ::finish(agree("partial sums", partial, expected, 1e-4));
  }
};
