#include "monitor/autograd.h"

#include <dlfcn.h>

#include <atomic>
#include <cctype>
#include <deque>
#include <mutex>
#include <type_traits>
#include <unordered_map>

#include "monitor/allocations.h"

namespace cuvein {
namespace {

constexpr size_t kMostNodes = 1 << 16;  // remembered
constexpr size_t kMostPasses = 64;

// Functions that PyTorch exports, of those that hand over nothing but numbers: what it passes by more than
// that changes from version to version.
struct Functions {
  int (*pass)() = nullptr;          // that runs in the calling thread; -1: none
  uint64_t (*numbers)() = nullptr;  // given out in the calling thread
};

// Never changes once it is set.
std::atomic<const Functions*> functions{nullptr};

// The node that the Python side has said to run.
struct Running {
  uint64_t number = 0;
  std::string name;  // empty: not known
  std::string node;  // the backward function on the stack when memory was last asked for; empty: it was done
  std::string op;    // the outermost operator then
};

struct Thread {
  uint64_t noticed = ~uint64_t{0};  // number of the newest node at the last notice
  Running running;
  std::vector<std::shared_ptr<Tensor>> expected;
  std::string expected_in;  // the backward function on the stack then
};

// Never destroyed: the thread may launch to its very end. And no two threads have the same.
Thread& thread() {
  thread_local Thread* instance = new Thread;
  return *instance;
}

struct Made {
  const Thread* thread;
  std::shared_ptr<const CallSite> site;
};

// Never destroyed: the program may launch to its very end.
struct Known {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::vector<Made>> nodes;  // by number
  std::deque<uint64_t> order;
  std::deque<std::pair<int64_t, std::shared_ptr<const CallSite>>> passes;
};

Known& known() {
  static Known* instance = new Known;
  return *instance;
}

// Lower case, letters and digits only.
std::string plain(const std::string& name) {
  std::string result;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Whether an operator ("aten::_log_softmax", "aten::mean.dim") makes nodes called so ("LogSoftmaxBackward0").
bool makes(const std::string& op, const std::string& node) {
  const size_t end = node.rfind("Backward");
  if (end == std::string::npos || end == 0) return false;
  const size_t start = op.rfind("::");
  const std::string base = start == std::string::npos ? op : op.substr(start + 2);
  const std::string found = plain(base.substr(0, base.find('.')));
  const std::string wanted = plain(node.substr(0, end));
  return found == wanted || found == wanted + "forward";
}

// Where in the forward pass a node was made. Several threads may have made one of this number.
std::shared_ptr<const CallSite> made_at(uint64_t number, const std::string& node) {
  Known& data = known();
  std::lock_guard<std::mutex> lock(data.mutex);
  const auto found = data.nodes.find(number);
  if (found == data.nodes.end()) return nullptr;
  std::shared_ptr<const CallSite> result;
  for (const Made& made : found->second) {
    bool fits = false;
    for (const std::string& op : made.site->operators) fits = fits || makes(op, node);
    if (!fits) continue;
    if (result) return nullptr;
    result = made.site;
  }
  return result && result->has_python ? result : nullptr;
}

std::shared_ptr<const CallSite> caller_of(int64_t pass) {
  Known& data = known();
  std::lock_guard<std::mutex> lock(data.mutex);
  for (const auto& [id, site] : data.passes)
    if (id == pass) return site;
  return nullptr;
}

// What has outlived its node's own work is what the node hands on.
void settle(Thread* own) {
  for (const auto& tensor : own->expected) tensor->keep();
  own->expected.clear();
}

std::string outermost(const CallSite& site) { return site.operators.empty() ? "" : site.operators.front(); }

// Whether it is the named node that launches. It was running when it last asked for memory, and others may
// have run since that asked for none.
bool still_runs(const Running& running, const CallSite& site) {
  if (running.name.empty() || site.node != running.node) return false;
  return site.node.empty() ? outermost(site) == running.op : site.node == running.name;
}

}  // namespace

void follow_autograd(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr || functions != nullptr) return;
  auto* found = new Functions;
  const auto load = [handle](auto* target, const char* symbol) {
    *target = reinterpret_cast<std::remove_reference_t<decltype(*target)>>(dlsym(handle, symbol));
    return *target != nullptr;
  };
  if (load(&found->pass, "_ZN5torch8autograd25get_current_graph_task_idEv") &&
      load(&found->numbers, "_ZN2at15sequence_number4peekEv")) {
    functions = found;
  } else {
    delete found;
  }
}

void name_node(uint64_t number, const std::string& name) {
  Thread& own = thread();
  if (own.running.number != number || own.running.name != name) settle(&own);
  own.running = {number, name.substr(name.rfind(':') + 1), "", ""};
}

void name_pass(int64_t pass, const std::vector<PythonFrame>& caller) {
  Known& data = known();
  const std::shared_ptr<const CallSite> site = call_site(caller);
  std::lock_guard<std::mutex> lock(data.mutex);
  data.passes.emplace_back(pass, site);
  if (data.passes.size() > kMostPasses) data.passes.pop_front();
}

Gradient gradient_in_progress(const CallSite& site, Inner inner) {
  Gradient gradient;
  const Functions* call = functions;
  if (call == nullptr) return gradient;
  Thread& own = thread();
  Running& running = own.running;
  const int pass = call->pass();
  if (pass < 0) {
    running.name.clear();
    return gradient;
  }
  gradient.caller = caller_of(pass);
  if (inner == Inner::kHook) {
    // The Python side has named it just now.
    running.node = site.node;
    running.op = outermost(site);
  } else if (!still_runs(running, site)) {
    running.name.clear();
  }
  if (!running.name.empty()) gradient.forward = made_at(running.number, running.name);
  // Only the first launch of what the engine itself does is surely that for which memory was asked.
  if (inner == Inner::kDriver && site.node.empty()) running.name.clear();
  return gradient;
}

int64_t notice(const std::shared_ptr<const CallSite>& site) {
  const Functions* call = functions;
  if (call == nullptr) return -1;
  Thread& own = thread();
  if (!own.expected.empty() && site->node != own.expected_in) settle(&own);

  const uint64_t numbers = call->numbers();
  if (numbers == 0) return -1;
  const uint64_t newest = numbers - 1;
  if (newest == own.noticed) return static_cast<int64_t>(newest);
  own.noticed = newest;
  Known& data = known();
  std::lock_guard<std::mutex> lock(data.mutex);
  data.nodes[newest].push_back({&own, site});
  data.order.push_back(newest);
  if (data.order.size() > kMostNodes) {
    const auto oldest = data.nodes.find(data.order.front());
    data.order.pop_front();
    if (oldest != data.nodes.end()) {
      oldest->second.erase(oldest->second.begin());
      if (oldest->second.empty()) data.nodes.erase(oldest);
    }
  }
  return static_cast<int64_t>(newest);
}

namespace {

void expect(const std::shared_ptr<Tensor>& tensor) {
  Thread& own = thread();
  own.expected.push_back(tensor);
  own.expected_in = own.running.node;
}

}  // namespace

void expect_gradient(const std::shared_ptr<Tensor>& tensor, const std::string& dtype,
                     const std::vector<int64_t>& shape) {
  if (functions == nullptr || !tensor) return;
  tensor->expect(dtype, shape);
  expect(tensor);
}

void expect_gradient(const std::shared_ptr<Tensor>& tensor, const std::string& name) {
  if (functions == nullptr || !tensor) return;
  tensor->expect(name);
  expect(tensor);
}

}  // namespace cuvein
