// What the engine derives from a launch's shape.
#pragma once

#include <cstdint>

#include "analyzer/engine.h"

namespace cuvein {

struct LaunchGeometry {
  explicit LaunchGeometry(const LaunchShape& shape)
      : blocks(uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2]),
        threads(shape.block[0] * shape.block[1] * shape.block[2]),
        clusters(uint64_t{shape.cluster[0]} * shape.cluster[1] * shape.cluster[2] > 1) {
    for (unsigned axis = 0; axis < 3; ++axis) {
      grid[axis] = shape.grid[axis];
      cluster[axis] = shape.cluster[axis];
    }
  }

  // Flat id of the cluster a block belongs to.
  uint64_t cluster_of(uint64_t block) const {
    uint64_t result = 0, scale = 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const uint64_t extent = grid[axis];
      result += block % extent / cluster[axis] * scale;
      block /= extent;
      scale *= (extent + cluster[axis] - 1) / cluster[axis];
    }
    return result;
  }

  uint64_t blocks;
  uint32_t threads;  // of a block
  bool clusters;
  uint32_t grid[3], cluster[3];
};

}  // namespace cuvein
