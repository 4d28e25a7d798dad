// A launch that the GPU engine has analysed, in bytes of which its profile can be made at any time, also when
// the process is gone: to put them together takes a tenth of what the profile takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/aggregate.h"
#include "profile/document.h"

namespace cuvein {

// Parts that are the same for many launches.
std::string packed(const std::vector<FunctionParts>& functions);
std::string packed(const std::vector<std::string>& allocations);

struct CountedLaunch {
  const ProcessParts* process;
  uint32_t sequence;
  std::string before;              // see LaunchParts
  const std::string* functions;    // packed, the kernel first
  const std::string* allocations;  // packed, all that the launch may have touched
  int64_t code_base;               // see Aggregate
  std::string incomplete;          // empty: nothing is missing, but for what the counts say
};
std::string packed(const CountedLaunch& launch, const Aggregate& counts);

// The LaunchProfile document. *incomplete: whether it says that something is missing. Throws
// std::invalid_argument when the bytes make no sense.
std::string counted_profile(const void* data, size_t bytes, bool* incomplete);

// Makes a graph of what was counted, beside what the host engine has, and says why it is not whole where no
// other reason is known.
void add_counts(const Aggregate& counts, int64_t code_base, Graph* graph, std::string* incomplete);

}  // namespace cuvein
