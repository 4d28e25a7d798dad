// What the programs of all cases share: how often the kernel runs.
#pragma once

#include "common.h"

// `--repeat N` runs the kernel N times, for timing.
inline int repetitions(Arguments& arguments) { return arguments.option("repeat", 1); }

template <class Launch>
void repeat(int times, Launch launch) {
  for (int i = 0; i < times; ++i) launch();
  CHECK_KERNEL();
}
