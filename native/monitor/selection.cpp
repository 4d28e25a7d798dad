#include "monitor/selection.h"

#include <cxxabi.h>

#include <cstdlib>

#include "monitor/nvtx.h"

namespace cuvein {

std::string demangle(const std::string& symbol) {
  int status = 0;
  char* name = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (status != 0 || name == nullptr) return symbol;
  std::string result(name);
  std::free(name);
  return result;
}

Selection::Selection(const Config& config)
    : from_start_(config.profile_from_start),
      by_range_(!config.nvtx_include.empty()),
      skip_(config.launch_skip),
      count_(config.launch_count),
      profiling_(config.profile_from_start) {
  include_ = compile(config.kernel_name, "--kernel-name");
  exclude_ = compile(config.exclude_kernel_name, "--exclude-kernel-name");
}

std::optional<std::regex> Selection::compile(const std::string& expression, const char* option) {
  if (expression.empty()) return std::nullopt;
  try {
    // libstdc++'s matcher of choice recurses with the length of the text, and template names are long; the
    // polynomial one does not, but knows no back references.
    return std::regex(expression, std::regex::ECMAScript | std::regex_constants::__polynomial);
  } catch (const std::regex_error&) {
  }
  try {
    return std::regex(expression, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    problem_ = std::string(option) + " " + expression + " is not a regular expression: " + error.what();
    return std::nullopt;
  }
}

bool Selection::matches(const std::string& name, const std::string& mangled) const {
  if (!problem_.empty()) return false;
  const auto found = [&](const std::regex& expression) {
    return std::regex_search(name, expression) || std::regex_search(mangled, expression);
  };
  return (!include_ || found(*include_)) && !(exclude_ && found(*exclude_));
}

bool Selection::take() {
  if (!profiling_ || (by_range_ && !in_included_range())) return false;
  const uint64_t index = matching_++;
  return index >= skip_ && (!count_ || index - skip_ < *count_);
}

}  // namespace cuvein
