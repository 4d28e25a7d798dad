// How often each of 256 grey values occurs in an image.
//
//   PROGRAM [kilopixels] [--repeat N]     1024 pixels each, a byte a pixel
#pragma once

#include "../case.h"

constexpr int kBins = 256;

struct Problem {
  int times, blocks;
  std::vector<uchar4> pixels;

  Problem(int count, char** words) {
    Arguments arguments(count, words);
    times = repetitions(arguments);
    const int kilopixels = arguments.number("kilopixels", 1 << 16);
    arguments.done();
    pixels.resize(static_cast<size_t>(kilopixels) * 256);
    blocks = std::min(1056, std::max(1, kilopixels / 32));
    unsigned state = 1;
    for (uchar4& four : pixels) {
      // A dark background with some noise, and a bright object with much.
      state = state * 1664525 + 1013904223;
      const unsigned base = state >> 30 ? 16 : 128, noise = base / 4;
      const auto grey = [&](int shift) {
        return static_cast<unsigned char>(base + (state >> shift) % noise);
      };
      four = make_uchar4(grey(8), grey(12), grey(16), grey(20));
    }
  }

  int finish(const std::vector<unsigned>& found) const {
    std::vector<unsigned> expected(kBins);
    for (const uchar4& four : pixels) {
      ++expected[four.x], ++expected[four.y], ++expected[four.z], ++expected[four.w];
    }
    return ::finish(agree("bins", found, expected));
  }
};
