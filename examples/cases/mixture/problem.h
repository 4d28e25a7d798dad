// How well colours fit a mixture of Gaussians, as it is asked for every pixel when a background is
// subtracted.
//
//   PROGRAM [pixels] [--repeat N]
#pragma once

#include "../case.h"

constexpr int kComponents = 16;

struct Component {
  float weight;
  float red, green, blue;
  float red_scale, green_scale, blue_scale;
};

struct Problem {
  int pixels;
  int times;
  std::vector<float> red, green, blue;
  std::vector<Component> components;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    pixels = arguments.number("pixels", 1 << 21, 256);
    arguments.done();
    unsigned state = 1;
    const auto random = [&state] {
      return static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / (1 << 24);
    };
    for (int i = 0; i < pixels; ++i) {
      red.push_back(random());
      green.push_back(random());
      blue.push_back(random());
    }
    for (int i = 0; i < kComponents; ++i) {
      Component component{1.0F / kComponents, random(), random(), random(), 0, 0, 0};
      component.red_scale = -1 - random();
      component.green_scale = -1 - random();
      component.blue_scale = -1 - random();
      components.push_back(component);
    }
  }

  int finish(const std::vector<float>& found) const {
    std::vector<float> expected;
    for (int i = 0; i < pixels; ++i) {
      double sum = 0;
      for (const Component& each : components) {
        const float r = red[i] - each.red, g = green[i] - each.green, b = blue[i] - each.blue;
        sum += each.weight *
               std::exp2(r * r * each.red_scale + g * g * each.green_scale + b * b * each.blue_scale);
      }
      expected.push_back(static_cast<float>(sum));
    }
    return ::finish(agree("likelihood", found, expected, 1e-5));
  }
};
