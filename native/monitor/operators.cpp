#include "monitor/operators.h"

#include <sstream>

namespace cuvein {
namespace {

// Reads what a mangled nested name consists of, part by part.
class Parts {
 public:
  explicit Parts(const std::string& symbol)
      : symbol_(symbol), at_(symbol.compare(0, 3, "_ZN") == 0 ? 3 : npos) {
    if (at_ != npos && at_ < symbol.size() && symbol[at_] == 'K') ++at_;
  }
  // The next part; empty at the end and for what is no plain name.
  std::string next() {
    size_t length = 0;
    size_t digits = at_;
    for (; digits < symbol_.size() && symbol_[digits] >= '0' && symbol_[digits] <= '9' && length < 4096;
         ++digits)
      length = length * 10 + static_cast<size_t>(symbol_[digits] - '0');
    if (digits == at_ || length > symbol_.size() - digits) return "";
    at_ = digits + length;
    return symbol_.substr(digits, length);
  }
  bool skip(const char* part) {
    const size_t before = at_;
    if (next() == part) return true;
    at_ = before;
    return false;
  }

 private:
  static constexpr size_t npos = std::string::npos;
  const std::string& symbol_;
  size_t at_;
};

// As the C++ function is called: at::_ops::add_Tensor for aten::add.Tensor.
std::string in_cpp(std::string name) {
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}

}  // namespace

void Operators::learn(const std::string& names) {
  static const std::string kNamespace = "aten::";
  std::lock_guard<std::mutex> lock(mutex_);
  std::istringstream lines(names);
  for (std::string name; std::getline(lines, name);) {
    if (name.compare(0, kNamespace.size(), kNamespace) != 0) continue;
    const auto [known, added] = names_.try_emplace(in_cpp(name.substr(kNamespace.size())), name);
    if (!added && known->second != name) known->second.clear();
  }
}

std::string Operators::of(const std::string& symbol) const {
  Parts parts(symbol);
  if (parts.skip("at")) {
    if (!parts.skip("_ops")) return "";
    const std::string name = parts.next();
    const std::string function = parts.next();
    if (name.empty() || (function != "call" && function != "redispatch")) return "";
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = names_.find(name);
    return known != names_.end() && !known->second.empty() ? known->second : "at::_ops::" + name;
  }
  if (!parts.skip("torch") || !parts.skip("autograd")) return "";
  parts.skip("generated");
  const std::string name = parts.next();
  // A node of Python code has frames there, which say more.
  return parts.next() == "apply" && name != "PyNode" ? name : "";
}

}  // namespace cuvein
