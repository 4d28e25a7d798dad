// 160 KiB of dynamic shared memory: 1024 threads write all of it, and after a barrier read what the warp
// beside wrote: block 163840 bytes a block, nothing cold on the read.
#include "common.h"

constexpr int kThreads = 1024, kWords = 160 * 1024 / 4;

__global__ void large_shared(int* output) {
  extern __shared__ int words[];
  for (int i = threadIdx.x; i < kWords; i += kThreads) words[i] = i;  // @write
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < kWords; i += kThreads) {
    sum += words[i + (threadIdx.x + 32) % kThreads];  // @read
  }
  output[blockIdx.x * kThreads + threadIdx.x] = sum;  // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 4);
  arguments.done();

  CHECK(cudaFuncSetAttribute(large_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, kWords * 4));
  std::vector<int> expected(static_cast<size_t>(blocks) * kThreads, 0);
  for (size_t t = 0; t < expected.size(); ++t) {
    for (int i = 0; i < kWords; i += kThreads) expected[t] += i + static_cast<int>(t + 32) % kThreads;
  }
  Array<int> output(expected.size());
  large_shared<<<blocks, kThreads, kWords * 4>>>(output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
