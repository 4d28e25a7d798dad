// cluster_shared [CLUSTERS]: blocks in clusters of four, each with shared memory of its own, which it writes
// in words and by asynchronous copies and reads in words and as matrices. The addresses that such code
// computes hold the block's rank in its cluster.
#include <cuda_pipeline.h>

#include "common.h"

constexpr int kThreads = 128;

__global__ void __cluster_dims__(4, 1, 1) cluster_shared(const int* input, int* output) {
  __shared__ alignas(16) int words[kThreads], copied[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  __pipeline_memcpy_async(&copied[threadIdx.x], &input[i], sizeof(int));
  words[threadIdx.x] = input[i];
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const int next = (threadIdx.x + 1) % kThreads;
  unsigned matrix;
  const unsigned row =
      static_cast<unsigned>(__cvta_generic_to_shared(&words[threadIdx.x / 32 * 32 + threadIdx.x % 8 * 4]));
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(matrix) : "r"(row));
  output[i] = words[next] + copied[next] + static_cast<int>(matrix & 0);
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int clusters = arguments.number("clusters", 6);
  arguments.done();

  const int blocks = 4 * clusters;
  std::vector<int> values(static_cast<size_t>(blocks) * kThreads);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 7);
  Array<int> input(values), output(values.size());
  cluster_shared<<<blocks, kThreads>>>(input.get(), output.get());
  CHECK_KERNEL();
  std::vector<int> expected;
  for (size_t i = 0; i < values.size(); ++i)
    expected.push_back(2 * values[i / kThreads * kThreads + (i + 1) % kThreads]);
  return finish(agree("output", output.host(), expected));
}
