// All threads count in global memory.
#include "problem.h"

constexpr int kThreads = kBins;

__global__ void histogram(const uchar4* pixels, size_t count, unsigned* bins) {
  for (size_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const uchar4 four = pixels[i];
    atomicAdd(&bins[four.x], 1);
    atomicAdd(&bins[four.y], 1);
    atomicAdd(&bins[four.z], 1);
    atomicAdd(&bins[four.w], 1);
  }
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
