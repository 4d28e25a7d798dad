#include "monitor/replay.h"

namespace cuvein {

uint32_t Replay::slot(const std::shared_ptr<Context>& context) {
  for (const Part& part : parts_) {
    if (part.context == context) return part.slot;
  }
  const uint32_t slot = context->slots().open_replay();
  if (slot != LaunchSlots::kNone) parts_.push_back({context, slot, context->userdata(slot), nullptr, ""});
  return slot;
}

std::shared_ptr<GpuEngine> Replay::engine(const std::shared_ptr<Context>& context, CUstream stream,
                                          Sanitizer_StreamHandle handle, std::string* reason) {
  for (Part& part : parts_) {
    if (part.context != context) continue;
    if (part.engine) {
      part.engine->claim(stream);
    } else if (part.no_engine.empty()) {
      part.engine = context->gpu()->claim(stream);
      part.no_engine = part.engine->prepare(handle);
      if (part.no_engine.empty()) {
        part.userdata = part.engine->userdata(part.slot, true);
      } else {
        part.engine->unclaim(stream);
        part.engine = nullptr;
      }
    }
    *reason = part.no_engine;
    return part.engine;
  }
  return nullptr;
}

const void* Replay::userdata(CUcontext handle) const {
  for (const Part& part : parts_) {
    if (part.context->handle() == handle) return part.userdata;
  }
  return nullptr;
}

void Replay::seal() {
  for (const Part& part : parts_) part.context->slots().seal(part.slot);
  parts_.clear();
}

Replay& replay_in_progress() {
  thread_local Replay replay;
  return replay;
}

}  // namespace cuvein
