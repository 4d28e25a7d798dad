// A replay of a CUDA graph, while the calling thread launches it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "monitor/context.h"

namespace cuvein {

// The slots of a replay: one in each context that it has kernels in.
class Replay {
 public:
  // The slot in the context; opened at the first call. LaunchSlots::kNone when there is none left.
  uint32_t slot(const std::shared_ptr<Context>& context);

  // The GPU engine for a kernel of the replay in a context with a slot, claimed for it; all of them get the
  // same. Null, with the reason, when there is none.
  std::shared_ptr<GpuEngine> engine(const std::shared_ptr<Context>& context, CUstream stream,
                                    Sanitizer_StreamHandle handle, std::string* reason);

  // What the patches in the replay's kernels in this context are told; null while no slot is open there.
  const void* userdata(CUcontext context) const;

  void seal();  // no more kernels

 private:
  struct Part {
    std::shared_ptr<Context> context;
    uint32_t slot;
    const void* userdata;
    std::shared_ptr<GpuEngine> engine;
    std::string no_engine;  // why
  };
  std::vector<Part> parts_;
};

Replay& replay_in_progress();

}  // namespace cuvein
