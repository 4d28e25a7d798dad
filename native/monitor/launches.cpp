// What the monitor does when a kernel is launched.
#include <chrono>

#include "monitor/driver_calls.h"
#include "monitor/monitor.h"
#include "monitor/program.h"
#include "monitor/replay.h"
#include "monitor/sanitizer.h"
#include "patches/channel.h"

namespace cuvein {
namespace {

void set(uint32_t (&target)[3], uint32_t x, uint32_t y, uint32_t z) {
  target[0] = x == 0 ? 1 : x;
  target[1] = y == 0 ? 1 : y;
  target[2] = z == 0 ? 1 : z;
}

constexpr std::chrono::milliseconds kPatience{50};

uint64_t product(const uint32_t (&size)[3]) { return static_cast<uint64_t>(size[0]) * size[1] * size[2]; }

// A warp takes longer to analyse an access on the GPU than to send it away, and to take the engine and to
// give it back takes longer than all that a small launch does. Many warps do so side by side, which the host
// engine does not.
constexpr uint64_t kFewWarps = 4;
bool is_small(const Launch& launch) {
  return product(launch.grid) * ((product(launch.block) + 31) / 32) <= kFewWarps;
}

}  // namespace

// Decides about a launch and tells the patches, which read what they are told also in a launch that is not
// observed.
void Monitor::on_launch(const Sanitizer_LaunchData& data, const Sanitizer_GraphNodeLaunchData* node) {
  if (data.functionName == nullptr) return;
  if (!armed_for_launches_.exchange(true)) arm();
  // A launch that is captured is reported when its graph runs; an upload of the graph runs nothing.
  const bool executes = node == nullptr || !node->isGraphUpload;
  const std::shared_ptr<Kernel> kernel = modules_.kernel(data.functionName);
  const std::shared_ptr<Module> module = modules_.find(data.module);
  uint32_t sequence = 0;
  bool selected = false;
  if (executes) {
    sequence = ++sequence_;
    ++kernel->launches;
    selected = !finished_ && kernel->matches && selection_.take();
    if (selected) ++kernel->selected;
  }
  if (!module) {
    if (selected) problem("kernel " + kernel->name + " comes from a module that was not seen being loaded");
    return;
  }
  std::string error;
  if (!executes) {
    // Decided about when it runs.
  } else if (selected) {
    modules_.patch(module.get(), &error);
  } else if (modules_.is_patched(module.get())) {
    await_observed(data.context, module.get());
    modules_.unpatch(module.get(), &error);
  }
  problem(error);
  if (!modules_.is_patched(module.get())) return;

  const void* userdata = nullptr;
  if (selected && !config_.empty_patches) userdata = observe(data, node, sequence);
  if (node != nullptr && executes) userdata = replay_in_progress().userdata(data.context);
  const SanitizerResult result =
      sanitizer().SetLaunchCallbackData(data.hLaunch, data.function, data.hStream, userdata);
  if (result != SANITIZER_SUCCESS && executes) {
    problem("a launch of kernel " + kernel->name + " could not be observed: " + sanitizer().text(result));
  }
}

// A module is not touched while its code runs observed, and a kernel in it that is not to be observed then
// pays for the patches all the same, which costs it more than to wait a little. Only a little, since what
// runs may itself wait for the program.
void Monitor::await_observed(CUcontext handle, Module* module) {
  const std::shared_ptr<Context> context = contexts_.find(handle);
  if (module->open == 0) {
    module->impatient = false;
  } else if (context && !module->impatient) {
    module->impatient = !context->drain().wait_for(kPatience, [module] { return module->open == 0; });
  }
}

// Opens a launch and returns what the patches are told of it; null when it cannot be observed.
const void* Monitor::observe(const Sanitizer_LaunchData& data, const Sanitizer_GraphNodeLaunchData* node,
                             uint32_t sequence) {
  const std::shared_ptr<Context> context = contexts_.find(data.context);
  if (!context) return nullptr;
  const std::shared_ptr<Module> module = modules_.find(data.module);
  std::string error;
  if (!context->prepare(&error)) {
    problem(error);
    return nullptr;
  }
  auto launch = std::make_unique<Launch>();
  launch->entry = modules_.entry(module.get(), modules_.kernel(data.functionName), &error);
  problem(error);
  if (!launch->entry) return nullptr;
  launch->sequence = sequence;
  launch->module = module;
  set(launch->grid, data.gridDim_x, data.gridDim_y, data.gridDim_z);
  set(launch->block, data.blockDim_x, data.blockDim_y, data.blockDim_z);
  set(launch->cluster, data.clusterDim_x, data.clusterDim_y, data.clusterDim_z);
  launch->threads = product(launch->grid) * product(launch->block);
  launch->context = context->id();
  launch->stream_handle = node != nullptr ? data.apiStream : data.stream;
  launch->stream = context->stream(launch->stream_handle);
  launch->allocations = allocations_.list();
  launch->site = site();
  if (config_.call_sites) launch->question = ask_program();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (node != nullptr) {
      launch->graph = {graphs_[node->graphExec], node->launchId, static_cast<int64_t>(data.gridId)};
      launch->dynamic_shared = dynamic_shared_[data.function];
    } else {
      launch->dynamic_shared = dynamic_shared_[data.function] = launch_in_progress().dynamic_shared;
    }
  }
  launch->grid_id = static_cast<uint32_t>(data.gridId);
  ++module->open;
  LaunchSlots& slots = context->slots();
  Launch* const opened = launch.get();  // owned by the slots until it has run
  uint32_t slot;
  if (node != nullptr) {
    slot = replay_in_progress().slot(context);
    if (slot != LaunchSlots::kNone) slots.add(slot, std::move(launch));
  } else {
    slot = slots.open(std::move(launch));
  }
  if (slot == LaunchSlots::kNone) {
    --module->open;
    problem("too many launches were under way at a time; some were not observed");
    return nullptr;
  }
  context->drain().wake();
  const void* userdata = context->userdata(slot);
  // What the patches of a graph's kernels are told is the same for all of them.
  const bool by_size = config_.small_on_host && node == nullptr && is_small(*opened);
  if (context->gpu() != nullptr && !by_size) {
    std::shared_ptr<GpuEngine> engine;
    Sanitizer_StreamHandle stream = data.hStream;
    if (node == nullptr) {
      engine = context->gpu()->claim(opened->stream_handle);
    } else if (sanitizer().GetStreamHandle(data.context, opened->stream_handle, &stream) ==
               SANITIZER_SUCCESS) {
      engine = replay_in_progress().engine(context, opened->stream_handle, stream, &opened->host_reason);
    } else {
      opened->host_reason = "its graph's stream is not known";
    }
    if (engine) opened->host_reason = engine->admit(opened, slot, stream);
    if (engine && opened->host_reason.empty()) {
      opened->gpu = engine;
      userdata = engine->userdata(slot, node != nullptr, opened->family);
    }
  }
  return userdata;
}

}  // namespace cuvein
