// NVTX ranges as a means of selection.
#pragma once

#include <string>
#include <vector>

namespace cuvein {

// Names of ranges, `name` (in any domain) or `domain@name`. To be called before the program's first range.
void include_ranges(const std::vector<std::string>& names);

// Whether the calling thread is in a pushed range, or the process in a started one, that was named.
bool in_included_range();

}  // namespace cuvein
