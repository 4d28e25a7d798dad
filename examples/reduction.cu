// Sum of an array as a tree in shared memory, one partial sum a block.
//
//   reduction [blocks]     G blocks of 256 threads, one element a thread
//
// Steps of 128, 64, 32, 16, 8, 4, 2, 1 threads, a barrier after each; 255 additions a block.
//
//   line     access                   bytes by label
//   load     input, read              cold 1024 G
//   keep     tile, write              cold 1024 G
//   other    tile, read               of a partner `step` threads on: block 896 G (512 G from keep, the rest
//                                     from add), warp_diff_inst 124 G (from add)
//   mine     tile, read               thread 1020 G (512 G from keep, the rest from add)
//   add      tile, write              thread 1020 G (from mine)
//   result   tile, read by thread 0   thread 4 G (from add)
//   store    output, write            cold 4 G
//
// other, mine and add: 7 executions a block with 32 lanes, one each with 16, 8, 4, 2 and 1; all 1 wavefront.
#include "common.h"

constexpr int kThreads = 256;

__global__ void reduction(const unsigned* input, unsigned* output) {
  __shared__ unsigned tile[kThreads];
  const int thread = threadIdx.x;
  const unsigned value = input[blockIdx.x * kThreads + thread];  // @load
  tile[thread] = value;                                          // @keep
  __syncthreads();
#pragma unroll 1
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (thread < step) {
      const unsigned other = tile[thread + step];  // @other
      const unsigned mine = tile[thread];          // @mine
      tile[thread] = mine + other;                 // @add
    }
    __syncthreads();
  }
  if (thread == 0) {
    const unsigned sum = tile[0];  // @result
    output[blockIdx.x] = sum;      // @store
  }
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 16);
  arguments.done();

  std::vector<unsigned> values(static_cast<size_t>(blocks) * kThreads), expected(blocks, 0u);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<unsigned>(i * 2654435761u);
    expected[i / kThreads] += values[i];
  }
  Array<unsigned> input(values), output(blocks);
  reduction<<<blocks, kThreads>>>(input.get(), output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
