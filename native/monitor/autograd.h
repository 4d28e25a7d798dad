// PyTorch's backward pass: which call of the forward pass it is computing the gradient of, and who started
// it.
//
// Its threads run no Python code. But PyTorch numbers the nodes of its graph, in each thread from 0, as it
// makes them: what happens while an operator runs in the forward pass belongs to the newest number of the
// thread, and the node that runs in the backward pass has it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "monitor/call_site.h"

namespace cuvein {

class Tensor;

// Has the functions that it needs of PyTorch looked up in a library that the process has loaded. Until then
// there is no backward pass.
void follow_autograd(const char* library);

// What the Python side knows of the calling thread: number and name of the node that runs, when it is about
// to tell of memory, and from where the pass that runs was started.
void name_node(uint64_t number, const std::string& name);
void name_pass(int64_t pass, const std::vector<PythonFrame>& caller);

// What something that the calling thread does in a backward pass belongs to.
struct Gradient {
  std::shared_ptr<const CallSite> forward;  // null: not known, or no node runs
  std::shared_ptr<const CallSite> caller;   // null: not known, or no pass runs
};
Gradient gradient_in_progress(const CallSite& site, Inner inner);

// Takes notice of what the calling thread does now. Returns the number of the newest node it has made; -1:
// none.
int64_t notice(const std::shared_ptr<const CallSite>& site);

// The calling thread's node will hand on a gradient of this shape, and a tensor just made has its size. It is
// the gradient if it still exists when the node has done its work.
void expect_gradient(const std::shared_ptr<Tensor>& tensor, const std::string& dtype,
                     const std::vector<int64_t>& shape);
// The same where several of that size are handed on.
void expect_gradient(const std::shared_ptr<Tensor>& tensor, const std::string& name);

}  // namespace cuvein
