// The electrostatic potential of point charges on a slice of a regular grid, by direct summation.
//
//   PROGRAM [side [atoms]] [--repeat N]     side x side points
#pragma once

#include "../case.h"

constexpr float kSpacing = 0.5F;
constexpr int kMostAtoms = 2048;

struct Problem {
  int side, count;
  int times;
  std::vector<float4> atoms;  // x, y, z, charge

  Problem(int words, char** word) {
    Arguments arguments(words, word);
    times = repetitions(arguments);
    side = arguments.number("side", 512, 16);
    count = std::min(kMostAtoms, arguments.number("atoms", 1024));
    arguments.done();
    unsigned state = 1;
    const auto random = [&state] {
      return static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / (1 << 24);
    };
    for (int i = 0; i < count; ++i) {
      const float x = random(), y = random(), z = random();
      const float extent = kSpacing * static_cast<float>(side);
      atoms.push_back(make_float4(x * extent, y * extent, 1 + z * extent, i % 2 ? 1.0F : 2.0F));
    }
  }

  size_t points() const { return static_cast<size_t>(side) * side; }

  int finish(const std::vector<float>& found) const {
    // Every 61st point: the sum over all of them takes the CPU too long.
    std::vector<float> some, expected;
    for (size_t point = 0; point < points(); point += 61) {
      const double x = kSpacing * static_cast<double>(point % side),
                   y = kSpacing * static_cast<double>(point / side);
      double sum = 0;
      for (const float4& atom : atoms) {
        const double dx = x - atom.x, dy = y - atom.y;
        sum += atom.w / std::sqrt(dx * dx + dy * dy + static_cast<double>(atom.z) * atom.z);
      }
      some.push_back(found[point]);
      expected.push_back(static_cast<float>(sum));
    }
    return ::finish(agree("potential", some, expected, 1e-4));
  }
};
