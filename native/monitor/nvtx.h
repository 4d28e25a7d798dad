// NVTX ranges: as a means of selection, and as names for what the program is doing.
#pragma once

#include <string>
#include <vector>

namespace cuvein {

// Names of ranges, `name` (in any domain) or `domain@name`. To be called before the program's first range.
void include_ranges(const std::vector<std::string>& names);

// Whether the calling thread is in a pushed range, or the process in a started one, that was named.
bool in_included_range();

// The ranges that the calling thread has pushed and not popped, outermost first: `name`, or `domain@name`.
// Empty unless they are followed, by selection or by call sites.
std::vector<std::string> pushed_ranges();

}  // namespace cuvein
