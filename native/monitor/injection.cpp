// Entry point that the CUDA driver calls in a process started with CUDA_INJECTION64_PATH, at its first use.
#include <pthread.h>

#include <exception>
#include <optional>
#include <utility>

#include "monitor/config.h"
#include "monitor/monitor.h"
#include "monitor/program.h"

namespace {

// Never destroyed: events come until the process is gone.
cuvein::Monitor* monitor = nullptr;

}  // namespace

cuvein::Monitor* cuvein::monitor_of_process() { return monitor; }

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  if (monitor != nullptr) return 1;
  try {
    std::optional<cuvein::Config> config = cuvein::read_config();
    if (!config) return 1;
    monitor = new cuvein::Monitor(std::move(*config));
    // CUDA does not work in the child of a process that uses it, and the monitor's threads are not there.
    pthread_atfork(nullptr, nullptr, [] { monitor->abandon(); });
    monitor->attach();
  } catch (const std::exception&) {
    // The program runs on without being profiled.
  }
  return 1;
}
