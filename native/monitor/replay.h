// A replay of a CUDA graph, while the calling thread launches it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "monitor/context.h"

namespace cuvein {

// The slots of a replay: one in each context that it has kernels in.
class Replay {
 public:
  // The slot in the context; opened at the first call. LaunchSlots::kNone when there is none left.
  uint32_t slot(const std::shared_ptr<Context>& context);

  // What the patches in the replay's kernels in this context are told; null while no slot is open there.
  const void* userdata(CUcontext context) const;

  void seal();  // no more kernels

 private:
  std::vector<std::pair<std::shared_ptr<Context>, uint32_t>> slots_;
};

Replay& replay_in_progress();

}  // namespace cuvein
