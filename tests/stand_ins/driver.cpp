// Stands in for the Sanitizer API, NVTX and PyTorch's C++ code: it tells the monitor what a driver would,
// when the test says so.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sanitizer.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace {

Sanitizer_CallbackFunc callback = nullptr;
void* monitor = nullptr;

NvtxFunctionPointer functions[NVTX_CBID_CORE_SIZE];
NvtxFunctionPointer* table[NVTX_CBID_CORE_SIZE];

void allocation(Sanitizer_CallbackId id, uint64_t address, uint64_t size) {
  Sanitizer_ResourceMemoryData data = {};
  data.address = address;
  data.size = size;
  if (callback != nullptr) callback(monitor, SANITIZER_CB_DOMAIN_RESOURCE, id, &data);
}

int functions_of(NvtxCallbackModule module, NvtxFunctionTable* out, unsigned* size) {
  if (module != NVTX_CB_MODULE_CORE) return 0;
  *out = table;
  *size = NVTX_CBID_CORE_SIZE;
  return 1;
}

const NvtxExportTableCallbacks kCallbacks = {sizeof kCallbacks, functions_of};

const void* export_table(uint32_t id) { return id == NVTX_ETID_CALLBACKS ? &kCallbacks : nullptr; }

}  // namespace

extern "C" {

SanitizerResult sanitizerSubscribe(Sanitizer_SubscriberHandle*, Sanitizer_CallbackFunc function, void* data) {
  callback = function;
  monitor = data;
  return SANITIZER_SUCCESS;
}

// None of the others has anything to do here, whatever it is given.
#define STAND_IN(name)                                  \
  int stand_in_for_##name() __asm__("sanitizer" #name); \
  int stand_in_for_##name() { return SANITIZER_SUCCESS; }
STAND_IN(Unsubscribe)
STAND_IN(EnableDomain)
STAND_IN(EnableCallback)
STAND_IN(Alloc)
STAND_IN(AllocHost)
STAND_IN(MemcpyHostToDeviceAsync)
STAND_IN(Memset)
STAND_IN(StreamSynchronize)
STAND_IN(GetStreamHandle)
STAND_IN(AddPatchesFromFile)
STAND_IN(PatchInstructions)
STAND_IN(PatchModule)
STAND_IN(UnpatchModule)
STAND_IN(SetLaunchCallbackData)
STAND_IN(GetFunctionPcAndSize)
STAND_IN(GetResultString)

void stand_in_malloc(uint64_t address, uint64_t size) {
  allocation(SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC, address, size);
}

void stand_in_free(uint64_t address) { allocation(SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE, address, 0); }

// As NVTX does at the program's first range.
int stand_in_nvtx(int (*initialise)(NvtxGetExportTableFunc_t)) {
  for (unsigned i = 0; i < NVTX_CBID_CORE_SIZE; ++i) table[i] = &functions[i];
  return initialise(export_table);
}

void stand_in_push(const char* name) {
  reinterpret_cast<int (*)(const char*)>(functions[NVTX_CBID_CORE_RangePushA])(name);
}

void stand_in_pop() { reinterpret_cast<int (*)()>(functions[NVTX_CBID_CORE_RangePop])(); }
}

// Named as PyTorch names what runs an operator and what runs a node of the backward pass.
using Function = void (*)();

namespace at::_ops {
struct add_Tensor {
  static void call(Function inner);
};
struct _softmax {
  static void redispatch(Function inner);
};
__attribute__((noinline)) void add_Tensor::call(Function inner) {
  inner();
  asm volatile("");
}
__attribute__((noinline)) void _softmax::redispatch(Function inner) {
  inner();
  asm volatile("");
}
}  // namespace at::_ops

// How PyTorch reports what its allocator does: by calling Python, whatever is under way there.
namespace c10::impl {
struct Table {
  virtual ~Table() = default;
  virtual void report(unsigned char, uintptr_t) const {
    const auto import =
        reinterpret_cast<void* (*)(const char*)>(dlsym(RTLD_DEFAULT, "PyImport_ImportModule"));
    const auto clear = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "PyErr_Clear"));
    if (import("json") == nullptr) clear();
  }
};
struct PyInterpreter {
  const Table* table;
};
struct GPUTrace {
  static std::atomic<const PyInterpreter*> gpuTraceState;
};
std::atomic<const PyInterpreter*> GPUTrace::gpuTraceState{nullptr};
const Table kTable;
const PyInterpreter kInterpreter = {&kTable};
}  // namespace c10::impl

extern "C" void stand_in_activate() { c10::impl::GPUTrace::gpuTraceState = &c10::impl::kInterpreter; }

// Memory is freed while an exception is on its way.
extern "C" void* stand_in_failing() {
  const auto set = reinterpret_cast<void (*)(void*, const char*)>(dlsym(RTLD_DEFAULT, "PyErr_SetString"));
  set(*static_cast<void**>(dlsym(RTLD_DEFAULT, "PyExc_KeyError")), "the program's own");
  c10::impl::GPUTrace::gpuTraceState.load()->table->report(1, 0x1000);
  return nullptr;
}

// What PyTorch tells of its graph.
namespace at::sequence_number {
thread_local uint64_t numbers = 0;
uint64_t peek() { return numbers; }
}  // namespace at::sequence_number

namespace torch::autograd {
thread_local int pass = -1;
int get_current_graph_task_id() { return pass; }
}  // namespace torch::autograd

namespace torch::autograd::generated {
struct SoftmaxBackward0 {
  void apply(Function inner);
};
__attribute__((noinline)) void SoftmaxBackward0::apply(Function inner) {
  inner();
  asm volatile("");
}
}  // namespace torch::autograd::generated

namespace {
Function innermost = nullptr;
Function afterwards = nullptr;
}  // namespace

// The calling thread has made so many nodes, and is in a pass (-1: in none).
extern "C" void stand_in_graph(uint64_t numbers, int pass) {
  at::sequence_number::numbers = numbers;
  torch::autograd::pass = pass;
}

extern "C" void stand_in_softmax(Function inner) { at::_ops::_softmax::redispatch(inner); }

extern "C" void stand_in_forward(Function inner) { at::_ops::add_Tensor::call(inner); }

// An operator within another one, which goes on then.
extern "C" void stand_in_nested(Function inner, Function after) {
  innermost = inner;
  afterwards = after;
  at::_ops::add_Tensor::call([] {
    at::_ops::_softmax::redispatch(innermost);
    afterwards();
  });
}

extern "C" void stand_in_backward(Function inner) {
  innermost = inner;
  torch::autograd::generated::SoftmaxBackward0().apply([] { at::_ops::_softmax::redispatch(innermost); });
}
