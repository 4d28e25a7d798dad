// Histogram of bytes with 256 bins: atomics on global memory; and on a copy in shared memory, added up at the
// end.
//
//   histogram [blocks] [--spread]     G blocks of 256 threads, one element a thread; W = 8 G warps
//
// All elements are equal (5), or with --spread each lane has a bin of its own.
//
//   line         access                 bytes by label
//   load         input, read            cold 256 G (1 sector)
//   direct       global bins, atomic    equal: cold 4, block or grid 4 (W - 1), warp_same_inst 124 W (96.9 %)
//                                       spread: cold 1024, grid 1024 (G - 1)
//   shared_load  input, read            cold 256 G (1 sector)
//   clear        shared bins, write     cold 1024 G
//   count        shared bins, atomic    equal: lane 0 meets lane 5's clear or another warp's atomic:
//                                       warp_diff_inst or block 4 W, warp_same_inst 124 W
//                                       spread: thread 1024 G (from clear)
//   collect      shared bins, read      equal: lane 31 of some warp was the last in bin 5: warp_diff_inst or
//                                       block 4 G (from count), thread 1020 G (from clear)
//                                       spread: thread 1024 G (from count)
//   merge        global bins, atomic    cold 1024, grid 1024 (G - 1)
#include "common.h"

constexpr int kBins = 256;

__global__ void histogram_global(const unsigned char* input, unsigned* bins) {
  const unsigned value = input[blockIdx.x * kBins + threadIdx.x];  // @load
  atomicAdd(&bins[value], 1u);                                     // @direct
}

__global__ void histogram_shared(const unsigned char* input, unsigned* bins) {
  __shared__ unsigned counts[kBins];
  const unsigned value = input[blockIdx.x * kBins + threadIdx.x];  // @shared_load
  counts[threadIdx.x] = 0;                                         // @clear
  __syncthreads();
  atomicAdd(&counts[value], 1u);  // @count
  __syncthreads();
  const unsigned count = counts[threadIdx.x];  // @collect
  atomicAdd(&bins[threadIdx.x], count);        // @merge
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const bool spread = arguments.flag("spread");
  const int blocks = arguments.number("blocks", 16);
  arguments.done();

  std::vector<unsigned char> values(static_cast<size_t>(blocks) * kBins);
  std::vector<unsigned> zeros(kBins, 0u), expected(kBins, 0u);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<unsigned char>(spread ? i % kBins : 5);
    ++expected[values[i]];
  }
  Array<unsigned char> input(values);
  Array<unsigned> global(zeros), shared(zeros);
  histogram_global<<<blocks, kBins>>>(input.get(), global.get());
  histogram_shared<<<blocks, kBins>>>(input.get(), shared.get());
  CHECK_KERNEL();
  const bool good = agree("global", global.host(), expected) && agree("shared", shared.host(), expected);
  return finish(good);
}
