// Everything the monitor knows in this process, and what it does at each event.
#pragma once

#include <sanitizer.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "monitor/allocations.h"
#include "monitor/config.h"
#include "monitor/context.h"
#include "monitor/library.h"
#include "monitor/modules.h"
#include "monitor/output.h"
#include "monitor/selection.h"

namespace cuvein {

class Monitor {
 public:
  explicit Monitor(Config config);

  // Subscribes to the Sanitizer API. What goes wrong is recorded; the program runs on without being profiled.
  void attach();

  // At the end of the process: waits for what is on its way and closes everything.
  void finish();

  // From now on nothing is done: this is the child of a fork, and what it sees belongs to its parent.
  void abandon();

  // What the Python side in the program tells; see program.cpp.
  int64_t tensor_created(uint64_t address, uint64_t size);
  void gradient_created(uint64_t address, uint64_t size, const std::string& dtype,
                        const std::vector<int64_t>& shape);
  void gradient_created(uint64_t address, uint64_t size, const std::string& name);
  bool allocation_named(uint64_t address, uint64_t size, const std::string& dtype,
                        const std::vector<int64_t>& shape);
  bool tensor_named(uint64_t address, uint64_t size, const std::string& dtype,
                    const std::vector<int64_t>& shape);
  void tensor_destroyed(uint64_t address);
  // The allocations and the call site that a launch of the calling thread would be told of now, as JSON.
  std::string describe(bool again);

  void callback(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data);

 private:
  void on_driver(Sanitizer_CallbackId id, const Sanitizer_CallbackData& data);
  void on_resource(Sanitizer_CallbackId id, const void* data);
  void on_synchronize(Sanitizer_CallbackId id, const Sanitizer_SynchronizeData& data);
  void on_graph(Sanitizer_CallbackId id, const void* data);
  void on_allocation(const Sanitizer_ResourceMemoryData& data, bool pool);
  void on_launch(const Sanitizer_LaunchData& data, const Sanitizer_GraphNodeLaunchData* node);

  void module_loaded(const Sanitizer_ResourceModuleData& data);
  void module_unloading(CUmodule handle);
  void context_created(const Sanitizer_ResourceContextData& data);
  void context_destroyed(CUcontext handle);
  const void* observe(const Sanitizer_LaunchData& data, const Sanitizer_GraphNodeLaunchData* node,
                      uint32_t sequence);
  std::shared_ptr<const CallSite> site(Inner inner = Inner::kDriver) const;
  void arm();
  void await_observed(CUcontext handle, Module* module);
  bool enable(Sanitizer_SubscriberHandle subscriber);
  void problem(const std::string& sentence) {
    if (!sentence.empty()) output_.problem(sentence);
  }

  const Config config_;
  Selection selection_;
  Output output_;
  Modules modules_;
  Allocations allocations_;
  Contexts contexts_;
  const bool always_;  // nothing but names selects
  std::atomic<uint32_t> sequence_{0};
  std::atomic<bool> abandoned_{false};
  std::atomic<bool> finished_{false};
  std::atomic<bool> armed_for_modules_{false};
  std::atomic<bool> armed_for_launches_{false};
  std::optional<Library> api_;  // the Sanitizer API, once loaded
  std::mutex mutex_;            // guards what follows
  std::map<CUgraphExec, int> graphs_;
  int next_graph_ = 1;
  std::map<CUfunction, uint64_t> dynamic_shared_;  // of the function's last launch, for graph nodes
};

}  // namespace cuvein
