// PyTorch's operators and backward functions, by the C++ functions that run them.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

namespace cuvein {

class Operators {
 public:
  // Names as PyTorch has them ("aten::add.Tensor"), one a line; until then, and where a name is ambiguous, an
  // operator is called as its C++ function.
  void learn(const std::string& names);

  // The operator or backward function that a mangled symbol runs; empty: none.
  std::string of(const std::string& symbol) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::string> names_;  // by name in C++; empty: ambiguous
};

}  // namespace cuvein
