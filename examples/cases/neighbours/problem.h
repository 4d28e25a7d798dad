// The distances to the nearest points of a cloud, for many queries.
//
//   PROGRAM [queries [points]] [--repeat N]
#pragma once

#include <algorithm>

#include "../case.h"

constexpr int kNearest = 8;

struct Problem {
  int queries_count, points_count;
  int times;
  std::vector<float4> queries, points;

  Problem(int words, char** word) {
    Arguments arguments(words, word);
    times = repetitions(arguments);
    queries_count = arguments.number("queries", 1 << 16, 128);
    points_count = arguments.number("points", 1024);
    arguments.done();
    unsigned state = 1;
    const auto random = [&state] {
      return static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / (1 << 24);
    };
    const auto place = [&random] {
      const float x = random(), y = random();
      return make_float4(x, y, random(), 0);
    };
    for (int i = 0; i < queries_count; ++i) queries.push_back(place());
    for (int i = 0; i < points_count; ++i) points.push_back(place());
  }

  size_t results() const { return static_cast<size_t>(queries_count) * kNearest; }

  int finish(const std::vector<float>& found) const {
    // Every 17th query: the CPU is slow at this.
    std::vector<float> some, expected, all(points.size());
    for (int query = 0; query < queries_count; query += 17) {
      for (size_t i = 0; i < points.size(); ++i) {
        const float dx = queries[query].x - points[i].x, dy = queries[query].y - points[i].y,
                    dz = queries[query].z - points[i].z;
        all[i] = dx * dx + dy * dy + dz * dz;
      }
      const size_t known = std::min<size_t>(kNearest, all.size());
      std::partial_sort(all.begin(), all.begin() + known, all.end());
      for (size_t k = 0; k < known; ++k) {
        some.push_back(found[k * queries_count + query]);
        expected.push_back(all[k]);
      }
    }
    return ::finish(agree("distances", some, expected, 1e-5));
  }
};
