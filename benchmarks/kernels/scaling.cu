// A kernel that takes its size as argument, for how the cost of the analysis grows with it.
//
//   scaling [--repeat N] BLOCKS:LENGTH...
//
// Prints a JSON object a line: blocks of 256 threads, loop iterations, and milliseconds of each launch after
// the first from before it to after the synchronisation, which includes whatever is done for the launch on
// the host.
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "scaling: %s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Per iteration: a coalesced load, one that the neighbouring block makes as well, shared memory written and
// read across warps between two barriers, a coalesced store.
__global__ void work(const float* values, float* results, size_t threads, int length) {
  __shared__ float tile[256];
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  for (int k = 0; k < length; ++k) {
    const size_t at = (i + static_cast<size_t>(k) * blockDim.x) % threads;
    tile[threadIdx.x] = values[at];
    __syncthreads();
    const float sum = tile[threadIdx.x ^ 32] + values[(at + blockDim.x) % threads];
    __syncthreads();
    results[at] = sum;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int repeat = 3;
  std::vector<std::pair<unsigned, int>> sizes;
  for (int i = 1; i < argc; ++i) {
    unsigned blocks = 0;
    int length = 0;
    if (std::strcmp(argv[i], "--repeat") == 0 && i + 1 < argc) {
      repeat = std::atoi(argv[++i]);
    } else if (std::sscanf(argv[i], "%u:%d", &blocks, &length) == 2 && blocks != 0 && length > 0) {
      sizes.emplace_back(blocks, length);
    } else {
      std::fprintf(stderr, "scaling: expected BLOCKS:LENGTH, both from 1, got %s\n", argv[i]);
      return 2;
    }
  }
  size_t most = 0;
  for (const auto& [blocks, length] : sizes) most = blocks > most ? blocks : most;
  float *values, *results;
  check(cudaMalloc(&values, most * 256 * sizeof(float)), "memory");
  check(cudaMalloc(&results, most * 256 * sizeof(float)), "memory");
  check(cudaMemset(values, 0, most * 256 * sizeof(float)), "memory");
  for (const auto& [blocks, length] : sizes) {
    for (int launch = 0; launch <= repeat; ++launch) {
      check(cudaDeviceSynchronize(), "synchronisation");
      const auto start = std::chrono::steady_clock::now();
      work<<<blocks, 256>>>(values, results, static_cast<size_t>(blocks) * 256, length);
      check(cudaGetLastError(), "launch");
      check(cudaDeviceSynchronize(), "synchronisation");
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
      if (launch == 0) continue;
      std::printf("{\"blocks\": %u, \"length\": %d, \"milliseconds\": %.4f}\n", blocks, length, time.count());
      std::fflush(stdout);
    }
  }
  return 0;
}
