// A warp a fiber, a lane a column of U, which waits in shared memory. The lanes read a
// nonzero each and pass them round.
#include "problem.h"

constexpr int kThreads = 256, kBlocks = 1056;

__global__ void multiply(const int* starts, const int* indices, const float* values, const float* matrix,
                         float* results, int fibers) {
  __shared__ float rows[kDepth][kRank];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int k = warp; k < kDepth; k += kThreads / 32) rows[k][lane] = matrix[k * kRank + lane];
  __syncthreads();

  for (int fiber = blockIdx.x * kThreads / 32 + warp; fiber < fibers; fiber += gridDim.x * kThreads / 32) {
    const int begin = starts[fiber], end = starts[fiber + 1];
    float sum = 0;
    for (int first = begin; first < end; first += 32) {
      const int count = min(32, end - first);
      const float value = lane < count ? values[first + lane] : 0;
      const int index = lane < count ? indices[first + lane] : 0;
      for (int i = 0; i < count; ++i) {
        sum += __shfl_sync(~0u, value, i) * rows[__shfl_sync(~0u, index, i)][lane];
      }
    }
    results[static_cast<size_t>(fiber) * kRank + lane] = sum;
  }
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<int> starts(problem.starts), indices(problem.indices);
  const Array<float> values(problem.values), matrix(problem.matrix), results(problem.results());
  const int blocks = std::min(kBlocks, (problem.fibers + 7) / 8);
  repeat(problem.times, [&] {
    multiply<<<blocks, kThreads>>>(starts.get(), indices.get(), values.get(), matrix.get(), results.get(),
                                   problem.fibers);
  });
  return problem.finish(results.host());
}
