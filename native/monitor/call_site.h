// Where on the host something was asked for: the calls of the thread, its NVTX ranges, the PyTorch operator.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "monitor/python_frames.h"

namespace cuvein {

// Never changes. Equal sites are one.
struct CallSite {
  std::string python = "[]";           // JSON list of frames, innermost first
  std::string native = "[]";           // JSON list of frames, innermost first; modules by number
  std::string ranges = "[]";           // JSON list of names, outermost first
  std::vector<std::string> operators;  // outermost first
  std::string note = "null";           // JSON: what is missing, or null
  int last_module = -1;                // the highest number
  bool has_python = false;             // there are Python frames
  std::string node;                    // the innermost function of the backward pass among the operators
  std::vector<uint64_t> around;        // of each operator: the calls around it, as a hash
  // In a backward pass: the call in the forward pass that it computes the gradient of, and the one that
  // started it; null where not known.
  std::shared_ptr<const CallSite> forward;
  std::shared_ptr<const CallSite> caller;
};

// What to leave out of a site.
enum class Inner {
  kDriver,  // innermost calls in the driver and in cuvein
  kHook,    // all in machine code, and the Python code of cuvein that reports what happens in the program
};

// Of the calling thread, now.
std::shared_ptr<const CallSite> call_site(Inner inner);

// The innermost operator that an earlier site lies in and the calling thread still runs; empty: none. It is
// taken for the same one when the calls around it are the same.
std::string operator_since(const CallSite& earlier);

// That of which only Python frames are known.
std::shared_ptr<const CallSite> call_site(const std::vector<PythonFrame>& python);

// Names of PyTorch's operators as PyTorch has them ("aten::add.Tensor"), one a line. Without them they are
// named after their C++ functions.
void name_operators(const std::string& names);

// Sites as a document has them: numbered, in the order of their appearance, each once.
class CallSiteTable {
 public:
  int add(const std::shared_ptr<const CallSite>& site);  // its number; -1 for none
  bool empty() const { return sites_.empty(); }
  // `"sites":[...],"host_modules":[...]`
  std::string json() const;

 private:
  std::vector<std::shared_ptr<const CallSite>> sites_;
  std::unordered_map<const CallSite*, int> numbers_;
};

}  // namespace cuvein
