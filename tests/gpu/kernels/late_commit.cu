// An asynchronous copy whose commit comes after the wait: nothing waits for the group, so the shared read
// that follows may see old data. The copy is a global read and a shared write one PC on, and the write is
// what the read meets. One block of 128 threads, 16 bytes each: copy cold 2048 in both spaces; read (slot of
// the warp beside) block 2048.
#include <cuda_pipeline.h>

#include "common.h"

constexpr int kThreads = 128;

__global__ void late_commit(const float4* input, float4* output) {
  __shared__ float4 tile[kThreads];
  __pipeline_memcpy_async(&tile[threadIdx.x], input + threadIdx.x, sizeof(float4));  // @copy
  __pipeline_wait_prior(0);
  __pipeline_commit();
  __syncthreads();
  output[threadIdx.x] = tile[(threadIdx.x + 32) % kThreads];  // @read
}

int main() {
  Array<float4> input(std::vector<float4>(kThreads, make_float4(1, 2, 3, 4))), output(kThreads);
  late_commit<<<1, kThreads>>>(input.get(), output.get());
  CHECK_KERNEL();
  return finish(true);
}
