// One block a matrix, which waits in shared memory: one warp divides a column, then all update the rest.
#include "problem.h"

constexpr int kWarps = 4;
constexpr int kPitch = kSize + 1;

__global__ void factor(const float* matrices, float* factors) {
  __shared__ float tile[kSize][kPitch];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const size_t start = static_cast<size_t>(blockIdx.x) * kSize * kSize;
  for (int row = warp; row < kSize; row += kWarps) tile[row][lane] = matrices[start + row * kSize + lane];
  __syncthreads();

  for (int k = 0; k < kSize - 1; ++k) {
    if (warp == 0 && lane > k) tile[lane][k] /= tile[k][k];
    __syncthreads();
    const float pivot = tile[k][lane];
    for (int row = k + 1 + warp; row < kSize; row += kWarps) {
      if (lane > k) tile[row][lane] -= tile[row][k] * pivot;
    }
    __syncthreads();
  }
  for (int row = warp; row < kSize; row += kWarps) factors[start + row * kSize + lane] = tile[row][lane];
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<float> matrices(problem.values), factors(problem.values.size());
  repeat(problem.times, [&] { factor<<<problem.matrices, 32 * kWarps>>>(matrices.get(), factors.get()); });
  return problem.finish(factors.host());
}
