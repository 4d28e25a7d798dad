// Calls of the CUDA driver API that say what the other events do not.
#pragma once

#include <cstdint>

namespace cuvein {

// The call that the calling thread is in, as far as it launches a kernel.
struct LaunchCall {
  uint64_t dynamic_shared = 0;
};
LaunchCall& launch_in_progress();

}  // namespace cuvein
