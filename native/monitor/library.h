// A loaded shared library, taken out of action.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace cuvein {

// The child of a fork inherits the exit handler of the Sanitizer API, which then works on the GPU contexts of
// the parent and stops them. CUDA itself knows that a child is not to touch them; the API does not, and has
// no call to say so. So in the child, which can use neither, each of its instructions is made a return.
class Library {
 public:
  // Finds the library that holds `address`.
  explicit Library(const void* address);

  // Only uses what may be used between fork and exec.
  void silence() const;

 private:
  std::vector<std::pair<char*, size_t>> code_;
};

}  // namespace cuvein
