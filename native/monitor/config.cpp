#include "monitor/config.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace cuvein {
namespace {

// Pinning memory takes time, half a millisecond a MiB; the GPU engine sends counts, and records now and then.
constexpr uint64_t kDefaultRing = uint64_t{64} << 20;
constexpr uint64_t kDefaultRingOfCounts = uint64_t{4} << 20;
constexpr uint64_t kSmallestRing = uint64_t{1} << 16;
constexpr uint64_t kLargestRing = uint64_t{1} << 32;

std::string text(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The program the user named owns the trace file; its children write theirs beside it.
bool is_root(const nlohmann::json& document) {
  const int64_t root = document.value("root_pid", int64_t{0});
  if (root != 0) return root == getpid();
  const char* launcher = std::getenv("CUVEIN_ROOT");
  return launcher != nullptr && std::atoll(launcher) == getppid();
}

std::string with_pid(const std::string& path) {
  const size_t name = path.find_last_of('/') + 1;  // 0 when there is no slash
  const size_t dot = path.find_last_of('.');
  const std::string pid = "." + std::to_string(getpid());
  if (dot == std::string::npos || dot <= name) return path + pid;
  return path.substr(0, dot) + pid + path.substr(dot);
}

Config from_json(const nlohmann::json& document) {
  Config config;
  config.sanitizer = text(document, "sanitizer");
  config.sanitizer_version = text(document, "sanitizer_version");
  config.patches = text(document, "patches");
  config.output = text(document, "output");
  config.trace = text(document, "trace");
  if (!config.trace.empty() && !is_root(document)) config.trace = with_pid(config.trace);
  const std::string engine = text(document, "engine");
  config.analyse = engine != "none";
  // Records are what a trace is made of, and the GPU engine makes none.
  const bool chooses = engine == "auto";
  config.gpu = (chooses || engine == "gpu") && config.trace.empty() && !config.output.empty();
  config.small_on_host = chooses;
  config.shadow_bytes = document.value("shadow_bytes", uint64_t{0});
  config.barrier_order = document.value("barrier_order", false);
  config.empty_patches = document.value("empty_patches", false);
  config.workers = document.value("workers", 0u);
  config.kernel_name = text(document, "kernel_name");
  config.exclude_kernel_name = text(document, "exclude_kernel_name");
  config.launch_skip = document.value("launch_skip", uint64_t{0});
  const auto count = document.find("launch_count");
  if (count != document.end() && count->is_number()) config.launch_count = count->get<uint64_t>();
  config.merge_launches = document.value("merge_launches", false);
  config.profile_from_start = document.value("profile_from_start", true);
  config.nvtx_include = document.value("nvtx_include", std::vector<std::string>());
  config.allocations = document.value("allocations", true);
  config.call_sites = document.value("call_sites", false);
  const uint64_t wanted = document.value("ring_bytes", config.gpu ? kDefaultRingOfCounts : kDefaultRing);
  config.ring_bytes = kSmallestRing;
  while (config.ring_bytes < std::min(wanted, kLargestRing)) config.ring_bytes *= 2;
  return config;
}

}  // namespace

std::optional<Config> read_config() {
  const char* path = std::getenv("CUVEIN_CONFIG");
  if (path == nullptr) return std::nullopt;
  std::ifstream file(path);
  if (!file) return std::nullopt;
  try {
    return from_json(nlohmann::json::parse(file));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace cuvein
