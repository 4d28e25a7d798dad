// The GPU engines of a context: launches of several streams run at the same time, and an engine has one at a
// time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "monitor/gpu_engine.h"

namespace cuvein {

class GpuEngines {
 public:
  // `channel` is the context's, which lies on the device at `base` with room for an engine behind it.
  // `barrier_order`: what block barriers order is followed.
  GpuEngines(CUcontext context, const Channel& channel, uint64_t base, std::shared_ptr<Budget> budget,
             bool barrier_order);

  // The engine for the next launch of the stream, claimed for it: one that serves that stream alone, or
  // nobody, or a new one, as far as there are any.
  std::shared_ptr<GpuEngine> claim(CUstream stream);

 private:
  const CUcontext context_;
  const Channel channel_;
  const std::shared_ptr<Budget> budget_;
  const bool barrier_order_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<GpuEngine>> engines_;
  size_t next_ = 0;  // when all are busy
};

}  // namespace cuvein
