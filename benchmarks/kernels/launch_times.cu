// Linked to an example, whose main is renamed to example_main, with --wrap=__cudaLaunchKernel: runs it three
// times, each with arrays of its own and its result compared, and prints a JSON object a line for each launch
// after those of the first time: the kernel and its milliseconds by CUDA events.
//
//   nvcc -Dmain=example_main -Xlinker --wrap=__cudaLaunchKernel -Iexamples EXAMPLE.cu launch_times.cu
#include <cuda_runtime.h>
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#undef main

int example_main(int argc, char** argv);
extern "C" cudaError_t __real___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
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
std::string name_of(cudaKernel_t kernel) {
  static std::map<cudaKernel_t, size_t> numbers;
  const size_t number = numbers.emplace(kernel, numbers.size()).first->second;
  const char* mangled = nullptr;
  if (cudaFuncGetName(&mangled, reinterpret_cast<const void*>(kernel)) != cudaSuccess) {
    cudaGetLastError();  // the example asks for it
    return std::to_string(number);
  }
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr),
                                                    std::free);
  const std::string name = text ? text.get() : mangled;
  return name.substr(0, name.find('('));
}

}  // namespace

extern "C" cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                                 size_t shared, cudaStream_t stream) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "events");
  check(cudaEventCreate(&stop), "events");
  check(cudaEventRecord(start, stream), "events");
  const cudaError_t status = __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
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

int main(int argc, char** argv) {
  for (int i = 0; i < kTimes; ++i) {
    if (const int status = example_main(argc, argv)) return status;
    warm = true;
  }
  return 0;
}
