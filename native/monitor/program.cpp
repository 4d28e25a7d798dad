// The functions that the Python side calls through ctypes. None of them fails: what makes no sense is
// ignored.
#include "monitor/program.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "monitor/autograd.h"
#include "monitor/gpu_trace.h"
#include "monitor/monitor.h"

namespace cuvein {
namespace {

using Callback = int (*)();
using AddPendingCall = int (*)(int (*)(void*), void*);

std::atomic<Callback> look{nullptr};
std::atomic<bool> queued{false};
// Numbers of questions: the newest, and those answered by the look under way and by the last one done. No
// mutex, which a child of fork might find locked for ever.
std::atomic<uint64_t> asked{0}, begun{0}, done{0};
std::atomic<Patience::Clock::time_point> queued_at{Patience::Clock::time_point()};

// A look at all objects of a large program takes tenths of a second.
constexpr std::chrono::milliseconds kLongestLook{500};

int run(void*) {
  queued = false;
  const uint64_t answered = asked;  // what is launched from now on may be missed
  begun = answered;
  const Callback callback = look;
  const int result = callback != nullptr ? callback() : 0;
  done = answered;
  return result;
}

template <typename Function>
void guarded(Function function) {
  try {
    if (Monitor* monitor = monitor_of_process()) function(monitor);
  } catch (const std::exception&) {
    // The program goes on; a name is missing.
  }
}

}  // namespace

uint64_t ask_program() {
  if (look == nullptr) return 0;
  const uint64_t question = ++asked;
  if (queued.exchange(true)) return question;
  queued_at = Patience::Clock::now();
  static const auto add = reinterpret_cast<AddPendingCall>(dlsym(RTLD_DEFAULT, "Py_AddPendingCall"));
  static const auto initialised = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  // A program may launch when its Python is gone.
  if (add != nullptr && initialised != nullptr && initialised() != 0 && add(run, nullptr) == 0)
    return question;
  queued = false;
  return 0;
}

void await_program(uint64_t question, const Patience& patience) {
  const auto start = Patience::Clock::now();
  const auto lasts = [&] {
    return begun < question ? patience.lasts(queued_at) : Patience::Clock::now() < start + kLongestLook;
  };
  while (done < question && lasts()) Patience::pause();
}

}  // namespace cuvein

#define CUVEIN_EXPORT extern "C" __attribute__((visibility("default")))

// A framework has given out memory in a part of an allocation. The calling thread is the one that asked for
// it. Returns the number of the newest node of PyTorch's graph that the thread has made; -1: none.
CUVEIN_EXPORT int64_t cuvein_tensor_created(uint64_t address, uint64_t bytes) {
  int64_t newest = -1;
  cuvein::guarded([&](cuvein::Monitor* monitor) { newest = monitor->tensor_created(address, bytes); });
  return newest;
}

// What lies there. Returns 0 when nothing of this size was created there.
CUVEIN_EXPORT int cuvein_tensor_named(uint64_t address, uint64_t bytes, const char* dtype,
                                      const int64_t* shape, unsigned dimensions) {
  bool known = false;
  cuvein::guarded([&](cuvein::Monitor* monitor) {
    known = monitor->tensor_named(address, bytes, dtype, std::vector<int64_t>(shape, shape + dimensions));
  });
  return known;
}

// The same of an array that has an allocation for itself.
CUVEIN_EXPORT int cuvein_allocation_named(uint64_t address, uint64_t bytes, const char* dtype,
                                          const int64_t* shape, unsigned dimensions) {
  bool known = false;
  cuvein::guarded([&](cuvein::Monitor* monitor) {
    known = monitor->allocation_named(address, bytes, dtype, std::vector<int64_t>(shape, shape + dimensions));
  });
  return known;
}

// The node of PyTorch's backward pass that the calling thread runs hands on a gradient of this shape, and
// what was just created has its size.
CUVEIN_EXPORT void cuvein_gradient_created(uint64_t address, uint64_t bytes, const char* dtype,
                                           const int64_t* shape, unsigned dimensions) {
  cuvein::guarded([&](cuvein::Monitor* monitor) {
    monitor->gradient_created(address, bytes, dtype, std::vector<int64_t>(shape, shape + dimensions));
  });
}

// Several gradients of this size are handed on: the name says of which kinds.
CUVEIN_EXPORT void cuvein_gradient_of_kinds(uint64_t address, uint64_t bytes, const char* name) {
  cuvein::guarded([&](cuvein::Monitor* monitor) { monitor->gradient_created(address, bytes, name); });
}

// Where PyTorch's autograd is: the path of the library.
CUVEIN_EXPORT void cuvein_follow_autograd(const char* library) {
  try {
    cuvein::follow_autograd(library);
  } catch (const std::exception&) {
    // Backward passes are not followed.
  }
}

// See gpu_trace.h.
CUVEIN_EXPORT int cuvein_find_gpu_trace(const char* library) { return cuvein::find_gpu_trace(library); }
CUVEIN_EXPORT void cuvein_keep_exceptions() { cuvein::keep_exceptions_of_gpu_trace(); }

// The node that the calling thread, which is about to tell of memory, runs in a backward pass.
CUVEIN_EXPORT void cuvein_node_running(uint64_t number, const char* name) {
  cuvein::guarded([&](cuvein::Monitor*) { cuvein::name_node(number, name); });
}

// Python frames of the call that started a backward pass, innermost first: files, functions, lines.
CUVEIN_EXPORT void cuvein_pass_started(int64_t pass, unsigned frames, const char* const* files,
                                       const char* const* functions, const int* lines) {
  cuvein::guarded([&](cuvein::Monitor*) {
    std::vector<cuvein::PythonFrame> caller;
    for (unsigned i = 0; i < frames; ++i) caller.push_back({files[i], functions[i], lines[i]});
    cuvein::name_pass(pass, caller);
  });
}

CUVEIN_EXPORT void cuvein_tensor_destroyed(uint64_t address) {
  cuvein::guarded([&](cuvein::Monitor* monitor) { monitor->tensor_destroyed(address); });
}

// Names of PyTorch's operators, one a line.
CUVEIN_EXPORT void cuvein_name_operators(const char* names) {
  try {
    cuvein::name_operators(names);
  } catch (const std::exception&) {
    // They keep their names in C++.
  }
}

// To be called on the main thread, with the GIL, soon after each launch; null for nothing.
CUVEIN_EXPORT void cuvein_after_launch(int (*callback)()) { cuvein::look = callback; }

// Writes what a launch of the calling thread would be told of now, as JSON, and returns how many bytes that
// takes. With `again`, of the memory that the last one was told of, with what has become known of it.
CUVEIN_EXPORT uint64_t cuvein_describe(char* text, uint64_t size, int again) {
  uint64_t needed = 0;
  cuvein::guarded([&](cuvein::Monitor* monitor) {
    cuvein::ask_program();
    const std::string description = monitor->describe(again != 0);
    needed = description.size();
    std::memcpy(text, description.data(), std::min(size, needed));
  });
  return needed;
}
