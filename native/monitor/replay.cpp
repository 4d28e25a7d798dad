#include "monitor/replay.h"

namespace cuvein {

uint32_t Replay::slot(const std::shared_ptr<Context>& context) {
  for (const auto& [known, slot] : slots_) {
    if (known == context) return slot;
  }
  const uint32_t slot = context->slots().open_replay();
  if (slot != LaunchSlots::kNone) slots_.emplace_back(context, slot);
  return slot;
}

const void* Replay::userdata(CUcontext handle) const {
  for (const auto& [context, slot] : slots_) {
    if (context->handle() == handle) return context->userdata(slot);
  }
  return nullptr;
}

void Replay::seal() {
  for (const auto& [context, slot] : slots_) context->slots().seal(slot);
  slots_.clear();
}

Replay& replay_in_progress() {
  thread_local Replay replay;
  return replay;
}

}  // namespace cuvein
