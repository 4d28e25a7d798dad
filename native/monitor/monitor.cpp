#include "monitor/monitor.h"

#include <cstdlib>
#include <exception>

#include "monitor/autograd.h"
#include "monitor/device.h"
#include "monitor/replay.h"
#include "monitor/sanitizer.h"

namespace cuvein {
namespace {

// Kernels that are still running when the program ends are waited for while records come, and so long after.
constexpr unsigned kQuiet = 300;  // milliseconds

// Of a module.
constexpr size_t kMostVariables = 1000;

}  // namespace

Monitor::Monitor(Config config)
    : config_(std::move(config)),
      selection_(config_),
      output_(config_),
      modules_(selection_, config_),
      always_(config_.launch_skip == 0 && !config_.launch_count && config_.profile_from_start &&
              config_.nvtx_include.empty()) {
  output_.kernels_of(&modules_);
  problem(selection_.problem());
}

std::shared_ptr<const CallSite> Monitor::site(Inner inner) const {
  return config_.call_sites ? call_site(inner) : nullptr;
}

int64_t Monitor::tensor_created(uint64_t address, uint64_t size) {
  if (!config_.call_sites || abandoned_) return -1;
  const std::shared_ptr<const CallSite> made_at = site(Inner::kHook);
  allocations_.create_tensor(address, size, made_at);
  return notice(made_at);
}

void Monitor::gradient_created(uint64_t address, uint64_t size, const std::string& dtype,
                               const std::vector<int64_t>& shape) {
  expect_gradient(allocations_.tensor(address, size), dtype, shape);
}

bool Monitor::tensor_named(uint64_t address, uint64_t size, const std::string& dtype,
                           const std::vector<int64_t>& shape) {
  return allocations_.name_tensor(address, size, dtype, shape);
}

void Monitor::gradient_created(uint64_t address, uint64_t size, const std::string& name) {
  expect_gradient(allocations_.tensor(address, size), name);
}

bool Monitor::allocation_named(uint64_t address, uint64_t size, const std::string& dtype,
                               const std::vector<int64_t>& shape) {
  return allocations_.name_allocation(address, size, dtype, shape);
}

void Monitor::tensor_destroyed(uint64_t address) {
  const std::shared_ptr<const CallSite> maker = abandoned_ ? nullptr : allocations_.maker_of_unnamed(address);
  allocations_.destroy_tensor(address, maker ? operator_since(*maker) : "");
}

std::string Monitor::describe(bool again) {
  thread_local std::shared_ptr<const AllocationList> last;
  const std::shared_ptr<const CallSite> here = site();  // what it takes notice of comes first
  if (!again || !last) last = allocations_.list();
  CallSiteTable sites;
  const std::vector<bool> all(last->allocations().size(), true);
  const std::string list = last->json(&sites, &all);
  const int number = sites.add(here);
  return "{\"allocations\":" + list + ",\"site\":" + (number < 0 ? "null" : std::to_string(number)) + "," +
         sites.json() + "}";
}

void Monitor::attach() {
  const std::string missing = sanitizer().load(config_.sanitizer);
  arm();
  problem(missing);
  if (!missing.empty()) return;
  api_.emplace(reinterpret_cast<const void*>(sanitizer().Subscribe));
  Sanitizer_SubscriberHandle subscriber = nullptr;
  const SanitizerResult result = sanitizer().Subscribe(
      &subscriber,
      [](void* monitor, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data) {
        static_cast<Monitor*>(monitor)->callback(domain, id, data);
      },
      this);
  if (result == SANITIZER_ERROR_MAX_LIMIT_REACHED) {
    problem("another tool already uses the Sanitizer API in this process");
  } else if (result == SANITIZER_ERROR_NOT_INITIALIZED || result == SANITIZER_ERROR_NOT_SUPPORTED) {
    problem("the CUDA driver does not fit the Sanitizer API library: " + sanitizer().text(result));
  } else if (result != SANITIZER_SUCCESS) {
    problem("the Sanitizer API refused the subscription: " + sanitizer().text(result));
  } else if (!enable(subscriber)) {
    sanitizer().Unsubscribe(subscriber);
  }
}

// What is registered last runs first at the exit of the process. The monitor is to finish before the
// Sanitizer API takes down what it needs, and that registers itself late, so the monitor does it again at
// each new step.
void Monitor::arm() {
  static Monitor* self = this;
  std::atexit([] { self->finish(); });
}

void Monitor::abandon() {
  abandoned_ = true;
  if (api_) api_->silence();
}

void Monitor::finish() {
  if (abandoned_ || finished_.exchange(true)) return;
  for (const auto& [handle, context] : contexts_.all()) {
    context->drain().stop(kQuiet, true, "the kernel failed, or had not finished when the program ended");
  }
  output_.finish();
}

void Monitor::callback(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data) {
  if (abandoned_) return;
  try {
    switch (domain) {
      case SANITIZER_CB_DOMAIN_DRIVER_API:
        on_driver(id, *static_cast<const Sanitizer_CallbackData*>(data));
        break;
      case SANITIZER_CB_DOMAIN_RESOURCE:
        on_resource(id, data);
        break;
      case SANITIZER_CB_DOMAIN_SYNCHRONIZE:
        on_synchronize(id, *static_cast<const Sanitizer_SynchronizeData*>(data));
        break;
      case SANITIZER_CB_DOMAIN_GRAPHS:
        on_graph(id, data);
        break;
      case SANITIZER_CB_DOMAIN_LAUNCH:
        if (id == SANITIZER_CBID_LAUNCH_BEGIN)
          on_launch(*static_cast<const Sanitizer_LaunchData*>(data), nullptr);
        break;
      default:
        break;
    }
  } catch (const std::exception& error) {
    problem(std::string("an event was not handled: ") + error.what());
  }
}

void Monitor::context_created(const Sanitizer_ResourceContextData& data) {
  if (data.context == nullptr || data.greenContext != nullptr || finished_) return;
  std::string error;
  std::shared_ptr<Context> context =
      Context::create(data.context, data.device, contexts_.next_id(), config_.ring_bytes, &output_, &error);
  problem(error);
  if (context) {
    if (config_.gpu) context->use_gpu(config_.shadow_bytes, config_.barrier_order);
    // If it is too early, the context's first module or launch is in time.
    std::string reason;
    context->prepare(&reason);
    contexts_.add(data.context, context);
  }
  arm();
}

void Monitor::context_destroyed(CUcontext handle) {
  const std::shared_ptr<Context> context = contexts_.remove(handle);
  if (context && !finished_) {
    context->drain().stop(kQuiet, false,
                          "the kernel failed, or had not finished when its context was destroyed");
  }
  modules_.context_destroyed(handle);
}

void Monitor::on_resource(Sanitizer_CallbackId id, const void* data) {
  switch (id) {
    case SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED:
      context_created(*static_cast<const Sanitizer_ResourceContextData*>(data));
      break;
    case SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: {
      const auto& context = *static_cast<const Sanitizer_ResourceContextData*>(data);
      if (context.greenContext == nullptr) context_destroyed(context.context);
      break;
    }
    case SANITIZER_CBID_RESOURCE_MODULE_LOADED:
      module_loaded(*static_cast<const Sanitizer_ResourceModuleData*>(data));
      break;
    case SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      module_unloading(static_cast<const Sanitizer_ResourceModuleData*>(data)->module);
      break;
    case SANITIZER_CBID_RESOURCE_STREAM_DESTROY_STARTING: {
      const auto& stream = *static_cast<const Sanitizer_ResourceStreamData*>(data);
      if (const auto context = contexts_.find(stream.context)) context->stream_destroyed(stream.stream);
      break;
    }
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC:
    case SANITIZER_CBID_RESOURCE_HOST_MEMORY_ALLOC:
      on_allocation(*static_cast<const Sanitizer_ResourceMemoryData*>(data), false);
      break;
    case SANITIZER_CBID_RESOURCE_MEMORY_ALLOC_ASYNC:
    case SANITIZER_CBID_RESOURCE_MEMPOOL_IMPORT_POINTER:
      on_allocation(*static_cast<const Sanitizer_ResourceMemoryData*>(data), true);
      break;
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE:
    case SANITIZER_CBID_RESOURCE_HOST_MEMORY_FREE:
    case SANITIZER_CBID_RESOURCE_MEMORY_FREE_ASYNC:
      allocations_.remove(static_cast<const Sanitizer_ResourceMemoryData*>(data)->address);
      break;
    default:
      break;
  }
}

void Monitor::module_loaded(const Sanitizer_ResourceModuleData& data) {
  const std::shared_ptr<Module> module = modules_.loaded(data, always_);
  std::string reason;
  if (const auto context = contexts_.find(data.context)) context->prepare(&reason);
  if (module->wanted) output_.module_loaded(module->code);
  if (module->wanted && !armed_for_modules_.exchange(true)) arm();
  if (!module->wanted || !config_.allocations) return;
  for (const CubinVariable& variable : module->code->cubin.variables) {
    uint64_t address = 0, size = 0;
    if (module->variables.size() == kMostVariables) break;
    if (!variable_address(data.module, variable.symbol.c_str(), &address, &size)) continue;
    allocations_.add({address, size, AllocationKind::kModule, demangle(variable.symbol), nullptr, nullptr});
    module->variables.push_back(address);
  }
}

void Monitor::module_unloading(CUmodule handle) {
  const std::shared_ptr<Module> module = modules_.unloading(handle);
  if (!module) return;
  for (const uint64_t address : module->variables) allocations_.remove(address);
}

void Monitor::on_allocation(const Sanitizer_ResourceMemoryData& data, bool pool) {
  if (!config_.allocations) return;
  if (data.flags & (SANITIZER_MEMORY_FLAG_CG_RUNTIME | SANITIZER_MEMORY_FLAG_CNP)) return;
  AllocationKind kind = AllocationKind::kDevice;
  if (data.flags & SANITIZER_MEMORY_FLAG_MODULE) {
    kind = AllocationKind::kModule;
  } else if (data.flags & SANITIZER_MEMORY_FLAG_MANAGED) {
    kind = AllocationKind::kManaged;
  } else if (data.flags & SANITIZER_MEMORY_FLAG_PEER) {
    kind = AllocationKind::kPeer;
  } else if (data.flags & (SANITIZER_MEMORY_FLAG_HOST_MAPPED | SANITIZER_MEMORY_FLAG_HOST_PINNED)) {
    kind = AllocationKind::kHostMapped;
  } else if (pool || data.memoryPool != nullptr) {
    kind = AllocationKind::kPool;
  }
  allocations_.add({data.address, data.size, kind, "", site(), nullptr});
}

// The program may leave without ceremony once it knows that its work is done, so the profiles are made to be
// there by then. Only the host waits, and only for the host.
void Monitor::on_synchronize(Sanitizer_CallbackId id, const Sanitizer_SynchronizeData& data) {
  if (finished_) return;
  const std::shared_ptr<Context> context = contexts_.find(data.context);
  const CUstream* stream = id == SANITIZER_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED ? &data.stream : nullptr;
  // Names of what launches have made come when the program's main thread goes on, which may be this one.
  const bool here = !config_.call_sites;
  if (context) context->drain().settle(stream, here);
  if (here) output_.settle();
}

void Monitor::on_graph(Sanitizer_CallbackId id, const void* data) {
  switch (id) {
    case SANITIZER_CBID_GRAPHS_GRAPHEXEC_CREATING: {
      std::string error;
      modules_.freeze(&error);
      problem(error);
      break;
    }
    case SANITIZER_CBID_GRAPHS_GRAPHEXEC_CREATED: {
      std::lock_guard<std::mutex> lock(mutex_);
      graphs_.try_emplace(static_cast<const Sanitizer_GraphExecData*>(data)->graphExec, next_graph_++);
      break;
    }
    case SANITIZER_CBID_GRAPHS_GRAPHEXEC_DESTROYING: {
      std::lock_guard<std::mutex> lock(mutex_);
      graphs_.erase(static_cast<const Sanitizer_GraphExecData*>(data)->graphExec);
      break;
    }
    case SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN:
    case SANITIZER_CBID_GRAPHS_LAUNCH_END:
      replay_in_progress().seal();
      break;
    case SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN: {
      const auto& node = *static_cast<const Sanitizer_GraphNodeLaunchData*>(data);
      if (node.nodeType == CU_GRAPH_NODE_TYPE_KERNEL) {
        on_launch(node.launchData, &node);
      } else if (node.nodeType == CU_GRAPH_NODE_TYPE_MEM_ALLOC && !node.isGraphUpload) {
        on_allocation(node.memAllocData, true);
      } else if (node.nodeType == CU_GRAPH_NODE_TYPE_MEM_FREE && !node.isGraphUpload) {
        allocations_.remove(node.memFreeAddress);
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace cuvein
