#include "monitor/gpu_trace.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cuvein {
namespace {

// PyTorch makes its reports through an object whose virtual functions call Python. It has no more of them.
constexpr size_t kMostFunctions = 64;

// All of them that are called through this object report numbers, and return nothing.
using Report = void (*)(const void* object, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

struct Object {
  const Report* functions;
};
// What holds it.
struct Interpreter {
  const Object* object;
};

struct Python {
  int (*initialised)() = nullptr;
  int (*ensure)() = nullptr;
  void (*release)(int) = nullptr;
  void (*fetch)(void**, void**, void**) = nullptr;
  void (*restore)(void*, void*, void*) = nullptr;
};

Python python;
std::atomic<const Interpreter*>* state = nullptr;  // PyTorch's
const Object* original = nullptr;

template <size_t N>
void report(const void*, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e) {
  const Report function = original->functions[N];
  if (python.initialised() == 0) {
    function(original, a, b, c, d, e);
    return;
  }
  void* type = nullptr;
  void* value = nullptr;
  void* trace = nullptr;
  const int gil = python.ensure();
  python.fetch(&type, &value, &trace);
  function(original, a, b, c, d, e);
  python.restore(type, value, trace);
  python.release(gil);
}

template <size_t... N>
constexpr std::array<Report, sizeof...(N)> all(std::index_sequence<N...>) {
  return {report<N>...};
}

constexpr auto kReports = all(std::make_index_sequence<kMostFunctions>());
const Object kObject = {kReports.data()};
const Interpreter kInterpreter = {&kObject};

template <typename T>
bool load(T* target, void* handle, const char* symbol) {
  *target = reinterpret_cast<T>(dlsym(handle, symbol));
  return *target != nullptr;
}

}  // namespace

bool find_gpu_trace(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return handle != nullptr && load(&state, handle, "_ZN3c104impl8GPUTrace13gpuTraceStateE") &&
         load(&python.initialised, RTLD_DEFAULT, "Py_IsInitialized") &&
         load(&python.ensure, RTLD_DEFAULT, "PyGILState_Ensure") &&
         load(&python.release, RTLD_DEFAULT, "PyGILState_Release") &&
         load(&python.fetch, RTLD_DEFAULT, "PyErr_Fetch") &&
         load(&python.restore, RTLD_DEFAULT, "PyErr_Restore");
}

void keep_exceptions_of_gpu_trace() {
  const Interpreter* reporting = state != nullptr ? state->load() : nullptr;
  if (reporting == nullptr || reporting == &kInterpreter) return;
  original = reporting->object;
  state->store(&kInterpreter);
}

}  // namespace cuvein
