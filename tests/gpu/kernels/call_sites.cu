// A variable of the module, memory that a function asks for, and a launch within two NVTX ranges.
#include "common.h"
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define HAS_NVTX 1
#else
#define HAS_NVTX 0
#endif

namespace app {

__device__ int table[256];

__global__ void look_up(const int* at, int* out) { out[threadIdx.x] = table[at[threadIdx.x]]; }

__attribute__((noinline)) int* reserve(int count) {
  int* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(int)));  // @reserved
  return memory;
}

__attribute__((noinline)) void step(const int* at, int* out) {
#if HAS_NVTX
  nvtxRangePushA("outer");
  nvtxRangePushA("inner");
#endif
  look_up<<<1, 64>>>(at, out);  // @launched
#if HAS_NVTX
  nvtxRangePop();
  nvtxRangePop();
#endif
}

}  // namespace app

int main() {
  std::vector<int> numbers(256), at(64), out(64);
  for (int i = 0; i < 256; ++i) numbers[i] = 3 * i;
  for (int i = 0; i < 64; ++i) at[i] = 2 * i;
  CHECK(cudaMemcpyToSymbol(app::table, numbers.data(), 256 * sizeof(int)));
  int* const input = app::reserve(64);
  int* const output = app::reserve(128);
  CHECK(cudaMemcpy(input, at.data(), 64 * sizeof(int), cudaMemcpyHostToDevice));
  app::step(input, output);
  CHECK_KERNEL();
  CHECK(cudaMemcpy(out.data(), output, 64 * sizeof(int), cudaMemcpyDeviceToHost));
  if (!HAS_NVTX) std::printf("built without NVTX\n");
  std::vector<int> expected(64);
  for (int i = 0; i < 64; ++i) expected[i] = 6 * i;
  return finish(agree("out", out, expected));
}
