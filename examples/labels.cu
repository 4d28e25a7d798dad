// The six labels of Topological Distance, each planted on a line of its own.
//
//   labels [blocks]        G blocks of 128 threads; n = 128 G threads, W = n / 32 warps
//
// Barriers and the choice of words leave the schedule no say: every label below is exact.
//
//   line     what it reads                                    bytes by label
//   cold     the thread's own word, for the first time        cold 4 n
//   thread   the same word again                              thread 4 n (from cold)
//   same     lane 0's word, by all lanes                      thread 4 W (lane 0's own, from thread),
//                                                             warp_same_inst 124 W (from same)
//   diff     the word of the lane beside                      warp_diff_inst 124 W (from thread) and 4 W
//                                                             (from same: lane 1 meets lane 31 on lane 0's)
//   block    the word of the warp beside, after a barrier     block 4 n (from diff)
//   grid     a table of 128 words, once in every block        cold 512, grid 512 (G - 1) (from grid)
//   store    the result                                       cold 4 n
//
// An execution covers 128 aligned bytes, 4 sectors, 32 addresses; only `same` has 1 sector, 1 address.
#include "common.h"

constexpr int kThreads = 128;

__global__ void labels(const float* values, const float* table, float* output) {
  const int thread = threadIdx.x;
  const int global = blockIdx.x * kThreads + thread;
  const volatile float* value = values;  // volatile: what is written here is what is executed
  float sum = value[global];             // @cold
  sum += value[global];                  // @thread
  sum += value[global & ~31];            // @same
  sum += value[global ^ 1];              // @diff
  __syncthreads();
  sum += value[global ^ 32];  // @block
  sum += table[thread];       // @grid
  output[global] = sum;       // @store
}

int main(int argc, char** argv) {
  Arguments arguments(argc, argv);
  const int blocks = arguments.number("blocks", 8);
  arguments.done();

  const int size = blocks * kThreads;
  std::vector<float> values(size), table(kThreads), expected(size);
  for (int i = 0; i < size; ++i) values[i] = static_cast<float>(i % 1000);
  for (int i = 0; i < kThreads; ++i) table[i] = static_cast<float>(i % 7);
  for (int i = 0; i < size; ++i) {
    expected[i] = 2 * values[i] + values[i & ~31] + values[i ^ 1] + values[i ^ 32] + table[i % kThreads];
  }
  Array<float> input(values), small(table), output(size);
  labels<<<blocks, kThreads>>>(input.get(), small.get(), output.get());
  CHECK_KERNEL();
  return finish(agree("output", output.host(), expected));
}
