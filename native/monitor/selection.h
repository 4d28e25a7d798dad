// Which kernels and which launches are profiled.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <regex>
#include <string>

#include "monitor/config.h"

namespace cuvein {

// Shown to users: the C++ name, or the symbol itself when it is not mangled.
std::string demangle(const std::string& symbol);

class Selection {
 public:
  explicit Selection(const Config& config);

  // By name alone; what never matches is never patched.
  bool matches(const std::string& name, const std::string& mangled) const;

  // Decides about one launch of a kernel that matches, on the thread that launches it. Counts it.
  bool take();

  // Count only where profiling does not begin with the program.
  void profiler_start() { profiling_ = true; }
  void profiler_stop() { profiling_ = from_start_; }

  // What is wrong with the expressions; empty when nothing is.
  const std::string& problem() const { return problem_; }

 private:
  std::optional<std::regex> compile(const std::string& expression, const char* option);

  std::optional<std::regex> include_;
  std::optional<std::regex> exclude_;
  const bool from_start_;
  const bool by_range_;
  const uint64_t skip_;
  const std::optional<uint64_t> count_;
  std::atomic<bool> profiling_;
  std::atomic<uint64_t> matching_{0};
  std::string problem_;
};

}  // namespace cuvein
