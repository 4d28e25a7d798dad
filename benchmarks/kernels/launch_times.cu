// Linked to an example, whose main is renamed to example_main, with what launches a kernel wrapped: runs it
// three times, each with arrays of its own and its result compared, and prints a JSON object a line for each
// launch after those of the first time: the kernel and its milliseconds by CUDA events.
//
//   nvcc -Dmain=example_main -Iexamples -Xlinker --wrap=__cudaLaunchKernel,--wrap=cudaLaunchKernel ...
#include <cuda_runtime.h>
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#undef main

int example_main(int argc, char** argv);
// What `<<<...>>>` calls: the first in CUDA 13, the second before. Weak, since only one of them is called.
extern "C" __attribute__((weak)) cudaError_t __real___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid,
                                                                       dim3 block, void** arguments,
                                                                       size_t shared, cudaStream_t stream);
extern "C" __attribute__((weak)) cudaError_t __real_cudaLaunchKernel(const void* kernel, dim3 grid,
                                                                     dim3 block, void** arguments,
                                                                     size_t shared, cudaStream_t stream);

namespace {

constexpr int kTimes = 3;
bool warm = false;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "launch_times: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Without return type and parameters; a number where the runtime tells no name of a kernel's handle.
std::string name_of(const void* kernel) {
  static std::map<const void*, size_t> numbers;
  const size_t number = numbers.emplace(kernel, numbers.size()).first->second;
  const char* mangled = nullptr;
  if (cudaFuncGetName(&mangled, kernel) != cudaSuccess) {
    cudaGetLastError();  // the example asks for it
    return std::to_string(number);
  }
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr),
                                                    std::free);
  const std::string name = text ? text.get() : mangled;
  return name.substr(0, name.find('('));
}

template <class Launch>
cudaError_t timed(const void* kernel, cudaStream_t stream, const Launch& launch) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "events");
  check(cudaEventCreate(&stop), "events");
  check(cudaEventRecord(start, stream), "events");
  const cudaError_t status = launch();
  check(cudaEventRecord(stop, stream), "events");
  check(cudaEventSynchronize(stop), "the kernel");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, start, stop), "events");
  if (warm)
    std::printf("{\"kernel\": \"%s\", \"milliseconds\": %.4f}\n", name_of(kernel).c_str(),
                static_cast<double>(milliseconds));
  check(cudaEventDestroy(start), "events");
  check(cudaEventDestroy(stop), "events");
  return status;
}

}  // namespace

extern "C" cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                                 size_t shared, cudaStream_t stream) {
  return timed(reinterpret_cast<const void*>(kernel), stream,
               [&] { return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream); });
}

extern "C" cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               size_t shared, cudaStream_t stream) {
  return timed(kernel, stream,
               [&] { return __real_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream); });
}

int main(int argc, char** argv) {
  for (int i = 0; i < kTimes; ++i) {
    if (const int status = example_main(argc, argv)) return status;
    warm = true;
  }
  return 0;
}
