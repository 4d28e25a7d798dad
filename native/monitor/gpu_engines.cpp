#include "monitor/gpu_engines.h"

namespace cuvein {
namespace {

constexpr size_t kMostEngines = 8;

}  // namespace

GpuEngines::GpuEngines(CUcontext context, const Channel& channel, uint64_t base,
                       std::shared_ptr<Budget> budget, bool barrier_order)
    : context_(context), channel_(channel), budget_(std::move(budget)), barrier_order_(barrier_order) {
  engines_.push_back(std::make_shared<GpuEngine>(context, channel, base, budget_, barrier_order_));
}

std::shared_ptr<GpuEngine> GpuEngines::claim(CUstream stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<GpuEngine> chosen;
  for (const auto& engine : engines_)
    if (engine->serves_only(stream)) chosen = engine;
  for (size_t i = 0; i < engines_.size() && !chosen; ++i)
    if (engines_[i]->idle()) chosen = engines_[i];
  if (!chosen && engines_.size() < kMostEngines) {
    chosen = std::make_shared<GpuEngine>(context_, channel_, 0, budget_, barrier_order_);
    engines_.push_back(chosen);
  }
  if (!chosen) chosen = engines_[next_++ % engines_.size()];
  chosen->claim(stream);
  return chosen;
}

}  // namespace cuvein
