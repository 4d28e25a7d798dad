// Each block counts in shared memory, and adds to global memory once.
#include "problem.h"

constexpr int kThreads = kBins;

__global__ void histogram(const uchar4* pixels, size_t count, unsigned* bins) {
  __shared__ unsigned own[kBins];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const uchar4 four = pixels[i];
    atomicAdd(&own[four.x], 1);
    atomicAdd(&own[four.y], 1);
    atomicAdd(&own[four.z], 1);
    atomicAdd(&own[four.w], 1);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

int main(int argc, char** argv) {
  const Problem problem(argc, argv);
  const Array<uchar4> pixels(problem.pixels);
  const Array<unsigned> bins(kBins);
  repeat(problem.times, [&] {
    CHECK(cudaMemset(bins.get(), 0, kBins * sizeof(unsigned)));
    histogram<<<problem.blocks, kThreads>>>(pixels.get(), problem.pixels.size(), bins.get());
  });
  return problem.finish(bins.host());
}
